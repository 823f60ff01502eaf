//! The arguments of the tool.

use serde_json::json;

use super::Pi;

#[test]
fn the_text_of_a_shell_command_is_executed_in_the_workspace() {
    let mut pi = Pi::new();
    let here = pi.path("");
    assert_eq!(
        pi.output(&json!({ "command": "for n in 1 2; do echo $((n * 2)); done; pwd" })),
        format!("2\n4\n{}", here.trim_end_matches('/'))
    );
    pi.end();
}

#[test]
fn a_command_is_required_and_arguments_that_are_not_known_are_refused() {
    let mut pi = Pi::new();
    assert_eq!(pi.refused(&json!({})), "bash: missing field `command`");
    assert!(pi.refused(&json!({ "command": "true", "timout": 3 })).starts_with("bash: unknown field `timout`"));
    pi.end();
}

#[test]
fn a_leading_cd_becomes_the_working_directory() {
    let mut pi = Pi::new();
    pi.write("my dir/file", "");
    let result = pi.bash(&json!({ "command": "cd 'my dir' && ls && pwd" }));
    assert_eq!(result.output(), format!("file\n{}", pi.path("my dir")));
    assert!(result.notices().contains("`cd 'my dir'` became the working directory"), "{}", result.text);
    pi.end();
}

#[test]
fn a_leading_cd_is_left_alone_when_a_directory_was_given() {
    let mut pi = Pi::new();
    pi.write("a/a/inner", "");
    let result = pi.bash(&json!({ "command": "cd a && ls", "cwd": "a" }));
    assert_eq!(result.output(), "inner", "the shell itself goes one further down");
    assert!(!result.text.contains("became"), "{}", result.text);
    pi.end();
}

#[test]
fn extra_environment_variables_reach_the_command() {
    let mut pi = Pi::new();
    assert_eq!(pi.output(&json!({ "command": "echo $ONE-$_two2", "env": { "ONE": "1", "_two2": "2" } })), "1-2");
    pi.end();
}

#[test]
fn a_key_that_is_no_name_of_a_variable_is_refused() {
    let mut pi = Pi::new();
    for key in ["1A", "A-B", "", "A B", "A=B", "É", "A\n"] {
        let refused = pi.refused(&json!({ "command": "touch ran", "env": { key: "x" } }));
        assert_eq!(refused, format!("Invalid bash env name: {key}"));
    }
    assert!(!pi.exists("ran"));
    pi.end();
}

#[test]
fn values_go_through_internal_url_expansion() {
    let mut pi = Pi::new();
    let scratch = pi.path(".local/state/bashful/scratch");
    let env = json!({ "WHOLE": "local://a b", "LONGER": "in local://x, out local://y", "LIST": "local://bin:/bin" });
    let script = "printf '%s\\n' \"$WHOLE\" \"$LONGER\" \"$LIST\"";
    let expected = format!("{scratch}/a b\nin {scratch}/x, out {scratch}/y\n{scratch}/bin:/bin");
    assert_eq!(pi.output(&json!({ "command": script, "env": env })), expected);
    pi.end();
}

#[test]
fn values_are_passed_as_they_are_and_not_as_shell_text() {
    let mut pi = Pi::new();
    let value = "$(touch ran) `touch ran` $HOME 'single' \"double\" ; touch ran\nline";
    assert_eq!(pi.output(&json!({ "command": "printf %s \"$VALUE\"", "env": { "VALUE": value } })), value);
    assert!(!pi.exists("ran"));
    pi.end();
}

#[test]
fn a_timeout_is_in_seconds_and_300_by_default() {
    let mut pi = Pi::new();
    assert_eq!(pi.bash(&json!({ "command": "true" })).details["timeoutSeconds"], 300.0);
    let stopped = pi.bash(&json!({ "command": "sleep 1000", "timeout": 1.2 }));
    assert!(
        stopped.is_error && stopped.text.starts_with("[Command timed out after 1.2 seconds]\n"),
        "{}",
        stopped.text
    );
    pi.end();
}

#[test]
fn a_timeout_is_clamped_to_between_1_and_3600_seconds() {
    let mut pi = Pi::new();
    let asked = [
        (json!(0), 1.0, "0"),
        (json!(-5), 1.0, "-5"),
        (json!(0.5), 1.0, "0.5"),
        (json!(3601), 3600.0, "3601"),
        (json!(1e308), 3600.0, "1e308"),
        (json!(-1e300), 1.0, "-1e300"),
    ];
    for (timeout, effective, said) in asked {
        let result = pi.bash(&json!({ "command": "echo hi", "timeout": timeout }));
        let notice = format!("Timeout clamped to {effective}s (requested {said}s; allowed range 1-3600s).");
        assert!(result.notices().ends_with(&notice), "{}", result.text);
        assert_eq!(result.details["timeoutSeconds"], effective);
    }
    for timeout in [json!("5"), json!("NaN"), json!([5]), json!(true)] {
        let refused = pi.refused(&json!({ "command": "touch ran", "timeout": timeout }));
        assert!(
            refused.starts_with("bash: `timeout`: invalid type: ") && refused.ends_with("expected a number"),
            "{refused}"
        );
    }
    assert!(!pi.exists("ran"));
    pi.end();
}

