//! `bashful mcp --http`, spoken to byte by byte: who is let in, what is said wrongly, and what becomes of commands.

mod commands;
mod heads;
mod server;
mod strangers;
mod token_file;

use bashful_testkit::Home;
use rustix::process::Signal;
use serde_json::{Value, json};

use server::{Server, Session, request};

const BASHFUL: &str = env!("CARGO_BIN_EXE_bashful");

fn home() -> Home {
    Home::new(BASHFUL)
}

#[track_caller]
fn ends_well(mut server: Server, home: &Home) {
    assert_eq!(server.run("echo well"), "well\n");
    server.signal(Signal::TERM);
    assert!(server.end().success());
    home.check_nothing_survives();
}

const LIST: &[u8] = b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/list\",\"params\":{}}";

#[test]
fn who_shows_no_token_or_another_one_is_not_let_in() {
    let home = home();
    let server = Server::start(&home);
    assert_eq!(server.token.len(), 64);
    let nearly = format!("Bearer {}x", &server.token[..63]);
    let basic = format!("Basic {}", server.token);
    for shown in ["", nearly.as_str(), basic.as_str(), "Bearer", "Bearer \u{7f}"] {
        let reply = server.post(&[("Authorization", shown)], LIST);
        // An invalid header is refused earlier.
        assert!(reply.status == 401 || (shown.ends_with('\u{7f}') && reply.status == 400), "{shown}");
        if reply.status == 401 {
            assert!(reply.header("www-authenticate").is_some_and(|how| how.starts_with("Bearer realm=")));
        }
    }
    for method in ["GET", "DELETE", "PUT", "OPTIONS", "HEAD"] {
        let mut wire = server.connect();
        wire.send(&request(method, "/mcp", &[("Host".to_owned(), "localhost".to_owned())], b""));
        assert_eq!(wire.head().status, 401, "{method}");
    }
    ends_well(server, &home);
}

#[test]
fn pages_and_hosts_that_are_not_ours_are_not_let_in() {
    let home = home();
    let server = Server::with(&home, &[], &[("BASHFUL_MCP_HOSTS", "[\"box.example\"]")]);
    for (name, value, status) in [
        ("Host", "evil.example", 403),
        ("Host", "", 403),
        ("Host", "localhost:1@evil.example", 403),
        ("Host", "localhost", 400),
        ("Host", "BOX.example:443", 400),
        ("Origin", "http://evil.example", 403),
        ("Origin", "null", 403),
        ("Origin", "https://box.example", 400),
        ("Origin", "http://localhost:3000", 400),
    ] {
        // An admitted request without a session gets an error that says so.
        assert_eq!(server.post(&[(name, value)], LIST).status, status, "{name}: {value}");
    }
    let mut wire = server.connect();
    wire.send(&request("POST", "http://evil.example/mcp", &server.headers(), LIST));
    assert_eq!(wire.reply().status, 403);
    for path in ["/", "/mcp/", "/sse", "/.well-known/oauth-protected-resource", "/mcp%00", "/..//mcp"] {
        let mut wire = server.connect();
        wire.send(&request("POST", path, &server.headers(), LIST));
        assert_eq!(wire.reply().status, 404, "{path}");
    }
    ends_well(server, &home);
}

#[test]
fn what_is_said_wrongly_is_told_so() {
    let home = home();
    let server = Server::start(&home);
    assert_eq!(server.post(&[("Content-Type", "text/plain")], LIST).status, 415);
    assert_eq!(server.post(&[("Content-Type", "")], LIST).status, 415);
    assert_eq!(server.post(&[("Accept", "text/html")], LIST).status, 406);
    assert_eq!(server.post(&[("Accept", "")], LIST).status, 406);
    for (message, code, id) in [
        (&b"not JSON"[..], -32700, Value::Null),
        (b"", -32700, Value::Null),
        (b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":", -32700, Value::Null),
        (b"\xff\xfe", -32700, Value::Null),
        (b"[]", -32600, Value::Null),
        (b"{\"id\": 5}", -32600, json!(5)),
        (b"{\"jsonrpc\":\"2.0\",\"id\":\"mine\",\"method\":\"tools/call\",\"params\":[]}", -32602, json!("mine")),
        ("[".repeat(100_000).as_bytes(), -32700, Value::Null),
    ] {
        let reply = server.post(&[], message);
        let said = reply.message();
        assert_eq!((reply.status, &said["error"]["code"], &said["id"]), (400, &json!(code), &id), "{said}");
    }
    let mut wire = server.connect();
    wire.send(&request("PUT", "/mcp", &server.headers(), LIST));
    let reply = wire.reply();
    assert_eq!((reply.status, reply.header("allow")), (405, Some("GET, POST, DELETE")));
    for garbage in [&b"hello\r\n\r\n"[..], b"GET\r\n\r\n", b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03"] {
        let mut wire = server.connect();
        wire.send(garbage);
        wire.send(&vec![b'x'; 1 << 20]);
        assert!(wire.head().status == 400, "it is told before it is left");
    }
    ends_well(server, &home);
}

