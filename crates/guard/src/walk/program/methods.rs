//! Members and methods of texts, lists, tables, files and processes.

use crate::marks::{STAR, TREE, UNKNOWN, alive, is_mark};
use crate::walk::code_scan::DELETES_IF_RECURSIVE;
use crate::walk::program::ast::{Expr, Statement};
use crate::walk::program::calls::Given;
use crate::walk::program::evaluate::Program;
use crate::walk::program::narrowing::narrowing;
use crate::walk::program::natives::{below, joined_path, name_of, parent, with_home};
use crate::walk::program::value::Value;

/// The most items that a function is called with.
const MOST_ITEMS: usize = 64;

impl Program<'_, '_> {
    /// A member of a value, without calling it.
    pub(super) fn member(&mut self, object: Value, name: &str) -> Value {
        match object {
            Value::Several(values) => {
                let values: Vec<Value> = values.into_iter().map(|value| self.member(value, name)).collect();
                Value::one_of(values)
            }
            Value::Native(object) => self.native_member(&object, name),
            Value::Object(fields) => {
                let field = fields.borrow().get(name).cloned();
                match field {
                    Some(Value::Function(_)) | None => Value::Method(Box::new(Value::Object(fields)), name.to_owned()),
                    Some(value) => value,
                }
            }
            Value::Class(members) => match members.iter().find(|(own, _)| own == name) {
                Some((_, value)) => value.clone(),
                None => Value::Unknown,
            },
            Value::Table(entries) => match entries.iter().find(|(key, _)| key == name) {
                Some((_, value)) => value.clone(),
                None => Value::Method(Box::new(Value::Table(entries)), name.to_owned()),
            },
            Value::Process(words, output) => match name {
                "stdout" | "output" => Value::text(output),
                "stderr" => Value::text(""),
                "returncode" | "status" | "pid" => Value::Unknown,
                "stdin" => Value::Process(words, output),
                _ => Value::Method(Box::new(Value::Process(words, output)), name.to_owned()),
            },
            Value::Text(text) => match name {
                "parent" => parent(&text),
                "name" => Value::text(name_of(&text)),
                "path" => Value::text(text),
                "stem" | "suffix" | "length" | "parts" | "parents" => Value::Unknown,
                _ => Value::Method(Box::new(Value::Text(text)), name.to_owned()),
            },
            Value::List(items) if name == "length" && items.iter().all(Value::is_plain) => {
                i64::try_from(items.len()).map_or(Value::Unknown, Value::Number)
            }
            Value::Unknown | Value::Nothing => Value::Unknown,
            object => Value::Method(Box::new(object), name.to_owned()),
        }
    }

    /// An item of a value.
    pub(super) fn item(&mut self, object: Value, key: &Value) -> Value {
        match (object, key) {
            (Value::Several(values), key) => {
                let values: Vec<Value> = values.into_iter().map(|value| self.item(value, key)).collect();
                Value::one_of(values)
            }
            (Value::List(items), Value::Number(at)) => {
                let length = i64::try_from(items.len()).unwrap_or(0);
                let at = if *at < 0 { at.saturating_add(length) } else { *at };
                usize::try_from(at).ok().and_then(|at| items.get(at)).cloned().unwrap_or(Value::Unknown)
            }
            (Value::List(items), _) => Value::one_of(items),
            (Value::Table(entries), key) if key.is_plain() => {
                let key = key.to_text();
                entries.into_iter().find(|(own, _)| *own == key).map_or(Value::Unknown, |(_, value)| value)
            }
            (Value::Table(entries), _) => Value::one_of(entries.into_iter().map(|(_, value)| value)),
            (Value::Native(object), key) if matches!(object.as_str(), "os.environ" | "process.env") => {
                self.environment(&key.to_text(), None)
            }
            (object @ (Value::Native(_) | Value::Object(_)), Value::Text(name)) => self.member(object, name),
            _ => Value::Unknown,
        }
    }

