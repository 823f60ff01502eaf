//! Methods of texts and bytes.

use std::rc::Rc;

use crate::marks::{UNKNOWN, has_mark, is_mark};
use crate::walk::decode;
use crate::walk::program::call::Given;
use crate::walk::program::value::{Value, is_doubtful, unknown_like};
use crate::walk::program::{Run, Trial};

/// The longest padding.
const LONGEST_PADDING: i128 = 2000;

impl Trial<'_, '_> {
    /// A letter of a text.
    pub(super) fn text_item(&mut self, text: &Rc<str>, key: &Value) -> Run<Value> {
        let Some(at) = key.as_int() else {
            let name = if key.is_unknown() { return Ok(unknown_like(text)) } else { self.text_of(key)? };
            return self.member(&Value::Text(Rc::clone(text)), &name);
        };
        let Some(known) = self.spelled(text) else { return Ok(unknown_like(text)) };
        self.spend(known.len() / 256)?;
        let count = known.chars().count();
        let place = super::member::place(&Value::Int(at), count).filter(|_| at >= 0 || self.is_python());
        match place.and_then(|at| known.chars().nth(at)) {
            Some(letter) => Ok(Value::text(letter.to_string())),
            None if self.is_python() => Err(self.exception("IndexError", "string index out of range")),
            None => Ok(Value::Undefined),
        }
    }

    pub(super) fn text_method(&mut self, text: &Rc<str>, name: &str, given: &Given) -> Run<Value> {
        self.spend(text.len() / 128)?;
        if let Some(value) = self.open_text_method(text, name, given)? {
            return Ok(value);
        }
        let Some(known) = self.spelled(text) else {
            let asks = name.starts_with("is")
                || name.to_lowercase().ends_with("with")
                || matches!(name, "find" | "index" | "count" | "test" | "search" | "includes" | "indexOf" | "match");
            // The names of a listing stay names.
            let is_listing = !is_doubtful(text);
            return Ok(if is_listing && !asks { Value::Text(Rc::clone(text)) } else { unknown_like(text) });
        };
        if given
            .values
            .iter()
            .any(|value| value.is_unknown() || matches!(value, Value::Text(text) if is_doubtful(text)))
        {
            return Ok(self.unknown_of(&given.values));
        }
        if let Some(value) = self.searching_method(&known, name, given)? {
            return Ok(value);
        }
        if let Some(value) = self.changing_method(&known, name, given)? {
            return Ok(value);
        }
        if let Some(value) = self.splitting_method(&known, name, given)? {
            return Ok(value);
        }
        if let Some(value) = self.matching_method(&known, name, given)? {
            return Ok(value);
        }
        self.call_back(given)?;
        Ok(Value::Lost)
    }

    /// Methods that work on texts of which a part is not known.
    fn open_text_method(&mut self, text: &Rc<str>, name: &str, given: &Given) -> Run<Option<Value>> {
        let own = Value::Text(Rc::clone(text));
        Ok(Some(match name {
            "strip" | "lstrip" | "rstrip" | "trim" | "trimEnd" | "trimStart" | "trimLeft" | "trimRight" => {
                let letters = match given.get(0) {
                    Some(Value::Text(letters)) => letters.to_string(),
                    _ => " \t\r\n\u{b}\u{c}".to_owned(),
                };
                let is_blank = |letter: char| letters.contains(letter);
                Value::text(match name {
                    "lstrip" | "trimStart" | "trimLeft" => text.trim_start_matches(is_blank),
                    "rstrip" | "trimEnd" | "trimRight" => text.trim_end_matches(is_blank),
                    _ => text.trim_matches(is_blank),
                })
            }
            "join" => {
                let list = given.at(0);
                let text = self.joined(&list, text)?;
                self.new_text(text)?
            }
            "format" => {
                let text = self.format_text(text, given)?;
                self.new_text(text)?
            }
            "format_map" => {
                let mut table = Given::default();
                let map = given.at(0);
                let text = self.format_text_with(text, &mut table, Some(&map))?;
                self.new_text(text)?
            }
            "encode" if !has_mark(text) => match self.encoding(given, "utf-8")?.as_str() {
                "utf-16-le" | "utf16le" => Value::Bytes(text.encode_utf16().flat_map(u16::to_le_bytes).collect()),
                _ => Value::Bytes(text.as_bytes().into()),
            },
            "encode" | "decode" | "toString" | "valueOf" | "expandtabs" | "normalize" | "__str__" | "toWellFormed"
            | "read" => own,
            "concat" => {
                let mut whole = text.to_string();
                for value in &given.values {
                    whole.push_str(&self.text_of(value)?);
                }
                self.new_text(whole)?
            }
            "lower" | "toLowerCase" | "casefold" | "toLocaleLowerCase" => Value::text(text.to_lowercase()),
            "upper" | "toUpperCase" | "toLocaleUpperCase" => Value::text(text.to_uppercase()),
            "splitlines" => {
                let keeps = given.named_or("keepends", 0).cloned().unwrap_or(Value::Bool(false));
                let keeps = self.truth(&keeps) == Some(true);
                let lines: Vec<&str> = text
                    .split_inclusive('\n')
                    .map(|line| if keeps { line } else { line.trim_end_matches(['\n', '\r']) })
                    .collect();
                self.heap.new_texts(lines)
            }
            "split" if has_mark(text) => return Ok(Some(self.split_open(text, given))),
            "replace" | "replaceAll"
                if has_mark(text) && given.values.iter().take(2).all(|value| value.known_text().is_some()) =>
            {
                let (from, to) = (given.at(0), given.at(1));
                let (from, to) = (from.known_text().unwrap_or(""), to.known_text().unwrap_or(""));
                let replaced = if from.is_empty() { text.to_string() } else { text.replace(from, to) };
                self.new_text(replaced)?
            }
            _ => return Ok(None),
        }))
    }

