//! `bashful log`: every command leaves one line, and that is never a reason to fail.

use std::io::{BufRead, BufReader};
use std::os::unix::fs::PermissionsExt;
use std::process::Stdio;
use std::time::{Duration, Instant};

use bashful_testkit::{Home, eventually};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use crate::BASHFUL;

fn home() -> Home {
    Home::new(BASHFUL)
}

/// The log, as JSON.
#[track_caller]
fn log(home: &Home, args: &[&str]) -> Vec<Value> {
    let output = home.run(&[&["log", "--json"], args].concat());
    assert!(output.status.success(), "{output:?}");
    String::from_utf8_lossy(&output.stdout).lines().map(|line| serde_json::from_str(line).expect("JSON")).collect()
}

#[test]
fn every_command_leaves_a_line_without_its_output() {
    let home = home();
    assert_eq!(log(&home, &[]), Vec::<Value>::new());
    home.run(&["run", "echo some-output"]);
    home.run(&["run", "exit 3"]);
    home.run(&["run", "kill -9 $$"]);
    home.run(&["run", "--mode", "background", "true"]);
    home.run(&["jobs", "wait", "1"]);
    let lines = log(&home, &[]);
    let part = |key: &str| lines.iter().map(|line| line[key].clone()).collect::<Vec<_>>();
    assert_eq!(part("command"), ["echo some-output", "exit 3", "kill -9 $$", "true", "true"]);
    assert_eq!(part("status"), ["exited", "exited", "signaled", "running", "exited"]);
    assert_eq!(part("output_bytes").as_slice()[..4], [12, 0, 0, 0]);
    assert_eq!(part("surface"), ["run", "run", "run", "run", "job"]);
    assert!(lines.iter().all(|line| line["verdict"] == "allowed"));
    assert_eq!(
        (&lines[0]["exit_code"], &lines[1]["exit_code"], &lines[2]["signal"]),
        (&0.into(), &3.into(), &9.into())
    );
    assert_eq!((&lines[3]["job"], &lines[0]["cwd"]), (&1.into(), &home.path().to_string_lossy().into()));
    let file = home.state().join("log/commands.jsonl");
    assert_eq!(file.metadata().expect("it is there").permissions().mode() & 0o777, 0o600);
    assert!(!std::fs::read_to_string(file).expect("text").contains("\"some-output"));
    assert_eq!(log(&home, &["--failed"]).len(), 2);
    assert_eq!(log(&home, &["--since", "1h"]).len(), 5);
    assert_eq!(log(&home, &["--since", "0s"]).len(), 0);
    let said = home.run(&["log", "--failed"]).stdout;
    assert!(String::from_utf8_lossy(&said).contains(" run exited 3, "), "{}", String::from_utf8_lossy(&said));
    assert_eq!(home.run(&["log", "--since", "yesterday"]).status.code(), Some(125));
}

#[test]
fn values_that_are_withheld_are_not_written_down() {
    let home = home();
    home.command(&["run", "echo correct-horse-battery"])
        .env("MY_TOKEN", "correct-horse-battery")
        .output()
        .expect("it runs");
    assert_eq!(log(&home, &[])[0]["command"], "echo [withheld: MY_TOKEN]");
}

#[test]
fn a_command_is_logged_as_it_was_given_and_printed_so_that_nothing_hides() {
    let home = home();
    let script = "echo evil #\rls -la   \u{202e}\nsecond";
    home.run(&["run", script]);
    assert_eq!(log(&home, &[])[0]["command"], script);
    let said = home.run(&["log"]).stdout;
    let said = String::from_utf8_lossy(&said);
    assert!(said.ends_with(": echo evil #\\rls -la   \\u{202e}\\nsecond\n"), "{said}");
    // A value is redacted also where the text is cut.
    let long = format!("true {}correct-horse-battery", "x".repeat(8 * 1024 - 10));
    home.command(&["run", &long]).env("MY_TOKEN", "correct-horse-battery").output().expect("it runs");
    let told = log(&home, &[])[1]["command"].as_str().expect("text").to_owned();
    assert!(!told.contains("correct") && told.ends_with("…"), "{}", &told[told.len() - 60..]);
}

#[test]
fn jobs_are_logged_with_their_end_also_when_they_are_removed_then() {
    let home = home();
    home.run(&["run", "--mode", "background", "exit 7"]);
    home.run(&["jobs", "wait", "1"]);
    home.run(&["run", "--patience", "0.1", "until [ -e go ]; do sleep 0.01; done; sleep 0.1; exit 8"]);
    std::fs::write(home.path().join("go"), "").expect("it is written");
    home.run(&["jobs", "wait", "2"]);
    home.run(&["jobs", "rm", "1", "2"]);
    let failed = log(&home, &["--failed"]);
    let ends: Vec<_> = failed.iter().map(|line| (line["job"].as_u64(), line["exit_code"].as_u64())).collect();
    assert_eq!(ends, [(Some(1), Some(7)), (Some(2), Some(8))]);
    assert_eq!(log(&home, &["--failed"]).len(), 2, "once each");
    assert!(failed[1]["duration_ms"].as_u64().expect("a number") >= 100);
}

