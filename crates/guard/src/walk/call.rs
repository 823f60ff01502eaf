//! One simple command: from its words to its effects.

use std::rc::Rc;

use crate::finding::{LONGEST_FOUND, without_middle};
use crate::marks::{ONE, SET, SOME, STAR, UNKNOWN, is_vague, readable};
use crate::pattern;
use crate::resolved::ResolvedCommand;
use crate::rules;
use crate::walk::files::base_name;
use crate::walk::interest::interest;
use crate::walk::state::ShellValue;
use crate::walk::variables::CallKey;
use crate::walk::world::LocalVariable;
use crate::walk::{Flow, MOST_RECURSION, ScriptWalk};
use bashful_bash::ast::{Assign, AssignedValue, Element, Redirect, SimpleCommand};

/// Programs that a glob in the place of a command may mean: the ones that the rules and the resolver care about.
const BY_GLOB: [&str; 14] = [
    "rm", "git", "sh", "bash", "env", "find", "sudo", "xargs", "dash", "perl", "python3", "busybox", "nice", "timeout",
];

impl ScriptWalk<'_> {
    pub(crate) fn run_simple(&mut self, simple: &SimpleCommand) -> Flow {
        self.budget.spend(1);
        if self.budget.is_exhausted() {
            return Flow::Next;
        }
        let extent_before = std::mem::replace(&mut self.trail.extent, simple.extent);
        let trail_before = std::mem::take(&mut self.trail.assignments);
        if !self.world.shell.traps.is_empty() {
            self.run_debug_trap(simple.extent);
        }
        let unwrapped_before = self.trail.unwrapped.len();
        let flow = self.run_simple_here(simple);
        self.trail.unwrapped.truncate(unwrapped_before);
        self.trail.assignments = trail_before;
        self.trail.extent = extent_before;
        flow
    }

    fn run_simple_here(&mut self, simple: &SimpleCommand) -> Flow {
        if let Some((name, text)) = self.alias_text(simple) {
            return self.run_alias(&name, &text);
        }
        if let Some(kind) = simple.words.first().and_then(bashful_bash::ast::ShellWord::literal)
            && matches!(kind.as_str(), "declare" | "typeset" | "local" | "export" | "readonly")
            && !self.world.shell.functions.contains_key(&kind)
        {
            let flow = self.run_redirected(&simple.redirects, |walk| {
                walk.declare(&kind, simple.words.get(1..).unwrap_or(&[]));
                Flow::Next
            });
            self.world.certainty.status = None;
            return flow;
        }
        if let Some((first, tested)) = simple.words.split_first()
            && matches!(first.plain(), Some("[" | "test"))
        {
            self.note_tested(tested);
        }
        self.world.certainty.take_doubtful();
        let words = self.expand_fields(&simple.words);
        let is_doubtful = self.world.certainty.take_doubtful();
        self.budget.spend(words.len() / 32);
        let channels = self.open_channels(&simple.redirects);
        if words.is_empty() {
            for assign in &simple.assigns {
                self.assignment(assign);
            }
            self.world.certainty.status = None;
            // `$(< file)` is the text of the file.
            if simple.assigns.is_empty()
                && self.world.nested > 0
                && let Some(text) = &channels.input
            {
                self.write(text);
            }
            return self.run_with_channels(channels, |_| Flow::Next);
        }
        // `exec` without a command changes the shell's own channels.
        if words.len() == 1 && words.first().is_some_and(|word| word == "exec") {
            self.world.shell.input = channels.input.unwrap_or_else(|| Rc::clone(&self.world.shell.input));
            Rc::make_mut(&mut self.world.shell.descriptors).extend(channels.descriptors);
            Rc::make_mut(&mut self.world.shell.writers).extend(channels.writers);
            self.world.certainty.status = None;
            return Flow::Next;
        }
        self.watch_command(&channels);
        let before: Vec<_> = simple.assigns.iter().map(|assign| self.world.remember(&assign.name)).collect();
        for assign in &simple.assigns {
            self.assignment(assign);
            self.world.shell.variable_mut(&assign.name).exported = true;
        }
        let last_word = words.last().cloned().unwrap_or_default();
        let key = simple.assigns.is_empty().then(|| CallKey {
            words: words.clone(),
            input: channels.input.clone(),
            files: channels.files.clone(),
        });
        // A function's status is that of its last command, and so is that of `exit` and `return`.
        let first = words.first().map_or("", String::as_str);
        let keeps_status =
            self.world.shell.functions.contains_key(first) || matches!(first, "exit" | "return") && !is_doubtful;
        let is_plain = simple.redirects.is_empty() && !is_doubtful;
        let outcome = if keeps_status || !is_plain { None } else { self.outcome_of(&words) };
        self.world.hides_errors = simple.redirects.iter().any(Redirect::hides_errors);
        let hides = usize::from(self.world.hides_errors);
        self.world.hidden += hides;
        let flow = self.run_with_channels(channels, |walk| walk.call_with_choices(key, words));
        self.world.hidden -= hides;
        if !keeps_status || !simple.redirects.is_empty() {
            self.world.certainty.status = outcome;
        }
        for (name, variable) in before.into_iter().rev() {
            self.world.shell.restore(&name, variable);
        }
        self.world.shell.last_word = last_word;
        if simple.redirects.is_empty() { flow } else { flow.or_others() }
    }

    /// Notes a command for a caller that listens.
    fn watch_command(&mut self, channels: &crate::walk::redirect::Channels) {
        if let Some(watch) = &mut self.trail.watch {
            watch.current = ResolvedCommand {
                words: Vec::new(),
                extent: self.trail.extent,
                reads_pipe: self.world.shell.reads_pipe,
                has_here_text: channels.here,
                files: channels.files.iter().map(|(path, _)| path.clone()).collect(),
            };
        }
    }

    /// The command with its alias replaced, if it has one that counts by now.
    fn alias_text(&mut self, simple: &SimpleCommand) -> Option<(String, String)> {
        if self.world.shell.aliases.is_empty() || !self.world.shell.expand_aliases {
            return None;
        }
        let name = simple.words.first()?.plain()?;
        let (text, line) = self.world.shell.aliases.get(name)?.clone();
        let key = alias_key(name);
        let levels = self.world.calls.iter().filter(|open| open.starts_with("alias ")).count();
        if line >= self.world.line || self.world.calls.contains(&key) || levels > MOST_RECURSION {
            return None;
        }
        // An alias that ends in a blank lets the next word be one, too.
        let (mut text, mut taken) = (text, 1);
        while text.ends_with([' ', '\t'])
            && let Some(name) = simple.words.get(taken).and_then(bashful_bash::ast::ShellWord::plain)
            && let Some((more, _)) = self.world.shell.aliases.get(name)
        {
            text.push_str(more);
            taken += 1;
        }
        let rest = self.expand_fields(simple.words.get(taken..).unwrap_or(&[]));
        let quoted = rest.iter().map(|word| format!("'{}'", word.replace('\'', "'\\''")));
        Some((name.to_owned(), std::iter::once(text).chain(quoted).collect::<Vec<_>>().join(" ")))
    }

    /// Runs a command in which the alias `name` has been replaced. An alias is not replaced inside of itself.
    pub(super) fn run_alias(&mut self, name: &str, text: &str) -> Flow {
        self.world.calls.push(alias_key(name));
        let line = std::mem::replace(&mut self.world.line, usize::MAX);
        let flow = self.run_derived(text);
        self.world.line = line;
        self.world.calls.pop();
        flow
    }

    /// An assignment to a variable of this shell.
    pub(crate) fn assignment(&mut self, assign: &Assign) {
        let origin = self.trail.origin(assign.extent);
        match (&assign.value, &assign.index) {
            (AssignedValue::Array(elements), _) => self.assign_array(&assign.name, elements, assign.append, origin),
            (AssignedValue::Scalar(word), Some(index)) => {
                let key = self.expand_text(index);
                let text = self.expand_assigned(word);
                self.assign_element(&assign.name, &key, text, assign.append, origin);
            }
            (AssignedValue::Scalar(word), None) => {
                let mut text = self.expand_assigned(word);
                if assign.append {
                    match self.value(&assign.name) {
                        Some(ShellValue::Array(_) | ShellValue::Table(_)) => {
                            return self.assign_element(&assign.name, "0", text, true, origin);
                        }
                        Some(value) => text = format!("{}{text}", value.scalar().unwrap_or("")),
                        None if self.world.shell.outside.lacks(&assign.name) => {}
                        None => text = format!("{UNKNOWN}{text}"),
                    }
                }
                self.assign(&assign.name, ShellValue::Scalar(text), origin);
            }
        }
    }

    /// Gives a value to a variable or to an element, by the text that names it: `x`, `a[1]`.
    pub(super) fn assign_named(&mut self, name: &str, text: String) {
        match name.strip_suffix(']').and_then(|name| name.split_once('[')) {
            Some((array, key)) => self.assign_element(array, key, text, false, None),
            None => self.assign(name, ShellValue::Scalar(text), None),
        }
    }

    pub(crate) fn assign_element(
        &mut self,
        name: &str,
        key: &str,
        text: String,
        append: bool,
        origin: Option<Rc<str>>,
    ) {
        // Two tables of bash that change the meaning of a command.
        if name == "BASH_ALIASES" {
            let line = self.world.line;
            Rc::make_mut(&mut self.world.shell.aliases).insert(key.to_owned(), (text, line));
            return;
        }
        if name == "BASH_CMDS" {
            Rc::make_mut(&mut self.world.shell.hashed).insert(key.to_owned(), text);
            return;
        }
        let value = match self.value(name) {
            Some(ShellValue::Table(mut items)) => {
                let slot = items.entry(key.to_owned()).or_default();
                if append {
                    slot.push_str(&text);
                } else {
                    *slot = text;
                }
                ShellValue::Table(items)
            }
            other => {
                let mut items = match other {
                    Some(ShellValue::Array(items)) => items,
                    Some(ShellValue::Scalar(first)) => [(0, first)].into(),
                    _ => std::collections::BTreeMap::new(),
                };
                let at = self.number(key).unwrap_or(0);
                let next = items.keys().next_back().map_or(0, |last| last.saturating_add(1));
                let at = if at < 0 { next.saturating_add(at) } else { at };
                let slot = items.entry(at).or_default();
                if append {
                    slot.push_str(&text);
                } else {
                    *slot = text;
                }
                ShellValue::Array(items)
            }
        };
        self.assign(name, value, origin);
    }

    pub(crate) fn assign_array(&mut self, name: &str, elements: &[Element], append: bool, origin: Option<Rc<str>>) {
        let before = self.value(name);
        if matches!(before, Some(ShellValue::Table(_))) {
            let mut items = match before {
                Some(ShellValue::Table(items)) if append => items,
                _ => std::collections::BTreeMap::new(),
            };
            let mut key_of_pair: Option<String> = None;
            for element in elements {
                let text = self.expand_text(&element.value);
                match (&element.index, key_of_pair.take()) {
                    (Some(index), _) => {
                        let key = self.expand_text(index);
                        items.insert(key, text);
                    }
                    // `(key value key value)`
                    (None, Some(key)) => {
                        items.insert(key, text);
                    }
                    (None, None) => key_of_pair = Some(text),
                }
            }
            return self.assign(name, ShellValue::Table(items), origin);
        }
        let mut items = match before {
            Some(ShellValue::Array(items)) if append => items,
            Some(ShellValue::Scalar(first)) if append => [(0, first)].into(),
            _ => std::collections::BTreeMap::new(),
        };
        let mut next = items.keys().next_back().map_or(0, |last| last.saturating_add(1));
        for element in elements {
            if let Some(index) = &element.index {
                let key = self.expand_text(index);
                next = self.number(&key).unwrap_or(next);
                let text = self.expand_text(&element.value);
                items.insert(next, text);
                next = next.saturating_add(1);
                continue;
            }
            for text in self.expand_fields(std::slice::from_ref(&element.value)) {
                items.insert(next, text);
                next = next.saturating_add(1);
            }
        }
        self.assign(name, ShellValue::Array(items), origin);
    }

    /// Runs a command with these words: a function, a builtin, a file or a program.
    pub(crate) fn call(&mut self, words: Vec<String>) -> Flow {
        // Every wrapper copies the words behind it.
        self.budget.spend(words.len() / 8);
        if words.is_empty() || self.budget.is_exhausted() || !self.budget.enter() {
            return Flow::Next;
        }
        let unwrapped_before = self.trail.unwrapped.len();
        let shown = shown(&words);
        if self.trail.unwrapped.last() != Some(&shown) {
            self.trail.unwrapped.push(shown);
        }
        let flow = self.resolve(words);
        self.trail.unwrapped.truncate(unwrapped_before);
        self.budget.leave();
        flow
    }

    fn resolve(&mut self, words: Vec<String>) -> Flow {
        let Some(first) = words.first() else { return Flow::Next };
        if let Some(body) = self.world.shell.functions.get(first).cloned() {
            return self.call_function(&body, words);
        }
        if first.contains('/')
            && let Some(text) = self.known_file(first)
            && !text.contains(UNKNOWN)
        {
            self.run_file(&text, words);
            return Flow::Next;
        }
        if !first.contains('/')
            && let Some(text) = self.script_on_path(first)
        {
            // The program of that name is judged as well: whether the file could be written is not known.
            self.run_file(&text, words.clone());
        }
        // A command that is not known may be one of the script's own functions.
        if is_vague(first) {
            self.judge_sources(&first.clone());
            self.world.shell.outside.alter();
        }
        // Variables that nobody has set, before a command, are there to be nothing.
        let is_blank = |word: &String| !word.is_empty() && word.chars().all(|letter| letter == UNKNOWN);
        let blank = words.iter().take_while(|word| is_blank(word)).count();
        if (1..words.len()).contains(&blank) {
            return self.call(words.get(blank..).unwrap_or(&[]).to_vec());
        }
        let name = self.program(first);
        self.program_call(&name, &words)
    }

    fn call_function(&mut self, body: &Rc<bashful_bash::ast::ShellCommand>, words: Vec<String>) -> Flow {
        let mut words = words.into_iter();
        let name = words.next().unwrap_or_default();
        let levels = self.world.calls.iter().filter(|open| **open == name).count();
        // Deeper calls would go ways that the walk has been certain not to go so far, so the last one goes every way.
        let goes_every_way = levels == MOST_RECURSION && self.is_certain();
        let is_recursive = levels >= MOST_RECURSION && !goes_every_way;
        if is_recursive || self.is_called_enough(&name, words.as_slice()) {
            self.write(&UNKNOWN.to_string());
            // It may change anything once more.
            self.world.shell.outside.is_altered = true;
            return Flow::Next;
        }
        self.world.calls.push(name);
        let before = std::mem::replace(&mut self.world.shell.arguments, Rc::new(words.collect()));
        let locals_before = self.world.locals.len();
        let loops_before = std::mem::take(&mut self.world.loops);
        let extent = self.trail.extent;
        if goes_every_way {
            self.run_inexactly(|walk| walk.run_command(body));
        } else {
            self.run_command(body);
        }
        self.trail.extent = extent;
        if self.world.shell.traps.iter().any(|trap| trap.events.iter().any(|event| event == "RETURN")) {
            self.run_trap("RETURN");
        }
        let locals = self.world.locals.split_off(locals_before.min(self.world.locals.len()));
        for LocalVariable { name, hidden, .. } in locals.into_iter().rev() {
            self.world.shell.restore(&name, hidden);
        }
        self.world.shell.arguments = before;
        self.world.loops = loops_before;
        self.world.calls.pop();
        Flow::Next
    }

    /// Counts a call of a function; true if it was called so often that one more with these arguments shows nothing new.
    fn is_called_enough(&mut self, name: &str, arguments: &[String]) -> bool {
        let most = self.budget.detail().calls;
        let count = self.world.called.entry(name.to_owned()).or_default();
        if *count >= most && arguments.iter().all(|argument| interest(argument) < 2) {
            return true;
        }
        *count += 1;
        false
    }

    /// The program that a command's first word means: without its path, through links that the script has made.
    pub(crate) fn program(&mut self, word: &str) -> String {
        self.budget.spend(self.world.files.programs.len() / 16);
        if let Some(path) = self.world.shell.hashed.get(word) {
            let path = path.clone();
            return self.program_at(&path).unwrap_or_else(|| base_name(&path).to_owned());
        }
        if word.contains('/') {
            if let Some(program) = self.program_at(word) {
                return program;
            }
        } else if !BY_GLOB.contains(&word)
            // A copy of something else under such a name need not be on the search path, and then the program itself runs.
            && let Some(program) = self.world.files.program_named(word)
        {
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
        if self.world.nested == 0
            && let Some(watch) = &mut self.trail.watch
        {
            let words = std::iter::once(name.to_owned()).chain(words.iter().skip(1).cloned()).collect();
            watch.commands.push(ResolvedCommand { words, ..watch.current.clone() });
        }
        rules::judge(self, name, words);
        self.judge_made(name, words);
        if let Some(flow) = self.run_builtin(name, words) {
            return flow;
        }
        if self.run_wrapper(name, words) || self.start_shell(name, words) || self.run_special(name, words) {
            return Flow::Next;
        }
        let text = if let Some(text) = self.filter(name, words) {
            text
        } else {
            const HANDLER: &str = "command_not_found_handle";
            if self.world.shell.functions.contains_key(HANDLER) && !self.world.calls.iter().any(|open| open == HANDLER)
            {
                let words = std::iter::once(HANDLER.to_owned()).chain(words.iter().cloned());
                self.subshell(|walk| walk.call(words.collect()));
            }
            let given = self.text_given_to(words);
            self.unknown_made_of(&given)
        };
        let text = self.marked_as_made(name, words, text);
        self.write(&text);
        Flow::Next
    }

    /// Programs that run others in ways of their own.
    fn run_special(&mut self, name: &str, words: &[String]) -> bool {
        let arguments = words.get(1..).unwrap_or(&[]);
        match name {
            "xargs" | "gxargs" => self.run_xargs(arguments),
            "parallel" => self.run_parallel(arguments),
            "find" | "gfind" => self.run_find(arguments),
            "make" | "gmake" => self.run_make(arguments),
            "fd" | "fdfind" => self.run_fd(arguments),
            "git" | "hub" => self.run_git(arguments),
            "busybox" | "toybox" => {
                self.call(arguments.to_vec());
            }
            _ if self.run_scripted(name, arguments) => {}
            _ => match name.strip_prefix("git-") {
                Some(subcommand) => {
                    let words: Vec<String> =
                        std::iter::once(subcommand.to_owned()).chain(arguments.iter().cloned()).collect();
                    self.run_git(&words);
                }
                None => return self.run_interpreter(name, arguments),
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
    let words: Vec<String> = words.iter().map(|word| readable(&without_middle(word, LONGEST_FOUND))).collect();
    without_middle(&words.join(" "), LONGEST_FOUND).into_owned()
}
