//! `bashful artifacts` as a person or a script meets it.

use std::path::PathBuf;
use std::process::{Command, Output, Stdio};

use bashful_engine::{ArtifactLimits, ArtifactStore, ByteSize};
use serde_json::Value;
use tempfile::TempDir;

/// A home of its own for one test.
struct Home(TempDir);

impl Home {
    fn new() -> Self {
        Self(TempDir::with_prefix("bashful-home-").expect("a temporary directory"))
    }

    fn directory(&self) -> PathBuf {
        self.0.path().join(".local/state/bashful/artifacts")
    }

    fn store(&self) -> ArtifactStore {
        let limits = ArtifactLimits { one: ByteSize::kib(64), ..ArtifactLimits::default() };
        ArtifactStore::new(self.directory(), limits)
    }

    fn keep(&self, bytes: &[u8]) {
        self.store().create().expect("it is made").push(bytes).expect("it is written");
    }

    fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_bashful"));
        command.arg("artifacts").args(args).env_clear().env("HOME", self.0.path()).stdin(Stdio::null());
        command
    }

    fn run(&self, args: &[&str]) -> Output {
        self.command(args).output().expect("it runs")
    }

    fn json(&self, args: &[&str]) -> Value {
        let output = self.run(args);
        serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}: {output:?}"))
    }

    /// Runs arguments and compares standard output, standard error and exit code.
    #[track_caller]
    fn check(&self, args: &[&str], stdout: &str, stderr: &str, code: i32) {
        let output = self.run(args);
        let said = (text(&output.stdout), text(&output.stderr), output.status.code());
        assert_eq!(said, (stdout.to_owned(), stderr.to_owned(), Some(code)), "{args:?}");
    }

    /// Runs arguments that are wrong.
    #[track_caller]
    fn check_wrong(&self, args: &[&str], said: &str) {
        let output = self.run(args);
        assert!(text(&output.stderr).contains(said), "{args:?}: {}", text(&output.stderr));
        assert_eq!((text(&output.stdout), output.status.code()), (String::new(), Some(125)), "{args:?}");
    }
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[test]
fn an_artifact_is_shown_whole_or_in_part() {
    let home = Home::new();
    home.keep(b"one\ntwo\nthree\nfour");
    home.check(&["show", "1"], "one\ntwo\nthree\nfour", "", 0);
    home.check(&["show", "artifact://1"], "one\ntwo\nthree\nfour", "", 0);
    home.check(&["show", "1", "--lines", "2-3"], "two\nthree\n", "", 0);
    home.check(&["show", "1", "--lines", "3-"], "three\nfour", "", 0);
    home.check(&["show", "1", "--lines", "4-9"], "four", "", 0);
    home.check(&["show", "1", "--lines", "5-9"], "", "[the artifact ends with line 4]\n", 0);
    home.check(&["show", "1", "--bytes", "2-5"], "e\nt", "", 0);
    home.check(&["show", "1", "--head", "1"], "one\n", "", 0);
    home.check(&["show", "1", "--tail", "2"], "three\nfour", "", 0);
    home.check(&["show", "1", "--grep", "^t|OUR"], "2:two\n3:three\n", "", 0);
    home.check(&["show", "1", "--grep", "(?i)OUR"], "4:four\n", "", 0);
    home.check(&["show", "1", "--grep", "nowhere"], "", "", 1);
}

#[test]
fn what_is_not_text_is_shown_as_it_is() {
    let home = Home::new();
    let raw: Vec<u8> = (0..=255).cycle().take(10_000).collect();
    home.keep(&raw);
    assert!(home.run(&["show", "1"]).stdout == raw);
}

#[test]
fn what_is_missing_is_said_and_never_shown() {
    let home = Home::new();
    let mut writer = home.store().create().expect("it is made");
    (0..100_000).for_each(|line| writer.push(format!("line {line}\n").as_bytes()).expect("it is written"));
    let gap = writer.facts().missing[0].range.clone();
    drop(writer);
    let shown = text(&home.run(&["show", "1"]).stdout);
    let notice = format!("\n[bytes {}-{} are missing: the artifact was larger than its limit]\n", gap.start, gap.end);
    assert_eq!(shown.matches(&notice).count(), 1);
    assert!(!shown.contains('\0') && shown.starts_with("line 0\n") && shown.ends_with("line 99999\n"));
    home.check(&["show", "1", "--tail", "1"], "line 99999\n", "", 0);
    let behind = text(&home.run(&["show", "1", "--lines", "5000-5001"]).stdout);
    assert!(
        behind.starts_with("[lines are counted without the bytes that are missing before them]\nline "),
        "{behind}"
    );
    let listed = home.json(&["list", "--json"]);
    assert_eq!(listed[0]["missing"][0]["bytes"], serde_json::json!([gap.start, gap.end]));
    assert!(text(&home.run(&["list"]).stdout).contains("are missing"));
}

