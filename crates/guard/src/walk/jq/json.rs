//! Values of JSON, as far as they are known.

use crate::marks::{UNKNOWN, has_mark, without_marks};

/// The deepest nesting of values.
const DEEPEST: usize = 48;

/// A value. Text may have marks in it.
#[derive(Debug, Clone)]
pub(super) enum Json {
    Unknown,
    Null,
    Flag(bool),
    Number(f64),
    Text(String),
    List(Vec<Json>),
    /// In the order of the text.
    Table(Vec<(String, Json)>),
}

impl Json {
    pub(super) fn text(text: impl Into<String>) -> Self {
        Self::Text(text.into())
    }

    pub(super) fn count(count: usize) -> Self {
        u32::try_from(count).map_or(Self::Unknown, |count| Self::Number(f64::from(count)))
    }

    /// True if it counts as true; none if that is not known.
    pub(super) fn truth(&self) -> Option<bool> {
        match self {
            Self::Unknown => None,
            Self::Null => Some(false),
            Self::Flag(flag) => Some(*flag),
            _ => Some(true),
        }
    }

    /// True if nothing in it is unknown.
    pub(super) fn is_known(&self) -> bool {
        match self {
            Self::Unknown => false,
            Self::Text(text) => !has_mark(text),
            Self::List(items) => items.iter().all(Self::is_known),
            Self::Table(entries) => entries.iter().all(|(_, value)| value.is_known()),
            _ => true,
        }
    }

    /// True if values are nested deeper than this.
    pub(super) fn is_deep(&self, most: usize) -> bool {
        match self {
            Self::List(_) | Self::Table(_) if most == 0 => true,
            Self::List(items) => items.iter().any(|item| item.is_deep(most - 1)),
            Self::Table(entries) => entries.iter().any(|(_, item)| item.is_deep(most - 1)),
            _ => false,
        }
    }

    fn rank(&self) -> u8 {
        match self {
            Self::Unknown => 9,
            Self::Null => 0,
            Self::Flag(false) => 1,
            Self::Flag(true) => 2,
            Self::Number(_) => 3,
            Self::Text(_) => 4,
            Self::List(_) => 5,
            Self::Table(_) => 6,
        }
    }

    pub(super) fn kind(&self) -> &'static str {
        match self {
            Self::Unknown | Self::Null => "null",
            Self::Flag(_) => "boolean",
            Self::Number(_) => "number",
            Self::Text(_) => "string",
            Self::List(_) => "array",
            Self::Table(_) => "object",
        }
    }

    /// The order of jq.
    pub(super) fn compare(&self, other: &Self) -> std::cmp::Ordering {
        use std::cmp::Ordering;
        match (self, other) {
            (Self::Number(a), Self::Number(b)) => a.total_cmp(b),
            (Self::Text(a), Self::Text(b)) => a.cmp(b),
            (Self::List(a), Self::List(b)) => {
                let first = a.iter().zip(b).map(|(a, b)| a.compare(b)).find(|order| order.is_ne());
                first.unwrap_or(a.len().cmp(&b.len()))
            }
            (Self::Table(a), Self::Table(b)) => {
                let sorted = |entries: &[(String, Self)]| {
                    let mut entries = entries.to_vec();
                    entries.sort_by(|a, b| a.0.cmp(&b.0));
                    entries
                };
                let (a, b) = (sorted(a), sorted(b));
                let keys = a.iter().map(|(key, _)| key).cmp(b.iter().map(|(key, _)| key));
                let values = || a.iter().zip(&b).map(|(a, b)| a.1.compare(&b.1)).find(|order| order.is_ne());
                keys.then_with(|| values().unwrap_or(Ordering::Equal))
            }
            _ => self.rank().cmp(&other.rank()),
        }
    }

    pub(super) fn is_same(&self, other: &Self) -> bool {
        self.compare(other).is_eq()
    }

    /// The number of values in it; no more than `most` are counted.
    pub(super) fn size(&self, most: usize) -> usize {
        match self {
            Self::Text(text) => 1 + text.len() / 64,
            Self::List(items) => {
                items.iter().take(most).fold(1, |sum, item| if sum > most { sum } else { sum + item.size(most) })
            }
            Self::Table(entries) => {
                entries.iter().take(most).fold(1, |sum, (_, item)| if sum > most { sum } else { sum + item.size(most) })
            }
            _ => 1,
        }
    }

    pub(super) fn member(&self, key: &str) -> Self {
        match self {
            Self::Unknown => Self::Unknown,
            Self::Table(entries) => {
                entries.iter().rfind(|(own, _)| own == key).map_or(Self::Null, |(_, value)| value.clone())
            }
            _ => Self::Null,
        }
    }

    pub(super) fn items(&self) -> Vec<Self> {
        match self {
            Self::List(items) => items.clone(),
            Self::Table(entries) => entries.iter().map(|(_, value)| value.clone()).collect(),
            Self::Unknown => vec![Self::Unknown],
            _ => Vec::new(),
        }
    }

    pub(super) fn with_member(self, key: &str, value: Self) -> Self {
        let mut entries = match self {
            Self::Table(entries) => entries,
            Self::Null => Vec::new(),
            _ => return Self::Unknown,
        };
        match entries.iter_mut().find(|(own, _)| own == key) {
            Some((_, known)) => *known = value,
            None => entries.push((key.to_owned(), value)),
        }
        Self::Table(entries)
    }

    /// The text of a string, or the value as JSON.
    pub(super) fn to_text(&self) -> String {
        match self {
            Self::Text(text) => text.clone(),
            value => value.to_json(),
        }
    }

    pub(super) fn to_json(&self) -> String {
        match self {
            Self::Unknown => UNKNOWN.to_string(),
            Self::Null => "null".to_owned(),
            Self::Flag(flag) => flag.to_string(),
            Self::Number(number) => number_text(*number),
            Self::Text(text) => quoted(text),
            Self::List(items) => format!("[{}]", items.iter().map(Self::to_json).collect::<Vec<_>>().join(",")),
            Self::Table(entries) => {
                let entry = |(key, value): &(String, Self)| format!("{}:{}", quoted(key), value.to_json());
                format!("{{{}}}", entries.iter().map(entry).collect::<Vec<_>>().join(","))
            }
        }
    }

    /// The value over several lines.
    pub(super) fn to_lines(&self, depth: usize) -> String {
        let (inner, outer) = ("  ".repeat(depth + 1), "  ".repeat(depth));
        match self {
            Self::List(items) if !items.is_empty() => {
                let items: Vec<String> =
                    items.iter().map(|item| format!("{inner}{}", item.to_lines(depth + 1))).collect();
                format!("[\n{}\n{outer}]", items.join(",\n"))
            }
            Self::Table(entries) if !entries.is_empty() => {
                let entry =
                    |(key, value): &(String, Self)| format!("{inner}{}: {}", quoted(key), value.to_lines(depth + 1));
                format!("{{\n{}\n{outer}}}", entries.iter().map(entry).collect::<Vec<_>>().join(",\n"))
            }
            value => value.to_json(),
        }
    }
}

