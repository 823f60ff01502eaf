//! Messages that a client should not send, and replies that it reads too late.

use std::io::{Read, Write};
use std::process::Stdio;

use bashful_testkit::eventually;
use rustix::io::ioctl_fionread;
use serde_json::{Value, json};

use super::server::{Server, text};
use super::{WAITS, ends_well, home};

/// Sends a line, and checks that it is refused by its id.
#[track_caller]
fn refused(server: &mut Server, id: &str, line: &str, code: i64, about: &str) {
    server.line(line.as_bytes());
    let answer = server.answer(id);
    assert_eq!(answer["error"]["code"], code, "{answer}");
    assert!(answer["error"]["message"].as_str().is_some_and(|message| message.contains(about)), "{answer}");
}

#[test]
fn a_call_that_cannot_be_read_is_answered() {
    let home = home();
    let mut server = Server::greeted(&home, &[], &[]);
    let call = |id: &str, arguments: &str| {
        format!(
            r#"{{"jsonrpc":"2.0","id":"{id}","method":"tools/call","params":{{"name":"bash","arguments":{arguments}}}}}"#
        )
    };
    refused(&mut server, "a", &call("a", "\"ls\""), -32602, "arguments must be an object, not a string");
    refused(&mut server, "b", &call("b", "[1]"), -32602, "arguments must be an object, not an array");
    let lone = r#"{"command":"touch ran # \ud800"}"#;
    refused(&mut server, "c", &call("c", lone), -32700, "surrogate");
    let deep = format!("{{\"command\":{}{}}}", "[".repeat(50_000), "]".repeat(50_000));
    refused(&mut server, "d", &call("d", &deep), -32700, "recursion limit");
    refused(&mut server, "e", r#"{"jsonrpc":"2.0","id":"e","method":"tools/fly"}"#, -32601, "tools/fly");
    assert!(!home.path().join("ran").exists());
    ends_well(server, &home);
}

#[test]
fn a_second_request_by_the_same_id_is_refused_and_the_first_answered() {
    let home = home();
    let mut server = Server::greeted(&home, &[], &[]);
    server.begin("same", &json!({ "command": WAITS }));
    assert!(eventually(|| home.path().join("begun").exists()));
    server.begin("same", &json!({ "command": "touch second" }));
    let refused = server.answer("same");
    assert!(refused["error"]["message"].to_string().contains("not been answered yet"), "{refused}");
    std::fs::write(home.path().join("go"), "").expect("a file");
    assert_eq!(text(&server.answer("same")["result"]), "done\n");
    assert!(!home.path().join("second").exists());
    // An id that was answered is free again.
    server.begin("same", &json!({ "command": "echo third" }));
    assert_eq!(text(&server.answer("same")["result"]), "third\n");
    ends_well(server, &home);
}

#[test]
fn a_reply_is_whole_however_late_it_is_read_and_commands_do_not_wait_for_that() {
    let home = home();
    let mut command = home.command(&["mcp"]);
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("it runs");
    let mut input = child.stdin.take().expect("a pipe");
    let mut output = child.stdout.take().expect("a pipe");
    let hello =
        json!({ "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": { "name": "t", "version": "1" } });
    let lives = "trap 'touch asked; exit' TERM; touch begun; sleep 1000 & wait";
    let much = "until [ -e begun ]; do sleep 0.01; done; head -c 120000 /dev/zero | tr '\\0' x";
    for message in [
        json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": hello }),
        json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }),
        json!({ "jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": { "name": "bash", "arguments": { "command": lives } } }),
        json!({ "jsonrpc": "2.0", "id": 3, "method": "tools/call", "params": { "name": "bash", "arguments": { "command": much } } }),
    ] {
        writeln!(input, "{message}").expect("it reads");
    }
    // The pipe is full: the reply has begun.
    assert!(eventually(|| ioctl_fionread(&output).expect("a pipe") >= 60_000));
    drop(input);
    assert!(eventually(|| home.path().join("asked").exists()));
    let mut said = String::new();
    output.read_to_string(&mut said).expect("text");
    assert!(said.ends_with('\n'), "the last line is whole");
    let mut answers = said.lines().map(|line| serde_json::from_str::<Value>(line).expect("a whole line"));
    let answer = answers.find(|answer| answer["id"] == 3).expect("the reply that had begun");
    assert_eq!(text(&answer["result"]).len(), 120_000);
    assert!(child.wait().expect("it ends").success());
    home.check_nothing_survives();
}

#[test]
fn a_client_that_reads_late_gets_the_answers_of_all_commands_that_have_ended() {
    let home = home();
    let mut command = home.command(&["mcp"]);
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("it runs");
    let mut input = child.stdin.take().expect("a pipe");
    let mut send = |message: Value| writeln!(input, "{message}").expect("it reads");
    let hello =
        json!({ "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": { "name": "t", "version": "1" } });
    send(json!({ "jsonrpc": "2.0", "id": "hello", "method": "initialize", "params": hello }));
    send(json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }));
    for id in 0..120 {
        let call = json!({ "name": "bash", "arguments": { "command": "seq 3000; printf x >>ran" } });
        send(json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": call }));
    }
    let ran = || std::fs::metadata(home.path().join("ran")).map_or(0, |file| file.len());
    assert!(eventually(|| ran() == 120));
    drop(input);
    // The client does something else for a while.
    assert!(home.run(&["run", "sleep 6"]).status.success());
    let output = child.wait_with_output().expect("it ends");
    let lines = String::from_utf8(output.stdout).expect("text");
    let answers = lines.lines().map(|line| serde_json::from_str::<Value>(line).expect("JSON"));
    assert_eq!(answers.filter(|answer| answer["id"].is_u64() && answer["result"].is_object()).count(), 120);
}
