//! The runtime of pi's bash tool: its promises, in the order of its document, each tried on a server.
//!
//! Not here: terminals, rendering, the RPC mode and the client's terminal.

mod background;
mod shell;

use bashful_testkit::Home;
use serde_json::{Value, json};

use crate::server::{Server, text};

use crate::BASHFUL;

/// A server of the dialect, and its client.
struct Pi {
    server: Server,
    home: Home,
}

impl Pi {
    fn new(variables: &[(&str, &str)]) -> Self {
        Self::at(Home::new(BASHFUL), variables)
    }

    fn at(home: Home, variables: &[(&str, &str)]) -> Self {
        let server = Server::greeted(&home, &["--dialect", "pi"], variables);
        Self { server, home }
    }

    #[track_caller]
    fn call(&mut self, arguments: &Value) -> Value {
        self.server.call("bash", arguments)
    }

    /// The text that comes of a command.
    #[track_caller]
    fn run(&mut self, command: &str) -> String {
        text(&self.call(&json!({ "command": command }))).to_owned()
    }

    /// The output of a command that ends well, without all that stands behind it.
    #[track_caller]
    fn output(&mut self, arguments: &Value) -> String {
        let result = self.call(arguments);
        assert_eq!(result["isError"], false, "{result}");
        let (output, _) = text(&result).split_once("\n\nWall time: ").expect("every reply says how long it took");
        output.to_owned()
    }

    #[track_caller]
    fn job(&mut self, arguments: &Value) -> Value {
        self.server.call("job", arguments)
    }

    #[track_caller]
    fn ends(self) {
        let Self { mut server, home } = self;
        server.close();
        assert!(server.end().success());
        home.check_nothing_survives();
    }
}

/// The `details` of the document.
fn details(result: &Value) -> &Value {
    &result["_meta"]["bashful/facts"]
}

#[test]
fn a_head_or_tail_at_the_end_becomes_a_limit_on_what_is_shown() {
    let mut pi = Pi::new(&[]);
    for (command, shown) in [
        ("seq 9 | head -n 2", "1\n2"),
        ("seq 9 | head -2", "1\n2"),
        ("seq 9 | tail -n 2", "8\n9"),
        ("seq 9 | tail -2", "8\n9"),
    ] {
        assert_eq!(pi.output(&json!({ "command": command })), shown, "{command}");
    }
    // A limit, not a pipe: the code is that of the command before it.
    let result = pi.call(&json!({ "command": "sh -c 'seq 9; exit 3' | tail -n 1" }));
    assert_eq!((details(&result)["exitCode"].as_u64(), text(&result).starts_with("9\n")), (Some(3), true), "{result}");
    pi.ends();
}

#[test]
fn white_space_at_the_ends_of_a_command_goes_and_within_it_stays() {
    let mut pi = Pi::new(&[]);
    assert_eq!(pi.output(&json!({ "command": " \n\t echo 'a   b'  \n " })), "a   b");
    pi.ends();
}

#[test]
fn limits_can_be_given_as_arguments() {
    let mut pi = Pi::new(&[]);
    assert_eq!(pi.output(&json!({ "command": "seq 9", "head": 2 })), "1\n2");
    assert_eq!(pi.output(&json!({ "command": "seq 9", "tail": 2 })), "8\n9");
    pi.ends();
}

#[test]
fn standard_error_is_merged_with_or_without_a_redirection() {
    let mut pi = Pi::new(&[]);
    assert_eq!(pi.output(&json!({ "command": "echo out; echo err >&2" })), "out\nerr");
    assert_eq!(pi.output(&json!({ "command": "{ echo out; echo err >&2; } 2>&1" })), "out\nerr");
    pi.ends();
}

const INTERCEPTED: (&str, &str) = ("BASHFUL_INTERCEPTOR_ENABLED", "true");

