//! Reads a makefile line by line.

use crate::marks::{UNKNOWN, alive, has_mark, is_vague};
use crate::walk::make::expand::closing;
use crate::walk::make::{LONGEST, Make, MakeRule, MakeVariable, Origin, TargetVariable};

/// The most lines of a makefile, over all files.
const MOST_LINES: usize = 4_000;

/// `NAME = value`
#[derive(Debug, Clone)]
pub(super) struct Assignment {
    pub(super) name: String,
    /// The sign before `=`, or nothing.
    pub(super) kind: char,
    pub(super) value: String,
    overrides: bool,
    exports: bool,
}

/// A condition around the current line.
struct Conditional {
    /// Lines count.
    is_taken: bool,
    /// One of its branches was taken, or all around it are dead.
    is_done: bool,
}

impl Make<'_, '_> {
    /// Reads a text as lines of a makefile.
    pub(super) fn read(&mut self, text: &str) {
        if self.depth > 24 || self.has_failed || text.len() > LONGEST * 4 {
            self.is_open = true;
            return;
        }
        self.depth += 1;
        let mut lines = text.lines().take(MOST_LINES);
        let mut conditionals: Vec<Conditional> = Vec::new();
        let mut is_in_rule = false;
        while let Some(line) = lines.next() {
            self.walk.budget.spend(1);
            if self.walk.budget.is_exhausted() || self.has_failed {
                break;
            }
            let is_live = conditionals.iter().all(|conditional| conditional.is_taken);
            if let Some(recipe) = line.strip_prefix(self.prefix).filter(|_| is_in_rule || self.prefix == '\t') {
                let mut recipe = recipe.to_owned();
                while recipe.ends_with('\\')
                    && let Some(more) = lines.next()
                {
                    recipe.push('\n');
                    recipe.push_str(more.strip_prefix(self.prefix).unwrap_or(more));
                }
                if is_live {
                    self.recipe_line(recipe, is_in_rule);
                }
                continue;
            }
            let mut line = line.to_owned();
            while line.ends_with('\\')
                && let Some(more) = lines.next()
            {
                line.pop();
                line = format!("{} {}", line.trim_end(), more.trim_start());
            }
            let line = without_remark(&line);
            let line = line.trim();
            if self.conditional(line, &mut conditionals) {
                continue;
            }
            if let Some(name) = define_name(line) {
                let body = definition(&mut lines);
                if is_live {
                    self.define(name, &body);
                }
                continue;
            }
            if is_live && !line.is_empty() {
                is_in_rule = self.line(line);
            }
        }
        self.depth -= 1;
    }

    fn recipe_line(&mut self, recipe: String, is_in_rule: bool) {
        if is_in_rule {
            self.rules.last_mut().into_iter().for_each(|rule| rule.recipe.push(recipe.clone()));
        } else if !self.line_if_assignment(recipe.trim()) {
            // The rule may stand in a part of the file that is not known.
            self.rules.push(MakeRule { recipe: vec![recipe], ..MakeRule::default() });
            self.is_open = true;
        }
    }

    fn line_if_assignment(&mut self, line: &str) -> bool {
        let is_assignment = assignment(line).is_some();
        if is_assignment {
            self.line(line);
        }
        is_assignment || line.is_empty()
    }

    /// Reads `ifeq` and its like; true if this is such a line.
    fn conditional(&mut self, line: &str, conditionals: &mut Vec<Conditional>) -> bool {
        let (word, rest) = line
            .split_once([' ', '\t', '('])
            .map_or((line, ""), |(word, _)| (word, line.get(word.len()..).unwrap_or("").trim()));
        match word {
            "ifeq" | "ifneq" | "ifdef" | "ifndef" => {
                let is_live = conditionals.iter().all(|conditional| conditional.is_taken);
                let holds = is_live && self.condition(word, rest);
                conditionals.push(Conditional { is_taken: holds, is_done: holds || !is_live });
            }
            "else" => {
                let Some(mut last) = conditionals.pop() else { return true };
                let is_live = conditionals.iter().all(|conditional| conditional.is_taken);
                let (inner, condition) = rest
                    .split_once([' ', '\t', '('])
                    .map_or((rest, ""), |(inner, _)| (inner, rest.get(inner.len()..).unwrap_or("").trim()));
                let holds = is_live && !last.is_done && (!inner.starts_with("if") || self.condition(inner, condition));
                last.is_taken = holds;
                last.is_done |= holds;
                conditionals.push(last);
            }
            "endif" => drop(conditionals.pop()),
            _ => return false,
        }
        true
    }

