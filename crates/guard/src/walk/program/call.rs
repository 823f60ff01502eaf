//! Calls of functions, classes and everything else that can be called.

use std::rc::Rc;

use crate::walk::program::syntax::{Declares, Expr, Function, Name, ParameterKind};
use crate::walk::program::value::{Cell, Closure, Dict, Id, IteratorData, Scope, Settled, Value};
use crate::walk::program::{Frame, Run, Stop, Trial};

/// The deepest calls.
const DEEPEST: usize = 40;

/// The arguments of a call.
#[derive(Debug, Clone, Default)]
pub(super) struct Given {
    pub(super) values: Vec<Value>,
    pub(super) named: Vec<(Name, Value)>,
}

impl Given {
    pub(super) fn of(values: Vec<Value>) -> Self {
        Self { values, named: Vec::new() }
    }

    pub(super) fn get(&self, at: usize) -> Option<&Value> {
        self.values.get(at)
    }

    /// The argument at a place, or nothing.
    pub(super) fn at(&self, at: usize) -> Value {
        self.values.get(at).cloned().unwrap_or(Value::Undefined)
    }

    pub(super) fn named(&self, name: &str) -> Option<&Value> {
        self.named.iter().rev().find(|(own, _)| own.as_ref() == name).map(|(_, value)| value)
    }

    /// An argument by its name, or else by its place.
    pub(super) fn named_or(&self, name: &str, at: usize) -> Option<&Value> {
        self.named(name).or_else(|| self.get(at))
    }

    /// The arguments behind the first ones.
    pub(super) fn rest(&self, from: usize) -> Vec<Value> {
        self.values.get(from..).unwrap_or(&[]).to_vec()
    }
}

impl Trial<'_, '_> {
    /// A function with the names around it.
    pub(super) fn closure(&mut self, function: &Rc<Function>) -> Run<Value> {
        let mut scope = self.scope();
        while let Some(parent) = self.heap.scope(scope).filter(|scope| scope.is_class).and_then(|scope| scope.parent) {
            scope = parent;
        }
        let mut defaults = Vec::new();
        for parameter in &function.parameters {
            let default = match &parameter.default {
                Some(default) if self.is_python() => Some(self.value(default)?),
                _ => None,
            };
            defaults.push(default);
        }
        let frame = self.frames.last();
        let this = if function.is_arrow { frame.and_then(|frame| frame.this.clone()) } else { None };
        let home = if function.is_arrow { frame.and_then(|frame| frame.home) } else { None };
        let closure = Closure { function: Rc::clone(function), scope, this, home, defaults, fields: Dict::default() };
        Ok(Value::Function(self.heap.add(Cell::Closure(Box::new(closure)))))
    }

    #[expect(clippy::needless_pass_by_value, reason = "callers have it to give away")]
    pub(super) fn call(&mut self, function: Value, values: Vec<Value>) -> Run<Value> {
        self.call_as(None, &function, Given::of(values))
    }

    pub(super) fn call_method(&mut self, object: Value, name: &str, values: Vec<Value>) -> Run<Value> {
        let function = self.member(&object, name)?;
        self.call_as(Some(object), &function, Given::of(values))
    }

    /// Calls something, as a method of an object if there is one.
    pub(super) fn call_as(&mut self, this: Option<Value>, function: &Value, given: Given) -> Run<Value> {
        self.step()?;
        if self.depth > super::eval::DEEPEST {
            self.notes.is_blind = true;
            return Err(Stop::Halt);
        }
        self.depth += 1;
        let value = self.call_any(this, function, given);
        self.depth -= 1;
        value
    }

    fn call_any(&mut self, this: Option<Value>, function: &Value, given: Given) -> Run<Value> {
        match function {
            Value::Function(id) => {
                // Only JavaScript hands over the object that the function was found in.
                let this = this.filter(|_| !self.is_python());
                self.call_closure(*id, this, given)
            }
            Value::Method(method) => {
                let (object, function) = method.as_ref();
                match function {
                    Value::Function(id) => self.call_closure(*id, Some(object.clone()), given),
                    other => {
                        let mut given = given;
                        given.values.insert(0, object.clone());
                        self.call_as(None, &other.clone(), given)
                    }
                }
            }
            Value::Bound(method) => {
                self.depth += super::natives::NATIVE_DEPTH;
                let value = self.call_bound(&method.0, &method.1, given);
                self.depth -= super::natives::NATIVE_DEPTH;
                value
            }
            Value::Partial(partial) => {
                let mut values = partial.values.clone();
                values.extend(given.values);
                let mut named: Vec<_> = partial.named.clone();
                named.extend(given.named);
                self.call_as(None, &partial.function, Given { values, named })
            }
            Value::Class(_) => self.new_object(function, given),
            Value::Object(_) => match self.class_member(function, "__call__") {
                Some(method) => {
                    let method = self.bind(function, method)?;
                    self.call_as(None, &method, given)
                }
                None => self.call_object(function, given),
            },
            Value::Native(name) => self.call_native(&name.clone(), given),
            Value::Undefined | Value::None if !self.is_python() => Err(self.exception("TypeError", "not a function")),
            Value::None | Value::Text(_) | Value::Int(_) | Value::List(_) => {
                Err(self.exception("TypeError", "not callable"))
            }
            _ => self.call_unknown(function, given),
        }
    }

    /// Calls something that is not known: functions among the arguments may be called by it.
    #[expect(clippy::needless_pass_by_value, reason = "callers have it to give away")]
    pub(super) fn call_unknown(&mut self, function: &Value, given: Given) -> Run<Value> {
        self.notes.is_blind |= self.could_matter(&given);
        self.call_back(&given)?;
        if function.is_unknown() {
            return Ok(function.clone());
        }
        Ok(self.unknown_of(&given.values))
    }

