//! Turns of a client that behaves: sessions, modes, questions, cancellation.

use std::path::Path;

use serde_json::{Value, json};

use super::client::{HandClient, card_text};
use super::misbehaving::show_until_release;

#[test]
fn a_prompt_is_a_command_and_its_result_is_a_card() {
    let mut client = HandClient::new(false);
    let (text, facts) = client.run("echo '```'; echo \"in $PWD\"; exit 3");
    let directory = client.home.path().display().to_string();
    assert!(
        text.starts_with(&format!("````text\n```\nin {directory}\n````\n```text\n✗ failed")),
        "the output first: {text}"
    );
    assert!(text.contains("exit 3") && text.ends_with("\n```"), "{text}");
    assert_eq!((&facts["status"], &facts["exit_code"]), (&json!("exited"), &json!(3)));
    client.leave().check_nothing_survives();
}

#[test]
fn output_streams_while_the_command_runs() {
    let mut client = HandClient::new(false);
    let prompt = client.prompt("echo begun; until [ -e go ]; do sleep 0.01; done; echo over");
    let call = client.find("the call", |message| message["params"]["update"]["sessionUpdate"] == "tool_call");
    let call = &call["params"]["update"];
    assert_eq!((&call["kind"], &call["status"]), (&json!("execute"), &json!("in_progress")));
    client.find("output", |message| {
        let update = &message["params"]["update"];
        update["status"] == "in_progress" && update["content"][0]["content"]["text"] == "```text\nbegun\n```"
    });
    std::fs::write(client.home.path().join("go"), "").expect("a file");
    assert_eq!(client.turn_end(prompt), "end_turn");
    assert!(card_text(&client.call_end()).starts_with("```text\nbegun\nover\n```\n"));
    let is_message = |message: &Value| message["params"]["update"]["sessionUpdate"] == "agent_message_chunk";
    assert!(!client.waiting.iter().any(is_message), "an editor would show the output twice");
    client.leave().check_nothing_survives();
}

#[test]
fn the_user_is_asked_about_what_the_guard_refuses() {
    let mut client = HandClient::new(false);
    for (option, expected) in [("reject", "refused"), ("allow", "exited"), ("anything", "refused")] {
        let prompt = client.prompt("git push --force; echo ran");
        let asked = client.asked("session/request_permission");
        assert!(asked["params"]["toolCall"]["content"].to_string().contains("git push --force"), "{asked}");
        client.answer(&asked, &json!({ "outcome": { "outcome": "selected", "optionId": option } }));
        assert_eq!(client.turn_end(prompt), "end_turn");
        assert_eq!(client.call_end()["rawOutput"]["status"], expected, "{option}");
    }
    // A turn that is cancelled while the user is asked.
    let prompt = client.prompt("!git push --force");
    client.asked("session/request_permission");
    client.cancel();
    assert_eq!(client.turn_end(prompt), "cancelled");
    client.leave().check_nothing_survives();
}

#[test]
fn a_command_that_waits_for_the_client_is_not_shown_as_running() {
    let mut client = HandClient::new(true);
    let other = client.new_session();
    let prompt = client.prompt("git push --force; echo ran");
    let asked = client.asked("session/request_permission");
    // Updates come every second, so one would have come before this command has ended.
    let pause = client.prompt_in(&other, "!sleep 1.5");
    assert_eq!(client.turn_end(pause), "end_turn");
    client.call_end();
    assert_eq!(client.progress(), [""; 0]);
    client.answer(&asked, &json!({ "outcome": { "outcome": "selected", "optionId": "allow" } }));
    let created = client.asked("terminal/create");
    let pause = client.prompt_in(&other, "!sleep 1.5");
    assert_eq!(client.turn_end(pause), "end_turn");
    client.call_end();
    assert_eq!(client.progress(), [""; 0]);
    client.answer(&created, &json!({ "terminalId": "t" }));
    client.find("the terminal", |message| message["params"]["update"]["rawOutput"]["terminalId"] == "t");
    let wait = client.asked("terminal/wait_for_exit");
    client.answer(&wait, &json!({ "exitCode": 0 }));
    show_until_release(&mut client, "ran", &json!({ "exitCode": 0 }));
    assert_eq!(client.turn_end(prompt), "end_turn");
    client.leave().check_nothing_survives();
}

#[test]
fn a_closed_session_ends_its_shell() {
    let mut client = HandClient::new(false);
    client.run("!sleep 1000 & echo $! > pid");
    let pid = std::fs::read_to_string(client.home.path().join("pid")).expect("a file");
    let process = Path::new("/proc").join(pid.trim());
    assert!(process.exists());
    let session = client.session.clone();
    let closed = client.call("session/close", &json!({ "sessionId": session }));
    assert!(closed["result"].is_object(), "{closed}");
    assert!(!process.exists(), "{pid} survived");
    client.leave().check_nothing_survives();
}

