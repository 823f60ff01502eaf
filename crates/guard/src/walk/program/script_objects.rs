//! Objects of JavaScript: `Object`, `Reflect`, and classes that the language has.

use std::rc::Rc;

use crate::walk::program::call::Given;
use crate::walk::program::value::{Cell, Dict, ObjectData, Value};
use crate::walk::program::{Run, Trial};

impl Trial<'_, '_> {
    pub(super) fn object_call(&mut self, method: &str, given: &Given) -> Run<Option<Value>> {
        let first = given.at(0);
        Ok(Some(match method {
            "keys" | "getOwnPropertyNames" => {
                let keys = self.keys_of(&first)?;
                let mut texts = Vec::new();
                for key in keys {
                    texts.push(if key.is_unknown() { key } else { Value::Text(self.text_of(&key)?) });
                }
                self.heap.new_list(texts)
            }
            "values" => {
                let values = self.entries_of(&first)?.into_iter().map(|(_, value)| value).collect();
                self.heap.new_list(values)
            }
            "entries" => {
                let entries = self.entries_of(&first)?;
                let pairs = entries.into_iter().map(|(key, value)| self.heap.new_list(vec![key, value])).collect();
                self.heap.new_list(pairs)
            }
            "fromEntries" => {
                let pairs = self.pairs(&first)?;
                self.dict_of_pairs(pairs)
            }
            "assign" => {
                for source in given.values.iter().skip(1) {
                    for (key, value) in self.entries_of(source)? {
                        self.set_item(&first, &key, value)?;
                    }
                }
                first
            }
            "freeze" | "seal" | "preventExtensions" => first,
            "create" => {
                let mut dict = Dict::default();
                if !first.is_nothing() {
                    dict.set("__proto__", first);
                }
                let object = self.heap.new_dict(dict);
                if let Some(parts) = given.get(1).cloned() {
                    for (key, description) in self.entries_of(&parts)? {
                        self.define(&object, &key, &description)?;
                    }
                }
                object
            }
            "setPrototypeOf" => {
                self.set_field(&first, &Value::text("__proto__"), given.at(1))?;
                first
            }
            "getPrototypeOf" => match &first {
                Value::Function(_) | Value::Promise(_) => Value::native("Function.prototype"),
                object @ Value::Object(_) => self.class_of(object),
                _ => Value::Unknown,
            },
            "defineProperty" => {
                self.define(&first, &given.at(1), &given.at(2))?;
                first
            }
            "defineProperties" => {
                for (key, description) in self.entries_of(&given.at(1))? {
                    self.define(&first, &key, &description)?;
                }
                first
            }
            "hasOwn" => self.contains(&first, &given.at(1)).map_or(Value::Unknown, Value::Bool),
            "groupBy" => {
                let mut groups = Vec::new();
                let table = self.heap.new_dict(Dict::default());
                for item in self.items(&first)? {
                    let key = self.call(given.at(1), vec![item.clone()])?;
                    groups.push((key, item));
                }
                for (key, item) in groups {
                    let list = self.item(&table, &key)?;
                    if list.is_nothing() {
                        let list = self.heap.new_list(vec![item]);
                        self.set_item(&table, &key, list)?;
                    } else {
                        self.call_method(list, "push", vec![item])?;
                    }
                }
                table
            }
            "is" => self.equals(&first, &given.at(1)).map_or(Value::Unknown, Value::Bool),
            _ => return Ok(None),
        }))
    }

    /// `Object.defineProperty`
    pub(super) fn define(&mut self, object: &Value, key: &Value, description: &Value) -> Run<()> {
        let getter = self.member(description, "get")?;
        let value = if getter.is_callable() && !matches!(getter, Value::Bound(_)) {
            Value::Accessor(Rc::new((getter, self.member(description, "set")?)))
        } else {
            self.member(description, "value")?
        };
        self.set_field(object, key, value)
    }

    pub(super) fn reflect_call(&mut self, method: &str, given: &Given) -> Run<Option<Value>> {
        let first = given.at(0);
        Ok(Some(match method {
            "apply" => {
                let values = self.items(&given.at(2))?;
                self.call_as(Some(given.at(1)), &first, Given::of(values))?
            }
            "construct" => {
                let values = self.items(&given.at(1))?;
                self.new_object(&first, Given::of(values))?
            }
            "get" => self.item(&first, &given.at(1))?,
            "set" => {
                self.set_item(&first, &given.at(1), given.at(2))?;
                Value::Bool(true)
            }
            "has" => self.contains(&first, &given.at(1)).map_or(Value::Unknown, Value::Bool),
            "ownKeys" => return self.object_call("keys", given),
            _ => return Ok(None),
        }))
    }

    /// Makes an object of a class that the language has.
    pub(super) fn new_native(&mut self, name: &str, given: Given) -> Run<Value> {
        let first = given.at(0);
        Ok(match name {
            "Map" | "WeakMap" => {
                let pairs = if first.is_nothing() {
                    Vec::new()
                } else if let Value::Object(_) = first {
                    self.entries_of(&first)?
                } else {
                    self.pairs(&first)?
                };
                let inner = self.dict_of_pairs(pairs);
                let data = ObjectData { class: Value::native("Map"), fields: Dict::default(), inner: Some(inner) };
                Value::Object(self.heap.add(Cell::Object(Box::new(data))))
            }
            "Set" | "WeakSet" => {
                let items = if first.is_nothing() { Vec::new() } else { self.items(&first)? };
                self.set_of(items)
            }
            "Array" => match (&first, given.values.len()) {
                (Value::Int(length), 1) => {
                    let length = usize::try_from(*length).unwrap_or(0).min(1024);
                    self.heap.new_list(vec![Value::Undefined; length])
                }
                _ => self.heap.new_list(given.values),
            },
            "Object" => {
                if first.is_nothing() {
                    self.heap.new_dict(Dict::default())
                } else {
                    first
                }
            }
            "Promise" => self.new_promise_by(&given)?,
            "Proxy" => Value::Bound(Rc::new((Value::Tuple([first, given.at(1)].into()), Rc::from("proxy")))),
            "RegExp" => match &first {
                Value::Regex(own) => Value::Regex(Rc::clone(own)),
                first => {
                    let pattern = self.text_of(first)?.to_string();
                    let flags =
                        if given.values.len() > 1 { self.text_of(&given.at(1))?.to_string() } else { String::new() };
                    Value::Regex(Rc::new((pattern, flags)))
                }
            },
            "Function" => self.function_of_text(&given)?,
            "String" | "Number" | "Boolean" => self.call_native(name, given)?,
            "Uint8Array" | "Buffer" => self.buffer(&given)?,
            "TextDecoder" | "util.TextDecoder" => Value::native("TextDecoder"),
            "TextEncoder" | "util.TextEncoder" => Value::native("TextEncoder"),
            "vm.Script" => self.holder("vm.Script", first),
            "Deno.Command" => {
                let mut words = self.words_of(&first)?;
                let arguments = self.member(&given.at(1), "args")?;
                words.extend(self.words_of(&arguments)?);
                let list = self.heap.new_texts(words);
                self.holder("Deno.Command", list)
            }
            "events" | "events.EventEmitter" | "EventEmitter" | "EventTarget" => self.heap.new_dict(Dict::default()),
            "Date" | "AbortController" | "URL" | "URLSearchParams" | "worker_threads.Worker" => {
                self.call_back(&given)?;
                Value::Unknown
            }
            "WeakRef" => self.holder("WeakRef", first),
            name => return self.call_native(name, given),
        })
    }
}
