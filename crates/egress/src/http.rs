//! The head of an HTTP request: `CONNECT host:port`, or one in absolute form (`GET http://host/path`).

use std::fmt;

use httparse::{EMPTY_HEADER, Status};
use tokio::io::{AsyncRead, AsyncReadExt};

use crate::host::{Host, split_port};
use crate::request::{NoRequest, Protocol, Request};

/// Bytes of a head after which no more is read. Servers refuse much shorter ones: 8 KiB is usual.
const LONGEST_HEAD: usize = 64 * 1024;

/// Most headers in a head. Browsers send about 20.
const MOST_HEADERS: usize = 128;

/// Reads a head whose first byte has been read.
pub(crate) async fn read<C: AsyncRead + Unpin>(client: &mut C, first: u8) -> Result<Request, NoRequest> {
    if !first.is_ascii_alphabetic() {
        // TLS, for one: its client would wait for an answer, and the proxy for the end of a line.
        return Err(malformed("this proxy speaks HTTP and SOCKS5 alone"));
    }
    let mut bytes = Vec::with_capacity(1024);
    bytes.push(first);
    let end = loop {
        // Only new bytes are searched, so that a head in small pieces costs no more than a whole one.
        let searched = bytes.len().saturating_sub(2);
        if client.read_buf(&mut bytes).await? == 0 {
            return Err(NoRequest::Gone);
        }
        match find_end(&bytes, searched) {
            Some(end) => break end,
            None if bytes.len() < LONGEST_HEAD => {}
            None => return Err(malformed("the head of the request has more than 64 KiB")),
        }
    };
    let early = bytes.split_off(end);
    parse(&bytes, early)
}

/// The length of a head with its empty line.
fn find_end(bytes: &[u8], from: usize) -> Option<usize> {
    (from..bytes.len()).find_map(|at| match &bytes[at..] {
        [b'\n', b'\n', ..] => Some(at + 2),
        [b'\n', b'\r', b'\n', ..] => Some(at + 3),
        _ => None,
    })
}

fn parse(head: &[u8], early: Vec<u8>) -> Result<Request, NoRequest> {
    let mut headers = [EMPTY_HEADER; MOST_HEADERS];
    let mut parsed = httparse::Request::new(&mut headers);
    let complete = matches!(parsed.parse(head), Ok(Status::Complete(length)) if length == head.len());
    let (true, Some(method), Some(target), Some(version)) = (complete, parsed.method, parsed.path, parsed.version)
    else {
        return Err(malformed("this is no HTTP request"));
    };
    if method == "CONNECT" {
        let (host, port) = authority(target)?;
        let port = port.ok_or_else(|| malformed("CONNECT needs a port behind the host"))?;
        return Ok(Request { host, port, protocol: Protocol::Connect, early });
    }
    let rest = target
        .split_at_checked("http://".len())
        .and_then(|(scheme, rest)| scheme.eq_ignore_ascii_case("http://").then_some(rest))
        .ok_or_else(|| malformed("this is a proxy: it takes CONNECT, and requests for http:// addresses"))?;
    let (host, path) = rest.split_at(rest.find(['/', '?', '#']).unwrap_or(rest.len()));
    let path = path.split('#').next().unwrap_or_default();
    let slash = if path.starts_with('/') { "" } else { "/" };
    let (host, port) = authority(host)?;
    let port = port.unwrap_or(80);
    let port_text = if port == 80 { String::new() } else { format!(":{port}") };
    let mut rewritten =
        format!("{method} {slash}{path} HTTP/1.{version}\r\nHost: {host}{port_text}\r\nConnection: close\r\n")
            .into_bytes();
    for header in parsed.headers.iter().filter(|header| is_for_the_server(header.name)) {
        rewritten.extend([header.name.as_bytes(), b": ", header.value, b"\r\n"].concat());
    }
    rewritten.extend(b"\r\n");
    rewritten.extend(early);
    Ok(Request { host, port, protocol: Protocol::PlainHttp, early: rewritten })
}

fn authority(text: &str) -> Result<(Host, Option<u16>), NoRequest> {
    let (host, port) = split_port(text.as_bytes()).ok_or_else(|| malformed("the port is no number"))?;
    Ok((Host::parse(host).map_err(|error| malformed(&error.to_string()))?, port))
}

/// The other headers are about the connection to the proxy, or would repeat the host.
fn is_for_the_server(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    !name.starts_with("proxy-") && !matches!(name.as_str(), "host" | "connection" | "keep-alive" | "upgrade")
}

fn malformed(why: &str) -> NoRequest {
    NoRequest::Malformed { why: why.to_owned(), answer: answer(400, why) }
}

/// A whole answer. The sentence is the reason too: clients print that of a refused CONNECT, and not its body.
pub(crate) fn answer(status: u16, sentence: impl fmt::Display) -> Vec<u8> {
    let sentence = format!("bashful: {sentence}");
    format!(
        "HTTP/1.1 {status} {sentence}\r\nContent-Type: text/plain\r\nContent-Length: {}\r\n\
         Connection: close\r\n\r\n{sentence}\n",
        sentence.len() + 1
    )
    .into_bytes()
}
