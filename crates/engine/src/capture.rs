//! Keeps what a command writes, within a limit, and counts all of it.
//!
//! Bytes come in as they arrive and go out as a [`Clip`]. Turning them into text is the callers' part.
//!
//! Invariant: memory held is at most a small multiple of the window, whatever the command writes.

use std::ops::Range;

use crate::units::ByteSize;

/// How much of the output is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Window {
    /// Up to this size all of it is.
    pub whole: ByteSize,
    /// Beyond it, at least so much of the beginning is.
    pub head: ByteSize,
    /// And at least so much of the end.
    pub tail: ByteSize,
}

/// A cut is moved to the next line border if there is one this close: whole lines read better, and most lines are short.
const REACH: usize = 1024;

/// What is shown of an output.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Clip {
    /// All of it.
    Whole(Vec<u8>),
    /// Its beginning and its end.
    Cut {
        /// The beginning.
        head: Part,
        /// What is between.
        omitted: Omitted,
        /// The end.
        tail: Part,
    },
}

/// A stretch of the output.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Part {
    /// Its bytes.
    pub bytes: Vec<u8>,
    /// Where they begin and end in the whole.
    pub range: Range<u64>,
    /// The number of its first line, counted from 1. It may lack its beginning.
    pub first_line: u64,
    /// The number of its last line. It may lack its end.
    pub last_line: u64,
}

/// What is not shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Omitted {
    /// So many bytes.
    pub bytes: u64,
    /// So many lines of which nothing is shown.
    pub lines: u64,
}

/// What a command has written so far.
#[derive(Debug)]
pub struct Capture {
    window: Window,
    /// The beginning of the output.
    first: Vec<u8>,
    /// The newest part of it, behind `first`.
    last: Vec<u8>,
    bytes: u64,
    newlines: u64,
    ends_in_newline: bool,
}

impl Capture {
    /// Nothing so far.
    pub fn new(window: Window) -> Self {
        Self { window, first: Vec::new(), last: Vec::new(), bytes: 0, newlines: 0, ends_in_newline: false }
    }

    /// Takes what has arrived.
    pub fn push(&mut self, chunk: &[u8]) {
        let Some(last_byte) = chunk.last() else { return };
        self.bytes += chunk.len() as u64;
        self.newlines += count_newlines(chunk);
        self.ends_in_newline = *last_byte == b'\n';

        let room = self.first_at_most().saturating_sub(self.first.len());
        let (to_first, to_last) = chunk.split_at(room.min(chunk.len()));
        self.first.extend_from_slice(to_first);

        let keep = self.last_at_most();
        if to_last.len() >= keep {
            self.last.clear();
            self.last.extend_from_slice(&to_last[to_last.len() - keep..]);
        } else {
            self.last.extend_from_slice(to_last);
            // Moving the rest to the front only now and then keeps small writes cheap.
            if self.last.len() > 2 * keep {
                self.last.drain(..self.last.len() - keep);
            }
        }
    }

    /// How many bytes were written.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// How many lines were written; a last one without its newline counts.
    pub fn lines(&self) -> u64 {
        self.newlines + u64::from(self.bytes > 0 && !self.ends_in_newline)
    }

    /// The newest bytes, at most so many, from the beginning of a line if there is one.
    pub fn newest(&self, at_most: usize) -> Vec<u8> {
        let from = self.bytes.saturating_sub(at_most as u64).max(self.oldest_of_last());
        let bytes = self.slice(from..self.bytes);
        if from == 0 {
            return bytes;
        }
        let begin = memchr::memchr(b'\n', &bytes).map_or_else(|| char_begin_after(&bytes, 0), |at| at + 1);
        bytes[begin..].to_vec()
    }

    /// What is to be shown.
    pub fn clip(&self) -> Clip {
        if self.bytes <= self.window.whole.0 {
            return Clip::Whole(self.slice(0..self.bytes));
        }
        let head_end = self.head_end();
        let tail_begin = self.tail_begin().max(head_end);
        if head_end == tail_begin {
            return Clip::Whole(self.slice(0..self.bytes));
        }
        let head = self.slice(0..head_end);
        let tail = self.slice(tail_begin..self.bytes);
        let head_newlines = count_newlines(&head);
        let head_last = head_newlines + u64::from(head.last().is_some_and(|byte| *byte != b'\n'));
        let tail_first = self.newlines - count_newlines(&tail) + 1;
        Clip::Cut {
            omitted: Omitted { bytes: tail_begin - head_end, lines: tail_first.saturating_sub(head_last + 1) },
            head: Part { bytes: head, range: 0..head_end, first_line: 1, last_line: head_last },
            tail: Part { bytes: tail, range: tail_begin..self.bytes, first_line: tail_first, last_line: self.lines() },
        }
    }

