//! The program as a person or a script meets it: what it prints, how it exits, what it leaves.

use std::ffi::OsStr;
use std::io::Write;
use std::os::unix::process::ExitStatusExt;
use std::path::PathBuf;
use std::process::{Child, Command, Output, Stdio};

use bashful_testkit::{Home, Terminal, eventually};
use serde_json::Value;

use crate::BASHFUL;

fn home() -> Home {
    Home::new(BASHFUL)
}

/// The standard output of the program, as JSON.
#[track_caller]
fn json(home: &Home, args: &[&str]) -> Value {
    let output = home.run(args);
    serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}: {output:?}"))
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Runs arguments and compares standard output, standard error and exit code.
#[track_caller]
fn check(args: &[&str], stdout: &str, stderr: &str, code: i32) {
    let home = home();
    let output = home.run(args);
    let said = (text(&output.stdout), text(&output.stderr), output.status.code());
    assert_eq!(said, (stdout.to_owned(), stderr.to_owned(), Some(code)));
}

#[test]
fn output_and_exit_code_are_the_commands_own() {
    check(&["run", "echo out; echo err >&2; echo out"], "out\nerr\nout\n", "", 0);
    check(&["run", "printf x; exit 3"], "x", "[command failed: exit code 3]\n", 3);
    check(&["run", "true"], "", "", 0);
    check(
        &["run", "no-such-program"],
        "bash: line 1: no-such-program: command not found\n",
        "[command failed: exit code 127]\n",
        127,
    );
}

#[test]
fn a_signal_is_told_and_becomes_128_and_its_number() {
    check(&["run", "kill -9 $$"], "", "[command killed by signal 9 (SIGKILL)]\n", 137);
    check(&["run", "kill -TERM $$"], "", "[command killed by signal 15 (SIGTERM)]\n", 143);
}

#[test]
fn time_up_is_124_with_what_was_written_so_far() {
    check(&["run", "--timeout", "1", "echo partial; sleep 1000"], "partial\n", "[command timed out after 1s]\n", 124);
}

#[test]
fn a_timeout_out_of_range_is_clamped_and_said() {
    let notice =
        |seconds, asked| format!("[Timeout clamped to {seconds}s (requested {asked}s; allowed range 1-3600s).]\n");
    check(&["run", "--timeout", "0", "true"], "", &notice(1, "0"), 0);
    check(&["run", "--timeout", "-5", "true"], "", &notice(1, "-5"), 0);
    check(&["run", "--timeout", "1e9", "true"], "", &notice(3600, "1000000000"), 0);
}

#[test]
fn what_cannot_be_run_is_said_and_is_125() {
    check(&["run", ""], "", "bashful: the command is empty\n", 125);
    check(&["run", " \n\t"], "", "bashful: the command is empty\n", 125);
    check(&["run", "--cwd", "/no/where", "true"], "", "bashful: Working directory does not exist: /no/where\n", 125);
    check(
        &["run", "--cwd", "/etc/passwd", "true"],
        "",
        "bashful: Working directory is not a directory: /etc/passwd\n",
        125,
    );
    check(
        &["run", "--cwd", "/etc/passwd/x", "true"],
        "",
        "bashful: Working directory is not a directory: /etc/passwd/x\n",
        125,
    );
    check(&["run", "--env", "1A=x", "true"], "", "bashful: Invalid bash env name: 1A\n", 125);
    check(&["run", "--env", "A", "true"], "", "bashful: --env takes NAME=VALUE, not \"A\"\n", 125);
    check(&["run", "--timeout", "nan", "true"], "", "bashful: --timeout takes a number of seconds, not NaN\n", 125);
}

#[test]
fn arguments_that_make_no_sense_are_125_and_say_what_would() {
    let home = home();
    for (args, said) in [
        (&["run"][..], "SCRIPT"),
        (&["run", "--mode", "fast", "true"], "possible values: default, slow, background"),
        (&["run", "--timeout", "soon", "true"], "--timeout"),
        (&["run", "--jsno", "true"], "--json"),
        (&["run", "echo", "hi"], "unexpected argument 'hi'"),
        (&["frobnicate"], "frobnicate"),
        (&[], "Usage: bashful"),
    ] {
        let output = home.run(args);
        assert_eq!((output.status.code(), output.stdout.len()), (Some(125), 0), "{args:?}");
        assert!(text(&output.stderr).contains(said), "{said:?} is missing in {}", text(&output.stderr));
    }
}

