//! The official conformance suite, against our HTTP with the suite's own tools behind it.

mod fixtures;

use std::net::{SocketAddr, TcpListener};
use std::path::Path;
use std::time::Duration;

use bashful_mcp::{AccessRules, Token, serve_handler};

use fixtures::Fixtures;

/// Serves until the program ends, and returns the address.
fn serve(token: Token) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let address = listener.local_addr().expect("it has an address");
    let access_rules =
        AccessRules { token, hosts: Vec::new(), sessions: 100, idle: Duration::from_mins(1), descriptors: 1024 };
    std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
        runtime.block_on(serve_handler(listener, Fixtures::new(), access_rules, std::future::pending()))
    });
    address
}

#[track_caller]
fn check(revision: &str) {
    let token = Token::of_random([7; 32]);
    let server = serve(token.clone());
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    bashful_testkit::check_conformance(
        server,
        token.reveal(),
        revision,
        &here.join("tests/conformance/need_not_hold.yml"),
    );
}

#[test]
fn the_first_era_is_conformed_to() {
    check("2025-11-25");
}

#[test]
fn the_second_era_is_conformed_to() {
    check("2026-07-28");
}
