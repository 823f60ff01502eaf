//! Encodes a text as programs write it: as JSON, quoted for a shell, in a URL, as base64.

use std::fmt::Write;

use base64::Engine as _;
use base64::prelude::{BASE64_STANDARD_NO_PAD, BASE64_URL_SAFE_NO_PAD};

/// Style of a JSON encoder, where JSON leaves a choice.
#[derive(Clone, Copy)]
struct Json {
    /// Characters that are written as `\uXXXX`, like all other control characters.
    numbered: &'static str,
    /// Writes `/` as `\/`.
    slashes: bool,
    /// Writes everything beyond ASCII as `\uXXXX`.
    ascii: bool,
    /// Writes hexadecimal digits in upper case.
    capital: bool,
}

const PLAIN: Json = Json { numbered: "", slashes: false, ascii: false, capital: false };

const CONTROLS: &str = "\n\r\t\x08\x0C";

/// Styles of the most common encoders: `jq` and JavaScript; Python; PHP, with and without Unicode; Go; .NET; and those
/// that number every control character.
const STYLES: [Json; 8] = [
    PLAIN,
    Json { ascii: true, ..PLAIN },
    Json { slashes: true, ascii: true, ..PLAIN },
    Json { slashes: true, ..PLAIN },
    Json { numbered: "<>&", ..PLAIN },
    Json { numbered: "<>&\"'+`\x7F", ascii: true, capital: true, ..PLAIN },
    Json { numbered: CONTROLS, ascii: true, ..PLAIN },
    Json { numbered: CONTROLS, ascii: true, capital: true, ..PLAIN },
];

/// The inside of a JSON string, in every style.
pub(super) fn json(text: &str) -> impl Iterator<Item = Vec<u8>> {
    STYLES.iter().map(|style| style.encode(text).into_bytes())
}

impl Json {
    fn encode(self, text: &str) -> String {
        let mut out = String::with_capacity(text.len() + 16);
        for char in text.chars() {
            let short = match char {
                _ if self.numbered.contains(char) => None,
                '"' => Some("\\\""),
                '\\' => Some("\\\\"),
                '/' if self.slashes => Some("\\/"),
                '\n' => Some("\\n"),
                '\r' => Some("\\r"),
                '\t' => Some("\\t"),
                '\x08' => Some("\\b"),
                '\x0C' => Some("\\f"),
                _ => None,
            };
            let is_numbered = self.numbered.contains(char) || char < ' ' || (self.ascii && !char.is_ascii());
            match short {
                Some(short) => out.push_str(short),
                None if is_numbered => self.number(&mut out, char),
                None => out.push(char),
            }
        }
        out
    }

    fn number(self, out: &mut String, char: char) {
        for unit in char.encode_utf16(&mut [0; 2]) {
            let written = if self.capital { write!(out, "\\u{unit:04X}") } else { write!(out, "\\u{unit:04x}") };
            written.expect("a string takes everything");
        }
    }
}

