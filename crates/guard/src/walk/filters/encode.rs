//! `base64`, `base32` and `basenc`, in both directions.

use super::options::{Exact, Given, Inexact, OrUnknown, text_of};
use crate::walk::ScriptWalk;

const BASE64: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
const BASE64URL: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
const BASE32: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";
const BASE32HEX: &str = "0123456789ABCDEFGHIJKLMNOPQRSTUV";
const BASE16: &str = "0123456789ABCDEF";

const LONG_NAMES: [(&str, char); 11] = [
    ("decode", 'd'),
    ("ignore-garbage", 'i'),
    ("wrap", 'w'),
    ("base64", '6'),
    ("base64url", 'u'),
    ("base32", '3'),
    ("base32hex", 'h'),
    ("base16", 'x'),
    ("base2msbf", '2'),
    ("base2lsbf", 'l'),
    ("z85", 'Z'),
];

pub(super) fn encode(walk: &mut ScriptWalk<'_>, name: &str, arguments: &[String]) -> Exact<String> {
    let given = Given::read(arguments, "diDw:b:6u3hx2lZ", &LONG_NAMES)?;
    let text = walk.exact_input(&given.operands)?;
    let kind = match name {
        "base32" => '3',
        "basenc" => {
            given.options().map(|(letter, _)| letter).filter(|kind| "6u3hx2l".contains(*kind)).last().or_unknown()?
        }
        _ => '6',
    };
    let (alphabet, width) = match kind {
        '3' => (BASE32, 5),
        'h' => (BASE32HEX, 5),
        'x' => (BASE16, 4),
        '2' => ("01", 1),
        'u' => (BASE64URL, 6),
        '6' => (BASE64, 6),
        _ => return Err(Inexact::Unknown),
    };
    if given.has('d') || given.has('D') {
        // Text with letters outside of the alphabet is decoded as far as it goes.
        let decoded = decoded(&text, alphabet, width, given.has('i')).ok_or(Inexact::Marked)?;
        return text_of(decoded);
    }
    let wrap = match given.number('w')? {
        Some(width) => width,
        // On a Mac `-b` is the width, and none is usual.
        None => given.number('b')?.unwrap_or(76),
    };
    let mut out = encoded(text.as_bytes(), alphabet, width);
    if wrap > 0 {
        let letters: Vec<char> = out.chars().collect();
        out = letters.chunks(wrap).map(|line| line.iter().collect::<String>() + "\n").collect();
    }
    Ok(out)
}

fn encoded(bytes: &[u8], alphabet: &str, width: usize) -> String {
    let alphabet: Vec<char> = alphabet.chars().collect();
    let mask = alphabet.len().saturating_sub(1);
    let (mut held, mut count) = (0_usize, 0);
    let mut out = String::with_capacity(bytes.len() * 8 / width + 8);
    for byte in bytes {
        held = (held & 0xff) << 8 | usize::from(*byte);
        count += 8;
        while count >= width {
            count -= width;
            out.extend(alphabet.get(held >> count & mask));
        }
    }
    if count > 0 {
        out.extend(alphabet.get(held << (width - count) & mask));
    }
    let group = match width {
        6 => 4,
        5 => 8,
        _ => 1,
    };
    while !out.len().is_multiple_of(group) {
        out.push('=');
    }
    out
}

fn decoded(text: &str, alphabet: &str, width: usize, skips: bool) -> Option<Vec<u8>> {
    let (mut held, mut count) = (0_usize, 0);
    let mut bytes = Vec::with_capacity(text.len());
    for letter in text.chars() {
        let digit = match alphabet.find(letter) {
            Some(digit) => digit,
            None if matches!(letter, '\n' | '=') || skips => continue,
            None => return None,
        };
        held = (held << width | digit) & 0xffff;
        count += width;
        if count >= 8 {
            count -= 8;
            bytes.push(u8::try_from(held >> count & 0xff).ok()?);
        }
    }
    Some(bytes)
}
