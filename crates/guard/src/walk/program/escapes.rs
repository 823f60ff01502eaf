//! Escapes in strings.

use crate::marks::is_mark;

/// The letter of a code, as a program may write it. It never makes a mark.
pub(super) fn letter_of(code: u32) -> Option<char> {
    char::from_u32(code).map(|letter| if is_mark(letter) { '\u{fffd}' } else { letter })
}

/// The length and the meaning of the escape that begins the text.
pub(super) fn read_escape(text: &str, is_python: bool) -> Option<(usize, String)> {
    let mut letters = text.chars().skip(1);
    let letter = letters.next()?;
    let whole = 1 + letter.len_utf8();
    let one = |meant: &str| Some((whole, meant.to_owned()));
    match letter {
        'n' => one("\n"),
        't' => one("\t"),
        'r' => one("\r"),
        'a' if is_python => one("\u{7}"),
        'b' => one("\u{8}"),
        'f' => one("\u{c}"),
        'v' => one("\u{b}"),
        '\n' => one(""),
        'x' => coded(text, 2, 2),
        'u' if text.starts_with("\\u{") => {
            let end = text.find('}')?;
            let code = u32::from_str_radix(text.get(3..end)?, 16).ok();
            Some((end + 1, code.and_then(letter_of).map(String::from).unwrap_or_default()))
        }
        'u' => coded(text, 2, 4),
        'U' if is_python => coded(text, 2, 8),
        'N' if is_python && text.starts_with("\\N{") => {
            let end = text.find('}')?;
            Some((end + 1, named(text.get(3..end)?).to_owned()))
        }
        '0'..='7' => {
            let digits: String = text.chars().skip(1).take(3).take_while(|digit| ('0'..='7').contains(digit)).collect();
            let code = u32::from_str_radix(&digits, 8).ok().and_then(letter_of);
            Some((1 + digits.len(), code.map(String::from).unwrap_or_default()))
        }
        '\\' | '\'' | '"' => one(&letter.to_string()),
        // Python leaves the others as they are.
        _ if is_python => Some((whole, format!("\\{letter}"))),
        _ => one(&letter.to_string()),
    }
}

/// Names of letters that hide words.
fn named(name: &str) -> &'static str {
    match name {
        "HYPHEN-MINUS" => "-",
        "FULL STOP" => ".",
        "SOLIDUS" => "/",
        "PLUS SIGN" => "+",
        "SPACE" => " ",
        "TILDE" => "~",
        "ASTERISK" => "*",
        "COLON" => ":",
        _ => "?",
    }
}

/// A letter by its code in hexadecimal digits.
fn coded(text: &str, from: usize, count: usize) -> Option<(usize, String)> {
    let code = text.get(from..from + count).and_then(|digits| u32::from_str_radix(digits, 16).ok());
    match code {
        Some(code) => Some((from + count, letter_of(code).map(String::from).unwrap_or_default())),
        None => Some((from, text.get(1..from)?.to_owned())),
    }
}

/// The bytes of a literal of Python, as they are meant.
pub(super) fn read_bytes(written: &str) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut rest = written;
    while let Some(letter) = rest.chars().next() {
        if letter == '\\'
            && let Some((taken, meant)) = read_escape(rest, true)
        {
            let is_code = rest.get(1..2).is_some_and(|kind| "x01234567".contains(kind));
            match meant.chars().next() {
                Some(letter) if is_code => bytes.push(u8::try_from(u32::from(letter)).unwrap_or(b'?')),
                _ => bytes.extend(meant.as_bytes()),
            }
            rest = rest.get(taken..).unwrap_or("");
        } else {
            let mut buffer = [0; 4];
            bytes.extend(letter.encode_utf8(&mut buffer).as_bytes());
            rest = rest.get(letter.len_utf8()..).unwrap_or("");
        }
    }
    bytes
}
