//! The functions that Python has without a module.

use std::rc::Rc;

use crate::walk::program::call::Given;
use crate::walk::program::numbers::parsed_number;
use crate::walk::program::value::{Dict, Value};
use crate::walk::program::{Run, Stop, Trial};

impl Trial<'_, '_> {
    /// Calls a function of Python. None if there is none of that name.
    pub(super) fn builtin_call(&mut self, name: &str, given: &Given) -> Run<Option<Value>> {
        let first = given.at(0);
        Ok(Some(match name {
            "print" => {
                self.python_print(given)?;
                Value::None
            }
            "len" => self.length(&first)?,
            "str" | "ascii" if given.values.is_empty() => Value::text(""),
            "str" => match &first {
                Value::Bytes(bytes) if given.values.len() > 1 => {
                    return self.text_of_bytes(&Rc::clone(bytes)).map(Some);
                }
                Value::Unknown | Value::Lost => first,
                first => Value::Text(self.text_of(first)?),
            },
            "repr" => Value::text(self.written(&first, 6)?),
            "int" | "float" => self.python_number(name, given)?,
            "bool" => self.truth(&first).map_or(first, Value::Bool),
            "chr" | "ord" | "hex" | "oct" | "bin" | "abs" | "round" | "divmod" | "pow" | "sum" | "min" | "max" => {
                return self.number_call(name, given);
            }
            "bytearray" => {
                let bytes = self.builtin_call("bytes", given)?.unwrap_or(Value::Lost);
                if !matches!(bytes, Value::Bytes(_)) {
                    return Ok(Some(bytes));
                }
                let items = self.items(&bytes)?;
                let inner = Some(self.heap.new_list(items));
                let data =
                    super::value::ObjectData { class: Value::native("bytearray"), fields: Dict::default(), inner };
                Value::Object(self.heap.add(super::value::Cell::Object(Box::new(data))))
            }
            "bytes" | "memoryview" => match &first {
                Value::Int(count) => Value::Bytes(vec![0; usize::try_from(*count).unwrap_or(0).min(4096)].into()),
                Value::Undefined => Value::Bytes(Rc::from([])),
                first => {
                    self.bytes_of(first)?.map_or_else(|| self.unknown_of([first]), |bytes| Value::Bytes(bytes.into()))
                }
            },
            "int.from_bytes" => match self.bytes_of(&first)? {
                Some(bytes) => {
                    let order = given.named_or("byteorder", 1).and_then(Value::known_text).unwrap_or("big").to_owned();
                    let fold =
                        |number: Option<i128>, byte: &u8| number?.checked_mul(256)?.checked_add(i128::from(*byte));
                    let number = if order == "little" {
                        bytes.iter().rev().fold(Some(0), fold)
                    } else {
                        bytes.iter().fold(Some(0), fold)
                    };
                    number.map_or(Value::Lost, Value::Int)
                }
                None => self.unknown_of([&first]),
            },
            "super" => match given.values.as_slice() {
                [home, object] => {
                    Value::Bound(Rc::new((Value::Tuple([object.clone(), home.clone()].into()), Rc::from("super"))))
                }
                _ => self.super_value(),
            },
            "getattr" | "hasattr" | "setattr" | "delattr" => return self.attribute_call(name, given),
            "type" if given.values.len() == 3 => self.class_by_type(given)?,
            "type" => self.type_of(&first),
            "isinstance" | "issubclass" => self.is_kind(&first, &given.at(1)).map_or(Value::Unknown, Value::Bool),
            "callable" => Value::Bool(first.is_callable() || matches!(first, Value::Native(_))),
            "id" | "hash" => Value::Lost,
            "vars" | "dir" if !given.values.is_empty() => self.vars_of(&first)?,
            "staticmethod" | "classmethod" => Value::Bound(Rc::new((first, Rc::from(name)))),
            "property" => {
                Value::Accessor(Rc::new((given.named_or("fget", 0).cloned().unwrap_or(Value::None), given.at(1))))
            }
            "object" => {
                let class = self.builtin_class("object");
                self.new_object(&class, Given::default())?
            }
            "object.__new__" => {
                let data = super::value::ObjectData { class: first, fields: Dict::default(), inner: None };
                Value::Object(self.heap.add(super::value::Cell::Object(Box::new(data))))
            }
            "object.__init__" => Value::None,
            "object.__setattr__" => {
                self.set_field(&first, &given.at(1), given.at(2))?;
                Value::None
            }
            "object.__getattribute__" => {
                let entries = self.entries_of(&first)?;
                let fields = self.dict_of_pairs(entries);
                self.item(&fields, &given.at(1))?
            }
            "slice" => Value::Unknown,
            "format" => {
                let spec = given.get(1).and_then(Value::known_text).unwrap_or("").to_owned();
                Value::text(self.format_value(&first, None, &spec)?)
            }
            _ => return self.name_call(name, given),
        }))
    }

