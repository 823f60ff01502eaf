//! The values of expressions.

use std::ptr;
use std::rc::Rc;

use crate::walk::program::call::Given;
use crate::walk::program::syntax::{
    Argument, Comprehension, Declares, DictEntry, EntryKind, Expr, FormatPart, Gathers, Loop,
};
use crate::walk::program::value::{Dict, Value};
use crate::walk::program::{Run, Stop, Trial};

/// The deepest nesting of expressions while they are evaluated, over all calls.
pub(super) const DEEPEST: usize = 120;

/// The most values that one generator yields.
const MOST_YIELDS: usize = 256;

impl Trial<'_, '_> {
    pub(super) fn value(&mut self, expression: &Expr) -> Run<Value> {
        self.step()?;
        if self.depth > DEEPEST {
            self.notes.is_blind = true;
            return Err(Stop::Halt);
        }
        self.depth += 1;
        let value = self.unbounded_value(expression);
        self.depth -= 1;
        match value {
            // `t = (t, t)` grows without end.
            Ok(value) if value.is_deep() => {
                self.notes.is_blind = true;
                Ok(Value::Lost)
            }
            value => value,
        }
    }

    fn unbounded_value(&mut self, expression: &Expr) -> Run<Value> {
        Ok(match expression {
            Expr::Text(text) => Value::Text(Rc::clone(text)),
            Expr::Bytes(bytes) => Value::Bytes(Rc::clone(bytes)),
            Expr::Int(number) => Value::Int(*number),
            Expr::Float(number) => Value::Float(*number),
            Expr::Bool(flag) => Value::Bool(*flag),
            Expr::None => Value::None,
            Expr::Undefined => Value::Undefined,
            Expr::Format(parts) => self.formatted(parts)?,
            Expr::Tagged(function, texts, values) => self.tagged(function, texts, values)?,
            Expr::Regex(pattern, flags) => Value::Regex(Rc::new((pattern.to_string(), flags.to_string()))),
            Expr::Name(name) => self.named(name)?,
            Expr::Member(object, name, is_optional) => {
                let object = self.value(object)?;
                if *is_optional && object.is_nothing() {
                    return Ok(Value::Undefined);
                }
                self.member(&object, name)?
            }
            Expr::Index(object, key, is_optional) => return self.index(object, key, *is_optional),
            Expr::Slice(_) => Value::Unknown,
            Expr::Call(callee, arguments, is_optional) => {
                return self.call_expression(expression, callee, arguments, *is_optional);
            }
            Expr::New(callee, arguments) => {
                let class = self.value(callee)?;
                let given = self.given(arguments)?;
                self.place = ptr::from_ref(expression).addr();
                self.new_object(&class, given)?
            }
            Expr::List(items) => {
                let items = self.spread(items)?;
                self.heap.new_list(items)
            }
            Expr::Tuple(items) => Value::Tuple(self.spread(items)?.into()),
            Expr::Set(items) => {
                let items = self.spread(items)?;
                self.set_of(items)
            }
            Expr::Dict(entries) => self.table(entries)?,
            Expr::Spread(value) => self.value(value)?,
            Expr::Unary(operator, value) => return self.unary(operator, value),
            Expr::Binary(..) => return self.binary_chain(expression),
            Expr::Compare(first, rest) => return self.compare_chain(first, rest),
            Expr::Logic(left, operator, right) => return self.logic(left, operator, right),
            Expr::Choice(parts) => {
                let (condition, then, otherwise) = parts.as_ref();
                let chosen = if self.holds(condition)? { then } else { otherwise };
                self.value(chosen)?
            }
            // A function of JavaScript knows its own name.
            Expr::Function(function) if !self.is_python() && !function.name.is_empty() => {
                let before = self.enter_scope();
                let value = self.closure(function)?;
                self.declare(&function.name, value.clone());
                self.leave_scope(before);
                value
            }
            Expr::Function(function) => self.closure(function)?,
            Expr::Class(class) => self.new_class(class)?,
            Expr::Comprehension(inner) => self.comprehend(inner)?,
            Expr::Assign(target, None, value) => {
                let value = self.value(value)?;
                self.assign(target, value.clone(), Declares::No)?;
                value
            }
            Expr::Assign(target, Some(operator), value) => {
                self.augment(target, operator, value)?;
                self.value(target)?
            }
            Expr::Update(target, change, is_after) => {
                let before = self.value(target)?;
                let after = self.binary(&before, "+", &Value::Int(*change))?;
                self.assign(target, after.clone(), Declares::No)?;
                if *is_after { after } else { before }
            }
            Expr::Yield(value, from) => self.yielded(value.as_deref(), *from)?,
            Expr::Await(value) => {
                let value = self.value(value)?;
                self.awaited(value)?
            }
            Expr::Sequence(items) => {
                let mut last = Value::Undefined;
                for item in items {
                    last = self.value(item)?;
                }
                last
            }
        })
    }

