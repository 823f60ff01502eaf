//! Shorter forms of lines that all stay: columns without padding, and trees without branches.

/// Signs that rulers are drawn with.
const RULERS: [char; 9] = ['=', '_', '-', '*', '~', '─', '━', '═', '⎯'];

/// So many equal signs in a row are a ruler.
const SHORTEST_RULER: usize = 8;

/// A line with three blanks and more written as two, and rulers as three signs. Between rulers stands a name, in which
/// blanks count.
pub(crate) fn squeeze(line: &str, out: &mut String) {
    let is_ruler = line.starts_with(RULERS);
    let mut rest = line.trim_end_matches(' ');
    while let Some(sign) = rest.chars().next() {
        let length = rest.len() - rest.trim_start_matches(sign).len();
        let times = length / sign.len_utf8();
        let shown = match sign {
            ' ' if !is_ruler => times.min(2),
            _ if RULERS.contains(&sign) && times >= SHORTEST_RULER => 3,
            _ => times,
        };
        out.push_str(&rest[..shown * sign.len_utf8()]);
        rest = &rest[length..];
    }
}

/// The end of the first columns of a line, with the blanks behind them.
pub(crate) fn end_of_columns(line: &str, columns: usize) -> usize {
    let mut rest = line;
    for _ in 0..columns {
        rest = rest.trim_start_matches(' ').trim_start_matches(|letter| letter != ' ');
    }
    let rest = if columns == 0 { rest } else { rest.trim_start_matches(' ') };
    line.len() - rest.len()
}

/// Columns with one blank between them.
pub(crate) fn squeeze_columns(columns: &str, out: &mut String) {
    let mut was_blank = false;
    for letter in columns.chars() {
        if letter != ' ' || !was_blank {
            out.push(letter);
        }
        was_blank = letter == ' ';
    }
}

/// A line of `tree` with one blank a level in the place of its branches.
pub(crate) fn outdent(line: &str, out: &mut String) {
    let mut rest = line;
    // `tree` draws four columns a level; some of its blanks do not break.
    while let Some(after) = ["│   ", "│\u{A0}\u{A0} ", "├── ", "└── ", "    ", "|   ", "|-- ", "`-- "]
        .iter()
        .find_map(|branch| rest.strip_prefix(branch))
    {
        out.push(' ');
        rest = after;
    }
    out.push_str(rest);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with(change: fn(&str, &mut String), line: &str) -> String {
        let mut out = String::new();
        change(line, &mut out);
        out
    }

    #[test]
    fn columns_keep_two_blanks_between_them() {
        assert_eq!(with(squeeze, "ii  a      1.2     x y   "), "ii  a  1.2  x y");
        assert_eq!(with(squeeze, "ii  a  1.2  x y"), "ii  a  1.2  x y");
        assert_eq!(with(squeeze, "========== FAILURES ==========="), "=== FAILURES ===");
        assert_eq!(with(squeeze, "__________ test_x[a   b] __________"), "___ test_x[a   b] ___");
        assert_eq!(with(squeeze, "⎯⎯⎯⎯⎯⎯⎯⎯⎯⎯[1/3]⎯ a----b"), "⎯⎯⎯[1/3]⎯ a----b");
    }

    #[test]
    fn levels_of_a_tree_stay() {
        assert_eq!(with(outdent, "├── src"), " src");
        assert_eq!(with(outdent, "│\u{A0}\u{A0} └── a b.rs -> x"), "  a b.rs -> x");
        assert_eq!(with(outdent, "    └── z"), "  z");
        assert_eq!(with(outdent, "3 directories, 4 files"), "3 directories, 4 files");
    }
}