#[test]
fn a_command_is_blocked_only_if_a_rule_matches_and_the_tool_is_there() {
    let mut pi = Pi::new(&[INTERCEPTED, ("BASHFUL_INTERCEPTOR_TOOLS", "[\"read\"]")]);
    let result = pi.call(&json!({ "command": "cat notes.txt && touch ran" }));
    assert_eq!(result["isError"], true);
    let said = text(&result);
    assert!(said.starts_with("Blocked: ") && said.contains("`read`"), "{said}");
    assert!(said.ends_with("Original command: cat notes.txt && touch ran"), "{said}");
    assert!(!pi.home.path().join("ran").exists());
    assert!(pi.run("echo read").starts_with("read\n"), "no rule is about it");
    assert!(pi.run("grep -c root /etc/passwd").contains("Wall time"), "there is no better tool");
    pi.ends();
    let mut off = Pi::new(&[("BASHFUL_INTERCEPTOR_TOOLS", "[\"read\"]")]);
    assert!(off.run("cat /dev/null").starts_with("(no output)"));
    off.ends();
}

#[test]
fn the_rules_that_it_comes_with_are_about_the_usual_misuses() {
    let tools = r#"["read", "search", "find", "edit", "write"]"#;
    let mut pi = Pi::new(&[INTERCEPTED, ("BASHFUL_INTERCEPTOR_TOOLS", tools)]);
    for (command, tool) in [
        ("cat a", "read"),
        ("head -n 3 a", "read"),
        ("tail a", "read"),
        ("grep x a", "search"),
        ("rg x", "search"),
        ("find . -name x", "find"),
        ("fd --type f x", "find"),
        ("sed -i s/a/b/ x", "edit"),
        ("perl -i -pe s/a/b/ x", "edit"),
        ("awk -i inplace 1 x", "edit"),
        ("echo a > x", "write"),
        ("cat << END > x\na\nEND", "write"),
    ] {
        let said = pi.run(command);
        assert!(said.starts_with("Blocked: ") && said.contains(&format!("`{tool}`")), "{command}: {said}");
    }
    pi.ends();
}

#[test]
fn the_working_directory_is_resolved_and_has_to_be_one() {
    let mut pi = Pi::new(&[]);
    let home = pi.home.path().display().to_string();
    std::fs::create_dir(pi.home.path().join("sub")).expect("a directory");
    std::fs::write(pi.home.path().join("file"), "").expect("a file");
    assert_eq!(pi.output(&json!({ "command": "pwd", "cwd": "sub" })), format!("{home}/sub"));
    let mut check = |cwd: &str, said: String| {
        let result = pi.call(&json!({ "command": "touch ran", "cwd": cwd }));
        assert_eq!((text(&result), &result["isError"]), (said.as_str(), &json!(true)));
    };
    check("none", format!("Working directory does not exist: {home}/none"));
    check("file", format!("Working directory is not a directory: {home}/file"));
    assert!(!pi.home.path().join("ran").exists());
    pi.ends();
}

#[test]
fn a_timeout_is_brought_within_1_and_3600_seconds() {
    let mut pi = Pi::new(&[]);
    for (asked, clamped) in [(0, 1.0), (1, 1.0), (3600, 3600.0), (3601, 3600.0)] {
        let result = pi.call(&json!({ "command": "true", "timeout": asked }));
        assert_eq!(details(&result)["timeoutSeconds"], clamped, "{result}");
        let notice = format!("Timeout clamped to {clamped}s (requested {asked}s; allowed range 1-3600s).");
        assert_eq!(text(&result).contains(&notice), f64::from(asked) - clamped != 0.0, "{result}");
    }
    assert_eq!(details(&pi.call(&json!({ "command": "true" })))["timeoutSeconds"], 300.0);
    pi.ends();
}

#[test]
fn without_a_place_for_artifacts_a_command_runs_and_its_output_is_cut_without_a_reference() {
    let home = Home::new(BASHFUL);
    std::fs::create_dir_all(home.state()).expect("a directory");
    std::fs::write(home.state().join("artifacts"), "in the way").expect("a file");
    let mut pi = Pi::at(home, &[]);
    let result = pi.call(&json!({ "command": "seq 20000" }));
    let truncation = &details(&result)["meta"]["truncation"];
    assert_eq!((&result["isError"], &truncation["artifactId"]), (&json!(false), &json!(null)), "{truncation}");
    let said = text(&result);
    assert!(said.contains("\n20000\n\nWall time") && !said.contains("artifact://"), "{}", &said[said.len() - 400..]);
    pi.ends();
}

