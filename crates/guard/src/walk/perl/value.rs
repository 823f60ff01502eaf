//! The values of a Perl program. Text that is not known has marks in it.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

use crate::marks::{UNKNOWN, has_mark, is_mark};
use crate::walk::perl::ast::Sub;

pub(super) type ArrayCell = Rc<RefCell<Vec<Val>>>;
pub(super) type ScalarCell = Rc<RefCell<Val>>;
pub(super) type HashCell = Rc<PerlHash>;

/// A hash, and the class that it was blessed into.
#[derive(Debug, Default)]
pub(super) struct PerlHash {
    pub(super) entries: RefCell<BTreeMap<String, Val>>,
    pub(super) class: RefCell<Option<String>>,
}

/// A function with the variables around it.
#[derive(Debug)]
pub(super) struct Closure {
    pub(super) sub: Rc<Sub>,
    pub(super) scope: Rc<Scope>,
}

/// The variables of a block.
#[derive(Debug, Default)]
pub(super) struct Scope {
    pub(super) variables: RefCell<BTreeMap<String, Slot>>,
    pub(super) parent: Option<Rc<Scope>>,
    /// A function begins here.
    pub(super) is_call: bool,
}

/// The place of a variable.
#[derive(Debug, Clone)]
pub(super) enum Slot {
    Scalar(ScalarCell),
    Array(ArrayCell),
    Hash(HashCell),
}

impl Slot {
    pub(super) fn new(sigil: char) -> Self {
        match sigil {
            '@' => Self::Array(ArrayCell::default()),
            '%' => Self::Hash(HashCell::default()),
            _ => Self::Scalar(Rc::new(RefCell::new(Val::Undefined))),
        }
    }
}

/// An open file, directory or pipe.
#[derive(Debug, Default)]
pub(super) struct Handle {
    /// Lines that are left to read.
    pub(super) lines: Vec<String>,
    pub(super) at: usize,
    /// The file that is written.
    pub(super) path: Option<String>,
    /// The command that reads what is written, when the handle is closed.
    pub(super) command: Option<Vec<String>>,
    pub(super) written: String,
    /// A variable that is written.
    pub(super) target: Option<ScalarCell>,
    pub(super) is_output: bool,
}

/// A value.
#[derive(Debug, Clone)]
pub(super) enum Val {
    Undefined,
    Number(f64),
    Text(Rc<str>),
    Array(ArrayCell),
    Hash(HashCell),
    Scalar(ScalarCell),
    Code(Rc<Closure>),
    Handle(Rc<RefCell<Handle>>),
    /// A pattern with its flags in it.
    Pattern(Rc<str>),
}

impl Val {
    pub(super) fn text(text: impl AsRef<str>) -> Self {
        Self::Text(Rc::from(text.as_ref()))
    }

    pub(super) fn unknown() -> Self {
        Self::Text(Rc::from(UNKNOWN.to_string()))
    }

    pub(super) fn flag(flag: bool) -> Self {
        if flag { Self::Number(1.0) } else { Self::text("") }
    }

    pub(super) fn count(count: usize) -> Self {
        u32::try_from(count).map_or_else(|_| Self::unknown(), |count| Self::Number(f64::from(count)))
    }

    /// True if nothing is known about the value.
    pub(super) fn is_unknown(&self) -> bool {
        matches!(self, Self::Text(text) if !text.is_empty() && text.chars().all(|letter| letter == UNKNOWN || crate::marks::is_source(letter)))
    }

    /// True if a mark is in the value's text.
    pub(super) fn is_marked(&self) -> bool {
        matches!(self, Self::Text(text) if has_mark(text))
    }

    pub(super) fn is_defined(&self) -> bool {
        !matches!(self, Self::Undefined)
    }

    /// True if it counts as true; none if that is not known.
    pub(super) fn truth(&self) -> Option<bool> {
        match self {
            Self::Undefined => Some(false),
            Self::Number(number) => Some(*number != 0.0),
            Self::Text(text) => match text.as_ref() {
                "" | "0" => Some(false),
                text if text.contains(UNKNOWN)
                    && text.chars().all(|letter| is_mark(letter) || letter.is_whitespace()) =>
                {
                    None
                }
                _ => Some(true),
            },
            _ => Some(true),
        }
    }

    pub(super) fn number(&self) -> Option<f64> {
        match self {
            Self::Undefined => Some(0.0),
            Self::Number(number) => Some(*number),
            Self::Text(text) if has_mark(text) => None,
            Self::Text(text) => Some(leading_number(text)),
            Self::Array(cell) => {
                cell.try_borrow().map(|items| Self::count(items.len())).ok().and_then(|count| match count {
                    Self::Number(number) => Some(number),
                    _ => None,
                })
            }
            _ => None,
        }
    }

    pub(super) fn to_text(&self) -> String {
        match self {
            Self::Undefined => String::new(),
            Self::Number(number) => number_text(*number),
            Self::Text(text) | Self::Pattern(text) => text.to_string(),
            Self::Array(_) => "ARRAY(0x1)".to_owned(),
            Self::Hash(_) => "HASH(0x1)".to_owned(),
            Self::Scalar(_) => "SCALAR(0x1)".to_owned(),
            Self::Code(_) => "CODE(0x1)".to_owned(),
            Self::Handle(_) => "GLOB(0x1)".to_owned(),
        }
    }
}

/// A number as Perl prints it.
pub(super) fn number_text(number: f64) -> String {
    if number.fract() == 0.0 && number.abs() < 1e15 {
        return format!("{number:.0}").replace("-0", if number == 0.0 { "0" } else { "-0" });
    }
    let text = format!("{number:.15}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// The number at the start of a text; zero if there is none.
pub(super) fn leading_number(text: &str) -> f64 {
    let text = text.trim_start();
    let bytes = text.as_bytes();
    let mut end = usize::from(matches!(bytes.first(), Some(b'-' | b'+')));
    let mut has_point = false;
    while let Some(byte) = bytes.get(end) {
        match byte {
            b'0'..=b'9' => {}
            b'.' if !has_point => has_point = true,
            b'e' | b'E' if end > 0 && bytes.get(end + 1).is_some_and(u8::is_ascii_digit) => {}
            _ => break,
        }
        end += 1;
    }
    let mut digits = text.get(..end).unwrap_or("");
    loop {
        if let Ok(number) = digits.parse() {
            return number;
        }
        match digits.char_indices().next_back() {
            Some((at, _)) => digits = digits.get(..at).unwrap_or(""),
            None => return 0.0,
        }
    }
}
