//! Commands of Tcl that run scripts, and those that change variables.

use crate::marks::{NAME, SOME, STAR, TREE, UNKNOWN};
use crate::walk::tcl::lists::{elements, list, matches};
use crate::walk::tcl::words::commands;
use crate::walk::tcl::{Leaving, Outcome, Procedure, Tcl, TclVariable};

/// The most rounds of a loop over a list.
const MOST_ROUNDS: usize = 256;

impl Tcl<'_, '_> {
    /// Commands whose words are scripts. None if this is another one.
    pub(super) fn control(&mut self, name: &str, words: &[String]) -> Outcome<Option<String>> {
        Ok(Some(match (name, words) {
            ("if", words) => return self.branches(words).map(Some),
            ("while", [condition, body]) => {
                self.rounds(condition, None, body)?;
                String::new()
            }
            ("for", [first, condition, step, body]) => {
                self.script(first)?;
                self.rounds(condition, Some(step), body)?;
                String::new()
            }
            ("foreach" | "lmap", [.., body]) if words.len() > 2 => {
                return self.each(name == "lmap", words.get(..words.len() - 1).unwrap_or(&[]), body).map(Some);
            }
            ("switch", words) => return self.switch(words).map(Some),
            ("catch", [body, rest @ ..]) => {
                let (code, result) = match self.script(body) {
                    Ok(result) => ("0", result),
                    Err(Leaving::Error(message)) => ("1", message),
                    Err(Leaving::Return(value)) => ("2", value),
                    Err(Leaving::Break) => ("3", String::new()),
                    Err(Leaving::Continue) => ("4", String::new()),
                    Err(other) => return Err(other),
                };
                if let Some(variable) = rest.first() {
                    self.set(variable, result);
                }
                // A command that was run may fail; its success is not known.
                if body.contains("exec") || body.contains("file") { UNKNOWN.to_string() } else { code.to_owned() }
            }
            ("try", [body, rest @ ..]) => return self.attempt(body, rest).map(Some),
            ("eval", words) => return self.script(&words.join(" ")).map(Some),
            ("uplevel", [level, rest @ ..]) => return self.upwards(level, rest).map(Some),
            ("time", [body, ..]) => {
                self.script(body)?;
                UNKNOWN.to_string()
            }
            ("after", [_, body @ ..]) if !body.is_empty() => return self.script(&body.join(" ")).map(Some),
            ("namespace", [action, rest @ ..]) => return self.namespace(action, rest).map(Some),
            ("apply", [function, given @ ..]) => {
                let parts = elements(function);
                let procedure = Procedure {
                    parameters: parameters(parts.first().map_or("", String::as_str)),
                    body: parts.get(1).cloned().unwrap_or_default(),
                    namespace: String::new(),
                };
                return self.call_procedure(&procedure, given).map(Some);
            }
            ("tailcall", [name, rest @ ..]) => {
                let value = self.call(name, rest)?;
                return Err(Leaving::Return(value));
            }
            ("proc", [name, given, body]) => {
                let name = name.strip_prefix("::").unwrap_or(name);
                let full = if self.namespace.is_empty() || name.contains("::") {
                    name.to_owned()
                } else {
                    format!("{}::{name}", self.namespace)
                };
                let namespace = full.rsplit_once("::").map_or("", |(namespace, _)| namespace).to_owned();
                self.procedures
                    .insert(full, Procedure { parameters: parameters(given), body: body.clone(), namespace });
                String::new()
            }
            ("return", words) => {
                let is_error = words.windows(2).any(|pair| matches!(pair, [option, code] if option == "-code" && matches!(code.as_str(), "error" | "1")));
                let options = words.iter().take_while(|word| word.starts_with('-')).count() * 2;
                let value =
                    words.get(options.min(words.len())..).and_then(|rest| rest.last()).cloned().unwrap_or_default();
                return Err(if is_error { Leaving::Error(value) } else { Leaving::Return(value) });
            }
            ("break", []) => return Err(Leaving::Break),
            ("continue", []) => return Err(Leaving::Continue),
            ("exit", _) => return Err(Leaving::Exit),
            ("error", [message, ..]) | ("throw", [_, message]) => return Err(Leaving::Error(message.clone())),
            ("expr", words) => return self.expression(&words.join(" ")).map(Some),
            ("subst", words) => return self.substituted(words).map(Some),
            ("rename", [from, to]) => {
                if let Some(procedure) = self.procedures.remove(from) {
                    self.procedures.insert(to.clone(), procedure);
                } else if !to.is_empty() {
                    self.aliases.insert(to.clone(), vec![from.clone()]);
                }
                String::new()
            }
            ("interp", [action, _, from, _, target @ ..]) if action == "alias" => {
                self.aliases.insert(from.clone(), target.to_vec());
                String::new()
            }
            _ => return Ok(None),
        }))
    }

