//! `bashful run --pty`: programs with a screen, at the terminal of a person and without one.

use std::io::Write;
use std::process::{Command, Output, Stdio};

use bashful_testkit::{Home, Terminal, eventually};

use crate::BASHFUL;

/// A program that uses all of a screen, and cleans nothing up. The alternate screen, the mouse, and no cursor.
const RUDE: &str =
    "stty raw -echo; printf \"\\033[?1049h\\033[?25l\\033[?1000h\\033[?1006h\\033[?2004hrude\"; touch up; sleep 1000";

/// Facts about a screen that nobody uses: no alternate screen, a cursor, no mouse.
const CLEAN: (&str, &str) = ("#{alternate_on} #{cursor_flag} #{mouse_any_flag}", "0 1 0");

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Runs a script at a terminal of its own, with this standard input.
fn piped(home: &Home, script: &str, input: &str) -> Output {
    let mut command = home.command(&["run", "--pty", "--timeout", "60", script]);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().expect("it starts");
    child.stdin.take().expect("a pipe").write_all(input.as_bytes()).expect("it is written");
    child.wait_with_output().expect("it ends")
}

/// A line that runs a script at the terminal and waits until the modes are as before. The files `pid` and `keeper` tell whom to kill,
/// and `end` has the exit code: the alternate screen may swallow it if the shell is quicker than the keeper.
fn line(home: &Home, options: &str, script: &str) -> String {
    std::fs::write(home.path().join("script"), format!("echo $PPID >keeper; {script}")).expect("a file");
    format!(
        "stty -g >before; sh -c 'echo $$ >pid; exec bashful run --pty {options} \"$(cat script)\"'; echo ended $? | tee end; \
         until stty -g >after; cmp -s before after; do sleep 0.02; done; echo same modes; read -r word; echo the shell read $word; read"
    )
}

/// The number in a file.
fn number(home: &Home, file: &str) -> String {
    std::fs::read_to_string(home.path().join(file)).expect("a file").trim().to_owned()
}

fn send(signal: &str, pid: &str) {
    assert!(Command::new("kill").args([signal, pid]).status().expect("kill").success());
}

#[track_caller]
fn check_clean(terminal: &Terminal<'_>) {
    assert!(eventually(|| terminal.facts(CLEAN.0) == CLEAN.1), "{}\n{}", terminal.facts(CLEAN.0), terminal.screen());
}

/// The terminal itself and the shell in it carry the mark of the home, too.
#[track_caller]
fn check_program_is_gone(home: &Home) {
    let programs = || {
        let mut left = home.survivors();
        left.retain(|line| line.contains("sleep 1000") || line.contains("vim -u") || line.contains("bashful-keeper"));
        left
    };
    assert!(eventually(|| programs().is_empty()), "survived: {:?}", programs());
}

#[test]
fn an_editor_writes_a_file() {
    let home = Home::new(BASHFUL);
    let terminal = Terminal::run(&home, &line(&home, "", "vim -u NONE -N notes"));
    terminal.shows("\"notes\" [New]");
    assert_eq!(terminal.facts("#{alternate_on}"), "1");
    terminal.types(&["i", "Zoë was here", "Escape"]);
    terminal.echoes("Zoë was here");
    terminal.types(&[":wq", "Enter"]);
    let screen = terminal.shows("same modes");
    assert!(screen.contains("ended 0"), "{screen}");
    assert_eq!(std::fs::read_to_string(home.path().join("notes")).expect("a file"), "Zoë was here\n");
    check_clean(&terminal);
    check_program_is_gone(&home);
}

#[test]
fn a_pager_turns_pages_and_ends() {
    let home = Home::new(BASHFUL);
    let terminal = Terminal::run(&home, &line(&home, "", "seq 1000 | less"));
    terminal.shows("\n29\n");
    terminal.types(&["G"]);
    terminal.shows("(END)");
    terminal.shows("\n1000\n");
    terminal.types(&["q"]);
    assert!(terminal.shows("same modes").contains("ended 0"));
}

