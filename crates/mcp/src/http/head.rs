//! Checks the bytes of request heads more strictly than the HTTP library does.
//!
//! The library repairs some malformed heads without a word: a bare line feed, a length beside a transfer encoding, a header that
//! is there twice. A proxy may repair the same head in another way, and then the two disagree about where a request ends or
//! who sent it. So a connection passes its bytes through [`Heads`] first. The library still does the parsing.
//!
//! Invariant: memory held is at most [`LONGEST_LINE`], whatever the client sends.

use std::fmt;

/// A request head longer than this is refused by the library, so no line of it can be longer either.
pub(crate) const LONGEST_LINE: usize = 64 * 1024;

/// Headers that decide who may come in, where a message ends or which session is meant. Two of one kind could mean one value to
/// a proxy and another one here.
const ONLY_ONCE: [&str; 10] = [
    "host",
    "origin",
    "authorization",
    "content-length",
    "transfer-encoding",
    "content-type",
    "mcp-session-id",
    "mcp-protocol-version",
    "mcp-method",
    "last-event-id",
];

/// The reason why a request head is malformed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Flaw {
    /// A line feed without a carriage return before it, or the other way round.
    LineEnd,
    /// A header that continues on the next line.
    Folded,
    /// No name, white space before the colon, or characters that a name cannot have.
    Name,
    /// A `Content-Length` that is not a plain number.
    Length,
    /// A `Transfer-Encoding` other than `chunked`.
    Encoding,
    /// `Content-Length` beside `Transfer-Encoding`.
    LengthAndEncoding,
    /// Two headers of one name, of which there can be only one.
    Twice(&'static str),
    /// A line longer than [`LONGEST_LINE`].
    TooLong,
}

impl fmt::Display for Flaw {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::LineEnd => out.write_str("each line of the head has to end with CR LF"),
            Self::Folded => out.write_str("a header must not continue on the next line"),
            Self::Name => out.write_str("a header needs a name of letters, digits and hyphens right before its colon"),
            Self::Length => out.write_str("`Content-Length` has to be a plain number"),
            Self::Encoding => out.write_str("the only `Transfer-Encoding` here is `chunked`"),
            Self::LengthAndEncoding => out.write_str("`Content-Length` and `Transfer-Encoding` exclude each other"),
            Self::Twice(name) => write!(out, "there can be only one header `{name}`"),
            Self::TooLong => out.write_str("a line of the head is too long"),
        }
    }
}

/// The place in the byte stream of one connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum HeadState {
    /// Before the first line of a request.
    Before,
    /// Between the first line of a request and the empty line.
    Within,
    /// In a message, with so many bytes to come.
    Message(u64),
    /// In a chunked message. The connection ends with it, so nobody has to find its end.
    LastMessage,
}

/// The state of one connection's request heads, fed with bytes as they arrive.
#[derive(Debug)]
pub(crate) struct Heads {
    place: HeadState,
    line: Vec<u8>,
    /// A bit for each of [`ONLY_ONCE`].
    seen: u16,
    length: Option<u64>,
    is_chunked: bool,
}

impl Heads {
    pub(crate) fn new() -> Self {
        Self { place: HeadState::Before, line: Vec::new(), seen: 0, length: None, is_chunked: false }
    }

    /// True if the request that is under way is the last one of its connection.
    pub(crate) fn is_last(&self) -> bool {
        self.place == HeadState::LastMessage
    }

    /// Takes the next bytes in. After a flaw the state says nothing any more.
    pub(crate) fn feed(&mut self, mut bytes: &[u8]) -> Result<(), Flaw> {
        while !bytes.is_empty() {
            match self.place {
                HeadState::LastMessage => return Ok(()),
                HeadState::Message(rest) => {
                    let here = usize::try_from(rest).map_or(bytes.len(), |rest| rest.min(bytes.len()));
                    bytes = &bytes[here..];
                    let rest = rest - here as u64;
                    self.place = if rest == 0 { HeadState::Before } else { HeadState::Message(rest) };
                }
                HeadState::Before | HeadState::Within => {
                    let end = bytes.iter().position(|byte| *byte == b'\n');
                    let (piece, rest) = bytes.split_at(end.map_or(bytes.len(), |end| end + 1));
                    bytes = rest;
                    if self.line.len() + piece.len() > LONGEST_LINE {
                        return Err(Flaw::TooLong);
                    }
                    self.line.extend_from_slice(piece);
                    if end.is_some() {
                        let line = std::mem::take(&mut self.line);
                        self.take_line(&line)?;
                    }
                }
            }
        }
        Ok(())
    }

    fn take_line(&mut self, line: &[u8]) -> Result<(), Flaw> {
        let line = line.strip_suffix(b"\r\n").ok_or(Flaw::LineEnd)?;
        if line.contains(&b'\r') {
            return Err(Flaw::LineEnd);
        }
        match (self.place, line.is_empty()) {
            // An empty line in service of a request is allowed.
            (HeadState::Before, true) => Ok(()),
            (HeadState::Before, false) => {
                (self.place, self.seen, self.length, self.is_chunked) = (HeadState::Within, 0, None, false);
                Ok(())
            }
            (_, true) => self.end_head(),
            (_, false) => self.take_header(line),
        }
    }