    /// Calls the functions among arguments, once each.
    pub(super) fn call_back(&mut self, given: &Given) -> Run<()> {
        for value in given.values.iter().chain(given.named.iter().map(|(_, value)| value)) {
            if let Value::Function(id) = value
                && self.called_back.insert(*id)
            {
                let count = self.heap.closure(*id).map_or(0, |closure| closure.function.parameters.len());
                let end = self.call_closure(*id, None, Given::of(vec![Value::Unknown; count]));
                match end {
                    Ok(_) | Err(Stop::Raise(_)) => {}
                    Err(stop) => return Err(stop),
                }
            }
        }
        Ok(())
    }

    pub(super) fn call_closure(&mut self, id: Id, this: Option<Value>, given: Given) -> Run<Value> {
        let Some(closure) = self.heap.closure(id) else { return Ok(Value::Unknown) };
        let (is_generator, is_async) = (closure.function.is_generator, closure.function.is_async);
        if is_generator {
            let items = IteratorData { pending: Some(Rc::new((id, this, given))), ..IteratorData::default() };
            return Ok(Value::Iterator(self.heap.add(Cell::Iterator(items))));
        }
        let result = self.run_closure(id, this, given, Frame::default()).map(|(value, _)| value);
        if !is_async {
            return result;
        }
        let state = match result {
            Ok(value) => Settled::Holds(self.settled_value(value)?),
            Err(Stop::Raise(value)) => Settled::Failed(value),
            Err(stop) => return Err(stop),
        };
        Ok(self.heap.new_promise(state))
    }

    /// Runs the body of a function. Returns its value and the values that it has yielded.
    pub(super) fn run_closure(
        &mut self,
        id: Id,
        this: Option<Value>,
        given: Given,
        frame: Frame,
    ) -> Run<(Value, Vec<Value>)> {
        let Some(closure) = self.heap.closure(id) else { return Ok((Value::Unknown, Vec::new())) };
        let (function, parent, home) = (Rc::clone(&closure.function), closure.scope, closure.home);
        let this = if function.is_arrow { closure.this.clone() } else { this };
        let defaults = closure.defaults.clone();
        if self.frames.len() > DEEPEST {
            self.notes.is_blind = true;
            return Ok((Value::Lost, Vec::new()));
        }
        let scope = self.heap.add(Cell::Scope(Scope { parent: Some(parent), is_function: true, ..Scope::default() }));
        let mut given = given;
        if self.is_python()
            && let Some(this) = &this
        {
            given.values.insert(0, this.clone());
        }
        self.frames.push(Frame { scope, this, home, ..frame });
        let depth = self.frames.len();
        let end = self.bind_parameters(&function, given, defaults).and_then(|()| self.run_block(&function.body));
        self.frames.truncate(depth);
        let yields = self.frames.pop().and_then(|frame| frame.yields).unwrap_or_default();
        match end {
            Ok(()) | Err(Stop::Pause) => Ok((self.nothing(), yields)),
            Err(Stop::Return(value)) => Ok((value, yields)),
            Err(stop) => Err(stop),
        }
    }

    fn bind_parameters(&mut self, function: &Function, given: Given, defaults: Vec<Option<Value>>) -> Run<()> {
        if !self.is_python() && !function.is_arrow {
            let all = self.heap.new_list(given.values.clone());
            self.declare(&Rc::from("arguments"), all);
        }
        let mut values = given.values.into_iter();
        let mut named = given.named;
        for (parameter, default) in function.parameters.iter().zip(defaults) {
            let name = if let Expr::Name(name) = &parameter.target { name.as_ref() } else { "" };
            let value = match parameter.kind {
                ParameterKind::Rest => {
                    let rest: Vec<Value> = values.by_ref().collect();
                    if self.is_python() { Value::Tuple(rest.into()) } else { self.heap.new_list(rest) }
                }
                ParameterKind::Named => {
                    let mut dict = Dict::default();
                    for (name, value) in std::mem::take(&mut named) {
                        dict.set(&name, value);
                    }
                    self.heap.new_dict(dict)
                }
                ParameterKind::One => {
                    let by_name = named.iter().position(|(own, _)| own.as_ref() == name).map(|at| named.remove(at).1);
                    let by_place = if by_name.is_none() && !parameter.by_name { values.next() } else { None };
                    match by_name.or(by_place) {
                        Some(Value::Undefined) | None => match (&default, &parameter.default) {
                            (Some(default), _) => default.clone(),
                            (None, Some(default)) => self.value(default)?,
                            (None, None) if self.is_python() => {
                                return Err(self.exception("TypeError", "missing argument"));
                            }
                            (None, None) => Value::Undefined,
                        },
                        Some(value) => value,
                    }
                }
            };
            self.assign(&parameter.target, value, Declares::InBlock)?;
        }
        Ok(())
    }

    /// A function or class after its decorators.
    pub(super) fn decorated(&mut self, value: Value, decorators: &[Expr]) -> Run<Value> {
        let mut value = value;
        for decorator in decorators.iter().rev() {
            let decorator = self.value(decorator)?;
            let result = match &decorator {
                decorator if decorator.is_unknown() => continue,
                Value::Native(name) if !Self::is_decorator(name) => continue,
                decorator => self.call_as(None, decorator, Given::of(vec![value.clone()]))?,
            };
            // A decorator that is not followed mostly gives back the function.
            if !result.is_unknown() {
                value = result;
            }
        }
        Ok(value)
    }
}
