//! Functions of jq that make one value of others, and its patterns.

use std::rc::Rc;

use crate::marks::{has_mark, without_marks};
use crate::walk::jq::functions::{combined, from_json};
use crate::walk::jq::json::Json;
use crate::walk::jq::parser::Filter;
use crate::walk::jq::run::{Emit, Halt, Jq, Names, Outcome};

/// Functions that keep values of some kind and drop the others.
pub(super) const KINDS: [&str; 9] =
    ["values", "strings", "numbers", "booleans", "nulls", "arrays", "objects", "iterables", "scalars"];

/// The most matches of one pattern.
const MOST_MATCHES: usize = 512;

fn text(input: &Json, change: impl FnOnce(&str) -> Json) -> Result<Json, Halt> {
    match input {
        Json::Text(text) => Ok(change(text)),
        Json::Unknown => Ok(Json::Unknown),
        _ => Err(Halt::Error(Json::text("not a string"))),
    }
}

/// A function without arguments.
pub(super) fn plain(name: &str, input: &Json) -> Result<Json, Halt> {
    let kinds = |kinds: &[&str]| match input {
        Json::Unknown => Ok(Json::Unknown),
        value if kinds.contains(&value.kind()) => Ok(value.clone()),
        _ => Err(Halt::Error(Json::Null)),
    };
    Ok(match name {
        "length" => match input {
            Json::List(items) => Json::count(items.len()),
            Json::Table(entries) => Json::count(entries.len()),
            Json::Text(text) if has_mark(text) => Json::Unknown,
            Json::Text(text) => Json::count(text.chars().count()),
            Json::Null => Json::Number(0.0),
            Json::Number(number) => Json::Number(number.abs()),
            _ => Json::Unknown,
        },
        "utf8bytelength" => text(input, |text| Json::count(text.len()))?,
        "keys" | "keys_unsorted" => match input {
            Json::Table(entries) => {
                let mut keys: Vec<String> = entries.iter().map(|(key, _)| key.clone()).collect();
                if name == "keys" {
                    keys.sort_unstable();
                }
                Json::List(keys.into_iter().map(Json::Text).collect())
            }
            Json::List(items) => Json::List((0..items.len()).map(Json::count).collect()),
            _ => Json::Unknown,
        },
        "values" => return if matches!(input, Json::Null) { Err(Halt::Error(Json::Null)) } else { Ok(input.clone()) },
        "strings" => return kinds(&["string"]),
        "numbers" => return kinds(&["number"]),
        "booleans" => return kinds(&["boolean"]),
        "nulls" => return kinds(&["null"]),
        "arrays" => return kinds(&["array"]),
        "objects" => return kinds(&["object"]),
        "iterables" => return kinds(&["array", "object"]),
        "scalars" => return kinds(&["null", "boolean", "number", "string"]),
        "type" if matches!(input, Json::Unknown) => Json::Unknown,
        "type" => Json::text(input.kind()),
        "add" => {
            let mut sum = Json::Null;
            for item in input.items() {
                sum = combined("+", &sum, &item)?;
            }
            sum
        }
        "reverse" => match input {
            Json::List(items) => Json::List(items.iter().rev().cloned().collect()),
            Json::Text(text) if has_mark(text) => Json::Unknown,
            Json::Text(text) => Json::Text(text.chars().rev().collect()),
            Json::Null => Json::List(Vec::new()),
            _ => Json::Unknown,
        },
        "sort" | "unique" => match input {
            Json::List(items) => {
                let mut items = items.clone();
                if items.iter().all(Json::is_known) {
                    items.sort_by(Json::compare);
                }
                if name == "unique" {
                    items.dedup_by(|a, b| a.is_same(b));
                }
                Json::List(items)
            }
            _ => Json::Unknown,
        },
        "min" | "max" => {
            let mut items = input.items();
            items.sort_by(Json::compare);
            let found = if name == "min" { items.into_iter().next() } else { items.pop() };
            found.unwrap_or(Json::Null)
        }
        _ => return plain_text(name, input),
    })
}

