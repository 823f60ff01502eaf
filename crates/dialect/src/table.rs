//! Tables for terminals and models.

use std::fmt;

use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// Spaces between two columns.
const GAP: usize = 2;

/// Smallest width to which a column is cut to fit a screen.
const NARROWEST: usize = 8;

/// A table with one row of heads.
#[derive(Debug, Clone)]
pub struct Table<const N: usize> {
    heads: [String; N],
    rows: Vec<[String; N]>,
    /// Indexes of the columns that are aligned to the right and never cut.
    right_aligned: &'static [usize],
}

impl<const N: usize> Table<N> {
    /// Makes a table. `right_aligned` has indexes of columns, counted from 0.
    pub fn new(heads: [&str; N], rows: Vec<[String; N]>, right_aligned: &'static [usize]) -> Self {
        Self { heads: heads.map(str::to_owned), rows, right_aligned }
    }

    /// The table for a screen of `columns` characters. Long words are cut, widest column first; paths keep their end.
    pub fn fit(&self, columns: usize) -> String {
        let mut widths = self.widths();
        let room = columns.saturating_sub(GAP * N.saturating_sub(1));
        while widths.iter().sum::<usize>() > room {
            let cuttable = (0..N).filter(|column| !self.right_aligned.contains(column));
            let widest = cuttable.max_by_key(|column| widths[*column]).filter(|column| widths[*column] > NARROWEST);
            let Some(widest) = widest else { break };
            widths[widest] -= 1;
        }
        self.lay_out(widths)
    }

    fn widths(&self) -> [usize; N] {
        std::array::from_fn(|column| self.lines().map(|row| row[column].width()).max().unwrap_or_default())
    }

    fn lines(&self) -> impl Iterator<Item = &[String; N]> {
        std::iter::once(&self.heads).chain(&self.rows)
    }

    fn lay_out(&self, widths: [usize; N]) -> String {
        let mut text = String::new();
        for row in self.lines() {
            for (column, word) in row.iter().enumerate() {
                let word = cut(word, widths[column]);
                let fill = " ".repeat(widths[column].saturating_sub(word.width()));
                let is_last = column + 1 == N;
                let cell = match (self.right_aligned.contains(&column), is_last) {
                    (true, _) => format!("{fill}{word}"),
                    (false, false) => format!("{word}{fill}"),
                    (false, true) => word,
                };
                text.push_str(&cell);
                text.push_str(if is_last { "\n" } else { "  " });
            }
        }
        text
    }
}

/// The table without any cut.
impl<const N: usize> fmt::Display for Table<N> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.lay_out(self.widths()))
    }
}

/// Cuts a word to a width and marks the cut with `…`. Paths keep their end, other words their beginning.
fn cut(word: &str, width: usize) -> String {
    if word.width() <= width {
        return word.to_owned();
    }
    let mut room = width.saturating_sub(1);
    let mut fits = |char: &char| {
        let taken = char.width().unwrap_or(0);
        let fits = taken <= room;
        room = room.saturating_sub(taken);
        fits
    };
    if word.starts_with('/') {
        let end: Vec<char> = word.chars().rev().take_while(&mut fits).collect();
        return std::iter::once('…').chain(end.into_iter().rev()).collect();
    }
    word.chars().take_while(fits).chain(['…']).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(name: &str, number: &str, last: &str) -> [String; 3] {
        [name.to_owned(), number.to_owned(), last.to_owned()]
    }

    #[test]
    fn columns_are_as_wide_as_their_widest_word() {
        let table = Table::new(["NAME", "N", "WHERE"], vec![row("a", "10", "x"), row("longer", "2", "")], &[1]);
        assert_eq!(table.to_string(), "NAME     N  WHERE\na       10  x\nlonger   2  \n");
        assert_eq!(table.fit(80), table.to_string());
    }

    #[test]
    fn a_narrow_screen_cuts_the_widest_columns() {
        let rows =
            vec![row("a name that is long", "12345", "/home/somebody/project/src"), row("漢字漢字漢字", "1", "")];
        let table = Table::new(["NAME", "N", "WHERE"], rows, &[1]);
        for columns in [28, 40, 60] {
            let fitted = table.fit(columns);
            assert!(fitted.lines().all(|line| line.width() <= columns), "{columns}\n{fitted}");
        }
        assert_eq!(table.fit(28), "NAME            N  WHERE\na name th…  12345  …ject/src\n漢字漢字…       1  \n",);
    }
}
