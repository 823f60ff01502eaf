//! The last lines of the shown beginning of an output.

use crate::window::{Clip, LimitHit, Omitted, Part};

/// Size of the whole output.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Total {
    pub(crate) bytes: u64,
    pub(crate) lines: u64,
}

/// Leaves out all but the last lines of a shown beginning; none if there are not more.
pub(crate) fn last_lines(bytes: &[u8], count: u64, total: Total) -> Option<Clip> {
    // The newline of the last line ends it, and begins none.
    let lines = bytes.strip_suffix(b"\n").unwrap_or(bytes);
    let most = usize::try_from(count.saturating_sub(1)).unwrap_or(usize::MAX);
    let before = memchr::memrchr_iter(b'\n', lines).nth(most)?;
    let shown = bytes[before + 1..].to_vec();
    let first_line = 2 + memchr::memchr_iter(b'\n', &bytes[..before]).count() as u64;
    let last_line = first_line + count - 1;
    Some(Clip::Cut {
        omitted: Omitted { bytes: total.bytes - shown.len() as u64, lines: total.lines - count, by: LimitHit::Lines },
        head: Part { bytes: Vec::new(), range: 0..0, first_line: 1, last_line: 0 },
        tail: Part { range: before as u64 + 1..bytes.len() as u64, bytes: shown, first_line, last_line },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn last(text: &str) -> Option<Clip> {
        let total = Total { bytes: text.len() as u64, lines: text.lines().count() as u64 };
        last_lines(text.as_bytes(), 2, total)
    }

    #[test]
    fn the_last_lines_are_left_with_their_numbers() {
        for text in ["a\nb\nc\n", "a\nb\nc"] {
            let Some(Clip::Cut { head, omitted, tail }) = last(text) else { panic!("it is cut") };
            assert_eq!(tail.bytes, text.as_bytes()[2..].to_vec());
            assert_eq!((tail.first_line, tail.last_line, tail.range), (2, 3, 2..text.len() as u64));
            assert_eq!((omitted.bytes, omitted.lines, head.bytes.len()), (2, 1, 0));
        }
    }

    #[test]
    fn what_is_not_more_stays_as_it_is() {
        for text in ["a\nb\n", "a\nb", "a", ""] {
            assert_eq!(last(text), None);
        }
    }
}
