//! The order of versions: `sort -V`.

use std::cmp::Ordering;

/// Compares names with numbers in them: `a2` before `a10`, `x~1` before `x`, and the suffixes of files last.
pub(super) fn compare(left: &[u8], right: &[u8]) -> Ordering {
    if left == right {
        return Ordering::Equal;
    }
    match (left, right) {
        ([], _) => return Ordering::Less,
        (_, []) => return Ordering::Greater,
        ([b'.', ..], [b'.', ..]) => {
            for special in [&b"."[..], b".."] {
                if left == special {
                    return Ordering::Less;
                }
                if right == special {
                    return Ordering::Greater;
                }
            }
        }
        ([b'.', ..], _) => return Ordering::Less,
        (_, [b'.', ..]) => return Ordering::Greater,
        _ => {}
    }
    let (short_left, short_right) = (without_suffix(left), without_suffix(right));
    let order = compare_parts(short_left, short_right);
    let is_whole = short_left.len() == left.len() && short_right.len() == right.len();
    let order = if order.is_ne() || is_whole { order } else { compare_parts(left, right) };
    order.then_with(|| left.cmp(right))
}

/// A name without its suffixes, such as `.tar.gz`.
fn without_suffix(name: &[u8]) -> &[u8] {
    let mut end = name.len();
    while let Some(dot) = name.get(..end).unwrap_or(&[]).iter().rposition(|byte| *byte == b'.') {
        let suffix = name.get(dot + 1..end).unwrap_or(&[]);
        let is_suffix = suffix.first().is_some_and(|byte| byte.is_ascii_alphabetic() || *byte == b'~')
            && suffix.iter().all(|byte| byte.is_ascii_alphanumeric() || *byte == b'~');
        if !is_suffix || dot == 0 {
            break;
        }
        end = dot;
    }
    name.get(..end).unwrap_or(name)
}

/// Letters and numbers in turns, as Debian compares versions.
fn compare_parts(left: &[u8], right: &[u8]) -> Ordering {
    let (mut left, mut right) = (left, right);
    while !left.is_empty() || !right.is_empty() {
        let is_letter = |text: &[u8]| text.first().is_some_and(|byte| !byte.is_ascii_digit());
        while is_letter(left) || is_letter(right) {
            let order = weight(left.first()).cmp(&weight(right.first()));
            if order.is_ne() {
                return order;
            }
            left = left.get(1..).unwrap_or(&[]);
            right = right.get(1..).unwrap_or(&[]);
        }
        let (left_digits, right_digits) = (digits(&mut left), digits(&mut right));
        let order = left_digits.len().cmp(&right_digits.len()).then_with(|| left_digits.cmp(right_digits));
        if order.is_ne() {
            return order;
        }
    }
    Ordering::Equal
}

/// Takes the digits at the start off, without zeros before them.
fn digits<'t>(text: &mut &'t [u8]) -> &'t [u8] {
    let end = text.iter().position(|byte| !byte.is_ascii_digit()).unwrap_or(text.len());
    let (number, rest) = text.split_at(end);
    *text = rest;
    let zeros = number.iter().position(|byte| *byte != b'0').unwrap_or(number.len());
    number.get(zeros..).unwrap_or(&[])
}

fn weight(letter: Option<&u8>) -> i32 {
    match letter {
        None => -1,
        Some(b'~') => -2,
        Some(byte) if byte.is_ascii_digit() => 0,
        Some(byte) if byte.is_ascii_alphabetic() => i32::from(*byte),
        Some(byte) => i32::from(*byte) + 256,
    }
}
