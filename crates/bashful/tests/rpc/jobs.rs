//! Jobs, terminals and sessions.

use serde_json::{Value, json};

use crate::host::Host;
use crate::{WAITS, ends_well, home};

/// Starts a job without updates; its id.
#[track_caller]
fn start(host: &mut Host, command: &str, more: &Value) -> u64 {
    let mut request = json!({
        "id": command, "type": "bash", "as": "tool", "command": command, "mode": "background", "updates": false,
    });
    for (field, value) in more.as_object().expect("an object") {
        request[field] = value.clone();
    }
    host.data(&request)["job"].as_u64().expect("a job")
}

#[test]
fn a_job_is_listed_shown_waited_for_and_stopped() {
    let home = home();
    let mut host = Host::new(&home);
    let job = start(&mut host, WAITS, &json!({}));
    let other = start(&mut host, "sleep 1000", &json!({}));
    home.wait_for("begun");
    let jobs = host.data(&json!({ "id": 1, "type": "jobs", "running": true }))["jobs"].clone();
    assert_eq!(jobs.as_array().map(Vec::len), Some(2), "{jobs}");
    assert_eq!((&jobs[0]["id"], &jobs[0]["status"], &jobs[0]["live"]), (&json!(job), &json!("running"), &json!(true)));
    let late = host.data(&json!({ "id": 2, "type": "job_wait", "seconds": 0.05 }));
    assert_eq!((&late["timedOut"], late["jobs"].as_array().map(Vec::len)), (&json!(true), Some(2)));
    // By name: a wait that begins late must not be for the other one alone.
    host.send(&json!({ "id": 3, "type": "job_wait", "jobs": [job, other] }));
    std::fs::write(home.path().join("go"), "").expect("a file");
    let waited = host.response(&json!(3))["data"].clone();
    assert_eq!((&waited["timedOut"], &waited["jobs"][0]["exitCode"]), (&json!(false), &json!(0)), "{waited}");
    let shown = host.data(&json!({ "id": 4, "type": "job", "job": job, "since": 2 }));
    let output = &shown["output"];
    assert!(output["text"].as_str().is_some_and(|text| text.starts_with("ne\n")), "{shown}");
    assert_eq!((&output["begin"], &output["end"]), (&json!(2), &output["totalBytes"]));
    let last = host.data(&json!({ "id": 5, "type": "job", "job": job, "lines": 1 }));
    assert_eq!(last["output"]["text"], "[background process completed]\n");
    let stopped = host.data(&json!({ "id": 6, "type": "job_stop", "job": other }))["job"].clone();
    assert_eq!((&stopped["live"], &stopped["status"]), (&json!(false), &json!("cancelled")), "{stopped}");
    let none = host.error(&json!({ "id": 7, "type": "job", "job": 999 }));
    assert_eq!((&none["code"], &none["field"]), (&json!("not_found"), &json!("job")));
    let none = host.error(&json!({ "id": 8, "type": "job_wait", "jobs": [999] }));
    assert_eq!(none["code"], "not_found");
    ends_well(host, &home);
}

#[test]
fn a_wait_is_aborted_by_its_id() {
    let home = home();
    let mut host = Host::new(&home);
    let job = start(&mut host, "sleep 1000", &json!({}));
    host.send(&json!({ "id": "wait", "type": "job_wait", "jobs": [job] }));
    // An abort of all commands is not for it.
    assert_eq!(host.data(&json!({ "id": 1, "type": "abort_bash" })), json!({ "aborted": 0 }));
    assert_eq!(host.data(&json!({ "id": 2, "type": "abort_bash", "target": "wait" })), json!({ "aborted": 1 }));
    assert_eq!(host.response(&json!("wait"))["error"]["code"], "cancelled");
    host.data(&json!({ "id": 3, "type": "job_stop", "job": job, "signal": "KILL" }));
    ends_well(host, &home);
}

