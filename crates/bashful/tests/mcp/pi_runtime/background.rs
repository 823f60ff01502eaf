//! Commands in the background: their start, their updates, and the `job` tool.

use serde_json::{Value, json};

use super::{Pi, details};
use crate::server::text;

const MESSAGE: &str = "notifications/message";

/// A command that becomes a job after a second.
const AUTO: [(&str, &str); 2] = [("BASHFUL_JOBS_AUTO", "true"), ("BASHFUL_JOBS_AUTO_AFTER_SECONDS", "1")];

/// The last update of a job.
fn end_of(pi: &mut Pi, job: &str) -> Value {
    let is_it = |params: &Value| params["data"]["bashful/facts"]["async"]["jobId"] == job;
    let message = pi.server.notice(MESSAGE, is_it);
    assert_eq!(message["logger"], "bashful/jobs");
    message
}

#[test]
fn a_job_is_started_at_once_and_its_completion_is_pushed_with_the_final_text() {
    let mut pi = Pi::new(&[]);
    let arguments = json!({ "command": "echo begun; until [ -e go ]; do sleep 0.01; done; echo done", "async": true });
    let result = pi.call(&arguments);
    assert!(text(&result).starts_with("Background job bg_1 started: echo begun; until"), "{result}");
    assert_eq!(details(&result)["async"], json!({ "state": "running", "jobId": "bg_1", "type": "bash" }));
    std::fs::write(pi.home.path().join("go"), "").expect("a file");
    let message = end_of(&mut pi, "bg_1");
    assert_eq!(message["level"], "info");
    let facts = &message["data"]["bashful/facts"];
    assert_eq!(facts["async"], json!({ "state": "completed", "jobId": "bg_1", "type": "bash" }));
    assert!(facts["wallTimeMs"].is_u64() && facts["exitCode"].is_null(), "{facts}");
    let said = message["data"]["text"].as_str().expect("a text");
    assert!(said.starts_with("begun\ndone\n\nWall time: ") && said.ends_with(" seconds"), "{said}");
    pi.ends();
}

#[test]
fn a_job_that_ends_with_another_code_than_zero_has_failed() {
    let mut pi = Pi::new(&[]);
    pi.call(&json!({ "command": "echo no; exit 3", "async": true }));
    let message = end_of(&mut pi, "bg_1");
    let facts = &message["data"]["bashful/facts"];
    assert_eq!((&message["level"], &facts["async"]["state"]), (&json!("warning"), &json!("failed")));
    assert_eq!(facts["exitCode"], 3);
    let said = message["data"]["text"].as_str().expect("a text");
    assert!(said.starts_with("no\n\nWall time: ") && said.ends_with("\n\nCommand exited with code 3"), "{said}");
    pi.ends();
}

#[test]
fn a_client_that_wants_no_messages_of_that_level_gets_none() {
    let mut pi = Pi::new(&[]);
    assert_eq!(pi.server.ask("logging/setLevel", &json!({ "level": "warning" }))["result"], json!({}));
    pi.call(&json!({ "command": "true", "async": true }));
    assert!(text(&pi.job(&json!({ "poll": ["bg_1"] }))).starts_with("## Completed (1)"));
    pi.call(&json!({ "command": "false", "async": true }));
    end_of(&mut pi, "bg_2");
    assert!(pi.server.notices.iter().all(|notice| notice["method"] != MESSAGE), "{:?}", pi.server.notices);
    pi.ends();
}

#[test]
fn a_command_that_outlives_its_wait_becomes_a_job_with_a_preview_that_is_cut_like_a_result() {
    let mut pi = Pi::new(&AUTO);
    let result = pi.call(&json!({ "command": "seq 20000; until [ -e go ]; do sleep 0.01; done; echo done; exit 3" }));
    let facts = details(&result);
    assert_eq!((&facts["async"]["state"], &result["isError"]), (&json!("running"), &json!(false)));
    let truncation = &facts["meta"]["truncation"];
    let first = truncation["shownRange"]["start"].as_u64().expect("a line");
    let said = text(&result);
    assert!(said.starts_with(&format!("{first}\n{}\n", first + 1)), "{}", &said[..100]);
    let cut = format!("\n[Showing lines {first}-20000 of 20000 (");
    assert!(said.contains(&cut) && said.contains(" Full: artifact://1 ("), "{}", &said[said.len() - 700..]);
    assert_eq!((&truncation["artifactId"], &truncation["direction"]), (&json!("1"), &json!("tail")));
    assert!(said.contains("\nBackground job bg_1 started: seq 20000; "), "{}", &said[said.len() - 700..]);
    std::fs::write(pi.home.path().join("go"), "").expect("a file");
    let message = end_of(&mut pi, "bg_1");
    let facts = &message["data"]["bashful/facts"];
    assert_eq!((&facts["async"]["state"], &facts["exitCode"]), (&json!("failed"), &json!(3)));
    let truncation = &facts["meta"]["truncation"];
    assert_eq!((&truncation["totalLines"], &truncation["totalBytes"]), (&json!(20001), &json!(108_899)));
    let said = message["data"]["text"].as_str().expect("a text");
    assert!(said.contains("\n20000\ndone\n\nWall time: "), "{}", &said[said.len() - 700..]);
    assert!(said.ends_with("\n\nCommand exited with code 3"), "{}", &said[said.len() - 300..]);
    pi.ends();
}

