//! Readers of command lines, of settings and of tables: `argparse`, `getopt`, `configparser`, `csv`, `util.parseArgs`.

use std::rc::Rc;

use crate::walk::program::call::Given;
use crate::walk::program::value::{Cell, Dict, Id, ObjectData, Value};
use crate::walk::program::{Run, Trial};

impl Trial<'_, '_> {
    /// Calls that make a reader. None if this is no such call.
    pub(super) fn argument_call(&mut self, name: &str, given: &Given) -> Run<Option<Value>> {
        Ok(Some(match name {
            "argparse.ArgumentParser" | "optparse.OptionParser" | "argparse.Namespace" => {
                let mut fields = Dict::default();
                fields.set("@options", self.heap.new_list(Vec::new()));
                if name.ends_with("Namespace") {
                    fields = Dict::default();
                    for (name, value) in &given.named {
                        fields.set(name, value.clone());
                    }
                }
                let data = ObjectData { class: Value::native(name), fields, inner: None };
                Value::Object(self.heap.add(Cell::Object(Box::new(data))))
            }
            "getopt.getopt" | "getopt.gnu_getopt" => self.getopt(given)?,
            _ => return Ok(None),
        }))
    }

    /// Methods of a reader of command lines. None if this is no such method.
    pub(super) fn reader_method(&mut self, id: Id, name: &str, given: &Given) -> Run<Option<Value>> {
        let own = Value::Object(id);
        let options = self.heap.object(id).and_then(|data| data.fields.named("@options")).cloned();
        let Some(options) = options else { return Ok(None) };
        Ok(Some(match name {
            "add_argument" | "add_option" => {
                let names = self.heap.new_list(given.values.clone());
                let mut option = Dict::default();
                option.set("@names", names);
                for (name, value) in &given.named {
                    option.set(name, value.clone());
                }
                let option = self.heap.new_dict(option);
                self.call_method(options, "append", vec![option.clone()])?;
                option
            }
            "add_argument_group" | "add_mutually_exclusive_group" => own,
            "add_subparsers" => {
                if let Some(dest) = given.named("dest").cloned() {
                    self.set_field(&own, &Value::text("@dest"), dest)?;
                }
                own
            }
            "add_parser" => {
                let mut fields = Dict::default();
                fields.set("@options", self.heap.new_list(Vec::new()));
                let data = ObjectData { class: Value::native("argparse.ArgumentParser"), fields, inner: None };
                let parser = Value::Object(self.heap.add(Cell::Object(Box::new(data))));
                let key = format!("@sub {}", self.text_of(&given.at(0))?);
                self.set_field(&own, &Value::text(key), parser.clone())?;
                parser
            }
            "set_defaults" => {
                for (name, value) in &given.named {
                    self.set_field(&own, &Value::text(format!("@default {name}")), value.clone())?;
                }
                Value::None
            }
            "parse_args" | "parse_known_args" | "parse_intermixed_args" => {
                let words = if let Some(words) = given.named_or("args", 0).filter(|words| !words.is_nothing()).cloned()
                {
                    self.items(&words)?
                } else {
                    let words = self.native_member("sys", "argv")?;
                    self.items(&words)?.into_iter().skip(1).collect()
                };
                let is_pair = name == "parse_known_args" || self.is_option_parser(id);
                let mut fields = Dict::default();
                let mut rest = Vec::new();
                self.read_arguments(id, words, &mut fields, &mut rest)?;
                let data = ObjectData { class: Value::native("argparse.Namespace"), fields, inner: None };
                let found = Value::Object(self.heap.add(Cell::Object(Box::new(data))));
                let rest = self.heap.new_list(rest);
                if is_pair { Value::Tuple([found, rest].into()) } else { found }
            }
            "error" | "exit" => return Err(self.exception("SystemExit", "")),
            "print_help" | "print_usage" | "format_help" => Value::None,
            _ => return Ok(None),
        }))
    }

    fn is_option_parser(&self, id: Id) -> bool {
        self.heap
            .object(id)
            .is_some_and(|data| matches!(&data.class, Value::Native(name) if name.ends_with("OptionParser")))
    }

