//! `bashful run --dialect`: one command as a model's tool would have it run.

use std::process::{Command, Output};

use bashful_testkit::Home;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use crate::BASHFUL;

fn home() -> Home {
    Home::new(BASHFUL)
}

fn run(home: &Home, args: &[&str], variables: &[(&str, &str)]) -> (String, Option<i32>) {
    let mut command: Command = home.command(&[&["run", "--dialect"], args].concat());
    let Output { status, stdout, .. } = command.envs(variables.iter().copied()).output().expect("it runs");
    (String::from_utf8_lossy(&stdout).into_owned(), status.code())
}

#[track_caller]
fn check(args: &[&str], text: &str, code: i32) {
    let home = home();
    let (said, ended) = run(&home, args, &[]);
    // Durations differ between runs.
    let said = settled(&said);
    assert_eq!((said.as_str(), ended), (text, Some(code)));
    home.check_nothing_survives();
}

fn settled(said: &str) -> String {
    let line = |line: &str| if line.starts_with("Wall time: ") { "Wall time".to_owned() } else { line.to_owned() };
    said.lines().map(line).collect::<Vec<_>>().join("\n")
}

fn facts(args: &[&str]) -> (Value, Option<i32>) {
    let (said, code) = run(&home(), &[args, &["--json"]].concat(), &[]);
    (serde_json::from_str(&said).unwrap_or_else(|error| panic!("{error}: {said}")), code)
}

#[test]
fn the_reply_is_the_dialects_and_the_exit_code_the_commands() {
    check(&["native", "echo hi; exit 3"], "[command failed: exit code 3]\nhi", 3);
    check(&["pi", "echo hi; exit 3"], "hi\n\nWall time\n\nCommand exited with code 3", 3);
    check(&["pi", "kill -9 $$"], "(no output)\n\nWall time\n\nCommand exited with code 137", 137);
    check(&["plain", "echo out; echo err >&2"], "{\"stdout\":\"out\\n\",\"stderr\":\"err\\n\",\"exitCode\":0}", 0);
    check(&["native", "--timeout", "1", "sleep 100"], "[command timed out after 1s]\n(no output)", 124);
    check(
        &["pi", "--timeout", "1.4", "sleep 100"],
        "[Command timed out after 1.4 seconds]\n(no output)\n\nWall time",
        124,
    );
    check(&["pi", ""], "the command is empty", 125);
    for endless in ["NaN", "inf", "1e400"] {
        check(&["pi", "--timeout", endless, "echo ran"], "", 125);
    }
    let (said, _) = run(&home(), &["pi", "head -c 100000 /dev/zero | tr '\\0' x"], &[]);
    assert!(said.contains("\n[Showing the end of line 1 of 1 (47.6KB omitted). Full: artifact://1 ("), "{said}");
}

#[test]
fn the_facts_are_the_dialects_too() {
    let (of, code) = facts(&["native", "exit 3"]);
    assert_eq!((&of["status"], &of["exit_code"], code), (&json!("exited"), &json!(3), Some(3)));
    let (of, _) = facts(&["pi", "--timeout", "9999", "exit 3"]);
    assert_eq!((&of["exitCode"], &of["requestedTimeoutSeconds"]), (&json!(3), &json!(9999.0)));
    let (of, code) = facts(&["native", "git push --force"]);
    assert_eq!((&of["status"], code), (&json!("refused"), Some(125)));
}

#[test]
fn options_become_arguments_of_the_tool_if_it_has_them() {
    let options = ["--cwd", "/usr", "--env", "A=a=b", "pwd; echo $A"];
    check(&[&["native"], options.as_slice()].concat(), "/usr\na=b", 0);
    check(&[&["pi"], options.as_slice()].concat(), "/usr\na=b\n\nWall time", 0);
    check(&["plain", "--cwd", "/usr", "pwd"], "{\"stdout\":\"/usr\\n\",\"stderr\":\"\",\"exitCode\":0}", 0);
    check(&["pi", "--cwd", "/none", "pwd"], "Working directory does not exist: /none", 125);
    check(&["plain", "--timeout", "9", "pwd"], "{\"error\":\"the plain dialect has no `timeout`\"}", 125);
    let no_jobs = "{\"error\":\"the plain dialect has no mode \\\"background\\\"\"}";
    check(&["plain", "--mode", "background", "pwd"], no_jobs, 125);
    for wrong in [["pi", "--mode", "slow", "pwd"], ["pi", "--session", "s", "pwd"]] {
        let (said, code) = run(&home(), &wrong, &[]);
        assert_eq!((said.as_str(), code), ("", Some(125)));
    }
}

#[test]
fn the_native_one_has_sessions() {
    let home = home();
    assert_eq!(run(&home, &["native", "--session", "s", "x=1"], &[]).1, Some(0));
    let (said, code) = run(&home, &["native", "--session", "s", "echo $x"], &[]);
    assert_eq!((said.trim_end(), code), ("1", Some(0)));
    assert!(home.run(&["sessions", "end", "s"]).status.success());
    home.check_nothing_survives();
}