    fn condition(&mut self, word: &str, rest: &str) -> bool {
        if word.ends_with("def") {
            let name = self.expand(rest);
            let value = self.raw_value(name.trim());
            let is_set = match value {
                Some(value) if value.chars().all(|letter| letter == UNKNOWN) && !value.is_empty() => self.ask(),
                Some(value) => !value.is_empty(),
                None => false,
            };
            return is_set == (word == "ifdef");
        }
        let Some((left, right)) = compared(rest) else { return self.ask() };
        let (left, right) = (self.expand(&left), self.expand(&right));
        let (left, right) = (left.trim(), right.trim());
        let is_open = |text: &str| is_vague(text) || has_mark(text) && !text.is_empty();
        let same = if left == right && !is_vague(left) {
            true
        } else if is_open(left) || is_open(right) {
            // Something is there if a pattern or a directory is.
            let other = if is_open(left) { right } else { left };
            let vague = if is_open(left) { left } else { right };
            if other.is_empty() && !is_vague(vague) { false } else { self.ask() }
        } else {
            left == right
        };
        same == (word == "ifeq")
    }

    /// Reads a line; true if it begins a rule.
    fn line(&mut self, line: &str) -> bool {
        let (word, rest) = line.split_once([' ', '\t']).unwrap_or((line, ""));
        let rest = rest.trim();
        let is_assigned = rest.starts_with(['=', ':', '?', '+', '!']);
        match word {
            "include" | "-include" | "sinclude" if !is_assigned => {
                self.include(rest, word == "include");
                return false;
            }
            "export" | "unexport" if !is_assigned && assignment(line).is_none() => {
                if rest.is_empty() {
                    self.exports_all = word == "export";
                }
                let names = self.expand(rest);
                for name in names.split_whitespace() {
                    if word == "export" {
                        self.exported.insert(name.to_owned());
                    } else {
                        self.exported.remove(name);
                    }
                }
                return false;
            }
            "undefine" if !is_assigned => {
                self.variables.remove(rest);
                return false;
            }
            "vpath" | "load" if !is_assigned => return false,
            _ => {}
        }
        if let Some(assignment) = assignment(line) {
            self.assign(&assignment, None);
            return false;
        }
        self.rule(line)
    }

    fn include(&mut self, names: &str, is_needed: bool) {
        let names = self.expand(names);
        for name in names.split_whitespace().take(16) {
            if let Some(text) = self.walk.known_file(name) {
                self.note_file(name);
                let text = text.to_string();
                self.read(&text);
            } else {
                self.is_open = true;
                // A file that may be missing sets variables; one that is needed may hold the first target.
                self.has_open_goal |= is_needed && self.rules.is_empty();
                self.pending.push(name.to_owned());
            }
        }
    }

    /// Reads a rule, or variables of a target.
    fn rule(&mut self, line: &str) -> bool {
        let (head, inline) = split_recipe(line);
        // The value of a target's variable is expanded when it is set.
        if let Some((targets, rest)) = split_colon(line)
            && let Some(assignment) =
                Some(rest.trim_start_matches(':').trim()).filter(|rest| !rest.starts_with(';')).and_then(assignment)
        {
            let targets = self.expand(targets);
            for target in targets.split_whitespace() {
                let target = target.to_owned();
                self.target_variables.push(TargetVariable { target, assignment: assignment.clone() });
            }
            return false;
        }
        let expanded = self.expand(head);
        let expanded = expanded.trim();
        if expanded.is_empty() {
            return false;
        }
        // A function may have made a whole rule.
        let (expanded, made) = split_recipe(expanded);
        let inline = inline.map(str::to_owned).or_else(|| made.map(str::to_owned));
        let Some((targets, rest)) = split_colon(expanded) else {
            if expanded.contains('\n') || assignment(expanded).is_some() {
                self.read(expanded);
            }
            return false;
        };
        let is_double = rest.starts_with(':');
        let rest = rest.trim_start_matches(':').trim();
        let (stem_pattern, rest) = match split_colon(rest) {
            Some((pattern, rest)) if pattern.contains('%') => (Some(pattern.trim().to_owned()), rest),
            _ => (None, rest),
        };
        let (normal, order_only) = rest.split_once('|').unwrap_or((rest, ""));
        let rule = MakeRule {
            targets: words(targets.trim_end_matches('&')),
            stem_pattern,
            prerequisites: words(normal),
            order_only: words(order_only),
            recipe: inline.into_iter().filter(|recipe| !recipe.trim().is_empty()).collect(),
            is_double,
        };
        for target in &rule.targets {
            match target.as_str() {
                ".ONESHELL" => self.is_one_shell = true,
                ".SECONDEXPANSION" => self.expands_twice = true,
                ".SILENT" if rule.prerequisites.is_empty() => self.is_silent = true,
                ".EXPORT_ALL_VARIABLES" => self.exports_all = true,
                _ => {}
            }
        }
        self.rules.push(rule);
        true
    }

