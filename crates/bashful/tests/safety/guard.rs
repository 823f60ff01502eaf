//! The guard as users of the program meet it.

use std::io::Write;
use std::process::{Output, Stdio};

use bashful_testkit::{Home, Terminal, eventually};
use serde_json::{Value, json};

use crate::BASHFUL;

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Runs arguments with some standard input and variables.
fn with(home: &Home, args: &[&str], input: &str, variables: &[(&str, &str)]) -> Output {
    let mut command = home.command(args);
    command.envs(variables.iter().copied()).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().expect("it starts");
    // A program that does not read may be gone already.
    let _ = child.stdin.take().expect("a pipe").write_all(input.as_bytes());
    child.wait_with_output().expect("it ends")
}

#[track_caller]
fn parsed(output: &Output) -> Value {
    serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}: {output:?}"))
}

const PUSH: &str = "permission denied: git push --force is not allowed. Use --force-with-lease for safer force pushes, or push \
                    without force\nfound: git push -f\ninstead: git push --force-with-lease\n";

/// The advice to the user.
fn how_to_allow(home: &Home, script: &str) -> String {
    let directory = home.path().display();
    format!("the user can allow it once, in a terminal: bashful allow --cwd {directory} '{script}'\n")
}

#[test]
fn what_the_guard_refuses_does_not_run() {
    let home = Home::new(BASHFUL);
    let script = "touch was-here; git push -f";
    let output = home.run(&["run", script]);
    assert_eq!(
        (text(&output.stdout), text(&output.stderr), output.status.code()),
        (String::new(), format!("{PUSH}{}", how_to_allow(&home, script)), Some(125))
    );
    assert!(!home.path().join("was-here").exists());
    let facts = parsed(&home.run(&["run", "--json", "x=rm; $x -rf /"]));
    assert_eq!((&facts["status"], &facts["findings"][0]["rule"]), (&"refused".into(), &"rm/critical".into()));
    assert_eq!(facts["findings"][0]["chain"], json!(["x=rm", "$x -rf /", "rm -rf /"]));
    let background = home.run(&["run", "--mode", "background", "git push -f"]);
    let said = format!("{PUSH}{}", how_to_allow(&home, "git push -f"));
    assert_eq!((text(&background.stderr), background.status.code()), (said, Some(125)));
}

