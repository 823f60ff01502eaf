//! Output of a command as characters and styles. Nothing else of it survives.
//!
//! Colors (SGR) become styles. Every other escape sequence is dropped. A control character alone is shown as its picture
//! (`␇`), and characters that hide or reorder others as their number (`\u{202e}`). A string sequence, such as a title,
//! ends with its line at the latest: nothing beyond that line can be hidden in it.
//!
//! A carriage return within a line starts the line anew, as progress bars do.

use bashful_screen::{Color, Style};

use crate::look::PLAIN;
use crate::sgr;
use crate::wrap::printable_prefix;

/// Text with styles. The text has newlines and tabs, but no other control character.
#[derive(Debug, Default)]
pub(crate) struct StyledText {
    pub(crate) text: String,
    /// Styles and the offsets where they begin, in rising order.
    runs: Vec<(usize, Style)>,
}

impl StyledText {
    pub(crate) fn of_output(raw: &str) -> Self {
        let mut reader =
            Reader { styled: Self { text: String::with_capacity(raw.len()), runs: Vec::new() }, ..Reader::default() };
        reader.read(raw);
        reader.styled
    }

    /// Text of ours in one style.
    pub(crate) fn push(&mut self, text: &str, style: Style) {
        self.change(style);
        self.text.push_str(text);
    }

    /// The style at an offset, and the offset at which it ends.
    pub(crate) fn style_at(&self, offset: usize) -> (Style, usize) {
        let next = self.runs.partition_point(|&(start, _)| start <= offset);
        let style = next.checked_sub(1).map_or(PLAIN, |at| self.runs[at].1);
        (style, self.runs.get(next).map_or(usize::MAX, |&(start, _)| start))
    }

    fn change(&mut self, style: Style) {
        let start = self.text.len();
        if let Some(last) = self.runs.last_mut().filter(|last| last.0 == start) {
            last.1 = style;
        } else if self.runs.last().map_or(PLAIN, |last| last.1) != style {
            self.runs.push((start, style));
        }
    }
}

#[derive(Default)]
struct Reader {
    styled: StyledText,
    style: Style,
    /// Offset of the line that is being written.
    line_start: usize,
    /// A carriage return came, and nothing after it.
    returned: bool,
}

impl Reader {
    fn read(&mut self, raw: &str) {
        let mut rest = raw;
        while let Some(c) = rest.chars().next() {
            let shown = shown_length(rest);
            if shown > 0 {
                self.push(&rest[..shown]);
                rest = &rest[shown..];
                continue;
            }
            rest = &rest[c.len_utf8()..];
            match c {
                '\n' => self.end_line(),
                '\r' => self.returned = true,
                '\u{1b}' => rest = self.escape(rest),
                '\u{9b}' => rest = self.control_sequence(rest),
                '\u{90}' | '\u{98}' | '\u{9d}'..='\u{9f}' => rest = after_string(rest),
                _ => self.push_char(c),
            }
        }
    }

    fn push(&mut self, text: &str) {
        if std::mem::take(&mut self.returned) {
            let start = self.line_start;
            self.styled.text.truncate(start);
            self.styled.runs.retain(|&(at, _)| at < start);
        }
        self.styled.change(self.style);
        self.styled.text.push_str(text);
    }

    /// A character that is not shown as it is.
    fn push_char(&mut self, c: char) {
        match picture(c) {
            Some(picture) => self.push(picture.encode_utf8(&mut [0; 4])),
            None => self.push(&c.escape_unicode().to_string()),
        }
    }

    fn end_line(&mut self) {
        self.returned = false;
        self.styled.text.push('\n');
        self.line_start = self.styled.text.len();
    }

    /// Reads the rest of a sequence after ESC, and returns the text after it.
    fn escape<'a>(&mut self, rest: &'a str) -> &'a str {
        match rest.as_bytes().first() {
            Some(b'[') => self.control_sequence(&rest[1..]),
            Some(b']' | b'P' | b'X' | b'^' | b'_') => after_string(&rest[1..]),
            // Intermediate bytes and a final one, as `ESC ( B`.
            _ => {
                let end = rest.bytes().position(|byte| !matches!(byte, 0x20..=0x2f)).unwrap_or(rest.len());
                let is_final = rest.as_bytes().get(end).is_some_and(|byte| matches!(byte, 0x30..=0x7e));
                &rest[end + usize::from(is_final)..]
            }
        }
    }

    /// Reads the rest of a sequence after `ESC [`, and returns the text after it. A byte that cannot belong to one ends it.
    fn control_sequence<'a>(&mut self, rest: &'a str) -> &'a str {
        let end = rest.bytes().position(|byte| !matches!(byte, 0x20..=0x3f)).unwrap_or(rest.len());
        let (parameters, rest) = rest.split_at(end);
        match rest.as_bytes().first() {
            Some(b'm') => {
                if parameters.bytes().all(|byte| matches!(byte, b'0'..=b';')) {
                    self.style = readable(sgr::apply(self.style, parameters));
                }
                &rest[1..]
            }
            Some(0x40..=0x7e) => &rest[1..],
            _ => rest,
        }
    }
}

