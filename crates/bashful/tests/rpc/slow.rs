//! A host that reads late or never: commands go on, memory stays bounded, and the host learns what it missed.

use std::io::Write;
use std::process::Stdio;

use bashful_testkit::eventually;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use crate::host::Host;
use crate::{ends_well, home};

/// Bytes of output that no pipe and no queue holds.
const FLOOD: u64 = 64 << 20;

/// Most memory of the service in KiB while a host does not read: itself in a debug build, and the queues of two commands.
const MOST_MEMORY: u64 = 64 << 10;

fn flood(marker: &str) -> String {
    format!("yes 0123456789abcde | head -c {FLOOD}; touch {marker}")
}

/// Resident memory of a process in KiB.
fn memory(pid: u32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).expect("it runs");
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).expect("a line");
    line.trim().trim_end_matches(" kB").parse().expect("a number")
}

/// Bytes of the events of a request, received and dropped.
fn streamed(lines: &[Value], id: &Value) -> (u64, u64) {
    let of = |kind: &'static str| lines.iter().filter(move |line| line["type"] == kind && line["id"] == *id);
    let received = of("chunk").map(|chunk| chunk["text"].as_str().expect("text").len() as u64).sum();
    (received, of("dropped").map(|dropped| dropped["bytes"].as_u64().expect("a number")).sum())
}

#[test]
fn a_slow_reader_holds_up_no_command_and_is_told_what_it_missed() {
    let home = home();
    let mut host = Host::new(&home);
    for id in ["one", "two"] {
        host.send(&json!({ "id": id, "type": "bash", "command": flood(id), "stream": true }));
    }
    host.send(&json!({ "id": "quiet", "type": "bash", "command": "seq 100000; touch three" }));
    // Nobody has read a byte, and all of them come to their end.
    for file in ["one", "two", "three"] {
        home.wait_for(file);
    }
    let used = memory(host.pid());
    assert!(used < MOST_MEMORY, "{used} KiB");
    let responses: Vec<Value> = ["one", "two", "quiet"].iter().map(|id| host.response(&json!(id))).collect();
    for (response, id) in responses.iter().zip(["one", "two"]) {
        let (data, stream) = (&response["data"], &response["stream"]);
        assert_eq!((&data["totalBytes"], &data["exitCode"]), (&json!(FLOOD), &json!(0)), "the result is whole");
        let (received, dropped) = streamed(&host.early, &json!(id));
        assert_eq!((&stream["bytes"], &stream["droppedBytes"]), (&json!(received), &json!(dropped)));
        assert_eq!(received + dropped, FLOOD);
        assert!(dropped > FLOOD / 2, "{dropped}");
        let artifact = home.state().join(format!("artifacts/{}", data["artifactId"].as_str().expect("an artifact")));
        assert!(eventually(|| artifact_bytes(&artifact) == FLOOD), "{}", artifact.display());
    }
    assert_eq!(responses[2]["data"]["totalLines"], 100_000);
    let numbers = |id: &str| -> Vec<u64> {
        host.early.iter().filter(|line| line["id"] == id).map(|line| line["seq"].as_u64().expect("a number")).collect()
    };
    for id in ["one", "two"] {
        assert_eq!(numbers(id), (0..numbers(id).len() as u64).collect::<Vec<_>>(), "no number is missing");
    }
    host.early.clear();
    ends_well(host, &home);
}

/// Size of the files of an artifact.
fn artifact_bytes(artifact: &std::path::Path) -> u64 {
    if artifact.is_file() {
        return artifact.metadata().map_or(0, |metadata| metadata.len());
    }
    let files = std::fs::read_dir(artifact).into_iter().flatten().flatten();
    files.filter_map(|file| file.metadata().ok()).map(|metadata| metadata.len()).max().unwrap_or(0)
}

#[test]
fn a_command_that_waits_for_its_reader_loses_nothing_and_holds_up_nobody_else() {
    let home = home();
    let mut host = Host::new(&home);
    host.send(&json!({ "id": "wait", "type": "bash", "command": flood("done"), "stream": true, "whenBehind": "wait" }));
    host.send(&json!({ "id": "other", "type": "bash", "command": "touch other" }));
    home.wait_for("other");
    assert!(!home.path().join("done").exists(), "no pipe holds that much");
    let response = host.response(&json!("wait"));
    assert_eq!(response["stream"]["droppedBytes"], 0);
    assert_eq!(streamed(&host.early, &json!("wait")), (FLOOD, 0));
    host.early.clear();
    ends_well(host, &home);
}

