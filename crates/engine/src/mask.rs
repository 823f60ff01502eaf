//! Redacts withheld values in everything that is shown.
//!
//! A command without access to a variable may still find its value, in a file or in the memory of another process. A
//! model must not read it there. [`forms`] lists the texts by which a value is recognized. Only the shown text changes:
//! artifacts hold the bytes as the command wrote them.
//!
//! A part of a text is redacted together with [`LONGEST`] bytes on both sides, and cut afterwards, so that a cut
//! through a value shows neither half. Where the other side is unknown, a piece at the [`Edges`] is hidden from four
//! bytes on.

mod encode;
mod finder;
mod forms;
mod stream;

use std::ops::Range;
use std::os::unix::ffi::OsStrExt;
use std::sync::{Arc, Mutex, PoisonError};

use memchr::memmem;

use crate::environment::Withheld;
use finder::Finder;
pub(crate) use forms::{LONGEST, SHORTEST};
pub(crate) use stream::StreamRedactor;

/// Shortest piece of a value that is redacted at the edge of a cut, in bytes.
const SHORTEST_PIECE: usize = 4;

/// Replaces withheld values by labels.
#[derive(Default)]
pub(crate) struct Mask {
    withheld: Vec<Withheld>,
    labels: Vec<Vec<u8>>,
    /// Texts to hide, each with its label. Pieces of them are searched at the edges of a cut.
    texts: Vec<(Vec<u8>, usize)>,
    finder: Option<Finder>,
    /// Label of each string of the finder.
    label_of: Vec<usize>,
}

/// The mask of the last command, for the next one: most withhold the same variables.
#[derive(Debug, Default)]
pub(crate) struct LastMask(Mutex<Arc<Mask>>);

impl LastMask {
    pub(crate) fn for_these(&self, withheld: &[Withheld]) -> Arc<Mask> {
        // A mask is replaced as a whole, so a panic has left a good one.
        let mut last = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if !last.is_for(withheld) {
            *last = Arc::new(Mask::new(withheld));
        }
        Arc::clone(&last)
    }
}

/// Ends of a text that were cut off from the rest.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Edges {
    /// Neither: the text is whole.
    None,
    /// More text follows.
    End,
    /// More text comes before.
    Begin,
    /// More text on both sides.
    Both,
}

/// A range of a text that is hidden.
#[derive(Debug, Clone, PartialEq, Eq)]
struct HiddenRange {
    range: Range<usize>,
    label: usize,
}

/// Without the texts, because this ends up in logs.
impl std::fmt::Debug for Mask {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.debug_struct("Mask").field("withheld", &self.withheld).finish_non_exhaustive()
    }
}

impl Mask {
    pub(crate) fn new(withheld: &[Withheld]) -> Self {
        let mut labels = Vec::new();
        let mut texts = Vec::new();
        let mut add = |label: String, forms: std::collections::BTreeSet<Vec<u8>>| {
            // The only way into the mask, whatever made the form.
            let searchable = forms.into_iter().filter(|form| forms::is_searchable(form));
            texts.extend(searchable.map(|form| (form, labels.len())));
            labels.push(label.into_bytes());
        };
        for secret in withheld {
            let (name, value) = (secret.name.display(), secret.value().as_bytes());
            if !secret.is_passed() {
                add(format!("[withheld: {name}]"), forms::of(value));
            }
            add(format!("[withheld: {name} password]"), forms::passwords(value));
        }
        if texts.is_empty() {
            return Self { withheld: withheld.to_vec(), ..Self::default() };
        }
        // Of equal values, the first gives its name.
        texts.sort_unstable();
        texts.dedup_by(|next, first| next.0 == first.0);
        let mut strings: Vec<(&[u8], usize)> =
            texts.iter().flat_map(|(text, label)| forms::blocks(text).map(|block| (block, *label))).collect();
        strings.sort_unstable();
        strings.dedup_by(|next, first| next.0 == first.0);
        let finder = Finder::new(strings.iter().map(|(string, _)| string.to_vec()).collect());
        let label_of = strings.iter().map(|(_, label)| *label).collect();
        Self { withheld: withheld.to_vec(), labels, finder: Some(finder), label_of, texts }
    }

    /// True if the mask hides exactly these variables.
    fn is_for(&self, withheld: &[Withheld]) -> bool {
        self.withheld == withheld
    }

    /// True if there is nothing to hide.
    pub(crate) fn is_empty(&self) -> bool {
        self.finder.is_none()
    }

    /// Redacts a text; none if it contains no withheld value.
    pub(crate) fn apply(&self, text: &[u8], edges: Edges) -> Option<Vec<u8>> {
        let hidden = self.hidden_ranges(text, edges);
        (!hidden.is_empty()).then(|| self.render(text, &hidden, 0..text.len()))
    }

    /// Redacts and cuts out a part of a text. Values that are only partly in it are hidden too.
    pub(crate) fn cut(&self, text: &[u8], shown: Range<usize>, edges: Edges) -> Vec<u8> {
        self.render(text, &self.hidden_ranges(text, edges), shown)
    }

