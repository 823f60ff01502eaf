//! Runs the statements of a Perl program, one way.

use crate::walk::perl::deciding::leaves;
use std::cell::RefCell;
use std::collections::{BTreeMap, HashMap};
use std::rc::Rc;

use crate::walk::ScriptWalk;
use crate::walk::perl::ast::{Block, Expr, Statement};
use crate::walk::perl::value::{ArrayCell, Closure, Handle, HashCell, ScalarCell, Scope, Slot, Val};

/// The most steps of one program.
const MOST_STEPS: usize = 24_000;

/// The most rounds of a loop whose condition is not known.
const UNKNOWN_ROUNDS: usize = 1;

/// The deepest calls.
const DEEPEST: usize = 24;

/// The deepest nesting of expressions and blocks while they run, over all calls.
const DEEPEST_VALUE: usize = 96;

/// The reason that a statement or an expression has ended early.
#[derive(Debug)]
pub(super) enum Leaving {
    Next(Option<String>),
    Last(Option<String>),
    Redo,
    Return(Vec<Val>),
    Die(Val),
    Exit,
    /// The program is not followed any further.
    Stop,
}

pub(super) type Outcome<T> = Result<T, Leaving>;

/// A value that comes back at the end of a block: `local`.
#[derive(Debug)]
pub(super) enum Restored {
    Scalar(ScalarCell, Val),
    Array(ArrayCell, Vec<Val>),
    Entry(HashCell, String, Option<Val>),
    /// A variable of the environment, and whether the program had set it before.
    Variable(String, bool, Option<String>),
}

/// A program that runs.
pub(super) struct Perl<'w, 'g> {
    pub(super) walk: &'w mut ScriptWalk<'g>,
    pub(super) globals: HashMap<String, Slot>,
    pub(super) subs: HashMap<String, Rc<Closure>>,
    pub(super) bases: HashMap<String, Vec<String>>,
    pub(super) handles: HashMap<String, Rc<RefCell<Handle>>>,
    pub(super) opened: Vec<Rc<RefCell<Handle>>>,
    pub(super) scope: Rc<Scope>,
    pub(super) package: String,
    /// Variables of the environment that the program has set or removed.
    pub(super) environment: BTreeMap<String, Option<String>>,
    pub(super) ends: Vec<Rc<Block>>,
    pub(super) locals: Vec<Restored>,
    /// True for calls whose result is used as a list.
    pub(super) wants: Vec<bool>,
    pub(super) groups: Vec<Option<String>>,
    pub(super) named: BTreeMap<String, String>,
    pub(super) patterns: HashMap<String, Option<Rc<fancy_regex::Regex>>>,
    /// Where a repeated match goes on, by the place of its expression.
    pub(super) places: HashMap<usize, (String, usize)>,
    pub(super) steps: usize,
    pub(super) depth: usize,
    pub(super) answer: bool,
    pub(super) asked: usize,
    /// Something unknown was run, or the program was not followed to its end.
    pub(super) is_blind: bool,
    pub(super) runs_unknown: bool,
    /// Everything that may hold itself, to take it apart at the end.
    pub(super) scopes: Vec<Rc<Scope>>,
    pub(super) hashes: Vec<HashCell>,
    pub(super) arrays: Vec<ArrayCell>,
    pub(super) scalars: Vec<ScalarCell>,
    /// The lines of files that are edited in place.
    pub(super) edited: Option<String>,
    pub(super) selected: Option<Val>,
}

impl Perl<'_, '_> {
    pub(super) fn step(&mut self, cost: usize) -> Outcome<()> {
        let before = self.steps / 8;
        self.steps += 1 + cost;
        self.walk.budget.spend(self.steps / 8 - before);
        if self.steps > MOST_STEPS || self.walk.budget.is_exhausted() {
            self.is_blind = true;
            return Err(Leaving::Stop);
        }
        Ok(())
    }

    pub(super) fn enter(&mut self) -> Outcome<()> {
        self.depth += 1;
        if self.depth > DEEPEST_VALUE {
            self.is_blind = true;
            return Err(Leaving::Stop);
        }
        Ok(())
    }

