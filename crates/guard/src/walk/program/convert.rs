//! Values as texts, keys and truths, and whether they are the same.

use std::fmt::Write as _;
use std::rc::Rc;

use crate::marks::{HOME, REPO, START, UNKNOWN, has_mark, is_mark, is_source};
use crate::walk::program::value::{Id, Value, unknown_like};
use crate::walk::program::{Run, Trial};

/// The longest text, in bytes. `a += a` doubles it, so one that is longer is lost.
const LONGEST_TEXT: usize = 16 << 10;

/// The longest key of a tuple, in bytes.
const LONGEST_KEY: usize = 2048;

/// The deepest value that is written out.
const DEEPEST: usize = 6;

impl Trial<'_, '_> {
    /// A text as a value. Making it is work.
    pub(super) fn new_text(&mut self, text: String) -> Run<Value> {
        self.spend(text.len() / 256)?;
        Ok(if text.len() > LONGEST_TEXT { unknown_or_lost(&text) } else { Value::text(text) })
    }

    /// The value as the text that `str` or `String` makes of it.
    pub(super) fn text_of(&mut self, value: &Value) -> Run<Rc<str>> {
        if let Value::Text(text) | Value::Path(text) = value {
            return Ok(Rc::clone(text));
        }
        self.deeper(|trial| trial.any_text_of(value))
    }

    fn any_text_of(&mut self, value: &Value) -> Run<Rc<str>> {
        self.step()?;
        Ok(match value {
            Value::Text(text) | Value::Path(text) => Rc::clone(text),
            Value::Unknown => UNKNOWN.to_string().into(),
            Value::Lost => Rc::clone(&self.lost),
            Value::Bytes(bytes) if !self.is_python() => String::from_utf8_lossy(bytes).into(),
            Value::Object(id) => return self.object_text(*id, value),
            Value::List(_) if !self.is_python() => self.joined(value, ",")?.into(),
            Value::Tuple(items) if items.is_empty() && !self.is_python() => Rc::from(""),
            Value::Match(found) if !self.is_python() => {
                found.groups.first().cloned().flatten().unwrap_or_else(|| Rc::from(""))
            }
            Value::Dict(_) if !self.is_python() => Rc::from("[object Object]"),
            Value::Process(id) => self.process_output(*id)?.into(),
            Value::Regex(pattern) => format!("/{}/{}", pattern.0, pattern.1).into(),
            Value::Bound(inner) if inner.1.as_ref() == "proxy" => UNKNOWN.to_string().into(),
            value => self.written(value, DEEPEST)?.into(),
        })
    }

    fn object_text(&mut self, id: Id, object: &Value) -> Run<Rc<str>> {
        for name in ["__str__", "toString", "__fspath__", "__repr__", "@@toPrimitive"] {
            if let Some(method) = self.class_member(object, name) {
                let method = self.bind(object, method)?;
                let value = self
                    .call(method, vec![Value::text("string")])
                    .or_else(|_| self.call_method(object.clone(), name, Vec::new()))?;
                return if matches!(value, Value::Object(_)) { Ok(Rc::from("")) } else { self.text_of(&value) };
            }
        }
        let Some(data) = self.heap.object(id).cloned() else { return Ok(Rc::from("")) };
        if let Some(inner) = &data.inner {
            return self.text_of(inner);
        }
        let is_exception = self.comes_from(&data.class, &["BaseException"]);
        if is_exception && let Some(message) = data.fields.named("message").cloned() {
            return self.text_of(&message);
        }
        if self.comes_from(&data.class, &["Enum"])
            && let (Some(name), Value::Class(class)) = (data.fields.named("name").cloned(), &data.class)
        {
            let class = self.heap.class(*class).map(|class| class.name.clone()).unwrap_or_default();
            return Ok(format!("{class}.{}", self.text_of(&name)?).into());
        }
        Ok(if self.is_python() { Rc::from("<object>") } else { Rc::from("[object Object]") })
    }

