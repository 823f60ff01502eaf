//! Withheld values stay out of all that is said about a command, not only out of its output.

use std::process::Output;

use bashful_testkit::Home;
use serde_json::Value;

use crate::BASHFUL;

const SECRET: &str = "geheim-12345678";
const MASKED: &str = "[withheld: MY_TOKEN]";

/// A home with a directory that is called like a secret.
fn home() -> Home {
    let home = Home::new(BASHFUL);
    std::fs::create_dir(home.path().join(SECRET)).expect("a directory of our own");
    home
}

/// Everything that is said, which never holds the secret nor half of it.
#[track_caller]
fn said(home: &Home, args: &[&str]) -> String {
    let Output { stdout, stderr, .. } = home.command(args).env("MY_TOKEN", SECRET).output().expect("it runs");
    let said = format!("{}{}", String::from_utf8_lossy(&stdout), String::from_utf8_lossy(&stderr));
    assert!(!said.contains("geheim"), "{args:?}: {said}");
    said
}

#[track_caller]
fn facts(home: &Home, args: &[&str]) -> Value {
    serde_json::from_str(&said(home, args)).expect("JSON")
}

fn masked_directory(home: &Home) -> String {
    home.path().join(MASKED).to_string_lossy().into_owned()
}

#[test]
fn notices_of_what_was_rewritten_do_not_show_them() {
    let home = home();
    let script = format!("cd {SECRET} && echo hi");
    let notice = format!("`cd {MASKED}` became the working directory");
    for dialect in [&["--dialect", "pi"][..], &[]] {
        let said = said(&home, &[&["run"], dialect, &[&script]].concat());
        assert!(said.contains(&notice), "{said}");
    }
    assert!(said(&home, &["explain", &script]).contains(&format!("notice:      `cd {MASKED}` became")));
    said(&home, &["run", &format!("cat local://$x/{SECRET}")]);
    // Quotes are cut after 200 characters, here in the middle of the secret.
    let said = said(&home, &["run", &format!("cd {}{SECRET} && pwd", "./".repeat(94))]);
    assert!(said.contains(&format!("./{MASKED}…` became")), "{said}");
}

#[test]
fn directories_do_not_show_them() {
    let home = home();
    let script = format!("cd {SECRET} && pwd");
    let directory = masked_directory(&home);
    for dialect in [&["--dialect", "native"], &["--mode", "default"], &["--mode", "background"]] {
        let facts = facts(&home, &[&["run", "--json"], dialect.as_slice(), &[&script]].concat());
        assert_eq!(facts["cwd"], directory, "{dialect:?}: {facts}");
    }
    said(&home, &["jobs", "wait", "1"]);
    assert_eq!(facts(&home, &["jobs", "list", "--json"])[0]["cwd"], directory);
    let log = said(&home, &["log", "--json"]);
    assert_eq!(log.matches(&format!("{{\"cwd\":\"{directory}\",\"command\":\"pwd\"}}")).count(), 3, "{log}");
}

#[test]
fn the_directory_of_a_session_does_not_show_them() {
    let home = home();
    let directory = masked_directory(&home);
    said(&home, &["run", "--session", "s", &format!("cd {SECRET}")]);
    assert_eq!(facts(&home, &["run", "--session", "s", "--json", "true"])["cwd"], directory);
    assert_eq!(facts(&home, &["run", "--dialect", "native", "--session", "s", "--json", "true"])["cwd"], directory);
    assert_eq!(facts(&home, &["sessions", "list", "--json"])[0]["cwd"], directory);
    assert!(said(&home, &["sessions", "list"]).contains(&directory));
    said(&home, &["sessions", "end", "s"]);
    home.check_nothing_survives();
}

#[test]
fn the_label_of_a_job_does_not_show_them_nor_half_of_one() {
    let home = home();
    let started = said(&home, &["run", "--dialect", "pi", "--mode", "background", &format!("echo {SECRET}")]);
    assert!(started.starts_with(&format!("Background job bg_1 started: echo {MASKED}\n")), "{started}");
    // A label is cut after 117 characters.
    let long = format!("echo {} {SECRET}", "0".repeat(104));
    let started = said(&home, &["run", "--dialect", "pi", "--mode", "background", &long]);
    assert!(started.contains("0 [withhe...\n"), "{started}");
    said(&home, &["jobs", "wait", "1", "2"]);
}

