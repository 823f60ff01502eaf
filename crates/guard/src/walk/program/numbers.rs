//! Numbers.

use crate::walk::program::Trial;
use crate::walk::program::value::Value;

/// A number as a float.
#[expect(clippy::cast_precision_loss, reason = "JavaScript has no other numbers either")]
pub(super) fn as_float(value: &Value) -> f64 {
    match value {
        Value::Float(number) => *number,
        value => value.as_int().map_or(f64::NAN, |number| number as f64),
    }
}

/// A float as a value; one without a fraction is a whole number in JavaScript.
pub(super) fn float(number: f64, is_python: bool) -> Value {
    match Value::Float(number).as_int() {
        Some(whole) if !is_python => Value::Int(whole),
        _ => Value::Float(number),
    }
}

impl Trial<'_, '_> {
    /// The result of an operator between numbers.
    pub(super) fn numbers(&self, left: &Value, operator: &str, right: &Value) -> Value {
        let is_float = matches!(left, Value::Float(_)) || matches!(right, Value::Float(_));
        if let (Some(left), Some(right), false) =
            (left.as_int(), right.as_int(), is_float && !matches!(operator, "|" | "&" | "^" | "<<" | ">>" | ">>>"))
        {
            let whole = self.whole_numbers(left, operator, right);
            return whole.map_or_else(|| float(fraction(left, operator, right), self.is_python()), Value::Int);
        }
        if left.is_unknown() || right.is_unknown() {
            return self.unknown_of([left, right]);
        }
        let (left, right) = (as_float(left), as_float(right));
        float(
            match operator {
                "+" => left + right,
                "-" => left - right,
                "*" => left * right,
                "/" => left / right,
                "//" => (left / right).floor(),
                "%" => left % right,
                "**" => left.powf(right),
                _ => f64::NAN,
            },
            self.is_python(),
        )
    }

    fn whole_numbers(&self, left: i128, operator: &str, right: i128) -> Option<i128> {
        let shift = || u32::try_from(right).ok().filter(|bits| *bits < 100);
        // JavaScript has 32 bits where it has bits at all.
        let bits = |number: i128| {
            if self.is_python() {
                Some(number)
            } else {
                i32::try_from(number & 0xffff_ffff)
                    .ok()
                    .map(i128::from)
                    .or_else(|| u32::try_from(number & 0xffff_ffff).ok().map(|bits| i128::from(bits.cast_signed())))
            }
        };
        match operator {
            "+" => left.checked_add(right),
            "-" => left.checked_sub(right),
            "*" => left.checked_mul(right),
            "//" => left
                .checked_div_euclid(right)
                .map(|quotient| if right < 0 && left.rem_euclid(right) != 0 { quotient - 1 } else { quotient }),
            "/" if !self.is_python() && right != 0 && left % right == 0 => Some(left / right),
            "%" if self.is_python() => {
                let rest = left.checked_rem(right)?;
                Some(if rest != 0 && (rest < 0) != (right < 0) { rest + right } else { rest })
            }
            "%" => left.checked_rem(right),
            "**" => u32::try_from(right).ok().and_then(|power| left.checked_pow(power)),
            "|" => bits(left | right),
            "&" => bits(left & right),
            "^" => bits(left ^ right),
            "<<" => left.checked_shl(shift()?).filter(|_| left.abs() < 1 << 64 && right < 60).and_then(bits),
            ">>" => left.checked_shr(shift()?),
            ">>>" => (left & 0xffff_ffff).checked_shr(shift()?),
            _ => None,
        }
    }

    /// The number that JavaScript makes of a value.
    pub(super) fn number_of(&self, value: &Value) -> Value {
        match value {
            Value::Int(_) | Value::Float(_) => value.clone(),
            Value::Bool(_) => Value::Int(value.as_int().unwrap_or(0)),
            Value::None => Value::Int(0),
            Value::Undefined => Value::Float(f64::NAN),
            Value::Text(text) => match value.known_text() {
                Some(text) => parsed_number(text.trim(), 10).unwrap_or(Value::Float(if text.trim().is_empty() {
                    0.0
                } else {
                    f64::NAN
                })),
                None => super::value::unknown_like(text),
            },
            value => self.unknown_of([value]),
        }
    }
}

/// A number that a text is.
pub(super) fn parsed_number(text: &str, radix: u32) -> Option<Value> {
    let lower = text.trim().replace('_', "").to_lowercase();
    let (sign, digits) = match lower.strip_prefix('-') {
        Some(digits) => (-1, digits),
        None => (1, lower.strip_prefix('+').unwrap_or(&lower)),
    };
    let prefixed = [("0x", 16), ("0o", 8), ("0b", 2)].into_iter().find_map(|(prefix, own)| {
        let digits = digits.strip_prefix(prefix).filter(|_| radix == own || radix == 0 || radix == 10 && own == 16)?;
        i128::from_str_radix(digits, own).ok()
    });
    let radix = if (2..=36).contains(&radix) { radix } else { 10 };
    let whole = prefixed.or_else(|| i128::from_str_radix(digits, radix).ok());
    match whole {
        Some(number) => Some(Value::Int(number * sign)),
        None if radix == 10 && digits.starts_with(|letter: char| letter.is_ascii_digit() || letter == '.') => {
            lower.parse().ok().map(Value::Float)
        }
        None => None,
    }
}

#[expect(clippy::cast_precision_loss, reason = "a division has a fraction anyway")]
fn fraction(left: i128, operator: &str, right: i128) -> f64 {
    match operator {
        "/" if right != 0 => left as f64 / right as f64,
        "**" => (left as f64).powf(right as f64),
        _ => f64::NAN,
    }
}