    /// True if a condition holds. Where that is not known, the way is taken that goes on.
    pub(super) fn decide(&mut self, condition: &str, body: &str, otherwise: Option<&str>) -> Outcome<bool> {
        if let Some(truth) = self.truth(condition)? {
            return Ok(truth);
        }
        let holds = match (leaves(body), otherwise.is_some_and(leaves)) {
            (true, false) => false,
            (false, true) => true,
            _ => self.ask(),
        };
        self.narrow(condition, holds);
        Ok(holds)
    }

    /// A condition about the names of a listing leaves some of them, and no longer everything.
    pub(super) fn narrow(&mut self, condition: &str, holds: bool) {
        let is_kind =
            condition.contains("file is") || condition.contains("file exists") || condition.contains("file type");
        let is_negative = condition.trim_start().starts_with('!')
            || condition.contains(" ne ")
            || condition.contains("!=")
            || condition.contains(" ni ");
        let is_test = [
            "string match",
            "string equal",
            "regexp",
            " eq ",
            " ne ",
            "==",
            " in ",
            "lsearch",
            "file extension",
            "glob",
        ];
        if is_kind || holds == is_negative || !is_test.iter().any(|test| condition.contains(test)) {
            return;
        }
        let frame = self.level();
        if let Some(variables) = self.frames.get_mut(frame) {
            for variable in variables.values_mut() {
                if let TclVariable::Scalar(text) = variable
                    && text.contains([STAR, TREE, NAME])
                {
                    *text = text.replace([STAR, TREE, NAME], &SOME.to_string());
                }
            }
        }
    }

    pub(super) fn branches(&mut self, words: &[String]) -> Outcome<String> {
        let mut rest = words;
        loop {
            let Some((condition, after)) = rest.split_first() else { return Ok(String::new()) };
            let after = after.strip_prefix(&["then".to_owned()]).unwrap_or(after);
            let Some((body, after)) = after.split_first() else { return Ok(String::new()) };
            let last = match after {
                [word, body] if word == "else" => Some(body.as_str()),
                [body] => Some(body.as_str()),
                _ => None,
            };
            if self.decide(condition, body, last)? {
                return self.script(body);
            }
            match after {
                [word, ..] if word == "elseif" => rest = after.get(1..).unwrap_or(&[]),
                [word, body, ..] if word == "else" => return self.script(body),
                [body] => return self.script(body),
                _ => return Ok(String::new()),
            }
        }
    }

    pub(super) fn rounds(&mut self, condition: &str, step: Option<&str>, body: &str) -> Outcome<()> {
        let mut unknown = 0;
        loop {
            self.step(0)?;
            match self.truth(condition)? {
                Some(true) => {}
                Some(false) => return Ok(()),
                None => {
                    unknown += 1;
                    if unknown > 1 {
                        return Ok(());
                    }
                }
            }
            match self.script(body) {
                Ok(_) | Err(Leaving::Continue) => {}
                Err(Leaving::Break) => return Ok(()),
                Err(other) => return Err(other),
            }
            if let Some(step) = step {
                self.script(step)?;
            }
        }
    }

    /// `foreach names list names list … body`
    pub(super) fn each(&mut self, collects: bool, words: &[String], body: &str) -> Outcome<String> {
        let lists: Vec<(Vec<String>, Vec<String>)> = words
            .chunks(2)
            .map(|pair| {
                (elements(pair.first().map_or("", String::as_str)), elements(pair.get(1).map_or("", String::as_str)))
            })
            .collect();
        let count = lists.iter().map(|(names, items)| items.len().div_ceil(names.len().max(1))).max().unwrap_or(0);
        let mut results = Vec::new();
        for round in 0..count.min(MOST_ROUNDS) {
            self.step(0)?;
            for (names, items) in &lists {
                for (at, name) in names.iter().enumerate() {
                    let item = items.get(round * names.len() + at).cloned().unwrap_or_default();
                    self.set(name, item);
                }
            }
            match self.script(body) {
                Ok(result) => results.push(result),
                Err(Leaving::Continue) => {}
                Err(Leaving::Break) => break,
                Err(other) => return Err(other),
            }
        }
        Ok(if collects { list(&results) } else { String::new() })
    }

    pub(super) fn switch(&mut self, words: &[String]) -> Outcome<String> {
        let options = words.iter().take_while(|word| word.starts_with('-') && *word != "--").count();
        let kind = words.iter().take(options).find(|word| matches!(word.as_str(), "-glob" | "-regexp")).cloned();
        let rest = words.get(options..).unwrap_or(&[]);
        let rest = rest.strip_prefix(&["--".to_owned()]).unwrap_or(rest);
        let Some((value, arms)) = rest.split_first() else { return Ok(String::new()) };
        let arms = match arms {
            [only] => elements(only),
            arms => arms.to_vec(),
        };
        let known = self.plain(value);
        let mut falls = false;
        for (at, arm) in arms.chunks(2).enumerate() {
            let (Some(pattern), Some(body)) = (arm.first(), arm.get(1)) else { break };
            let is_last = (at + 1) * 2 >= arms.len();
            let fits = falls
                || pattern == "default" && is_last
                || match (&known, kind.as_deref()) {
                    (Some(value), None) => value == pattern,
                    (Some(value), Some("-glob")) => matches(pattern, value),
                    (Some(value), _) => self.call("regexp", &[pattern.clone(), value.clone()])? == "1",
                    (None, _) => self.ask(),
                };
            if fits {
                if body == "-" {
                    falls = true;
                    continue;
                }
                return self.script(body);
            }
        }
        Ok(String::new())
    }