    /// The value as Python writes it, or JavaScript a part of a larger one.
    pub(super) fn written(&mut self, value: &Value, depth: usize) -> Run<String> {
        self.step()?;
        if depth == 0 {
            return Ok("...".to_owned());
        }
        let is_python = self.is_python();
        Ok(match value {
            Value::None => if is_python { "None" } else { "null" }.to_owned(),
            Value::Undefined => if is_python { "None" } else { "undefined" }.to_owned(),
            Value::Bool(flag) => match (is_python, flag) {
                (true, true) => "True",
                (true, false) => "False",
                (false, true) => "true",
                (false, false) => "false",
            }
            .to_owned(),
            Value::Int(number) => number.to_string(),
            Value::Float(number) if is_python && number.fract() == 0.0 && number.abs() < 1e16 => format!("{number:.1}"),
            Value::Float(number) => number.to_string(),
            Value::Text(text) => quoted(text),
            Value::Path(text) => format!("PosixPath('{text}')"),
            Value::Bytes(bytes) => format!("b{}", quoted(&String::from_utf8_lossy(bytes))),
            Value::Unknown => UNKNOWN.to_string(),
            Value::Lost => self.lost.to_string(),
            Value::List(_) | Value::Tuple(_) | Value::Set(_) => {
                let items = self.items(value)?;
                let mut parts = Vec::new();
                for item in &items {
                    parts.push(self.written(item, depth - 1)?);
                }
                let inside = parts.join(", ");
                match value {
                    Value::Tuple(_) if items.len() == 1 => format!("({inside},)"),
                    Value::Tuple(_) => format!("({inside})"),
                    Value::Set(_) => format!("{{{inside}}}"),
                    _ => format!("[{inside}]"),
                }
            }
            Value::Dict(_) => {
                let mut text = String::from("{");
                for (at, (key, value)) in self.entries_of(value)?.iter().enumerate() {
                    let comma = if at > 0 { ", " } else { "" };
                    let (key, value) = (self.written(key, depth - 1)?, self.written(value, depth - 1)?);
                    let _ = write!(text, "{comma}{key}: {value}");
                }
                text.push('}');
                text
            }
            Value::Object(_) => match self.class_member(value, "__repr__") {
                Some(method) => {
                    let method = self.bind(value, method)?;
                    let text = self.call(method, Vec::new())?;
                    self.text_of(&text)?.to_string()
                }
                None => self.text_of(value)?.to_string(),
            },
            _ => "<object>".to_owned(),
        })
    }

    /// The items of a list with a text between them.
    pub(super) fn joined(&mut self, list: &Value, between: &str) -> Run<String> {
        let mut text = String::new();
        for (at, item) in self.items(list)?.iter().enumerate() {
            if at > 0 {
                text.push_str(between);
            }
            if !item.is_nothing() || self.is_python() {
                text.push_str(&self.text_of(item)?);
            }
            if text.len() > LONGEST_TEXT {
                break;
            }
        }
        Ok(text)
    }

    /// True or false, if that is certain.
    pub(super) fn truth(&mut self, value: &Value) -> Option<bool> {
        let is_open = |item: &Value| item.is_unknown() || item.is_listing();
        match value {
            Value::Unknown | Value::Lost => None,
            Value::Undefined | Value::None => Some(false),
            Value::Bool(flag) => Some(*flag),
            Value::Int(number) => Some(*number != 0),
            Value::Float(number) => Some(*number != 0.0 && !number.is_nan()),
            Value::Text(text) if !has_mark(text) => Some(!text.is_empty()),
            Value::Text(text) => text.chars().any(|letter| letter != UNKNOWN && !is_source(letter)).then_some(true),
            Value::Bytes(bytes) => Some(!bytes.is_empty()),
            Value::List(id) if self.is_python() => {
                let items = self.heap.list(*id)?;
                if !items.is_empty() && items.iter().all(is_open) { None } else { Some(!items.is_empty()) }
            }
            Value::Tuple(items) if self.is_python() => Some(!items.is_empty()),
            Value::Dict(id) if self.is_python() => self.heap.dict(*id).map(|dict| dict.len() > 0),
            Value::Set(id) if self.is_python() => self.heap.set(*id).map(|dict| dict.len() > 0),
            Value::Object(id) if self.is_python() => {
                for name in ["__bool__", "__len__"] {
                    if let Some(method) = self.class_member(value, name) {
                        let method = self.bind(value, method).ok()?;
                        let answer = self.call(method, Vec::new()).ok()?;
                        return if matches!(answer, Value::Object(_)) { Some(true) } else { self.truth(&answer) };
                    }
                }
                match self.heap.object(*id).and_then(|data| data.inner.clone()) {
                    Some(inner) if !matches!(inner, Value::Object(_)) => self.truth(&inner),
                    _ => Some(true),
                }
            }
            _ => Some(true),
        }
    }

