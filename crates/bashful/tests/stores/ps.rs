//! `bashful ps`: every command that runs now, whoever started it.

use std::process::Child;

use bashful_testkit::{Home, eventually};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use crate::BASHFUL;

fn home() -> Home {
    Home::new(BASHFUL)
}

fn listed(home: &Home) -> Vec<Value> {
    let output = home.run(&["ps", "--json"]);
    assert!(output.status.success(), "{output:?}");
    serde_json::from_slice(&output.stdout).expect("JSON")
}

fn send(child: &Child, signal: Signal) {
    let pid = Pid::from_raw(i32::try_from(child.id()).expect("a process id")).expect("a process id");
    kill_process(pid, signal).expect("it is there");
}

#[test]
fn a_command_in_the_foreground_is_listed_while_it_runs() {
    let home = home();
    assert_eq!(listed(&home), [] as [Value; 0]);
    let mut child = home.start(&["run", "echo one; echo two; until [ -e go ]; do sleep 0.01; done"]);
    assert!(eventually(|| listed(&home).iter().any(|command| command["last_line"] == "two")), "{:?}", listed(&home));
    let [command] = listed(&home).try_into().expect("one command");
    assert_eq!((&command["surface"], &command["job"]), (&Value::from("run"), &Value::Null));
    assert_eq!((&command["output_bytes"], &command["output_lines"]), (&8.into(), &2.into()));
    assert_eq!(command["host_pid"], child.id());
    assert!(command["command"].as_str().is_some_and(|script| script.starts_with("echo one; ")), "{command}");
    let text = String::from_utf8(home.run(&["ps"]).stdout).expect("text");
    assert!(text.lines().next().is_some_and(|line| line.starts_with("STARTED BY")), "{text}");
    assert!(text.contains("run ") && text.contains("echo one; echo two"), "{text}");
    std::fs::write(home.path().join("go"), "").expect("a file");
    assert!(child.wait().expect("it ends").success());
    assert_eq!(listed(&home), [] as [Value; 0]);
    home.check_nothing_survives();
}

#[test]
fn a_command_of_a_program_that_was_killed_is_not_listed() {
    let home = home();
    let mut child = home.start(&["run", "sleep 1000"]);
    assert!(eventually(|| listed(&home).len() == 1));
    send(&child, Signal::KILL);
    child.wait().expect("it ends");
    assert_eq!(listed(&home), [] as [Value; 0]);
    let left = std::fs::read_dir(home.state().join("running")).expect("a directory").count();
    assert_eq!(left, 0, "the file of a dead program is removed");
    home.check_nothing_survives();
}

#[test]
fn jobs_are_listed_beside_the_others() {
    let home = home();
    assert!(home.run(&["run", "--mode", "background", "sleep 1000"]).status.success());
    let [job] = listed(&home).try_into().expect("one job");
    assert_eq!((&job["surface"], &job["job"]), (&Value::from("job"), &1.into()));
    assert!(home.run(&["jobs", "kill", "1"]).status.success());
    assert_eq!(listed(&home), [] as [Value; 0]);
    home.check_nothing_survives();
}

#[test]
fn withheld_values_are_neither_listed_nor_written() {
    let home = home();
    let mut command = home.command(&["run", "echo geheim-12345678; sleep 1000"]);
    let mut child = command.env("MY_TOKEN", "geheim-12345678").spawn().expect("it starts");
    assert!(eventually(|| listed(&home).iter().any(|command| command["output_bytes"] == 16)));
    let files = std::fs::read_dir(home.state().join("running")).expect("a directory");
    let text: String =
        files.map(|file| std::fs::read_to_string(file.expect("an entry").path()).expect("a file")).collect();
    assert!(text.contains("[withheld: MY_TOKEN]") && !text.contains("geheim"), "{text}");
    send(&child, Signal::TERM);
    child.wait().expect("it ends");
    home.check_nothing_survives();
}

#[test]
fn a_list_that_nobody_reads_any_more_is_not_watched() {
    let home = home();
    let mut child =
        home.command(&["ps", "--watch", "--json"]).stdout(std::process::Stdio::piped()).spawn().expect("it starts");
    let mut first = String::new();
    let mut reader = std::io::BufReader::new(child.stdout.take().expect("a pipe"));
    std::io::BufRead::read_line(&mut reader, &mut first).expect("a line");
    assert_eq!(first, "[]\n");
    drop(reader);
    assert!(eventually(|| child.try_wait().expect("its state").is_some()), "it goes on without a reader");
}
