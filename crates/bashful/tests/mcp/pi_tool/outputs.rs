//! The text and the details of a result.

use serde_json::{Value, json};

use super::Pi;

#[test]
fn the_text_is_the_output_of_the_command() {
    let mut pi = Pi::new();
    let result = pi.bash(&json!({ "command": "echo one; echo two" }));
    assert!(result.text.starts_with("one\ntwo\n\nWall time: 0."), "{}", result.text);
    assert!(!result.is_error);
    pi.end();
}

#[test]
fn a_command_without_output_is_said_to_have_none() {
    let mut pi = Pi::new();
    assert_eq!(pi.output(&json!({ "command": "true" })), "(no output)");
    pi.end();
}

#[test]
fn the_effective_timeout_is_told_and_the_requested_one_only_if_it_differs() {
    let mut pi = Pi::new();
    let details = pi.bash(&json!({ "command": "true", "timeout": 20 })).details;
    assert_eq!((&details["timeoutSeconds"], &details["requestedTimeoutSeconds"]), (&json!(20.0), &Value::Null));
    let details = pi.bash(&json!({ "command": "true", "timeout": 9999 })).details;
    assert_eq!((&details["timeoutSeconds"], &details["requestedTimeoutSeconds"]), (&json!(3600.0), &json!(9999.0)));
    pi.end();
}

#[test]
fn the_elapsed_time_is_told_in_milliseconds() {
    let mut pi = Pi::new();
    let details = pi.bash(&json!({ "command": "sleep 1" })).details;
    let elapsed = details["wallTimeMs"].as_u64().expect("a whole number");
    assert!((900..60_000).contains(&elapsed), "{elapsed}");
    pi.end();
}

#[test]
fn an_exit_code_is_told_unless_it_is_zero() {
    let mut pi = Pi::new();
    assert_eq!(pi.bash(&json!({ "command": "exit 7" })).details["exitCode"], 7);
    assert_eq!(pi.bash(&json!({ "command": "true" })).details["exitCode"], Value::Null);
    pi.end();
}

#[test]
fn truncated_output_is_told_with_the_artifact_that_holds_all_of_it() {
    let mut pi = Pi::new();
    let result = pi.bash(&json!({ "command": "seq 100000" }));
    let truncation = &result.details["meta"]["truncation"];
    assert_eq!(
        (&truncation["direction"], &truncation["truncatedBy"]),
        (&json!("tail"), &json!("bytes")),
        "{truncation}"
    );
    assert_eq!((&truncation["totalLines"], &truncation["totalBytes"]), (&json!(100_000), &json!(588_895)));
    assert_eq!(truncation["shownRange"]["end"], 100_000);
    let shown = truncation["outputLines"].as_u64().expect("a number");
    assert_eq!(result.output().lines().count() as u64, shown);
    let id = truncation["artifactId"].as_str().expect("an id");
    assert!(result.text.contains(&format!("Full: artifact://{id} (")), "{}", result.notices());
    let counted = pi.output(&json!({ "command": format!("wc -l < artifact://{id}") }));
    assert_eq!(counted, "100000");
    let whole = pi.bash(&json!({ "command": "seq 10" }));
    assert_eq!(whole.details["meta"], Value::Null);
    pi.end();
}

#[test]
fn a_non_zero_exit_is_a_result_with_the_output_and_the_code() {
    let mut pi = Pi::new();
    let result = pi.bash(&json!({ "command": "echo before; exit 3" }));
    assert!(result.is_error);
    assert!(result.text.starts_with("before\n\nWall time: "), "{}", result.text);
    assert!(result.text.trim_end().ends_with("\n\nCommand exited with code 3"), "{}", result.text);
    pi.end();
}

