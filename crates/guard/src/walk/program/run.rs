//! Runs statements.

use std::ptr;
use std::rc::Rc;

use crate::walk::program::syntax::{Arm, Declares, Expr, ForLoop, Handler, Name, Statement, WhileLoop, WithBlock};
use crate::walk::program::value::{Cell, Scope, Value};
use crate::walk::program::{Run, Stop, Trial};

/// The most rounds of a loop in which something is not known.
const MOST_UNKNOWN_ROUNDS: usize = 12;

/// The most rounds of a loop whose own condition is not known.
const MOST_DOUBTFUL_ROUNDS: usize = 2;

impl Trial<'_, '_> {
    /// Runs statements in the names that are there. Functions of JavaScript are known before their line.
    pub(super) fn run_block(&mut self, statements: &[Statement]) -> Run<()> {
        if !self.is_python() {
            for statement in statements {
                if let Statement::Function(function, _) = statement {
                    let value = self.closure(function)?;
                    self.declare(&function.name, value);
                }
            }
        }
        for statement in statements {
            self.step()?;
            self.run_statement(statement)?;
        }
        Ok(())
    }

    /// Runs statements with names of their own, in JavaScript.
    pub(super) fn run_scoped(&mut self, statements: &[Statement]) -> Run<()> {
        if self.is_python() {
            return self.run_block(statements);
        }
        let before = self.enter_scope();
        let end = self.run_block(statements);
        self.leave_scope(before);
        end
    }

    pub(super) fn enter_scope(&mut self) -> usize {
        let parent = self.scope();
        let id = self.heap.add(Cell::Scope(Scope { parent: Some(parent), ..Scope::default() }));
        self.set_scope(id);
        parent
    }

    pub(super) fn leave_scope(&mut self, before: usize) {
        self.set_scope(before);
    }

    pub(super) fn scope(&self) -> usize {
        self.frames.last().map_or(self.globals, |frame| frame.scope)
    }

    fn set_scope(&mut self, id: usize) {
        if let Some(frame) = self.frames.last_mut() {
            frame.scope = id;
        }
    }

    fn run_statement(&mut self, statement: &Statement) -> Run<()> {
        match statement {
            Statement::Expr(value) => drop(self.value(value)?),
            Statement::Assign(targets, value) => {
                let value = self.value(value)?;
                for target in targets {
                    self.assign(target, value.clone(), Declares::No)?;
                }
            }
            Statement::Augment(target, operator, value) => self.augment(target, operator, value)?,
            Statement::Declare(declares, target, value) => self.run_declaration(*declares, target, value.as_ref())?,
            Statement::If(condition, then, otherwise) => {
                let body = if self.holds(condition)? { then } else { otherwise };
                return self.run_scoped(body);
            }
            Statement::For(inner) => return self.run_for(inner, None),
            Statement::While(inner) => return self.run_while(inner, None),
            Statement::Labeled(name, inner) => return self.run_labeled(name, inner),
            Statement::Try { body, handlers, otherwise, last } => return self.run_try(body, handlers, otherwise, last),
            Statement::With(block) => return self.run_with(block, 0),
            Statement::Return(value) => {
                let value = match value {
                    Some(value) => self.value(value)?,
                    None => self.nothing(),
                };
                return Err(Stop::Return(value));
            }
            Statement::Break(label) => return Err(Stop::Break(label.clone())),
            Statement::Continue(label) => return Err(Stop::Continue(label.clone())),
            Statement::Raise(value) => return self.run_raise(value.as_ref()),
            Statement::Function(function, decorators) => {
                if self.is_python() {
                    let value = self.closure(function)?;
                    let value = self.decorated(value, decorators)?;
                    self.assign_name(&function.name, value, Declares::No);
                }
            }
            Statement::Class(class, decorators) => {
                let value = self.new_class(class)?;
                let value = self.decorated(value, decorators)?;
                self.assign_name(&class.name, value, if self.is_python() { Declares::No } else { Declares::InBlock });
            }
            Statement::Global(names) => self.note_elsewhere(names, true),
            Statement::Nonlocal(names) => self.note_elsewhere(names, false),
            Statement::Delete(targets) => {
                for target in targets {
                    self.delete(target)?;
                }
            }
            Statement::Block(body) => return self.run_scoped(body),
            Statement::Switch(subject, arms) => return self.run_switch(subject, arms),
            Statement::Match(subject, arms) => return self.run_match(subject, arms),
            Statement::Import(name, module, part) => {
                let value = self.imported(module, part.as_deref())?;
                self.assign_name(name, value, if self.is_python() { Declares::No } else { Declares::InBlock });
            }
            Statement::ImportAll(module) => self.import_all(module)?,
            Statement::Assert(condition) => {
                let holds = self.value(condition)?;
                if self.truth(&holds) == Some(false) {
                    return Err(self.exception("AssertionError", ""));
                }
            }
        }
        Ok(())
    }