#[test]
fn what_cannot_be_shown_is_said_and_is_125() {
    let home = Home::new();
    home.check(&["show", "1"], "", "bashful: there has never been an artifact 1\n", 125);
    home.keep(b"x");
    home.check(&["rm", "1"], "", "[artifact 1 removed]\n", 0);
    home.check(&["show", "1"], "", "bashful: artifact 1 was removed\n", 125);
    home.check(&["path", "1"], "", "bashful: artifact 1 was removed\n", 125);
    home.check_wrong(&["show", "seven"], "\"seven\" is not an artifact: give a number as in `7` or `artifact://7`");
    home.check_wrong(&["show", "../1"], "is not an artifact");
    home.check_wrong(&["show", "1", "--lines", "0-5"], "lines are counted from 1");
    home.check_wrong(&["show", "1", "--lines", "5-1"], "it ends before it begins");
    home.check_wrong(&["show", "1", "--bytes", "x"], "write a range as in `10-20`");
    home.check_wrong(&["show", "1", "--grep", "("], "unclosed group");
    home.check_wrong(&["show", "1", "--head", "1", "--tail", "1"], "cannot be used with");
    home.check_wrong(&["rm"], "<ID>");
}

#[test]
fn a_reader_that_has_seen_enough_is_no_failure() {
    let home = Home::new();
    home.keep(&vec![b'x'; 60_000]);
    for args in [&["show", "1"][..], &["show", "1", "--tail", "1"], &["show", "1", "--grep", "x"]] {
        let mut command = home.command(args);
        let (reader, writer) = std::io::pipe().expect("a pipe");
        drop(reader);
        let output = command.stdout(writer).stderr(Stdio::piped()).output().expect("it runs");
        assert_eq!((text(&output.stderr), output.status.code()), (String::new(), Some(0)), "{args:?}");
    }
}

#[test]
fn a_disk_that_is_full_where_it_is_shown_is_a_failure() {
    let home = Home::new();
    home.keep(b"x");
    let full = std::fs::File::options().write(true).open("/dev/full").expect("it opens");
    let output = home.command(&["show", "1"]).stdout(full).stderr(Stdio::piped()).output().expect("it runs");
    assert!(text(&output.stderr).starts_with("bashful: cannot write out the artifact: No space left"), "{output:?}");
    assert_eq!(output.status.code(), Some(125));
}

#[test]
fn the_list_says_what_there_is_and_what_is_in_use() {
    let home = Home::new();
    let nothing = format!("[no artifacts in {}]\n", home.directory().display());
    home.check(&["list"], "", &nothing, 0);
    home.check(&["list", "--json"], "[]\n", "", 0);
    home.keep(b"done");
    let mut writer = home.store().create().expect("it is made");
    writer.push(b"at it").expect("it is written");
    let list = home.json(&["list", "--json"]);
    let entry = |at: usize, key: &str| list[at][key].clone();
    assert_eq!([entry(0, "uri"), entry(1, "uri")], ["artifact://1", "artifact://2"]);
    assert_eq!([entry(0, "bytes"), entry(1, "bytes")], [4, 5]);
    assert_eq!([entry(0, "in_use"), entry(1, "in_use")], [false, true]);
    let said = text(&home.run(&["list"]).stdout);
    assert!(
        said.lines().last().is_some_and(|line| line.starts_with("artifact://2 ") && line.ends_with("in use")),
        "{said}"
    );
    let path = home.directory().join("2");
    home.check(&["path", "2"], &format!("{}\n", path.display()), "", 0);
    home.check(
        &["rm", "2", "1", "3"],
        "",
        "bashful: artifact 2 is still being written\n[artifact 1 removed]\nbashful: there has never been an artifact 3\n",
        125,
    );
    assert_eq!(home.json(&["list", "--json"]).as_array().map(Vec::len), Some(1));
}

#[test]
fn sweeping_goes_by_the_settings() {
    let home = Home::new();
    home.keep(b"x");
    home.keep(b"y");
    home.check(&["sweep"], "0 artifacts removed, 0B freed\n", "", 0);
    let output =
        home.command(&["sweep", "--json"]).env("BASHFUL_ARTIFACTS_STORE_BYTES", "0").output().expect("it runs");
    let report: Value = serde_json::from_slice(&output.stdout).expect("it is JSON");
    assert_eq!(report["removed"], serde_json::json!([1, 2]));
    home.check(&["sweep"], "0 artifacts removed, 0B freed\n", "", 0);
    let output = home.command(&["sweep"]).env("BASHFUL_ARTIFACTS_AGE_DAYS", "0").output().expect("it runs");
    assert!(text(&output.stderr).contains("0 is not a number of days above 0"), "{output:?}");
    assert_eq!(output.status.code(), Some(125));
}

#[test]
fn a_program_that_runs_one_command_sweeps_when_that_is_due() {
    let home = bashful_testkit::Home::new(env!("CARGO_BIN_EXE_bashful"));
    for _ in 0..3 {
        let mut command = home.command(&["run", "--json", "seq 40000"]);
        let output = command.env("BASHFUL_ARTIFACTS_STORE_BYTES", "0").output().expect("it runs");
        assert!(output.status.success(), "{output:?}");
    }
    let listed = home.run(&["artifacts", "list", "--json"]).stdout;
    let listed: Value = serde_json::from_slice(&listed).expect("it is JSON");
    assert_eq!((listed.as_array().map(Vec::len), &listed[0]["id"]), (Some(1), &3.into()));
}

#[test]
fn without_a_home_it_is_said_what_is_lacking() {
    let output = Home::new().command(&["list"]).env_remove("HOME").output().expect("it runs");
    assert_eq!(text(&output.stderr), "bashful: artifacts need a state directory: set XDG_STATE_HOME or HOME\n");
    assert_eq!(output.status.code(), Some(125));
}