#[test]
fn a_paused_command_waits_while_the_host_reads_everything_else() {
    let home = home();
    let mut host = Host::new(&home);
    host.send(
        &json!({ "id": "flood", "type": "bash", "command": flood("done"), "stream": true, "whenBehind": "wait" }),
    );
    assert_eq!(host.data(&json!({ "id": "pause", "type": "stream_pause", "target": "flood" })), json!({}));
    // Everything that comes is read now, until a command that writes as much has ended.
    let other =
        json!({ "id": "other", "type": "bash", "command": flood("other"), "stream": true, "whenBehind": "wait" });
    assert_eq!(host.data(&other)["exitCode"], 0);
    assert_eq!(streamed(&host.early, &json!("other")), (FLOOD, 0));
    assert!(!home.path().join("done").exists(), "no pipe holds that much");
    let (early, _) = streamed(&host.early, &json!("flood"));
    assert!(early < FLOOD / 4, "{early} bytes came although the stream is paused");
    assert_eq!(host.data(&json!({ "id": "resume", "type": "stream_resume", "target": "flood" })), json!({}));
    assert_eq!(host.response(&json!("flood"))["stream"]["bytes"], FLOOD);
    assert_eq!(streamed(&host.early, &json!("flood")), (FLOOD, 0));
    let late = host.error(&json!({ "id": "late", "type": "stream_pause", "target": "flood" }));
    assert_eq!(late["code"], "not_found");
    host.early.clear();
    ends_well(host, &home);
}

#[test]
fn a_paused_command_that_drops_goes_on_and_says_what_is_missing() {
    let home = home();
    let mut host = Host::new(&home);
    host.send(&json!({ "id": "flood", "type": "bash", "command": flood("done"), "stream": true }));
    host.data(&json!({ "id": "pause", "type": "stream_pause", "target": "flood" }));
    home.wait_for("done");
    host.data(&json!({ "id": "resume", "type": "stream_resume", "target": "flood" }));
    assert_eq!(host.response(&json!("flood"))["data"]["totalBytes"], FLOOD);
    let (received, dropped) = streamed(&host.early, &json!("flood"));
    assert_eq!(received + dropped, FLOOD);
    assert!(dropped > 0);
    host.early.clear();
    ends_well(host, &home);
}

#[test]
fn a_shutdown_does_not_wait_for_a_paused_command() {
    let home = home();
    let mut host = Host::new(&home);
    host.send(&json!({ "id": 1, "type": "bash", "command": "touch begun; yes", "stream": true, "whenBehind": "wait" }));
    host.data(&json!({ "id": 2, "type": "stream_pause", "target": 1 }));
    home.wait_for("begun");
    host.send(&json!({ "id": 3, "type": "shutdown" }));
    assert_eq!(host.response(&json!(1))["data"]["cancelled"], true);
    assert_eq!(host.response(&json!(3))["success"], true);
    host.early.clear();
    assert!(host.end().success());
    home.check_nothing_survives();
}

#[test]
fn a_command_whose_reader_never_comes_is_aborted_all_the_same() {
    let home = home();
    let mut host = Host::new(&home);
    host.send(
        &json!({ "id": "wait", "type": "bash", "command": "touch begun; yes", "stream": true, "whenBehind": "wait" }),
    );
    host.send(&json!({ "id": "drop", "type": "bash", "command": "touch too; yes", "stream": true }));
    home.wait_for("begun");
    home.wait_for("too");
    host.send(&json!({ "id": "abort", "type": "abort_bash" }));
    assert_eq!(host.response(&json!("abort"))["data"], json!({ "aborted": 2 }));
    for id in ["wait", "drop"] {
        assert_eq!(host.response(&json!(id))["data"]["cancelled"], true);
    }
    host.early.clear();
    ends_well(host, &home);
}

#[test]
fn a_host_that_never_reads_and_closes_its_input_leaves_no_command() {
    let home = home();
    let mut host = Host::new(&home);
    host.send(&json!({ "id": 1, "type": "bash", "command": "touch begun; yes", "stream": true, "whenBehind": "wait" }));
    home.wait_for("begun");
    host.close();
    // The command ends at once, and the service when its host has taken nothing for a while.
    assert!(eventually(|| home.survivors().iter().all(|process| !process.contains("yes"))), "{:?}", home.survivors());
    assert!(host.end().success());
    host.hang_up();
    home.check_nothing_survives();
}

#[test]
fn answers_of_commands_that_have_ended_reach_a_late_reader() {
    let home = home();
    let mut host = Host::new(&home);
    for id in 0..60 {
        host.send(&json!({ "id": id, "type": "bash", "command": "seq 3000; printf x >>ran" }));
    }
    let ran = || std::fs::metadata(home.path().join("ran")).map_or(0, |file| file.len());
    assert!(eventually(|| ran() == 60));
    host.close();
    // The host does something else for a while.
    assert!(home.run(&["run", "sleep 1"]).status.success());
    let answered = host.rest().into_iter().filter(|line| line["success"] == true).count();
    assert_eq!(answered, 60);
    assert!(host.end().success());
    home.check_nothing_survives();
}

#[test]
fn a_signal_tears_no_line() {
    let home = home();
    for round in 0..4 {
        let mut command = home.command(&["rpc"]);
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("it runs");
        let begun = format!("begun{round}");
        let request = json!({ "id": 1, "type": "bash", "command": format!("touch {begun}; yes"), "stream": true });
        let mut input = child.stdin.take().expect("a pipe");
        writeln!(input, "{request}").expect("it reads");
        home.wait_for(&begun);
        let pid = i32::try_from(child.id()).ok().and_then(Pid::from_raw).expect("a process id");
        kill_process(pid, Signal::TERM).expect("it is there");
        let output = child.wait_with_output().expect("it ends");
        assert!(output.stdout.ends_with(b"}\n"), "{} bytes, {}", output.stdout.len(), output.status);
    }
    home.check_nothing_survives();
}
