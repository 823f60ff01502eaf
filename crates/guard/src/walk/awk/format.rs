//! `printf` and `sprintf`.

use std::rc::Rc;

use crate::marks::{SOME, UNKNOWN, has_mark};

use super::number;
use super::value::Value;

/// The widest field, in letters.
const WIDEST: usize = 4096;

/// One conversion of a format.
#[derive(Debug, Default)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of its own in a format")]
struct Conversion {
    is_left: bool,
    has_plus: bool,
    has_blank: bool,
    has_zeros: bool,
    is_alternate: bool,
    width: usize,
    precision: Option<usize>,
}

/// The text of a format and its values; `plain` is the format of numbers that are written as text.
pub(super) fn formatted(format: &str, values: &[Value], plain: &str) -> String {
    let mut out = String::new();
    let mut values = values.iter();
    let mut rest = format;
    while let Some(at) = rest.find('%') {
        out.push_str(rest.get(..at).unwrap_or(""));
        let mut letters = rest.get(at + 1..).unwrap_or("").chars();
        if letters.as_str().starts_with('%') {
            out.push('%');
            letters.next();
        } else {
            let (conversion, kind) = Conversion::read(&mut letters, &mut values);
            match kind {
                Some(kind) => conversion.write(kind, values.next(), plain, &mut out),
                None => out.push_str(rest.get(at..).unwrap_or("")),
            }
        }
        rest = letters.as_str();
        if out.len() > super::LONGEST_TEXT {
            out.push(UNKNOWN);
            return out;
        }
    }
    out.push_str(rest);
    out
}

impl Conversion {
    fn read(letters: &mut std::str::Chars<'_>, values: &mut std::slice::Iter<'_, Value>) -> (Self, Option<char>) {
        let mut own = Self::default();
        let mut in_precision = false;
        for letter in letters.by_ref() {
            match letter {
                '-' if !in_precision => own.is_left = true,
                '+' => own.has_plus = true,
                ' ' => own.has_blank = true,
                '#' => own.is_alternate = true,
                '0' if !in_precision && own.width == 0 => own.has_zeros = true,
                '.' => {
                    in_precision = true;
                    own.precision = Some(0);
                }
                '*' => {
                    let value = values.next().and_then(Value::number).and_then(number::whole).unwrap_or(0);
                    let size = usize::try_from(value.unsigned_abs()).unwrap_or(0).min(WIDEST);
                    if in_precision {
                        own.precision = (value >= 0).then_some(size);
                    } else {
                        own.is_left |= value < 0;
                        own.width = size;
                    }
                }
                '0'..='9' => {
                    let digit = letter.to_digit(10).and_then(|digit| usize::try_from(digit).ok()).unwrap_or(0);
                    let size = if in_precision { own.precision.get_or_insert(0) } else { &mut own.width };
                    *size = (*size * 10 + digit).min(WIDEST);
                }
                'l' | 'h' | 'L' | 'q' | 'j' | 'z' => {}
                kind => return (own, Some(kind)),
            }
        }
        (own, None)
    }

    fn write(&self, kind: char, value: Option<&Value>, plain: &str, out: &mut String) {
        let value = value.unwrap_or(&Value::Unset);
        let text = match kind {
            's' => {
                let text = value.to_text(plain);
                match self.precision {
                    Some(most) if !has_mark(&text) => text.chars().take(most).collect::<String>().into(),
                    _ => text,
                }
            }
            'c' => letter_of(value),
            _ => match value.number() {
                Some(number) => return self.write_number(kind, number, out),
                None => SOME.to_string().into(),
            },
        };
        self.pad("", &text, false, out);
    }

