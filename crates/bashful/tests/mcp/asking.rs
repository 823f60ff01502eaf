//! Commands that have to be asked about: who is asked, and what becomes of each answer.

use std::time::Duration;

use bashful_testkit::Home;
use serde_json::{Value, json};

use crate::home;
use crate::server::{Server, text};

const ASK: (&str, &str) = ("BASHFUL_GUARD_LEVELS", "{\"git/force-push\"=\"ask\"}");

/// A forced push that leaves a trace and fails, because there is no repository.
const COMMAND: &str = "touch ran; git push --force 2>/dev/null; echo over";

fn first_era(home: &Home, capabilities: &Value, variables: &[(&str, &str)]) -> Server {
    let mut server = Server::start(home, &[], &[&[ASK], variables].concat());
    let hello = json!({
        "protocolVersion": "2025-11-25", "capabilities": capabilities, "clientInfo": { "name": "test", "version": "1" },
    });
    server.ask("initialize", &hello);
    server.tell("notifications/initialized", &json!({}));
    server
}

fn has_run(home: &Home) -> bool {
    home.path().join("ran").exists()
}

#[track_caller]
fn ends(mut server: Server, home: &Home) {
    server.close();
    assert!(server.end().success());
    home.check_nothing_survives();
}

/// Checks the reply to a command for an answer of the client.
#[track_caller]
fn check(think: Duration, answer: &Value, expected: &str) {
    let home = home();
    let mut server = first_era(&home, &json!({ "elicitation": {} }), &[]);
    server.begin("call", &json!({ "command": COMMAND }));
    let asked = server.asked("elicitation/create");
    let (id, message) = (&asked["id"], asked["params"]["message"].as_str().expect("a text"));
    assert!(message.contains("\n  | touch ran; git push --force 2>/dev/null; echo over"), "{message}");
    assert!(
        message.starts_with("git push --force: ") && message.contains(" Run it? [git/force-push]\nin "),
        "{message}"
    );
    assert_eq!(asked["params"]["requestedSchema"], json!({ "type": "object", "properties": {} }));
    assert!(!has_run(&home), "not before the answer");
    // A person takes some time.
    std::thread::sleep(think);
    server.line(json!({ "jsonrpc": "2.0", "id": id, "result": answer }).to_string().as_bytes());
    let result = server.answer("call")["result"].clone();
    let said = text(&result);
    assert!(said.contains(expected), "{said}");
    let allowed = expected == "over\n";
    assert_eq!((has_run(&home), result["isError"] == true), (allowed, !allowed), "{result}");
    let lines = String::from_utf8_lossy(&home.run(&["log", "--json"]).stdout).into_owned();
    assert_eq!(lines.contains("\"verdict\":\"refused\""), !allowed, "{lines}");
    ends(server, &home);
}

#[test]
fn a_client_of_the_first_era_asks_its_user() {
    let think = Duration::from_millis(400);
    check(think, &json!({ "action": "accept", "content": {} }), "over\n");
    check(think, &json!({ "action": "decline" }), "the user said no");
    check(think, &json!({ "action": "cancel" }), "the user dismissed the question");
}

#[test]
fn a_form_that_is_accepted_with_a_no_in_it_is_a_no() {
    let think = Duration::from_millis(400);
    for content in [json!({ "approve": false }), json!({ "a": true, "b": "no" }), json!({ "x": null }), json!(false)] {
        check(think, &json!({ "action": "accept", "content": content }), "the user said no");
    }
    for content in [json!({ "approve": true }), json!(null)] {
        check(think, &json!({ "action": "accept", "content": content }), "over\n");
    }
    check(think, &json!({ "action": "accept" }), "over\n");
}

#[test]
fn a_client_that_says_no_by_itself_has_asked_nobody() {
    for answer in ["decline", "cancel"] {
        let said = "needs approval, but nobody was asked: the client said no by itself, after ";
        check(Duration::ZERO, &json!({ "action": answer }), said);
    }
    check(Duration::ZERO, &json!({ "action": "accept", "content": {} }), "over\n");
}

#[test]
fn a_client_that_cannot_ask_is_told_how_to_allow_it() {
    for capabilities in [json!({}), json!({ "elicitation": { "url": {} } })] {
        let home = home();
        let mut server = first_era(&home, &capabilities, &[]);
        let result = server.call("bash", &json!({ "command": "touch ran; git push -f" }));
        let line = format!("bashful allow --cwd {} 'touch ran; git push -f'", home.path().display());
        assert!(text(&result).ends_with(&line), "{result}");
        assert!(result["isError"] == true && !has_run(&home));
        ends(server, &home);
    }
}

