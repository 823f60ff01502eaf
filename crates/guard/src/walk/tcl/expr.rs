//! `expr`: operators and functions of Tcl.

use crate::marks::UNKNOWN;
use crate::walk::tcl::lists::elements;
use crate::walk::tcl::words::{closing, variable};
use crate::walk::tcl::{Leaving, Outcome, Tcl};

/// The binary operators by how closely they bind, the loosest first.
const LEVELS: [&[&str]; 11] = [
    &["||"],
    &["&&"],
    &["|"],
    &["^"],
    &["&"],
    &["==", "!=", "eq", "ne", "in", "ni"],
    &["<", ">", "<=", ">=", "lt", "gt", "le", "ge"],
    &["<<", ">>"],
    &["+", "-"],
    &["*", "/", "%"],
    &["**"],
];

/// The deepest nesting of an expression.
const DEEPEST: usize = 24;

struct ExprReader<'t> {
    rest: &'t str,
    depth: usize,
}

impl Tcl<'_, '_> {
    /// The value of an expression.
    pub(super) fn expression(&mut self, text: &str) -> Outcome<String> {
        self.step(1)?;
        let mut reader = ExprReader { rest: text, depth: 0 };
        let value = self.choice(&mut reader, true)?;
        reader.rest = reader.rest.trim_start();
        if reader.rest.is_empty() { Ok(value) } else { Ok(UNKNOWN.to_string()) }
    }

    /// True if a condition holds; none if that is not known.
    pub(super) fn truth(&mut self, text: &str) -> Outcome<Option<bool>> {
        let value = self.expression(text)?;
        Ok(truth_of(&value))
    }

    fn choice(&mut self, reader: &mut ExprReader<'_>, counts: bool) -> Outcome<String> {
        reader.depth += 1;
        if reader.depth > DEEPEST {
            return Err(Leaving::Stop);
        }
        let condition = self.operators(reader, 0, counts)?;
        let value = if reader.eat("?") {
            let holds = match truth_of(&condition) {
                Some(holds) => holds,
                None if counts => self.ask(),
                None => true,
            };
            let then = self.choice(reader, counts && holds)?;
            reader.eat(":");
            let otherwise = self.choice(reader, counts && !holds)?;
            if holds { then } else { otherwise }
        } else {
            condition
        };
        reader.depth -= 1;
        Ok(value)
    }

    fn operators(&mut self, reader: &mut ExprReader<'_>, level: usize, counts: bool) -> Outcome<String> {
        if level >= LEVELS.len() {
            return self.operand(reader, counts);
        }
        let mut left = self.operators(reader, level + 1, counts)?;
        while let Some(sign) = reader.operator(level) {
            self.step(0)?;
            let decided = match sign {
                "||" => truth_of(&left) == Some(true),
                "&&" => truth_of(&left) == Some(false),
                _ => false,
            };
            let right = self.operators(reader, if sign == "**" { level } else { level + 1 }, counts && !decided)?;
            left = if counts { self.combined(&left, sign, &right) } else { String::new() };
        }
        Ok(left)
    }

    fn combined(&self, left: &str, sign: &str, right: &str) -> String {
        let flag = |holds: bool| if holds { "1".to_owned() } else { "0".to_owned() };
        let unknown = || UNKNOWN.to_string();
        if matches!(sign, "||" | "&&") {
            return match (sign, truth_of(left), truth_of(right)) {
                ("||", Some(true), _) | ("||", _, Some(true)) => flag(true),
                ("&&", Some(false), _) | ("&&", _, Some(false)) => flag(false),
                (_, Some(_), Some(right)) => flag(right),
                _ => unknown(),
            };
        }
        let (Some(left), Some(right)) = (self.plain(left), self.plain(right)) else { return unknown() };
        if matches!(sign, "in" | "ni") {
            return flag(elements(&right).contains(&left) == (sign == "in"));
        }
        let order = left.cmp(&right);
        match sign {
            "eq" => return flag(order.is_eq()),
            "ne" => return flag(order.is_ne()),
            "lt" => return flag(order.is_lt()),
            "gt" => return flag(order.is_gt()),
            "le" => return flag(order.is_le()),
            "ge" => return flag(order.is_ge()),
            _ => {}
        }
        if let (Some(left), Some(right)) = (whole(&left), whole(&right)) {
            return integers(left, sign, right).unwrap_or_else(unknown);
        }
        match (left.trim().parse::<f64>(), right.trim().parse::<f64>()) {
            (Ok(left), Ok(right)) => reals(left, sign, right).unwrap_or_else(unknown),
            _ => match sign {
                "==" => flag(order.is_eq()),
                "!=" => flag(order.is_ne()),
                "<" => flag(order.is_lt()),
                ">" => flag(order.is_gt()),
                "<=" => flag(order.is_le()),
                ">=" => flag(order.is_ge()),
                _ => unknown(),
            },
        }
    }

