//! The forms in which a withheld value may appear in output.
//!
//! A value is printed as it is, cleaned, without the white space around it, encoded, or line by line. Each of these is
//! a text to search. A value in any other form (reversed, in hexadecimal, one character a line) is not found.

use std::collections::BTreeSet;

use super::encode;
use super::finder::HEAD;
use crate::clean::Cleaner;

/// Shortest value that is redacted, in bytes. Shorter ones are words like `true` or `1234`, and redacting them would
/// garble honest output.
pub(crate) const SHORTEST: usize = HEAD;

/// Shortest line of a value that is searched on its own, in bytes. Shorter ones are often words: a settings file in a
/// variable has lines like `clusters:`.
const SHORTEST_LINE: usize = 12;

/// Longest text that is searched at once, in bytes; longer ones are searched in blocks of this length. So no longer
/// beginning of a value has to be held back, and this much around a part of a text is enough to find every value that
/// the part cuts.
pub(crate) const LONGEST: usize = 1024;

/// Values that protect nothing. Redacting them would only remove the word from honest output.
const NO_SECRETS: [&[u8]; 12] = [
    b"password",
    b"postgres",
    b"changeme",
    b"changeit",
    b"localhost",
    b"undefined",
    b"production",
    b"development",
    b"disabled",
    b"anonymous",
    b"created_at",
    b"updated_at",
];

/// Line widths of `base64` and `openssl base64`.
const WIDTHS: [usize; 2] = [76, 64];

/// Characters in a group of base64.
const GROUP: usize = 4;

/// Characters of base64 that are recognized anywhere: twelve bytes.
const STRETCH: usize = 16;

/// Longest value that is recognized in stretches of base64, in bytes. Longer ones are recognized as a whole and in
/// whole lines only, because the list would be long.
const LONGEST_IN_STRETCHES: usize = 4096;

/// All texts in which this value may appear. None if it is too short without the white space around it: blanks are in
/// every output.
pub(super) fn of(value: &[u8]) -> BTreeSet<Vec<u8>> {
    let mut forms = BTreeSet::new();
    let trimmed = value.trim_ascii();
    if trimmed.len() < SHORTEST || NO_SECRETS.iter().any(|word| trimmed.eq_ignore_ascii_case(word)) {
        return forms;
    }
    let cleaned = cleaned(value);
    let lossy = String::from_utf8_lossy(value).into_owned().into_bytes();
    for whole in [value, trimmed, &cleaned, cleaned.trim_ascii(), &lossy] {
        add_encoded(whole, SHORTEST, &mut forms);
        if whole.contains(&b'\n') {
            for line in whole.split(|byte| *byte == b'\n').map(<[u8]>::trim_ascii).filter(|line| !is_armor(line)) {
                add_encoded(line, SHORTEST_LINE, &mut forms);
            }
        }
    }
    // `.env` files and JSON write a key on one line, with `
    // ` in it.
    if memchr::memmem::find(value, b"\\n").is_some() {
        let unescaped = String::from_utf8_lossy(value).replace("\\r", "").replace("\\n", "\n");
        for line in unescaped.lines().map(str::trim).filter(|line| !is_armor(line.as_bytes())) {
            add_encoded(line.as_bytes(), SHORTEST_LINE, &mut forms);
        }
    }
    for whole in BTreeSet::from([value, trimmed]) {
        add_base64(whole, &mut forms);
        add_base64(&[whole, b"\n"].concat(), &mut forms);
    }
    if moves_the_cursor(trimmed) {
        // The shown text depends on the column at which the value began, so every eight bytes of it are searched.
        let stretches = value.split(u8::is_ascii_control).chain([cleaned.as_slice()]);
        forms.extend(stretches.flat_map(|stretch| stretch.windows(HEAD)).map(<[u8]>::to_vec));
    }
    forms
}

/// True if a text can be searched: the finder needs its length, and blanks alone are in every output.
pub(super) fn is_searchable(form: &[u8]) -> bool {
    form.len() >= SHORTEST && !form.trim_ascii().is_empty()
}

