//! Operators, and methods that change lists and tables.

use crate::marks::UNKNOWN;
use crate::walk::program::calls::Given;
use crate::walk::program::natives::joined_path;
use crate::walk::program::value::Value;

/// A list or a table after a method that changes it; none if this is no such method.
pub(super) fn changed(value: &Value, method: &str, given: &Given) -> Option<Value> {
    match (value, method) {
        (Value::List(items), "append" | "push" | "add") => {
            Some(Value::list(items.iter().chain(&given.values).cloned().collect()))
        }
        (Value::List(items), "extend" | "update") => {
            Some(Value::list(items.iter().cloned().chain(given.first().items()).collect()))
        }
        (Value::List(items), "insert") => {
            let mut items = items.clone();
            let at = if let Value::Number(at) = given.first() { usize::try_from(at).unwrap_or(0) } else { 0 };
            items.insert(at.min(items.len()), given.values.get(1).cloned().unwrap_or(Value::Unknown));
            Some(Value::list(items))
        }
        (Value::List(items), "unshift") => Some(Value::list(given.values.iter().chain(items).cloned().collect())),
        (Value::List(items), "pop" | "shift") if !items.is_empty() => {
            let is_first = method == "shift" || given.first() == Value::Number(0);
            let (from, to) = if is_first { (1, items.len()) } else { (0, items.len() - 1) };
            Some(Value::list(items.get(from..to).unwrap_or(&[]).to_vec()))
        }
        (Value::List(items), "remove") => {
            let gone = given.first();
            Some(Value::list(items.iter().filter(|item| **item != gone).cloned().collect()))
        }
        (Value::List(items), "reverse") => Some(Value::list(items.iter().rev().cloned().collect())),
        (Value::List(items), "sort") => Some(Value::list(items.clone())),
        (Value::Table(entries), "update") => match given.first() {
            Value::Table(more) => Some(Value::Table(entries.iter().cloned().chain(more).collect())),
            _ => Some(value.clone()),
        },
        (Value::Table(entries), "set" | "setdefault") => {
            let new = given.values.get(1).cloned().unwrap_or(Value::Nothing);
            Some(with_entry(entries.clone(), given.first().to_text(), new))
        }
        _ => None,
    }
}

pub(super) fn with_entry(mut entries: Vec<(String, Value)>, key: String, value: Value) -> Value {
    match entries.iter_mut().find(|(own, _)| *own == key) {
        Some((_, own)) => *own = value,
        None => entries.push((key, value)),
    }
    Value::Table(entries)
}

/// The result of an operator.
pub(super) fn combined(left: &Value, operator: &str, right: &Value) -> Value {
    match (left, operator, right) {
        (Value::Number(left), _, Value::Number(right)) => numbers(*left, operator, *right),
        (Value::List(left), "+" | "|", Value::List(right)) => Value::list(left.iter().chain(right).cloned().collect()),
        (Value::List(left), "+", Value::Unknown) => Value::list(left.iter().cloned().chain([Value::Unknown]).collect()),
        (Value::Text(_), "+", _) | (_, "+", Value::Text(_)) => {
            Value::text(format!("{}{}", left.to_text(), right.to_text()))
        }
        (Value::Text(left), "/", right) => Value::text(joined_path(left, &right.to_text())),
        (_, "/", Value::Text(right)) => Value::text(joined_path(&UNKNOWN.to_string(), right)),
        (Value::Text(format), "%", with) => {
            let mut text = format.clone();
            let words = if let Value::List(items) = with {
                items.iter().map(Value::to_text).collect()
            } else {
                vec![with.to_text()]
            };
            crate::walk::values::fill(Some(&mut text), &words);
            Value::text(text)
        }
        (Value::List(items), "*", Value::Number(times)) => {
            let times = usize::try_from(*times).unwrap_or(0).min(8);
            Value::list(std::iter::repeat_n(items.clone(), times).flatten().collect())
        }
        (left, "==" | "!=", right) if left.is_plain() && right.is_plain() => {
            Value::Flag((left == right) == (operator == "=="))
        }
        (left, "in" | "!in", Value::List(items)) if left.is_plain() && items.iter().all(Value::is_plain) => {
            Value::Flag(items.contains(left) == (operator == "in"))
        }
        _ => Value::Unknown,
    }
}

fn numbers(left: i64, operator: &str, right: i64) -> Value {
    match operator {
        "+" => left.checked_add(right).map_or(Value::Unknown, Value::Number),
        "-" => left.checked_sub(right).map_or(Value::Unknown, Value::Number),
        "*" => left.checked_mul(right).map_or(Value::Unknown, Value::Number),
        "==" => Value::Flag(left == right),
        "!=" => Value::Flag(left != right),
        "<" => Value::Flag(left < right),
        ">" => Value::Flag(left > right),
        "<=" => Value::Flag(left <= right),
        ">=" => Value::Flag(left >= right),
        _ => Value::Unknown,
    }
}

/// A part of a list or a text.
pub(super) fn slice(value: Value, from: Option<&Value>, to: Option<&Value>, is_backwards: bool) -> Value {
    let place = |value: Option<&Value>, length: usize, usual: usize| match value {
        Some(Value::Number(number)) if *number < 0 => {
            length.saturating_sub(usize::try_from(number.unsigned_abs()).unwrap_or(usize::MAX))
        }
        Some(Value::Number(number)) => usize::try_from(*number).unwrap_or(0).min(length),
        _ => usual,
    };
    match value {
        Value::List(mut items) => {
            let (from, to) = (place(from, items.len(), 0), place(to, items.len(), items.len()));
            items = items.get(from..to).unwrap_or(&[]).to_vec();
            if is_backwards {
                items.reverse();
            }
            Value::List(items)
        }
        Value::Text(text) => {
            let mut letters: Vec<char> = text.chars().collect();
            let (from, to) = (place(from, letters.len(), 0), place(to, letters.len(), letters.len()));
            letters = letters.get(from..to).unwrap_or(&[]).to_vec();
            if is_backwards {
                letters.reverse();
            }
            Value::text(letters.into_iter().collect::<String>())
        }
        _ => Value::Unknown,
    }
}