/// A style in which text can be seen: one color for text and background would hide it.
fn readable(style: Style) -> Style {
    if style.foreground == style.background { Style { background: Color::Default, ..style } } else { style }
}

/// The text after a string sequence: after BEL or ST, or at the end of the line.
fn after_string(rest: &str) -> &str {
    let Some(end) = rest.find(['\u{7}', '\u{9c}', '\n', '\u{1b}']) else { return "" };
    let after = &rest[end..];
    let terminators = ["\u{7}", "\u{9c}", "\u{1b}\\"];
    terminators.iter().find_map(|terminator| after.strip_prefix(terminator)).unwrap_or(after)
}

/// Length of the text at the start that is shown as it is: visible characters and tabs.
fn shown_length(text: &str) -> usize {
    let mut length = 0;
    loop {
        length += printable_prefix(&text.as_bytes()[length..]);
        match text[length..].chars().next() {
            Some(c) if c == '\t' || is_shown(c) => length += c.len_utf8(),
            _ => return length,
        }
    }
}

/// The picture of a control character of ASCII.
fn picture(c: char) -> Option<char> {
    match c {
        '\0'..='\u{1f}' => char::from_u32(0x2400 + u32::from(c)),
        '\u{7f}' => Some('\u{2421}'),
        _ => None,
    }
}

/// True for characters that a screen draws in their place. Control characters, separators of lines, bidirectional
/// controls and tags are not among them. Joiners and variation selectors are, because emoji need them.
fn is_shown(c: char) -> bool {
    let is_hidden = matches!(
        c,
        '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}'
            | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}'
    );
    !c.is_control() && !is_hidden
}

#[cfg(test)]
mod tests {
    use bashful_screen::Attributes;

    use super::*;

    #[track_caller]
    fn check(raw: &str, text: &str) {
        assert_eq!(StyledText::of_output(raw).text, text, "{raw:?}");
    }

    #[test]
    fn every_sequence_but_colors_is_dropped() {
        check("a\u{1b}[2Jb\u{1b}[10;10Hc\u{1b}[?1049hd\u{1b}(Be\u{1b}cf\u{1b}7g", "abcdefg");
        check("a\u{1b}]0;title\u{7}b\u{1b}]8;;http://x\u{1b}\\c\u{1b}]52;c;AAAA\u{9c}d", "abcd");
        check("a\u{1b}Pq#0\u{1b}\\b\u{1b}_G\u{1b}\\c\u{1b}^x\u{1b}\\d\u{1b}Xx\u{1b}\\e", "abcde");
        check("a\u{9b}31mb\u{9d}0;t\u{9c}c\u{90}x\u{9c}d", "abcd");
    }

    #[test]
    fn a_string_without_an_end_hides_nothing_beyond_its_line() {
        check("a\u{1b}]0;title\nb", "a\nb");
        check("a\u{1b}]0;title", "a");
        check("a\u{1b}]0;ti\u{1b}[31mb", "ab");
    }

    #[test]
    fn sequences_that_break_off_leave_text() {
        check("a\u{1b}", "a");
        check("a\u{1b}[", "a");
        check("a\u{1b}[31", "a");
        check("a\u{1b}[31\nb", "a\nb");
        check("a\u{1b}[31ä", "aä");
        check("a\u{1b}ä", "aä");
        check("a\u{1b}(", "a");
        check("a\u{1b}\u{1b}[mb", "ab");
    }

    #[test]
    fn controls_and_reordering_characters_are_visible() {
        check("a\0b\u{7}c\u{8}d\u{7f}", "a␀b␇c␈d␡");
        check("a\u{202e}b\u{2066}\u{85}\u{feff}\u{e0041}", "a\\u{202e}b\\u{2066}\\u{85}\\u{feff}\\u{e0041}");
        check("❤\u{fe0f} 👩\u{200d}🔬 e\u{301}", "❤\u{fe0f} 👩\u{200d}🔬 e\u{301}");
    }

    #[test]
    fn a_redrawn_line_is_shown_in_its_last_state() {
        check("10%\r20%\r\n\r\nnext\r", "20%\n\nnext");
        check("\u{1b}[31mred\r\u{1b}[mplain", "plain");
        let styled = StyledText::of_output("a\n\u{1b}[31mred\rno longer\u{1b}[m.");
        assert_eq!(
            (styled.style_at(2).0.foreground, styled.style_at(11).0.foreground),
            (Color::Ansi(1), Color::Default)
        );
    }

    #[test]
    fn colors_become_styles() {
        let styled = StyledText::of_output("a\u{1b}[1;32mb\nc\u{1b}[md");
        let look = |offset| styled.style_at(offset).0;
        assert_eq!(styled.text, "ab\ncd");
        assert_eq!((look(0), look(4)), (PLAIN, PLAIN));
        let green = Style { foreground: Color::Ansi(2), attributes: Attributes::BOLD, ..PLAIN };
        assert_eq!((look(1), look(2), look(3)), (green, green, green));
    }

    #[test]
    fn text_in_the_color_of_its_background_is_seen() {
        let styled = StyledText::of_output("\u{1b}[31;41mx");
        assert_eq!(styled.style_at(0).0, Style { foreground: Color::Ansi(1), ..PLAIN });
    }
}