#[test]
fn a_command_that_ends_within_its_wait_is_no_job_and_nothing_is_pushed() {
    let mut pi = Pi::new(&AUTO);
    let result = pi.call(&json!({ "command": "echo quick" }));
    assert!(details(&result)["async"].is_null() && text(&result).starts_with("quick\n"), "{result}");
    assert_eq!(text(&pi.job(&json!({ "list": true }))), "No background jobs.");
    assert!(pi.server.notices.iter().all(|notice| notice["method"] != MESSAGE), "{:?}", pi.server.notices);
    pi.ends();
}

#[test]
fn a_cancelled_job_is_said_to_be_cancelled_with_what_it_had_written() {
    let mut pi = Pi::new(&[]);
    pi.call(&json!({ "command": "echo begun; touch begun; sleep 1000", "async": true }));
    pi.home.wait_for("begun");
    let result = pi.job(&json!({ "cancel": ["bg_1"] }));
    assert!(text(&result).starts_with("## Cancelled (1)\n- `bg_1` [bash] — echo begun"), "{result}");
    assert_eq!(details(&result)["cancelled"][0]["status"], "cancelled");
    let message = end_of(&mut pi, "bg_1");
    let facts = &message["data"]["bashful/facts"];
    assert_eq!((&facts["async"]["state"], &facts["cancelled"]), (&json!("failed"), &json!(true)));
    let said = message["data"]["text"].as_str().expect("a text");
    assert!(said.starts_with("[Command cancelled]\nbegun\n\nWall time: "), "{said}");
    let polled = pi.job(&json!({ "poll": ["bg_1"] }));
    assert_eq!(details(&polled)["jobs"][0]["status"], "cancelled", "{polled}");
    pi.ends();
}

#[test]
fn a_limit_on_lines_does_not_apply_to_a_job_and_that_is_said() {
    let mut pi = Pi::new(&[]);
    let result = pi.call(&json!({ "command": "seq 9", "async": true, "head": 2 }));
    assert!(text(&result).starts_with("head and tail do not apply to a background job; "), "{result}");
    let polled = pi.job(&json!({ "poll": ["bg_1"] }));
    assert!(text(&polled).contains("\n1\n2\n3\n4\n5\n6\n7\n8\n9\n"), "{polled}");
    pi.ends();
}

#[test]
fn a_poll_shows_as_much_of_a_job_as_a_result_does_of_a_command() {
    let mut pi = Pi::new(&[]);
    pi.call(&json!({ "command": "seq 20000", "async": true }));
    let polled = pi.job(&json!({ "poll": ["1"] }));
    let said = text(&polled);
    assert!((49 * 1024..52 * 1024).contains(&said.len()), "{}", said.len());
    // Whole lines, and the numbers of those that are shown.
    let (_, shown) = said.split_once("```\n").expect("output");
    let (first, _) = shown.split_once('\n').expect("lines");
    assert!(said.contains(&format!("\n[Showing lines {first}-20002 of 20002 (")), "{}", &said[said.len() - 300..]);
    assert!(said.contains(" Full: job://1 ("), "{}", &said[said.len() - 300..]);
    pi.ends();
}

#[test]
fn a_job_has_two_names_everywhere() {
    let mut pi = Pi::new(&[]);
    pi.call(&json!({ "command": "echo one", "async": true }));
    for id in [json!("bg_1"), json!("1"), json!(1), json!("job://bg_1")] {
        let polled = pi.job(&json!({ "poll": [id] }));
        assert!(text(&polled).starts_with("## Completed (1)\n### bg_1 "), "{polled}");
        let cancelled = pi.job(&json!({ "cancel": [id] }));
        assert_eq!(text(&cancelled), "Background job bg_1 is already completed.");
    }
    for id in ["bg_1", "1", "job://1", "job://bg_1"] {
        let shown = pi.home.run(&["jobs", "show", id]);
        assert!(shown.status.success() && shown.stdout.starts_with(b"one\n"), "{shown:?}");
    }
    for uri in ["job://1", "job://bg_1"] {
        let read = pi.server.ask("resources/read", &json!({ "uri": uri }));
        assert!(read["result"]["contents"][0]["text"].as_str().is_some_and(|text| text.starts_with("one\n")), "{read}");
        assert!(pi.run(&format!("cat {uri}")).starts_with("one\n"));
    }
    pi.ends();
}
