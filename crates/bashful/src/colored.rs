//! The colors of a command's output, for a terminal.
//!
//! The text of a reply has none: the engine removes escape sequences before it cuts and redacts. The raw output has them, so
//! its beginning and its end are kept beside the reply. A line of the reply gets its colors if the raw output has a line of
//! the very same text there ([`RawTail`] says why).
//!
//! Invariant: at most [`KEPT`] bytes for each end of a stream, whatever the command writes.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bashful_engine::{Chunk, Heard, Listening, OutputForm, OutputListener, StreamName, WhenBehind};
use bashful_render::{Line, RawTail, output_lines};
use tokio::sync::oneshot;

use crate::direct::Writing;

/// Bytes that are kept of each end of a stream: twice the text that a reply shows by default.
const KEPT: usize = 256 * 1024;

/// Bytes for the live display: a screen of long lines.
const NEWEST: usize = 16 * 1024;

/// A command never waits for its colors.
const LISTENING: Listening = Listening { form: OutputForm::Raw, when_behind: WhenBehind::Drop };

/// The raw output of a command, as far as it is kept.
#[derive(Debug, Clone, Default)]
pub(crate) struct ColoredOutput(Arc<Mutex<RawOutput>>);

#[derive(Debug)]
struct RawOutput {
    streams: [RawEnds; 2],
    /// Both streams, as they came.
    newest: RawTail,
}

impl Default for RawOutput {
    fn default() -> Self {
        Self { streams: Default::default(), newest: RawTail::new(NEWEST) }
    }
}

impl ColoredOutput {
    /// Keeps the output that arrives at a listener. The result says when all of it has arrived.
    pub(crate) fn listen() -> (Self, OutputListener, Writing) {
        let colored = Self::default();
        let (listener, mut stream) = OutputListener::new(LISTENING);
        let (done, is_done) = oneshot::channel();
        let kept = colored.clone();
        tokio::spawn(async move {
            while let Some(heard) = stream.next().await {
                kept.raw().push(heard);
            }
            // The receiver may be gone.
            let _ = done.send(Ok(()));
        });
        (colored, listener, is_done)
    }

    /// Adds colors to the newest text of both streams. The raw output may be ahead of it or behind, so a line of the same
    /// text is looked for anywhere in it.
    pub(crate) fn paint_newest(&self, text: String) -> String {
        self.raw().newest.paint(text)
    }

    /// Adds colors to the text of a reply.
    pub(crate) fn paint(&self, stream: StreamName, shown: Vec<u8>) -> Vec<u8> {
        let raw = self.raw();
        let ends = &raw.streams[stream as usize];
        if !ends.has_escapes() {
            return shown;
        }
        match std::str::from_utf8(&shown) {
            Ok(text) => ends.paint(text).into_bytes(),
            Err(_) => shown,
        }
    }

    fn raw(&self) -> MutexGuard<'_, RawOutput> {
        // Every change is complete before anything can panic.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl RawOutput {
    fn push(&mut self, heard: Heard) {
        match heard {
            Heard::Chunk(Chunk { stream, bytes }) => {
                self.streams[stream as usize].push(&bytes);
                self.newest.push(&bytes);
            }
            // Only the end of the output is known from here on.
            Heard::Dropped { .. } => {
                for ends in &mut self.streams {
                    ends.is_whole = false;
                    ends.tail.clear();
                }
                self.newest.clear();
            }
        }
    }
}

/// The beginning and the end of one stream.
#[derive(Debug)]
struct RawEnds {
    head: Vec<u8>,
    /// Nothing beyond the head was written.
    is_whole: bool,
    tail: RawTail,
}

impl Default for RawEnds {
    fn default() -> Self {
        Self { head: Vec::new(), is_whole: true, tail: RawTail::new(KEPT) }
    }
}

