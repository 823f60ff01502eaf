//! `bashful run --session` and `bashful sessions`, as a person or a script meets them.

use std::process::Output;

use bashful_testkit::Home;
use serde_json::Value;

use crate::BASHFUL;

fn home() -> Home {
    Home::new(BASHFUL)
}

/// Runs the program and compares standard output, standard error and exit code.
#[track_caller]
fn check(home: &Home, args: &[&str], stdout: &str, stderr: &str, code: i32) {
    let Output { stdout: out, stderr: err, status } = home.run(args);
    let said = (String::from_utf8_lossy(&out).into_owned(), String::from_utf8_lossy(&err).into_owned(), status.code());
    assert_eq!(said, (stdout.to_owned(), stderr.to_owned(), Some(code)), "{args:?}");
}

#[track_caller]
fn json(home: &Home, args: &[&str]) -> Value {
    let output = home.run(args);
    serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}: {output:?}"))
}

#[test]
fn a_session_stays_from_one_run_of_the_program_to_the_next() {
    let home = home();
    let run = |script: &str, stdout: &str, stderr: &str, code| {
        check(&home, &["run", "--session", "build 1", script], stdout, stderr, code);
    };
    run("x=5; cd /usr; f() { echo \"f: $x\"; }", "", "", 0);
    // The caller's directory does not matter to a running shell.
    run("pwd; f; echo ${y-none}", "/usr\nf: 5\nnone\n", "", 0);
    let plan = json(&home, &["explain", "--session", "build 1", "--json", "pwd"]);
    assert_eq!((&plan["cwd"], &plan["environment"]["PWD"]), (&"/usr".into(), &"/usr".into()));
    run(
        "exit 3",
        "",
        "[the shell of session \"build 1\" has ended; the next command starts a new one]\n[command failed: exit code 3]\n",
        3,
    );
    let lost = "[session \"build 1\" was restarted before this command (its shell ended with exit code 3); its variables, functions and directory are gone]\n";
    run("echo ${x-none}", "none\n", lost, 0);
    let listed = json(&home, &["sessions", "list", "--json"]);
    assert_eq!(
        (&listed[0]["name"], &listed[0]["state"], &listed[0]["owner"]),
        (&"build 1".into(), &"idle".into(), &"user".into())
    );
    let table = home.run(&["sessions", "list"]);
    assert!(String::from_utf8_lossy(&table.stdout).starts_with("SESSION  OWNER  STATE"), "{table:?}");
    let facts = json(&home, &["run", "--session", "build 1", "--json", "exit 4"]);
    assert_eq!(
        facts["session"],
        serde_json::json!({ "name": "build 1", "new": false, "lost_before": null, "ended": true })
    );
    check(&home, &["sessions", "end", "build 1"], "", "bashful: there is no session \"build 1\"\n", 125);
    home.check_nothing_survives();
}

#[test]
fn sessions_are_ended_with_everything_in_them() {
    let home = home();
    for name in ["a", "b"] {
        let output = home.run(&["run", "--session", name, "setsid sleep 1000 & echo started"]);
        assert_eq!(String::from_utf8_lossy(&output.stdout), "started\n");
        assert!(String::from_utf8_lossy(&output.stderr).contains("end it with: bashful sessions end"), "{output:?}");
    }
    assert_eq!(json(&home, &["sessions", "list", "--json"])[1]["left"], 1);
    check(
        &home,
        &["sessions", "end", "a", "nosuch"],
        "",
        "[session \"a\" ended]\nbashful: there is no session \"nosuch\"\n",
        125,
    );
    check(&home, &["sessions", "end", "--all"], "", "[session \"b\" ended]\n", 0);
    check(&home, &["sessions", "end", "--all"], "", "[no sessions to end]\n", 0);
    let nothing = format!("[no sessions in {}]\n", home.state().join("sessions").display());
    check(&home, &["sessions", "list"], "", &nothing, 0);
    home.check_nothing_survives();
}

#[test]
fn a_program_that_is_killed_ends_its_command_and_not_the_session() {
    let home = home();
    check(&home, &["run", "--session", "s", "x=1"], "", "", 0);
    let mut child = home.start(&["run", "--session", "s", "touch begun; sleep 1000; touch went-on"]);
    home.wait_for("begun");
    child.kill().expect("it is there");
    child.wait().expect("it ends");
    check(
        &home,
        &["run", "--session", "s", "echo $x; ls went-on 2>/dev/null; pgrep -P $$ sleep"],
        "1\n",
        "[command failed: exit code 1]\n",
        1,
    );
    check(&home, &["sessions", "end", "s"], "", "[session \"s\" ended]\n", 0);
    home.check_nothing_survives();
}

