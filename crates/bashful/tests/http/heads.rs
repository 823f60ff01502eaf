//! Request heads that two parsers could read in two ways are refused, and the connection with them.

use serde_json::json;

use super::server::{Server, change, request};
use super::{LIST, ends_well, home};

/// Sends a request whose head was changed as text; its status, and whether the connection was closed.
fn status(server: &Server, from: &str, to: &str) -> (u16, bool) {
    let good = server.modern("1", "tools/list", &json!({}));
    let good = String::from_utf8(good).expect("text");
    let changed = good.replacen(from, to, 1);
    assert!(changed != good || from == to, "{from:?} is not in {good}");
    let mut wire = server.connect();
    wire.send(changed.as_bytes());
    let reply = wire.reply();
    let is_closed = reply.header("connection") == Some("close");
    assert!(!is_closed || wire.is_closed());
    (reply.status, is_closed)
}

#[test]
fn a_head_that_could_be_read_in_two_ways_is_refused() {
    let home = home();
    let server = Server::start(&home);
    assert_eq!(status(&server, "", ""), (200, false));
    let host = format!("Host: {}\r\n", server.address);
    let token = format!("Authorization: Bearer {}\r\n", server.token);
    let wrong = "Authorization: Bearer another-token-0123456789\r\n";
    for (from, to) in [
        // Two lengths.
        ("Content-Length: ", "Transfer-Encoding: chunked\r\nContent-Length: ".to_owned()),
        ("\r\n\r\n", "\r\nTransfer-Encoding: chunked\r\n\r\n".to_owned()),
        ("Content-Length: ", "Content-Length: 5\r\nContent-Length: ".to_owned()),
        ("Content-Length: ", "Content-Length: +".to_owned()),
        ("Content-Length: ", "Transfer-Encoding: gzip, chunked\r\nX-Length: ".to_owned()),
        ("Content-Length: ", "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\nX-Length: ".to_owned()),
        // Lines that are none to others.
        ("\r\nHost", "\nHost".to_owned()),
        ("\r\n\r\n", "\r\nX-Odd: 1\n\r\n".to_owned()),
        ("\r\nHost", "\r\nX-Odd: a\rb\r\nHost".to_owned()),
        ("Host:", "Host :".to_owned()),
        ("Content-Length:", "Content-Length\t:".to_owned()),
        ("\r\nHost", "\r\nX-Odd: 1\r\n 2\r\nHost".to_owned()),
        ("\r\nContent-Length", "\r\n X-Odd: 1\r\nContent-Length".to_owned()),
        // Two of what there is one of.
        (token.as_str(), format!("{token}{wrong}")),
        (token.as_str(), format!("{wrong}{token}")),
        (token.as_str(), format!("{token}{token}")),
        (host.as_str(), format!("{host}{host}")),
        (host.as_str(), format!("{host}Origin: http://localhost\r\nOrigin: http://localhost\r\n")),
        (host.as_str(), format!("{host}Mcp-Session-Id: a\r\nMcp-Session-Id: b\r\n")),
        // Two hosts, both of them ours.
        ("POST /mcp", "POST http://localhost/mcp".to_owned()),
    ] {
        assert_eq!(status(&server, from, &to), (400, true), "{to:?}");
    }
    ends_well(server, &home);
}

#[test]
fn a_refusal_says_what_is_wrong_with_the_head() {
    let home = home();
    let server = Server::start(&home);
    let mut headers = server.headers();
    headers.push(("Authorization".to_owned(), "Bearer another".to_owned()));
    let mut wire = server.connect();
    wire.send(&request("POST", "/mcp", &headers, LIST));
    assert_eq!(wire.reply().text(), "malformed request: there can be only one header `authorization`\n");
    ends_well(server, &home);
}

#[test]
fn a_flaw_in_a_later_head_is_found_behind_a_message() {
    let home = home();
    let server = Server::start(&home);
    let good = server.modern("1", "tools/list", &json!({}));
    let mut wire = server.connect();
    for _ in 0..3 {
        wire.send(&good);
        assert_eq!(wire.reply().status, 200);
    }
    let bad = String::from_utf8(good).expect("text").replacen("\r\nHost", "\nHost", 1);
    wire.send(bad.as_bytes());
    assert_eq!(wire.reply().status, 400);
    assert!(wire.is_closed());
    ends_well(server, &home);
}

#[test]
fn a_chunked_message_is_read_and_ends_its_connection() {
    let home = home();
    let server = Server::start(&home);
    let good = String::from_utf8(server.modern("1", "tools/list", &json!({}))).expect("text");
    let (head, message) = good.split_once("\r\n\r\n").expect("a head");
    let length = format!("Content-Length: {}", message.len());
    let head = head.replace(&length, "Transfer-Encoding: chunked");
    let mut wire = server.connect();
    wire.send(format!("{head}\r\n\r\n{:x}\r\n{message}\r\n0\r\n\r\n", message.len()).as_bytes());
    let reply = wire.reply();
    assert_eq!((reply.status, reply.header("connection")), (200, Some("close")));
    assert!(wire.is_closed());
    ends_well(server, &home);
}

#[test]
fn a_head_that_is_too_long_is_refused() {
    let home = home();
    let server = Server::start(&home);
    let long = "x".repeat(100_000);
    let mut wire = server.connect();
    let headers = change(server.headers(), &[("X-Long", &long)]);
    wire.try_send(&request("POST", "/mcp", &headers, LIST));
    assert!(matches!(wire.head().status, 400 | 431));
    ends_well(server, &home);
}
