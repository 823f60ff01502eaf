//! Encodings that programs hide text in.

use crate::walk::program::call::Given;
use crate::walk::program::value::Value;
use crate::walk::program::{Run, Trial};

/// Decodes digits of so many bits each. Letters outside of the alphabet are skipped.
fn bits(text: &[u8], width: u32, value: impl Fn(u8) -> Option<u32>) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(text.len());
    let (mut held, mut count) = (0_u32, 0);
    for digit in text.iter().filter_map(|letter| value(*letter)) {
        held = (held << width) | digit;
        count += width;
        if count >= 8 {
            count -= 8;
            bytes.push(u8::try_from((held >> count) & 0xff).unwrap_or(0));
            held &= (1 << count) - 1;
        }
    }
    bytes
}

pub(super) fn base64(text: &[u8]) -> Vec<u8> {
    bits(text, 6, |letter| {
        Some(u32::from(match letter {
            b'A'..=b'Z' => letter - b'A',
            b'a'..=b'z' => letter - b'a' + 26,
            b'0'..=b'9' => letter - b'0' + 52,
            b'+' | b'-' => 62,
            b'/' | b'_' => 63,
            _ => return None,
        }))
    })
}

pub(super) fn base32(text: &[u8]) -> Vec<u8> {
    bits(text, 5, |letter| {
        Some(u32::from(match letter.to_ascii_uppercase() {
            letter @ b'A'..=b'Z' => letter - b'A',
            letter @ b'2'..=b'7' => letter - b'2' + 26,
            _ => return None,
        }))
    })
}

pub(super) fn base16(text: &[u8]) -> Vec<u8> {
    bits(text, 4, |letter| char::from(letter).to_digit(16))
}

/// Decodes the alphabet of `b85decode`, or that of `a85decode`.
fn base85(text: &[u8], is_ascii: bool) -> Option<Vec<u8>> {
    const ALPHABET: &[u8] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz!#$%&()*+-;<=>?@^_`{|}~";
    let mut digits: Vec<u32> = Vec::new();
    for letter in text.iter().filter(|letter| !letter.is_ascii_whitespace()) {
        let digit = if is_ascii {
            letter.checked_sub(b'!').map(usize::from)
        } else {
            ALPHABET.iter().position(|own| own == letter)
        };
        digits.push(u32::try_from(digit?).ok().filter(|digit| *digit < 85)?);
    }
    let padding = (5 - digits.len() % 5) % 5;
    digits.extend(std::iter::repeat_n(84, padding));
    let mut bytes = Vec::new();
    for group in digits.chunks(5) {
        let number = group.iter().try_fold(0_u32, |number, digit| number.checked_mul(85)?.checked_add(*digit))?;
        bytes.extend(number.to_be_bytes());
    }
    bytes.truncate(bytes.len() - padding);
    Some(bytes)
}

/// Encodes bytes in base64.
pub(super) fn base64_text(bytes: &[u8]) -> String {
    const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::new();
    for group in bytes.chunks(3) {
        let number =
            group.iter().chain([0, 0].iter()).take(3).fold(0_usize, |number, byte| number << 8 | usize::from(*byte));
        for digit in 0..4 {
            let letter = ALPHABET.get(number >> (18 - 6 * digit) & 63).copied().unwrap_or(b'=');
            text.push(if digit <= group.len() { char::from(letter) } else { '=' });
        }
    }
    text
}

pub(super) fn utf16(bytes: &[u8]) -> String {
    let units = bytes.chunks(2).map(|pair| pair.iter().rev().fold(0_u16, |unit, byte| unit << 8 | u16::from(*byte)));
    char::decode_utf16(units).filter_map(Result::ok).filter(|letter| *letter != '\u{feff}').collect()
}