#[test]
fn a_cancelled_turn_ends_as_cancelled_and_leaves_nothing() {
    let mut client = HandClient::new(false);
    let prompt = client.prompt("echo begun; (\"$PUPPET\" setsid hold &); \"$PUPPET\" make ready hold");
    client.home.wait_for("ready");
    client.cancel();
    assert_eq!(client.turn_end(prompt), "cancelled");
    let end = client.call_end();
    assert_eq!((&end["status"], &end["rawOutput"]["status"]), (&json!("failed"), &json!("cancelled")));
    assert!(card_text(&end).contains("begun"));
    // The session takes the next command at once.
    assert_eq!(client.run("true").1["exit_code"], 0);
    client.leave().check_nothing_survives();
}

#[test]
fn sessions_run_at_once_and_each_has_one_turn() {
    let mut client = HandClient::new(false);
    let other = client.new_session();
    let first = client.prompt("until [ -e go ]; do sleep 0.01; done");
    let second = client.prompt("true");
    let refused = client.answer_to(second);
    assert!(refused["error"]["data"].as_str().expect("a reason").starts_with("a command is running"), "{refused}");
    let go = client.prompt_in(&other, "touch go");
    assert_eq!(client.turn_end(go), "end_turn");
    assert_eq!(client.turn_end(first), "end_turn");
    for (method, params) in [
        ("session/prompt", json!({ "sessionId": "none", "prompt": [] })),
        ("session/set_mode", json!({ "sessionId": other, "modeId": "quick" })),
        ("session/new", json!({ "cwd": "relative", "mcpServers": [] })),
        ("session/new", json!({ "cwd": "/does/not/exist", "mcpServers": [] })),
    ] {
        assert_eq!(client.call(method, &params)["error"]["code"], -32602, "{method}");
    }
    client.call("session/close", &json!({ "sessionId": other }));
    let closed = client.prompt_in(&other, "true");
    assert_eq!(client.answer_to(closed)["error"]["code"], -32602);
    client.leave().check_nothing_survives();
}

#[test]
fn the_mode_of_a_session_makes_jobs_and_gives_time() {
    let mut client = HandClient::new(true);
    let session = client.session.clone();
    client.call("session/set_mode", &json!({ "sessionId": session, "modeId": "background" }));
    // The client has terminals, but a job stays here.
    let (text, facts) = client.run("until [ -e go ]; do sleep 0.01; done");
    assert_eq!((&facts["status"], &facts["job"]["id"]), (&json!("running"), &json!(1)), "{text}");
    assert!(!client.was_asked("terminal/create"));
    std::fs::write(client.home.path().join("go"), "").expect("a file");
    client.leave().check_nothing_survives();
}

#[test]
fn a_persons_command_keeps_its_shell_and_moves_the_session() {
    let mut client = HandClient::new(true);
    std::fs::create_dir(client.home.path().join("below")).expect("a directory");
    client.run("!cd below; x=kept");
    let (text, facts) = client.run("!echo \"$x\"; false");
    assert!(text.starts_with("```text\nkept\n```\n"), "{text}");
    let below = client.home.path().join("below").display().to_string();
    assert_eq!((&facts["exitCode"], &facts["workingDir"]), (&json!(1), &json!(below)));
    assert!(!client.was_asked("terminal/create"), "the shell is here");
    // The next command of the tool starts there.
    let prompt = client.prompt("pwd");
    let created = client.asked("terminal/create");
    assert_eq!(created["params"]["cwd"], below);
    client.cancel();
    assert_eq!(client.turn_end(prompt), "cancelled");
    client.leave().check_nothing_survives();
}

#[test]
fn a_persons_first_command_starts_in_the_directory_of_the_session() {
    let mut client = HandClient::new(false);
    let below = client.home.path().join("below");
    std::fs::create_dir(&below).expect("a directory");
    client.session = client.new_session_in(&below);
    // A command that never ran moves nothing.
    let prompt = client.prompt("!git push --force");
    client.asked("session/request_permission");
    client.cancel();
    assert_eq!(client.turn_end(prompt), "cancelled");
    client.call_end();
    std::fs::remove_dir(&below).expect("it is empty");
    for pwd in ["!pwd", "pwd"] {
        let (text, _) = client.run(pwd);
        assert!(text.contains(&format!("Working directory does not exist: {}", below.display())), "{pwd}: {text}");
    }
    std::fs::create_dir(&below).expect("a directory");
    assert_eq!(client.run("!pwd").1["workingDir"], below.display().to_string());
    // A shell that runs stays where it is, and can leave a directory that is gone.
    std::fs::remove_dir(&below).expect("it is empty");
    assert_eq!(client.run("!cd ..").1["workingDir"], client.home.path().display().to_string());
    // So does the next shell.
    client.run("!exit");
    assert_eq!(client.run("!true").1["workingDir"], client.home.path().display().to_string());
    client.leave().check_nothing_survives();
}

#[test]
fn a_client_that_closes_its_end_takes_its_commands_along() {
    let mut client = HandClient::new(false);
    client.prompt("(\"$PUPPET\" setsid hold &); \"$PUPPET\" make ready hold");
    client.home.wait_for("ready");
    client.leave().check_nothing_survives();
}
