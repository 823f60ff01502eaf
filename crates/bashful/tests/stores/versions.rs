//! Jobs and sessions of other versions of bashful, as a person meets them.
//!
//! The keepers are played by `other_version`, from messages and records of bashful 0.1 as its programs have sent and written them,
//! and from made-up ones of a version to come.

use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Output, Stdio};

use bashful_testkit::{Home, eventually};
use serde_json::Value;

use crate::BASHFUL;

fn fixtures(version: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../testkit/fixtures").join(version)
}

/// A keeper of another version.
struct OtherKeeper {
    process: Child,
    stdin: ChildStdin,
    stdout: BufReader<ChildStdout>,
}

impl OtherKeeper {
    /// A keeper that listens in this place.
    fn start(home: &Home, kind: &str, place: &Path, version: &str) -> Self {
        let program = Path::new(BASHFUL).with_file_name("other_version");
        let arguments = [kind.into(), place.as_os_str().to_owned(), fixtures(version).into_os_string()];
        let mut command = home.wrapped(program, &arguments);
        let mut process = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("it runs");
        let (stdin, stdout) = (process.stdin.take().expect("a pipe"), process.stdout.take().expect("a pipe"));
        let mut keeper = Self { process, stdin, stdout: BufReader::new(stdout) };
        keeper.says("ready");
        keeper
    }

    /// A keeper of job 1.
    fn of_job(home: &Home, version: &str) -> Self {
        let jobs = home.state().join("jobs");
        let place = jobs.join("1");
        make(&jobs, &place);
        for (from, to) in [("running-job.json", "job.json"), ("running-status.json", "status.json")] {
            std::fs::copy(fixtures(version).join(from), place.join(to)).expect("a record");
        }
        std::fs::copy(fixtures(version).join("running-output"), place.join("output")).expect("output");
        std::fs::copy(fixtures(version).join("next"), jobs.join("next")).expect("a counter");
        Self::start(home, "job", &place, version)
    }

    /// A keeper of the session `s` in this place.
    fn of_session(home: &Home, place: &Path, version: &str) -> Self {
        make(&home.state().join("sessions"), place);
        std::fs::copy(fixtures(version).join("about.json"), place.join("about.json")).expect("a record");
        Self::start(home, "session", place, version)
    }

    #[track_caller]
    fn says(&mut self, expected: &str) {
        let mut line = String::new();
        self.stdout.read_line(&mut line).expect("it says something");
        assert_eq!(line.trim_end(), expected);
    }

    fn tell(&mut self, line: &str) {
        writeln!(self.stdin, "{line}").expect("it listens");
    }

    fn wait(mut self) {
        assert!(self.process.wait().expect("it ends").success());
    }
}

/// Makes directories that nobody else can look into.
fn make(parent: &Path, place: &Path) {
    use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
    std::fs::DirBuilder::new().recursive(true).mode(0o700).create(place).expect("directories");
    std::fs::set_permissions(parent, std::fs::Permissions::from_mode(0o700)).expect("they are ours");
}

/// Runs the program: standard output, standard error and exit code.
fn run(home: &Home, args: &[&str]) -> (String, String, Option<i32>) {
    let Output { stdout, stderr, status } = home.run(args);
    (String::from_utf8_lossy(&stdout).into_owned(), String::from_utf8_lossy(&stderr).into_owned(), status.code())
}

#[track_caller]
fn check(home: &Home, args: &[&str], stdout: &str, stderr: &str, code: i32) {
    assert_eq!(run(home, args), (stdout.to_owned(), stderr.to_owned(), Some(code)), "{args:?}");
}

#[track_caller]
fn json(home: &Home, args: &[&str]) -> Value {
    let (stdout, stderr, _) = run(home, args);
    serde_json::from_str(&stdout).unwrap_or_else(|error| panic!("{error}: {stdout}{stderr}"))
}

#[test]
fn a_job_of_bashful_0_1_is_listed_shown_and_stopped() {
    let home = Home::new(BASHFUL);
    let mut keeper = OtherKeeper::of_job(&home, "0.1");
    let listed = json(&home, &["jobs", "list", "--json"]);
    let facts = |job: &Value| (job["id"].clone(), job["status"].clone(), job["live"].clone(), job["protocol"].clone());
    assert_eq!(facts(&listed[0]), (1.into(), "running".into(), true.into(), 0.into()));
    let (shown, notes, _) = run(&home, &["jobs", "show", "1"]);
    assert_eq!(shown, "begun\ngot hello\n");
    assert!(notes.contains("runs under an older bashful (protocol version 0); everything works"), "{notes}");
    let status = home.state().join("jobs/1/status.json");
    std::fs::copy(fixtures("0.1").join("left-status.json"), &status).expect("another record of that version");
    let (table, _, _) = run(&home, &["jobs", "list"]);
    assert!(table.contains("exit code 4, 2 processes left running"), "{table}");
    std::fs::copy(fixtures("0.1").join("running-status.json"), &status).expect("the record as it was");
    check(&home, &["jobs", "kill", "1"], "", "[job 1: cancelled]\n", 0);
    // No hello: that keeper would have hung up.
    keeper.says("heard stop");
    keeper.wait();
    check(&home, &["jobs", "wait", "1"], "job 1: cancelled\n", "", 1);
}

