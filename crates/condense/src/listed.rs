//! Entries of `ls -R` that stand twice in it: a directory's own entry `.` is also an entry of the directory above, and
//! its `..` is the `.` of that one.

use std::collections::HashMap;

/// The parts of a recursive listing by their headings.
#[derive(Debug)]
pub(crate) struct ListedDirectories<'t> {
    lines: &'t [&'t str],
    /// The first line of each part, by the path in its heading.
    parts: HashMap<&'t str, usize>,
}

impl<'t> ListedDirectories<'t> {
    pub(crate) fn of(lines: &'t [&'t str]) -> Self {
        let is_first =
            |at: usize| at.checked_sub(1).is_none_or(|before| lines.get(before).is_some_and(|line| line.is_empty()));
        let headings = lines.iter().enumerate().filter(|(at, _)| is_first(*at));
        Self { lines, parts: headings.filter_map(|(at, line)| Some((line.strip_suffix(':')?, at))).collect() }
    }

    /// True if the entry `.` or `..` in this line says nothing that the part of the directory above does not say.
    pub(crate) fn has_twice(&self, at: usize) -> bool {
        self.other_entry(at).is_some()
    }

    fn other_entry(&self, at: usize) -> Option<usize> {
        let (columns, own) = self.lines.get(at)?.rsplit_once(' ')?;
        let heading = self.lines.get(..at)?.iter().rposition(|line| line.is_empty()).map_or(0, |blank| blank + 1);
        let (above, name) = self.lines.get(heading)?.strip_suffix(':')?.rsplit_once('/')?;
        let wanted = if own == "." { name } else { "." };
        let part = *self.parts.get(above)?;
        let entries = self.lines.iter().enumerate().skip(part + 1).take_while(|(_, line)| !line.is_empty());
        let is_same = |line: &str| {
            let entry = line.strip_suffix(wanted).and_then(|entry| entry.strip_suffix(' '));
            entry.is_some_and(|entry| entry.split_whitespace().eq(columns.split_whitespace()))
        };
        entries.filter(|(other, _)| *other < heading).find(|(_, line)| is_same(line)).map(|(other, _)| other)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_entry_is_there_twice_if_the_directory_above_has_it() {
        let text = "a:\ntotal 3\ndrwx 3 r  40 Nov 1 9:00 .\ndrwx 9 r 400 Nov 1 9:00 ..\ndrwx 2 r  40 Nov 1 9:00 b\n\n\
                    a/b:\ntotal 0\ndrwx 2 r 40 Nov 1 9:00 .\ndrwx 3 r 40 Nov 1 9:00 ..\n\n\
                    c/b:\ntotal 0\ndrwx 2 r 40 Nov 1 9:00 .\ndrwx 2 r 40 Nov 1 9:00 ..";
        let lines: Vec<&str> = text.split('\n').collect();
        let directories = ListedDirectories::of(&lines);
        let twice: Vec<usize> = (0..lines.len()).filter(|at| directories.has_twice(*at)).collect();
        assert_eq!(twice, [8, 9]);
    }
}
