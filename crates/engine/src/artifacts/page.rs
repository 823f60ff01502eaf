//! Writes parts of an artifact: bytes as they are, notices on lines of their own, and matching lines of a search.

use std::io::{self, Write};

use memchr::memchr;

/// Longest line that is searched at once, in bytes: it has to be held in memory. Longer ones are searched in pieces.
const LONGEST_LINE: usize = 1024 * 1024;

/// Output of a read, which tracks if its last line is unfinished.
pub(super) struct PageWriter<'a> {
    out: &'a mut dyn Write,
    line_begun: bool,
}

impl<'a> PageWriter<'a> {
    pub(super) fn new(out: &'a mut dyn Write) -> Self {
        Self { out, line_begun: false }
    }

    pub(super) fn bytes(&mut self, bytes: &[u8]) -> io::Result<()> {
        if let Some(last) = bytes.last() {
            self.line_begun = *last != b'\n';
        }
        self.out.write_all(bytes)
    }

    /// Writes a notice on a line of its own.
    pub(super) fn notice(&mut self, text: &str) -> io::Result<()> {
        let before = if std::mem::take(&mut self.line_begun) { "\n" } else { "" };
        self.out.write_all(format!("{before}[{text}]\n").as_bytes())
    }
}

/// A search for lines, and its output.
pub(super) struct Search<'a> {
    pub(super) page: PageWriter<'a>,
    wanted: &'a dyn Fn(&[u8]) -> bool,
    line: u64,
    /// A line whose end has not been read yet.
    unfinished: Vec<u8>,
    pub(super) found: u64,
}

impl<'a> Search<'a> {
    pub(super) fn new(wanted: &'a dyn Fn(&[u8]) -> bool, out: &'a mut dyn Write) -> Self {
        Self { page: PageWriter::new(out), wanted, line: 1, unfinished: Vec::new(), found: 0 }
    }

    pub(super) fn bytes(&mut self, mut bytes: &[u8]) -> io::Result<()> {
        while let Some(at) = memchr(b'\n', bytes) {
            if self.unfinished.is_empty() {
                self.judge(&bytes[..at])?;
            } else {
                self.unfinished.extend(&bytes[..at]);
                self.flush()?;
            }
            self.line += 1;
            bytes = &bytes[at + 1..];
        }
        self.unfinished.extend(bytes);
        if self.unfinished.len() > LONGEST_LINE { self.flush() } else { Ok(()) }
    }

    /// Checks the unfinished line as if it ended here.
    pub(super) fn flush(&mut self) -> io::Result<()> {
        let unfinished = std::mem::take(&mut self.unfinished);
        if unfinished.is_empty() { Ok(()) } else { self.judge(&unfinished) }
    }

    fn judge(&mut self, line: &[u8]) -> io::Result<()> {
        if !(self.wanted)(line) {
            return Ok(());
        }
        self.found += 1;
        self.page.bytes(format!("{}:", self.line).as_bytes())?;
        self.page.bytes(line)?;
        self.page.bytes(b"\n")
    }
}
