//! The swift way through output whose controls do nothing to the line: CRLF, colors, and floods of NULs.
//!
//! Colored or Windows output comes by the gigabyte too, and byte by byte it would be read at a quarter of the speed. All that is not
//! handled here is left to [`Cleaner::work_through`], which gives the same result for everything.

use bashful_sys::wide;

use super::line::settled_length;
use super::{Cleaner, ESCAPE, LATIN_LEAD, LONGEST_LINE, Settled, VISIBLE_NUL, VISIBLE_NULS};

/// So many NULs in a row are a flood. Fewer are written out.
const FLOOD: usize = 2 * LONGEST_LINE;

/// So many NULs fill a line of nothing else, whatever was in it before.
const FILLS_LINE: usize = LONGEST_LINE / VISIBLE_NUL.len() + 1;

/// The length of a flood of NULs at the beginning; 0 if there is none.
pub(super) fn nuls_in_flood(raw: &[u8]) -> usize {
    let nuls = wide::leading_nuls(raw);
    if nuls < FLOOD { 0 } else { nuls }
}

impl Cleaner {
    /// Appends text to a plain line, and returns how many bytes were taken: up to the first control that may change the line,
    /// or up to a sequence that is not complete.
    pub(super) fn append_swiftly(&mut self, raw: &[u8], text: &mut Vec<u8>) -> usize {
        // The unfinished line is at the end of `text` meanwhile.
        let mut begin = text.len();
        text.append(&mut self.line.bytes);
        let mut rest = raw;
        loop {
            let (run, special) = rest.split_at(wide::find_special(rest));
            text.extend_from_slice(run);
            rest = special;
            let taken = match special {
                [b'\n', ..] | [b'\r', b'\n', ..] => {
                    let is_crlf = special[0] == b'\r';
                    self.changes.crlf_lines += u64::from(is_crlf);
                    text.push(b'\n');
                    begin = text.len();
                    1 + usize::from(is_crlf)
                }
                [0, ..] => {
                    let nuls = wide::leading_nuls(special).min(VISIBLE_NULS.len());
                    self.changes.nuls += nuls as u64;
                    text.extend_from_slice(VISIBLE_NULS[..nuls].as_flattened());
                    nuls
                }
                [LATIN_LEAD, letter @ 0xA0..=0xBF, ..] => {
                    text.extend_from_slice(&[LATIN_LEAD, *letter]);
                    2
                }
                [ESCAPE, b'[', parameters @ ..] => match idle_sequence(parameters) {
                    Some(length) => 2 + length,
                    None => break,
                },
                _ => break,
            };
            rest = &special[taken..];
        }
        begin += settled_length(&text[begin..]);
        self.line.bytes.extend_from_slice(&text[begin..]);
        self.line.cursor = self.line.bytes.len();
        self.line.fresh = Some(0);
        text.truncate(begin);
        raw.len() - rest.len()
    }

    /// Appends a flood of NULs to a plain line. They are counted and not written out: two gigabytes of them would be six.
    pub(super) fn flood_with_nuls(&mut self, nuls: usize, text: &mut Vec<u8>, settled: &mut dyn Settled) {
        self.changes.nuls += nuls as u64;
        self.append_nuls(FILLS_LINE, text);
        super::hand_on(text, settled);
        // The line holds nothing but NULs now, so that as many NULs as it has bytes leave it as it is, and settle three times its
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

/// The length of a control sequence behind its beginning, if it does nothing to a plain line: colors, and erasing what is right of
/// its end. None if it may do something, or is not complete.
fn idle_sequence(parameters: &[u8]) -> Option<usize> {
    let length = parameters.iter().position(|byte| !matches!(byte, b'0'..=b'9' | b';' | b':'))?;
    let is_idle = parameters[length] == b'm' || (length == 0 && parameters[0] == b'K');
    is_idle.then_some(length + 1)
}