#[test]
fn a_job_that_a_new_one_pushes_out_is_logged_with_its_end() {
    let home = home();
    for code in 1..=4 {
        let script = format!("exit {code}");
        let started = home.command(&["run", "--mode", "background", &script]).env("BASHFUL_JOBS_KEPT", "1").output();
        assert!(started.expect("it runs").status.success());
        home.run(&["jobs", "wait", &code.to_string()]);
    }
    assert!(!home.state().join("jobs/1").exists(), "it was pushed out");
    let ends: Vec<_> = log(&home, &["--failed"]).iter().filter_map(|line| line["exit_code"].as_u64()).collect();
    assert_eq!(ends, [1, 2, 3, 4]);
}

#[test]
fn a_line_that_a_full_disk_has_torn_costs_no_other_line() {
    let home = home();
    home.run(&["run", "true before"]);
    let file = home.state().join("log/commands.jsonl");
    let mut torn = std::fs::read(&file).expect("it is there");
    torn.extend_from_slice("{\"time\":\"é".as_bytes().split_last().expect("not empty").1);
    std::fs::write(&file, torn).expect("it is written");
    home.run(&["run", "true behind"]);
    let commands: Vec<_> = log(&home, &[]).iter().map(|line| line["command"].clone()).collect();
    assert_eq!(commands, ["true before", "true behind"]);
    let said = home.run(&["log"]).stderr;
    assert_eq!(String::from_utf8_lossy(&said), "[cannot read 1 line of the log]\n");
}

#[test]
fn a_log_that_is_too_long_is_begun_anew() {
    let home = home();
    for number in 0..20 {
        let output = home.command(&["run", &format!("true {number}")]).env("BASHFUL_LOG_BYTES", "1000").output();
        assert!(output.expect("it runs").status.success());
    }
    let size = |name: &str| home.state().join("log").join(name).metadata().map_or(0, |metadata| metadata.len());
    assert!(size("commands.jsonl") < 1000 && (1000..2000).contains(&size("commands.jsonl.1")));
    let lines = log(&home, &[]);
    let commands: Vec<String> = lines.iter().filter_map(|line| Some(line["command"].as_str()?.to_owned())).collect();
    let first = 20 - commands.len();
    assert_eq!(
        commands,
        (first..20).map(|number| format!("true {number}")).collect::<Vec<_>>(),
        "the newest, in order"
    );
    assert!(commands.len() >= 3);
}

#[test]
fn a_log_that_cannot_be_written_is_no_reason_to_fail() {
    let home = home();
    bashful_engine::make_directory(&home.state()).expect("a directory");
    std::fs::write(home.state().join("log"), "in the way").expect("a file");
    let output = home.run(&["run", "echo fine"]);
    assert_eq!((output.status.code(), output.stdout.as_slice()), (Some(0), &b"fine\n"[..]));
    assert!(output.stderr.is_empty(), "{output:?}");
}

#[test]
fn who_wants_no_log_has_none() {
    let home = home();
    home.command(&["run", "true"]).env("BASHFUL_LOG_ENABLED", "false").output().expect("it runs");
    assert!(!home.state().join("log").exists());
}

#[test]
fn a_log_with_nothing_in_it_says_so() {
    let home = home();
    let said = |args: &[&str]| {
        let output = home.run(args);
        assert!(output.status.success() && output.stdout.is_empty(), "{output:?}");
        String::from_utf8_lossy(&output.stderr).into_owned()
    };
    assert!(said(&["log"]).starts_with("[no commands in "));
    assert_eq!(said(&["log", "--json"]), "");
    home.run(&["run", "true"]);
    assert!(said(&["log", "--failed"]).starts_with("[no such commands in "));
}

#[test]
fn a_log_is_followed_from_before_it_is_there_and_when_it_is_begun_anew() {
    let home = home();
    let mut command = home.command(&["log", "-f", "--json"]);
    let mut follower = command.stdout(Stdio::piped()).spawn().expect("it runs");
    // The program watches once it has created the directory.
    assert!(eventually(|| home.state().join("log").exists()));
    let mut lines = BufReader::new(follower.stdout.take().expect("a pipe")).lines();
    for number in 0..10 {
        let ran = home.command(&["run", &format!("true {number}")]).env("BASHFUL_LOG_BYTES", "500").output();
        assert!(ran.expect("it runs").status.success());
        assert!(lines.next().expect("a line").expect("text").contains(&format!("true {number}")));
    }
    // Without a reader there is nothing to follow for.
    drop(lines);
    assert!(eventually(|| follower.try_wait().expect("ours").is_some()));
}

