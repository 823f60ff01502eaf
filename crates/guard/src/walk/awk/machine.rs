//! Runs a program of awk over values that are known in part.
//!
//! A condition that is not known is followed both ways, and variables may then have one of several values. A record that stands for
//! any number of lines, such as a listing, is run through once as if it were there and once as if it were not.
//!
//! Invariant: [`AwkRun::step`] bounds all loops, and the walk's budget pays for them.

use std::collections::HashMap;
use std::rc::Rc;

use crate::walk::ScriptWalk;
use crate::walk::awk::ast::{AwkProgram, ENVIRON, Expr, Pattern, Rule, Slot, Statement};
use crate::walk::awk::input::{MainInput, Reader};
use crate::walk::awk::output::Writer;
use crate::walk::awk::state::{Cell, State};
use crate::walk::awk::value::{Value, is_many};

/// The most work of one program. A unit is about one expression, or 64 bytes of text that are copied.
const MOST_WORK: usize = 60_000;

/// Units of work for each step of the walk.
const WORK_A_STEP: usize = 64;

/// The rounds of a loop whose condition is not known.
const MOST_OPEN_ROUNDS: usize = 3;

/// The effect of a statement on those behind it, from the weakest to the strongest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum After {
    Goes,
    Continues,
    Breaks,
    Returns,
    NextRecord,
    NextFile,
    Exits,
}

/// A program that runs.
pub(super) struct AwkRun<'p, 'w, 'g> {
    pub(super) walk: &'w mut ScriptWalk<'g>,
    pub(super) program: &'p AwkProgram,
    pub(super) state: State,
    /// For each rule with a range, true while it is inside; none if that is not certain.
    ranges: Vec<Option<bool>>,
    pub(super) input: MainInput,
    /// Files and commands that `getline` reads, by name.
    pub(super) readers: HashMap<String, Reader>,
    /// Files and commands that `print` writes to, by name.
    pub(super) writers: Vec<Writer>,
    /// The value that the current function has returned so far.
    pub(super) returned: Option<Value>,
    /// The conditions so far that have left a loop, or more, on one of two ways.
    open_leaves: usize,
    work: usize,
    /// The program was not followed to its end.
    pub(super) is_blind: bool,
    /// The rules run once more over a record that stands for many. Readers have their text already.
    pub(super) is_rehearsal: bool,
}

impl<'p, 'w, 'g> AwkRun<'p, 'w, 'g> {
    pub(super) fn new(walk: &'w mut ScriptWalk<'g>, program: &'p AwkProgram) -> Self {
        let cells = vec![Cell::Value(Value::Unset); program.globals.len()];
        let state = State { cells, ..State::default() };
        let mut run = Self {
            walk,
            program,
            state,
            ranges: vec![Some(false); program.rules.len()],
            input: MainInput::default(),
            readers: HashMap::new(),
            writers: Vec::new(),
            returned: None,
            open_leaves: 0,
            work: 0,
            is_blind: false,
            is_rehearsal: false,
        };
        for at in &program.arrays {
            run.state.array_id(Slot::Global(*at));
        }
        run
    }

    /// True while there is work left to do.
    pub(super) fn step(&mut self) -> bool {
        self.work(1);
        !self.is_blind && !self.walk.budget.is_exhausted()
    }

    /// Counts work, of this program and of all programs of the script.
    pub(super) fn work(&mut self, units: usize) {
        let steps = self.work / WORK_A_STEP;
        self.work = self.work.saturating_add(units);
        self.walk.budget.spend(self.work / WORK_A_STEP - steps);
        let left = &mut self.walk.world.awk_work_left;
        *left = left.saturating_sub(units);
        self.is_blind |= self.work >= MOST_WORK || *left == 0;
    }

    /// Runs the whole program.
    pub(super) fn run(&mut self) {
        let program = self.program;
        let mut after = After::Goes;
        for block in &program.begins {
            after = self.block(block);
            if after == After::Exits {
                break;
            }
        }
        if after != After::Exits && !(program.rules.is_empty() && program.ends.is_empty()) {
            self.run_records();
        }
        for block in &program.ends {
            if self.block(block) == After::Exits {
                break;
            }
        }
        self.close_all();
    }

