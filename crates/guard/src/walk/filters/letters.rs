//! `tr`: every byte by itself.

use super::options::{Exact, Given, Inexact, OrUnknown, text_of};
use crate::walk::ScriptWalk;

/// One part of a set.
enum SetPart {
    Bytes(Vec<u8>),
    /// `[:lower:]` or `[:upper:]`, which change case if they stand in both sets.
    Case(Vec<u8>),
    /// Any other class.
    Class(Vec<u8>),
    /// `[c*]`: as often as the first set is longer.
    Filling(u8),
}

pub(super) fn tr(walk: &mut ScriptWalk<'_>, _: &str, arguments: &[String]) -> Exact<String> {
    let long_names = [("complement", 'c'), ("delete", 'd'), ("squeeze-repeats", 's'), ("truncate-set1", 't')];
    // Options end where the sets begin.
    let start = arguments.iter().position(|word| !word.starts_with('-') || word.len() < 2).unwrap_or(arguments.len());
    let dashes = arguments.iter().take(start).position(|word| word == "--").map_or(start, |at| at + 1);
    let (options, sets) = arguments.split_at(dashes);
    let given = Given::read(options, "cCdst", &long_names)?;
    if sets.iter().any(|set| crate::marks::has_mark(set)) {
        return Err(Inexact::Marked);
    }
    let text = walk.exact_text("-")?;
    let (first, second) = match sets {
        [first] => (parts(first)?, None),
        [first, second] => (parts(first)?, Some(parts(second)?)),
        _ => return Err(Inexact::Unknown),
    };
    let mut from = bytes_of(&first, 0).or_unknown()?;
    if given.has('c') || given.has('C') {
        from = (0..=u8::MAX).filter(|byte| !from.contains(byte)).collect();
    }
    let is_deleting = given.has('d');
    let mut map: Vec<Option<u8>> = (0..=u8::MAX).map(Some).collect();
    let mut squeezed = Vec::new();
    match &second {
        _ if is_deleting => {
            for byte in &from {
                set(&mut map, *byte, None);
            }
            if let Some(second) = &second {
                squeezed = bytes_of(second, 0).or_unknown()?;
            }
        }
        None if given.has('s') => squeezed.clone_from(&from),
        None => return Err(Inexact::Unknown),
        Some(second) => {
            let mut to = bytes_of(second, from.len()).or_unknown()?;
            if !is_translation(&first, second, &to, given.has('c') || given.has('C')) {
                return Err(Inexact::Unknown);
            }
            if given.has('t') {
                from.truncate(to.len());
            }
            let last = *to.last().or_unknown()?;
            while to.len() < from.len() {
                to.push(last);
            }
            for (from, to) in from.iter().zip(&to) {
                set(&mut map, *from, Some(*to));
            }
            squeezed = to;
        }
    }
    let is_squeezed: Vec<bool> = (0..=u8::MAX).map(|byte| given.has('s') && squeezed.contains(&byte)).collect();
    text_of(mapped(&text, &map, &is_squeezed))
}

/// The bytes of a text behind the map, without repeats of those that are squeezed.
fn mapped(text: &str, map: &[Option<u8>], is_squeezed: &[bool]) -> Vec<u8> {
    let mut out: Vec<u8> = Vec::with_capacity(text.len());
    for byte in text.bytes() {
        let Some(byte) = map.get(usize::from(byte)).copied().flatten() else { continue };
        let is_repeated = out.last() == Some(&byte);
        if !(is_repeated && is_squeezed.get(usize::from(byte)).copied().unwrap_or(false)) {
            out.push(byte);
        }
    }
    out
}

/// True if the sets can be translated into each other. Classes are an error where they do not change case.
fn is_translation(first: &[SetPart], second: &[SetPart], to: &[u8], is_complement: bool) -> bool {
    let has_class = |parts: &[SetPart]| parts.iter().any(|part| matches!(part, SetPart::Class(_)));
    let cases = |parts: &[SetPart]| parts.iter().filter(|part| matches!(part, SetPart::Case(_))).count();
    let is_one = to.iter().all(|byte| Some(byte) == to.first());
    let complements_class = is_complement && (has_class(first) || cases(first) > 0);
    !has_class(second) && cases(second) <= cases(first) && (!complements_class || is_one)
}

fn set(map: &mut [Option<u8>], from: u8, to: Option<u8>) {
    if let Some(place) = map.get_mut(usize::from(from)) {
        *place = to;
    }
}

/// The bytes of a set; a filling part brings it to `length`.
fn bytes_of(parts: &[SetPart], length: usize) -> Option<Vec<u8>> {
    let fixed: usize = parts
        .iter()
        .map(|part| match part {
            SetPart::Bytes(bytes) | SetPart::Case(bytes) | SetPart::Class(bytes) => bytes.len(),
            SetPart::Filling(_) => 0,
        })
        .sum();
    let mut out = Vec::new();
    for part in parts {
        match part {
            SetPart::Bytes(bytes) | SetPart::Case(bytes) | SetPart::Class(bytes) => out.extend(bytes),
            SetPart::Filling(byte) => {
                let count = length.saturating_sub(fixed);
                out.extend(std::iter::repeat_n(*byte, count));
            }
        }
    }
    (out.len() < 1 << 16).then_some(out)
}