    /// Functions about names, code and input.
    fn name_call(&mut self, name: &str, given: &Given) -> Run<Option<Value>> {
        let first = given.at(0);
        Ok(Some(match name {
            "globals" | "locals" | "vars" => Value::Bound(Rc::new((Value::None, Rc::from("namespace")))),
            "exec" | "eval" => self.python_evaluate(name, given)?,
            "compile" => first,
            "__import__" | "importlib.import_module" => {
                let name = self.text_of(&first)?;
                self.module(&name)?
            }
            "input" => self.input_line().map_or(Value::Unknown, Value::text),
            _ => return self.collection_call(name, given),
        }))
    }

    fn python_print(&mut self, given: &Given) -> Run<()> {
        let between = match given.named("sep").cloned() {
            Some(between) if !between.is_nothing() => self.text_of(&between)?,
            _ => Rc::from(" "),
        };
        let end = match given.named("end").cloned() {
            Some(end) if !end.is_nothing() => self.text_of(&end)?,
            _ => Rc::from("\n"),
        };
        let mut texts = Vec::new();
        for value in &given.values {
            texts.push(self.text_of(value)?);
        }
        let text = format!("{}{end}", texts.join(&between));
        match given.named("file").cloned() {
            None => self.print(&text),
            Some(Value::Native(name)) if name.as_ref() == "sys.stdout" => self.print(&text),
            Some(file @ (Value::File(_) | Value::Bound(_) | Value::Object(_))) => {
                self.call_method(file, "write", vec![Value::text(text)])?;
                Ok(())
            }
            Some(_) => Ok(()),
        }
    }

    fn python_number(&mut self, name: &str, given: &Given) -> Run<Value> {
        let first = self.plain(&given.at(0));
        Ok(match &first {
            Value::Undefined => Value::Int(0),
            Value::Text(text) => {
                let radix = given
                    .named_or("base", 1)
                    .and_then(Value::as_int)
                    .and_then(|radix| u32::try_from(radix).ok())
                    .unwrap_or(10);
                let Some(known) = self.spelled(text) else {
                    if self.fails_here(self.place) {
                        return Err(self.exception("ValueError", "invalid literal"));
                    }
                    return Ok(super::value::unknown_like(text));
                };
                match parsed_number(&known, radix) {
                    Some(number @ Value::Int(_)) => number,
                    Some(number) if name == "float" => number,
                    _ => return Err(self.exception("ValueError", "invalid literal")),
                }
            }
            Value::Bytes(bytes) => parsed_number(&String::from_utf8_lossy(bytes), 10).unwrap_or(Value::Lost),
            #[expect(clippy::cast_possible_truncation, reason = "a float that is cut off")]
            Value::Float(number) if name == "int" => Value::Int(*number as i128),
            value => value.as_int().map_or_else(|| self.unknown_of([value]), Value::Int),
        })
    }

