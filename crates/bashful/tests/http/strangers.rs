//! Connections without the token: they get one answer, little time, and no place of a client.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use rustix::process::{Resource, getrlimit, setrlimit};
use serde_json::json;

use super::server::{Server, Session, request, text};
use super::{LIST, ends_well, home};

/// More than all places of a server together.
const MANY: usize = 2_000;

/// Each connection of a test is a descriptor of this process.
fn allow_many_descriptors() {
    let mut limit = getrlimit(Resource::Nofile);
    limit.current = limit.maximum;
    setrlimit(Resource::Nofile, limit).expect("raising the soft limit is always allowed");
}

#[test]
fn strangers_that_hold_on_keep_no_client_out() {
    allow_many_descriptors();
    let home = home();
    let server = Server::start(&home);
    // Both of these are clients, and stay so however long they are silent.
    let session = Session::greeted(&server);
    let mut news = session.plain("GET");
    assert_eq!(news.head().status, 200);
    let mut call = server.begin_call("long", "touch begun; until [ -e enough ]; do sleep 0.05; done; echo done");
    home.wait_for("begun");

    let refused = request("POST", "/mcp", &[("Host".to_owned(), "localhost".to_owned())], LIST);
    let openings = [&b""[..], b"POST /mcp HTTP/1.1\r\nHost: localhost\r\nX-Slow: ", &refused, b"\r\n"];
    let mut held = Vec::new();
    for opening in openings.iter().cycle().take(MANY) {
        let mut stranger = TcpStream::connect(server.address).expect("it listens");
        // The server may have closed the connection already.
        let _ = stranger.write_all(opening);
        held.push(stranger);
    }
    let is_enough = AtomicBool::new(false);
    std::thread::scope(|scope| {
        // Strangers keep connecting while the client connects, and stay.
        scope.spawn(|| {
            let mut more = std::collections::VecDeque::new();
            while !is_enough.load(Ordering::Relaxed) {
                more.extend(TcpStream::connect(server.address));
                if more.len() > MANY / 2 {
                    more.pop_front();
                }
            }
        });
        for _ in 0..5 {
            assert_eq!(server.run("echo in"), "in\n");
        }
        is_enough.store(true, Ordering::Relaxed);
    });
    assert_eq!(session.run("echo still here"), "still here\n");
    std::fs::write(home.path().join("enough"), "").expect("it is written");
    assert_eq!(text(&call.reply().message()), "done\n");
    assert_eq!(session.plain("DELETE").reply().status, 202);
    while news.chunk().is_some() {}
    drop(held);
    ends_well(server, &home);
}

#[test]
fn a_stranger_gets_one_answer() {
    let home = home();
    let server = Server::start(&home);
    let good = server.modern("1", "tools/list", &json!({}));
    for (name, value, status) in [
        ("Authorization", "Bearer not-the-token-at-all", 401),
        ("Authorization", "", 401),
        ("Host", "evil.example", 403),
        ("Origin", "http://evil.example", 403),
    ] {
        let mut wire = server.connect();
        let bad = request("POST", "/mcp", &super::server::change(server.headers(), &[(name, value)]), LIST);
        // A good request behind a refused one is not heard: the connection is closed.
        wire.send(&[bad.as_slice(), &good].concat());
        let reply = wire.reply();
        assert_eq!((reply.status, reply.header("connection")), (status, Some("close")), "{name}: {value}");
        assert!(wire.is_closed(), "{name}: {value}");
    }
    // A client that shows the token on one request has to show it on the next one, too.
    let mut wire = server.connect();
    wire.send(&good);
    assert_eq!(wire.reply().status, 200);
    wire.send(&request("POST", "/mcp", &super::server::change(server.headers(), &[("Authorization", "")]), LIST));
    assert_eq!(wire.reply().status, 401);
    assert!(wire.is_closed());
    ends_well(server, &home);
}

#[test]
fn a_stranger_that_sends_a_byte_now_and_then_is_left() {
    let home = home();
    let server = Server::start(&home);
    let mut slow = TcpStream::connect(server.address).expect("it listens");
    slow.set_read_timeout(Some(Duration::from_millis(100))).expect("it can be set");
    let begun = Instant::now();
    slow.write_all(b"POST /mcp HTTP/1.1\r\nX-Slow: ").expect("it is taken");
    // Each byte would be a reason to wait for the next one.
    let mut is_left = || {
        let mut answer = [0; 1024];
        match slow.read(&mut answer) {
            Ok(0) => true,
            Ok(_) => false,
            Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => slow.write_all(b"x").is_err(),
            Err(_) => true,
        }
    };
    while !is_left() {
        assert!(begun.elapsed() < bashful_testkit::WIDE, "it is still listened to");
    }
    ends_well(server, &home);
}