    /// Runs `inner` with variables of its own.
    pub(super) fn scoped<T>(&mut self, is_call: bool, inner: impl FnOnce(&mut Self) -> Outcome<T>) -> Outcome<T> {
        let scope = Rc::new(Scope { parent: Some(Rc::clone(&self.scope)), is_call, ..Scope::default() });
        self.scopes.push(Rc::clone(&scope));
        let before = std::mem::replace(&mut self.scope, scope);
        let locals = self.locals.len();
        self.depth += 1;
        let result = if self.depth > DEEPEST_VALUE {
            self.is_blind = true;
            Err(Leaving::Stop)
        } else {
            inner(self)
        };
        self.depth -= 1;
        while self.locals.len() > locals {
            self.restore();
        }
        self.scope = before;
        result
    }

    pub(super) fn restore(&mut self) {
        match self.locals.pop() {
            Some(Restored::Scalar(cell, value)) => drop(cell.replace(value)),
            Some(Restored::Array(cell, items)) => drop(cell.replace(items)),
            Some(Restored::Entry(hash, key, value)) => {
                let mut entries = hash.entries.borrow_mut();
                match value {
                    Some(value) => drop(entries.insert(key, value)),
                    None => drop(entries.remove(&key)),
                }
            }
            Some(Restored::Variable(name, true, value)) => drop(self.environment.insert(name, value)),
            Some(Restored::Variable(name, false, _)) => drop(self.environment.remove(&name)),
            None => {}
        }
    }

    /// Defines all functions of a block before it runs.
    pub(super) fn define(&mut self, body: &Block) {
        let mut package = self.package.clone();
        for statement in body {
            match statement {
                Statement::Package(name) => package.clone_from(name),
                Statement::Sub(sub) => {
                    let name =
                        if sub.name.contains("::") { sub.name.clone() } else { format!("{package}::{}", sub.name) };
                    let closure = Closure { sub: Rc::clone(sub), scope: Rc::clone(&self.scope) };
                    self.subs.insert(name, Rc::new(closure));
                }
                Statement::Block(_, inner) => {
                    let before = std::mem::replace(&mut self.package, package.clone());
                    // Functions of a package in braces.
                    if inner.iter().any(|statement| matches!(statement, Statement::Sub(_))) {
                        self.define(inner);
                    }
                    self.package = before;
                }
                _ => {}
            }
        }
    }

    /// Runs statements; the value is that of the last one.
    pub(super) fn body(&mut self, body: &Block, wants_list: bool) -> Outcome<Vec<Val>> {
        self.define(body);
        let mut result = Vec::new();
        for (at, statement) in body.iter().enumerate() {
            self.step(0)?;
            result = self.statement(statement, at + 1 == body.len(), wants_list)?;
        }
        Ok(result)
    }

