//! The shell that calls share: how it is found again, and what it is given.

use bashful_testkit::Home;
use serde_json::json;

use super::{Pi, details};
use crate::BASHFUL;
use crate::server::{Server, text};

#[test]
fn calls_find_the_same_shell_again() {
    let mut pi = Pi::new(&[]);
    let shell = pi.output(&json!({ "command": "x=1; f() { echo \"f $x\"; }; echo $$" }));
    assert_eq!(pi.output(&json!({ "command": "f; echo $$" })), format!("f 1\n{shell}"));
    pi.ends();
}

#[test]
fn variables_of_a_call_hold_for_that_call_and_choose_no_other_shell() {
    let mut pi = Pi::new(&[]);
    let shell = pi.output(&json!({ "command": "x=1; A=shell; echo $$" }));
    let env = json!({ "A": "it's\na \\ value", "PATH": "/usr/bin:/bin", "EMPTY": "" });
    let command = "echo \"$A|${EMPTY-unset}|$PATH\"; printenv A; (echo \"$A\"); A=changed; y=2; export z=3; echo $$ $x";
    let shown = pi.output(&json!({ "command": command, "env": env }));
    let value = "it's\na \\ value";
    assert_eq!(shown, format!("{value}||/usr/bin:/bin\n{value}\n{value}\n{shell} 1"));
    // The variables of the call are gone, and those that the command has set are there.
    let command = "echo $$ $A ${EMPTY-unset} $y; printenv z";
    assert_eq!(pi.output(&json!({ "command": command })), format!("{shell} shell unset 2\n3"));
    // Also after a command that is stopped in the middle of it.
    let stopped = json!({ "command": "while :; do :; done", "env": { "A": "stopped" }, "timeout": 1 });
    assert_eq!(details(&pi.call(&stopped))["timedOut"], true);
    assert_eq!(pi.output(&json!({ "command": "echo $$ $A" })), format!("{shell} shell"));
    pi.ends();
}

#[test]
fn variables_of_a_call_are_taken_back_whatever_the_shell_has_become() {
    let mut pi = Pi::new(&[]);
    let call = json!({ "command": "echo $A", "env": { "A": "1" } });
    assert!(pi.run("eval() { echo mine; }; command() { echo mine; }").starts_with("(no output)"));
    assert_eq!(pi.output(&call), "1");
    assert!(pi.run("unset -f eval command; set -o posix").starts_with("(no output)"));
    assert_eq!(pi.output(&call), "1");
    assert_eq!(pi.output(&json!({ "command": "echo ${A-unset}; set +o posix" })), "unset");
    assert_eq!(pi.output(&json!({ "command": "echo in", "env": { "POSIXLY_CORRECT": "1" } })), "in");
    assert_eq!(pi.output(&json!({ "command": "[[ -o posix ]] || echo off" })), "off");
    pi.ends();
}

#[test]
fn calls_run_in_their_order_while_the_shell_starts_or_starts_again() {
    let mut pi = Pi::new(&[]);
    for _ in 0..3 {
        for number in 0..6 {
            pi.server.begin(&number.to_string(), &json!({ "command": format!("echo {number} >>order") }));
        }
        for number in 0..6 {
            pi.server.answer(&number.to_string());
        }
        let order = std::fs::read_to_string(pi.home.path().join("order")).expect("they ran");
        assert_eq!(order, "0\n1\n2\n3\n4\n5\n");
        // The next ones meet a shell that has just ended.
        pi.run("rm order; exit");
    }
    pi.ends();
}

#[test]
fn a_variable_of_any_length_reaches_its_command() {
    let mut pi = Pi::new(&[]);
    let long = "x".repeat(100_000);
    assert_eq!(pi.output(&json!({ "command": "echo ${#LONG}", "env": { "LONG": long } })), "100000");
    // Longer than any program could be given: nothing of it runs, and the shell stays.
    let too_long = json!({ "command": "touch ran", "env": { "LONG": "x".repeat(9_000_000) } });
    let said = pi.call(&too_long);
    assert_eq!((&said["isError"], text(&said).contains("rgument list too long")), (&json!(true), true), "{said}");
    assert!(!pi.home.path().join("ran").exists());
    assert_eq!(pi.output(&json!({ "command": "echo still" })), "still");
    pi.ends();
}