impl RawEnds {
    fn push(&mut self, bytes: &[u8]) {
        let room = if self.is_whole { KEPT - self.head.len() } else { 0 };
        self.head.extend_from_slice(&bytes[..room.min(bytes.len())]);
        self.is_whole &= bytes.len() <= room;
        self.tail.push(bytes);
    }

    fn has_escapes(&self) -> bool {
        self.head.contains(&b'\x1b') || self.tail.has_escapes()
    }

    /// The text with colors: from its first line on as long as its lines are those of the beginning, and before its last
    /// line as long as they are those of the end.
    fn paint(&self, text: &str) -> String {
        let (body, end) = text.strip_suffix('\n').map_or((text, ""), |body| (body, "\n"));
        let mut lines: Vec<String> = body.split('\n').map(str::to_owned).collect();
        let head = output_lines(&String::from_utf8_lossy(&self.head));
        let painted = paint_equal(lines.iter_mut(), head.iter());
        let tail = if self.is_whole { head } else { output_lines(&self.tail.text()) };
        paint_equal(lines.iter_mut().skip(painted).rev(), tail.iter().rev());
        lines.join("\n") + end
    }
}

/// Colors lines for as long as they are the same. Returns how many were.
fn paint_equal<'a>(lines: impl Iterator<Item = &'a mut String>, raw: impl Iterator<Item = &'a Line>) -> usize {
    let same = lines.zip(raw).take_while(|(line, raw)| **line == raw.plain());
    same.map(|(line, raw)| *line = raw.ansi()).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ends(raw: &str) -> RawEnds {
        let mut ends = RawEnds::default();
        ends.push(raw.as_bytes());
        ends
    }

    #[test]
    fn lines_of_the_same_text_get_their_colors() {
        let ends = ends("a\n\x1b[31mred\x1b[m\nlast\n");
        assert_eq!(ends.paint("a\nred\nlast\n"), "a\n\x1b[0;31mred\x1b[0m\nlast\n");
        assert_eq!(ends.paint("a\nred"), "a\n\x1b[0;31mred\x1b[0m");
    }

    #[test]
    fn a_line_that_differs_stays_as_it_is() {
        let ends = ends("\x1b[32mone\x1b[m\nkey \x1b[31msec\x1b[32mret\x1b[m\n\x1b[33mthree\n");
        assert_eq!(
            ends.paint("one\nkey [withheld]\nthree\n"),
            "\x1b[0;32mone\x1b[0m\nkey [withheld]\n\x1b[0;33mthree\x1b[0m\n"
        );
    }

    #[test]
    fn both_ends_of_a_long_output_get_their_colors() {
        let line = |number: usize| format!("\x1b[34mline {number}\x1b[m\n");
        let mut ends = RawEnds::default();
        let all = 100_000;
        for number in 0..all {
            ends.push(line(number).as_bytes());
        }
        assert!(!ends.is_whole && ends.head.len() == KEPT);
        let shown = format!("line 0\nline 1\n\n[cut]\n\nline {}\nline {}\n", all - 2, all - 1);
        let blue = |number: usize| format!("\x1b[0;34mline {number}\x1b[0m\n");
        let expected = format!("{}{}\n[cut]\n\n{}{}", blue(0), blue(1), blue(all - 2), blue(all - 1));
        assert_eq!(ends.paint(&shown), expected);
    }

    #[test]
    fn the_newest_text_gets_colors_wherever_its_lines_are() {
        let colored = ColoredOutput::default();
        let bytes = b"old\n\x1b[32mgreen\x1b[m\nsec\x1b[31mret\x1b[m\n\x1b[33mahead\n".to_vec();
        colored.raw().push(Heard::Chunk(Chunk { stream: StreamName::Output, bytes }));
        assert_eq!(
            colored.paint_newest("old\ngreen\n[withheld]\n".to_owned()),
            "old\n\x1b[0;32mgreen\x1b[0m\n[withheld]\n"
        );
    }
}