#[test]
fn a_terminal_is_not_there_and_the_command_runs_without() {
    let mut pi = Pi::new(&[]);
    assert_eq!(pi.output(&json!({ "command": "[ -t 1 ] || echo none", "pty": true })), "none");
    pi.ends();
}

#[test]
fn output_is_shown_live_while_the_command_runs() {
    let mut pi = Pi::new(&[]);
    let call = json!({
        "name": "bash",
        "arguments": { "command": "echo one; echo two; until [ -e go ]; do sleep 0.01; done" },
        "_meta": { "progressToken": 7 },
    });
    pi.server.request("live", "tools/call", &call);
    let told = pi.server.progress(&json!(7));
    assert!(told.ends_with("8 bytes: two"), "{told}");
    std::fs::write(pi.home.path().join("go"), "").expect("a file");
    assert!(text(&pi.server.answer("live")["result"]).starts_with("one\ntwo\n\nWall time: "));
    pi.ends();
}

#[test]
fn an_aborted_call_stops_its_command() {
    let mut pi = Pi::new(&[]);
    pi.server.begin("aborted", &json!({ "command": "sh -c 'echo $$ > pid; touch begun; exec sleep 1000'" }));
    pi.home.wait_for("begun");
    pi.server.tell("notifications/cancelled", &json!({ "requestId": "aborted" }));
    // The turn comes when the other call is gone. A cancelled call gets no answer.
    assert!(pi.run("kill -0 $(cat pid) 2>/dev/null || echo gone").starts_with("gone\n"));
    assert!(pi.server.unasked().is_empty());
    pi.ends();
}

#[test]
fn a_command_that_times_out_is_cancelled_and_says_so_before_its_output() {
    let mut pi = Pi::new(&[]);
    let result = pi.call(&json!({ "command": "echo begun; sleep 1000", "timeout": 1 }));
    assert!(text(&result).starts_with("[Command timed out after 1 seconds]\nbegun\n\nWall time: "), "{result}");
    let details = details(&result);
    assert_eq!(
        (&result["isError"], &details["cancelled"], &details["timedOut"]),
        (&true.into(), &true.into(), &true.into())
    );
    assert!(details["wallTimeMs"].as_u64().is_some_and(|time| time >= 1000), "{details}");
    pi.ends();
}

#[test]
fn a_command_that_ignores_the_request_to_end_has_5_seconds() {
    let mut pi = Pi::new(&[]);
    // State that one command leaves in the shell persists for the next.
    assert!(pi.run("trap '' TERM").starts_with("(no output)"));
    let result = pi.call(&json!({ "command": "sleep 1000", "timeout": 1 }));
    let time = details(&result)["wallTimeMs"].as_u64().expect("a time");
    // The time is counted by another process than the grace, which began a moment earlier.
    assert!((5500..12_000).contains(&time), "{time} ms: 1 s and 5 s, not 15");
    pi.ends();
}

#[test]
fn unattended_commands_find_no_pager_no_editor_and_no_prompt() {
    let mut pi = Pi::new(&[]);
    let names = "PAGER GIT_PAGER MANPAGER GIT_EDITOR EDITOR VISUAL GIT_TERMINAL_PROMPT SSH_ASKPASS CI npm_config_yes";
    let shown = pi.output(&json!({ "command": format!("for name in {names}; do echo \"$name=${{!name}}\"; done") }));
    let expected = "PAGER=cat\nGIT_PAGER=cat\nMANPAGER=cat\nGIT_EDITOR=true\nEDITOR=true\nVISUAL=true\n\
                    GIT_TERMINAL_PROMPT=0\nSSH_ASKPASS=/bin/false\nCI=1\nnpm_config_yes=true";
    assert_eq!(shown, expected);
    pi.ends();
}

