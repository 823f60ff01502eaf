//! Errors, word for word.

use bashful_testkit::Home;
use serde_json::json;

use super::{INTERCEPTOR, Pi};
use crate::BASHFUL;
use crate::server::{self, Server};

#[test]
fn an_invalid_name_of_a_variable() {
    let mut pi = Pi::new();
    assert_eq!(pi.refused(&json!({ "command": "true", "env": { "a.b": "1" } })), "Invalid bash env name: a.b");
    pi.end();
}

#[test]
fn a_background_call_where_that_is_disabled() {
    let mut pi = Pi::with(&[("BASHFUL_ASYNC_ENABLED", "false")]);
    let refused = pi.refused(&json!({ "command": "touch ran", "async": true }));
    assert_eq!(refused, "Async bash execution is disabled. Enable async.enabled to use async mode.");
    assert!(!pi.exists("ran"));
    pi.end();
}

#[test]
fn a_background_call_without_a_place_for_jobs() {
    let home = Home::new(BASHFUL);
    let mut server = Server::greeted(&home, &["--dialect", "pi"], &[("HOME", "")]);
    let said = server.call("bash", &json!({ "command": "touch ran", "async": true }));
    assert!(server::text(&said).starts_with("Async job manager unavailable for this session."), "{said}");
    assert_eq!(said["isError"], true);
    assert!(!home.path().join("ran").exists());
    server.close();
    assert!(server.end().success());
}

#[test]
fn a_working_directory_that_is_missing_or_none() {
    let mut pi = Pi::new();
    pi.write("file", "");
    let refused = pi.refused(&json!({ "command": "true", "cwd": "a/b" }));
    assert_eq!(refused, format!("Working directory does not exist: {}", pi.path("a/b")));
    let refused = pi.refused(&json!({ "command": "true", "cwd": "file" }));
    assert_eq!(refused, format!("Working directory is not a directory: {}", pi.path("file")));
    pi.end();
}

#[test]
fn a_matched_command_is_answered_with_the_rules_message_and_the_original_command() {
    let rules = r#"[{ pattern = "^GIT COMMIT(?!.*--dry-run)", flags = "i", tool = "commit", message = "Use the `commit` tool." }]"#;
    let tools = ("BASHFUL_INTERCEPTOR_TOOLS", r#"["commit"]"#);
    let mut pi = Pi::with(&[INTERCEPTOR[0], tools, ("BASHFUL_INTERCEPTOR_RULES", rules)]);
    let command = "true;  git commit -m 'a b'";
    let expected = format!("Blocked: Use the `commit` tool.\n\nOriginal command: {command}");
    assert_eq!(pi.refused(&json!({ "command": command })), expected);
    // Look-ahead: nothing is there to be committed.
    assert!(!pi.bash(&json!({ "command": "git commit --dry-run" })).text.starts_with("Blocked"));
    pi.end();
}

#[test]
fn an_invalid_pattern_is_skipped_in_silence_and_doctor_names_it() {
    let rules = r#"[{ pattern = "(open", tool = "read", message = "a" }, { pattern = "x", flags = "q", tool = "read", message = "b" }, { pattern = "^ls$", tool = "read", message = "Used." }]"#;
    let variables = [&INTERCEPTOR[..], &[("BASHFUL_INTERCEPTOR_RULES", rules)]].concat();
    let mut pi = Pi::with(&variables);
    assert_eq!(pi.output(&json!({ "command": "echo '(open x'" })), "(open x");
    assert_eq!(pi.refused(&json!({ "command": "ls" })), "Blocked: Used.\n\nOriginal command: ls");
    let doctor = pi.home.command(&["doctor"]).envs(variables.clone()).output().expect("it runs");
    let said = String::from_utf8_lossy(&doctor.stdout).into_owned();
    assert_eq!(said.matches("PROBLEM: the interceptor skips a rule: ").count(), 2, "{said}");
    assert!(said.contains("the pattern \"(open\" for the tool `read` cannot be used: "), "{said}");
    assert!(said.contains("the pattern \"x\" for the tool `read` cannot be used: there is no flag 'q'"), "{said}");
    pi.end();
}

#[test]
fn a_url_that_stands_for_nothing() {
    let home = Home::new(BASHFUL);
    std::fs::create_dir_all(home.path().join("skills/deploy")).expect("a directory");
    let setting = json!([home.path().join("skills")]).to_string();
    let mut pi = Pi::at(home, &[("BASHFUL_REWRITE_SKILLS", &setting)]);
    let unsupported = |url: &str| format!("Unsupported internal URL in bash command: {url}");
    for (arguments, expected) in [
        (json!({ "command": "cat agent://1" }), unsupported("agent://1")),
        (json!({ "command": "cat rule://x", "env": {} }), unsupported("rule://x")),
        (json!({ "command": "true", "env": { "A": "see memory://root there" } }), unsupported("memory://root")),
        (json!({ "command": "true", "cwd": "plan://x" }), unsupported("plan://x")),
        (json!({ "command": "cat skill://gone" }), "Unknown skill: gone. Available: deploy".to_owned()),
        (
            json!({ "command": "cat skill://deploy/../../x" }),
            "Path traversal is not allowed in skill:// URLs".to_owned(),
        ),
        (json!({ "command": "cat local://../x" }), "Path traversal is not allowed in local:// URLs".to_owned()),
        (json!({ "command": "cat artifact://99" }), "Unknown artifact: 99. Available: none".to_owned()),
    ] {
        assert_eq!(pi.refused(&arguments), expected);
    }
    let refused = pi.refused(&json!({ "command": "cat skill://deploy/missing" }));
    let expected = "skill://deploy/missing resolved without a filesystem path and cannot be used in bash: ";
    assert!(refused.starts_with(expected), "{refused}");
    pi.end();
}

#[test]
fn a_non_zero_exit() {
    let mut pi = Pi::new();
    let result = pi.bash(&json!({ "command": "false" }));
    assert!(result.is_error && result.text.trim_end().ends_with("\n\nCommand exited with code 1"), "{}", result.text);
    assert_eq!(result.details["exitCode"], 1);
    pi.end();
}

#[test]
fn a_missing_exit_status() {
    let mut pi = Pi::new();
    // The parent of the shell is the one that would tell.
    let result = pi.bash(&json!({ "command": "echo begun; $PUPPET signal KILL $PPID; sleep 1000" }));
    assert!(result.is_error && result.text.contains("Command failed: missing exit status"), "{}", result.text);
    pi.end();
}

#[test]
fn output_that_cannot_be_saved_does_not_keep_a_command_from_its_end() {
    let home = Home::new(BASHFUL);
    // A file stands where the artifacts would go.
    std::fs::create_dir_all(home.state()).expect("a directory");
    std::fs::write(home.state().join("artifacts"), "").expect("written");
    let mut pi = Pi::at(home, &[]);
    let result = pi.bash(&json!({ "command": "seq 100000; echo end" }));
    assert!(!result.is_error && result.output().ends_with("\nend"), "{}", result.notices());
    assert_eq!(result.details["meta"]["truncation"]["artifactId"], serde_json::Value::Null);
    pi.end();
}