/// A byte of a set, and whether it was written with a backslash.
type SetByte = (u8, bool);

fn parts(text: &str) -> Exact<Vec<SetPart>> {
    let bytes = unescaped(text.as_bytes());
    let mut out = Vec::new();
    let mut rest = bytes.as_slice();
    while let Some(((byte, is_escaped), after)) = rest.split_first() {
        if *byte == b'['
            && !is_escaped
            && let Some((part, behind)) = bracketed(after)?
        {
            out.push(part);
            rest = behind;
            continue;
        }
        if let [(b'-', false), (last, _), behind @ ..] = after {
            if last < byte {
                return Err(Inexact::Unknown);
            }
            out.push(SetPart::Bytes((*byte..=*last).collect()));
            rest = behind;
        } else {
            out.push(SetPart::Bytes(vec![*byte]));
            rest = after;
        }
    }
    Ok(out)
}

/// `[:class:]`, `[=c=]`, `[c*]` and `[c*n]` behind their bracket.
fn bracketed(after: &[SetByte]) -> Exact<Option<(SetPart, &[SetByte])>> {
    let plain = |bytes: &[SetByte]| bytes.iter().map(|(byte, _)| char::from(*byte)).collect::<String>();
    if let [(b':', false), inside @ ..] = after
        && let Some(end) = inside.windows(2).position(|pair| matches!(pair, [(b':', false), (b']', false)]))
    {
        let name = plain(inside.get(..end).unwrap_or(&[]));
        let bytes = class(&name).or_unknown()?;
        let part =
            if matches!(name.as_str(), "lower" | "upper") { SetPart::Case(bytes) } else { SetPart::Class(bytes) };
        return Ok(Some((part, inside.get(end + 2..).unwrap_or(&[]))));
    }
    match after {
        [(b'=', false), (byte, _), (b'=', false), (b']', false), behind @ ..] => {
            Ok(Some((SetPart::Bytes(vec![*byte]), behind)))
        }
        [(byte, _), (b'*', false), inside @ ..] => {
            let Some(end) = inside.iter().position(|(byte, _)| *byte == b']') else { return Ok(None) };
            let count = plain(inside.get(..end).unwrap_or(&[]));
            let behind = inside.get(end + 1..).unwrap_or(&[]);
            let radix = if count.starts_with('0') { 8 } else { 10 };
            match usize::from_str_radix(&count, radix) {
                _ if count.is_empty() => Ok(Some((SetPart::Filling(*byte), behind))),
                Ok(0) => Ok(Some((SetPart::Filling(*byte), behind))),
                Ok(count) if count < 1 << 12 => Ok(Some((SetPart::Bytes(vec![*byte; count]), behind))),
                Ok(_) => Err(Inexact::Unknown),
                Err(_) => Ok(None),
            }
        }
        _ => Ok(None),
    }
}

fn class(name: &str) -> Option<Vec<u8>> {
    let belongs: fn(&u8) -> bool = match name {
        "alpha" => u8::is_ascii_alphabetic,
        "digit" => u8::is_ascii_digit,
        "alnum" => u8::is_ascii_alphanumeric,
        "lower" => u8::is_ascii_lowercase,
        "upper" => u8::is_ascii_uppercase,
        "space" => |byte| matches!(byte, b' ' | 9..=13),
        "blank" => |byte| matches!(byte, b' ' | b'\t'),
        "punct" => u8::is_ascii_punctuation,
        "cntrl" => u8::is_ascii_control,
        "print" => |byte| (b' '..=b'~').contains(byte),
        "graph" => u8::is_ascii_graphic,
        "xdigit" => u8::is_ascii_hexdigit,
        _ => return None,
    };
    Some((0..=u8::MAX).filter(belongs).collect())
}

fn unescaped(text: &[u8]) -> Vec<SetByte> {
    let mut out = Vec::new();
    let mut rest = text;
    while let Some((byte, after)) = rest.split_first() {
        rest = after;
        let [kind, behind @ ..] = after else {
            out.push((*byte, false));
            continue;
        };
        if *byte != b'\\' {
            out.push((*byte, false));
            continue;
        }
        rest = behind;
        let decoded = match kind {
            b'a' => 7,
            b'b' => 8,
            b'f' => 12,
            b'n' => 10,
            b'r' => 13,
            b't' => 9,
            b'v' => 11,
            b'0'..=b'7' => {
                let mut number = u32::from(*kind - b'0');
                for _ in 0..2 {
                    if let [digit @ b'0'..=b'7', behind @ ..] = rest
                        && number * 8 + u32::from(*digit - b'0') < 256
                    {
                        number = number * 8 + u32::from(*digit - b'0');
                        rest = behind;
                    }
                }
                u8::try_from(number).unwrap_or(0)
            }
            other => *other,
        };
        out.push((decoded, true));
    }
    out
}