    fn run_declaration(&mut self, declares: Declares, target: &Expr, value: Option<&Expr>) -> Run<()> {
        match (value, target) {
            (Some(value), _) => {
                let value = self.value(value)?;
                self.name_function(&value, target);
                self.assign(target, value, declares)
            }
            // A type alone: a field of a class.
            (None, Expr::Name(name)) if declares == Declares::No => {
                let scope = self.scope();
                if let Some(scope) = self.heap.scope_mut(scope).filter(|scope| scope.is_class) {
                    scope.values.entry(Rc::clone(name)).or_insert(Value::Undefined);
                }
                Ok(())
            }
            (None, Expr::Name(name)) if declares == Declares::InFunction && self.lookup(name).is_some() => Ok(()),
            (None, target) => self.assign(target, Value::Undefined, declares),
        }
    }

    fn name_function(&mut self, value: &Value, target: &Expr) {
        if let (Value::Function(id), Expr::Name(name)) = (value, target)
            && let Some(closure) = self.heap.closure_mut(*id)
            && closure.function.name.is_empty()
        {
            closure.fields.set("name", Value::Text(Rc::clone(name)));
        }
    }

    fn note_elsewhere(&mut self, names: &[Name], is_global: bool) {
        let scope = self.scope();
        if let Some(scope) = self.heap.scope_mut(scope) {
            scope.elsewhere.extend(names.iter().map(|name| (Rc::clone(name), is_global)));
        }
    }

    /// The answer to a condition. A listing that it chooses from is a choice from there on.
    pub(super) fn holds(&mut self, condition: &Expr) -> Run<bool> {
        match condition {
            Expr::Logic(left, "&&", right) => return Ok(self.holds(left)? && self.holds(right)?),
            Expr::Logic(left, "||", right) => return Ok(self.holds(left)? || self.holds(right)?),
            Expr::Unary("!", value) => return Ok(!self.holds(value)?),
            _ => {}
        }
        let value = self.value(condition)?;
        if let Some(truth) = self.truth(&value) {
            return Ok(truth);
        }
        let holds = self.answer(ptr::from_ref(condition).addr(), true);
        self.narrow(condition, holds);
        Ok(holds)
    }

    fn run_labeled(&mut self, name: &Name, inner: &Statement) -> Run<()> {
        let end = match inner {
            Statement::For(inner) => self.run_for(inner, Some(name)),
            Statement::While(inner) => self.run_while(inner, Some(name)),
            inner => self.run_statement(inner),
        };
        match end {
            Err(Stop::Break(Some(label))) if label == *name => Ok(()),
            end => end,
        }
    }

    /// Runs one round of a loop. True if the loop goes on.
    fn round(&mut self, body: &[Statement], label: Option<&Name>) -> Run<bool> {
        let is_own = |own: &Option<Name>| own.is_none() || own.as_ref() == label;
        match self.run_scoped(body) {
            Ok(()) => Ok(true),
            Err(Stop::Continue(own)) if is_own(&own) => Ok(true),
            Err(Stop::Break(own)) if is_own(&own) => Ok(false),
            Err(stop) => Err(stop),
        }
    }

