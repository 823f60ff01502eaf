//! `bashful jobs` and `bashful run` in the background, as a person or a script meets them.

use std::io::{BufRead, BufReader};
use std::process::{Child, Output};

use bashful_testkit::{Home, eventually};
use rustix::process::{Pid, Signal, kill_process, kill_process_group};
use serde_json::Value;

use crate::BASHFUL;

fn home() -> Home {
    Home::new(BASHFUL)
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[track_caller]
fn json(home: &Home, args: &[&str]) -> Value {
    let output = home.run(args);
    serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}: {output:?}"))
}

/// Starts a job; its number and its process id.
#[track_caller]
fn start(home: &Home, args: &[&str]) -> (String, Pid) {
    let facts = json(home, &[&["run", "--mode", "background", "--json"], args].concat());
    // A short one may be over already.
    assert!(["running", "exited"].contains(&facts["status"].as_str().unwrap_or_default()), "{facts}");
    let pid = facts["job"]["pid"].as_i64().and_then(|pid| Pid::from_raw(i32::try_from(pid).ok()?));
    (facts["job"]["id"].to_string(), pid.expect("a process id"))
}

/// Runs `bashful jobs` and compares standard output, standard error and exit code.
#[track_caller]
fn check(home: &Home, args: &[&str], stdout: &str, stderr: &str, code: i32) {
    let Output { stdout: out, stderr: err, status } = home.run(&[&["jobs"], args].concat());
    let said = (text(&out), text(&err), status.code());
    assert_eq!(said, (stdout.to_owned(), stderr.to_owned(), Some(code)), "{args:?}");
}

fn output_of(home: &Home, id: &str) -> String {
    std::fs::read_to_string(home.state().join("jobs").join(id).join("output")).unwrap_or_default()
}

fn kill(child: &mut Child) {
    child.kill().expect("it is there");
    child.wait().expect("it ends");
}

#[test]
fn a_command_in_the_background_returns_at_once_with_all_that_is_needed() {
    let home = home();
    let output = home.run(&["run", "--mode", "background", "echo hi; until [ -e go ]; do sleep 0.01; done"]);
    assert_eq!(output.status.code(), Some(0));
    assert_eq!(
        text(&output.stdout),
        "job 1\n  follow it:  bashful jobs logs -f 1\n  stop it:    bashful jobs kill 1\n"
    );
    check(
        &home,
        &["wait", "1", "--timeout", "0.05"],
        "job 1: running\n",
        "[timed out; the jobs were not stopped]\n",
        124,
    );
    std::fs::write(home.path().join("go"), "").expect("it may go on");
    check(&home, &["wait", "1"], "job 1: completed\n", "", 0);
    assert_eq!(output_of(&home, "1"), "hi\n\n[background process completed]\n");
    let left = || home.state().join("jobs/1/control").exists() || home.state().join("jobs/live/1").exists();
    assert!(eventually(|| !left()), "its keeper leaves nothing behind");
}

