//! The account of the lines that are missing from a condensed text, or are written in another way.

use std::fmt;

use serde::Serialize;

/// Lines of one kind, counted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct LineKind {
    /// The kind, as the filter names it: `passing tests`.
    pub label: String,
    /// The lines of this kind that are not in the result as they were.
    pub lines: usize,
}

/// The account of a condensed text.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct Dropped {
    /// Lines that are not in the result, by kind, in the order of their first line.
    pub left_out: Vec<LineKind>,
    /// Lines that are in the result in a shorter form, by the form.
    pub rewritten: Vec<LineKind>,
}

impl Dropped {
    /// The line that tells a reader what is missing.
    pub fn note(&self) -> String {
        format!("[{self}]")
    }

    /// All lines that are not in the result.
    pub fn lines_left_out(&self) -> usize {
        self.left_out.iter().map(|kind| kind.lines).sum()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.left_out.is_empty() && self.rewritten.is_empty()
    }

    pub(crate) fn count_left_out(&mut self, label: &str, lines: usize) {
        count(&mut self.left_out, label, lines);
    }

    pub(crate) fn count_rewritten(&mut self, label: &str, lines: usize) {
        count(&mut self.rewritten, label, lines);
    }
}

fn count(kinds: &mut Vec<LineKind>, label: &str, lines: usize) {
    if lines == 0 {
        return;
    }
    match kinds.iter_mut().find(|kind| kind.label == label) {
        Some(kind) => kind.lines += lines,
        None => kinds.push(LineKind { label: label.to_owned(), lines }),
    }
}

impl fmt::Display for Dropped {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, (title, kinds)) in [("left out", &self.left_out), ("shortened", &self.rewritten)]
            .into_iter()
            .filter(|(_, kinds)| !kinds.is_empty())
            .enumerate()
        {
            write!(f, "{}{title}: ", if at == 0 { "" } else { "; " })?;
            for (at, LineKind { label, lines }) in kinds.iter().enumerate() {
                let comma = if at == 0 { "" } else { ", " };
                write!(f, "{comma}{label} ({lines} line{})", if *lines == 1 { "" } else { "s" })?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_note_counts_lines_by_kind() {
        let mut dropped = Dropped::default();
        dropped.count_left_out("passing tests", 2);
        dropped.count_left_out("compile steps", 1);
        dropped.count_left_out("passing tests", 40);
        assert_eq!(dropped.note(), "[left out: passing tests (42 lines), compile steps (1 line)]");
        dropped.count_rewritten("paths grouped by directory", 7);
        assert!(dropped.note().ends_with("; shortened: paths grouped by directory (7 lines)]"));
        assert_eq!(dropped.lines_left_out(), 43);
    }
}
