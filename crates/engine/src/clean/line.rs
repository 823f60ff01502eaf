//! The unfinished line: what is written over it, erased, and moved about in.

use std::sync::Arc;

use super::{LATIN_LEAD, LONGEST_LINE};
use crate::mask::{Edges, LONGEST, Mask};

/// Moving right never makes more than this many columns of a line. Programs ask for column 999 to find the right edge,
/// and a model should not have to read the spaces.
const WIDEST_GAP: usize = 120;

/// Columns are counted this many bytes at a time, so that output which jumps about in a long line is not slow to read.
const STRIDE: usize = 64;

/// The unfinished line and its cursor.
#[derive(Debug, Clone, Default)]
pub(super) struct Line {
    pub(super) bytes: Vec<u8>,
    /// Where the next character goes; always where a column begins.
    pub(super) cursor: usize,
    /// How many columns beyond the end the cursor is. They become spaces when something is written there.
    gap: usize,
    /// Where text begins that was written since withheld values were last looked for.
    pub(super) fresh: Option<usize>,
    /// Hides withheld values before a part of them is written over.
    pub(super) mask: Arc<Mask>,
}

impl Line {
    /// True if what comes next is simply appended.
    pub(super) fn is_plain(&self) -> bool {
        self.cursor == self.bytes.len() && self.gap == 0
    }

    /// Gives all of it away, and begins anew.
    pub(super) fn settle(&mut self, text: &mut Vec<u8>) {
        text.append(&mut self.bytes);
        self.cursor = 0;
        self.gap = 0;
        self.fresh = None;
    }

    /// Appends to a plain line.
    pub(super) fn append(&mut self, bytes: &[u8], text: &mut Vec<u8>) {
        self.freshen(self.bytes.len());
        self.bytes.extend_from_slice(bytes);
        self.give_away(settled_length(&self.bytes), text);
        self.cursor = self.bytes.len();
    }

    /// Notes that text was written from here on.
    fn freshen(&mut self, at: usize) {
        self.fresh = Some(self.fresh.map_or(at, |fresh| fresh.min(at)));
    }

    fn give_away(&mut self, settled: usize, text: &mut Vec<u8>) {
        text.extend(self.bytes.drain(..settled));
        self.fresh = self.fresh.map(|fresh| fresh.saturating_sub(settled));
    }

    /// Replaces withheld values by their labels, before something moves back in the line: what is written over a part of
    /// a value leaves the rest, and that would not be recognized.
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

    /// Writes at the cursor, over what is there.
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
        self.freshen(self.cursor);
        if self.cursor == self.bytes.len() || is_continuation(byte) {
            self.bytes.insert(self.cursor, byte);
        } else {
            let (end, _) = self.right_by(1);
            self.bytes[self.cursor] = byte;
            self.bytes.drain(self.cursor + 1..end);
        }
        self.cursor += 1;
        // It only grows left of the cursor, so this is enough to keep it short.
        if self.bytes.len() >= LONGEST_LINE && byte != LATIN_LEAD {
            self.give_away(self.cursor, text);
            self.cursor = 0;
        }
    }

    /// Does what a control character says, if it has to do with a line.
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

    /// Erases from the beginning up to and with the cursor.
    pub(super) fn erase_left(&mut self) {
        let (end, _) = self.right_by(1);
        let blank = self.columns(end);
        self.cursor = self.columns(self.cursor);
        self.bytes.splice(..end, std::iter::repeat_n(b' ', blank));
    }

    /// Erases all of it; the cursor stays where it is.
    pub(super) fn erase_all(&mut self) {
        let column = self.columns(self.cursor) + self.gap;
        self.bytes.clear();
        self.go_to(column);
    }

    /// Makes columns blank.
    pub(super) fn blank(&mut self, columns: usize) {
        let (end, _) = self.right_by(columns);
        if end == self.bytes.len() {
            self.erase_right();
        } else {
            self.bytes.splice(self.cursor..end, std::iter::repeat_n(b' ', columns));
        }
    }

    /// Removes columns; what is right of them moves up.
    pub(super) fn remove(&mut self, columns: usize) {
        let (end, _) = self.right_by(columns);
        self.bytes.drain(self.cursor..end);
    }

    /// Where the cursor would be so many columns to the right, and how many of them are beyond the end.
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

    /// How many columns there are before `end`.
    fn columns(&self, end: usize) -> usize {
        // What begins with the rest of a character has no first byte, but is a column too.
        let headless = self.bytes[..end].first().is_some_and(|byte| is_continuation(*byte));
        beginnings(&self.bytes[..end]) + usize::from(headless)
    }
}

/// How much of an unfinished plain line is settled: whole multiples of the longest line, as if the bytes had come one by one. A
/// letter stays with its lead, which comes in the same piece: without it, what is written over the letter could make a control
/// together with the lead.
pub(super) fn settled_length(line: &[u8]) -> usize {
    let mut settled = 0;
    while line.len() - settled >= LONGEST_LINE {
        settled += LONGEST_LINE;
        settled -= usize::from(line[settled - 1] == LATIN_LEAD);
    }
    settled
}

/// How many columns begin in these bytes.
fn beginnings(bytes: &[u8]) -> usize {
    let in_stride = |stride: &[u8]| stride.iter().map(|byte| u8::from(!is_continuation(*byte))).sum::<u8>();
    bytes.chunks(STRIDE).map(|stride| usize::from(in_stride(stride))).sum()
}

fn is_continuation(byte: u8) -> bool {
    byte & 0xC0 == 0x80
}
