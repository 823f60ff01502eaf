//! The requirements of the native tool.

use std::path::Path;
use std::process::Stdio;

use bashful_testkit::{Home, Terminal, eventually};
use rustix::process::{Pid, Signal, kill_process, kill_process_group};
use serde_json::json;

use super::{background, definition, home, lifetime, native, output_of_ended, reply, tagged, text};
use crate::server::{Server, text as text_of};

fn process(pid: &str) -> Pid {
    Pid::from_raw(pid.trim().parse().expect("a number")).expect("a process id")
}

#[test]
fn a_command_runs_by_bash_in_the_working_directory_of_the_conversation() {
    let home = home();
    std::fs::create_dir(home.path().join("project")).expect("a directory");
    let mut server = Server::greeted(&home, &["--cwd", "project"], &[]);
    let result = server.call("bash", &json!({ "command": "pwd; echo ${BASH_VERSION:+bash}; echo \"$-\"" }));
    let expected = format!("{}\nbash\n", home.path().join("project").display());
    assert!(text_of(&result).starts_with(&expected), "{result}");
    // `c` is the option that it was started with, and `i` would be that of a shell for people.
    let options = text_of(&result).lines().last().expect("options");
    assert!(options.contains('c') && !options.contains('i'), "{options}");
}

#[test]
fn the_output_of_both_streams_is_returned_combined() {
    let said = native(&home(), "for i in 1 2 3; do echo out $i; echo err $i >&2; done");
    assert_eq!(said, "out 1\nerr 1\nout 2\nerr 2\nout 3\nerr 3\n");
}

#[test]
fn output_over_128_kilobytes_keeps_its_first_and_last_4_kilobytes_and_says_so() {
    let said = native(&home(), "seq 100000");
    assert!(said.starts_with("[output truncated in middle: got 575KB, max is 128KB]\n1\n2\n3\n"), "{}", &said[..200]);
    let (head, tail) = said.split_once("\n\n[snip]\n\n").expect("a mark");
    assert!(head.len() >= 4096 && tail.len() >= 4096, "{} and {} bytes", head.len(), tail.len());
    assert!(tail.contains("\n99999\n100000\n[showing lines 1-"), "{tail}");
}

#[test]
fn the_default_mode_has_a_timeout_of_30_seconds() {
    assert_eq!(lifetime(&["--mode", "default"]), 30_000);
}

#[test]
fn the_slow_mode_has_a_timeout_of_15_minutes() {
    assert_eq!(lifetime(&["--mode", "slow"]), 900_000);
}

#[test]
fn a_timeout_ends_the_process_group_and_returns_the_partial_output() {
    let home = home();
    let command = "echo partial; sleep 1000 & sleep 1000";
    let (said, code) = reply(&home, "native", &["--timeout", "1", command], &[]);
    assert_eq!((said.as_str(), code), ("[command timed out after 1s]\npartial\n", Some(124)));
    home.check_nothing_survives();
}

#[test]
fn a_background_command_outlives_the_agent() {
    let home = home();
    let mut server = Server::greeted(&home, &[], &[]);
    let command = "touch begun; until [ -e go ]; do sleep 0.01; done; echo outlived";
    server.call("bash", &json!({ "command": command, "mode": "background" }));
    home.wait_for("begun");
    server.signal(Signal::KILL);
    server.end();
    std::fs::write(home.path().join("go"), "").expect("it may go on");
    assert_eq!(output_of_ended(&home, "1"), "outlived\n\n[background process completed]\n");
}

#[test]
fn a_background_command_returns_its_process_id_and_its_output_file() {
    let home = home();
    let said = background(&home, "echo $$; exec sleep 1000");
    let (pid, file) = (tagged(&said, "pid").to_owned(), tagged(&said, "output_file").to_owned());
    let written = || std::fs::read_to_string(&file).unwrap_or_default();
    assert!(eventually(|| written() == format!("{pid}\n")), "{}", written());
    kill_process(process(&pid), Signal::KILL).expect("it is there");
    home.check_nothing_survives();
}

#[test]
fn the_end_of_a_background_command_is_appended_to_its_file() {
    let home = home();
    background(&home, "echo well");
    background(&home, "echo badly; exit 7");
    assert_eq!(output_of_ended(&home, "1"), "well\n\n[background process completed]\n");
    assert_eq!(output_of_ended(&home, "2"), "badly\n\n[background process failed: exit status: 7]\n");
}

#[test]
fn the_process_id_of_a_background_command_is_that_of_its_group_and_kills_it() {
    let home = home();
    let said = background(&home, "touch begun; sleep 1000 & sleep 1000");
    home.wait_for("begun");
    let pid = tagged(&said, "pid");
    assert!(said.contains(&format!("kill -9 -{pid}")), "{said}");
    kill_process_group(process(pid), Signal::KILL).expect("it is a group");
    home.check_nothing_survives();
}

#[test]
fn a_command_has_a_process_group_of_its_own() {
    let said = native(&home(), "echo $$; ps -o pgid= -p $$");
    let numbers: Vec<&str> = said.split_whitespace().collect();
    assert_eq!(numbers.len(), 2, "{said}");
    assert_eq!(numbers[0], numbers[1]);
}

#[test]
fn variables_with_secrets_are_kept_from_a_command() {
    let home = home();
    let variables =
        [("MY_API_TOKEN", "geheim-1234"), ("DB", "postgres://user:geheim-5678@host/db"), ("HARMLESS", "shown")];
    let (said, _) = reply(&home, "native", &["env"], &variables);
    assert!(!said.contains("geheim") && said.contains("HARMLESS=shown"), "{said}");
}