impl Trial<'_, '_> {
    /// Calls that decode or encode. None if this is no such call.
    pub(super) fn codec_call(&mut self, name: &str, given: &Given) -> Run<Option<Value>> {
        let base = name.rsplit('.').next().unwrap_or(name);
        if !matches!(
            base,
            "b64decode"
                | "urlsafe_b64decode"
                | "standard_b64decode"
                | "decodebytes"
                | "a2b_base64"
                | "atob"
                | "b32decode"
                | "b16decode"
                | "unhexlify"
                | "a2b_hex"
                | "fromhex"
                | "b85decode"
                | "a85decode"
                | "b64encode"
                | "hexlify"
                | "b2a_hex"
                | "btoa"
                | "urlsafe_b64encode"
                | "decode"
                | "encode"
                | "unquote"
                | "unquote_plus"
                | "decodeURIComponent"
                | "decodeURI"
                | "unescape"
                | "b2a_base64"
        ) {
            return Ok(None);
        }
        let Some(bytes) = self.bytes_of(&given.at(0))? else { return Ok(Some(self.unknown_of(&given.values))) };
        self.spend(bytes.len() / 16)?;
        let decoded = match base {
            "b64decode" | "urlsafe_b64decode" | "standard_b64decode" | "decodebytes" | "a2b_base64" => base64(&bytes),
            "atob" => return self.text_of_bytes(&base64(&bytes)).map(Some),
            "b32decode" => base32(&bytes),
            "b16decode" | "unhexlify" | "a2b_hex" | "fromhex" => base16(&bytes),
            "b85decode" | "a85decode" => match base85(&bytes, base == "a85decode") {
                Some(bytes) => bytes,
                None => return Ok(Some(Value::Lost)),
            },
            "b64encode" | "urlsafe_b64encode" | "b2a_base64" => base64_text(&bytes).into_bytes(),
            "btoa" => return Ok(Some(Value::text(base64_text(&bytes)))),
            "hexlify" | "b2a_hex" => bytes.iter().flat_map(|byte| format!("{byte:02x}").into_bytes()).collect(),
            "unquote" | "unquote_plus" | "decodeURIComponent" | "decodeURI" | "unescape"
                if !name.starts_with("html") =>
            {
                let plain = unquoted(&bytes, base == "unquote_plus");
                return self.text_of_bytes(&plain).map(Some);
            }
            "decode" | "encode" if name.starts_with("codecs.") => {
                let rest = Given::of(given.rest(1));
                let code = self.encoding(&rest, "utf-8")?;
                return self.codec(&bytes, base, &code).map(Some);
            }
            _ => return Ok(None),
        };
        Ok(Some(Value::Bytes(decoded.into())))
    }

    fn codec(&mut self, bytes: &[u8], base: &str, code: &str) -> Run<Value> {
        Ok(match (code.trim_end_matches("-codec"), base) {
            ("rot13" | "rot-13", _) => Value::text(crate::walk::decode::rot13(&String::from_utf8_lossy(bytes))),
            ("hex", "decode") => Value::Bytes(base16(bytes).into()),
            ("base64", "decode") => Value::Bytes(base64(bytes).into()),
            ("utf-8" | "ascii" | "utf8" | "latin-1", "decode") => return self.text_of_bytes(bytes),
            ("utf-8" | "ascii" | "utf8" | "latin-1", _) => Value::Bytes(bytes.into()),
            ("unicode-escape", "decode") => {
                let text = String::from_utf8_lossy(bytes).into_owned();
                let mut plain = String::new();
                let mut rest = text.as_str();
                while let Some(letter) = rest.chars().next() {
                    let taken = if letter == '\\' { super::escapes::read_escape(rest, true) } else { None };
                    let (length, meant) = taken.unwrap_or((letter.len_utf8(), letter.to_string()));
                    plain.push_str(&meant);
                    rest = rest.get(length..).unwrap_or("");
                }
                return self.new_text(plain);
            }
            _ => Value::Lost,
        })
    }

    pub(super) fn text_of_bytes(&mut self, bytes: &[u8]) -> Run<Value> {
        let text = String::from_utf8_lossy(bytes);
        self.new_text(crate::marks::without_marks(&text).into_owned())
    }
}

/// `%41` as the letter that it stands for.
fn unquoted(bytes: &[u8], plus_is_blank: bool) -> Vec<u8> {
    let mut out = Vec::new();
    let mut rest = bytes;
    while let Some((first, after)) = rest.split_first() {
        let code = after
            .get(..2)
            .and_then(|digits| std::str::from_utf8(digits).ok())
            .and_then(|digits| u8::from_str_radix(digits, 16).ok());
        match (first, code) {
            (b'%', Some(code)) => {
                out.push(code);
                rest = after.get(2..).unwrap_or(&[]);
                continue;
            }
            (b'+', _) if plus_is_blank => out.push(b' '),
            _ => out.push(*first),
        }
        rest = after;
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn encodings_are_read_as_they_are_written() {
        assert_eq!(base64(base64_text(b"git push -f").as_bytes()), b"git push -f");
        assert_eq!(base32(b"M5UXI==="), b"git");
        assert_eq!(base16(b"676974"), b"git");
        assert_eq!(base85(b"XmoUNZVp", false).map(|bytes| bytes.len()), Some(6));
        assert_eq!(unquoted(b"%2Dforce+x", true), b"-force x");
    }
}
