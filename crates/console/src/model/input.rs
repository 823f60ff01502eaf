//! The text that a person types: several lines, a cursor, and the usual keys.

use unicode_segmentation::UnicodeSegmentation as _;

/// Longest text in bytes. The engine takes longer scripts, but nobody types them.
const LONGEST: usize = 64 * 1024;

/// A text with a cursor. The cursor is a byte offset at the border of a grapheme.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct InputText {
    text: String,
    cursor: usize,
}

impl InputText {
    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    pub(crate) fn cursor(&self) -> usize {
        self.cursor
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.text.is_empty()
    }

    /// Replaces all of the text, and moves to its end.
    pub(crate) fn set(&mut self, text: impl Into<String>) {
        self.text = text.into();
        self.cursor = self.text.len();
    }

    pub(crate) fn take(&mut self) -> String {
        self.cursor = 0;
        std::mem::take(&mut self.text)
    }

    /// Inserts at the cursor; false if there is no room for all of it, and nothing is inserted then. Tabs become spaces and other control characters are left out, because they would not be seen.
    pub(crate) fn insert(&mut self, text: &str) -> bool {
        let text: String = text
            .replace("\r\n", "\n")
            .replace('\r', "\n")
            .replace('\t', "    ")
            .chars()
            .filter(|character| is_typed(*character))
            .collect();
        let has_room = self.text.len() + text.len() <= LONGEST;
        if has_room {
            self.text.insert_str(self.cursor, &text);
            self.cursor += text.len();
        }
        has_room
    }

    /// Replaces `range`, which ends at the cursor.
    pub(crate) fn replace_before(&mut self, start: usize, with: &str) {
        self.text.replace_range(start..self.cursor, with);
        self.cursor = start + with.len();
    }

    pub(crate) fn left(&mut self) {
        self.cursor = self.before(self.cursor);
    }

    pub(crate) fn right(&mut self) {
        self.cursor = self.after(self.cursor);
    }

    pub(crate) fn word_left(&mut self) {
        self.cursor = self.word_start();
    }

    pub(crate) fn word_right(&mut self) {
        let rest = &self.text[self.cursor..];
        let blanks = rest.len() - rest.trim_start().len();
        let word = rest[blanks..].find(char::is_whitespace).unwrap_or(rest.len() - blanks);
        self.cursor += blanks + word;
    }

    pub(crate) fn line_start(&mut self) {
        self.cursor = self.text[..self.cursor].rfind('\n').map_or(0, |at| at + 1);
    }

    pub(crate) fn line_end(&mut self) {
        self.cursor += self.text[self.cursor..].find('\n').unwrap_or(self.text.len() - self.cursor);
    }

    /// Moves one line up. False on the first line.
    pub(crate) fn up(&mut self) -> bool {
        let start = self.text[..self.cursor].rfind('\n').map_or(0, |at| at + 1);
        if start == 0 {
            return false;
        }
        let column = self.text[start..self.cursor].graphemes(true).count();
        let above = self.text[..start - 1].rfind('\n').map_or(0, |at| at + 1);
        self.cursor = above + prefix_bytes(&self.text[above..start - 1], column);
        true
    }

    /// Moves one line down. False on the last line.
    pub(crate) fn down(&mut self) -> bool {
        let Some(end) = self.text[self.cursor..].find('\n').map(|at| self.cursor + at) else { return false };
        let start = self.text[..self.cursor].rfind('\n').map_or(0, |at| at + 1);
        let column = self.text[start..self.cursor].graphemes(true).count();
        let below = &self.text[end + 1..];
        let below = &below[..below.find('\n').unwrap_or(below.len())];
        self.cursor = end + 1 + prefix_bytes(below, column);
        true
    }

    pub(crate) fn backspace(&mut self) {
        let start = self.before(self.cursor);
        self.replace_before(start, "");
    }

    pub(crate) fn delete(&mut self) {
        let end = self.after(self.cursor);
        self.text.replace_range(self.cursor..end, "");
    }

    pub(crate) fn delete_word(&mut self) {
        let start = self.word_start();
        self.replace_before(start, "");
    }

    pub(crate) fn delete_to_line_start(&mut self) {
        let start = self.text[..self.cursor].rfind('\n').map_or(0, |at| at + 1);
        self.replace_before(start, "");
    }

    pub(crate) fn delete_to_line_end(&mut self) {
        let end = self.text[self.cursor..].find('\n').map_or(self.text.len(), |at| self.cursor + at);
        self.text.replace_range(self.cursor..end, "");
    }

    fn word_start(&self) -> usize {
        let before = self.text[..self.cursor].trim_end();
        before.rfind(char::is_whitespace).map_or(0, |at| at + before[at..].chars().next().map_or(1, char::len_utf8))
    }

    fn before(&self, at: usize) -> usize {
        self.text[..at].grapheme_indices(true).next_back().map_or(0, |(start, _)| start)
    }

    fn after(&self, at: usize) -> usize {
        self.text[at..].graphemes(true).next().map_or(at, |grapheme| at + grapheme.len())
    }
}

fn is_typed(character: char) -> bool {
    character == '\n' || !character.is_control()
}

/// Bytes of the first `count` graphemes; of all if there are fewer.
fn prefix_bytes(line: &str, count: usize) -> usize {
    line.grapheme_indices(true).nth(count).map_or(line.len(), |(at, _)| at)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn typed(text: &str) -> InputText {
        let mut input = InputText::default();
        input.insert(text);
        input
    }

    #[test]
    fn a_character_of_several_code_points_is_one_step() {
        let mut input = typed("ae\u{301}👨‍👩‍👧");
        input.left();
        input.backspace();
        assert_eq!(input.text(), "a👨‍👩‍👧");
        input.delete();
        assert_eq!((input.text(), input.cursor()), ("a", 1));
    }

    #[test]
    fn lines_are_walked_by_column() {
        let mut input = typed("first\nxy\nthird");
        assert!(input.up());
        assert_eq!(input.cursor(), "first\nxy".len());
        assert!(input.up());
        assert_eq!(input.cursor(), 2);
        assert!(!input.up());
        assert!(input.down());
        assert!(input.down());
        assert!(!input.down());
        assert_eq!(input.cursor(), "first\nxy\nth".len());
    }

    #[test]
    fn words_and_lines_are_deleted() {
        let mut input = typed("make  test\nls -la");
        input.delete_word();
        assert_eq!(input.text(), "make  test\nls ");
        input.delete_to_line_start();
        assert_eq!(input.text(), "make  test\n");
        input.left();
        input.word_left();
        input.delete_to_line_end();
        assert_eq!(input.text(), "make  \n");
    }

    #[test]
    fn a_paste_brings_no_control_characters() {
        assert_eq!(typed("a\u{1b}[31mb\r\nc\td\u{7}").text(), "a[31mb\nc    d");
    }
}