    /// Gives the options and the other arguments of a command line their places.
    fn read_arguments(&mut self, id: Id, words: Vec<Value>, fields: &mut Dict, rest: &mut Vec<Value>) -> Run<()> {
        let options =
            self.heap.object(id).and_then(|data| data.fields.named("@options")).cloned().unwrap_or(Value::None);
        let mut specs = Vec::new();
        for option in self.items(&options)? {
            specs.push(OptionSpec::of(self, &option)?);
        }
        for spec in &specs {
            fields.set(&spec.dest, spec.default.clone());
        }
        let defaults = self.heap.object(id).map(|data| data.fields.clone()).unwrap_or_default();
        for (key, value) in defaults.entries() {
            if let Some(name) = key.known_text().and_then(|key| key.strip_prefix("@default ")) {
                fields.set(name, value.clone());
            }
        }
        let mut places = specs.iter().filter(|spec| spec.is_place());
        let mut words = words.into_iter().peekable();
        while let Some(word) = words.next() {
            self.step()?;
            let text = self.text_of(&word)?;
            let (flag, attached) =
                text.split_once('=').map_or((text.as_ref(), None), |(flag, value)| (flag, Some(Value::text(value))));
            let is_own = |spec: &&OptionSpec| spec.names.iter().any(|name| name == flag || name == text.as_ref());
            if let Some(spec) = specs.iter().find(is_own) {
                let before = fields.named(&spec.dest).cloned().unwrap_or(Value::None);
                let value = self.option_value(spec, attached, &mut words, &before)?;
                fields.set(&spec.dest, value);
                continue;
            }
            if let Some(parser) = defaults.named(&format!("@sub {text}")).cloned()
                && let Value::Object(parser) = parser
            {
                if let Some(dest) = defaults.named("@dest").cloned() {
                    let dest = self.text_of(&dest)?;
                    fields.set(&dest, word);
                }
                return self.read_arguments(parser, words.collect(), fields, rest);
            }
            match places.next() {
                Some(spec) if spec.takes_many() => {
                    let mut all = vec![word];
                    while let Some(more) =
                        words.next_if(|word| !matches!(word, Value::Text(text) if text.starts_with('-')))
                    {
                        all.push(more);
                    }
                    let list = self.heap.new_list(all);
                    fields.set(&spec.dest, list);
                }
                Some(spec) => {
                    let value = self.converted(spec, word)?;
                    fields.set(&spec.dest, value);
                }
                None => rest.push(word),
            }
        }
        Ok(())
    }

    fn option_value(
        &mut self,
        spec: &OptionSpec,
        attached: Option<Value>,
        words: &mut std::iter::Peekable<std::vec::IntoIter<Value>>,
        before: &Value,
    ) -> Run<Value> {
        Ok(match spec.action.as_str() {
            "store_true" => Value::Bool(true),
            "store_false" => Value::Bool(false),
            "store_const" => spec.constant.clone(),
            "count" => {
                self.binary(&if before.is_nothing() { Value::Int(0) } else { before.clone() }, "+", &Value::Int(1))?
            }
            "append" | "extend" => {
                let value = attached.or_else(|| words.next()).unwrap_or(Value::Unknown);
                let mut items = if before.is_nothing() { Vec::new() } else { self.items(before)? };
                items.push(value);
                self.heap.new_list(items)
            }
            _ if spec.takes_many() => {
                let mut all: Vec<Value> = attached.into_iter().collect();
                while let Some(more) = words.next_if(|word| !matches!(word, Value::Text(text) if text.starts_with('-')))
                {
                    all.push(more);
                }
                self.heap.new_list(all)
            }
            _ => {
                let value = attached.or_else(|| words.next()).unwrap_or(Value::Unknown);
                self.converted(spec, value)?
            }
        })
    }

    fn converted(&mut self, spec: &OptionSpec, value: Value) -> Run<Value> {
        match &spec.kind {
            Some(kind) => self.call(kind.clone(), vec![value]),
            None => Ok(value),
        }
    }

