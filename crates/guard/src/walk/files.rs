//! Files that the script writes, and paths.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::rc::Rc;

use crate::marks::{self, HOME, REPO, START, UNKNOWN};
use crate::rules;
use crate::walk::ScriptWalk;
use crate::walk::state::DIRECTORY;
use bashful_bash::ast::List;

/// The longest path, in bytes. Linux has no longer ones, and a script that goes down for ever would make one.
const LONGEST_PATH: usize = 4096;

/// The stand-in for a directory that `mktemp` makes.
pub(crate) const FRESH_DIRECTORY: &str = "/tmp/tmp.XXXXXXXXXX";

/// The most moves that are remembered. Later ones are forgotten.
const MOST_MOVED: usize = 64;

/// Files that the script has written, by absolute path.
#[derive(Debug, Default)]
pub(crate) struct ScriptFiles {
    pub(super) texts: HashMap<String, String>,
    /// Commands that read the text that is written to a path: `>(…)`.
    pub(super) readers: HashMap<String, Rc<List>>,
    /// The descriptors on which coprocesses answer, each by the path that it reads.
    pub(super) answers: HashMap<String, u32>,
    /// Directories that the script has made.
    made: BTreeSet<String>,
    /// Pipes with a name that the script has made, and those that a command has read from since.
    pub(super) pipes: BTreeSet<String>,
    pub(super) pipes_read: BTreeSet<String>,
    /// Programs that the script has copied or linked, each by its original name.
    pub(super) programs: HashMap<String, String>,
    /// Symbolic links that the script has made, each with its target.
    links: BTreeMap<String, String>,
    /// Paths that the script has moved elsewhere, each with the path that it had before.
    moved: BTreeMap<String, String>,
    /// Repositories that the script has made. They hold nothing but its own files.
    pub(super) repositories: Vec<String>,
    /// The number of paths that process substitutions have used up.
    processes: usize,
}

impl ScriptFiles {
    /// A path for a process substitution, far above the descriptors that scripts use by number.
    pub(super) fn new_process_path(&mut self) -> String {
        self.processes += 1;
        format!("/dev/fd/{}", 1000 + self.processes)
    }

    /// A path through the links that the script has made. The last part is followed only if `enters` says so: what `rm -r link`
    /// deletes is the link.
    pub(super) fn through_links(&self, path: &str, enters: bool) -> String {
        let mut path = path.to_owned();
        // Links that lead to each other lead nowhere.
        for _ in 0..4 {
            let next = self.links.iter().find_map(|(link, target)| {
                let rest = path.strip_prefix(link.as_str())?;
                (rest.starts_with('/') || enters && rest.is_empty()).then(|| normalized(&format!("{target}{rest}")))
            });
            match next {
                Some(next) => path = next,
                None => break,
            }
        }
        path
    }

    /// The paths that were at this path, or below it, before the script moved them there.
    pub(crate) fn moved_to(&self, path: &str) -> Vec<String> {
        let is_there = |to: &str| to.strip_prefix(path).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'));
        self.moved.iter().filter(|(to, _)| is_there(to)).map(|(_, from)| from.clone()).collect()
    }

    /// Notes that the script has made a directory.
    pub(super) fn note_made(&mut self, path: String) {
        if self.made.len() < MOST_MOVED {
            self.made.insert(path);
        }
    }

    /// Notes that a directory is gone again.
    pub(super) fn forget_made(&mut self, path: &str) {
        self.made.remove(path);
    }

    /// True if the script has written no file.
    pub(crate) fn is_empty(&self) -> bool {
        self.texts.is_empty()
    }

    /// True if the script has made a directory and put nothing there.
    pub(crate) fn is_made_empty(&self, path: &str) -> bool {
        let is_made = path.starts_with(FRESH_DIRECTORY) || self.made.contains(path);
        let is_inside = |file: &String| file.strip_prefix(path).is_some_and(|rest| rest.starts_with('/'));
        is_made && !self.texts.keys().any(is_inside)
    }

    /// True if a directory is sure to be there: everybody has it, or the script has made it.
    pub(super) fn is_sure(&self, path: &str) -> bool {
        matches!(path, "/" | "/tmp" | "/var/tmp")
            || path.chars().eq([HOME])
            || path.starts_with(FRESH_DIRECTORY)
            || path.ends_with("/..")
            || self.made.contains(path)
    }

    /// True if the path lies in a repository that the script has made.
    pub(crate) fn is_in_own_repository(&self, path: &str) -> bool {
        let is_below =
            |top: &String| path.strip_prefix(top.as_str()).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'));
        // A directory that `mktemp` has made held nothing before.
        let is_fresh = path.starts_with(FRESH_DIRECTORY);
        !path.contains("/..") && (is_fresh || self.repositories.iter().any(is_below))
    }