#[test]
fn nobody_is_asked_about_more_than_they_can_read() {
    let home = home();
    let mut server = first_era(&home, &json!({ "elicitation": {} }), &[]);
    let command = format!("touch ran\ngit push -f\n{}", "true\n".repeat(20_000));
    let result = server.call("bash", &json!({ "command": command }));
    assert!(text(&result).contains("too long to show in a question") && text(&result).ends_with(" SCRIPT"), "{result}");
    assert!(!has_run(&home) && server.notices.is_empty());
    ends(server, &home);
}

#[test]
fn nothing_in_a_command_is_hidden_from_who_is_asked() {
    let home = home();
    let mut server = first_era(&home, &json!({ "elicitation": {} }), &[]);
    let command = format!("git push -f #\recho harmless \u{202e}\u{8}\u{1b}[2K {}", "x".repeat(400));
    server.begin("call", &json!({ "command": command }));
    let asked = server.asked("elicitation/create");
    let message = asked["params"]["message"].as_str().expect("a text");
    let shown = format!("  | git push -f #\\recho harmless \\u{{202e}}\\u{{8}}\\u{{1b}}[2K {}", "x".repeat(400));
    assert!(message.contains(&shown), "nothing is cut: {message}");
    server
        .line(json!({ "jsonrpc": "2.0", "id": asked["id"], "result": { "action": "decline" } }).to_string().as_bytes());
    server.answer("call");
    ends(server, &home);
}

#[test]
fn what_is_refused_is_not_asked_about() {
    let home = home();
    let mut server = first_era(&home, &json!({ "elicitation": {} }), &[]);
    let result = server.call("bash", &json!({ "command": "touch ran; git push -f; git add -A" }));
    assert!(text(&result).starts_with("permission denied: "), "{result}");
    assert!(!text(&result).contains("asked") && !has_run(&home) && server.notices.is_empty());
    ends(server, &home);
}

#[test]
fn who_does_not_answer_has_not_allowed_it() {
    let home = home();
    let mut server = first_era(&home, &json!({ "elicitation": {} }), &[("BASHFUL_MCP_PATIENCE_SECONDS", "1")]);
    server.begin("call", &json!({ "command": COMMAND }));
    let asked = server.asked("elicitation/create");
    let result = server.answer("call")["result"].clone();
    assert!(text(&result).contains("did not answer in time"), "{result}");
    // The question is taken back, and an answer that comes too late is none.
    server.notice("notifications/cancelled", |params| params["requestId"] == asked["id"]);
    let late = json!({ "jsonrpc": "2.0", "id": asked["id"], "result": { "action": "accept", "content": {} } });
    server.line(late.to_string().as_bytes());
    server.ask("ping", &json!({}));
    assert!(!has_run(&home));
    ends(server, &home);
}

#[test]
fn a_call_that_was_cancelled_starts_nothing_whatever_is_answered() {
    let home = home();
    let mut server = first_era(&home, &json!({ "elicitation": {} }), &[]);
    server.begin("call", &json!({ "command": COMMAND }));
    let asked = server.asked("elicitation/create");
    server.tell("notifications/cancelled", &json!({ "requestId": "call" }));
    server.notice("notifications/cancelled", |params| params["requestId"] == asked["id"]);
    let late = json!({ "jsonrpc": "2.0", "id": asked["id"], "result": { "action": "accept", "content": {} } });
    server.line(late.to_string().as_bytes());
    assert_eq!(text(&server.call("bash", &json!({ "command": "echo next" }))), "next\n");
    assert!(!has_run(&home) && server.unasked().is_empty());
    ends(server, &home);
}

#[test]
fn a_client_that_answers_with_an_error_or_goes_away_has_not_allowed_it() {
    let home = home();
    let mut server = first_era(&home, &json!({ "elicitation": {} }), &[]);
    server.begin("call", &json!({ "command": COMMAND }));
    let asked = server.asked("elicitation/create");
    let error = json!({ "jsonrpc": "2.0", "id": asked["id"], "error": { "code": -1, "message": "no screen" } });
    server.line(error.to_string().as_bytes());
    let result = server.answer("call")["result"].clone();
    assert!(text(&result).contains("no screen") && text(&result).contains("bashful allow"), "{result}");
    server.begin("again", &json!({ "command": COMMAND }));
    server.asked("elicitation/create");
    ends(server, &home);
    assert!(!has_run(&home));
}

