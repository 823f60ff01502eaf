//! Runs a program over values that are known in part.
//!
//! Where a condition is not known, both ways are taken, and names may then have one of several values. Every step spends from
//! the budget of the walk.

use std::cell::RefCell;
use std::collections::{HashMap, HashSet};
use std::rc::Rc;

use crate::walk::ScriptWalk;
use crate::walk::program::Language;
use crate::walk::program::ast::{Argument, Expr, Function, Loop, Statement};
use crate::walk::program::narrowing::{mentions, narrowing};
use crate::walk::program::operators::{changed, combined, slice, with_entry};
use crate::walk::program::value::Value;

/// The most rounds of a loop.
const MOST_ROUNDS: usize = 64;

/// The most rounds of a loop that does not go through a list.
const MOST_ROUNDS_WHILE: usize = 8;

/// The most steps of one program.
const MOST_STEPS: usize = 6_000;

/// The deepest calls.
const DEEPEST: usize = 12;

/// The deepest nesting of expressions while they are evaluated, over all calls.
const DEEPEST_VALUE: usize = 96;

/// The most alternatives of an expression.
const MOST_WAYS: usize = 12;

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
    returned: Vec<Value>,
    steps: usize,
    depth: usize,
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

/// The arguments of a call, after their expressions.
#[derive(Debug, Clone, Default)]
pub(super) struct Given {
    pub(super) values: Vec<Value>,
    pub(super) named: Vec<(String, Value)>,
}

impl Given {
    pub(super) fn first(&self) -> Value {
        self.values.first().cloned().unwrap_or(Value::Nothing)
    }