#[test]
fn a_stop_is_carried_out_although_its_request_is_aborted_or_the_service_ends() {
    let home = home();
    let mut host = Host::new(&home);
    let jobs: Vec<u64> = (0..20).map(|n| start(&mut host, &format!("sleep 100{n}"), &json!({}))).collect();
    let stop = |job: &u64| json!({ "id": job, "type": "job_stop", "job": job });
    let abort = |job: &u64| json!({ "type": "abort_bash", "target": job });
    let end = [json!({ "id": "end", "type": "shutdown" })];
    let (first, rest) = jobs.split_at(10);
    let requests = first.iter().flat_map(|job| [stop(job), abort(job)]).chain(rest.iter().map(stop)).chain(end);
    let lines: Vec<String> = requests.map(|request| request.to_string()).collect();
    host.line(lines.join("\n").as_bytes());
    host.response(&json!("end"));
    assert!(host.end().success());
    home.check_nothing_survives();
}

#[test]
fn an_end_of_a_session_is_carried_out_although_its_request_is_aborted() {
    let home = home();
    let mut host = Host::new(&home);
    host.bash("X=1");
    let end = json!({ "id": "end", "type": "session_end", "session": "connection" });
    host.line(format!("{end}\n{}", json!({ "type": "abort_bash", "target": "end" })).as_bytes());
    assert_eq!(host.response(&json!("end"))["success"], true);
    assert_eq!(host.data(&json!({ "id": 1, "type": "sessions" })), json!({ "sessions": [] }));
    ends_well(host, &home);
}

#[test]
fn a_start_that_was_aborted_leaves_no_job() {
    let home = home();
    let mut host = Host::new(&home);
    for n in 0..20 {
        let request = json!({ "id": n, "type": "bash", "as": "tool", "command": "sleep 1000", "mode": "background" });
        let abort = json!({ "id": "abort", "type": "abort_bash", "target": n });
        host.line(format!("{request}\n{abort}").as_bytes());
        let was_in_time = host.response(&json!("abort"))["data"]["aborted"] == 1;
        let job = host.response(&json!(n))["data"]["job"].as_u64();
        if let Some(job) = job.filter(|_| !was_in_time) {
            host.data(&json!({ "id": "stop", "type": "job_stop", "job": job }));
        }
    }
    assert_eq!(host.data(&json!({ "id": "list", "type": "jobs", "running": true })), json!({ "jobs": [] }));
    ends_well(host, &home);
}

#[test]
fn a_job_is_written_to_and_its_input_closed() {
    let home = home();
    let mut host = Host::new(&home);
    let job = start(&mut host, "cat; echo end", &json!({ "stdin": true }));
    let sent = host.data(&json!({ "id": 1, "type": "job_send", "job": job, "text": "a\nb" }));
    assert_eq!(sent["job"]["takesInput"], true);
    host.data(&json!({ "id": 2, "type": "job_send", "job": job, "text": "c\n", "eof": true }));
    host.data(&json!({ "id": 3, "type": "job_wait", "jobs": [job] }));
    let shown = host.data(&json!({ "id": 4, "type": "job", "job": job, "since": 0 }));
    assert!(shown["output"]["text"].as_str().is_some_and(|text| text.starts_with("a\nbc\nend\n")), "{shown}");
    let nothing = host.error(&json!({ "id": 5, "type": "job_send", "job": job }));
    assert_eq!((&nothing["code"], &nothing["field"]), (&json!("invalid_field"), &json!("text")));
    let keys = host.error(&json!({ "id": 6, "type": "job_send", "job": job, "keys": ["Enter"] }));
    assert_eq!((&keys["code"], &keys["field"]), (&json!("invalid_field"), &json!("keys")));
    let shell = start(&mut host, "bash", &json!({ "stdin": true }));
    let refused = host.error(&json!({ "id": 7, "type": "job_send", "job": shell, "text": "git push --force\n" }));
    assert_eq!(refused["code"], "refused", "{refused}");
    host.data(&json!({ "id": 8, "type": "job_stop", "job": shell }));
    ends_well(host, &home);
}

