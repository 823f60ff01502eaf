//! `patch` and `git apply`: files that a diff makes or changes.

use crate::marks::UNKNOWN;
use crate::walk::ScriptWalk;
use crate::walk::filters::joined;

/// The most files of one diff, and the most lines.
const MOST_FILES: usize = 32;
const MOST_LINES: usize = 4096;

/// The lines that one hunk takes away and those that it puts there.
struct Hunk {
    old: Vec<String>,
    new: Vec<String>,
    /// The line that it begins at, counted from one.
    start: usize,
}

/// The change of one file.
struct FileChange {
    old: String,
    new: String,
    hunks: Vec<Hunk>,
}

impl ScriptWalk<'_> {
    /// `patch < diff`, `patch file diff`, `patch -i diff`
    pub(super) fn run_patch(&mut self, arguments: &[String]) {
        let (mut strip, mut diff, mut directory) = (None, None, None);
        let mut operands = Vec::new();
        let mut words = arguments.iter();
        while let Some(word) = words.next() {
            let mut value = |prefix: &str| {
                let attached = word.strip_prefix(prefix).unwrap_or("").trim_start_matches('=');
                if attached.is_empty() { words.next().cloned() } else { Some(attached.to_owned()) }
            };
            match word.as_str() {
                "--dry-run" => return,
                option if option.starts_with("-p") => strip = value("-p").and_then(|count| count.parse().ok()),
                option if option.starts_with("--strip") => {
                    strip = value("--strip").and_then(|count| count.parse().ok());
                }
                option if option.starts_with("-i") => diff = value("-i"),
                option if option.starts_with("--input") => diff = value("--input"),
                option if option.starts_with("-d") => directory = value("-d"),
                option if option.starts_with("--directory") => directory = value("--directory"),
                option if option.starts_with('-') && option.len() > 1 => {}
                operand => operands.push(operand.to_owned()),
            }
        }
        let file = operands.first().cloned();
        let text = match diff.or_else(|| operands.get(1).cloned()) {
            Some(path) => self.read_file(&path).to_string(),
            None => self.world.shell.input.to_string(),
        };
        let before = self.directory();
        if let Some(directory) = directory {
            let path = self.absolute(&directory);
            self.world.shell.set_directory(path);
        }
        self.apply_diff(&text, strip, file.as_deref());
        self.world.shell.set_directory(before);
    }

    /// `git apply`; every other subcommand changes no files in this way.
    pub(super) fn git_apply(&mut self, arguments: &[String]) {
        let Some(at) = arguments.iter().position(|word| matches!(word.as_str(), "apply" | "am")) else { return };
        let rest = arguments.get(at + 1..).unwrap_or(&[]);
        let only_looks = ["--check", "--stat", "--numstat", "--summary", "--cached"];
        if rest.iter().any(|word| only_looks.contains(&word.as_str())) {
            return;
        }
        let strip = rest.iter().find_map(|word| word.strip_prefix("-p")).and_then(|count| count.parse().ok());
        let files: Vec<&String> = rest.iter().filter(|word| !word.starts_with('-') || *word == "-").collect();
        let text = self.input_of(files.into_iter());
        self.apply_diff(&text, Some(strip.unwrap_or(1)), None);
    }

    fn apply_diff(&mut self, text: &str, strip: Option<usize>, file: Option<&str>) {
        self.budget.spend(1 + text.len() / 256);
        for change in changes(text) {
            let name = |path: &str| match strip {
                Some(count) => path.split('/').skip(count).collect::<Vec<_>>().join("/"),
                // Without a number, only the name counts, unless the path is there.
                None if self.world.files.texts.contains_key(path) => path.to_owned(),
                None => path.rsplit('/').next().unwrap_or(path).to_owned(),
            };
            let path = match file {
                Some(file) => file.to_owned(),
                None if change.new == "/dev/null" => continue,
                None => name(&change.new),
            };
            let is_new = change.old == "/dev/null";
            let known = if is_new { Some(String::new()) } else { self.known_file(&path).map(|text| text.to_string()) };
            let changed = if let Some(text) = known {
                applied(&text, &change.hunks).unwrap_or_else(|| UNKNOWN.to_string())
            } else {
                // The lines that it adds are known, the others are not.
                joined(change.hunks.iter().flat_map(|hunk| hunk.new.iter().cloned()))
            };
            if !path.is_empty() {
                self.write_file(&path, &changed, false);
            }
        }
    }
}

