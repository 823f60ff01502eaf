//! Escapes invisible characters in names, scripts and labels, so that readers see everything in them.
//!
//! A terminal obeys escape sequences, hides some characters and reorders others. A script, a path or a label with such
//! characters could hide a part of itself or imitate a message of bashful. Output of commands does not pass here: the engine
//! cleans it, or passes it on raw.

/// Escapes every character of a line that would move, hide or reorder others, as in `\u{1b}`. Newlines are escaped too; tabs stay.
pub fn visible(text: &str) -> String {
    if text.chars().all(is_visible) {
        return text.to_owned();
    }
    let mut shown = String::with_capacity(text.len() + 16);
    for char in text.chars() {
        if is_visible(char) {
            shown.push(char);
        } else {
            shown.extend(char.escape_default());
        }
    }
    shown
}

/// [`visible`] for text of several lines.
pub fn visible_lines(text: &str) -> String {
    text.split('\n').map(visible).collect::<Vec<_>>().join("\n")
}

/// True for a character that a terminal draws in its place and that looks like itself.
fn is_visible(char: char) -> bool {
    match char {
        '\t' => true,
        // C0, DEL and C1. U+009B starts an escape sequence, as `ESC [` does.
        _ if char.is_control() => false,
        _ if char.is_ascii() => true,
        // Spaces that the shell does not split at, and the Unicode separators of lines and paragraphs.
        _ if char.is_whitespace() => false,
        _ => !is_ignorable(char),
    }
}

/// True for Unicode's default ignorable characters and annotation marks. Text direction controls are among them; combining
/// accents are not.
fn is_ignorable(char: char) -> bool {
    matches!(char,
        '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}'..='\u{1160}' | '\u{17b4}'..='\u{17b5}' | '\u{180b}'..='\u{180f}'
        | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{3164}'
        | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{ffa0}' | '\u{fff0}'..='\u{fffb}'
        | '\u{1bca0}'..='\u{1bca3}' | '\u{1d173}'..='\u{1d17a}' | '\u{e0000}'..='\u{e0fff}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expected: &str) {
        assert_eq!(visible(text), expected);
    }

    #[test]
    fn a_terminal_is_told_nothing() {
        check("a\u{1b}[2K\rb", "a\\u{1b}[2K\\rb");
        check("a\u{9b}31mb\u{7f}\u{85}", "a\\u{9b}31mb\\u{7f}\\u{85}");
        check("one\ntwo\tthree\0", "one\\ntwo\tthree\\u{0}");
    }

    #[test]
    fn nothing_turns_around_or_hides() {
        check("a\u{202e}b\u{2066}c\u{2069}\u{200f}\u{61c}", "a\\u{202e}b\\u{2066}c\\u{2069}\\u{200f}\\u{61c}");
        check(
            "r\u{200b}m\u{2060} \u{feff}-\u{ad}r\u{e0041}\u{fe0f}",
            "r\\u{200b}m\\u{2060} \\u{feff}-\\u{ad}r\\u{e0041}\\u{fe0f}",
        );
        check("a\u{a0}b\u{2028}c\u{3000}d", "a\\u{a0}b\\u{2028}c\\u{3000}d");
    }

    #[test]
    fn letters_of_all_kinds_stay() {
        for text in ["", "plain ~!\\", "äöü e\u{301}", "漢字", "עברית", "😀 …│"] {
            check(text, text);
        }
    }

    #[test]
    fn lines_stay_lines() {
        assert_eq!(visible_lines("a\u{1b}\n\nb\r\n"), "a\\u{1b}\n\nb\\r\n");
    }
}
