//! The last lines of the first lines of a text, as `head` and then `tail` would show them.
//!
//! Text is taken until the first lines are complete. The rest is counted by the caller alone, who passes the totals.
//!
//! Invariant: memory held is at most a small multiple of the window, however many first lines there are.

use std::num::NonZeroU64;

use crate::mask::{Edges, Mask};
use crate::request::Lines;
use crate::window::{Clip, LimitHit, Omitted, Part, View, Window};

/// Size of a whole text, of which the first lines are a part.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Total {
    pub(crate) bytes: u64,
    pub(crate) lines: u64,
}

/// The first lines so far, and a window on the last of them.
#[derive(Debug, Clone)]
pub(crate) struct LastOfFirst {
    view: View,
    /// Number of first lines.
    first: u64,
    /// First lines that have not ended yet.
    lines_left: u64,
}

impl LastOfFirst {
    /// Shows the last `last` of the first `first` lines, within the bytes of the window.
    pub(crate) fn new(window: Window, first: NonZeroU64, last: NonZeroU64) -> Self {
        let view = View::new(window.of_lines(Lines::Last(last)));
        Self { view, first: first.get(), lines_left: first.get() }
    }

    /// The same lines of another text.
    pub(crate) fn of_text(&self, text: &[u8]) -> Self {
        let mut lines = Self { view: View::new(self.view.window()), first: self.first, lines_left: self.first };
        lines.push(text);
        lines
    }

    /// Takes text as it arrives. Text behind the first lines is ignored.
    pub(crate) fn push(&mut self, text: &[u8]) {
        if self.lines_left == 0 {
            return;
        }
        let last_line = usize::try_from(self.lines_left - 1).unwrap_or(usize::MAX);
        let end = memchr::memchr_iter(b'\n', text).nth(last_line);
        let taken = end.map_or(text, |end| &text[..=end]);
        self.view.push(taken);
        self.lines_left -= memchr::memchr_iter(b'\n', taken).count() as u64;
    }

    /// Takes the same three bytes, none of them a newline, so many times.
    pub(crate) fn push_repeated(&mut self, three: [u8; 3], times: usize) {
        if self.lines_left > 0 {
            self.view.push_repeated(three, times);
        }
    }

    pub(crate) fn window(&self) -> Window {
        self.view.window()
    }

    /// The redacted clip of the whole text, for the own window or a smaller one.
    pub(crate) fn clip_to(&self, window: Window, total: Total, mask: &Mask) -> Clip {
        let (bytes, lines) = (self.view.bytes(), self.view.lines());
        let goes_on = total.bytes > bytes;
        let omitted = Omitted { bytes: total.bytes - bytes, lines: total.lines - lines, by: LimitHit::Lines };
        let redact = |text: Vec<u8>, edges| mask.apply(&text, edges).unwrap_or(text);
        match self.view.clip_to(window) {
            Clip::Whole(text) if !goes_on => Clip::Whole(redact(text, Edges::None)),
            Clip::Whole(text) => Clip::Cut {
                head: Part { bytes: redact(text, Edges::End), range: 0..bytes, first_line: 1, last_line: lines },
                omitted,
                tail: Part {
                    bytes: Vec::new(),
                    range: total.bytes..total.bytes,
                    first_line: total.lines + 1,
                    last_line: total.lines,
                },
            },
            Clip::Cut { head, omitted: before, tail } => Clip::Cut {
                head,
                omitted: Omitted {
                    bytes: omitted.bytes + before.bytes,
                    lines: omitted.lines + before.lines,
                    by: before.by,
                },
                tail: Part { bytes: redact(tail.bytes, if goes_on { Edges::Both } else { Edges::Begin }), ..tail },
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::units::ByteSize;

    fn number(number: u64) -> NonZeroU64 {
        NonZeroU64::new(number).expect("not zero")
    }

    /// The clip of a text that arrives in small pieces.
    fn clip(text: &str, first: u64, last: u64) -> Clip {
        let window = Window::tail(ByteSize(100));
        let mut lines = LastOfFirst::new(window, number(first), number(last));
        text.as_bytes().chunks(7).for_each(|piece| lines.push(piece));
        let total = Total { bytes: text.len() as u64, lines: text.lines().count() as u64 };
        lines.clip_to(lines.window(), total, &Mask::default())
    }

    #[test]
    fn the_last_of_the_first_lines_are_shown_with_their_numbers() {
        for text in ["a\nb\nc\n", "a\nb\nc"] {
            let Clip::Cut { head, omitted, tail } = clip(text, 9, 2) else { panic!("it is cut") };
            assert_eq!(tail.bytes, text.as_bytes()[2..].to_vec());
            assert_eq!((tail.first_line, tail.last_line, tail.range), (2, 3, 2..text.len() as u64));
            assert_eq!((omitted.bytes, omitted.lines, head.bytes.len()), (2, 1, 0));
        }
    }

    #[test]
    fn lines_far_behind_the_window_are_the_right_ones() {
        let text = (1..=2000).map(|line| line.to_string()).collect::<Vec<_>>().join("\n") + "\n";
        let Clip::Cut { omitted, tail, .. } = clip(&text, 1500, 3) else { panic!("it is cut") };
        assert_eq!(tail.bytes, b"1498\n1499\n1500\n");
        assert_eq!((tail.first_line, tail.last_line, omitted.lines), (1498, 1500, 1997));
        assert_eq!(omitted.bytes, text.len() as u64 - 15);
    }

    #[test]
    fn first_lines_that_are_not_more_than_the_last_are_a_beginning() {
        let Clip::Cut { head, omitted, tail } = clip("a\nb\nc\n", 2, 5) else { panic!("it is cut") };
        assert_eq!((head.bytes.as_slice(), head.last_line), (b"a\nb\n".as_slice(), 2));
        assert_eq!((omitted.bytes, omitted.lines, tail.bytes.len()), (2, 1, 0));
    }

    #[test]
    fn a_text_without_more_lines_stays_whole() {
        for text in ["a\nb\n", "a\nb", "a", ""] {
            assert_eq!(clip(text, 2, 2), Clip::Whole(text.as_bytes().to_vec()));
        }
    }
}