    fn operand(&mut self, reader: &mut ExprReader<'_>, counts: bool) -> Outcome<String> {
        self.step(0)?;
        reader.rest = reader.rest.trim_start();
        let Some(first) = reader.rest.chars().next() else { return Ok(UNKNOWN.to_string()) };
        let after = reader.rest.get(first.len_utf8()..).unwrap_or("");
        match first {
            '!' | '-' | '+' | '~' => {
                reader.rest = after;
                reader.depth += 1;
                if reader.depth > DEEPEST {
                    return Err(Leaving::Stop);
                }
                let value = self.operand(reader, counts)?;
                reader.depth -= 1;
                Ok(match first {
                    '!' => truth_of(&value).map_or_else(
                        || UNKNOWN.to_string(),
                        |truth| if truth { "0".to_owned() } else { "1".to_owned() },
                    ),
                    '-' => self.combined("0", "-", &value),
                    '~' => whole(&value).map_or_else(|| UNKNOWN.to_string(), |number| (!number).to_string()),
                    _ => value,
                })
            }
            '(' => {
                reader.rest = after;
                let value = self.choice(reader, counts)?;
                reader.eat(")");
                Ok(value)
            }
            '$' => {
                let (name, rest) = variable(after);
                let length = after.len() - rest.len();
                reader.rest = rest;
                if name.is_empty() {
                    return Ok(UNKNOWN.to_string());
                }
                if !counts {
                    return Ok(String::new());
                }
                self.variable_ahead(after.get(..length).unwrap_or("")).map(|(value, _)| value)
            }
            '[' => {
                let end = closing(after);
                reader.rest = after.get(end + 1..).unwrap_or("");
                if counts { self.script(after.get(..end).unwrap_or("")) } else { Ok(String::new()) }
            }
            '"' => {
                let end = string_end(after);
                reader.rest = after.get(end + 1..).unwrap_or("");
                if counts { self.replaced(after.get(..end).unwrap_or("")) } else { Ok(String::new()) }
            }
            '{' => {
                let end = after.find('}').unwrap_or(after.len());
                reader.rest = after.get(end + 1..).unwrap_or("");
                Ok(after.get(..end).unwrap_or("").to_owned())
            }
            _ => self.word(reader, counts),
        }
    }

    /// A number, a word such as `true`, or a function with its arguments.
    fn word(&mut self, reader: &mut ExprReader<'_>, counts: bool) -> Outcome<String> {
        let is_part = |letter: char| letter.is_alphanumeric() || matches!(letter, '_' | '.' | ':');
        let end = reader.rest.find(|letter| !is_part(letter)).unwrap_or(reader.rest.len());
        let word = reader.rest.get(..end).unwrap_or("").to_owned();
        reader.rest = reader.rest.get(end.max(1)..).unwrap_or("");
        if word.starts_with(|letter: char| letter.is_alphabetic()) && reader.eat("(") {
            let mut values = Vec::new();
            while !reader.eat(")") {
                values.push(self.choice(reader, counts)?);
                if !reader.eat(",") && !reader.rest.trim_start().starts_with(')') {
                    break;
                }
            }
            return Ok(if counts { function(&word, &values) } else { String::new() });
        }
        Ok(if word.is_empty() { UNKNOWN.to_string() } else { word })
    }
}

impl ExprReader<'_> {
    fn eat(&mut self, sign: &str) -> bool {
        let rest = self.rest.trim_start();
        match rest.strip_prefix(sign) {
            Some(rest) => {
                self.rest = rest;
                true
            }
            None => false,
        }
    }

    /// Goes on behind an operator of this level, if one is next.
    fn operator(&mut self, level: usize) -> Option<&'static str> {
        let rest = self.rest.trim_start();
        let all = LEVELS.iter().copied().flatten().copied();
        let fits = |sign: &&str| {
            rest.starts_with(*sign)
                && (!sign.starts_with(char::is_alphabetic)
                    || !rest
                        .get(sign.len()..)
                        .is_some_and(|rest| rest.starts_with(|letter: char| letter.is_alphanumeric())))
        };
        let sign = all.filter(fits).max_by_key(|sign| sign.len())?;
        LEVELS.get(level)?.contains(&sign).then(|| {
            self.rest = rest.get(sign.len()..).unwrap_or("");
            sign
        })
    }
}