    fn first_at_most(&self) -> usize {
        self.window.whole.in_memory().max(self.window.head.in_memory().saturating_add(REACH))
    }

    fn last_at_most(&self) -> usize {
        self.window.tail.in_memory().saturating_add(REACH)
    }

    fn oldest_of_last(&self) -> u64 {
        // While everything fits into `first`, all of it is there.
        if self.last.is_empty() { 0 } else { self.bytes - self.last.len() as u64 }
    }

    /// The end of the first line border at or behind the wanted size, or the border of a character before it.
    fn head_end(&self) -> u64 {
        let wanted = self.window.head.in_memory().min(self.first.len());
        let before = wanted.saturating_sub(1);
        let reach = (wanted + REACH).min(self.first.len());
        let end = match memchr::memchr(b'\n', &self.first[before..reach]) {
            Some(at) => before + at + 1,
            None => char_begin_before(&self.first, wanted),
        };
        end as u64
    }

    /// The last line border at or before the wanted size, or the border of a character behind it.
    fn tail_begin(&self) -> u64 {
        let wanted = self.bytes.saturating_sub(self.window.tail.0);
        let oldest = wanted.saturating_sub(REACH as u64);
        let bytes = self.slice(oldest..self.bytes);
        // The slice may begin later than asked for, where the middle was dropped.
        let oldest = self.bytes - bytes.len() as u64;
        let at = usize::try_from(wanted.saturating_sub(oldest)).unwrap_or(0);
        let begin = match memchr::memrchr(b'\n', &bytes[..at]) {
            Some(newline) => newline + 1,
            None => char_begin_after(&bytes, at),
        };
        oldest + begin as u64
    }

    /// The bytes of this range, or the end of it that is still there.
    fn slice(&self, range: Range<u64>) -> Vec<u8> {
        let at = |offset: u64| usize::try_from(offset).unwrap_or(usize::MAX);
        let last_begin = self.bytes - self.last.len() as u64;
        let first_end = self.first.len() as u64;
        let mut bytes = Vec::new();
        if range.start < first_end && (range.end <= first_end || first_end == last_begin) {
            bytes.extend_from_slice(&self.first[at(range.start)..at(range.end.min(first_end))]);
        }
        if range.end > first_end {
            let begin = range.start.max(last_begin);
            bytes.extend_from_slice(&self.last[at(begin - last_begin)..at(range.end - last_begin)]);
        }
        bytes
    }
}

fn count_newlines(bytes: &[u8]) -> u64 {
    memchr::memchr_iter(b'\n', bytes).count() as u64
}

/// The border of a character at or before `at`.
fn char_begin_before(bytes: &[u8], at: usize) -> usize {
    // A character has at most three bytes behind its first.
    (at.saturating_sub(3)..=at).rev().find(|at| bytes.get(*at).is_none_or(|byte| !is_continuation(*byte))).unwrap_or(at)
}

/// The border of a character at or behind `at`.
fn char_begin_after(bytes: &[u8], at: usize) -> usize {
    (at..at + 4).find(|at| bytes.get(*at).is_none_or(|byte| !is_continuation(*byte))).unwrap_or(at)
}

