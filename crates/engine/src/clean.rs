//! Cleans raw output into text for a model.
//!
//! Escape sequences and control characters are removed, and a redrawn line is shown in its last state. A NUL becomes
//! `␀`, because it separates words that would otherwise be one. [`Changes`] counts changes that a reader cannot see.
//! This is a line, not a screen: moving up, clearing the screen and saved cursors are ignored, so that nothing that
//! scrolled by is lost. Every character and every tab counts as one column, whatever its width.
//!
//! Bytes that are not UTF-8 pass as they are, and become U+FFFD when the text is shown. A column is a byte together
//! with the continuation bytes after it, so a character that arrives in two pieces needs no special care.
//!
//! Invariants: as many newlines come out as go in. The result depends on the bytes alone, and not on the chunks in
//! which they came. Memory is at most a small multiple of [`LONGEST_LINE`], whatever the command writes.

mod line;
mod swift;

use std::sync::Arc;

use bashful_screen::{Csi, Token, Tokenizer};
use bashful_sys::ascii;
use memchr::memrchr;

use crate::mask::Mask;
use line::Line;

/// Length, in bytes, at which an unfinished line is passed on. Later bytes are treated as a new line attached to it.
/// Redrawn lines have the width of a terminal; a longer one is data.
const LONGEST_LINE: usize = 16 * 1024;

/// Bytes that are checked for controls at a time: enough to be quick, and few enough to stay in the cache until they
/// are copied.
const BLOCK: usize = 4096;

/// Bytes that the swift way handles before the next check of a whole block.
const SWIFTLY: usize = 4 * BLOCK;

const ESCAPE: u8 = 0x1B;

/// First byte of the characters from U+0080 to U+00BF, the first half of which are controls.
const LATIN_LEAD: u8 = 0xC2;

const REPLACEMENT: &[u8] = "\u{FFFD}".as_bytes();

/// Shown in place of a NUL: `␀`.
const VISIBLE_NUL: [u8; 3] = [0xE2, 0x90, 0x80];

/// As many of them as a block can have NULs: one NUL is often followed by thousands.
static VISIBLE_NULS: [[u8; 3]; BLOCK] = [VISIBLE_NUL; BLOCK];

/// Receives finished text.
pub(crate) trait Settled {
    /// A piece of finished text.
    fn text(&mut self, text: &[u8]);

    /// The same three bytes, none of them a newline, so many times.
    fn repeated(&mut self, three: [u8; 3], times: usize) {
        let piece = [three; 1024];
        let mut left = times;
        while left > 0 {
            let now = left.min(piece.len());
            self.text(piece[..now].as_flattened());
            left -= now;
        }
    }
}

impl<F: FnMut(&[u8])> Settled for F {
    fn text(&mut self, text: &[u8]) {
        self(text);
    }
}

/// Differences between the text of an output and its bytes, beside escape sequences and redrawn lines.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Changes {
    /// Number of lines that end in CRLF, and are shown with LF.
    pub crlf_lines: u64,
    /// Number of NULs, which are shown as `␀`.
    pub nuls: u64,
    /// Number of other control characters, which are left out.
    pub controls: u64,
}

/// Cleans one stream of output.
pub(crate) struct Cleaner {
    line: Line,
    state: StreamState,
    tokenizer: Tokenizer,
    /// Buffer for finished text; kept to save allocations.
    text: Vec<u8>,
    /// Buffer for [`append_swiftly`](Self::append_swiftly). Empty until that is needed.
    swift: Vec<u8>,
    /// True if the last byte was a carriage return.
    returned: bool,
    changes: Changes,
}

/// State of the stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum StreamState {
    /// In text.
    Text,
    /// After a [`LATIN_LEAD`]: the next byte decides if this is a letter or a control.
    Lead,
    /// In a sequence that ESC began.
    Sequence,
}