#[test]
fn cancelling_kills_the_whole_process_group() {
    let home = home();
    let mut server = Server::greeted(&home, &[], &[]);
    server.begin("call", &json!({ "command": "touch begun; sleep 1000 & sleep 1000 | sleep 1000" }));
    home.wait_for("begun");
    server.tell("notifications/cancelled", &json!({ "requestId": "call" }));
    assert!(eventually(|| !home.survivors().iter().any(|line| line.contains("sleep"))), "{:?}", home.survivors());
}

/// The grace of a stop, in seconds.
fn grace(home: &Home) -> String {
    let settings = text(&home.run(&["config"]).stdout);
    let line = settings.lines().find(|line| line.starts_with("grace_seconds")).expect("a setting");
    line.split(" = ").nth(1).expect("a value").to_owned()
}

#[test]
fn a_command_has_15_seconds_to_clean_up_before_it_is_killed() {
    let home = home();
    assert_eq!(grace(&home).parse(), Ok(15.0));
    // One that uses its grace comes to its own end.
    let command = "trap 'sleep 0.5; touch cleaned; exit 4' TERM; touch begun; while :; do sleep 0.1; done";
    let (said, _) = reply(&home, "native", &["--timeout", "1", command], &[]);
    assert!(home.path().join("cleaned").exists(), "{said}");
    // One that ignores the request is killed when the grace is over.
    let variables = [("BASHFUL_STOP_GRACE_SECONDS", "0.5")];
    let (said, _) =
        reply(&home, "native", &["--timeout", "1", "trap '' TERM; while :; do sleep 0.1; done"], &variables);
    assert!(said.starts_with("[command timed out after 1s]\n"), "{said}");
    home.check_nothing_survives();
}

#[test]
fn a_command_has_no_terminal_even_where_the_program_has_one() {
    let home = home();
    let script = "tty; { : < /dev/tty; } 2>/dev/null || echo no terminal at all; [ -t 1 ] || [ -t 2 ] || echo pipes";
    let line = format!("{} run --dialect native '{script}'; sleep 1000", crate::BASHFUL);
    let terminal = Terminal::run(&home, &line);
    let screen = terminal.shows("pipes");
    assert!(screen.contains("not a tty\nno terminal at all\npipes\n"), "{screen}");
}

#[test]
fn a_prompt_for_a_person_is_answered_with_the_end_of_the_input() {
    let (said, code) = reply(&home(), "native", &["read -r -p 'sure? ' answer; echo \"$? [$answer]\""], &[]);
    assert_eq!((said.as_str(), code), ("1 []\n", Some(0)));
}

#[test]
fn the_schema_has_a_required_command_and_an_optional_mode() {
    let input = definition(&home(), "native")["inputSchema"].clone();
    assert_eq!(input["required"], json!(["command"]));
    assert_eq!(input["properties"]["command"]["type"], "string");
    assert_eq!(input["properties"]["mode"]["enum"], json!(["default", "slow", "background"]));
}

#[test]
fn without_a_mode_a_command_runs_in_the_foreground_for_up_to_30_seconds() {
    assert_eq!(lifetime(&[]), 30_000);
    assert_eq!(native(&home(), "echo foreground"), "foreground\n");
}

#[test]
fn the_description_has_the_current_working_directory() {
    let home = home();
    for (args, directory) in [(&[][..], home.path()), (&["--cwd", "/usr"], Path::new("/usr"))] {
        let mut server = Server::greeted(&home, args, &[]);
        let listed = server.ask("tools/list", &json!({}));
        let description = listed["result"]["tools"][0]["description"].as_str().expect("text");
        assert!(description.ends_with(&format!("<pwd>{}</pwd>", directory.display())), "{description}");
    }
}

#[test]
fn a_failed_command_is_answered_with_its_exit_code_and_its_output() {
    let (said, code) = reply(&home(), "native", &["echo for debugging >&2; exit 42"], &[]);
    assert_eq!((said.as_str(), code), ("[command failed: exit code 42]\nfor debugging\n", Some(42)));
}

#[test]
fn a_system_error_is_described_and_told_apart_from_a_failed_command() {
    let home = home();
    let (said, code) = reply(&home, "native", &["--cwd", "/no/such/directory", "true"], &[]);
    assert_eq!((said.as_str(), code), ("Working directory does not exist: /no/such/directory\n", Some(125)));
    let refuse = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/refuse_calls.py");
    let no_processes = "clone3:EAGAIN,clone_pidfd:EAGAIN";
    let args = [refuse, no_processes, crate::BASHFUL, "run", "--dialect", "native", "true"];
    let output = home.wrapped("python3", &args).stderr(Stdio::piped()).output().expect("it runs");
    let said = text(&output.stdout);
    assert!(said.starts_with("cannot start the command: no more processes can be made"), "{output:?}");
    assert!(!said.contains("command failed"), "{said}");
    // Programs find the difference in the facts.
    let mut server = Server::greeted(&home, &[], &[]);
    let failed = server.call("bash", &json!({ "command": "exit 3" }));
    assert_eq!(failed["_meta"]["bashful/facts"]["status"], "exited");
    let error = server.call("bash", &json!({ "command": "true", "cwd": "/no/such/directory" }));
    assert_eq!(error["_meta"]["bashful/facts"]["status"], "failed");
}