    fn number_call(&mut self, name: &str, given: &Given) -> Run<Option<Value>> {
        let first = given.at(0);
        let lost = self.unknown_of(&given.values);
        let number = first.as_int();
        Ok(Some(match (name, number) {
            ("chr", Some(code)) => u32::try_from(code)
                .ok()
                .and_then(super::escapes::letter_of)
                .map_or(Value::Lost, |letter| Value::text(letter.to_string())),
            ("ord", _) => match &first {
                Value::Text(text) => match self.spelled(text).and_then(|text| text.chars().next()) {
                    Some(letter) => Value::Int(i128::from(u32::from(letter))),
                    None => lost,
                },
                Value::Bytes(bytes) => bytes.first().map_or(lost, |byte| Value::Int(i128::from(*byte))),
                _ => lost,
            },
            ("hex", Some(number)) => Value::text(format!("0x{number:x}")),
            ("oct", Some(number)) => Value::text(format!("0o{number:o}")),
            ("bin", Some(number)) => Value::text(format!("0b{number:b}")),
            ("abs", Some(number)) => Value::Int(number.abs()),
            ("divmod", Some(_)) => {
                let (quotient, rest) =
                    (self.binary(&first, "//", &given.at(1))?, self.binary(&first, "%", &given.at(1))?);
                Value::Tuple([quotient, rest].into())
            }
            ("pow", Some(number)) => match (given.at(1).as_int(), given.at(2).as_int()) {
                (Some(power), Some(modulus)) if modulus > 0 && power >= 0 => {
                    power_of(number, power, modulus).map_or(Value::Lost, Value::Int)
                }
                _ => self.binary(&first, "**", &given.at(1))?,
            },
            ("sum", _) => {
                let mut sum = given.named_or("start", 1).cloned().unwrap_or(Value::Int(0));
                for item in self.items(&first)? {
                    sum = self.binary(&sum, "+", &item)?;
                }
                sum
            }
            ("min" | "max", _) => {
                let items = if given.values.len() > 1 { given.values.clone() } else { self.items(&first)? };
                let sorted = self.sorted(items, &Given { values: Vec::new(), named: given.named.clone() })?;
                let found = if name == "min" { sorted.first() } else { sorted.last() };
                match (found, given.named("default")) {
                    (Some(found), _) => found.clone(),
                    (None, Some(default)) => default.clone(),
                    _ => return Err(self.exception("ValueError", "empty")),
                }
            }
            ("round", Some(number)) => Value::Int(number),
            _ => lost,
        }))
    }

    fn attribute_call(&mut self, name: &str, given: &Given) -> Run<Option<Value>> {
        let first = given.at(0);
        let attribute = self.text_of(&given.at(1))?;
        if super::value::is_doubtful(&attribute) {
            self.notes.is_blind = true;
            return Ok(Some(super::value::unknown_like(&attribute)));
        }
        Ok(Some(match name {
            "getattr" => match (self.member(&first, &attribute), given.get(2)) {
                (Err(Stop::Raise(_)), Some(default)) => default.clone(),
                // A value of the language has the methods that it has, and no others.
                (Ok(Value::Bound(_)), Some(default)) if matches!(first, Value::Object(_)) => default.clone(),
                (value, _) => value?,
            },
            "hasattr" => match (&first, self.member(&first, &attribute)) {
                (Value::Object(_), Ok(Value::Bound(_))) | (_, Err(Stop::Raise(_))) => Value::Bool(false),
                (_, value) => {
                    if value?.is_unknown() {
                        Value::Unknown
                    } else {
                        Value::Bool(true)
                    }
                }
            },
            "setattr" => {
                self.set_member(&first, &attribute, given.at(2))?;
                Value::None
            }
            _ => {
                self.delete_item(&first, &given.at(1));
                Value::None
            }
        }))
    }

    fn vars_of(&mut self, value: &Value) -> Run<Value> {
        match value {
            Value::Native(name) => Ok(Value::native(format!("{name}.__dict__"))),
            value => {
                let entries = self.entries_of(value)?;
                Ok(self.dict_of_pairs(entries))
            }
        }
    }

    /// `type("Name", (Base,), {…})`
    fn class_by_type(&mut self, given: &Given) -> Run<Value> {
        let name = self.text_of(&given.at(0))?.to_string();
        let bases = self.items(&given.at(1))?;
        let members = self.dict_of(&given.at(2));
        let data = super::value::ClassData { name, bases, members, ..super::value::ClassData::default() };
        Ok(Value::Class(self.heap.add(super::value::Cell::Class(Box::new(data)))))
    }

