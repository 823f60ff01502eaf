//! Tcl and `expect`: programs that start others or delete files, followed command by command.
//!
//! Every branch is taken and loops go through their lists once. Whatever a command gives that is not known is unknown.

use std::collections::HashMap;

use crate::marks::{HOME, STAR, UNKNOWN, alive};
use crate::rules;
use crate::walk::ScriptWalk;
use crate::walk::tcl_words::{TclWord, commands, elements, list};

/// The most rounds of a loop, and the most commands of one script.
const MOST_ROUNDS: usize = 32;
const MOST_COMMANDS: usize = 512;

/// The longest value, in bytes.
const LONGEST: usize = 8 << 10;

/// The variables and procedures of a program.
#[derive(Debug, Default, Clone)]
struct TclState {
    values: HashMap<String, String>,
    procedures: HashMap<String, (Vec<String>, String)>,
}

impl ScriptWalk<'_> {
    /// Runs a program of Tcl or `expect`.
    pub(super) fn run_tcl(&mut self, name: &str, arguments: &[String]) {
        let mut state = TclState::default();
        state.values.insert("env(HOME)".to_owned(), HOME.to_string());
        let code = match arguments.iter().position(|word| word == "-c") {
            Some(at) if name == "expect" => arguments.get(at + 1).cloned(),
            _ => match arguments.iter().position(|word| !word.starts_with('-')) {
                Some(at) => {
                    let rest = arguments.get(at + 1..).unwrap_or(&[]);
                    state.values.insert("argv".to_owned(), list(rest));
                    arguments.get(at).and_then(|file| self.code_in_file(file))
                }
                None => Some(self.world.shell.input.to_string()),
            },
        };
        let code = code.unwrap_or_default();
        let directory = self.directory();
        self.tcl_script(&code, &mut state);
        self.world.shell.set_directory(directory);
        let unknown = self.unknown_made_of(&code);
        self.write(&unknown);
    }

    /// Runs a script, and gives the result of its last command.
    fn tcl_script(&mut self, code: &str, state: &mut TclState) -> String {
        let mut result = String::new();
        self.budget.spend(1 + code.len() / 32);
        if !self.budget.enter() {
            return UNKNOWN.to_string();
        }
        for command in commands(code).into_iter().take(MOST_COMMANDS) {
            self.budget.spend(1);
            result = self.tcl_command(&command, state);
        }
        self.budget.leave();
        result
    }

    fn tcl_command(&mut self, command: &[TclWord], state: &mut TclState) -> String {
        let mut words = Vec::new();
        for word in command {
            let text = if word.is_braced { word.text.clone() } else { self.tcl_replaced(&word.text, state) };
            if word.expands { words.extend(elements(&text)) } else { words.push(text) }
        }
        let Some((name, rest)) = words.split_first() else { return String::new() };
        let mut given = bounded(self.tcl_call(name.trim_start_matches("::"), rest, state));
        if given.is_empty() && rest.iter().any(|word| word.contains(UNKNOWN)) {
            given = UNKNOWN.to_string();
        }
        given
    }

    /// A word with the values of its variables and the results of its commands.
    fn tcl_replaced(&mut self, text: &str, state: &mut TclState) -> String {
        let mut out = String::new();
        let mut rest = text;
        while let Some(at) = rest.find(['$', '[', '\\']) {
            out.push_str(rest.get(..at).unwrap_or(""));
            let sign = rest.get(at..=at).unwrap_or("");
            let after = rest.get(at + 1..).unwrap_or("");
            rest = match sign {
                "\\" => {
                    let (taken, letter) = crate::syntax::unescape(after, true);
                    match letter.filter(|_| taken > 0) {
                        Some(letter) => out.push(letter),
                        None => out.extend(after.chars().next()),
                    }
                    let taken = if taken > 0 { taken } else { after.chars().next().map_or(0, char::len_utf8) };
                    after.get(taken..).unwrap_or("")
                }
                "[" => {
                    let end = closing(after);
                    let result = self.tcl_script(after.get(..end).unwrap_or(""), state);
                    out.push_str(&result);
                    after.get(end + 1..).unwrap_or("")
                }
                _ => {
                    let (name, after) = variable(after);
                    match state.values.get(name.trim_start_matches("::")) {
                        _ if name.is_empty() => out.push('$'),
                        Some(value) => out.push_str(value),
                        None => out.push(UNKNOWN),
                    }
                    after
                }
            };
            if out.len() > LONGEST {
                return UNKNOWN.to_string();
            }
        }
        out.push_str(rest);
        out
    }

    /// Runs a command, and gives its result.
    fn tcl_call(&mut self, name: &str, words: &[String], state: &mut TclState) -> String {
        if let Some((parameters, body)) = state.procedures.get(name).cloned() {
            return self.tcl_procedure(&parameters, &body, words, state);
        }
        match (name, words) {
            ("set", [variable]) => return state.values.get(variable).cloned().unwrap_or_default(),
            ("set", [variable, value, ..]) => {
                state.values.insert(variable.clone(), value.clone());
                return value.clone();
            }
            ("append" | "lappend", [variable, more @ ..]) => {
                let before = state.values.get(variable).cloned().unwrap_or_default();
                let more = if name == "append" { more.concat() } else { format!(" {}", list(more)) };
                let value = bounded(format!("{before}{more}")).trim_start().to_owned();
                state.values.insert(variable.clone(), value.clone());
                return value;
            }
            ("proc", [name, parameters, body]) => {
                let parameters = elements(parameters).into_iter();
                let names = parameters.filter_map(|parameter| elements(&parameter).into_iter().next());
                state.procedures.insert(name.clone(), (names.collect(), body.clone()));
            }
            ("exec" | "spawn", words) => return self.tcl_exec(words),
            ("system", words) => self.script_in_code(&words.join(" "), None),
            ("send", [.., keys]) => self.script_in_code(&keys.replace('\r', "\n"), None),
            ("open", [pipe, ..]) => {
                if let Some(command) = pipe.strip_prefix('|') {
                    return self.tcl_exec(&elements(command));
                }
            }
            ("puts", [.., text]) => {
                let text = format!("{text}\n");
                self.write(&text);
            }
            ("file", words) => return self.tcl_file(words),
            ("cd", [directory]) => {
                let path = self.absolute(directory);
                self.world.shell.set_directory(path);
            }
            ("pwd", _) => return self.directory(),
            ("glob", words) => {
                let pattern = words.iter().rev().find(|word| !word.starts_with('-'));
                let pattern = pattern.map_or(STAR.to_string(), |pattern| alive(pattern));
                let directory = words.iter().position(|word| word.starts_with("-d")).and_then(|at| words.get(at + 1));
                return directory.map_or_else(|| pattern.clone(), |directory| format!("{directory}/{pattern}"));
            }
            ("source", [.., file]) => {
                let code = self.code_in_file(file).unwrap_or_default();
                return self.tcl_script(&code, state);
            }
            _ => return self.tcl_control(name, words, state).unwrap_or_else(|| text_command(name, words)),
        }
        String::new()
    }

    /// Commands whose words are scripts. None if this is another one.
    fn tcl_control(&mut self, name: &str, words: &[String], state: &mut TclState) -> Option<String> {
        match (name, words) {
            ("eval" | "uplevel", words) => {
                let words: Vec<String> = words.iter().filter(|word| !word.starts_with('#')).cloned().collect();
                return Some(self.tcl_script(&words.join(" "), state));
            }
            ("subst", [.., text]) => return Some(self.tcl_replaced(text, state)),
            ("catch" | "time" | "try", [body, rest @ ..]) => {
                let result = self.tcl_script(body, state);
                if name == "try" {
                    rest.iter().filter(|word| word.contains(' ')).for_each(|word| drop(self.tcl_script(word, state)));
                } else if let Some(variable) = rest.first() {
                    state.values.insert(variable.clone(), result);
                }
            }
            ("foreach" | "lmap", [variables, items, .., body]) => {
                let (names, items) = (elements(variables), elements(items));
                for items in items.chunks(names.len().max(1)).take(MOST_ROUNDS) {
                    state.values.extend(names.iter().cloned().zip(items.iter().cloned()));
                    self.tcl_script(body, state);
                }
            }
            ("if" | "while" | "for", words) => {
                // Conditions are no scripts, but commands in them run.
                let condition = words.get(usize::from(name == "for")).cloned().unwrap_or_default();
                self.tcl_replaced(&condition, state);
                let is_body = |at: &usize| name != "if" || *at > 0;
                for (_, body) in words.iter().enumerate().filter(|(at, _)| is_body(at)) {
                    if !matches!(body.as_str(), "then" | "else" | "elseif") && *body != condition {
                        self.tcl_script(body, state);
                    }
                }
            }
            ("switch", [.., arms]) => {
                for body in elements(arms).iter().skip(1).step_by(2) {
                    self.tcl_script(body, state);
                }
            }
            ("after", [_, body @ ..]) => return Some(self.tcl_script(&body.join(" "), state)),
            _ => return None,
        }
        Some(String::new())
    }

    /// Runs a procedure. Its variables are its own.
    fn tcl_procedure(&mut self, parameters: &[String], body: &str, words: &[String], state: &TclState) -> String {
        let mut inner = state.clone();
        for (at, parameter) in parameters.iter().enumerate() {
            let value = match words.get(at) {
                _ if parameter == "args" => list(words.get(at..).unwrap_or(&[])),
                Some(word) => word.clone(),
                None => UNKNOWN.to_string(),
            };
            inner.values.insert(parameter.clone(), value);
        }
        self.tcl_script(body, &mut inner)
    }

    /// `exec`: a pipeline of programs, each as its words.
    fn tcl_exec(&mut self, words: &[String]) -> String {
        let mut input: Option<String> = None;
        let mut stages: Vec<Vec<String>> = vec![Vec::new()];
        let mut rest = words.iter();
        while let Some(word) = rest.next() {
            match word.as_str() {
                "|" | "|&" => stages.push(Vec::new()),
                "<<" => input = rest.next().cloned(),
                "<" | ">" | ">>" | "2>" | ">&" | ">@" | "2>@" | "<@" | ">&@" => drop(rest.next()),
                "&" | "-ignorestderr" | "-keepnewline" | "-noecho" | "--" => {}
                redirect if redirect.starts_with(['<', '>']) || redirect.starts_with("2>") => {}
                _ => stages.last_mut().into_iter().for_each(|stage| stage.push(word.clone())),
            }
        }
        self.world.nested += 1;
        for stage in stages {
            let before = input.take();
            let written = self.capturing(|walk| {
                walk.subshell(|walk| {
                    if let Some(text) = before {
                        walk.world.shell.input = text.into();
                    }
                    walk.call(stage)
                });
            });
            input = Some(written);
        }
        self.world.nested -= 1;
        input.unwrap_or_default().trim_end_matches('\n').to_owned()
    }

    /// `file`: paths, and `file delete`.
    fn tcl_file(&mut self, words: &[String]) -> String {
        match words {
            [action, rest @ ..] if "delete".starts_with(action.as_str()) && action.len() > 2 => {
                let forces = rest.iter().any(|word| word == "-force");
                for path in rest.iter().filter(|word| !matches!(word.as_str(), "-force" | "--")) {
                    let path = match path.strip_prefix('~') {
                        Some(rest) if rest.is_empty() || rest.starts_with('/') => format!("{HOME}{rest}"),
                        _ => path.clone(),
                    };
                    if forces {
                        rules::deleted(self, &path);
                    }
                }
                String::new()
            }
            [action, parts @ ..] if action == "join" => parts.iter().fold(String::new(), |path, part| {
                let is_whole = path.is_empty() || part.starts_with(['/', HOME]);
                if is_whole { part.clone() } else { format!("{}/{part}", path.trim_end_matches('/')) }
            }),
            [action, path, ..] if action == "normalize" => self.absolute(path),
            [action, path, ..] if action == "dirname" => {
                path.rsplit_once('/').map_or_else(|| ".".to_owned(), |(directory, _)| format!("{directory}/"))
            }
            _ => UNKNOWN.to_string(),
        }
    }
}

