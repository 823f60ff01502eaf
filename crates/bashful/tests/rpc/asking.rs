//! Commands that need approval: who is asked, and what becomes of each answer.

use bashful_testkit::Home;
use serde_json::{Value, json};

use crate::host::Host;
use crate::{ends_well, home};

const ASK: (&str, &str) = ("BASHFUL_GUARD_LEVELS", "{\"git/force-push\"=\"ask\"}");

/// A forced push that leaves a trace and fails, because there is no repository.
const COMMAND: &str = "touch ran; git push --force 2>/dev/null; echo over";

fn has_run(home: &Home) -> bool {
    home.path().join("ran").exists()
}

/// A service whose host answers questions.
fn asked(home: &Home, seconds: f64) -> Host {
    let mut host = Host::start(home, &[], &[ASK]);
    host.data(&json!({ "id": "hello", "type": "hello", "approve": true, "approveSeconds": seconds }));
    host
}

fn request(surface: &str) -> Value {
    json!({ "id": "push", "type": "bash", "as": surface, "command": COMMAND })
}

#[track_caller]
fn check_question(home: &Home, question: &Value) {
    assert_eq!((&question["id"], &question["command"]), (&json!("push"), &json!(COMMAND)));
    assert_eq!(question["cwd"], home.path().to_str().expect("text"));
    assert_eq!(question["findings"][0]["rule"], "git/force-push");
    assert!(
        question["text"]
            .as_str()
            .is_some_and(|text| text.starts_with("git push ") && text.contains(" Run it? [git/force-push]\nin ")),
        "{question}"
    );
    assert!(!has_run(home), "not before the answer");
}

#[test]
fn a_yes_lets_the_command_run_once_and_a_no_does_not() {
    for surface in ["bang", "tool"] {
        for approve in [true, false] {
            let home = home();
            let mut host = asked(&home, 60.0);
            host.send(&request(surface));
            let question = host.event("approve");
            check_question(&home, &question);
            assert_eq!(question["answerWithinMs"], 60_000);
            let answer = json!({ "id": "a", "type": "answer", "question": question["question"], "approve": approve });
            assert_eq!(host.data(&answer), json!({}));
            let response = host.response(&json!("push"));
            assert_eq!(has_run(&home), approve, "{response}");
            let text = response.to_string();
            assert_eq!(text.contains("the user said no"), !approve, "{text}");
            // An answer counts once.
            assert_eq!(host.error(&answer)["code"], "not_found");
            ends_well(host, &home);
        }
    }
}

#[test]
fn no_answer_in_time_is_a_no() {
    let home = home();
    let mut host = asked(&home, 0.2);
    let error = host.error(&request("bang"));
    assert_eq!(error["code"], "refused", "{error}");
    let question = host.event("approve");
    assert_eq!(host.event("approve_closed"), json!({ "type": "approve_closed", "question": question["question"] }));
    let late = json!({ "id": "a", "type": "answer", "question": question["question"], "approve": true });
    assert_eq!(host.error(&late)["code"], "not_found");
    assert!(!has_run(&home));
    ends_well(host, &home);
}

#[test]
fn a_question_is_closed_when_its_command_is_aborted() {
    let home = home();
    let mut host = asked(&home, 3600.0);
    host.send(&request("bang"));
    let question = host.event("approve");
    host.data(&json!({ "id": "abort", "type": "abort_bash", "target": "push" }));
    assert_eq!(host.response(&json!("push"))["data"]["cancelled"], true);
    assert_eq!(host.event("approve_closed")["question"], question["question"]);
    assert!(!has_run(&home));
    ends_well(host, &home);
}

#[test]
fn the_end_of_the_input_is_a_no() {
    let home = home();
    let mut host = asked(&home, 3600.0);
    host.send(&request("bang"));
    host.event("approve");
    host.close();
    assert!(host.end().success());
    assert!(!has_run(&home));
    home.check_nothing_survives();
}

#[test]
fn a_host_that_does_not_say_that_it_answers_is_not_asked() {
    let home = home();
    let mut host = Host::start(&home, &[], &[ASK]);
    let error = host.error(&request("bang"));
    assert_eq!(error["code"], "refused");
    assert!(error["message"].as_str().is_some_and(|text| text.contains("cannot ask the user")), "{error}");
    // The latest hello counts.
    host.data(&json!({ "id": 1, "type": "hello", "approve": true }));
    host.data(&json!({ "id": 2, "type": "hello" }));
    assert_eq!(host.error(&request("bang"))["code"], "refused");
    assert!(!has_run(&home));
    ends_well(host, &home);
}

#[test]
fn a_service_that_a_command_started_takes_no_answers() {
    let home = home();
    let lines = [
        json!({ "id": 1, "type": "hello", "approve": true }),
        json!({ "id": "push", "type": "bash", "command": COMMAND }),
        json!({ "type": "answer", "question": "q1", "approve": true }),
    ];
    let file = home.path().join("requests");
    std::fs::write(&file, lines.map(|line| format!("{line}\n")).concat()).expect("a file");
    // The input stays open until the command is answered.
    let script = format!(
        "mkfifo input; {} rpc <input >output & exec 3>input; cat requests >&3; \
         until grep -q '\"id\":\"push\"' output; do sleep 0.01; done; exec 3>&-; wait; cat output",
        crate::BASHFUL
    );
    let mut command = home.command(&["run", &script]);
    let output = command.env(ASK.0, ASK.1).output().expect("it runs");
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(said.contains("\"approve\":false") && said.contains("\"refused\""), "{said}");
    assert!(!has_run(&home), "{said}");
    home.check_nothing_survives();
}
