//! Live output and news of jobs, by `rpc` and by `run --events`.

use std::process::Stdio;

use serde_json::{Value, json};

use crate::host::Host;
use crate::{ends_well, home, seq};

#[test]
fn live_output_comes_in_numbered_pieces_before_the_response() {
    let home = home();
    let mut host = Host::new(&home);
    let command = "echo one; until [ -e go ]; do sleep 0.01; done; printf '\\033[1mtwo'";
    host.send(&json!({ "id": "s", "type": "bash", "command": command, "stream": true }));
    let first = host.next().expect("a chunk");
    assert_eq!(first, json!({ "type": "chunk", "id": "s", "seq": 0, "text": "one\n" }));
    std::fs::write(home.path().join("go"), "").expect("a file");
    let second = host.next().expect("a chunk");
    assert_eq!(second, json!({ "type": "chunk", "id": "s", "seq": 1, "text": "\u{1b}[1mtwo" }), "exact bytes");
    let response = host.next().expect("the response");
    assert_eq!(response["data"]["output"], "one\ntwo", "clean text");
    assert_eq!(response["stream"], json!({ "chunks": 2, "bytes": 11, "droppedBytes": 0 }));
    ends_well(host, &home);
}

#[test]
fn a_split_character_is_joined_and_bytes_that_are_no_text_come_as_base64() {
    let home = home();
    let mut host = Host::new(&home);
    let step = |name: &str| format!("touch {name}; until [ -e {name}.go ]; do sleep 0.01; done");
    let command =
        format!("printf 'a\\xe2\\x82'; {}; printf '\\xac'; {}; printf '\\xff'; printf x", step("one"), step("two"));
    host.send(&json!({ "id": "s", "type": "bash", "command": command, "stream": true }));
    let mut seen = Vec::new();
    for file in ["one", "two"] {
        home.wait_for(file);
        seen.push(host.event("chunk"));
        std::fs::write(home.path().join(format!("{file}.go")), "").expect("a file");
    }
    assert_eq!((&seen[0]["text"], &seen[1]["text"]), (&json!("a"), &json!("€")), "{seen:?}");
    let response = host.response(&json!("s"));
    // The rest may come in one piece or in two.
    let rest: Vec<&Value> = host.early.iter().filter(|line| line["type"] == "chunk").collect();
    assert!(rest[0]["base64"] == "/w==" || rest[0]["base64"] == "/3g=", "{rest:?}");
    assert_eq!(response["stream"]["bytes"], 6);
    host.early.clear();
    ends_well(host, &home);
}

#[test]
fn a_tool_call_streams_too_and_a_secret_is_redacted_in_it() {
    let home = home();
    let mut host = Host::start(&home, &[], &[("API_TOKEN", "hunter2-hunter2")]);
    let request = json!({ "id": 1, "type": "tool", "name": "bash", "arguments": { "command": "echo x hunter2-hunter2" }, "stream": true });
    host.send(&request);
    let response = host.response(&json!(1));
    let chunks: Vec<&Value> = host.early.iter().filter(|line| line["type"] == "chunk").collect();
    let text: String = chunks.iter().map(|chunk| chunk["text"].as_str().expect("text")).collect();
    assert!(text.starts_with("x ") && text.ends_with('\n') && !text.contains("hunter2"), "{text}");
    assert_eq!(response["stream"]["chunks"], chunks.len());
    host.early.clear();
    // An error may quote the request.
    let error = host.error(&json!({ "id": 2, "type": "read", "uri": "artifact://hunter2-hunter2" }));
    assert!(!error.to_string().contains("hunter2"), "{error}");
    ends_well(host, &home);
}

/// The updates of a job, up to the last one.
#[track_caller]
fn updates(host: &mut Host) -> Vec<Value> {
    let mut all = Vec::new();
    loop {
        let update = host.event("update");
        let state = update["async"]["state"].as_str().expect("a state").to_owned();
        all.push(update);
        if state != "running" {
            return all;
        }
    }
}

#[test]
fn a_job_sends_news_until_it_is_over_with_the_final_text() {
    let home = home();
    let mut host = Host::new(&home);
    for (command, state) in [("echo a; sleep 0.1; echo b", "completed"), ("echo a; exit 3", "failed")] {
        let request = json!({ "id": command, "type": "bash", "as": "tool", "command": command, "mode": "background" });
        let data = host.data(&request);
        let job = data["job"].as_u64().unwrap_or_else(|| panic!("no job in {data}"));
        let updates = updates(&mut host);
        let last = updates.last().expect("the last one");
        assert_eq!(last["async"], json!({ "state": state, "jobId": format!("bg_{job}"), "job": job, "type": "bash" }));
        assert_eq!(last["id"], command);
        assert!(last["text"].as_str().is_some_and(|text| text.starts_with("a\n")), "{last}");
        let numbers: Vec<u64> = updates.iter().map(|update| update["seq"].as_u64().expect("a number")).collect();
        assert_eq!(numbers, (0..updates.len() as u64).collect::<Vec<_>>());
    }
    ends_well(host, &home);
}

#[test]
fn a_command_that_outlasts_its_call_becomes_a_job_with_news() {
    let home = home();
    let mut host = Host::start(&home, &["--dialect", "pi"], &[]);
    let command = "echo a; until [ -e go ]; do sleep 0.01; done; echo b";
    let request = json!({ "id": 1, "type": "bash", "as": "tool", "command": command, "patience": 3, "stream": true });
    let response = host.ask(&request);
    assert!(response["data"]["job"].is_u64(), "{response}");
    assert_eq!(response["stream"]["bytes"], 2, "the stream ends with the call");
    std::fs::write(home.path().join("go"), "").expect("a file");
    let last = updates(&mut host).pop().expect("the last one");
    assert_eq!(last["async"]["state"], "completed");
    assert!(last["text"].as_str().is_some_and(|text| text.starts_with("a\nb\n\nWall time: ")), "{last}");
    host.early.clear();
    ends_well(host, &home);
}