    fn getopt(&mut self, given: &Given) -> Run<Value> {
        let short = self.text_of(&given.at(1))?;
        let long = match given.get(2).cloned() {
            Some(long) => self.words_of(&long)?,
            None => Vec::new(),
        };
        let mut words = self.items(&given.at(0))?.into_iter();
        let (mut found, mut rest) = (Vec::new(), Vec::new());
        while let Some(word) = words.next() {
            let text = self.text_of(&word)?;
            if let Some(name) = text.strip_prefix("--") {
                let (name, value) =
                    name.split_once('=').map_or((name, None), |(name, value)| (name, Some(Value::text(value))));
                let takes = long.iter().any(|own| own.strip_suffix('=') == Some(name));
                let value =
                    value.or_else(|| if takes { words.next() } else { None }).unwrap_or_else(|| Value::text(""));
                found.push(Value::Tuple([Value::text(format!("--{name}")), value].into()));
            } else if let Some(name) = text.strip_prefix('-').filter(|name| !name.is_empty()) {
                let takes = short.contains(&format!("{name}:"));
                let value = if takes { words.next() } else { None }.unwrap_or_else(|| Value::text(""));
                found.push(Value::Tuple([word, value].into()));
            } else {
                rest.push(word);
                rest.extend(words.by_ref());
            }
        }
        let (found, rest) = (self.heap.new_list(found), self.heap.new_list(rest));
        Ok(Value::Tuple([found, rest].into()))
    }

    /// `configparser` and `csv`. None if this is no such call.
    pub(super) fn table_module_call(&mut self, name: &str, given: &Given) -> Run<Option<Value>> {
        Ok(Some(match name {
            "configparser.ConfigParser" | "configparser.RawConfigParser" | "configparser.SafeConfigParser" => {
                let sections = self.heap.new_dict(Dict::default());
                let data = ObjectData {
                    class: Value::native("configparser.ConfigParser"),
                    fields: Dict::default(),
                    inner: Some(sections),
                };
                Value::Object(self.heap.add(Cell::Object(Box::new(data))))
            }
            "csv.reader" | "csv.DictReader" => {
                let between = match given.named("delimiter").cloned() {
                    Some(between) => self.text_of(&between)?.to_string(),
                    None => ",".to_owned(),
                };
                let mut rows = Vec::new();
                for line in self.items(&given.at(0))? {
                    if line.is_unknown() {
                        rows.push(vec![line]);
                        continue;
                    }
                    let line = self.text_of(&line)?;
                    rows.push(row(line.trim_end_matches(['\n', '\r']), &between));
                }
                if name == "csv.reader" {
                    let rows = rows.into_iter().map(|row| self.heap.new_list(row)).collect();
                    return Ok(Some(self.heap.new_iterator(rows)));
                }
                let mut rows = rows.into_iter();
                let names = match given.named_or("fieldnames", 1).cloned() {
                    Some(names) if !names.is_nothing() => self.items(&names)?,
                    _ => rows.next().unwrap_or_default(),
                };
                let mut tables = Vec::new();
                for row in rows {
                    tables.push(self.dict_of_pairs(names.iter().cloned().zip(row).collect()));
                }
                self.heap.new_iterator(tables)
            }
            _ => return Ok(None),
        }))
    }

    /// Methods of a reader of settings. None if this is no such method.
    pub(super) fn settings_method(&mut self, inner: &Value, name: &str, given: &Given) -> Run<Option<Value>> {
        Ok(Some(match name {
            "read_string" | "read_file" | "read" => {
                let source = given.at(0);
                let text = match &source {
                    Value::File(id) => self.file_method(*id, "read", &Given::default())?,
                    source if name == "read" => {
                        let path = self.text_of(source)?;
                        self.file_text(&path).map_or(Value::Unknown, Value::text)
                    }
                    source => source.clone(),
                };
                let text = self.text_of(&text)?;
                self.read_settings(inner, &text)?;
                Value::None
            }
            "get" | "getboolean" | "getint" => {
                let table = self.item(inner, &given.at(0))?;
                let key = self.text_of(&given.at(1))?.to_lowercase();
                let value = self.item(&table, &Value::text(key))?;
                match (name, value.known_text()) {
                    ("getboolean", Some(text)) => {
                        Value::Bool(matches!(text.to_lowercase().as_str(), "1" | "yes" | "true" | "on"))
                    }
                    ("getint", Some(text)) => super::numbers::parsed_number(text, 10).unwrap_or(Value::Lost),
                    _ => value,
                }
            }
            "sections" => {
                let keys = self.keys_of(inner)?;
                self.heap.new_list(keys)
            }
            "items" if !given.values.is_empty() => {
                let table = self.item(inner, &given.at(0))?;
                self.call_method(table, "items", Vec::new())?
            }
            "has_section" | "has_option" => self.contains(inner, &given.at(0)).map_or(Value::Unknown, Value::Bool),
            "options" => {
                let table = self.item(inner, &given.at(0))?;
                self.call_method(table, "keys", Vec::new())?
            }
            _ => return Ok(None),
        }))
    }

