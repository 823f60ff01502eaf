//! `find` and `fd`: what they match, and what they do with it.

use crate::marks::{NAME, SET, SOME, STAR, TREE, alive};
use crate::pattern;
use crate::rules;
use crate::walk::Walk;

/// What the tests before an action leave of all files.
#[derive(Debug, Clone, Default)]
struct FindScope {
    /// Names or paths that have to match: live patterns.
    names: Vec<String>,
    /// Something else narrows it down: age, size, a name that must not match.
    filtered: bool,
    /// Only the starting points themselves.
    roots_only: bool,
    negated: bool,
}

/// Tests that take a word and narrow down what is matched.
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

impl Walk<'_> {
    #[expect(clippy::too_many_lines, reason = "one arm for each kind of test")]
    pub(crate) fn find(&mut self, arguments: &[String]) {
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
        let (roots, mut expression) = rest.split_at(count);
        let roots: Vec<String> = if roots.is_empty() { vec![".".to_owned()] } else { roots.to_vec() };
        // What stands before an `-o` belongs to another action; parentheses keep what is around them.
        let mut scopes = vec![FindScope::default()];
        let mut outer: Vec<FindScope> = Vec::new();
        let mut acted = false;
        while let Some((word, after)) = expression.split_first() {
            expression = after;
            let value = after.first().map_or("", String::as_str);
            let current = scopes.last_mut();
            match (word.as_str(), current) {
                ("(", _) => {
                    let start = scopes.last().cloned().unwrap_or_default();
                    outer.push(start);
                }
                (")", _) => {
                    outer.pop();
                }
                ("!" | "-not", Some(scope)) => scope.negated = true,
                ("-o" | "-or" | ",", _) => {
                    if outer.is_empty() {
                        scopes = vec![FindScope::default()];
                    } else {
                        scopes.push(outer.last().cloned().unwrap_or_default());
                    }
                }
                ("-name" | "-iname" | "-path" | "-ipath" | "-wholename" | "-iwholename", Some(scope)) => {
                    expression = after.get(1..).unwrap_or(&[]);
                    if std::mem::take(&mut scope.negated) {
                        // Leaving out the starting point leaves everything else.
                        scope.filtered |= !matches!(value, "." | ".." | "");
                    } else {
                        // A test that ignores case may mean any of them; names that matter are small.
                        let ignores = word.starts_with("-i");
                        scope.names.push(alive(&if ignores { value.to_lowercase() } else { value.to_owned() }));
                    }
                }
                ("-maxdepth", Some(scope)) => {
                    expression = after.get(1..).unwrap_or(&[]);
                    scope.roots_only |= value == "0";
                }
                (
                    "-empty" | "-nouser" | "-nogroup" | "-executable" | "-readable" | "-writable" | "-false",
                    Some(scope),
                ) => {
                    scope.negated = false;
                    scope.filtered = true;
                }
                ("-regex" | "-iregex", Some(scope)) if value == ".*" && !scope.negated => {
                    expression = after.get(1..).unwrap_or(&[]);
                }
                (test, Some(scope)) if FILTERS.contains(&test) => {
                    expression = after.get(1..).unwrap_or(&[]);
                    scope.negated = false;
                    scope.filtered = true;
                }
                (option, Some(scope)) if VALUED.contains(&option) => {
                    expression = after.get(1..).unwrap_or(&[]);
                    scope.negated = false;
                    // Links and sockets are hardly ever all there is.
                    scope.filtered |= matches!(option, "-type" | "-xtype") && !value.contains(['f', 'd']);
                }
                ("-delete", _) => {
                    acted = true;
                    for path in found(&roots, &scopes) {
                        rules::deleted_one_by_one(self, &path);
                    }
                }
                ("-exec" | "-execdir" | "-ok" | "-okdir", _) => {
                    acted = true;
                    let end = after.iter().position(|word| word == ";" || word == "+").unwrap_or(after.len());
                    let command = after.get(..end).unwrap_or(&[]).to_vec();
                    expression = after.get(end + 1..).unwrap_or(&[]);
                    for path in found(&roots, &scopes) {
                        self.call(command.iter().map(|word| word.replace("{}", &path)).collect());
                    }
                }
                ("-print" | "-print0" | "-printf" | "-ls" | "-quit", _) => {
                    acted = true;
                    let separator = if word == "-print0" { '\0' } else { '\n' };
                    for path in found(&roots, &scopes) {
                        if word == "-printf" {
                            self.write(&value.replace("\\n", "\n").replace("\\0", "\0").replace("%p", &path));
                        } else {
                            self.write(&format!("{path}{separator}"));
                        }
                    }
                    if word == "-printf" {
                        expression = after.get(1..).unwrap_or(&[]);
                    }
                }
                _ => {}
            }
        }
        if !acted {
            for path in found(&roots, &scopes) {
                self.write(&format!("{path}\n"));
            }
        }
    }

    /// `fd pattern -x command`
    pub(crate) fn fd(&mut self, arguments: &[String]) {
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
            } else {
                paths.push(format!("{root}/{TREE}/{name}"));
            }
        }
    }
    paths
}

/// Whether a name test lets everything pass.
fn is_everything(name: &str) -> bool {
    let last = name.trim_start_matches("./");
    !last.starts_with('.')
        && last.split('/').all(|part| part.is_empty() || pattern::is_wide(part) && !part.contains(SET))
}

fn may_be_repository(name: &str) -> bool {
    name.split('/').any(|part| pattern::may_be(part, ".git"))
}