#[test]
fn the_reminder_ends_the_group_and_what_escaped_from_it() {
    let home = home();
    let (id, pid) = start(&home, &[r#""$PUPPET" setsid make escaped hold & sleep 1000"#]);
    home.wait_for("escaped");
    kill_process_group(pid, Signal::KILL).expect("it is there");
    check(&home, &["wait", &id], "job 1: killed by signal 9 (SIGKILL)\n", "", 1);
    assert_eq!(output_of(&home, &id), "\n[background process failed: signal: 9 (SIGKILL)]\n");
    home.check_nothing_survives();
}

#[test]
fn one_who_waits_or_follows_may_be_killed_without_harm() {
    let home = home();
    let (id, _) = start(&home, &["echo begun; until [ -e go ]; do sleep 0.01; done; echo end; exit 3"]);
    let mut waits = home.start(&["jobs", "wait", &id]);
    let mut follows = home.start(&["jobs", "logs", "-f", &id]);
    let mut line = String::new();
    BufReader::new(follows.stdout.take().expect("a pipe")).read_line(&mut line).expect("a line");
    assert_eq!(line, "begun\n");
    kill(&mut waits);
    kill(&mut follows);
    assert_eq!(json(&home, &["jobs", "show", &id, "--json"])["status"], "running");
    std::fs::write(home.path().join("go"), "").expect("it may go on");
    check(&home, &["wait", &id], "job 1: exit code 3\n", "", 1);
    assert_eq!(output_of(&home, &id), "begun\nend\n\n[background process failed: exit status: 3]\n");
}

#[test]
fn one_who_stops_a_job_may_be_killed_and_the_stop_goes_on() {
    let home = home();
    let settings = home.path().join("settings.toml");
    std::fs::write(&settings, "[stop]\ngrace_seconds = 1\n").expect("a file");
    let config = ["--config", settings.to_str().expect("text")];
    let (id, _) = start(&home, &[config[0], config[1], "trap '' TERM; echo deaf; while :; do sleep 1000; done"]);
    assert!(eventually(|| output_of(&home, &id).contains("deaf")));
    let mut stops = home.start(&["jobs", "kill", &id]);
    // The `sleep` is gone when the request has arrived.
    assert!(eventually(|| json(&home, &["jobs", "show", &id, "--json"])["live"] == true));
    kill(&mut stops);
    let stopped = home.run(&["jobs", "kill", &id]);
    assert!(stopped.status.success() || text(&stopped.stderr).contains("has ended"), "{stopped:?}");
    check(&home, &["wait", &id], "job 1: cancelled\n", "", 1);
    home.check_nothing_survives();
}

#[test]
fn the_engine_that_left_something_running_is_gone_and_it_is_still_found_and_stopped() {
    let home = home();
    let output =
        home.run(&["run", r#""$PUPPET" setsid make holds hold & until [ -e holds ]; do sleep 0.01; done; echo hi"#]);
    assert_eq!((text(&output.stdout).as_str(), output.status.code()), ("hi\n", Some(0)));
    let said = text(&output.stderr);
    assert!(said.contains("[1 process is still running") && said.contains("bashful jobs kill 1]"), "{said}");
    let listed = json(&home, &["jobs", "list", "--running", "--json"]);
    assert_eq!((&listed[0]["kind"], &listed[0]["status"]), (&Value::from("leftover"), &Value::from("running")));
    check(&home, &["kill", "1"], "", "[job 1: left running, ended since]\n", 0);
    home.check_nothing_survives();
    assert_eq!(json(&home, &["jobs", "list", "--running", "--json"]), Value::Array(Vec::new()));
}

#[test]
fn a_command_that_takes_too_long_goes_on_in_the_background() {
    let home = home();
    let script = "echo begun; until [ -e go ]; do sleep 0.01; done; echo end";
    let output = home.run(&["run", "--patience", "0.3", script]);
    // On a busy machine it has not written anything by then.
    assert!(["", "begun\n"].contains(&text(&output.stdout).as_str()) && output.status.success(), "{output:?}");
    let said = text(&output.stderr);
    assert!(said.contains("now job 1; do not start it again; to wait: bashful jobs wait 1]"), "{said}");
    assert!(said.contains("stop it:    bashful jobs kill 1\n"), "{said}");
    let facts = json(&home, &["run", "--patience", "0.1", "--json", "sleep 1000"]);
    assert_eq!((&facts["status"], &facts["job"]["id"]), (&Value::from("running"), &Value::from(2)));
    std::fs::write(home.path().join("go"), "").expect("it may go on");
    check(&home, &["wait", "1", "2", "--any"], "job 1: completed\njob 2: running\n", "", 0);
    assert_eq!(output_of(&home, "1"), "begun\nend\n\n[background process completed]\n");
    check(&home, &["kill", "2"], "", "[job 2: cancelled]\n", 0);
    home.check_nothing_survives();
}

#[test]
fn the_settings_may_send_every_long_command_to_the_background() {
    let home = home();
    let mut command = home.command(&["run", "--json", "echo hi; sleep 1000"]);
    command.env("BASHFUL_JOBS_AUTO", "true").env("BASHFUL_JOBS_AUTO_AFTER_SECONDS", "0.2");
    let facts: Value = serde_json::from_slice(&command.output().expect("it runs").stdout).expect("JSON");
    assert_eq!(facts["status"], "running");
    // On a busy machine it has not written anything by then.
    assert!(["", "hi\n"].contains(&facts["output"].as_str().expect("text")), "{facts}");
    assert!(eventually(|| output_of(&home, "1").starts_with("hi\n")), "{facts}");
    check(&home, &["kill", "1"], "", "[job 1: cancelled]\n", 0);
}

#[test]
fn output_is_shown_in_parts_and_reading_takes_nothing_away() {
    let home = home();
    let (id, _) = start(&home, &["printf 'one\\n\\033[31mtwo\\033[0m\\nthree\\n'"]);
    check(&home, &["wait", &id], "job 1: completed\n", "", 0);
    let first = json(&home, &["jobs", "show", &id, "--since", "0", "--json"]);
    assert_eq!(first["output"], "one\ntwo\nthree\n\n[background process completed]\n");
    let next = first["next"].to_string();
    assert_eq!(json(&home, &["jobs", "show", &id, "--since", &next, "--json"])["output"], "");
    assert_eq!(
        json(&home, &["jobs", "show", &id, "--lines", "3", "--json"])["output"],
        "three\n\n[background process completed]\n"
    );
    let logs = home.run(&["jobs", "logs", &id, "--raw"]);
    assert!(logs.stdout.starts_with(b"one\n\x1b[31mtwo"), "{logs:?}");
}

#[test]
fn withheld_values_are_masked_in_what_is_shown_of_a_job() {
    let home = home();
    let mut command = home.command(&["run", "--mode", "background", "echo hunter2secret"]);
    assert!(command.env("DB_PASSWORD", "hunter2secret").output().expect("it runs").status.success());
    check(&home, &["wait", "1"], "job 1: completed\n", "", 0);
    for args in [&["jobs", "show", "1"][..], &["jobs", "logs", "1"]] {
        let shown = home.command(args).env("DB_PASSWORD", "hunter2secret").output().expect("it runs");
        assert!(!text(&shown.stdout).contains("hunter2"), "{shown:?}");
        assert!(text(&shown.stdout).contains("[background process completed]"), "{shown:?}");
    }
}

#[test]
fn one_waits_for_a_line_or_a_port_and_not_for_a_time() {
    let home = home();
    let serve = "import socket, time\ns = socket.socket()\ns.bind(('127.0.0.1', 0))\ns.listen()\nprint('port', s.getsockname()[1], flush=True)\ntime.sleep(1000)";
    let (id, _) = start(&home, &["--env", &format!("SERVE={serve}"), "exec python3 -c \"$SERVE\""]);
    let came = json(&home, &["jobs", "wait", &id, "--until", "^port [0-9]+$", "--json"]);
    let line = came["came"].as_str().expect("a line");
    let port = line.rsplit(' ').next().expect("a port");
    check(&home, &["wait", &id, "--until-port", port], "job 1: running\n", &format!("[port {port} is open]\n"), 0);
    check(&home, &["kill", &id, "--signal", "KILL"], "", "[job 1: killed by signal 9 (SIGKILL)]\n", 0);
    let ended = home.run(&["jobs", "wait", &id, "--until", "never"]);
    assert_eq!((ended.status.code(), text(&ended.stderr).as_str()), (Some(1), "[every job ended before that]\n"));
    let closed = home.run(&["jobs", "wait", &id, "--until-port", port]);
    assert_eq!(closed.status.code(), Some(1), "{closed:?}");
}

#[test]
fn what_is_sent_is_read() {
    let home = home();
    let (id, _) = start(&home, &["--stdin", "while read line; do echo \"got $line\"; done; echo over"]);
    check(&home, &["send", &id, "one"], "", "[sent 4 bytes to job 1]\n", 0);
    check(&home, &["wait", &id, "--until", "got one"], "job 1: running\n", "[job 1 wrote: got one]\n", 0);
    check(&home, &["send", &id, "two", "--eof"], "", "[sent 4 bytes to job 1, and closed its input]\n", 0);
    check(&home, &["wait", &id], "job 1: completed\n", "", 0);
    assert_eq!(output_of(&home, &id), "got one\ngot two\nover\n\n[background process completed]\n");
    check(&home, &["send", &id, "three"], "", "bashful: job 1 has ended\n", 125);
}

#[test]
fn ids_that_never_were_that_ended_and_that_were_removed_answer_each_in_their_way() {
    let home = home();
    check(&home, &["show", "1"], "", "bashful: there has never been a job 1\n", 125);
    check(&home, &["list"], "", &format!("[no jobs in {}]\n", home.state().join("jobs").display()), 0);
    let (id, _) = start(&home, &["exit 2"]);
    check(&home, &["wait", &id], "job 1: exit code 2\n", "", 1);
    check(&home, &["kill", &id], "", "bashful: job 1 has ended\n", 125);
    check(&home, &["rm", &id], "", &format!("[job {id} removed]\n"), 0);
    check(&home, &["show", &id], "", "bashful: job 1 has ended, and its record was removed\n", 125);
    check(&home, &["wait", &id], "", "bashful: job 1 has ended, and its record was removed\n", 125);
    check(&home, &["wait", "9"], "", "bashful: there has never been a job 9\n", 125);
}

#[test]
fn a_running_job_is_not_removed_and_one_too_many_is_refused() {
    let home = home();
    let (id, pid) = start(&home, &["sleep 1000"]);
    check(&home, &["rm", &id], "", "bashful: job 1 is still running; stop it first\n", 125);
    let mut command = home.command(&["run", "--mode", "background", "true"]);
    let refused = command.env("BASHFUL_JOBS_LIVE", "1").output().expect("it runs");
    assert_eq!(
        (text(&refused.stderr).as_str(), refused.status.code()),
        (
            "bashful: Background job limit reached (1). Wait for running jobs to finish or cancel one. Running: 1 (sleep 1000)\n",
            Some(125)
        )
    );
    kill_process(pid, Signal::KILL).expect("it is there");
    check(&home, &["wait", &id], "job 1: killed by signal 9 (SIGKILL)\n", "", 1);
    home.check_nothing_survives();
}

#[test]
fn a_state_directory_that_cannot_be_used_is_named() {
    let home = home();
    let mut command = home.command(&["run", "--mode", "background", "true"]);
    let failed = command.env("XDG_STATE_HOME", "/proc/none").output().expect("it runs");
    assert_eq!(failed.status.code(), Some(125));
    assert!(text(&failed.stderr).contains("/proc/none/bashful/jobs"), "{failed:?}");
    let ran = home.command(&["run", "echo hi"]).env("XDG_STATE_HOME", "/proc/none").output().expect("it runs");
    assert_eq!(text(&ran.stdout), "hi\n", "what needs no state works without");
}

#[test]
fn a_job_that_fills_the_disk_still_says_how_it_ended() {
    let home = home();
    let script = "mkdir -p state && mount -t tmpfs -o size=300k none state && export XDG_STATE_HOME=$PWD/state && \
                  \"$0\" run --mode background 'yes | head -c 1000000; exit 4' && \"$0\" jobs wait 1";
    let args = ["--user", "--map-root-user", "--mount", "sh", "-c", script, BASHFUL];
    let output = home.wrapped("unshare", &args).output().expect("unshare");
    assert!(text(&output.stdout).ends_with("job 1: exit code 4\n"), "{output:?}");
}

#[test]
fn what_a_job_was_started_with_is_masked_too() {
    let home = home();
    let run = |args: &[&str]| {
        let output = home.command(args).env("MY_TOKEN", "supersecretvalue123").output().expect("it runs");
        text(&output.stdout) + &text(&output.stderr)
    };
    let script = "bash -c 'sleep 1000; : supersecretvalue123' & echo hi";
    for said in
        [run(&["run", script]), run(&["jobs", "show", "1"]), run(&["jobs", "list"]), run(&["jobs", "list", "--json"])]
    {
        assert!(!said.contains("supersecret"), "{said}");
    }
    check(&home, &["kill", "1"], "", "[job 1: left running, ended since]\n", 0);
    home.check_nothing_survives();
}

#[test]
fn an_unfinished_line_is_followed_and_a_gap_is_not_glued_over() {
    let home = home();
    let (id, _) = start(&home, &["printf 'Name? '; until [ -e go ]; do sleep 0.01; done; echo Joe"]);
    let mut follows = home.start(&["jobs", "logs", "-f", &id]);
    let mut prompt = [0; 6];
    let mut pipe = follows.stdout.take().expect("a pipe");
    std::io::Read::read_exact(&mut pipe, &mut prompt).expect("a prompt");
    assert_eq!(&prompt, b"Name? ");
    std::fs::write(home.path().join("go"), "").expect("it may go on");
    let mut rest = String::new();
    std::io::Read::read_to_string(&mut pipe, &mut rest).expect("text");
    assert_eq!(rest, "Joe\n\n[background process completed]\n");
    follows.wait().expect("it ends");
    let mut command = home.command(&["run", "--mode", "background", "yes 0123456789abcdef | head -c 20000000"]);
    command.env("BASHFUL_ARTIFACTS_ONE_BYTES", "300000").output().expect("it runs");
    check(&home, &["wait", "2"], "job 2: completed\n", "", 0);
    let logs = text(&home.run(&["jobs", "logs", "2"]).stdout);
    let halves = logs.lines().filter(|line| *line != "0123456789abcdef").count();
    assert!(logs.contains("are missing: the output was larger than its limit]\n") && halves <= 6, "{halves}");
}
