//! The functions of make.

use crate::marks::{SOME, STAR, TREE, UNKNOWN, alive, has_mark, is_vague, is_wild};
use crate::walk::make::{Frame, LONGEST, MOST_GOALS, Make, MakeVariable, Origin};

impl Make<'_, '_> {
    /// The value of a function; none if there is none of this name.
    pub(super) fn function(&mut self, name: &str, text: &str) -> Option<String> {
        Some(match name {
            "if" | "or" | "and" | "foreach" | "call" | "let" | "value" | "eval" => {
                return Some(self.lazy_function(name, &arguments(text)));
            }
            "shell" => {
                let script = self.expand(text);
                self.shell(&script)
            }
            "error" | "info" | "warning" => {
                let text = self.expand(text);
                if name == "info" {
                    self.walk.write(&format!("{text}\n"));
                }
                self.has_failed |= name == "error";
                String::new()
            }
            "origin" | "flavor" => {
                let name_of = self.expand(text);
                self.about_variable(name, name_of.trim())
            }
            "file" => self.file(&arguments(text)),
            "abspath" | "realpath" | "wildcard" => {
                let names = self.expand(text);
                let found = names.split_whitespace().map(|path| match name {
                    "wildcard" => alive(path),
                    "realpath" => self.walk.real_path(path),
                    _ => self.walk.absolute(path),
                });
                found.collect::<Vec<_>>().join(" ")
            }
            "dir" => {
                let names = self.expand(text);
                let found = names.split_whitespace().map(|path| self.directory_of(path));
                found.collect::<Vec<_>>().join(" ")
            }
            _ => {
                let arguments: Vec<String> = arguments(text);
                let count = count_of(name)?;
                // The last argument keeps its commas.
                let mut given: Vec<String> = arguments.iter().take(count - 1).cloned().collect();
                if arguments.len() >= count {
                    given.push(arguments.get(count - 1..).unwrap_or(&[]).join(","));
                }
                let given: Vec<String> = given.iter().map(|argument| self.expand(argument)).collect();
                text_function(name, &given)
            }
        })
    }

    /// The output of a script.
    pub(super) fn shell(&mut self, script: &str) -> String {
        self.walk.budget.spend(1);
        let shell = self.value("SHELL");
        let flags = self.value(".SHELLFLAGS");
        let text = self.walk.capturing(|walk| walk.run_recipe_line(&shell, &flags, script));
        text.trim_end_matches('\n').replace('\n', " ")
    }

    fn lazy_function(&mut self, name: &str, arguments: &[String]) -> String {
        let argument = |at: usize| arguments.get(at).map_or("", String::as_str);
        match name {
            "if" => {
                let condition = self.expand(argument(0).trim());
                if self.is_something(&condition) {
                    self.expand(argument(1))
                } else {
                    self.expand(&arguments.get(2..).unwrap_or(&[]).join(","))
                }
            }
            "or" | "and" => {
                let mut value = String::new();
                for argument in arguments {
                    value = self.expand(argument.trim());
                    if self.is_something(&value) == (name == "or") {
                        break;
                    }
                    if name == "or" {
                        value.clear();
                    }
                }
                if name == "and" && value.trim().is_empty() { String::new() } else { value }
            }
            "foreach" => self.foreach(argument(0), argument(1), &arguments.get(2..).unwrap_or(&[]).join(",")),
            "let" => {
                let names = self.expand(argument(0));
                let values = self.expand(argument(1));
                let mut values = values.split_whitespace();
                let mut frame = Frame::new();
                let names: Vec<&str> = names.split_whitespace().collect();
                for (at, name) in names.iter().enumerate() {
                    let value = if at + 1 == names.len() {
                        values.by_ref().collect::<Vec<_>>().join(" ")
                    } else {
                        values.next().unwrap_or("").to_owned()
                    };
                    frame.insert((*name).to_owned(), MakeVariable::simple(value, Origin::Automatic));
                }
                self.expand_with(frame, &arguments.get(2..).unwrap_or(&[]).join(","))
            }
            "call" => self.call(arguments),
            "value" => {
                let name = self.expand(argument(0));
                self.raw_value(name.trim()).unwrap_or_default()
            }
            _ => {
                let text = self.expand(&arguments.join(","));
                self.read(&text);
                String::new()
            }
        }
    }

    /// True if a condition is not empty.
    fn is_something(&mut self, text: &str) -> bool {
        let text = text.trim();
        if !text.is_empty() && text.chars().all(|letter| letter == UNKNOWN || crate::marks::is_source(letter)) {
            return self.ask();
        }
        !text.is_empty()
    }

