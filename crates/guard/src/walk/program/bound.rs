//! Methods and members that values of the languages have.

use std::rc::Rc;

use crate::walk::program::call::Given;
use crate::walk::program::member::bound;
use crate::walk::program::value::{Settled, Value};
use crate::walk::program::{Run, Trial};

impl Trial<'_, '_> {
    /// Calls a method that the language has.
    pub(super) fn call_bound(&mut self, object: &Value, name: &str, given: Given) -> Run<Value> {
        match (object, name) {
            (_, "staticmethod" | "classmethod") if object.is_callable() => return self.call_as(None, object, given),
            (Value::Tuple(_), "continue") => return self.continue_promise(object),
            (Value::Tuple(parts), "super") if !self.is_python() => return self.call_super(&Rc::clone(parts), given),
            (Value::Tuple(parts), "proxy") => return self.call_proxy(&Rc::clone(parts), given),
            (_, "promisified") => return self.call_promisified(object, given),
            (_, "callbackified" | "namespace" | "readline") => return Ok(Value::Unknown),
            (Value::Accessor(inner), "setter") => return Ok(Value::Accessor(Rc::new((inner.0.clone(), given.at(0))))),
            (Value::Accessor(inner), "getter" | "deleter") => return Ok(Value::Accessor(Rc::clone(inner))),
            _ => {}
        }
        match object {
            Value::Text(text) => self.text_method(&Rc::clone(text), name, &given),
            Value::Bytes(bytes) => self.bytes_method(&Rc::clone(bytes), name, &given),
            Value::Path(path) => self.path_method(&Rc::clone(path), name, &given),
            Value::List(_) | Value::Tuple(_) => self.list_method(object, name, &given),
            Value::Dict(id) => self.dict_method(*id, name, &given),
            Value::Set(id) => self.set_method(*id, name, &given),
            Value::Iterator(id) => self.iterator_method(*id, name, &given),
            Value::Regex(pattern) => self.regex_method(&Rc::clone(pattern), name, &given),
            Value::Match(found) => self.match_method(&Rc::clone(found), name, &given),
            Value::Process(id) => self.process_method(*id, name, &given),
            Value::File(id) => self.file_method(*id, name, &given),
            Value::Promise(id) => self.promise_method(*id, name, &given),
            Value::Int(_) | Value::Float(_) | Value::Bool(_) => self.number_method(object, name, &given),
            Value::Object(_) => self.object_method(object, name, given),
            Value::Bound(inner) if inner.1.as_ref() == "readline" => self.readline_method(name, &given),
            Value::Bound(inner) => match inner.0 {
                Value::Process(id) => {
                    let stream = Rc::clone(&inner.1);
                    self.stream_method(id, &stream, name, &given)
                }
                _ => self.function_method(object, name, given),
            },
            Value::Function(_) | Value::Method(_) | Value::Partial(_) | Value::Native(_) | Value::Class(_) => {
                self.function_method(object, name, given)
            }
            _ => {
                self.call_back(&given)?;
                Ok(self.unknown_of([object]))
            }
        }
    }

    /// Methods that functions have: `call`, `apply`, `bind`.
    pub(super) fn function_method(&mut self, object: &Value, name: &str, given: Given) -> Run<Value> {
        match name {
            "call" => self.call_as(Some(given.at(0)), object, Given { values: given.rest(1), named: given.named }),
            "apply" => {
                let list = given.at(1);
                let values = if list.is_nothing() { Vec::new() } else { self.items(&list)? };
                self.call_as(Some(given.at(0)), object, Given::of(values))
            }
            "bind" => {
                let this = given.at(0);
                let function = if this.is_nothing() || !matches!(object, Value::Function(_)) {
                    object.clone()
                } else {
                    Value::Method(Rc::new((this, object.clone())))
                };
                let partial = super::value::Partial { function, values: given.rest(1), named: Vec::new() };
                Ok(Value::Partial(Rc::new(partial)))
            }
            "__call__" => self.call_as(None, object, given),
            // A class that comes from one of the language's own.
            "cache_clear" | "cache_info" => Ok(Value::None),
            // `@f.register` of a generic function: any of the functions may be called.
            "register" => {
                self.call_back(&given)?;
                Ok(given.at(0))
            }
            "__subclasses__" => Ok(self.heap.new_list(Vec::new())),
            "mro" => {
                let line = self.line_of(object);
                Ok(self.heap.new_list(line))
            }
            "_make" => {
                let values = self.items(&given.at(0))?;
                self.call(object.clone(), values)
            }
            _ => self.call_unknown(&Value::Unknown, given),
        }
    }

    pub(super) fn call_super(&mut self, parts: &Rc<[Value]>, given: Given) -> Run<Value> {
        let (Some(object), Some(home)) = (parts.first().cloned(), parts.get(1).cloned()) else {
            return Ok(Value::Undefined);
        };
        let line = self.line_of(&home);
        let rest = line.get(1..).unwrap_or(&[]);
        if let Some(start) = self.member_in(rest, "__init__") {
            let start = self.bind(&object, start)?;
            return self.call_as(None, &start, given);
        }
        if let Some(message) = given.get(0) {
            self.set_field(&object, &Value::text("message"), message.clone())?;
        }
        Ok(Value::Undefined)
    }

