//! Operators and assignments of Perl.

use crate::walk::perl::ast::Expr;
use crate::walk::perl::expressions::{LONGEST, MOST_ITEMS};
use crate::walk::perl::run::{Outcome, Perl};
use crate::walk::perl::value::Val;

impl Perl<'_, '_> {
    /// Operators one behind the other, from the left.
    pub(super) fn chain(&mut self, expression: &Expr) -> Outcome<Val> {
        let mut rest = Vec::new();
        let mut first = expression;
        while let Expr::Binary(sign, left, right) = first {
            rest.push((*sign, right));
            first = left;
        }
        let mut value = self.scalar(first)?;
        for (sign, right) in rest.into_iter().rev() {
            let right = self.scalar(right)?;
            value = self.binary(sign, &value, &right)?;
        }
        Ok(value)
    }

    pub(super) fn assignment(&mut self, target: &Expr, sign: &str, value: &Expr) -> Outcome<Val> {
        if sign.is_empty() {
            if target.is_list() {
                let values = self.list(value)?;
                let count = values.len();
                let is_marked = values.iter().any(Val::is_unknown);
                self.assign_list(target, values)?;
                return Ok(if is_marked { Val::unknown() } else { Val::count(count) });
            }
            let value = self.scalar(value)?;
            self.assign(target, value.clone())?;
            return Ok(value);
        }
        if matches!(target, Expr::Array(_)) && sign == "x" {
            let items = self.list(target)?;
            let count = self.scalar(value)?.number().unwrap_or(1.0).clamp(0.0, 64.0);
            let count: usize = format!("{count:.0}").parse().unwrap_or(1);
            let items: Vec<Val> = std::iter::repeat_n(items, count).flatten().take(MOST_ITEMS).collect();
            self.assign_list(target, items)?;
            return Ok(Val::Undefined);
        }
        let before = self.scalar(target)?;
        let after = match sign {
            "||" | "&&" => match before.truth() {
                Some(truth) if truth == (sign == "||") => return Ok(before),
                None if self.ask() == (sign == "||") => return Ok(before),
                _ => self.scalar(value)?,
            },
            "//" if before.is_defined() => return Ok(before),
            "//" => self.scalar(value)?,
            "x" => {
                let count = self.scalar(value)?.number().unwrap_or(0.0).clamp(0.0, 40_000.0);
                let count: usize = format!("{:.0}", count.floor()).parse().unwrap_or(0);
                let text = before.to_text();
                if text.len().saturating_mul(count) > LONGEST { Val::unknown() } else { Val::text(text.repeat(count)) }
            }
            sign => {
                let right = self.scalar(value)?;
                self.binary(sign, &before, &right)?
            }
        };
        self.assign(target, after.clone())?;
        Ok(after)
    }

    pub(super) fn binary(&mut self, sign: &str, left: &Val, right: &Val) -> Outcome<Val> {
        if sign == "." {
            let text = format!("{}{}", left.to_text(), right.to_text());
            return self.bounded(text);
        }
        if matches!(sign, "eq" | "ne" | "lt" | "gt" | "le" | "ge" | "cmp") {
            let (left, right) = (self.plain(left), self.plain(right));
            let (Some(left), Some(right)) = (left, right) else { return Ok(Val::unknown()) };
            let order = left.cmp(&right);
            return Ok(match sign {
                "eq" => Val::flag(order.is_eq()),
                "ne" => Val::flag(order.is_ne()),
                "lt" => Val::flag(order.is_lt()),
                "gt" => Val::flag(order.is_gt()),
                "le" => Val::flag(order.is_le()),
                "ge" => Val::flag(order.is_ge()),
                _ => Val::Number(f64::from(order as i8)),
            });
        }
        if sign == "xor" {
            let (Some(left), Some(right)) = (left.truth(), right.truth()) else { return Ok(Val::unknown()) };
            return Ok(Val::flag(left != right));
        }
        if sign == "isa" {
            return Ok(Val::unknown());
        }
        let (Some(a), Some(b)) = (left.number(), right.number()) else { return Ok(Val::unknown()) };
        Ok(numbers(sign, a, b))
    }

    /// The text of a value if it is known letter by letter.
    pub(super) fn plain(&self, value: &Val) -> Option<String> {
        let text = self.walk.world.concrete(&value.to_text());
        (!crate::marks::has_mark(&text)).then_some(text)
    }
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_precision_loss,
    clippy::float_cmp,
    reason = "Perl's integers are cut the same way"
)]
fn numbers(sign: &str, a: f64, b: f64) -> Val {
    let whole = |number: f64| number as i64;
    let bits = |value: i64| Val::Number(value as f64);
    Val::Number(match sign {
        "+" => a + b,
        "-" => a - b,
        "*" => a * b,
        "/" if b != 0.0 => a / b,
        "%" if whole(b) != 0 => return whole(a).checked_rem_euclid(whole(b)).map_or_else(Val::unknown, bits),
        "**" => a.powf(b),
        "==" => return Val::flag(a == b),
        "!=" => return Val::flag(a != b),
        "<" => return Val::flag(a < b),
        ">" => return Val::flag(a > b),
        "<=" => return Val::flag(a <= b),
        ">=" => return Val::flag(a >= b),
        "<=>" => return Val::Number(a.partial_cmp(&b).map_or(0.0, |order| f64::from(order as i8))),
        "|" => return bits(whole(a) | whole(b)),
        "&" => return bits(whole(a) & whole(b)),
        "^" => return bits(whole(a) ^ whole(b)),
        "<<" => {
            return u32::try_from(whole(b))
                .ok()
                .and_then(|by| whole(a).checked_shl(by))
                .map_or_else(Val::unknown, bits);
        }
        ">>" => {
            return u32::try_from(whole(b))
                .ok()
                .and_then(|by| whole(a).checked_shr(by))
                .map_or_else(Val::unknown, bits);
        }
        _ => return Val::unknown(),
    })
}

/// True for a text that `++` counts up: `aa`, `a9`.
pub(super) fn is_magic(text: &str) -> bool {
    text.starts_with(|letter: char| letter.is_ascii_alphabetic())
        && text.chars().all(|letter| letter.is_ascii_alphanumeric())
}

/// The text behind another one, as `++` and ranges count.
pub(super) fn incremented(text: &str) -> String {
    let mut letters: Vec<char> = text.chars().collect();
    for letter in letters.iter_mut().rev() {
        let next = match *letter {
            'z' => 'a',
            'Z' => 'A',
            '9' => '0',
            other => {
                *letter = u32::from(other).checked_add(1).and_then(char::from_u32).unwrap_or(other);
                return letters.into_iter().collect();
            }
        };
        *letter = next;
    }
    let first = match letters.first() {
        Some('0') => '1',
        Some('A') => 'A',
        _ => 'a',
    };
    letters.insert(0, first);
    letters.into_iter().collect()
}