#[test]
fn updates_come_while_a_call_waits_if_they_are_wanted_and_never_if_not() {
    let home = home();
    let mut host = Host::new(&home);
    let command = "echo a; until [ -e go ]; do sleep 0.01; done";
    let tool = |id: &str, updates: bool| json!({ "id": id, "type": "bash", "as": "tool", "command": command, "updates": updates });
    host.send(&tool("with", true));
    // One without text may come first, if the shell takes its time.
    let update = host.find(|line| line["type"] == "update" && line["text"] == "a\n");
    assert_eq!((&update["id"], update.get("async")), (&json!("with"), None));
    std::fs::write(home.path().join("go"), "").expect("a file");
    host.response(&json!("with"));
    host.early.clear();
    let mut background = tool("without", false);
    background["mode"] = json!("background");
    let job = host.data(&background)["job"].clone();
    host.data(&json!({ "id": "wait", "type": "job_wait", "jobs": [job] }));
    ends_well_without(host, &home, "update");
}

/// Ends the service, and checks that no event of this type came.
#[track_caller]
fn ends_well_without(mut host: Host, home: &bashful_testkit::Home, kind: &str) {
    host.send(&json!({ "id": "bye", "type": "shutdown" }));
    let rest = host.rest();
    assert!(rest.iter().all(|line| line["type"] != kind), "{rest:?}");
    assert!(host.end().success());
    home.check_nothing_survives();
}

/// Runs `bashful run --events`; its lines and its exit code.
#[track_caller]
fn run_events(args: &[&str]) -> (Vec<Value>, Option<i32>) {
    let home = home();
    let output =
        home.command(&[&["run", "--events"], args].concat()).stderr(Stdio::inherit()).output().expect("it runs");
    let lines: Vec<Value> = String::from_utf8(output.stdout)
        .expect("text")
        .lines()
        .map(|line| serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}")))
        .inspect(crate::schema::check_sent)
        .collect();
    (lines, output.status.code())
}

#[test]
fn one_command_has_the_same_events_and_ends_as_it_did() {
    let (lines, code) = run_events(&["--env", "A=b", "echo $A; exit 4"]);
    assert_eq!(code, Some(4));
    let [chunk, response] = &lines[..] else { panic!("{lines:?}") };
    assert_eq!(*chunk, json!({ "type": "chunk", "id": "run", "seq": 0, "text": "b\n" }));
    assert_eq!((&response["id"], &response["command"]), (&json!("run"), &json!("bash")));
    assert_eq!((&response["data"]["exitCode"], &response["data"]["output"]), (&json!(4), &json!("b\n")));
    let (lines, code) = run_events(&["--timeout", "1", "echo a; sleep 1000"]);
    assert_eq!((code, &lines[1]["data"]["timedOut"]), (Some(124), &json!(true)));
    let (lines, code) = run_events(&["git push --force"]);
    assert_eq!((code, &lines[0]["error"]["code"]), (Some(125), &json!("refused")));
    let (lines, code) = run_events(&["--dialect", "native", "echo a"]);
    assert_eq!((code, &lines.last().expect("a line")["data"]["text"]), (Some(0), &json!("a\n")));
    let (lines, code) = run_events(&["--session", "s", "echo a"]);
    assert_eq!((code, &lines.last().expect("a line")["data"]["facts"]["session"]["name"]), (Some(0), &json!("s")));
}

#[test]
fn one_command_writes_all_of_its_output_in_events() {
    let (lines, code) = run_events(&["seq 1000000"]);
    assert_eq!(code, Some(0));
    let (response, chunks) = lines.split_last().expect("lines");
    let text: String = chunks.iter().map(|chunk| chunk["text"].as_str().expect("text")).collect();
    let expected = seq(1_000_000);
    assert!(text == expected, "{} bytes", text.len());
    assert_eq!(response["stream"]["droppedBytes"], 0);
}

#[test]
fn events_that_cannot_be_written_are_an_error() {
    let home = home();
    let full = std::fs::File::options().write(true).open("/dev/full").expect("it is there");
    let output = home.command(&["run", "--events", "touch ran; echo a"]).stdout(full).output().expect("it runs");
    assert_eq!(output.status.code(), Some(125));
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(said.contains("cannot write the output: No space left"), "{said}");
    assert!(home.path().join("ran").exists(), "the command ran all the same");
}

#[test]
fn output_that_a_full_disk_did_not_take_is_told() {
    let home = home();
    let script = "mkdir -p state && mount -t tmpfs -o size=1m none state && XDG_STATE_HOME=$PWD/state \
                  \"$0\" run --events 'seq 1000000'";
    let args = ["--user", "--map-root-user", "--mount", "sh", "-c", script, crate::BASHFUL];
    let output = home.wrapped("unshare", &args).output().expect("unshare");
    let last = String::from_utf8_lossy(&output.stdout).lines().last().expect("a response").to_owned();
    let response: Value = serde_json::from_str(&last).expect("it is JSON");
    assert_eq!(response["data"]["truncated"], true, "{last}");
    let notice = response["data"]["notices"][0].as_str().expect("a notice");
    assert!(notice.starts_with("Full output was not saved completely") && notice.contains("No space left"), "{notice}");
}
