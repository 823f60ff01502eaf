//! The lines of a client, for every surface that reads messages from a stream.
//!
//! Invariant: memory is at most the limit, however long a line is. A line that is too long is skipped to its end and
//! reported once.

use std::io;

use bashful_engine::LONGEST_SCRIPT;
use tokio::io::{AsyncBufReadExt, AsyncRead, BufReader};

/// Size of one read. The largest pipe that an ordinary user gets is 1 MiB, and most are 64 KiB.
const READ_AT_ONCE: usize = 64 * 1024;

/// Longest message in bytes: the longest script with every character escaped (`\u001b`), and its envelope.
pub fn longest_message() -> usize {
    LONGEST_SCRIPT.in_memory() * 6 + 64 * 1024
}

/// A line, without its newline.
#[derive(Debug, PartialEq, Eq)]
pub enum MessageLine {
    /// All of it.
    Whole(Vec<u8>),
    /// It exceeded the limit and was skipped.
    TooLong,
}

/// The lines of an input.
#[derive(Debug)]
pub struct MessageLines<R> {
    input: BufReader<R>,
    /// The beginning of the next line. A field, because the read future may be dropped at any time.
    line: Vec<u8>,
    longest: usize,
    is_too_long: bool,
}

impl<R: AsyncRead + Unpin> MessageLines<R> {
    /// Reads lines of up to `longest` bytes, without their newlines.
    pub fn new(input: R, longest: usize) -> Self {
        Self { input: BufReader::with_capacity(READ_AT_ONCE, input), line: Vec::new(), longest, is_too_long: false }
    }

    /// The next line; none at the end of the input, where an unfinished line is dropped. The future may be dropped without
    /// loss.
    pub async fn next(&mut self) -> io::Result<Option<MessageLine>> {
        loop {
            let piece = self.input.fill_buf().await?;
            if piece.is_empty() {
                return Ok(None);
            }
            let end = piece.iter().position(|byte| *byte == b'\n');
            let text = &piece[..end.unwrap_or(piece.len())];
            if self.line.len() + text.len() > self.longest {
                self.is_too_long = true;
                // Frees the memory of a long line.
                self.line = Vec::new();
            }
            if !self.is_too_long {
                self.line.extend_from_slice(text);
            }
            let taken = text.len() + usize::from(end.is_some());
            self.input.consume(taken);
            if end.is_some() {
                let line = std::mem::take(&mut self.line);
                let is_too_long = std::mem::take(&mut self.is_too_long);
                return Ok(Some(if is_too_long { MessageLine::TooLong } else { MessageLine::Whole(line) }));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn check(sent: &[u8], longest: usize) -> Vec<MessageLine> {
        let mut lines = MessageLines::new(sent, longest);
        let mut read = Vec::new();
        while let Some(line) = lines.next().await.expect("it can be read") {
            read.push(line);
        }
        read
    }

    fn whole(text: &str) -> MessageLine {
        MessageLine::Whole(text.as_bytes().to_vec())
    }

    #[tokio::test(flavor = "current_thread")]
    async fn lines_come_one_by_one_and_an_unfinished_one_does_not_come() {
        assert_eq!(check(b"a\n\nbc\nrest", 10).await, [whole("a"), whole(""), whole("bc")]);
        assert_eq!(check(b"", 10).await, []);
    }

    #[tokio::test(flavor = "current_thread")]
    async fn a_line_at_the_limit_is_whole_and_a_longer_one_is_skipped_to_its_end() {
        assert_eq!(check(b"12345\n123456\nb\n", 5).await, [whole("12345"), MessageLine::TooLong, whole("b")]);
        let long = [b"x".repeat(3 * READ_AT_ONCE), b"\nb\n".to_vec()].concat();
        assert_eq!(check(&long, 5).await, [MessageLine::TooLong, whole("b")]);
        assert_eq!(check(&long, 3 * READ_AT_ONCE).await.len(), 2);
    }
}
