//! `find` and `fd`: the files that they match, and their actions.

mod scope;

use crate::marks::{REPO, SOME, START, is_wild};
use crate::rules;
use crate::walk::ScriptWalk;
use crate::walk::files::base_name;
use scope::{FindScope, Noted};

/// The most alternatives of one expression that are told apart.
const MOST_SCOPES: usize = 16;

/// Parentheses that are open.
#[derive(Debug)]
struct FindGroup {
    /// The alternatives in which they were opened.
    base: Vec<FindScope>,
    /// The alternatives before the last `-o` inside.
    done: Vec<FindScope>,
    /// They are negated, as the tests inside are then.
    negated: bool,
}

/// The expression of `find` while its words are read.
#[derive(Debug)]
struct FindExpression<'w> {
    roots: Vec<String>,
    /// The words that have not been read yet.
    rest: &'w [String],
    /// The files that the current action applies to: one scope for every alternative.
    scopes: Vec<FindScope>,
    /// The alternatives before an `-o` outside of parentheses. They count if nothing but the paths is printed.
    earlier: Vec<FindScope>,
    groups: Vec<FindGroup>,
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
        Self {
            roots: roots.to_vec(),
            rest,
            scopes: vec![FindScope::default()],
            earlier: Vec::new(),
            groups: Vec::new(),
            acted: false,
        }
    }

    /// Takes the next word.
    fn next(&mut self) -> Option<&'w str> {
        let (word, rest) = self.rest.split_first()?;
        self.rest = rest;
        Some(word)
    }

    /// Notes an operator; false if the word is none.
    fn note_operator(&mut self, word: &str) -> bool {
        match word {
            "(" => {
                let negated = self.scopes.iter().any(|scope| scope.negated);
                self.groups.push(FindGroup { base: self.scopes.clone(), done: Vec::new(), negated });
            }
            ")" => {
                if let Some(mut group) = self.groups.pop() {
                    group.done.append(&mut self.scopes);
                    group.done.truncate(MOST_SCOPES);
                    group.done.iter_mut().for_each(|scope| scope.negated = false);
                    self.scopes = group.done;
                }
            }
            "!" | "-not" => self.scopes.iter_mut().for_each(|scope| scope.negated = !scope.negated),
            "-o" | "-or" | "," => match self.groups.last_mut() {
                // None of several is each of them left out.
                Some(group) if group.negated => self.scopes.iter_mut().for_each(|scope| scope.negated = true),
                Some(group) => {
                    group.done.append(&mut self.scopes);
                    self.scopes.clone_from(&group.base);
                }
                // Tests before an `-o` belong to another action.
                None => {
                    self.earlier.append(&mut self.scopes);
                    self.earlier.truncate(MOST_SCOPES);
                    self.scopes = vec![FindScope::default()];
                }
            },
            "-a" | "-and" => {}
            _ => return false,
        }
        true
    }

    /// Notes an option or a test; false if the word is none of these.
    fn note_test(&mut self, word: &str) -> bool {
        let value = self.rest.first().map_or("", String::as_str);
        let is_in_negated = self.groups.last().is_some_and(|group| group.negated);
        let mut noted = Noted::No;
        for scope in &mut self.scopes {
            noted = scope.note(word, value);
            scope.negated |= is_in_negated && noted != Noted::No;
        }
        if noted == Noted::WithValue {
            self.rest = self.rest.get(1..).unwrap_or(&[]);
        }
        noted != Noted::No
    }

    /// The paths that would be found, as text with marks.
    fn paths(&self) -> Vec<String> {
        self.paths_of(&self.scopes)
    }

    fn paths_of(&self, scopes: &[FindScope]) -> Vec<String> {
        let roots = self.roots.iter().map(|root| root.trim_end_matches('/'));
        roots.flat_map(|root| scopes.iter().flat_map(|scope| scope.paths(root))).collect()
    }
}

