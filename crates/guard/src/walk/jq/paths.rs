//! Places in values: `path`, `del`, `to_entries` and their like.

use crate::walk::jq::json::Json;
use crate::walk::jq::parser::Filter;
use crate::walk::jq::run::{Emit, Halt, Jq, Names, Outcome};
use std::rc::Rc;

impl Jq<'_> {
    pub(super) fn path_function(
        &self,
        name: &str,
        arguments: &[Rc<Filter>],
        input: &Json,
        names: &Names,
        emit: Emit<'_>,
    ) -> Outcome {
        match (name, arguments) {
            ("to_entries", []) => emit(entries_of(input)),
            ("from_entries", []) => emit(from_entries(input)),
            ("path", [filter]) => {
                self.paths(filter, &(Vec::new(), input.clone()), names, &mut |path, _| emit(Json::List(path)))
            }
            ("paths" | "leaf_paths", _) => {
                let everything = Filter::Everything;
                self.paths(&everything, &(Vec::new(), input.clone()), names, &mut |path, value| {
                    let is_leaf = !matches!(value, Json::List(_) | Json::Table(_));
                    let fits = match arguments.first() {
                        Some(condition) => {
                            self.all(condition, &value, names)?.iter().any(|value| value.truth() != Some(false))
                        }
                        None => name == "paths" || is_leaf,
                    };
                    if path.is_empty() || !fits { Ok(()) } else { emit(Json::List(path)) }
                })
            }
            ("getpath", [path]) => self.run(path, input, names, &mut |path| emit(path_value(input, &path.items()))),
            ("setpath", [path, value]) => self.run(path, input, names, &mut |path| {
                self.run(value, input, names, &mut |value| {
                    emit(Self::bounded(with_path(input.clone(), &path.items(), value)))
                })
            }),
            ("del", [filter]) => {
                let updated = self.updated(filter, input, names, &mut |_| Ok(None))?;
                emit(updated)
            }
            ("delpaths", [paths]) => self.run(paths, input, names, &mut |paths| {
                let mut value = input.clone();
                for path in paths.items().iter().rev() {
                    value = without_path(value, &path.items());
                }
                emit(value)
            }),
            ("pick", [filter]) => {
                let mut picked = Json::Null;
                self.paths(filter, &(Vec::new(), input.clone()), names, &mut |path, value| {
                    picked = with_path(std::mem::replace(&mut picked, Json::Null), &path, value);
                    Ok(())
                })?;
                emit(picked)
            }
            _ => Err(Halt::Stop),
        }
    }

    /// The places that a filter means.
    pub(super) fn paths(
        &self,
        filter: &Filter,
        place: &Place,
        names: &Names,
        emit: &mut dyn FnMut(Vec<Json>, Json) -> Outcome,
    ) -> Outcome {
        self.step(0)?;
        let (path, value) = place;
        let below = |key: Json| path.iter().cloned().chain([key]).collect::<Vec<_>>();
        match filter {
            Filter::Identity => emit(path.clone(), value.clone()),
            Filter::Everything => self.all_places(path, value, 0, emit),
            Filter::Member(term, key) => self.paths(term, place, names, &mut |path, inner| {
                self.run(key, value, names, &mut |key| {
                    let found = self.item(&inner, &key)?;
                    emit(path.iter().cloned().chain([key]).collect(), found)
                })
            }),
            Filter::Items(term) => self.paths(term, place, names, &mut |path, inner| {
                for (key, item) in keyed_items(&inner) {
                    emit(path.iter().cloned().chain([key]).collect(), item)?;
                }
                Ok(())
            }),
            Filter::Pipe(first, rest) => {
                self.paths(first, place, names, &mut |path, value| self.paths(rest, &(path, value), names, &mut *emit))
            }
            Filter::Both(first, second) => {
                self.paths(first, place, names, &mut *emit)?;
                self.paths(second, place, names, emit)
            }
            Filter::Try(body, _) => match self.paths(body, place, names, emit) {
                Err(Halt::Error(_)) => Ok(()),
                result => result,
            },
            Filter::If(branches, otherwise) => {
                for (condition, then) in branches {
                    let truth = self.all(condition, value, names)?.first().and_then(Json::truth);
                    if truth != Some(false) {
                        return self.paths(then, place, names, emit);
                    }
                }
                match otherwise {
                    Some(otherwise) => self.paths(otherwise, place, names, emit),
                    None => emit(path.clone(), value.clone()),
                }
            }
            Filter::Call(name, arguments) => match (name.as_str(), arguments.as_slice()) {
                ("empty", []) => Ok(()),
                ("recurse", []) => self.all_places(path, value, 0, emit),
                ("select", [condition]) => {
                    let holds = self.all(condition, value, names)?.iter().any(|value| value.truth() != Some(false));
                    if holds { emit(path.clone(), value.clone()) } else { Ok(()) }
                }
                ("first", []) => emit(below(Json::Number(0.0)), self.item(value, &Json::Number(0.0))?),
                ("last", []) => emit(below(Json::Number(-1.0)), self.item(value, &Json::Number(-1.0))?),
                ("first", [source]) => {
                    let mut found = None;
                    self.paths(source, place, names, &mut |path, value| {
                        found.get_or_insert((path, value));
                        Ok(())
                    })?;
                    found.map_or(Ok(()), |(path, value)| emit(path, value))
                }
                ("map", [inner]) => {
                    for (key, item) in keyed_items(value) {
                        self.paths(inner, &(below(key), item), names, &mut *emit)?;
                    }
                    Ok(())
                }
                ("getpath", [inner]) => {
                    let more = self.all(inner, value, names)?.pop().unwrap_or(Json::Null).items();
                    let found = path_value(value, &more);
                    emit(path.iter().cloned().chain(more).collect(), found)
                }
                (name, arguments) => match Self::function_body(name, arguments, names) {
                    Some((body, inner)) => self.paths(&body, place, &inner, emit),
                    None => Err(Halt::Stop),
                },
            },
            _ => Err(Halt::Stop),
        }
    }

    pub(super) fn all_places(
        &self,
        path: &[Json],
        value: &Json,
        depth: usize,
        emit: &mut dyn FnMut(Vec<Json>, Json) -> Outcome,
    ) -> Outcome {
        self.step(0)?;
        if depth > 32 {
            return Err(Halt::Stop);
        }
        emit(path.to_vec(), value.clone())?;
        for (key, item) in keyed_items(value) {
            let below: Vec<Json> = path.iter().cloned().chain([key]).collect();
            self.all_places(&below, &item, depth + 1, &mut *emit)?;
        }
        Ok(())
    }
}

