//! The files that tests of `find` leave.

use crate::marks::{SET, SOME, STAR, TREE, alive};
use crate::pattern;

/// The files that the tests before an action leave.
#[derive(Debug, Clone, Default)]
#[expect(clippy::struct_excessive_bools, reason = "each is a test of `find`, and they do not depend on each other")]
pub(super) struct FindScope {
    /// Names or paths that have to match: live patterns.
    names: Vec<String>,
    /// Something else narrows it down: age, size, a name that must not match.
    filtered: bool,
    /// Only files that have changed lately. A repository's data always has.
    pub(super) is_recent: bool,
    /// Only the starting points themselves.
    roots_only: bool,
    /// Nothing below the entries of the starting points.
    is_flat: bool,
    /// `-type d`: `-delete` deletes directories alone, and only empty ones.
    pub(super) only_directories: bool,
    /// `-type f`
    pub(super) only_files: bool,
    pub(super) negated: bool,
    /// Paths that a test names itself.
    same: Vec<String>,
}

/// Tests that take a word and narrow the matches down.
const FILTERS: [&str; 22] = [
    "-amin", "-anewer", "-atime", "-cmin", "-cnewer", "-ctime", "-fstype", "-gid", "-group", "-ilname", "-inum",
    "-links", "-lname", "-mmin", "-mtime", "-newer", "-perm", "-size", "-uid", "-used", "-user", "-context",
];

/// Options that take a word and narrow down nothing.
const VALUED: [&str; 4] = ["-mindepth", "-regextype", "-files0-from", "-D"];

/// Files that were changed within so many days are most of a project.
const DAYS_OF_WORK: u32 = 90;

/// The most names that have to match and are held against each other.
const MOST_NAMES: usize = 8;

/// The effect of a word on a scope.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Noted {
    /// It is no test.
    No,
    /// It is a test by itself.
    Alone,
    /// It takes the next word.
    WithValue,
}

impl FindScope {
    /// Notes a test or an option.
    pub(super) fn note(&mut self, word: &str, value: &str) -> Noted {
        match word {
            "-name" | "-iname" | "-path" | "-ipath" | "-wholename" | "-iwholename" => self.note_name(word, value),
            "-maxdepth" => {
                self.roots_only |= value == "0";
                self.is_flat |= value == "1";
            }
            "-type" | "-xtype" => self.note_type(value),
            "-samefile" => {
                let is_negated = std::mem::take(&mut self.negated);
                if !is_negated && self.same.len() < MOST_NAMES {
                    self.same.push(value.to_owned());
                }
            }
            "-empty" => {
                // Hardly any file is empty.
                self.filtered |= !std::mem::take(&mut self.negated);
                return Noted::Alone;
            }
            "-nouser" | "-nogroup" => {
                self.filtered |= !std::mem::take(&mut self.negated);
                return Noted::Alone;
            }
            "-executable" | "-false" => {
                self.narrow();
                return Noted::Alone;
            }
            // Whoever runs the script can read and write nearly everything, if not everything.
            "-readable"
            | "-writable"
            | "-true"
            | "-xdev"
            | "-mount"
            | "-depth"
            | "-d"
            | "-noleaf"
            | "-daystart"
            | "-follow"
            | "-nowarn"
            | "-ignore_readdir_race" => {
                self.filtered |= std::mem::take(&mut self.negated);
                return Noted::Alone;
            }
            test if let Some(most_pass) = lets_most_pass(test, value) => {
                let is_negated = std::mem::take(&mut self.negated);
                self.filtered |= !most_pass || is_negated;
                self.is_recent |= !most_pass && is_recent(test, value) && !is_negated;
            }
            option if VALUED.contains(&option) => self.negated = false,
            _ => return Noted::No,
        }
        Noted::WithValue
    }

    /// Notes a test that only some files pass.
    pub(super) fn narrow(&mut self) {
        self.negated = false;
        self.filtered = true;
    }

    fn note_type(&mut self, kinds: &str) {
        let is_negated = std::mem::take(&mut self.negated);
        if is_negated {
            // All but directories are the files; all but the files are directories.
            self.only_files |= kinds.contains('d');
            self.only_directories |= kinds.contains('f');
            self.filtered |= kinds.contains('f') && kinds.contains('d');
            return;
        }
        self.only_directories |= kinds == "d";
        self.only_files |= !kinds.contains('d');
        // Links and sockets are hardly ever all there is.
        self.filtered |= !kinds.contains(['f', 'd']);
    }

    /// Notes a test of names or paths.
    pub(super) fn note_name(&mut self, test: &str, pattern: &str) {
        // Leaving out a few names leaves everything else, as `rm -rf !(keep)` does. A kind of name that is left out is a
        // choice: all but `*.txt`.
        if std::mem::take(&mut self.negated) {
            let is_kind = pattern.contains(['*', '?', '[']) || pattern.contains(crate::marks::is_wild);
            self.filtered |= test.ends_with("name") && is_kind && !pattern.starts_with('.');
            return;
        }
        // More of them would only narrow it down further.
        if self.names.len() >= MOST_NAMES {
            return;
        }
        // A test that ignores case may mean any of them; names that matter are small.
        let ignores = test.starts_with("-i");
        self.names.push(alive(&if ignores { pattern.to_lowercase() } else { pattern.to_owned() }));
    }

