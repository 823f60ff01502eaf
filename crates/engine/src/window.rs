//! Keeps the part of a text to show, and counts all of it.
//!
//! Bytes come in as they arrive and go out as a [`Clip`].
//!
//! Invariant: memory is at most a small multiple of the window, whatever comes. The shown and the omitted part together
//! are the whole, and line numbers are exact.

use std::num::NonZeroU64;
use std::ops::Range;

use crate::cluster;
use crate::request::Lines;
use crate::units::ByteSize;

/// Limits on the shown part of an output.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Window {
    /// Up to this size, the whole output is shown.
    pub whole: Budget,
    /// Beyond it, this much of the beginning is shown.
    pub head: Budget,
    /// And this much of the end.
    pub tail: Budget,
    /// Treatment of a limit in the middle of a line.
    pub sizes: Sizes,
    /// Longest shown line, in columns. Longer ones are shortened and marked; none means no limit.
    pub columns: Option<usize>,
}

/// A number of bytes, and of lines if they are counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Budget {
    /// Number of bytes.
    pub bytes: ByteSize,
    /// Number of lines; none for any number.
    pub lines: Option<u64>,
}

/// Treatment of a limit of head or tail in the middle of a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sizes {
    /// At least this much is shown: the line is completed, if it is not too long.
    AtLeast,
    /// At most this much is shown: the line is left out, if it is not too long.
    AtMost,
}

impl Budget {
    /// This many bytes, in any number of lines.
    pub const fn bytes(bytes: ByteSize) -> Self {
        Self { bytes, lines: None }
    }

    pub(crate) fn holds(self, bytes: u64, lines: u64) -> bool {
        bytes <= self.bytes.0 && self.lines.is_none_or(|most| lines <= most)
    }
}

impl Window {
    /// Shows all up to `whole`, or at least `each` of both ends.
    pub const fn middle(whole: ByteSize, each: ByteSize) -> Self {
        let each = Budget::bytes(each);
        Self { whole: Budget::bytes(whole), head: each, tail: each, sizes: Sizes::AtLeast, columns: None }
    }

    /// Shows at most the last `bytes`.
    pub const fn tail(bytes: ByteSize) -> Self {
        let (none, all) = (Budget::bytes(ByteSize(0)), Budget::bytes(bytes));
        Self { whole: all, head: none, tail: all, sizes: Sizes::AtMost, columns: None }
    }

    /// Shows at most the first `bytes`.
    pub const fn head(bytes: ByteSize) -> Self {
        let (none, all) = (Budget::bytes(ByteSize(0)), Budget::bytes(bytes));
        Self { whole: all, head: all, tail: none, sizes: Sizes::AtMost, columns: None }
    }

    /// Shows these lines, or as many of them from that end as fit the window.
    #[must_use]
    pub fn of_lines(self, lines: Lines) -> Self {
        let within = |most: NonZeroU64| {
            let lines = self.whole.lines.map_or(most.get(), |whole| whole.min(most.get()));
            Budget { bytes: self.whole.bytes, lines: Some(lines) }
        };
        let none = Budget::bytes(ByteSize(0));
        let (whole, head, tail) = match lines {
            Lines::First(most) | Lines::LastOfFirst { first: most, .. } => (within(most), within(most), none),
            Lines::Last(most) => (within(most), none, within(most)),
        };
        Self { whole, head, tail, sizes: Sizes::AtMost, columns: self.columns }
    }

    /// Most text that is shown of an output, in bytes.
    pub fn limit(self) -> ByteSize {
        ByteSize(self.whole.bytes.0.max(self.head.bytes.0.saturating_add(self.tail.bytes.0)))
    }

    /// The window that never shows everything.
    pub(crate) const fn without_whole(self) -> Self {
        Self { whole: Budget { bytes: ByteSize(0), ..self.whole }, ..self }
    }