/// A function of texts and numbers without arguments.
fn plain_text(name: &str, input: &Json) -> Result<Json, Halt> {
    let number = |change: fn(f64) -> f64| match input {
        Json::Number(number) => Ok(Json::Number(change(*number))),
        Json::Unknown => Ok(Json::Unknown),
        _ => Err(Halt::Error(Json::text("not a number"))),
    };
    Ok(match name {
        "flatten" => Json::List(flattened(input, 24)),
        "tostring" => {
            if let Json::Text(_) | Json::Unknown = input {
                input.clone()
            } else {
                Json::Text(input.to_json())
            }
        }
        "tojson" => Json::Text(input.to_json()),
        "fromjson" => text(input, from_json)?,
        "tonumber" => match input {
            Json::Text(text) => match text.trim().parse() {
                Ok(number) => Json::Number(number),
                Err(_) if has_mark(text) => Json::Unknown,
                Err(_) => return Err(Halt::Error(Json::text("not a number"))),
            },
            other => other.clone(),
        },
        "toarray" => {
            if let Json::List(_) = input {
                input.clone()
            } else {
                Json::List(vec![input.clone()])
            }
        }
        "ascii_downcase" => text(input, |text| Json::Text(text.to_ascii_lowercase()))?,
        "ascii_upcase" => text(input, |text| Json::Text(text.to_ascii_uppercase()))?,
        "trim" => text(input, |text| Json::text(text.trim()))?,
        "ltrim" => text(input, |text| Json::text(text.trim_start()))?,
        "rtrim" => text(input, |text| Json::text(text.trim_end()))?,
        "explode" => text(input, |text| {
            if has_mark(text) {
                return Json::Unknown;
            }
            Json::List(text.chars().map(|letter| Json::Number(f64::from(u32::from(letter)))).collect())
        })?,
        "implode" => {
            let letters = input
                .items()
                .iter()
                .map(|code| match code {
                    Json::Number(code) => format!("{code:.0}").parse().ok().and_then(char::from_u32),
                    _ => None,
                })
                .collect::<Option<String>>();
            letters.map_or(Json::Unknown, |text| Json::Text(without_marks(&text).into_owned()))
        }
        "floor" => number(f64::floor)?,
        "ceil" => number(f64::ceil)?,
        "round" => number(f64::round)?,
        "sqrt" => number(f64::sqrt)?,
        "fabs" | "abs" => number(f64::abs)?,
        "infinite" => Json::Number(f64::MAX),
        "transpose" => {
            let rows = input.items();
            let width = rows.iter().map(|row| row.items().len()).max().unwrap_or(0).min(256);
            let column = |at: usize| {
                Json::List(rows.iter().map(|row| row.items().get(at).cloned().unwrap_or(Json::Null)).collect())
            };
            Json::List((0..width).map(column).collect())
        }
        "isvalid" | "isnan" | "isinfinite" | "isnormal" | "input_line_number" | "nan" => Json::Unknown,
        _ => return Err(Halt::Stop),
    })
}

fn flattened(input: &Json, depth: usize) -> Vec<Json> {
    input
        .items()
        .into_iter()
        .flat_map(|item| match item {
            Json::List(_) if depth > 0 => flattened(&item, depth - 1),
            item => vec![item],
        })
        .collect()
}

