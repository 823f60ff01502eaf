//! The program and the user's rc files.

use std::process::Output;

use bashful_testkit::Home;
use serde_json::Value;

use crate::BASHFUL;

/// A home with this `.bashrc`.
fn home(rc: &str) -> Home {
    let home = Home::new(BASHFUL);
    std::fs::write(home.path().join(".bashrc"), rc).expect("a file in a directory of our own");
    home
}

/// Runs the program with snapshots turned on.
fn on(home: &Home, args: &[&str]) -> Output {
    patient(home, args, "on")
}

/// Runs the program with this use of snapshots, and more time for the rc files than a busy machine takes.
fn patient(home: &Home, args: &[&str], usage: &str) -> Output {
    let limit = ("BASHFUL_SHELL_SNAPSHOT_SECONDS", "60");
    home.command(args).envs([("BASHFUL_SHELL_SNAPSHOT", usage), limit]).output().expect("it runs")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// As new users find it: nothing for scripts, and aliases behind that.
const STOCK: &str = "case $- in *i*) ;; *) return;; esac\nalias word='echo alias'\nexport EDITOR=vi SET_BY_RC=yes\n";

#[test]
fn a_command_gets_nothing_of_the_rc_files_unless_it_is_turned_on() {
    let home = home(STOCK);
    assert_eq!(home.run(&["run", "word"]).status.code(), Some(127));
    assert!(!home.state().join("snapshots").exists());
    let output = on(&home, &["run", "word $SET_BY_RC $EDITOR"]);
    assert_eq!((text(&output.stdout), text(&output.stderr)), ("alias yes true\n".to_owned(), String::new()));
    let output = on(&home, &["run", "--mode", "background", "word"]);
    assert!(output.status.success(), "{output:?}");
    home.run(&["jobs", "wait", "1"]);
    assert!(text(&home.run(&["jobs", "show", "1"]).stdout).contains("alias"));
    home.check_nothing_survives();
}

#[test]
fn a_failure_is_told_once_and_does_not_hold_up_those_who_come_later() {
    let home = home("echo read >>~/count\nsleep 1000\n");
    let run = |args: &[&str]| {
        let mut command = home.command(args);
        command
            .env("BASHFUL_SHELL_SNAPSHOT", "on")
            .env("BASHFUL_SHELL_SNAPSHOT_SECONDS", "0.3")
            .output()
            .expect("it runs")
    };
    let first = run(&["run", "echo it runs"]);
    assert_eq!(text(&first.stdout), "it runs\n");
    let notice = "[your aliases and functions are not available: the rc files took longer than 0.3 s; see `[shell] \
                  snapshot_seconds`]\n";
    assert_eq!(text(&first.stderr), notice);
    for _ in 0..3 {
        let output = run(&["run", "--json", "echo it runs"]);
        let facts: Value = serde_json::from_slice(&output.stdout).expect("JSON");
        assert_eq!(facts["output"], "it runs\n");
        assert!(facts.get("notices").is_none_or(|notices| notices.as_array().is_some_and(Vec::is_empty)), "{facts}");
    }
    assert_eq!(std::fs::read_to_string(home.path().join("count")).expect("a file"), "read\n");
    home.check_nothing_survives();
}

#[test]
fn a_plan_names_what_is_sourced_and_runs_nothing_for_it() {
    let home = home("touch ~/read\nalias word='echo alias'\n");
    let facts = |output: Output| serde_json::from_slice::<Value>(&output.stdout).expect("JSON");
    assert_eq!(facts(on(&home, &["explain", "--json", "word"]))["sourced"], Value::Null);
    assert!(!home.path().join("read").exists());
    on(&home, &["run", "word"]);
    let sourced = facts(on(&home, &["explain", "--json", "word"]))["sourced"].clone();
    assert!(sourced.as_str().is_some_and(|path| path.contains("/bashful/snapshots/")), "{sourced}");
}

#[test]
fn doctor_tells_what_was_captured_and_what_it_costs() {
    let home = home(
        "alias word='echo alias'\ngreet() { echo hello; }\nshopt -s globstar failglob\nexport MY_TOKEN=abcdefghijkl A=b\n",
    );
    let output = patient(&home, &["doctor", "--json"], "auto");
    let snapshot = serde_json::from_slice::<Value>(&output.stdout).expect("JSON")["snapshot"].clone();
    assert_eq!(snapshot["use"], "auto", "{snapshot}");
    for (kind, expected) in [("aliases", "word"), ("functions", "greet"), ("variables", "A"), ("options", "globstar")] {
        let names = snapshot[kind].as_array().expect("a list");
        assert!(names.iter().any(|name| name == expected), "{kind}: {snapshot}");
    }
    assert!(snapshot["left_out"].to_string().contains("\"variable MY_TOKEN\""), "{snapshot}");
    assert!(!text(&output.stdout).contains("abcdefghijkl"));
    for start in ["waiting", "fresh"] {
        assert!(snapshot["cost_ms"][start].is_number(), "{snapshot}");
    }
    let said = text(&patient(&home, &["doctor"], "auto").stdout);
    assert!(said.contains("snapshot of ~/.bashrc\n"), "{said}");
    assert!(said.contains("option failglob"), "{said}");

    std::fs::write(home.path().join(".bashrc"), "exit 1\n").expect("a file");
    let said = text(&patient(&home, &["doctor"], "auto").stdout);
    assert!(said.contains("ended too early"), "{said}");
    std::fs::remove_file(home.path().join(".bashrc")).expect("a file");
    let said = text(&patient(&home, &["doctor"], "auto").stdout);
    assert!(said.contains("nothing: there is no such file"), "{said}");
    let off = home.command(&["doctor"]).env("BASHFUL_SHELL_SNAPSHOT", "off").output().expect("it runs");
    assert!(text(&off.stdout).contains("used                    off\n"), "{}", text(&off.stdout));
    home.check_nothing_survives();
}

#[test]
fn the_guard_knows_what_the_rc_files_define() {
    let home = home(
        "alias gp='git push --force'\nwipe() { rm -rf \"$1\"; }\nwipe_home() { wipe ~; }\nalias l='ls -l'\nharmless() { echo git push --force; }\n",
    );
    let refused = |script: &str| {
        let output = on(&home, &["run", script]);
        let said = text(&output.stderr);
        assert_eq!(output.status.code() == Some(125), said.contains("permission denied"), "{script}: {output:?}");
        said.contains("permission denied")
    };
    for script in ["gp", "cd / && gp origin main", "wipe /", "wipe_home", "l; gp", "git push --force"] {
        assert!(refused(script), "{script}");
    }
    for script in ["harmless", "l", "echo gp wipe_home", "mkdir -p x && wipe x", "type gp wipe"] {
        assert!(!refused(script), "{script}");
    }
    // Without them there is nothing to know.
    assert_eq!(home.run(&["run", "gp"]).status.code(), Some(127));
}