    pub(super) fn attempt(&mut self, body: &str, rest: &[String]) -> Outcome<String> {
        let mut result = self.script(body);
        let mut rest = rest;
        while let [kind, code, names, handler, after @ ..] = rest {
            if !matches!(kind.as_str(), "on" | "trap") {
                break;
            }
            rest = after;
            let is_error = kind == "trap" || matches!(code.as_str(), "error" | "1");
            if let (true, Err(Leaving::Error(message))) = (is_error, &result) {
                let message = message.clone();
                if let Some(name) = elements(names).first() {
                    self.set(name, message);
                }
                result = self.script(handler);
            }
        }
        if let [word, last, ..] = rest
            && word == "finally"
        {
            self.script(last)?;
        }
        result
    }

    /// Runs a script among the variables of a caller.
    pub(super) fn upwards(&mut self, level: &str, rest: &[String]) -> Outcome<String> {
        let is_level = level.starts_with('#') || level.parse::<usize>().is_ok() && !rest.is_empty();
        let script = if is_level {
            rest.join(" ")
        } else {
            std::iter::once(level.to_owned()).chain(rest.iter().cloned()).collect::<Vec<_>>().join(" ")
        };
        let frame = if is_level { self.frame_at(level) } else { self.level().saturating_sub(1) };
        let inner = self.frames.split_off((frame + 1).min(self.frames.len()));
        let result = self.script(&script);
        self.frames.truncate(frame + 1);
        self.frames.extend(inner);
        result
    }

    pub(super) fn frame_at(&self, level: &str) -> usize {
        match level.strip_prefix('#') {
            Some(number) => number.parse().unwrap_or(0).min(self.level()),
            None => self.level().saturating_sub(level.parse().unwrap_or(1)),
        }
    }

    pub(super) fn namespace(&mut self, action: &str, words: &[String]) -> Outcome<String> {
        match (action, words) {
            ("eval", [name, body @ ..]) => {
                let name = name.strip_prefix("::").unwrap_or(name);
                let full =
                    if self.namespace.is_empty() { name.to_owned() } else { format!("{}::{name}", self.namespace) };
                let before = std::mem::replace(&mut self.namespace, full);
                let result = self.script(&body.join(" "));
                self.namespace = before;
                result
            }
            ("current", _) => Ok(format!("::{}", self.namespace)),
            ("import", names) => {
                for name in names.iter().filter(|name| !name.starts_with('-')) {
                    let name = name.strip_prefix("::").unwrap_or(name);
                    let found: Vec<(String, Procedure)> = self
                        .procedures
                        .iter()
                        .filter(|(own, _)| matches(name, own))
                        .map(|(own, procedure)| (own.clone(), procedure.clone()))
                        .collect();
                    for (own, procedure) in found {
                        let short = own.rsplit("::").next().unwrap_or(&own).to_owned();
                        self.procedures.insert(short, procedure);
                    }
                }
                Ok(String::new())
            }
            ("ensemble", _) => {
                // `namespace ensemble create`: the namespace is a command, and its procedures are the subcommands.
                let namespace = self.namespace.clone();
                self.aliases.insert(namespace.clone(), vec!["__ensemble".to_owned(), namespace]);
                Ok(String::new())
            }
            ("tail", [name]) => Ok(name.rsplit("::").next().unwrap_or(name).to_owned()),
            _ => Ok(String::new()),
        }
    }

    pub(super) fn substituted(&mut self, words: &[String]) -> Outcome<String> {
        let Some((text, options)) = words.split_last() else { return Ok(String::new()) };
        let has = |option: &str| options.iter().any(|word| word == option);
        if has("-nocommands") || has("-novariables") {
            let mut text = text.clone();
            if has("-nocommands") {
                text = text.replace('[', "\\[");
            }
            if has("-novariables") {
                text = text.replace('$', "\\$");
            }
            return self.replaced(&text);
        }
        self.replaced(text)
    }
}

/// The parameters of a procedure.
fn parameters(text: &str) -> Vec<(String, Option<String>)> {
    let parameters = elements(text).into_iter().map(|parameter| {
        let mut parts = elements(&parameter).into_iter();
        (parts.next().unwrap_or_default(), parts.next())
    });
    parameters.collect()
}

/// True if a script ends the procedure, the round of a loop or the program.
fn leaves(body: &str) -> bool {
    let last = commands(body).pop();
    let first = last.and_then(|command| command.first().map(|word| word.text.clone()));
    first.is_some_and(|word| matches!(word.as_str(), "return" | "continue" | "break" | "exit" | "error" | "throw"))
}
