//! `bashful console` at a real terminal: tmux types, and reads the screen.

use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::PermissionsExt;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use bashful_testkit::{Home, Terminal, eventually};

use crate::BASHFUL;

/// The hint below the list while the input has the keys, and while the cards have them.
const TYPING: &str = "\n Enter run";
const CARDS: &str = "Enter expand";

/// Said once a question has been on the screen for a while.
const ANSWERABLE: &str = "Alt-Y approves";

/// A line that opens the console, and tells afterwards how it ended and if the terminal is as before.
fn line(options: &str) -> String {
    format!(
        "stty -g >before; sh -c 'echo $$ >pid; exec bashful console {options}'; echo left $?; \
         until stty -g >after; cmp -s before after; do sleep 0.02; done; echo same modes; read"
    )
}

fn open<'a>(home: &'a Home, options: &str) -> Terminal<'a> {
    let terminal = Terminal::run(home, &line(options));
    terminal.shows(TYPING);
    terminal
}

/// Gives the keys to the cards. Escape and the next key would otherwise look like Alt with that key.
#[track_caller]
fn select_cards(terminal: &Terminal<'_>) {
    terminal.types(&["Escape"]);
    terminal.shows(CARDS);
}

#[track_caller]
fn leave(terminal: &Terminal<'_>) {
    // A command that still runs would have to be stopped first.
    let title = || terminal.screen().lines().next().unwrap_or_default().to_owned();
    assert!(eventually(|| !title().contains(" running")), "{}", terminal.screen());
    terminal.types(&["C-d"]);
    check_left(terminal, "left 0");
}

/// The terminal is as before: the alternate screen is off, the cursor is there, and the modes are the old ones.
#[track_caller]
fn check_left(terminal: &Terminal<'_>, said: &str) {
    terminal.shows("same modes");
    terminal.shows(said);
    let facts = || terminal.facts("#{alternate_on} #{cursor_flag} #{bracket_paste_flag}");
    assert!(eventually(|| facts().starts_with("0 1")), "{}", facts());
}

/// An agent's server, and its input.
struct Agent {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
}

impl Agent {
    /// Starts the server, and waits until it has answered.
    fn start(home: &Home, options: &[&str]) -> Self {
        let mut command = home.command(&[&["mcp"], options].concat());
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("a server");
        let mut input = child.stdin.take().expect("a pipe");
        let hello = r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"test","version":"1"}}}"#;
        writeln!(input, "{hello}").expect("it is written");
        let output = BufReader::new(child.stdout.take().expect("a pipe"));
        let mut agent = Self { child, input, output };
        let answer = agent.answer();
        assert!(answer.contains("serverInfo"), "{answer}");
        writeln!(agent.input, r#"{{"jsonrpc":"2.0","method":"notifications/initialized"}}"#).expect("it is written");
        agent
    }

    /// The next message of the server.
    fn answer(&mut self) -> String {
        let mut answer = String::new();
        self.output.read_line(&mut answer).expect("an answer");
        answer
    }

    fn runs(&mut self, command: &str) {
        let call = serde_json::json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call",
            "params": { "name": "bash", "arguments": { "command": command, "mode": "slow" } } });
        writeln!(self.input, "{call}").expect("it is written");
    }
}