    /// An option by its name, also in a table as JavaScript gives them.
    pub(super) fn option(&self, name: &str) -> Option<&Value> {
        let in_tables = self.values.iter().find_map(|value| match value {
            Value::Table(entries) => entries.iter().find(|(key, _)| key == name),
            _ => None,
        });
        self.named.iter().find(|(key, _)| key == name).or(in_tables).map(|(_, value)| value)
    }
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
    fn step(&mut self) -> bool {
        self.steps += 1;
        self.walk.budget.spend(usize::from(self.steps.is_multiple_of(4)));
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
    fn either(&mut self, inner: impl FnOnce(&mut Self) -> After) -> After {
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

    fn is_about_listing(&self, condition: &Expr) -> bool {
        mentions(condition).iter().any(|name| self.lookup(name).is_some_and(Value::is_listing))
    }

    /// A condition makes a choice among the names of a listing.
    fn choose(&mut self) {
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
    fn take_apart(&mut self, targets: &[Expr], value: Value) {
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
    fn iterated(&mut self, value: Value) -> Vec<Value> {
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

    pub(super) fn value(&mut self, expression: &Expr) -> Value {
        if !self.step() || self.depth > DEEPEST_VALUE {
            return Value::Unknown;
        }
        self.depth += 1;
        let (value, size) = self.unmeasured(expression).measured();
        self.depth -= 1;
        // Long texts and lists are work.
        self.walk.budget.spend(size / 32);
        value
    }

    fn unmeasured(&mut self, expression: &Expr) -> Value {
        match expression {
            Expr::Text(text) => Value::text(text.clone()),
            Expr::Number(number) => Value::Number(*number),
            Expr::Flag(flag) => Value::Flag(*flag),
            Expr::Nothing => Value::Nothing,
            Expr::Template(parts) => {
                let empty = Value::text("");
                parts.iter().fold(empty, |before, part| {
                    let value = self.value(part);
                    let value = value.map(|value| Value::text(value.to_text()));
                    Self::combine(&before, "+", &value)
                })
            }
            Expr::Name(name) => self.lookup(name).cloned().unwrap_or_else(|| super::natives::unbound(name)),
            Expr::Member(object, name) => {
                let object = self.value(object);
                self.member(object, name)
            }
            Expr::Index(object, key) => {
                let (object, key) = (self.value(object), self.value(key));
                self.item(object, &key)
            }
            Expr::Slice(object, from, to, is_backwards) => {
                let object = self.value(object);
                let from = from.as_ref().map(|from| self.value(from));
                let to = to.as_ref().map(|to| self.value(to));
                object.map(|value| slice(value, from.as_ref(), to.as_ref(), *is_backwards))
            }
            Expr::Call(callee, arguments) => self.call_expression(callee, arguments),
            Expr::List(items) => Value::list(self.spread(items)),
            Expr::Spread(value) => self.value(value),
            Expr::Table(entries) => self.table(entries),
            Expr::Binary(left, operator, right) => self.binary(left, operator, right),
            Expr::Not(value) => self.value(value).truth().map_or(Value::Unknown, |truth| Value::Flag(!truth)),
            Expr::Choice(condition, then, otherwise) => match self.value(condition).truth() {
                Some(true) => self.value(then),
                Some(false) => self.value(otherwise),
                None => Value::one_of([self.value(then), self.value(otherwise)]),
            },
            Expr::Function(function) => Value::Function(Rc::clone(function)),
            Expr::Comprehension(element, loops) => {
                self.scopes.push(Scope::default());
                let mut items = Vec::new();
                self.comprehend(element, loops, &mut items);
                self.scopes.pop();
                Value::list(items)
            }
            Expr::Assign(target, value) => {
                let value = self.value(value);
                self.assign(target, value.clone());
                value
            }
            Expr::Other(parts) => {
                for part in parts {
                    self.value(part);
                }
                Value::Unknown
            }
        }
    }

    fn comprehend(&mut self, element: &Expr, loops: &[Loop], items: &mut Vec<Value>) {
        let Some((first, rest)) = loops.split_first() else {
            let value = self.value(element);
            items.push(value);
            return;
        };
        let values = self.value(&first.items);
        for value in self.iterated(values).into_iter().take(MOST_ROUNDS) {
            self.assign(&first.target, value);
            let mut holds = true;
            for condition in &first.conditions {
                holds &= self.value(condition).truth() != Some(false);
                if self.is_about_listing(condition) && narrowing(condition).0 {
                    self.choose();
                }
            }
            if holds {
                self.comprehend(element, rest, items);
            }
        }
    }

    fn spread(&mut self, items: &[Expr]) -> Vec<Value> {
        let mut values = Vec::new();
        for item in items {
            let value = self.value(item);
            match item {
                Expr::Spread(_) => values.extend(self.spread_items(value)),
                _ => values.push(value),
            }
        }
        values
    }

    /// The items of a value that is spread in a list. In Perl, one value is a list of one.
    fn spread_items(&self, value: Value) -> Vec<Value> {
        match value {
            Value::Text(_) | Value::Number(_) if self.language == Language::Perl => vec![value],
            value => value.items(),
        }
    }

    fn table(&mut self, entries: &[(Option<Expr>, Expr)]) -> Value {
        let mut table = Vec::new();
        for (key, value) in entries {
            let value = self.value(value);
            match key {
                Some(key) => {
                    let key = self.value(key).to_text();
                    table.push((key, value));
                }
                None => {
                    if let Value::Table(more) = value {
                        table.extend(more);
                    }
                }
            }
        }
        Value::Table(table)
    }

    fn binary(&mut self, left: &Expr, operator: &str, right: &Expr) -> Value {
        let left = self.value(left);
        match (operator, left.truth()) {
            ("||", Some(true)) | ("&&", Some(false)) => return left,
            ("||" | "&&", Some(_)) => return self.value(right),
            ("||" | "&&", None) => {
                let right = self.value(right);
                return Value::one_of([left, right]);
            }
            _ => {}
        }
        let right = self.value(right);
        Self::combine(&left, operator, &right)
    }

    /// Applies an operator to every way that its operands may be.
    fn combine(left: &Value, operator: &str, right: &Value) -> Value {
        let mut ways = Vec::new();
        for left in left.clone().alternatives() {
            for right in right.clone().alternatives() {
                if ways.len() < MOST_WAYS {
                    ways.push(combined(&left, operator, &right));
                }
            }
        }
        Value::one_of(ways)
    }

    fn call_expression(&mut self, callee: &Expr, arguments: &[Argument]) -> Value {
        let mut given = Given::default();
        if let Expr::Member(object, method) = callee {
            let value = self.value(object);
            given = self.given(arguments);
            if let Some(changed) = changed(&value, method, &given) {
                self.assign(object, changed.clone());
                return match method.as_str() {
                    "pop" if given.first() != Value::Number(0) => value.items().pop().unwrap_or(Value::Unknown),
                    "pop" | "shift" => value.items().into_iter().next().unwrap_or(Value::Unknown),
                    _ => changed,
                };
            }
            // A module that is not known has the calls that all of its kind have.
            let function = match value {
                Value::Unknown if super::natives::is_effect(method) => Value::Native(method.clone()),
                value => self.member(value, method),
            };
            return self.call_each(function, &given);
        }
        let function = self.value(callee);
        given.clone_from(&self.given(arguments));
        self.call_each(function, &given)
    }

    fn given(&mut self, arguments: &[Argument]) -> Given {
        let mut given = Given::default();
        for argument in arguments {
            let value = self.value(&argument.value);
            match (&argument.name, &argument.value) {
                (Some(name), _) => given.named.push((name.clone(), value)),
                (None, Expr::Spread(_)) => match value {
                    Value::Table(entries) => given.named.extend(entries),
                    value => {
                        let items = self.spread_items(value);
                        given.values.extend(items);
                    }
                },
                (None, _) => given.values.push(value),
            }
        }
        given
    }

    /// Calls whatever the value may be.
    pub(super) fn call_each(&mut self, function: Value, given: &Given) -> Value {
        let ways: Vec<Value> = function.alternatives().into_iter().map(|way| self.call(way, given)).collect();
        Value::one_of(ways)
    }

    fn call(&mut self, function: Value, given: &Given) -> Value {
        if !self.step() {
            return Value::Unknown;
        }
        match function {
            Value::Function(function) => self.call_function(&function, None, given),
            Value::Class(members) => {
                let fields: HashMap<String, Value> = members.iter().cloned().collect();
                let start = fields.get("__init__").cloned();
                let fields = Rc::new(RefCell::new(fields));
                self.objects.push(Rc::clone(&fields));
                let object = Value::Object(fields);
                if let Some(Value::Function(function)) = start {
                    self.call_function(&function, Some(object.clone()), given);
                } else if let Value::Object(fields) = &object {
                    // A data class.
                    fields.borrow_mut().extend(given.named.iter().cloned());
                }
                object
            }
            Value::Method(object, name) => match (*object, name) {
                (Value::Object(fields), name) => {
                    let method = fields.borrow().get(&name).cloned();
                    match method {
                        Some(Value::Function(function)) => {
                            self.call_function(&function, Some(Value::Object(fields)), given)
                        }
                        Some(other) => self.call_each(other, given),
                        None => self.call_with_callbacks(given),
                    }
                }
                (object, name) => self.call_method(object, &name, given),
            },
            Value::Partial(function, values) => {
                let mut given = given.clone();
                given.values.splice(0..0, values);
                self.call_each(*function, &given)
            }
            Value::Native(name) => self.call_native(&name, given),
            _ => self.call_with_callbacks(given),
        }
    }

    pub(super) fn call_function(&mut self, function: &Rc<Function>, object: Option<Value>, given: &Given) -> Value {
        if self.scopes.len() > DEEPEST {
            return Value::Unknown;
        }
        let mut scope = Scope::default();
        let mut values = given.values.clone();
        if let Some(object) = object {
            if self.language == Language::Script {
                scope.values.insert("this".to_owned(), object);
            } else {
                values.insert(0, object);
            }
        }
        self.scopes.push(scope);
        let mut values = values.into_iter();
        for parameter in &function.parameters {
            let name = if let Expr::Name(name) = &parameter.target { name.as_str() } else { "" };
            let named = given.named.iter().find(|(own, _)| own == name).map(|(_, value)| value.clone());
            let value = if parameter.takes_rest {
                Value::list(values.by_ref().collect())
            } else if let Some(value) = named.or_else(|| values.next()) {
                value
            } else {
                parameter.default.as_ref().map_or(Value::Unknown, |default| self.value(default))
            };
            match &parameter.target {
                // A parameter is the function's own.
                Expr::Name(name) => {
                    self.scopes.last_mut().into_iter().for_each(|scope| {
                        scope.values.insert(name.clone(), value.clone());
                    });
                }
                target => self.assign(target, value),
            }
        }
        let before = std::mem::take(&mut self.returned);
        self.run(&function.body);
        let returned = std::mem::replace(&mut self.returned, before);
        self.scopes.pop();
        if returned.is_empty() { Value::Nothing } else { Value::one_of(returned) }
    }

    /// Calls the functions among the arguments of a call that is not known: a callback, a task, a thread.
    pub(super) fn call_with_callbacks(&mut self, given: &Given) -> Value {
        let target = given.named.iter().find(|(name, _)| matches!(name.as_str(), "target" | "key" | "func"));
        let arguments = given.option("args").cloned().unwrap_or(Value::Nothing);
        if let Some((name, function @ Value::Function(_))) = target
            && name == "target"
        {
            let given = Given { values: arguments.items(), named: Vec::new() };
            return self.call_each(function.clone(), &given);
        }
        for (at, value) in given.values.iter().enumerate() {
            if matches!(value, Value::Function(_) | Value::Partial(..)) {
                let rest = given.values.get(at + 1..).unwrap_or(&[]).to_vec();
                self.call_each(value.clone(), &Given { values: rest, named: given.named.clone() });
            }
        }
        Value::Unknown
    }
}
