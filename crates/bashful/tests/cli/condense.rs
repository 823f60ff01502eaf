//! `bashful condense`: outputs made shorter, by the filters of the program and of the user.

use std::fmt::Write as _;
use std::io::Write as _;
use std::process::{Output, Stdio};

use bashful_testkit::Home;

use crate::BASHFUL;

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Condenses an output that a script wrote.
fn condense(home: &Home, args: &[&str], output: &[u8]) -> Output {
    let mut command = home.command(&[&["condense"], args].concat());
    let mut child =
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it starts");
    // A program that does not read may be gone already.
    let _ = child.stdin.take().expect("a pipe").write_all(output);
    child.wait_with_output().expect("it ends")
}

/// An output of `cargo test` with many tests that pass, and one that fails.
fn cargo_test() -> String {
    let mut output = String::from("running 41 tests\n");
    for number in 0..40 {
        writeln!(output, "test money::splits_{number} ... ok").expect("a string takes everything");
    }
    output + "test parse::letters ... FAILED\n\ntest result: FAILED. 40 passed; 1 failed; 0 ignored\n"
}

const SHORT: &str = "running 41 tests\ntest parse::letters ... FAILED\n\n\
                     test result: FAILED. 40 passed; 1 failed; 0 ignored\n[left out: passing tests (40 lines)]\n";

#[test]
fn a_known_output_gets_shorter_and_says_so() {
    let home = Home::new(BASHFUL);
    let output = condense(&home, &["--command", "cd x && cargo test", "--status", "101"], cargo_test().as_bytes());
    assert_eq!((text(&output.stdout).as_str(), text(&output.stderr).as_str()), (SHORT, ""));
    assert_eq!(output.status.code(), Some(0));
}

#[test]
fn verbose_tells_sizes_and_lines() {
    let home = Home::new(BASHFUL);
    let args = ["--command", "cargo test", "--status", "101", "--verbose"];
    let output = condense(&home, &args, cargo_test().as_bytes());
    let said = "1.2KB -> 138B, about 313 -> 35 tokens: 89 % saved\nleft out: passing tests (40 lines)\n";
    assert_eq!((text(&output.stdout).as_str(), text(&output.stderr).as_str()), (SHORT, said));
    let output = condense(&home, &["--command", "cat log", "--verbose"], b"a\n");
    assert_eq!(text(&output.stderr), "2B -> 2B, about 1 -> 1 tokens: 0 % saved\nunchanged\n");
}

#[test]
fn everything_else_stays_byte_for_byte() {
    let home = Home::new(BASHFUL);
    let output = cargo_test();
    for script in
        ["cargo test | tail -n 50", "cargo test > log", "cat log", "cargo test -- --format json", "cargo 'open"]
    {
        let condensed = condense(&home, &["--command", script, "--status", "101"], output.as_bytes());
        assert_eq!(text(&condensed.stdout), output, "{script}");
    }
    // Failed, and the rest would not say why.
    let passing = output.replace("FAILED", "ok").replace("1 failed", "0 failed");
    let condensed = condense(&home, &["--command", "cargo test", "--status", "101"], passing.as_bytes());
    assert_eq!(text(&condensed.stdout), passing);
    let bytes = [output.as_bytes(), b"\xFF\n"].concat();
    assert_eq!(condense(&home, &["--command", "cargo test"], &bytes).stdout, bytes);
}

const OWN: &str = r#"
family = "own"
[[filter]]
name = "deploy"
commands = ["deploy push"]
shape = ['^deployed \d+ files$']
[[filter.rule]]
do = "drop"
label = "uploads"
lines = ['^uploaded \S+$']
[[filter.example]]
command = "deploy push"
input = "uploaded a\ndeployed 1 files\n"
output = "deployed 1 files\n"
"#;

#[test]
fn filters_of_the_user_are_checked_when_they_are_loaded() {
    let home = Home::new(BASHFUL);
    let directory = home.path().join(".config/bashful");
    std::fs::create_dir_all(&directory).expect("a directory");
    let file = directory.join("filters.toml");
    std::fs::write(&file, OWN).expect("a file");
    let output = "uploaded src/main.rs\n".repeat(40) + "deployed 40 files\n";
    let condensed = condense(&home, &["--command", "./deploy push"], output.as_bytes());
    assert_eq!(text(&condensed.stdout), "deployed 40 files\n[left out: uploads (40 lines)]\n");
    for (wrong, why) in [
        (OWN.replace("deployed 1 files\\n\"\n", "nothing\\n\"\n"), "line 12: filter deploy: example 1 gives"),
        (
            OWN.replace(r"^uploaded \S+$", ".*"),
            "line 4: filter deploy: the rule \"uploads\" names too much: it takes \"\"",
        ),
        (OWN.replace("label", "lable"), "at line 9, column 1"),
    ] {
        std::fs::write(&file, wrong).expect("a file");
        let condensed = condense(&home, &["--command", "./deploy push"], output.as_bytes());
        let said = text(&condensed.stderr);
        assert_eq!((text(&condensed.stdout).as_str(), condensed.status.code()), ("", Some(125)), "{said}");
        assert!(said.contains("filters.toml") && said.contains(why), "{said}");
    }
}

#[test]
fn the_settings_choose_filters_here_too() {
    let home = Home::new(BASHFUL);
    let file = home.path().join("settings.toml");
    let condense_with = |only: &str| {
        std::fs::write(&file, format!("[condense]\nonly = [\"{only}\"]\n")).expect("a file");
        let path = file.to_str().expect("text");
        let mut command = home.command(&["--config", path, "condense", "--command", "cargo test", "--status", "101"]);
        let mut child =
            command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it starts");
        let _ = child.stdin.take().expect("a pipe").write_all(cargo_test().as_bytes());
        child.wait_with_output().expect("it ends")
    };
    assert_eq!(text(&condense_with("tests").stdout), SHORT);
    assert_eq!(text(&condense_with("builds").stdout), cargo_test(), "the tests of cargo are no build");
    let wrong = condense_with("nope");
    let said = "`[condense] only` in the settings: there is no filter and no family \"nope\"";
    assert!(wrong.status.code() == Some(125) && text(&wrong.stderr).contains(said), "{}", text(&wrong.stderr));
}