    fn expand_with(&mut self, frame: Frame, text: &str) -> String {
        self.frames.push(frame);
        let value = self.expand(text);
        self.frames.pop();
        value
    }

    fn call(&mut self, arguments: &[String]) -> String {
        let name = arguments.first().map(|name| self.expand(name)).unwrap_or_default();
        let name = name.trim().to_owned();
        let mut frame = Frame::new();
        frame.insert("0".to_owned(), MakeVariable::simple(name.clone(), Origin::Automatic));
        let mut given = Vec::new();
        for (at, argument) in (1..10).zip(arguments.iter().skip(1)) {
            let value = self.expand(argument);
            given.push(value.clone());
            frame.insert(at.to_string(), MakeVariable::simple(value, Origin::Automatic));
        }
        // Arguments that are not given are empty, also inside of another call.
        for at in arguments.len().max(1)..10 {
            frame.insert(at.to_string(), MakeVariable::simple("", Origin::Automatic));
        }
        if let Some(count) = count_of(&name) {
            given.truncate(count.max(1));
            return text_function(&name, &given);
        }
        let text = self.raw_value(&name).unwrap_or_default();
        self.expand_with(frame, &text)
    }

    fn foreach(&mut self, name: &str, words: &str, text: &str) -> String {
        let (name, words) = (self.expand(name), self.expand(words));
        let mut results = Vec::new();
        let mut length = 0;
        for word in words.split_whitespace().take(MOST_GOALS) {
            let mut frame = Frame::new();
            frame.insert(name.trim().to_owned(), MakeVariable::simple(word, Origin::Automatic));
            let result = self.expand_with(frame, text);
            length += result.len() + 1;
            results.push(result);
            if length > LONGEST || self.walk.budget.is_exhausted() {
                return UNKNOWN.to_string();
            }
        }
        results.join(" ")
    }

    fn about_variable(&mut self, function: &str, name: &str) -> String {
        let variable = self.variable(name).cloned();
        let outside = if variable.is_none() { self.outside_value(name) } else { None };
        let text = match (function, variable) {
            ("origin", Some(variable)) => match variable.origin {
                Origin::Environment => "default",
                Origin::File => "file",
                Origin::CommandLine => "command line",
                Origin::Override => "override",
                Origin::Automatic => "automatic",
            },
            (_, Some(variable)) => {
                if variable.is_simple {
                    "simple"
                } else {
                    "recursive"
                }
            }
            _ if outside.as_deref().is_some_and(is_vague) => return UNKNOWN.to_string(),
            ("origin", None) if outside.is_some() => "environment",
            (_, None) if outside.is_some() => "recursive",
            _ => "undefined",
        };
        text.to_owned()
    }

    /// `$(file >name,text)`, `$(file <name)`
    fn file(&mut self, arguments: &[String]) -> String {
        let target = arguments.first().map(|target| self.expand(target)).unwrap_or_default();
        let target = target.trim();
        let text = self.expand(&arguments.get(1..).unwrap_or(&[]).join(","));
        if let Some(path) = target.strip_prefix('<') {
            return self.walk.read_file(path.trim()).trim_end_matches('\n').to_owned();
        }
        let text = if arguments.len() > 1 && !text.ends_with('\n') { format!("{text}\n") } else { text };
        let path = target.trim_start_matches('>').trim();
        self.walk.write_file(path, &text, target.starts_with(">>"));
        String::new()
    }

    /// The directory of a path, with its slash.
    fn directory_of(&mut self, path: &str) -> String {
        if let Some((directory, _)) = path.rsplit_once('/') {
            return format!("{directory}/");
        }
        let concrete = self.walk.world.concrete(path);
        match concrete.rsplit_once('/') {
            Some((directory, _)) if has_mark(path) => format!("{}/", self.walk.world.symbolic(directory)),
            _ => "./".to_owned(),
        }
    }
}

/// The arguments of a function, split at commas outside of references.
fn arguments(text: &str) -> Vec<String> {
    let mut arguments = vec![String::new()];
    let mut open = 0_usize;
    for letter in text.chars() {
        match letter {
            '(' | '{' => open += 1,
            ')' | '}' => open = open.saturating_sub(1),
            ',' if open == 0 => {
                arguments.push(String::new());
                continue;
            }
            _ => {}
        }
        arguments.last_mut().into_iter().for_each(|argument| argument.push(letter));
    }
    arguments
}

/// The number of arguments that a function of text takes.
fn count_of(name: &str) -> Option<usize> {
    Some(match name {
        "subst" | "patsubst" | "wordlist" => 3,
        "findstring" | "filter" | "filter-out" | "word" | "addsuffix" | "addprefix" | "join" | "intcmp" => 2,
        "strip" | "sort" | "words" | "firstword" | "lastword" | "notdir" | "suffix" | "basename" => 1,
        _ => return None,
    })
}