fn number_text(number: f64) -> String {
    if number.fract() == 0.0 && number.abs() < 1e17 { format!("{number:.0}") } else { format!("{number}") }
}

fn quoted(text: &str) -> String {
    let mut out = String::from("\"");
    for letter in text.chars() {
        match letter {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\t' => out.push_str("\\t"),
            '\r' => out.push_str("\\r"),
            letter if u32::from(letter) < 32 => {
                let code = format!("\\u{:04x}", u32::from(letter));
                out.push_str(&code);
            }
            letter => out.push(letter),
        }
    }
    out.push('"');
    out
}

/// The values of a text, one behind the other; none if it is no JSON.
pub(super) fn parsed(text: &str) -> Option<Vec<Json>> {
    let mut reader = JsonReader { rest: text };
    let mut values = Vec::new();
    loop {
        reader.rest = reader.rest.trim_start();
        if reader.rest.is_empty() {
            return Some(values);
        }
        values.push(reader.value(0)?);
        if values.len() > 1024 {
            return None;
        }
    }
}

struct JsonReader<'t> {
    rest: &'t str,
}

impl JsonReader<'_> {
    fn eat(&mut self, sign: &str) -> bool {
        self.rest = self.rest.trim_start();
        match self.rest.strip_prefix(sign) {
            Some(rest) => {
                self.rest = rest;
                true
            }
            None => false,
        }
    }

    fn value(&mut self, depth: usize) -> Option<Json> {
        if depth > DEEPEST {
            return None;
        }
        self.rest = self.rest.trim_start();
        match self.rest.chars().next()? {
            '{' => {
                self.eat("{");
                let mut entries: Vec<(String, Json)> = Vec::new();
                while !self.eat("}") {
                    self.rest = self.rest.trim_start();
                    let key = self.string()?;
                    self.eat(":").then_some(())?;
                    let value = self.value(depth + 1)?;
                    entries.retain(|(own, _)| *own != key);
                    entries.push((key, value));
                    if !self.eat(",") && !self.rest.trim_start().starts_with('}') {
                        return None;
                    }
                }
                Some(Json::Table(entries))
            }
            '[' => {
                self.eat("[");
                let mut items = Vec::new();
                while !self.eat("]") {
                    items.push(self.value(depth + 1)?);
                    if !self.eat(",") && !self.rest.trim_start().starts_with(']') {
                        return None;
                    }
                }
                Some(Json::List(items))
            }
            '"' => self.string().map(Json::Text),
            _ if self.eat("true") => Some(Json::Flag(true)),
            _ if self.eat("false") => Some(Json::Flag(false)),
            _ if self.eat("null") => Some(Json::Null),
            _ => {
                let is_part = |letter: char| letter.is_ascii_digit() || matches!(letter, '-' | '+' | '.' | 'e' | 'E');
                let end = self.rest.find(|letter| !is_part(letter)).unwrap_or(self.rest.len());
                let (number, rest) = self.rest.split_at_checked(end)?;
                let number = number.parse().ok()?;
                self.rest = rest;
                Some(Json::Number(number))
            }
        }
    }

    fn string(&mut self) -> Option<String> {
        self.rest = self.rest.strip_prefix('"')?;
        let mut text = String::new();
        loop {
            let letter = self.rest.chars().next()?;
            self.rest = self.rest.get(letter.len_utf8()..)?;
            match letter {
                '"' => return Some(text),
                '\\' => {
                    let (taken, meant) = escaped(self.rest)?;
                    text.push(meant);
                    self.rest = self.rest.get(taken..)?;
                }
                letter => text.push(letter),
            }
        }
    }
}

/// The letter behind a backslash, and the length of its spelling.
pub(super) fn escaped(rest: &str) -> Option<(usize, char)> {
    let letter = rest.chars().next()?;
    Some(match letter {
        'n' => (1, '\n'),
        't' => (1, '\t'),
        'r' => (1, '\r'),
        'b' => (1, '\u{8}'),
        'f' => (1, '\u{c}'),
        'u' => {
            let code = u32::from_str_radix(rest.get(1..5)?, 16).ok()?;
            let meant = char::from_u32(code).unwrap_or('?');
            (5, without_marks(&meant.to_string()).chars().next().unwrap_or('?'))
        }
        other => (other.len_utf8(), other),
    })
}
