//! A text to its end, from which a clip is made: the output as it was written, or the condensed one.

use crate::cluster;
use crate::last_lines::{LastOfFirst, Total};
use crate::mask::{Edges, Mask};
use crate::units::ByteSize;
use crate::window::{Clip, View};

/// The shown part of a text.
pub(super) struct ClippedOutput {
    pub(super) clip: Clip,
    /// Number of lines that were shortened.
    pub(super) shortened: u64,
}

/// A text to its end, and the rules about the part that is shown.
pub(super) struct CompleteText {
    pub(super) view: View,
    pub(super) last_of_first: Option<LastOfFirst>,
    /// Longest line that is shown, in columns; longer ones are shortened.
    pub(super) columns: Option<usize>,
}

impl CompleteText {
    /// Another text with the same rules.
    pub(super) fn replaced(&self, text: &[u8]) -> Self {
        Self {
            view: View::of(self.view.window(), text),
            last_of_first: self.last_of_first.as_ref().map(|lines| lines.of_text(text)),
            columns: self.columns,
        }
    }

    /// A clip of at most `at_most` bytes. Redaction and U+FFFD make text longer than its bytes, so the window is scaled
    /// down until the text fits.
    pub(super) fn clip_within(&self, mask: &Mask, at_most: ByteSize) -> ClippedOutput {
        let widest = self.last_of_first.as_ref().map_or_else(|| self.view.window(), LastOfFirst::window);
        let total = Total { bytes: self.view.bytes(), lines: self.view.lines() };
        let mut window = widest;
        loop {
            let mut clip = match &self.last_of_first {
                Some(lines) => lines.clip_to(window, total, mask),
                None => masked(self.view.clip_to(window), mask),
            };
            let is_whole = matches!(clip, Clip::Whole(_)) && window == widest;
            let shortened = self.columns.map_or(0, |columns| shorten(&mut clip, columns));
            let got = clip.text_bytes();
            if got <= at_most.0 {
                return ClippedOutput { clip, shortened };
            }
            window = if is_whole { window.without_whole() } else { window.scaled(at_most.0, got) };
        }
    }
}

/// Shortens the shown lines, and returns how many were too long. Comes after redaction, so that no withheld value is
/// cut in two.
fn shorten(clip: &mut Clip, columns: usize) -> u64 {
    let apply = |bytes: &mut Vec<u8>| {
        cluster::shorten(bytes, columns).map_or(0, |(short, count)| {
            *bytes = short;
            count
        })
    };
    match clip {
        Clip::Whole(bytes) => apply(bytes),
        Clip::Cut { head, tail, .. } => apply(&mut head.bytes) + apply(&mut tail.bytes),
    }
}

fn masked(mut clip: Clip, mask: &Mask) -> Clip {
    let apply = |bytes: &mut Vec<u8>, edges| {
        if let Some(masked) = mask.apply(bytes, edges) {
            *bytes = masked;
        }
    };
    match &mut clip {
        Clip::Whole(bytes) => apply(bytes, Edges::None),
        Clip::Cut { head, tail, .. } => {
            apply(&mut head.bytes, Edges::End);
            apply(&mut tail.bytes, Edges::Begin);
        }
    }
    clip
}
