//! Runs of lines that repeat, alone or as blocks of a few lines.

use std::borrow::Cow;

/// A block of more lines is not looked for.
const LONGEST_BLOCK: usize = 8;

/// A block has to come so often: twice may be chance.
const FEWEST_TIMES: usize = 3;

/// A block of lines and how often it comes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct RepeatedBlock {
    /// The lines of one block.
    pub(crate) lines: usize,
    /// The number of blocks in a row.
    pub(crate) times: usize,
    /// True if the lines are the same letter by letter, times included.
    pub(crate) is_exact: bool,
}

impl RepeatedBlock {
    /// The lines that are left out if the block is shown once.
    pub(crate) fn saved(self) -> usize {
        self.lines * (self.times - 1)
    }

    /// The line that stands for those that are left out.
    pub(crate) fn mark(self) -> String {
        match (self.lines, self.is_exact) {
            (1, true) => format!("[the line above {} more times]", self.times - 1),
            (1, false) => format!("[{} more lines like the one above]", self.saved()),
            (lines, true) => format!("[the {lines} lines above {} more times]", self.times - 1),
            (lines, false) => format!("[{} more lines like the {lines} above]", self.saved()),
        }
    }
}

/// True if the line is a mark of this module. It ends a run, so that a text that was shortened stays as it is.
pub(crate) fn is_mark(line: &str) -> bool {
    line.starts_with('[') && line.ends_with(']') && (line.contains(" above ") || line.contains(" like the "))
}

/// The shortest block at the beginning of the lines that repeats. `keys` are the lines without their times.
///
/// A block in which something repeats by itself is none: showing it once would leave a text that can be shortened again.
pub(crate) fn at_start(lines: &[&str], keys: &[Cow<'_, str>]) -> Option<RepeatedBlock> {
    let (size, times) = repeated(keys)?;
    let block = lines.get(..size)?;
    let is_exact = lines.chunks_exact(size).take(times).all(|chunk| chunk == block);
    let is_plain = (1..size).all(|at| keys.get(at..size).is_none_or(|rest| repeated(rest).is_none()));
    is_plain.then_some(RepeatedBlock { lines: size, times, is_exact })
}

fn repeated(keys: &[Cow<'_, str>]) -> Option<(usize, usize)> {
    (1..=LONGEST_BLOCK.min(keys.len() / FEWEST_TIMES)).find_map(|size| {
        let block = keys.get(..size)?;
        let times = keys.chunks_exact(size).take_while(|chunk| *chunk == block).count();
        (times >= FEWEST_TIMES).then_some((size, times))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(lines: &[&str], expected: Option<(usize, usize, bool)>) {
        let keys: Vec<_> = lines.iter().map(|line| Cow::Borrowed(*line)).collect();
        let found = at_start(lines, &keys).map(|block| (block.lines, block.times, block.is_exact));
        assert_eq!(found, expected, "{lines:?}");
    }

    #[test]
    fn lines_and_blocks_are_counted() {
        check(&["a", "a", "a", "b"], Some((1, 3, true)));
        check(&["a", "b", "a", "b", "a", "b", "a"], Some((2, 3, true)));
        check(&["a", "a", "b"], None);
        check(&["a x", "a y", "a z"], None);
    }
}
