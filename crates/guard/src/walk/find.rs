//! `find` and `fd`: the files that they match, and their actions.

use crate::marks::{NAME, SET, SOME, STAR, TREE, alive};
use crate::pattern;
use crate::rules;
use crate::walk::ScriptWalk;

/// The files that the tests before an action leave.
#[derive(Debug, Clone, Default)]
#[expect(clippy::struct_excessive_bools, reason = "each is a test of `find`, and they do not depend on each other")]
struct FindScope {
    /// Names or paths that have to match: live patterns.
    names: Vec<String>,
    /// Something else narrows it down: age, size, a name that must not match.
    filtered: bool,
    /// Only the starting points themselves.
    roots_only: bool,
    /// Nothing below the entries of the starting points.
    is_flat: bool,
    /// `-type d`: `-delete` deletes directories alone, and only empty ones.
    only_directories: bool,
    negated: bool,
}

/// Tests that take a word and narrow the matches down.
const FILTERS: [&str; 27] = [
    "-amin",
    "-anewer",
    "-atime",
    "-cmin",
    "-cnewer",
    "-ctime",
    "-fstype",
    "-gid",
    "-group",
    "-ilname",
    "-inum",
    "-links",
    "-lname",
    "-mmin",
    "-mtime",
    "-newer",
    "-perm",
    "-regex",
    "-iregex",
    "-samefile",
    "-size",
    "-uid",
    "-used",
    "-user",
    "-context",
    "-newermt",
    "-newerct",
];

/// Options that take a word and narrow down nothing.
const VALUED: [&str; 9] =
    ["-type", "-xtype", "-mindepth", "-regextype", "-fprint", "-fprint0", "-fls", "-files0-from", "-D"];

/// Files that were changed within so many days are most of a project.
const DAYS_OF_WORK: u32 = 90;

/// The expression of `find` while its words are read.
#[derive(Debug)]
struct FindExpression<'w> {
    roots: Vec<String>,
    /// The words that have not been read yet.
    rest: &'w [String],
    /// The files that the current action applies to: one scope for every side of an `-o` in parentheses.
    scopes: Vec<FindScope>,
    /// The scopes in which parentheses were opened.
    outer: Vec<FindScope>,
    /// An action was there, so that nothing is printed by itself.
    acted: bool,
}

impl<'w> FindExpression<'w> {
    fn new(arguments: &'w [String]) -> Self {
        let mut rest = arguments;
        while let Some((word, after)) = rest.split_first() {
            match word.as_str() {
                "-H" | "-L" | "-P" => rest = after,
                "-D" => rest = after.get(1..).unwrap_or(&[]),
                word if word.starts_with("-O") => rest = after,
                _ => break,
            }
        }
        let count = rest
            .iter()
            .position(|word| word.starts_with('-') || matches!(word.as_str(), "(" | ")" | "!" | ","))
            .unwrap_or(rest.len());
        let (roots, rest) = rest.split_at(count);
        let roots = if roots.is_empty() { vec![".".to_owned()] } else { roots.to_vec() };
        Self { roots, rest, scopes: vec![FindScope::default()], outer: Vec::new(), acted: false }
    }

    /// Takes the next word.
    fn next(&mut self) -> Option<&'w str> {
        let (word, rest) = self.rest.split_first()?;
        self.rest = rest;
        Some(word)
    }

    /// Notes an operator, an option or a test; false if the word is none of these.
    fn note_test(&mut self, word: &str) -> bool {
        let value = self.rest.first().map_or("", String::as_str);
        let Some(scope) = self.scopes.last_mut() else { return false };
        let takes_value = match word {
            "(" => {
                self.outer.push(scope.clone());
                false
            }
            ")" => {
                self.outer.pop();
                false
            }
            "!" | "-not" => {
                scope.negated = true;
                false
            }
            // Tests before an `-o` belong to another action. Parentheses keep the tests around them.
            "-o" | "-or" | "," => {
                match self.outer.last() {
                    Some(outer) => self.scopes.push(outer.clone()),
                    None => self.scopes = vec![FindScope::default()],
                }
                false
            }
            "-name" | "-iname" | "-path" | "-ipath" | "-wholename" | "-iwholename" => {
                scope.note_name(word, value);
                true
            }
            "-maxdepth" => {
                scope.roots_only |= value == "0";
                scope.is_flat |= value == "1";
                true
            }
            "-empty" | "-nouser" | "-nogroup" | "-executable" | "-false" => {
                scope.narrow();
                false
            }
            // Whoever runs the script can read and write nearly everything, if not everything.
            "-readable" | "-writable" | "-true" | "-xdev" | "-mount" | "-depth" | "-d" => {
                scope.narrow_if_negated();
                false
            }
            test if lets_nearly_all_pass(test, value) => {
                scope.narrow_if_negated();
                true
            }
            "-regex" | "-iregex" if value == ".*" && !scope.negated => true,
            "-regex" | "-iregex" if value.replace('\\', "").ends_with("/.git") => {
                scope.note_name("-name", ".git");
                true
            }
            test if FILTERS.contains(&test) => {
                scope.narrow();
                true
            }
            option if VALUED.contains(&option) => {
                scope.negated = false;
                scope.only_directories |= option == "-type" && value == "d";
                // Links and sockets are hardly ever all there is.
                scope.filtered |= matches!(option, "-type" | "-xtype") && !value.contains(['f', 'd']);
                true
            }
            _ => return false,
        };
        if takes_value {
            self.rest = self.rest.get(1..).unwrap_or(&[]);
        }
        true
    }

    fn paths(&self) -> Vec<String> {
        found(&self.roots, &self.scopes)
    }
}

