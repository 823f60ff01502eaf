//! Texts of Perl: `sprintf`, `pack`, `unpack`, `substr`.

use crate::marks::{UNKNOWN, has_mark, without_marks};
use crate::walk::perl::value::{Val, number_text};

/// The longest field of `sprintf`.
const WIDEST: usize = 512;

/// The text of `sprintf`.
pub(super) fn formatted(format: &str, values: &[Val]) -> String {
    let mut out = String::new();
    let mut rest = format;
    let mut values = values.iter();
    let unknown = Val::Undefined;
    while let Some((before, after)) = rest.split_once('%') {
        out.push_str(before);
        if let Some(after) = after.strip_prefix('%') {
            out.push('%');
            rest = after;
            continue;
        }
        let end =
            after.find(|letter: char| letter.is_ascii_alphabetic() && !"lhqLV".contains(letter)).unwrap_or(after.len());
        let spec = after.get(..end).unwrap_or("");
        let kind = after.get(end..).and_then(|rest| rest.chars().next()).unwrap_or('s');
        rest = after.get((end + 1).min(after.len())..).unwrap_or("");
        let flags: String = spec.chars().take_while(|letter| "-+ 0#".contains(*letter)).collect();
        let size = spec.get(flags.len()..).unwrap_or("").trim_end_matches(['l', 'h', 'q', 'L', 'V']);
        let (width, precision) =
            size.split_once('.').map_or((size, None), |(width, precision)| (width, Some(precision)));
        let number = |text: &str, values: &mut std::slice::Iter<'_, Val>| match text {
            "*" => values.next().and_then(Val::number).map_or(0, |number| format!("{number:.0}").parse().unwrap_or(0)),
            text => text.parse::<i64>().unwrap_or(0),
        };
        let width = number(width, &mut values);
        let precision = precision.map(|precision| number(precision, &mut values));
        let value = values.next().unwrap_or(&unknown);
        let text = one_value(kind, &flags, precision, value);
        let is_left = flags.contains('-') || width < 0;
        let width = usize::try_from(width.unsigned_abs()).unwrap_or(0).min(WIDEST);
        let missing = width.saturating_sub(text.chars().count());
        if is_left {
            out.push_str(&text);
            out.push_str(&" ".repeat(missing));
        } else if flags.contains('0') && kind != 's' {
            let (sign, digits) = match text.strip_prefix('-') {
                Some(digits) => ("-", digits),
                None => ("", text.as_str()),
            };
            out.push_str(sign);
            out.push_str(&"0".repeat(missing));
            out.push_str(digits);
        } else {
            out.push_str(&" ".repeat(missing));
            out.push_str(&text);
        }
    }
    out.push_str(rest);
    out
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "Perl's integers are cut the same way")]
fn one_value(kind: char, flags: &str, precision: Option<i64>, value: &Val) -> String {
    if matches!(kind, 's' | 'c') || value.is_marked() {
        let text = value.to_text();
        if kind == 'c' {
            return value
                .number()
                .and_then(|code| char::from_u32(code as u32))
                .map_or(UNKNOWN.to_string(), |letter| without_marks(&letter.to_string()).into_owned());
        }
        let most = precision.and_then(|precision| usize::try_from(precision).ok());
        return match most {
            Some(most) if !has_mark(&text) => text.chars().take(most).collect(),
            _ => text,
        };
    }
    let Some(number) = value.number() else { return UNKNOWN.to_string() };
    let places = precision.and_then(|places| usize::try_from(places).ok()).unwrap_or(6).min(30);
    let text = match kind {
        'd' | 'i' | 'u' => format!("{}", number as i64),
        'x' => format!("{}{:x}", if flags.contains('#') { "0x" } else { "" }, number as i64),
        'X' => format!("{:X}", number as i64),
        'o' => format!("{:o}", number as i64),
        'b' => format!("{:b}", number as i64),
        'f' | 'F' => format!("{number:.places$}"),
        'e' => scientific(&format!("{number:.places$e}")),
        _ => number_text(number),
    };
    if flags.contains('+') && number >= 0.0 && kind != 'x' { format!("+{text}") } else { text }
}

/// The part of a text that `substr` means, in letters from and to; none if that is not known.
pub(super) fn substr_range(text: &str, numbers: &[Val]) -> Option<(usize, usize)> {
    if has_mark(text) {
        return None;
    }
    let length = i64::try_from(text.chars().count()).ok()?;
    let number = |value: &Val| value.number().and_then(|number| format!("{:.0}", number.trunc()).parse::<i64>().ok());
    let from = numbers.first().map_or(Some(0), number)?;
    let from = (if from < 0 { from + length } else { from }).clamp(0, length);
    let to = match numbers.get(1) {
        Some(Val::Undefined) | None => length,
        Some(count) => {
            let count = number(count)?;
            if count < 0 { length + count } else { from.saturating_add(count) }
        }
    };
    let to = to.clamp(from, length);
    Some((usize::try_from(from).ok()?, usize::try_from(to).ok()?))
}