/// Commands that make text.
fn text_command(name: &str, words: &[String]) -> String {
    match (name, words) {
        ("string", [action, text, ..]) if action == "reverse" => text.chars().rev().collect(),
        ("string", [action, text, ..]) if action == "tolower" => text.to_lowercase(),
        ("string", [action, text, ..]) if action.starts_with("trim") => text.trim().to_owned(),
        ("string", [action, parts @ ..]) if action == "cat" => parts.concat(),
        ("string", [action, pairs, text]) if action == "map" => {
            elements(pairs).chunks(2).fold(text.clone(), |text, pair| match pair {
                [from, to] if !from.is_empty() => bounded(text.replace(from.as_str(), to)),
                _ => text,
            })
        }
        ("list", words) => list(words),
        ("concat", words) => words.join(" "),
        ("lreverse", [items]) => list(&elements(items).into_iter().rev().collect::<Vec<_>>()),
        ("join", [items, rest @ ..]) => elements(items).join(rest.first().map_or(" ", String::as_str)),
        ("split", [text, rest @ ..]) => {
            let separators = rest.first().map_or(" \n\t", String::as_str);
            list(&text.split(|letter| separators.contains(letter)).map(str::to_owned).collect::<Vec<_>>())
        }
        ("lindex", [items, at]) => {
            let items = elements(items);
            let at = if at == "end" { items.len().checked_sub(1) } else { at.parse().ok() };
            at.and_then(|at| items.get(at)).cloned().unwrap_or_else(|| UNKNOWN.to_string())
        }
        ("lrange", [items, from, _]) => {
            list(&elements(items).into_iter().skip(from.parse().unwrap_or(0)).collect::<Vec<_>>())
        }
        ("return", [.., value]) => value.clone(),
        ("format", [format, with @ ..]) => {
            let mut text = format.clone();
            for word in with {
                let code = word.parse().ok().and_then(char::from_u32).map(String::from);
                text = match (text.find("%c"), text.find("%s")) {
                    (Some(at), other) if other.is_none_or(|other| at < other) => {
                        text.replacen("%c", &code.unwrap_or_else(|| UNKNOWN.to_string()), 1)
                    }
                    _ => text.replacen("%s", word, 1),
                };
            }
            bounded(text)
        }
        _ => UNKNOWN.to_string(),
    }
}

fn bounded(text: String) -> String {
    if text.len() > LONGEST { UNKNOWN.to_string() } else { text }
}

/// The name of the variable that begins here, and the text behind it.
fn variable(text: &str) -> (&str, &str) {
    if let Some(braced) = text.strip_prefix('{') {
        return braced.split_once('}').unwrap_or((braced, ""));
    }
    let is_part = |letter: char| letter.is_alphanumeric() || matches!(letter, '_' | ':');
    let end = text.find(|letter| !is_part(letter)).unwrap_or(text.len());
    // `$env(HOME)`
    let end = match text.get(end..).filter(|rest| end > 0 && rest.starts_with('(')) {
        Some(rest) => rest.find(')').map_or(end, |close| end + close + 1),
        None => end,
    };
    text.split_at(end)
}

/// The place of the bracket that closes the one before this text, or the end of the text.
fn closing(text: &str) -> usize {
    let mut open = 1_usize;
    for (at, letter) in text.char_indices() {
        match letter {
            '[' => open += 1,
            ']' => open -= 1,
            _ => {}
        }
        if open == 0 {
            return at;
        }
    }
    text.len()
}