    /// Calls a method of a value.
    pub(super) fn call_method(&mut self, object: Value, name: &str, given: &Given) -> Value {
        match object {
            Value::Text(text) => self.text_method(text, name, given),
            Value::List(items) => self.list_method(items, name, given),
            Value::Table(entries) => self.table_method(entries, name, given),
            Value::File(path) => self.file_method(&path, name, given),
            Value::Process(words, output) => match name {
                "communicate" | "write" | "end" => {
                    let input = given.values.first().or(given.option("input")).map(Value::to_text);
                    if let Some(input) = input {
                        return self.run_words("run", &words, None, Some(input));
                    }
                    Value::list(vec![Value::text(output.clone()), Value::text("")])
                }
                "read" | "readlines" | "toString" | "text" => {
                    self.text_method(output, if name == "readlines" { "splitlines" } else { "strip" }, given)
                }
                _ => {
                    self.call_with_callbacks(given);
                    Value::Process(words, output)
                }
            },
            Value::Function(function) => match name {
                "call" => {
                    let values = given.values.get(1..).unwrap_or(&[]).to_vec();
                    self.call_function(&function, None, &Given { values, named: Vec::new() })
                }
                "apply" => {
                    let values = given.values.get(1).cloned().unwrap_or(Value::Nothing).items();
                    self.call_function(&function, None, &Given { values, named: Vec::new() })
                }
                "bind" => Value::Function(function),
                _ => self.call_with_callbacks(given),
            },
            Value::Several(values) => {
                let values: Vec<Value> = values.into_iter().map(|value| self.call_method(value, name, given)).collect();
                Value::one_of(values)
            }
            object => {
                // Promises: `.then(names => …)`
                let passed = Given { values: vec![object], named: Vec::new() };
                for callback in given.values.iter().filter(|value| matches!(value, Value::Function(_))) {
                    self.call_each(callback.clone(), &passed);
                }
                Value::Unknown
            }
        }
    }

    fn text_method(&mut self, text: String, name: &str, given: &Given) -> Value {
        let first = given.first();
        match name {
            "strip" | "trim" | "lstrip" | "rstrip" | "trimEnd" | "trimStart" => {
                let letters = if let Value::Text(letters) = &first { letters.clone() } else { " \t\r\n".to_owned() };
                Value::text(text.trim_matches(|letter| letters.contains(letter)))
            }
            "toString" | "encode" | "decode" | "resolve" | "absolute" | "as_posix" | "normalize" | "expandtabs"
            | "readable" | "padStart" | "padEnd" | "__str__" | "casefold" | "removeprefix" => Value::text(text),
            "expanduser" => Value::text(with_home(&text)),
            "split" | "splitlines" | "rsplit" => split(&text, name, &first),
            "join" => Value::text(first.words().join(&text)),
            "format" => {
                let mut text = text;
                let words: Vec<String> = given.values.iter().map(Value::to_text).collect();
                crate::walk::values::fill(Some(&mut text), &words);
                for (name, value) in &given.named {
                    text = text.replace(&format!("{{{name}}}"), &value.to_text());
                }
                Value::text(text)
            }
            "replace" | "replaceAll" => match given.values.get(1) {
                Some(Value::Text(by)) if matches!(&first, Value::Text(from) if !from.is_empty()) => {
                    let from = first.to_text();
                    if text.matches(&from).count() * by.len() > 4096 {
                        Value::Unknown
                    } else {
                        Value::text(text.replace(&from, by))
                    }
                }
                Some(Value::Text(_)) => Value::text(text),
                _ => Value::Unknown,
            },
            "lower" | "toLowerCase" => Value::text(text.to_lowercase()),
            "upper" | "toUpperCase" => Value::text(text.to_uppercase()),
            "startswith" | "startsWith" | "endswith" | "endsWith" | "includes" => {
                let Value::Text(part) = first else { return Value::Unknown };
                if text.contains(is_mark) || part.contains(is_mark) {
                    return Value::Unknown;
                }
                Value::Flag(match name.to_lowercase().as_str() {
                    "startswith" => text.starts_with(&part),
                    "endswith" => text.ends_with(&part),
                    _ => text.contains(&part),
                })
            }
            "concat" => Value::text(format!("{text}{}", given.values.iter().map(Value::to_text).collect::<String>())),
            "slice" | "substring" => {
                super::operators::slice(Value::Text(text), given.values.first(), given.values.get(1), false)
            }
            "joinpath" | "joinPath" => {
                Value::text(given.values.iter().fold(text, |path, part| joined_path(&path, &part.to_text())))
            }
            "with_name" => match parent(&text) {
                Value::Text(directory) => Value::text(joined_path(&directory, &first.to_text())),
                _ => Value::Unknown,
            },
            "iterdir" => Value::list(vec![Value::text(below(&text, STAR))]),
            "glob" => Value::list(vec![Value::text(below(
                &text,
                alive(&first.to_text()).replace(&format!("{STAR}{STAR}"), &TREE.to_string()),
            ))]),
            "rglob" => Value::list(vec![Value::text(below(&text, format!("{TREE}/{}", alive(&first.to_text()))))]),
            "read_text" | "read_bytes" | "read" => self.file_text(&text).map_or(Value::Unknown, Value::text),
            "write_text" | "write_bytes" => {
                self.walk.write_file(&text, &first.to_text(), false);
                Value::Nothing
            }
            "open" => {
                if first.to_text().contains('w') {
                    self.walk.write_file(&text, "", false);
                }
                Value::File(text)
            }
            "execute" => self.run_words("run", &[text], None, None),
            "rmtree" | "removedirs" | "rmtree_p" => {
                self.delete("rmtree", &Value::Text(text), given);
                Value::Nothing
            }
            _ if DELETES_IF_RECURSIVE.contains(&name) => {
                self.delete(name, &Value::Text(text), given);
                Value::Nothing
            }
            _ => {
                self.call_with_callbacks(given);
                Value::Unknown
            }
        }
    }

