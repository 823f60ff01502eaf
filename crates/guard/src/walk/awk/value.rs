//! The values of a program of awk, as far as they are known.
//!
//! A text may have marks. Text from the input counts as a number if it looks like one; text that the program has made never does.

use std::cmp::Ordering;
use std::rc::Rc;

use crate::marks::{FRESH, NAME, ONE, SET, SOME, STAR, TREE, UNKNOWN, has_mark, is_mark};

use super::ast::Comparison;
use super::number;

/// The most values that one name may have.
const MOST_VALUES: usize = 6;

/// A value.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Value {
    /// Never assigned: an empty text, and zero.
    Unset,
    Number(f64),
    /// Text that the program has made.
    Text(Rc<str>),
    /// Text from outside of the program.
    Input(Rc<str>),
    /// One of these, after two ways through the program have met.
    Several(Rc<[Value]>),
}

impl Value {
    pub(super) fn text(text: impl Into<Rc<str>>) -> Self {
        Self::Text(text.into())
    }

    pub(super) fn input(text: impl Into<Rc<str>>) -> Self {
        Self::Input(text.into())
    }

    /// A text that is not known.
    pub(super) fn unknown() -> Self {
        Self::input(UNKNOWN.to_string())
    }

    /// A number that is not known. As a text it is not empty.
    pub(super) fn unknown_number() -> Self {
        Self::input(SOME.to_string())
    }

    pub(super) fn flag(truth: Option<bool>) -> Self {
        truth.map_or_else(Self::unknown_number, |truth| Self::Number(if truth { 1.0 } else { 0.0 }))
    }

    pub(super) fn count(count: usize) -> Self {
        Self::Number(number::counted(count))
    }

    /// The values that this may be.
    pub(super) fn alternatives(&self) -> &[Self] {
        match self {
            Self::Several(values) => values,
            value => std::slice::from_ref(value),
        }
    }

    /// One of two values. Numbers that differ are not known: a count that may be one more may be any.
    pub(super) fn join(&self, other: &Self) -> Self {
        if self == other {
            return self.clone();
        }
        let mut found: Vec<Self> = Vec::new();
        for value in self.alternatives().iter().chain(other.alternatives()) {
            if found.len() > MOST_VALUES {
                return Self::unknown();
            }
            let is_new = !found.iter_mut().any(|known| match known.absorbed(value) {
                Some(both) => {
                    *known = both;
                    true
                }
                None => false,
            });
            if is_new {
                found.push(value.clone());
            }
        }
        match found.as_slice() {
            [value] => value.clone(),
            _ => Self::Several(found.into()),
        }
    }

    /// One value for two, if they are no different ways to go on.
    fn absorbed(&self, other: &Self) -> Option<Self> {
        match (self, other) {
            _ if self == other => Some(self.clone()),
            (Self::Number(_) | Self::Unset, Self::Number(_)) | (Self::Number(_), Self::Unset) => {
                Some(Self::unknown_number())
            }
            // Unknown text may be empty, too.
            (Self::Input(text), nothing) | (nothing, Self::Input(text))
                if is_only(text, &[UNKNOWN, SOME]) && !matches!(nothing, Self::Text(text) if !text.is_empty()) =>
            {
                let is_number = matches!(nothing, Self::Number(_)) && is_only(text, &[SOME]);
                let own = Self::Input(Rc::clone(text));
                Some(if is_number || text.contains(UNKNOWN) { own } else { Self::unknown() })
            }
            _ => None,
        }
    }

    /// The text of a single value. Numbers with a fraction are written by `format`.
    pub(super) fn to_text(&self, format: &str) -> Rc<str> {
        match self {
            Self::Unset => "".into(),
            Self::Number(number) => number::shown(*number, format).into(),
            Self::Text(text) | Self::Input(text) => Rc::clone(text),
            Self::Several(_) => UNKNOWN.to_string().into(),
        }
    }

    /// The number that this is; none if that is not known.
    pub(super) fn number(&self) -> Option<f64> {
        match self {
            Self::Unset => Some(0.0),
            Self::Number(number) => Some(*number),
            Self::Text(text) | Self::Input(text) => number_of(text),
            Self::Several(values) => {
                let first = values.first()?.number()?;
                let is_same = |value: &Self| value.number().is_some_and(|number| number.total_cmp(&first).is_eq());
                values.iter().all(is_same).then_some(first)
            }
        }
    }

    /// True or false, if that is certain.
    pub(super) fn truth(&self) -> Option<bool> {
        match self {
            Self::Unset => Some(false),
            Self::Number(number) => Some(*number != 0.0),
            Self::Text(text) => is_empty(text).map(|is_empty| !is_empty),
            Self::Input(text) if !has_mark(text) && number::looks_numeric(text) => Some(number::leading(text) != 0.0),
            // Unknown input may be a zero.
            Self::Input(text) if has_mark(text) && text.contains([UNKNOWN, SOME]) => None,
            Self::Input(text) => is_empty(text).map(|is_empty| !is_empty),
            Self::Several(values) => {
                let first = values.first()?.truth()?;
                values.iter().all(|value| value.truth() == Some(first)).then_some(first)
            }
        }
    }