/// The blocks of a text that are searched: at most [`LONGEST`] bytes each; the last one may overlap the one before.
pub(super) fn blocks(form: &[u8]) -> impl Iterator<Item = &[u8]> {
    let last = form.len().saturating_sub(LONGEST);
    let begins = (0..last).step_by(LONGEST).chain([last]);
    begins.map(|begin| &form[begin..form.len().min(begin + LONGEST)])
}

/// The passwords of the URLs in a value, as they are written and decoded.
pub(super) fn passwords(value: &[u8]) -> BTreeSet<Vec<u8>> {
    let mut forms = BTreeSet::new();
    for (url, password) in crate::url_secrets::passwords(value) {
        let decoded = encode::percent_decoded(password);
        // `postgres://postgres:postgres@…`: a word that is also the name of the user or the database is no secret.
        let is_elsewhere = memchr::memmem::find_iter(url, password).nth(1).is_some();
        let mut alone = if is_elsewhere { BTreeSet::new() } else { of(password) };
        if alone.is_empty() {
            // A short password, or one that is a word, is recognized by its login.
            forms.extend(crate::url_secrets::login(url).map(<[u8]>::to_vec));
        } else {
            alone.extend(of(&decoded));
        }
        forms.append(&mut alone);
    }
    forms
}

/// Adds a text and its encodings.
fn add_encoded(text: &[u8], shortest: usize, forms: &mut BTreeSet<Vec<u8>>) {
    if text.len() < shortest || !forms.insert(text.to_vec()) {
        return;
    }
    // No encoder changes these characters.
    if text.iter().all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(byte)) {
        return;
    }
    forms.extend(encode::shell(text));
    forms.extend(encode::percent(text));
    if let Ok(text) = std::str::from_utf8(text) {
        forms.extend(encode::json(text));
    }
}

/// Adds base64 of the text: alone, in lines, and as a part of something longer.
fn add_base64(text: &[u8], forms: &mut BTreeSet<Vec<u8>>) {
    for alone in encode::base64(text) {
        for width in WIDTHS {
            if alone.len() > width {
                forms.extend(alone.chunks(width).filter(|line| line.len() >= SHORTEST_LINE).map(<[u8]>::to_vec));
            }
        }
        let padding = b"==="[..(4 - alone.len() % 4) % 4].to_vec();
        forms.insert([alone.clone(), padding].concat());
        forms.insert(alone);
    }
    // After 0, 1 or 2 other bytes of a group, the text's own groups are always the same.
    for skipped in 0..3 {
        let own = text.get(skipped..).unwrap_or_default();
        let whole_groups = &own[..own.len() / 3 * 3];
        for encoded in encode::base64(whole_groups) {
            if encoded.len() >= STRETCH && text.len() <= LONGEST_IN_STRETCHES {
                // A line may end after any group, and most encoders break lines.
                forms.extend(encoded.windows(STRETCH).step_by(GROUP).map(<[u8]>::to_vec));
            }
            if encoded.len() >= SHORTEST_LINE {
                forms.insert(encoded);
            }
        }
    }
}

/// The value as it is shown at the beginning of a line.
fn cleaned(value: &[u8]) -> Vec<u8> {
    let mut text = Vec::new();
    if !value.iter().any(|byte| byte.is_ascii_control() || *byte >= 0x80) {
        return value.to_vec();
    }
    let mut cleaner = Cleaner::new();
    cleaner.push(value, &mut |settled: &[u8]| text.extend_from_slice(settled));
    text.extend(cleaner.pending());
    text
}

/// True if a value has control characters other than line ends and tabs.
fn moves_the_cursor(value: &[u8]) -> bool {
    let lines = value.split(|byte| *byte == b'\n').map(|line| line.strip_suffix(b"\r").unwrap_or(line));
    lines.flatten().any(|byte| byte.is_ascii_control() && *byte != b'\t')
}

/// True for lines like `-----BEGIN PRIVATE KEY-----`, which are the same in every key.
fn is_armor(line: &[u8]) -> bool {
    line.starts_with(b"----") && line.ends_with(b"----")
}