    /// The window with both ends scaled by `limit / got`, and smaller by one byte at least.
    pub(crate) fn scaled(self, limit: u64, got: u64) -> Self {
        let scale = |Budget { bytes: ByteSize(bytes), lines }| {
            let scaled = u128::from(bytes) * u128::from(limit) / u128::from(got.max(1));
            let scaled = u64::try_from(scaled).unwrap_or(u64::MAX).min(bytes.saturating_sub(1));
            Budget { bytes: ByteSize(scaled), lines }
        };
        Self { head: scale(self.head), tail: scale(self.tail), sizes: Sizes::AtMost, ..self.without_whole() }
    }

    /// The same window within a smaller budget. Both ends together stay below it, even where a line is completed.
    #[must_use]
    pub fn within(self, most: Budget) -> Self {
        let lower = |lines: Option<u64>, most: Option<u64>| [lines, most].into_iter().flatten().min();
        let whole = Budget {
            bytes: ByteSize(self.whole.bytes.0.min(most.bytes.0)),
            lines: lower(self.whole.lines, most.lines),
        };
        let shown = |end: Budget| end.bytes.0 > 0 && end.lines != Some(0);
        let ends = u64::from(shown(self.head)) + u64::from(shown(self.tail));
        let reach = if self.sizes == Sizes::AtLeast { REACH as u64 } else { 0 };
        let each = |end: Budget| match ends {
            0 => end,
            ends => Budget {
                bytes: ByteSize(end.bytes.0.min((whole.bytes.0 / ends).saturating_sub(reach))),
                lines: lower(end.lines, whole.lines.map(|lines| lines / ends)),
            },
        };
        Self { whole, head: each(self.head), tail: each(self.tail), ..self }
    }

    /// Shows at most so many lines and bytes, half of them from each end.
    pub const fn both_ends(lines: u64, bytes: ByteSize) -> Self {
        let half = Budget { bytes: ByteSize(bytes.0 / 2), lines: Some(lines / 2) };
        Self {
            whole: Budget { bytes, lines: Some(lines) },
            head: half,
            tail: half,
            sizes: Sizes::AtMost,
            columns: None,
        }
    }
}

/// Longest distance to a line border that a cut is moved, in bytes: whole lines read better, and most lines are short.
const REACH: usize = 1024;

/// The shown part of an output.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Clip {
    /// The whole output.
    Whole(Vec<u8>),
    /// Beginning and end of the output.
    Cut {
        /// The beginning.
        head: Part,
        /// The middle, which is not shown.
        omitted: Omitted,
        /// The end.
        tail: Part,
    },
}

impl Clip {
    /// Size of the clip as UTF-8 text, in bytes. Every invalid sequence is a U+FFFD of three bytes.
    pub fn text_bytes(&self) -> u64 {
        match self {
            Self::Whole(bytes) => text_bytes(bytes),
            Self::Cut { head, tail, .. } => text_bytes(&head.bytes) + text_bytes(&tail.bytes),
        }
    }

    /// Number of sequences in the clip that are not UTF-8. Each becomes one U+FFFD.
    pub fn invalid_sequences(&self) -> u64 {
        match self {
            Self::Whole(bytes) => invalid_sequences(bytes),
            Self::Cut { head, tail, .. } => invalid_sequences(&head.bytes) + invalid_sequences(&tail.bytes),
        }
    }

    /// Shows less of the same text, if it does not fit the window.
    #[must_use]
    pub fn within(self, window: Window) -> Self {
        let (limit, mut smaller) = (window.limit().0, window);
        loop {
            let clip = self.clone().within_bytes(smaller);
            let got = clip.text_bytes();
            if got <= limit {
                return clip;
            }
            let is_whole = matches!(clip, Self::Whole(_)) && smaller == window;
            smaller = if is_whole { window.without_whole() } else { smaller.scaled(limit, got) };
        }
    }

