//! The values of a program, as far as they are known.

use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;

use crate::marks::{FRESH, NAME, SOME, STAR, TREE, UNKNOWN, has_mark, is_mark};
use crate::walk::program::ast::Function;

/// The most values that one name may have.
const MOST_VALUES: usize = 6;

/// The longest text, in bytes. `a += a` doubles it, so one that is longer is unknown.
const LONGEST_TEXT: usize = 16 << 10;

/// The most values in one value.
const LARGEST: usize = 2048;

/// The most items of a list.
const MOST_ITEMS: usize = 1024;

/// A value.
#[derive(Debug, Clone)]
pub(super) enum Value {
    Unknown,
    Nothing,
    Flag(bool),
    Number(i64),
    /// A text or a path.
    Text(String),
    List(Vec<Value>),
    Table(Vec<(String, Value)>),
    Function(Rc<Function>),
    /// Something that the language or a module has, by its full name.
    Native(String),
    /// A method and the value that has it.
    Method(Box<Value>, String),
    /// A call that has some of its arguments.
    Partial(Box<Value>, Vec<Value>),
    Class(Rc<Vec<(String, Value)>>),
    Object(Rc<RefCell<HashMap<String, Value>>>),
    /// A command that was started: its words and its output.
    Process(Vec<String>, String),
    /// An open file, by its path.
    File(String),
    /// One of these.
    Several(Vec<Value>),
}

// Functions and objects are the same if they are one. An object may hold itself, so its fields are not compared.
impl PartialEq for Value {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Unknown, Self::Unknown) | (Self::Nothing, Self::Nothing) => true,
            (Self::Flag(own), Self::Flag(other)) => own == other,
            (Self::Number(own), Self::Number(other)) => own == other,
            (Self::Text(own), Self::Text(other))
            | (Self::Native(own), Self::Native(other))
            | (Self::File(own), Self::File(other)) => own == other,
            (Self::List(own), Self::List(other)) | (Self::Several(own), Self::Several(other)) => own == other,
            (Self::Table(own), Self::Table(other)) => own == other,
            (Self::Function(own), Self::Function(other)) => Rc::ptr_eq(own, other),
            (Self::Class(own), Self::Class(other)) => Rc::ptr_eq(own, other),
            (Self::Object(own), Self::Object(other)) => Rc::ptr_eq(own, other),
            (Self::Process(own, text), Self::Process(other, others)) => own == other && text == others,
            _ => false,
        }
    }
}

impl Value {
    /// The number of values in this one, and of its bytes by the hundred; no more than `most` are counted.
    fn size(&self, most: usize) -> usize {
        let all = |values: &mut dyn Iterator<Item = &Self>| {
            let mut size = 1_usize;
            for value in values {
                if size > most {
                    break;
                }
                size += value.size(most - size);
            }
            size
        };
        match self {
            Self::Text(text) | Self::File(text) => 1 + text.len() / 100,
            Self::Process(words, text) => 1 + words.len() + text.len() / 100,
            Self::List(items) | Self::Several(items) => all(&mut items.iter()),
            Self::Table(entries) => all(&mut entries.iter().map(|(_, value)| value)),
            Self::Method(value, _) => 1 + value.size(most),
            Self::Partial(value, more) => value.size(most) + all(&mut more.iter()),
            _ => 1,
        }
    }

    /// The value, and its size; unknown if it is too large. `a = [a, a]` doubles it.
    pub(super) fn measured(self) -> (Self, usize) {
        let size = self.size(LARGEST);
        if size > LARGEST { (Self::Unknown, size) } else { (self, size) }
    }

    pub(super) fn text(text: impl Into<String>) -> Self {
        let text = text.into();
        if text.len() > LONGEST_TEXT { Self::Unknown } else { Self::Text(text) }
    }

    pub(super) fn list(mut items: Vec<Self>) -> Self {
        if items.len() > MOST_ITEMS {
            items.truncate(MOST_ITEMS);
            items.push(Self::Unknown);
        }
        Self::List(items)
    }

