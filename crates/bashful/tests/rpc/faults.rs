//! Everything that a host may do wrong. Nothing of it ends the service, or leaves a process.

use std::io::{BufRead, BufReader};
use std::process::Stdio;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use crate::host::Host;
use crate::{WAITS, ends_well, home};

/// Sends a line, and checks the error that answers it.
#[track_caller]
fn check(host: &mut Host, line: &[u8], id: &Value, code: &str, field: Option<&str>) {
    host.line(line);
    let response = host.next().expect("an answer");
    assert_eq!((&response["success"], &response["error"]["code"]), (&json!(false), &json!(code)), "{response}");
    assert_eq!(&response["id"], id, "{response}");
    assert_eq!(response["error"]["field"].as_str(), field, "{response}");
}

#[test]
fn a_bad_line_is_answered_and_the_service_goes_on() {
    let home = home();
    let mut host = Host::new(&home);
    let null = Value::Null;
    check(&mut host, b"\xff\xfe", &null, "not_utf8", None);
    check(&mut host, b"{\"type\":\"bash\",\"command\":\"\xff\"}", &null, "not_utf8", None);
    check(&mut host, b"\0", &null, "bad_json", None);
    check(&mut host, b"{\"type\":\"bash\",\"command\":\"a\0b\"}", &null, "bad_json", None);
    check(&mut host, b"make test", &null, "bad_json", None);
    check(&mut host, b"{\"type\":\"bash\"", &null, "bad_json", None);
    check(&mut host, b"{} {}", &null, "bad_json", None);
    check(&mut host, &b"[".repeat(100_000), &null, "bad_json", None);
    check(&mut host, b"7", &null, "bad_message", None);
    check(&mut host, b"[{\"type\":\"bash\"}]", &null, "bad_message", None);
    check(&mut host, b"{\"id\":1}", &json!(1), "bad_message", Some("type"));
    check(&mut host, b"{\"id\":1,\"type\":\"fly\"}", &json!(1), "unknown_type", Some("type"));
    check(&mut host, b"{\"id\":{},\"type\":\"bash\"}", &null, "invalid_field", Some("id"));
    check(&mut host, b"{\"id\":\"a\",\"type\":\"bash\"}", &json!("a"), "invalid_field", Some("command"));
    check(&mut host, b"{\"id\":1,\"type\":\"bash\",\"command\":[]}", &json!(1), "invalid_field", Some("command"));
    check(&mut host, b"{\"id\":1,\"type\":\"job\",\"job\":-1}", &json!(1), "invalid_field", Some("job"));
    check(&mut host, b"{\"id\":1,\"type\":\"job_wait\",\"seconds\":-1}", &json!(1), "invalid_field", Some("seconds"));
    check(
        &mut host,
        b"{\"id\":1,\"type\":\"answer\",\"question\":\"q1\",\"approve\":true}",
        &json!(1),
        "not_found",
        None,
    );
    // Blank lines are no requests, and a carriage return is blank.
    host.bytes(b"\n  \n\r\n");
    host.bytes(b"{\"id\":2,\"type\":\"bash\",\"command\":\"echo hi\",\"unknown\":1}\r\n");
    assert_eq!(host.next().expect("an answer")["data"]["output"], "hi\n");
    ends_well(host, &home);
}

#[test]
fn a_line_that_is_too_long_is_answered_and_one_at_the_limit_is_read() {
    const LIMIT: usize = 16 << 20;
    let home = home();
    let mut host = Host::new(&home);
    check(&mut host, &b"x".repeat(LIMIT + 1), &Value::Null, "line_too_long", None);
    // The filler is in a field that nobody reads: the guard refuses scripts of this length.
    let request = json!({ "id": 1, "type": "bash", "command": "echo hi", "filler": "#" }).to_string();
    let (begin, end) = request.split_at(request.find('#').expect("it is there") + 1);
    let line = [begin, &"x".repeat(LIMIT - request.len()), end].concat();
    assert_eq!(line.len(), LIMIT);
    host.line(line.as_bytes());
    assert_eq!(host.response(&json!(1))["data"]["output"], "hi\n");
    check(&mut host, format!("{line} ").as_bytes(), &Value::Null, "line_too_long", None);
    ends_well(host, &home);
}

#[test]
fn an_id_is_refused_while_its_request_is_unanswered() {
    let home = home();
    let mut host = Host::new(&home);
    host.send(&json!({ "id": "a", "type": "bash", "command": WAITS }));
    home.wait_for("begun");
    check(
        &mut host,
        b"{\"id\":\"a\",\"type\":\"bash\",\"command\":\"touch twice\"}",
        &json!("a"),
        "duplicate_id",
        Some("id"),
    );
    check(&mut host, b"{\"id\":\"a\",\"type\":\"jobs\"}", &json!("a"), "duplicate_id", Some("id"));
    std::fs::write(home.path().join("go"), "").expect("a file");
    assert_eq!(host.response(&json!("a"))["data"]["output"], "done\n");
    assert!(!home.path().join("twice").exists());
    assert_eq!(host.data(&json!({ "id": "a", "type": "bash", "command": "echo free" }))["output"], "free\n");
    ends_well(host, &home);
}