    fn define(&mut self, name: &str, body: &str) {
        let overrides = name.starts_with("override ");
        let name = name.trim_start_matches("override ").trim();
        let (name, kind) = match name.strip_suffix('=') {
            Some(name) => match name.chars().next_back() {
                Some(kind @ (':' | '+' | '?' | '!')) => (name.trim_end_matches([':', '+', '?', '!']), kind),
                _ => (name, ' '),
            },
            None => (name, ' '),
        };
        let name = self.expand(name).trim().to_owned();
        let assignment = Assignment { name, kind, value: body.to_owned(), overrides, exports: false };
        self.assign(&assignment, None);
    }

    /// Sets a variable: of a target, or one for all.
    pub(super) fn assign(&mut self, assignment: &Assignment, frame: Option<usize>) {
        let name = self.expand(&assignment.name).trim().to_owned();
        if name.is_empty() || has_mark(&name) {
            return;
        }
        if name == ".RECIPEPREFIX" {
            self.prefix = assignment.value.chars().next().unwrap_or('\t');
        }
        let origin = if assignment.overrides { Origin::Override } else { Origin::File };
        let before = self.variable(&name).cloned();
        if let Some(before) = &before
            && before.origin > origin
            && before.origin != Origin::Automatic
        {
            return;
        }
        let appends = assignment.kind == '+';
        let outside = if before.is_none() { self.outside_value(&name) } else { None };
        if assignment.kind == '?' && (before.is_some() || outside.is_some()) {
            return;
        }
        let is_simple = match assignment.kind {
            ':' | '!' => true,
            '+' => before.as_ref().is_some_and(|before| before.is_simple),
            _ => false,
        };
        let mut value = if is_simple { self.expand(&assignment.value) } else { assignment.value.clone() };
        if assignment.kind == '!' {
            value = self.shell(&value);
        }
        let known = before.map(|before| before.value).or(outside);
        if let Some(known) = known.filter(|known| appends && !known.is_empty()) {
            value = if known.len() + value.len() > LONGEST { UNKNOWN.to_string() } else { format!("{known} {value}") };
        }
        if assignment.exports {
            self.exported.insert(name.clone());
        }
        let variable = MakeVariable { value, is_simple, origin };
        match frame.and_then(|at| self.frames.get_mut(at)) {
            Some(frame) => drop(frame.insert(name, variable)),
            None => drop(self.variables.insert(name, variable)),
        }
    }

    /// Sets the variables that are there before the first line.
    pub(super) fn begin(&mut self) {
        let directory = self.walk.directory();
        let goals = self.words.goals.join(" ");
        for (name, value) in [
            ("RM", "rm -f"),
            ("MAKE", "make"),
            ("MAKE_COMMAND", "make"),
            ("CURDIR", directory.as_str()),
            ("MAKECMDGOALS", goals.as_str()),
            ("SHELL", "/bin/sh"),
            (".SHELLFLAGS", "-c"),
            ("MAKELEVEL", "0"),
            (".RECIPEPREFIX", ""),
        ] {
            self.variables.insert(name.to_owned(), MakeVariable::simple(value, Origin::Environment));
        }
        for line in self.words.variables.clone() {
            let Some(mut assignment) = assignment(&line) else { continue };
            assignment.overrides = true;
            let name = assignment.name.clone();
            self.assign(&assignment, None);
            self.variables.get_mut(&name).into_iter().for_each(|variable| variable.origin = Origin::CommandLine);
        }
    }

    /// Notes that a file is read.
    pub(super) fn note_file(&mut self, name: &str) {
        let before = self.variables.get("MAKEFILE_LIST").map_or("", |list| list.value.as_str());
        let list = format!("{before} {name}");
        self.variables.insert("MAKEFILE_LIST".to_owned(), MakeVariable::simple(list.trim_start(), Origin::File));
    }
}

