//! The program as a person meets it for the first time: help, plausible mistakes, and answers that say what to do next.

use std::io::Write;
use std::process::Output;

use bashful_testkit::{Home, Terminal};
use serde_json::Value;

use crate::BASHFUL;

/// Rows and columns of the terminal that help has to fit.
const ROWS: usize = 24;

fn home() -> Home {
    Home::new(BASHFUL)
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// The standard output of the program, which has to succeed.
#[track_caller]
fn prints(home: &Home, args: &[&str]) -> String {
    let output = home.run(args);
    assert!(output.status.success(), "{args:?}: {output:?}");
    text(&output.stdout)
}

/// Runs arguments that are wrong, and looks for a sentence in the answer.
#[track_caller]
fn check_mistake(args: &[&str], expected: &str) {
    let output = home().run(args);
    assert_eq!(output.status.code(), Some(125), "{args:?}: {output:?}");
    let said = text(&output.stderr);
    assert!(said.contains(expected), "{args:?}: {said}");
}

/// Every command with a help page, as it is typed.
fn commands() -> Vec<Vec<&'static str>> {
    [
        "run",
        "mcp",
        "mcp install",
        "rpc",
        "jobs",
        "jobs list",
        "jobs show",
        "jobs logs",
        "jobs wait",
        "jobs send",
        "jobs kill",
        "jobs rm",
        "jobs sweep",
        "ps",
        "sessions",
        "sessions list",
        "sessions end",
        "log",
        "artifacts",
        "artifacts list",
        "artifacts show",
        "artifacts path",
        "artifacts rm",
        "artifacts sweep",
        "hook",
        "hook install",
        "hook status",
        "check",
        "allow",
        "explain",
        "condense",
        "schema",
        "config",
        "doctor",
        "completions",
        "man",
    ]
    .map(|words| words.split(' ').collect())
    .into()
}

/// With input from a pipe, which the program may leave unread.
fn run_with_input(home: &Home, args: &[&str], input: &str) -> Output {
    let (reader, mut writer) = std::io::pipe().expect("a pipe");
    writer.write_all(input.as_bytes()).expect("it has room");
    drop(writer);
    home.command(args).stdin(reader).output().expect("it ends")
}

#[test]
fn help_fits_a_small_terminal_or_begins_with_the_usage() {
    let home = home();
    for command in commands() {
        let help = prints(&home, &[command.as_slice(), &["--help"]].concat());
        let lines: Vec<&str> = help.lines().collect();
        let begins_with_usage = lines.iter().position(|line| line.starts_with("Usage:")).is_some_and(|line| line <= 3);
        assert!(lines.len() <= ROWS || begins_with_usage, "{command:?}\n{help}");
        assert!(help.contains("Example"), "{command:?} has no example\n{help}");
        assert_eq!(help, prints(&home, &[command.as_slice(), &["-h"]].concat()), "{command:?}");
        assert_eq!(help, prints(&home, &[&["help"], command.as_slice()].concat()), "{command:?}");
    }
}

#[test]
fn the_version_is_told_in_every_usual_way() {
    let home = home();
    let version = format!("bashful {}\n", env!("CARGO_PKG_VERSION"));
    for args in [["version"], ["-V"], ["--version"]] {
        assert_eq!(prints(&home, &args), version, "{args:?}");
    }
}

#[test]
fn a_script_without_run_or_without_quotes_is_recognized() {
    check_mistake(&["echo hi"], "bashful run 'echo hi'");
    check_mistake(&["echo", "hi"], "bashful run 'echo hi'");
    check_mistake(&["run", "echo", "hi"], "bashful run 'echo hi'");
    check_mistake(&["run", "-c", "echo hi"], "bashful run 'echo hi'");
    check_mistake(&["rn", "echo hi"], "did you mean `bashful run`?");
}

#[test]
fn a_wrong_value_is_answered_with_the_right_ones() {
    check_mistake(&["run", "--dialect", "foo", "true"], "[possible values: native, plain, pi]");
    check_mistake(&["schema", "--for", "anthropc"], "a similar value exists: 'anthropic'");
    check_mistake(&["log", "-n", "x"], "give a whole number, such as 20");
    check_mistake(&["log", "--since", "2"], "2 of what? write 2s, 2m, 2h or 2d");
    check_mistake(&["artifacts", "show", "1", "--lines", "5"], "`--head 5`");
    check_mistake(&["mcp", "--http", "here"], "use PORT or HOST:PORT, as in 8331 or 127.0.0.1:8331");
    check_mistake(&["man", "rnu"], "there is no command `rnu`");
}