#[test]
fn a_command_in_the_background_is_a_job() {
    let home = home();
    let (said, code) = run(&home, &["pi", "--mode", "background", "sleep 1000"], &[]);
    assert!(said.starts_with("Background job bg_1 started: sleep 1000\n") && code == Some(0), "{said}");
    let (said, code) = run(&home, &["pi", "--patience", "1", "sleep 1000"], &[]);
    assert!(said.starts_with("Background job bg_2 started: sleep 1000\n") && code == Some(0), "{said}");
    // While it would still run: there would be nothing to become a job otherwise.
    let auto = [("BASHFUL_JOBS_AUTO", "true")];
    let (said, code) = run(&home, &["pi", "--timeout", "2", "echo begun; sleep 1000"], &auto);
    assert!(said.starts_with("begun\n\nBackground job bg_3 started: ") && code == Some(0), "{said}");
    let ended = home.run(&["jobs", "kill", "1", "2"]);
    assert!(ended.status.success(), "{ended:?}");
    let waited = home.run(&["jobs", "wait", "3"]);
    assert!(String::from_utf8_lossy(&waited.stdout).contains("timed out after 2s"), "{waited:?}");
    home.check_nothing_survives();
}

#[test]
fn pi_is_told_how_to_stop_what_is_left_in_its_own_words() {
    let home = home();
    let (said, _) = run(&home, &["pi", "(setsid sleep 1000 &); echo left"], &[]);
    assert!(said.contains("now job bg_1; to stop it: job tool, cancel: [\"bg_1\"]"), "{said}");
    assert!(home.run(&["jobs", "kill", "1"]).status.success());
    home.check_nothing_survives();
}

#[test]
fn the_background_can_be_closed_to_pi() {
    let home = home();
    let closed = [("BASHFUL_ASYNC_ENABLED", "false")];
    let (said, code) = run(&home, &["pi", "--mode", "background", "touch ran"], &closed);
    let expected = "Async bash execution is disabled. Enable async.enabled to use async mode.\n";
    assert_eq!((said.as_str(), code), (expected, Some(125)));
    assert!(!home.path().join("ran").exists());
    let schema = home.command(&["schema", "--dialect", "pi"]).envs(closed).output().expect("it runs").stdout;
    assert!(!String::from_utf8_lossy(&schema).contains("async: true"));
    let schema: Value = serde_json::from_slice(&schema).expect("JSON");
    assert!(schema["tools"][0]["inputSchema"]["properties"]["async"].is_null());
}

#[test]
fn a_refusal_for_too_many_jobs_does_not_tell_what_is_withheld() {
    let home = home();
    let variables = [("MY_TOKEN", "geheim-12345678"), ("BASHFUL_JOBS_LIVE", "1")];
    run(&home, &["pi", "--mode", "background", "sleep 1000; echo geheim-12345678"], &variables);
    let (said, code) = run(&home, &["pi", "--mode", "background", "true"], &variables);
    assert!(
        said.starts_with("Background job limit reached (1). Wait for running jobs to finish or cancel one."),
        "{said}"
    );
    assert!(!said.contains("geheim") && code == Some(125), "{said}");
    assert!(home.run(&["jobs", "kill", "1"]).status.success());
}

#[test]
fn interrupted_it_stops_the_command_and_says_by_what() {
    let home = home();
    let mut child = home.start(&["run", "--dialect", "pi", "touch begun; sleep 1000"]);
    home.wait_for("begun");
    let pid = i32::try_from(child.id()).ok().and_then(Pid::from_raw).expect("a process");
    kill_process(pid, Signal::TERM).expect("it is there");
    assert_eq!(child.wait().expect("it ends").code(), Some(128 + 15));
    home.check_nothing_survives();
    let log = String::from_utf8_lossy(&home.run(&["log", "--json"]).stdout).into_owned();
    assert!(log.contains("\"status\":\"cancelled\"") && log.contains("\"surface\":\"run\""), "{log}");
}

#[test]
fn a_command_that_is_cancelled_is_answered_with_its_output_so_far() {
    for (dialect, first_lines) in [("pi", "[Command cancelled]\nbegun\n"), ("native", "[command cancelled]\nbegun\n")] {
        let home = home();
        let script = "echo begun; touch wrote; sleep 1000";
        let mut command = home.command(&["run", "--dialect", dialect, script]);
        let child = command.stdout(std::process::Stdio::piped()).spawn().expect("it starts");
        home.wait_for("wrote");
        let pid = Pid::from_raw(i32::try_from(child.id()).expect("a process id")).expect("a process id");
        kill_process(pid, Signal::INT).expect("it is there");
        let Output { status, stdout, .. } = child.wait_with_output().expect("it ends");
        let said = String::from_utf8_lossy(&stdout);
        assert!(said.starts_with(first_lines), "{dialect}: {said}");
        assert_eq!(status.code(), Some(130));
        home.check_nothing_survives();
    }
}
