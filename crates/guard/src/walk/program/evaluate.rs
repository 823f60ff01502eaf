//! Runs a program over values that are known in part.
//!
//! Where a condition is not known, both ways are taken, and names may then have one of several values. Every step spends from
//! the budget of the walk.

use std::cell::RefCell;
use std::collections::{HashMap, HashSet};
use std::rc::Rc;

use crate::walk::ScriptWalk;
use crate::walk::program::Language;
use crate::walk::program::ast::{Expr, Statement};
use crate::walk::program::narrowing::{mentions, narrowing};
use crate::walk::program::operators::with_entry;
use crate::walk::program::value::Value;

/// The most rounds of a loop.
pub(super) const MOST_ROUNDS: usize = 64;

/// The most rounds of a loop that does not go through a list.
const MOST_ROUNDS_WHILE: usize = 8;

/// The most steps of one program.
const MOST_STEPS: usize = 6_000;

/// The effect of a statement on those behind it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum After {
    Goes,
    /// The loop or its round ends.
    Leaves,
    /// The function or the program ends.
    Ends,
}

/// The names of one call, and those that belong to the program.
#[derive(Debug, Clone, Default)]
pub(super) struct Scope {
    pub(super) values: HashMap<String, Value>,
    globals: HashSet<String>,
}

/// A program that runs.
#[expect(clippy::struct_excessive_bools, reason = "each is about another end of the program")]
pub(super) struct Program<'w, 'g> {
    pub(super) walk: &'w mut ScriptWalk<'g>,
    pub(super) language: Language,
    pub(super) scopes: Vec<Scope>,
    /// Values that the current function gives back.
    pub(super) returned: Vec<Value>,
    pub(super) steps: usize,
    pub(super) depth: usize,
    /// Every object, to take them apart at the end: they may hold each other.
    pub(super) objects: Vec<Rc<RefCell<HashMap<String, Value>>>>,
    /// Something unknown was run or deleted.
    pub(super) is_blind: bool,
    /// Something unknown was run.
    pub(super) runs_unknown: bool,
    /// The program has ended itself.
    pub(super) has_exited: bool,
    /// The text that it printed.
    pub(super) has_printed: bool,
}

impl<'w, 'g> Program<'w, 'g> {
    pub(super) fn new(walk: &'w mut ScriptWalk<'g>, language: Language) -> Self {
        Self {
            walk,
            language,
            scopes: vec![Scope::default()],
            returned: Vec::new(),
            steps: 0,
            depth: 0,
            objects: Vec::new(),
            runs_unknown: false,
            is_blind: false,
            has_exited: false,
            has_printed: false,
        }
    }

    /// True while there is work left to do.
    pub(super) fn step(&mut self) -> bool {
        self.steps += 1;
        self.walk.budget.spend(usize::from(self.steps.is_multiple_of(4)));
        // A program that is not followed to its end is looked through as well.
        self.is_blind |= self.steps >= MOST_STEPS;
        self.steps < MOST_STEPS && !self.walk.budget.is_exhausted()
    }