#[test]
fn requests_beyond_the_limit_are_refused_and_the_others_are_answered() {
    let home = home();
    let mut host = Host::new(&home);
    let job = host.data(&json!({ "id": "job", "type": "bash", "as": "tool", "command": WAITS, "mode": "background" }))
        ["job"]
        .clone();
    home.wait_for("begun");
    for id in 0..1025 {
        host.line(json!({ "id": id, "type": "job_wait", "jobs": [job] }).to_string().as_bytes());
    }
    let refused = host.response(&json!(1024));
    assert_eq!(refused["error"]["code"], "busy", "{refused}");
    std::fs::write(home.path().join("go"), "").expect("a file");
    for id in 0..1024 {
        assert_eq!(host.response(&json!(id))["data"]["jobs"][0]["exitCode"], 0);
    }
    host.early.clear();
    ends_well(host, &home);
}

#[test]
fn the_end_of_the_input_stops_every_command_and_leaves_jobs() {
    let home = home();
    let mut host = Host::new(&home);
    let job = host.data(&json!({ "id": "job", "type": "bash", "as": "tool", "command": WAITS, "mode": "background" }))
        ["job"]
        .clone();
    host.send(&json!({ "id": 1, "type": "bash", "command": "touch one; (setsid sleep 1000 &); sleep 1000" }));
    host.send(
        &json!({ "id": 2, "type": "bash", "as": "tool", "command": "touch two; (setsid sleep 1000 &); sleep 1000" }),
    );
    home.wait_for("one");
    home.wait_for("two");
    // In the middle of a line.
    host.bytes(b"{\"id\":3,\"type\":\"bash\",\"command\":\"touch three");
    host.close();
    assert!(host.end().success());
    std::fs::write(home.path().join("go"), "").expect("a file");
    let waited = home.run(&["jobs", "wait", &job.to_string()]);
    assert!(waited.status.success(), "the job goes on: {waited:?}");
    assert!(!home.path().join("three").exists());
    home.check_nothing_survives();
}

#[test]
fn a_request_that_is_about_to_answer_at_the_end_of_the_input_does() {
    let home = home();
    let mut host = Host::new(&home);
    // A request that takes no time, on a task of its own.
    host.send(&json!({ "id": 1, "type": "tools" }));
    host.close();
    let rest = host.rest();
    assert!(rest.iter().any(|line| line["id"] == 1 && line["success"] == true), "{rest:?}");
    assert!(host.end().success());
    home.check_nothing_survives();
}

#[test]
fn a_host_that_hangs_up_stops_every_command() {
    let home = home();
    let mut host = Host::new(&home);
    host.send(&json!({ "id": 1, "type": "bash", "command": "touch one; (setsid sleep 1000 &); sleep 1000" }));
    home.wait_for("one");
    host.hang_up();
    // The service notices when it writes.
    host.send(&json!({ "id": 2, "type": "hello" }));
    assert!(host.end().success());
    home.check_nothing_survives();
}

/// A host that starts a service, sends one request, tells the process id of the service, and waits.
const PYTHON: &str = r#"
import subprocess, sys, time
service = subprocess.Popen([sys.argv[1], "rpc"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
service.stdin.write(sys.argv[2].encode() + b"\n")
service.stdin.flush()
print(service.pid, flush=True)
time.sleep(1000)
"#;

#[test]
fn a_killed_host_leaves_no_process() {
    let home = home();
    let request =
        json!({ "id": 1, "type": "bash", "command": "touch one; (setsid sleep 1000 &); sleep 1000", "stream": true });
    let mut command = home.wrapped("python3", &["-c", PYTHON, crate::BASHFUL, &request.to_string()]);
    let mut python = command.stdout(Stdio::piped()).spawn().expect("it runs");
    let mut pid = String::new();
    BufReader::new(python.stdout.take().expect("a pipe")).read_line(&mut pid).expect("text");
    home.wait_for("one");
    let id = i32::try_from(python.id()).ok().and_then(Pid::from_raw).expect("a process id");
    kill_process(id, Signal::KILL).expect("it is there");
    python.wait().expect("it is gone");
    home.check_nothing_survives();
}

#[test]
fn a_signal_ends_the_service_and_its_commands() {
    let home = home();
    let mut host = Host::new(&home);
    host.send(&json!({ "id": 1, "type": "bash", "command": "touch one; (setsid sleep 1000 &); sleep 1000" }));
    home.wait_for("one");
    let id = i32::try_from(host.pid()).ok().and_then(Pid::from_raw).expect("a process id");
    kill_process(id, Signal::TERM).expect("it is there");
    assert!(host.end().success());
    home.check_nothing_survives();
}