/// The letters of a template of `pack`, each with its count; a star counts as all.
fn template_parts(template: &str) -> Vec<(char, Option<usize>)> {
    let mut parts = Vec::new();
    let mut letters = template.chars().filter(|letter| !letter.is_whitespace()).peekable();
    while let Some(letter) = letters.next() {
        let mut digits = String::new();
        let mut is_all = false;
        while let Some(next) = letters.peek().copied() {
            match next {
                '*' => is_all = true,
                '0'..='9' => digits.push(next),
                '<' | '>' | '!' => {}
                _ => break,
            }
            letters.next();
        }
        let count = if is_all { None } else { Some(digits.parse().unwrap_or(1)) };
        parts.push((letter, count));
    }
    parts
}

/// The text of `pack`; none if it is not known.
pub(super) fn packed(template: &str, values: &[Val]) -> Option<String> {
    let mut bytes: Vec<u8> = Vec::new();
    let mut values = values.iter();
    for (letter, count) in template_parts(template).into_iter().take(256) {
        match letter {
            'a' | 'A' | 'Z' => {
                let text = values.next()?.to_text();
                let most = count.unwrap_or(text.len()).min(4096);
                let fill = if letter == 'A' { b' ' } else { 0 };
                let part = text.bytes().chain(std::iter::repeat(fill)).take(most);
                bytes.extend(part);
            }
            'H' => {
                let text = values.next()?.to_text();
                let text: String = text.chars().take(count.unwrap_or(usize::MAX)).collect();
                bytes.extend(crate::walk::decode::hexadecimal(&text)?.into_bytes());
            }
            'C' | 'c' | 'U' | 'W' => {
                for _ in 0..count.unwrap_or(4096) {
                    let Some(value) = values.next() else { break };
                    let code = value.number().filter(|code| (0.0..128.0).contains(code))?;
                    bytes.push(format!("{code:.0}").parse().ok()?);
                }
            }
            'N' | 'n' => {
                let width = if letter == 'N' { 4 } else { 2 };
                for _ in 0..count.unwrap_or(1024) {
                    let Some(value) = values.next() else { break };
                    let code: u32 = format!("{:.0}", value.number()?).parse().ok()?;
                    bytes.extend(code.to_be_bytes().into_iter().skip(4 - width));
                }
            }
            'x' => bytes.extend(std::iter::repeat_n(0, count.unwrap_or(1).min(256))),
            _ => return None,
        }
        if bytes.len() > 16 << 10 {
            return None;
        }
    }
    let text = String::from_utf8(bytes).ok()?;
    Some(without_marks(&text).into_owned())
}

/// The values of `unpack`; none if they are not known.
pub(super) fn unpacked(template: &str, text: &str) -> Option<Vec<Val>> {
    if has_mark(text) {
        return None;
    }
    let mut values = Vec::new();
    let mut rest = text.as_bytes();
    for (letter, count) in template_parts(template).into_iter().take(256) {
        match letter {
            'a' | 'A' | 'Z' => {
                let (part, after) = rest.split_at_checked(count.unwrap_or(rest.len()).min(rest.len()))?;
                let part = String::from_utf8_lossy(part).into_owned();
                values.push(Val::text(if letter == 'A' {
                    part.trim_end_matches([' ', '\0', '\n']).to_owned()
                } else {
                    part
                }));
                rest = after;
            }
            'C' | 'c' | 'U' | 'W' => {
                let (part, after) = rest.split_at_checked(count.unwrap_or(rest.len()).min(rest.len()))?;
                values.extend(part.iter().map(|byte| Val::Number(f64::from(*byte))));
                rest = after;
            }
            'H' => {
                values.push(Val::text(rest.iter().map(|byte| format!("{byte:02x}")).collect::<Vec<_>>().concat()));
                rest = &[];
            }
            'u' => {
                let bytes = crate::walk::packed::uudecoded(std::str::from_utf8(rest).ok()?)?;
                values.push(Val::text(without_marks(&String::from_utf8(bytes).ok()?)));
                rest = &[];
            }
            'x' => rest = rest.get(count.unwrap_or(1)..)?,
            _ => return None,
        }
    }
    Some(values)
}

/// A number with its exponent as C writes it.
fn scientific(text: &str) -> String {
    let Some((digits, exponent)) = text.split_once('e') else { return text.to_owned() };
    match exponent.strip_prefix('-') {
        Some(exponent) => format!("{digits}e-{exponent:0>2}"),
        None => format!("{digits}e+{exponent:0>2}"),
    }
}