    pub(super) fn run(&mut self, statements: &[Statement]) -> After {
        for statement in statements {
            if !self.step() {
                return After::Ends;
            }
            let after = self.statement(statement);
            if std::mem::take(&mut self.has_exited) {
                return After::Ends;
            }
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
            Statement::Assign(target, value, adds) => {
                let value = if *adds {
                    let before = self.value(target);
                    let more = self.value(value);
                    Self::combine(&before, "+", &more)
                } else {
                    self.value(value)
                };
                self.assign(target, value);
            }
            Statement::If(condition, then, otherwise) => return self.branch(condition, then, otherwise),
            Statement::For(target, items, body) => {
                let items = self.value(items);
                let items = self.iterated(items);
                return self.rounds(items.len(), |program, at| {
                    let item = items.get(at).cloned().unwrap_or(Value::Unknown);
                    program.assign(target, item);
                    program.run(body)
                });
            }
            Statement::While(condition, body) => {
                return self.rounds(MOST_ROUNDS_WHILE, |program, _| match program.value(condition).truth() {
                    Some(false) => After::Leaves,
                    _ => program.run(body),
                });
            }
            Statement::Try(body, rest) => {
                let after = self.run(body);
                let mut goes = after == After::Goes;
                for part in rest {
                    goes |= self.either(|program| program.run(part)) == After::Goes;
                }
                return if goes { After::Goes } else { after };
            }
            Statement::Class(name, body) => {
                self.scopes.push(Scope::default());
                self.run(body);
                let members = self.scopes.pop().unwrap_or_default().values.into_iter().collect();
                self.assign(&Expr::Name(name.clone()), Value::Class(Rc::new(members)));
            }
            Statement::Return(value) => {
                let value = value.as_ref().map_or(Value::Nothing, |value| self.value(value));
                self.returned.push(value);
                return After::Ends;
            }
            Statement::Leave => return After::Leaves,
            Statement::Fail => return After::Ends,
            Statement::Global(names) => {
                self.scopes.last_mut().into_iter().for_each(|scope| scope.globals.extend(names.iter().cloned()));
            }
        }
        After::Goes
    }

    fn rounds(&mut self, count: usize, mut round: impl FnMut(&mut Self, usize) -> After) -> After {
        for at in 0..count.min(MOST_ROUNDS) {
            match round(self, at) {
                After::Goes => {}
                // `continue` or `break`: later items are looked at in any case.
                After::Leaves if self.step() => {}
                After::Leaves => break,
                After::Ends if count > 1 && self.step() => {}
                After::Ends => return After::Ends,
            }
        }
        After::Goes
    }

    /// Runs something that may happen or not, and joins the names of both ways.
    pub(super) fn either(&mut self, inner: impl FnOnce(&mut Self) -> After) -> After {
        let before = self.scopes.clone();
        self.walk.budget.spend(before.iter().map(|scope| scope.values.len()).sum::<usize>() / 64);
        let after = inner(self);
        if after == After::Goes {
            self.join(before);
        } else {
            self.scopes = before;
        }
        after
    }

    fn join(&mut self, others: Vec<Scope>) {
        for (own, other) in self.scopes.iter_mut().zip(others) {
            for (name, value) in other.values {
                match own.values.get_mut(&name) {
                    Some(known) if *known == value => {}
                    Some(known) => *known = Value::one_of([std::mem::replace(known, Value::Unknown), value]),
                    None => drop(own.values.insert(name, value)),
                }
            }
        }
    }

    fn branch(&mut self, condition: &Expr, then: &[Statement], otherwise: &[Statement]) -> After {
        let truth = self.value(condition).truth();
        match truth {
            Some(true) => return self.run(then),
            Some(false) => return self.run(otherwise),
            None => {}
        }
        let chooses = self.is_about_listing(condition);
        let (narrows_then, narrows_else) = if chooses { narrowing(condition) } else { (false, false) };
        let before = self.scopes.clone();
        self.walk.budget.spend(before.iter().map(|scope| scope.values.len()).sum::<usize>() / 64);
        if narrows_then {
            self.choose();
        }
        let first = self.run(then);
        let then_scopes = std::mem::replace(&mut self.scopes, before);
        if narrows_else {
            self.choose();
        }
        let second = self.run(otherwise);
        match (first, second) {
            (After::Goes, After::Goes) => {
                self.join(then_scopes);
                After::Goes
            }
            (After::Goes, _) => {
                self.scopes = then_scopes;
                After::Goes
            }
            (_, After::Goes) => After::Goes,
            (first, _) => first,
        }
    }

    pub(super) fn is_about_listing(&self, condition: &Expr) -> bool {
        mentions(condition).iter().any(|name| self.lookup(name).is_some_and(Value::is_listing))
    }