impl Cleaner {
    pub(crate) fn new() -> Self {
        Self {
            line: Line::default(),
            state: StreamState::Text,
            tokenizer: Tokenizer::default(),
            text: Vec::new(),
            swift: Vec::new(),
            returned: false,
            changes: Changes::default(),
        }
    }

    /// Redacts withheld values before a line is redrawn over a part of them.
    pub(crate) fn redacting(mut self, mask: &Arc<Mask>) -> Self {
        self.line.mask = Arc::clone(mask);
        self
    }

    /// Cleans the next bytes, and passes on the text that they finish, piece by piece. Plain lines are passed on
    /// without a copy.
    pub(crate) fn push(&mut self, raw: &[u8], settled: &mut dyn Settled) {
        let mut text = std::mem::take(&mut self.text);
        let mut raw = raw;
        while !raw.is_empty() {
            let at_rest = self.state == StreamState::Text && self.line.is_plain() && !self.returned;
            let done = if at_rest { self.push_at_rest(raw, &mut text, settled) } else { 0 };
            let done = if done > 0 {
                done
            } else {
                let block = &raw[..BLOCK.min(raw.len())];
                self.work_through(block, &mut text);
                block.len()
            };
            hand_on(&mut text, settled);
            raw = &raw[done..];
        }
        self.text = text;
    }

    /// Appends bytes that only add to the line, and returns their number.
    fn push_at_rest(&mut self, raw: &[u8], text: &mut Vec<u8>, settled: &mut dyn Settled) -> usize {
        let plain = plain_prefix(raw);
        if plain == 0 {
            let nuls = swift::nuls_in_flood(raw);
            if nuls > 0 {
                self.flood_with_nuls(nuls, text, settled);
                return nuls;
            }
            return self.append_swiftly(&raw[..SWIFTLY.min(raw.len())], settled);
        }
        let (lines, rest) = raw[..plain].split_at(memrchr(b'\n', &raw[..plain]).map_or(0, |at| at + 1));
        if !lines.is_empty() {
            self.line.settle(text);
            hand_on(text, settled);
            settled.text(lines);
        }
        self.line.append(rest, text);
        plain
    }

    /// Changes made so far.
    pub(crate) fn changes(&self) -> Changes {
        self.changes
    }

    /// The unfinished last line, as it would be shown if nothing more came.
    pub(crate) fn pending(&self) -> Vec<u8> {
        let mut text = Vec::new();
        let mut line = self.line.clone();
        if self.state == StreamState::Lead {
            line.write(REPLACEMENT, &mut text);
        }
        text.extend(line.bytes);
        text
    }

    fn work_through(&mut self, block: &[u8], text: &mut Vec<u8>) {
        let mut rest = block;
        while let [byte, after @ ..] = rest {
            if self.state == StreamState::Text {
                let run = ascii::find_special(rest);
                if run > 0 {
                    self.returned = false;
                    self.line.write(&rest[..run], text);
                    rest = &rest[run..];
                    continue;
                }
                if *byte == 0 {
                    self.returned = false;
                    let nuls = rest.iter().position(|byte| *byte != 0).unwrap_or(rest.len());
                    self.changes.nuls += nuls as u64;
                    self.line.write(VISIBLE_NULS[..nuls].as_flattened(), text);
                    rest = &rest[nuls..];
                    continue;
                }
            }
            self.step(*byte, text);
            rest = after;
        }
    }

