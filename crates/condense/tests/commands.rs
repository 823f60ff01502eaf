//! The commands that are condensed, and those that are left alone.

use std::fmt::Write as _;

use bashful_condense::{Condensed, Condenser, Selection};
use bashful_guard::Sequence;

/// An output of `cargo test` that is mostly passing tests, behind some lines.
fn cargo_test(before: &str) -> String {
    let mut output = format!("{before}running 40 tests\n");
    for number in 0..40 {
        writeln!(output, "test money::splits_{number} ... ok").expect("a string takes everything");
    }
    output + "\ntest result: ok. 40 passed; 0 failed; 0 ignored\n"
}

fn shortened(condenser: &Condenser, script: &str, output: &str, status: Option<i32>) -> Option<String> {
    match condenser.condense(&Sequence::of(script)?, output, status) {
        Condensed::Shorter { text, .. } => Some(text),
        Condensed::Unchanged => None,
    }
}

#[track_caller]
fn check(script: &str, is_condensed: bool) {
    let got = shortened(&Condenser::default(), script, &cargo_test(""), Some(0));
    assert_eq!(got.is_some(), is_condensed, "{script}");
}

#[test]
fn a_command_is_known_however_it_is_started() {
    for script in [
        "cargo test",
        "cd x && cargo test",
        "env A=1 cargo test",
        "A=1 timeout 60 cargo test --workspace 2>&1",
        "cargo +nightly --locked test -p ledger",
        "cargo --manifest-path x/Cargo.toml test",
        "sudo -u dev nice -n 5 cargo test",
        "X=test; cargo $X",
        "set -e; export RUST_BACKTRACE=1; cargo test || exit 1",
        "time cargo test",
    ] {
        check(script, true);
    }
}

#[test]
fn lists_are_condensed_if_every_command_is_known() {
    check("cargo build && cargo test", true);
    check("cargo test; echo \"exit code: $?\"", true);
    check("cargo fmt --check && cargo test", true);
    check("cargo test; cat log", false);
    check("cargo test && ./deploy", false);
    // The echo may be taken for a passing test.
    check("cargo test; echo 'test fake ... ok'", false);
    check("cargo test; find .", false);
}

#[test]
fn everything_else_is_left_alone() {
    for script in [
        "cargo test | tail -n 50",
        "cargo test > log",
        "cargo test 2> log",
        "cargo test &",
        "! cargo test",
        "(cargo test)",
        "for i in 1 2; do cargo test; done",
        "echo \"$(cargo test)\"",
        "bash -c 'cargo test; ls'",
        "cargo test -- -Z unstable-options --format=json",
        "cargo test --message-format json",
        "cargo test --help",
        "cargo test $FLAGS",
        "cargo tree",
        "cargo metadata",
        "./cargo-test",
        "cat cargo test",
        "grep -r 'test result' .",
        "git diff",
        "",
    ] {
        check(script, false);
    }
}

#[test]
fn npm_scripts_are_known_by_the_shape_of_their_output() {
    let mut output = String::from("\n> shop@1.0.0 test\n> jest\n\nPASS a.test.js\n");
    for number in 0..40 {
        writeln!(output, "  ✓ adds {number} (1 ms)").expect("a string takes everything");
    }
    output.push_str("\nTests:       40 passed, 40 total\n");
    let condenser = Condenser::default();
    for script in ["npm test", "npm run test:unit", "yarn test", "timeout 60 npm test -- --ci", "npx jest"] {
        let text = shortened(&condenser, script, &output, Some(0)).expect(script);
        assert_eq!(text, "\n> shop@1.0.0 test\n> jest\n\nTests:       40 passed, 40 total\n", "{script}");
    }
    assert_eq!(shortened(&condenser, "npm run build", &output, Some(0)), None);
}

#[test]
fn a_command_that_was_stopped_is_left_alone() {
    assert_eq!(shortened(&Condenser::default(), "cargo test", &cargo_test(""), None), None);
}

#[test]
fn a_failure_without_an_error_in_the_result_is_left_alone() {
    let condenser = Condenser::default();
    assert_eq!(shortened(&condenser, "cargo test", &cargo_test(""), Some(101)), None);
    assert!(shortened(&condenser, "cargo test", &cargo_test("error: it failed\n"), Some(101)).is_some());
}

#[test]
fn data_is_left_alone() {
    for start in ["{\"a\": 1}\n", "[\n  {\n", "<testsuite>\n", "[\"x\"]\n"] {
        let output = cargo_test(start) + "</testsuite>\n";
        assert_eq!(shortened(&Condenser::default(), "cargo test", &output, Some(0)), None, "{start}");
    }
}

#[test]
fn other_ends_of_lines_are_no_reason_to_change_an_output() {
    let output = "a short line\r\n".repeat(100);
    assert_eq!(shortened(&Condenser::default(), "make", &output, Some(0)), None);
    let windows = cargo_test("").replace('\n', "\r\n");
    let unix = shortened(&Condenser::default(), "cargo test", &cargo_test(""), Some(0));
    assert_eq!(shortened(&Condenser::default(), "cargo test", &windows, Some(0)), unix);
}

#[test]
fn a_user_chooses_filters_by_name_or_family() {
    let with = |only: &[&str], except: &[&str]| {
        let names = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
        let condenser = Condenser::new(Selection { only: names(only), except: names(except) });
        shortened(&condenser, "cargo test", &cargo_test(""), Some(0)).is_some()
    };
    assert!(with(&[], &[]) && with(&["cargo-test"], &[]) && with(&["builds", "tests"], &["git"]));
    assert!(!with(&["git"], &[]) && !with(&[], &["cargo-test"]) && !with(&["builds"], &["builds"]));
}

#[test]
fn a_filter_of_the_user_takes_the_place_of_another() {
    let text = r#"
        family = "own"
        [[filter]]
        name = "cargo-test"
        commands = ["cargo test"]
        shape = ['^running \d+ tests$']
        [[filter.rule]]
        do = "drop"
        label = "headings"
        lines = ['^running \d+ tests$']
        [[filter.example]]
        command = "cargo test"
        input = "running 2 tests\n"
        output = ""
    "#;
    let mut condenser = Condenser::default();
    condenser.add_filters(text).expect("it can be used");
    let output = "running 1 tests\n".repeat(30) + &cargo_test("");
    let text = shortened(&condenser, "cargo test", &output, Some(0)).expect("it is shorter");
    assert!(text.contains("splits_7 ... ok") && !text.contains("running"), "{text}");
}