    /// Splits a text of which a part is not known.
    fn split_open(&mut self, text: &str, given: &Given) -> Value {
        // A variable of the environment such as `$PATH` has parts that are not known.
        if text.chars().all(|letter| is_mark(letter) || letter.is_whitespace()) && text.contains(UNKNOWN) {
            let value = unknown_like(text);
            return self.heap.new_list(vec![value]);
        }
        let text = self.walk.world.concrete(text);
        match given.at(0) {
            Value::Text(separator) if !separator.is_empty() => self.heap.new_texts(text.split(separator.as_ref())),
            Value::Undefined | Value::None => self.heap.new_texts(text.split_whitespace()),
            _ => {
                let value = unknown_like(&text);
                self.heap.new_list(vec![value])
            }
        }
    }

    /// The name of an encoding, in lower case.
    pub(super) fn encoding(&mut self, given: &Given, usual: &str) -> Run<String> {
        match given.named_or("encoding", 0).cloned() {
            Some(value) if !value.is_nothing() => Ok(self.text_of(&value)?.to_lowercase().replace('_', "-")),
            _ => Ok(usual.to_owned()),
        }
    }

    fn searching_method(&mut self, text: &str, name: &str, given: &Given) -> Run<Option<Value>> {
        let first = given.at(0);
        let part = if matches!(first, Value::Text(_)) { self.text_of(&first)? } else { Rc::from("") };
        let letters_before = |at: usize| Value::number(text.get(..at).unwrap_or("").chars().count());
        let missing = || Value::Int(-1);
        Ok(Some(match name {
            "startswith" | "startsWith" | "endswith" | "endsWith" => {
                let parts = match &first {
                    Value::Tuple(parts) => parts.to_vec(),
                    first => vec![first.clone()],
                };
                let mut found = false;
                for part in parts {
                    let part = self.text_of(&part)?;
                    let at = given.get(1).and_then(Value::as_int).and_then(|at| usize::try_from(at).ok()).unwrap_or(0);
                    found |= if name.to_lowercase().starts_with("start") {
                        text.get(at..).is_some_and(|text| text.starts_with(part.as_ref()))
                    } else {
                        text.ends_with(part.as_ref())
                    };
                }
                Value::Bool(found)
            }
            "includes" | "contains" => Value::Bool(text.contains(part.as_ref())),
            "find" | "indexOf" => text.find(part.as_ref()).map_or_else(missing, letters_before),
            "index" => match text.find(part.as_ref()) {
                Some(at) => letters_before(at),
                None => return Err(self.exception("ValueError", "substring not found")),
            },
            "rfind" | "lastIndexOf" | "rindex" => text.rfind(part.as_ref()).map_or_else(missing, letters_before),
            "count" if !part.is_empty() => Value::number(text.matches(part.as_ref()).count()),
            "isdigit" | "isdecimal" | "isnumeric" => {
                Value::Bool(!text.is_empty() && text.chars().all(|letter| letter.is_ascii_digit()))
            }
            "isalpha" => Value::Bool(!text.is_empty() && text.chars().all(char::is_alphabetic)),
            "isalnum" => Value::Bool(!text.is_empty() && text.chars().all(char::is_alphanumeric)),
            "isspace" => Value::Bool(!text.is_empty() && text.chars().all(char::is_whitespace)),
            "isupper" => Value::Bool(text.chars().any(char::is_uppercase) && !text.chars().any(char::is_lowercase)),
            "islower" => Value::Bool(text.chars().any(char::is_lowercase) && !text.chars().any(char::is_uppercase)),
            "isidentifier" => Value::Bool(
                text.chars().all(|letter| letter.is_alphanumeric() || letter == '_')
                    && !text.starts_with(|letter: char| letter.is_ascii_digit()),
            ),
            "charCodeAt" | "codePointAt" => {
                let at = first.as_int().and_then(|at| usize::try_from(at).ok()).unwrap_or(0);
                text.chars().nth(at).map_or(Value::Float(f64::NAN), |letter| Value::Int(i128::from(u32::from(letter))))
            }
            "charAt" | "at" => {
                let at = super::member::place(&first, text.chars().count()).or(if first.is_nothing() {
                    Some(0)
                } else {
                    None
                });
                Value::text(at.and_then(|at| text.chars().nth(at)).map(String::from).unwrap_or_default())
            }
            "localeCompare" => {
                let order = text.cmp(part.as_ref());
                Value::Int(if order.is_lt() { -1 } else { i128::from(order.is_gt()) })
            }
            _ => return Ok(None),
        }))
    }

