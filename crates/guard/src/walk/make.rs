//! `make`, with a file that the script has written or typed: each line of a recipe is a script.
//!
//! Only the targets that are made count: the named ones or the first one, and everything that they depend on. Where the walk
//! cannot tell which these are, every recipe counts.

use std::collections::BTreeMap;

use crate::marks::{SOME, UNKNOWN, is_mark};
use crate::walk::ScriptWalk;

/// The longest chain of variables that refer to each other.
const DEEPEST: usize = 8;

/// The longest recipe after its variables are filled in, in bytes.
const LONGEST: usize = 8 << 10;

/// The most targets that are made, and the most words of a loop.
const MOST_GOALS: usize = 64;

/// The options of `make` that take another word and are not about its text.
const VALUED: [&str; 8] = ["-j", "-l", "-o", "-W", "-I", "--jobs", "--old-file", "--what-if"];

/// A rule of a makefile.
#[derive(Debug)]
struct MakeRule {
    targets: Vec<String>,
    prerequisites: Vec<String>,
    recipe: Vec<String>,
}

/// The rules of a makefile, and the lines that are no rules.
#[derive(Debug, Default)]
struct Makefile {
    rules: Vec<MakeRule>,
    others: Vec<String>,
    /// Texts of several lines: `define`.
    defined: Vec<(String, String)>,
    /// There may be rules that are not known by their text: `include`, `eval`.
    is_open: bool,
}

impl Makefile {
    fn read(&mut self, text: &str) {
        // Lines behind no rule belong to one without targets, which counts always.
        let mut is_in_rule = false;
        let mut definition: Option<(String, String)> = None;
        for line in text.replace("\\\n", " ").lines() {
            if let Some((_, text)) = &mut definition {
                if line.trim() == "endef" {
                    self.defined.extend(definition.take());
                } else {
                    text.push_str(line);
                    text.push('\n');
                }
                continue;
            }
            if let Some(name) = line.strip_prefix("define ") {
                let name = name.trim().trim_end_matches(['=', ':', '+', '?']).trim().to_owned();
                definition = Some((name, String::new()));
                continue;
            }
            if let Some(recipe) = line.strip_prefix('\t') {
                if let Some(rule) = self.rules.last_mut().filter(|_| is_in_rule) {
                    rule.recipe.push(recipe.to_owned());
                } else {
                    self.is_open = true;
                    self.push_rule("", "", Some(recipe));
                }
                continue;
            }
            let before_value = line.split('=').next().unwrap_or(line);
            match before_value.split_once(':') {
                Some((targets, _))
                    if !(before_value.len() < line.len()
                        && before_value.trim_end().ends_with([':', '+', '?', '!'])) =>
                {
                    let rest = line.get(targets.len() + 1..).unwrap_or("").trim_start_matches(':');
                    let (prerequisites, inline) =
                        rest.split_once(';').map_or((rest, None), |(rest, recipe)| (rest, Some(recipe)));
                    // `target: NAME=value`
                    if prerequisites.contains('=') {
                        self.others.push(prerequisites.trim().to_owned());
                    }
                    self.push_rule(targets, prerequisites, inline);
                    is_in_rule = true;
                }
                _ => {
                    const OPENS: [&str; 5] = ["include", "-include", "sinclude", "$(eval", "$(call"];
                    self.is_open |= OPENS.iter().any(|word| line.trim_start().starts_with(word));
                    self.others.push(line.to_owned());
                }
            }
        }
    }

    fn push_rule(&mut self, targets: &str, prerequisites: &str, inline: Option<&str>) {
        self.is_open |= targets.trim() == ".DEFAULT";
        let words = |text: &str| text.split_whitespace().map(str::to_owned).collect();
        let recipe = inline.map(str::to_owned).into_iter().collect();
        self.rules.push(MakeRule { targets: words(targets), prerequisites: words(prerequisites), recipe });
    }

    /// The recipes that make the goals, or the first target if there is none, each with the target and the stem that it is for.
    fn recipes(&self, goals: &[String]) -> Vec<(&MakeRule, String, String)> {
        let is_plain = |target: &&String| !target.starts_with('.') && !target.contains('%');
        let first = self.rules.iter().flat_map(|rule| &rule.targets).find(is_plain);
        let mut wanted: Vec<String> =
            if goals.is_empty() { first.into_iter().cloned().collect() } else { goals.to_vec() };
        let is_known = |goal: &String| self.rules.iter().any(|rule| rule.stem(goal).is_some());
        if self.is_open || !wanted.iter().all(is_known) {
            let all = self.rules.iter().map(|rule| (rule, rule.targets.first().cloned().unwrap_or_default()));
            return all.map(|(rule, target)| (rule, target, SOME.to_string())).collect();
        }
        let mut found = Vec::new();
        let mut at = 0;
        while let Some(goal) = wanted.get(at).cloned().filter(|_| at < MOST_GOALS) {
            at += 1;
            for rule in &self.rules {
                let Some(stem) = rule.stem(&goal) else { continue };
                for word in rule.prerequisites.iter().map(|word| word.replace('%', &stem)) {
                    if !wanted.contains(&word) {
                        wanted.push(word);
                    }
                }
                found.push((rule, goal.clone(), stem));
            }
        }
        found
    }
}