    /// The key of a value in a table; none if it is not known.
    pub(super) fn key_of(&self, value: &Value) -> Option<String> {
        Some(match value {
            Value::Text(text) if !has_mark(text) || !text.contains(is_mark) => format!("s{text}"),
            // A listing is the same as itself.
            Value::Text(text) if !text.contains(UNKNOWN) => format!("s{text}"),
            Value::Path(text) => format!("p{text}"),
            Value::Int(_) | Value::Bool(_) | Value::Float(_) if !self.is_python() => match value {
                Value::Int(number) => format!("s{number}"),
                Value::Bool(flag) => format!("s{flag}"),
                _ => format!("s{value:?}"),
            },
            Value::Float(number) => value.as_int().map_or_else(|| format!("f{number}"), |number| format!("i{number}")),
            Value::Int(_) | Value::Bool(_) => format!("i{}", value.as_int()?),
            Value::None => "none".to_owned(),
            Value::Undefined => "undefined".to_owned(),
            Value::Bytes(bytes) => format!("b{bytes:?}"),
            Value::Tuple(items) => {
                let mut key = String::from("t");
                for item in items.iter() {
                    key.push('\0');
                    key.push_str(&self.key_of(item)?);
                    if key.len() > LONGEST_KEY {
                        return None;
                    }
                }
                key
            }
            Value::Object(id) => match self.heap.object(*id).and_then(|data| data.inner.as_ref()) {
                Some(inner @ (Value::Text(_) | Value::Int(_) | Value::Tuple(_))) => self.key_of(inner)?,
                _ => format!("o{id}"),
            },
            Value::List(id) | Value::Dict(id) | Value::Set(id) | Value::Function(id) | Value::Class(id) => {
                format!("o{id}")
            }
            Value::Native(name) => format!("n{name}"),
            _ => return None,
        })
    }

    /// True if two values are the same, false if not; none if that is not known.
    pub(super) fn equals(&mut self, left: &Value, right: &Value) -> Option<bool> {
        self.deeper(|trial| trial.step().map(|()| trial.same(left, right))).ok().flatten()
    }

