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

/// A date before this year is older than the files of most projects.
const OLD_YEAR: u32 = 2016;

/// A date behind this year is one that no file has.
const FAR_YEAR: u32 = 2090;

/// Modes that nearly every file has: its owner can read and write it, all others can read it.
const USUAL_MODE: u32 = 0o644;

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
            test if let Some(share) = share_of(test, value) => {
                let is_negated = std::mem::take(&mut self.negated);
                self.filtered |=
                    matches!((share, is_negated), (Share::Some, _) | (Share::All, true) | (Share::None, false));
                self.is_recent |= share == Share::Some && is_recent(test, value) && !is_negated;
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

/// The share of the files in a directory that somebody works in which pass a test.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Share {
    None,
    Some,
    All,
}

/// The share of files that pass a test with a value; none if it is no such test. The owner and the modes of most files are the
/// same, and most files are small, or not old.
fn share_of(test: &str, value: &str) -> Option<Share> {
    let nearly_all = match test {
        "-user" | "-uid" | "-group" | "-gid" | "-fstype" => true,
        "-perm" => is_usual_mode(value),
        "-size" => return Some(share_by_size(value)),
        "-links" => value.starts_with('-') && number(value).is_some_and(|count| count > 2) || value == "+0",
        "-mtime" | "-ctime" | "-atime" => return Some(share_by_age(value, DAYS_OF_WORK)),
        "-mmin" | "-cmin" | "-amin" => return Some(share_by_age(value, DAYS_OF_WORK * 24 * 60)),
        test if is_newer_than_date(test) => return Some(share_by_date(value)),
        test => return FILTERS.contains(&test).then_some(Share::Some),
    };
    Some(if nearly_all { Share::All } else { Share::Some })
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

fn number(value: &str) -> Option<u32> {
    let digits: String = value.chars().skip_while(|letter| matches!(letter, '+' | '-')).collect();
    digits.trim_end_matches(|letter: char| letter.is_ascii_alphabetic()).parse().ok()
}

fn share_by_size(value: &str) -> Share {
    let Some(size) = number(value) else { return Share::Some };
    let unit = value.chars().last().unwrap_or('b');
    // `find` rounds up: `-1M` are empty files alone.
    let least_of_most = match unit {
        'c' => 64 << 10,
        'k' => 64,
        'M' | 'G' => 2,
        _ => 128,
    };
    let is_big = match unit {
        'M' => size >= 10,
        'G' => true,
        'k' => size >= 10 << 10,
        'c' => size >= 10 << 20,
        _ => false,
    };
    match value.chars().next() {
        Some('-') if size >= least_of_most => Share::All,
        Some('+') if size == 0 => Share::All,
        Some('+') if is_big => Share::None,
        _ => Share::Some,
    }
}

fn share_by_age(value: &str, of_work: u32) -> Share {
    // A repository is older than its files, so that an old file is nothing out of the ordinary.
    match (value.chars().next(), number(value)) {
        (Some('-'), Some(age)) if age >= of_work => Share::All,
        (Some('+'), Some(age)) if age >= of_work.saturating_mul(40) => Share::None,
        _ if value == "+-1" => Share::All,
        _ => Share::Some,
    }
}

/// The share of files that are newer than a date.
fn share_by_date(value: &str) -> Share {
    let value = value.trim();
    if let Some(seconds) = value.strip_prefix('@') {
        let is_old = seconds.parse::<i64>().is_ok_and(|seconds| seconds < 1_400_000_000);
        return if is_old { Share::All } else { Share::Some };
    }
    if matches!(value, "now" | "tomorrow" | "today + 1 day") {
        return Share::None;
    }
    if let Some(ago) = value.strip_suffix("ago").map(|ago| ago.trim_start_matches('-').trim()) {
        let (count, unit) = ago.split_once(' ').unwrap_or(("1", ago));
        let count = count.parse::<u32>().unwrap_or(1);
        let days = match unit.trim_end_matches('s') {
            "year" => count.saturating_mul(365),
            "month" => count.saturating_mul(30),
            "week" => count.saturating_mul(7),
            "day" => count,
            _ => 0,
        };
        return if days >= DAYS_OF_WORK { Share::All } else { Share::Some };
    }
    let year = value.split(|letter: char| !letter.is_ascii_digit()).find(|part| part.len() == 4);
    match year.and_then(|year| year.parse::<u32>().ok()) {
        Some(year) if year < OLD_YEAR => Share::All,
        Some(year) if year > FAR_YEAR => Share::None,
        _ => Share::Some,
    }
}

/// True if nearly every file has the modes that `-perm` asks for.
fn is_usual_mode(value: &str) -> bool {
    let (sign, mode) = match value.chars().next() {
        Some(sign @ ('-' | '/' | '+')) => (sign, value.get(1..).unwrap_or("")),
        _ => return false,
    };
    if let Ok(bits) = u32::from_str_radix(mode, 8) {
        return if sign == '-' { bits & !USUAL_MODE == 0 } else { bits & USUAL_MODE != 0 };
    }
    // `u=r`, `a+r`, `u+rw`: the owner reads and writes, all others read.
    mode.split(',').all(|part| {
        let (who, what) = part.split_once(['=', '+']).unwrap_or(("", part));
        let is_owner = !who.is_empty() && who.chars().all(|letter| letter == 'u');
        !what.is_empty() && what.chars().all(|letter| letter == 'r' || letter == 'w' && is_owner)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tests_that_nearly_all_files_pass_are_no_choice() {
        for (test, value) in [
            ("-newermt", "1990-01-01"),
            ("-newermt", "10 years ago"),
            ("-newerct", "@0"),
            ("-size", "+0"),
            ("-size", "-64k"),
            ("-perm", "/444"),
            ("-perm", "-u=rw"),
            ("-perm", "-0400"),
            ("-links", "-9"),
            ("-mtime", "-99999"),
            ("-mmin", "-9999999"),
            ("-user", "dev"),
        ] {
            assert_eq!(share_of(test, value), Some(Share::All), "{test} {value}");
        }
        for (test, value) in [
            ("-newermt", "2026-01-01"),
            ("-newermt", "1 hour ago"),
            ("-size", "+1k"),
            ("-perm", "-u=x"),
            ("-perm", "/111"),
            ("-perm", "600"),
            ("-mtime", "+7"),
            ("-mtime", "-1"),
            ("-inum", "7"),
        ] {
            assert_eq!(share_of(test, value), Some(Share::Some), "{test} {value}");
        }
        assert_eq!(share_of("-size", "+100M"), Some(Share::None));
        assert_eq!(share_of("-name", "x"), None);
    }
}
