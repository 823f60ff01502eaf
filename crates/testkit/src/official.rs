//! The official conformance programs of the Model Context Protocol.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::relay;

/// The directory of the clients and tools that `.ci/setup` installed.
///
/// # Panics
///
/// If it is missing.
pub fn clients() -> PathBuf {
    let clients = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../target/clients");
    clients.canonicalize().unwrap_or_else(|_| panic!("nothing at {}: run .ci/setup", clients.display()))
}

/// A command for a Node script that `.ci/setup` installed.
///
/// # Panics
///
/// If the script is missing: the test would check nothing.
pub fn node(script: &str) -> Command {
    let clients = clients().join("node");
    let (node, script) = (clients.join("node"), clients.join("node_modules/@modelcontextprotocol").join(script));
    for path in [&node, &script] {
        assert!(path.exists(), "nothing at {}: run .ci/setup", path.display());
    }
    let mut command = Command::new(node);
    command.arg(script);
    command
}

/// Runs all scenarios of a protocol revision against a server. A file lists the expected failures with reasons.
///
/// # Panics
///
/// If another scenario fails, or a listed one passes.
#[track_caller]
pub fn check_conformance(server: SocketAddr, token: &str, revision: &str, need_not_hold: &Path) {
    let results = tempfile::tempdir().expect("a temporary directory");
    let url = format!("http://{}/mcp", relay::start(server, token));
    let output = node("conformance/dist/index.js")
        .args(["server", "--requirements", revision, "--url", &url])
        .arg("--expected-failures")
        .arg(need_not_hold)
        .arg("--output-dir")
        .arg(results.path())
        .current_dir(results.path())
        .output()
        .expect("it runs");
    let said = [output.stdout, output.stderr].map(|said| String::from_utf8_lossy(&said).into_owned());
    // All the scenarios by name come before that.
    let summary = said[0].find("=== SUMMARY ===").map_or("", |at| &said[0][at..]);
    assert!(output.status.success() && summary.contains("\nTotal: "), "{summary}{}", said[1]);
}