    fn same(&mut self, left: &Value, right: &Value) -> Option<bool> {
        if let Some(method) = self.class_member(left, "__eq__") {
            let method = self.bind(left, method).ok()?;
            let answer = self.call(method, vec![right.clone()]).ok()?;
            return self.truth(&answer);
        }
        match (left, right) {
            (Value::Unknown | Value::Lost, _) | (_, Value::Unknown | Value::Lost) => None,
            (Value::Text(left), Value::Text(right)) | (Value::Path(left), Value::Path(right)) => {
                self.same_text(left, right)
            }
            (Value::Text(left), Value::Int(right)) | (Value::Int(right), Value::Text(left)) if !self.is_python() => {
                left.parse::<i128>().ok().map(|left| left == *right)
            }
            (Value::None | Value::Undefined, Value::None | Value::Undefined) => Some(true),
            (Value::Bytes(left), Value::Bytes(right)) => Some(left == right),
            (Value::Float(left), Value::Float(right)) => Some((left - right).abs() == 0.0),
            (Value::Int(_) | Value::Bool(_) | Value::Float(_), Value::Int(_) | Value::Bool(_) | Value::Float(_)) => {
                Some(left.as_int().is_some() && left.as_int() == right.as_int())
            }
            (Value::List(one), Value::List(other)) if !self.is_python() => Some(one == other),
            (Value::List(_) | Value::Tuple(_), Value::List(_) | Value::Tuple(_)) => {
                let (left, right) = (self.items(left).ok()?, self.items(right).ok()?);
                if left.len() != right.len() {
                    return Some(false);
                }
                for (left, right) in left.iter().zip(&right) {
                    match self.equals(left, right) {
                        Some(true) => {}
                        answer => return answer,
                    }
                }
                Some(true)
            }
            (Value::Object(one), Value::Object(other)) => {
                let inner = |id: &Id| self.heap.object(*id).and_then(|data| data.inner.clone());
                match (inner(one), inner(other)) {
                    (Some(left), Some(right)) if one != other => self.equals(&left, &right),
                    _ => Some(one == other),
                }
            }
            (Value::Object(id), other) | (other, Value::Object(id)) => {
                let inner = self.heap.object(*id).and_then(|data| data.inner.clone());
                match inner {
                    Some(inner) if !matches!(inner, Value::Object(_)) => self.equals(&inner, other),
                    _ => Some(false),
                }
            }
            (left, right) => match (self.key_of(left), self.key_of(right)) {
                (Some(left), Some(right)) => Some(left == right),
                _ => Some(false),
            },
        }
    }

    /// True if two texts are the same. Parts that are not known may be anything.
    fn same_text(&self, left: &str, right: &str) -> Option<bool> {
        if !has_mark(left) && !has_mark(right) {
            return Some(left == right);
        }
        let (left, right) = (self.walk.world.concrete(left), self.walk.world.concrete(right));
        if !left.contains(is_mark) && !right.contains(is_mark) {
            return Some(left == right);
        }
        let differs = |left: &mut dyn Iterator<Item = char>, right: &mut dyn Iterator<Item = char>| {
            left.zip(right)
                .take_while(|(left, right)| !is_mark(*left) && !is_mark(*right))
                .any(|(left, right)| left != right)
        };
        let is_other = differs(&mut left.chars(), &mut right.chars())
            || differs(&mut left.chars().rev(), &mut right.chars().rev());
        if is_other { Some(false) } else { None }
    }

    /// The text with its marked directories spelled out; none if something else is not known in it.
    pub(super) fn spelled(&self, text: &str) -> Option<String> {
        if !has_mark(text) {
            return Some(text.to_owned());
        }
        let text = if text.contains([HOME, START, REPO]) { self.walk.world.concrete(text) } else { text.to_owned() };
        (!text.contains(is_mark)).then_some(text)
    }

    /// Bytes that a value stands for.
    pub(super) fn bytes_of(&mut self, value: &Value) -> Run<Option<Vec<u8>>> {
        let value = &self.plain(value);
        Ok(match value {
            Value::Bytes(bytes) => Some(bytes.to_vec()),
            Value::Text(text) => self.spelled(text).map(String::into_bytes),
            Value::List(_) | Value::Tuple(_) | Value::Iterator(_) => {
                let items = self.items(value)?;
                items.iter().map(|item| item.as_int().and_then(|number| u8::try_from(number & 0xff).ok())).collect()
            }
            _ => None,
        })
    }
}

/// A text of Python in quotes.
fn quoted(text: &str) -> String {
    let quote = if text.contains('\'') && !text.contains('"') { '"' } else { '\'' };
    let mut out = String::from(quote);
    for letter in text.chars() {
        match letter {
            '\n' => out.push_str("\\n"),
            '\t' => out.push_str("\\t"),
            '\\' => out.push_str("\\\\"),
            letter if letter == quote => {
                out.push('\\');
                out.push(letter);
            }
            letter => out.push(letter),
        }
    }
    out.push(quote);
    out
}

fn unknown_or_lost(text: &str) -> Value {
    if text.contains(UNKNOWN) { unknown_like(text) } else { Value::Lost }
}