/// A function with one argument.
pub(super) fn with_one(name: &str, input: &Json, value: &Json) -> Result<Json, Halt> {
    let is_open = || matches!((input, value), (Json::Unknown, _) | (_, Json::Unknown));
    let open_texts =
        || matches!(input, Json::Text(text) if has_mark(text)) || matches!(value, Json::Text(text) if has_mark(text));
    Ok(match (name, input, value) {
        ("join", ..) => {
            let words: Vec<String> = input
                .items()
                .iter()
                .map(|item| if matches!(item, Json::Null) { String::new() } else { item.to_text() })
                .collect();
            if matches!(input, Json::Unknown) { Json::Unknown } else { Json::Text(words.join(&value.to_text())) }
        }
        ("split", Json::Text(text), Json::Text(separator)) => split(text, separator),
        ("ltrimstr", Json::Text(text), Json::Text(start)) => {
            Json::text(text.strip_prefix(start.as_str()).unwrap_or(text))
        }
        ("rtrimstr", Json::Text(text), Json::Text(end)) => Json::text(text.strip_suffix(end.as_str()).unwrap_or(text)),
        ("trimstr", Json::Text(text), Json::Text(both)) => {
            let text = text.strip_prefix(both.as_str()).unwrap_or(text);
            Json::text(text.strip_suffix(both.as_str()).unwrap_or(text))
        }
        ("ltrimstr" | "rtrimstr" | "trimstr", ..) => input.clone(),
        ("startswith", Json::Text(text), Json::Text(start)) if text.starts_with(start.as_str()) => Json::Flag(true),
        ("endswith", Json::Text(text), Json::Text(end)) if text.ends_with(end.as_str()) => Json::Flag(true),
        ("startswith" | "endswith", Json::Text(_), Json::Text(_)) if open_texts() => Json::Unknown,
        ("startswith" | "endswith", Json::Text(_), Json::Text(_)) => Json::Flag(false),
        ("has", Json::Table(entries), Json::Text(key)) => Json::Flag(entries.iter().any(|(own, _)| own == key)),
        ("has", Json::List(items), Json::Number(at)) => {
            Json::Flag(*at >= 0.0 && *at < f64::from(u32::try_from(items.len()).unwrap_or(0)))
        }
        ("in", Json::Text(key), Json::Table(entries)) => Json::Flag(entries.iter().any(|(own, _)| own == key)),
        ("contains", ..) if input.is_known() && value.is_known() => Json::Flag(contains(input, value)),
        ("inside", ..) if input.is_known() && value.is_known() => Json::Flag(contains(value, input)),
        ("index" | "rindex", Json::Text(text), Json::Text(part)) if !open_texts() => {
            let found = if name == "index" { text.find(part.as_str()) } else { text.rfind(part.as_str()) };
            found.map_or(Json::Null, |at| Json::count(text.get(..at).unwrap_or("").chars().count()))
        }
        ("index" | "rindex", Json::List(items), value) if input.is_known() && !matches!(value, Json::List(_)) => {
            let found = if name == "index" {
                items.iter().position(|item| item.is_same(value))
            } else {
                items.iter().rposition(|item| item.is_same(value))
            };
            found.map_or(Json::Null, Json::count)
        }
        ("indices", Json::Text(text), Json::Text(part)) if !open_texts() => {
            Json::List(text.match_indices(part.as_str()).take(MOST_MATCHES).map(|(at, _)| Json::count(at)).collect())
        }
        ("flatten", _, Json::Number(depth)) => Json::List(flattened(input, format!("{depth:.0}").parse().unwrap_or(1))),
        (
            "combinations" | "tojson" | "ascii" | "indices" | "index" | "rindex" | "contains" | "inside" | "has" | "in"
            | "strftime" | "strflocaltime" | "strptime" | "date" | "dateadd" | "splits" | "getpath",
            ..,
        ) => Json::Unknown,
        _ if is_open() => Json::Unknown,
        ("split" | "startswith" | "endswith", ..) => return Err(Halt::Error(Json::text("not a string"))),
        _ => return Err(Halt::Stop),
    })
}

/// The parts of a text between separators.
pub(super) fn split(text: &str, separator: &str) -> Json {
    if separator.is_empty() {
        return Json::List(text.chars().map(|letter| Json::Text(letter.to_string())).collect());
    }
    if text.is_empty() {
        return Json::List(Vec::new());
    }
    Json::List(text.split(separator).map(Json::text).collect())
}

fn contains(value: &Json, part: &Json) -> bool {
    match (value, part) {
        (Json::Text(text), Json::Text(part)) => text.contains(part.as_str()),
        (Json::List(items), Json::List(parts)) => {
            parts.iter().all(|part| items.iter().any(|item| contains(item, part)))
        }
        (Json::Table(_), Json::Table(parts)) => parts.iter().all(|(key, part)| contains(&value.member(key), part)),
        (value, part) => value.is_same(part),
    }
}

