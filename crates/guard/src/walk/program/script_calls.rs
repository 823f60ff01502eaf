//! The functions and classes that JavaScript has without a module.

use std::rc::Rc;

use crate::walk::program::call::Given;
use crate::walk::program::numbers::parsed_number;
use crate::walk::program::value::{Settled, Value};
use crate::walk::program::{Run, Trial};

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
            "Number" | "BigInt" => self.number_of(&first),
            "Boolean" => self.truth(&first).map_or(first, Value::Bool),
            "Symbol" | "Symbol.for" => {
                let name = if first.is_nothing() { Rc::from("") } else { self.text_of(&first)? };
                Value::text(format!("@@{name}"))
            }
            "parseInt" | "Number.parseInt" | "parseFloat" | "Number.parseFloat" => self.parsed_int(name, given)?,
            "isNaN" | "Number.isNaN" => match self.number_of(&first) {
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
            _ if name.starts_with("Math.") => self.math_call(name, given),
            _ => return self.data_call(name, given),
        }))
    }

    /// Calls of `JSON` and `Buffer`.
    fn data_call(&mut self, name: &str, given: &Given) -> Run<Option<Value>> {
        let first = given.at(0);
        Ok(Some(match name {
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

    fn math_call(&self, name: &str, given: &Given) -> Value {
        let numbers: Vec<f64> = given.values.iter().map(super::numbers::as_float).collect();
        let first = numbers.first().copied().unwrap_or(f64::NAN);
        if given.values.iter().any(Value::is_unknown) {
            return self.unknown_of(&given.values);
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
            _ => return Value::Lost,
        };
        super::numbers::float(result, false)
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

    pub(super) fn buffer(&mut self, given: &Given) -> Run<Value> {
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

    pub(super) fn function_of_text(&mut self, given: &Given) -> Run<Value> {
        let mut texts = Vec::new();
        for value in &given.values {
            texts.push(self.text_of(value)?.to_string());
        }
        let code = texts.pop().unwrap_or_default();
        let whole = format!("(function ({}) {{\n{code}\n}})", texts.join(","));
        self.evaluate(&whole, true)
    }
}