impl MakeRule {
    /// The part of a goal that `%` stands for, if this rule makes it. Goals that are not known are made by patterns.
    fn stem(&self, goal: &str) -> Option<String> {
        self.targets.iter().find_map(|target| {
            if target == goal {
                return Some(SOME.to_string());
            }
            let (before, after) = target.split_once('%')?;
            if goal.contains(is_mark) {
                return Some(SOME.to_string());
            }
            Some(goal.strip_prefix(before)?.strip_suffix(after)?.to_owned())
        })
    }
}

/// The words of `make`.
#[derive(Debug, Default)]
struct MakeWords {
    files: Vec<String>,
    /// `--eval`
    texts: Vec<String>,
    directory: Option<String>,
    /// The targets to make.
    goals: Vec<String>,
    variables: BTreeMap<String, String>,
}

impl MakeWords {
    fn of(arguments: &[String]) -> Self {
        let mut make = Self::default();
        let mut words = arguments.iter();
        while let Some(word) = words.next() {
            let attached = |names: &[&str]| names.iter().find_map(|name| word.strip_prefix(name)).map(str::to_owned);
            match word.as_str() {
                "-f" | "--file" | "--makefile" => make.files.extend(words.next().cloned()),
                "-E" | "--eval" => make.texts.extend(words.next().cloned()),
                "-C" | "--directory" => make.directory = words.next().cloned(),
                option if VALUED.contains(&option) => drop(words.next()),
                option if option.starts_with('-') => {
                    make.texts.extend(attached(&["--eval=", "-E"]));
                    make.files.extend(attached(&["--file=", "--makefile="]));
                    if !option.starts_with("--") {
                        // `-sf file`
                        if option.len() > 2 && option.ends_with('f') {
                            make.files.extend(words.next().cloned());
                        }
                        make.files.extend(attached(&["-f"]));
                        make.directory = attached(&["-C"]).or(make.directory.take());
                    }
                }
                operand if operand.contains('=') => make.note_variable(operand),
                goal => make.goals.push(goal.to_owned()),
            }
        }
        make
    }

    /// Notes `NAME=value`, in any of make's spellings; other lines mean something else.
    fn note_variable(&mut self, line: &str) {
        let Some((name, value)) = line.split_once('=') else { return };
        let appends = name.ends_with('+');
        let name = name.trim_end_matches([':', '?', '+', '!']).trim();
        let name = name.rsplit(' ').next().unwrap_or(name);
        if name.is_empty() || name.contains(['$', ':', '\t']) {
            return;
        }
        let value = value.trim_start();
        match self.variables.get_mut(name) {
            Some(known) if appends && known.len() < LONGEST => {
                known.push(' ');
                known.push_str(value);
            }
            _ => drop(self.variables.insert(name.to_owned(), value.to_owned())),
        }
    }
}

