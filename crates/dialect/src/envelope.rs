//! The id of a message that cannot be read, for the answer to it.
//!
//! Invariant: a complete message with an id has an envelope, however its content is broken. Without an answer with
//! that id its sender would wait forever.

use serde_json::Value;

/// The cause of a JSON error, for the sender of the message. Lone surrogates get an explanation: Node writes them where a string was cut.
pub fn json_problem(error: &serde_json::Error) -> String {
    let cause = error.to_string();
    if cause.contains("surrogate") || cause.contains("hex escape") {
        return format!("a string holds half of a surrogate pair, which is no character ({cause})");
    }
    cause
}

/// The outermost members of a message that identify its sender's request. Found without parsing nested values.
#[derive(Debug, Default, Clone, PartialEq)]
pub struct Envelope {
    /// Id of the request, of any type.
    pub id: Option<Value>,
    /// Name of the method.
    pub method: Option<String>,
}

impl Envelope {
    /// Reads the envelope of a message; none if the text is no complete object.
    pub fn read(text: &[u8]) -> Option<Self> {
        let text = text.trim_ascii().strip_prefix(b"{")?;
        let mut envelope = Self::default();
        let mut at = 0;
        while let Some(name) = member_name(text, &mut at) {
            let begin = at;
            at += value_length(&text[begin..])?;
            let value = text[begin..at].trim_ascii();
            match name {
                b"\"id\"" => envelope.id = serde_json::from_slice(value).ok(),
                b"\"method\"" => envelope.method = serde_json::from_slice(value).ok(),
                _ => {}
            }
            if text.get(at) == Some(&b',') {
                at += 1;
            }
        }
        (text.get(at..)?.trim_ascii() == b"}").then_some(envelope)
    }
}

/// Skips the next name and its colon, and returns the name with its quotes.
fn member_name<'a>(text: &'a [u8], at: &mut usize) -> Option<&'a [u8]> {
    let rest = text.get(*at..)?;
    let begin = rest.iter().position(|byte| !byte.is_ascii_whitespace())?;
    let length = string_length(&rest[begin..])?;
    let colon = begin + length + rest[begin + length..].iter().position(|byte| !byte.is_ascii_whitespace())?;
    if rest[colon] != b':' {
        return None;
    }
    *at += colon + 1;
    Some(&rest[begin..begin + length])
}

/// Length of a string in bytes, with both quotes.
fn string_length(text: &[u8]) -> Option<usize> {
    if text.first() != Some(&b'"') {
        return None;
    }
    let mut at = 1;
    loop {
        match text.get(at)? {
            b'"' => return Some(at + 1),
            b'\\' => at += 2,
            _ => at += 1,
        }
    }
}

/// Length of a value in bytes, up to the comma or brace after it.
fn value_length(text: &[u8]) -> Option<usize> {
    let (mut at, mut depth) = (0, 0_usize);
    loop {
        match text.get(at)? {
            b'"' => at += string_length(&text[at..])?,
            b',' | b'}' if depth == 0 => return Some(at),
            b'{' | b'[' => (at, depth) = (at + 1, depth + 1),
            b'}' | b']' => (at, depth) = (at + 1, depth.checked_sub(1)?),
            _ => at += 1,
        }
    }
}
