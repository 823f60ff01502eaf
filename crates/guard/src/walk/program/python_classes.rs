//! Modules of Python that make classes, copies and packed bytes.

use std::rc::Rc;

use crate::walk::program::call::Given;
use crate::walk::program::value::{Cell, ClassData, Dict, ObjectData, Partial, Value};
use crate::walk::program::{Run, Trial};

impl Trial<'_, '_> {
    pub(super) fn class_module_call(&mut self, name: &str, base: &str, given: &Given) -> Run<Option<Value>> {
        let first = given.at(0);
        Ok(Some(match base {
            "namedtuple" | "NamedTuple" => self.named_tuple(given)?,
            "Counter" => {
                let mut pairs: Vec<(Value, Value)> = Vec::new();
                let counts = self.heap.new_dict(Dict::default());
                if !first.is_nothing() {
                    pairs.extend(self.items(&first)?.into_iter().map(|item| (item, Value::Int(1))));
                }
                for (item, one) in pairs {
                    let before = self.call_method(counts.clone(), "get", vec![item.clone(), Value::Int(0)])?;
                    let sum = self.binary(&before, "+", &one)?;
                    self.set_item(&counts, &item, sum)?;
                }
                counts
            }
            "ChainMap" => {
                let merged = self.heap.new_dict(Dict::default());
                for table in given.values.iter().rev() {
                    self.call_method(merged.clone(), "update", vec![table.clone()])?;
                }
                merged
            }
            "SimpleNamespace" => {
                let mut fields = Dict::default();
                for (name, value) in &given.named {
                    fields.set(name, value.clone());
                }
                let data = ObjectData { class: Value::native("types.SimpleNamespace"), fields, inner: None };
                Value::Object(self.heap.add(Cell::Object(Box::new(data))))
            }
            "MethodType" => Value::Method(Rc::new((given.at(1), first))),
            "FunctionType" => first,
            "auto" => Value::native("enum.auto()"),
            "dataclass" => match &first {
                Value::Class(id) => {
                    if let Some(data) = self.heap.class_mut(*id) {
                        data.is_data = true;
                    }
                    first
                }
                _ => Value::native("dataclasses.dataclass"),
            },
            "field" => Value::Partial(Rc::new(Partial {
                function: Value::native("dataclasses.field"),
                values: Vec::new(),
                named: given.named.clone(),
            })),
            "asdict" | "astuple" => {
                let entries = self.entries_of(&first)?;
                if base == "asdict" {
                    self.dict_of_pairs(entries)
                } else {
                    Value::Tuple(entries.into_iter().map(|(_, value)| value).collect())
                }
            }
            "replace" if name.starts_with("dataclasses") => {
                let Value::Object(id) = first else { return Ok(Some(Value::Unknown)) };
                let Some(mut data) = self.heap.object(id).cloned() else { return Ok(Some(Value::Unknown)) };
                for (name, value) in &given.named {
                    data.fields.set(name, value.clone());
                }
                Value::Object(self.heap.add(Cell::Object(Box::new(data))))
            }
            "contextmanager"
            | "asynccontextmanager"
            | "abstractmethod"
            | "runtime_checkable"
            | "final"
            | "overload" => first,
            "suppress" => Value::native("contextlib.suppress()"),
            "nullcontext" | "closing" => {
                if first.is_nothing() {
                    Value::native("nullcontext")
                } else {
                    first
                }
            }
            "redirect_stdout" => first,
            "ExitStack" | "AsyncExitStack" => Value::native("exitstack"),
            "enter_context" => self.enter_manager(&first)?,
            "callback" => {
                self.at_exit.push((first, given.rest(1)));
                Value::None
            }
            "copy" | "deepcopy" => match &first {
                Value::List(_) => {
                    let items = self.items(&first)?;
                    self.heap.new_list(items)
                }
                Value::Dict(_) => {
                    let copy = self.dict_of(&first);
                    self.heap.new_dict(copy)
                }
                _ => first,
            },
            "cast" => given.at(1),
            _ => return Ok(None),
        }))
    }

