//! Tcl and `expect`: programs that start others or delete files, run one way over values that are known in part.
//!
//! A condition that is not known is answered once with yes and once with no, except where one answer ends the procedure or the round of a
//! loop: then the program goes on. Whatever a command gives that is not known is unknown.
//!
//! Invariant: steps, depth and texts are bounded.

mod control;
mod effects;
mod expr;
mod lists;
mod strings;
mod variables;
mod words;

use std::collections::{BTreeMap, HashMap};

use crate::marks::{UNKNOWN, has_mark};
use crate::walk::ScriptWalk;

use lists::list;
use words::{TclWord, commands};

/// The most commands of one program.
const MOST_STEPS: usize = 6_000;

/// The deepest nesting of scripts.
const DEEPEST: usize = 40;

/// The longest value, in bytes.
const LONGEST: usize = 16 << 10;

/// The reason that a script has ended early.
#[derive(Debug)]
enum Leaving {
    Return(String),
    Break,
    Continue,
    Error(String),
    Exit,
    /// The program is not followed any further.
    Stop,
}

type Outcome<T> = Result<T, Leaving>;

/// A variable of a procedure.
#[derive(Debug, Clone)]
enum TclVariable {
    Scalar(String),
    Array(BTreeMap<String, String>),
    /// A variable elsewhere: `upvar`, `global`.
    Link(usize, String),
}

/// The parameters of a procedure, each with its default, and its body.
#[derive(Debug, Clone)]
struct Procedure {
    parameters: Vec<(String, Option<String>)>,
    body: String,
    namespace: String,
}

/// A channel: the lines that are left to read, or the file or command that is written.
#[derive(Debug, Default)]
struct Channel {
    text: String,
    path: Option<String>,
    command: Option<Vec<String>>,
    written: String,
}

/// A program that runs.
struct Tcl<'w, 'g> {
    walk: &'w mut ScriptWalk<'g>,
    frames: Vec<HashMap<String, TclVariable>>,
    procedures: HashMap<String, Procedure>,
    /// Commands under other names: `interp alias`, `rename`.
    aliases: HashMap<String, Vec<String>>,
    namespace: String,
    channels: HashMap<String, Channel>,
    environment: BTreeMap<String, Option<String>>,
    steps: usize,
    depth: usize,
    answer: bool,
    asked: usize,
}

impl ScriptWalk<'_> {
    /// Runs a program of Tcl or `expect`.
    pub(super) fn run_tcl(&mut self, name: &str, arguments: &[String]) {
        let mut given = Vec::new();
        let code = match arguments.iter().position(|word| word == "-c") {
            Some(at) if name == "expect" => arguments.get(at + 1).cloned(),
            _ => match arguments.iter().position(|word| !word.starts_with('-') || word == "-") {
                Some(at) => {
                    given = arguments.get(at + 1..).unwrap_or(&[]).to_vec();
                    arguments.get(at).and_then(|file| self.code_in_file(file))
                }
                None => Some(std::mem::take(&mut self.world.shell.input).to_string()),
            },
        };
        let code = code.unwrap_or_default();
        let directory = self.directory();
        let first = self.rehearsal.is_none_or(|rehearsal| rehearsal.answer);
        let mut outputs = Vec::new();
        for answer in [first, !first] {
            if !self.budget.enter() {
                return;
            }
            self.world.shell.set_directory(directory.clone());
            let mut asked = 0;
            let output = self.capturing(|walk| asked = walk.tcl_once(&code, &given, answer));
            self.budget.leave();
            outputs.push(output);
            if let Some(rehearsal) = &mut self.rehearsal {
                rehearsal.asked += asked;
            }
            if asked == 0 || self.rehearsal.is_some() {
                break;
            }
        }
        self.world.shell.set_directory(directory);
        outputs.dedup();
        match outputs.as_slice() {
            [only] if !only.contains(UNKNOWN) && !only.is_empty() => self.write(only),
            _ => {
                let unknown = self.unknown_made_of(&code);
                self.write(&format!("{}{unknown}", outputs.first().map_or("", String::as_str)));
            }
        }
    }

    fn tcl_once(&mut self, code: &str, given: &[String], answer: bool) -> usize {
        let mut tcl = Tcl {
            walk: self,
            frames: vec![HashMap::new()],
            procedures: HashMap::new(),
            aliases: HashMap::new(),
            namespace: String::new(),
            channels: HashMap::new(),
            environment: BTreeMap::new(),
            steps: 0,
            depth: 0,
            answer,
            asked: 0,
        };
        let count = given.len().to_string();
        for (name, value) in [
            ("argv", list(given)),
            ("argc", count),
            ("argv0", "tclsh".to_owned()),
            ("tcl_platform(platform)", "unix".to_owned()),
        ] {
            tcl.set(name, value);
        }
        let _ = tcl.script(code);
        let names: Vec<String> = tcl.channels.keys().cloned().collect();
        for name in names {
            tcl.close(&name);
        }
        tcl.asked
    }
}