#[test]
fn every_command_has_help() {
    let home = home();
    for args in
        [&["--help"][..], &["run", "--help"], &["explain", "--help"], &["config", "--help"], &["doctor", "--help"]]
    {
        let output = home.run(args);
        assert_eq!((output.status.code(), output.stderr.len()), (Some(0), 0), "{args:?}");
        assert!(text(&output.stdout).contains("Usage: bashful"), "{}", text(&output.stdout));
    }
    assert!(text(&home.run(&["--version"]).stdout).starts_with("bashful 0."));
}

#[test]
fn a_script_from_standard_input_reaches_bash_byte_for_byte() {
    let home = home();
    let mut script = b"printf '%s' '\xff\xfe \xe2\x82'\n\n# a comment without an end".to_vec();
    assert_eq!(with_stdin(&home, &script).stdout, b"\xff\xfe \xe2\x82");
    script = b"printf '%s' \"$BASH_EXECUTION_STRING\" | md5sum; echo $0 $-\n".to_vec();
    for filler in [131_071, 131_072, 1 << 20] {
        let mut script = script.clone();
        script.resize(filler, b'#');
        let mut md5sum = Command::new("md5sum").stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("md5sum");
        md5sum.stdin.take().expect("a pipe").write_all(&script).expect("it reads");
        let expected = text(&md5sum.wait_with_output().expect("it ends").stdout) + "bash hBc\n";
        assert_eq!(text(&with_stdin(&home, &script).stdout), expected, "{filler} bytes");
    }
}

#[test]
fn scripts_that_bash_cannot_take_are_refused_with_the_reason() {
    let home = home();
    let output = with_stdin(&home, b"echo a\0b");
    assert_eq!(text(&output.stderr), "bashful: the command has a NUL byte at offset 6, which bash cannot read\n");
    assert_eq!(output.status.code(), Some(125));
    let output = with_stdin(&home, &vec![b'#'; (16 << 20) + 1]);
    assert!(text(&output.stderr).contains("longer than 16MB; write it to a file"), "{}", text(&output.stderr));
    assert_eq!(with_stdin(&home, b"").status.code(), Some(125));
}

fn with_stdin(home: &Home, script: &[u8]) -> Output {
    let mut command = home.command(&["run", "-"]);
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("runs");
    // A script that is too long is not read to its end.
    let _ = child.stdin.take().expect("a pipe").write_all(script);
    child.wait_with_output().expect("it ends")
}

/// The output as a model or a person at a terminal is shown it.
#[track_caller]
fn shown(home: &Home, script: &str) -> String {
    json(home, &["run", "--json", script])["output"].as_str().expect("text").to_owned()
}

#[test]
fn a_pipe_gets_every_byte_as_it_was_written() {
    let home = home();
    let whole = (1..=100_001).fold(String::new(), |text, number| text + &format!("{number}\n"));
    let output = home.run(&["run", "seq 1 100001"]);
    assert!(output.stdout == whole.as_bytes(), "{} bytes", output.stdout.len());
    assert_eq!(text(&output.stderr), "");
    let output = home.run(&["run", r"printf 'a\0b\r\n\e[1m\377'; seq 1 9 | head -n 2; exit 3"]);
    assert_eq!(output.stdout, b"a\0b\r\n\x1b[1m\xff1\n2\n");
    assert_eq!((text(&output.stderr).as_str(), output.status.code()), ("[command failed: exit code 3]\n", Some(3)));
    // Withheld values are redacted all the same, also those that come in two pieces.
    let mut command = home.command(&["run", "printf correct-; cat; sleep 0.1; printf 'horse correct-'"]);
    let output = command.env("MY_TOKEN", "correct-horse").output().expect("it runs");
    assert_eq!(text(&output.stdout), "[withheld: MY_TOKEN] correct-");
    let output = home.run(&["run", "--split", "seq 1 100001 >&2; printf out"]);
    assert!((output.stdout.as_slice(), output.stderr.as_slice()) == (b"out", whole.as_bytes()));
}