    fn within_bytes(self, window: Window) -> Self {
        let (head, mut omitted, tail) = match self {
            Self::Whole(bytes) => return View::of(window, &bytes).clip(),
            Self::Cut { head, omitted, tail } => (head, omitted, tail),
        };
        let shown = (head.bytes.len() + tail.bytes.len()) as u64;
        if window.whole.holds(shown, head.lines() + tail.lines()) {
            return Self::Cut { head, omitted, tail };
        }
        let head = head.beginning(window);
        let tail = tail.ending(window);
        omitted.bytes += shown - (head.bytes.len() + tail.bytes.len()) as u64;
        omitted.lines = tail.first_line.saturating_sub(head.last_line + 1);
        Self::Cut { head, omitted, tail }
    }
}

impl Part {
    fn lines(&self) -> u64 {
        (self.last_line + 1).saturating_sub(self.first_line)
    }

    /// The beginning of the part, as the window limits it.
    fn beginning(self, window: Window) -> Self {
        let none = Budget::bytes(ByteSize(0));
        match View::of(Window { whole: none, tail: none, ..window }, &self.bytes).clip() {
            Clip::Whole(_) => self,
            Clip::Cut { head, .. } => Self {
                range: 0..head.range.end.min(self.range.end),
                first_line: 1,
                last_line: head.last_line,
                bytes: head.bytes,
            },
        }
    }

    /// The end of the part, as the window limits it.
    fn ending(self, window: Window) -> Self {
        let none = Budget::bytes(ByteSize(0));
        match View::of(Window { whole: none, head: none, ..window }, &self.bytes).clip() {
            Clip::Whole(_) => self,
            Clip::Cut { tail, .. } => Self {
                // Redacted text may be longer than the bytes of the range.
                range: self.range.end.saturating_sub(tail.bytes.len() as u64).max(self.range.start)..self.range.end,
                first_line: self.first_line + tail.first_line - 1,
                bytes: tail.bytes,
                last_line: self.last_line,
            },
        }
    }
}

fn text_bytes(bytes: &[u8]) -> u64 {
    if std::str::from_utf8(bytes).is_ok() {
        return bytes.len() as u64;
    }
    let valid: usize = bytes.utf8_chunks().map(|chunk| chunk.valid().len()).sum();
    valid as u64 + invalid_sequences(bytes) * char::REPLACEMENT_CHARACTER.len_utf8() as u64
}

fn invalid_sequences(bytes: &[u8]) -> u64 {
    bytes.utf8_chunks().filter(|chunk| !chunk.invalid().is_empty()).count() as u64
}

/// A stretch of the output.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Part {
    /// Shown bytes, after redaction.
    pub bytes: Vec<u8>,
    /// Offsets in the whole output.
    pub range: Range<u64>,
    /// Number of the first line, counted from 1. It may lack its beginning.
    pub first_line: u64,
    /// Number of the last line. It may lack its end. Before the first line if the part is empty.
    pub last_line: u64,
}

/// The part that is not shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Omitted {
    /// Number of bytes.
    pub bytes: u64,
    /// Number of lines of which nothing is shown.
    pub lines: u64,
    /// Limit that was exceeded.
    pub by: LimitHit,
}

/// The limit that an output exceeded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LimitHit {
    /// The limit on bytes.
    Bytes,
    /// The limit on lines. If both are exceeded, this one if it hides more bytes.
    Lines,
}

/// A text so far.
#[derive(Debug, Clone)]
pub(crate) struct View {
    window: Window,
    /// Least size of `first`, in bytes, beyond what the window needs.
    held: usize,
    /// The beginning of the output.
    first: Vec<u8>,
    /// The newest part, after `first`.
    last: Vec<u8>,
    bytes: u64,
    newlines: u64,
    ends_in_newline: bool,
}

impl View {
    /// An empty view.
    pub(crate) fn new(window: Window) -> Self {
        Self { window, held: 0, first: Vec::new(), last: Vec::new(), bytes: 0, newlines: 0, ends_in_newline: false }
    }

    /// Keeps all of a text of at most this size, even if the window shows less.
    pub(crate) fn holding(mut self, at_most: usize) -> Self {
        self.held = at_most;
        self
    }