impl Tcl<'_, '_> {
    fn step(&mut self, cost: usize) -> Outcome<()> {
        self.steps += 1 + cost;
        self.walk.budget.spend(usize::from(self.steps.is_multiple_of(2)) + cost / 4);
        if self.steps > MOST_STEPS || self.walk.budget.is_exhausted() { Err(Leaving::Stop) } else { Ok(()) }
    }

    /// Answers a question that nothing in the program answers.
    fn ask(&mut self) -> bool {
        self.asked += 1;
        self.answer
    }

    /// Runs a script, and gives the result of its last command.
    fn script(&mut self, code: &str) -> Outcome<String> {
        self.step(code.len() / 256)?;
        if self.depth >= DEEPEST {
            return Err(Leaving::Stop);
        }
        self.depth += 1;
        let mut result = Ok(String::new());
        for command in commands(code) {
            result = self.command(&command);
            if result.is_err() {
                break;
            }
        }
        self.depth -= 1;
        result
    }

    fn command(&mut self, command: &[TclWord]) -> Outcome<String> {
        self.step(0)?;
        let mut words = Vec::new();
        for word in command {
            let text = if word.is_braced { word.text.replace("\\\n", " ") } else { self.replaced(&word.text)? };
            if word.expands { words.extend(lists::elements(&text)) } else { words.push(text) }
        }
        let Some((name, rest)) = words.split_first() else { return Ok(String::new()) };
        let result = self.call(name, rest)?;
        Ok(if result.len() > LONGEST { UNKNOWN.to_string() } else { result })
    }

    /// Runs a command by its words.
    fn call(&mut self, name: &str, words: &[String]) -> Outcome<String> {
        let name = name.strip_prefix("::").unwrap_or(name);
        if let Some(alias) = self.aliases.get(name).cloned()
            && let Some((target, more)) = alias.split_first()
        {
            let words: Vec<String> = more.iter().chain(words).cloned().collect();
            self.step(1)?;
            if self.depth >= DEEPEST {
                return Err(Leaving::Stop);
            }
            self.depth += 1;
            let result = self.call(target, &words);
            self.depth -= 1;
            return result;
        }
        if let Some(procedure) = self.procedure(name) {
            return self.call_procedure(&procedure, words);
        }
        let short = name.strip_prefix("tcl::mathfunc::").or_else(|| name.strip_prefix("tcl::mathop::")).unwrap_or(name);
        if let Some(result) = self.control(short, words)? {
            return Ok(result);
        }
        if let Some(result) = self.variable_command(short, words)? {
            return Ok(result);
        }
        if let Some(result) = self.effect(short, words)? {
            return Ok(result);
        }
        if let Some(result) = strings::text_command(self, short, words)? {
            return Ok(result);
        }
        Ok(lists::list_command(short, words).unwrap_or_else(|| UNKNOWN.to_string()))
    }

    fn procedure(&self, name: &str) -> Option<Procedure> {
        let own = if self.namespace.is_empty() { name.to_owned() } else { format!("{}::{name}", self.namespace) };
        self.procedures.get(&own).or_else(|| self.procedures.get(name)).cloned()
    }

    /// Runs a procedure. Its variables are its own.
    fn call_procedure(&mut self, procedure: &Procedure, words: &[String]) -> Outcome<String> {
        self.step(1)?;
        let mut frame = HashMap::new();
        let count = procedure.parameters.len();
        for (at, (parameter, default)) in procedure.parameters.iter().enumerate() {
            let value = match (words.get(at), default) {
                _ if parameter == "args" && at + 1 == count => list(words.get(at..).unwrap_or(&[])),
                (Some(word), _) => word.clone(),
                (None, Some(default)) => default.clone(),
                (None, None) => return Err(Leaving::Error("wrong # args".to_owned())),
            };
            frame.insert(parameter.clone(), TclVariable::Scalar(value));
        }
        if self.frames.len() > DEEPEST {
            return Err(Leaving::Stop);
        }
        self.frames.push(frame);
        let before = std::mem::replace(&mut self.namespace, procedure.namespace.clone());
        let result = self.script(&procedure.body);
        self.namespace = before;
        self.frames.pop();
        match result {
            Err(Leaving::Return(value)) => Ok(value),
            result => result,
        }
    }

    /// A word with the values of its variables and the results of its commands.
    fn replaced(&mut self, text: &str) -> Outcome<String> {
        if !text.contains(['$', '[', '\\']) {
            return Ok(text.to_owned());
        }
        self.step(text.len() / 256)?;
        let mut out = String::new();
        let mut rest = text;
        while let Some(at) = rest.find(['$', '[', '\\']) {
            out.push_str(rest.get(..at).unwrap_or(""));
            let sign = rest.get(at..=at).unwrap_or("");
            let after = rest.get(at + 1..).unwrap_or("");
            rest = match sign {
                "\\" => {
                    let (letter, taken) = words::unescaped(after);
                    out.push_str(&letter);
                    after.get(taken..).unwrap_or("")
                }
                "[" => {
                    let end = words::closing(after);
                    let result = self.script(after.get(..end).unwrap_or(""))?;
                    out.push_str(&result);
                    after.get(end + 1..).unwrap_or("")
                }
                _ => {
                    let (value, rest) = self.variable_ahead(after)?;
                    out.push_str(&value);
                    rest
                }
            };
            if out.len() > LONGEST {
                return Ok(UNKNOWN.to_string());
            }
        }
        out.push_str(rest);
        Ok(out)
    }