impl ScriptWalk<'_> {
    pub(crate) fn run_find(&mut self, arguments: &[String]) {
        let mut expression = FindExpression::new(arguments);
        if let Some(at) = arguments.iter().position(|word| word == "-files0-from") {
            let file = arguments.get(at + 1).map_or("", String::as_str);
            let text = if file == "-" { self.world.shell.input.clone() } else { self.read_file(file) };
            expression.roots.extend(text.split('\0').filter(|root| !root.is_empty()).take(64).map(str::to_owned));
        }
        // With `nullglob`, patterns that match nothing leave no starting point.
        let may_vanish = self.world.shell.stars_may_vanish;
        if expression.roots.is_empty() || may_vanish && expression.roots.iter().all(|root| root.contains(is_wild)) {
            expression.roots.push(".".to_owned());
        }
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
            self.budget.spend(1 + expression.scopes.len() / 4);
            if expression.note_operator(word) || expression.note_test(word) {
                continue;
            }
            match word {
                "-regex" | "-iregex" => Self::find_expression(&mut expression),
                action => self.find_action(action, &mut expression),
            }
        }
        if !expression.acted {
            let earlier = expression.paths_of(&expression.earlier);
            for path in earlier.into_iter().chain(expression.paths()) {
                self.write(&format!("{path}\n"));
            }
        }
    }

    /// `-regex`: an expression for whole paths, which is about everything chooses some files, or names the repository.
    fn find_expression(find: &mut FindExpression<'_>) {
        let wanted = find.next().unwrap_or("").trim_start_matches("\\.").trim_start_matches("./");
        let is_everything = matches!(wanted.trim_start_matches('/'), ".*" | ".+");
        for scope in find.scopes.iter_mut().filter(|scope| !is_everything || scope.negated) {
            if wanted.ends_with("/\\.git") {
                scope.note_name("-name", ".git");
            } else {
                scope.narrow();
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
            "-exec" | "-execdir" | "-ok" | "-okdir" => self.find_command(action, expression),
            "-printf" | "-fprintf" => {
                let file = if action == "-fprintf" { expression.next() } else { None };
                let format = expression.next().unwrap_or("");
                let lines: String =
                    expression.paths().iter().map(|path| formatted(format, path, &expression.roots)).collect();
                self.print_found(&lines, file);
            }
            "-print" | "-print0" | "-ls" | "-quit" | "-fprint" | "-fprint0" | "-fls" => {
                let file = if action.starts_with("-f") { expression.next() } else { None };
                let separator = if action.ends_with('0') { '\0' } else { '\n' };
                let mut lines = expression.paths().join(&separator.to_string());
                lines.push(separator);
                self.print_found(&lines, file);
            }
            _ => return,
        }
        expression.acted = true;
    }

    /// Writes found paths to standard output, or to a file.
    fn print_found(&mut self, text: &str, file: Option<&str>) {
        match file {
            Some(file) => self.write_file(file, text, true),
            None => self.write(text),
        }
    }

    /// `-exec` and its like.
    fn find_command(&mut self, action: &str, expression: &mut FindExpression<'_>) {
        // A question that nobody answers is answered with no.
        let is_answered = self.world.shell.reads_pipe || !self.world.shell.input.is_empty();
        let acts = action.starts_with("-exec") || is_answered;
        let rest = expression.rest;
        let ends = |at: usize, word: &String| {
            word == ";" || word == "+" && at.checked_sub(1).and_then(|at| rest.get(at)).is_some_and(|word| word == "{}")
        };
        let end = rest.iter().enumerate().position(|(at, word)| ends(at, word)).unwrap_or(rest.len());
        let command = rest.get(..end).unwrap_or(&[]);
        expression.rest = rest.get(end + 1..).unwrap_or(&[]);
        let mut paths = expression.paths();
        // Whatever has changed lately, the repository's data is among it.
        if expression.scopes.iter().any(|scope| scope.is_recent && !scope.only_files) {
            for root in expression.roots.clone() {
                let place = self.absolute(&root);
                paths
                    .extend(place.chars().all(|letter| matches!(letter, START | REPO)).then(|| format!("{root}/.git")));
            }
        }
        for path in paths.into_iter().filter(|_| acts) {
            self.call(command.iter().map(|word| word.replace("{}", &path)).collect());
        }
    }
}