    fn step(&mut self, byte: u8, text: &mut Vec<u8>) {
        let returned = std::mem::replace(&mut self.returned, byte == b'\r' && self.state == StreamState::Text);
        if self.state == StreamState::Lead {
            self.state = StreamState::Text;
            match byte {
                0x80..=0x9F => return self.changes.controls += 1,
                0xA0..=0xBF => return self.line.write(&[LATIN_LEAD, byte], text),
                // Replaced here and not later: once a sequence between them is removed, it could form a control
                // together with the next bytes.
                _ => self.line.write(REPLACEMENT, text),
            }
        }
        match (self.state, byte) {
            (_, b'\n') => {
                if self.state != StreamState::Text {
                    // An unfinished sequence must not swallow more than its own line.
                    self.tokenizer = Tokenizer::default();
                    self.state = StreamState::Text;
                }
                self.changes.crlf_lines += u64::from(returned);
                self.line.settle(text);
                text.push(b'\n');
            }
            (StreamState::Text, LATIN_LEAD) => self.state = StreamState::Lead,
            (StreamState::Text, byte) if byte != ESCAPE => {
                self.changes.controls += u64::from(!matches!(byte, b'\r' | b'\x08' | b'\t'));
                self.line.obey(byte, text);
            }
            _ => self.parse(byte, text),
        }
    }

    /// Reads one byte of an escape sequence.
    fn parse(&mut self, byte: u8, text: &mut Vec<u8>) {
        match self.tokenizer.next(&[byte]).1 {
            // A terminal obeys controls inside of a sequence.
            Token::Text(controls) => controls.iter().for_each(|control| self.line.obey(*control, text)),
            Token::Csi(csi) => obey_sequence(csi, &mut self.line),
            Token::Nothing | Token::Break | Token::Escape { .. } | Token::Osc(_) => {}
        }
        self.state = if self.tokenizer.is_in_text() { StreamState::Text } else { StreamState::Sequence };
    }
}

/// Number of bytes from the beginning that need no work, in whole blocks.
fn plain_prefix(raw: &[u8]) -> usize {
    raw.chunks(BLOCK).take_while(|block| is_plain(block)).map(<[u8]>::len).sum()
}

fn hand_on(text: &mut Vec<u8>, settled: &mut dyn Settled) {
    if !text.is_empty() {
        settled.text(text);
        text.clear();
    }
}

/// True if all bytes can be copied as they are. Most output is ASCII, for which the check is twice as fast.
fn is_plain(block: &[u8]) -> bool {
    ascii::is_plain_ascii(block) || is_plain_text(block)
}

/// Checks all bytes without an early exit, and with numbers for truth values, so that the compiler checks sixteen or
/// more bytes at a time.
fn is_plain_text(block: &[u8]) -> bool {
    let [first @ .., last] = block else { return true };
    let mut found = control(*last) | u8::from(*last == LATIN_LEAD);
    for (byte, next) in first.iter().zip(&block[1..]) {
        let letter = u8::from(next & 0xE0 == 0xA0);
        found |= control(*byte) | (u8::from(*byte == LATIN_LEAD) & (1 ^ letter));
    }
    found == 0
}

/// 1 for a control character other than a newline or a tab, 0 otherwise.
fn control(byte: u8) -> u8 {
    let low = u8::from(byte < 0x20) & u8::from(byte != b'\n') & u8::from(byte != b'\t');
    low | u8::from(byte == 0x7F)
}

/// Applies a control sequence to the line.
fn obey_sequence(csi: &Csi, line: &mut Line) {
    if csi.marker.is_some() || csi.intermediate.is_some() {
        return;
    }
    let number = usize::from(csi.parameter(0, 0));
    let count = number.max(1);
    if matches!(csi.last, b'D' | b'G' | b'`' | b'K' | b'J' | b'P' | b'X') {
        line.redact();
    }
    match (csi.last, number) {
        (b'C' | b'a', _) => line.go_right(count),
        (b'D', _) => line.go_left(count),
        (b'G' | b'`', _) => line.go_to(count - 1),
        // Progress bars erase to the end of the screen where they mean the line.
        (b'K' | b'J', 0) => line.erase_right(),
        (b'K', 1) => line.erase_left(),
        (b'K', 2) => line.erase_all(),
        (b'P', _) => line.remove(count),
        (b'X', _) => line.blank(count),
        _ => {}
    }
}

#[cfg(test)]
mod tests;