#[test]
fn a_background_start_tells_the_clamped_timeout_the_job_and_how_to_follow_it() {
    let mut pi = Pi::new();
    let result = pi.bash(&json!({ "command": "sleep 1000", "async": true, "timeout": 9999 }));
    let mut lines = result.text.lines();
    assert_eq!(lines.next(), Some("Timeout clamped to 3600s (requested 9999s; allowed range 1-3600s)."));
    assert_eq!(lines.next(), Some("Background job bg_1 started: sleep 1000"));
    let rest = lines.next().expect("instructions");
    assert!(rest.contains("Job tool: list: true for a snapshot, poll: [\"bg_1\"] to wait"), "{rest}");
    assert!(!result.is_error);
    assert_eq!(result.details["async"], json!({ "state": "running", "jobId": "bg_1", "type": "bash" }));
    pi.job(&json!({ "cancel": ["bg_1"] }));
    pi.end();
}

#[test]
fn a_label_is_the_command_on_one_line_cut_at_120_characters() {
    let mut pi = Pi::new();
    let command = format!("sleep 1000;\n: {}", "x".repeat(200));
    let result = pi.bash(&json!({ "command": command, "async": true }));
    let label = result
        .text
        .lines()
        .next()
        .and_then(|line| line.strip_prefix("Background job bg_1 started: "))
        .expect("a label");
    assert!(label.starts_with("sleep 1000; : xxx") && label.ends_with("x..."), "{label}");
    assert_eq!(label.chars().count(), 120);
    pi.job(&json!({ "cancel": ["bg_1"] }));
    pi.end();
}

#[test]
fn a_command_that_moves_to_the_background_shows_what_it_had_written() {
    let mut pi = Pi::with(&[("BASHFUL_JOBS_AUTO", "true"), ("BASHFUL_JOBS_AUTO_AFTER_SECONDS", "0.5")]);
    let result = pi.bash(&json!({ "command": "echo begun; sleep 1000" }));
    assert!(result.text.starts_with("begun\n\n"), "{}", result.text);
    assert!(result.text.contains("\nBackground job bg_1 started: echo begun; sleep 1000\n"), "{}", result.text);
    assert_eq!(result.details["async"]["state"], "running");
    pi.job(&json!({ "cancel": ["bg_1"] }));
    pi.end();
}

#[test]
fn a_job_that_ended_well_is_completed_and_one_with_another_code_has_failed() {
    let mut pi = Pi::new();
    for (command, status) in [("echo done", "completed"), ("echo bad; exit 3", "failed")] {
        let id = pi.bash(&json!({ "command": command, "async": true })).details["async"]["jobId"].clone();
        let polled = pi.job(&json!({ "poll": [id] }));
        assert_eq!(polled.details["jobs"][0]["status"], status, "{}", polled.text);
        assert!(polled.text.contains(&format!("[bash] — {status}\n")), "{}", polled.text);
    }
    pi.end();
}

#[test]
fn unfinished_execution_validation_failures_and_intercepted_commands_are_errors() {
    let mut pi = Pi::with(&super::INTERCEPTOR);
    for arguments in [
        json!({ "command": "sleep 1000", "timeout": 1 }),
        json!({ "command": "true", "cwd": "missing" }),
        json!({ "command": "cat file" }),
    ] {
        assert!(pi.bash(&arguments).is_error, "{arguments}");
    }
    pi.end();
}

#[test]
fn both_streams_come_as_one_in_the_order_in_which_they_were_written() {
    let mut pi = Pi::new();
    assert_eq!(pi.output(&json!({ "command": "echo 1; echo 2 >&2; echo 3; echo 4 >&2" })), "1\n2\n3\n4");
    pi.end();
}

#[test]
fn head_and_then_tail_show_the_right_lines_however_long_the_head_is() {
    let mut pi = Pi::new();
    // The first 15,000 lines take more than the 50 KB that are shown at most.
    let result = pi.bash(&json!({ "command": "seq 20000", "head": 15_000, "tail": 3 }));
    assert!(result.text.starts_with("14998\n14999\n15000\n\nWall time: "), "{}", result.text);
    assert!(result.text.contains("[Showing lines 14998-15000 of 20000 ("), "{}", result.text);
    assert_eq!(result.details["meta"]["truncation"]["shownRange"], json!({ "start": 14998, "end": 15000 }));
    pi.end();
}