impl ScriptWalk<'_> {
    pub(crate) fn run_make(&mut self, arguments: &[String]) {
        let runs_nothing = |word: &String| {
            matches!(word.as_str(), "-n" | "-q" | "--just-print" | "--dry-run" | "--recon" | "--question")
        };
        let runs_nothing = arguments.iter().any(runs_nothing);
        let mut make = MakeWords::of(arguments);
        let before = self.directory();
        if let Some(directory) = make.directory.take() {
            let path = self.absolute(&directory);
            self.world.shell.set_directory(path);
        }
        let usual = ["GNUmakefile", "makefile", "Makefile"];
        let named: Vec<String> = make.files.drain(..).collect();
        for file in &named {
            make.texts.extend(self.code_in_file(file));
        }
        if named.is_empty() {
            make.texts.extend(usual.into_iter().find_map(|file| self.known_file(file)).map(|text| text.to_string()));
        }
        // The command line counts more than the file, so it is noted again behind it.
        let given = make.variables.clone();
        let mut file = Makefile::default();
        for text in std::mem::take(&mut make.texts) {
            file.read(&text);
        }
        make.variables.extend(std::mem::take(&mut file.defined));
        for line in &file.others {
            self.read_make_line(line, &mut make);
        }
        make.variables.extend(given);
        // `$(shell …)` in the lines above runs in any case.
        if !runs_nothing {
            self.run_recipes(&mut file, &make);
        }
        self.world.shell.set_directory(before);
        self.write(&UNKNOWN.to_string());
    }

    /// Runs the recipes that make the goals.
    fn run_recipes(&mut self, file: &mut Makefile, make: &MakeWords) {
        let is_open = file.is_open;
        for rule in &mut file.rules {
            for words in [&mut rule.targets, &mut rule.prerequisites] {
                if words.iter().any(|word| word.contains('$')) {
                    let text = words.join(" ");
                    let text = self.expand_recipe(&text, Recipe { variables: &make.variables, is_open: true }, 0);
                    *words = text.split_whitespace().map(str::to_owned).collect();
                }
            }
        }
        for (rule, target, stem) in file.recipes(&make.goals) {
            let mut variables = make.variables.clone();
            let prerequisites: Vec<String> = rule.prerequisites.iter().map(|word| word.replace('%', &stem)).collect();
            let first = prerequisites.first().cloned().unwrap_or_else(|| SOME.to_string());
            let automatic = [("@", target), ("*", stem), ("<", first), ("^", prerequisites.join(" "))];
            variables.extend(automatic.map(|(name, value)| (name.to_owned(), value)));
            for text in &rule.recipe {
                let script = self.expand_recipe(text, Recipe { variables: &variables, is_open }, 0);
                for script in script.lines() {
                    let script = script.trim_start_matches(['@', '-', '+', ' ', '\t']).to_owned();
                    self.script_in_code(&script, None);
                }
            }
        }
    }

    /// Reads a line of a makefile that is no rule. Only a value behind a plain `=` waits until it is used.
    fn read_make_line(&mut self, line: &str, make: &mut MakeWords) {
        let name = line.split_once('=').map_or("", |(name, _)| name.trim_end());
        let expanded = if name.is_empty() || name.ends_with([':', '!']) {
            let variables = make.variables.clone();
            self.expand_recipe(line, Recipe { variables: &variables, is_open: true }, 0)
        } else {
            line.to_owned()
        };
        match expanded.split_once('=').filter(|(name, _)| name.trim_end().ends_with('!')) {
            Some((name, script)) => {
                let text = self.capturing(|walk| walk.script_in_code(script.trim(), None));
                make.note_variable(&format!("{name}={}", text.trim_end().replace('\n', " ")));
            }
            None => make.note_variable(&expanded),
        }
    }

    /// The script that make hands to a shell.
    fn expand_recipe(&mut self, text: &str, variables: Recipe<'_>, depth: usize) -> String {
        let mut out = String::new();
        let mut rest = text;
        self.budget.spend(1 + text.len() / 64);
        while let Some((before, after)) = rest.split_once('$') {
            out.push_str(before);
            if out.len() > LONGEST || depth > DEEPEST || self.budget.is_exhausted() {
                return UNKNOWN.to_string();
            }
            let first = after.chars().next().unwrap_or('$');
            let closer = match first {
                '(' => ')',
                '{' => '}',
                '$' => {
                    out.push('$');
                    rest = after.get(1..).unwrap_or("");
                    continue;
                }
                _ => {
                    let name = first.to_string();
                    let value = variables.variables.get(&name).cloned().unwrap_or_else(|| SOME.to_string());
                    out.push_str(&self.expand_recipe(&value, variables, depth + 1));
                    rest = after.get(first.len_utf8()..).unwrap_or("");
                    continue;
                }
            };
            let inside = after.get(1..).unwrap_or("");
            let end = closing(inside, first, closer);
            let name = inside.get(..end).unwrap_or("");
            rest = inside.get(end + 1..).unwrap_or("");
            let value = self.make_value(name, variables, depth);
            out.push_str(&value);
        }
        out.push_str(rest);
        out
    }

    fn make_value(&mut self, name: &str, variables: Recipe<'_>, depth: usize) -> String {
        if let Some(script) = name.strip_prefix("shell ") {
            let script = self.expand_recipe(script, variables, depth + 1);
            let text = self.capturing(|walk| walk.script_in_code(&script, None));
            return text.trim_end().replace('\n', " ");
        }
        if let Some(call) = name.strip_prefix("call ") {
            let mut words = call.split(',');
            let text = words.next().and_then(|name| variables.variables.get(name.trim())).cloned();
            let mut inner = variables.variables.clone();
            for (at, word) in (1..10).zip(words) {
                let word = self.expand_recipe(word, variables, depth + 1);
                inner.insert(at.to_string(), word);
            }
            let inner = Recipe { variables: &inner, is_open: variables.is_open };
            return text.map_or_else(|| UNKNOWN.to_string(), |text| self.expand_recipe(&text, inner, depth + 1));
        }
        if let Some(list) = name.strip_prefix("foreach ") {
            return self.make_foreach(list, variables, depth);
        }
        if let Some((function, arguments)) = name.split_once(' ')
            && is_make_function(function)
        {
            let arguments = self.expand_recipe(arguments.trim_start(), variables, depth + 1);
            return make_function(function, &arguments);
        }
        match variables.variables.get(name) {
            Some(value) => {
                let value = value.clone();
                self.expand_recipe(&value, variables, depth + 1)
            }
            None => match name {
                "RM" => "rm -f".to_owned(),
                "MAKE" => "make".to_owned(),
                "CURDIR" | "PWD" => self.directory(),
                // `$(DESTDIR)` is nothing unless somebody sets it.
                _ => match self.scalar(name) {
                    Some(text) => text,
                    None if !variables.is_open && !is_set_by_make(name) && self.world.shell.outside.is_absent(name) => {
                        String::new()
                    }
                    None => UNKNOWN.to_string(),
                },
            },
        }
    }
}

