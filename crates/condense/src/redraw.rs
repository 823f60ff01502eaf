//! Text as it stands on a screen in the end: without colors, and with the last state of every redrawn line.
//!
//! The engine cleans output before it gets here; this is for text that comes from a file.

use std::borrow::Cow;

use memchr::{memchr, memchr3};

const ESCAPE: char = '\u{1B}';
const BELL: char = '\u{7}';
const BACKSPACE: char = '\u{8}';

/// The text, as it stands in the end.
pub(crate) fn settled(text: &str) -> Cow<'_, str> {
    if memchr3(b'\r', 0x1B, 8, text.as_bytes()).is_none() {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while !rest.is_empty() {
        let end = memchr(b'\n', rest.as_bytes()).map_or(rest.len(), |at| at + 1);
        let (line, after) = rest.split_at(end);
        settle_line(line, &mut out);
        rest = after;
    }
    Cow::Owned(out)
}

/// The lines that are redrawn or colored. An end of a line with a carriage return is neither.
pub(crate) fn unsettled_lines(text: &str) -> usize {
    let is_unsettled = |line: &&str| memchr3(b'\r', 0x1B, 8, line.trim_end_matches('\r').as_bytes()).is_some();
    text.split('\n').filter(is_unsettled).count()
}

fn settle_line(line: &str, out: &mut String) {
    if memchr3(b'\r', 0x1B, 8, line.as_bytes()).is_none() {
        return out.push_str(line);
    }
    let (line, newline) = line.strip_suffix('\n').map_or((line, ""), |line| (line, "\n"));
    let line = line.trim_end_matches('\r');
    let mut cells: Vec<char> = Vec::with_capacity(line.len());
    let mut column = 0_usize;
    let mut letters = line.chars();
    while let Some(letter) = letters.next() {
        match letter {
            '\r' => column = 0,
            BACKSPACE => column = column.saturating_sub(1),
            ESCAPE => erase(&mut letters, &mut cells, column),
            _ => {
                match cells.get_mut(column) {
                    Some(cell) => *cell = letter,
                    None => cells.push(letter),
                }
                column += 1;
            }
        }
    }
    let is_redrawn = memchr(b'\r', line.as_bytes()).is_some();
    let shown = cells.len() - if is_redrawn { cells.iter().rev().take_while(|cell| **cell == ' ').count() } else { 0 };
    out.extend(cells.get(..shown).unwrap_or(&[]));
    out.push_str(newline);
}

/// Passes an escape sequence. Only erasing changes what stands on the line; movements to other lines are ignored.
fn erase(letters: &mut std::str::Chars<'_>, cells: &mut Vec<char>, column: usize) {
    match letters.next() {
        Some('[') => {
            let mut parameters = String::new();
            for letter in letters.by_ref() {
                if ('@'..='~').contains(&letter) {
                    match (letter, parameters.as_str()) {
                        ('K', "" | "0") => cells.truncate(column),
                        ('K', "2") => cells.clear(),
                        _ => {}
                    }
                    // A cleared line may be written from where the cursor stood.
                    while cells.len() < column {
                        cells.push(' ');
                    }
                    return;
                }
                parameters.push(letter);
            }
        }
        // A title or a link, up to its end.
        Some(']') => {
            let mut was_escape = false;
            for letter in letters.by_ref() {
                if letter == BELL || (was_escape && letter == '\\') {
                    return;
                }
                was_escape = letter == ESCAPE;
            }
        }
        // The names of character sets take one more letter.
        Some('(' | ')' | '*' | '+') => drop(letters.next()),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expected: &str) {
        assert_eq!(settled(text), expected);
        assert_eq!(settled(expected), expected, "twice is once");
    }

    #[test]
    fn a_redrawn_line_has_its_last_state() {
        check("a\n 10%\r 55%\r100%\nb", "a\n100%\nb");
        check("Downloading...\rdone          \n", "done\n");
        check("one\r\ntwo\r\n", "one\ntwo\n");
        check("abc\rx\n", "xbc\n");
        check("12\u{8}\u{8}34\n", "34\n");
    }

    #[test]
    fn colors_titles_and_erasing_leave_no_trace() {
        check("\u{1B}[1;31merror\u{1B}[0m: x\n", "error: x\n");
        check("\u{1B}]0;title\u{7}a\u{1B}]8;;http://x\u{1B}\\b\n", "ab\n");
        check("50%\r\u{1B}[Kdone\n", "done\n");
        check("50%\u{1B}[2K\rdone\n", "done\n");
        check("\u{1B}(Ba\n", "a\n");
    }

    #[test]
    fn text_without_them_is_not_copied() {
        assert!(matches!(settled("ü\tx\n"), Cow::Borrowed(_)));
    }
}