    fn list_method(&mut self, items: Vec<Value>, name: &str, given: &Given) -> Value {
        let first = given.first();
        match name {
            "join" => {
                let between = if first == Value::Nothing { ",".to_owned() } else { first.to_text() };
                Value::text(Value::List(items).words().join(&between))
            }
            "concat" => Value::list(
                items
                    .into_iter()
                    .chain(given.values.iter().flat_map(|value| match value {
                        Value::List(more) => more.clone(),
                        value => vec![value.clone()],
                    }))
                    .collect(),
            ),
            "slice" => super::operators::slice(Value::List(items), given.values.first(), given.values.get(1), false),
            "reverse" | "toReversed" => Value::list(items.into_iter().rev().collect()),
            "map" | "flatMap" | "forEach" | "each" | "some" | "every" => {
                let mut results = Vec::new();
                for item in items.into_iter().take(MOST_ITEMS) {
                    let given = Given { values: vec![item], named: Vec::new() };
                    results.push(self.call_each(first.clone(), &given));
                }
                if name == "flatMap" {
                    results = results.into_iter().flat_map(Value::items).collect();
                }
                Value::list(results)
            }
            "filter" => {
                let chooses = match &first {
                    Value::Function(function) => {
                        returned(&function.body).is_none_or(|condition| narrowing(condition).0)
                    }
                    _ => false,
                };
                let mut kept = Vec::new();
                for item in items.into_iter().take(MOST_ITEMS) {
                    let holds = self.call_each(first.clone(), &Given { values: vec![item.clone()], named: Vec::new() });
                    if holds.truth() != Some(false) {
                        kept.push(if chooses { item.chosen() } else { item });
                    }
                }
                Value::list(kept)
            }
            "find" | "at" | "next" => Value::one_of(items),
            "copy" | "flat" | "values" | "toSorted" | "split" | "keys" => Value::list(items),
            "entries" => {
                let pairs = items.into_iter().zip(0..);
                Value::list(pairs.map(|(item, at)| Value::list(vec![Value::Number(at), item])).collect())
            }
            "includes" if items.iter().all(Value::is_plain) && first.is_plain() => Value::Flag(items.contains(&first)),
            _ => {
                self.call_with_callbacks(given);
                Value::Unknown
            }
        }
    }

    fn table_method(&mut self, entries: Vec<(String, Value)>, name: &str, given: &Given) -> Value {
        match name {
            "items" | "entries" => {
                let pair = |(key, value): (String, Value)| Value::list(vec![Value::text(key), value]);
                Value::list(entries.into_iter().map(pair).collect())
            }
            "values" => Value::list(entries.into_iter().map(|(_, value)| value).collect()),
            "keys" => Value::list(entries.into_iter().map(|(key, _)| Value::text(key)).collect()),
            "get" => match self.item(Value::Table(entries), &given.first()) {
                Value::Unknown => given.values.get(1).cloned().unwrap_or(Value::Unknown),
                value => value,
            },
            "copy" => Value::Table(entries),
            _ => self.call_with_callbacks(given),
        }
    }

    fn file_method(&mut self, path: &str, name: &str, given: &Given) -> Value {
        match name {
            "read" | "readline" => self.file_text(path).map_or(Value::Unknown, Value::text),
            "readlines" => {
                let text = self.file_text(path);
                text.map_or(Value::Unknown, |text| Value::texts(text.split_inclusive('\n')))
            }
            "write" | "writelines" => {
                let text = if let Value::List(items) = given.first() {
                    items.iter().map(Value::to_text).collect()
                } else {
                    given.first().to_text()
                };
                self.walk.write_file(path, &text, true);
                Value::Nothing
            }
            _ => self.call_with_callbacks(given),
        }
    }
}

/// The parts of a text.
fn split(text: &str, name: &str, separator: &Value) -> Value {
    if text.contains(UNKNOWN)
        && text.chars().all(|letter| letter == UNKNOWN || is_mark(letter) || letter.is_whitespace())
    {
        return Value::list(vec![Value::Unknown]);
    }
    match (name, separator) {
        ("splitlines", _) => Value::texts(text.lines()),
        (_, Value::Text(separator)) if separator.is_empty() => {
            Value::list(text.chars().map(|letter| Value::text(letter.to_string())).collect())
        }
        (_, Value::Text(separator)) => Value::texts(text.split(separator.as_str())),
        _ => Value::texts(text.split_whitespace()),
    }
}

/// The value that a function of one statement gives back.
fn returned(body: &[Statement]) -> Option<&Expr> {
    match body {
        [Statement::Return(Some(value))] => Some(value),
        _ => None,
    }
}
