//! Commands over HTTP: stopped with their client, kept for a lost connection.

use bashful_testkit::{Home, eventually};
use rustix::process::Signal;
use serde_json::{Value, json};

use crate::server::{Server, Session, Wire, text};
use crate::{ends_well, home};

/// Is there as long as `go` is not, and says so with a file. Its child has a session of its own.
const WAITS: &str = "(setsid sleep 1000 &); touch begun; until [ -e go ]; do sleep 0.01; done; echo done";

fn foreground(home: &Home) -> Vec<String> {
    let is_one = |line: &String| line.contains("sleep 1000") || line.contains("touch begun");
    home.survivors().into_iter().filter(is_one).collect()
}

#[test]
fn results_are_those_of_standard_input_and_output() {
    let home = home();
    let server = Server::start(&home);
    let session = Session::greeted(&server);
    let printed: Value = serde_json::from_slice(&home.run(&["schema"]).stdout).expect("JSON");
    assert_eq!(server.ask("tools/list", &json!({}))["result"]["tools"], printed["tools"]);
    assert_eq!(session.ask("tools/list", &json!({}))["result"]["tools"], printed["tools"]);
    let found = server.ask("server/discover", &json!({}))["result"].clone();
    assert!(found["supportedVersions"].as_array().is_some_and(|all| all.contains(&json!("2026-07-28"))), "{found}");
    let call = json!({ "name": "bash", "arguments": { "command": "echo hi; kill -9 $$" } });
    let results = [session.ask("tools/call", &call), server.ask("tools/call", &call)];
    for result in results.map(|answer| answer["result"].clone()) {
        assert_eq!(result["content"][0]["text"], "[command killed by signal 9 (SIGKILL)]\nhi\n", "{result}");
        assert_eq!(
            (&result["isError"], &result["_meta"]["bashful/facts"]["signal"]["name"]),
            (&json!(true), &json!("SIGKILL"))
        );
    }
    let refused = server.ask("tools/call", &json!({ "name": "fly", "arguments": {} }));
    assert_eq!(refused["error"]["code"], -32602, "{refused}");
    ends_well(server, &home);
}

#[test]
fn a_script_of_16_mebibytes_is_run() {
    let home = home();
    // The guard judges no more than a mebibyte.
    let server = Server::with(&home, &[], &[("BASHFUL_GUARD_ENABLED", "false")]);
    // Every character of it takes six on the wire.
    let script = format!("echo $((6 * 7)) #{}", "\u{1}".repeat((16 << 20) - 17));
    assert_eq!(server.run(&script), "42\n");
    ends_well(server, &home);
}

