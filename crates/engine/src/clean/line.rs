//! The unfinished line, and the operations that overwrite, erase and move in it.

use std::sync::Arc;

use super::{LATIN_LEAD, LONGEST_LINE};
use crate::mask::{Edges, LONGEST, Mask};

/// Most columns that moving right adds to a line. Programs ask for column 999 to find the right edge, and a model
/// should not have to read the spaces.
const WIDEST_GAP: usize = 120;

/// Bytes in which columns are counted at a time, so that output that jumps about in a long line is not slow.
const STRIDE: usize = 64;

/// The unfinished line and its cursor.
#[derive(Debug, Clone, Default)]
pub(super) struct Line {
    pub(super) bytes: Vec<u8>,
    /// Index of the next character; always at the beginning of a column.
    pub(super) cursor: usize,
    /// Columns of the cursor beyond the end. They become spaces when something is written there.
    gap: usize,
    /// Index of the text that was written since the last redaction.
    pub(super) fresh: Option<usize>,
    /// Redacts withheld values before a part of them is overwritten.
    pub(super) mask: Arc<Mask>,
}

impl Line {
    /// True if the next bytes are simply appended.
    pub(super) fn is_plain(&self) -> bool {
        self.cursor == self.bytes.len() && self.gap == 0
    }

    /// Passes on the whole line, and begins a new one.
    pub(super) fn settle(&mut self, text: &mut Vec<u8>) {
        text.append(&mut self.bytes);
        self.cursor = 0;
        self.gap = 0;
        self.fresh = None;
    }

    /// Appends to a plain line.
    pub(super) fn append(&mut self, bytes: &[u8], text: &mut Vec<u8>) {
        self.mark_fresh(self.bytes.len());
        self.bytes.extend_from_slice(bytes);
        self.pass_on(settled_length(&self.bytes), text);
        self.cursor = self.bytes.len();
    }

    /// Notes that text was written from this index on.
    fn mark_fresh(&mut self, at: usize) {
        self.fresh = Some(self.fresh.map_or(at, |fresh| fresh.min(at)));
    }

    fn pass_on(&mut self, settled: usize, text: &mut Vec<u8>) {
        text.extend(self.bytes.drain(..settled));
        self.fresh = self.fresh.map(|fresh| fresh.saturating_sub(settled));
    }

    /// Redacts withheld values before something moves back in the line: overwriting a part of a value leaves a rest
    /// that would not be recognized.
    pub(super) fn redact(&mut self) {
        let Some(fresh) = self.fresh.take().filter(|_| !self.mask.is_empty()) else { return };
        let to = self.bytes.len().min(self.cursor + LONGEST);
        let from = fresh.saturating_sub(LONGEST).min(to);
        let Some(redacted) = self.mask.apply(&self.bytes[from..to], Edges::None) else { return };
        let behind = to - self.cursor;
        self.cursor = (from + redacted.len()).saturating_sub(behind);
        self.bytes.splice(from..to, redacted);
        while self.bytes.get(self.cursor).is_some_and(|byte| is_continuation(*byte)) && self.cursor > 0 {
            self.cursor -= 1;
        }
    }

    /// Writes at the cursor, over the present text.
    pub(super) fn write(&mut self, bytes: &[u8], text: &mut Vec<u8>) {
        let mut rest = bytes;
        while !self.is_plain()
            && let [byte, after @ ..] = rest
        {
            self.put(*byte, text);
            rest = after;
        }
        if !rest.is_empty() {
            self.append(rest, text);
        }
    }

    fn put(&mut self, byte: u8, text: &mut Vec<u8>) {
        if self.gap > 0 {
            self.bytes.resize(self.bytes.len() + self.gap, b' ');
            self.cursor = self.bytes.len();
            self.gap = 0;
        }
        self.mark_fresh(self.cursor);
        if self.cursor == self.bytes.len() || is_continuation(byte) {
            self.bytes.insert(self.cursor, byte);
        } else {
            let (end, _) = self.right_by(1);
            self.bytes[self.cursor] = byte;
            self.bytes.drain(self.cursor + 1..end);
        }
        self.cursor += 1;
        // The line only grows left of the cursor, so this is enough to keep it short.
        if self.bytes.len() >= LONGEST_LINE && byte != LATIN_LEAD {
            self.pass_on(self.cursor, text);
            self.cursor = 0;
        }
    }