/// `NAME = value`, `NAME := value`, `export NAME = value`; none if this is no assignment.
pub(super) fn assignment(line: &str) -> Option<Assignment> {
    let mut rest = line.trim_start();
    let (mut overrides, mut exports) = (false, false);
    loop {
        let (word, after) = rest.split_once([' ', '\t']).unwrap_or((rest, ""));
        let after = after.trim_start();
        if after.is_empty() || after.starts_with(['=', ':', '+', '?', '!']) {
            break;
        }
        match word {
            "override" => overrides = true,
            "export" => exports = true,
            "private" => {}
            _ => break,
        }
        rest = after;
    }
    let at = sign_outside(rest, |letter| matches!(letter, '=' | ':' | '#'))?;
    let (name, after) = rest.split_at_checked(at)?;
    let (name, kind, value) = if let Some(value) = after.strip_prefix('=') {
        match name.chars().next_back() {
            Some(kind @ ('+' | '?' | '!')) => (name.get(..name.len() - 1)?, kind, value),
            _ => (name, ' ', value),
        }
    } else {
        let colons = after.len() - after.trim_start_matches(':').len();
        (name, ':', after.get(colons..)?.strip_prefix('=').filter(|_| colons <= 3)?)
    };
    let name = name.trim();
    let is_name = !name.is_empty() && sign_outside(name, char::is_whitespace).is_none();
    is_name.then(|| Assignment {
        name: name.to_owned(),
        kind,
        value: value.trim_start().to_owned(),
        overrides,
        exports,
    })
}

/// The place of the first such letter outside of references.
fn sign_outside(text: &str, wanted: impl Fn(char) -> bool) -> Option<usize> {
    let mut at = 0;
    while let Some(letter) = text.get(at..)?.chars().next() {
        if letter == '$' {
            let rest = text.get(at + 1..)?;
            at += 1 + match rest.chars().next() {
                Some(opener @ ('(' | '{')) => {
                    let closer = if opener == '(' { ')' } else { '}' };
                    closing(rest.get(1..)?, opener, closer) + 2
                }
                Some(other) => other.len_utf8(),
                None => 0,
            };
            if at > text.len() {
                return None;
            }
            continue;
        }
        if wanted(letter) {
            return Some(at);
        }
        at += letter.len_utf8();
    }
    None
}

/// A rule without the recipe behind its semicolon, and that recipe.
fn split_recipe(line: &str) -> (&str, Option<&str>) {
    match sign_outside(line, |letter| letter == ';') {
        Some(at) => (line.get(..at).unwrap_or(line), line.get(at + 1..)),
        None => (line, None),
    }
}

fn split_colon(line: &str) -> Option<(&str, &str)> {
    let at = sign_outside(line, |letter| letter == ':')?;
    Some((line.get(..at)?, line.get(at + 1..)?))
}

fn words(text: &str) -> Vec<String> {
    text.split_whitespace().map(|word| if word.contains('*') { alive(word) } else { word.to_owned() }).collect()
}

/// The name behind `define`.
fn define_name(line: &str) -> Option<&str> {
    let line = line.strip_prefix("override ").map_or(line, str::trim_start);
    let name = line.strip_prefix("define")?;
    (name.starts_with([' ', '\t']) && !name.trim().starts_with(['=', ':'])).then(|| name.trim())
}

/// The lines up to `endef`.
fn definition<'t>(lines: &mut impl Iterator<Item = &'t str>) -> String {
    let mut open = 0_usize;
    let mut body: Vec<&str> = Vec::new();
    for line in lines {
        let word = line.trim();
        if word == "endef" || word.starts_with("endef ") || word.starts_with("endef#") {
            if open == 0 {
                break;
            }
            open -= 1;
        } else if define_name(word).is_some() {
            open += 1;
        }
        body.push(line);
    }
    body.join("\n")
}

/// The two texts that `ifeq` compares.
fn compared(rest: &str) -> Option<(String, String)> {
    if let Some(inside) = rest.strip_prefix('(') {
        let inside = inside.get(..closing(inside, '(', ')'))?;
        let at = sign_outside(inside, |letter| letter == ',')?;
        return Some((inside.get(..at)?.to_owned(), inside.get(at + 1..)?.to_owned()));
    }
    let quote = rest.chars().next().filter(|letter| matches!(letter, '"' | '\''))?;
    let (left, rest) = rest.get(1..)?.split_once(quote)?;
    let rest = rest.trim_start();
    let quote = rest.chars().next().filter(|letter| matches!(letter, '"' | '\''))?;
    let (right, _) = rest.get(1..)?.split_once(quote)?;
    Some((left.to_owned(), right.to_owned()))
}

/// A line without the remark at its end.
fn without_remark(line: &str) -> String {
    let Some(at) = sign_outside(line, |letter| letter == '#') else { return line.to_owned() };
    let before = line.get(..at).unwrap_or("");
    match before.strip_suffix('\\') {
        Some(escaped) => format!("{escaped}#{}", line.get(at + 1..).unwrap_or("")),
        None if split_recipe(before).1.is_some() => line.to_owned(),
        None => before.to_owned(),
    }
}