    /// The whole text; none if it was too long to be kept.
    pub(crate) fn everything(&self) -> Option<Vec<u8>> {
        (self.bytes == self.first.len() as u64).then(|| self.first.clone())
    }

    /// A view of a complete text.
    pub(crate) fn of(window: Window, bytes: &[u8]) -> Self {
        let mut view = Self::new(window);
        view.push(bytes);
        view
    }

    /// Adds bytes that have arrived.
    pub(crate) fn push(&mut self, chunk: &[u8]) {
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
            // The buffer is compacted only now and then, which keeps small writes cheap.
            if self.last.len() > 2 * keep {
                self.last.drain(..self.last.len() - keep);
            }
        }
    }

    /// Adds the same three bytes, none of them a newline, so many times. Copies only those that are kept.
    pub(crate) fn push_repeated(&mut self, three: [u8; 3], times: usize) {
        let room = self.first_at_most().saturating_sub(self.first.len());
        let ahead = times.min(room.div_ceil(three.len()));
        self.push(&three.repeat(ahead));
        let kept = (times - ahead).min(self.last_at_most().div_ceil(three.len()));
        // Copies in between would be overwritten by later ones.
        self.bytes += ((times - ahead - kept) * three.len()) as u64;
        self.push(&three.repeat(kept));
    }

    pub(crate) fn window(&self) -> Window {
        self.window
    }

    /// Number of bytes so far.
    pub(crate) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Number of lines so far; a last one without a newline counts.
    pub(crate) fn lines(&self) -> u64 {
        self.newlines + u64::from(self.bytes > 0 && !self.ends_in_newline)
    }

    /// Number of lines that have ended with a newline.
    pub(crate) fn ended_lines(&self) -> u64 {
        self.newlines
    }

    /// The newest bytes, at most so many, from the beginning of a line if there is one.
    pub(crate) fn newest(&self, at_most: usize) -> Vec<u8> {
        let from = self.bytes.saturating_sub(at_most as u64).max(self.oldest_of_last());
        let bytes = self.slice(from..self.bytes);
        if from == 0 {
            return bytes;
        }
        let begin = memchr::memchr(b'\n', &bytes).map_or_else(|| cluster::after(&bytes, 0), |at| at + 1);
        bytes[begin..].to_vec()
    }

    /// True if all of it is shown.
    pub(crate) fn is_whole(&self) -> bool {
        self.fits(self.window)
    }

    fn fits(&self, window: Window) -> bool {
        window.whole.holds(self.bytes, self.lines())
    }

    /// The part to show.
    pub(crate) fn clip(&self) -> Clip {
        self.clip_to(self.window)
    }

    /// The clip for the view's own window, or one that shows less.
    pub(crate) fn clip_to(&self, window: Window) -> Clip {
        if self.fits(window) {
            return Clip::Whole(self.slice(0..self.bytes));
        }
        let (head_end, tail_begin) = self.borders(window);
        if head_end == tail_begin {
            return Clip::Whole(self.slice(0..self.bytes));
        }
        let head = self.slice(0..head_end);
        let tail = self.slice(tail_begin..self.bytes);
        let head_newlines = count_newlines(&head);
        let head_last = head_newlines + u64::from(head.last().is_some_and(|byte| *byte != b'\n'));
        let tail_first = if tail.is_empty() { self.lines() } else { self.newlines - count_newlines(&tail) } + 1;
        Clip::Cut {
            omitted: Omitted {
                bytes: tail_begin - head_end,
                lines: tail_first.saturating_sub(head_last + 1),
                by: self.limit_hit(window, tail_begin - head_end),
            },
            head: Part { bytes: head, range: 0..head_end, first_line: 1, last_line: head_last },
            tail: Part { bytes: tail, range: tail_begin..self.bytes, first_line: tail_first, last_line: self.lines() },
        }
    }

    /// The limit that causes so many bytes to be omitted.
    fn limit_hit(&self, window: Window, omitted: u64) -> LimitHit {
        let whole = window.whole;
        if whole.lines.is_none_or(|most| self.lines() <= most) {
            return LimitHit::Bytes;
        }
        let any = |budget: Budget| Budget { lines: None, ..budget };
        let of_any_lines = Window { head: any(window.head), tail: any(window.tail), ..window };
        let (head_end, tail_begin) = self.borders(of_any_lines);
        if self.bytes <= whole.bytes.0 || omitted > tail_begin - head_end { LimitHit::Lines } else { LimitHit::Bytes }
    }

    /// Offsets at which the shown beginning ends, and the shown end begins.
    fn borders(&self, window: Window) -> (u64, u64) {
        let head_end = self.head_end(window);
        (head_end, self.tail_begin(window).max(head_end))
    }

    fn first_at_most(&self) -> usize {
        let needed = self.window.whole.bytes.in_memory();
        needed.max(self.window.head.bytes.in_memory().saturating_add(REACH)).max(self.held)
    }

    fn last_at_most(&self) -> usize {
        self.window.tail.bytes.in_memory().saturating_add(REACH)
    }

    fn oldest_of_last(&self) -> u64 {
        // While everything fits into `first`, all of it is there.
        if self.last.is_empty() { 0 } else { self.bytes - self.last.len() as u64 }
    }

    /// Offset at which the shown beginning ends: at a line border if one is near, else at the border of a cluster.
    fn head_end(&self, window: Window) -> u64 {
        let wanted = window.head.bytes.in_memory().min(self.first.len());
        if wanted == 0 {
            return 0;
        }
        let border = match window.sizes {
            Sizes::AtLeast => {
                let reach = (wanted + REACH).min(self.first.len());
                memchr::memchr(b'\n', &self.first[wanted - 1..reach]).map(|at| wanted + at)
            }
            Sizes::AtMost => {
                let reach = wanted.saturating_sub(REACH);
                memchr::memrchr(b'\n', &self.first[reach..wanted]).map(|at| reach + at + 1)
            }
        };
        let end = border.unwrap_or_else(|| cluster::before(&self.first, wanted));
        let by_lines = match window.head.lines {
            None => end,
            Some(0) => 0,
            Some(most) => memchr::memchr_iter(b'\n', &self.first[..end])
                .nth(usize::try_from(most - 1).unwrap_or(usize::MAX))
                .map_or(end, |at| at + 1),
        };
        by_lines as u64
    }

    /// Offset at which the shown end begins: at a line border if one is near, else at the border of a cluster.
    fn tail_begin(&self, window: Window) -> u64 {
        if window.tail.bytes.0 == 0 {
            return self.bytes;
        }
        let wanted = self.bytes.saturating_sub(window.tail.bytes.0);
        let bytes = self.slice(wanted.saturating_sub(REACH as u64)..self.bytes);
        // The slice may begin later than asked for, because the middle was dropped.
        let oldest = self.bytes - bytes.len() as u64;
        let at = usize::try_from(wanted.saturating_sub(oldest)).unwrap_or(0);
        let border = match window.sizes {
            Sizes::AtLeast => memchr::memrchr(b'\n', &bytes[..at]).map(|newline| newline + 1),
            Sizes::AtMost => {
                let from = at.saturating_sub(1);
                let reach = (at + REACH).min(bytes.len());
                memchr::memchr(b'\n', &bytes[from..reach]).map(|newline| from + newline + 1)
            }
        };
        let begin = border.unwrap_or_else(|| cluster::after(&bytes, at));
        let by_lines = match window.tail.lines {
            None => begin,
            Some(0) => bytes.len(),
            Some(most) => {
                // The newline of the last line ends it, and begins none.
                let text = bytes.strip_suffix(b"\n").unwrap_or(&bytes);
                memchr::memrchr_iter(b'\n', text)
                    .nth(usize::try_from(most - 1).unwrap_or(usize::MAX))
                    .map_or(begin, |at| begin.max(at + 1))
            }
        };
        oldest + by_lines as u64
    }

    /// The bytes of this range, or its end as far as it is kept.
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

#[cfg(test)]
mod tests;