    pub(super) fn statement(&mut self, statement: &Statement, is_last: bool, wants_list: bool) -> Outcome<Vec<Val>> {
        match statement {
            Statement::Expr(expression) => {
                if is_last && wants_list {
                    return self.list(expression);
                }
                if !is_last && let Expr::And(..) | Expr::Or(..) = expression {
                    self.decide(expression, None)?;
                    return Ok(Vec::new());
                }
                return Ok(vec![self.scalar(expression)?]);
            }
            Statement::If(branches, otherwise) => {
                for (condition, body) in branches {
                    let lean = match (leaves(body), otherwise.as_ref().is_some_and(leaves)) {
                        (true, false) => Some(false),
                        (false, true) => Some(true),
                        _ => None,
                    };
                    let locals = self.scoped(false, |perl| {
                        if perl.decide(condition, lean)? { perl.body(body, wants_list).map(Some) } else { Ok(None) }
                    })?;
                    if let Some(value) = locals {
                        return Ok(value);
                    }
                }
                if let Some(body) = otherwise {
                    return self.scoped(false, |perl| perl.body(body, wants_list));
                }
            }
            Statement::While { label, condition, is_until, body, step } => {
                self.scoped(false, |perl| {
                    perl.rounds(label.as_deref(), condition.as_ref(), *is_until, body, step.as_ref())
                })?;
            }
            Statement::For { label, variable, items, body } => {
                self.each(label.as_deref(), variable.as_ref(), items, body)?;
            }
            Statement::Block(label, body) => {
                let result = self.scoped(false, |perl| perl.body(body, wants_list));
                return match result {
                    Err(leaving) => out_of_loop(leaving, label.as_deref()).map(|_| Vec::new()),
                    Ok(value) => Ok(value),
                };
            }
            Statement::Sub(_) => {}
            Statement::Package(name) => self.package.clone_from(name),
            Statement::Use(name, list) => self.import(name, list.as_ref())?,
            Statement::Begin(body) => drop(self.scoped(false, |perl| perl.body(body, false))?),
            Statement::End(body) => self.ends.push(Rc::clone(body)),
            Statement::Try(body, handler, last) => {
                let result = self.scoped(false, |perl| perl.body(body, wants_list));
                let result = match (result, handler) {
                    (Err(Leaving::Die(value)), Some((name, body))) => self.scoped(false, |perl| {
                        perl.declare(name, Slot::Scalar(Rc::new(RefCell::new(value))));
                        perl.body(body, wants_list)
                    }),
                    (Err(Leaving::Die(_)), None) => Ok(Vec::new()),
                    (result, _) => result,
                };
                if let Some(last) = last {
                    self.scoped(false, |perl| perl.body(last, false))?;
                }
                return result;
            }
        }
        Ok(Vec::new())
    }

    pub(super) fn rounds(
        &mut self,
        label: Option<&str>,
        condition: Option<&Expr>,
        is_until: bool,
        body: &Block,
        step: Option<&Expr>,
    ) -> Outcome<()> {
        let mut unknown = 0;
        loop {
            self.step(1)?;
            if let Some(condition) = condition {
                let asked = self.asked;
                let holds = self.loop_condition(condition)?;
                unknown += usize::from(self.asked > asked);
                if holds == is_until || unknown > UNKNOWN_ROUNDS {
                    return Ok(());
                }
            }
            let result = self.scoped(false, |perl| perl.body(body, false));
            if let Err(leaving) = result
                && !out_of_loop(leaving, label)?
            {
                return Ok(());
            }
            if let Some(step) = step {
                self.scalar(step)?;
            }
        }
    }

    /// The condition of a loop. A line that was read counts if there was one.
    pub(super) fn loop_condition(&mut self, condition: &Expr) -> Outcome<bool> {
        let reads = |expression: &Expr| {
            matches!(expression, Expr::ReadLine(_))
                || matches!(expression, Expr::Call(name, _) if matches!(name.as_str(), "readdir" | "shift" | "each" | "glob"))
        };
        match condition {
            Expr::ReadLine(_) => {
                let value = self.scalar(condition)?;
                let is_there = value.is_defined();
                self.set_topic(value);
                Ok(is_there)
            }
            Expr::Assign(target, "", value)
                if reads(value)
                    && !target.is_list()
                    && !matches!(value.as_ref(), Expr::Call(name, _) if name == "shift") =>
            {
                Ok(self.scalar(condition)?.is_defined())
            }
            _ => self.decide(condition, None),
        }
    }

    pub(super) fn each(
        &mut self,
        label: Option<&str>,
        variable: Option<&(String, bool)>,
        items: &Expr,
        body: &Block,
    ) -> Outcome<()> {
        let source = match items {
            Expr::Array(_) | Expr::Dereferenced('@', _) => Some(self.array_at(items)?),
            Expr::List(inner) => match inner.as_slice() {
                [only @ (Expr::Array(_) | Expr::Dereferenced('@', _))] => Some(self.array_at(only)?),
                _ => None,
            },
            _ => None,
        };
        let values = self.list(items)?;
        for (at, value) in values.into_iter().enumerate() {
            self.step(1)?;
            let cell: ScalarCell = Rc::new(RefCell::new(value));
            let name = variable.map_or("$_", |(name, _)| name.as_str());
            let result = self.scoped(false, |perl| {
                perl.declare(name, Slot::Scalar(Rc::clone(&cell)));
                perl.body(body, false)
            });
            // The variable is the item itself.
            if let Some(source) = &source
                && let Some(item) = source.borrow_mut().get_mut(at)
            {
                *item = cell.borrow().clone();
            }
            if let Err(leaving) = result
                && !out_of_loop(leaving, label)?
            {
                return Ok(());
            }
        }
        Ok(())
    }