    fn read_settings(&mut self, inner: &Value, text: &str) -> Run<()> {
        let mut section: Option<Value> = None;
        let mut last: Option<(Value, String)> = None;
        for line in text.lines() {
            self.step()?;
            let trimmed = line.trim();
            if trimmed.is_empty() || trimmed.starts_with(['#', ';']) {
                continue;
            }
            if let Some(name) = trimmed.strip_prefix('[').and_then(|name| name.strip_suffix(']')) {
                let table = self.heap.new_dict(Dict::default());
                self.set_item(inner, &Value::text(name), table.clone())?;
                section = Some(table);
            } else if line.starts_with([' ', '\t'])
                && let (Some(table), Some((key, value))) = (&section, &mut last)
            {
                value.push('\n');
                value.push_str(trimmed);
                let (key, value) = (key.clone(), Value::text(value.as_str()));
                self.set_item(&table.clone(), &key, value)?;
            } else if let (Some(table), Some((key, value))) = (&section, trimmed.split_once(['=', ':'])) {
                let key = Value::text(key.trim().to_lowercase());
                last = Some((key.clone(), value.trim().to_owned()));
                self.set_item(&table.clone(), &key, Value::text(value.trim()))?;
            }
        }
        Ok(())
    }
}

/// One option or argument that a reader knows.
struct OptionSpec {
    names: Vec<String>,
    dest: Rc<str>,
    action: String,
    default: Value,
    constant: Value,
    kind: Option<Value>,
    count: Option<Value>,
}

impl OptionSpec {
    fn of(trial: &mut Trial<'_, '_>, option: &Value) -> Run<Self> {
        let part = |trial: &mut Trial<'_, '_>, name: &str| match option {
            Value::Dict(id) => trial.heap.dict(*id).and_then(|dict| dict.named(name)).cloned(),
            _ => None,
        };
        let names = part(trial, "@names").unwrap_or(Value::None);
        let names = trial.words_of(&names)?;
        let long =
            names.iter().find(|name| name.starts_with("--")).or_else(|| names.first()).cloned().unwrap_or_default();
        let dest: Rc<str> = match part(trial, "dest") {
            Some(dest) => trial.text_of(&dest)?,
            None => long.trim_start_matches('-').replace('-', "_").into(),
        };
        let action = match part(trial, "action") {
            Some(action @ Value::Text(_)) => trial.text_of(&action)?.to_string(),
            _ => "store".to_owned(),
        };
        let usual = match action.as_str() {
            "store_true" => Value::Bool(false),
            "store_false" => Value::Bool(true),
            _ => Value::None,
        };
        let default = part(trial, "default").unwrap_or(usual);
        let constant = part(trial, "const").unwrap_or(Value::None);
        let kind = part(trial, "type").filter(|kind| !kind.is_nothing() && !matches!(kind, Value::Text(_)));
        let count = part(trial, "nargs");
        Ok(Self { names, dest, action, default, constant, kind, count })
    }

    fn is_place(&self) -> bool {
        self.names.iter().all(|name| !name.starts_with('-'))
    }

    fn takes_many(&self) -> bool {
        self.count.as_ref().is_some_and(|count| {
            matches!(count.known_text(), Some("*" | "+" | "..."))
                || count.as_int().is_some_and(|count| count > 1)
                || matches!(count, Value::Native(_))
        })
    }
}

/// The cells of a line. Quotes keep them together.
fn row(line: &str, between: &str) -> Vec<Value> {
    let mut cells = Vec::new();
    let mut cell = String::new();
    let mut is_quoted = false;
    let mut rest = line;
    while let Some(letter) = rest.chars().next() {
        if letter == '"' {
            is_quoted = !is_quoted;
        } else if !is_quoted && rest.starts_with(between) && !between.is_empty() {
            cells.push(Value::text(std::mem::take(&mut cell)));
            rest = rest.get(between.len()..).unwrap_or("");
            continue;
        } else {
            cell.push(letter);
        }
        rest = rest.get(letter.len_utf8()..).unwrap_or("");
    }
    cells.push(Value::text(cell));
    cells
}