    fn run_records(&mut self) {
        while self.step() {
            let Some(text) = self.next_main_record() else { return };
            self.set_record(&text);
            if is_many(&text) {
                self.run_many();
                continue;
            }
            match self.run_rules() {
                After::Exits => return,
                After::NextFile => self.input.skip_file(),
                _ => {}
            }
        }
    }

    /// Runs the rules over a record that stands for any number of lines, or for none.
    fn run_many(&mut self) {
        let before = self.state.clone();
        let is_silent = self.input.is_silent;
        let out = std::mem::take(&mut self.walk.world.out);
        self.run_rules();
        let joined = self.state.join(&before, &before.record);
        self.work(joined);
        let mut written = std::mem::replace(&mut self.walk.world.out, out);
        // A later line finds the variables that this one has set.
        if !self.state.has_same_memory(&before) {
            self.state.record = Rc::clone(&before.record);
            self.is_rehearsal = true;
            let out = std::mem::take(&mut self.walk.world.out);
            let middle = self.state.clone();
            self.run_rules();
            let joined = self.state.join(&middle, &middle.record);
            self.work(joined);
            let again = std::mem::replace(&mut self.walk.world.out, out);
            self.is_rehearsal = false;
            if written.is_empty() {
                written = again;
            }
        }
        if !is_silent {
            self.walk.write(&written);
        }
    }

    fn run_rules(&mut self) -> After {
        let program = self.program;
        for (at, rule) in program.rules.iter().enumerate() {
            if !self.step() {
                return After::Exits;
            }
            let outcome = match &rule.pattern {
                Pattern::Always => Some(true),
                Pattern::When(condition) => self.truth(condition),
                Pattern::Range(first, last) => self.range(at, first, last),
            };
            let after = match (outcome, &rule.pattern) {
                (Some(false), _) => After::Goes,
                (Some(true), _) => self.action(rule),
                (None, Pattern::When(condition)) => {
                    self.both_ways(Some(condition), |run| run.action(rule), |_| After::Goes)
                }
                (None, _) => self.both_ways(None, |run| run.action(rule), |_| After::Goes),
            };
            match after {
                After::NextRecord => return After::Goes,
                After::NextFile | After::Exits => return after,
                _ => {}
            }
        }
        After::Goes
    }

    fn action(&mut self, rule: &Rule) -> After {
        if let Some(block) = &rule.action {
            return self.block(block);
        }
        self.print(&[], None, false);
        After::Goes
    }

    fn range(&mut self, at: usize, first: &Expr, last: &Expr) -> Option<bool> {
        let before = self.ranges.get(at).copied().flatten();
        let inside = match before {
            Some(true) => Some(true),
            Some(false) => self.truth(first),
            None => self.truth(first).filter(|begins| *begins),
        };
        let next = if inside == Some(false) {
            Some(false)
        } else {
            match (inside, self.truth(last)) {
                (_, Some(true)) => Some(false),
                (Some(true), Some(false)) => Some(true),
                _ => None,
            }
        };
        if let Some(range) = self.ranges.get_mut(at) {
            *range = next;
        }
        inside
    }

    /// Goes both ways of a condition that is not known, and joins them. The effect is the weaker one.
    pub(super) fn both_ways(
        &mut self,
        condition: Option<&Expr>,
        then: impl FnOnce(&mut Self) -> After,
        otherwise: impl FnOnce(&mut Self) -> After,
    ) -> After {
        let before = self.state.clone();
        self.work(4 + before.size() / 4);
        if let Some(condition) = condition {
            self.narrow(condition);
        }
        let narrowed = Rc::clone(&self.state.record);
        let first = then(self);
        let record = Rc::clone(&before.record);
        let mut after_then = std::mem::replace(&mut self.state, before);
        if Rc::ptr_eq(&after_then.record, &narrowed) {
            after_then.record = Rc::clone(&record);
        }
        let second = otherwise(self);
        let joined = self.state.join(&after_then, &record);
        self.work(joined);
        if first != second {
            self.open_leaves += 1;
        }
        first.min(second)
    }

    pub(super) fn block(&mut self, statements: &[Statement]) -> After {
        for statement in statements {
            if !self.step() {
                return After::Exits;
            }
            let after = self.statement(statement);
            if after != After::Goes {
                return after;
            }
        }
        After::Goes
    }