fn string_end(text: &str) -> usize {
    let mut is_escaped = false;
    let mut open = 0_usize;
    for (at, letter) in text.char_indices() {
        match letter {
            _ if is_escaped => is_escaped = false,
            '\\' => is_escaped = true,
            '[' => open += 1,
            ']' => open = open.saturating_sub(1),
            '"' if open == 0 => return at,
            _ => {}
        }
    }
    text.len()
}

/// True if a value counts as true; none if that is not known.
pub(super) fn truth_of(value: &str) -> Option<bool> {
    match value.trim() {
        "1" | "true" | "yes" | "on" | "True" | "TRUE" => Some(true),
        "0" | "false" | "no" | "off" | "False" | "FALSE" => Some(false),
        text if text.contains(UNKNOWN) || text.is_empty() => None,
        text => text.parse::<f64>().ok().map(|number| number != 0.0),
    }
}

fn whole(text: &str) -> Option<i64> {
    let text = text.trim();
    match text.strip_prefix("0x") {
        Some(digits) => i64::from_str_radix(digits, 16).ok(),
        None => text.parse().ok(),
    }
}

fn integers(left: i64, sign: &str, right: i64) -> Option<String> {
    let flag = |holds: bool| Some(i64::from(holds));
    let number = match sign {
        "+" => left.checked_add(right),
        "-" => left.checked_sub(right),
        "*" => left.checked_mul(right),
        "/" => left.checked_div_euclid(right).filter(|_| right != 0),
        "%" => left.checked_rem_euclid(right),
        "**" => u32::try_from(right).ok().and_then(|right| left.checked_pow(right)),
        "<<" => u32::try_from(right).ok().and_then(|right| left.checked_shl(right)),
        ">>" => u32::try_from(right).ok().and_then(|right| left.checked_shr(right)),
        "&" => Some(left & right),
        "|" => Some(left | right),
        "^" => Some(left ^ right),
        "==" => flag(left == right),
        "!=" => flag(left != right),
        "<" => flag(left < right),
        ">" => flag(left > right),
        "<=" => flag(left <= right),
        ">=" => flag(left >= right),
        _ => None,
    };
    number.map(|number| number.to_string())
}

#[expect(clippy::float_cmp, reason = "Tcl compares them in the same way")]
fn reals(left: f64, sign: &str, right: f64) -> Option<String> {
    let flag = |holds: bool| Some(u8::from(holds).to_string());
    let number = match sign {
        "+" => left + right,
        "-" => left - right,
        "*" => left * right,
        "/" if right != 0.0 => left / right,
        "**" => left.powf(right),
        "==" => return flag(left == right),
        "!=" => return flag(left != right),
        "<" => return flag(left < right),
        ">" => return flag(left > right),
        "<=" => return flag(left <= right),
        ">=" => return flag(left >= right),
        _ => return None,
    };
    Some(if number.fract() == 0.0 { format!("{number:.1}") } else { number.to_string() })
}

fn function(name: &str, values: &[String]) -> String {
    let numbers: Option<Vec<f64>> = values.iter().map(|value| value.trim().parse().ok()).collect();
    let Some(numbers) = numbers else { return UNKNOWN.to_string() };
    let first = numbers.first().copied().unwrap_or(0.0);
    let whole = |number: f64| format!("{number:.0}");
    match name {
        "int" | "wide" | "entier" => whole(first.trunc()),
        "round" => whole(first.round()),
        "abs" if first.fract() == 0.0 => whole(first.abs()),
        "abs" => first.abs().to_string(),
        "floor" | "ceil" => format!("{:.1}", if name == "floor" { first.floor() } else { first.ceil() }),
        "double" => format!("{first:?}"),
        "bool" => u8::from(first != 0.0).to_string(),
        "max" | "min" => {
            let best = numbers.iter().copied().reduce(if name == "max" { f64::max } else { f64::min }).unwrap_or(first);
            if best.fract() == 0.0 { whole(best) } else { best.to_string() }
        }
        "pow" => format!("{:?}", first.powf(numbers.get(1).copied().unwrap_or(1.0))),
        "sqrt" => format!("{:?}", first.sqrt()),
        _ => UNKNOWN.to_string(),
    }
}