impl FindScope {
    /// Notes a test that only some files pass.
    fn narrow(&mut self) {
        self.negated = false;
        self.filtered = true;
    }

    /// Notes a test that nearly all files pass.
    fn narrow_if_negated(&mut self) {
        self.filtered |= std::mem::take(&mut self.negated);
    }

    /// Notes a test of names or paths.
    fn note_name(&mut self, test: &str, pattern: &str) {
        // Leaving out a few names leaves everything else, as `rm -rf !(keep)` does. A kind of name that is left out is a
        // choice: all but `*.txt`.
        if std::mem::take(&mut self.negated) {
            let is_kind = pattern.contains(['*', '?', '[']) || pattern.contains(crate::marks::is_wild);
            self.filtered |= test.ends_with("name") && is_kind && !pattern.starts_with('.');
            return;
        }
        // A test that ignores case may mean any of them; names that matter are small.
        let ignores = test.starts_with("-i");
        self.names.push(alive(&if ignores { pattern.to_lowercase() } else { pattern.to_owned() }));
    }
}

impl ScriptWalk<'_> {
    pub(crate) fn run_find(&mut self, arguments: &[String]) {
        let mut expression = FindExpression::new(arguments);
        let follows =
            arguments.iter().take_while(|word| word.starts_with('-')).any(|word| matches!(word.as_str(), "-L" | "-H"));
        for root in &mut expression.roots {
            let path = self.absolute(root);
            let through = self.through_links(&path, follows || root.ends_with('/'));
            if through != path {
                *root = through;
            }
        }
        while let Some(word) = expression.next() {
            if !expression.note_test(word) {
                self.find_action(word, &mut expression);
            }
        }
        if !expression.acted {
            for path in expression.paths() {
                self.write(&format!("{path}\n"));
            }
        }
    }

    /// Applies an action of `find` to the paths so far. Other words do nothing.
    fn find_action(&mut self, action: &str, expression: &mut FindExpression<'_>) {
        match action {
            "-delete" if expression.scopes.iter().all(|scope| scope.only_directories) => {}
            "-delete" => {
                for path in expression.paths() {
                    rules::deleted_one_by_one(self, &path);
                }
            }
            "-exec" | "-execdir" | "-ok" | "-okdir" => {
                // A question that nobody answers is answered with no.
                let is_answered = self.world.shell.reads_pipe || !self.world.shell.input.is_empty();
                let acts = action.starts_with("-exec") || is_answered;
                let rest = expression.rest;
                let end = rest.iter().position(|word| word == ";" || word == "+").unwrap_or(rest.len());
                let command = rest.get(..end).unwrap_or(&[]);
                expression.rest = rest.get(end + 1..).unwrap_or(&[]);
                for path in expression.paths().into_iter().filter(|_| acts) {
                    self.call(command.iter().map(|word| word.replace("{}", &path)).collect());
                }
            }
            "-printf" => {
                let format = expression.next().unwrap_or("");
                for path in expression.paths() {
                    self.write(
                        &format
                            .replace("\\n", "\n")
                            .replace("\\0", "\0")
                            .replace("%p", &path)
                            .replace("%f", path.rsplit('/').next().unwrap_or("")),
                    );
                }
            }
            "-print" | "-print0" | "-ls" | "-quit" => {
                let separator = if action == "-print0" { '\0' } else { '\n' };
                for path in expression.paths() {
                    self.write(&format!("{path}{separator}"));
                }
            }
            _ => return,
        }
        expression.acted = true;
    }

    /// `fd pattern -x command`
    pub(crate) fn run_fd(&mut self, arguments: &[String]) {
        let at = arguments.iter().position(|word| matches!(word.as_str(), "-x" | "-X" | "--exec" | "--exec-batch"));
        let (tests, command) = arguments.split_at(at.unwrap_or(arguments.len()));
        let narrow = tests.iter().any(|word| {
            matches!(word.as_str(), "-e" | "--extension" | "-S" | "--size" | "--changed-within" | "--changed-before")
                || !word.starts_with('-')
                    && word.chars().any(char::is_alphanumeric)
                    && !matches!(word.as_str(), "f" | "d")
        });
        let path = if narrow { format!("{NAME}") } else { format!("{TREE}") };
        if at.is_none() {
            return self.write(&format!("{path}\n"));
        }
        let command = command.get(1..).unwrap_or(&[]);
        let mut words: Vec<String> = command.iter().map(|word| word.replace("{}", &path)).collect();
        if !command.iter().any(|word| word.contains("{}")) {
            words.push(path);
        }
        self.call(words);
    }
}