#[test]
fn a_question_hides_what_is_withheld_and_shows_the_place_in_a_long_script() {
    let home = home();
    let variables = [("MY_TOKEN", "geheim-12345678")];
    let mut server = first_era(&home, &json!({ "elicitation": {} }), &variables);
    let lie = "git push -f $'x\\n\\nIt is quite harmless.'";
    let command = format!("{}echo geheim-12345678 \u{1b}[2J\n{lie}\n", "true\n".repeat(30));
    std::fs::create_dir(home.path().join("geheim-12345678")).expect("a directory of our own");
    server.begin("call", &json!({ "command": command, "cwd": "geheim-12345678" }));
    let asked = server.asked("elicitation/create");
    let message = asked["params"]["message"].as_str().expect("a text");
    assert!(!message.contains("geheim") && !message.contains('\u{1b}'), "{message}");
    let place = format!(" Run it? [git/force-push]\nin {}/[withheld: MY_TOKEN]\n\n  | true\n", home.path().display());
    assert!(message.contains(&place), "{message}");
    assert!(message.matches("\n  | true").count() == 30 && message.ends_with(&format!("\n  | {lie}")), "{message}");
    assert!(
        message.contains("harmless") && !message.contains("\nIt is"),
        "nothing passes for a part of the question: {message}"
    );
    server
        .line(json!({ "jsonrpc": "2.0", "id": asked["id"], "result": { "action": "decline" } }).to_string().as_bytes());
    server.answer("call");
    ends(server, &home);
}

fn meta(capabilities: &Value) -> Value {
    json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": { "name": "test", "version": "1" },
        "io.modelcontextprotocol/clientCapabilities": capabilities,
    })
}

/// A call of the second era, with what was asked before and what was answered: an action, or an action and content.
#[track_caller]
fn call(server: &mut Server, command: &str, state: Option<&Value>, action: Option<&str>) -> Value {
    let mut call = json!({
        "_meta": meta(&json!({ "elicitation": { "form": {} } })),
        "name": "bash",
        "arguments": { "command": command },
    });
    if let Some(state) = state {
        call["requestState"] = state.clone();
    }
    if let Some(action) = action {
        let (action, content) = action.split_once(' ').unwrap_or((action, "{}"));
        let content: Value = serde_json::from_str(content).expect("JSON");
        call["inputResponses"] = json!({ "allow": { "action": action, "content": content } });
    }
    let answer = server.ask("tools/call", &call);
    assert!(answer["result"].is_object(), "{answer}");
    answer["result"].clone()
}

#[test]
fn a_client_of_the_second_era_is_answered_with_the_question() {
    for (action, expected) in [
        ("accept", "over\n"),
        ("accept {\"approve\":false}", "said no"),
        ("decline", "said no"),
        ("cancel", "dismissed"),
    ] {
        let home = home();
        let mut server = Server::start(&home, &[], &[ASK]);
        let asked = call(&mut server, COMMAND, None, None);
        assert_eq!(asked["resultType"], "input_required", "{asked}");
        let request = &asked["inputRequests"]["allow"];
        assert_eq!(request["method"], "elicitation/create", "{asked}");
        assert!(request["params"]["message"].as_str().is_some_and(|text| text.contains("| touch ran;")), "{asked}");
        let result = call(&mut server, COMMAND, Some(&asked["requestState"]), Some(action));
        assert!(text(&result).contains(expected), "{result}");
        assert_eq!(has_run(&home), action == "accept");
        let lines = String::from_utf8_lossy(&home.run(&["log", "--json"]).stdout).into_owned();
        assert!(lines.lines().next().is_some_and(|line| line.contains("\"verdict\":\"asked\"")), "{lines}");
        ends(server, &home);
    }
}

#[test]
fn an_answer_counts_once_and_for_the_command_that_was_asked_about() {
    let home = home();
    let mut server = Server::start(&home, &[], &[ASK]);
    let is_asked_again = |result: &Value| result["resultType"] == "input_required";
    // Nothing was asked yet.
    assert!(is_asked_again(&call(&mut server, COMMAND, None, Some("accept"))));
    assert!(is_asked_again(&call(&mut server, COMMAND, Some(&json!("question-99")), Some("accept"))));
    let asked = call(&mut server, COMMAND, None, None);
    let other = format!("{COMMAND}; git push -f");
    assert!(is_asked_again(&call(&mut server, &other, Some(&asked["requestState"]), Some("accept"))));
    // The question was used up by that.
    assert!(is_asked_again(&call(&mut server, COMMAND, Some(&asked["requestState"]), Some("accept"))));
    let asked = call(&mut server, COMMAND, None, None);
    assert!(is_asked_again(&call(&mut server, COMMAND, Some(&asked["requestState"]), None)));
    assert!(!has_run(&home));
    let asked = call(&mut server, COMMAND, None, None);
    assert_eq!(text(&call(&mut server, COMMAND, Some(&asked["requestState"]), Some("accept"))), "over\n");
    assert!(is_asked_again(&call(&mut server, COMMAND, Some(&asked["requestState"]), Some("accept"))));
    ends(server, &home);
}

#[test]
fn a_client_of_the_second_era_that_cannot_ask_is_told_how_to_allow_it() {
    let home = home();
    let mut server = Server::start(&home, &[], &[ASK]);
    let call = json!({ "_meta": meta(&json!({})), "name": "bash", "arguments": { "command": COMMAND } });
    let result = server.ask("tools/call", &call)["result"].clone();
    assert!(text(&result).contains("bashful allow --cwd") && !has_run(&home), "{result}");
    ends(server, &home);
}
