//! Redacts a stream piece by piece.

use std::borrow::Cow;

use super::{Edges, Hidden, Mask, merge};

/// Redacts a stream. A value that comes in two pieces is found, and no other text is changed.
///
/// At most twice [`LONGEST`](super::LONGEST) bytes are held back.
#[derive(Debug, Default)]
pub(crate) struct StreamRedactor {
    /// The end of the stream so far, which may be the beginning of a withheld value.
    held: Vec<u8>,
    /// So many of the bytes to come, those held included, are not shown.
    skipped: usize,
    /// The label with which the text ended that was handed on last. A value of several blocks has one label.
    open: Option<usize>,
}

impl StreamRedactor {
    /// A redactor for a stream of which `before` is not shown.
    pub(crate) fn behind(before: Vec<u8>) -> Self {
        Self { skipped: before.len(), held: before, open: None }
    }

    /// The text that is settled by this piece.
    pub(crate) fn push<'a>(&mut self, mask: &Mask, piece: &'a [u8]) -> Cow<'a, [u8]> {
        if mask.is_empty() && self.held.is_empty() {
            return Cow::Borrowed(piece);
        }
        if self.held.is_empty() && self.skipped == 0 {
            let (settled, hidden) = settled(mask, piece);
            if hidden.is_empty() {
                let (now, later) = piece.split_at(settled);
                self.held.extend_from_slice(later);
                self.open = self.open.filter(|_| now.is_empty());
                return Cow::Borrowed(now);
            }
        }
        let mut text = std::mem::take(&mut self.held);
        text.extend_from_slice(piece);
        let (settled, hidden) = settled(mask, &text);
        let out = self.hand_on(mask, &text, settled, &hidden);
        text.drain(..settled);
        self.held = text;
        Cow::Owned(out)
    }

    /// The rest, once nothing more is shown. `after` is what follows, if that is known.
    pub(crate) fn finish(&mut self, mask: &Mask, after: &[u8]) -> Vec<u8> {
        let mut text = std::mem::take(&mut self.held);
        let shown = text.len();
        text.extend_from_slice(after);
        let hidden = mask.hidden(&text, Edges::None);
        self.hand_on(mask, &text, shown, &hidden)
    }

    /// The text that is held back, for a person who waits for it. Of a value that has begun there, the rest is still redacted.
    pub(crate) fn release(&mut self, mask: &Mask) -> Vec<u8> {
        let held = std::mem::take(&mut self.held);
        let hidden = mask.hidden(&held, Edges::None);
        let out = self.hand_on(mask, &held, held.len(), &hidden);
        self.skipped = held.len();
        self.held = held;
        out
    }

    /// The text that is held back and an unfinished line behind it, as long as it is not known how they go on.
    pub(crate) fn pending(&self, mask: &Mask, unfinished: &[u8]) -> Vec<u8> {
        let text = [self.held.as_slice(), unfinished].concat();
        let hidden = mask.hidden(&text, Edges::End);
        let (from, hidden) = self.without_said(&hidden, text.len());
        mask.render(&text, hidden, from..text.len())
    }

    fn hand_on(&mut self, mask: &Mask, text: &[u8], upto: usize, hidden: &[Hidden]) -> Vec<u8> {
        let (from, to_say) = self.without_said(hidden, upto);
        let out = mask.render(text, to_say, from..upto);
        self.skipped -= self.skipped.min(upto);
        if upto > 0 {
            self.open = hidden.iter().find(|hidden| hidden.range.contains(&(upto - 1))).map(|last| last.label);
        }
        out
    }

    /// Where the shown text begins, and what is hidden in it: a value whose label has been handed on is passed over.
    fn without_said<'a>(&self, hidden: &'a [Hidden], upto: usize) -> (usize, &'a [Hidden]) {
        let from = self.skipped.min(upto);
        match hidden.split_first() {
            Some((first, rest)) if first.range.start == 0 && self.open == Some(first.label) => {
                (from.max(first.range.end.min(upto)), rest)
            }
            _ => (from, hidden),
        }
    }
}

/// How much of a text cannot be changed by anything that follows, and what is hidden in that.
///
/// A value that may be followed by more of it stays behind the border as a whole. One before it that overlaps it is cut at
/// the border: all of its rest is hidden by the other.
fn settled(mask: &Mask, text: &[u8]) -> (usize, Vec<Hidden>) {
    let Some(finder) = &mask.finder else { return (text.len(), Vec::new()) };
    let mut hidden = mask.found(text);
    let begun = text.len() - finder.begun_at_end(text);
    let unsettled = hidden.iter().filter(|hidden| hidden.range.end > begun).map(|hidden| hidden.range.start);
    let border = unsettled.min().unwrap_or(begun).min(begun);
    hidden.retain_mut(|hidden| {
        hidden.range.end = hidden.range.end.min(border);
        !hidden.range.is_empty()
    });
    (border, merge(hidden))
}