#[test]
fn a_syntax_error_names_the_command_and_its_line() {
    let mut pi = Pi::new(&[]);
    let mut check = |command: &str, env: &serde_json::Value, said: &str| {
        let result = pi.call(&json!({ "command": command, "env": env }));
        assert!(text(&result).starts_with(said), "{result}");
        assert_eq!(details(&result)["exitCode"], 2);
    };
    let none = json!({});
    check(
        "echo (",
        &none,
        "bash: eval: line 1: syntax error near unexpected token `newline'\nbash: eval: line 1: `echo ('\n",
    );
    check("echo one\necho two\n)", &none, "one\ntwo\nbash: eval: line 3: syntax error near unexpected token `)'\n");
    // A value of several lines takes none of them.
    check("echo (", &json!({ "A": "1\n2\n3" }), "bash: eval: line 1: syntax error");
    pi.ends();
}

#[test]
fn calls_of_one_session_run_one_after_the_other_and_the_second_says_that_it_waited() {
    let mut pi = Pi::new(&[]);
    let first = "touch begun; until [ -e go ]; do sleep 0.01; done; x=first";
    pi.server.begin("first", &json!({ "command": first }));
    pi.home.wait_for("begun");
    let second = json!({ "command": "touch second; echo $x" });
    let call = json!({ "name": "bash", "arguments": second, "_meta": { "progressToken": 2 } });
    pi.server.request("second", "tools/call", &call);
    // The command has run for a second without output.
    let told = pi.server.progress(&json!(2));
    assert!(told.ends_with("s, 0 bytes"), "{told}");
    assert!(!pi.home.path().join("second").exists());
    std::fs::write(pi.home.path().join("go"), "").expect("a file");
    let second = pi.server.answer("second")["result"].clone();
    let said = text(&second);
    assert!(said.starts_with("first\n\nWall time: "), "{said}");
    assert!(
        said.contains("\nwaited ") && said.contains(" s for its turn: the shell was busy with another command"),
        "{said}"
    );
    assert!(!text(&pi.server.answer("first")["result"]).contains("for its turn"));
    assert!(!pi.run("echo third").contains("for its turn"));
    pi.ends();
}

#[test]
fn calls_may_overlap_where_the_settings_say_so_and_the_second_has_a_shell_of_its_own() {
    let mut pi = Pi::new(&[("BASHFUL_SESSIONS_OVERLAP", "true")]);
    let first = "x=first; touch begun; until [ -e go ]; do sleep 0.01; done";
    pi.server.begin("first", &json!({ "command": first }));
    pi.home.wait_for("begun");
    let said = pi.run("echo ${x-none}; touch go");
    assert!(said.starts_with("none\n"), "{said}");
    assert!(said.contains("ran in a new shell: the shared one was busy with another command"), "{said}");
    pi.server.answer("first");
    assert_eq!(pi.output(&json!({ "command": "echo $x" })), "first");
    pi.ends();
}

#[test]
fn another_server_has_another_shell_and_says_nothing_of_this_one() {
    let mut pi = Pi::new(&[]);
    assert!(pi.run("x=1").starts_with("(no output)"));
    let mut other = Server::greeted(&pi.home, &["--dialect", "pi"], &[]);
    let result = other.call("bash", &json!({ "command": "echo ${x-none}" }));
    let said = text(&result);
    assert!(said.starts_with("none\n\nWall time: ") && !said.contains("session"), "{said}");
    other.close();
    assert!(other.end().success());
    pi.ends();
}

#[test]
fn aliases_functions_and_options_of_the_users_rc_file_are_there() {
    let home = Home::new(BASHFUL);
    std::fs::write(home.path().join(".bashrc"), "alias word='echo alias'\nmine() { echo \"mine $1\"; }\n")
        .expect("a file");
    let mut pi = Pi::at(home, &[]);
    assert_eq!(pi.output(&json!({ "command": "word; mine 1" })), "alias\nmine 1");
    pi.ends();
}

#[test]
fn an_rc_file_that_cannot_be_read_in_time_leaves_commands_without_it() {
    let home = Home::new(BASHFUL);
    std::fs::write(home.path().join(".bashrc"), "alias word='echo alias'\nsleep 1000\n").expect("a file");
    let mut pi = Pi::at(home, &[("BASHFUL_SHELL_SNAPSHOT_SECONDS", "0.2")]);
    assert_eq!(pi.output(&json!({ "command": "type word 2>/dev/null || echo none" })), "none");
    pi.ends();
}

#[test]
fn a_prefix_stands_before_the_command() {
    let mut pi = Pi::new(&[("BASHFUL_SHELL_PREFIX", "env PREFIXED=1")]);
    assert_eq!(pi.output(&json!({ "command": "printenv PREFIXED" })), "1");
    pi.ends();
}

#[test]
fn a_shell_lives_as_long_as_its_server() {
    let mut pi = Pi::new(&[]);
    assert!(pi.run("sleep 1000 & echo left").contains("part of session"));
    // Nothing is left then.
    pi.ends();
}
