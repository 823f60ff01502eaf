//! One simple command: from its words to what it would do.

use std::rc::Rc;

use crate::intercept::Seen;
use crate::marks::{ONE, SET, SOME, STAR, UNKNOWN, readable};
use crate::pattern;
use crate::rules;
use crate::run::files::base_name;
use crate::run::{Flow, MOST_RECURSION, Run};
use crate::state::Value;
use crate::syntax::ast::{Assign, Assigned, Element, Simple};

/// Programs that a glob in the place of a command may mean: the ones that the rules and the resolver care about.
const BY_GLOB: [&str; 14] = [
    "rm", "git", "sh", "bash", "env", "find", "sudo", "xargs", "dash", "perl", "python3", "busybox", "nice", "timeout",
];

impl Run<'_> {
    pub(crate) fn simple(&mut self, simple: &Simple) -> Flow {
        self.spend(1);
        if self.over.is_some() {
            return Flow::Next;
        }
        let extent_before = std::mem::replace(&mut self.extent, simple.extent);
        let trail_before = std::mem::take(&mut self.trail);
        let unwrapped_before = self.unwrapped.len();
        let flow = self.simple_here(simple);
        self.unwrapped.truncate(unwrapped_before);
        self.trail = trail_before;
        self.extent = extent_before;
        flow
    }

    fn simple_here(&mut self, simple: &Simple) -> Flow {
        if let Some((name, text)) = self.alias_text(simple) {
            return self.run_alias(&name, &text);
        }
        if let Some(kind) = simple.words.first().and_then(crate::syntax::ast::Word::literal)
            && matches!(kind.as_str(), "declare" | "typeset" | "local" | "export" | "readonly")
            && !self.state.functions.contains_key(&kind)
        {
            self.declare(&kind, simple.words.get(1..).unwrap_or(&[]));
            self.channels(&simple.redirects);
            return Flow::Next;
        }
        let words = self.fields(&simple.words);
        self.spend(words.len() / 32);
        let channels = self.channels(&simple.redirects);
        if words.is_empty() {
            for assign in &simple.assigns {
                self.assignment(assign);
            }
            // `$(< file)` is what is in the file.
            if simple.assigns.is_empty()
                && self.nested > 0
                && let Some(text) = &channels.input
            {
                self.write(text);
            }
            return self.through(channels, |_| Flow::Next);
        }
        // `exec` without a command changes the shell's own channels.
        if words.len() == 1 && words.first().is_some_and(|word| word == "exec") {
            self.state.input = channels.input.unwrap_or_else(|| Rc::clone(&self.state.input));
            Rc::make_mut(&mut self.state.descriptors).extend(channels.descriptors);
            return Flow::Next;
        }
        self.notice(&channels);
        let before: Vec<_> = simple.assigns.iter().map(|assign| self.remember(&assign.name)).collect();
        for assign in &simple.assigns {
            self.assignment(assign);
            self.state.variable_mut(&assign.name).exported = true;
        }
        let last_word = words.last().cloned().unwrap_or_default();
        let flow = self.through(channels, |run| run.call(words));
        for (name, variable) in before.into_iter().rev() {
            self.state.restore(&name, variable);
        }
        self.state.last_word = last_word;
        flow
    }

    /// Notes what the interceptor would want to know of a command.
    fn notice(&mut self, channels: &crate::run::redirect::Channels) {
        if self.watches {
            self.context = Seen {
                words: Vec::new(),
                extent: self.extent,
                reads_pipe: self.state.reads_pipe,
                here: channels.here,
                files: channels.files.iter().map(|(path, _)| path.clone()).collect(),
            };
        }
    }

    /// The command with its alias replaced, if it has one that counts by now.
    fn alias_text(&mut self, simple: &Simple) -> Option<(String, String)> {
        if self.state.aliases.is_empty() || !self.state.expand_aliases {
            return None;
        }
        let name = simple.words.first()?.plain()?;
        let (text, line) = self.state.aliases.get(name)?.clone();
        let key = alias_key(name);
        let levels = self.stack.iter().filter(|open| open.starts_with("alias ")).count();
        if line >= self.line || self.stack.contains(&key) || levels > MOST_RECURSION {
            return None;
        }
        let rest = self.fields(simple.words.get(1..).unwrap_or(&[]));
        let quoted = rest.iter().map(|word| format!("'{}'", word.replace('\'', "'\\''")));
        Some((name.to_owned(), std::iter::once(text).chain(quoted).collect::<Vec<_>>().join(" ")))
    }

    /// Runs a command in which the alias `name` has been replaced. An alias is not replaced inside of itself.
    pub(super) fn run_alias(&mut self, name: &str, text: &str) -> Flow {
        self.stack.push(alias_key(name));
        let line = std::mem::replace(&mut self.line, usize::MAX);
        let flow = self.derived(text);
        self.line = line;
        self.stack.pop();
        flow
    }

    /// An assignment to a variable of this shell.
    pub(crate) fn assignment(&mut self, assign: &Assign) {
        let source = self.text.get(assign.extent.start..assign.extent.end).unwrap_or("");
        let origin: Option<Rc<str>> = if source.len() <= 120 { Some(source.into()) } else { None };
        match (&assign.value, &assign.index) {
            (Assigned::Array(elements), _) => self.assign_array(&assign.name, elements, assign.append, origin),
            (Assigned::Scalar(word), Some(index)) => {
                let key = self.text(index);
                let text = self.assigned_text(word);
                self.assign_element(&assign.name, &key, text, assign.append, origin);
            }
            (Assigned::Scalar(word), None) => {
                let mut text = self.assigned_text(word);
                if assign.append {
                    match self.value(&assign.name) {
                        Some(Value::Array(_) | Value::Table(_)) => {
                            return self.assign_element(&assign.name, "0", text, true, origin);
                        }
                        Some(value) => text = format!("{}{text}", value.scalar().unwrap_or("")),
                        None => text = format!("{UNKNOWN}{text}"),
                    }
                }
                self.assign(&assign.name, Value::Scalar(text), origin);
            }
        }
    }

    fn assign_element(&mut self, name: &str, key: &str, text: String, append: bool, origin: Option<Rc<str>>) {
        // Two tables of bash that change what a command means.
        if name == "BASH_ALIASES" {
            let line = self.line;
            Rc::make_mut(&mut self.state.aliases).insert(key.to_owned(), (text, line));
            return;
        }
        if name == "BASH_CMDS" {
            Rc::make_mut(&mut self.state.hashed).insert(key.to_owned(), text);
            return;
        }
        let value = match self.value(name) {
            Some(Value::Table(mut items)) => {
                let slot = items.entry(key.to_owned()).or_default();
                if append {
                    slot.push_str(&text);
                } else {
                    *slot = text;
                }
                Value::Table(items)
            }
            other => {
                let mut items = match other {
                    Some(Value::Array(items)) => items,
                    Some(Value::Scalar(first)) => [(0, first)].into(),
                    _ => std::collections::BTreeMap::new(),
                };
                let at = self.number(key).unwrap_or(0);
                let slot = items.entry(at).or_default();
                if append {
                    slot.push_str(&text);
                } else {
                    *slot = text;
                }
                Value::Array(items)
            }
        };
        self.assign(name, value, origin);
    }

    pub(crate) fn assign_array(&mut self, name: &str, elements: &[Element], append: bool, origin: Option<Rc<str>>) {
        let before = self.value(name);
        if matches!(before, Some(Value::Table(_))) {
            let mut items = match before {
                Some(Value::Table(items)) if append => items,
                _ => std::collections::BTreeMap::new(),
            };
            let mut key_of_pair: Option<String> = None;
            for element in elements {
                let text = self.text(&element.value);
                match (&element.index, key_of_pair.take()) {
                    (Some(index), _) => {
                        let key = self.text(index);
                        items.insert(key, text);
                    }
                    // `(key value key value)`
                    (None, Some(key)) => {
                        items.insert(key, text);
                    }
                    (None, None) => key_of_pair = Some(text),
                }
            }
            return self.assign(name, Value::Table(items), origin);
        }
        let mut items = match before {
            Some(Value::Array(items)) if append => items,
            Some(Value::Scalar(first)) if append => [(0, first)].into(),
            _ => std::collections::BTreeMap::new(),
        };
        let mut next = items.keys().next_back().map_or(0, |last| last.saturating_add(1));
        for element in elements {
            if let Some(index) = &element.index {
                let key = self.text(index);
                next = self.number(&key).unwrap_or(next);
                let text = self.text(&element.value);
                items.insert(next, text);
                next = next.saturating_add(1);
                continue;
            }
            for text in self.fields(std::slice::from_ref(&element.value)) {
                items.insert(next, text);
                next = next.saturating_add(1);
            }
        }
        self.assign(name, Value::Array(items), origin);
    }

    /// Runs a command with these words, whatever it turns out to be.
    pub(crate) fn call(&mut self, words: Vec<String>) -> Flow {
        if words.is_empty() || !self.enter() {
            return Flow::Next;
        }
        let unwrapped_before = self.unwrapped.len();
        let shown = shown(&words);
        if self.unwrapped.last() != Some(&shown) {
            self.unwrapped.push(shown);
        }
        let flow = self.resolve(words);
        self.unwrapped.truncate(unwrapped_before);
        self.depth -= 1;
        flow
    }

    fn resolve(&mut self, words: Vec<String>) -> Flow {
        let Some(first) = words.first() else { return Flow::Next };
        if let Some(body) = self.state.functions.get(first).cloned() {
            return self.function(&body, words);
        }
        if first.contains('/')
            && let Some(text) = self.known_file(first)
            && !text.contains(UNKNOWN)
        {
            self.run_file(&text, words);
            return Flow::Next;
        }
        let name = self.program(first);
        self.program_call(&name, &words)
    }

    fn function(&mut self, body: &Rc<crate::syntax::ast::Command>, words: Vec<String>) -> Flow {
        let mut words = words.into_iter();
        let name = words.next().unwrap_or_default();
        if self.stack.iter().filter(|open| **open == name).count() >= MOST_RECURSION {
            self.write(&UNKNOWN.to_string());
            return Flow::Next;
        }
        self.stack.push(name);
        let before = std::mem::replace(&mut self.state.arguments, Rc::new(words.collect()));
        let locals_before = self.locals.len();
        let extent = self.extent;
        self.command(body);
        self.extent = extent;
        for (name, variable) in self.locals.split_off(locals_before).into_iter().rev() {
            self.state.restore(&name, variable);
        }
        self.state.arguments = before;
        self.stack.pop();
        Flow::Next
    }

    /// The program that a command's first word means: without its path, through links that the script has made.
    pub(crate) fn program(&mut self, word: &str) -> String {
        self.spend(self.programs.len() / 16);
        if let Some(path) = self.state.hashed.get(word) {
            let path = path.clone();
            return base_name(&path).to_owned();
        }
        if word.contains('/') {
            if let Some(program) = self.program_at(word) {
                return program;
            }
        } else if let Some(program) = self.program_named(word) {
            return program;
        }
        let name = base_name(word);
        if name.contains([STAR, ONE, SET])
            && let Some(program) = BY_GLOB.iter().find(|program| pattern::may_be(name, program))
        {
            return (*program).to_owned();
        }
        // A variable that nobody has set, in the middle of a name, is there to be nothing.
        if name.contains([UNKNOWN, SOME]) && name.chars().any(|letter| letter.is_ascii_alphanumeric()) {
            return name.replace([UNKNOWN, SOME], "");
        }
        name.to_owned()
    }

    /// Runs a program of this name.
    pub(crate) fn program_call(&mut self, name: &str, words: &[String]) -> Flow {
        if self.watches && self.nested == 0 {
            let resolved = std::iter::once(name.to_owned()).chain(words.iter().skip(1).cloned()).collect();
            self.seen.push(Seen { words: resolved, ..self.context.clone() });
        }
        rules::judge(self, name, words);
        if let Some(flow) = self.builtin(name, words) {
            return flow;
        }
        if self.wrapper(name, words) || self.shell(name, words) || self.special(name, words) {
            return Flow::Next;
        }
        if !self.filter(name, words) {
            self.write(&UNKNOWN.to_string());
        }
        Flow::Next
    }

    /// Programs that run others in ways of their own.
    fn special(&mut self, name: &str, words: &[String]) -> bool {
        let arguments = words.get(1..).unwrap_or(&[]);
        match name {
            "xargs" | "gxargs" => self.xargs(arguments),
            "parallel" => self.parallel(arguments),
            "find" | "gfind" => self.find(arguments),
            "make" | "gmake" => self.make(arguments),
            "fd" | "fdfind" => self.fd(arguments),
            "git" | "hub" => self.git(arguments),
            "busybox" | "toybox" => {
                self.call(arguments.to_vec());
            }
            _ => match name.strip_prefix("git-") {
                Some(subcommand) => {
                    let words: Vec<String> =
                        std::iter::once(subcommand.to_owned()).chain(arguments.iter().cloned()).collect();
                    self.git(&words);
                }
                None => return self.interpreter(name, arguments),
            },
        }
        true
    }
}

/// The name of an alias among the functions that are on the way.
fn alias_key(name: &str) -> String {
    format!("alias {name}")
}

/// Words as one line that a person can read.
fn shown(words: &[String]) -> String {
    /// More than this is cut: the end of a long line says nothing.
    const LONGEST: usize = 160;
    let mut line = String::new();
    for word in words {
        if !line.is_empty() {
            line.push(' ');
        }
        line.push_str(&readable(word));
        if line.len() > LONGEST {
            let end = (0..=LONGEST).rev().find(|end| line.is_char_boundary(*end)).unwrap_or(0);
            line.truncate(end);
            line.push('…');
            break;
        }
    }
    line
}