    /// Calls a function.
    pub(super) fn call_closure(
        &mut self,
        closure: &Rc<Closure>,
        arguments: Vec<Val>,
        wants_list: bool,
    ) -> Outcome<Vec<Val>> {
        self.step(1)?;
        let calls = self.wants.len();
        let levels = self.walk.world.calls.len();
        if calls + levels > DEEPEST {
            self.is_blind |= calls > DEEPEST;
            return Ok(vec![Val::unknown()]);
        }
        let before = std::mem::replace(&mut self.scope, Rc::clone(&closure.scope));
        let package = std::mem::replace(&mut self.package, closure.sub.package.clone());
        self.wants.push(wants_list);
        let result = self.scoped(true, |perl| {
            let cell: ArrayCell = Rc::new(RefCell::new(arguments.clone()));
            perl.declare("@_", Slot::Array(cell));
            if let Some(parameters) = &closure.sub.signature {
                perl.bind(parameters, arguments)?;
            }
            perl.body(&closure.sub.body, wants_list)
        });
        self.wants.pop();
        self.package = package;
        self.scope = before;
        match result {
            Err(Leaving::Return(values)) => Ok(values),
            result => result,
        }
    }

    pub(super) fn bind(&mut self, parameters: &[(String, Option<Expr>)], arguments: Vec<Val>) -> Outcome<()> {
        let mut values = arguments.into_iter();
        for (name, default) in parameters {
            let slot = match name.chars().next() {
                Some('@') => Slot::Array(Rc::new(RefCell::new(values.by_ref().collect()))),
                Some('%') => {
                    let hash = HashCell::default();
                    fill_hash(&hash, values.by_ref().collect());
                    Slot::Hash(hash)
                }
                _ => {
                    let value = match (values.next(), default) {
                        (Some(value), _) => value,
                        (None, Some(default)) => self.scalar(default)?,
                        (None, None) => Val::Undefined,
                    };
                    Slot::Scalar(Rc::new(RefCell::new(value)))
                }
            };
            self.declare(name, slot);
        }
        Ok(())
    }

    /// Calls a block with `$_` as each item.
    pub(super) fn call_with_topic(&mut self, closure: &Rc<Closure>, item: Val, wants_list: bool) -> Outcome<Vec<Val>> {
        self.step(1)?;
        let before = std::mem::replace(&mut self.scope, Rc::clone(&closure.scope));
        let result = self.scoped(false, |perl| {
            perl.declare("$_", Slot::Scalar(Rc::new(RefCell::new(item))));
            perl.body(&closure.sub.body, wants_list)
        });
        self.scope = before;
        result
    }
}

/// Puts pairs into a hash.
pub(super) fn fill_hash(hash: &HashCell, values: Vec<Val>) {
    let mut entries = hash.entries.borrow_mut();
    let mut values = values.into_iter();
    while let Some(key) = values.next() {
        if entries.len() > 1024 {
            break;
        }
        entries.insert(key.to_text(), values.next().unwrap_or(Val::Undefined));
    }
}

/// True if the loop goes on behind this; false if it ends. Everything else leaves the loop as well.
fn out_of_loop(leaving: Leaving, own: Option<&str>) -> Outcome<bool> {
    let is_own = |label: &Option<String>| label.as_deref().is_none_or(|label| Some(label) == own);
    match leaving {
        Leaving::Next(label) if is_own(&label) && own != Some("do") => Ok(true),
        Leaving::Last(label) if is_own(&label) => Ok(false),
        Leaving::Redo => Ok(true),
        other => Err(other),
    }
}