/// A path as `-printf` writes it.
fn formatted(format: &str, path: &str, roots: &[String]) -> String {
    let mut out = String::new();
    let mut letters = format.chars().peekable();
    while let Some(letter) = letters.next() {
        match letter {
            '\\' => match letters.next() {
                Some('n') => out.push('\n'),
                Some('t') => out.push('\t'),
                Some('c') => return out,
                Some('0') if !letters.peek().is_some_and(char::is_ascii_digit) => out.push('\0'),
                Some(digit) if digit.is_digit(8) => {
                    let mut code = digit.to_digit(8).unwrap_or(0);
                    while let Some(next) = letters.peek().and_then(|letter| letter.to_digit(8)).filter(|_| code < 32) {
                        code = code * 8 + next;
                        letters.next();
                    }
                    out.extend(char::from_u32(code));
                }
                other => out.extend(other),
            },
            '%' => {
                // Flags and a width.
                while letters.peek().is_some_and(|letter| letter.is_ascii_digit() || "-+# .".contains(*letter)) {
                    letters.next();
                }
                match letters.next() {
                    Some('p') => out.push_str(path),
                    Some('f') => out.push_str(base_name(path)),
                    Some('P') => out.push_str(below(path, roots)),
                    Some('h') => out.push_str(path.rsplit_once('/').map_or(".", |(directory, _)| directory)),
                    Some('H') => out.push_str(roots.first().map_or(".", String::as_str)),
                    Some('%') => out.push('%'),
                    // They are followed by a letter that says which part of a time.
                    Some('A' | 'C' | 'T' | 'B') => {
                        letters.next();
                        out.push(SOME);
                    }
                    _ => out.push(SOME),
                }
            }
            other => out.push(other),
        }
    }
    out
}

/// The part of a path below its starting point.
fn below<'p>(path: &'p str, roots: &[String]) -> &'p str {
    let inside = roots.iter().find_map(|root| path.strip_prefix(root.trim_end_matches('/')));
    inside.map_or(path, |inside| inside.trim_start_matches('/'))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Guard, Prelude};

    fn refuses(script: &str) -> bool {
        Guard::default().judge(script, &Prelude::default()).refuses()
    }

    #[test]
    fn formats_are_written_as_find_writes_them() {
        let roots = ["./src".to_owned()];
        assert_eq!(formatted("%p|%P|%f|%h\\n", "./src/a/b", &roots), "./src/a/b|a/b|b|./src/a\n");
        assert_eq!(formatted("\\101%%\\0", "x", &roots), "A%\0");
    }

    #[test]
    fn an_expression_is_about_everything_or_a_choice() {
        assert!(refuses("find . -regex '.*' -delete"));
        assert!(refuses("find . -regex '\\./.+' -delete"));
        assert!(!refuses("find . -regex '.*\\.\\(o\\|a\\)' -delete"));
        assert!(!refuses("find . -regextype egrep -regex '.*/(build|dist)' -exec rm -rf {} +"));
    }

    #[test]
    fn tests_behind_parentheses_hold_for_every_alternative() {
        assert!(!refuses("find . \\( -type f -o -type l \\) -name '*.o' -delete"));
        assert!(refuses("find . \\( -type f -o -type l \\) -delete"));
        assert!(refuses("find . ! \\( -name .git -o -name keep \\) -delete"));
        assert!(!refuses("find . -type f ! \\( -name .keep -o -name '*.txt' \\) -delete"));
        assert!(refuses("find . -name '*' -o -name keep | xargs rm -rf"));
        assert!(refuses("find . ! -type d -delete"));
        assert!(!refuses("find . -type d -empty -delete"));
    }
}
