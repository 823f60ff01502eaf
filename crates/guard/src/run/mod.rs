//! Walks through a script as bash would, without doing anything.
//!
//! Every command that would run is resolved to the words it would be given; the rules look at those. Branches are all
//! taken and joined afterwards, loops over known lists are run through, unknown conditions count as true and as false.
//! What a command writes is known for the few that scripts use to put text together.
//!
//! Invariant: the number of steps is bounded ([`Run::spend`]), the depth by [`DEEPEST`], the length of each text by
//! [`LONGEST_TEXT`]. Running out of them is never silent: see [`Run::give_up`].

mod builtins;
mod call;
mod code;
mod compound;
mod declare;
mod decode;
pub(crate) mod files;
mod filters;
mod find;
mod git;
mod leftover;
mod print;
mod redirect;
mod shells;
mod tokens;
mod values;
mod wrapper_table;
mod wrappers;
mod xargs;

use std::collections::HashMap;
use std::rc::Rc;

use crate::finding::Finding;
use crate::guard::{Guard, Prelude, Spelled};
use crate::intercept::Seen;
use crate::marks::{HOME, REPO, START, UNKNOWN};
use crate::state::{State, Value, Variable};
use crate::syntax::ast::{Extent, List};
use crate::syntax::{Parser, Stop};

/// Simple commands, iterations and the like, for a short script. A loop over loops over loops has more.
const MOST_STEPS: usize = 60_000;

/// A long script gets one step more for every so many bytes: about a command a line.
const BYTES_A_STEP: usize = 16;

/// How deep commands may be nested while they run, over all scripts in scripts.
const DEEPEST: usize = 48;

/// The longest text that a command's output or a variable is followed through, in bytes.
const LONGEST_TEXT: usize = 64 << 10;

/// All text that the script puts together and then runs, in bytes.
const MOST_DERIVED: usize = 512 << 10;

/// How many combinations of doubtful variables one command is looked at with.
const MOST_CHOICES: usize = 24;

/// How often a function may be on the way at once. Deeper levels see nothing that the first ones do not.
const MOST_RECURSION: usize = 3;

/// What a command does to the commands after it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Flow {
    /// The next one follows.
    Next,
    /// Control goes elsewhere: `exit`, `return`, `break`.
    Leaves,
}

/// A doubtful variable, and which of its values is being looked at.
#[derive(Debug)]
struct Choice {
    name: String,
    picked: usize,
    of: usize,
}

/// A walk through one script.
pub(crate) struct Run<'g> {
    pub(crate) guard: &'g Guard,
    pub(crate) place: &'g Prelude,
    spelled: Spelled,
    /// Commands are kept for the interceptor.
    watches: bool,
    /// The definitions and the script, one behind the other.
    pub(crate) text: &'g str,
    /// Where in the text the script begins.
    pub(crate) script_start: usize,
    pub(crate) state: State,
    /// Where in the script the command stands that is being looked at.
    pub(crate) extent: Extent,
    pub(crate) findings: Vec<Finding>,
    /// Commands for the interceptor.
    pub(crate) seen: Vec<Seen>,
    /// What the interceptor would know of the current command.
    context: Seen,
    /// What the commands have written that nobody has taken yet.
    out: String,
    /// Files that the script has written, by path.
    files: HashMap<String, String>,
    /// Who reads what is written to these paths: `>(…)`.
    readers: HashMap<String, Rc<List>>,
    /// Programs that the script has copied or linked, by path.
    programs: HashMap<String, String>,
    /// What the script has put into git's configuration.
    git_config: Vec<(String, String)>,
    /// Names of functions that are on the way.
    stack: Vec<String>,
    /// What the local variables of those functions hide.
    locals: Vec<(String, Option<Variable>)>,
    choices: Option<Vec<Choice>>,
    /// The assignments that the words of the current command came from.
    pub(crate) trail: Vec<Rc<str>>,
    /// The words of the commands around the current one: what it was unwrapped from.
    pub(crate) unwrapped: Vec<String>,
    steps: usize,
    depth: usize,
    derived: usize,
    line: usize,
    /// How many substitutions and scripts in scripts the current command is in.
    nested: usize,
    processes: usize,
    pub(crate) over: Option<&'static str>,
    /// The script does not parse to its end.
    pub(crate) incomplete: bool,
}