#[test]
fn a_terminal_is_looked_at_typed_at_and_resized() {
    let home = home();
    let mut host = Host::new(&home);
    let command = "read -p 'name? ' name; echo hello $name; until [ -e go ]; do sleep 0.01; done; tput cols";
    let job = start(&mut host, command, &json!({ "pty": true }));
    let screen = host.data(&json!({ "id": 1, "type": "screen", "job": job, "until": "input", "seconds": 50 }));
    assert_eq!((&screen["state"], &screen["rows"][0]), (&json!("input"), &json!("name?")), "{screen}");
    assert_eq!((&screen["cursorRow"], &screen["cursorColumn"]), (&json!(1), &json!(7)));
    assert_eq!((&screen["job"]["hasTerminal"], &screen["columns"]), (&json!(true), &json!(120)));
    host.data(&json!({ "id": 2, "type": "job_send", "job": job, "text": "you", "keys": ["Enter"] }));
    let screen = host.data(&json!({ "id": 3, "type": "screen", "job": job, "pattern": "^hello you$", "seconds": 50 }));
    assert_eq!(screen["state"], "matched", "{screen}");
    host.data(&json!({ "id": 4, "type": "resize", "job": job, "columns": 77, "rows": 20 }));
    std::fs::write(home.path().join("go"), "").expect("a file");
    let screen = host.data(&json!({ "id": 5, "type": "screen", "job": job, "until": "end", "seconds": 50 }));
    assert_eq!((&screen["state"], &screen["columns"]), (&json!("ended"), &json!(77)), "{screen}");
    assert!(screen["text"].as_str().is_some_and(|text| text.contains("\n77")), "{screen}");
    let small = host.error(&json!({ "id": 6, "type": "resize", "job": job, "columns": 1, "rows": 20 }));
    assert_eq!((&small["code"], &small["field"]), (&json!("invalid_field"), &json!("columns")));
    let plain = start(&mut host, "true", &json!({}));
    let none = host.error(&json!({ "id": 7, "type": "screen", "job": plain }));
    assert_eq!((&none["code"], &none["field"]), (&json!("invalid_field"), &json!("job")), "{none}");
    let pattern = host.error(&json!({ "id": 8, "type": "screen", "job": job, "pattern": "(" }));
    assert_eq!((&pattern["code"], &pattern["field"]), (&json!("invalid_field"), &json!("pattern")));
    ends_well(host, &home);
}

#[test]
fn sessions_are_listed_and_ended_and_those_of_another_service_are_not_seen() {
    let home = home();
    let mut host = Host::new(&home);
    let mut other = Host::new(&home);
    assert_eq!(other.bash("X=1")["exitCode"], 0);
    assert_eq!(host.data(&json!({ "id": 1, "type": "sessions" })), json!({ "sessions": [] }));
    host.bash("X=2");
    host.data(&json!({ "id": 2, "type": "bash", "as": "tool", "command": "true", "session": "build" }));
    let sessions = host.data(&json!({ "id": 3, "type": "sessions" }))["sessions"].clone();
    let names: Vec<(&Value, &Value)> =
        sessions.as_array().expect("a list").iter().map(|session| (&session["name"], &session["as"])).collect();
    assert_eq!(names, [(&json!("connection"), &json!("bang")), (&json!("build"), &json!("tool"))]);
    host.data(&json!({ "id": 4, "type": "session_end", "session": "connection" }));
    assert_eq!(host.bash("echo \"<$X>\"")["output"], "<>\n");
    assert_eq!(other.bash("echo \"<$X>\"")["output"], "<1>\n", "it has a shell of its own");
    let none = host.error(&json!({ "id": 5, "type": "session_end", "session": "nobody" }));
    assert_eq!(none["code"], "not_found");
    other.close();
    assert!(other.end().success());
    ends_well(host, &home);
}