/// Begins a command, does something that ends it, and looks whether that was so.
#[track_caller]
fn check_stopped(begin: impl FnOnce(&Server) -> (Wire, Box<dyn FnOnce(Wire) + '_>)) {
    let home = home();
    let server = Server::start(&home);
    let job = json!({ "name": "bash", "arguments": { "command": "echo job; until [ -e go ]; do sleep 0.01; done", "mode": "background" } });
    assert_eq!(server.ask("tools/call", &job)["result"]["_meta"]["bashful/facts"]["job"]["id"], 1);
    let (wire, end) = begin(&server);
    home.wait_for("begun");
    end(wire);
    assert!(eventually(|| foreground(&home).is_empty()), "{:?}", foreground(&home));
    assert!(home.survivors().iter().any(|line| line.contains("echo job")), "the job goes on");
    std::fs::write(home.path().join("go"), "").expect("it may go on");
    ends_well(server, &home);
}

#[test]
fn a_call_whose_client_hangs_up_is_stopped() {
    check_stopped(|server| (server.begin_call("1", WAITS), Box::new(Wire::hang_up)));
}

#[test]
fn a_call_whose_client_hangs_up_is_stopped_when_it_was_told_how_far_it_is() {
    check_stopped(|server| {
        let call = json!({
            "name": "bash", "arguments": { "command": WAITS, "timeout": 300 }, "_meta": { "progressToken": 7 },
        });
        let mut wire = server.begin("1", "tools/call", &call);
        assert_eq!(wire.head().header("content-type"), Some("text/event-stream"));
        (wire, Box::new(Wire::hang_up))
    });
}

#[test]
fn a_call_whose_client_hangs_up_is_stopped_when_it_has_begun_to_say_something_else() {
    check_stopped(|server| {
        let mut wire = server.begin_call("1", WAITS);
        wire.send(b"POST /mcp HTTP/1.1\r\nHost: ");
        (wire, Box::new(Wire::hang_up))
    });
}

#[test]
fn a_call_that_is_cancelled_is_stopped() {
    check_stopped(|server| {
        let session = Session::greeted(server);
        let wire = session.begin_call("mine", WAITS);
        let end = move |mut wire: Wire| {
            assert_eq!(session.tell("notifications/cancelled", &json!({ "requestId": "mine" })).status, 202);
            assert!(wire.reply().messages().is_empty(), "nobody is sent an answer");
        };
        (wire, Box::new(end))
    });
}

#[test]
fn calls_of_a_session_that_is_ended_are_stopped() {
    check_stopped(|server| {
        let session = Session::greeted(server);
        let wire = session.begin_call("mine", WAITS);
        (wire, Box::new(move |_wire| assert_eq!(session.plain("DELETE").reply().status, 202)))
    });
}

#[test]
fn a_session_whose_client_is_away_for_too_long_is_over_and_so_are_its_calls() {
    let home = home();
    let server = Server::with(&home, &[], &[("BASHFUL_MCP_SESSION_IDLE_SECONDS", "0.5")]);
    let session = Session::greeted(&server);
    let wire = session.begin_call("mine", WAITS);
    home.wait_for("begun");
    wire.hang_up();
    assert!(eventually(|| foreground(&home).is_empty()), "{:?}", foreground(&home));
    assert_eq!(session.begin_call("late", "true").reply().status, 404);
    ends_well(server, &home);
}

#[test]
fn a_client_that_lost_its_connection_gets_the_answer_by_another() {
    let home = home();
    let server = Server::start(&home);
    let session = Session::greeted(&server);
    let mut wire = session.begin_call("mine", WAITS);
    assert_eq!(wire.head().status, 200);
    let first = String::from_utf8(wire.chunk().expect("it can be found again")).expect("text");
    let event = first.lines().find_map(|line| line.strip_prefix("id:")).expect("an id").trim().to_owned();
    home.wait_for("begun");
    wire.hang_up();
    // One comes back before the end, another one long after it, and each may do so again.
    let mut early = session.resume(&event);
    assert_eq!(early.head().status, 200);
    std::fs::write(home.path().join("go"), "").expect("it may go on");
    assert!(text(&early.rest().message()).starts_with("done\n"));
    for _ in 0..2 {
        let mut late = session.resume(&event);
        assert_eq!(late.reply().message()["id"], "mine");
    }
    for unknown in ["7/7", "99/0", "0/99999999999999999999", "x", "-1/-1"] {
        let reply = session.resume(unknown).reply();
        assert_eq!((reply.status, reply.messages().len()), (200, 0), "{unknown}");
    }
    session.ask("tools/call", &json!({ "name": "job", "arguments": { "action": "kill", "ids": [1] } }));
    ends_well(server, &home);
}

#[test]
fn whoever_gave_a_token_is_told_how_far_it_has_come() {
    let home = home();
    let server = Server::start(&home);
    let session = Session::greeted(&server);
    let call = |file: &str| {
        let command = format!("echo one; echo two; until [ -e {file} ]; do sleep 0.01; done");
        json!({ "name": "bash", "arguments": { "command": command, "timeout": 300 }, "_meta": { "progressToken": "mine" } })
    };
    let wires =
        [("go", server.begin("1", "tools/call", &call("go"))), ("on", session.begin("1", "tools/call", &call("on")))];
    for (file, mut wire) in wires {
        let mut reply = wire.head();
        assert_eq!((reply.status, reply.header("content-type")), (200, Some("text/event-stream")));
        while reply.messages().len() < 3 {
            reply.body.extend(wire.chunk().expect("more"));
        }
        for (at, notice) in reply.messages().into_iter().enumerate() {
            assert_eq!(
                (&notice["method"], &notice["params"]["progressToken"]),
                (&json!("notifications/progress"), &json!("mine"))
            );
            let message = notice["params"]["message"].as_str().expect("a message");
            let is_right =
                if at == 0 { message.starts_with("$ echo one; ") } else { message.ends_with("s, 8 bytes: two") };
            assert!(is_right, "{notice}");
        }
        std::fs::write(home.path().join(file), "").expect("it may go on");
        while let Some(piece) = wire.chunk() {
            reply.body.extend(piece);
        }
        assert_eq!(text(&reply.message()), "one\ntwo\n");
    }
    ends_well(server, &home);
}

#[test]
fn fifty_calls_of_two_clients_run_at_once() {
    let home = home();
    let server = Server::start(&home);
    let session = Session::greeted(&server);
    // None of them can end before all of them have begun.
    let command = "until [ \"$(ls here.* | wc -l)\" = 50 ]; do sleep 0.05; done";
    let mut calls: Vec<(usize, Wire)> = Vec::new();
    for number in 0..50 {
        let command = format!("touch here.{number}; {command}; echo {number}");
        let id = number.to_string();
        let is_old = number % 2 == 0;
        calls.push((number, if is_old { session.begin_call(&id, &command) } else { server.begin_call(&id, &command) }));
    }
    for (number, mut wire) in calls {
        assert_eq!(text(&wire.reply().message()), format!("{number}\n"));
    }
    ends_well(server, &home);
}

#[test]
fn a_connection_serves_one_call_after_another() {
    let home = home();
    let server = Server::start(&home);
    let mut wire = server.connect();
    let call = |number: u32| json!({ "name": "bash", "arguments": { "command": format!("echo {number}") } });
    for number in 0..20 {
        wire.send(&server.modern("again", "tools/call", &call(number)));
        assert_eq!(text(&wire.reply().message()), format!("{number}\n"));
    }
    ends_well(server, &home);
}

/// Ends the server in some way while it is at work, and looks at what is left.
#[track_caller]
fn check_end(signal: Signal, succeeds: bool) {
    let home = home();
    let mut server = Server::start(&home);
    let job = json!({ "name": "bash", "arguments": { "command": "echo job; until [ -e go ]; do sleep 0.01; done", "mode": "background" } });
    assert_eq!(server.ask("tools/call", &job)["result"]["_meta"]["bashful/facts"]["job"]["id"], 1);
    let session = Session::greeted(&server);
    let _news = session.plain("GET");
    let _idle = server.connect();
    let _calls = [server.begin_call("1", WAITS), session.begin_call("2", &format!("trap '' HUP; {WAITS} too"))];
    home.wait_for("begun");
    server.signal(signal);
    assert_eq!(server.end().success(), succeeds);
    assert!(eventually(|| foreground(&home).is_empty()), "{:?}", foreground(&home));
    let job: Value = serde_json::from_slice(&home.run(&["jobs", "show", "1", "--json"]).stdout).expect("JSON");
    assert_eq!((&job["status"], &job["output"]), (&json!("running"), &json!("job\n")), "{job}");
    std::fs::write(home.path().join("go"), "").expect("it may go on");
    home.check_nothing_survives();
}

#[test]
fn asking_the_server_to_end_ends_commands_and_leaves_jobs() {
    for signal in [Signal::TERM, Signal::INT, Signal::HUP] {
        check_end(signal, true);
    }
}

#[test]
fn killing_the_server_ends_commands_and_leaves_jobs() {
    check_end(Signal::KILL, false);
}

#[test]
fn each_session_of_pi_has_one_shell_and_its_own_jobs() {
    let home = home();
    let mut server = Server::with(&home, &["--dialect", "pi"], &[]);
    let (one, other) = (Session::greeted(&server), Session::greeted(&server));
    assert!(one.run("MINE=kept; echo set").starts_with("set\n"));
    assert!(other.run("echo ${MINE-nothing}").starts_with("nothing\n"));
    assert!(one.run("echo ${MINE-nothing}").starts_with("kept\n"), "calls of a session share a shell");
    let job = |session: &Session<'_>, arguments: Value| {
        text(&session.ask("tools/call", &json!({ "name": "job", "arguments": arguments })))
    };
    let started =
        json!({ "name": "bash", "arguments": { "command": "until [ -e go ]; do sleep 0.01; done", "async": true } });
    assert!(text(&one.ask("tools/call", &started)).contains("bg_1"));
    assert!(job(&one, json!({ "list": true })).contains("bg_1"));
    assert_eq!(job(&other, json!({ "list": true })), "No background jobs.");
    assert_eq!(job(&other, json!({ "poll": ["bg_1"] })), "No matching jobs found for IDs: bg_1");
    assert_eq!(job(&other, json!({ "poll": [] })), "No running background jobs to wait for.");
    assert!(job(&other, json!({ "cancel": ["bg_1"] })).contains("Background job not found: bg_1"));
    assert!(job(&one, json!({ "list": true })).contains("Still Running (1)"), "nobody has stopped it");
    // A client that was restarted finds it again, and may stop it.
    assert!(job(&other, json!({ "list": true, "all": true })).contains("bg_1"));
    assert!(job(&other, json!({ "cancel": ["bg_1"], "all": true })).contains("Cancelled (1)"));
    server.signal(Signal::TERM);
    assert!(server.end().success());
    home.check_nothing_survives();
}

#[test]
fn two_requests_by_one_id_at_once_are_both_answered_or_the_second_is_refused() {
    let home = home();
    let server = Server::start(&home);
    let session = Session::greeted(&server);
    let mut first = session.begin_call("same", "touch begun; until [ -e go ]; do sleep 0.01; done; echo done");
    home.wait_for("begun");
    let mut second = session.begin_call("same", "echo second");
    let answer = second.reply().message();
    assert!(answer["error"].is_object() || text(&answer) == "second\n", "{answer}");
    std::fs::write(home.path().join("go"), "").expect("it may go on");
    assert_eq!(text(&first.reply().message()), "done\n");
    ends_well(server, &home);
}