    fn statement(&mut self, statement: &Statement) -> After {
        match statement {
            Statement::Expr(value) => {
                self.value(value);
            }
            Statement::Print { values, to, is_format } => self.print(values, to.as_ref(), *is_format),
            Statement::If(condition, then, otherwise) => {
                return match self.truth(condition) {
                    Some(true) => self.block(then),
                    Some(false) => self.block(otherwise),
                    None => self.both_ways(Some(condition), |run| run.block(then), |run| run.block(otherwise)),
                };
            }
            Statement::While(condition, body) => return self.rounds(Some(condition), None, body, true),
            Statement::Do(body, condition) => return self.rounds(Some(condition), None, body, false),
            Statement::For { first, condition, step, body } => {
                if let Some(first) = first {
                    self.statement(first);
                }
                return self.rounds(condition.as_ref(), step.as_deref(), body, true);
            }
            Statement::ForIn(variable, array, body) => return self.for_in(*variable, *array, body),
            Statement::Block(block) => return self.block(block),
            Statement::Delete(slot, keys) => self.delete(*slot, keys.as_deref()),
            Statement::Next => return After::NextRecord,
            Statement::NextFile => return After::NextFile,
            Statement::Exit(status) => {
                if let Some(status) = status {
                    self.value(status);
                }
                return After::Exits;
            }
            Statement::Return(value) => {
                let value = value.as_ref().map_or(Value::Unset, |value| self.value(value));
                self.returned = Some(self.returned.take().map_or_else(|| value.clone(), |before| before.join(&value)));
                return After::Returns;
            }
            Statement::Break => return After::Breaks,
            Statement::Continue => return After::Continues,
        }
        After::Goes
    }

    fn delete(&mut self, slot: Slot, keys: Option<&[Expr]>) {
        let key = keys.map(|keys| self.key(keys));
        let Some(array) = self.state.array_mut(slot) else { return };
        match key {
            Some(key) => array.remove(&key),
            None => *array = super::state::Array::default(),
        }
    }

    /// The rounds of a loop. After a few whose condition is not known, it may have ended at each of them.
    fn rounds(
        &mut self,
        condition: Option<&Expr>,
        step: Option<&Statement>,
        body: &[Statement],
        tests_first: bool,
    ) -> After {
        let mut exits: Vec<State> = Vec::new();
        let mut is_first = true;
        let mut after = After::Goes;
        while self.step() {
            if tests_first || !is_first {
                match condition.map_or(Some(true), |condition| self.truth(condition)) {
                    Some(false) => break,
                    None if exits.len() >= MOST_OPEN_ROUNDS => break,
                    None => exits.push(self.state.clone()),
                    Some(true) => {}
                }
            }
            is_first = false;
            let leaves = self.open_leaves;
            match self.block(body) {
                After::Goes | After::Continues => {}
                After::Breaks => break,
                other => {
                    after = other;
                    break;
                }
            }
            if self.open_leaves > leaves {
                exits.push(self.state.clone());
                if exits.len() > MOST_OPEN_ROUNDS {
                    break;
                }
            }
            if let Some(step) = step {
                self.statement(step);
            }
        }
        for exit in &exits {
            let joined = self.state.join(exit, &exit.record);
            self.work(joined);
        }
        if exits.is_empty() { after } else { After::Goes }
    }

    fn for_in(&mut self, variable: Slot, array: Slot, body: &[Statement]) -> After {
        let keys = if array == Slot::Global(ENVIRON) {
            self.environment_names()
        } else {
            self.state.array(array).map(|array| array.keys()).unwrap_or_default()
        };
        let before = self.state.clone();
        let is_open = keys.iter().any(|key| is_many(key));
        let mut after = After::Goes;
        for key in keys {
            if !self.step() {
                return After::Exits;
            }
            self.state.set(variable, Value::text(key));
            match self.block(body) {
                After::Goes | After::Continues => {}
                After::Breaks => break,
                other => {
                    after = other;
                    break;
                }
            }
        }
        if is_open {
            let joined = self.state.join(&before, &before.record);
            self.work(joined);
            return After::Goes;
        }
        after
    }
}