#[test]
fn a_job_of_bashful_0_1_is_written_to_and_sent_signals() {
    let home = Home::new(BASHFUL);
    let mut keeper = OtherKeeper::of_job(&home, "0.1");
    check(&home, &["jobs", "kill", "--signal", "USR1", "1"], "", "[job 1: sent signal 10]\n", 0);
    keeper.says("heard signal");
    let input = home.state().join("jobs/1/input");
    let mode = rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR;
    rustix::fs::mknodat(rustix::fs::CWD, &input, rustix::fs::FileType::Fifo, mode, 0).expect("a pipe");
    let mut reads = std::fs::File::options().read(true).write(true).open(&input).expect("its reading end");
    check(&home, &["jobs", "send", "--eof", "1", "hello"], "", "[sent 6 bytes to job 1, and closed its input]\n", 0);
    keeper.says("heard close-input");
    let mut line = [0; 6];
    std::io::Read::read_exact(&mut reads, &mut line).expect("it was sent");
    assert_eq!(&line, b"hello\n");
    keeper.tell("end");
    keeper.wait();
}

#[test]
fn a_job_of_bashful_0_1_is_followed_and_waited_for() {
    let home = Home::new(BASHFUL);
    let mut keeper = OtherKeeper::of_job(&home, "0.1");
    let mut follower = home.start(&["jobs", "logs", "-f", "1"]);
    let waiter = home.start(&["jobs", "wait", "1"]);
    let mut lines = BufReader::new(follower.stdout.take().expect("a pipe"));
    let mut line = || {
        let mut line = String::new();
        lines.read_line(&mut line).expect("it is readable");
        line
    };
    assert_eq!((line(), line()), ("begun\n".to_owned(), "got hello\n".to_owned()));
    keeper.tell("write more");
    assert_eq!(line(), "more\n");
    keeper.tell("end");
    keeper.wait();
    assert!(follower.wait().expect("it ends").success());
    let ended = waiter.wait_with_output().expect("it ends");
    assert_eq!((ended.stdout.as_slice(), ended.status.code()), (&b"job 1: exit code 3\n"[..], Some(1)));
}

#[test]
fn sessions_of_bashful_0_1_are_listed_and_ended() {
    let home = Home::new(BASHFUL);
    let place = home.state().join("sessions/user-8b1f3d7aa377dee16ea5db4f70b73be0");
    let mut keeper = OtherKeeper::of_session(&home, &place, "0.1");
    let listed = json(&home, &["sessions", "list", "--json"]);
    let facts = ["name", "owner", "state"].map(|key| listed[0][key].clone());
    assert_eq!((facts, &listed[0]["commands"]), (["s".into(), "user".into(), "idle".into()], &1.into()));
    check(&home, &["sessions", "end", "s"], "", "[session \"s\" ended]\n", 0);
    for heard in ["heard look", "heard look", "heard look", "heard end-session"] {
        keeper.says(heard);
    }
    keeper.wait();
    let nothing = format!("[no sessions in {}]\n", home.state().join("sessions").display());
    check(&home, &["sessions", "list"], "", &nothing, 0);
}

#[test]
fn a_job_of_a_newer_version_is_listed_as_such_and_stopped() {
    let home = Home::new(BASHFUL);
    let mut keeper = OtherKeeper::of_job(&home, "newer");
    let (table, _, _) = run(&home, &["jobs", "list"]);
    assert!(
        table.contains("running, started by a newer bashful") && table.contains("[written by a newer bashful]"),
        "{table}"
    );
    let job = &json(&home, &["jobs", "list", "--json"])[0];
    assert_eq!((&job["status"], &job["live"], &job["protocol"]), (&"unknown".into(), &true.into(), &9.into()));
    let (shown, notes, _) = run(&home, &["jobs", "show", "1"]);
    assert_eq!(shown, "begun\n");
    assert!(notes.contains("started by a newer bashful (protocol version 9, this one speaks up to 2)"), "{notes}");
    std::fs::write(home.state().join("jobs/1/input"), "").expect("a file in place of a pipe");
    let (_, refused, code) = run(&home, &["jobs", "send", "--eof", "1"]);
    assert!(
        refused.contains("newer bashful (protocol version 9") && refused.contains("bashful jobs kill 1"),
        "{refused}"
    );
    assert_eq!(code, Some(125));
    for heard in ["heard hello", "heard nonsense"] {
        keeper.says(heard);
    }
    let ended = "ended; only the newer bashful that started it knows how";
    check(&home, &["jobs", "kill", "1"], "", &format!("[job 1: {ended}]\n"), 0);
    // The keeper is told to stop by the order that never changes.
    for heard in ["heard hello", "heard stop"] {
        keeper.says(heard);
    }
    keeper.wait();
    check(&home, &["jobs", "wait", "1"], &format!("job 1: {ended}\n"), "", 1);
    let age = "BASHFUL_JOBS_AGE_DAYS"; // so that every job is too old
    let swept = home.command(&["jobs", "sweep"]).env(age, "0.0000001").output().expect("it runs");
    assert_eq!(String::from_utf8_lossy(&swept.stdout), "0 jobs removed\n", "{swept:?}");
    check(&home, &["jobs", "rm", "1"], "", "[job 1 removed]\n", 0);
    assert!(!home.state().join("jobs/1").exists());
}