/// The inside of a shell word, as `set`, `declare -p`, `$'…'` and `printf %q` of bash write it; as Python's
/// `shlex.quote` does; and as `set` of dash does.
pub(super) fn shell(text: &[u8]) -> [Vec<u8>; 6] {
    let mut quoted = [const { Vec::new() }; 6];
    let [single, double, ansi, escaped, python, dash] = &mut quoted;
    let mut before = b' ';
    for byte in text {
        match byte {
            b'\'' => {
                single.extend(br"'\''");
                python.extend(br#"'"'"'"#);
                // A row of quotes is quoted as a whole, and nothing follows a row at the end.
                dash.extend(if before == b'\'' { b"'".as_slice() } else { br#"'"'"# });
            }
            byte => {
                single.push(*byte);
                python.push(*byte);
                if before == b'\'' {
                    dash.extend(br#""'"#);
                }
                dash.push(*byte);
            }
        }
        if matches!(byte, b'"' | b'\\' | b'$' | b'`') {
            double.push(b'\\');
        }
        double.push(*byte);
        match byte {
            b'\n' => ansi.extend(br"\n"),
            b'\r' => ansi.extend(br"\r"),
            b'\t' => ansi.extend(br"\t"),
            0x1B => ansi.extend(br"\E"),
            b'\'' | b'\\' => ansi.extend([b'\\', *byte]),
            0..b' ' | 0x7F.. => ansi.extend(format!("\\{byte:03o}").bytes()),
            byte => ansi.push(*byte),
        }
        // At the beginning of a word `~` and `#` are quoted too, but the value may be only a part of the word.
        let is_tilde = *byte == b'~' && matches!(before, b':' | b'=');
        if is_tilde || b" !\"$&'()*,;<>?[\\]^`{|}".contains(byte) {
            escaped.push(b'\\');
        }
        escaped.push(*byte);
        before = *byte;
    }
    if text.iter().any(u8::is_ascii_control) {
        // `printf %q` writes `$'…'` too in this case.
        escaped.clone_from(ansi);
    }
    if before == b'\'' {
        dash.push(b'"');
    }
    quoted
}

/// Style of an encoder for URLs and forms.
#[derive(Clone, Copy)]
struct Percent {
    /// Characters that stay as they are, beside letters, digits and `-_.`.
    plain: &'static [u8],
    /// Digits of a number.
    digits: &'static [u8; 16],
    blank: &'static [u8],
}

const CAPITAL: Percent = Percent { plain: b"~", digits: b"0123456789ABCDEF", blank: b"%20" };
const SMALL: Percent = Percent { digits: b"0123456789abcdef", ..CAPITAL };

/// Styles of the most common encoders, which leave different characters as they are and write a blank as `%20` or `+`.
const PERCENT_STYLES: [Percent; 12] = [
    CAPITAL,
    SMALL,
    // Python's `quote`, `quote_plus`, and curl.
    Percent { plain: b"~/", ..CAPITAL },
    Percent { blank: b"+", ..CAPITAL },
    Percent { blank: b"+", ..SMALL },
    // JavaScript's `encodeURIComponent`, also `@uri` of jq; `encodeURI`; the password of a `URL`; `URLSearchParams`, also Java.
    Percent { plain: b"~!*'()", ..CAPITAL },
    Percent { plain: b"~!*'();,/?:@&=+$#", ..CAPITAL },
    Percent { plain: b"~!*'(),&+$%", ..CAPITAL },
    Percent { plain: b"*", blank: b"+", ..CAPITAL },
    // PHP's `urlencode`; .NET's `WebUtility` and `HttpUtility`.
    Percent { plain: b"", blank: b"+", ..CAPITAL },
    Percent { plain: b"!*()", blank: b"+", ..CAPITAL },
    Percent { plain: b"!*()", blank: b"+", ..SMALL },
];

/// A part of a URL or of a form, in every style.
pub(super) fn percent(text: &[u8]) -> impl Iterator<Item = Vec<u8>> {
    PERCENT_STYLES.iter().map(|style| style.encode(text))
}

impl Percent {
    fn encode(self, text: &[u8]) -> Vec<u8> {
        let mut out = Vec::with_capacity(text.len() + 16);
        for byte in text {
            match byte {
                b' ' => out.extend(self.blank),
                byte if byte.is_ascii_alphanumeric() || b"-_.".contains(byte) || self.plain.contains(byte) => {
                    out.push(*byte);
                }
                byte => {
                    let digit = |digit: u8| self.digits[usize::from(digit)];
                    out.extend([b'%', digit(byte >> 4), digit(byte & 15)]);
                }
            }
        }
        out
    }
}

/// Percent-decodes a part of a URL.
pub(super) fn percent_decoded(text: &[u8]) -> Vec<u8> {
    let digit = |byte: u8| (byte as char).to_digit(16).and_then(|digit| u8::try_from(digit).ok());
    let mut out = Vec::with_capacity(text.len());
    let mut rest = text;
    while let [first, after @ ..] = rest {
        rest = after;
        match (first, after) {
            (b'%', [high, low, behind @ ..]) if let (Some(high), Some(low)) = (digit(*high), digit(*low)) => {
                out.push(high * 16 + low);
                rest = behind;
            }
            _ => out.push(*first),
        }
    }
    out
}

/// Base64 without padding, in both alphabets.
pub(super) fn base64(bytes: &[u8]) -> [Vec<u8>; 2] {
    [BASE64_STANDARD_NO_PAD, BASE64_URL_SAFE_NO_PAD].map(|alphabet| alphabet.encode(bytes).into_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(bytes: &[u8]) -> &str {
        std::str::from_utf8(bytes).expect("text")
    }

    #[test]
    fn json_is_written_as_its_encoders_do() {
        let forms: Vec<Vec<u8>> = json("a\"/+<é\n\u{1}").collect();
        let forms: Vec<&str> = forms.iter().map(|form| text(form)).collect();
        assert_eq!(
            forms,
            [
                r#"a\"/+<é\n\u0001"#,
                r#"a\"/+<\u00e9\n\u0001"#,
                r#"a\"\/+<\u00e9\n\u0001"#,
                r#"a\"\/+<é\n\u0001"#,
                r#"a\"/+\u003cé\n\u0001"#,
                r"a\u0022/\u002B\u003C\u00E9\n\u0001",
                r#"a\"/+<\u00e9\u000a\u0001"#,
                r#"a\"/+<\u00E9\u000A\u0001"#,
            ]
        );
        assert_eq!(json("\u{1F600}").nth(1).expect("it is there"), br"\ud83d\ude00");
    }

    #[test]
    fn shells_quote_in_six_ways() {
        assert_eq!(text(&shell(b"a'b\"$c")[3]), "a\\'b\\\"\\$c");
        let [single, double, ansi, escaped, ..] = shell(b"a'b\"$c\n");
        assert_eq!(text(&single), "a'\\''b\"$c\n");
        assert_eq!(text(&double), "a'b\\\"\\$c\n");
        assert_eq!(text(&ansi), r#"a\'b"$c\n"#);
        assert_eq!(escaped, ansi);
        for (plain, in_python, in_dash) in [
            ("it's", r#"it'"'"'s"#, r#"it'"'"'s"#),
            ("a''b'", r#"a'"'"''"'"'b'"'"'"#, r#"a'"''"'b'"'""#),
            ("'a", r#"'"'"'a"#, r#"'"'"'a"#),
        ] {
            let [.., python, dash] = shell(plain.as_bytes());
            assert_eq!((text(&python), text(&dash)), (in_python, in_dash));
        }
    }

    #[test]
    fn urls_and_back() {
        let forms: Vec<Vec<u8>> = percent("p/ä b".as_bytes()).collect();
        let forms: Vec<&str> = forms.iter().take(5).map(|form| text(form)).collect();
        assert_eq!(forms, ["p%2F%C3%A4%20b", "p%2f%c3%a4%20b", "p/%C3%A4%20b", "p%2F%C3%A4+b", "p%2f%c3%a4+b"]);
        assert_eq!(percent_decoded(forms[0].as_bytes()), "p/ä b".as_bytes());
        assert_eq!(percent_decoded(b"100%, %4, %zz"), b"100%, %4, %zz");
    }

    #[test]
    fn base64_agrees_with_the_rfc() {
        for (plain, encoded) in
            [("", ""), ("f", "Zg"), ("fo", "Zm8"), ("foo", "Zm9v"), ("foob", "Zm9vYg"), ("foobar", "Zm9vYmFy")]
        {
            assert_eq!(text(&base64(plain.as_bytes())[0]), encoded);
        }
        assert_eq!(base64(&[0xFB, 0xFF]).map(|form| text(&form).to_owned()), ["+/8", "-_8"]);
    }
}