    /// The value of the variable that begins behind a dollar sign, and the text behind it.
    fn variable_ahead<'t>(&mut self, text: &'t str) -> Outcome<(String, &'t str)> {
        let (name, rest) = words::variable(text);
        if name.is_empty() {
            return Ok(("$".to_owned(), rest));
        }
        let value = match name.split_once('(').filter(|_| name.ends_with(')') && !text.starts_with('{')) {
            Some((array, index)) => {
                let index = self.replaced(index.strip_suffix(')').unwrap_or(index))?;
                self.value(&format!("{array}({index})"))
            }
            None => self.value(name),
        };
        match value {
            Some(value) => Ok((value, rest)),
            None => Err(Leaving::Error(format!("can't read \"{name}\": no such variable"))),
        }
    }

    /// The frame and the name behind links.
    fn place(&self, frame: usize, name: &str) -> (usize, String) {
        let (mut frame, mut name) = (frame, name.to_owned());
        if let Some(global) = name.strip_prefix("::") {
            return (0, global.to_owned());
        }
        if name.contains("::") {
            frame = 0;
        }
        for _ in 0..8 {
            match self.frames.get(frame).and_then(|variables| variables.get(&name)) {
                Some(TclVariable::Link(other, target)) => {
                    frame = *other;
                    name.clone_from(target);
                }
                _ => break,
            }
        }
        (frame, name)
    }

    fn level(&self) -> usize {
        self.frames.len().saturating_sub(1)
    }

    /// The value of a variable or of an element; none if it is not set.
    fn value(&mut self, name: &str) -> Option<String> {
        let (array, index) = element(name);
        let (frame, array) = self.place(self.level(), array);
        // A namespace has variables of its own.
        let inner = format!("{}::{array}", self.namespace);
        let found = self.frames.get(frame).and_then(|variables| variables.get(&array));
        let found = match found {
            None if !self.namespace.is_empty() && self.level() == 0 => {
                self.frames.first().and_then(|variables| variables.get(&inner))
            }
            found => found,
        };
        match (found, index) {
            (Some(TclVariable::Scalar(value)), None) => Some(value.clone()),
            (Some(TclVariable::Array(items)), Some(index)) => match items.get(index) {
                Some(value) => Some(value.clone()),
                None if has_mark(index) && !items.is_empty() => Some(UNKNOWN.to_string()),
                None => None,
            },
            (None, Some(index)) if array == "env" => match self.environment.get(index) {
                Some(value) => value.clone(),
                None => self.walk.exported_value(index),
            },
            _ => None,
        }
    }

    /// Sets a variable or an element of an array.
    fn set(&mut self, name: &str, value: String) {
        let value = if value.len() > LONGEST { UNKNOWN.to_string() } else { value };
        let (array, index) = element(name);
        let (frame, mut array) = self.place(self.level(), array);
        if frame == 0 && self.level() == 0 && !self.namespace.is_empty() && !array.contains("::") {
            let is_global = self.frames.first().is_some_and(|variables| variables.contains_key(&array));
            let inner = format!("{}::{array}", self.namespace);
            let is_inner = self.frames.first().is_some_and(|variables| variables.contains_key(&inner));
            if is_inner || !is_global {
                array = inner;
            }
        }
        if let Some(index) = index {
            if array == "env" {
                self.environment.insert(index.to_owned(), Some(value));
                return;
            }
            let index = index.to_owned();
            if let Some(variables) = self.frames.get_mut(frame) {
                match variables.entry(array).or_insert_with(|| TclVariable::Array(BTreeMap::new())) {
                    TclVariable::Array(items) if items.len() < 1024 => drop(items.insert(index, value)),
                    _ => {}
                }
            }
        } else if let Some(variables) = self.frames.get_mut(frame) {
            variables.insert(array, TclVariable::Scalar(value));
        }
    }

    fn array(&self, name: &str) -> Option<&BTreeMap<String, String>> {
        let (frame, name) = self.place(self.level(), name);
        let variables = self.frames.get(frame)?;
        let inner = format!("{}::{name}", self.namespace);
        match variables.get(&name).or_else(|| variables.get(&inner)) {
            Some(TclVariable::Array(items)) => Some(items),
            _ => None,
        }
    }

    /// The text if it is known letter by letter.
    fn plain(&self, text: &str) -> Option<String> {
        let text = self.walk.world.concrete(text);
        (!has_mark(&text)).then_some(text)
    }
}

/// The array and the index of `name(index)`.
fn element(name: &str) -> (&str, Option<&str>) {
    match name.split_once('(') {
        Some((array, index)) if name.ends_with(')') && !array.is_empty() => (array, index.strip_suffix(')')),
        _ => (name, None),
    }
}

#[cfg(test)]
mod tests;
