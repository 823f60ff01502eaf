//! Makes text visible: what a person or a model reads of names, scripts and labels is all that is in them.
//!
//! A terminal obeys escape sequences, and draws some characters not at all or in another order. A script, a path or a label
//! may hold any of them, and could so hide a part of itself, or pass for something that we say. Output of commands does not go
//! this way: it is cleaned, or written as it is.

/// One line of text. Every character that would move, hide or turn around what else is there is escaped, as in `\u{1b}`;
/// so is a newline. A tab stays.
pub fn visible(text: &str) -> String {
    if text.chars().all(is_seen) {
        return text.to_owned();
    }
    let mut shown = String::with_capacity(text.len() + 16);
    for char in text.chars() {
        if is_seen(char) {
            shown.push(char);
        } else {
            shown.extend(char.escape_default());
        }
    }
    shown
}

/// The same for text of several lines.
pub fn visible_lines(text: &str) -> String {
    text.split('\n').map(visible).collect::<Vec<_>>().join("\n")
}

/// True for a character that is drawn, in its place, and looks like no other kind.
fn is_seen(char: char) -> bool {
    match char {
        '\t' => true,
        // C0, DEL and C1: U+009B begins a sequence like ESC [.
        _ if char.is_control() => false,
        _ if char.is_ascii() => true,
        // A space that is no space to the shell, and the separators of lines and paragraphs.
        _ if char.is_whitespace() => false,
        _ => !is_ignorable(char),
    }
}

/// The characters that Unicode calls default ignorable (not drawn, or only changing how others are drawn), which has every
/// control of the direction of text, and the marks of annotations. Accents that join a letter are not among them.
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
