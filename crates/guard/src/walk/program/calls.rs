//! The values of expressions, and calls.

use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;

use crate::walk::program::Language;
use crate::walk::program::ast::{Argument, Expr, Function, Loop};
use crate::walk::program::evaluate::{MOST_ROUNDS, Program, Scope};
use crate::walk::program::narrowing::narrowing;
use crate::walk::program::operators::{changed, combined, slice};
use crate::walk::program::value::Value;

/// The deepest calls.
const DEEPEST: usize = 12;

/// The deepest nesting of expressions while they are evaluated, over all calls.
const DEEPEST_VALUE: usize = 96;

/// The most alternatives of an expression.
const MOST_WAYS: usize = 12;

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

impl Program<'_, '_> {
    pub(super) fn value(&mut self, expression: &Expr) -> Value {
        if !self.step() || self.depth > DEEPEST_VALUE {
            self.is_blind = true;
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
    pub(super) fn combine(left: &Value, operator: &str, right: &Value) -> Value {
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
                Value::Unknown if super::commands::is_effect(method) => Value::Native(method.clone()),
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
            self.is_blind = true;
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