    /// True if this counts as a number in a comparison.
    fn is_numeric(&self) -> bool {
        match self {
            Self::Unset | Self::Number(_) => true,
            Self::Input(text) => !has_mark(text) && number::looks_numeric(text),
            Self::Text(_) | Self::Several(_) => false,
        }
    }

    /// The outcome of a comparison, if it is certain.
    pub(super) fn compare(&self, comparison: Comparison, other: &Self, format: &str) -> Option<bool> {
        let mut outcome = None;
        for left in self.alternatives() {
            for right in other.alternatives() {
                let one = left.compare_one(comparison, right, format)?;
                if outcome.is_some_and(|before| before != one) {
                    return None;
                }
                outcome = Some(one);
            }
        }
        outcome
    }

    fn compare_one(&self, comparison: Comparison, other: &Self, format: &str) -> Option<bool> {
        if self.is_numeric() && other.is_numeric() {
            let order = self.number()?.partial_cmp(&other.number()?)?;
            return Some(fits(order, comparison));
        }
        let (left, right) = (self.to_text(format), other.to_text(format));
        if !has_mark(&left) && !has_mark(&right) {
            return Some(fits(left.as_bytes().cmp(right.as_bytes()), comparison));
        }
        match comparison {
            Comparison::Equal => differ(&left, &right).then_some(false),
            Comparison::Unequal => differ(&left, &right).then_some(true),
            _ => None,
        }
    }
}

fn fits(order: Ordering, comparison: Comparison) -> bool {
    match comparison {
        Comparison::Equal => order.is_eq(),
        Comparison::Unequal => order.is_ne(),
        Comparison::Less => order.is_lt(),
        Comparison::LessOrEqual => order.is_le(),
        Comparison::Greater => order.is_gt(),
        Comparison::GreaterOrEqual => order.is_ge(),
    }
}

/// True if two texts are different for certain: by the letters before their first marks, or because one is empty.
fn differ(left: &str, right: &str) -> bool {
    if left.is_empty() || right.is_empty() {
        let text = if left.is_empty() { right } else { left };
        return is_empty(text) == Some(false);
    }
    let (known, others) = (left.chars().take_while(|letter| !is_mark(*letter)), right.chars());
    known.zip(others.take_while(|letter| !is_mark(*letter))).any(|(left, right)| left != right)
}

/// True if a text is empty, false if it is not; none if that is not certain.
pub(super) fn is_empty(text: &str) -> Option<bool> {
    if text.is_empty() {
        return Some(true);
    }
    let is_sure = |letter: char| letter != UNKNOWN && !crate::marks::is_source(letter);
    text.contains(is_sure).then_some(false)
}

/// The number that a text begins with; none if a mark makes that uncertain.
pub(super) fn number_of(text: &str) -> Option<f64> {
    if !has_mark(text) {
        return Some(number::leading(text));
    }
    // `12 UNKNOWN` is twelve for certain.
    let known = text.split(is_mark).next().unwrap_or("");
    let trimmed = known.trim_start();
    let length = number::prefix_length(trimmed);
    let is_ended = trimmed.get(length..).is_some_and(|rest| rest.starts_with([' ', '\t', ',', ':', '/']));
    is_ended.then(|| number::leading(known))
}

/// True if a text has these letters and nothing else but marks that tell its source.
fn is_only(text: &str, letters: &[char]) -> bool {
    !text.is_empty() && text.chars().all(|letter| letters.contains(&letter) || crate::marks::is_source(letter))
}

/// True if a record stands for any number of lines.
pub(super) fn is_many(text: &str) -> bool {
    has_mark(text) && text.contains([UNKNOWN, SOME, STAR, TREE, NAME, FRESH, ONE, SET])
}

/// True if a text is made of marks alone.
pub(super) fn is_all_marks(text: &str) -> bool {
    let text = text.trim_matches([' ', '\t']);
    !text.is_empty() && text.chars().all(is_mark)
}

/// The text after a choice was made among the names of a listing.
pub(super) fn chosen(text: &str) -> String {
    text.replace([STAR, TREE, NAME, FRESH], &SOME.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn input_that_looks_like_a_number_is_compared_as_one() {
        let ten = Value::input("10");
        assert_eq!(ten.compare(Comparison::Greater, &Value::Number(9.0), "%.6g"), Some(true));
        assert_eq!(ten.compare(Comparison::Greater, &Value::text("9"), "%.6g"), Some(false));
        assert_eq!(Value::Unset.compare(Comparison::Equal, &Value::Number(0.0), "%.6g"), Some(true));
        assert_eq!(Value::Unset.compare(Comparison::Equal, &Value::text(""), "%.6g"), Some(true));
    }

    #[test]
    fn what_is_not_known_is_not_decided() {
        let some = Value::input(format!("a{UNKNOWN}"));
        assert_eq!(some.compare(Comparison::Equal, &Value::text("ab"), "%.6g"), None);
        assert_eq!(some.compare(Comparison::Equal, &Value::text("b"), "%.6g"), Some(false));
        assert_eq!(Value::unknown().truth(), None);
        assert_eq!(Value::Number(1.0).join(&Value::Number(2.0)).number(), None);
        assert_eq!(Value::text("a").join(&Value::text("b")).alternatives().len(), 2);
        assert_eq!(Value::unknown().join(&Value::Unset), Value::unknown());
    }
}