impl ScriptWalk<'_> {
    /// `$(foreach name,words,text)`
    fn make_foreach(&mut self, list: &str, variables: Recipe<'_>, depth: usize) -> String {
        let mut parts = list.splitn(3, ',');
        let (Some(name), Some(words), Some(text)) = (parts.next(), parts.next(), parts.next()) else {
            return UNKNOWN.to_string();
        };
        let words = self.expand_recipe(words, variables, depth + 1);
        let mut out = String::new();
        let mut inner = variables.variables.clone();
        for word in words.split_whitespace().take(MOST_GOALS) {
            inner.insert(name.trim().to_owned(), word.to_owned());
            let inner = Recipe { variables: &inner, is_open: variables.is_open };
            out.push_str(&self.expand_recipe(text, inner, depth + 1));
            out.push(' ');
            if out.len() > LONGEST {
                return UNKNOWN.to_string();
            }
        }
        out
    }
}

/// The variables of a makefile.
#[derive(Clone, Copy)]
struct Recipe<'m> {
    variables: &'m BTreeMap<String, String>,
    /// Files that are not known may set more of them.
    is_open: bool,
}

/// True for variables that make sets by itself: tools, their options, and its own.
fn is_set_by_make(name: &str) -> bool {
    const TOOLS: [&str; 12] = ["AR", "AS", "CC", "CXX", "CPP", "FC", "LD", "LEX", "YACC", "LINT", "SHELL", "TEX"];
    TOOLS.contains(&name) || name.ends_with("FLAGS") || name.starts_with("MAKE") || name.contains('.') || name.len() < 2
}

fn is_make_function(name: &str) -> bool {
    matches!(name, "subst" | "strip" | "firstword" | "lastword" | "abspath" | "realpath" | "addprefix" | "addsuffix")
}

/// The value of a function of make's.
fn make_function(name: &str, arguments: &str) -> String {
    let words = || arguments.split_whitespace();
    let with = |added: &dyn Fn(&str, &str) -> String| {
        let (affix, names) = arguments.split_once(',').unwrap_or(("", arguments));
        names.split_whitespace().map(|name| added(affix, name)).collect::<Vec<_>>().join(" ")
    };
    match name {
        "subst" => match arguments.splitn(3, ',').collect::<Vec<_>>().as_slice() {
            [from, to, text] if !from.is_empty() => text.replace(from, to),
            _ => UNKNOWN.to_string(),
        },
        "firstword" => words().next().unwrap_or("").to_owned(),
        "lastword" => words().next_back().unwrap_or("").to_owned(),
        "addprefix" => with(&|affix, name| format!("{affix}{name}")),
        "addsuffix" => with(&|affix, name| format!("{name}{affix}")),
        _ => words().collect::<Vec<_>>().join(" "),
    }
}

/// The place of the sign that closes a reference, or the end of the text.
fn closing(text: &str, opener: char, closer: char) -> usize {
    let mut open = 0_usize;
    for (at, letter) in text.char_indices() {
        if letter == opener {
            open += 1;
        } else if letter == closer {
            match open.checked_sub(1) {
                Some(left) => open = left,
                None => return at,
            }
        }
    }
    text.len()
}