    fn changing_method(&mut self, text: &str, name: &str, given: &Given) -> Run<Option<Value>> {
        let first = given.at(0);
        let part = if matches!(first, Value::Text(_)) { self.text_of(&first)? } else { Rc::from("") };
        let changed = match name {
            "replace" if self.is_python() => {
                let by = self.text_of(&given.at(1))?;
                let count =
                    given.named_or("count", 2).and_then(Value::as_int).and_then(|count| usize::try_from(count).ok());
                match count {
                    Some(count) => text.replacen(part.as_ref(), &by, count),
                    None if text.len().saturating_mul(by.len().max(1)) > 64 << 10 => return Ok(Some(Value::Lost)),
                    None => text.replace(part.as_ref(), &by),
                }
            }
            "removeprefix" => text.strip_prefix(part.as_ref()).unwrap_or(text).to_owned(),
            "removesuffix" => text.strip_suffix(part.as_ref()).unwrap_or(text).to_owned(),
            "swapcase" => text
                .chars()
                .map(
                    |letter| {
                        if letter.is_uppercase() { letter.to_ascii_lowercase() } else { letter.to_ascii_uppercase() }
                    },
                )
                .collect(),
            "capitalize" => {
                let mut letters = text.chars();
                letters
                    .next()
                    .map(|first| first.to_uppercase().collect::<String>() + &letters.as_str().to_lowercase())
                    .unwrap_or_default()
            }
            "title" => titled(text),
            "zfill" | "rjust" | "ljust" | "center" | "padStart" | "padEnd" => {
                return self.padded(text, name, given).map(Some);
            }
            "repeat" => return self.binary(&Value::text(text), "*", &first).map(Some),
            "translate" => return self.translated(text, &first).map(Some),
            "slice" | "substring" | "substr" => {
                let mut parts = [given.get(0).cloned(), given.get(1).cloned(), None];
                if name == "substr"
                    && let [Some(from), Some(count), _] = &mut parts
                    && let (Some(start), Some(length)) = (from.as_int(), count.as_int())
                {
                    *count = Value::Int(if start < 0 && start + length >= 0 { i128::MAX } else { start + length });
                }
                if name == "substring" {
                    parts.iter_mut().flatten().for_each(|part| *part = Value::Int(part.as_int().unwrap_or(0).max(0)));
                    if let [Some(from), Some(to), _] = &mut parts
                        && from.as_int() > to.as_int()
                    {
                        std::mem::swap(from, to);
                    }
                }
                for part in parts.iter_mut().filter(|part| part.as_ref().is_some_and(Value::is_nothing)) {
                    *part = None;
                }
                return self.slice(&Value::text(text), &parts).map(Some);
            }
            _ => return Ok(None),
        };
        self.new_text(changed).map(Some)
    }