    pub(super) fn texts<'t>(items: impl IntoIterator<Item = &'t str>) -> Self {
        Self::list(items.into_iter().map(Self::text).collect())
    }

    /// One of several values.
    pub(super) fn one_of(values: impl IntoIterator<Item = Self>) -> Self {
        let mut found: Vec<Self> = Vec::new();
        for value in values.into_iter().flat_map(Self::alternatives) {
            if !found.contains(&value) && found.len() < MOST_VALUES {
                found.push(value);
            }
        }
        if found.len() == 1 { found.pop().unwrap_or(Self::Unknown) } else { Self::Several(found) }
    }

    /// The values that this may be.
    pub(super) fn alternatives(self) -> Vec<Self> {
        match self {
            Self::Several(values) => values,
            value => vec![value],
        }
    }

    /// Makes a value of each that this may be.
    pub(super) fn map(self, mut make: impl FnMut(Self) -> Self) -> Self {
        match self {
            Self::Several(values) => Self::one_of(values.into_iter().map(&mut make).collect::<Vec<_>>()),
            value => make(value),
        }
    }

    /// The value as a text that may hold unknown parts.
    pub(super) fn to_text(&self) -> String {
        match self {
            Self::Text(text) | Self::File(text) | Self::Process(_, text) => text.clone(),
            Self::Number(number) => number.to_string(),
            Self::Several(values) => values.first().map_or_else(|| UNKNOWN.to_string(), Self::to_text),
            Self::List(items) => items.iter().map(Self::to_text).collect::<Vec<_>>().join(","),
            _ => UNKNOWN.to_string(),
        }
    }

    /// True or false, if that is certain.
    pub(super) fn truth(&self) -> Option<bool> {
        match self {
            Self::Nothing => Some(false),
            Self::Flag(flag) => Some(*flag),
            Self::Number(number) => Some(*number != 0),
            Self::Text(text) if !has_mark(text) => Some(!text.is_empty()),
            Self::List(items) => match items.as_slice() {
                [] => Some(false),
                items if items.iter().all(Self::is_plain) => Some(true),
                _ => None,
            },
            Self::Table(entries) => Some(!entries.is_empty()),
            Self::Function(_) | Self::Class(_) | Self::Object(_) => Some(true),
            Self::Several(values) => {
                let first = values.first()?.truth()?;
                values.iter().all(|value| value.truth() == Some(first)).then_some(first)
            }
            _ => None,
        }
    }

    /// True if everything of a text or number is known.
    pub(super) fn is_plain(&self) -> bool {
        match self {
            Self::Text(text) => !text.contains(is_mark),
            Self::Number(_) | Self::Flag(_) | Self::Nothing => true,
            Self::List(items) => items.iter().all(Self::is_plain),
            _ => false,
        }
    }

    /// True if this names every file of a place.
    pub(super) fn is_listing(&self) -> bool {
        match self {
            Self::Text(text) => has_mark(text) && text.contains([STAR, TREE, NAME, FRESH]),
            Self::List(items) | Self::Several(items) => items.iter().any(Self::is_listing),
            _ => false,
        }
    }

    /// The value after a choice was made among the names of a listing.
    pub(super) fn chosen(self) -> Self {
        match self {
            Self::Text(text) if has_mark(&text) => {
                Self::Text(text.replace([STAR, TREE, NAME, FRESH], &SOME.to_string()))
            }
            Self::List(items) => Self::List(items.into_iter().map(Self::chosen).collect()),
            Self::Several(items) => Self::Several(items.into_iter().map(Self::chosen).collect()),
            value => value,
        }
    }

    /// The items that a loop goes through.
    pub(super) fn items(self) -> Vec<Self> {
        match self {
            Self::List(items) => items,
            Self::Table(entries) => entries.into_iter().map(|(key, _)| Self::text(key)).collect(),
            Self::Several(values) => values.into_iter().flat_map(Self::items).take(MOST_ITEMS).collect(),
            Self::Nothing => Vec::new(),
            _ => vec![Self::Unknown],
        }
    }

    /// The words of a command: the items of a list, or one text.
    pub(super) fn words(&self) -> Vec<String> {
        match self {
            Self::List(items) => items.iter().flat_map(Self::words).collect(),
            Self::Nothing => Vec::new(),
            value => vec![value.to_text()],
        }
    }
}