    fn write_number(&self, kind: char, number: f64, out: &mut String) {
        let precision = self.precision.unwrap_or(6);
        let size = number.abs();
        let digits = match kind {
            'd' | 'i' => number::whole(size).map_or_else(|| format!("{size:.0}"), |whole| whole.to_string()),
            'u' | 'o' | 'x' | 'X' => {
                let whole = number::whole(number).unwrap_or(0);
                match kind {
                    'o' => format!("{whole:o}"),
                    'x' => format!("{whole:x}"),
                    'X' => format!("{whole:X}"),
                    _ => whole.unsigned_abs().to_string(),
                }
            }
            'f' | 'F' => format!("{size:.precision$}"),
            'e' => number::scientific(size, precision),
            'E' => number::scientific(size, precision).to_uppercase(),
            'g' => number::general(size, precision, self.is_alternate),
            'G' => number::general(size, precision, self.is_alternate).to_uppercase(),
            other => {
                // No conversion: it stands for itself.
                out.push('%');
                out.push(other);
                return;
            }
        };
        let is_whole = matches!(kind, 'd' | 'i' | 'u' | 'o' | 'x' | 'X');
        let is_signed = !matches!(kind, 'u' | 'o' | 'x' | 'X');
        let zeros = if is_whole { self.precision.unwrap_or(0).saturating_sub(digits.len()) } else { 0 };
        let digits = format!("{}{digits}", "0".repeat(zeros));
        let is_zero = digits.bytes().all(|digit| digit == b'0');
        let sign = match kind {
            'x' if self.is_alternate && !is_zero => "0x",
            'X' if self.is_alternate && !is_zero => "0X",
            'o' if self.is_alternate && !is_zero => "0",
            _ if !is_signed => "",
            _ if number < 0.0 && !(is_whole && is_zero) => "-",
            _ if self.has_plus => "+",
            _ if self.has_blank => " ",
            _ => "",
        };
        self.pad(sign, &digits, self.has_zeros && !(is_whole && self.precision.is_some()), out);
    }

    fn pad(&self, sign: &str, text: &str, by_zeros: bool, out: &mut String) {
        // The width of unknown text is not known, and blanks would only be in the way.
        let width = if has_mark(text) { 0 } else { self.width };
        let missing = width.saturating_sub(sign.len() + text.chars().count());
        match (self.is_left, by_zeros) {
            (true, _) => {
                out.push_str(sign);
                out.push_str(text);
                out.push_str(&" ".repeat(missing));
            }
            (false, true) => {
                out.push_str(sign);
                out.push_str(&"0".repeat(missing));
                out.push_str(text);
            }
            (false, false) => {
                out.push_str(&" ".repeat(missing));
                out.push_str(sign);
                out.push_str(text);
            }
        }
    }
}

/// `%c`: the letter with this number, or the first letter of a text.
fn letter_of(value: &Value) -> Rc<str> {
    let number = match value {
        Value::Number(number) => Some(*number),
        Value::Input(text) if !has_mark(text) && number::looks_numeric(text) => Some(number::leading(text)),
        _ => None,
    };
    if let Some(number) = number {
        let code = number::whole(number).and_then(|code| u32::try_from(code).ok()).and_then(char::from_u32);
        // A number that is a mark's must not become that mark.
        let letter = code.filter(|letter| !crate::marks::is_mark(*letter));
        return letter.map_or_else(|| "".into(), |letter| letter.to_string().into());
    }
    let text = value.to_text("%.6g");
    match text.chars().next() {
        Some(letter) if !has_mark(&text) => letter.to_string().into(),
        Some(letter) if !crate::marks::is_mark(letter) => letter.to_string().into(),
        Some(_) => text,
        None => "".into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn conversions_are_those_of_awk() {
        let number = Value::Number;
        for (format, values, expected) in [
            ("%d|%5d|%-5d|%05d", vec![number(3.9), number(42.0), number(42.0), number(-42.0)], "3|   42|42   |-0042"),
            (
                "%s %10s|%-4s|%.2s",
                vec![Value::text("a"), Value::text("b"), Value::text("c"), Value::text("dddd")],
                "a          b|c   |dd",
            ),
            ("%c%c%c", vec![number(97.0), Value::text("hello"), Value::input("100")], "ahd"),
            ("%x %X %o %#x", vec![number(255.0), number(255.0), number(8.0), number(255.0)], "ff FF 10 0xff"),
            (
                "%.2f %e %g %G",
                vec![number(2.71999), number(12345.678), number(1e-5), number(1e10)],
                "2.72 1.234568e+04 1e-05 1E+10",
            ),
            ("%*d|%-*d|", vec![number(4.0), number(7.0), number(4.0), number(7.0)], "   7|7   |"),
            ("%+d % d %%", vec![number(5.0), number(5.0)], "+5  5 %"),
            ("%s", vec![], ""),
            ("%5.1f|%-8.3e|", vec![number(2.25), number(0.5)], "  2.2|5.000e-01|"),
            ("%i", vec![Value::text("12abc")], "12"),
        ] {
            assert_eq!(formatted(format, &values, "%.6g"), expected);
        }
    }
}