    /// A condition makes a choice among the names of a listing.
    pub(super) fn choose(&mut self) {
        for value in self.scopes.iter_mut().flat_map(|scope| scope.values.values_mut()) {
            if value.is_listing() {
                *value = std::mem::replace(value, Value::Unknown).chosen();
            }
        }
    }

    pub(super) fn lookup(&self, name: &str) -> Option<&Value> {
        self.scopes.iter().rev().find_map(|scope| scope.values.get(name))
    }

    pub(super) fn assign(&mut self, target: &Expr, value: Value) {
        match target {
            Expr::Name(name) => self.assign_name(name, value),
            Expr::List(targets) => self.take_apart(targets, value),
            Expr::Table(entries) => {
                for (key, target) in entries {
                    match key {
                        Some(Expr::Text(key)) => {
                            let part = self.member(value.clone(), key);
                            self.assign(target, part);
                        }
                        _ => self.assign(target, value.clone()),
                    }
                }
            }
            Expr::Spread(target) | Expr::Assign(target, _) => self.assign(target, value),
            Expr::Member(object, name) => {
                let is_own = matches!(object.as_ref(), Expr::Name(own) if own == "self" || own == "this");
                match self.value(object) {
                    Value::Object(fields) => drop(fields.borrow_mut().insert(name.clone(), value)),
                    Value::Table(entries) if !is_own => self.assign(object, with_entry(entries, name.clone(), value)),
                    _ => {}
                }
            }
            Expr::Index(object, key) => {
                let key = self.value(key);
                match self.value(object) {
                    Value::Table(entries) => self.assign(object, with_entry(entries, key.to_text(), value)),
                    Value::List(mut items) => {
                        let at = if let Value::Number(at) = key { usize::try_from(at).ok() } else { None };
                        match at.and_then(|at| items.get_mut(at)) {
                            Some(item) => *item = value,
                            None => items.push(value),
                        }
                        self.assign(object, Value::list(items));
                    }
                    _ => {}
                }
            }
            _ => {}
        }
    }

    fn assign_name(&mut self, name: &str, value: Value) {
        let last = self.scopes.len().saturating_sub(1);
        let is_global = self.scopes.last().is_some_and(|scope| scope.globals.contains(name));
        // JavaScript changes the name where it is; a new name is noted here.
        let at = if is_global || self.language == Language::Script {
            let before = last.saturating_sub(usize::from(is_global));
            (0..=before).rev().find(|at| self.scopes.get(*at).is_some_and(|scope| scope.values.contains_key(name)))
        } else {
            None
        };
        if let Some(scope) = self.scopes.get_mut(at.unwrap_or(last)) {
            scope.values.insert(name.to_owned(), value);
        }
    }

    /// Gives the items of a value to several targets.
    pub(super) fn take_apart(&mut self, targets: &[Expr], value: Value) {
        let items = match value {
            Value::List(items) => items,
            other => vec![other.map(|_| Value::Unknown); targets.len()],
        };
        for (at, target) in targets.iter().enumerate() {
            let value = match target {
                Expr::Spread(_) => {
                    let behind = targets.len() - at - 1;
                    let end = items.len().saturating_sub(behind).max(at);
                    Value::list(items.get(at..end).unwrap_or(&[]).to_vec())
                }
                _ => items.get(at).cloned().unwrap_or(Value::Unknown),
            };
            self.assign(target, value);
        }
    }

    /// The items that a loop goes through.
    pub(super) fn iterated(&mut self, value: Value) -> Vec<Value> {
        match value {
            Value::File(path) => self.file_text(&path).map_or(vec![Value::Unknown], |text| {
                text.lines().map(|line| Value::text(format!("{line}\n"))).collect()
            }),
            Value::Text(text) if !text.contains(crate::marks::is_mark) && text.len() < 256 => {
                text.chars().map(|letter| Value::text(letter.to_string())).collect()
            }
            value => value.items(),
        }
    }
}