    fn run_for(&mut self, inner: &Rc<ForLoop>, label: Option<&Name>) -> Run<()> {
        let items = self.value(&inner.items)?;
        if let Value::Iterator(id) = items
            && !inner.over_keys
        {
            if self.is_fresh_generator(id) {
                return self.run_for_hooked(id, inner, label);
            }
            // The items that the body leaves are there for others.
            while let Some(item) = self.next_item(id)? {
                self.step()?;
                if !self.for_round(inner, item, label)? {
                    return Ok(());
                }
            }
            return self.run_block(&inner.otherwise);
        }
        let mut at = 0;
        // A list may grow while the loop goes through it.
        let live = if let Value::List(id) = items { Some(id) } else { None };
        let values = if inner.over_keys { self.keys_of(&items)? } else { self.items(&items)? };
        loop {
            let item = match live {
                Some(id) if !inner.over_keys => self.heap.list(id).and_then(|items| items.get(at)).cloned(),
                _ => values.get(at).cloned(),
            };
            let Some(item) = item else { break };
            at += 1;
            self.step()?;
            if !self.for_round(inner, item, label)? {
                return Ok(());
            }
        }
        self.run_block(&inner.otherwise)
    }

    pub(super) fn for_round(&mut self, inner: &ForLoop, item: Value, label: Option<&Name>) -> Run<bool> {
        if self.is_python() {
            self.assign(&inner.target, item, Declares::No)?;
            return self.round(&inner.body, label);
        }
        let before = self.enter_scope();
        let item = self.awaited(item)?;
        let goes_on = self.assign(&inner.target, item, inner.declares).and_then(|()| self.round(&inner.body, label));
        self.leave_scope(before);
        goes_on
    }

    fn run_while(&mut self, inner: &WhileLoop, label: Option<&Name>) -> Run<()> {
        let before = if inner.first.is_empty() { None } else { Some(self.enter_scope()) };
        let end = self.run_while_rounds(inner, label);
        if let Some(before) = before {
            self.leave_scope(before);
        }
        end
    }

    fn run_while_rounds(&mut self, inner: &WhileLoop, label: Option<&Name>) -> Run<()> {
        self.run_block(&inner.first)?;
        let (mut rounds, mut doubtful) = (0, 0);
        let asked_before = self.answers.given.len();
        loop {
            self.step()?;
            let asked = self.answers.given.len();
            if let Some(condition) = &inner.condition
                && (!inner.tests_late || rounds > 0)
                && !self.holds(condition)?
            {
                return self.run_block(&inner.otherwise);
            }
            doubtful += usize::from(self.answers.given.len() > asked);
            rounds += 1;
            let is_doubtful = self.answers.given.len() > asked_before;
            if doubtful > MOST_DOUBTFUL_ROUNDS || is_doubtful && rounds > MOST_UNKNOWN_ROUNDS {
                return Ok(());
            }
            if !inner.first.is_empty() {
                self.renew_scope();
            }
            if !self.round(&inner.body, label)? {
                return Ok(());
            }
            if let Some(step) = &inner.step {
                self.value(step)?;
            }
        }
    }

    /// A round of `for (let i = 0; …)` has its own `i`, which functions made in it keep.
    fn renew_scope(&mut self) {
        let scope = self.scope();
        if let Some(copy) = self.heap.scope(scope).cloned() {
            let id = self.heap.add(Cell::Scope(copy));
            self.set_scope(id);
        }
    }

    fn run_raise(&mut self, value: Option<&Expr>) -> Run<()> {
        let value = match value {
            Some(value) => self.value(value)?,
            None => self.frames.last().and_then(|frame| frame.handled.clone()).unwrap_or(Value::Unknown),
        };
        let value = if matches!(value, Value::Class(_)) { self.call(value, Vec::new())? } else { value };
        Err(Stop::Raise(value))
    }

    fn run_try(
        &mut self,
        body: &[Statement],
        handlers: &[Handler],
        otherwise: &[Statement],
        last: &[Statement],
    ) -> Run<()> {
        let (scope, frames) = (self.scope(), self.frames.len());
        self.tries += 1;
        let mut end = self.run_scoped(body);
        self.tries -= 1;
        // An exception may have come out of calls in the middle.
        self.frames.truncate(frames);
        self.set_scope(scope);
        match end {
            Err(Stop::Raise(value)) => {
                self.tries += usize::from(!last.is_empty());
                end = self.handle(handlers, value);
                self.tries -= usize::from(!last.is_empty());
            }
            Ok(()) => end = self.run_block(otherwise),
            _ => {}
        }
        self.frames.truncate(frames);
        self.set_scope(scope);
        if !last.is_empty() && !matches!(end, Err(Stop::Halt | Stop::Pause)) {
            self.run_scoped(last)?;
        }
        end
    }