#[test]
fn durations_have_units() {
    let home = home();
    let output = home.run(&["run", "--timeout", "1000ms", "echo partial; sleep 1000"]);
    assert_eq!(text(&output.stderr), "[command timed out after 1s]\n");
    assert_eq!(prints(&home, &["run", "-t", "5m", "echo hi"]), "hi\n");
    assert_eq!(prints(&home, &["run", "--patience", "1m", "echo hi"]), "hi\n");
    let long = home.run(&["run", "--timeout", "2h", "true"]);
    assert_eq!(text(&long.stderr), "[Timeout clamped to 3600s (requested 7200s; allowed range 1-3600s).]\n");
}

#[test]
fn piped_input_is_passed_on_if_asked_for_and_missed_aloud_otherwise() {
    let home = home();
    let passed = run_with_input(&home, &["run", "--stdin", "cat; echo end"], "data\n");
    assert_eq!((text(&passed.stdout).as_str(), text(&passed.stderr).as_str()), ("data\nend\n", ""));
    let missed = run_with_input(&home, &["run", "cat"], "data\n");
    let notice = "[standard input was not read; add --stdin (-i) to pass it to the command]\n";
    assert_eq!((text(&missed.stdout).as_str(), text(&missed.stderr).as_str()), ("", notice));
    let file = home.path().join("file");
    std::fs::write(&file, "from a file\n").expect("it is written");
    let from_file =
        home.wrapped("/bin/sh", &["-c", "exec \"$0\" run -i cat <file", BASHFUL]).output().expect("it runs");
    assert_eq!(text(&from_file.stdout), "from a file\n");
    let script = run_with_input(&home, &["run", "-"], "echo from a script\n");
    assert_eq!((text(&script.stdout).as_str(), text(&script.stderr).as_str()), ("from a script\n", ""));
    let refused = run_with_input(&home, &["run", "-i", "--session", "s", "cat"], "x");
    assert!(text(&refused.stderr).contains("a session cannot pass on standard input"), "{refused:?}");
    home.check_nothing_survives();
}

#[test]
fn broken_settings_are_reported_and_looked_past_by_those_who_examine_them() {
    let home = home();
    let directory = home.path().join(".config/bashful");
    std::fs::create_dir_all(&directory).expect("it is made");
    std::fs::write(directory.join("config.toml"), "[stop]\ngrace = 1\n").expect("it is written");
    let config = home.run(&["config"]);
    assert_eq!(config.status.code(), Some(125), "{config:?}");
    assert!(text(&config.stderr).contains("line 2, `stop.grace`: unknown field"), "{config:?}");
    assert!(text(&config.stdout).contains("grace_seconds = 15"), "{config:?}");
    let doctor = home.run(&["doctor"]);
    assert_eq!(doctor.status.code(), Some(1), "{doctor:?}");
    let said = text(&doctor.stdout);
    assert!(said.contains("PROBLEM: ") && said.contains("unknown field") && said.contains("promises"), "{said}");
    let run = home.run(&["run", "true"]);
    assert_eq!(run.status.code(), Some(125), "no command runs with settings that are not understood: {run:?}");
}

#[test]
fn completions_are_scripts_that_their_shells_accept() {
    let home = home();
    let path = home.path().join("completions.bash");
    std::fs::write(&path, prints(&home, &["completions", "bash"])).expect("it is written");
    let script = "source completions.bash; COMP_WORDS=(bashful artifacts s); COMP_CWORD=2; _bashful bashful s artifacts; echo \"${COMPREPLY[@]}\"";
    let completed = home.wrapped("/bin/bash", &["-c", script]).output().expect("it runs");
    assert_eq!(text(&completed.stdout), "show sweep\n", "{completed:?}");
    assert!(prints(&home, &["completions", "zsh"]).starts_with("#compdef bashful"));
    assert!(prints(&home, &["completions", "fish"]).contains("complete -c bashful"));
}

#[test]
fn man_pages_are_written_for_every_command() {
    let home = home();
    let directory = home.path().join("man");
    let written = home.run(&["man", "--all", "man"]);
    assert!(written.status.success(), "{written:?}");
    for command in commands() {
        let page = std::fs::read_to_string(directory.join(format!("bashful-{}.1", command.join("-"))));
        assert!(page.is_ok_and(|page| page.contains(".SH SYNOPSIS")), "{command:?}");
        assert!(prints(&home, &[&["man"], command.as_slice()].concat()).contains(".SH SYNOPSIS"), "{command:?}");
    }
}

#[test]
fn every_command_has_json_where_it_prints_facts() {
    let home = home();
    let json = |args: &[&str]| {
        let output = home.run(args);
        serde_json::from_slice::<Value>(&output.stdout).unwrap_or_else(|error| panic!("{args:?}: {error}: {output:?}"))
    };
    assert_eq!(json(&["run", "-b", "--stdin", "--json", "cat"])["job"]["id"], 1);
    assert_eq!(json(&["jobs", "send", "1", "hi", "--json"])["sent_bytes"], 3);
    assert_eq!(json(&["jobs", "kill", "1", "9", "--json"])["killed"][0]["id"], 1);
    let removed = json(&["jobs", "rm", "1", "9", "--json"]);
    assert_eq!((&removed["removed"][0], &removed["errors"][0]["id"]), (&1.into(), &9.into()));
    assert_eq!(json(&["artifacts", "rm", "9", "--json"])["errors"][0]["id"], 9);
    json(&["run", "--session", "s", "--json", "true"]);
    assert!(json(&["sessions", "list", "--json"])[0]["since_ms"].is_u64());
    assert_eq!(json(&["sessions", "end", "s", "--json"])["ended"][0], "s");
    assert_eq!(json(&["config", "--json"])["settings"]["stop"]["grace_seconds"], 15.0);
    home.check_nothing_survives();
}