    pub(super) fn named_tuple(&mut self, given: &Given) -> Run<Value> {
        let name = self.text_of(&given.at(0))?.to_string();
        let fields = given.at(1);
        let mut names = Vec::new();
        match &fields {
            Value::Text(text) => names.extend(text.replace(',', " ").split_whitespace().map(str::to_owned)),
            fields => {
                for field in self.items(fields)? {
                    let field = if let Value::Tuple(parts) = &field {
                        parts.first().cloned().unwrap_or(Value::None)
                    } else {
                        field
                    };
                    names.push(self.text_of(&field)?.to_string());
                }
            }
        }
        let defaults = match given.named("defaults").cloned() {
            Some(defaults) if !defaults.is_nothing() => self.items(&defaults)?,
            _ => Vec::new(),
        };
        let mut members = Dict::default();
        let without = names.len().saturating_sub(defaults.len());
        for (at, field) in names.iter().enumerate() {
            let default = at.checked_sub(without).and_then(|at| defaults.get(at)).cloned();
            members.set(field, default.unwrap_or(Value::Undefined));
        }
        let bases = vec![Value::native("typing.NamedTuple")];
        let data = ClassData { name, bases, members, is_data: true, ..ClassData::default() };
        Ok(Value::Class(self.heap.add(Cell::Class(Box::new(data)))))
    }

    pub(super) fn random_call(&mut self, base: &str, given: &Given) -> Run<Option<Value>> {
        Ok(Some(match base {
            // Any of them may be the one.
            "choice" => self.any_of(&given.at(0))?,
            "sample" | "choices" => {
                let items = self.items(&given.at(0))?;
                self.heap.new_list(items)
            }
            "shuffle" => Value::None,
            _ => Value::Unknown,
        }))
    }

    pub(super) fn struct_call(&mut self, base: &str, given: &Given) -> Run<Option<Value>> {
        let format = self.content_of(&given.at(0))?;
        let width = |letter: char| match letter {
            'b' | 'B' | 'c' | 's' | 'x' | '?' => 1,
            'h' | 'H' => 2,
            'i' | 'I' | 'l' | 'L' => 4,
            'q' | 'Q' => 8,
            _ => 0,
        };
        let is_little = !format.starts_with(['>', '!']);
        let mut codes = Vec::new();
        let mut count = String::new();
        for letter in format.chars() {
            match letter {
                '<' | '>' | '!' | '=' | '@' | ' ' => {}
                digit if digit.is_ascii_digit() => count.push(digit),
                's' => {
                    codes.push(('s', count.parse().unwrap_or(1_usize)));
                    count.clear();
                }
                letter => {
                    codes.extend(std::iter::repeat_n(
                        (letter, width(letter)),
                        count.parse().unwrap_or(1_usize).min(256),
                    ));
                    count.clear();
                }
            }
        }
        let mut values = given.rest(1).into_iter();
        match base {
            "pack" => {
                let mut bytes: Vec<u8> = Vec::new();
                for (letter, size) in codes {
                    let value = values.next().unwrap_or(Value::Int(0));
                    match (letter, value.as_int(), self.bytes_of(&value)?) {
                        ('s' | 'c', _, Some(text)) => {
                            bytes.extend(text.into_iter().chain(std::iter::repeat(0)).take(size.min(4096)));
                        }
                        (_, Some(number), _) => {
                            let whole = number.to_le_bytes();
                            let part: Vec<u8> = whole.iter().take(size).copied().collect();
                            bytes.extend(if is_little { part } else { part.into_iter().rev().collect() });
                        }
                        _ => return Ok(Some(self.unknown_of([&value]))),
                    }
                }
                Ok(Some(Value::Bytes(bytes.into())))
            }
            "unpack" => {
                let Some(bytes) = self.bytes_of(&given.at(1))? else { return Ok(Some(self.unknown_of(&given.values))) };
                let mut at = 0;
                let mut found = Vec::new();
                for (letter, size) in codes {
                    let part = bytes.get(at..at + size).unwrap_or(&[]).to_vec();
                    at += size;
                    if matches!(letter, 's' | 'c') {
                        found.push(Value::Bytes(part.into()));
                    } else {
                        let ordered: Vec<u8> = if is_little { part.into_iter().rev().collect() } else { part };
                        found.push(Value::Int(ordered.iter().fold(0, |number, byte| number << 8 | i128::from(*byte))));
                    }
                }
                Ok(Some(Value::Tuple(found.into())))
            }
            _ => Ok(None),
        }
    }
}
