//! The parts of a log's line that differ each time although it says the same: times, process numbers, request numbers.
//!
//! Every other number is a value, which a reader must see: a status among `200`s, `ready 0/5`, a temperature.

use std::borrow::Cow;

/// A line with these parts taken out, so that only they may differ.
pub(crate) fn without_moments(line: &str) -> Cow<'_, str> {
    let bytes = line.as_bytes();
    let mut out: Option<Vec<u8>> = None;
    let mut at = 0;
    // The end of the part of the line that is in `out`.
    let mut copied = 0;
    while let Some(byte) = bytes.get(at) {
        let length = if byte.is_ascii_alphanumeric() { moment(bytes, at) } else { 0 };
        if length > 0 {
            let out = out.get_or_insert_with(|| Vec::with_capacity(line.len()));
            out.extend_from_slice(bytes.get(copied..at).unwrap_or_default());
            out.push(0);
            copied = at + length;
            at = copied;
        } else if byte.is_ascii_alphanumeric() {
            at += run(bytes, at, u8::is_ascii_alphanumeric);
        } else {
            at += 1;
        }
    }
    let Some(mut out) = out else { return Cow::Borrowed(line) };
    out.extend_from_slice(bytes.get(copied..).unwrap_or_default());
    // Parts are cut out of ASCII, so the rest is still text.
    String::from_utf8(out).map_or(Cow::Borrowed(line), Cow::Owned)
}

/// The length of such a part that begins here, at the first letter of a word; 0 if there is none.
fn moment(bytes: &[u8], at: usize) -> usize {
    let rest = bytes.get(at..).unwrap_or_default();
    // Most words are none, and begin with a small letter.
    if rest.first().is_some_and(u8::is_ascii_lowercase) && rest.get(8) != Some(&b'-') {
        return 0;
    }
    if let Some(date) = [&b"0000-00-00"[..], b"0000/00/00", b"00/Aaa/0000", b"Aaa 00", b"Aaa  0"]
        .into_iter()
        .find(|form| fits(rest, form) && (form.len() != 6 || is_month(rest)))
    {
        let behind = rest.get(date.len()..).unwrap_or_default();
        let gap = usize::from(behind.first().is_some_and(|byte| matches!(byte, b'T' | b' ' | b':')));
        let time = clock(behind.get(gap..).unwrap_or_default());
        // A month and a day are a date only with a time behind them.
        return if time > 0 {
            date.len() + gap + time
        } else if date.len() == 6 {
            0
        } else {
            date.len()
        };
    }
    let time = clock(rest);
    if time > 0 {
        return time;
    }
    let digits = run(rest, 0, u8::is_ascii_digit);
    let before = at.checked_sub(1).and_then(|before| bytes.get(before));
    if digits > 0 && before == Some(&b'[') && rest.get(digits..).is_some_and(|rest| rest.starts_with(b"]:")) {
        return digits;
    }
    if let Some(length) = since_boot(bytes, at).or_else(|| short_duration(rest, digits)) {
        return length;
    }
    let id = b"xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx";
    let is_id = |(byte, form): (&u8, &u8)| if *form == b'x' { byte.is_ascii_hexdigit() } else { byte == form };
    if rest.len() >= id.len() && rest.iter().zip(id).all(is_id) { id.len() } else { 0 }
}

/// True if the text begins as the form does: `0` stands for a digit, `A` and `a` for letters.
fn fits(text: &[u8], form: &[u8]) -> bool {
    text.len() >= form.len()
        && text.iter().zip(form).all(|(byte, form)| match form {
            b'0' => byte.is_ascii_digit(),
            b'A' => byte.is_ascii_uppercase(),
            b'a' => byte.is_ascii_lowercase(),
            _ => byte == form,
        })
}

fn is_month(text: &[u8]) -> bool {
    let months = b"JanFebMarAprMayJunJulAugSepOctNovDec";
    text.get(..3).is_some_and(|name| months.chunks_exact(3).any(|month| month == name))
}