#[test]
fn a_message_that_is_too_long_is_not_read() {
    let home = home();
    let server = Server::start(&home);
    let longest = (16 << 20) * 6 + 64 * 1024;
    // Announced.
    let mut wire = server.connect();
    let head = request("POST", "/mcp", &server.headers(), b"");
    let head = String::from_utf8(head)
        .expect("text")
        .replace("Content-Length: 0", &format!("Content-Length: {}", longest + 1));
    wire.send(head.as_bytes());
    assert_eq!(wire.reply().status, 413);
    // And not.
    let mut wire = server.connect();
    wire.send(head.replace(&format!("Content-Length: {}", longest + 1), "Transfer-Encoding: chunked").as_bytes());
    let piece = [b"100000\r\n", vec![b' '; 1 << 20].as_slice(), b"\r\n"].concat();
    // The server may stop reading early, but says why.
    while wire.try_send(&piece) {}
    assert_eq!(wire.reply().status, 413);
    // Whoever has shown no token is not even read from.
    let mut wire = server.connect();
    wire.send(head.replace("Authorization", "X-Other").as_bytes());
    wire.try_send(&vec![b'x'; 8 << 20]);
    assert_eq!(wire.reply().status, 401);
    ends_well(server, &home);
}

#[test]
fn what_there_is_no_session_for_is_told_so() {
    let home = home();
    let server = Server::start(&home);
    assert_eq!(server.post(&[], LIST).status, 400);
    for session in ["no-such-session", "\u{e9}", "0"] {
        assert_eq!(
            server.post(&[("Mcp-Session-Id", session)], LIST).status,
            if session == "\u{e9}" { 400 } else { 404 }
        );
    }
    let mut session = Session::greeted(&server);
    let id = std::mem::replace(&mut session.id, "no-such-session".to_owned());
    assert_eq!(session.plain("GET").reply().status, 404);
    assert_eq!(session.plain("DELETE").reply().status, 404);
    session.id = id;
    assert_eq!(session.run("echo hi"), "hi\n");
    // News would come here.
    let mut news = session.plain("GET");
    let reply = news.head();
    assert_eq!((reply.status, reply.header("content-type")), (200, Some("text/event-stream")));
    assert_eq!(session.plain("DELETE").reply().status, 202);
    while news.chunk().is_some() {}
    assert_eq!(session.plain("DELETE").reply().status, 404);
    assert_eq!(session.begin_call("late", "echo hi").reply().status, 404);
    ends_well(server, &home);
}

#[test]
fn sessions_are_bounded_and_end_when_nobody_is_there() {
    let home = home();
    let variables = [("BASHFUL_MCP_SESSIONS", "2"), ("BASHFUL_MCP_SESSION_IDLE_SECONDS", "1")];
    let server = Server::with(&home, &[], &variables);
    let staying = Session::greeted(&server);
    let mut news = staying.plain("GET");
    assert_eq!(news.head().status, 200);
    // A command that takes longer than that is somebody who is there.
    let working = Session::greeted(&server);
    let mut call = working.begin_call("long", "touch begun; sleep 2.5; echo done");
    home.wait_for("begun");
    let hello =
        json!({ "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": { "name": "t", "version": "1" } });
    let hello = json!({ "jsonrpc": "2.0", "id": 0, "method": "initialize", "params": hello }).to_string();
    let refused = server.post(&[], hello.as_bytes());
    assert_eq!((refused.status, refused.header("retry-after")), (503, Some("10")), "{}", refused.text());
    assert_eq!(server::text(&call.reply().message()), "done\n");
    // Whoever does nothing makes room, and is forgotten by himself, too.
    let next = Session::greeted(&server);
    assert_eq!(working.begin_call("late", "true").reply().status, 404);
    std::thread::sleep(std::time::Duration::from_secs(3));
    assert_eq!(next.begin_call("late", "true").reply().status, 404);
    assert_eq!(staying.run("echo still here"), "still here\n");
    ends_well(server, &home);
}

