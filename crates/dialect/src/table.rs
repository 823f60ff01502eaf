//! Rows of words below each other.

/// A table with one line of heads. The columns of these numbers are aligned to the right; the last one is not filled up.
pub fn table<const N: usize>(heads: [&str; N], rows: &[[String; N]], right: &[usize]) -> String {
    let heads = heads.map(str::to_owned);
    let all = || std::iter::once(&heads).chain(rows);
    let widths: [usize; N] =
        std::array::from_fn(|column| all().map(|row| row[column].chars().count()).max().unwrap_or_default());
    let mut text = String::new();
    for row in all() {
        for (column, word) in row.iter().enumerate() {
            let fill = " ".repeat(widths[column].saturating_sub(word.chars().count()));
            let is_last = column + 1 == N;
            let cell = match (right.contains(&column), is_last) {
                (true, _) => format!("{fill}{word}"),
                (false, false) => format!("{word}{fill}"),
                (false, true) => word.clone(),
            };
            text.push_str(&cell);
            text.push_str(if is_last { "\n" } else { "  " });
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_as_wide_as_their_widest_word() {
        let row = |name: &str, number: &str, last: &str| [name.to_owned(), number.to_owned(), last.to_owned()];
        let text = table(["NAME", "N", "WHERE"], &[row("a", "10", "x"), row("longer", "2", "")], &[1]);
        assert_eq!(text, "NAME     N  WHERE\na       10  x\nlonger   2  \n");
    }
}