#[test]
fn the_command_follows_the_size_of_the_screen() {
    let home = Home::new(BASHFUL);
    let script = "stty size; trap \"stty size; exit 7\" WINCH; while :; do sleep 0.05; done";
    let terminal = Terminal::run(&home, &line(&home, "", script));
    terminal.shows("30 100");
    terminal.resize(90, 20);
    terminal.shows("20 90");
    assert!(terminal.shows("same modes").contains("[command failed: exit code 7]\nended 7"), "{}", terminal.screen());
}

#[test]
fn control_c_is_for_the_program() {
    let home = Home::new(BASHFUL);
    let script = "trap \"echo caught; exit 5\" INT; echo ready; while :; do sleep 0.05; done";
    let terminal = Terminal::run(&home, &line(&home, "", script));
    terminal.shows("ready");
    terminal.types(&["C-c"]);
    let screen = terminal.shows("same modes");
    assert!(screen.contains("^Ccaught\n[command failed: exit code 5]\nended 5"), "{screen}");
    check_program_is_gone(&home);
}

#[test]
fn what_is_said_after_control_c_begins_a_line_of_its_own() {
    let home = Home::new(BASHFUL);
    let terminal = Terminal::run(&home, &line(&home, "", "echo ready; exec sleep 1000"));
    terminal.shows("ready");
    terminal.types(&["C-c"]);
    let screen = terminal.shows("same modes");
    assert!(screen.contains("^C\n[command") && screen.contains("ended 130"), "{screen}");
    check_program_is_gone(&home);
}

#[test]
fn control_z_pauses_a_program_with_its_command_and_fg_brings_both_back() {
    let home = Home::new(BASHFUL);
    let terminal = Terminal::shell(&home);
    terminal.types(&["bashful run --pty 'SHELL=/bin/sh vim -u NONE -N notes'", "Enter"]);
    terminal.shows("\"notes\" [New]");
    terminal.types(&["i", "first", "Escape"]);
    terminal.echoes("first");
    terminal.types(&["C-z"]);
    let screen = terminal.shows("Stopped");
    assert!(screen.contains("\n[suspended; its timeout goes on; fg resumes it]\n"), "{screen}");
    check_clean(&terminal);
    // The shell has the terminal, in its own modes.
    terminal.types(&["echo $((6 * 7))", "Enter"]);
    terminal.shows("\n42\n");
    terminal.resize(80, 25);
    terminal.types(&["fg", "Enter"]);
    assert!(eventually(|| terminal.facts("#{alternate_on}") == "1"), "{}", terminal.screen());
    terminal.types(&[":set columns? lines?", "Enter"]);
    terminal.shows("lines=25");
    terminal.shows("columns=80");
    terminal.types(&["Enter", "osecond", "Escape", ":wq", "Enter"]);
    // Keys before the prompt would be meant for the program, and dropped.
    let has_prompt = || terminal.screen().trim_end().ends_with("\nperson>");
    assert!(eventually(|| terminal.facts("#{alternate_on}") == "0" && has_prompt()), "{}", terminal.screen());
    terminal.types(&["stty -a | grep -o -- ' icanon'; echo rc $?", "Enter"]);
    terminal.shows("rc 0");
    assert_eq!(std::fs::read_to_string(home.path().join("notes")).expect("a file"), "first\nsecond\n");
}

#[test]
fn a_program_that_knows_nothing_of_pauses_has_its_screen_back_after_one() {
    let home = Home::new(BASHFUL);
    std::fs::write(home.path().join("rude"), RUDE.replace("stty raw -echo", "stty -echo")).expect("a file");
    let terminal = Terminal::shell(&home);
    terminal.types(&["bashful run --pty 'bash rude'", "Enter"]);
    home.wait_for("up");
    assert!(eventually(|| terminal.facts(CLEAN.0) == "1 0 1"), "{}", terminal.screen());
    terminal.types(&["C-z"]);
    terminal.shows("Stopped");
    check_clean(&terminal);
    terminal.types(&["fg", "Enter"]);
    assert!(eventually(|| terminal.facts(CLEAN.0) == "1 0 1"), "{}", terminal.screen());
    terminal.types(&["C-c"]);
    check_clean(&terminal);
    check_program_is_gone(&home);
}

