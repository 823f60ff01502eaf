//! Clients whose terminals misbehave.

use std::time::Instant;

use serde_json::{Value, json};

use super::client::{HandClient, card_text};

/// A client that has created a terminal for this command.
fn with_terminal(script: &str) -> (HandClient, u64) {
    let mut client = HandClient::new(true);
    let prompt = client.prompt(script);
    let created = client.asked("terminal/create");
    assert_eq!(created["params"]["outputByteLimit"], 51_200);
    assert_eq!(created["params"]["args"], json!(["-c", script]));
    client.answer(&created, &json!({ "terminalId": "t" }));
    let embedded = client.find("the terminal", |message| {
        message["params"]["update"]["content"][0] == json!({ "type": "terminal", "terminalId": "t" })
    });
    assert_eq!(embedded["params"]["update"]["rawOutput"]["terminalId"], "t");
    (client, prompt)
}

/// Answers every look at the terminal until it is released.
pub(crate) fn show_until_release(client: &mut HandClient, text: &str, exit: &Value) {
    loop {
        let asked = client.find("a look or the release", |message| {
            matches!(message["method"].as_str(), Some("terminal/output" | "terminal/release"))
        });
        if asked["method"] == "terminal/release" {
            assert_eq!(asked["params"]["terminalId"], "t");
            return client.answer(&asked, &json!({}));
        }
        client.answer(&asked, &json!({ "output": text, "truncated": false, "exitStatus": exit }));
    }
}

#[test]
fn a_client_that_never_creates_a_terminal_can_cancel() {
    let mut client = HandClient::new(true);
    let prompt = client.prompt("true");
    client.asked("terminal/create");
    client.cancel();
    assert_eq!(client.turn_end(prompt), "cancelled");
    client.leave().check_nothing_survives();
}

#[test]
fn a_client_that_never_creates_a_terminal_costs_the_lifetime() {
    let mut client = HandClient::in_a_hurry();
    let (text, facts) = client.run("true");
    assert!(text.contains("the client created no terminal for it within 5 seconds"), "{text}");
    assert_eq!(facts["status"], "failed");
    client.leave().check_nothing_survives();
}

#[test]
fn a_client_that_refuses_a_terminal_is_quoted() {
    let mut client = HandClient::new(true);
    let prompt = client.prompt("true");
    let created = client.asked("terminal/create");
    let error = json!({ "code": -32603, "message": "no room", "data": "for terminals" });
    client.send(&json!({ "jsonrpc": "2.0", "id": created["id"], "error": error }));
    assert_eq!(client.turn_end(prompt), "end_turn");
    let text = card_text(&client.call_end());
    assert!(text.contains("the client created no terminal for it: no room: for terminals"), "{text}");
    client.leave().check_nothing_survives();
}

#[test]
fn a_terminal_that_is_created_after_a_cancel_is_killed_and_released() {
    let mut client = HandClient::new(true);
    let prompt = client.prompt("true");
    let created = client.asked("terminal/create");
    client.cancel();
    assert_eq!(client.turn_end(prompt), "cancelled");
    client.answer(&created, &json!({ "terminalId": "t" }));
    let killed = client.asked("terminal/kill");
    assert_eq!(killed["params"]["terminalId"], "t");
    client.answer(&killed, &json!({}));
    show_until_release(&mut client, "", &Value::Null);
    client.leave().check_nothing_survives();
}

#[test]
fn a_client_that_answers_nothing_more_is_not_waited_for() {
    let (mut client, prompt) = with_terminal("sleep 1000");
    client.cancel();
    let began = Instant::now();
    for method in ["terminal/kill", "terminal/output", "terminal/release"] {
        client.asked(method);
    }
    assert_eq!(client.turn_end(prompt), "cancelled");
    // One second for the kill, two for the last look, one for the release.
    assert!(began.elapsed().as_secs() >= 3, "{:?}", began.elapsed());
    let text = card_text(&client.call_end());
    assert!(text.contains("the command may still run in the client's terminal t"), "{text}");
    client.leave().check_nothing_survives();
}

