//! The functions that jq has.

use crate::walk::jq::paths::{entries_of, from_entries};
use std::rc::Rc;

use crate::marks::has_mark;
use crate::walk::jq::json::{Json, parsed};
use crate::walk::jq::parser::Filter;
use crate::walk::jq::run::{ENVIRONMENT, Emit, Halt, Jq, Names, Outcome};

/// The most values of a range, a repetition or a recursion.
const MOST: usize = 1024;

impl Jq<'_> {
    /// Runs a function that the filter does not define.
    pub(super) fn builtin(
        &self,
        name: &str,
        arguments: &[Rc<Filter>],
        input: &Json,
        names: &Names,
        emit: Emit<'_>,
    ) -> Outcome {
        match (name, arguments) {
            ("empty", []) => Ok(()),
            ("error", []) => Err(Halt::Error(input.clone())),
            ("error", [message]) => self.run(message, input, names, &mut |value| Err(Halt::Error(value))),
            ("not", []) => emit(input.truth().map_or(Json::Unknown, |truth| Json::Flag(!truth))),
            ("select", [condition]) => self.run(condition, input, names, &mut |holds| {
                if holds.truth() == Some(false) { Ok(()) } else { emit(input.clone()) }
            }),
            ("recurse", []) => self.everything(input, emit),
            ("recurse" | "recurse_down", [next, ..]) => self.recurse(next, input, names, 0, emit),
            ("env", []) => emit(Json::text(ENVIRONMENT)),
            ("map", [filter]) => {
                let mut values = Vec::new();
                for item in input.items() {
                    values.extend(self.all(filter, &item, names)?);
                }
                emit(Self::bounded(Json::List(values)))
            }
            ("map_values", [filter]) => {
                let place = Filter::Items(Rc::new(Filter::Identity));
                let updated = self
                    .updated(&place, input, names, &mut |old| Ok(self.all(filter, &old, names)?.into_iter().next()))?;
                emit(updated)
            }
            ("with_entries", [filter]) => {
                let entries = entries_of(input);
                let mut values = Vec::new();
                for entry in entries.items() {
                    values.extend(self.all(filter, &entry, names)?);
                }
                emit(from_entries(&Json::List(values)))
            }
            ("walk", [filter]) => {
                let value = self.walked(filter, input, names, 0)?;
                value.into_iter().try_for_each(emit)
            }
            ("limit" | "first" | "until" | "while" | "repeat" | "range" | "nth" | "last" | "isempty" | "skip", _) => {
                self.generator(name, arguments, input, names, emit)
            }
            ("any" | "all", _) => self.quantified(name, arguments, input, names, emit),
            (
                "path" | "paths" | "leaf_paths" | "getpath" | "setpath" | "del" | "delpaths" | "pick" | "to_entries"
                | "from_entries",
                _,
            ) => self.path_function(name, arguments, input, names, emit),
            ("sort_by" | "group_by" | "unique_by" | "min_by" | "max_by", [key]) => {
                self.by_key(name, key, input, names, emit)
            }
            ("input", []) => match self.inputs.borrow_mut().pop_front() {
                Some(value) => emit(value),
                None => Err(Halt::Error(Json::text("No more inputs"))),
            },
            ("inputs", []) => loop {
                let next = self.inputs.borrow_mut().pop_front();
                match next {
                    Some(value) => emit(value)?,
                    None => return Ok(()),
                }
            },
            ("halt" | "halt_error", _) => Err(Halt::Error(Json::Null)),
            ("debug" | "stderr" | "input_line_number", _) => emit(input.clone()),
            ("match" | "test" | "capture" | "scan" | "sub" | "gsub" | "splits", _) | ("split", [_, _]) => {
                self.matching(name, arguments, input, names, emit)
            }
            ("IN", [source]) => {
                let found = self.all(source, input, names)?.iter().any(|value| value.is_same(input));
                emit(Json::Flag(found))
            }
            ("INDEX", [key]) => {
                let mut table = Json::Table(Vec::new());
                for item in input.items() {
                    let key = self.all(key, &item, names)?.pop().unwrap_or(Json::Null).to_text();
                    table = table.with_member(&key, item);
                }
                emit(table)
            }
            (
                "ascii" | "now" | "input_filename" | "$__loc__" | "todate" | "gmtime" | "localtime" | "mktime"
                | "strftime" | "strptime" | "fromdate",
                _,
            ) => emit(Json::Unknown),
            _ => self.value_function(name, arguments, input, names, emit),
        }
    }

    /// Functions of values: every combination of their arguments gives one value.
    pub(super) fn value_function(
        &self,
        name: &str,
        arguments: &[Rc<Filter>],
        input: &Json,
        names: &Names,
        emit: Emit<'_>,
    ) -> Outcome {
        match arguments {
            [] if super::values::KINDS.contains(&name) => match super::values::plain(name, input) {
                Ok(value) => emit(value),
                Err(_) => Ok(()),
            },
            [] => emit(Self::bounded(super::values::plain(name, input)?)),
            [only] => self.run(only, input, names, &mut |value| {
                emit(Self::bounded(super::values::with_one(name, input, &value)?))
            }),
            [first, second] if matches!(name, "pow" | "atan2" | "ltrimstr") => {
                self.run(second, input, names, &mut |second| {
                    self.run(first, input, names, &mut |first| match (&first, &second) {
                        (Json::Number(first), Json::Number(second)) => emit(Json::Number(first.powf(*second))),
                        _ => emit(Json::Unknown),
                    })
                })
            }
            _ => Err(Halt::Stop),
        }
    }

    pub(super) fn recurse(&self, next: &Filter, input: &Json, names: &Names, depth: usize, emit: Emit<'_>) -> Outcome {
        self.step(0)?;
        emit(input.clone())?;
        if depth > 32 {
            return Ok(());
        }
        match self.run(next, input, names, &mut |value| self.recurse(next, &value, names, depth + 1, &mut *emit)) {
            Err(Halt::Error(_)) => Ok(()),
            result => result,
        }
    }

    pub(super) fn walked(&self, filter: &Filter, input: &Json, names: &Names, depth: usize) -> Result<Vec<Json>, Halt> {
        self.step(0)?;
        if depth > 24 {
            return Err(Halt::Stop);
        }
        let value = match input {
            Json::List(items) => {
                let mut values = Vec::new();
                for item in items {
                    values.extend(self.walked(filter, item, names, depth + 1)?);
                }
                Json::List(values)
            }
            Json::Table(entries) => {
                let mut values = Vec::new();
                for (key, item) in entries {
                    if let Some(value) = self.walked(filter, item, names, depth + 1)?.into_iter().next() {
                        values.push((key.clone(), value));
                    }
                }
                Json::Table(values)
            }
            other => other.clone(),
        };
        self.all(filter, &value, names)
    }

    pub(super) fn generator(
        &self,
        name: &str,
        arguments: &[Rc<Filter>],
        input: &Json,
        names: &Names,
        emit: Emit<'_>,
    ) -> Outcome {
        let first_of = |filter: &Filter| -> Result<Json, Halt> {
            Ok(self.all(filter, input, names)?.into_iter().next().unwrap_or(Json::Null))
        };
        match (name, arguments) {
            ("first", []) => emit(self.item(input, &Json::Number(0.0))?),
            ("last", []) => emit(self.item(input, &Json::Number(-1.0))?),
            ("nth", [at]) => {
                let at = first_of(at)?;
                emit(self.item(input, &at)?)
            }
            ("first", [source]) => self.limited(1, source, input, names, emit),
            ("last", [source]) => match self.all(source, input, names)?.pop() {
                Some(value) => emit(value),
                None => Ok(()),
            },
            ("nth", [at, source]) => {
                let Json::Number(at) = first_of(at)? else { return emit(Json::Unknown) };
                let at: usize = format!("{at:.0}").parse().unwrap_or(0);
                let mut values = Vec::new();
                self.limited(at + 1, source, input, names, &mut |value| {
                    values.push(value);
                    Ok(())
                })?;
                if values.len() > at { values.pop().map_or(Ok(()), emit) } else { Ok(()) }
            }
            ("limit", [count, source]) => match first_of(count)? {
                Json::Number(count) if count <= 0.0 => Ok(()),
                Json::Number(count) => {
                    self.limited(format!("{count:.0}").parse().unwrap_or(1), source, input, names, emit)
                }
                _ => self.run(source, input, names, emit),
            },
            ("skip", [count, source]) => {
                let count = if let Json::Number(count) = first_of(count)? {
                    format!("{count:.0}").parse().unwrap_or(0)
                } else {
                    0
                };
                self.all(source, input, names)?.into_iter().skip(count).try_for_each(emit)
            }
            ("isempty", [source]) => emit(Json::Flag(self.all(source, input, names)?.is_empty())),
            ("until", [condition, next]) => {
                let mut value = input.clone();
                for _ in 0..MOST {
                    if self.all(condition, &value, names)?.first().and_then(Json::truth) != Some(false) {
                        return emit(value);
                    }
                    value = self.all(next, &value, names)?.into_iter().next().unwrap_or(Json::Null);
                }
                Err(Halt::Stop)
            }
            ("while", [condition, next]) => {
                let mut value = input.clone();
                for _ in 0..MOST {
                    if self.all(condition, &value, names)?.first().and_then(Json::truth) != Some(true) {
                        return Ok(());
                    }
                    emit(value.clone())?;
                    value = self.all(next, &value, names)?.into_iter().next().unwrap_or(Json::Null);
                }
                Err(Halt::Stop)
            }
            ("repeat", [next]) => {
                let mut value = input.clone();
                for _ in 0..MOST {
                    emit(value.clone())?;
                    let Some(after) = self.all(next, &value, names)?.into_iter().next() else { return Ok(()) };
                    value = after;
                }
                Err(Halt::Stop)
            }
            ("range", bounds) => {
                let mut numbers = Vec::new();
                for bound in bounds {
                    numbers.push(self.all(bound, input, names)?);
                }
                Self::ranges(&numbers, emit)
            }
            _ => Err(Halt::Stop),
        }
    }

    pub(super) fn ranges(bounds: &[Vec<Json>], emit: Emit<'_>) -> Outcome {
        let zero = vec![Json::Number(0.0)];
        let one = vec![Json::Number(1.0)];
        let (from, to, by) = match bounds {
            [to] => (&zero, to, &one),
            [from, to] => (from, to, &one),
            [from, to, by, ..] => (from, to, by),
            [] => return Err(Halt::Stop),
        };
        for from in from {
            for to in to {
                for by in by {
                    let (Json::Number(from), Json::Number(to), Json::Number(by)) = (from, to, by) else {
                        emit(Json::Unknown)?;
                        continue;
                    };
                    let mut at = *from;
                    let mut count = 0;
                    while if *by > 0.0 { at < *to } else { *by < 0.0 && at > *to } {
                        count += 1;
                        if count > MOST {
                            return Err(Halt::Stop);
                        }
                        emit(Json::Number(at))?;
                        at += by;
                    }
                }
            }
        }
        Ok(())
    }

    /// The first values of a filter.
    pub(super) fn limited(
        &self,
        count: usize,
        source: &Filter,
        input: &Json,
        names: &Names,
        emit: Emit<'_>,
    ) -> Outcome {
        let label = self.new_label();
        let mut left = count;
        let result = self.run(source, input, names, &mut |value| {
            left -= 1;
            emit(value)?;
            if left == 0 { Err(Halt::Break(label)) } else { Ok(()) }
        });
        match result {
            Err(Halt::Break(own)) if own == label => Ok(()),
            result => result,
        }
    }

    pub(super) fn quantified(
        &self,
        name: &str,
        arguments: &[Rc<Filter>],
        input: &Json,
        names: &Names,
        emit: Emit<'_>,
    ) -> Outcome {
        let mut flags = Vec::new();
        match arguments {
            [] => flags.extend(input.items()),
            [condition] => {
                for item in input.items() {
                    flags.extend(self.all(condition, &item, names)?);
                }
            }
            [source, condition, ..] => {
                for item in self.all(source, input, names)? {
                    flags.extend(self.all(condition, &item, names)?);
                }
            }
        }
        let wanted = name == "any";
        let is_decided = flags.iter().any(|flag| flag.truth() == Some(wanted));
        let is_open = flags.iter().any(|flag| flag.truth().is_none());
        emit(if is_decided {
            Json::Flag(wanted)
        } else if is_open {
            Json::Unknown
        } else {
            Json::Flag(!wanted)
        })
    }

    pub(super) fn by_key(&self, name: &str, key: &Filter, input: &Json, names: &Names, emit: Emit<'_>) -> Outcome {
        let Json::List(items) = input else { return emit(Json::Unknown) };
        let mut keyed = Vec::new();
        for item in items {
            keyed.push((Json::List(self.all(key, item, names)?), item.clone()));
        }
        // Unknown keys leave the order as it is.
        if keyed.iter().all(|(key, _)| key.is_known()) {
            keyed.sort_by(|a, b| a.0.compare(&b.0));
        }
        let values = |keyed: Vec<(Json, Json)>| keyed.into_iter().map(|(_, value)| value);
        emit(match name {
            "sort_by" => Json::List(values(keyed).collect()),
            "min_by" => values(keyed).next().unwrap_or(Json::Null),
            "max_by" => values(keyed).next_back().unwrap_or(Json::Null),
            _ => {
                let mut groups: Vec<(Json, Vec<Json>)> = Vec::new();
                for (key, value) in keyed {
                    match groups.last_mut() {
                        Some((known, group)) if known.is_same(&key) => group.push(value),
                        _ => groups.push((key, vec![value])),
                    }
                }
                let group = |(_, group): (Json, Vec<Json>)| {
                    if name == "group_by" { Json::List(group) } else { group.into_iter().next().unwrap_or(Json::Null) }
                };
                Json::List(groups.into_iter().map(group).collect())
            }
        })
    }
}