impl Jq<'_> {
    fn pattern(&self, pattern: &str, flags: &str) -> Option<Rc<fancy_regex::Regex>> {
        let flags: String = flags.chars().filter(|flag| "ixs".contains(*flag)).collect();
        let key = if flags.is_empty() { pattern.to_owned() } else { format!("(?{flags}){pattern}") };
        if has_mark(pattern) || pattern.len() > 512 {
            return None;
        }
        let mut known = self.patterns.borrow_mut();
        if known.len() >= 32 {
            return None;
        }
        let made = known.entry(key.clone()).or_insert_with(|| {
            fancy_regex::RegexBuilder::new(&key)
                .backtrack_limit(20_000)
                .delegate_size_limit(1 << 18)
                .build()
                .ok()
                .map(Rc::new)
        });
        made.clone()
    }

    /// `test`, `match`, `capture`, `scan`, `sub`, `gsub`, `splits`
    pub(super) fn matching(
        &self,
        name: &str,
        arguments: &[Rc<Filter>],
        input: &Json,
        names: &Names,
        emit: Emit<'_>,
    ) -> Outcome {
        let value = |at: usize| -> Result<Json, Halt> {
            match arguments.get(at) {
                Some(filter) => Ok(self.all(filter, input, names)?.into_iter().next().unwrap_or(Json::Null)),
                None => Ok(Json::Null),
            }
        };
        let (pattern, mut flags) = match value(0)? {
            Json::List(items) => (
                items.first().map(Json::to_text).unwrap_or_default(),
                items.get(1).map(Json::to_text).unwrap_or_default(),
            ),
            other => (other.to_text(), String::new()),
        };
        let replaces = matches!(name, "sub" | "gsub");
        if let Json::Text(more) = value(if replaces { 2 } else { 1 })? {
            flags.push_str(&more);
        }
        let is_all = matches!(name, "gsub" | "scan" | "splits" | "split") || flags.contains('g');
        if !matches!(input, Json::Text(_) | Json::Unknown) {
            return Err(Halt::Error(Json::text("cannot be matched")));
        }
        let known = match input {
            Json::Text(text) if !has_mark(text) => self.pattern(&pattern, &flags).map(|pattern| (text, pattern)),
            _ => None,
        };
        let Some((text, expression)) = known else {
            // A text with something unknown in it stays what it is.
            return emit(if replaces { input.clone() } else { Json::Unknown });
        };
        self.step(text.len() / 32)?;
        let mut found = Vec::new();
        for captures in expression.captures_iter(text.as_str()).take(if is_all { MOST_MATCHES } else { 1 }) {
            let Ok(captures) = captures else { return emit(Json::Unknown) };
            found.push(captures);
            self.step(1)?;
        }
        let table_of = |captures: &fancy_regex::Captures<'_, str>| {
            let keys = expression.capture_names().flatten();
            Json::Table(
                keys.map(|name| {
                    (name.to_owned(), captures.name(name).map_or(Json::Null, |group| Json::text(group.as_str())))
                })
                .collect(),
            )
        };
        match name {
            "test" => emit(Json::Flag(!found.is_empty())),
            "capture" => found.iter().try_for_each(|captures| emit(table_of(captures))),
            "scan" => found.iter().try_for_each(|captures| {
                let group = |at: usize| captures.get(at).map_or(Json::Null, |group| Json::text(group.as_str()));
                emit(if captures.len() > 1 { Json::List((1..captures.len()).map(group).collect()) } else { group(0) })
            }),
            "match" => found.iter().try_for_each(|captures| {
                let whole = captures.get(0).map_or(Json::Null, |group| Json::text(group.as_str()));
                let group = |at: usize| {
                    Json::Table(vec![(
                        "string".to_owned(),
                        captures.get(at).map_or(Json::Null, |group| Json::text(group.as_str())),
                    )])
                };
                emit(Json::Table(vec![
                    ("offset".to_owned(), Json::count(captures.get(0).map_or(0, |group| group.start()))),
                    ("string".to_owned(), whole),
                    ("captures".to_owned(), Json::List((1..captures.len()).map(group).collect())),
                ]))
            }),
            "splits" | "split" => {
                let mut parts = Vec::new();
                let mut at = 0;
                for captures in &found {
                    let Some(whole) = captures.get(0) else { continue };
                    parts.push(Json::text(text.get(at..whole.start()).unwrap_or("")));
                    at = whole.end();
                }
                parts.push(Json::text(text.get(at..).unwrap_or("")));
                if name == "split" { emit(Json::List(parts)) } else { parts.into_iter().try_for_each(emit) }
            }
            _ => {
                let mut out = String::new();
                let mut at = 0;
                let Some(replacement) = arguments.get(1) else { return Err(Halt::Stop) };
                for captures in &found {
                    let Some(whole) = captures.get(0) else { continue };
                    out.push_str(text.get(at..whole.start()).unwrap_or(""));
                    let with =
                        self.all(replacement, &table_of(captures), names)?.into_iter().next().unwrap_or(Json::Null);
                    out.push_str(&with.to_text());
                    at = whole.end();
                }
                out.push_str(text.get(at..).unwrap_or(""));
                emit(Json::Text(out))
            }
        }
    }
}