#[test]
fn nothing_is_told_that_the_client_did_not_report() {
    let (mut client, prompt) = with_terminal("sleep 1000");
    client.cancel();
    for method in ["terminal/kill", "terminal/output", "terminal/release"] {
        client.asked(method);
    }
    assert_eq!(client.turn_end(prompt), "cancelled");
    let end = client.call_end();
    let facts = &end["rawOutput"];
    assert_eq!(facts["status"], "cancelled");
    assert!(facts.get("signal").is_none() && facts.get("exit_code").is_none(), "{facts}");
    let text = card_text(&end);
    assert!(!text.contains("KILL") && !text.contains("137"), "{text}");
    assert!(text.contains("did not confirm the release within 1 s"), "{text}");
    // The command's time does not include the waits for the last look and the release.
    let milliseconds = facts["duration_ms"].as_u64().expect("a duration");
    assert!(milliseconds < 3000, "{milliseconds}");
    client.leave().check_nothing_survives();
}

#[test]
fn a_signal_that_nobody_knows_is_quoted() {
    let (mut client, prompt) = with_terminal("true");
    let exit = json!({ "exitCode": null, "signal": "BOGUS" });
    let wait = client.asked("terminal/wait_for_exit");
    client.answer(&wait, &exit);
    show_until_release(&mut client, "said", &exit);
    assert_eq!(client.turn_end(prompt), "end_turn");
    let end = client.call_end();
    assert!(end["rawOutput"].get("signal").is_none(), "{end}");
    assert!(card_text(&end).contains("the client reported the unknown signal BOGUS"), "{end}");
    client.leave().check_nothing_survives();
}

#[test]
fn every_card_tells_of_a_lost_beginning() {
    let mut client = HandClient::new(true);
    for _ in 0..2 {
        let prompt = client.prompt("true");
        let created = client.asked("terminal/create");
        client.answer(&created, &json!({ "terminalId": "t" }));
        let wait = client.asked("terminal/wait_for_exit");
        client.answer(&wait, &json!({ "exitCode": 0 }));
        show_until_release(&mut client, &"a line\n".repeat(10_000), &json!({ "exitCode": 0 }));
        assert_eq!(client.turn_end(prompt), "end_turn");
        let text = card_text(&client.call_end());
        assert!(text.contains("the beginning is lost"), "{text}");
    }
    client.leave().check_nothing_survives();
}

#[test]
fn an_agent_that_is_told_to_end_kills_and_releases() {
    let (mut client, _) = with_terminal("sleep 1000");
    client.terminate();
    let killed = client.asked("terminal/kill");
    client.answer(&killed, &json!({}));
    let released = client.asked("terminal/release");
    assert_eq!(released["params"]["terminalId"], "t");
    client.answer(&released, &json!({}));
    client.leave().check_nothing_survives();
}

#[test]
fn a_client_that_closes_its_end_is_told_to_kill_and_release() {
    let (mut client, _) = with_terminal("sleep 1000");
    client.close_input();
    client.asked("terminal/kill");
    client.asked("terminal/release");
    client.leave().check_nothing_survives();
}

#[test]
fn a_line_that_is_no_message_ends_nothing() {
    let mut client = HandClient::new(false);
    let long = format!("{{\"no\": {}\n", "x".repeat(20_000_000));
    for bad in [b"\xff\xfe\n", long.as_bytes()] {
        client.send_bytes(bad);
        let answer = client.find("a parse error", |message| message["error"]["code"] == -32700);
        assert!(answer["id"].is_null() && answer.to_string().len() < 1000, "{answer}");
    }
    // A command is never run with another byte in the place of a bad one.
    let session = client.session.clone();
    client.send_bytes(b"{\"jsonrpc\":\"2.0\",\"id\":99,\"method\":\"session/prompt\",\"params\":{\"sessionId\":\"");
    client.send_bytes(session.as_bytes());
    client.send_bytes(b"\",\"prompt\":[{\"type\":\"text\",\"text\":\"touch \xff\"}]}}\n");
    client.find("a parse error", |message| message["error"]["code"] == -32700);
    assert_eq!(client.run("true").1["exit_code"], 0);
    client.leave().check_nothing_survives();
}

