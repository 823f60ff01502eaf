//! Commands of Tcl that read or change variables.

use crate::marks::{UNKNOWN, has_mark};
use crate::walk::tcl::lists::{elements, list, matches};
use crate::walk::tcl::{Leaving, Outcome, Tcl, TclVariable, element};
use std::collections::BTreeMap;

impl Tcl<'_, '_> {
    /// Commands that read or change variables. None if this is another one.
    pub(super) fn variable_command(&mut self, name: &str, words: &[String]) -> Outcome<Option<String>> {
        let missing = |name: &str| Leaving::Error(format!("can't read \"{name}\": no such variable"));
        Ok(Some(match (name, words) {
            ("set", [variable]) => self.value(variable).ok_or_else(|| missing(variable))?,
            ("set", [variable, value]) => {
                self.set(variable, value.clone());
                value.clone()
            }
            ("unset", words) => {
                for variable in words {
                    self.unset(variable);
                }
                String::new()
            }
            ("incr", [variable, rest @ ..]) => {
                let before = self.value(variable).unwrap_or_else(|| "0".to_owned());
                let by = rest.first().map_or(Ok(1), |by| by.parse::<i64>());
                let value = match (before.trim().parse::<i64>(), by) {
                    (Ok(before), Ok(by)) => before.saturating_add(by).to_string(),
                    _ => UNKNOWN.to_string(),
                };
                self.set(variable, value.clone());
                value
            }
            ("append", [variable, more @ ..]) => {
                let value = format!("{}{}", self.value(variable).unwrap_or_default(), more.concat());
                self.step(value.len() / 256)?;
                self.set(variable, value.clone());
                value
            }
            ("lappend", [variable, more @ ..]) => {
                let before = self.value(variable).unwrap_or_default();
                self.step(before.len() / 256)?;
                let value =
                    format!("{before}{}{}", if before.is_empty() || more.is_empty() { "" } else { " " }, list(more));
                self.set(variable, value.clone());
                value
            }
            ("lassign", [items, names @ ..]) => {
                let items = elements(items);
                for (at, name) in names.iter().enumerate() {
                    self.set(name, items.get(at).cloned().unwrap_or_default());
                }
                list(items.get(names.len()..).unwrap_or(&[]))
            }
            ("lset", [variable, at, value]) => {
                let mut items = elements(&self.value(variable).unwrap_or_default());
                let place = super::lists::place(at, items.len()).and_then(|at| usize::try_from(at).ok());
                if let Some(item) = place.and_then(|at| items.get_mut(at)) {
                    item.clone_from(value);
                }
                let value = list(&items);
                self.set(variable, value.clone());
                value
            }
            ("global", names) => {
                for name in names {
                    self.link(name, 0, name.strip_prefix("::").unwrap_or(name));
                }
                String::new()
            }
            ("variable", words) => {
                for pair in words.chunks(2) {
                    let Some(name) = pair.first() else { break };
                    let full =
                        if self.namespace.is_empty() { name.clone() } else { format!("{}::{name}", self.namespace) };
                    if self.level() > 0 {
                        self.link(name, 0, &full);
                    }
                    if let Some(value) = pair.get(1) {
                        self.set(&format!("::{full}"), value.clone());
                    }
                }
                String::new()
            }
            ("upvar", words) => {
                let (level, pairs) = match words.split_first() {
                    Some((level, rest)) if words.len() % 2 == 1 => (self.frame_at(level), rest),
                    _ => (self.level().saturating_sub(1), words),
                };
                for pair in pairs.chunks(2) {
                    if let [other, own] = pair {
                        let (frame, other) = self.place(level, other);
                        self.link(own, frame, &other);
                    }
                }
                String::new()
            }
            ("array", [action, name, rest @ ..]) => self.array_command(action, name, rest),
            ("dict", [action, rest @ ..]) => return self.dictionary(action, rest).map(Some),
            ("info", [action, rest @ ..]) => self.info(action, rest),
            ("__ensemble", [namespace, subcommand, rest @ ..]) => {
                return self.call(&format!("{namespace}::{subcommand}"), rest).map(Some);
            }
            _ => return Ok(None),
        }))
    }

    pub(super) fn link(&mut self, own: &str, frame: usize, name: &str) {
        let level = self.level();
        if (level, own) != (frame, name)
            && let Some(variables) = self.frames.get_mut(level)
        {
            variables
                .insert(own.rsplit("::").next().unwrap_or(own).to_owned(), TclVariable::Link(frame, name.to_owned()));
        }
    }

    pub(super) fn unset(&mut self, name: &str) {
        let (array, index) = element(name);
        let (frame, array) = self.place(self.level(), array);
        if array == "env" {
            if let Some(index) = index {
                self.environment.insert(index.to_owned(), None);
            }
            return;
        }
        let Some(variables) = self.frames.get_mut(frame) else { return };
        match (index, variables.get_mut(&array)) {
            (Some(index), Some(TclVariable::Array(items))) => drop(items.remove(index)),
            _ => drop(variables.remove(&array)),
        }
    }

    pub(super) fn array_command(&mut self, action: &str, name: &str, rest: &[String]) -> String {
        let pattern = rest.first().map_or("*", String::as_str);
        match action {
            "set" => {
                for pair in elements(pattern).chunks(2) {
                    if let [key, value] = pair {
                        self.set(&format!("{name}({key})"), value.clone());
                    }
                }
                String::new()
            }
            "get" | "names" => {
                let items: BTreeMap<String, String> = self.array(name).cloned().unwrap_or_default();
                let found = items.into_iter().filter(|(key, _)| matches(pattern, key));
                list(
                    &found
                        .flat_map(|(key, value)| if action == "get" { vec![key, value] } else { vec![key] })
                        .collect::<Vec<_>>(),
                )
            }
            "exists" => u8::from(self.array(name).is_some()).to_string(),
            "size" => self.array(name).map_or(0, BTreeMap::len).to_string(),
            "unset" => {
                self.unset(name);
                String::new()
            }
            _ => UNKNOWN.to_string(),
        }
    }