#[test]
fn output_beyond_50_kb_keeps_its_end_and_the_artifact_has_all_of_it() {
    let mut pi = Pi::new(&[]);
    let result = pi.call(&json!({ "command": "seq 20000" }));
    let truncation = &details(&result)["meta"]["truncation"];
    assert_eq!((&truncation["direction"], &truncation["truncatedBy"]), (&json!("tail"), &json!("bytes")));
    assert_eq!((&truncation["totalLines"], &truncation["totalBytes"]), (&json!(20000), &json!(108_894)));
    let bytes = truncation["outputBytes"].as_u64().expect("a number");
    assert!((49 * 1024..=50 * 1024).contains(&bytes), "{truncation}");
    let first = truncation["shownRange"]["start"].as_u64().expect("a line");
    assert_eq!(truncation["outputLines"], 20001 - first);
    assert_eq!(truncation["shownRange"]["end"], 20000);
    let said = text(&result);
    assert!(said.starts_with(&format!("{first}\n{}\n", first + 1)), "{}", &said[..100]);
    let id = truncation["artifactId"].as_str().expect("an artifact");
    assert!(said.contains(&format!("\n[Showing lines {first}-20000 of 20000 (")), "{}", &said[said.len() - 300..]);
    assert!(said.contains(&format!(" Full: artifact://{id} (")), "{}", &said[said.len() - 300..]);
    assert_eq!(pi.output(&json!({ "command": format!("seq 20000 | cmp - artifact://{id} && echo same") })), "same");
    pi.ends();
}

#[test]
fn output_is_cut_between_characters() {
    let mut pi = Pi::new(&[]);
    let result = pi.call(&json!({ "command": "printf '€%.0s' {1..20000}" }));
    let said = text(&result);
    assert!(said.starts_with("€€€") && !said.contains('\u{FFFD}'), "{}", &said[..30]);
    assert_eq!(details(&result)["meta"]["truncation"]["totalBytes"], 60_000);
    pi.ends();
}

#[test]
fn many_lines_are_no_reason_to_cut() {
    let mut pi = Pi::new(&[]);
    let result = pi.call(&json!({ "command": "seq 5000" }));
    assert!(text(&result).starts_with("1\n2\n") && text(&result).contains("\n5000\n\nWall time: "));
    assert!(details(&result)["meta"].is_null());
    pi.ends();
}

#[test]
fn head_is_applied_before_tail() {
    let mut pi = Pi::new(&[]);
    assert_eq!(pi.output(&json!({ "command": "seq 9", "head": 5, "tail": 2 })), "4\n5");
    pi.ends();
}

#[test]
fn no_output_is_said() {
    let mut pi = Pi::new(&[]);
    assert_eq!(pi.output(&json!({ "command": "true" })), "(no output)");
    pi.ends();
}

#[test]
fn a_command_without_an_exit_status_is_an_error() {
    let mut pi = Pi::new(&[]);
    let result = pi.call(&json!({ "command": "echo begun; $PUPPET signal KILL $PPID; sleep 1000" }));
    let said = text(&result);
    assert!(said.starts_with("begun\n") && said.ends_with("\n\nCommand failed: missing exit status"), "{said}");
    assert_eq!((&result["isError"], &details(&result)["exitCode"]), (&json!(true), &json!(null)));
    pi.ends();
}

#[test]
fn a_code_other_than_zero_is_an_error_with_the_output() {
    let mut pi = Pi::new(&[]);
    let result = pi.call(&json!({ "command": "echo no; (exit 3)" }));
    let said = text(&result);
    assert!(said.starts_with("no\n\nWall time: ") && said.ends_with("\n\nCommand exited with code 3"), "{said}");
    assert_eq!((&result["isError"], &details(&result)["exitCode"]), (&json!(true), &json!(3)));
    let result = pi.call(&json!({ "command": "echo yes" }));
    assert_eq!((&result["isError"], &details(&result)["exitCode"]), (&json!(false), &json!(null)));
    pi.ends();
}