    fn padded(&mut self, text: &str, name: &str, given: &Given) -> Run<Value> {
        let width = given.at(0).as_int().unwrap_or(0).clamp(0, LONGEST_PADDING);
        let fill = match given.get(1) {
            Some(Value::Text(fill)) if !fill.is_empty() => fill.to_string(),
            _ if name == "zfill" => "0".to_owned(),
            _ => " ".to_owned(),
        };
        let missing = usize::try_from(width).unwrap_or(0).saturating_sub(text.chars().count());
        let pad = |count: usize| fill.chars().cycle().take(count).collect::<String>();
        let padded = match name {
            "zfill" if text.starts_with(['-', '+']) => {
                let (sign, digits) = text.split_at(1);
                format!("{sign}{}{digits}", pad(missing))
            }
            "zfill" | "rjust" | "padStart" => format!("{}{text}", pad(missing)),
            "center" => format!("{}{text}{}", pad(missing / 2), pad(missing - missing / 2)),
            _ => format!("{text}{}", pad(missing)),
        };
        self.new_text(padded)
    }

    /// `translate`: every letter by a table.
    fn translated(&mut self, text: &str, table: &Value) -> Run<Value> {
        let mut out = String::new();
        for letter in text.chars() {
            self.step()?;
            let key = Value::Int(i128::from(u32::from(letter)));
            let place = self.key_of(&key).unwrap_or_default();
            let found = match table {
                Value::Dict(id) => self.heap.dict(*id).and_then(|dict| dict.get(&place)).cloned(),
                _ => return Ok(Value::Lost),
            };
            match found {
                None => out.push(letter),
                Some(Value::None) => {}
                Some(Value::Int(code)) => out.extend(u32::try_from(code).ok().and_then(super::escapes::letter_of)),
                Some(value) => out.push_str(&self.text_of(&value)?),
            }
        }
        self.new_text(out)
    }

    fn splitting_method(&mut self, text: &str, name: &str, given: &Given) -> Run<Option<Value>> {
        let first = given.named_or("sep", 0).cloned().unwrap_or(Value::Undefined);
        let separator = first.known_text().map(str::to_owned);
        let most = given.named_or("maxsplit", 1).and_then(Value::as_int).and_then(|count| usize::try_from(count).ok());
        Ok(Some(match (name, separator) {
            ("split", Some(separator)) if separator.is_empty() => {
                let letters: Vec<String> = text.chars().map(String::from).collect();
                self.heap.new_texts(letters)
            }
            ("split", Some(separator)) if self.is_python() => {
                let parts: Vec<&str> = match most {
                    Some(most) => text.splitn(most + 1, &separator).collect(),
                    None => text.split(&separator).collect(),
                };
                self.heap.new_texts(parts)
            }
            ("split", Some(separator)) => self.heap.new_texts(text.split(&separator).take(most.unwrap_or(usize::MAX))),
            ("split", None) if self.is_python() => match most {
                Some(most) => {
                    let mut parts = Vec::new();
                    let mut rest = text.trim_start();
                    while parts.len() < most && !rest.is_empty() {
                        let end = rest.find(char::is_whitespace).unwrap_or(rest.len());
                        let (part, after) = rest.split_at(end);
                        parts.push(part);
                        rest = after.trim_start();
                    }
                    parts.extend(Some(rest).filter(|rest| !rest.is_empty()));
                    self.heap.new_texts(parts)
                }
                None => self.heap.new_texts(text.split_whitespace()),
            },
            ("split", None) if first.is_nothing() => self.heap.new_texts([text]),
            ("rsplit", separator) => {
                let mut parts: Vec<&str> = match (&separator, most) {
                    (Some(separator), Some(most)) => text.rsplitn(most + 1, separator.as_str()).collect(),
                    (Some(separator), None) => text.rsplit(separator.as_str()).collect(),
                    (None, Some(most)) => text.trim().rsplitn(most + 1, char::is_whitespace).collect(),
                    (None, None) => text.split_whitespace().rev().collect(),
                };
                parts.reverse();
                self.heap.new_texts(parts)
            }
            ("partition", Some(separator)) => {
                let (before, middle, after) = match text.split_once(&separator) {
                    Some((before, after)) => (before, separator.as_str(), after),
                    None => (text, "", ""),
                };
                Value::Tuple([before, middle, after].map(Value::text).into())
            }
            ("rpartition", Some(separator)) => {
                let (before, middle, after) = match text.rsplit_once(&separator) {
                    Some((before, after)) => (before, separator.as_str(), after),
                    None => ("", "", text),
                };
                Value::Tuple([before, middle, after].map(Value::text).into())
            }
            _ => return Ok(None),
        }))
    }