#[test]
fn the_time_of_a_paused_command_goes_on() {
    let home = Home::new(BASHFUL);
    let terminal = Terminal::shell(&home);
    let run = "bashful run --pty -t 2 'echo $$ >new; mv new shell; sleep 1000'";
    terminal.types(&[run, "Enter"]);
    home.wait_for("shell");
    terminal.types(&["C-z"]);
    terminal.shows("Stopped");
    let shell = format!("/proc/{}", number(&home, "shell"));
    assert!(eventually(|| !std::path::Path::new(&shell).exists()), "it outlives its time");
    terminal.types(&["fg; echo ended $?", "Enter"]);
    let screen = terminal.shows("ended 124");
    assert!(screen.contains("[command timed out after 2s]"), "{screen}");
}

/// Ends a rude program in some way, and checks that the terminal is as before.
#[track_caller]
fn check_end(options: &str, end: impl FnOnce(&Home), said: &[&str]) {
    let home = Home::new(BASHFUL);
    let terminal = Terminal::run(&home, &line(&home, options, RUDE));
    home.wait_for("up");
    if options.is_empty() {
        assert!(eventually(|| terminal.facts(CLEAN.0) == "1 0 1"), "{}", terminal.screen());
    }
    end(&home);
    let screen = terminal.shows("same modes") + &number(&home, "end");
    for part in said {
        assert!(screen.contains(part), "{part:?} is missing: {screen}");
    }
    check_clean(&terminal);
    // The shell waits for its keys as before.
    terminal.types(&["mine", "Enter"]);
    terminal.shows("the shell read mine");
    check_program_is_gone(&home);
}

#[test]
fn a_program_that_is_killed_leaves_a_clean_terminal() {
    let kill = |home: &Home| send("-KILL", &children(&number(home, "keeper")));
    check_end("", kill, &["[command killed by signal 9 (SIGKILL)]", "ended 137"]);
}

#[test]
fn time_that_is_up_leaves_a_clean_terminal() {
    check_end("-t 1", |_| (), &["[command timed out after 1s]", "ended 124"]);
}

#[test]
fn a_request_to_end_leaves_a_clean_terminal() {
    check_end("", |home| send("-TERM", &number(home, "pid")), &["[command cancelled]", "ended 143"]);
    check_end("", |home| send("-HUP", &number(home, "pid")), &["[command cancelled]", "ended 129"]);
}

#[test]
fn a_program_of_ours_that_is_killed_or_aborts_leaves_a_clean_terminal() {
    check_end("", |home| send("-KILL", &number(home, "pid")), &["ended 137"]);
    // As after a panic.
    check_end("", |home| send("-ABRT", &number(home, "pid")), &["ended 134"]);
}

#[test]
fn a_lost_keeper_leaves_a_clean_terminal() {
    check_end("", |home| send("-KILL", &number(home, "keeper")), &["[command lost", "ended 125"]);
}

/// The first child of a process.
fn children(pid: &str) -> String {
    let children = std::fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).expect("it runs");
    children.split_whitespace().next().expect("a child").to_owned()
}

#[test]
fn what_is_typed_is_seen_at_once_although_it_may_begin_a_secret() {
    let home = Home::new(BASHFUL);
    let run = "export API_TOKEN=hunter2-hunter2; ";
    let script = "echo hunter2-hunter2; read -p \"> \" word; echo \"[$word]\"";
    let terminal = Terminal::run(&home, &(run.to_owned() + &line(&home, "", script)));
    terminal.shows("[withheld: API_TOKEN]\n>");
    terminal.types(&["hunt"]);
    terminal.shows("> hunt");
    terminal.types(&["Enter"]);
    assert!(terminal.shows("same modes").contains("\n[hunt]\nended 0"), "{}", terminal.screen());
}