    /// The program that was put into some directory under this name: the search path may lead there.
    pub(super) fn program_named(&self, name: &str) -> Option<String> {
        // A link to something unknown does not take the name away from the program that has it.
        let found = self.programs.iter().filter(|(path, program)| base_name(path) == name && !marks::is_vague(program));
        found.map(|(_, program)| program.clone()).min()
    }
}

impl ScriptWalk<'_> {
    /// A path through the links that the script has made; the last part is followed only if `enters` says so.
    pub(crate) fn through_links(&self, path: &str, enters: bool) -> String {
        self.world.files.through_links(path, enters)
    }

    /// A path from the root or from one of the marked directories, without `.`, `..` and doubled slashes.
    ///
    /// The directory above a link is the one above its target, as the system sees it.
    pub(crate) fn absolute(&mut self, path: &str) -> String {
        if self.world.files.links.is_empty() || !path.contains("/..") {
            return self.absolute_by_name(path);
        }
        let mut at = self.absolute_by_name(".");
        let mut parts = path.split('/');
        if path.starts_with(['/', HOME, START, REPO, UNKNOWN]) {
            parts.next().filter(|first| !first.is_empty()).unwrap_or("/").clone_into(&mut at);
        }
        for part in parts {
            if part == ".." {
                at = self.world.files.through_links(&at, true);
            }
            at = normalized(&format!("{at}/{part}"));
        }
        at
    }

    /// The same by names alone, as `cd` sees it.
    pub(crate) fn absolute_by_name(&mut self, path: &str) -> String {
        let is_absolute = path.starts_with(['/', HOME, START, REPO, UNKNOWN]);
        if is_absolute {
            return normalized(path);
        }
        let directory = self.directory();
        self.budget.spend(directory.len() / 64);
        if directory.len() + path.len() > LONGEST_PATH {
            return UNKNOWN.to_string();
        }
        normalized(&format!("{directory}/{path}"))
    }

    /// The path behind the links that the script has made.
    pub(super) fn real_path(&mut self, path: &str) -> String {
        let path = self.absolute(path);
        self.through_links(&path, true)
    }

    /// A pattern, and the files of the script that it matches. In a directory that the script has made there are no others.
    pub(crate) fn matching_files(&mut self, field: String) -> Vec<String> {
        if !field.contains(marks::is_wild) {
            return vec![field];
        }
        let pattern = self.absolute(&field);
        self.budget.spend(1 + self.world.files.texts.len() / 8);
        let depth = |path: &str| path.matches('/').count();
        let is_match = |path: &&String| depth(path) == depth(&pattern) && crate::pattern::matches(&pattern, path);
        let mut found: Vec<String> = self.world.files.texts.keys().filter(is_match).cloned().collect();
        found.sort();
        found.truncate(MOST_MOVED);
        let directory = pattern.rsplit_once('/').map_or("", |(directory, _)| directory);
        let is_own = directory.starts_with(FRESH_DIRECTORY) || self.world.files.made.contains(directory);
        let last = pattern.rsplit('/').next().unwrap_or("");
        if found.is_empty() || !is_own && crate::pattern::is_wide(last) {
            found.push(field);
        }
        found
    }

    /// The working directory.
    pub(crate) fn directory(&mut self) -> String {
        self.scalar(DIRECTORY).unwrap_or_else(|| START.to_string())
    }

    /// The text of a file; unknown if the script has not written it.
    pub(crate) fn read_file(&mut self, path: &str) -> Rc<str> {
        self.budget.spend(1);
        self.known_file(path).unwrap_or_else(|| UNKNOWN.to_string().into())
    }

    /// The text of a file, if the script has written it.
    pub(crate) fn known_file(&mut self, path: &str) -> Option<Rc<str>> {
        match path {
            "/dev/null" => return Some("".into()),
            "/dev/stdin" | "/dev/fd/0" | "/proc/self/fd/0" => return Some(Rc::clone(&self.world.shell.input)),
            _ => {}
        }
        if let Some(number) = path.strip_prefix("/dev/fd/").and_then(|number| number.parse::<u32>().ok())
            && let Some(text) = self.world.shell.descriptors.get(&number)
        {
            return Some(Rc::clone(text));
        }
        // A shell that is started with a script has the script among its words.
        if path.starts_with("/proc/") && path.ends_with("/cmdline") {
            return Some(format!("bash\0-c\0{}\0", self.trail.script()).into());
        }
        let path = self.absolute(path);
        if self.world.files.pipes.contains(&path) {
            self.world.files.pipes_read.insert(path.clone());
        }
        // Other programs may have changed the file.
        let text = self.world.files.texts.get(&path)?.as_str().into();
        self.world.certainty.lose();
        Some(text)
    }

    /// Writes text to a file. If a command reads from that path, the text is its input.
    pub(crate) fn write_file(&mut self, path: &str, text: &str, keeps: bool) {
        match path {
            "/dev/null" => return,
            "/dev/stdout" | "/dev/fd/1" | "/dev/tty" => {
                self.write(text);
                return;
            }
            _ => {}
        }
        let path = self.absolute(path);
        rules::written(self, &path);
        if let Some(list) = self.world.files.readers.get(&path).cloned() {
            // Commands that open a pipe by its name find the text there.
            if self.world.files.pipes.contains(&path) {
                self.world.files.texts.insert(path.clone(), text.to_owned());
            }
            let answer = self.capturing(|walk| walk.read_by(&list, text.to_owned()));
            match self.world.files.answers.get(&path) {
                // A coprocess answers on a descriptor of the shell.
                Some(number) => {
                    let number = *number;
                    let before = self.world.shell.descriptors.get(&number).cloned().unwrap_or_default();
                    Rc::make_mut(&mut self.world.shell.descriptors).insert(number, format!("{before}{answer}").into());
                }
                None => self.write(&answer),
            }
            return;
        }
        self.world.files.programs.remove(&path);
        let file = self.world.files.texts.entry(path).or_default();
        if !keeps {
            file.clear();
        }
        if file.len() + text.len() <= super::LONGEST_TEXT {
            file.push_str(text);
        } else {
            file.push(UNKNOWN);
        }
    }

    /// `cp`, `ln`, `mv`: the last operand becomes a copy, a link or the new place of the others.
    pub(super) fn copy_files(&mut self, name: &str, arguments: &[String]) {
        let operands = copied_operands(arguments);
        let has = |letters: &[char], long: &[&str]| {
            let is_short = |word: &String| word.starts_with('-') && !word.starts_with("--") && word.contains(letters);
            arguments.iter().any(|word| is_short(word) || long.contains(&word.as_str()))
        };
        if name == "ln"
            && has(&['s'], &["--symbolic"])
            && let [target, link] = operands.as_slice()
        {
            self.link_file(target, link);
        }
        if let [from @ .., to] = operands.as_slice() {
            // Several files go into a directory.
            let is_inside = from.len() > 1 && !to.ends_with('/');
            let to = if is_inside { format!("{to}/") } else { to.clone() };
            for from in from.iter().filter(|_| name == "mv") {
                self.move_file(from, &to);
            }
            for from in from.iter().filter(|_| name == "cp" && has(&['r', 'R', 'a'], &["--recursive", "--archive"])) {
                self.note_copy(from, &to);
            }
        }
        match operands.as_slice() {
            [from] => self.copy_file(from, base_name(from)),
            [from, to] => {
                self.copy_file(from, to);
                // The target may be a directory.
                let inside = format!("{to}/{}", base_name(from));
                self.copy_file(from, &inside);
            }
            _ => {}
        }
    }

    /// Notes a copy of the repository. Its data is there twice, so that one of them can go.
    pub(crate) fn note_copy(&mut self, from: &str, to: &str) {
        let (source, target) = (self.absolute(from), self.absolute(to));
        let is_repository = source.chars().all(|letter| matches!(letter, START | REPO)) || base_name(&source) == ".git";
        let target_path = self.world.concrete(&target);
        let is_above = |mark: char| {
            let place = self.world.concrete(&mark.to_string());
            place
                .strip_prefix(target_path.trim_end_matches('/'))
                .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        };
        if is_repository && !is_above(START) && !is_above(HOME) && !marks::is_vague(&target) {
            self.world.files.repositories.push(target);
        }
    }

    /// Notes a symbolic link.
    pub(crate) fn link_file(&mut self, target: &str, link: &str) {
        let is_inside = link.ends_with('/') || matches!(link, "." | "..");
        let link = if is_inside { format!("{link}/{}", base_name(target)) } else { link.to_owned() };
        let link = self.absolute(&link);
        let target = if target.starts_with(['/', HOME, START, REPO, UNKNOWN]) {
            normalized(target)
        } else {
            normalized(&format!("{link}/../{target}"))
        };
        if target != link {
            self.world.files.links.insert(link, target);
        }
    }

    /// Notes that a path is moved. Deleting it there deletes the original.
    pub(super) fn move_file(&mut self, from: &str, to: &str) {
        let into = if to.ends_with('/') { format!("{to}{}", base_name(from)) } else { to.to_owned() };
        let (from, to) = (self.absolute(from), self.absolute(&into));
        let files = &mut self.world.files;
        let original = files.moved.remove(&from).unwrap_or(from);
        if original != to && files.moved.len() < MOST_MOVED {
            files.moved.insert(to, original);
        }
    }

    /// Notes that a path is a copy of a program or of a file.
    pub(crate) fn copy_file(&mut self, from: &str, to: &str) {
        let to = match to.strip_suffix('/') {
            Some(directory) => format!("{directory}/{}", base_name(from)),
            None => to.to_owned(),
        };
        let target = self.absolute(&to);
        if let Some(text) = self.known_file(from) {
            self.world.files.texts.insert(target, text.as_ref().to_owned());
            return;
        }
        let source = self.absolute(from);
        let program = match self.world.files.programs.get(&source) {
            Some(program) => program.clone(),
            None => base_name(from).to_owned(),
        };
        if program != base_name(&target) || source != target {
            self.world.files.programs.insert(target, program);
        }
    }

    /// The text of a program by its name, if the script has written it and put its directory on the search path.
    pub(crate) fn script_on_path(&mut self, name: &str) -> Option<String> {
        self.budget.spend(self.world.files.texts.len() / 16);
        if !self.world.files.texts.keys().any(|path| path.rsplit('/').next() == Some(name)) {
            return None;
        }
        let is_set = self.world.shell.variable("PATH").is_some();
        let own = if is_set { self.scalar("PATH").unwrap_or_default() } else { String::new() };
        let path = format!("{own}:/usr/local/bin:/usr/bin:/bin:{HOME}/bin:{HOME}/.local/bin");
        for entry in path.split(':').filter(|entry| !entry.is_empty()).take(16) {
            let file = self.absolute(&format!("{entry}/{name}"));
            if let Some(text) = self.world.files.texts.get(&file) {
                return Some(text.clone());
            }
        }
        None
    }

    /// The program behind a path, if the script has put one there.
    pub(crate) fn program_at(&mut self, path: &str) -> Option<String> {
        if self.world.files.programs.is_empty() {
            return None;
        }
        let path = self.absolute(path);
        self.world.files.programs.get(&path).cloned()
    }
}