fn is_continuation(byte: u8) -> bool {
    byte & 0b1100_0000 == 0b1000_0000
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const SMALL: Window = Window { whole: ByteSize(5000), head: ByteSize(40), tail: ByteSize(40) };

    fn captured(window: Window, bytes: &[u8], chunk: usize) -> Capture {
        let mut capture = Capture::new(window);
        for chunk in bytes.chunks(chunk.max(1)) {
            capture.push(chunk);
        }
        capture
    }

    fn lines_of(bytes: &[u8]) -> u64 {
        bytes.split_inclusive(|byte| *byte == b'\n').count() as u64
    }

    proptest! {
        #[test]
        fn what_is_shown_and_what_is_omitted_make_up_the_whole(
            bytes in proptest::collection::vec(prop_oneof![4 => any::<u8>(), 1 => Just(b'\n')], 0..9000),
            chunk in 1_usize..3000,
            whole in 0_u64..6000, head in 0_u64..3000, tail in 0_u64..3000,
        ) {
            let window = Window { whole: ByteSize(whole), head: ByteSize(head), tail: ByteSize(tail) };
            let capture = captured(window, &bytes, chunk);
            prop_assert_eq!(capture.bytes(), bytes.len() as u64);
            prop_assert_eq!(capture.lines(), lines_of(&bytes));
            match capture.clip() {
                Clip::Whole(shown) => prop_assert_eq!(shown, bytes),
                Clip::Cut { head: front, omitted, tail: back } => {
                    prop_assert!(bytes.len() as u64 > whole && omitted.bytes > 0);
                    let middle = usize::try_from(omitted.bytes).expect("small");
                    prop_assert_eq!(front.bytes.len() + middle + back.bytes.len(), bytes.len());
                    prop_assert!(bytes.starts_with(&front.bytes) && bytes.ends_with(&back.bytes));
                    prop_assert!(front.bytes.len() as u64 + 3 >= head.min(bytes.len() as u64) || front.range.end == back.range.start);
                    prop_assert!(back.bytes.len() as u64 + 3 >= tail || front.range.end == back.range.start);
                    prop_assert_eq!(front.last_line, lines_of(&front.bytes));
                    prop_assert_eq!(back.last_line, lines_of(&bytes));
                    let before_tail = &bytes[..bytes.len() - back.bytes.len()];
                    prop_assert_eq!(back.first_line, 1 + count_newlines(before_tail));
                    let whole_lines_between = back.first_line.saturating_sub(front.last_line + 1);
                    prop_assert_eq!(omitted.lines, whole_lines_between);
                }
            }
        }

        #[test]
        fn text_is_never_cut_inside_a_character(text in "[aé€😀]{2000,4000}", chunk in 1_usize..500) {
            let window = Window { whole: ByteSize(1500), ..SMALL };
            if let Clip::Cut { head, tail, .. } = captured(window, text.as_bytes(), chunk).clip() {
                prop_assert!(std::str::from_utf8(&head.bytes).is_ok());
                prop_assert!(std::str::from_utf8(&tail.bytes).is_ok());
            }
        }

        #[test]
        fn memory_stays_within_the_window(chunks in proptest::collection::vec(1_usize..9000, 1..60)) {
            let mut capture = Capture::new(SMALL);
            let block = vec![b'x'; 9000];
            for size in chunks {
                capture.push(&block[..size]);
                prop_assert!(capture.first.len() <= 5000 && capture.last.len() <= 2 * (40 + REACH));
            }
        }
    }

    #[test]
    fn cuts_are_at_line_borders_where_lines_are_sane() {
        let text = (1..=2000).fold(String::new(), |text, number| text + &format!("line {number}\n"));
        let Clip::Cut { head, omitted, tail } = captured(SMALL, text.as_bytes(), 64).clip() else { panic!("not cut") };
        assert_eq!(String::from_utf8_lossy(&head.bytes), "line 1\nline 2\nline 3\nline 4\nline 5\nline 6\n");
        assert_eq!(String::from_utf8_lossy(&tail.bytes), "line 1997\nline 1998\nline 1999\nline 2000\n");
        assert_eq!((head.last_line, tail.first_line, tail.last_line, omitted.lines), (6, 1997, 2000, 1990));
    }

    #[test]
    fn one_endless_line_is_cut_too() {
        let Clip::Cut { head, omitted, tail } = captured(SMALL, &vec![b'x'; 100_000], 4096).clip() else {
            panic!("not cut")
        };
        assert_eq!((head.bytes.len(), tail.bytes.len(), omitted.lines), (40, 40, 0));
        assert_eq!((head.last_line, tail.first_line, tail.last_line), (1, 1, 1));
    }

    #[test]
    fn the_newest_part_begins_with_a_line() {
        let capture = captured(SMALL, b"one\ntwo\nthree\nfo", 3);
        assert_eq!(capture.newest(11), b"three\nfo");
        assert_eq!(capture.newest(100), b"one\ntwo\nthree\nfo");
        assert_eq!(captured(SMALL, &vec![b'x'; 9000], 100).newest(10), b"xxxxxxxxxx");
    }
}
