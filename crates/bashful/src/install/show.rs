//! Shows a change of a text as removed and added lines.

use bashful_dialect::visible;

/// Characters shown of one line. Some clients keep all of their settings on one.
const LINE_SHOWN: usize = 2_000;

/// Changed parts with more lines than this are shown as one, because comparing takes the square of them in time and memory.
const LINES_COMPARED: usize = 1000;

/// The removed and added lines, each with a mark. Unchanged lines are omitted.
pub(super) fn difference(old: &str, new: &str) -> String {
    let (old, new): (Vec<&str>, Vec<&str>) = (old.lines().collect(), new.lines().collect());
    let same = |pairs: &mut dyn Iterator<Item = (&&str, &&str)>| pairs.take_while(|(old, new)| old == new).count();
    let head = same(&mut old.iter().zip(&new));
    let tail = same(&mut old[head..].iter().rev().zip(new[head..].iter().rev()));
    let (old, new) = (&old[head..old.len() - tail], &new[head..new.len() - tail]);
    let kept = if old.len().max(new.len()) > LINES_COMPARED { Vec::new() } else { common(old, new) };
    let (mut shown, mut from_old, mut from_new) = (String::new(), 0, 0);
    for (at_old, at_new) in kept.into_iter().chain([(old.len(), new.len())]) {
        shown.extend(old[from_old..at_old].iter().map(|line| marked('-', line)));
        shown.extend(new[from_new..at_new].iter().map(|line| marked('+', line)));
        (from_old, from_new) = (at_old + 1, at_new + 1);
    }
    shown
}

fn marked(mark: char, line: &str) -> String {
    let shown: String = line.chars().take(LINE_SHOWN).collect();
    format!("{mark} {}{}\n", visible(&shown), if shown.len() < line.len() { "…" } else { "" })
}

/// The longest row of lines that both have, as places in each.
fn common(old: &[&str], new: &[&str]) -> Vec<(usize, usize)> {
    let mut longest = vec![vec![0_usize; new.len() + 1]; old.len() + 1];
    for (at_old, old_line) in old.iter().enumerate().rev() {
        for (at_new, new_line) in new.iter().enumerate().rev() {
            longest[at_old][at_new] = if old_line == new_line {
                longest[at_old + 1][at_new + 1] + 1
            } else {
                longest[at_old + 1][at_new].max(longest[at_old][at_new + 1])
            };
        }
    }
    let (mut pairs, mut at_old, mut at_new) = (Vec::new(), 0, 0);
    while at_old < old.len() && at_new < new.len() {
        if old[at_old] == new[at_new] {
            pairs.push((at_old, at_new));
            (at_old, at_new) = (at_old + 1, at_new + 1);
        } else if longest[at_old + 1][at_new] >= longest[at_old][at_new + 1] {
            at_old += 1;
        } else {
            at_new += 1;
        }
    }
    pairs
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