    pub(super) fn bytes_method(&mut self, bytes: &Rc<[u8]>, name: &str, given: &Given) -> Run<Value> {
        self.spend(bytes.len() / 128)?;
        match name {
            "decode" | "toString" | "text" => {
                let code = self.encoding(given, "utf-8")?;
                let text = match code.as_str() {
                    "hex" | "hex-codec" => hexadecimal(bytes),
                    "base64" | "base64-codec" => super::codecs::base64_text(bytes),
                    "rot13" | "rot-13" => decode::rot13(&String::from_utf8_lossy(bytes)),
                    "utf-16-le" | "utf16le" | "utf-16" | "ucs2" => super::codecs::utf16(bytes),
                    "latin-1" | "latin1" | "iso-8859-1" | "binary" => {
                        bytes.iter().map(|byte| char::from(*byte)).collect()
                    }
                    _ => String::from_utf8_lossy(bytes).into_owned(),
                };
                return self.new_text(crate::marks::without_marks(&text).into_owned());
            }
            "hex" => return Ok(Value::text(hexadecimal(bytes))),
            "tolist" | "toJSON" | "values" => {
                let items = self.items(&Value::Bytes(Rc::clone(bytes)))?;
                return Ok(self.heap.new_list(items));
            }
            "reverse" => return Ok(Value::Bytes(bytes.iter().rev().copied().collect())),
            "slice" | "subarray" => {
                return self
                    .slice(&Value::Bytes(Rc::clone(bytes)), &[given.get(0).cloned(), given.get(1).cloned(), None]);
            }
            "map" | "filter" => {
                let items = self.items(&Value::Bytes(Rc::clone(bytes)))?;
                let list = self.heap.new_list(items);
                let mapped = self.call_method(list, name, given.values.clone())?;
                let bytes = self.bytes_of(&mapped)?;
                return Ok(bytes.map_or(Value::Lost, |bytes| Value::Bytes(bytes.into())));
            }
            _ => {}
        }
        // The others work as those of a text do.
        let Ok(text) = std::str::from_utf8(bytes) else { return Ok(Value::Lost) };
        let mut given = given.clone();
        for value in &mut given.values {
            if let Value::Bytes(bytes) = value {
                *value = Value::text(String::from_utf8_lossy(bytes));
            }
            if matches!(value, Value::List(_) | Value::Tuple(_) | Value::Iterator(_)) {
                let items = self.items(value)?;
                let texts = items.into_iter().map(|item| {
                    if let Value::Bytes(bytes) = item { Value::text(String::from_utf8_lossy(&bytes)) } else { item }
                });
                let texts = texts.collect();
                *value = self.heap.new_list(texts);
            }
        }
        let value = self.text_method(&Rc::from(text), name, &given)?;
        self.as_bytes(value)
    }

    /// Texts in a value as bytes.
    fn as_bytes(&mut self, value: Value) -> Run<Value> {
        Ok(match value {
            Value::Text(text) => Value::Bytes(text.as_bytes().into()),
            Value::List(_) => {
                let items = self.items(&value)?;
                let mut made = Vec::new();
                for item in items {
                    made.push(self.as_bytes(item)?);
                }
                self.heap.new_list(made)
            }
            value => value,
        })
    }
}

fn hexadecimal(bytes: &[u8]) -> String {
    let digit = |digit: u8| char::from_digit(u32::from(digit), 16).unwrap_or('0');
    bytes.iter().flat_map(|byte| [digit(byte >> 4), digit(byte & 15)]).collect()
}

fn titled(text: &str) -> String {
    let mut begins = true;
    text.chars()
        .map(|letter| {
            let shown = if begins { letter.to_ascii_uppercase() } else { letter.to_ascii_lowercase() };
            begins = !letter.is_alphabetic();
            shown
        })
        .collect()
}