#[test]
fn the_token_is_taken_from_a_file_or_a_variable_and_shown_to_nobody() {
    let home = home();
    token_file::write(&home, "token", 0o600, b"0123456789-of-a-file\n");
    for (args, variables, token) in [
        (
            &["--token-file", "token"][..],
            &[("BASHFUL_MCP_TOKEN", "another-one-0123456789")][..],
            "0123456789-of-a-file",
        ),
        (&[], &[("BASHFUL_MCP_TOKEN", "0123456789-of-a-variable")], "0123456789-of-a-variable"),
        (&[], &[("BASHFUL_MCP_TOKEN_FILE", "token")], "0123456789-of-a-file"),
    ] {
        // Whoever lets such names through does not mean this one.
        let variables = [variables, &[("BASHFUL_ENVIRONMENT_ALLOW", "[\"*\"]"), ("MY_TOKEN", "known-to-all")]].concat();
        let mut server = Server::with(&home, args, &variables);
        assert!(!server.token.contains("0123456789"), "it is known already: {}", server.token);
        token.clone_into(&mut server.token);
        let half = token.split_at(5);
        let said = server.run(&format!("env; echo {}''{}", half.0, half.1));
        assert!(!said.contains(token) && said.contains("[withheld: BASHFUL_MCP_TOKEN]"), "{said}");
        assert!(said.contains("MY_TOKEN=known-to-all"), "{said}");
        let log = home.run(&["log", "--json"]).stdout;
        assert!(!String::from_utf8_lossy(&log).contains(token));
        ends_well(server, &home);
    }
    let mut config = home.command(&["config"]);
    let config = config.env("BASHFUL_MCP_TOKEN", "0123456789-of-a-variable").output().expect("it runs").stdout;
    let config = String::from_utf8(config).expect("text");
    assert!(config.contains("token = \"(not shown)\"") && !config.contains("0123456789"), "{config}");
}

#[test]
fn a_server_that_cannot_be_safe_does_not_start() {
    let home = home();
    token_file::write(&home, "good", 0o600, b"0123456789abcdef\n");
    for (args, part) in [
        (&["0.0.0.0:0"][..], "can be reached from other machines"),
        (&["[::]:0"], "use --token-file or BASHFUL_MCP_TOKEN"),
        (&["nonsense"], "is not an address: use PORT or HOST:PORT"),
        (&["8.8.8.8:0", "--token-file", "good"], "cannot listen on 8.8.8.8:0"),
    ] {
        let output = home.run(&[&["mcp", "--http"], args].concat());
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(125), "{said}");
        assert!(said.contains(part), "{said}");
    }
    let server = Server::start(&home);
    let again = home.run(&["mcp", "--http", &server.address.to_string()]);
    assert!(String::from_utf8_lossy(&again.stderr).contains("cannot listen on"), "{again:?}");
    assert_eq!(home.run(&["mcp", "--token-file", "good"]).status.code(), Some(125), "it is for --http");
    ends_well(server, &home);
}

#[test]
fn a_client_that_dawdles_is_left() {
    let home = home();
    let server = Server::start(&home);
    // Neither of them has said what it wants when time is up; the first has never said anything.
    let mut silent = server.connect();
    let mut slow = server.connect();
    slow.send(b"POST /mcp HTTP/1.1\r\nHost: localhost\r\n");
    let mut idle = server.connect();
    idle.send(&server.modern("1", "tools/list", &json!({})));
    assert_eq!(idle.reply().status, 200);
    for wire in [&mut silent, &mut slow, &mut idle] {
        assert!(wire.is_closed());
    }
    ends_well(server, &home);
}