impl Drop for Agent {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn a_whole_visit() {
    let home = Home::new(BASHFUL);
    let terminal = open(&home, "");
    // Run, and expand.
    let screen = terminal.enter("echo first; seq 30", "✓ done");
    assert!(screen.contains("… 21 earlier lines (Ctrl-O shows all)") && !screen.contains("first\n"), "{screen}");
    terminal.types(&["C-o"]);
    select_cards(&terminal);
    terminal.types(&["g"]);
    terminal.shows("  first");
    // Search.
    terminal.types(&["/"]);
    terminal.shows("search:");
    terminal.enter("23", CARDS);
    terminal.types(&["n"]);
    // Copy: tmux takes it as its buffer.
    terminal.set_clipboard();
    terminal.types(&["y"]);
    terminal.shows("copied 87 bytes");
    assert!(eventually(|| terminal.buffer().starts_with("first\n1\n2\n")), "{}", terminal.buffer());
    terminal.types(&["Tab"]);
    terminal.shows(TYPING);
    // The background.
    terminal.enter("/bg read -r x; echo got $x; sleep 1000", "job 1");
    // An agent beside it.
    let mut agent = Agent::start(&home, &[]);
    agent.runs("echo agent at work; sleep 1000");
    let screen = terminal.shows("agent at work");
    assert!(screen.contains("by mcp (process"), "{screen}");
    terminal.shows("1 elsewhere · 1 job");
    select_cards(&terminal);
    // Its command is the newest card. The first key only asks.
    terminal.types(&["s"]);
    terminal.shows("s again stops echo agent at work");
    terminal.types(&["s"]);
    terminal.shows("has ended: echo agent at work");
    // Stop the job, which is of this console.
    terminal.types(&["s"]);
    terminal.shows("⊘ cancelled");
    terminal.types(&["Tab"]);
    terminal.shows(TYPING);
    // A program with a screen.
    terminal.enter("/pty vim -u NONE -N notes", "\"notes\" [New]");
    terminal.shows("Console");
    terminal.types(&["-l", "iZoë was here"]);
    terminal.types(&["C-]"]);
    terminal.shows("Ctrl-] was pressed");
    terminal.types(&["Escape"]);
    terminal.shows("Esc kills the program");
    terminal.resize(90, 25);
    let frame = || terminal.screen().lines().nth(1).map_or(0, |line| line.chars().count());
    assert!(eventually(|| frame() == 90), "{}", terminal.screen());
    // Vim has drawn all of its 21 lines: a text, the rest of the page, and the line for commands.
    let page = || terminal.screen().lines().filter(|line| line.starts_with("│~")).count();
    assert!(eventually(|| page() == 19), "{}", terminal.screen());
    terminal.types(&["-l", ":set columns? lines?"]);
    terminal.types(&["Enter"]);
    terminal.shows("lines=21");
    terminal.shows("columns=88");
    terminal.types(&["Enter"]);
    terminal.types(&["-l", ":wq"]);
    terminal.types(&["Enter"]);
    terminal.shows(TYPING);
    assert_eq!(std::fs::read_to_string(home.path().join("notes")).expect("a file"), "Zoë was here\n");
    leave(&terminal);
}

#[test]
fn a_bang_command_keeps_its_shell_its_colors_and_its_errors() {
    let home = Home::new(BASHFUL);
    let terminal = open(&home, "");
    terminal.enter("!mkdir sub; cd sub; word=kept", "✓ done");
    terminal.enter("!pwd; echo $word; printf '\\033[31mred\\033[0m\\n'; false", "✗ failed");
    let screen = terminal.shows("exit 1");
    assert!(screen.contains("/sub\n") && screen.contains("kept\n"), "{screen}");
    let colored = terminal.colored_screen();
    assert!(colored.contains("\u{1b}[31mred"), "{colored:?}");
    terminal.enter("!for i in $(seq 25); do echo line $i; done", "line 25");
    let screen = terminal.shows("… 5 earlier lines");
    assert!(screen.contains("line 6\n") && !screen.contains("line 5\n"), "{screen}");
    leave(&terminal);
}

#[test]
fn a_pager_and_less_in_the_overlay_give_the_terminal_back() {
    let home = Home::new(BASHFUL);
    let terminal = open(&home, "");
    terminal.enter("seq 50000", "truncated");
    select_cards(&terminal);
    terminal.types(&["o"]);
    terminal.shows("\n29\n");
    // All of it is there, and not only the part in the reply.
    terminal.types(&["-l", "25000g"]);
    terminal.shows("\n25020\n");
    terminal.types(&["q"]);
    terminal.shows(CARDS);
    terminal.types(&["Tab"]);
    terminal.shows(TYPING);
    terminal.types(&["-l", "seq 100 | less"]);
    terminal.types(&["F2"]);
    terminal.shows("│24 ");
    terminal.types(&["G"]);
    terminal.shows("│100 ");
    terminal.types(&["Escape"]);
    terminal.shows("⊘ cancelled");
    assert!(eventually(|| !home.survivors().iter().any(|line| line.contains("less"))), "{:?}", home.survivors());
    leave(&terminal);
}

#[test]
fn following_stops_when_scrolled_up() {
    let home = Home::new(BASHFUL);
    let terminal = open(&home, "");
    terminal.enter("seq 40", "✓ done");
    terminal.enter("seq 41 80; exit 4", "· exit 4 ·");
    terminal.enter("until [ -e go ]; do sleep 0.05; done; seq 200 219; sleep 1000", "● running");
    terminal.types(&["PPage"]);
    terminal.shows("scrolled up; End follows");
    std::fs::write(home.path().join("go"), "").expect("a file");
    terminal.shows("20 new lines below; End follows");
    select_cards(&terminal);
    terminal.types(&["End"]);
    let screen = terminal.shows("219");
    assert!(!screen.contains("End follows"), "{screen}");
    terminal.types(&["s"]);
    terminal.shows("⊘ cancelled");
    terminal.types(&["q"]);
    check_left(&terminal, "left 0");
}

#[test]
fn lines_are_completed_continued_and_remembered() {
    let home = Home::new(BASHFUL);
    std::fs::create_dir(home.path().join("documents")).expect("a directory");
    std::fs::write(home.path().join("documents/a file.txt"), "inside\n").expect("a file");
    // The second console opens at Enter.
    let terminal = Terminal::run(&home, &format!("{}; {}", line(""), line("")));
    terminal.shows(TYPING);
    terminal.types(&["-l", "cat doc"]);
    terminal.types(&["Tab"]);
    terminal.shows("> cat documents/");
    terminal.types(&["Tab"]);
    terminal.shows("> cat documents/a\\ file.txt");
    terminal.types(&["M-Enter"]);
    terminal.enter("echo second", "✓ done");
    leave(&terminal);
    let history = home.state().join("console_history");
    assert_eq!(history.metadata().expect("a file").permissions().mode() & 0o777, 0o600);
    terminal.types(&["Enter"]);
    terminal.shows(TYPING);
    terminal.types(&["Up"]);
    terminal.shows("> cat documents/a\\ file.txt");
    terminal.shows("  echo second");
    terminal.types(&["C-c"]);
    leave(&terminal);
}

#[test]
fn the_guard_asks_the_person_here() {
    let home = Home::new(BASHFUL);
    let settings = home.path().join("settings.toml");
    std::fs::write(&settings, "[guard]\nlevels = { \"git/force-push\" = \"ask\" }\n").expect("a file");
    let terminal = open(&home, "--config settings.toml");
    terminal.enter("git push --force nowhere", "The guard asks about your command");
    terminal.shows(ANSWERABLE);
    terminal.types(&["M-n"]);
    terminal.shows("⊗ refused");
    terminal.enter("!git push --force nowhere", "The guard asks about your command");
    terminal.shows(ANSWERABLE);
    terminal.types(&["M-y"]);
    // It has run, and there is no repository.
    terminal.shows("✗ failed");
    leave(&terminal);
}

#[test]
fn the_terminal_comes_back_after_signals() {
    for (signal, status) in [("TERM", 143), ("HUP", 129), ("INT", 130), ("QUIT", 131), ("USR1", 138)] {
        let home = Home::new(BASHFUL);
        let terminal = open(&home, "");
        terminal.enter("/pty vim -u NONE -N notes", "\"notes\" [New]");
        let pid = std::fs::read_to_string(home.path().join("pid")).expect("a file");
        assert!(Command::new("kill").args([&format!("-{signal}"), pid.trim()]).status().expect("kill").success());
        check_left(&terminal, &format!("left {status}"));
        let programs = || home.survivors().into_iter().filter(|line| line.contains("vim -u")).collect::<Vec<_>>();
        assert!(eventually(|| programs().is_empty()), "{:?}", programs());
    }
}

#[test]
fn control_z_in_the_pager_gives_the_shell_back() {
    let home = Home::new(BASHFUL);
    let terminal = Terminal::shell(&home);
    terminal.enter("bashful console", TYPING);
    terminal.enter("seq 100", "✓ done");
    select_cards(&terminal);
    terminal.types(&["o"]);
    terminal.shows("\n29\n");
    terminal.types(&["C-z"]);
    terminal.shows("Stopped");
    terminal.enter("fg", "\n29\n");
    terminal.types(&["G"]);
    terminal.shows("\n100\n");
    terminal.types(&["q"]);
    terminal.shows(CARDS);
    terminal.types(&["q"]);
    assert!(eventually(|| terminal.facts("#{alternate_on}") == "0"), "{}", terminal.screen());
}

#[test]
fn a_signal_ends_the_pager_as_well() {
    let home = Home::new(BASHFUL);
    let terminal = open(&home, "");
    terminal.enter("seq 100", "✓ done");
    select_cards(&terminal);
    terminal.types(&["o"]);
    terminal.shows("\n29\n");
    let pid = std::fs::read_to_string(home.path().join("pid")).expect("a file");
    assert!(Command::new("kill").args(["-TERM", pid.trim()]).status().expect("kill").success());
    check_left(&terminal, "left 143");
    let pagers = || home.survivors().into_iter().filter(|line| line.contains("less")).collect::<Vec<_>>();
    assert!(eventually(|| pagers().is_empty()), "{:?}", pagers());
}

#[test]
fn a_pager_that_writes_everything_gets_nothing_harmful() {
    let home = Home::new(BASHFUL);
    let hostile = "\x1b]0;PWNED\x07\x1b[?1003h".to_owned() + &"line\n".repeat(30_000);
    std::fs::write(home.path().join("hostile"), hostile).expect("a file");
    let terminal = Terminal::run(&home, &format!("export PAGER='cat; touch paged; read -r x </dev/tty'; {}", line("")));
    terminal.shows(TYPING);
    terminal.enter("!cat hostile", "truncated");
    select_cards(&terminal);
    terminal.types(&["o"]);
    home.wait_for("paged");
    terminal.shows("\nline\nline\n");
    let facts = || terminal.facts("#{pane_title} #{mouse_any_flag}");
    assert!(!facts().contains("PWNED") && facts().ends_with(" 0"), "{}", facts());
    terminal.types(&["Enter"]);
    terminal.shows(CARDS);
    terminal.types(&["Tab"]);
    leave(&terminal);
}

#[test]
fn a_pager_that_is_missing_is_told() {
    let home = Home::new(BASHFUL);
    let terminal = Terminal::run(&home, &format!("export PAGER=no-such-pager; {}", line("")));
    terminal.shows(TYPING);
    terminal.enter("echo hi", "✓ done");
    select_cards(&terminal);
    terminal.types(&["o"]);
    terminal.shows("cannot run the pager no-such-pager");
    terminal.types(&["Tab"]);
    leave(&terminal);
}

#[test]
fn a_password_for_a_job_is_neither_shown_nor_kept() {
    let home = Home::new(BASHFUL);
    let terminal = open(&home, "");
    // A job with a terminal, which hides what is typed.
    let started = home.run(&[
        "run",
        "--background",
        "--pty",
        "read -rs -p 'Password: ' word; echo; echo got ${#word}; read -r word; echo got ${#word}; sleep 1000",
    ]);
    assert!(started.status.success(), "{}", String::from_utf8_lossy(&started.stderr));
    terminal.shows("Password:");
    select_cards(&terminal);
    terminal.types(&["i"]);
    terminal.shows("to job 1 (hidden):");
    terminal.types(&["-l", "SECRET1"]);
    let screen = terminal.shows("(hidden): *******");
    assert!(!screen.contains("SECRET1"), "{screen}");
    terminal.types(&["Enter"]);
    let screen = terminal.shows("got 7");
    assert!(!screen.contains("SECRET1"), "{screen}");
    terminal.enter("/send 1 SECRET22", "got 8");
    terminal.enter("/stop 1", "⊘ cancelled");
    leave(&terminal);
    let history = std::fs::read_to_string(home.state().join("console_history")).expect("a file");
    assert!(history.contains("/stop 1") && !history.contains("SECRET"), "{history}");
}

#[test]
fn sizes_are_those_of_what_was_written_and_completion_follows_the_shell() {
    let home = Home::new(BASHFUL);
    std::fs::create_dir(home.path().join("inner")).expect("a directory");
    std::fs::write(home.path().join("inner/unique-name"), "").expect("a file");
    let terminal = open(&home, "");
    let screen = terminal.enter("!head -c 3000 /dev/zero | tr '\\0' '\\001'", "✓ done");
    assert!(screen.contains("2.9KB"), "{screen}");
    terminal.enter("!cd inner; echo moved ${PWD##*/}", "  moved inner\n");
    terminal.types(&["-l", "!cat uni"]);
    terminal.types(&["Tab"]);
    terminal.shows("> !cat unique-name");
    terminal.types(&["C-c"]);
    leave(&terminal);
}

#[test]
fn a_panic_gives_the_terminal_back_before_its_message() {
    let home = Home::new(BASHFUL);
    let screen = "$(printf '\\033[?1049h\\033[?2004h\\033[?25l')";
    let terminal = Terminal::run(
        &home,
        &format!(
            "stty -g >before; $PUPPET raw say \"{screen}\" panic; stty -g >after; cmp before after && echo same modes; echo left 0; read"
        ),
    );
    check_left(&terminal, "as asked");
}

#[test]
fn control_z_suspends_the_console() {
    let home = Home::new(BASHFUL);
    let terminal = Terminal::shell(&home);
    terminal.enter("bashful console", TYPING);
    terminal.enter("echo before", "✓ done");
    terminal.types(&["C-z"]);
    terminal.shows("Stopped");
    assert_eq!(terminal.facts("#{alternate_on} #{cursor_flag}"), "0 1");
    terminal.enter("fg", "✓ done");
    terminal.shows(TYPING);
    terminal.types(&["C-d"]);
    assert!(eventually(|| terminal.facts("#{alternate_on}") == "0"), "{}", terminal.screen());
}

#[test]
fn no_output_garbles_the_screen() {
    let home = Home::new(BASHFUL);
    let hostile = "\x1b[2J\x1b[H\x1b]0;title\x07\x1b[?1049l\x1bPq\x1b\\\x1b[?25l\x0e\u{202e}turned\r\x08\x1b]52;c;aGk=\x07\x1b[6n";
    std::fs::write(home.path().join("hostile"), hostile.repeat(20)).expect("a file");
    let terminal = open(&home, "");
    terminal.enter("!cat hostile; echo; echo the $((6 * 7))", "the 42\n");
    terminal.enter("cat hostile; echo; exit 3", "· exit 3 ·");
    let screen = terminal.screen();
    assert!(screen.starts_with(" bashful  native") && screen.contains(TYPING), "{screen}");
    assert_eq!(terminal.facts("#{alternate_on} #{cursor_flag}"), "1 1");
    leave(&terminal);
}

#[test]
fn a_console_that_a_command_has_started_answers_and_stops_nothing() {
    let home = Home::new(BASHFUL);
    std::fs::write(home.path().join("settings.toml"), "[guard]\nlevels = { \"git/force-push\" = \"ask\" }\n")
        .expect("a file");
    let mut agent = Agent::start(&home, &[]);
    agent.runs("echo agent at work; sleep 1000");
    // A command with a terminal of its own starts the console.
    let run = "bashful run --pty 'bashful --config settings.toml console'; read";
    let terminal = Terminal::run(&home, run);
    terminal.shows("agent at work");
    select_cards(&terminal);
    terminal.types(&["s"]);
    terminal.shows("not allowed here: a command has started this program");
    terminal.types(&["s"]);
    terminal.types(&["Tab"]);
    terminal.shows(TYPING);
    terminal.enter("git push --force nowhere", "⊗ refused");
    let screen = terminal.shows("no command may answer for a person");
    assert!(!screen.contains("The guard asks"), "{screen}");
    assert!(terminal.screen().contains("agent at work"));
    terminal.types(&["C-d"]);
    assert!(eventually(|| terminal.facts("#{alternate_on}") == "0"), "{}", terminal.screen());
}

/// Tries to answer every question, as a command would.
const FORGED: &str = r#"
import ctypes, glob, os, socket, sys
# Hides the program that this is, from all but root.
ctypes.CDLL(None).prctl(4, 0)
for path in glob.glob(os.path.expanduser("~/.local/state/bashful/questions/*.ask")):
    peer = socket.socket(socket.AF_UNIX)
    peer.connect(path)
    try:
        peer.sendall(b"yes\n")
        print("read", peer.recv(100000))
    except OSError as error:
        print("read", error)
"#;

/// Asks as a server does, and prints what it is told.
const PLANTED: &str = r#"
import os, socket
place = os.path.expanduser("~/.local/state/bashful/questions/")
listener = socket.socket(socket.AF_UNIX)
listener.bind(place + "1-1.new")
listener.listen()
os.rename(place + "1-1.new", place + "1-1.ask")
peer, _ = listener.accept()
try:
    peer.sendall(b'{"surface":"mcp","host_pid":1,"about":"planted"}\n')
    print("told", peer.recv(100))
except OSError as error:
    print("told", error)
os.remove(place + "1-1.ask")
"#;

#[test]
fn the_question_of_an_agent_is_answered_here_and_by_no_command() {
    let home = Home::new(BASHFUL);
    let settings = "[guard]\nlevels = { \"git/force-push\" = \"ask\" }\nconsole_answers = true\n";
    std::fs::write(home.path().join("settings.toml"), settings).expect("a file");
    std::fs::write(home.path().join("forge.py"), FORGED).expect("a file");
    std::fs::write(home.path().join("plant.py"), PLANTED).expect("a file");
    let terminal = open(&home, "--config settings.toml");
    let attends = || {
        let entries = std::fs::read_dir(home.state().join("questions")).into_iter().flatten().flatten();
        entries.map(|entry| entry.path()).any(|path| path.extension().is_some_and(|extension| extension == "person"))
    };
    assert!(eventually(attends), "{}", terminal.screen());
    // A command asks, and neither is its question shown nor does it get an answer.
    let planted = home.run(&["run", "python3 plant.py"]);
    let told = String::from_utf8_lossy(&planted.stdout).into_owned();
    assert!(told.starts_with("told ") && !told.contains("yes") && !told.contains("no\\n"), "{told}");
    let mut agent = Agent::start(&home, &["--config", "settings.toml"]);
    agent.runs("git push --force nowhere");
    let screen = terminal.shows("The guard asks about a command of mcp (process");
    assert!(screen.contains("  | git push --force nowhere"), "{screen}");
    // A command connects, but reads nothing, and its answer does not count.
    let forged = home.run(&["run", "python3 forge.py"]);
    let said = String::from_utf8_lossy(&forged.stdout).into_owned();
    assert!(said.starts_with("read ") && !said.contains("Run it?"), "{said}");
    // Neither does a command of the agent's own shell, which has no keeper above it.
    let forged =
        home.wrapped("bash", &["-c", "python3 forge.py; true"]).env("CODEX_THREAD_ID", "1").output().expect("bash");
    let said = String::from_utf8_lossy(&forged.stdout).into_owned();
    assert!(said.starts_with("read ") && !said.contains("Run it?"), "{said}");
    terminal.shows("The guard asks about a command of mcp (process");
    terminal.shows(ANSWERABLE);
    terminal.types(&["M-y"]);
    terminal.loses("The guard asks");
    let answer = agent.answer();
    assert!(answer.contains("not a git repository"), "{answer}");
    // Declined.
    agent.runs("git push --force elsewhere");
    terminal.shows("git push --force elsewhere");
    terminal.shows(ANSWERABLE);
    terminal.types(&["M-n"]);
    let answer = agent.answer();
    assert!(answer.contains("the user said no"), "{answer}");
    leave(&terminal);
    // Nobody is there any more, and this client cannot ask.
    agent.runs("git push --force nowhere");
    let answer = agent.answer();
    assert!(answer.contains("this client cannot ask the user"), "{answer}");
}

#[test]
fn without_a_terminal_it_says_so() {
    let home = Home::new(BASHFUL);
    let output = home.run(&["console"]);
    assert_eq!(output.status.code(), Some(125));
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(said.contains("the console needs a terminal"), "{said}");
}
