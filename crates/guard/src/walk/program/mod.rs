//! Programs in Python and JavaScript that a script holds: read as a whole, and run over values that are known in part.
//!
//! A trial runs a program one way, exactly. A question whose answer is not known is answered one way, and another trial of the same program answers it the other way. So
//! every trial has one state, and nothing has to be joined. Where a command may fail and the program catches that, one trial lets it
//! fail. The first trial answers as programs mostly go; the others differ from one before them in one answer.
//!
//! Invariant: trials of one program share a number of steps. Whatever they do not follow to its end is told, never passed over.

#![expect(clippy::match_same_arms, reason = "names and their meanings are tables, one line each")]

mod arguments;
mod assign;
mod bound;
mod call;
mod classes;
mod codecs;
mod collections;
mod commands;
mod convert;
mod dicts;
mod effects;
mod escapes;
mod eval;
mod files;
mod format;
mod functions;
mod generators;
mod items;
mod iterate;
mod itertools;
mod json;
mod lexer;
mod listing;
mod lists;
mod managers;
mod member;
mod natives;
mod numbers;
mod objects;
mod operate;
mod parse;
mod paths;
mod primary;
mod processes;
mod promises;
mod python;
mod python_calls;
mod python_classes;
mod python_modules;
mod regexes;
mod resort;
mod run;
mod script;
mod script_calls;
mod script_modules;
mod script_objects;
mod streams;
mod syntax;
#[cfg(test)]
mod tests;
mod text;
mod value;

use std::collections::{HashMap, HashSet, VecDeque};
use std::rc::Rc;

use crate::marks::UNKNOWN;
use crate::rules;
use crate::walk::ScriptWalk;

use parse::ProgramReader;
use syntax::{ForLoop, Statement, WithBlock};
use value::{Cell, Heap, Id, Scope, Value};

/// A language whose programs are run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Language {
    Python,
    Script,
}

impl Language {
    /// The language of an interpreter, by the name of its program without a version.
    pub(super) fn named(name: &str) -> Option<Self> {
        match name {
            "python" | "pypy" | "ipython" => Some(Self::Python),
            "node" | "nodejs" | "bun" | "deno" => Some(Self::Script),
            _ => None,
        }
    }
}

/// The longest program that is tried, in bytes.
const LONGEST: usize = 64 << 10;

/// The most trials of one program.
const MOST_TRIALS: usize = 40;

/// The most steps of all trials of one program.
const MOST_STEPS: usize = 48_000;

/// The most steps of one trial.
const MOST_STEPS_ONCE: usize = 24_000;

/// The most answers of one trial that others may differ from.
const MOST_ANSWERS: usize = 120;

/// The most answers at one place that others may differ from.
const MOST_AT_PLACE: usize = 3;

/// The end of a part of a program that does not go on.
#[derive(Debug, Clone)]
enum Stop {
    Raise(Value),
    Return(Value),
    Break(Option<Rc<str>>),
    Continue(Option<Rc<str>>),
    /// A generator has yielded all that it was asked for.
    Pause,
    /// The program ends itself.
    Exit,
    /// The steps are used up.
    Halt,
}

/// The result of a part of a program.
type Run<T> = Result<T, Stop>;

/// A call that has begun and not ended.
#[derive(Debug, Clone, Default)]
struct Frame {
    scope: Id,
    this: Option<Value>,
    /// The class whose method this is.
    home: Option<Id>,
    /// The values that a generator has yielded.
    yields: Option<Vec<Value>>,
    /// The values that were sent to it.
    sent: Vec<Value>,
    /// It pauses behind one more than so many values.
    most_yields: Option<usize>,
    /// The consumer of its values, who runs between them.
    hook: Option<Hook>,
    /// The exception that is being handled.
    handled: Option<Value>,
}

/// The consumer of a generator's values: a loop or a `with`, in the frame that it belongs to.
#[derive(Debug, Clone)]
enum Hook {
    For(Rc<ForLoop>, Option<Rc<str>>, usize),
    With(Rc<WithBlock>, usize, usize),
}

/// An answer to a question that the program does not answer.
#[derive(Debug, Clone, Copy)]
struct Answer {
    place: usize,
    holds: bool,
    depth: usize,
}

/// The answers of a trial.
#[derive(Debug, Default)]
struct Answers {
    /// Those that it begins with, and whether each differs from an earlier trial.
    plan: Vec<(bool, bool)>,
    given: Vec<Answer>,
    /// Answers that stay as they are from here on.
    kept: HashMap<usize, bool>,
}

/// What was noticed in the trials of one program.
#[derive(Debug, Default)]
struct Notes {
    /// Something was not followed that may matter.
    is_blind: bool,
    /// A command was run whose program is not known.
    runs_unknown: bool,
    /// A command was run of which a word is lost.
    runs_lost: bool,
    /// Texts that trials have printed.
    outputs: Vec<String>,
}

