//! Shows a change of a text as removed and added lines.

use std::time::{Duration, Instant};

use bashful_dialect::visible;
use similar::{Algorithm, DiffTag, capture_diff_slices_deadline};

/// Characters shown of one line. Some clients keep all of their settings on one.
const LINE_SHOWN: usize = 2_000;

/// The longest comparison. What is not compared by then is shown as one change.
const COMPARED_FOR: Duration = Duration::from_secs(1);

/// The removed and added lines, each with a mark. Unchanged lines are omitted.
pub(super) fn difference(old: &str, new: &str) -> String {
    let (old, new): (Vec<&str>, Vec<&str>) = (old.lines().collect(), new.lines().collect());
    let until = Instant::now() + COMPARED_FOR;
    let changes = capture_diff_slices_deadline(Algorithm::Myers, &old, &new, Some(until));
    let mut shown = String::new();
    for change in changes.iter().filter(|change| change.tag() != DiffTag::Equal) {
        shown.extend(old[change.old_range()].iter().map(|line| marked('-', line)));
        shown.extend(new[change.new_range()].iter().map(|line| marked('+', line)));
    }
    shown
}

fn marked(mark: char, line: &str) -> String {
    let shown: String = line.chars().take(LINE_SHOWN).collect();
    format!("{mark} {}{}\n", visible(&shown), if shown.len() < line.len() { "…" } else { "" })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_lines_that_differ_are_shown() {
        assert_eq!(difference("a\nb\nc\nd\ne\n", "a\nB\nc\nd\nx\ne\n"), "- b\n+ B\n+ x\n");
        assert_eq!(difference("a\n", "a\n"), "");
        assert_eq!(difference("", "a\nb"), "+ a\n+ b\n");
        assert_eq!(difference("a\nb", ""), "- a\n- b\n");
    }

    #[test]
    fn a_long_line_is_cut_and_many_lines_are_shown_as_one_change() {
        assert_eq!(difference("", &"x".repeat(3000)), format!("+ {}…\n", "x".repeat(2000)));
        let many: Vec<String> = (0..3000).map(|number| format!("{number}\n")).collect();
        let many = many.concat();
        let other = many.replace('\n', "!\n");
        assert_eq!(difference(&many, &other).lines().count(), 6000);
    }
}
