//! The functions and classes that JavaScript has without a module.

use std::rc::Rc;

use crate::walk::program::trial::call::Given;
use crate::walk::program::trial::numbers::parsed_number;
use crate::walk::program::trial::syntax::Expr;
use crate::walk::program::trial::value::{Cell, Dict, ObjectData, Settled, Value};
use crate::walk::program::trial::{Run, Trial};

/// True if JavaScript, or a program that runs it, has something of this name.
pub(super) fn is_global(name: &str) -> bool {
    matches!(
        name,
        "process"
            | "console"
            | "require"
            | "Object"
            | "Array"
            | "String"
            | "Number"
            | "Boolean"
            | "Symbol"
            | "Map"
            | "Set"
            | "WeakMap"
            | "WeakSet"
            | "WeakRef"
            | "Promise"
            | "JSON"
            | "Math"
            | "Date"
            | "RegExp"
            | "Reflect"
            | "Proxy"
            | "Buffer"
            | "Function"
            | "eval"
            | "globalThis"
            | "global"
            | "module"
            | "exports"
            | "setTimeout"
            | "setInterval"
            | "setImmediate"
            | "clearTimeout"
            | "clearInterval"
            | "clearImmediate"
            | "queueMicrotask"
            | "parseInt"
            | "parseFloat"
            | "isNaN"
            | "isFinite"
            | "atob"
            | "btoa"
            | "decodeURIComponent"
            | "encodeURIComponent"
            | "decodeURI"
            | "encodeURI"
            | "unescape"
            | "escape"
            | "Intl"
            | "TextDecoder"
            | "TextEncoder"
            | "Uint8Array"
            | "Uint16Array"
            | "Uint32Array"
            | "Int8Array"
            | "Float64Array"
            | "ArrayBuffer"
            | "DataView"
            | "BigInt"
            | "URL"
            | "URLSearchParams"
            | "AbortController"
            | "fetch"
            | "performance"
            | "structuredClone"
            | "import"
            | "Bun"
            | "Deno"
            | "__filename"
            | "__dirname"
            | "Event"
            | "EventTarget"
            | "AggregateError"
            | "Iterator"
            | "crypto"
            | "WebAssembly"
            | "Atomics"
            | "SharedArrayBuffer"
            | "$"
            | "child_process"
            | "fs"
            | "path"
            | "os"
            | "util"
            | "vm"
    )
}