impl<'g> Run<'g> {
    /// A walk that has not begun. The script begins at `script_start` of `text`, behind definitions that are run first.
    pub(crate) fn new(
        guard: &'g Guard,
        (text, script_start): (&'g str, usize),
        place: &'g Prelude,
        watches: bool,
    ) -> Self {
        let spelled = Spelled {
            home: place.home.clone().unwrap_or_else(|| "/home/user".to_owned()),
            directory: place.directory.clone().unwrap_or_else(|| "/work/project".to_owned()),
        };
        Self {
            guard,
            place,
            spelled,
            watches,
            context: Seen::default(),
            text,
            script_start,
            state: State::new(),
            extent: Extent::default(),
            findings: Vec::new(),
            seen: Vec::new(),
            out: String::new(),
            files: HashMap::new(),
            readers: HashMap::new(),
            programs: HashMap::new(),
            git_config: Vec::new(),
            stack: Vec::new(),
            locals: Vec::new(),
            choices: None,
            trail: Vec::new(),
            unwrapped: Vec::new(),
            steps: 0,
            depth: 0,
            derived: 0,
            line: 0,
            nested: 0,
            processes: 0,
            over: None,
            incomplete: false,
        }
    }

    /// Walks through the definitions and the whole script.
    pub(crate) fn whole(&mut self) {
        let (definitions, script) = (0..self.script_start, self.script_start..self.text.len());
        self.lines(Parser::within(self.text, definitions), false);
        let before = self.state.clone();
        self.lines(Parser::within(self.text, script), true);
        self.run_traps();
        if self.place.persistent {
            self.call_new_definitions(&before);
        }
    }

    /// Walks through text that the script has put together, in the shell that is running.
    pub(crate) fn derived(&mut self, text: &str) -> Flow {
        self.derived += text.len();
        if self.derived > MOST_DERIVED {
            self.give_up("it puts together too much text to run");
            return Flow::Next;
        }
        let extent = self.extent;
        let flow = self.lines(Parser::derived(text, extent), false);
        self.extent = extent;
        flow
    }

    /// bash runs each line before it reads the next, so whatever stands before an error still counts.
    fn lines(&mut self, mut parser: Parser<'_>, is_script: bool) -> Flow {
        let mut flow = Flow::Next;
        if !self.enter() {
            return flow;
        }
        loop {
            match parser.line() {
                Ok(Some(list)) => {
                    self.line = self.line.saturating_add(1);
                    flow = self.list(&list);
                }
                Ok(None) => break,
                Err(Stop::Syntax) => {
                    self.incomplete |= is_script;
                    break;
                }
                Err(Stop::Budget) => {
                    self.give_up("it is nested too deeply");
                    break;
                }
            }
            if self.over.is_some() {
                break;
            }
        }
        self.depth -= 1;
        flow
    }

    /// Says that the script is too much to be judged. The verdict is then that somebody has to look at it.
    pub(crate) fn give_up(&mut self, why: &'static str) {
        self.over.get_or_insert(why);
    }

    /// Counts steps, and gives up after too many.
    pub(crate) fn spend(&mut self, steps: usize) {
        self.steps = self.steps.saturating_add(steps);
        if self.steps > MOST_STEPS + self.text.len() / BYTES_A_STEP {
            self.give_up("it has too many steps to follow");
        }
    }

    /// Goes one level deeper, if that is still allowed. Whoever enters has to take it back.
    fn enter(&mut self) -> bool {
        if self.over.is_some() {
            return false;
        }
        if self.depth >= DEEPEST {
            self.give_up("it is nested too deeply");
            return false;
        }
        self.depth += 1;
        true
    }

    /// Runs `inner` in a copy of the shell, which is gone afterwards.
    pub(crate) fn subshell<T>(&mut self, inner: impl FnOnce(&mut Self) -> T) -> T {
        let mut copy = self.state.clone();
        copy.traps.clear();
        let before = std::mem::replace(&mut self.state, copy);
        let result = inner(self);
        self.run_traps();
        self.state = before;
        result
    }

    /// Runs `inner` in a new shell with these arguments, which is gone afterwards.
    pub(crate) fn new_shell(&mut self, zero: String, arguments: Vec<String>, inner: impl FnOnce(&mut Self)) {
        self.spend(1 + self.state.size() / 16);
        let mut child = self.state.child();
        child.zero = zero;
        child.arguments = Rc::new(arguments);
        let before = std::mem::replace(&mut self.state, child);
        inner(self);
        self.run_traps();
        self.state = before;
    }

    /// Runs `inner` and takes what it writes.
    pub(crate) fn capturing(&mut self, inner: impl FnOnce(&mut Self)) -> String {
        let before = std::mem::take(&mut self.out);
        inner(self);
        std::mem::replace(&mut self.out, before)
    }

    /// What a substitution writes.
    pub(crate) fn capture(&mut self, list: &Rc<List>) -> String {
        if !self.enter() {
            return UNKNOWN.to_string();
        }
        self.nested += 1;
        let extent = self.extent;
        let trail = std::mem::take(&mut self.trail);
        let text = self.capturing(|run| {
            run.subshell(|run| run.list(list));
        });
        self.trail = trail;
        self.extent = extent;
        self.nested -= 1;
        self.depth -= 1;
        text
    }

    /// `<(…)`: a path from which what the commands write can be read.
    pub(crate) fn process_file(&mut self, list: &Rc<List>) -> String {
        let text = self.capture(list);
        let path = self.process_path();
        self.files.insert(path.clone(), text);
        path
    }

    /// `>(…)`: a path that the commands read from.
    pub(crate) fn process_reader(&mut self, list: &Rc<List>) -> String {
        self.read_by(list, UNKNOWN.to_string());
        let path = self.process_path();
        self.readers.insert(path.clone(), Rc::clone(list));
        path
    }

    fn process_path(&mut self) -> String {
        self.processes += 1;
        // Far above what scripts use by number.
        format!("/dev/fd/{}", 1000 + self.processes)
    }

    /// Lets the commands read this text.
    fn read_by(&mut self, list: &Rc<List>, text: String) {
        let written = self.capturing(|run| {
            if run.enter() {
                run.nested += 1;
                run.subshell(|run| {
                    run.state.input = text.into();
                    run.list(list)
                });
                run.nested -= 1;
                run.depth -= 1;
            }
        });
        self.write(&written);
    }

    /// Adds to what the commands write.
    pub(crate) fn write(&mut self, text: &str) {
        // Long texts that go round and round are work, too.
        self.spend(text.len() / 512);
        if self.out.len() + text.len() > LONGEST_TEXT {
            if !self.out.ends_with(UNKNOWN) {
                self.out.push(UNKNOWN);
            }
        } else {
            self.out.push_str(text);
        }
    }

    /// The value of a variable, whichever of its values is being looked at.
    pub(crate) fn value(&mut self, name: &str) -> Option<Value> {
        let mut name = name;
        let mut variable = self.state.variable(name)?;
        // A name that refers to itself goes nowhere.
        for _ in 0..4 {
            match &variable.refers_to {
                Some(other) => {
                    name = other;
                    match self.state.variable(name) {
                        Some(other) => variable = other,
                        None => return State::inherited(name).map(Value::Scalar),
                    }
                }
                None => break,
            }
        }
        if let Some(origin) = &variable.origin
            && self.trail.len() < 4
            && !self.trail.contains(origin)
        {
            self.trail.push(Rc::clone(origin));
        }
        if variable.others.is_empty() {
            return Some(variable.value.clone());
        }
        let Some(choices) = &mut self.choices else { return Some(variable.value.clone()) };
        let known = choices.iter().find(|choice| choice.name == name).map(|choice| choice.picked);
        let picked = known.unwrap_or_else(|| {
            choices.push(Choice { name: name.to_owned(), picked: 0, of: variable.others.len() + 1 });
            0
        });
        let value = picked.checked_sub(1).and_then(|other| variable.others.get(other)).unwrap_or(&variable.value);
        Some(value.clone())
    }

    /// Gives a variable a value.
    pub(crate) fn assign(&mut self, name: &str, value: Value, origin: Option<Rc<str>>) {
        if self.state.is_shared() {
            self.spend(self.state.size() / 16);
        }
        let work = match &value {
            Value::Scalar(text) => text.len() / 512,
            Value::Array(items) => items.len() / 4,
            Value::Table(items) => items.len() / 4,
            Value::Unset => 0,
        };
        self.spend(work);
        let target = self.state.variable(name).and_then(|variable| variable.refers_to.clone());
        let name = target.as_deref().unwrap_or(name);
        let value = match value {
            Value::Scalar(text) if text.len() > LONGEST_TEXT => Value::Scalar(UNKNOWN.to_string()),
            // Nothing known twice is nothing known.
            Value::Scalar(text) if !text.is_empty() && text.chars().all(|letter| letter == UNKNOWN) => {
                Value::Scalar(UNKNOWN.to_string())
            }
            other => other,
        };
        self.state.set(name, value, origin);
        if self.state.exports_all {
            self.state.variable_mut(name).exported = true;
        }
    }

    /// Runs a command once for every combination of the doubtful variables that it looks at, and joins what comes of it.
    fn choosing(&mut self, command: &mut dyn FnMut(&mut Self) -> Flow) -> Flow {
        if self.state.doubtful == 0 || self.choices.is_some() {
            return command(self);
        }
        let before = self.state.clone();
        let written = self.out.len();
        self.choices = Some(Vec::new());
        let mut flow = command(self);
        let mut joined: Option<State> = None;
        for _ in 1..MOST_CHOICES {
            if self.over.is_some() || !self.next_choice() {
                break;
            }
            let after = std::mem::replace(&mut self.state, before.clone());
            joined = Some(match joined {
                Some(joined) => joined.join(&after),
                None => after,
            });
            // One of the outputs is enough: they only differ in what is doubtful.
            let first = self.out.split_off(written.min(self.out.len()));
            flow = command(self);
            if self.out.len() == written {
                self.out.push_str(&first);
            }
        }
        self.choices = None;
        if let Some(joined) = joined {
            self.state = joined.join(&self.state);
        }
        flow
    }

    /// Moves on to the next combination, as one counts up a number.
    fn next_choice(&mut self) -> bool {
        let Some(choices) = &mut self.choices else { return false };
        while let Some(last) = choices.last_mut() {
            last.picked += 1;
            if last.picked < last.of {
                return true;
            }
            choices.pop();
        }
        false
    }

    /// A text in which the directories are spelled out, for cutting pieces off.
    pub(crate) fn concrete(&self, text: &str) -> String {
        if !text.contains([HOME, START, REPO]) {
            return text.to_owned();
        }
        let place = &self.spelled;
        text.replace(HOME, &place.home).replace([START, REPO], &place.directory)
    }

    /// The reverse of [`Self::concrete`].
    pub(crate) fn symbolic(&self, text: &str) -> String {
        let place = &self.spelled;
        for (path, mark) in [(&place.directory, START), (&place.home, HOME)] {
            if let Some(rest) = text.strip_prefix(path.as_str())
                && (rest.is_empty() || rest.starts_with('/'))
            {
                return format!("{mark}{rest}");
            }
        }
        // A directory above one of them, which is not the root.
        for (path, mark) in [(&place.directory, START), (&place.home, HOME)] {
            let rest = path.strip_prefix(text).filter(|rest| rest.starts_with('/') && text.starts_with('/'));
            if let Some(rest) = rest {
                let levels = rest.matches('/').count();
                return format!("{mark}{}", "/..".repeat(levels));
            }
        }
        text.to_owned()
    }

    /// A variable as it was, to be put back later.
    fn remember(&self, name: &str) -> (String, Option<Variable>) {
        (name.to_owned(), self.state.variable(name).cloned())
    }

    /// Runs what was set to run at the end of this shell.
    fn run_traps(&mut self) {
        for (action, extent) in std::mem::take(&mut self.state.traps) {
            self.extent = extent;
            self.derived(&action);
        }
    }
}