#[test]
fn a_person_has_their_editor_and_their_terminal_type_and_others_have_ours() {
    let home = Home::new(BASHFUL);
    let script = "echo $EDITOR:$PAGER:$TERM:$CI:$AGENT:$LESS:$SSH_ASKPASS";
    let own = "export EDITOR=nano TERM=screen CI=; unset PAGER; ";
    let terminal = Terminal::run(&home, &(own.to_owned() + &line(&home, "-e LESS=S", script)));
    terminal.shows("nano::screen::1:S:\n");
    let output = piped(&home, script, "");
    assert_eq!(text(&output.stdout), "::xterm-256color::1::\r\n");
}

#[test]
fn input_from_a_pipe_is_typed_up_to_its_end() {
    let home = Home::new(BASHFUL);
    let output = piped(&home, "cat >got; stty size; test -t 0 -a -t 1 -a -t 2 && echo tty", "one\ntwo\nthree");
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    assert!(text(&output.stdout).ends_with("40 120\r\ntty\r\n"), "{output:?}");
    assert_eq!(std::fs::read_to_string(home.path().join("got")).expect("a file"), "one\ntwo\nthree");
    let many = "a line of some length\n".repeat(10_000);
    piped(&home, "cat >got", &many);
    assert!(std::fs::read_to_string(home.path().join("got")).expect("a file") == many);
    home.check_nothing_survives();
}

#[test]
fn a_line_that_the_terminal_would_cut_stops_the_command() {
    let home = Home::new(BASHFUL);
    let output = piped(&home, "cat >got", &format!("first\n{}\n", "x".repeat(6000)));
    let said = text(&output.stderr);
    assert!(
        said.starts_with("[standard input has a line of more than 4095 bytes, which a terminal would cut;"),
        "{said}"
    );
    assert_ne!(output.status.code(), Some(0));
    let got = std::fs::read_to_string(home.path().join("got")).unwrap_or_default();
    assert!(got.is_empty() || got == "first\n", "{got}");
    home.check_nothing_survives();
}

#[test]
fn without_a_person_output_ends_and_notices_are_as_without_a_terminal() {
    let home = Home::new(BASHFUL);
    let output = home.run(&["run", "--pty", "printf 'a\\033[31mb\\n'; echo err >&2; exit 4"]);
    let expected = ("a\x1b[31mb\r\nerr\r\n", "[command failed: exit code 4]\n", Some(4));
    assert_eq!((&*text(&output.stdout), &*text(&output.stderr), output.status.code()), expected);
    let output = home.run(&["run", "--pty", "-t", "1", "sleep 1000"]);
    let expected = ("[command timed out after 1s]\n", Some(124));
    assert_eq!((&*text(&output.stderr), output.status.code()), expected);
    let output = home.run(&["run", "--pty", "git push -f"]);
    assert_eq!(output.status.code(), Some(125));
    home.check_nothing_survives();
}

#[test]
fn options_that_make_no_sense_at_a_terminal_are_refused_by_name() {
    let home = Home::new(BASHFUL);
    for option in [&["--session", "s"][..], &["--json"], &["--patience", "1"], &["--split"], &["--dialect", "pi"]] {
        let output = home.run(&[&["run", "--pty", "true"], option].concat());
        let said = text(&output.stderr) + &text(&output.stdout);
        assert_eq!(output.status.code(), Some(125));
        assert!(said.contains(&format!("the argument '--pty' cannot be used with '{}", option[0])), "{said}");
    }
}

#[test]
fn a_job_can_have_a_terminal() {
    let home = Home::new(BASHFUL);
    let started = home.run(&["run", "-b", "--pty", "test -t 0 -a -t 1 && stty size"]);
    assert!(text(&started.stdout).starts_with("job 1\n"), "{started:?}");
    home.run(&["jobs", "wait", "1"]);
    let logs = home.run(&["jobs", "logs", "1"]);
    assert!(text(&logs.stdout).starts_with("40 120"), "{logs:?}");
}