/// The paths that would be found, as text with marks.
fn found(roots: &[String], scopes: &[FindScope]) -> Vec<String> {
    let mut paths = Vec::new();
    for root in roots {
        let root = root.trim_end_matches('/');
        for scope in scopes {
            if scope.roots_only && scope.names.is_empty() {
                paths.push(if root.is_empty() { "/".to_owned() } else { root.to_owned() });
                continue;
            }
            let narrow: Vec<&String> = scope.names.iter().filter(|name| !is_everything(name)).collect();
            if narrow.is_empty() {
                let tail = if scope.filtered { format!("{TREE}/{SOME}") } else { TREE.to_string() };
                paths.push(format!("{root}/{tail}"));
                continue;
            }
            // Of several names that all have to match, one that cannot be anything important is enough.
            let harmless = narrow.iter().find(|name| !may_be_repository(name));
            let name = harmless.or(narrow.first()).map_or("", |name| name.as_str());
            let tail = name.trim_start_matches(STAR).trim_start_matches('/');
            if name.starts_with("./") || name.starts_with('/') || name.contains('/') && !name.starts_with(STAR) {
                paths.push(name.to_owned());
            } else if name.contains('/') {
                paths.push(format!("{root}/{TREE}/{tail}"));
            } else if scope.is_flat {
                paths.push(format!("{root}/{name}"));
            } else {
                // The stars of `find` match a leading dot, too.
                let name = if name.starts_with(STAR) && pattern::matches(name, ".git") { ".git" } else { name };
                paths.push(format!("{root}/{TREE}/{name}"));
            }
        }
    }
    paths
}

/// True if a name test lets everything pass.
fn is_everything(name: &str) -> bool {
    let last = name.trim_start_matches("./");
    // `[!x]*` leaves out a few names; `[a-z]` alone is a name of one letter.
    let is_set = |part: &str| part.contains(SET) && !part.ends_with(STAR);
    !last.starts_with('.') && last.split('/').all(|part| part.is_empty() || pattern::is_wide(part) && !is_set(part))
}

/// True if a test narrows nothing down in a directory that somebody works in: the owner and the modes of most files there are
/// the same, and most files are small, or not old.
fn lets_nearly_all_pass(test: &str, value: &str) -> bool {
    let less_than = |unit: char, least: u32| {
        let number = value.strip_prefix('-').and_then(|value| value.strip_suffix(unit));
        number.and_then(|number| number.parse::<u32>().ok()).is_some_and(|number| number >= least)
    };
    match test {
        "-user" | "-uid" | "-group" | "-gid" | "-fstype" => true,
        // `-u=r` and `-400`: the owner may read.
        "-perm" => value.starts_with("-u=r") || value.starts_with("-u+r") || value.starts_with("-4"),
        // `find` rounds up: `-1M` are empty files alone.
        "-size" => less_than('k', 64) || less_than('M', 2) || less_than('G', 2),
        "-mtime" | "-ctime" | "-atime" => {
            value.strip_prefix('-').and_then(|days| days.parse::<u32>().ok()).is_some_and(|days| days >= DAYS_OF_WORK)
        }
        _ => false,
    }
}

fn may_be_repository(name: &str) -> bool {
    name.split('/').any(|part| pattern::may_be(part, ".git"))
}
