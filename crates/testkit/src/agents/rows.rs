//! Long outputs made of numbered rows, so that every cut shows.

/// The rows that a result shows.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Rows {
    /// All rows.
    Whole,
    /// The first and the last ones, as the notice of the result says.
    Clipped,
}

/// Requires that rows `row-1-of-many` to `row-COUNT-of-many` are shown as in bashful's reply: all, or all but those
/// that its notice omits.
pub(super) fn check_rows(text: &str, count: usize) -> Result<Rows, String> {
    let mut rows: Vec<usize> =
        text.split("row-").skip(1).filter_map(|rest| rest.split_once("-of-many")?.0.parse().ok()).collect();
    // Qwen Code shows an error twice.
    let (first, second) = rows.split_at(rows.len() / 2);
    if first == second {
        rows.truncate(rows.len() / 2);
    }
    let ends = (rows.first().copied(), rows.last().copied());
    if ends != (Some(1), Some(count)) {
        return Err(format!("rows 1 to {count} should begin and end it, but {ends:?} do"));
    }
    let gaps: Vec<_> = rows.windows(2).filter(|pair| pair[1] != pair[0] + 1).map(|pair| (pair[0], pair[1])).collect();
    match gaps.as_slice() {
        [] => Ok(Rows::Whole),
        [(before, after)] => {
            let notice = format!("lines 1-{before} and {after}-{count} of {count}");
            if text.contains(&notice) {
                return Ok(Rows::Clipped);
            }
            Err(format!("rows between {before} and {after} are missing, but the text lacks {notice:?}"))
        }
        _ => Err(format!("there should be one gap, but there are {gaps:?}")),
    }
}

#[cfg(test)]
mod tests {
    use super::{Rows, check_rows};

    fn rows(numbers: impl IntoIterator<Item = usize>) -> String {
        let rows: Vec<String> = numbers.into_iter().map(|number| format!("row-{number}-of-many\n")).collect();
        rows.concat()
    }

    #[test]
    fn a_cut_that_nobody_names_is_found() {
        assert_eq!(check_rows(&rows(1..=9), 9), Ok(Rows::Whole));
        assert_eq!(check_rows(&rows((1..=9).chain(1..=9)), 9), Ok(Rows::Whole));
        let clip = format!("{}{}[showing lines 1-2 and 8-9 of 9]", rows(1..=2), rows(8..=9));
        assert_eq!(check_rows(&clip, 9), Ok(Rows::Clipped));
        let cut_again = format!("{}{}[showing lines 1-2 and 8-9 of 9]", rows(1..=1), rows(8..=9));
        let faults = [String::new(), rows(1..=8), rows(2..=9), rows([1, 2, 8, 9]), rows([1, 3, 5, 9]), cut_again];
        assert!(faults.iter().all(|text| check_rows(text, 9).is_err()));
    }
}
