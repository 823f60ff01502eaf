//! Limits and caps.

use serde_json::json;

use super::Pi;

#[test]
fn commands_move_to_the_background_after_60_seconds_by_default_once_that_is_turned_on() {
    let pi = Pi::new();
    let defaults = String::from_utf8_lossy(&pi.home.run(&["config", "--defaults"]).stdout).into_owned();
    assert!(defaults.contains("\nauto = false\nauto_after_seconds = 60\n"), "{defaults}");
    pi.end();
}

#[test]
fn a_command_moves_to_the_background_one_second_before_its_timeout_at_the_latest() {
    let mut pi = Pi::with(&[("BASHFUL_JOBS_AUTO", "true")]);
    let result = pi.bash(&json!({ "command": "echo begun; sleep 1000", "timeout": 2 }));
    assert!(result.text.starts_with("begun\n\n"), "{}", result.text);
    assert!(result.text.contains("\nBackground job bg_1 started: echo begun; sleep 1000\n"), "{}", result.text);
    pi.job(&json!({ "cancel": ["bg_1"] }));
    pi.end();
}

#[test]
fn the_last_50_kib_of_the_output_are_shown() {
    let mut pi = Pi::new();
    let result = pi.bash(&json!({ "command": "yes 123456789 | head -c 200000; echo last" }));
    let shown = result.output();
    assert!(shown.len() <= 50 * 1024 && shown.len() > 48 * 1024, "{}", shown.len());
    assert!(shown.ends_with("\nlast"));
    let exactly = pi.bash(&json!({ "command": "yes 123456789 | head -c 51200" }));
    assert_eq!(exactly.details["meta"], serde_json::Value::Null, "{}", exactly.notices());
    pi.end();
}

#[test]
fn a_pattern_of_the_interceptor_never_holds_up_a_call() {
    let rules = r#"[{ pattern = '(?:a(?=.*z))*b', tool = "read", message = "m" }, { pattern = '(a|a)*(?!x)$b', tool = "read", message = "m" }]"#;
    let mut pi = Pi::with(&[&super::INTERCEPTOR[..], &[("BASHFUL_INTERCEPTOR_RULES", rules)]].concat());
    let began = std::time::Instant::now();
    for length in [40, 4000, 500_000] {
        let command = format!("echo done # {}z", "a".repeat(length));
        assert_eq!(pi.output(&json!({ "command": command })), "done");
    }
    assert!(began.elapsed() < bashful_testkit::WIDE, "{:?}", began.elapsed());
    pi.end();
}