#[test]
fn a_message_with_half_a_character_is_answered_by_its_id() {
    let mut client = HandClient::new(false);
    client.send_bytes(br#"{"jsonrpc":"2.0","id":"half","method":"session/prompt","params":{"prompt":"\ud800"}}"#);
    client.send_bytes(b"\n");
    let refused = client.find("the answer", |message| message["id"] == "half")["error"].clone();
    assert_eq!((&refused["code"], &refused["message"]), (&json!(-32700), &json!("Parse error")));
    assert!(refused["data"].as_str().is_some_and(|data| data.contains("half of a surrogate pair")), "{refused}");
    // The user's answer is lost, so nothing is approved, and the turn ends.
    let prompt = client.prompt("git push --force; echo ran");
    let asked = client.asked("session/request_permission");
    let answer = json!({ "outcome": { "outcome": "selected", "optionId": "allow" }, "_meta": "half" });
    let answer = json!({ "jsonrpc": "2.0", "id": asked["id"], "result": answer }).to_string();
    client.send_bytes((answer.replace("half", "\\ud800") + "\n").as_bytes());
    assert_eq!(client.turn_end(prompt), "end_turn");
    assert_eq!(client.call_end()["rawOutput"]["status"], "refused");
    // Unknown methods are answered as before.
    let unknown = client.call("_unknown", &json!({}));
    assert_eq!(unknown["error"]["code"], -32601);
    client.leave().check_nothing_survives();
}

#[test]
fn a_client_that_dies_in_the_middle_ends_the_agent() {
    let (client, _) = with_terminal("sleep 1000");
    client.leave().check_nothing_survives();
}

#[test]
fn a_client_that_lies_about_the_end_is_not_believed() {
    let (mut client, prompt) = with_terminal("true");
    let wait = client.asked("terminal/wait_for_exit");
    client.answer(&wait, &json!({ "exitCode": 0, "signal": null }));
    show_until_release(&mut client, "said", &json!({ "exitCode": 3 }));
    assert_eq!(client.turn_end(prompt), "end_turn");
    let text = card_text(&client.call_end());
    assert!(text.contains("the client reported two ends: exit code 0, then exit code 3"), "{text}");
    client.leave().check_nothing_survives();
}

#[test]
fn an_end_without_code_and_signal_is_no_success() {
    let (mut client, prompt) = with_terminal("true");
    let wait = client.asked("terminal/wait_for_exit");
    client.answer(&wait, &json!({}));
    show_until_release(&mut client, "said", &Value::Null);
    assert_eq!(client.turn_end(prompt), "end_turn");
    let end = client.call_end();
    assert_eq!((&end["status"], &end["rawOutput"]["status"]), (&json!("failed"), &json!("failed")));
    client.leave().check_nothing_survives();
}

#[test]
fn a_client_that_answers_late_is_waited_for() {
    let (mut client, prompt) = with_terminal("true");
    let wait = client.asked("terminal/wait_for_exit");
    // The first look is answered after its end would have been in time.
    let late = client.asked("terminal/output");
    client.answer(&wait, &json!({ "exitCode": 0 }));
    client.answer(&late, &json!({ "output": "half", "truncated": false }));
    show_until_release(&mut client, "all of it", &json!({ "exitCode": 0 }));
    assert_eq!(client.turn_end(prompt), "end_turn");
    assert_eq!(client.call_end()["rawOutput"]["exit_code"], 0);
    client.leave().check_nothing_survives();
}