    pub(super) fn call_proxy(&mut self, parts: &Rc<[Value]>, given: Given) -> Run<Value> {
        let (Some(target), Some(handler)) = (parts.first().cloned(), parts.get(1).cloned()) else {
            return Ok(Value::Unknown);
        };
        let apply = self.member(&handler, "apply")?;
        if apply.is_nothing() {
            return self.call_as(None, &target, given);
        }
        let list = self.heap.new_list(given.values);
        self.call_as(Some(handler), &apply, Given::of(vec![target, Value::Undefined, list]))
    }

    pub(super) fn call_promisified(&mut self, function: &Value, given: Given) -> Run<Value> {
        let place = self.place;
        let state = match function {
            Value::Native(name) if name.starts_with("child_process.") => {
                let process = self.call_as(None, function, given)?;
                let Value::Process(id) = process else { return Ok(Value::Unknown) };
                let output = self.process_output(id)?;
                // A promise that fails may be caught where it is awaited.
                if self.answer(place, false) {
                    Settled::Failed(self.error_value())
                } else {
                    let mut table = super::value::Dict::default();
                    table.set("stdout", Value::text(output));
                    table.set("stderr", Value::text(""));
                    Settled::Holds(self.heap.new_dict(table))
                }
            }
            Value::Native(_) => Settled::Holds(self.call_as(None, function, given)?),
            function => {
                let promise = self.heap.new_promise(Settled::Waits);
                let mut given = given;
                given.values.push(bound(&promise, "settle"));
                self.call_as(None, function, given)?;
                return Ok(promise);
            }
        };
        Ok(self.heap.new_promise(state))
    }

    /// True if a value of the language has a member of this name.
    pub(super) fn has_builtin_member(&self, inner: &Value, name: &str) -> bool {
        match inner {
            Value::List(_) | Value::Tuple(_) if self.is_python() => matches!(
                name,
                "append"
                    | "extend"
                    | "insert"
                    | "pop"
                    | "remove"
                    | "sort"
                    | "reverse"
                    | "index"
                    | "count"
                    | "copy"
                    | "clear"
                    | "popleft"
                    | "appendleft"
            ),
            Value::List(_) | Value::Tuple(_) => matches!(
                name,
                "push"
                    | "pop"
                    | "map"
                    | "filter"
                    | "join"
                    | "forEach"
                    | "slice"
                    | "concat"
                    | "length"
                    | "shift"
                    | "unshift"
                    | "includes"
                    | "reduce"
                    | "some"
                    | "every"
                    | "find"
                    | "indexOf"
                    | "splice"
                    | "reverse"
                    | "sort"
                    | "flat"
                    | "flatMap"
                    | "at"
                    | "entries"
                    | "keys"
                    | "values"
            ),
            Value::Dict(_) if self.is_python() => {
                matches!(
                    name,
                    "get"
                        | "items"
                        | "keys"
                        | "values"
                        | "update"
                        | "pop"
                        | "setdefault"
                        | "copy"
                        | "clear"
                        | "popitem"
                )
            }
            Value::Dict(_) => false,
            Value::Text(_) => !name.starts_with('_') && super::python_modules::is_text_method(name),
            Value::Set(_) => {
                matches!(name, "add" | "update" | "remove" | "discard" | "has" | "delete" | "size" | "pop" | "union")
            }
            _ => false,
        }
    }

    /// A member of a value of the language that is no method. None if it has no such member.
    pub(super) fn value_member(&mut self, object: &Value, name: &str) -> Run<Option<Value>> {
        Ok(match (object, name) {
            (Value::Path(path), _) => self.path_member(&Rc::clone(path), name),
            (Value::Process(id), _) => self.process_member(*id, name)?,
            (
                Value::Text(_) | Value::List(_) | Value::Tuple(_) | Value::Bytes(_) | Value::Match(_),
                "length" | "byteLength",
            ) => Some(self.length(object)?),
            (Value::Set(id), "size") => self.heap.set(*id).map(|set| Value::number(set.len())),
            (Value::Regex(pattern), "source" | "pattern") => Some(Value::text(pattern.0.as_str())),
            (Value::Regex(_), "lastIndex" | "flags") => Some(Value::Int(0)),
            (Value::Match(found), "groups") if !self.is_python() => {
                let found = Rc::clone(found);
                Some(self.match_method(&found, "groupdict", &Given::default())?)
            }
            (Value::Match(found), "index") => Some(Value::number(found.span.0)),
            (Value::Text(_), "constructor") => Some(Value::native("String")),
            (Value::List(_), "constructor") => Some(Value::native("Array")),
            // The constructor of a function makes functions of text.
            (Value::Bound(_) | Value::Method(_) | Value::Partial(_), "constructor") => Some(Value::native("Function")),
            (Value::File(id), "name") => self.heap.file(*id).map(|file| Value::text(file.path.as_str())),
            (Value::Partial(partial), "func") => Some(partial.function.clone()),
            (Value::Partial(partial), "args") => Some(Value::Tuple(partial.values.clone().into())),
            (Value::Bound(inner), "mock") if inner.1.as_ref() == "readline" => Some(Value::Unknown),
            (_, "__class__") => Some(Value::Unknown),
            _ => None,
        })
    }
}
