//! Reads parts of a job's output. Reading removes nothing.

use std::ops::Range;

use super::JobRecord;
use crate::artifacts::{Artifact, ReadError};
use crate::units::ByteSize;

/// A part of a job's output.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part {
    /// Output from this offset on, in bytes from the beginning.
    Since(u64),
    /// The last lines.
    LastLines(u64),
}

/// Text of a part of a job's output.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct JobText {
    /// Raw bytes, with a line of its own at each gap.
    pub raw: Vec<u8>,
    /// Byte range of this part. The next part begins at its end.
    pub range: Range<u64>,
    /// Size of the whole output, in bytes.
    pub total: u64,
    /// Bytes before the part, as many as [`OutputRedactor::show_part`](crate::OutputRedactor::show_part) needs.
    pub before: Vec<u8>,
    /// Bytes after the part, as many as it needs.
    pub after: Vec<u8>,
}

impl JobRecord {
    /// Opens the output, as it is now, for reading.
    pub fn output(&self) -> Result<Artifact, ReadError> {
        Artifact::at(&self.output_file, self.is_live())
    }

    /// Opens stderr; none if the streams share a pipe.
    pub fn stderr(&self) -> Option<Result<Artifact, ReadError>> {
        Some(Artifact::at(self.stderr_file.as_ref()?, self.is_live()))
    }

    /// Reads a part of the output: the first `at_most` bytes after an offset, or the newest `at_most` bytes of the last
    /// lines.
    pub fn text(&self, part: Part, at_most: ByteSize) -> Result<JobText, ReadError> {
        // At least one character fits, so that reading always makes progress.
        let at_most = at_most.max(ByteSize(4));
        let output = self.output()?;
        let total = output.len();
        let (mut start, is_cut) = match part {
            Part::Since(offset) => (offset.min(total), false),
            Part::LastLines(lines) => {
                // All lines begin at offset 0, and need no count.
                let wanted = if lines == u64::MAX { 0 } else { output.tail_begin(lines)?.min(total) };
                let most = total.saturating_sub(at_most.0);
                (wanted.max(most), wanted < most)
            }
        };
        let mut end = start.saturating_add(at_most.0).min(total);
        // A gap takes no room.
        for gap in self.missing() {
            if gap.range.start < end && gap.range.end > start {
                let covered = end.min(gap.range.end) - gap.range.start.max(start);
                end = end.max(gap.range.end).saturating_add(covered).min(total);
            }
        }
        let mut raw = Vec::new();
        // A gap whose end is unknown begins at the end of the file.
        let is_last = end == total && self.missing().last().is_some_and(|gap| gap.range.end == u64::MAX);
        output.bytes(start..if is_last { u64::MAX } else { end }, &mut raw)?;
        if is_cut
            && self.missing().is_empty()
            && let Some(line_end) = memchr::memchr(b'\n', &raw).filter(|at| at + 1 < raw.len())
        {
            // Cut at a line end: half a line could be mistaken for a whole one.
            raw.drain(..=line_end);
            start += line_end as u64 + 1;
        }
        if end < total || self.is_live() {
            let cut = unfinished_character(&raw);
            raw.truncate(raw.len() - cut);
            end -= cut as u64;
        }
        let (before, after) = output.around(start..end);
        Ok(JobText { raw, range: start..end, total, before, after })
    }
}

/// Number of bytes at the end that begin an unfinished character.
fn unfinished_character(bytes: &[u8]) -> usize {
    let tail = &bytes[bytes.len().saturating_sub(3)..];
    match std::str::from_utf8(tail).map_err(|error| (error.error_len(), error.valid_up_to())) {
        Err((None, valid)) => tail.len() - valid,
        // The window of three bytes may begin within a character; its last beginning counts.
        Err((Some(_), _)) => tail
            .iter()
            .rposition(|byte| *byte >= 0xC0)
            .filter(|at| std::str::from_utf8(&tail[*at..]).is_err_and(|error| error.error_len().is_none()))
            .map_or(0, |at| tail.len() - at),
        Ok(_) => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_character_that_is_cut_is_left_for_the_next_read() {
        for (text, begun) in [
            (&b""[..], 0),
            (b"abc", 0),
            ("aé".as_bytes(), 0),
            (&"aé".as_bytes()[..2], 1),
            (&"€".as_bytes()[..2], 2),
            (&"ab😀".as_bytes()[..5], 3),
            (&"é😀".as_bytes()[..4], 2),
            (b"ab\xff", 0),
            (b"\xa9\xa9\xa9", 0),
        ] {
            assert_eq!(unfinished_character(text), begun, "{text:?}");
        }
    }
}