/// The files that `cp`, `ln`, `mv` and `install` are given, and their target at the end.
fn copied_operands(arguments: &[String]) -> Vec<String> {
    let mut operands = Vec::new();
    let mut target = None;
    let mut are_options = true;
    let mut words = arguments.iter();
    while let Some(word) = words.next() {
        match word.as_str() {
            "--" if are_options => are_options = false,
            "-t" | "--target-directory" if are_options => target = words.next().cloned(),
            "-m" | "-o" | "-g" | "-S" if are_options => drop(words.next()),
            long if are_options && long.starts_with("--target-directory=") => {
                target = long.split_once('=').map(|(_, path)| path.to_owned());
            }
            option if are_options && option.starts_with('-') => {}
            path => operands.push(path.to_owned()),
        }
    }
    operands.extend(target.map(|path| format!("{path}/")));
    operands
}

/// The last part of a path.
pub(crate) fn base_name(path: &str) -> &str {
    let path = path.trim_end_matches('/');
    path.rsplit('/').next().unwrap_or(path)
}

/// A path without `.`, `..` and doubled slashes, where the text alone says so.
pub(crate) fn normalized(path: &str) -> String {
    let mut root = String::new();
    let mut rest = path;
    let first = path.chars().next();
    if let Some(mark) = first.filter(|letter| matches!(*letter, HOME | START | REPO | UNKNOWN)) {
        let after = path.get(mark.len_utf8()..).unwrap_or("");
        // Only a whole component is a directory: `~x` is something else.
        if after.is_empty() || after.starts_with('/') {
            root.push(mark);
            rest = after;
        }
    }
    let is_rooted = rest.starts_with('/') || !root.is_empty();
    let mut parts: Vec<&str> = Vec::new();
    for part in rest.split('/') {
        match part {
            "" | "." => {}
            ".." => match parts.last() {
                Some(&"..") => parts.push(".."),
                Some(_) => {
                    parts.pop();
                }
                // Above the root is the root; above a marked directory is not known.
                None if root.is_empty() && is_rooted => {}
                None => parts.push(".."),
            },
            other => parts.push(other),
        }
    }
    let tail = parts.join("/");
    match (root.is_empty(), is_rooted, tail.is_empty()) {
        (true, true, _) => format!("/{tail}"),
        (true, false, true) => ".".to_owned(),
        (true, false, false) => tail,
        (false, _, true) => root,
        (false, _, false) => format!("{root}/{tail}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_what_they_mean() {
        assert_eq!(normalized("/tmp/../etc//x/."), "/etc/x");
        assert_eq!(normalized("/.."), "/");
        assert_eq!(normalized("a/../../b"), "../b");
        assert_eq!(normalized(&format!("{START}/src/..")), START.to_string());
        assert_eq!(normalized(&format!("{HOME}/../x")), format!("{HOME}/../x"));
    }
}