    /// The paths below a starting point that pass, as text with marks.
    pub(super) fn paths(&self, root: &str) -> Vec<String> {
        if !self.same.is_empty() {
            return self.same.clone();
        }
        if self.roots_only && self.names.is_empty() {
            return vec![if root.is_empty() { "/".to_owned() } else { root.to_owned() }];
        }
        let narrow: Vec<&String> = self.names.iter().filter(|name| !is_everything(name)).collect();
        // Files at the top are not the whole tree.
        if narrow.is_empty() && self.is_flat && self.only_files {
            return vec![format!("{root}/{SOME}")];
        }
        if narrow.is_empty() {
            let tail = if self.filtered { format!("{TREE}/{SOME}") } else { TREE.to_string() };
            return vec![format!("{root}/{tail}")];
        }
        // Of several names that all have to match, one that cannot be anything important is enough.
        let harmless = narrow.iter().find(|name| !may_be_repository(name));
        let name = harmless.or(narrow.first()).map_or("", |name| name.as_str());
        let tail = name.trim_start_matches(STAR).trim_start_matches('/');
        if name.starts_with("./") || name.starts_with('/') || name.contains('/') && !name.starts_with(STAR) {
            vec![name.to_owned()]
        } else if name.contains('/') {
            vec![format!("{root}/{TREE}/{tail}")]
        } else if self.is_flat {
            vec![format!("{root}/{name}")]
        } else {
            let mut paths = Vec::new();
            // Right below the root or `/home`, a name may be that of a directory that matters.
            let is_plain = !name.contains(crate::marks::is_mark) && !self.only_files && !self.filtered;
            if is_plain
                && root.trim_start_matches('/').split('/').count() <= 1
                && (root.is_empty() || root.starts_with('/'))
            {
                paths.push(format!("{root}/{name}"));
            }
            // The stars of `find` match a leading dot, too.
            let name = if name.starts_with(STAR) && pattern::matches(name, ".git") { ".git" } else { name };
            paths.push(format!("{root}/{TREE}/{name}"));
            paths
        }
    }
}

/// True if a name test lets everything pass.
fn is_everything(name: &str) -> bool {
    let last = name.trim_start_matches("./");
    // `[!x]*` leaves out a few names; `[a-z]` alone is a name of one letter.
    let is_set = |part: &str| part.contains(SET) && !part.ends_with(STAR);
    !last.starts_with('.') && last.split('/').all(|part| part.is_empty() || pattern::is_wide(part) && !is_set(part))
}

fn may_be_repository(name: &str) -> bool {
    name.split('/').any(|part| pattern::may_be(part, ".git"))
}

/// True if nearly every file of a project passes a test with a value, false if only some do; none if it is no such test. The
/// owner of most files is the same, and most files are not old.
fn lets_most_pass(test: &str, value: &str) -> Option<bool> {
    let is_long =
        |least: u32| value.strip_prefix('-').and_then(|age| age.parse().ok()).is_some_and(|age: u32| age >= least);
    match test {
        "-user" | "-uid" | "-group" | "-gid" | "-fstype" => Some(true),
        // `find` rounds up: `-1M` and `-1G` are empty files alone.
        "-size" => Some(
            value == "+0" || value.starts_with('-') && value.ends_with(['M', 'G']) && !matches!(value, "-1M" | "-1G"),
        ),
        "-mtime" | "-ctime" | "-atime" => Some(is_long(DAYS_OF_WORK)),
        "-mmin" | "-cmin" | "-amin" => Some(is_long(DAYS_OF_WORK * 24 * 60)),
        test => (is_newer_than_date(test) || FILTERS.contains(&test)).then_some(false),
    }
}

/// `-newermt` and its like, which take a date.
fn is_newer_than_date(test: &str) -> bool {
    test.strip_prefix("-newer").is_some_and(|kinds| kinds.len() == 2 && kinds.ends_with('t'))
}

/// True if a test lets files pass that were changed lately.
fn is_recent(test: &str, value: &str) -> bool {
    let is_age = matches!(test, "-mtime" | "-ctime" | "-mmin" | "-cmin");
    is_age && value.starts_with('-') || is_newer_than_date(test)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tests_that_nearly_all_files_pass_are_no_choice() {
        for (test, value) in [("-size", "+0"), ("-mtime", "-99999"), ("-mmin", "-9999999"), ("-user", "dev")] {
            assert_eq!(lets_most_pass(test, value), Some(true), "{test} {value}");
        }
        for (test, value) in
            [("-newermt", "2026-01-01"), ("-size", "+1k"), ("-size", "-1G"), ("-mtime", "+7"), ("-mtime", "-1")]
        {
            assert_eq!(lets_most_pass(test, value), Some(false), "{test} {value}");
        }
        assert_eq!(lets_most_pass("-name", "x"), None);
    }
}