    /// `a + b + c`, from the left. A long sum is no deep one.
    fn binary_chain(&mut self, expression: &Expr) -> Run<Value> {
        let mut rest = Vec::new();
        let mut first = expression;
        while let Expr::Binary(left, operator, right) = first {
            rest.push((*operator, right.as_ref()));
            first = left;
        }
        let mut value = self.value(first)?;
        for (operator, right) in rest.into_iter().rev() {
            let right = self.value(right)?;
            value = self.binary(&value, operator, &right)?;
        }
        Ok(value)
    }

    fn named(&mut self, name: &Rc<str>) -> Run<Value> {
        if let Some(value) = self.lookup(name) {
            return Ok(value.clone());
        }
        if name.as_ref() == "this" {
            return Ok(self.frames.last().and_then(|frame| frame.this.clone()).unwrap_or(Value::Undefined));
        }
        self.unbound(name)
    }

    pub(super) fn nothing(&self) -> Value {
        if self.is_python() { Value::None } else { Value::Undefined }
    }

    fn formatted(&mut self, parts: &[FormatPart]) -> Run<Value> {
        let mut text = String::new();
        for part in parts {
            match part {
                FormatPart::Text(more) => text.push_str(more),
                FormatPart::Value { value, conversion, spec } => {
                    let value = self.value(value)?;
                    let spec = if spec.is_empty() { Value::text("") } else { self.formatted(spec)? };
                    let spec = self.text_of(&spec)?;
                    text.push_str(&self.format_value(&value, *conversion, &spec)?);
                }
            }
        }
        self.new_text(text)
    }

    /// A template that a function is called with: the texts, then the values.
    fn tagged(&mut self, function: &Expr, texts: &[Rc<str>], values: &[Expr]) -> Run<Value> {
        let (this, function) = self.callee(function)?;
        let mut given = vec![self.heap.new_texts(texts.iter().cloned())];
        for value in values {
            given.push(self.value(value)?);
        }
        self.call_as(this, &function, Given::of(given))
    }

    fn index(&mut self, object: &Expr, key: &Expr, is_optional: bool) -> Run<Value> {
        let object = self.value(object)?;
        if is_optional && object.is_nothing() {
            return Ok(Value::Undefined);
        }
        if let Expr::Slice(parts) = key {
            let parts = self.slice_parts(parts)?;
            return self.slice(&object, &parts);
        }
        let key = self.value(key)?;
        self.item(&object, &key)
    }

    /// The values of `from:to:step`.
    pub(super) fn slice_parts(&mut self, parts: &[Option<Expr>; 3]) -> Run<[Option<Value>; 3]> {
        let mut values = [None, None, None];
        for (value, part) in values.iter_mut().zip(parts) {
            if let Some(part) = part {
                *value = Some(self.value(part)?).filter(|value| !value.is_nothing());
            }
        }
        Ok(values)
    }

    fn logic(&mut self, left: &Expr, operator: &str, right: &Expr) -> Run<Value> {
        let value = self.value(left)?;
        let goes_on = match operator {
            "??" => Some(value.is_nothing()).filter(|_| !value.is_unknown()),
            operator => self.truth(&value).map(|truth| truth == (operator == "&&")),
        };
        let goes_on = if let Some(goes_on) = goes_on {
            goes_on
        } else {
            // As a rule there is such a value; in a condition the rest is asked as well.
            let holds = self.answer(ptr::from_ref(left).addr(), true);
            self.narrow(left, holds);
            holds == (operator == "&&")
        };
        if goes_on { self.value(right) } else { Ok(value) }
    }