/// A program that runs.
struct Trial<'w, 'g> {
    walk: &'w mut ScriptWalk<'g>,
    language: Language,
    heap: Heap,
    frames: Vec<Frame>,
    globals: Id,
    steps: usize,
    most_steps: usize,
    depth: usize,
    /// The call that is made, for questions about it.
    place: usize,
    /// The number of `try` around the current place, over all calls.
    tries: usize,
    answers: Answers,
    /// Unknown text that the program makes of its own.
    lost: Rc<str>,
    notes: Notes,
    out: String,
    /// Calls that wait for their turn.
    queue: VecDeque<(Value, Vec<Value>)>,
    /// Parts of modules that the program has replaced.
    patched: HashMap<String, Value>,
    classes: HashMap<String, Id>,
    arguments: Vec<String>,
    is_file: bool,
    /// Commands that wait for their input.
    waiting: Vec<Id>,
    /// Callbacks at the end of the program.
    at_exit: Vec<(Value, Vec<Value>)>,
    /// Functions that were called because somebody was given them.
    called_back: HashSet<Id>,
    /// The places at which expressions go on searching, by the expression.
    searched: HashMap<usize, usize>,
    /// Modules that were loaded from files.
    loaded: HashMap<String, Value>,
    /// Text that is left on standard input.
    input: Rc<str>,
    /// The end of a loop over a generator, on its way through that.
    left: Option<Stop>,
    /// Generators that were sent something.
    coroutines: Vec<Id>,
}

/// The statements of a program; none if it cannot be read.
fn parsed(language: Language, code: &str) -> Option<Vec<Statement>> {
    if code.len() > LONGEST {
        return None;
    }
    let mut reader = ProgramReader::new(language, code, 0)?;
    let statements = if language == Language::Python { reader.python_program()? } else { reader.script_program()? };
    reader.is_end().then_some(statements)
}

impl ScriptWalk<'_> {
    /// Tries a program with these arguments. False if something that may matter was not followed.
    pub(in crate::walk) fn try_program(
        &mut self,
        language: Language,
        code: &str,
        arguments: &[String],
        is_file: bool,
    ) -> bool {
        let Some(statements) = parsed(language, code) else { return false };
        self.budget.spend(1 + code.len() / 32);
        if !self.budget.enter() {
            return true;
        }
        let shell = self.world.shell.clone();
        let texts = self.world.files.texts.clone();
        let lost: Rc<str> = self.unknown_made_of(code).into();
        let mut all = Notes::default();
        let mut steps = 0;
        let mut plans = VecDeque::from([Vec::new()]);
        let mut trials = 0;
        let mut texts_after = None;
        while let Some(plan) = plans.pop_front() {
            trials += 1;
            if trials > MOST_TRIALS || steps >= MOST_STEPS || self.budget.is_exhausted() {
                all.is_blind = true;
                break;
            }
            let mut trial = Trial::new(self, language, Rc::clone(&lost), plan);
            trial.arguments = arguments.to_vec();
            trial.is_file = is_file;
            if *trial.input == *code {
                trial.input = Rc::from("");
            }
            trial.most_steps = (MOST_STEPS - steps).min(MOST_STEPS_ONCE);
            trial.run_whole(&statements);
            steps += trial.steps;
            let Trial { answers, mut notes, out, .. } = trial;
            notes.outputs.push(out);
            all.add(notes);
            plans.extend(answers.others());
            texts_after.get_or_insert(std::mem::replace(&mut self.world.files.texts, texts.clone()));
            self.world.shell = shell.clone();
        }
        self.world.files.texts = texts_after.unwrap_or(texts);
        self.budget.leave();
        self.finish_trials(code, &all);
        !all.is_blind
    }

    fn finish_trials(&mut self, code: &str, notes: &Notes) {
        if notes.runs_unknown {
            self.judge_data_of(code);
        }
        if notes.runs_lost && resort::holds_danger(code) {
            self.find_rule(&rules::HIDDEN_CODE);
        }
        if notes.is_blind {
            return;
        }
        for output in &notes.outputs {
            if output.contains(UNKNOWN) {
                self.write_unknown_of_code(code);
            }
            self.write(output);
        }
    }
}

impl Notes {
    fn add(&mut self, other: Self) {
        self.is_blind |= other.is_blind;
        self.runs_unknown |= other.runs_unknown;
        self.runs_lost |= other.runs_lost;
        for output in other.outputs {
            if !output.is_empty() && !self.outputs.contains(&output) {
                self.outputs.push(output);
            }
        }
    }
}

impl Answers {
    /// The plans that differ from this trial in one answer.
    fn others(&self) -> Vec<Vec<(bool, bool)>> {
        let mut plans = Vec::new();
        for (at, answer) in self.given.iter().enumerate().skip(self.plan.len()) {
            let before = self.given.get(..at).unwrap_or(&[]);
            if before.iter().filter(|earlier| earlier.place == answer.place).count() >= MOST_AT_PLACE {
                continue;
            }
            let is_planned = |at: usize| self.plan.get(at).is_some_and(|(_, differs)| *differs);
            let mut plan: Vec<(bool, bool)> =
                before.iter().enumerate().map(|(at, answer)| (answer.holds, is_planned(at))).collect();
            plan.push((!answer.holds, true));
            plans.push(plan);
        }
        plans
    }
}

