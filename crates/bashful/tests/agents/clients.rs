//! `bashful mcp` with clients that others have made.

use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};

use bashful_testkit::{Home, check_conformance, node};
use rustix::process::{Pid, Signal, kill_process};

use crate::BASHFUL;

const TOKEN: &str = "known-to-both-0123456789";

/// Results as text alone, and structured ones.
const FORMS: [&[&str]; 2] = [&[], &["--structured"]];

/// Runs the official Python client in one of its modes, both ways, with results of both forms.
#[track_caller]
fn check_python(mode: &str) {
    let here = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
    let python = here.join("../../target/clients/python/bin/python");
    assert!(python.exists(), "no client at {}: run .ci/setup", python.display());
    let script = here.join("tests/agents/clients/python.py");
    for (way, form) in [("stdio", "text"), ("http", "structured")] {
        let home = Home::new(BASHFUL);
        let args = [script.as_os_str(), BASHFUL.as_ref(), mode.as_ref(), way.as_ref(), form.as_ref()];
        let output = home.wrapped(&python, &args).output().expect("it runs");
        let said = [output.stdout, output.stderr].map(|said| String::from_utf8_lossy(&said).into_owned());
        assert!(output.status.success(), "{way}: {}{}", said[0], said[1]);
        assert!(said[0].contains("well"), "{said:?}");
        home.check_nothing_survives();
    }
}

#[test]
fn the_python_client_is_served_in_its_first_era() {
    check_python("legacy");
}

#[test]
fn the_python_client_is_served_in_its_second_era() {
    check_python("2026-07-28");
}

#[test]
fn the_python_client_is_served_when_it_asks_which_era_it_is() {
    check_python("auto");
}

/// A server over HTTP, until it is dropped.
struct Served {
    child: Child,
    address: SocketAddr,
}

impl Served {
    fn new(home: &Home, form: &[&str]) -> Self {
        let mut command = home.command(&[&["mcp", "--http", ":0"], form].concat());
        let mut child = command.env("BASHFUL_MCP_TOKEN", TOKEN).stderr(Stdio::piped()).spawn().expect("it runs");
        let mut line = String::new();
        BufReader::new(child.stderr.take().expect("a pipe")).read_line(&mut line).expect("it says where it is");
        let address = line.trim_end().trim_end_matches("/mcp").rsplit('/').next();
        let address = address.and_then(|address| address.parse().ok()).unwrap_or_else(|| panic!("{line}"));
        Self { child, address }
    }

    fn end(mut self, home: &Home) {
        let pid = i32::try_from(self.child.id()).ok().and_then(Pid::from_raw).expect("a process id");
        kill_process(pid, Signal::TERM).expect("it is there");
        assert!(self.child.wait().expect("it ends").success());
        home.check_nothing_survives();
    }
}

#[test]
fn the_conformance_suite_finds_nothing_wrong_but_that_its_own_tools_are_missing() {
    let home = Home::new(BASHFUL);
    for form in FORMS {
        let server = Served::new(&home, form);
        for revision in ["2025-11-25", "2026-07-28"] {
            let file = format!("tests/agents/clients/need_not_hold-{revision}.yml");
            check_conformance(server.address, TOKEN, revision, &Path::new(env!("CARGO_MANIFEST_DIR")).join(file));
        }
        server.end(&home);
    }
}

/// Runs the official inspector; what it prints.
#[track_caller]
fn inspect(home: &Home, server: &[&str], what: &[&str]) -> String {
    let node = node("inspector/clients/launcher/build/index.js");
    let args: Vec<_> = node.get_args().map(ToOwned::to_owned).collect();
    let output =
        home.wrapped(node.get_program(), &args).arg("--cli").args(server).args(what).output().expect("it runs");
    let said = [output.stdout, output.stderr].map(|said| String::from_utf8_lossy(&said).into_owned());
    assert!(output.status.success(), "{server:?} {what:?}: {}{}", said[0], said[1]);
    said[0].clone()
}

#[test]
fn the_inspector_finds_nothing_wrong_when_it_is_strict() {
    let home = Home::new(BASHFUL);
    let call = ["--method", "tools/call", "--tool-name", "bash", "--tool-args-json", "{\"command\":\"echo $((6*7))\"}"];
    let header = format!("Authorization: Bearer {TOKEN}");
    for form in FORMS {
        let served = Served::new(&home, form);
        let url = format!("http://{}/mcp", served.address);
        let over_http = ["--server-url", url.as_str(), "--transport", "http", "--header", header.as_str()];
        for era in ["legacy", "modern"] {
            for server in [&[&[BASHFUL, "mcp"], form].concat()[..], &over_http] {
                let listed = inspect(&home, server, &["--method", "tools/list", "--strict", "--protocol-era", era]);
                assert!(listed.contains("\"name\": \"bash\"") && listed.contains("\"name\": \"job\""), "{listed}");
                assert_eq!(listed.contains("outputSchema"), !form.is_empty(), "{listed}");
                let result = inspect(&home, server, &[&call[..], &["--protocol-era", era]].concat());
                assert!(result.contains("\"text\": \"42\\n\""), "{result}");
                assert_eq!(result.contains("structuredContent"), !form.is_empty(), "{result}");
            }
        }
        served.end(&home);
    }
}