#[test]
fn a_file_that_is_full_is_said() {
    let home = home();
    let full = std::fs::File::options().write(true).open("/dev/full").expect("it is there");
    let output = home.command(&["run", "seq 1 100000; echo all > done"]).stdout(full).output().expect("it runs");
    assert_eq!(output.status.code(), Some(125));
    assert!(text(&output.stderr).contains("cannot write the output"), "{}", text(&output.stderr));
    assert!(home.path().join("done").exists(), "the command is not cut short");
}

#[test]
fn long_output_is_cut_in_the_middle_with_exact_ranges() {
    let home = home();
    let shown = shown(&home, "seq 1 100000");
    assert!(shown.starts_with("[output truncated in middle: got 575KB, max is 128KB]\n1\n2\n"), "{}", &shown[..80]);
    assert!(shown.contains("\n\n[snip]\n\n"));
    let ranges = "[showing lines 1-1041 and 99318-100000 of 100000 (580698 bytes omitted); \
                  full output: artifact://1, `bashful artifacts show 1`]\n";
    assert!(shown.ends_with(&format!("\n100000\n{ranges}")), "{}", &shown[shown.len() - 200..]);
    let whole = (1..=100_000).fold(String::new(), |text, number| text + &format!("{number}\n"));
    let artifact = home.path().join(".local/state/bashful/artifacts/1");
    assert_eq!(std::fs::read_to_string(artifact).expect("it is there"), whole);
    let whole = home.run(&["run", "head -c 131072 /dev/zero | tr '\\0' x"]);
    assert_eq!(whole.stdout, vec![b'x'; 131_072]);
}

#[test]
fn json_has_the_facts() {
    let home = home();
    let facts = json(&home, &["run", "--json", "echo out; exit 3"]);
    assert_eq!(facts["status"], "exited");
    assert_eq!((&facts["exit_code"], &facts["signal"]), (&3.into(), &Value::Null));
    assert_eq!(
        (&facts["output"], &facts["output_bytes"], &facts["output_lines"]),
        (&"out\n".into(), &4.into(), &1.into())
    );
    assert_eq!(facts["cwd"], home.path().to_str().expect("text"));
    assert_eq!(facts["shown"], serde_json::json!([{ "lines": [1, 1], "bytes": [0, 4] }]));
    assert!(facts["duration_ms"].is_u64() && facts["job"]["pid"].is_u64() && facts["leftover"].is_null());

    let facts = json(&home, &["run", "--json", "kill -9 $$"]);
    assert_eq!((&facts["status"], &facts["signal"]["name"]), (&"signaled".into(), &"SIGKILL".into()));
    let facts = json(&home, &["run", "--json", "--timeout", "0", "sleep 1000"]);
    assert_eq!((&facts["status"], facts["notices"].as_array().map(Vec::len)), (&"timed_out".into(), Some(1)));
    let facts = json(&home, &["run", "--json", "--cwd", "/no", "true"]);
    assert_eq!(facts, serde_json::json!({ "status": "failed", "error": "Working directory does not exist: /no" }));
    let facts = json(&home, &["run", "--json", "seq 1 100000"]);
    assert_eq!(facts["shown"][1]["lines"], serde_json::json!([99318, 100_000]));
    let truncated = serde_json::json!({
        "direction": "middle", "truncated_by": "bytes", "total_lines": 100_000, "total_bytes": 588_895,
        "output_lines": 1724, "output_bytes": 8197, "shown_range": [[1, 1041], [99318, 100_000]], "artifact_id": 1,
    });
    assert_eq!(facts["truncated"], truncated);
    assert_eq!(json(&home, &["run", "--json", "echo"])["truncated"], Value::Null);
}

#[test]
fn one_byte_too_much_is_never_told_as_two_equal_sizes() {
    let home = home();
    let shown = shown(&home, "head -c 131073 /dev/zero | tr '\\0' x");
    let first = "[output truncated in middle: got 131073 bytes, max is 131072 bytes]\n";
    assert!(shown.starts_with(first), "{}", &shown[..80]);
}

#[test]
fn there_is_no_terminal_and_nothing_to_read() {
    check(
        &["run", "cat; tty; test -t 1 || echo no; (: </dev/tty) 2>/dev/null || echo none"],
        "not a tty\nno\nnone\n",
        "",
        0,
    );
}