#[test]
fn a_job_of_a_newer_version_is_waited_for_without_its_reports_being_misread() {
    let home = Home::new(BASHFUL);
    let mut keeper = OtherKeeper::of_job(&home, "newer");
    let waiter = home.start(&["jobs", "wait", "1"]);
    keeper.says("heard hello");
    keeper.tell("end");
    keeper.wait();
    let ended = waiter.wait_with_output().expect("it ends");
    assert_eq!(
        (String::from_utf8_lossy(&ended.stdout).as_ref(), ended.status.code()),
        ("job 1: ended; only the newer bashful that started it knows how\n", Some(1))
    );
}

#[test]
fn a_session_of_a_newer_version_is_not_used_but_ended() {
    let home = Home::new(BASHFUL);
    // The directory that the session has for this program.
    assert_eq!(run(&home, &["run", "--session", "s", "true"]).2, Some(0));
    let sessions = home.state().join("sessions");
    let place = std::fs::read_dir(&sessions).expect("there").next().expect("one").expect("readable").path();
    assert_eq!(run(&home, &["sessions", "end", "s"]).2, Some(0));
    assert!(eventually(|| !place.join("control").exists()));
    let keeper = OtherKeeper::of_session(&home, &place, "newer");
    let (stdout, refused, code) = run(&home, &["run", "--session", "s", "echo ran"]);
    assert_eq!((stdout.as_str(), code), ("", Some(125)));
    assert!(refused.contains("session \"s\" belongs to a newer bashful (protocol version 9"), "{refused}");
    assert!(refused.contains("nothing was run"), "{refused}");
    let (_, listed, _) = run(&home, &["sessions", "list"]);
    assert!(listed.contains("[session \"s\" belongs to a newer bashful (protocol version 9)"), "{listed}");
    let facts = &json(&home, &["sessions", "list", "--json"])[0];
    assert_eq!((&facts["name"], &facts["protocol"]), (&"s".into(), &9.into()));
    check(&home, &["sessions", "end", "s"], "", "[session \"s\" ended]\n", 0);
    keeper.wait();
    let nothing = format!("[no sessions in {}]\n", sessions.display());
    check(&home, &["sessions", "list"], "", &nothing, 0);
    assert!(place.join("about.json").exists(), "a newer record is left alone");
}

#[test]
fn lines_of_the_log_are_read_up_to_this_version_and_newer_ones_are_counted() {
    let home = Home::new(BASHFUL);
    let log = home.state().join("log");
    make(&home.state(), &log);
    let old = std::fs::read_to_string(fixtures("0.1").join("commands.jsonl")).expect("it was recorded");
    let newer = "{\"version\": 2, \"argv\": [\"true\"]}\n";
    std::fs::write(log.join("commands.jsonl"), format!("{old}{newer}")).expect("a log");
    let (shown, notes, code) = run(&home, &["log"]);
    assert_eq!((shown.lines().count(), code), (old.lines().count(), Some(0)), "{shown}");
    assert!(shown.lines().all(|line| !line.contains('?')), "{shown}");
    assert_eq!(notes, "[left out 1 line, written by a newer bashful]\n");
}

#[test]
fn an_installation_of_a_newer_version_is_left_to_that_one() {
    let home = Home::new(BASHFUL);
    assert_eq!(run(&home, &["mcp", "install", "cursor", "--yes"]).2, Some(0));
    let path = home.state().join("installed/cursor.json");
    let record = std::fs::read_to_string(&path).expect("a record");
    std::fs::write(&path, record.replace("\"version\": 1", "\"version\": 2")).expect("it is written");
    let (_, refused, code) = run(&home, &["mcp", "install", "cursor", "--yes", "--remove"]);
    assert!(refused.contains("was written by a newer bashful; use that one"), "{refused}");
    assert_eq!(code, Some(125));
    assert!(home.path().join(".cursor/mcp.json").exists());
    std::fs::write(&path, record).expect("it is written");
    assert_eq!(run(&home, &["mcp", "install", "cursor", "--yes", "--remove"]).2, Some(0));
    assert!(!home.path().join(".cursor/mcp.json").exists() && !path.exists());
}
