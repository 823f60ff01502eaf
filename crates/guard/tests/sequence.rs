//! Scripts as sequences of commands.

use bashful_guard::Sequence;

#[track_caller]
fn check(script: &str, expected: &[&str]) {
    let sequence = Sequence::of(script).unwrap_or_else(|| panic!("{script:?} is a sequence"));
    let lines: Vec<String> = sequence.commands.iter().map(|command| command.words.join(" ")).collect();
    assert_eq!(lines, expected, "{script:?}");
}

#[test]
fn programs_that_run_another_one_are_left_out() {
    check("cargo test", &["cargo test"]);
    check("env A=1 cargo test", &["cargo test"]);
    check("A=1 timeout 60 npm test", &["npm test"]);
    check("sudo -u bob nice -n 5 make -j4", &["make -j4"]);
    check("npx --yes jest --ci", &["jest --ci"]);
    check("uv run pytest -q", &["pytest -q"]);
    check("/usr/bin/env python3 -m pytest", &["python3 -m pytest"]);
    check("time cargo build", &["cargo build"]);
    check("./gradlew build", &["gradlew build"]);
    check("bundle exec rspec", &["rspec"]);
}

#[test]
fn lists_are_told_command_by_command() {
    check("cd x && cargo test", &["cd x", "cargo test"]);
    check("set -e\nexport A=1\nmake; echo done", &["set -e", "export", "make", "echo done"]);
    check("X=test; cargo $X || true", &["cargo test", "true"]);
    check("cd x || exit 1; make", &["cd x", "exit 1", "make"]);
}

#[test]
fn assigned_names_are_told() {
    let sequence = Sequence::of("A=1; B=2 env C=3 make D=4; export E=5 F; make --eval=x").expect("commands");
    assert_eq!(sequence.assigned, ["A", "B", "C", "D", "E"]);
}

#[test]
fn redirections_that_leave_the_output_are_passed() {
    check("make 2>&1", &["make"]);
    check("find . 2>/dev/null < /dev/null", &["find ."]);
    check("python3 - <<'E'\nprint()\nE", &["python3 -"]);
}

#[test]
fn output_that_goes_elsewhere_is_not_told() {
    for script in [
        "make | tail",
        "make > log",
        "make 2> log",
        "make &> log",
        "make >&2",
        "make &",
        "! make",
        "(make)",
        "{ make; }",
        "for i in 1 2; do make; done",
        "if make; then ls; fi",
        "f() { make; }; f",
        "coproc make",
        "make 'open",
        "make\r",
    ] {
        assert_eq!(Sequence::of(script), None, "{script:?}");
    }
}

#[test]
fn a_script_inside_of_a_script_is_not_unwrapped() {
    check("bash -c 'make; ls'", &["bash -c make; ls"]);
    check("find . -exec ls -R {} +", &["find . -exec ls -R {} +"]);
    check("find . -exec pwd ';'", &["find . -exec pwd ;"]);
}

#[test]
fn a_word_that_may_be_an_option_is_vague() {
    let is_vague =
        |script: &str| Sequence::of(script).expect("it is one").commands.iter().any(|command| command.is_vague);
    assert!(is_vague("cargo test $UNSET_BY_ME") && is_vague("ls -R \"$(x)\""));
    assert!(!is_vague("pytest tests/*.py *.py") && !is_vague("make -C \"a$b\"") && !is_vague("ls -R ~/x"));
}