#[test]
fn the_json_of_a_run_is_described_by_its_schema() {
    let home = home();
    let schema: Value = serde_json::from_str(&prints(&home, &["schema", "--facts"])).expect("it is JSON");
    let known = schema["run --json"]["properties"].as_object().expect("a schema of an object");
    for args in [
        vec!["run", "--json", "seq 100000"],
        vec!["run", "--json", "--split", "echo a; echo b >&2; exit 3"],
        vec!["run", "--json", "-b", "true"],
        vec!["run", "--json", "-t", "1", "sleep 1000"],
        vec!["run", "--json", "git add -A"],
        vec!["run", "--json", "--cwd", "/no/where", "true"],
    ] {
        let facts: Value = serde_json::from_slice(&home.run(&args).stdout).expect("it is JSON");
        for key in facts.as_object().expect("an object").keys() {
            assert!(known.contains_key(key), "{args:?}: {key} is not in the schema");
        }
    }
}

#[test]
fn the_log_shows_local_time_and_the_last_commands() {
    let home = home();
    for number in 1..=3 {
        prints(&home, &["run", &format!("echo {number}")]);
    }
    let log = |zone: &str| {
        let output = home.command(&["log", "-n", "2"]).env("TZ", zone).output().expect("it runs");
        text(&output.stdout)
    };
    let (utc, east) = (log("UTC"), log("XYZ-5"));
    assert_eq!(utc.lines().count(), 2, "{utc}");
    assert!(utc.lines().last().is_some_and(|line| line.ends_with(": echo 3")), "{utc}");
    let hour = |log: &str| log[11..13].parse::<u32>().expect("an hour");
    assert_eq!(hour(&east), (hour(&utc) + 5) % 24, "{utc}{east}");
}

#[test]
fn a_server_or_hook_that_is_started_by_hand_says_that_it_waits() {
    let home = home();
    let terminal = Terminal::run(&home, &format!("{BASHFUL} mcp; {BASHFUL} hook claude; sleep 1000"));
    terminal.shows("[waiting for an MCP client on standard input; Ctrl-C ends this]");
    terminal.types(&["C-d"]);
    terminal.shows("[waiting for a tool call of Claude Code on standard input; Ctrl-C ends this]");
}

#[test]
fn colors_are_for_terminals_that_want_them() {
    let home = home();
    assert!(!prints(&home, &["run", "--help"]).contains('\x1b'));
    assert!(prints(&home, &["--color", "always", "run", "--help"]).contains("\x1b[1mUsage:\x1b[0m"));
    let never = home.command(&["--color=never", "help"]).output().expect("it runs");
    assert!(!text(&never.stdout).contains('\x1b'));
}

#[test]
fn a_person_who_waits_for_a_job_is_told_so() {
    let home = home();
    prints(&home, &["run", "-b", "until [ -e go ]; do sleep 0.01; done"]);
    let terminal = Terminal::run(&home, &format!("{BASHFUL} jobs wait 1; sleep 1000"));
    terminal.shows("[waiting for job 1 to end; Ctrl-C stops waiting, not the job]");
    std::fs::write(home.path().join("go"), "").expect("it is written");
    terminal.shows("job 1: completed");
    drop(terminal);
    home.check_nothing_survives();
}

#[test]
fn tables_fit_the_terminal() {
    let home = home();
    let deep = home.path().join("a-directory-with-a-long-name/and-another-one-below-it/and-one-more");
    std::fs::create_dir_all(&deep).expect("it is made");
    let deep = deep.to_str().expect("it is text");
    prints(
        &home,
        &["run", "-b", "-C", deep, "sleep 1000 # and a long comment that makes this command wider than it has to be"],
    );
    // The terminal has 100 columns; a longer line would be wrapped, and then there were more of them.
    let terminal = Terminal::run(&home, &format!("{BASHFUL} ps; {BASHFUL} jobs list; echo over; sleep 1000"));
    let screen = terminal.shows("over");
    let lines = screen.lines().take_while(|line| *line != "over").count();
    assert_eq!(lines, 4, "{screen}");
    assert!(prints(&home, &["ps"]).contains(deep), "a pipe gets all of it");
    prints(&home, &["jobs", "kill", "1"]);
}
