//! Nothing in a script, a path or a label reaches a person as more than text.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStringExt;

use bashful_testkit::Home;

use crate::BASHFUL;

/// A color, a sequence that begins with one C1 control, a change of direction, and a space of no width.
const TRICKS: &str = "\u{1b}[31m\u{9b}31m\u{202e}\u{2066}\u{200b}";

/// Characters that a terminal obeys, or does not draw.
#[track_caller]
fn check_seen(what: &OsStr, said: &[u8]) {
    let said = String::from_utf8(said.to_vec()).unwrap_or_else(|error| panic!("{}: {error}", what.display()));
    let is_trick =
        |char: char| (char.is_control() && !"\n\t".contains(char)) || TRICKS[1..].contains(char) && !char.is_ascii();
    assert!(!said.contains(is_trick), "{}: {said:?}", what.display());
}

#[track_caller]
fn check(home: &Home, args: &[&str], variables: &[(&str, &str)]) {
    let output = home.command(args).envs(variables.iter().copied()).output().expect("it runs");
    let said = [output.stdout, output.stderr].concat();
    assert!(!said.is_empty(), "{args:?} says nothing");
    check_seen(OsStr::new(&format!("{args:?}")), &said);
}

#[test]
fn escapes_in_arguments_scripts_and_paths_are_shown_as_text() {
    let home = Home::new(BASHFUL);
    let tricky = |before: &str| format!("{before}{TRICKS}");
    let (script, refused, nowhere) = (tricky("echo hi >/dev/null # "), tricky("git push -f # "), tricky("/nowhere"));
    for args in [
        &["explain", &script][..],
        &["explain", &refused],
        &["check", &refused],
        &["run", &refused],
        &["allow", &refused],
        &["run", "--cwd", &nowhere, "true"],
        &["run", "--dialect", "native", "--cwd", &nowhere, "true"],
        &["check", "--cwd", &nowhere, "true"],
        &["run", "--mode", &tricky("x"), "true"],
        &["run", &tricky("--x"), "true"],
        &["run", "--session", &tricky("x"), "true"],
        &["run", "--env", &tricky("x"), "true"],
        &[&tricky("x")],
        &["jobs", "show", &tricky("x")],
        &["jobs", "kill", "--signal", &tricky("x"), "1"],
        &["artifacts", "show", &tricky("x")],
        &["sessions", "end", &tricky("x")],
        &["log", "--since", &tricky("x")],
        &["--config", &nowhere, "config"],
        &["doctor", "--client", &tricky("x")],
        &["mcp", "install", "claude", "--dry-run", "--cwd", &nowhere],
    ] {
        check(&home, args, &[]);
    }
    let prefix = tricky("env A=");
    for args in [&["config"][..], &["explain", "true"]] {
        check(&home, args, &[("BASHFUL_SHELL_PREFIX", &prefix), (&tricky("NAME"), TRICKS)]);
    }
    check(&home, &["run", "true"], &[("BASHFUL_SHELL_PATH", &nowhere)]);
}

#[test]
fn a_byte_that_is_no_text_does_not_reach_a_person() {
    let home = Home::new(BASHFUL);
    let raw = |before: &str| OsString::from_vec([before.as_bytes(), b"\x9b31m"].concat());
    let (path, word) = (raw("/nowhere"), raw("x"));
    for args in [
        [OsStr::new("run"), OsStr::new("--cwd"), &path, OsStr::new("true")],
        [OsStr::new("jobs"), OsStr::new("show"), OsStr::new("--since"), &word],
        [OsStr::new("run"), OsStr::new("--env"), &word, OsStr::new("true")],
        [OsStr::new("explain"), OsStr::new("--env"), OsStr::new("A=1"), &raw("echo ")],
    ] {
        let output = home.run(&args);
        check_seen(args[2], &[output.stdout, output.stderr].concat());
    }
}

#[test]
fn labels_in_lists_and_in_the_log_are_shown_as_text() {
    let home = Home::new(BASHFUL);
    let script = format!("echo hi # {TRICKS}");
    check(&home, &["run", "--mode", "background", &script], &[]);
    for args in [&["jobs", "wait", "1"][..], &["jobs", "list"], &["jobs", "show", "1"], &["log"]] {
        check(&home, args, &[]);
    }
    let directory = home.path().join(format!("d{TRICKS}"));
    std::fs::create_dir(&directory).expect("a directory");
    home.run(&["run", "--session", "s", "cd d*"]);
    check(&home, &["sessions", "list"], &[]);
    home.run(&["sessions", "end", "s"]);
    let state = [("XDG_STATE_HOME", directory.to_str().expect("text"))];
    for args in [&["jobs", "list"][..], &["artifacts", "list"], &["sessions", "list"], &["log"]] {
        check(&home, args, &state);
    }
    let left = format!(
        "(exec -a 'a{TRICKS}' sleep 1000) & until grep -q 1000 /proc/$!/cmdline && ! grep -q exec /proc/$!/cmdline; do :; done"
    );
    check(&home, &["run", &left], &[]);
    home.run(&["jobs", "kill", "2"]);
    home.check_nothing_survives();
    let listed = home.run(&["jobs", "list", "--json"]);
    assert!(String::from_utf8_lossy(&listed.stdout).contains('\u{202e}'), "JSON stays data");
}

/// The bytes that a program writes to a terminal.
fn typescript(home: &Home, line: &str) -> Vec<u8> {
    let file = home.path().join("typescript");
    let args = ["-q", "-e", "-c", line, file.to_str().expect("text")];
    let output = home.wrapped("script", &args).output().expect("script");
    assert!(output.status.success(), "{output:?}");
    std::fs::read(file).expect("it was written")
}

#[test]
fn a_terminal_gets_no_raw_control_bytes_in_output() {
    let home = Home::new(BASHFUL);
    let written = typescript(&home, &format!("{BASHFUL} run \"printf 'a\\\\233b\\\\302\\\\233c\\\\n'\""));
    let has = |text: &str, written: &[u8]| String::from_utf8_lossy(written).contains(text);
    assert!(has("a\u{fffd}bc", &written), "{written:?}");
    assert!(!written.windows(2).any(|pair| pair == b"a\x9b"), "{written:?}");
    home.run(&["run", "--mode", "background", "printf 'a\\233b\\n'"]);
    home.run(&["jobs", "wait", "1"]);
    for action in ["show", "logs"] {
        let written = typescript(&home, &format!("{BASHFUL} jobs {action} 1"));
        assert!(
            has("a\u{fffd}b", &written) && !written.windows(2).any(|pair| pair == b"a\x9b"),
            "{action}: {written:?}"
        );
    }
    let piped = home.run(&["run", "printf 'a\\233b'"]);
    assert_eq!(piped.stdout, b"a\x9bb", "a pipe gets the bytes");
}