/// The changes of a diff in the unified format.
fn changes(text: &str) -> Vec<FileChange> {
    let mut changes: Vec<FileChange> = Vec::new();
    let mut old = String::new();
    let mut left = (0_usize, 0_usize);
    let path_of = |line: &str| line.split('\t').next().unwrap_or(line).trim().trim_matches('"').to_owned();
    for line in text.lines().take(MOST_LINES) {
        let hunk = changes.last_mut().and_then(|change| change.hunks.last_mut());
        if let Some(hunk) = hunk.filter(|_| left.0 > 0 || left.1 > 0) {
            let content = line.get(1..).unwrap_or("").to_owned();
            match line.chars().next() {
                Some('+') => {
                    hunk.new.push(content);
                    left.1 = left.1.saturating_sub(1);
                }
                Some('-') => {
                    hunk.old.push(content);
                    left.0 = left.0.saturating_sub(1);
                }
                Some('\\') => {}
                _ => {
                    hunk.old.push(content.clone());
                    hunk.new.push(content);
                    left = (left.0.saturating_sub(1), left.1.saturating_sub(1));
                }
            }
        } else if let Some(path) = line.strip_prefix("--- ") {
            old = path_of(path);
        } else if let Some(path) = line.strip_prefix("+++ ") {
            if changes.len() < MOST_FILES {
                changes.push(FileChange { old: old.clone(), new: path_of(path), hunks: Vec::new() });
            }
        } else if let Some(ranges) = line.strip_prefix("@@ -") {
            let numbers = |range: &str| {
                let (start, count) = range.split_once(',').unwrap_or((range, "1"));
                (start.parse::<usize>().unwrap_or(1), count.parse::<usize>().unwrap_or(0))
            };
            let mut parts = ranges.split_whitespace();
            let (start, taken) = numbers(parts.next().unwrap_or(""));
            let (_, put) = numbers(parts.next().unwrap_or("").trim_start_matches('+'));
            left = (taken.min(MOST_LINES), put.min(MOST_LINES));
            if let Some(change) = changes.last_mut() {
                change.hunks.push(Hunk { old: Vec::new(), new: Vec::new(), start });
            }
        }
    }
    changes
}

/// A text with hunks applied; none if one of them does not fit.
fn applied(text: &str, hunks: &[Hunk]) -> Option<String> {
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    let mut moved = 0_i64;
    for hunk in hunks {
        let wanted = i64::try_from(hunk.start.saturating_sub(1)).ok()? + moved;
        let wanted = usize::try_from(wanted).unwrap_or(0);
        let fits = |at: &usize| lines.get(*at..at + hunk.old.len()).is_some_and(|part| part == hunk.old.as_slice());
        let at = if hunk.old.is_empty() {
            wanted.min(lines.len())
        } else {
            Some(wanted).filter(fits).or_else(|| (0..lines.len()).find(fits))?
        };
        lines.splice(at..at + hunk.old.len(), hunk.new.iter().cloned());
        moved += i64::try_from(hunk.new.len()).ok()? - i64::try_from(hunk.old.len()).ok()?;
    }
    Some(joined(lines.into_iter()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hunks_change_the_lines_that_they_name() {
        let diff = "--- a/x\n+++ b/x\n@@ -1,3 +1,4 @@\n one\n-two\n+zwei\n+drei\n three\n";
        let found = changes(diff);
        assert_eq!(found.len(), 1);
        let change = &found.first().map(|change| applied("one\ntwo\nthree\n", &change.hunks));
        assert_eq!(change, &Some(Some("one\nzwei\ndrei\nthree\n".to_owned())));
        let change = &found.first().map(|change| applied("other\n", &change.hunks));
        assert_eq!(change, &Some(None));
    }
}