impl Trial<'_, '_> {
    /// Calls a function of JavaScript. None if there is none of that name.
    pub(super) fn global_call(&mut self, name: &str, given: &Given) -> Run<Option<Value>> {
        let first = given.at(0);
        if let Some(method) = name.strip_prefix("Object.") {
            return self.object_call(method, given);
        }
        if let Some(method) = name.strip_prefix("Reflect.") {
            return self.reflect_call(method, given);
        }
        // A method of a class, taken from its prototype: `Array.prototype.slice.call(list)` comes as a bound call.
        if let Some((_, method)) = name.split_once(".prototype.") {
            return self.call_method(first, method, given.rest(1)).map(Some);
        }
        Ok(Some(match name {
            "require" | "import" | "module.require" | "process.getBuiltinModule" => {
                let module = self.text_of(&first)?;
                if super::value::is_doubtful(&module) {
                    self.notes.is_blind = true;
                    return Ok(Some(Value::Unknown));
                }
                let module = self.module(&module)?;
                if name == "import" { self.heap.new_promise(Settled::Holds(module)) } else { module }
            }
            "module.createRequire" => Value::native("require"),
            "String" if given.values.is_empty() => Value::text(""),
            "String" => {
                if first.is_unknown() {
                    first
                } else {
                    Value::Text(self.text_of(&first)?)
                }
            }
            "Number" | "BigInt" => self.to_number(&first)?,
            "Boolean" => self.truth(&first).map_or(first, Value::Bool),
            "Symbol" | "Symbol.for" => {
                let name = if first.is_nothing() { Rc::from("") } else { self.text_of(&first)? };
                Value::text(format!("@@{name}"))
            }
            "parseInt" | "Number.parseInt" | "parseFloat" | "Number.parseFloat" => self.parsed_int(name, given)?,
            "isNaN" | "Number.isNaN" => match self.to_number(&first)? {
                Value::Float(number) => Value::Bool(number.is_nan()),
                Value::Int(_) => Value::Bool(false),
                value => value,
            },
            "Number.isInteger" | "Number.isSafeInteger" => {
                if first.is_unknown() {
                    first
                } else {
                    Value::Bool(matches!(first, Value::Int(_)))
                }
            }
            "String.fromCharCode" | "String.fromCodePoint" => {
                let codes = given.values.iter().map(|value| {
                    value.as_int().and_then(|code| u32::try_from(code).ok()).and_then(super::escapes::letter_of)
                });
                codes.collect::<Option<String>>().map_or_else(|| self.unknown_of(&given.values), Value::text)
            }
            "String.raw" => self.raw_text(&first, given)?,
            "Array.from" => self.array_from(&first, given)?,
            "Array.of" => self.heap.new_list(given.values.clone()),
            "Array.isArray" => match &first {
                value if value.is_unknown() => Value::Unknown,
                value => Value::Bool(matches!(value, Value::List(_))),
            },
            "Array" => self.new_native("Array", given.clone())?,
            "JSON.parse" => {
                let value = self.parsed_json(&first)?;
                match given.get(1) {
                    Some(reviver) if reviver.is_callable() => self.revived(&reviver.clone(), value, 4)?,
                    _ => value,
                }
            }
            "JSON.stringify" => Value::text(self.json_text(&first, 8)?),
            "structuredClone" => match &first {
                Value::List(_) | Value::Dict(_) => {
                    let text = self.json_text(&first, 8)?;
                    self.parsed_json(&Value::text(text))?
                }
                _ => first,
            },
            "Buffer.from" | "Uint8Array.from" => self.buffer(given)?,
            "Buffer.concat" => {
                let mut bytes = Vec::new();
                for item in self.items(&first)? {
                    match self.bytes_of(&item)? {
                        Some(more) => bytes.extend(more),
                        None => return Ok(Some(self.unknown_of([&item]))),
                    }
                }
                Value::Bytes(bytes.into())
            }
            "Buffer.alloc" => Value::Bytes(
                vec![0; first.as_int().and_then(|count| usize::try_from(count).ok()).unwrap_or(0).min(4096)].into(),
            ),
            "console.log" | "console.info" | "console.debug" => {
                let text = format!("{}\n", self.printed(&given.values)?);
                self.print(&text)?;
                Value::Undefined
            }
            "process.stdout.write" => {
                let text = self.content_of(&first)?;
                self.print(&text)?;
                Value::Bool(true)
            }
            "eval" => match &first {
                Value::Text(code) => self.evaluate(&code.clone(), true)?,
                value if value.is_unknown() => {
                    let text = self.text_of(value)?;
                    self.evaluate(&text, true)?
                }
                value => value.clone(),
            },
            "Function" => self.function_of_text(given)?,
            "Math.random" | "Date.now" | "performance.now" => Value::Unknown,
            "encodeURIComponent" | "encodeURI" | "escape" => first,
            "dirent.is" => Value::Unknown,
            _ if name.starts_with("Math.") => self.math_call(name, given)?,
            _ => return Ok(None),
        }))
    }