    fn compare_chain(&mut self, first: &Expr, rest: &[(&'static str, Expr)]) -> Run<Value> {
        let mut left = self.value(first)?;
        let mut result = Value::Bool(true);
        for (operator, right) in rest {
            let right = self.value(right)?;
            result = self.compare(&left, operator, &right)?;
            if matches!(result, Value::Bool(false)) {
                break;
            }
            left = right;
        }
        Ok(result)
    }

    pub(super) fn spread(&mut self, items: &[Expr]) -> Run<Vec<Value>> {
        let mut values = Vec::new();
        for item in items {
            let value = self.value(item)?;
            match item {
                Expr::Spread(_) => values.extend(self.items(&value)?),
                _ => values.push(value),
            }
        }
        Ok(values)
    }

    fn table(&mut self, entries: &[DictEntry]) -> Run<Value> {
        let mut dict = Dict::default();
        for DictEntry { key, value, kind } in entries {
            let Some(key) = key else {
                let more = self.value(value)?;
                for (key, value) in self.entries_of(&more)? {
                    let place = self.key_of(&key).unwrap_or_default();
                    dict.insert(place, key, value);
                }
                continue;
            };
            let key = self.value(key)?;
            let value = self.value(value)?;
            let place = self.key_of(&key).unwrap_or_else(|| format!("?{}", dict.len()));
            let value = match (kind, dict.get(&place)) {
                (EntryKind::Plain, _) => value,
                (EntryKind::Getter, Some(Value::Accessor(other))) => Value::Accessor(Rc::new((value, other.1.clone()))),
                (EntryKind::Setter, Some(Value::Accessor(other))) => Value::Accessor(Rc::new((other.0.clone(), value))),
                (EntryKind::Getter, _) => Value::Accessor(Rc::new((value, Value::Undefined))),
                (EntryKind::Setter, _) => Value::Accessor(Rc::new((Value::Undefined, value))),
            };
            dict.insert(place, key, value);
        }
        Ok(self.heap.new_dict(dict))
    }

    fn comprehend(&mut self, inner: &Comprehension) -> Run<Value> {
        let before = self.enter_scope();
        let mut found = Vec::new();
        let end = self.comprehend_loops(inner, &inner.loops, &mut found);
        self.leave_scope(before);
        end?;
        Ok(match inner.gathers {
            Gathers::List => self.heap.new_list(found.into_iter().map(|(item, _)| item).collect()),
            Gathers::Lazy => self.heap.new_iterator(found.into_iter().map(|(item, _)| item).collect()),
            Gathers::Set => self.set_of(found.into_iter().map(|(item, _)| item).collect()),
            Gathers::Dict => {
                let mut dict = Dict::default();
                for (key, value) in found {
                    let place = self.key_of(&key).unwrap_or_else(|| format!("?{}", dict.len()));
                    dict.insert(place, key, value);
                }
                self.heap.new_dict(dict)
            }
        })
    }

    fn comprehend_loops(&mut self, inner: &Comprehension, loops: &[Loop], found: &mut Vec<(Value, Value)>) -> Run<()> {
        let Some((first, rest)) = loops.split_first() else {
            let item = self.value(&inner.element)?;
            let value = match &inner.value {
                Some(value) => self.value(value)?,
                None => Value::None,
            };
            found.push((item, value));
            return Ok(());
        };
        let items = self.value(&first.items)?;
        for item in self.items(&items)? {
            self.step()?;
            self.assign(&first.target, item, Declares::No)?;
            let mut holds = true;
            for condition in &first.conditions {
                holds = self.holds(condition)?;
                if !holds {
                    break;
                }
            }
            if holds {
                self.comprehend_loops(inner, rest, found)?;
            }
        }
        Ok(())
    }

    fn yielded(&mut self, value: Option<&Expr>, from: bool) -> Run<Value> {
        let value = match value {
            Some(value) => self.value(value)?,
            None => self.nothing(),
        };
        let values = if from { self.items(&value)? } else { vec![value] };
        if let Some(hook) = self.frames.last().and_then(|frame| frame.hook.clone()) {
            for value in values {
                self.run_hook(&hook, value)?;
            }
            return Ok(self.nothing());
        }
        let nothing = self.nothing();
        let Some(frame) = self.frames.last_mut() else { return Ok(nothing) };
        let yields = frame.yields.get_or_insert_default();
        yields.extend(values);
        let count = yields.len();
        let is_over = frame.most_yields.is_some_and(|most| count > most);
        if count >= MOST_YIELDS || is_over {
            return Err(Stop::Pause);
        }
        // `yield from` gives back the value that the other one returns, which is not followed.
        Ok(frame.sent.get(count.saturating_sub(1)).cloned().unwrap_or(nothing))
    }

    /// The function that is called, and the object that it is called with.
    fn callee(&mut self, callee: &Expr) -> Run<(Option<Value>, Value)> {
        match callee {
            Expr::Member(object, name, is_optional) => {
                let object = self.value(object)?;
                if *is_optional && object.is_nothing() {
                    return Ok((None, Value::Undefined));
                }
                // A module that is not known has the calls that all of its kind have.
                let function = match super::natives::effect_named(name) {
                    Some(native) if object.is_unknown() => Value::native(native),
                    _ => self.member(&object, name)?,
                };
                Ok((Some(object), function))
            }
            Expr::Index(object, key, _) => {
                let object = self.value(object)?;
                let key = self.value(key)?;
                let function = self.item(&object, &key)?;
                Ok((Some(object), function))
            }
            callee => Ok((None, self.value(callee)?)),
        }
    }

    fn call_expression(
        &mut self,
        whole: &Expr,
        callee: &Expr,
        arguments: &[Argument],
        is_optional: bool,
    ) -> Run<Value> {
        let (this, function) = self.callee(callee)?;
        let is_left_out = matches!(callee, Expr::Member(_, _, true));
        if (is_optional || is_left_out) && function.is_nothing() {
            return Ok(Value::Undefined);
        }
        let given = self.given(arguments)?;
        self.place = ptr::from_ref(whole).addr();
        self.call_as(this, &function, given)
    }

    pub(super) fn given(&mut self, arguments: &[Argument]) -> Run<Given> {
        let mut given = Given::default();
        for Argument { name, value, is_table } in arguments {
            let is_spread = matches!(value, Expr::Spread(_));
            let value = self.value(value)?;
            match name {
                Some(name) => given.named.push((Rc::clone(name), value)),
                None if *is_table => {
                    for (key, value) in self.entries_of(&value)? {
                        let key = self.text_of(&key)?;
                        given.named.push((key, value));
                    }
                }
                None if is_spread => given.values.extend(self.items(&value)?),
                None => given.values.push(value),
            }
        }
        Ok(given)
    }
}