/// The length of a time of day, with parts of a second and a zone.
fn clock(text: &[u8]) -> usize {
    let form = b"00:00:00";
    if !fits(text, form) {
        return 0;
    }
    let mut length = form.len();
    if text.get(length).is_some_and(|byte| matches!(byte, b'.' | b',')) {
        let digits = run(text, length + 1, u8::is_ascii_digit);
        length += if digits > 0 { 1 + digits } else { 0 };
    }
    let is_end = |at: usize| !text.get(at).is_some_and(u8::is_ascii_alphanumeric);
    match text.get(length) {
        Some(b'Z') if is_end(length + 1) => length + 1,
        Some(b':') => 0,
        _ if is_end(length) => length,
        _ => 0,
    }
}

/// The length of the seconds since the start of the kernel: `[   12.345678]` at the beginning of a line.
fn since_boot(bytes: &[u8], at: usize) -> Option<usize> {
    let padding = bytes.get(..at)?.strip_prefix(b"[")?;
    let digits = run(bytes, at, u8::is_ascii_digit);
    let is_padded = padding.iter().all(|byte| *byte == b' ');
    (is_padded && digits > 0 && bytes.get(at + digits..).is_some_and(|rest| fits(rest, b".000000]")))
        .then_some(digits + b".000000".len())
}

/// The length of a duration below one second. A longer one is news.
fn short_duration(text: &[u8], digits: usize) -> Option<usize> {
    if !(1..=3).contains(&digits) {
        return None;
    }
    let mut length = digits;
    if text.get(length) == Some(&b'.') {
        length += 1 + run(text, length + 1, u8::is_ascii_digit);
    }
    let unit = [&b"ms"[..], b"us", b"ns", "µs".as_bytes()]
        .into_iter()
        .find(|unit| text.get(length..).is_some_and(|rest| rest.starts_with(unit)))?;
    length += unit.len();
    (!text.get(length).is_some_and(u8::is_ascii_alphanumeric)).then_some(length)
}

/// The bytes from here on that are of one kind.
fn run(bytes: &[u8], at: usize, is_of_kind: fn(&u8) -> bool) -> usize {
    bytes.get(at..).map_or(0, |rest| rest.iter().take_while(|byte| is_of_kind(byte)).count())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(first: &str, second: &str, is_same: bool) {
        assert_eq!(without_moments(first) == without_moments(second), is_same, "{first:?} and {second:?}");
    }

    #[test]
    fn times_and_process_numbers_may_differ() {
        check("Nov 16 10:39:03 host shop[7]: ok", "Nov 17 00:00:04 host shop[81]: ok", true);
        check("2026-11-16T10:39:03.123Z ok", "2026-11-17T10:39:04.5Z ok", true);
        check("2026-11-16 10:39:03,123 INFO ok", "2026-11-16 10:39:04,001 INFO ok", true);
        check("10.0.0.1 [16/Nov/2026:10:39:03 +0000] GET", "10.0.0.1 [17/Nov/2026:10:39:09 +0000] GET", true);
        check("[   12.345678] usb ok", "[12345.000001] usb ok", false);
        check("[   12.345678] usb ok", "[   99.000001] usb ok", true);
        check("GET / 200 12ms", "GET / 200 3.25ms", true);
        check("job 4f3cbb10-1111-2222-3333-444455556666 ok", "job 00000000-1111-2222-3333-44445555ffff ok", true);
    }

    #[test]
    fn values_may_not() {
        for (first, second) in [
            ("GET / 200", "GET / 500"),
            ("ready 5/5 exit 0", "ready 0/5 exit 137"),
            ("status 0", "status 3"),
            ("temperature 61C", "temperature 109C"),
            ("queue depth 501", "queue depth 502"),
            ("took 12ms", "took 60000ms"),
            ("took 1.5s", "took 9.5s"),
            ("version 1.2.3", "version 1.2.4"),
            ("from 10.0.0.1", "from 10.0.0.2"),
            ("shop[7] ok", "shop[8] ok"),
            ("at 100 %", "at 20 %"),
            ("Mar 16 items", "Mar 17 items"),
        ] {
            check(first, second, false);
        }
    }
}