    /// Redacts a sentence, including the beginning of a value before a `…`; none if nothing changes.
    pub(crate) fn sentence(&self, text: &str) -> Option<String> {
        const CUT_OFF: char = '…';
        if self.is_empty() {
            return None;
        }
        let whole = self.apply(text.as_bytes(), Edges::None);
        let masked = whole.as_ref().map_or(text.into(), |whole| String::from_utf8_lossy(whole));
        let mut out = String::new();
        for piece in masked.split_inclusive(CUT_OFF) {
            let cut = piece.strip_suffix(CUT_OFF).and_then(|cut| self.apply(cut.as_bytes(), Edges::End));
            match cut {
                Some(cut) => out.extend([&*String::from_utf8_lossy(&cut), "…"]),
                None => out.push_str(piece),
            }
        }
        (out != text).then_some(out)
    }

    /// Ranges of a text to hide, in order and without overlaps.
    fn hidden_ranges(&self, text: &[u8], edges: Edges) -> Vec<HiddenRange> {
        let mut hidden = self.find_values(text);
        if !self.is_empty() {
            hidden.extend(self.at_edges(text, edges));
        }
        merge(hidden)
    }

    /// Every occurrence of a withheld value, including overlapping ones.
    fn find_values(&self, text: &[u8]) -> Vec<HiddenRange> {
        let found = self.finder.iter().flat_map(|finder| finder.find_all(text));
        found.map(|(range, string)| HiddenRange { range, label: self.label_of[string] }).collect()
    }

    /// Pieces of values that a cut has left at the edges.
    fn at_edges(&self, text: &[u8], edges: Edges) -> impl Iterator<Item = HiddenRange> {
        let longest = |piece: &dyn Fn(&[u8]) -> Option<usize>| {
            let blocks = self.texts.iter().flat_map(|(text, label)| forms::blocks(text).map(|block| (block, *label)));
            let pieces = blocks.filter_map(|(block, label)| Some((piece(block)?, label)));
            pieces.max_by_key(|(length, _)| *length)
        };
        let (begin, end) = (matches!(edges, Edges::Begin | Edges::Both), matches!(edges, Edges::End | Edges::Both));
        let first = text.first_chunk::<SHORTEST_PIECE>();
        // The whole text may be inside of one value.
        let inside = first.filter(|_| begin && end).and_then(|_| {
            let around =
                |(secret, _): &&(Vec<u8>, usize)| text.len() < secret.len() && memmem::find(secret, text).is_some();
            self.texts.iter().filter(around).max_by_key(|(secret, _)| secret.len())
        });
        let at_begin = first.filter(|_| begin).and_then(|first| {
            longest(&|secret| {
                let mut places = memmem::find_iter(secret, first);
                places.find(|at| *at > 0 && text.starts_with(&secret[*at..])).map(|at| secret.len() - at)
            })
        });
        let at_end = first.filter(|_| end).and_then(|_| {
            longest(&|secret| {
                let from = text.len().saturating_sub(secret.len() - 1);
                let mut places = memmem::find_iter(&text[from..], &secret[..SHORTEST_PIECE]);
                places.find(|at| secret.starts_with(&text[from + at..])).map(|at| text.len() - from - at)
            })
        });
        let inside = inside.map(|(_, label)| HiddenRange { range: 0..text.len(), label: *label });
        let at_begin = at_begin.map(|(length, label)| HiddenRange { range: 0..length, label });
        let at_end = at_end.map(|(length, label)| HiddenRange { range: text.len() - length..text.len(), label });
        [inside, at_begin, at_end].into_iter().flatten()
    }

    /// The shown part of a text, with a label for every hidden range.
    fn render(&self, text: &[u8], hidden: &[HiddenRange], shown: Range<usize>) -> Vec<u8> {
        let mut out = Vec::with_capacity(shown.len());
        let mut done = shown.start;
        for HiddenRange { range, label } in hidden {
            if range.end <= shown.start || range.start >= shown.end || shown.is_empty() {
                continue;
            }
            out.extend(&text[done..range.start.max(done)]);
            out.extend(&self.labels[*label]);
            done = range.end.min(shown.end);
        }
        out.extend(&text[done..shown.end.max(done)]);
        out
    }
}

/// Joins ranges that overlap, and neighbors with the same label.
fn merge(mut hidden: Vec<HiddenRange>) -> Vec<HiddenRange> {
    hidden.sort_by_key(|hidden| (hidden.range.start, std::cmp::Reverse(hidden.range.end)));
    hidden.dedup_by(|next, first| {
        let touches = next.range.start == first.range.end && next.label == first.label;
        let joins = next.range.start < first.range.end || touches;
        if joins {
            first.range.end = first.range.end.max(next.range.end);
        }
        joins
    });
    hidden
}

#[cfg(test)]
mod real_encoders;
#[cfg(test)]
mod tests;