    fn parsed_int(&mut self, name: &str, given: &Given) -> Run<Value> {
        let text = self.text_of(&given.at(0))?;
        let Some(known) = self.spelled(&text) else { return Ok(super::value::unknown_like(&text)) };
        let radix = given.get(1).and_then(Value::as_int).and_then(|radix| u32::try_from(radix).ok()).unwrap_or(10);
        if name.ends_with("Float") {
            return Ok(parsed_number(known.trim(), 10).unwrap_or(Value::Float(f64::NAN)));
        }
        let known = known.trim();
        let digits = known.strip_prefix("0x").filter(|_| radix == 16).unwrap_or(known);
        let end = digits
            .char_indices()
            .find(|(at, letter)| !(letter.is_digit(radix.clamp(2, 36)) || *at == 0 && matches!(letter, '-' | '+')));
        let end = end.map_or(digits.len(), |(at, _)| at);
        Ok(parsed_number(digits.get(..end).unwrap_or(""), radix).unwrap_or(Value::Float(f64::NAN)))
    }

    fn math_call(&mut self, name: &str, given: &Given) -> Run<Value> {
        let numbers: Vec<f64> = given.values.iter().map(super::numbers::as_float).collect();
        let first = numbers.first().copied().unwrap_or(f64::NAN);
        if given.values.iter().any(Value::is_unknown) {
            return Ok(self.unknown_of(&given.values));
        }
        let result = match name {
            "Math.floor" => first.floor(),
            "Math.ceil" => first.ceil(),
            "Math.round" => first.round(),
            "Math.trunc" => first.trunc(),
            "Math.abs" => first.abs(),
            "Math.sqrt" => first.sqrt(),
            "Math.max" => numbers.iter().copied().fold(f64::NEG_INFINITY, f64::max),
            "Math.min" => numbers.iter().copied().fold(f64::INFINITY, f64::min),
            "Math.pow" => first.powf(numbers.get(1).copied().unwrap_or(1.0)),
            _ => return Ok(Value::Lost),
        };
        Ok(super::numbers::float(result, false))
    }

    fn raw_text(&mut self, texts: &Value, given: &Given) -> Run<Value> {
        let texts = match texts {
            Value::Dict(_) => self.member(texts, "raw")?,
            texts => texts.clone(),
        };
        let mut values = given.rest(1).into_iter();
        let mut out = String::new();
        for text in self.items(&texts)? {
            out.push_str(&self.text_of(&text)?);
            if let Some(value) = values.next() {
                out.push_str(&self.text_of(&value)?);
            }
        }
        self.new_text(out)
    }

    fn array_from(&mut self, first: &Value, given: &Given) -> Run<Value> {
        let items = match first {
            // `Array.from({ length: 3 }, …)`
            Value::Dict(id) if self.heap.dict(*id).is_some_and(|dict| dict.named("length").is_some()) => {
                let length = self
                    .member(first, "length")?
                    .as_int()
                    .and_then(|length| usize::try_from(length).ok())
                    .unwrap_or(0)
                    .min(1024);
                let mut items = Vec::new();
                for at in 0..length {
                    items.push(self.item(first, &Value::text(at.to_string()))?);
                }
                items
            }
            first => self.items(first)?,
        };
        let list = self.heap.new_list(items);
        match given.get(1) {
            Some(function) if function.is_callable() || matches!(function, Value::Native(_)) => {
                self.list_method(&list, "map", &Given::of(vec![function.clone()]))
            }
            _ => Ok(list),
        }
    }

    fn buffer(&mut self, given: &Given) -> Run<Value> {
        let first = given.at(0);
        let code = match given.get(1) {
            Some(Value::Text(code)) => code.to_lowercase(),
            _ => String::new(),
        };
        Ok(match (self.bytes_of(&first)?, code.as_str()) {
            (Some(bytes), "base64" | "base64url") => Value::Bytes(super::codecs::base64(&bytes).into()),
            (Some(bytes), "hex") => Value::Bytes(super::codecs::base16(&bytes).into()),
            (Some(bytes), "utf16le" | "ucs2") => Value::Bytes(bytes.iter().flat_map(|byte| [*byte, 0]).collect()),
            (Some(bytes), _) => Value::Bytes(bytes.into()),
            // Text with unknown parts stays a text.
            (None, "") if matches!(first, Value::Text(_)) => first,
            _ => self.unknown_of([&first]),
        })
    }