    fn take_header(&mut self, line: &[u8]) -> Result<(), Flaw> {
        if matches!(line.first(), Some(b' ' | b'\t')) {
            return Err(Flaw::Folded);
        }
        let colon = line.iter().position(|byte| *byte == b':').ok_or(Flaw::Name)?;
        let (name, value) = (&line[..colon], line[colon + 1..].trim_ascii());
        if name.is_empty() || !name.iter().all(|byte| is_token(*byte)) {
            return Err(Flaw::Name);
        }
        let Some(which) = ONLY_ONCE.iter().position(|once| name.eq_ignore_ascii_case(once.as_bytes())) else {
            return Ok(());
        };
        if self.seen & 1 << which != 0 {
            return Err(Flaw::Twice(ONLY_ONCE[which]));
        }
        self.seen |= 1 << which;
        match ONLY_ONCE[which] {
            "content-length" => self.length = Some(number(value).ok_or(Flaw::Length)?),
            "transfer-encoding" if value.eq_ignore_ascii_case(b"chunked") => self.is_chunked = true,
            "transfer-encoding" => return Err(Flaw::Encoding),
            _ => {}
        }
        Ok(())
    }

    fn end_head(&mut self) -> Result<(), Flaw> {
        self.place = match (self.length, self.is_chunked) {
            (Some(_), true) => return Err(Flaw::LengthAndEncoding),
            (None, true) => HeadState::LastMessage,
            (None | Some(0), false) => HeadState::Before,
            (Some(length), false) => HeadState::Message(length),
        };
        Ok(())
    }
}

/// A number of digits alone: no sign, no list.
fn number(value: &[u8]) -> Option<u64> {
    let is_plain = value.iter().all(u8::is_ascii_digit);
    std::str::from_utf8(value).ok().filter(|_| is_plain)?.parse().ok()
}

/// True if a header's name can have this byte.
fn is_token(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Feeds a text whole and byte by byte, which has to make no difference.
    #[track_caller]
    fn check(text: &str, expected: Result<(), Flaw>) {
        assert_eq!(Heads::new().feed(text.as_bytes()), expected, "{text:?}");
        let mut heads = Heads::new();
        let singly = text.as_bytes().chunks(1).try_for_each(|byte| heads.feed(byte));
        assert_eq!(singly, expected, "{text:?}, byte by byte");
    }

    #[test]
    fn requests_in_a_row_pass() {
        check("", Ok(()));
        check("GET /mcp HTTP/1.1\r\nHost: a\r\n\r\nGET /mcp HTTP/1.1\r\nHost: a\r\n\r\n", Ok(()));
        // A message may hold anything, and the next head begins behind it.
        check("POST / HTTP/1.1\r\ncontent-LENGTH: 5\r\n\r\n\n\n\r\rxGET / HTTP/1.1\r\nHost:a\r\n\r\n", Ok(()));
        check("\r\n\r\nPOST / HTTP/1.1\r\nX-A: \u{e9}\t1\r\nX-A: 2\r\nX-A:\r\n\r\n", Ok(()));
        check("POST / HTTP/1.1\r\nContent-Length: 1\r\n\r\nxPOST / HTTP/1.1\nHost: a\r\n\r\n", Err(Flaw::LineEnd));
    }

    #[test]
    fn a_chunked_message_is_the_last_one() {
        let mut heads = Heads::new();
        heads.feed(b"POST / HTTP/1.1\r\nTransfer-Encoding: Chunked\r\n\r\n5\nanything").expect("no flaw");
        assert!(heads.is_last());
        assert!(!Heads::new().is_last());
    }

    #[test]
    fn what_others_could_read_otherwise_is_a_flaw() {
        for (lines, flaw) in [
            ("Host: a\nOrigin: b\r\n", Flaw::LineEnd),
            ("Host: a\rOrigin: b\r\n", Flaw::LineEnd),
            ("Host: a\r\r\n", Flaw::LineEnd),
            ("\n", Flaw::LineEnd),
            (" Host: a\r\n", Flaw::Folded),
            ("Host: a\r\n\tb\r\n", Flaw::Folded),
            ("Host : a\r\n", Flaw::Name),
            ("Host\t: a\r\n", Flaw::Name),
            (": a\r\n", Flaw::Name),
            ("Host\r\n", Flaw::Name),
            ("Ho\u{0}st: a\r\n", Flaw::Name),
            ("Content-Length: +5\r\n", Flaw::Length),
            ("Content-Length: 5, 5\r\n", Flaw::Length),
            ("Content-Length: 0x5\r\n", Flaw::Length),
            ("Content-Length:\r\n", Flaw::Length),
            ("Content-Length: 99999999999999999999\r\n", Flaw::Length),
            ("Content-Length: 5\r\nContent-Length: 5\r\n", Flaw::Twice("content-length")),
            ("Content-Length: 5\r\ncontent-length: 6\r\n", Flaw::Twice("content-length")),
            ("Transfer-Encoding: gzip, chunked\r\n", Flaw::Encoding),
            ("Transfer-Encoding: identity\r\n", Flaw::Encoding),
            ("Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n", Flaw::Twice("transfer-encoding")),
            ("Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n", Flaw::LengthAndEncoding),
            ("Transfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n", Flaw::LengthAndEncoding),
            ("Authorization: a\r\nAUTHORIZATION: a\r\n", Flaw::Twice("authorization")),
            ("Origin: a\r\nOrigin: a\r\n", Flaw::Twice("origin")),
            ("Host: a\r\nHost: a\r\n", Flaw::Twice("host")),
        ] {
            check(&format!("POST /mcp HTTP/1.1\r\n{lines}"), Err(flaw));
        }
    }

    #[test]
    fn a_line_is_not_kept_beyond_its_limit() {
        let mut heads = Heads::new();
        let piece = [b'a'; 4096];
        let flaw = std::iter::repeat_with(|| heads.feed(&piece)).take(100).find_map(Result::err);
        assert_eq!(flaw, Some(Flaw::TooLong));
    }
}