#[test]
fn what_the_guard_found_does_not_show_them() {
    let home = home();
    let script = format!("git push -f {SECRET}");
    let found = format!("found: git push -f {MASKED}\n");
    let allow = format!("bashful allow --cwd {} SCRIPT", home.path().display());
    for args in
        [&["check"][..], &["explain"], &["run"], &["run", "--dialect", "native"], &["run", "--mode", "background"]]
    {
        let said = said(&home, &[args, &[&script]].concat());
        assert!(said.contains(&found), "{args:?}: {said}");
        assert_eq!(said.contains(&allow), args != ["explain"], "{args:?}: {said}");
    }
    let pointed = format!("1 | git push -f {MASKED}\n    {}\n", "^".repeat(12 + MASKED.len()));
    assert!(said(&home, &["check", &script]).contains(&pointed));
    for command in ["check", "explain", "run"] {
        assert!(facts(&home, &[command, "--json", &script]).to_string().contains(MASKED));
    }
    // Nor does the line that would allow it, if it is the directory that holds one.
    let inside = said(&home, &["run", "--cwd", SECRET, "git push -f"]);
    assert!(inside.ends_with("bashful allow --cwd DIRECTORY 'git push -f'\n"), "{inside}");
}

#[test]
fn words_of_ours_stay_what_they_are() {
    let home = home();
    // Somebody's password is a word of ours: what programs read is still there.
    let output = home.command(&["run", "--json", "kill -9 $$"]).env("MY_TOKEN", "signaled").output().expect("it runs");
    let facts: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert_eq!(facts["status"], "signaled");
}

#[test]
fn errors_about_arguments_do_not_show_them() {
    let home = home();
    let missing = format!("/nope/{SECRET}");
    let url = format!("cat artifact://{SECRET}");
    for args in [
        ["run", "--cwd", missing.as_str(), "true"].as_slice(),
        &["run", "--dialect", SECRET, "true"],
        &["run", "--json", "--cwd", &missing, "true"],
        &["run", "--dialect", "native", "--cwd", &missing, "true"],
        &["run", &url],
        &["explain", "--cwd", &missing, "true"],
        &["schema", "--cwd", &missing],
        &["jobs", "show", SECRET],
        &["artifacts", "show", SECRET],
        &["config", "--config", &missing],
    ] {
        assert!(said(&home, args).contains(MASKED), "{args:?}");
    }
    said(&home, &["sessions", "end", SECRET]);
}

#[test]
fn a_session_that_is_called_like_one_is_listed_without_it() {
    let home = home();
    said(&home, &["run", "--session", SECRET, "exit 3"]);
    said(&home, &["run", "--session", SECRET, "cd /"]);
    assert!(said(&home, &["sessions", "list"]).contains(MASKED));
    assert!(said(&home, &["sessions", "list", "--json"]).contains(MASKED));
    assert_eq!(files_with_the_secret(&home), [] as [std::path::PathBuf; 0]);
    assert_eq!(said(&home, &["sessions", "end", SECRET]), format!("[session \"{MASKED}\" ended]\n"));
    home.check_nothing_survives();
}

/// Files below the state directory that hold the secret.
fn files_with_the_secret(home: &Home) -> Vec<std::path::PathBuf> {
    let (mut found, mut directories) = (Vec::new(), vec![home.state()]);
    while let Some(directory) = directories.pop() {
        for entry in std::fs::read_dir(directory).into_iter().flatten() {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                directories.push(path);
            } else if path.is_file() && std::fs::read(&path).expect("a file").windows(6).any(|part| part == b"geheim") {
                found.push(path);
            }
        }
    }
    found
}

#[test]
fn the_record_of_a_job_does_not_hold_them() {
    let home = home();
    let script = format!("true {SECRET}; sleep 1000");
    let directory = home.path().join(SECRET).to_string_lossy().into_owned();
    said(&home, &["run", "--mode", "background", "--cwd", &directory, &script]);
    assert_eq!(files_with_the_secret(&home), [] as [std::path::PathBuf; 0]);
    assert!(said(&home, &["jobs", "list", "--json"]).contains(&format!("true {MASKED}; sleep 1000")));
    said(&home, &["jobs", "kill", "1"]);
    home.check_nothing_survives();
}