#[test]
fn the_shell_leads_its_own_group_and_session() {
    let home = home();
    let said = text(&home.run(&["run", "echo $$ $(ps -o pgid=,sid= -p $$)"]).stdout);
    let numbers: Vec<&str> = said.split_whitespace().collect();
    assert_eq!((numbers[0], numbers[0]), (numbers[1], numbers[2]), "{said}");
}

#[test]
fn secrets_are_withheld_and_masked_and_the_callers_values_win() {
    let home = home();
    std::fs::write(home.path().join("dotenv"), "KEY=hunter2-hunter2\n").expect("a file");
    let mut command = home.command(&[
        "run",
        "--env",
        "PAGER=more",
        "--env",
        "MY_TOKEN=given",
        "echo ${DEPLOY_SECRET-gone} $PAGER $CI $MY_TOKEN; cat dotenv",
    ]);
    let output = command.env("DEPLOY_SECRET", "hunter2-hunter2").env("PAGER", "less").output().expect("it runs");
    assert_eq!(text(&output.stdout), "gone more 1 given\nKEY=[withheld: DEPLOY_SECRET]\n");
}

#[test]
fn explain_shows_the_plan_and_never_a_withheld_value() {
    let home = home();
    let mut command = home.command(&["explain", "--timeout", "90", "echo hi\nmore"]);
    let output = command.env("DEPLOY_SECRET", "hunter2-hunter2").output().expect("it runs");
    let said = text(&output.stdout);
    for part in [
        "bash -c",
        "echo hi\n             more",
        "after 1m30s, killed 15s later",
        "withheld:    DEPLOY_SECRET",
        "  PAGER=cat",
    ] {
        assert!(said.contains(part), "{part:?} is missing in {said}");
    }
    assert!(!said.contains("hunter2"));
    let plan = json(&home, &["explain", "--json", "echo hi"]);
    assert_eq!((&plan["script"], &plan["lifetime_seconds"]), (&"echo hi".into(), &30.0.into()));
}

#[test]
fn settings_come_in_layers_and_mistakes_are_named() {
    let home = home();
    let file = home.path().join(".config/bashful/config.toml");
    std::fs::create_dir_all(file.parent().expect("a parent")).expect("a directory");
    std::fs::write(&file, "[lifetime]\ndefault_seconds = 7\n[stop]\ngrace_seconds = 3\n").expect("a file");
    let named = home.path().join("named.toml");
    std::fs::write(&named, "[stop]\ngrace_seconds = 4\n").expect("a file");
    let named = named.to_str().expect("text");
    let said = text(
        &home
            .command(&["--config", named, "config"])
            .env("BASHFUL_OUTPUT_HEAD_BYTES", "99")
            .output()
            .expect("runs")
            .stdout,
    );
    for part in ["default_seconds = 7.0", "grace_seconds = 4.0", "head_bytes = 99", "tail_bytes = 4096", "named.toml"] {
        assert!(said.contains(part), "{part:?} is missing in {said}");
    }
    std::fs::write(&file, "[stop]\n\ngrace = 1\n").expect("a file");
    let output = home.run(&["run", "true"]);
    assert_eq!(output.status.code(), Some(125));
    let said = text(&output.stderr);
    assert!(said.contains("config.toml, line 3, `stop.grace`: unknown field `grace`"), "{said}");
    std::fs::remove_file(&file).expect("it was there");
    let output = home.run(&["--config", "/no/file", "config"]);
    assert!(text(&output.stderr).starts_with("bashful: cannot read the settings in /no/file: No such file"));
}

#[test]
fn the_printed_defaults_are_settings_that_can_be_used() {
    let home = home();
    let defaults = home.run(&["config", "--defaults"]).stdout;
    let file = home.path().join("mine.toml");
    std::fs::write(&file, defaults).expect("a file");
    assert_eq!(home.run(&["--config", file.to_str().expect("text"), "run", "echo hi"]).stdout, b"hi\n");
}

#[test]
fn doctor_tells_what_this_machine_can_promise() {
    let home = home();
    let report = json(&home, &["doctor", "--json"]);
    assert_eq!(
        (&report["promises"]["keeper"], &report["promises"]["catches_daemons"]),
        (&"process".into(), &true.into())
    );
    assert!(report["bash"]["version"].as_str().is_some_and(|version| version.starts_with(['3', '4', '5'])), "{report}");
    assert!(report["machine"]["pidfd"].is_boolean() && report["bash"]["path"].is_string());
    let said = text(&home.run(&["doctor"]).stdout);
    assert!(said.contains("catches_daemons         yes"), "{said}");
}

