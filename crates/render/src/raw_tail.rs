//! The newest raw output of a command, for its colors.

use std::collections::HashMap;

use crate::page::output_lines;

/// The newest bytes of an output, with their escape sequences.
///
/// The text of a reply has none. A line of it gets its colors if the raw output has a line of the very same text. Any other
/// line stays as it is: one that was redacted, redrawn, condensed or cut. So a secret with colors in its middle, which escapes
/// the redaction of raw output, is never shown.
#[derive(Debug)]
pub struct RawTail {
    bytes: Vec<u8>,
    most: usize,
    /// Earlier bytes are gone.
    is_cut: bool,
}

impl RawTail {
    /// Keeps so many bytes at least, and twice as many at most.
    pub fn new(most: usize) -> Self {
        Self { bytes: Vec::new(), most, is_cut: false }
    }

    /// Adds bytes at the end.
    pub fn push(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
        // The buffer is shortened only now and then, which keeps small pieces cheap.
        if self.bytes.len() > 2 * self.most {
            self.bytes.drain(..self.bytes.len() - self.most);
            self.is_cut = true;
        }
    }

    /// Forgets everything: bytes are missing here.
    pub fn clear(&mut self) {
        (self.bytes, self.is_cut) = (Vec::new(), true);
    }

    /// True if there may be colors.
    pub fn has_escapes(&self) -> bool {
        self.bytes.contains(&b'\x1b')
    }

    /// The newest text, from the start of a line unless there is only one.
    pub fn text(&self) -> String {
        let from = self.bytes.len().saturating_sub(self.most);
        let newest = &self.bytes[from..];
        let line = if from > 0 || self.is_cut {
            newest.iter().position(|byte| *byte == b'\n').map_or(0, |at| at + 1)
        } else {
            0
        };
        String::from_utf8_lossy(&newest[line..]).into_owned()
    }

    /// The text, with the colors of lines that are the same here, wherever they are.
    pub fn paint(&self, text: String) -> String {
        if !self.has_escapes() {
            return text;
        }
        let lines = output_lines(&self.text());
        let colored: HashMap<String, String> = lines.iter().map(|line| (line.plain(), line.ansi())).collect();
        let paint = |line| colored.get(line).map_or(line, String::as_str);
        text.split('\n').map(paint).collect::<Vec<_>>().join("\n")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tail(most: usize, text: &str) -> RawTail {
        let mut tail = RawTail::new(most);
        tail.push(text.as_bytes());
        tail
    }

    #[test]
    fn only_lines_of_the_same_text_get_colors() {
        let raw = tail(100, "\x1b[31mred\x1b[0m\nplain\nsec\x1b[32mret\x1b[0m\n\x1b[33mahead\n");
        let text = "[command failed: exit code 1]\nred\nplain\n***\n";
        assert_eq!(raw.paint(text.to_owned()), "[command failed: exit code 1]\n\x1b[0;31mred\x1b[0m\nplain\n***\n");
        assert_eq!(tail(100, "as it is").paint("as it is".to_owned()), "as it is");
    }

    #[test]
    fn the_text_begins_with_a_line() {
        let text = "one\ntwo\nthree";
        assert_eq!(tail(100, text).text(), text);
        assert_eq!(tail(7, text).text(), "three");
        assert_eq!(tail(3, text).text(), "ree");
    }

    #[test]
    fn memory_is_bounded() {
        let mut tail = RawTail::new(10);
        for _ in 0..1000 {
            tail.push(b"line\n");
            assert!(tail.bytes.len() <= 20);
        }
        assert_eq!(tail.text(), "line\n");
    }
}