#[test]
fn what_makes_no_sense_is_said() {
    let home = home();
    let output = home.run(&["run", "--session", "", "true"]);
    assert_eq!(output.status.code(), Some(125));
    assert!(String::from_utf8_lossy(&output.stderr).contains("cannot be the name of a session"), "{output:?}");
    let output = home.run(&["run", "--session", "s", "--mode", "background", "true"]);
    assert_eq!(output.status.code(), Some(125));
    assert!(String::from_utf8_lossy(&output.stderr).contains("a background job has a shell of its own"), "{output:?}");
    let mut homeless = home.command(&["run", "--session", "s", "true"]);
    let output = homeless.env_remove("HOME").output().expect("it runs");
    assert!(String::from_utf8_lossy(&output.stderr).contains("sessions need a state directory"), "{output:?}");
}

#[test]
fn a_plan_names_the_session_and_where_it_is() {
    let home = home();
    check(&home, &["run", "--session", "s", "cd /usr"], "", "", 0);
    let plan = json(&home, &["explain", "--session", "s", "--json", "pwd"]);
    assert_eq!((&plan["session"], &plan["cwd"]), (&"s".into(), &"/usr".into()));
    check(&home, &["sessions", "end", "s"], "", "[session \"s\" ended]\n", 0);
}

#[test]
fn a_command_behind_a_busy_session_is_waited_for_as_long_as_it_was_asked_for() {
    let home = home();
    let mut first = home.start(&["run", "--session", "s", "touch begun; until [ -e go ]; do sleep 0.01; done"]);
    home.wait_for("begun");
    let said = "bashful: the session was busy with another command for as long as this call could wait; the command did not run and is no longer queued: send it again later, or use another session\n";
    check(&home, &["run", "--session", "s", "--patience", "0.2", "touch ran"], "", said, 125);
    // The timeout starts with the turn, which comes later than the timeout is long.
    let second = home.start(&["run", "--session", "s", "--patience", "60", "--timeout", "1", "echo second"]);
    std::thread::sleep(std::time::Duration::from_millis(1200));
    std::fs::write(home.path().join("go"), "").expect("a file");
    assert!(first.wait().expect("it ends").success());
    let second = second.wait_with_output().expect("it ends");
    assert!(second.status.success(), "{second:?}");
    check(&home, &["run", "--session", "s", "ls ran 2>/dev/null; echo next"], "next\n", "", 0);
    check(&home, &["sessions", "end", "s"], "", "[session \"s\" ended]\n", 0);
    home.check_nothing_survives();
}

#[test]
fn a_command_whose_end_nobody_can_tell_is_not_said_to_have_been_killed() {
    let home = home();
    let output = home.run(&["run", "--session", "s", "echo said; builtin() { :; }"]);
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(
        said.ends_with("[command stopped: its shell could no longer report exit codes or run commands]\n"),
        "{said}"
    );
    assert_eq!((String::from_utf8_lossy(&output.stdout).as_ref(), output.status.code()), ("said\n", Some(125)));
    home.check_nothing_survives();
}

#[test]
fn the_program_wakes_a_keeper_that_was_stopped() {
    let home = home();
    let keeper = home.run(&["run", "--session", "s", "echo $PPID"]);
    let keeper: i32 = String::from_utf8_lossy(&keeper.stdout).trim().parse().expect("a number");
    let keeper = rustix::process::Pid::from_raw(keeper).expect("a process id");
    for args in [["sessions", "list", "--json"], ["sessions", "end", "s"]] {
        rustix::process::kill_process(keeper, rustix::process::Signal::STOP).expect("it is ours");
        let output = home.run(&args);
        assert!(output.status.success() && output.stdout != b"[]\n", "{output:?}");
    }
    home.check_nothing_survives();
}

#[test]
fn a_session_ends_when_its_directory_is_removed() {
    let home = home();
    let output = home.run(&["run", "--session", "s", "setsid sleep 1000 & x=1"]);
    assert!(output.status.success(), "{output:?}");
    std::fs::remove_dir_all(home.state().join("sessions")).expect("it can be removed");
    home.check_nothing_survives();
    check(&home, &["run", "--session", "s", "echo ${x-none}"], "none\n", "", 0);
    check(&home, &["sessions", "end", "s"], "", "[session \"s\" ended]\n", 0);
}
