//! The client's input, line by line, before the library reads it.
//!
//! The library gives up at a byte that is no UTF-8, and its answer to a line that is no JSON quotes the whole line and
//! has no id. A request that cannot be read (`"\ud800"`, which Node writes where a string was cut) becomes one of the
//! method [`UNREADABLE`], and an answer becomes an error: nobody waits for ever.

use std::borrow::Cow;

use bashful_dialect::{Envelope, MessageLine, MessageLines, json_problem};
use serde_json::{Value, json};
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt};

/// Longest part of a bad line that an answer quotes, in bytes.
const LONGEST_QUOTE: usize = 200;

/// Ends the replacement of a bad line. It makes every text invalid JSON, so no part of a line can pass for a message.
const CUT: &str = "…";

/// Method of a request in the place of one that cannot be read. Its parameters are the error.
pub(crate) const UNREADABLE: &str = "_bashful/unreadable";

/// Copies lines of up to `longest` bytes until the input ends, or nobody reads them any more.
pub(crate) async fn forward(from: impl AsyncRead + Unpin, to: &mut (impl AsyncWrite + Unpin), longest: usize) {
    let mut lines = MessageLines::new(from, longest);
    // An input that fails has ended.
    while let Ok(Some(line)) = lines.next().await {
        let mut line = match line {
            MessageLine::Whole(line) => line,
            MessageLine::TooLong => format!("a line of more than {longest} bytes{CUT}").into_bytes(),
        };
        line.push(b'\n');
        if to.write_all(&readable(&line)).await.is_err() {
            return;
        }
    }
}

/// The line itself, or a short one for it that gets an error as its answer.
fn readable(line: &[u8]) -> Cow<'_, [u8]> {
    let Err(error) = serde_json::from_slice::<Value>(line) else { return Cow::Borrowed(line) };
    if let Some(Envelope { id: Some(id), method }) = Envelope::read(line) {
        let problem = json!({ "code": -32700, "message": "Parse error", "data": json_problem(&error) });
        let mut message = json!({ "jsonrpc": "2.0", "id": id });
        match method {
            Some(_) => (message["method"], message["params"]) = (UNREADABLE.into(), problem),
            None => message["error"] = problem,
        }
        return Cow::Owned(format!("{message}\n").into_bytes());
    }
    if line.len() <= LONGEST_QUOTE && std::str::from_utf8(line).is_ok() {
        return Cow::Borrowed(line);
    }
    let begin = String::from_utf8_lossy(&line[..line.len().min(LONGEST_QUOTE)]);
    Cow::Owned(format!("{}{CUT}\n", begin.trim_end()).into_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(flavor = "current_thread")]
    async fn a_line_beyond_the_limit_becomes_a_parse_error_and_the_next_one_is_read() {
        let mut forwarded = Vec::new();
        forward([&b"x".repeat(100_000)[..], b"\n{}\n"].concat().as_slice(), &mut forwarded, 1000).await;
        assert_eq!(str::from_utf8(&forwarded), Ok("a line of more than 1000 bytes…\n{}\n"));
    }

    #[test]
    fn a_bad_line_becomes_a_short_one_that_is_still_bad() {
        let long = format!("\"{}\"\n", "a".repeat(1000));
        for fine in ["\n", "{}\n", "no json\n", &long] {
            assert_eq!(readable(fine.as_bytes()), Cow::Borrowed(fine.as_bytes()));
        }
        let tail = format!("{{}}{} no json\n", " ".repeat(1000));
        for bad in [&b"\xff\xfe\n"[..], b"{\"a\":\"\xff\"}\n", tail.as_bytes(), &long.as_bytes()[1..]] {
            let short = readable(bad).into_owned();
            assert!(short.len() < 1000 && short.ends_with(b"\n"), "{short:?}");
            let text = str::from_utf8(&short).expect("it is readable");
            assert!(serde_json::from_str::<Value>(text).is_err(), "{text}");
        }
    }

    #[test]
    fn a_bad_message_with_an_id_keeps_its_id() {
        let readable = |line: &[u8]| serde_json::from_slice::<Value>(&readable(line)).expect("it is readable");
        for (params, why) in [(&br#""\ud800""#[..], "half of a surrogate pair"), (b"\"\xff\"", "unicode")] {
            let line = [br#"{"jsonrpc":"2.0","id":"a","method":"session/prompt","params":"#, params, b"}\n"].concat();
            let request = readable(&line);
            assert_eq!((&request["id"], &request["method"]), (&json!("a"), &json!(UNREADABLE)));
            assert!(request["params"]["data"].as_str().is_some_and(|data| data.contains(why)), "{request}");
        }
        let answer = readable(br#"{"jsonrpc":"2.0","id":7,"result":{"x":"\udc00"}}"#);
        assert_eq!((&answer["id"], &answer["error"]["code"]), (&json!(7), &json!(-32700)));
    }
}