#[test]
fn a_log_can_be_followed() {
    let home = home();
    home.run(&["run", "echo before"]);
    let mut command = home.command(&["log", "-f", "--json"]);
    let mut follower = command.stdout(Stdio::piped()).spawn().expect("it runs");
    let mut lines = BufReader::new(follower.stdout.take().expect("a pipe")).lines();
    let mut next = || lines.next().expect("a line").expect("text");
    assert!(next().contains("echo before"));
    home.run(&["run", "echo after"]);
    assert!(next().contains("echo after"));
    follower.kill().expect("it is there");
    follower.wait().expect("it ends");
    assert!(eventually(|| home.survivors().is_empty()));
}

#[test]
fn time_in_which_the_program_was_stopped_after_the_end_does_not_count() {
    let in_session = ["run", "--session", "s"];
    for run in [&in_session[..1], &in_session] {
        let home = home();
        let began = Instant::now();
        let child = home.start(&[run, &["touch ready; until [ -e go ]; do sleep 0.01; done"]].concat());
        home.wait_for("ready");
        let pid = Pid::from_raw(i32::try_from(child.id()).expect("a process id")).expect("not zero");
        kill_process(pid, Signal::STOP).expect("it is ours");
        std::fs::write(home.path().join("go"), "").expect("a file");
        let is_over = || match run {
            // The stopped program has the script among its arguments, too.
            ["run"] => !home.survivors().iter().any(|left| left.contains("until [") && !left.contains(" run ")),
            _ => String::from_utf8_lossy(&home.run(&["sessions", "list"]).stdout).contains("idle"),
        };
        assert!(eventually(is_over), "{:?}", home.survivors());
        let most = began.elapsed();
        // The time that must not count has to pass.
        std::thread::sleep(Duration::from_secs(1));
        kill_process(pid, Signal::CONT).expect("it is ours");
        assert!(child.wait_with_output().expect("it ends").status.success());
        let told = Duration::from_millis(log(&home, &[])[0]["duration_ms"].as_u64().expect("a number"));
        assert!(told <= most, "{told:?} of at most {most:?} with {run:?}");
        home.run(&["sessions", "end", "s"]);
    }
}

#[test]
fn a_log_with_a_second_name_is_set_aside_and_that_is_said_once() {
    let home = home();
    home.run(&["run", "true before"]);
    let file = home.state().join("log/commands.jsonl");
    let second = home.path().join("second");
    std::fs::hard_link(&file, &second).expect("a second name");
    let doctor = home.run(&["doctor"]);
    assert!(
        String::from_utf8_lossy(&doctor.stdout).contains("PROBLEM: nothing is written to the command log"),
        "{doctor:?}"
    );
    assert_eq!(doctor.status.code(), Some(1));
    let said = |command: &str| String::from_utf8_lossy(&home.run(&["run", command]).stderr).into_owned();
    let first = said("true behind");
    assert!(first.contains("had a second name (a hard link)") && first.contains("commands.jsonl.1 now"), "{first}");
    // A command links the log while it runs.
    assert_eq!(said(&format!("ln {} {}", file.display(), home.path().join("third").display())), "");
    assert_eq!(said("true last"), "");
    let commands: Vec<_> = log(&home, &[]).iter().map(|line| line["command"].clone()).collect();
    assert_eq!(commands.last().expect("a line"), "true last", "{commands:?}");
    assert!(
        commands.iter().any(|command| command.as_str().is_some_and(|command| command.starts_with("ln "))),
        "{commands:?}"
    );
    assert!(!std::fs::read_to_string(&second).expect("text").contains("behind"));
    assert!(home.run(&["doctor"]).status.success());
}

#[test]
fn a_link_in_the_place_of_the_log_is_named() {
    let home = home();
    let file = home.state().join("log/commands.jsonl");
    bashful_engine::make_directory(file.parent().expect("a parent")).expect("made");
    std::os::unix::fs::symlink("/dev/null", &file).expect("a link");
    let ran = home.run(&["run", "true"]);
    assert!(
        ran.status.success() && String::from_utf8_lossy(&ran.stderr).contains("commands are not logged to"),
        "{ran:?}"
    );
    assert!(String::from_utf8_lossy(&home.run(&["doctor"]).stdout).contains("PROBLEM: commands are not logged to"));
}
