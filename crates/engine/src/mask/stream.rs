//! Redacts a stream piece by piece.

use std::borrow::Cow;

use super::{Edges, HiddenRange, Mask, merge};

/// Redacts a stream. Finds a value that comes in two pieces, and changes no other text.
///
/// Holds back at most twice [`LONGEST`](super::LONGEST) bytes.
#[derive(Debug, Default)]
pub(crate) struct StreamRedactor {
    /// The end of the stream so far, which may begin a withheld value.
    held_back: Vec<u8>,
    /// Number of next bytes, including held ones, that are not shown.
    skipped: usize,
    /// Label at the end of the last text that was passed on. A value of several blocks has one label.
    open: Option<usize>,
}

impl StreamRedactor {
    /// A redactor for a stream after `before`, which is not shown.
    pub(crate) fn behind(before: Vec<u8>) -> Self {
        Self { skipped: before.len(), held_back: before, open: None }
    }

    /// Returns the text that this piece finishes.
    pub(crate) fn push<'a>(&mut self, mask: &Mask, piece: &'a [u8]) -> Cow<'a, [u8]> {
        if mask.is_empty() && self.held_back.is_empty() {
            return Cow::Borrowed(piece);
        }
        if self.held_back.is_empty() && self.skipped == 0 {
            let (settled, hidden) = settled(mask, piece);
            if hidden.is_empty() {
                let (now, later) = piece.split_at(settled);
                self.held_back.extend_from_slice(later);
                self.open = self.open.filter(|_| now.is_empty());
                return Cow::Borrowed(now);
            }
        }
        let mut text = std::mem::take(&mut self.held_back);
        text.extend_from_slice(piece);
        let (settled, hidden) = settled(mask, &text);
        let out = self.hand_on(mask, &text, settled, &hidden);
        text.drain(..settled);
        self.held_back = text;
        Cow::Owned(out)
    }

    /// Returns the rest, at the end of the shown part. `after` follows it, if that is known.
    pub(crate) fn finish(&mut self, mask: &Mask, after: &[u8]) -> Vec<u8> {
        let mut text = std::mem::take(&mut self.held_back);
        let shown = text.len();
        text.extend_from_slice(after);
        let hidden = mask.hidden_ranges(&text, Edges::None);
        self.hand_on(mask, &text, shown, &hidden)
    }

    /// The text that is held back, for a person who waits for it. Of a value that has begun there, the rest is still redacted.
    pub(crate) fn release(&mut self, mask: &Mask) -> Vec<u8> {
        let held = std::mem::take(&mut self.held_back);
        let hidden = mask.hidden_ranges(&held, Edges::None);
        let out = self.hand_on(mask, &held, held.len(), &hidden);
        self.skipped = held.len();
        self.held_back = held;
        out
    }

    /// The held text and an unfinished line after it, while their continuation is unknown.
    pub(crate) fn pending(&self, mask: &Mask, unfinished: &[u8]) -> Vec<u8> {
        let text = [self.held_back.as_slice(), unfinished].concat();
        let hidden = mask.hidden_ranges(&text, Edges::End);
        let (from, hidden) = self.without_open_label(&hidden, text.len());
        mask.render(&text, hidden, from..text.len())
    }

    fn hand_on(&mut self, mask: &Mask, text: &[u8], upto: usize, hidden: &[HiddenRange]) -> Vec<u8> {
        let (from, to_say) = self.without_open_label(hidden, upto);
        let out = mask.render(text, to_say, from..upto);
        self.skipped -= self.skipped.min(upto);
        if upto > 0 {
            self.open = hidden.iter().find(|hidden| hidden.range.contains(&(upto - 1))).map(|last| last.label);
        }
        out
    }

    /// Offset of the shown text, and its hidden ranges, without a value whose label was already passed on.
    fn without_open_label<'a>(&self, hidden: &'a [HiddenRange], upto: usize) -> (usize, &'a [HiddenRange]) {
        let from = self.skipped.min(upto);
        match hidden.split_first() {
            Some((first, rest)) if first.range.start == 0 && self.open == Some(first.label) => {
                (from.max(first.range.end.min(upto)), rest)
            }
            _ => (from, hidden),
        }
    }
}

/// Number of bytes that nothing later can change, and the hidden ranges in them.
///
/// A value that may continue stays after the border as a whole. An earlier one that overlaps it is cut at the border:
/// the later one hides all of its rest.
fn settled(mask: &Mask, text: &[u8]) -> (usize, Vec<HiddenRange>) {
    let Some(finder) = &mask.finder else { return (text.len(), Vec::new()) };
    let mut hidden = mask.find_values(text);
    let begun = text.len() - finder.begun_at_end(text);
    let unsettled = hidden.iter().filter(|hidden| hidden.range.end > begun).map(|hidden| hidden.range.start);
    let border = unsettled.min().unwrap_or(begun).min(begun);
    hidden.retain_mut(|hidden| {
        hidden.range.end = hidden.range.end.min(border);
        !hidden.range.is_empty()
    });
    (border, merge(hidden))
}