impl<'w, 'g> Trial<'w, 'g> {
    fn new(walk: &'w mut ScriptWalk<'g>, language: Language, lost: Rc<str>, plan: Vec<(bool, bool)>) -> Self {
        let mut heap = Heap::default();
        let globals = heap.add(Cell::Scope(Scope { is_function: true, ..Scope::default() }));
        let input = Rc::clone(&walk.world.shell.input);
        Self {
            walk,
            language,
            heap,
            frames: vec![Frame { scope: globals, ..Frame::default() }],
            globals,
            steps: 0,
            most_steps: MOST_STEPS_ONCE,
            depth: 0,
            place: 0,
            tries: 0,
            answers: Answers { plan, ..Answers::default() },
            lost,
            notes: Notes::default(),
            out: String::new(),
            queue: VecDeque::new(),
            patched: HashMap::new(),
            classes: HashMap::new(),
            arguments: Vec::new(),
            is_file: false,
            waiting: Vec::new(),
            at_exit: Vec::new(),
            called_back: HashSet::new(),
            searched: HashMap::new(),
            loaded: HashMap::new(),
            input,
            left: None,
            coroutines: Vec::new(),
        }
    }

    fn is_python(&self) -> bool {
        self.language == Language::Python
    }

    /// Runs a program to its end, with everything that it left for later.
    fn run_whole(&mut self, statements: &[Statement]) {
        let end = self.run_block(statements);
        if !matches!(end, Err(Stop::Exit | Stop::Halt)) {
            let _ = self.run_queue(None);
            for id in std::mem::take(&mut self.coroutines) {
                let _ = self.begin_generator(id);
            }
        }
        for (function, values) in std::mem::take(&mut self.at_exit) {
            let _ = self.call(function, values);
        }
        let _ = self.finish_processes();
        let _ = self.run_queue(None);
    }

    /// Spends a step. It fails if there are none left.
    fn step(&mut self) -> Run<()> {
        self.spend(1)
    }

    /// Spends steps for work that takes longer.
    fn spend(&mut self, steps: usize) -> Run<()> {
        let before = self.steps / 16;
        self.steps += steps;
        self.walk.budget.spend(self.steps / 16 - before);
        if self.steps < self.most_steps && !self.walk.budget.is_exhausted() && !self.heap.is_full() {
            return Ok(());
        }
        self.notes.is_blind = true;
        Err(Stop::Halt)
    }

    /// Goes one level deeper, into a value that may hold itself. It fails if that is too deep.
    fn deeper<T>(&mut self, inner: impl FnOnce(&mut Self) -> Run<T>) -> Run<T> {
        if self.depth > eval::DEEPEST {
            self.notes.is_blind = true;
            return Err(Stop::Halt);
        }
        self.depth += 1;
        let result = inner(self);
        self.depth -= 1;
        result
    }

    /// Answers a question whose answer is not known. The place is that of the question in the program.
    fn answer(&mut self, place: usize, usual: bool) -> bool {
        let depth = self.frames.len();
        let at = self.answers.given.len();
        if at >= MOST_ANSWERS {
            self.notes.is_blind = true;
            return usual;
        }
        let holds = if let Some((holds, differs)) = self.answers.plan.get(at) {
            if *differs {
                self.answers.kept.insert(place, *holds);
            }
            *holds
        } else {
            let usual = self.answers.kept.get(&place).copied().unwrap_or(usual);
            // A function that goes on calling itself comes to an end.
            let is_same = |answer: &&Answer| answer.place == place && answer.holds == usual && answer.depth < depth;
            let deepest = self.answers.given.iter().filter(is_same).map(|answer| answer.depth).collect::<HashSet<_>>();
            if deepest.len() >= 2 { !usual } else { usual }
        };
        self.answers.given.push(Answer { place, holds, depth });
        holds
    }

    /// True if this trial lets something fail here. Only a program that catches it goes on.
    fn fails_here(&mut self, place: usize) -> bool {
        self.tries > 0 && self.answer(place, false)
    }

    /// A value of which nothing is known, made of these: lost if all of them were known.
    fn unknown_of<'v>(&self, values: impl IntoIterator<Item = &'v Value>) -> Value {
        let mut found = Value::Lost;
        for value in values {
            if self.is_from_outside(value, 3) {
                found = Value::Unknown;
            }
        }
        found
    }

    fn is_from_outside(&self, value: &Value, depth: usize) -> bool {
        match value {
            Value::Unknown => true,
            Value::Text(text) | Value::Path(text) => {
                value::is_doubtful(text) && matches!(value::unknown_like(text), Value::Unknown)
            }
            Value::Tuple(items) if depth > 0 => items.iter().any(|item| self.is_from_outside(item, depth - 1)),
            Value::List(id) if depth > 0 => self
                .heap
                .list(*id)
                .is_some_and(|items| items.iter().take(64).any(|item| self.is_from_outside(item, depth - 1))),
            Value::File(_) | Value::Process(_) | Value::Native(_) => true,
            _ => false,
        }
    }
}
