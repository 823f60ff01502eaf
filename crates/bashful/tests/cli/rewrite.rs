//! Rewriting of commands by the program.

use std::fs;
use std::path::Path;
use std::process::Output;

use bashful_testkit::Home;
use serde_json::Value;

fn home() -> Home {
    Home::new(env!("CARGO_BIN_EXE_bashful"))
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Standard output, standard error and the exit code.
fn told(output: &Output) -> (String, String, Option<i32>) {
    (text(&output.stdout), text(&output.stderr), output.status.code())
}

/// Runs a script with these settings.
fn with(home: &Home, variables: &[(&str, &str)], args: &[&str]) -> (String, String, Option<i32>) {
    told(&home.command(args).envs(variables.iter().copied()).output().expect("it runs"))
}

/// The facts of a command, with what a model or a person at a terminal is shown of it, and the exit code.
#[track_caller]
fn facts(home: &Home, args: &[&str]) -> (Value, Option<i32>) {
    let output = home.run(&[&["run", "--json"], args].concat());
    (serde_json::from_slice(&output.stdout).expect("JSON"), output.status.code())
}

#[track_caller]
fn starts_with(field: &Value, expected: &str) {
    assert!(field.as_str().expect("text").starts_with(expected), "{field}");
}

#[test]
fn a_leading_cd_and_a_trailing_head_are_taken_and_told() {
    let home = home();
    fs::create_dir(home.path().join("my dir")).expect("made");
    let (told_of, code) = facts(&home, &["cd 'my dir' && seq 9 | head -n 2"]);
    let ranges = "[showing lines 1-2 of 9 (14 bytes omitted); full output: artifact://1, `bashful artifacts show 1`]";
    assert_eq!(told_of["output"], format!("1\n2\n{ranges}\n"));
    let notices = serde_json::json!([
        "`cd 'my dir'` became the working directory",
        "`| head -n 2` became a line limit; the exit status is the command's own"
    ]);
    assert_eq!(told_of["notices"], notices);
    assert_eq!(code, Some(0));
    assert_eq!(told(&home.run(&["artifacts", "show", "1"])).0, "1\n2\n3\n4\n5\n6\n7\n8\n9\n");

    let (told_of, code) = facts(&home, &["{ seq 9; exit 3; } | tail -1"]);
    starts_with(&told_of["output"], "9\n[showing lines 9-9 of 9 (");
    assert_eq!(code, Some(3), "the command's own");
    // Direct output rewrites nothing, so bash runs the pipeline itself.
    let (shown, _, code) = with(&home, &[], &["run", "{ seq 9; exit 3; } | tail -1"]);
    assert_eq!((shown.as_str(), code), ("9\n", Some(0)));
}

#[test]
fn an_endless_command_ends_well_once_its_lines_are_there() {
    let home = home();
    let output = home.run(&["run", "--json", "yes | head -3"]);
    let facts: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert_eq!((&facts["status"], &facts["exit_code"]), (&"exited".into(), &0.into()));
    assert_eq!(facts["cut_off"]["after_lines"], 3);
    assert_eq!(facts["cut_off"]["signal"]["name"], "SIGPIPE");
    assert!(facts["output"].as_str().expect("text").starts_with("y\ny\ny\n[showing lines 1-3 of "), "{facts}");
    let notices = facts["notices"].to_string();
    assert!(
        notices
            .contains("stopped reading after 3 lines, as `head` would; the resulting signal 13 (SIGPIPE) is ignored"),
        "{notices}"
    );
    assert_eq!(output.status.code(), Some(0));
    home.check_nothing_survives();
}

#[test]
fn standard_error_is_shown_whole_and_apart_only_if_wanted() {
    let home = home();
    let script = "{ echo oh >&2; seq 5; } | head -1";
    starts_with(&facts(&home, &[script]).0["output"], "oh\n1\n[showing lines 1-1 of 5 (");
    let (apart, _) = facts(&home, &["--split", script]);
    starts_with(&apart["stdout"], "1\n[showing");
    assert_eq!(apart["stderr"], "oh\n");
}

#[test]
fn each_can_be_turned_off() {
    let home = home();
    fs::create_dir(home.path().join("d")).expect("made");
    let off = [
        ("BASHFUL_REWRITE_CD", "false"),
        ("BASHFUL_REWRITE_HEAD_AND_TAIL", "false"),
        ("BASHFUL_REWRITE_URLS", "false"),
    ];
    let script = "cd d && echo agent://1 artifact://1 | head -1";
    assert_eq!(with(&home, &off, &["run", script]), ("agent://1 artifact://1\n".into(), String::new(), Some(0)));
    let (_, said, _) = with(&home, &off[1..], &["run", script]);
    assert_eq!(said, "[`cd d` became the working directory]\n");
    let (shown, said, code) = with(&home, &off[1..], &["run", "exit 3 | head -1"]);
    assert_eq!((shown.as_str(), said.as_str(), code), ("", "", Some(0)), "as bash does it");
}

#[test]
fn urls_are_files_and_their_directories_are_made() {
    let home = home();
    let skill = home.path().join("skills/tool");
    fs::create_dir_all(&skill).expect("made");
    fs::write(skill.join("SKILL.md"), "how to\n").expect("written");
    let settings = [("BASHFUL_REWRITE_SKILLS", "[\"~/skills\"]")];
    let (shown, said, code) =
        with(&home, &settings, &["run", "cat skill://tool/SKILL.md > local://a/b.md; cat \"local://a/b.md\""]);
    assert_eq!((shown.as_str(), code), ("how to\n", Some(0)), "{said}");
    assert_eq!(fs::read(home.state().join("scratch/a/b.md")).expect("there"), b"how to\n");
    let (shown, ..) =
        with(&home, &settings, &["run", "--cwd", "skill://tool", "--env", "F=local://a/b.md", "pwd; echo $F"]);
    assert_eq!(shown, format!("{}\n{}\n", skill.display(), home.state().join("scratch/a/b.md").display()));
    let refused = |script: &str, text: &str| {
        assert_eq!(with(&home, &settings, &["run", script]), (String::new(), format!("bashful: {text}\n"), Some(125)));
    };
    refused("cat skill://other", "Unknown skill: other. Available: tool");
    refused("cat artifact://5", "Unknown artifact: 5. Available: none");
    refused("cat plan://x", "Unsupported internal URL in bash command: plan://x");
    refused("cat local://../../x", "Path traversal is not allowed in local:// URLs");
}

#[test]
fn explain_shows_what_would_run_and_makes_nothing() {
    let home = home();
    fs::create_dir(home.path().join("d")).expect("made");
    let script = "cd d && cat local://x/y 2>&1 | tail -7";
    let (shown, ..) = with(&home, &[("BASHFUL_SHELL_PREFIX", "nice -n 3")], &["explain", script]);
    let path = home.state().join("scratch/x/y");
    for line in [
        format!("script:      nice -n 3 cat {} 2>&1\n", path.display()),
        format!("directory:   {}\n", home.path().join("d").display()),
        "shown:       the last 7 lines, up to 128KB\n".to_owned(),
        "notice:      `cd d` became the working directory\n".to_owned(),
        "notice:      run with the prefix `nice -n 3` of the settings\n".to_owned(),
    ] {
        assert!(shown.contains(&line), "{line:?} is missing in {shown}");
    }
    assert!(!home.state().join("scratch").exists());
}

#[test]
fn a_prefix_is_put_before_every_command() {
    let home = home();
    let prefix = [("BASHFUL_SHELL_PREFIX", "env PREFIXED=yes")];
    let (shown, ..) = with(&home, &prefix, &["run", "bash -c 'echo $PREFIXED'"]);
    assert_eq!(shown, "yes\n");
    let (_, said, code) = with(&home, &[("BASHFUL_SHELL_PREFIX", "sudo")], &["run", "rm -rf /"]);
    assert!(said.contains("permission denied") && code == Some(125), "the guard sees it too: {said}");
}

#[test]
fn a_prefix_before_what_is_the_shells_own_is_named_beside_the_failure() {
    let home = home();
    let prefix = [("BASHFUL_SHELL_PREFIX", "nice")];
    let hint = |own: &str| {
        format!(
            "[run with the prefix `nice` of the settings; if it failed by that: it begins with {own}, which no program can run; `bash -c '…'` runs all of it behind the prefix, and `true; …` without]\n"
        )
    };
    for (script, own) in [("cd /usr", "`cd`"), ("A=1 true", "an assignment"), ("if true; then true; fi", "`if`")] {
        for session in [&["run"][..], &["run", "--session", "s"]] {
            let (_, said, code) = with(&home, &prefix, &[session, &[script]].concat());
            assert!(said.contains(&hint(own)) && code != Some(0), "{script}: {said}");
        }
    }
    let (shown, said, _) = with(&home, &prefix, &["run", "--session", "s", "true; cd /usr && pwd"]);
    assert_eq!((shown.as_str(), said.as_str()), ("/usr\n", "[run with the prefix `nice` of the settings]\n"));
    let (shown, ..) = with(&home, &prefix, &["doctor"]);
    assert!(shown.contains("\nevery command begins with the prefix nice\n"), "{shown}");
    home.run(&["sessions", "end", "s"]);
    home.check_nothing_survives();
}

#[test]
fn what_runs_is_what_is_judged_and_listed_and_the_log_has_both() {
    let home = home();
    let (_, said, code) = with(&home, &[], &["run", "cd / && rm -rf *"]);
    assert!(said.contains("permission denied") && code == Some(125), "{said}");
    fs::create_dir(home.path().join("d")).expect("made");
    home.run(&["run", "--json", "cd d && echo hi | head -1"]);
    let entry: Value =
        serde_json::from_str(text(&home.run(&["log", "--json"]).stdout).lines().last().expect("a line")).expect("JSON");
    assert_eq!(entry["command"], "cd d && echo hi | head -1");
    assert_eq!(entry["cwd"], home.path().to_str().expect("text"));
    assert_eq!(entry["rewritten"], serde_json::json!({ "command": "echo hi ", "cwd": home.path().join("d") }));
    home.run(&["run", "--mode", "background", "cd d && echo hi | head -1"]);
    let jobs = text(&home.run(&["jobs", "list", "--json"]).stdout);
    assert!(jobs.contains("echo hi | head -1") && !jobs.contains("cd d"), "{jobs}");
}

#[test]
fn a_shell_that_is_not_bash_is_refused_by_name() {
    let home = home();
    let made = |name: &str, content: &str, mode: u32| {
        use std::os::unix::fs::PermissionsExt;
        let path = home.path().join(name);
        fs::write(&path, content).expect("written");
        fs::set_permissions(&path, fs::Permissions::from_mode(mode)).expect("set");
        path.to_str().expect("text").to_owned()
    };
    let plain = made("plain", "", 0o644);
    let broken = made("broken", "no program", 0o755);
    let chatty = made("chatty", "#!/bin/sh\nexec yes\n", 0o755);
    let silent = made("silent", "#!/bin/sh\nexec sleep 1000\n", 0o755);
    for (shell, said) in [
        ("/usr/bin/dash", "the shell /usr/bin/dash is not bash: it has no BASH_VERSION"),
        ("/bin/cat", "the shell /bin/cat is not bash: it has no BASH_VERSION"),
        ("/none", "the shell /none does not exist"),
        ("/tmp", "the shell /tmp is not a file"),
        (&plain, "plain is not executable"),
        (&broken, "broken cannot be run"),
        (&chatty, "chatty is not bash"),
        (&silent, "silent is not bash"),
        ("bash", "`[shell] path` in the settings has to be an absolute path, not \"bash\""),
    ] {
        let (shown, complaint, code) = with(&home, &[("BASHFUL_SHELL_PATH", shell)], &["run", "echo hi"]);
        assert!(complaint.contains(said) && shown.is_empty(), "{shell}: {shown}{complaint}");
        assert_eq!(code, Some(125), "{shell}");
    }
    let (_, complaint, _) = with(&home, &[("BASHFUL_SHELL_PATH", "/usr/bin/dash")], &["doctor"]);
    assert!(complaint.contains("/usr/bin/dash is not bash"), "{complaint}");
    let bash = ["/bin/bash", "/usr/bin/bash"].into_iter().find(|path| Path::new(path).exists()).expect("bash");
    let (shown, ..) = with(&home, &[("BASHFUL_SHELL_PATH", bash)], &["run", "echo hi"]);
    assert_eq!(shown, "hi\n");
    let (shown, ..) = with(&home, &[("BASHFUL_SHELL_PATH", bash)], &["doctor", "--json"]);
    let facts: Value = serde_json::from_str(&shown).expect("JSON");
    assert_eq!(facts["bash"]["path"], bash);
    assert!(facts["bash"]["version"].as_str().expect("text").contains('.'), "{facts}");
    home.check_nothing_survives();
}

#[test]
fn a_better_tool_is_pointed_to_however_it_is_dressed() {
    let home = home();
    fs::create_dir(home.path().join("d")).expect("made");
    let on = [("BASHFUL_INTERCEPTOR_ENABLED", "true"), ("BASHFUL_INTERCEPTOR_TOOLS", "[\"read\"]")];
    for script in ["cat x", "cd d && cat x", "cat x | head -3", "cd d && cat x | tail -3"] {
        let (_, said, code) = with(&home, &on, &["run", script]);
        assert!(said.contains("Blocked: ") && code == Some(125), "{script}: {said}");
    }
}

#[test]
fn a_command_that_outlasts_its_call_has_no_limit_any_more() {
    let home = home();
    let script = "{ echo a; echo oh >&2; until [ -e go ]; do sleep 0.01; done; seq 5; } | head -2";
    let (sent, code) = facts(&home, &["--patience", "1", script]);
    assert_eq!((&sent["output"], code), (&"oh\na\n".into(), Some(0)), "{sent}");
    let notices = sent["notices"].to_string();
    assert!(notices.contains("the line limit no longer applies: the job's file gets all output"), "{notices}");
    fs::write(home.path().join("go"), "").expect("it may go on");
    home.run(&["jobs", "wait", "1"]);
    let written = fs::read_to_string(home.state().join("jobs/1/output")).expect("there");
    assert_eq!(written, "a\n1\n2\n3\n4\n5\n\n[background process completed]\n");
    assert_eq!(fs::read_to_string(home.state().join("jobs/1/stderr")).expect("there"), "oh\n");
    home.check_nothing_survives();
}