    fn function_of_text(&mut self, given: &Given) -> Run<Value> {
        let mut texts = Vec::new();
        for value in &given.values {
            texts.push(self.text_of(value)?.to_string());
        }
        let code = texts.pop().unwrap_or_default();
        let whole = format!("(function ({}) {{\n{code}\n}})", texts.join(","));
        self.evaluate(&whole, true)
    }

    fn object_call(&mut self, method: &str, given: &Given) -> Run<Option<Value>> {
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
    fn define(&mut self, object: &Value, key: &Value, description: &Value) -> Run<()> {
        let getter = self.member(description, "get")?;
        let value = if getter.is_callable() && !matches!(getter, Value::Bound(_)) {
            Value::Accessor(Rc::new((getter, self.member(description, "set")?)))
        } else {
            self.member(description, "value")?
        };
        self.set_field(object, key, value)
    }

    fn reflect_call(&mut self, method: &str, given: &Given) -> Run<Option<Value>> {
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

    /// The value that a text in JSON says.
    pub(super) fn parsed_json(&mut self, value: &Value) -> Run<Value> {
        let text = self.content_of(value)?;
        if super::value::is_doubtful(&text) {
            if self.fails_here(self.place) {
                let kind = if self.is_python() { "JSONDecodeError" } else { "SyntaxError" };
                return Err(self.exception(kind, "invalid JSON"));
            }
            return Ok(super::value::unknown_like(&text));
        }
        self.spend(text.len() / 16)?;
        // JSON is JavaScript.
        let reader = super::parse::ProgramReader::new(crate::walk::program::Language::Script, text.trim(), 0);
        let value: Option<Expr> = reader.and_then(|mut reader| {
            let value = reader.expression()?;
            reader.is_end().then_some(value)
        });
        match value {
            Some(value) => self.value(&value),
            None => {
                let kind = if self.is_python() { "JSONDecodeError" } else { "SyntaxError" };
                Err(self.exception(kind, "invalid JSON"))
            }
        }
    }

    fn revived(&mut self, reviver: &Value, value: Value, depth: usize) -> Run<Value> {
        if depth > 0 && matches!(value, Value::Dict(_) | Value::List(_)) {
            for (key, part) in self.entries_of(&value)? {
                let part = self.revived(reviver, part, depth - 1)?;
                let part = self.call(reviver.clone(), vec![key.clone(), part])?;
                let key = match (&value, key.known_text().and_then(|key| key.parse().ok())) {
                    (Value::List(_), Some(at)) => Value::Int(at),
                    _ => key,
                };
                self.set_item(&value, &key, part)?;
            }
        }
        Ok(value)
    }

    /// A value in JSON.
    pub(super) fn json_text(&mut self, value: &Value, depth: usize) -> Run<String> {
        self.step()?;
        if depth == 0 {
            return Ok("null".to_owned());
        }
        let between = if self.is_python() { ", " } else { "," };
        let colon = if self.is_python() { ": " } else { ":" };
        Ok(match value {
            Value::None | Value::Undefined => "null".to_owned(),
            Value::Bool(flag) => flag.to_string(),
            Value::Int(number) => number.to_string(),
            Value::Float(number) => number.to_string(),
            Value::List(_) | Value::Tuple(_) => {
                let mut parts = Vec::new();
                for item in self.items(value)? {
                    parts.push(self.json_text(&item, depth - 1)?);
                }
                format!("[{}]", parts.join(between))
            }
            Value::Dict(_) | Value::Object(_) => {
                let mut parts = Vec::new();
                for (key, value) in self.entries_of(value)? {
                    if value.is_callable() || matches!(value, Value::Undefined) {
                        continue;
                    }
                    let key = self.text_of(&key)?;
                    parts.push(format!("\"{key}\"{colon}{}", self.json_text(&value, depth - 1)?));
                }
                format!("{{{}}}", parts.join(between))
            }
            value => {
                let text = self.text_of(value)?;
                format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n"))
            }
        })
    }
}