/// The value of a function of text.
fn text_function(name: &str, given: &[String]) -> String {
    let argument = |at: usize| given.get(at).map_or("", String::as_str);
    let last = given.last().map_or("", String::as_str);
    let words = || last.split_whitespace();
    let each = |change: &dyn Fn(&str) -> String| words().map(change).collect::<Vec<_>>().join(" ");
    let has_listing = last.contains(is_wild) || is_vague(last);
    match name {
        "subst" if argument(0).is_empty() => format!("{last}{}", argument(1)),
        "subst" => last.replace(argument(0), argument(1)),
        "patsubst" => patsubst(argument(0), argument(1), last),
        "strip" => each(&str::to_owned),
        "findstring" => match (last.contains(argument(0)), is_vague(last) || is_vague(argument(0))) {
            (true, _) => argument(0).to_owned(),
            (false, true) => UNKNOWN.to_string(),
            (false, false) => String::new(),
        },
        "filter" | "filter-out" => filtered(name, argument(0), last),
        "sort" => {
            let mut words: Vec<&str> = words().collect();
            words.sort_unstable();
            words.dedup();
            words.join(" ")
        }
        "words" if has_listing => UNKNOWN.to_string(),
        "words" => words().count().to_string(),
        "word" => match argument(0).trim().parse::<usize>() {
            Ok(at) if !has_listing => words().nth(at.saturating_sub(1)).unwrap_or("").to_owned(),
            _ => UNKNOWN.to_string(),
        },
        "wordlist" => match (argument(0).trim().parse::<usize>(), argument(1).trim().parse::<usize>()) {
            (Ok(from), Ok(to)) if !has_listing => {
                let from = from.max(1);
                let count = (to + 1).saturating_sub(from);
                words().skip(from - 1).take(count).collect::<Vec<_>>().join(" ")
            }
            _ => last.replace([STAR, TREE], &SOME.to_string()),
        },
        "firstword" => words().next().unwrap_or("").to_owned(),
        "lastword" => words().next_back().unwrap_or("").to_owned(),
        "notdir" => each(&|path| path.rsplit('/').next().unwrap_or(path).to_owned()),
        "suffix" => words().filter_map(|path| split_suffix(path).1).collect::<Vec<_>>().join(" "),
        "basename" => each(&|path| split_suffix(path).0.to_owned()),
        "addsuffix" => each(&|word| format!("{word}{}", argument(0))),
        "addprefix" => each(&|word| format!("{}{word}", argument(0))),
        "join" => {
            let (mut left, mut right) = (argument(0).split_whitespace(), words());
            let mut joined = Vec::new();
            loop {
                match (left.next(), right.next()) {
                    (None, None) => break joined.join(" "),
                    (left, right) => joined.push(format!("{}{}", left.unwrap_or(""), right.unwrap_or(""))),
                }
            }
        }
        _ => UNKNOWN.to_string(),
    }
}

fn split_suffix(path: &str) -> (&str, Option<&str>) {
    let name = path.rfind('/').map_or(0, |at| at + 1);
    match path.rfind('.').filter(|at| *at >= name) {
        Some(at) => (path.get(..at).unwrap_or(path), path.get(at..)),
        None => (path, None),
    }
}

/// The part of a word that `%` stands for.
pub(super) fn stem<'w>(pattern: &str, word: &'w str) -> Option<&'w str> {
    match pattern.split_once('%') {
        Some((before, after)) => {
            let rest = word.strip_prefix(before)?;
            rest.strip_suffix(after)
        }
        None => (pattern == word).then_some(""),
    }
}

/// `$(patsubst from,to,text)`
pub(super) fn patsubst(from: &str, to: &str, text: &str) -> String {
    let changed = text.split_whitespace().map(|word| match stem(from, word) {
        Some(stem) if from.contains('%') => to.replacen('%', stem, 1),
        Some(_) => to.to_owned(),
        None => word.to_owned(),
    });
    changed.collect::<Vec<_>>().join(" ")
}

fn filtered(name: &str, patterns: &str, text: &str) -> String {
    let keeps = name == "filter";
    let mut kept = Vec::new();
    for word in text.split_whitespace() {
        let matches = patterns.split_whitespace().any(|pattern| stem(pattern, word).is_some());
        if !matches && (word.contains(is_wild) || is_vague(word)) {
            // Names of a listing match or not; those that were chosen are no longer all.
            kept.push(if keeps { word.replace([STAR, TREE], &SOME.to_string()) } else { word.to_owned() });
        } else if matches == keeps {
            kept.push(word.to_owned());
        }
    }
    kept.join(" ")
}