    fn handle(&mut self, handlers: &[Handler], value: Value) -> Run<()> {
        for handler in handlers {
            let fits = match &handler.kinds {
                None => true,
                Some(kinds) => {
                    let kinds = self.value(kinds)?;
                    match self.is_kind(&value, &kinds) {
                        Some(fits) => fits,
                        None => self.answer(ptr::from_ref(handler).addr(), true),
                    }
                }
            };
            if !fits {
                continue;
            }
            let before = self.enter_handler(&value);
            let end = match &handler.target {
                Some(target) => {
                    let declares = if self.is_python() { Declares::No } else { Declares::InBlock };
                    self.assign(target, value, declares)
                }
                None => Ok(()),
            };
            let end = end.and_then(|()| self.run_block(&handler.body));
            if let Some(scope) = before {
                self.leave_scope(scope);
            }
            return end;
        }
        Err(Stop::Raise(value))
    }

    fn enter_handler(&mut self, value: &Value) -> Option<usize> {
        if let Some(frame) = self.frames.last_mut() {
            frame.handled = Some(value.clone());
        }
        if self.is_python() { None } else { Some(self.enter_scope()) }
    }

    pub(super) fn run_with(&mut self, block: &Rc<WithBlock>, at: usize) -> Run<()> {
        let Some((value, target)) = block.items.get(at) else { return self.run_block(&block.body) };
        let manager = self.value(value)?;
        if let Value::Iterator(id) = manager
            && self.is_fresh_generator(id)
        {
            return self.run_with_hooked(id, block, at);
        }
        let entered = self.enter_manager(&manager)?;
        if let Some(target) = target {
            self.assign(target, entered, Declares::No)?;
        }
        let frames = self.frames.len();
        let swallows = self.may_swallow(&manager);
        self.tries += usize::from(swallows);
        let end = self.run_with(block, at + 1);
        self.tries -= usize::from(swallows);
        self.frames.truncate(frames);
        let failure = if let Err(Stop::Raise(value)) = &end { Some(value.clone()) } else { None };
        if matches!(end, Err(Stop::Halt | Stop::Pause)) {
            return end;
        }
        let is_swallowed = self.exit_manager(&manager, failure.as_ref())?;
        if failure.is_some() && is_swallowed { Ok(()) } else { end }
    }

    fn run_switch(&mut self, subject: &Expr, arms: &[Arm]) -> Run<()> {
        let subject = self.value(subject)?;
        let mut start = None;
        for (at, arm) in arms.iter().enumerate() {
            let Some(pattern) = &arm.pattern else { continue };
            let value = self.value(pattern)?;
            let fits = match self.equals(&subject, &value) {
                Some(fits) => fits,
                None => self.answer(ptr::from_ref(arm).addr(), true),
            };
            if fits {
                start = Some(at);
                break;
            }
        }
        let start = start.or_else(|| arms.iter().position(|arm| arm.pattern.is_none()));
        let Some(start) = start else { return Ok(()) };
        let before = self.enter_scope();
        let mut end = Ok(());
        for arm in arms.iter().skip(start) {
            end = self.run_block(&arm.body);
            if end.is_err() {
                break;
            }
        }
        self.leave_scope(before);
        match end {
            Err(Stop::Break(None)) => Ok(()),
            end => end,
        }
    }

    fn run_match(&mut self, subject: &Expr, arms: &[Arm]) -> Run<()> {
        let subject = self.value(subject)?;
        for arm in arms {
            let Some(pattern) = &arm.pattern else { continue };
            let fits = match self.fits(pattern, &subject)? {
                Some(fits) => fits,
                None => self.answer(ptr::from_ref(arm).addr(), true),
            };
            let fits = fits
                && match &arm.guard {
                    Some(guard) => self.holds(guard)?,
                    None => true,
                };
            if fits {
                return self.run_block(&arm.body);
            }
        }
        Ok(())
    }
}
