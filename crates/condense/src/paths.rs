//! Lists of paths, with each directory written once.
//!
//! bash would expand a grouped line to the same paths in the same order, so nothing is lost.

/// A grouped line is not continued beyond this length: a reader, and a limit by lines, should not meet a wall of text.
const LONGEST_LINE: usize = 1200;

/// A common beginning of names shorter than this is written out: the braces would hide more than they save.
const SHORTEST_AFFIX: usize = 2;

/// Fewer names than this share nothing but their directory.
const FEWEST_NAMES: usize = 3;

/// A path with the text around it in its line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ListedPath<'t> {
    /// The text before the path.
    pub(crate) before: &'t str,
    /// The directory, with its slash at the end.
    directory: &'t str,
    /// The last part, with the slash at its end if it has one.
    name: &'t str,
}

impl<'t> ListedPath<'t> {
    /// Takes a path apart; none if it has no directory, or letters that braces give a meaning.
    pub(crate) fn of(before: &'t str, path: &'t str) -> Option<Self> {
        let slash = path.strip_suffix('/').unwrap_or(path).rfind('/')?;
        let (directory, name) = path.split_at(slash + 1);
        (!path.contains(['{', '}', ',', '\\'])).then_some(Self { before, directory, name })
    }

    fn goes_with(&self, other: &Self) -> bool {
        self.before == other.before && self.directory == other.directory
    }
}

/// Writes the first paths that go together, and returns their number; none if the first line is no path.
pub(crate) fn write_group(paths: &[Option<ListedPath<'_>>], out: &mut String) -> usize {
    let Some(Some(first)) = paths.first() else { return 0 };
    let mut length = first.before.len() + first.directory.len() + 2;
    let together = paths.iter().map_while(Option::as_ref).take_while(|path| {
        length += path.name.len() + 1;
        path.goes_with(first) && length <= LONGEST_LINE
    });
    let mut names: Vec<&str> = together.map(|path| path.name).collect();
    if names.is_empty() {
        names.push(first.name);
    }
    out.push_str(first.before);
    out.push_str(first.directory);
    if let [_, _, ..] = names.as_slice() {
        let (start, end) = affixes(&names);
        let inner = |name: &'_ str| name.get(start..name.len() - end).unwrap_or("").to_owned();
        let inners: Vec<String> = names.iter().map(|name| inner(name)).collect();
        out.push_str(first.name.get(..start).unwrap_or(""));
        out.push('{');
        out.push_str(&inners.join(","));
        out.push('}');
        out.push_str(first.name.get(first.name.len() - end..).unwrap_or(""));
    } else {
        out.push_str(first.name);
    }
    names.len()
}

/// The bytes at the beginning and at the end that all names share, cut at a sign between words.
fn affixes(names: &[&str]) -> (usize, usize) {
    let Some((first, others)) = names.split_first().filter(|_| names.len() >= FEWEST_NAMES) else { return (0, 0) };
    let shortest = names.iter().map(|name| name.len()).min().unwrap_or(0);
    let is_shared = |at: usize, byte: u8| others.iter().all(|name| name.as_bytes().get(at) == Some(&byte));
    let start = first.bytes().enumerate().take_while(|(at, byte)| *at < shortest && is_shared(*at, *byte)).count();
    let start = first.get(..start).and_then(|text| text.rfind(['_', '-', '.'])).map_or(0, |at| at + 1);
    let start = if start < SHORTEST_AFFIX { 0 } else { start };
    let room = shortest - start;
    let is_shared = |back: usize, byte: u8| {
        others.iter().all(|name| name.len().checked_sub(back + 1).and_then(|at| name.as_bytes().get(at)) == Some(&byte))
    };
    let end =
        first.bytes().rev().enumerate().take_while(|(back, byte)| *back < room && is_shared(*back, *byte)).count();
    let end = first.get(first.len() - end..).and_then(|text| text.find('.').map(|at| text.len() - at)).unwrap_or(0);
    (start, end)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(lines: &[&str], expected: &[&str]) {
        let mut paths: Vec<_> = lines.iter().map(|line| ListedPath::of("", line)).collect();
        let mut got = Vec::new();
        while !paths.is_empty() {
            let mut line = String::new();
            let taken = write_group(&paths, &mut line);
            paths.drain(..taken);
            got.push(line);
        }
        assert_eq!(got, expected);
    }

    #[test]
    fn paths_of_one_directory_share_a_line() {
        check(&["a/x.rs", "a/y.rs", "b/z"], &["a/{x.rs,y.rs}", "b/z"]);
        check(&["./a/b/", "./a/c", "./a/b/d"], &["./a/{b/,c}", "./a/b/d"]);
        check(&["/x", "/y"], &["/{x,y}"]);
    }

    #[test]
    fn numbered_names_share_their_beginning_and_end() {
        let names: Vec<String> = (10..20).map(|number| format!("o/chunk_{number}.json")).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        check(&names, &["o/chunk_{10,11,12,13,14,15,16,17,18,19}.json"]);
    }

    #[test]
    fn names_with_signs_of_the_shell_are_left_alone() {
        for path in ["a", "a/", "a/{b}", "a/b,c", "a/b\\c"] {
            assert_eq!(ListedPath::of("", path), None, "{path}");
        }
    }
}