#[test]
fn a_refusal_comes_with_the_line_that_would_allow_it_as_it_was_given() {
    let home = Home::new(BASHFUL);
    std::fs::create_dir(home.path().join("d")).expect("a directory");
    let script = "cd d && git push -f | head -3";
    let line = how_to_allow(&home, script);
    let ask = [("BASHFUL_GUARD_LEVELS", r#"{"git/force-push"="ask"}"#)];
    for levels in [&[][..], &ask] {
        for args in [
            &["run"][..],
            &["run", "--mode", "background"],
            &["run", "--dialect", "native"],
            &["run", "--dialect", "pi"],
            &["check"],
        ] {
            let Output { stdout, stderr, .. } = with(&home, &[args, &[script]].concat(), "", levels);
            let said = (text(&stdout) + &text(&stderr)).replace(" --dialect pi '", " '");
            assert_eq!(said.matches(line.trim_end()).count(), 1, "{args:?}: {said}");
        }
    }
    // A model is not sent to the user for what is refused for good.
    let reply = text(&home.run(&["run", "--dialect", "native", script]).stdout);
    assert!(!reply.contains("bashful allow"), "{reply}");
    let line = line.rsplit_once(": ").expect("a line").1.trim_end().to_owned();
    assert_eq!(parsed(&home.run(&["run", "--json", script]))["allow"], *line);
    assert_eq!(parsed(&home.run(&["check", "--json", script]))["allow"], *line);
    // Without a refusal there is nothing to allow.
    let off = [("BASHFUL_GUARD_ENABLED", "false")];
    assert!(!text(&with(&home, &["check", script], "", &off).stdout).contains("bashful allow"));
    assert_eq!(parsed(&home.run(&["check", "--json", "ls"])).get("allow"), None);
}

#[test]
fn a_warning_is_said_and_the_command_runs() {
    let home = Home::new(BASHFUL);
    let script = "[ ! -e / ] && rm -rf \"$SOMEWHERE\"/*; echo ran";
    let output = with(&home, &["run", script], "", &[("SOMEWHERE", "x")]);
    assert_eq!(text(&output.stdout), "ran\n");
    assert!(text(&output.stderr).starts_with("[warning (rm/unknown-directory): if the variable"), "{output:?}");
}

#[test]
fn a_variable_that_a_command_does_not_have_is_empty() {
    let home = Home::new(BASHFUL);
    let script = "[ ! -e / ] && rm -rf \"$NOWHERE\"/*; echo ran";
    let refused = home.run(&["run", script]);
    assert_eq!((text(&refused.stdout), refused.status.code()), (String::new(), Some(125)), "{refused:?}");
    let tested = format!("[ -n \"$NOWHERE\" ] || exit 0; {script}");
    assert_eq!(home.run(&["run", &tested]).status.code(), Some(0));
}

#[test]
fn check_says_what_was_found_and_where() {
    let home = Home::new(BASHFUL);
    let passes = home.run(&["check", "echo hello"]);
    assert_eq!((text(&passes.stdout), passes.status.code()), ("passes\n".into(), Some(0)));
    let refused = with(&home, &["check"], "ls\ngit push -f", &[]);
    assert_eq!(refused.status.code(), Some(1));
    assert_eq!(
        text(&refused.stdout),
        format!(
            "git/force-push: refused\n2 | git push -f\n    ^^^^^^^^^^^\n{PUSH}{}",
            how_to_allow(&home, "SCRIPT").replace('\'', "")
        )
    );
    let unclear = home.run(&["check", "--json", "echo 'open"]);
    assert_eq!((unclear.status.code(), &parsed(&unclear)["understood"]), (Some(2), &false.into()));
    let warned = home.run(&["check", "--json", "git push origin :x"]);
    assert_eq!((warned.status.code(), &parsed(&warned)["verdict"]), (Some(0), &"warn".into()));
}

#[test]
fn a_place_that_is_not_understood_is_said_and_can_be_refused() {
    let home = Home::new(BASHFUL);
    let script = "echo ran\necho a )";
    let output = home.run(&["run", script]);
    assert!(text(&output.stdout).starts_with("ran\n"), "bash runs the first line");
    let said = text(&output.stderr);
    assert!(said.contains("warning (guard/not-understood)") && said.contains("line 2: unexpected `)`"), "{said}");
    let levels = [("BASHFUL_GUARD_LEVELS", r#"{"guard/not-understood"="deny"}"#)];
    let refused = with(&home, &["run", script], "", &levels);
    assert_eq!((text(&refused.stdout), refused.status.code()), (String::new(), Some(125)));
    // A bad substitution hides nothing that stands before it.
    let hidden = home.run(&["run", "git push -f && echo ${pkg.version}"]);
    assert_eq!(hidden.status.code(), Some(125), "{hidden:?}");
}

#[test]
fn check_explains_how_a_dangerous_word_came_about() {
    let home = Home::new(BASHFUL);
    let explained = home.run(&["check", "--explain", "f=-f; sudo git push $f"]);
    let tree =
        "line 1: sudo git push $f\n├─ f=-f\n└─ sudo git push -f\n   └─ git push -f\n      └─ git/force-push: refused\n";
    assert!(text(&explained.stdout).contains(tree), "{}", text(&explained.stdout));
    let kill = home.run(&["check", "--explain", "pkill bashful-nobody"]);
    assert!(text(&kill.stdout).contains("would hit: nothing that runs now"), "{}", text(&kill.stdout));
    let empty = home.run(&["check", " "]);
    assert_eq!((text(&empty.stdout), empty.status.code()), ("the script is empty\n".into(), Some(0)));
}

#[test]
fn the_callers_variables_and_real_directory_count() {
    let home = Home::new(BASHFUL);
    let output = home.run(&["run", "--env", "FLAG=-f", "git push $FLAG"]);
    assert_eq!(output.status.code(), Some(125), "{output:?}");
    std::os::unix::fs::symlink("/", home.path().join("link")).expect("a link");
    // `check` runs nothing.
    let link = home.path().join("link");
    let judged = |cwd: &std::path::Path| home.run(&["check", "--cwd", cwd.to_str().expect("text"), "rm -rf usr"]);
    assert_eq!(judged(&link).status.code(), Some(1));
    assert_eq!(judged(home.path()).status.code(), Some(0));
}

#[test]
fn a_shell_that_waits_is_not_sent_what_the_guard_refuses() {
    let home = Home::new(BASHFUL);
    for script in ["bash", "cat > sent"] {
        let started = home.run(&["run", "--mode", "background", "--stdin", script]);
        assert_eq!(started.status.code(), Some(0), "{started:?}");
    }
    let refused = home.run(&["jobs", "send", "1", "touch was-here; git push -f"]);
    assert!(text(&refused.stderr).contains("nothing was sent to job 1: permission denied: git push"), "{refused:?}");
    assert_ne!(refused.status.code(), Some(0));
    // Text that nobody runs is sent.
    let sent = home.run(&["jobs", "send", "--eof", "2", "git push -f"]);
    assert_eq!(sent.status.code(), Some(0), "{sent:?}");
    let ended = home.run(&["jobs", "send", "--eof", "1", "echo fine"]);
    assert_eq!(ended.status.code(), Some(0), "{ended:?}");
    home.run(&["jobs", "wait", "1", "2"]);
    assert!(!home.path().join("was-here").exists());
    assert_eq!(std::fs::read_to_string(home.path().join("sent")).expect("it was written"), "git push -f\n");
}

#[test]
fn lines_for_a_shell_are_judged_behind_those_before_them_and_logged() {
    let home = Home::new(BASHFUL);
    for _ in 0..2 {
        assert!(home.run(&["run", "--mode", "background", "--stdin", "bash"]).status.success());
    }
    let send = |id: &str, line: &str, passes: bool| {
        let sent = home.run(&["jobs", "send", id, line]);
        assert_eq!(sent.status.success(), passes, "{line}: {sent:?}");
    };
    // Each line alone is harmless.
    send("1", "x=git", true);
    send("1", "$x push -f", false);
    send("1", "echo fine", true);
    send("2", "git push \\", true);
    send("2", " -f", false);
    let log = home.run(&["log", "--json"]);
    let entries: Vec<serde_json::Value> =
        text(&log.stdout).lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    let lines: Vec<_> = entries
        .iter()
        .filter(|entry| entry["surface"] == "jobs")
        .map(|entry| (&entry["command"], &entry["status"], &entry["job"]))
        .collect();
    assert_eq!(
        json!(lines),
        json!([
            ["x=git", "sent", 1],
            ["$x push -f", "refused", 1],
            ["echo fine", "sent", 1],
            ["git push \\", "sent", 2],
            [" -f", "refused", 2]
        ])
    );
    assert!(text(&home.run(&["log"]).stdout).contains("jobs sent to job 1"));
    // A job without an open input gets nothing, and the log does not say otherwise.
    assert!(home.run(&["run", "--mode", "background", "bash; sleep 1000"]).status.success());
    send("3", "echo lost", false);
    assert!(!text(&home.run(&["log"]).stdout).contains("echo lost"));
    home.run(&["jobs", "kill", "3"]);
    home.run(&["jobs", "kill", "1", "2"]);
}

#[test]
fn check_says_that_there_is_no_such_directory_as_run_does() {
    let home = Home::new(BASHFUL);
    std::fs::write(home.path().join("file"), "").expect("a file");
    for (directory, why) in [("nowhere", "does not exist"), ("file", "is not a directory")] {
        let output = home.run(&["check", "--cwd", directory, "ls"]);
        let expected = format!("bashful: Working directory {why}: {}\n", home.path().join(directory).display());
        assert_eq!((text(&output.stderr), output.status.code()), (expected, Some(125)));
        assert_eq!(output, home.run(&["run", "--cwd", directory, "ls"]), "they say the same");
    }
    assert_eq!(home.run(&["check", "--cwd", "/usr/..", "ls"]).status.code(), Some(0));
}

#[test]
fn explain_shows_the_verdict() {
    let home = Home::new(BASHFUL);
    assert!(text(&home.run(&["explain", "ls"]).stdout).starts_with("guard:       passes\n"));
    assert_eq!(parsed(&home.run(&["explain", "--json", "git add ."]))["guard"]["verdict"], "deny");
}

#[test]
fn settings_change_levels_and_turn_rules_off() {
    let home = Home::new(BASHFUL);
    for (levels, code) in [(r#"{"git/force-push"="off"}"#, 0), (r#"{"git/force-push"="warn"}"#, 0), ("{}", 1)] {
        let output = with(&home, &["check", "git push -f"], "", &[("BASHFUL_GUARD_LEVELS", levels)]);
        assert_eq!(output.status.code(), Some(code), "{levels}");
    }
    let wrong = with(&home, &["check", "ls"], "", &[("BASHFUL_GUARD_LEVELS", r#"{"git/push"="off"}"#)]);
    assert_eq!(wrong.status.code(), Some(125));
    assert!(text(&wrong.stderr).contains("there is no rule called `git/push`"), "{wrong:?}");
    let off = with(&home, &["run", "echo ran; [ -e / ] || git push -f"], "", &[("BASHFUL_GUARD_ENABLED", "false")]);
    assert_eq!(text(&off.stdout), "ran\n");
}

#[test]
fn own_rules_are_read_and_held_to_their_examples() {
    let home = Home::new(BASHFUL);
    let directory = home.path().join(".config/bashful");
    std::fs::create_dir_all(&directory).expect("a directory");
    let rule = |example: &str| {
        format!(
            "[[rule]]\nname = \"hard-reset\"\ncommand = \"git\"\nsubcommand = \"reset\"\nany_flag = [\"--hard\"]\nlevel = \
             \"deny\"\nmessage = \"work would be lost\"\ntry = \"git stash\"\nrefuses = [\"{example}\"]\n"
        )
    };
    std::fs::write(directory.join("rules.toml"), rule("git reset --hard")).expect("written");
    let output = home.run(&["run", "git -C x reset --hard HEAD"]);
    assert!(text(&output.stderr).starts_with("work would be lost\nfound: "), "{output:?}");
    std::fs::write(directory.join("rules.toml"), rule("git reset --soft")).expect("written");
    let output = home.run(&["run", "true"]);
    assert_eq!(output.status.code(), Some(125));
    assert!(
        text(&output.stderr).contains("rule `hard-reset` does not refuse its example `git reset --soft`"),
        "{output:?}"
    );
}

#[test]
fn nobody_without_a_terminal_can_allow_anything() {
    let home = Home::new(BASHFUL);
    let output = with(&home, &["allow", "git push -f"], "y\n", &[]);
    assert_eq!(output.status.code(), Some(125));
    assert!(text(&output.stderr).contains("only a person at a terminal"), "{output:?}");
    assert_eq!(home.run(&["check", "bashful allow 'git push -f'"]).status.code(), Some(1));
}

#[test]
fn what_the_user_has_allowed_runs_once() {
    let home = Home::new(BASHFUL);
    let script = "echo ran; [ -e / ] || git push -f";
    let directory = home.path().canonicalize().expect("a directory");
    allow(&home, &json!({ "script": script, "directory": directory }));
    assert_eq!(text(&home.run(&["run", script]).stdout), "ran\n");
    assert_eq!(home.run(&["run", script]).status.code(), Some(125), "once");
}

/// Notes that a command may run once, as `bashful allow` leaves it; until far in the future.
fn allow(home: &Home, command: &Value) {
    let allowed = home.state().join("allowed");
    bashful_engine::make_directory(&allowed).expect("a directory");
    let mut note = json!({ "version": 2, "until": 4_000_000_000_u64 });
    for (name, value) in command.as_object().expect("fields") {
        note[name] = value.clone();
    }
    std::fs::write(allowed.join("1.json"), note.to_string()).expect("written");
}

#[test]
fn a_command_that_was_allowed_does_not_run_with_other_variables_in_another_shell_or_dialect() {
    let home = Home::new(BASHFUL);
    let script = "echo ran; [ -e / ] || rm -rf \"$X\"/etc";
    let line = |args: &[&str]| text(&home.run(&[args, &[script]].concat()).stderr);
    let advice = format!("bashful allow --cwd {} --env 'X=' --session s '", home.path().display());
    assert!(line(&["run", "--env", "X=", "--session", "s"]).contains(&advice));
    let allowed = json!({ "script": script, "directory": home.path(), "variables": { "X": "" } });
    allow(&home, &allowed);
    for args in [
        &["run"][..],
        &["run", "--env", "X=/"],
        &["run", "--env", "X=", "--env", "Y="],
        &["run", "--env", "X=", "--session", "s"],
        &["run", "--env", "X=", "--dialect", "pi"],
    ] {
        let refused = home.run(&[args, &[script]].concat());
        assert_eq!((text(&refused.stdout).contains("ran"), refused.status.success()), (false, false), "{args:?}");
    }
    assert_eq!(text(&home.run(&["run", "--env", "X=", script]).stdout), "ran\n");
}

#[test]
fn what_was_allowed_runs_as_it_was_given_whatever_becomes_of_it() {
    let home = Home::new(BASHFUL);
    std::fs::create_dir(home.path().join("d")).expect("a directory");
    let script = "cd d && { echo ran; [ -e / ] || git push -f; } | tail -5";
    let with = |more: Value| {
        let mut command = json!({ "script": script, "directory": home.path() });
        more.as_object().expect("fields").iter().for_each(|(name, value)| command[name] = value.clone());
        allow(&home, &command);
    };
    for (args, more) in [
        (&["run"][..], json!({})),
        (&["run", "--session", "s"], json!({ "session": "s" })),
        (&["run", "--dialect", "native"], json!({})),
        (&["run", "--dialect", "native", "--session", "t"], json!({ "session": "t" })),
        (&["run", "--dialect", "pi"], json!({ "dialect": "pi" })),
    ] {
        with(more);
        let line = [args, &[script]].concat();
        let first = home.run(&line);
        assert!(first.status.success() && text(&first.stdout).starts_with("ran\n"), "{args:?}: {first:?}");
        assert_eq!(home.run(&line).status.code(), Some(125), "{args:?}: once");
    }
    for args in [&["run", "--mode", "background"][..], &["run", "--dialect", "native", "--mode", "background"]] {
        with(json!({}));
        let line = [args, &[script]].concat();
        assert!(home.run(&line).status.success(), "{args:?}");
        assert_eq!(home.run(&line).status.code(), Some(125), "{args:?}: once");
    }
    // The allowance names these words, not others with the same effect.
    with(json!({}));
    let others = "cd d && { echo ran; [ -e / ] || git push -f; } | tail -6";
    assert_eq!(home.run(&["run", others]).status.code(), Some(125));
    home.run(&["sessions", "end", "--all"]);
}

#[test]
fn the_interceptor_points_to_a_tool_that_is_there() {
    let home = Home::new(BASHFUL);
    let on = [("BASHFUL_INTERCEPTOR_ENABLED", "true"), ("BASHFUL_INTERCEPTOR_TOOLS", r#"["read"]"#)];
    let output = with(&home, &["run", "cd / && cat etc/hostname"], "", &on);
    assert_eq!(output.status.code(), Some(125));
    let said = text(&output.stderr);
    assert!(said.starts_with("Blocked: Use the `read` tool"), "{said}");
    assert!(said.ends_with("Original command: cd / && cat etc/hostname\n"), "{said}");
    let facts = parsed(&with(&home, &["run", "--json", "cat x"], "", &on));
    assert_eq!((&facts["status"], &facts["suggested_tool"]), (&"refused".into(), &"read".into()));
    assert_eq!(text(&with(&home, &["run", "echo x | cat"], "", &on).stdout), "x\n");
    let off = with(&home, &["run", "cat /dev/null"], "", &on[1..]);
    assert_eq!(off.status.code(), Some(0));
}

#[test]
fn a_person_at_a_terminal_is_asked_and_their_word_counts() {
    let home = Home::new(BASHFUL);
    let settings = home.path().join("settings.toml");
    std::fs::write(&settings, "[guard]\nlevels = { \"git/force-push\" = \"ask\" }\n").expect("a file");
    let run =
        format!("{BASHFUL} --config {} run 'echo ran; [ -e / ] || git push -f'; echo ended $?", settings.display());
    let terminal = Terminal::run(&home, &format!("{run}; {run}; read"));
    let screen = terminal.shows("run it? [y/N]");
    assert!(screen.contains("git/force-push: needs approval") && !screen.contains("ran\n"), "{screen}");
    terminal.types(&["n", "Enter"]);
    let screen = terminal.shows("ended 125");
    assert!(!screen.contains("\nran\n"), "{screen}");
    assert!(eventually(|| terminal.screen().matches("run it? [y/N]").count() == 2), "{}", terminal.screen());
    terminal.types(&["y", "Enter"]);
    let screen = terminal.shows("ended 0");
    assert!(screen.contains("\nran\n"), "{screen}");
    let unasked = home.run(&["--config", settings.to_str().expect("text"), "run", "git push -f"]);
    assert_eq!(unasked.status.code(), Some(125), "nobody is there to be asked");
}

#[test]
fn a_person_at_a_terminal_allows_a_command_once() {
    let home = Home::new(BASHFUL);
    let script = "echo ran; [ -e / ] || git push -f";
    let line =
        format!("{BASHFUL} allow '{script}'; {BASHFUL} run '{script}'; {BASHFUL} run '{script}'; echo ended $?; read");
    let terminal = Terminal::run(&home, &line);
    terminal.shows("[y/N]");
    terminal.types(&["y", "Enter"]);
    let screen = terminal.shows("ended 125");
    assert_eq!(screen.matches("\nran\n").count(), 1, "{screen}");
    let hidden = home.run(&["allow", script]);
    assert_eq!(
        text(&hidden.stderr),
        "bashful: only a person at a terminal can allow a command: there is no terminal to ask on\n"
    );
}

#[test]
fn a_person_sees_the_whole_script_that_they_allow_with_nothing_hidden_in_it() {
    let home = Home::new(BASHFUL);
    let script = "echo one\u{1b}[2K\u{202e}\n[ -e / ] || git push -f\necho last";
    std::fs::write(home.path().join("script"), script).expect("written");
    let terminal = Terminal::run(&home, &format!("{BASHFUL} allow \"$(cat script)\"; read"));
    let screen = terminal.shows("[y/N]");
    let shown = "the script (3 lines):\n  | echo one\\u{1b}[2K\\u{202e}\n  | [ -e / ] || git push -f\n  | echo last\n";
    assert!(screen.contains(shown), "{screen}");
}

/// Ways for a command to make itself a terminal, in which it runs the file `line`. What is on it goes to the file `seen`.
const TERMINALS: [&str; 4] = [
    "script -qec 'bash line' seen </dev/null",
    "setsid -f bash -c \"script -qec 'bash line' seen; touch over\" </dev/null; until [ -e over ]; do sleep 0.01; done",
    "SHELL=/bin/sh tmux -S own -f /dev/null new-session -d \"script -qec 'bash line' seen; touch over; read\"; \
     until [ -e over ]; do sleep 0.01; done; tmux -S own kill-server",
    "python3 -c 'import pty; pty.spawn([\"bash\", \"line\"])' </dev/null >seen",
];

#[test]
fn no_command_can_answer_for_a_person_in_a_terminal_of_its_own() {
    for command in TERMINALS {
        for line in ["allow 'git push -f'", "mcp install claude --approve", "mcp install claude --approve --yes"] {
            let home = Home::new(BASHFUL);
            std::fs::write(home.path().join("line"), format!("{BASHFUL} {line}\n")).expect("written");
            let output = home.run(&["run", "--timeout", "600", command]);
            let seen = std::fs::read_to_string(home.path().join("seen")).expect("it was tried");
            // A terminal may be narrow.
            let seen: String = seen.split_ascii_whitespace().collect::<Vec<_>>().join(" ");
            assert!(seen.contains("a command has started this program"), "{command}: {line}: {seen} {output:?}");
            assert!(!home.state().join("allowed").exists() && !home.path().join(".claude.json").exists());
            home.check_nothing_survives();
        }
    }
}

#[test]
fn a_person_allows_a_command_that_ends_in_head_for_a_session_and_for_a_job() {
    let home = Home::new(BASHFUL);
    // The limit on lines is taken off a reply, and not off a job or a session.
    let script = "{ echo ran; [ -e / ] || git push -f; } | head -5";
    let allow = format!("{BASHFUL} allow");
    let line = format!(
        "{allow} -s s '{script}'; {BASHFUL} run -s s '{script}'; {allow} '{script}'; {BASHFUL} run -b '{script}'"
    );
    let terminal = Terminal::run(&home, &format!("{line}; {BASHFUL} sessions end s; echo ended; read"));
    terminal.shows("[y/N]");
    terminal.types(&["y", "Enter"]);
    assert!(eventually(|| terminal.screen().matches("[y/N]").count() == 2), "{}", terminal.screen());
    terminal.types(&["y", "Enter"]);
    let screen = terminal.shows("ended");
    assert!(screen.contains("\nran\n") && screen.contains("job 1\n"), "{screen}");
}

#[test]
fn a_server_that_a_command_has_started_does_not_take_its_word() {
    let home = Home::new(BASHFUL);
    std::fs::create_dir_all(home.path().join(".config/bashful")).expect("a directory");
    let settings = "[guard]\nlevels = { \"git/force-push\" = \"ask\" }\n";
    std::fs::write(home.path().join(".config/bashful/config.toml"), settings).expect("it is written");
    let hello = r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{"elicitation":{}},"clientInfo":{"name":"c","version":"1"}}}"#;
    let call = r#"{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"bash","arguments":{"command":"git push -f"}}}"#;
    let script = format!(
        "coproc S {{ '{BASHFUL}' mcp; }}; echo '{hello}' >&${{S[1]}}; read -r said <&${{S[0]}}
         echo '{call}' >&${{S[1]}}; read -r said <&${{S[0]}}; printf '%s\\n' \"$said\""
    );
    let below = text(&home.run(&["run", &script]).stdout);
    assert!(below.contains("permission denied") && !below.contains("elicitation/create"), "{below}");
    // The same client is asked if no command has started it.
    let outside = home.wrapped("bash", &["-c", &script]).output().expect("it runs");
    assert!(text(&outside.stdout).contains("elicitation/create"), "{outside:?}");
}

#[test]
fn no_command_changes_what_a_client_runs_without_asking() {
    let home = Home::new(BASHFUL);
    assert!(home.run(&["mcp", "install", "claude", "--replace", "--yes"]).status.success());
    for change in ["--dialect plain --yes", "--remove --yes"] {
        let output = home.run(&["run", &format!("'{BASHFUL}' mcp install claude {change}")]);
        let said = format!("{}{}", text(&output.stdout), text(&output.stderr));
        assert!(said.contains("only a person can change") && !output.status.success(), "{said}");
    }
}