    /// Obeys a control character that concerns the line.
    pub(super) fn obey(&mut self, control: u8, text: &mut Vec<u8>) {
        match control {
            b'\r' => {
                self.redact();
                self.go_to(0);
            }
            b'\x08' => {
                self.redact();
                self.go_left(1);
            }
            b'\t' => self.write(b"\t", text),
            _ => {}
        }
    }

    pub(super) fn go_to(&mut self, column: usize) {
        self.cursor = 0;
        self.gap = 0;
        self.go_right(column);
    }

    pub(super) fn go_right(&mut self, columns: usize) {
        let (at, beyond) = self.right_by(columns);
        self.cursor = at;
        if beyond > 0 {
            let widest = WIDEST_GAP.saturating_sub(self.columns(at));
            self.gap = (self.gap + beyond).min(widest);
        }
    }

    pub(super) fn go_left(&mut self, columns: usize) {
        let in_gap = columns.min(self.gap);
        self.gap -= in_gap;
        let mut left = columns - in_gap;
        while let Some(stride) = self.bytes[..self.cursor].last_chunk::<STRIDE>()
            && beginnings(stride) < left
        {
            left -= beginnings(stride);
            self.cursor -= STRIDE;
        }
        while left > 0 && self.cursor > 0 {
            self.cursor -= 1;
            left -= usize::from(!is_continuation(self.bytes[self.cursor]));
        }
    }

    /// Erases from the cursor to the end.
    pub(super) fn erase_right(&mut self) {
        self.bytes.truncate(self.cursor);
    }

    /// Erases from the beginning through the cursor.
    pub(super) fn erase_left(&mut self) {
        let (end, _) = self.right_by(1);
        let blank = self.columns(end);
        self.cursor = self.columns(self.cursor);
        self.bytes.splice(..end, std::iter::repeat_n(b' ', blank));
    }

    /// Erases the whole line; the cursor keeps its column.
    pub(super) fn erase_all(&mut self) {
        let column = self.columns(self.cursor) + self.gap;
        self.bytes.clear();
        self.go_to(column);
    }

    /// Overwrites columns with blanks.
    pub(super) fn blank(&mut self, columns: usize) {
        let (end, _) = self.right_by(columns);
        if end == self.bytes.len() {
            self.erase_right();
        } else {
            self.bytes.splice(self.cursor..end, std::iter::repeat_n(b' ', columns));
        }
    }

    /// Removes columns; the text right of them moves up.
    pub(super) fn remove(&mut self, columns: usize) {
        let (end, _) = self.right_by(columns);
        self.bytes.drain(self.cursor..end);
    }

    /// Index of the cursor so many columns to the right, and the number of them beyond the end.
    fn right_by(&self, columns: usize) -> (usize, usize) {
        if columns == 0 || self.cursor == self.bytes.len() {
            return (self.cursor, columns);
        }
        let mut at = self.cursor + 1;
        let mut left = columns;
        while let Some(stride) = self.bytes[at..].first_chunk::<STRIDE>()
            && beginnings(stride) < left
        {
            left -= beginnings(stride);
            at += STRIDE;
        }
        while let Some(byte) = self.bytes.get(at) {
            left -= usize::from(!is_continuation(*byte));
            if left == 0 {
                return (at, 0);
            }
            at += 1;
        }
        (at, left - 1)
    }

    /// Number of columns before `end`.
    fn columns(&self, end: usize) -> usize {
        // A line that begins with the rest of a character has no first byte there, but it is a column too.
        let headless = self.bytes[..end].first().is_some_and(|byte| is_continuation(*byte));
        beginnings(&self.bytes[..end]) + usize::from(headless)
    }
}

/// Number of bytes of an unfinished plain line that can be passed on: whole multiples of the longest line, as if the
/// bytes had come one by one. A letter stays with its lead byte: without it, text written over the letter could form a
/// control together with the lead.
pub(super) fn settled_length(line: &[u8]) -> usize {
    let mut settled = 0;
    while line.len() - settled >= LONGEST_LINE {
        settled += LONGEST_LINE;
        settled -= usize::from(line[settled - 1] == LATIN_LEAD);
    }
    settled
}

/// Number of columns that begin in these bytes.
fn beginnings(bytes: &[u8]) -> usize {
    let in_stride = |stride: &[u8]| stride.iter().map(|byte| u8::from(!is_continuation(*byte))).sum::<u8>();
    bytes.chunks(STRIDE).map(|stride| usize::from(in_stride(stride))).sum()
}

fn is_continuation(byte: u8) -> bool {
    byte & 0xC0 == 0x80
}
