//! The documented tools, sentence by sentence, from outside the program.
//!
//! Each module follows one document in its order, and each test is named after a promise of it. docs/compatibility.md lists
//! the promises, and where bashful differs on purpose.

mod native_design;
mod native_requirements;
mod plain_document;

use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt;
use std::process::{Command, Output};

use bashful_testkit::{Home, eventually};
use serde_json::Value;

use crate::BASHFUL;

fn home() -> Home {
    Home::new(BASHFUL)
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// The reply of a dialect's `bash` to these arguments of `bashful run`, and the exit code.
fn reply(home: &Home, dialect: &str, args: &[&str], variables: &[(&str, &str)]) -> (String, Option<i32>) {
    let mut command: Command = home.command(&[&["run", "--dialect", dialect], args].concat());
    let Output { status, stdout, .. } = command.envs(variables.iter().copied()).output().expect("it runs");
    (text(&stdout), status.code())
}

/// The reply of the native tool to one command.
fn native(home: &Home, command: &str) -> String {
    reply(home, "native", &[command], &[]).0
}

/// The reply of the plain tool to one command, parsed.
#[track_caller]
fn plain(home: &Home, command: &str, variables: &[(&str, &str)]) -> Value {
    let (said, _) = reply(home, "plain", &[command], variables);
    serde_json::from_str(&said).unwrap_or_else(|error| panic!("{error}: {said}"))
}

/// The definition of a dialect's `bash`.
#[track_caller]
fn definition(home: &Home, dialect: &str) -> Value {
    let printed = home.run(&["schema", "--dialect", dialect]).stdout;
    let mut schema: Value = serde_json::from_slice(&printed).expect("JSON");
    let bash = schema["tools"][0].take();
    assert_eq!(bash["name"], "bash");
    bash
}

/// The record of a job.
#[track_caller]
fn job(home: &Home, id: &str) -> Value {
    serde_json::from_slice(&home.run(&["jobs", "show", id, "--json"]).stdout).expect("JSON")
}

/// The lifetime of a command in this mode, in milliseconds. The command looks for itself in the list of running commands.
#[track_caller]
fn lifetime(mode: &[&str]) -> u64 {
    let home = home();
    let looks = format!("until {BASHFUL} ps --json | grep -o 'lifetime_ms\": [0-9]*'; do :; done");
    let (said, code) = reply(&home, "native", &[mode, &[&looks]].concat(), &[]);
    assert_eq!(code, Some(0), "{said}");
    let number = said.trim_end().rsplit(' ').next().and_then(|number| number.parse().ok());
    number.unwrap_or_else(|| panic!("no number in {said}"))
}

/// The output file of a job that has ended.
#[track_caller]
fn output_of_ended(home: &Home, id: &str) -> String {
    assert!(eventually(|| job(home, id)["live"] == false), "job {id} never ends");
    std::fs::read_to_string(home.state().join("jobs").join(id).join("output")).expect("its output")
}

/// Starts a command in the background; the reply.
#[track_caller]
fn background(home: &Home, command: &str) -> String {
    let (said, code) = reply(home, "native", &["--mode", "background", command], &[]);
    assert_eq!(code, Some(0), "{said}");
    said
}

/// The text between two tags of a reply.
#[track_caller]
fn tagged<'a>(said: &'a str, tag: &str) -> &'a str {
    let inner = || said.split_once(&format!("<{tag}>"))?.1.split_once(&format!("</{tag}>"));
    inner().unwrap_or_else(|| panic!("no {tag} in {said}")).0
}

/// The guard's verdict on a script, which is not run.
fn refuses(home: &Home, script: &str) -> bool {
    match home.run(&["check", script]).status.code() {
        Some(0) => false,
        Some(1) => true,
        other => panic!("{script}: {other:?}"),
    }
}

/// A `PATH` on which this program comes first and only writes its arguments to the file `recorded`.
fn path_with_recorder(home: &Home, program: &str) -> String {
    let directory = home.path().join("recorders");
    std::fs::create_dir_all(&directory).expect("it is made");
    let file = directory.join(program);
    let record = home.path().join("recorded");
    std::fs::write(&file, format!("#!/bin/sh\necho {program} \"$@\" >> '{}'\n", record.display())).expect("a file");
    std::fs::set_permissions(&file, Permissions::from_mode(0o755)).expect("it is ours");
    format!("{}:{}", directory.display(), std::env::var("PATH").expect("tests have a PATH"))
}

/// The calls that a recorder has noted.
fn recorded(home: &Home) -> String {
    std::fs::read_to_string(home.path().join("recorded")).unwrap_or_default()
}

/// Runs git itself; its output.
#[track_caller]
fn git(home: &Home, args: &[&str]) -> String {
    let identity = ["-c", "user.name=test", "-c", "user.email=test@example.com", "-c", "init.defaultBranch=main"];
    let output = home.wrapped("git", &[&identity, args].concat()).output().expect("git");
    assert!(output.status.success(), "{args:?}: {}", text(&output.stderr));
    text(&output.stdout)
}

/// A repository in the home directory with one commit, pushed to the bare repository `remote`, which then gets another commit
/// that only a forced push overwrites. Returns the commit that `remote` has.
#[track_caller]
fn diverged_repository(home: &Home) -> String {
    std::fs::write(home.path().join("file"), "one\n").expect("a file");
    for args in [
        &["init", "-q", "."][..],
        &["add", "file"],
        &["commit", "-q", "-m", "one"],
        &["init", "-q", "--bare", "remote"],
        &["remote", "add", "origin", "remote"],
        &["commit", "-q", "--allow-empty", "-m", "two"],
        &["push", "-q", "-u", "origin", "main"],
        &["commit", "-q", "--amend", "--allow-empty", "-m", "another two"],
    ] {
        git(home, args);
    }
    pushed(home)
}

/// The commit that the bare repository `remote` has.
fn pushed(home: &Home) -> String {
    git(home, &["--git-dir", "remote", "rev-parse", "main"])
}