    pub(super) fn info(&mut self, action: &str, rest: &[String]) -> String {
        match (action, rest) {
            ("exists", [name]) => match self.value(name) {
                Some(value) if element(name).0 == "env" && value.chars().eq([UNKNOWN]) => value,
                Some(_) => "1".to_owned(),
                None => u8::from(self.array(name).is_some()).to_string(),
            },
            ("procs" | "commands", [name]) => {
                if self.procedure(name.strip_prefix("::").unwrap_or(name)).is_some() {
                    name.clone()
                } else {
                    String::new()
                }
            }
            ("body", [name]) => self.procedure(name).map(|procedure| procedure.body).unwrap_or_default(),
            ("level", []) => self.level().to_string(),
            ("script" | "nameofexecutable", _) => "tclsh".to_owned(),
            _ => UNKNOWN.to_string(),
        }
    }

    pub(super) fn dictionary(&mut self, action: &str, words: &[String]) -> Outcome<String> {
        Ok(match (action, words) {
            ("create", pairs) => list(pairs),
            ("get" | "getdef" | "getwithdefault", [table, keys @ ..]) => {
                let (keys, default) = if action == "get" {
                    (keys, None)
                } else {
                    (keys.get(..keys.len().saturating_sub(1)).unwrap_or(&[]), keys.last())
                };
                let mut value = table.clone();
                for key in keys {
                    match entry(&value, key) {
                        Some(inner) => value = inner,
                        None if has_mark(&value) || has_mark(key) => return Ok(UNKNOWN.to_string()),
                        None => return default.cloned().ok_or_else(|| Leaving::Error("key not known".to_owned())),
                    }
                }
                value
            }
            ("exists", [table, keys @ ..]) => {
                let mut value = Some(table.clone());
                for key in keys {
                    value = value.and_then(|value| entry(&value, key));
                }
                u8::from(value.is_some()).to_string()
            }
            ("keys" | "values", [table, rest @ ..]) => {
                let skip = usize::from(action == "values");
                let pattern = rest.first().map_or("*", String::as_str);
                let found: Vec<String> =
                    elements(table).into_iter().skip(skip).step_by(2).filter(|item| matches(pattern, item)).collect();
                list(&found)
            }
            ("size", [table]) => (elements(table).len() / 2).to_string(),
            ("merge", tables) => {
                let mut merged = String::new();
                for table in tables {
                    for pair in elements(table).chunks(2) {
                        if let [key, value] = pair {
                            merged = with_entry(&merged, std::slice::from_ref(key), Some(value));
                        }
                    }
                }
                merged
            }
            ("set", [variable, keys @ .., value]) => {
                let table = with_entry(&self.value(variable).unwrap_or_default(), keys, Some(value));
                self.set(variable, table.clone());
                table
            }
            ("unset", [variable, keys @ ..]) => {
                let table = with_entry(&self.value(variable).unwrap_or_default(), keys, None);
                self.set(variable, table.clone());
                table
            }
            ("lappend" | "append" | "incr", [variable, key, more @ ..]) => {
                let table = self.value(variable).unwrap_or_default();
                let before = entry(&table, key).unwrap_or_default();
                let value = match action {
                    "append" => format!("{before}{}", more.concat()),
                    "lappend" => format!("{before} {}", list(more)).trim_start().to_owned(),
                    _ => {
                        let by = more.first().map_or(1, |by| by.parse().unwrap_or(1));
                        (before.parse::<i64>().unwrap_or(0).saturating_add(by)).to_string()
                    }
                };
                let table = with_entry(&table, std::slice::from_ref(key), Some(&value));
                self.set(variable, table.clone());
                table
            }
            ("for" | "map", [names, table, body]) => {
                return self.each(action == "map", &[names.clone(), table.clone()], body);
            }
            ("with", [variable, .., body]) => {
                let table = self.value(variable).unwrap_or_default();
                for pair in elements(&table).chunks(2) {
                    if let [key, value] = pair {
                        self.set(key, value.clone());
                    }
                }
                return self.script(body);
            }
            _ => UNKNOWN.to_string(),
        })
    }
}

/// The value of a key in a dictionary.
fn entry(table: &str, key: &str) -> Option<String> {
    elements(table).chunks(2).rev().find_map(|pair| match pair {
        [own, value] if own == key => Some(value.clone()),
        _ => None,
    })
}

/// A dictionary with another value at a path of keys, or without it.
fn with_entry(table: &str, keys: &[String], value: Option<&String>) -> String {
    let Some((key, rest)) = keys.split_first() else { return value.cloned().unwrap_or_default() };
    let mut items = elements(table);
    let at = items.iter().step_by(2).position(|own| own == key).map(|at| at * 2);
    let inner = if rest.is_empty() {
        value.cloned()
    } else {
        let before = at.and_then(|at| items.get(at + 1)).cloned().unwrap_or_default();
        Some(with_entry(&before, rest, value))
    };
    match (at, inner) {
        (Some(at), Some(inner)) => items.get_mut(at + 1).into_iter().for_each(|item| item.clone_from(&inner)),
        (Some(at), None) => drop(items.drain(at..(at + 2).min(items.len()))),
        (None, Some(inner)) => items.extend([key.clone(), inner]),
        (None, None) => {}
    }
    list(&items)
}