    fn type_of(&mut self, value: &Value) -> Value {
        match value {
            Value::Object(_) => self.class_of(value),
            Value::Text(_) => Value::native("str"),
            Value::Int(_) => Value::native("int"),
            Value::Float(_) => Value::native("float"),
            Value::Bool(_) => Value::native("bool"),
            Value::Bytes(_) => Value::native("bytes"),
            Value::List(_) => Value::native("list"),
            Value::Tuple(_) => Value::native("tuple"),
            Value::Dict(_) => Value::native("dict"),
            Value::Set(_) => Value::native("set"),
            Value::Class(_) => Value::native("type"),
            Value::Function(_) => Value::native("types.FunctionType"),
            Value::Path(_) => Value::native("pathlib.Path"),
            _ => Value::Unknown,
        }
    }

    /// True if a value is of a kind that the language has.
    pub(super) fn is_native_kind(value: &Value, kind: &str) -> Option<bool> {
        let kind = kind.rsplit('.').next().unwrap_or(kind);
        Some(match (value, kind) {
            (_, "object" | "Any") => true,
            (Value::Text(_), "str" | "String" | "Sequence" | "Iterable" | "Hashable") => true,
            (Value::Int(_), "int" | "Number" | "Integral" | "float") => kind != "float",
            (Value::Bool(_), "bool" | "int" | "Boolean") | (Value::Float(_), "float" | "Number") => true,
            (Value::Bytes(_), "bytes" | "bytearray" | "Buffer" | "Uint8Array") => true,
            (
                Value::List(_),
                "list" | "Sequence" | "Iterable" | "Array" | "MutableSequence" | "Collection" | "Object",
            ) => true,
            (Value::Tuple(_), "tuple" | "Sequence" | "Iterable" | "Collection") => true,
            (Value::Dict(_), "dict" | "Mapping" | "Iterable" | "Object" | "OrderedDict" | "defaultdict") => true,
            (Value::Set(_), "set" | "frozenset" | "Set" | "Iterable" | "Collection") => true,
            (Value::Path(_), "Path" | "PurePath" | "PosixPath" | "PathLike") => true,
            (Value::Regex(_), "RegExp" | "Pattern") | (Value::Promise(_), "Promise" | "Coroutine" | "Awaitable") => {
                true
            }
            (Value::Iterator(_), "Iterator" | "Generator" | "Iterable" | "GeneratorType") => true,
            (value, "Callable" | "Function" | "FunctionType") => value.is_callable(),
            (Value::Class(_), "type") => true,
            (Value::None, "NoneType") => true,
            (Value::Native(_) | Value::Process(_) | Value::File(_), _) => return None,
            _ => false,
        })
    }

    fn python_evaluate(&mut self, name: &str, given: &Given) -> Run<Value> {
        let first = given.at(0);
        let code = self.content_of(&first)?;
        let Some(names) = given.get(1).filter(|value| matches!(value, Value::Dict(_))).cloned() else {
            return self.evaluate(&code, name == "eval");
        };
        // With names of its own, which it may change.
        let scope = self.heap.add(super::value::Cell::Scope(super::value::Scope {
            is_function: true,
            ..super::value::Scope::default()
        }));
        let mut entries = self.entries_of(&names)?;
        if let Some(more) = given.get(2).cloned() {
            entries.extend(self.entries_of(&more)?);
        }
        for (key, value) in entries {
            let key = self.text_of(&key)?;
            if let Some(scope) = self.heap.scope_mut(scope) {
                scope.values.insert(key, value);
            }
        }
        let globals = std::mem::replace(&mut self.globals, scope);
        self.frames.push(super::Frame { scope, ..super::Frame::default() });
        let depth = self.frames.len();
        let result = self.evaluate(&code, name == "eval");
        self.frames.truncate(depth.saturating_sub(1));
        self.globals = globals;
        let after = self.heap.scope(scope).map(|scope| scope.values.clone()).unwrap_or_default();
        for (name, value) in after {
            self.set_item(&names, &Value::Text(name), value)?;
        }
        result
    }
}

/// A power modulo a number.
fn power_of(base: i128, power: i128, modulus: i128) -> Option<i128> {
    let (mut result, mut base, mut power) = (1_i128, base.rem_euclid(modulus), power);
    while power > 0 {
        if power & 1 == 1 {
            result = result.checked_mul(base)?.rem_euclid(modulus);
        }
        base = base.checked_mul(base)?.rem_euclid(modulus);
        power >>= 1;
    }
    Some(result)
}
