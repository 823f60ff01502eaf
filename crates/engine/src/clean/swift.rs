//! A fast path for output whose controls do nothing to the line: CRLF, colors, and floods of NULs.
//!
//! Colored or Windows output comes by the gigabyte too, and byte by byte it would be read at a quarter of the speed.
//! Everything that is not handled here is left to [`Cleaner::work_through`], which gives the same result for all input.

use bashful_sys::ascii;

use super::line::settled_length;
use super::{Cleaner, ESCAPE, LATIN_LEAD, LONGEST_LINE, SWIFTLY, Settled, VISIBLE_NUL, VISIBLE_NULS};

/// Number of NULs in a row that counts as a flood. Fewer are written out.
const FLOOD: usize = 2 * LONGEST_LINE;

/// Number of NULs that fill a line with nothing else, whatever was in it before.
const FILLS_LINE: usize = LONGEST_LINE / VISIBLE_NUL.len() + 1;

/// Length of a flood of NULs at the beginning; 0 if there is none.
pub(super) fn nuls_in_flood(raw: &[u8]) -> usize {
    let nuls = ascii::leading_nuls(raw);
    if nuls < FLOOD { 0 } else { nuls }
}

impl Cleaner {
    /// Appends text to a plain line, and returns the number of bytes used: up to the first control that may change the
    /// line, or an incomplete sequence. `raw` is at most [`SWIFTLY`] bytes long.
    pub(super) fn append_swiftly(&mut self, raw: &[u8], settled: &mut dyn Settled) -> usize {
        let mut out = SwiftBuffer::after(&mut self.swift, &self.line.bytes);
        // Index of the unfinished line in the buffer.
        let mut begin = 0;
        let (mut specials, mut done) = (ascii::Specials::of(raw), 0);
        loop {
            let at = specials.next(done);
            out.copy(raw, done..at);
            done = at;
            done += match &raw[at..] {
                [b'\n', ..] => {
                    begin = out.newline();
                    1
                }
                [b'\r', b'\n', ..] => {
                    self.changes.crlf_lines += 1;
                    begin = out.newline();
                    2
                }
                [ESCAPE, b'[', parameters @ ..] => match idle_sequence(parameters) {
                    Some(length) => 2 + length,
                    None => break,
                },
                special @ [0, ..] => {
                    let nuls = ascii::leading_nuls(special).min(VISIBLE_NULS.len());
                    self.changes.nuls += nuls as u64;
                    out.copy(VISIBLE_NULS.as_flattened(), 0..nuls * VISIBLE_NUL.len());
                    nuls
                }
                [LATIN_LEAD, 0xA0..=0xBF, ..] => {
                    out.copy(raw, at..at + 2);
                    2
                }
                _ => break,
            };
        }
        let text = &out.buffer[..out.length];
        begin += settled_length(&text[begin..]);
        if begin > 0 {
            settled.text(&text[..begin]);
        }
        self.line.bytes.clear();
        self.line.bytes.extend_from_slice(&text[begin..]);
        self.line.cursor = self.line.bytes.len();
        self.line.fresh = Some(0);
        done
    }

    /// Appends a flood of NULs to a plain line. They are counted and not written out: two gigabytes of them would
    /// become six.
    pub(super) fn flood_with_nuls(&mut self, nuls: usize, text: &mut Vec<u8>, settled: &mut dyn Settled) {
        self.changes.nuls += nuls as u64;
        self.append_nuls(FILLS_LINE, text);
        super::hand_on(text, settled);
        // The line holds only NULs now. As many NULs as it has bytes leave it unchanged, and finish three times its
        // longest length.
        let left = nuls - FILLS_LINE;
        let mut three = VISIBLE_NUL;
        three.rotate_right(self.line.bytes.len() % VISIBLE_NUL.len());
        settled.repeated(three, left / LONGEST_LINE * LONGEST_LINE);
        self.append_nuls(left % LONGEST_LINE, text);
    }

    fn append_nuls(&mut self, nuls: usize, text: &mut Vec<u8>) {
        let mut left = nuls;
        while left > 0 {
            let now = left.min(VISIBLE_NULS.len());
            self.line.append(VISIBLE_NULS[..now].as_flattened(), text);
            left -= now;
        }
    }
}

/// Bytes copied at once where fewer are needed: copying a fixed number needs no call.
const SHORT: usize = 32;

/// Room for the text of [`SWIFTLY`] bytes: three for each NUL, the unfinished line before it, and a short copy after
/// it.
const SWIFT_TEXT: usize = SWIFTLY * VISIBLE_NUL.len() + LONGEST_LINE + SHORT;

/// Text under construction, in a longer buffer.
struct SwiftBuffer<'a> {
    buffer: &'a mut [u8],
    length: usize,
}

impl<'a> SwiftBuffer<'a> {
    /// Begins with this line.
    fn after(buffer: &'a mut Vec<u8>, line: &[u8]) -> Self {
        if buffer.is_empty() {
            buffer.resize(SWIFT_TEXT, 0);
        }
        buffer[..line.len()].copy_from_slice(line);
        Self { buffer, length: line.len() }
    }

    #[inline]
    fn copy(&mut self, from: &[u8], range: std::ops::Range<usize>) {
        let length = range.len();
        if length <= SHORT
            && let Some(short) = from[range.start..].first_chunk::<SHORT>()
        {
            self.buffer[self.length..][..SHORT].copy_from_slice(short);
        } else {
            self.buffer[self.length..][..length].copy_from_slice(&from[range]);
        }
        self.length += length;
    }

    /// Ends a line, and returns the index of the next one.
    fn newline(&mut self) -> usize {
        self.buffer[self.length] = b'\n';
        self.length += 1;
        self.length
    }
}

/// Length of a control sequence after its beginning, if it does nothing to a plain line: colors, and erasing to the
/// right of its end. None if it may do something, or is incomplete.
fn idle_sequence(parameters: &[u8]) -> Option<usize> {
    let length = parameters.iter().position(|byte| !matches!(byte, b'0'..=b'9' | b';' | b':'))?;
    let is_idle = parameters[length] == b'm' || (length == 0 && parameters[0] == b'K');
    is_idle.then_some(length + 1)
}
