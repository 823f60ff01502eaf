//! The values of awk's expressions.

use std::rc::Rc;

use crate::marks::{UNKNOWN, has_mark};
use crate::walk::awk::ast::{Arithmetic, CONVFMT, ENVIRON, Expr, NF, OFS, SUBSEP, Slot};
use crate::walk::awk::ere::Ere;
use crate::walk::awk::machine::{After, AwkRun};
use crate::walk::awk::number;
use crate::walk::awk::output::{certain, choices};
use crate::walk::awk::state::{Array, Cell, Record, State};
use crate::walk::awk::value::Value;
use crate::walk::state::ShellState;

/// The depth of the walk up to which functions are followed.
const DEEPEST: usize = 72;

/// The most expressions that a script may use in awk.
const MOST_EXPRESSIONS: usize = 512;

/// The most variables of the environment that are gone through.
const MOST_NAMES: usize = 32;

/// The work of making an expression.
const EXPRESSION_WORK: usize = 300;

/// The most fields that a program can make by itself.
const MOST_FIELDS: usize = 1024;

impl AwkRun<'_, '_, '_> {
    /// The format of numbers with a fraction, as text.
    pub(super) fn convfmt(&self) -> Rc<str> {
        self.state.global(CONVFMT).to_text("%.6g")
    }

    /// The text of a value; unknown if it has several.
    pub(super) fn text_of(&self, value: &Value) -> Rc<str> {
        value.to_text(&self.convfmt())
    }

    /// The texts that a value may be.
    pub(super) fn texts_of(&self, value: &Value) -> Vec<Rc<str>> {
        let format = self.convfmt();
        certain(value).into_iter().map(|value| value.to_text(&format)).collect()
    }

    /// An expression to look for; none if it cannot be used.
    pub(super) fn ere(&mut self, text: &str) -> Option<Ere> {
        let known = &self.walk.world.awk_expressions;
        if let Some(ere) = known.get(text) {
            return ere.clone();
        }
        if known.len() >= MOST_EXPRESSIONS {
            return None;
        }
        self.work(EXPRESSION_WORK + text.len());
        let ere = Ere::new(text);
        self.walk.world.awk_expressions.insert(text.to_owned(), ere.clone());
        ere
    }

    /// The expression that a value stands for on the right side of `~` and in functions.
    pub(super) fn pattern(&mut self, pattern: &Expr) -> Option<Ere> {
        if let Expr::Regex(text) = pattern {
            return self.ere(text);
        }
        let value = self.value(pattern);
        let text = self.text_of(&value);
        self.ere(&text)
    }

    fn matches(&mut self, value: &Value, pattern: &Expr) -> Option<bool> {
        let ere = self.pattern(pattern);
        let mut outcome = None;
        for text in self.texts_of(value) {
            self.work(1 + text.len() / 16);
            let one = ere.as_ref()?.matches(&text)?;
            if outcome.is_some_and(|before| before != one) {
                return None;
            }
            outcome = Some(one);
        }
        outcome
    }

    /// True or false, if that is certain.
    pub(super) fn truth(&mut self, condition: &Expr) -> Option<bool> {
        match condition {
            Expr::Not(value) => self.truth(value).map(|truth| !truth),
            Expr::And(values) => self.all_or_any(values, false),
            Expr::Or(values) => self.all_or_any(values, true),
            Expr::Regex(_) => {
                let record = self.state.record.field(0);
                self.matches(&record, condition)
            }
            Expr::Match { text, pattern, is_negated } => {
                let text = self.value(text);
                self.matches(&text, pattern).map(|found| found != *is_negated)
            }
            Expr::Compare(comparison, left, right) => {
                let (left, right) = (self.value(left), self.value(right));
                let format = self.convfmt();
                left.compare(*comparison, &right, &format)
            }
            Expr::In(keys, array) => {
                let key = self.key(keys);
                if *array == Slot::Global(ENVIRON) {
                    return None;
                }
                self.state.array(*array).map_or(Some(false), |array| array.has(&key))
            }
            value => self.value(value).truth(),
        }
    }

    /// `&&` ends at the first false value, `||` at the first true one.
    fn all_or_any(&mut self, values: &[Expr], ends_at: bool) -> Option<bool> {
        let mut outcome = Some(!ends_at);
        // The state in which the rest may not have been looked at.
        let mut earlier: Option<State> = None;
        for value in values {
            match self.truth(value) {
                Some(truth) if truth == ends_at => {
                    outcome = Some(ends_at);
                    break;
                }
                Some(_) => {}
                None => {
                    outcome = None;
                    earlier.get_or_insert_with(|| self.state.clone());
                }
            }
        }
        if let Some(earlier) = earlier {
            let joined = self.state.join(&earlier, &earlier.record);
            self.work(joined);
        }
        outcome
    }

    pub(super) fn value(&mut self, value: &Expr) -> Value {
        if !self.step() {
            return Value::unknown();
        }
        match value {
            Expr::Number(number) => Value::Number(*number),
            Expr::Text(text) => Value::Text(Rc::clone(text)),
            Expr::Marks(text) => Value::Input(Rc::clone(text)),
            Expr::Var(Slot::Global(NF)) => self.state.record.count().map_or_else(Value::unknown_number, Value::count),
            Expr::Var(slot) => self.state.value(*slot),
            Expr::Item(array, keys) => self.item(*array, keys),
            Expr::Field(place) => match self.value(place).number() {
                Some(number) => self.state.record.field(place_of(number)),
                None => self.state.record.any_field(),
            },
            Expr::Assign(target, operation, value) => self.assign(target, *operation, value),
            Expr::Step { target, by, is_before } => {
                let before = self.value(target).number().map_or_else(Value::unknown_number, Value::Number);
                let after = arithmetic(Arithmetic::Add, &before, &Value::Number(*by));
                self.store(target, after.clone());
                if *is_before { after } else { before }
            }
            Expr::Negative(value) => {
                let number = self.value(value).number();
                number.map_or_else(Value::unknown_number, |number| Value::Number(-number))
            }
            Expr::Positive(value) => self.value(value).number().map_or_else(Value::unknown_number, Value::Number),
            Expr::Chain(first, rest) => {
                let mut value = self.value(first);
                for (operation, other) in rest {
                    let other = self.value(other);
                    value = arithmetic(*operation, &value, &other);
                }
                value
            }
            Expr::Concat(values) => self.concatenated(values),
            Expr::Ternary(condition, then, otherwise) => match self.truth(condition) {
                Some(true) => self.value(then),
                Some(false) => self.value(otherwise),
                None => self.either_value(condition, then, otherwise),
            },
            Expr::Call(callee, arguments) => self.call(*callee, arguments),
            Expr::Native(name, arguments) => self.native(name, arguments),
            Expr::Getline { from, target } => self.getline(from, target.as_deref()),
            Expr::Many(values) => Value::text(self.key(values)),
            condition => Value::flag(self.truth(condition)),
        }
    }

    fn assign(&mut self, target: &Expr, operation: Option<Arithmetic>, value: &Expr) -> Value {
        let mut value = self.value(value);
        if let Some(operation) = operation {
            let before = self.value(target);
            value = arithmetic(operation, &before, &value);
        }
        self.store(target, value.clone());
        value
    }

    /// One of two values, by a condition that is not known.
    fn either_value(&mut self, condition: &Expr, then: &Expr, otherwise: &Expr) -> Value {
        let (mut first, mut second) = (Value::Unset, Value::Unset);
        self.both_ways(
            Some(condition),
            |run| {
                first = run.value(then);
                After::Goes
            },
            |run| {
                second = run.value(otherwise);
                After::Goes
            },
        );
        first.join(&second)
    }

    fn concatenated(&mut self, values: &[Expr]) -> Value {
        let values: Vec<Value> = values.iter().map(|value| self.value(value)).collect();
        let format = self.convfmt();
        let joined = choices(&values).into_iter().map(|choice| {
            let text: String = choice.iter().map(|value| value.to_text(&format)).collect::<Vec<_>>().concat();
            text
        });
        let joined: Vec<String> = joined.collect();
        let mut result: Option<Value> = None;
        for text in joined {
            let value = self.bounded(text);
            result = Some(result.map_or_else(|| value.clone(), |before| before.join(&value)));
        }
        result.unwrap_or(Value::Unset)
    }

    /// A text as a value; unknown if it is too long.
    pub(super) fn bounded(&mut self, text: String) -> Value {
        self.work(text.len() / 64);
        if text.len() > super::LONGEST_TEXT { Value::unknown() } else { Value::text(text) }
    }

    /// The key of an element.
    pub(super) fn key(&mut self, keys: &[Expr]) -> String {
        let format = self.convfmt();
        let keys: Vec<Rc<str>> = keys.iter().map(|key| self.value(key).to_text(&format)).collect();
        keys.join(&*self.state.global(SUBSEP).to_text("%.6g"))
    }

    fn item(&mut self, array: Slot, keys: &[Expr]) -> Value {
        let key = self.key(keys);
        if array == Slot::Global(ENVIRON) {
            return self.environment(&key);
        }
        let Some(items) = self.state.array(array) else { return Value::unknown() };
        if has_mark(&key) {
            self.work(items.len());
        }
        if let Some(value) = items.get(&key) {
            return value;
        }
        // The array is copied if two names hold it.
        drop(items);
        // Looking at an element makes it.
        if !has_mark(&key)
            && let Some(items) = self.state.array_mut(array)
        {
            items.set(&key, Value::Unset);
        }
        Value::Unset
    }

    /// A variable of the environment.
    fn environment(&mut self, name: &str) -> Value {
        if has_mark(name) {
            return Value::unknown();
        }
        let shell = &self.walk.world.shell;
        let is_exported = shell.variable(name).is_some_and(|variable| variable.exported);
        let is_absent = shell.outside.lacks(name);
        if shell.variable(name).is_some() && (is_exported || !is_absent) {
            return self.walk.scalar(name).map_or(Value::Unset, Value::input);
        }
        match ShellState::inherited(name) {
            Some(text) => Value::input(text),
            None if name == "PWD" => Value::input(self.walk.directory()),
            None if is_absent => Value::Unset,
            None => Value::unknown(),
        }
    }

    /// The names of the environment's variables: those that are known, and an unknown one for the rest.
    pub(super) fn environment_names(&self) -> Vec<String> {
        let shell = &self.walk.world.shell;
        let is_exported = |name: &str| shell.variable(name).is_some_and(|variable| variable.exported);
        let mut names: Vec<String> = shell.names().filter(|name| is_exported(name)).map(str::to_owned).collect();
        names.sort_unstable();
        names.truncate(MOST_NAMES);
        names.extend(["HOME", "PWD"].map(str::to_owned));
        names.push(UNKNOWN.to_string());
        names
    }

    /// Gives a variable, an element or a field its value.
    pub(super) fn store(&mut self, target: &Expr, value: Value) {
        match target {
            Expr::Var(Slot::Global(NF)) => self.set_field_count(&value),
            Expr::Var(slot) => self.state.set(*slot, value),
            Expr::Item(array, keys) => {
                let key = self.key(keys);
                let copied = self.state.array_copy_size(*array);
                self.work(copied);
                if let Some(items) = self.state.array_mut(*array) {
                    items.set(&key, value);
                }
            }
            Expr::Field(place) => {
                let place = self.value(place).number();
                let text = self.text_of(&value);
                match place.map(place_of) {
                    Some(0) => self.set_record(&text),
                    Some(at) => self.set_field(at, &text),
                    None => {
                        let whole = self.state.record.text.to_string();
                        let unknown = self.walk.unknown_made_of(&whole);
                        self.set_record(&unknown.into());
                    }
                }
            }
            _ => {}
        }
    }

    fn set_field(&mut self, at: usize, text: &Rc<str>) {
        let mut fields = self.state.record.fields.clone();
        if at > MOST_FIELDS {
            return;
        }
        if fields.len() < at {
            fields.resize(at, "".into());
        }
        if let Some(field) = fields.get_mut(at - 1) {
            *field = Rc::clone(text);
        }
        self.rebuild(fields);
    }

    fn set_field_count(&mut self, count: &Value) {
        let Some(count) = count.number().map(place_of) else { return };
        let mut fields = self.state.record.fields.clone();
        fields.resize(count.min(MOST_FIELDS), "".into());
        self.rebuild(fields);
    }

    /// Makes the record of its fields.
    fn rebuild(&mut self, fields: Vec<Rc<str>>) {
        self.work(fields.len());
        let text = fields.join(&*self.state.global(OFS).to_text("%.6g"));
        self.state.record = Rc::new(Record { text: text.into(), fields, is_open: false });
    }

    fn call(&mut self, callee: usize, arguments: &[Expr]) -> Value {
        let program = self.program;
        let Some(function) = program.functions.get(callee) else { return Value::unknown() };
        if self.walk.budget.depth() >= DEEPEST {
            self.is_blind = true;
            return Value::unknown();
        }
        let mut cells = Vec::with_capacity(function.takes_array.len());
        for (at, takes_array) in function.takes_array.iter().enumerate() {
            let given = match arguments.get(at) {
                Some(Expr::Var(slot)) if *takes_array => self.state.array_id(*slot).map(Cell::Array),
                Some(argument) => Some(Cell::Value(self.value(argument))),
                None => None,
            };
            cells.push(given);
        }
        for argument in arguments.iter().skip(function.takes_array.len()) {
            self.value(argument);
        }
        if !self.walk.budget.enter() {
            return Value::unknown();
        }
        let (length, base, arrays) = (self.state.cells.len(), self.state.base, self.state.arrays.len());
        for (cell, takes_array) in cells.into_iter().zip(&function.takes_array) {
            let cell = cell.unwrap_or_else(|| {
                if !takes_array {
                    return Cell::Value(Value::Unset);
                }
                self.state.arrays.push(Rc::new(Array::default()));
                Cell::Array(self.state.arrays.len() - 1)
            });
            self.state.cells.push(cell);
        }
        self.state.base = length;
        let outer = self.returned.take();
        let after = self.block(&function.body);
        let own = std::mem::replace(&mut self.returned, outer);
        self.state.cells.truncate(length);
        self.state.arrays.truncate(arrays);
        self.state.base = base;
        self.walk.budget.leave();
        match (own, after) {
            (Some(value), After::Returns) => value,
            (Some(value), _) => value.join(&Value::Unset),
            (None, _) => Value::Unset,
        }
    }
}

/// The number of a field.
fn place_of(number: f64) -> usize {
    number::whole(number).and_then(|at| usize::try_from(at).ok()).unwrap_or(usize::MAX)
}

pub(super) fn arithmetic(operation: Arithmetic, left: &Value, right: &Value) -> Value {
    let (Some(left), Some(right)) = (left.number(), right.number()) else { return Value::unknown_number() };
    let result = match operation {
        Arithmetic::Add => left + right,
        Arithmetic::Subtract => left - right,
        Arithmetic::Multiply => left * right,
        // The program ends there.
        Arithmetic::Divide | Arithmetic::Remainder if right == 0.0 => return Value::unknown_number(),
        Arithmetic::Divide => left / right,
        Arithmetic::Remainder => left % right,
        Arithmetic::Power => left.powf(right),
    };
    Value::Number(result)
}
