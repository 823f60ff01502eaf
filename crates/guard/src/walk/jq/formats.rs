//! The formats of jq: `@sh`, `@base64d` and their like.

use crate::marks::{has_mark, without_marks};
use crate::walk::decode;
use crate::walk::jq::json::Json;

/// A value in a format.
pub(super) fn formatted(format: &str, value: &Json) -> Json {
    let row = |separator: &str, one: &dyn Fn(&Json) -> String| match value {
        Json::List(items) => Json::Text(items.iter().map(one).collect::<Vec<_>>().join(separator)),
        Json::Unknown => Json::Unknown,
        value => Json::Text(one(value)),
    };
    match format {
        "text" => Json::Text(value.to_text()),
        "json" => Json::Text(value.to_json()),
        "sh" => row(" ", &|item| match item {
            Json::Text(text) => format!("'{}'", text.replace('\'', "'\\''")),
            other => other.to_json(),
        }),
        "tsv" => row("\t", &|item| match item {
            Json::Text(text) => text.replace('\\', "\\\\").replace('\t', "\\t").replace('\n', "\\n"),
            Json::Null => String::new(),
            other => other.to_json(),
        }),
        "csv" => row(",", &|item| match item {
            Json::Text(text) => format!("\"{}\"", text.replace('"', "\"\"")),
            Json::Null => String::new(),
            other => other.to_json(),
        }),
        "html" => {
            let text = value.to_text().replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
            Json::Text(text.replace('\'', "&#39;").replace('"', "&quot;"))
        }
        "uri" => Json::Text(
            value
                .to_text()
                .chars()
                .map(|letter| {
                    if letter.is_ascii_alphanumeric() || "-_.~".contains(letter) || crate::marks::is_mark(letter) {
                        letter.to_string()
                    } else {
                        let mut buffer = [0; 4];
                        letter
                            .encode_utf8(&mut buffer)
                            .bytes()
                            .map(|byte| format!("%{byte:02X}"))
                            .collect::<Vec<_>>()
                            .concat()
                    }
                })
                .collect(),
        ),
        "base64" if !has_mark(&value.to_text()) => Json::Text(base64(value.to_text().as_bytes())),
        "base64d" | "base32d" if !has_mark(&value.to_text()) => {
            let text = value.to_text();
            let plain = if format == "base64d" { decode::base64(&text) } else { decode::base32(&text) };
            plain.map_or(Json::Unknown, |plain| Json::Text(without_marks(&plain).into_owned()))
        }
        _ => Json::Unknown,
    }
}

fn base64(bytes: &[u8]) -> String {
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut out = String::new();
    for group in bytes.chunks(3) {
        let sum = (0..3).fold(0_usize, |sum, at| (sum << 8) | group.get(at).map_or(0, |byte| usize::from(*byte)));
        for at in 0..4 {
            let letter = LETTERS.get((sum >> (18 - 6 * at)) & 63).copied().filter(|_| at <= group.len());
            out.push(letter.map_or('=', char::from));
        }
    }
    out
}