#[test]
fn a_working_directory_is_resolved_against_that_of_the_session() {
    let mut pi = Pi::new();
    pi.write("a/b/file", "");
    assert_eq!(pi.output(&json!({ "command": "pwd", "cwd": "a/b" })), pi.path("a/b"));
    assert_eq!(pi.output(&json!({ "command": "pwd", "cwd": "a/../a" })), pi.path("a"));
    assert_eq!(pi.output(&json!({ "command": "pwd", "cwd": "/" })), "/");
    assert_eq!(pi.output(&json!({ "command": "pwd", "cwd": "~/a" })), pi.path("a"));
    assert_eq!(pi.output(&json!({ "command": "pwd", "cwd": "~" })), pi.path("").trim_end_matches('/'));
    pi.end();
}

#[test]
fn a_working_directory_has_to_exist_and_to_be_a_directory() {
    let mut pi = Pi::new();
    pi.write("file", "");
    let refused = pi.refused(&json!({ "command": "touch ran", "cwd": "missing" }));
    assert_eq!(refused, format!("Working directory does not exist: {}", pi.path("missing")));
    let refused = pi.refused(&json!({ "command": "touch ran", "cwd": "file" }));
    assert_eq!(refused, format!("Working directory is not a directory: {}", pi.path("file")));
    assert!(!pi.exists("ran"));
    pi.end();
}

#[test]
fn a_limit_that_is_asked_for_wins_over_the_one_in_the_pipe() {
    let mut pi = Pi::new();
    let shown = |pi: &mut Pi, command: &str, limits: &[(&str, u64)]| {
        let mut arguments = json!({ "command": command });
        for (name, count) in limits {
            arguments[name] = json!(count);
        }
        pi.output(&arguments).replace('\n', " ")
    };
    assert_eq!(shown(&mut pi, "seq 9 | head -n 3", &[("head", 5)]), "1 2 3 4 5");
    assert_eq!(shown(&mut pi, "seq 9 | head -n 3", &[]), "1 2 3", "extracted values are a fallback");
    assert_eq!(shown(&mut pi, "seq 9 | tail -2", &[("tail", 4)]), "6 7 8 9");
    assert_eq!(shown(&mut pi, "seq 9 | head -5", &[("tail", 2)]), "4 5", "head, then tail");
    assert_eq!(shown(&mut pi, "seq 9 | tail -2", &[("head", 5)]), "4 5");
    assert_eq!(shown(&mut pi, "seq 9 | head -n 3", &[("head", 3)]), "1 2 3");
    // A pipe of another kind stays one.
    assert_eq!(shown(&mut pi, "seq 9 | head -c 4", &[("head", 5)]), "1 2 ".trim_end());
    // A command that goes on is ended, as by `head`.
    assert_eq!(shown(&mut pi, "yes | head -n 3", &[("head", 2)]), "y y");
    // Behind a pipe a command has a shell of its own.
    pi.output(&json!({ "command": "{ kept=no; seq 9; } | head -n 3", "head": 3 }));
    assert_eq!(pi.output(&json!({ "command": "echo ${kept-unset}" })), "unset");
    pi.end();
}

#[test]
fn a_limit_on_lines_that_makes_no_sense_is_explained() {
    let mut pi = Pi::new();
    for name in ["head", "tail"] {
        let refused = pi.refused(&json!({ "command": "touch ran", name: 0 }));
        assert_eq!(refused, format!("bash: `{name}`: give at least 1 line, or omit it to see all"));
        let refused = pi.refused(&json!({ "command": "touch ran", name: -3 }));
        assert_eq!(refused, format!("bash: `{name}`: -3 is not a whole number of lines"));
    }
    assert_eq!(pi.output(&json!({ "command": "seq 3", "head": 2.0, "tail": 1e30 })), "1\n2");
    assert!(!pi.exists("ran"));
    pi.end();
}

#[test]
fn the_background_is_there_only_where_the_settings_have_it() {
    for (enabled, is_there) in [("true", true), ("false", false)] {
        let mut pi = Pi::with(&[("BASHFUL_ASYNC_ENABLED", enabled)]);
        let tools = pi.server.ask("tools/list", &json!({}))["result"]["tools"].clone();
        let arguments = &tools[0]["inputSchema"]["properties"];
        assert_eq!(arguments["async"].is_object(), is_there, "{arguments}");
        assert!(arguments["command"].is_object());
        pi.end();
    }
}

#[test]
fn a_background_call_returns_at_once_with_a_job_id() {
    let mut pi = Pi::new();
    let result = pi.bash(&json!({ "command": "sleep 1000", "async": true }));
    assert_eq!(result.details["async"]["jobId"], "bg_1", "{}", result.text);
    assert!(pi.job(&json!({ "cancel": ["bg_1"] })).text.starts_with("## Cancelled (1)\n- `bg_1` [bash] — sleep 1000"));
    pi.end();
}