#[test]
fn killing_the_program_ends_the_command_and_all_that_came_from_it() {
    let home = home();
    let script = r#"( ( setsid "$PUPPET" hold & ) & ); "$PUPPET" newgroup hold & "$PUPPET" make ready hold"#;
    let mut child = home.start(&["run", script]);
    home.wait_for("ready");
    child.kill().expect("SIGKILL");
    child.wait().expect("it ends");
    home.check_nothing_survives();
}

#[test]
fn interrupting_the_program_stops_the_command_and_tells() {
    let home = home();
    let child = home.start(&["run", r#"echo partial; "$PUPPET" make ready hold"#]);
    home.wait_for("ready");
    let pid = rustix_pid(&child);
    // Not SIGINT: a shell that runs the tests in the background has them ignore it, and so would the program.
    rustix::process::kill_process(pid, rustix::process::Signal::TERM).expect("a signal");
    let output = child.wait_with_output().expect("it ends");
    assert_eq!(
        (text(&output.stdout), text(&output.stderr)),
        ("partial\n".to_owned(), "[command cancelled]\n".to_owned())
    );
    assert_eq!(output.status.code(), Some(143));
    home.check_nothing_survives();
}

#[test]
fn scripts_that_look_like_options_are_scripts() {
    let home = home();
    for script in ["-x() { echo ran; }; -x", "+x() { echo ran; }; +x"] {
        assert_eq!(text(&with_stdin(&home, script.as_bytes()).stdout), "ran\n", "{script}");
    }
}

#[test]
fn output_that_cannot_be_written_is_said() {
    let home = home();
    let full = std::fs::File::options().write(true).open("/dev/full").expect("it is there");
    let output = home.command(&["run", "echo hi"]).stdout(full).stderr(Stdio::piped()).spawn().expect("it runs");
    let output = output.wait_with_output().expect("it ends");
    assert_eq!(output.status.code(), Some(125));
    assert!(text(&output.stderr).contains("cannot write the output: No space left"), "{}", text(&output.stderr));
}

#[test]
fn whoever_wants_json_gets_json_whatever_goes_wrong() {
    let home = home();
    for args in
        [&["run", "--json", "--bogus", "x"][..], &["run", "--json"], &["explain", "--json", "--cwd", "/no", "x"]]
    {
        let facts = json(&home, args);
        assert_eq!(facts["status"], "failed", "{args:?}");
        assert!(facts["error"].as_str().is_some_and(|error| !error.is_empty()));
    }
}

#[test]
fn paths_that_are_no_text_are_no_reason_to_panic() {
    use std::os::unix::ffi::OsStrExt;
    let home = home();
    let state = home.path().join(OsStr::from_bytes(b"st\xff"));
    let mut command = home.command(&["run", "--json", "\"$PUPPET\" hold & echo hi"]);
    let output = command.env("XDG_STATE_HOME", state).output().expect("it runs");
    let facts: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert!(Command::new("kill").arg(facts["leftover"]["keeper"].to_string()).status().expect("kill").success());
    home.check_nothing_survives();
}

#[test]
fn settings_that_cannot_be_read_are_not_passed_over() {
    let home = home();
    let file = home.path().join(".config/bashful/config.toml");
    std::fs::create_dir_all(file.parent().expect("a parent")).expect("a directory");
    std::os::unix::fs::symlink("/no/where", &file).expect("a link");
    let output = home.run(&["run", "true"]);
    assert!(text(&output.stderr).contains("cannot read the settings in"), "{}", text(&output.stderr));
    let output = home.command(&["run", "true"]).env("HOME", "relative").output().expect("it runs");
    assert_eq!(output.status.code(), Some(0), "a home in the working directory is none: {}", text(&output.stderr));
}

#[test]
fn children_that_the_program_had_before_are_left_alone() {
    let home = home();
    let script = r#""$PUPPET" make ready hold >/dev/null 2>&1 & echo $! >child
        until [ -e ready ]; do sleep 0.01; done; exec "$0" run '$PUPPET signal KILL $PPID; sleep 5'"#;
    let output = home.wrapped("bash", &["-c", script, BASHFUL]).output().expect("it runs");
    assert_eq!(output.status.code(), Some(125));
    let child = std::fs::read_to_string(home.path().join("child")).expect("its id");
    assert!(Command::new("kill").arg(child.trim()).status().expect("kill").success(), "it was killed");
    home.check_nothing_survives();
}

#[test]
fn streams_can_be_taken_apart() {
    check(&["run", "--split", "echo out; echo err >&2; echo out"], "out\nout\n", "err\n", 0);
    let home = home();
    let facts = json(&home, &["run", "--split", "--json", "printf out; echo err >&2; exit 3"]);
    assert_eq!((&facts["stdout"], &facts["stderr"]), (&"out".into(), &"err\n".into()));
    assert_eq!(
        (&facts["output_bytes"], &facts["stderr_bytes"], &facts["output"]),
        (&3.into(), &4.into(), &Value::Null)
    );
}

#[test]
fn what_is_shown_is_clean_and_what_is_kept_is_not() {
    let home = home();
    let script = r"printf '\e[31mred\e[0m\n10%%\r100%%\ntitle\e]0;x\ay\0z\n'";
    let facts = json(&home, &["run", "--json", script]);
    assert_eq!(facts["output"], "red\n100%\ntitley␀z\n");
    assert_eq!(facts["notices"], serde_json::json!(["1 NUL is shown as ␀"]));
    let mut command = home.command(&["run", "--json", script]);
    let raw = command.env("BASHFUL_OUTPUT_CLEAN", "false").output().expect("it runs").stdout;
    let facts: Value = serde_json::from_slice(&raw).expect("it is JSON");
    assert_eq!(facts["output"], "\u{1b}[31mred\u{1b}[0m\n10%\r100%\ntitle\u{1b}]0;x\u{7}y\0z\n");
    // A progress bar of half a megabyte is one short line, and all of it is on disk.
    let bar = "for i in {1..50000}; do printf '\\r%9d%%' $i; done; echo";
    let facts = json(&home, &["run", "--json", bar]);
    assert_eq!(facts["output"], "    50000%\n");
    assert_eq!(facts["notices"], serde_json::json!(["537.1KB before cleaning; full output: artifact://1"]));
    let artifact = std::fs::metadata(home.path().join(".local/state/bashful/artifacts/1")).expect("it is there");
    assert_eq!(artifact.len(), 50_000 * 11 + 1);
}

#[test]
fn how_much_is_shown_can_be_set() {
    let home = home();
    let show = |settings: &[(&str, &str)]| {
        let mut command = home.command(&["run", "--json", "seq 1 1000"]);
        let output = command.envs(settings.iter().copied()).output().expect("it runs").stdout;
        let facts: Value = serde_json::from_slice(&output).expect("it is JSON");
        facts["output"].as_str().expect("text").to_owned()
    };
    let tail = show(&[
        ("BASHFUL_OUTPUT_WHOLE_BYTES", "3000"),
        ("BASHFUL_OUTPUT_HEAD_BYTES", "0"),
        ("BASHFUL_OUTPUT_TAIL_BYTES", "8"),
    ]);
    assert!(
        tail.starts_with("[output truncated: got 3.8KB, max is 2.9KB]\n999\n1000\n[showing lines 999-1000 of 1000 ("),
        "{tail}"
    );
    let head = show(&[
        ("BASHFUL_OUTPUT_WHOLE_BYTES", "3000"),
        ("BASHFUL_OUTPUT_HEAD_BYTES", "4"),
        ("BASHFUL_OUTPUT_TAIL_BYTES", "0"),
    ]);
    assert!(head.starts_with("1\n2\n... (truncated)\n[showing lines 1-2 of 1000 ("), "{head}");
    let each_stream = home
        .command(&["run", "--split", "--json", "seq 1 200000; seq 1 200000 >&2"])
        .env("BASHFUL_OUTPUT_WHOLE_BYTES", "1000000")
        .env("BASHFUL_OUTPUT_HEAD_BYTES", "1000000")
        .env("BASHFUL_OUTPUT_TAIL_BYTES", "0")
        .output()
        .expect("it runs");
    let facts: Value = serde_json::from_slice(&each_stream.stdout).expect("it is JSON");
    for stream in ["stdout", "stderr"] {
        let shown = facts[stream].as_str().expect("text");
        let (kept, rest) = shown.split_once("... (truncated)\n[showing lines 1-").expect("it is cut");
        assert!((990_000..=1_000_000).contains(&kept.len()) && rest.contains(" of 200000 ("), "{rest}");
    }
}

#[test]
fn a_place_for_artifacts_that_is_none_is_said_and_does_no_harm() {
    let home = home();
    let state = home.path().join("state");
    std::fs::write(&state, "a file").expect("a file");
    let mut command = home.command(&["run", "--json", "seq 1 100000"]);
    let output = command.env("XDG_STATE_HOME", &state).output().expect("it runs");
    assert_eq!(output.status.code(), Some(0));
    let facts: Value = serde_json::from_slice(&output.stdout).expect("it is JSON");
    let shown = facts["output"].as_str().expect("text");
    let said = "of 100000 (580698 bytes omitted); Full output was not saved completely: ";
    assert!(shown.contains(said), "{}", &shown[shown.len() - 300..]);
}

#[test]
fn nohup_is_respected() {
    let home = home();
    let script =
        r#"trap "" HUP; exec "$0" run '"$PUPPET" make ready; until [ -e go ]; do sleep 0.01; done; echo done'"#;
    let mut command = home.wrapped("bash", &["-c", script, BASHFUL]);
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it runs");
    home.wait_for("ready");
    rustix::process::kill_process(rustix_pid(&child), rustix::process::Signal::HUP).expect("a signal");
    std::fs::write(home.path().join("go"), "").expect("a file");
    let output = child.wait_with_output().expect("it ends");
    assert_eq!((text(&output.stdout), output.status.code()), ("done\n".to_owned(), Some(0)));
}

#[test]
fn a_killed_keeper_leaves_nothing_behind_and_is_said() {
    let home = home();
    let script =
        r#"echo before; (setsid "$PUPPET" hold &); "$PUPPET" hold & $PUPPET signal KILL $PPID; "$PUPPET" hold"#;
    let output = home.run(&["run", script]);
    assert_eq!((text(&output.stdout), output.status.code()), ("before\n".to_owned(), Some(125)));
    assert!(text(&output.stderr).starts_with("[command lost: its keeper was killed"), "{}", text(&output.stderr));
    assert_eq!(home.survivors(), [""; 0], "something was left when the reply came");
}

#[test]
fn leftovers_are_named_and_live_on_until_their_keeper_is_asked() {
    let home = home();
    // Its own path may be longer than what is shown of a command line.
    let facts = json(&home, &["run", "--json", r#"(exec -a puppet "$PUPPET" chatter failed) & echo hi"#]);
    assert_eq!(facts["leftover"]["processes"][0]["command"], "puppet chatter failed");
    let file = PathBuf::from(facts["leftover"]["output_file"].as_str().expect("a file"));
    assert!(file.starts_with(home.path().join(".local/state/bashful")));
    assert!(eventually(|| std::fs::read_to_string(&file).is_ok_and(|text| text.lines().count() > 20)));
    assert!(!home.path().join("failed").exists());
    let keeper = facts["leftover"]["keeper"].to_string();
    assert!(Command::new("kill").arg(keeper).status().expect("kill").success());
    home.check_nothing_survives();
}

#[test]
fn a_reader_that_goes_away_is_no_reason_to_panic() {
    let home = home();
    let mut command = home.wrapped("bash", &["-c", r#""$0" run 'seq 1 20000' | true; echo ${PIPESTATUS[0]}"#, BASHFUL]);
    let output = command.output().expect("it runs");
    assert_eq!((text(&output.stdout), text(&output.stderr)), ("0\n".to_owned(), String::new()));
}

#[test]
fn a_reader_that_wants_one_line_gets_it_and_the_command_is_not_cut_short() {
    let home = home();
    let script = r#""$0" run 'seq 1 100000; echo all > done' | head -n 2"#;
    let output = home.wrapped("bash", &["-c", script, BASHFUL]).output().expect("it runs");
    assert_eq!((text(&output.stdout).as_str(), text(&output.stderr).as_str()), ("1\n2\n", ""));
    assert!(home.path().join("done").exists());
}

#[test]
fn running_out_of_descriptors_is_said_and_never_hangs() {
    let home = home();
    let mut failed = 0;
    for limit in 3..24 {
        let arg = format!("--nofile={limit}:{limit}");
        let output = home.wrapped("prlimit", &[&arg, "--", BASHFUL, "run", "echo hi"]).output().expect("prlimit");
        match output.status.code() {
            Some(0) => assert_eq!(text(&output.stdout), "hi\n"),
            Some(125) => {
                failed += 1;
                let said = text(&output.stderr);
                assert!(said.contains("no file descriptors left") || said.contains("Too many open files"), "{said}");
            }
            other => panic!("with {limit}: {other:?} {:?} {}", output.status.signal(), text(&output.stderr)),
        }
        home.check_nothing_survives();
    }
    assert!(failed > 0, "there were always enough");
}

#[test]
fn running_out_of_processes_is_said() {
    let home = home();
    // The limit counts all processes of a user and does not hold for root, so this takes a user that nobody else is.
    let user = if rustix::process::getuid().is_root() { Some("54321") } else { None };
    for limit in [1, 2] {
        let nproc = format!("--nproc={limit}");
        let mut args = vec![nproc.as_str(), "--"];
        let who = user.map(|user| [format!("--reuid={user}"), format!("--regid={user}")]);
        if let Some([uid, gid]) = &who {
            args.extend(["setpriv", uid, gid, "--clear-groups", "--"]);
        }
        args.extend([BASHFUL, "run", "--cwd", "/", "true"]);
        let output = home.wrapped("prlimit", &args).current_dir("/").output().expect("prlimit");
        let said = text(&output.stderr);
        assert_eq!(output.status.code(), Some(125), "{said}");
        assert!(said.contains("no more processes can be made"), "{said}");
        home.check_nothing_survives();
    }
}

#[test]
fn a_terminal_shows_the_newest_lines_and_the_time_and_at_last_only_the_output() {
    let home = home();
    let script = r"echo first; until [ -e go ]; do sleep 0.01; done; echo last";
    let terminal = Terminal::run(&home, &format!("{BASHFUL} run '{script}'; echo ended $?; read"));
    let screen = terminal.shows("s · 1 line · 6B · Ctrl-C stops it");
    assert!(screen.starts_with("  first\n● running · "), "{screen}");
    std::fs::write(home.path().join("go"), "").expect("a file");
    assert_eq!(terminal.shows("ended 0").trim_end(), "first\nlast\nended 0");
    drop(terminal);
    home.check_nothing_survives();
}

fn rustix_pid(child: &Child) -> rustix::process::Pid {
    rustix::process::Pid::from_child(child)
}

#[test]
fn a_state_directory_that_is_full_or_read_only_is_said_and_does_not_touch_the_command() {
    let home = home();
    for (options, said) in [("size=64k", "No space left on device"), ("ro", "Read-only file system")] {
        let script = format!(
            "mkdir -p state && mount -t tmpfs -o {options} none state && XDG_STATE_HOME=$PWD/state \"$0\" run --json 'seq 1 200000'"
        );
        let args = ["--user", "--map-root-user", "--mount", "sh", "-c", &script, BASHFUL];
        let output = home.wrapped("unshare", &args).output().expect("unshare");
        assert_eq!(output.status.code(), Some(0), "{options}: {}", text(&output.stderr));
        let facts: Value = serde_json::from_slice(&output.stdout).expect("it is JSON");
        let out = facts["output"].as_str().expect("text");
        assert!(out.contains("\n199999\n200000\n") && out.contains("[snip]"), "{options}: {out}");
        assert!(out.contains("Full output was not saved completely") && out.contains(said), "{options}: {out}");
        assert!(!out.contains("all of it"), "{options}: {out}");
        assert_eq!(facts["notices"], serde_json::json!([]), "it is said once");
    }
}

#[test]
fn a_shell_path_that_is_no_program_is_named() {
    let home = home();
    let output = home.command(&["run", "true"]).env("BASHFUL_SHELL_PATH", "/no/bash").output().expect("it runs");
    assert!(text(&output.stderr).contains("the shell /no/bash does not exist"));
    let output = home.command(&["run", "true"]).env("BASHFUL_SHELL_PATH", "/etc/passwd").output().expect("it runs");
    assert!(text(&output.stderr).contains("the shell /etc/passwd is not executable"), "{}", text(&output.stderr));
}