/// A path and the value there.
type Place = (Vec<Json>, Json);

/// The items of a list or a table, each with its key.
fn keyed_items(value: &Json) -> Vec<(Json, Json)> {
    match value {
        Json::List(items) => items.iter().enumerate().map(|(at, item)| (Json::count(at), item.clone())).collect(),
        Json::Table(entries) => entries.iter().map(|(key, item)| (Json::text(key.clone()), item.clone())).collect(),
        _ => Vec::new(),
    }
}

pub(super) fn entries_of(input: &Json) -> Json {
    if matches!(input, Json::Unknown) {
        return Json::Unknown;
    }
    let entry = |(key, value): (Json, Json)| Json::Table(vec![("key".to_owned(), key), ("value".to_owned(), value)]);
    Json::List(keyed_items(input).into_iter().map(entry).collect())
}

pub(super) fn from_entries(input: &Json) -> Json {
    let Json::List(items) = input else { return Json::Unknown };
    let mut table = Json::Table(Vec::new());
    for item in items {
        let find =
            |names: &[&str]| names.iter().map(|name| item.member(name)).find(|value| !matches!(value, Json::Null));
        let key = find(&["key", "k", "name", "Name", "Key", "K"]).unwrap_or(Json::Null).to_text();
        table = table.with_member(&key, find(&["value", "v", "Value", "V"]).unwrap_or(Json::Null));
    }
    table
}

/// The value at a path.
pub(super) fn path_value(value: &Json, path: &[Json]) -> Json {
    let Some((key, rest)) = path.split_first() else { return value.clone() };
    let inner = match (value, key) {
        (Json::Unknown, _) | (_, Json::Unknown) => return Json::Unknown,
        (Json::List(items), Json::Number(at)) => {
            place(items.len(), *at).and_then(|at| items.get(at)).cloned().unwrap_or(Json::Null)
        }
        (value, key) => value.member(&key.to_text()),
    };
    path_value(&inner, rest)
}

fn place(length: usize, at: f64) -> Option<usize> {
    let at = if at < 0.0 { at + f64::from(u32::try_from(length).unwrap_or(0)) } else { at };
    (0.0..2048.0).contains(&at).then(|| format!("{:.0}", at.floor()).parse().ok())?
}

/// A value with another one at a path.
pub(super) fn with_path(value: Json, path: &[Json], new: Json) -> Json {
    let Some((key, rest)) = path.split_first() else { return new };
    match (value, key) {
        (Json::List(mut items), Json::Number(at)) => {
            let Some(at) = place(items.len(), *at) else { return Json::Unknown };
            while items.len() <= at {
                items.push(Json::Null);
            }
            if let Some(item) = items.get_mut(at) {
                *item = with_path(std::mem::replace(item, Json::Null), rest, new);
            }
            Json::List(items)
        }
        (Json::Null, Json::Number(_)) => with_path(Json::List(Vec::new()), path, new),
        (value, Json::Text(key)) => {
            let inner = with_path(value.member(key), rest, new);
            value.with_member(key, inner)
        }
        _ => Json::Unknown,
    }
}

/// A value without the one at a path.
pub(super) fn without_path(value: Json, path: &[Json]) -> Json {
    let Some((key, rest)) = path.split_first() else { return Json::Null };
    if !rest.is_empty() {
        let inner = without_path(path_value(&value, std::slice::from_ref(key)), rest);
        return with_path(value, std::slice::from_ref(key), inner);
    }
    match (value, key) {
        (Json::List(mut items), Json::Number(at)) => {
            if let Some(at) = place(items.len(), *at).filter(|at| *at < items.len()) {
                items.remove(at);
            }
            Json::List(items)
        }
        (Json::Table(mut entries), Json::Text(key)) => {
            entries.retain(|(own, _)| own != key);
            Json::Table(entries)
        }
        (value, _) => value,
    }
}