/// The value of an operator.
pub(super) fn combined(sign: &str, left: &Json, right: &Json) -> Result<Json, Halt> {
    let compared = |fits: fn(std::cmp::Ordering) -> bool| {
        if left.is_known() && right.is_known() { Json::Flag(fits(left.compare(right))) } else { Json::Unknown }
    };
    Ok(match (sign, left, right) {
        ("==", ..) if matches!((left, right), (Json::Unknown, _) | (_, Json::Unknown)) => Json::Unknown,
        ("==", ..) => compared(std::cmp::Ordering::is_eq),
        ("!=", ..) => compared(std::cmp::Ordering::is_ne),
        ("<", ..) => compared(std::cmp::Ordering::is_lt),
        (">", ..) => compared(std::cmp::Ordering::is_gt),
        ("<=", ..) => compared(std::cmp::Ordering::is_le),
        (">=", ..) => compared(std::cmp::Ordering::is_ge),
        ("+", Json::Null, value) | ("+", value, Json::Null) => value.clone(),
        ("+", Json::Unknown, Json::Text(text)) => Json::Text(format!("{}{text}", crate::marks::UNKNOWN)),
        ("+", Json::Text(text), Json::Unknown) => Json::Text(format!("{text}{}", crate::marks::UNKNOWN)),
        (_, Json::Unknown, _) | (_, _, Json::Unknown) => Json::Unknown,
        ("+", Json::Text(left), Json::Text(right)) => Json::Text(format!("{left}{right}")),
        ("+", Json::List(left), Json::List(right)) => Json::List(left.iter().chain(right).cloned().collect()),
        ("+", Json::Table(_), Json::Table(right)) => {
            right.iter().fold(left.clone(), |table, (key, value)| table.with_member(key, value.clone()))
        }
        ("-", Json::List(left), Json::List(right)) => {
            Json::List(left.iter().filter(|item| !right.iter().any(|gone| gone.is_same(item))).cloned().collect())
        }
        ("*", Json::Table(_), Json::Table(right)) => right.iter().fold(left.clone(), |table, (key, value)| {
            let merged = match (table.member(key), value) {
                (inner @ Json::Table(_), Json::Table(_)) => combined("*", &inner, value).unwrap_or(Json::Unknown),
                _ => value.clone(),
            };
            table.with_member(key, merged)
        }),
        ("*", Json::Text(text), Json::Number(count)) | ("*", Json::Number(count), Json::Text(text)) => {
            if *count <= 0.0 {
                Json::Null
            } else {
                let count: usize = format!("{:.0}", count.ceil().min(4096.0)).parse().unwrap_or(0);
                if text.len() * count > 32 << 10 { Json::Unknown } else { Json::Text(text.repeat(count)) }
            }
        }
        ("/", Json::Text(text), Json::Text(separator)) => super::values::split(text, separator),
        (_, Json::Number(left), Json::Number(right)) => match sign {
            "+" => Json::Number(left + right),
            "-" => Json::Number(left - right),
            "*" => Json::Number(left * right),
            "/" if *right != 0.0 => Json::Number(left / right),
            "%" if right.trunc() != 0.0 => Json::Number(left.trunc() % right.trunc()),
            _ => return Err(Halt::Error(Json::text("cannot be divided"))),
        },
        _ => return Err(Halt::Error(Json::text("cannot be combined"))),
    })
}

/// The value of JSON in a text.
pub(super) fn from_json(text: &str) -> Json {
    if has_mark(text) {
        return Json::Unknown;
    }
    parsed(text).and_then(|mut values| values.pop()).unwrap_or(Json::Unknown)
}
