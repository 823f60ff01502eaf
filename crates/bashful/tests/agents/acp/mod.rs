//! `bashful acp` with clients that others have made, and with one that misbehaves.

mod client;
mod misbehaving;
mod turns;

use std::path::PathBuf;
use std::process::{Command, Stdio};

use bashful_testkit::{Home, clients};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use crate::BASHFUL;

/// Seconds for a command whose time is up. A client on a busy machine takes some of them to create a terminal.
const A_WHILE: u32 = 12;

/// A Node script of the clients, or one that uses them.
fn node(home: &Home, script: PathBuf, args: &[&str]) -> Command {
    let node = clients().join("node/node");
    for path in [&node, &script] {
        assert!(path.exists(), "nothing at {}: run .ci/setup", path.display());
    }
    let mut command = home.wrapped(node, &[script]);
    command.args(args).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

/// The file with settings in which a command has so many seconds, and the user is asked about forced pushes.
fn settings(home: &Home, seconds: u32) -> String {
    let file = home.path().join("settings.toml");
    let text =
        format!("[lifetime]\ndefault_seconds = {seconds}\n[guard]\nlevels = {{ \"git/force-push\" = \"ask\" }}\n");
    std::fs::write(&file, text).expect("a file");
    file.display().to_string()
}

#[track_caller]
fn check_sdk(way: &str) {
    let home = Home::new(BASHFUL);
    let sdk = clients().join("acp/node_modules/@agentclientprotocol/sdk/dist/v1/stable/acp.js");
    let script = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/agents/acp/sdk.mjs");
    let (sdk, settings) = (sdk.display().to_string(), settings(&home, A_WHILE));
    let directory = home.path().display().to_string();
    let output = node(&home, script, &[&sdk, BASHFUL, &settings, &directory, way]).output().expect("it runs");
    let said = [output.stdout, output.stderr].map(|said| String::from_utf8_lossy(&said).into_owned());
    assert!(output.status.success() && said[0] == "well\n", "{}{}", said[0], said[1]);
    if way == "here" {
        home.check_nothing_survives();
    }
}

#[test]
fn the_official_client_runs_commands_in_its_terminals() {
    check_sdk("terminals");
}

#[test]
fn the_official_client_without_terminals_runs_commands_here() {
    check_sdk("here");
}

fn acpx(home: &Home, seconds: u32, options: &[&str], prompt: &str) -> Command {
    let agent = format!("{BASHFUL} --config {} acp", settings(home, seconds));
    let mut args = vec!["--agent", agent.as_str(), "--approve-all", "--format", "json"];
    args.extend(options);
    args.extend(["exec", prompt]);
    node(home, clients().join("acp/node_modules/acpx/dist/cli.js"), &args)
}

/// The messages that acpx prints for a prompt.
#[track_caller]
fn frames(options: &[&str], prompt: &str) -> Vec<Value> {
    frames_within(120, options, prompt)
}

/// The same for a command that has so many seconds.
#[track_caller]
fn frames_within(seconds: u32, options: &[&str], prompt: &str) -> Vec<Value> {
    let home = Home::new(BASHFUL);
    let output = acpx(&home, seconds, options, prompt).output().expect("it runs");
    let said = [output.stdout, output.stderr].map(|said| String::from_utf8_lossy(&said).into_owned());
    let frames: Vec<Value> = said[0].lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
    assert!(frames.len() > 3, "{}{}", said[0], said[1]);
    home.check_nothing_survives();
    frames
}

/// The last update of the tool call among these messages, and the reason why the turn ended.
#[track_caller]
fn ended(frames: &[Value]) -> (&Value, &str) {
    let update = frames.iter().rev().map(|frame| &frame["params"]["update"]);
    let last = update.into_iter().find(|update| update["sessionUpdate"] == "tool_call_update");
    let reason = frames.iter().find_map(|frame| frame["result"]["stopReason"].as_str());
    (last.unwrap_or_else(|| panic!("no update: {frames:?}")), reason.expect("the turn ends"))
}

fn has_request(frames: &[Value], method: &str) -> bool {
    frames.iter().any(|frame| frame["method"] == method)
}

#[test]
fn acpx_runs_a_command_in_its_terminal() {
    let frames = frames(&[], "echo hello; exit 3");
    let (last, reason) = ended(&frames);
    assert_eq!((last["status"].as_str(), reason), (Some("failed"), "end_turn"));
    assert_eq!(last["rawOutput"]["exit_code"], 3, "{last}");
    for method in ["terminal/create", "terminal/wait_for_exit", "terminal/release"] {
        assert!(has_request(&frames, method), "{method}: {frames:?}");
    }
}

#[test]
fn acpx_tells_the_signal_that_killed_a_command() {
    let frames = frames(&[], "echo x; kill -9 $$");
    assert_eq!(ended(&frames).0["rawOutput"]["signal"]["name"], "SIGKILL");
}

#[test]
fn acpx_is_told_to_kill_a_command_whose_time_is_up() {
    let frames = frames_within(A_WHILE, &[], "echo begun; exec sleep 1000");
    let (last, reason) = ended(&frames);
    assert_eq!((&last["rawOutput"]["status"], reason), (&Value::from("timed_out"), "end_turn"));
    assert!(has_request(&frames, "terminal/kill"), "{frames:?}");
}

#[test]
fn acpx_without_terminals_runs_a_command_here() {
    let frames = frames(&["--no-terminal"], "echo hello");
    let (last, reason) = ended(&frames);
    assert_eq!((last["status"].as_str(), reason), (Some("completed"), "end_turn"));
    assert_eq!(last["content"][0]["content"]["text"], "```text\nhello\n```", "{last}");
    assert!(!has_request(&frames, "terminal/create"), "{frames:?}");
}

/// Everything that acpx prints in its format for scripts.
#[track_caller]
fn quiet(options: &[&str], prompt: &str) -> String {
    let home = Home::new(BASHFUL);
    let output = acpx(&home, 120, &[&["--format", "quiet"], options].concat(), prompt).output().expect("it runs");
    assert!(output.status.success(), "{output:?}");
    home.check_nothing_survives();
    String::from_utf8_lossy(&output.stdout).into_owned()
}

#[test]
fn acpx_prints_the_output_to_scripts_and_behind_it_what_went_wrong() {
    for options in [&[][..], &["--no-terminal"]] {
        assert_eq!(quiet(options, "printf 'a *b*\\n\\n  c\\n'"), "a *b*\n\n  c\n");
        assert_eq!(quiet(options, "!echo typed"), "typed\n");
        let failed = quiet(options, "echo out; exit 3");
        assert!(failed.starts_with("out\n") && failed.contains("\n✗ failed"), "{failed}");
    }
}

#[test]
fn acpx_approves_what_the_guard_asks_about() {
    let frames = frames(&["--no-terminal"], "git push --force; echo ran");
    let text = ended(&frames).0["content"][0]["content"]["text"].as_str().expect("a text");
    assert!(text.contains("ran\n") && has_request(&frames, "session/request_permission"), "{text}");
}

#[test]
fn a_killed_client_takes_its_commands_along() {
    let home = Home::new(BASHFUL);
    let mut command = acpx(&home, 120, &["--no-terminal"], "\"$PUPPET\" hold & \"$PUPPET\" make ready hold");
    let mut child = command.spawn().expect("it runs");
    home.wait_for("ready");
    let pid = Pid::from_raw(child.id().cast_signed()).expect("a process");
    kill_process(pid, Signal::KILL).expect("it runs");
    child.wait().expect("it has ended");
    home.check_nothing_survives();
}
