//! Real programs at a terminal, used by a model through the server alone.

use bashful_testkit::{Home, clients, eventually};
use rustix::process::Signal;
use serde_json::{Value, json};

use super::server::{Server, text};
use super::{ends_well, home};

/// A program at a terminal, and the server that shows its screen.
struct Program<'a> {
    home: &'a Home,
    server: Server,
    id: u64,
    /// The text of the last reply.
    shown: String,
}

impl<'a> Program<'a> {
    fn start(home: &'a Home, command: &str) -> Self {
        Self::start_with(home, command, &json!({}))
    }

    fn start_with(home: &'a Home, command: &str, env: &Value) -> Self {
        let mut server = Server::greeted(home, &[], &[]);
        let arguments = json!({ "command": command, "mode": "background", "pty": true, "env": env });
        let result = server.call("bash", &arguments);
        let shown = text(&result).to_owned();
        let id = result["_meta"]["bashful/facts"]["job"]["id"].as_u64().unwrap_or_else(|| panic!("no job: {shown}"));
        Self { home, server, id, shown }
    }

    /// Calls the job tool for this program.
    fn call(&mut self, mut arguments: Value) -> Value {
        arguments["ids"] = json!([self.id]);
        let result = self.server.call("job", &arguments);
        text(&result).clone_into(&mut self.shown);
        result
    }

    /// Waits until the screen has a text.
    #[track_caller]
    fn shows(&mut self, pattern: &str) {
        self.call(json!({ "action": "wait", "pattern": pattern, "wait_seconds": 50 }));
        assert!(self.shown.contains("pattern found") || self.shown.contains("completed"), "{pattern}: {}", self.shown);
    }

    /// Types, and waits until the screen has a text.
    #[track_caller]
    fn type_until(&mut self, input: &str, keys: &[&str], pattern: &str) {
        self.call(json!({ "action": "send", "input": input, "keys": keys, "pattern": pattern, "wait_seconds": 50 }));
        assert!(self.shown.contains("pattern found"), "{input:?} {keys:?}: {}", self.shown);
    }

    /// Types the last input, and checks that the program ends well.
    #[track_caller]
    fn type_to_end(mut self, input: &str, keys: &[&str]) {
        self.call(json!({ "action": "send", "input": input, "keys": keys, "until": "end", "wait_seconds": 50 }));
        assert!(self.shown.contains(": completed;"), "{}", self.shown);
        ends_well(self.server, self.home);
    }
}

#[test]
fn python_computes() {
    let home = home();
    let mut python = Program::start(&home, "python3 -q");
    python.shows("^>>>");
    python.type_until("6 * 7", &["Enter"], "^42$");
    assert!(python.shown.contains("waits for input") || python.shown.contains("pattern found"), "{}", python.shown);
    python.type_until("input('name? ')", &["Enter"], "name\\? $");
    python.type_until("Zoë", &["Enter"], "'Zoë'");
    python.type_to_end("", &["C-d"]);
}

#[test]
fn node_computes() {
    let home = home();
    let mut repl = Program::start(&home, &format!("'{}/node/node'", clients().display()));
    repl.shows("^> ?$");
    repl.type_until("[1, 2, 3].map(n => n * 11)", &["Enter"], "\\[ 11, 22, 33 \\]");
    repl.type_to_end(".exit", &["Enter"]);
}

#[test]
fn gdb_stops_at_a_line_and_prints() {
    let home = home();
    let mut gdb = Program::start(&home, "gdb -q -nx /bin/true");
    gdb.shows("^\\(gdb\\)");
    gdb.type_until("print 6 * 7", &["Enter"], "\\$1 = 42");
    gdb.type_to_end("quit", &["Enter"]);
}

#[test]
fn sqlite_answers_a_query() {
    let home = home();
    let mut sqlite = Program::start(&home, "sqlite3 -interactive :memory:");
    sqlite.shows("^sqlite>");
    sqlite.type_until("create table t(n); insert into t values (20), (22);\n", &[], "sqlite> ?$");
    sqlite.type_until("select 'sum', sum(n) from t;\n", &[], "sum\\|42");
    sqlite.type_to_end(".quit", &["Enter"]);
}

#[test]
fn less_pages_and_searches() {
    let home = home();
    let mut less = Program::start(&home, "seq 1000 >numbers; less numbers");
    less.shows("^39$");
    assert!(!less.shown.contains("\n41\n"), "{}", less.shown);
    less.type_until("", &["PageDown"], "^70$");
    less.type_until("/^500$", &["Enter"], "^500$");
    less.type_until("g", &[], "^1$");
    less.type_to_end("q", &[]);
}

#[test]
fn vim_edits_a_file() {
    let home = home();
    let mut vim = Program::start(&home, "vim -u NONE -N notes.txt");
    vim.shows("notes.txt");
    assert!(vim.shown.contains("more rows like this"), "{}", vim.shown);
    vim.type_until("ione two\nthree", &["Escape"], "^three$");
    vim.type_until("", &["Up", "0", "d", "w"], "^two$");
    vim.type_until(":w", &["Enter"], "written");
    assert_eq!(std::fs::read_to_string(home.path().join("notes.txt")).expect("it is there"), "two\nthree\n");
    vim.type_to_end(":q", &["Enter"]);
}

#[test]
fn nano_edits_a_file() {
    let home = home();
    let mut nano = Program::start(&home, "nano -I notes.txt");
    nano.shows("GNU nano");
    nano.type_until("hello there", &[], "^hello there");
    nano.type_until("", &["C-o"], "File Name to Write");
    nano.type_until("", &["Enter"], "Wrote 1 line");
    assert_eq!(std::fs::read_to_string(home.path().join("notes.txt")).expect("it is there"), "hello there\n");
    nano.type_to_end("", &["C-x"]);
}

#[test]
fn top_shows_processes_and_is_left() {
    let home = home();
    let mut top = Program::start(&home, "top");
    top.shows("PID +USER");
    assert!(top.shown.contains("load average"), "{}", top.shown);
    top.type_to_end("q", &[]);
}

#[test]
fn git_adds_one_hunk_of_two() {
    let home = home();
    let prepare = "git init -q . && git config user.email a@b && git config user.name n && seq 30 >f && git add f && \
                   git commit -qm one && sed -i 's/^3$/three/; s/^28$/twenty-eight/' f && git add -p f";
    let mut git = Program::start(&home, prepare);
    git.shows("Stage this hunk");
    assert!(git.shown.contains("+three") && !git.shown.contains("+twenty-eight"), "{}", git.shown);
    git.type_until("y", &["Enter"], "twenty-eight(.|\\n)*Stage this hunk");
    git.type_to_end("n", &["Enter"]);
    let staged = home.run(&["run", "git diff --cached"]).stdout;
    let staged = String::from_utf8_lossy(&staged).into_owned();
    assert!(staged.contains("+three") && !staged.contains("twenty-eight"), "{staged}");
}

#[test]
fn npm_asks_its_questions() {
    let home = home();
    let path = format!("{}:{}", clients().join("python/bin").display(), std::env::var("PATH").expect("a PATH"));
    std::fs::create_dir(home.path().join("pkg")).expect("a directory");
    let env = json!({ "PATH": path, "npm_config_update_notifier": "false" });
    let mut npm = Program::start_with(&home, "cd pkg && npm init", &env);
    npm.shows("package name");
    npm.type_until("tiny", &["Enter"], "version:");
    for question in
        ["description:", "entry point:", "test command:", "git repository:", "keywords:", "author:", "license:"]
    {
        npm.type_until("", &["Enter"], question);
    }
    npm.shows("license:");
    npm.call(json!({ "action": "send", "keys": ["Enter"], "pattern": "Is this OK|type:", "wait_seconds": 50 }));
    if npm.shown.contains("type:") {
        npm.type_until("", &["Enter"], "Is this OK");
    }
    npm.type_to_end("yes", &["Enter"]);
    let package = std::fs::read_to_string(home.path().join("pkg/package.json")).expect("it is there");
    assert!(package.contains("\"name\": \"tiny\""), "{package}");
}

#[test]
fn a_menu_is_chosen_from() {
    let home = home();
    let menu = "whiptail --menu 'Pick a color' 15 40 3 r red g green b blue 2>choice; cat choice";
    let mut menu = Program::start(&home, menu);
    menu.shows("Pick a color");
    assert!(menu.shown.contains("green") && menu.shown.contains('┌'), "{}", menu.shown);
    menu.call(json!({ "action": "send", "keys": ["Down", "Down"] }));
    menu.type_to_end("", &["Enter"]);
    assert_eq!(std::fs::read_to_string(home.path().join("choice")).expect("it is there"), "b");
}

#[test]
fn a_passphrase_is_asked_for_and_never_shown() {
    let home = home();
    let mut keygen = Program::start(&home, "ssh-keygen -q -t ed25519 -f key");
    keygen.call(json!({ "action": "wait", "until": "input", "wait_seconds": 50 }));
    assert!(keygen.shown.contains("waits for hidden input"), "{}", keygen.shown);
    keygen.call(json!({ "action": "send", "input": "correct horse", "keys": ["Enter"], "pattern": "again", "wait_seconds": 50 }));
    assert!(!keygen.shown.contains("horse"), "{}", keygen.shown);
    keygen.type_to_end("correct horse", &["Enter"]);
    assert!(home.path().join("key.pub").exists());
    let log = home.run(&["log", "--json"]).stdout;
    assert!(!String::from_utf8_lossy(&log).contains("horse"));
    let output = std::fs::read_dir(home.path()).map(|_| home.run(&["jobs", "logs", "1"]).stdout).expect("a home");
    assert!(!String::from_utf8_lossy(&output).contains("horse"));
}

#[test]
fn the_guard_judges_lines_for_a_shell_however_they_are_typed() {
    let home = home();
    let mut shell = Program::start(&home, "PS1='$ ' bash --norc -i");
    shell.shows("^\\$");
    let refused = shell.call(json!({ "action": "send", "input": "git add -A\n" }));
    assert!(refused["isError"] == true && shell.shown.contains("nothing was sent to job"), "{}", shell.shown);
    for keys in [json!(["C-m"]), json!(["C-j"]), json!(["KPEnter"]), json!("C-o")] {
        let refused = shell.call(json!({ "action": "send", "input": "git add -A", "keys": keys }));
        assert!(refused["isError"] == true && shell.shown.contains("git add"), "{keys}: {}", shell.shown);
    }
    for input in [json!({ "keys": ["Up", "Enter"] }), json!({ "input": "git add -\t\n" }), json!({ "input": "!git\n" })]
    {
        let mut arguments = input.clone();
        arguments["action"] = "send".into();
        let refused = shell.call(arguments);
        assert!(refused["isError"] == true && shell.shown.contains("press C-c"), "{input}: {}", shell.shown);
    }
    shell.call(json!({ "action": "send", "input": "X=/" , "keys": ["Enter"] }));
    shell.call(json!({ "action": "send", "input": "rm -rf " }));
    let refused = shell.call(json!({ "action": "send", "input": "$X", "keys": ["Enter"] }));
    assert!(refused["isError"] == true && shell.shown.contains("rm -rf /"), "{}", shell.shown);
    shell.call(json!({ "action": "send", "keys": ["C-c"] }));
    shell.type_until("echo still $((40 + 2))", &["Enter"], "^still 42$");
    shell.type_to_end("exit", &["Enter"]);
}

#[test]
fn nothing_at_a_terminal_below_a_keeper_can_approve_for_the_user() {
    let home = home();
    let bashful = super::BASHFUL;
    let mut shell = Program::start_with(&home, "PS1='$ ' bash --norc -i", &json!({ "B": bashful }));
    shell.shows("^\\$");
    shell.call(json!({ "action": "send", "input": "\"$B\" allow 'git push --force'; echo code $?", "keys": ["Enter"], "pattern": "^code \\d", "wait_seconds": 50 }));
    assert!(!shell.shown.contains("code 0"), "a command has allowed another one: {}", shell.shown);
    shell.call(json!({ "action": "kill" }));
    ends_well(shell.server, &home);
    // In a file, because the guard would refuse it in a command.
    std::fs::write(home.path().join("ask.sh"), "\"$B\" run 'chmod -R 777 /usr'; echo code $?\n")
        .expect("it is written");
    let mut ask = Program::start_with(&home, "sh ask.sh", &json!({ "B": bashful }));
    ask.call(json!({ "action": "send", "input": "y", "keys": ["Enter"], "pattern": "^code \\d", "wait_seconds": 50 }));
    assert!(ask.shown.contains("code 125"), "{}", ask.shown);
    ends_well(ask.server, &home);
}

#[test]
fn mistakes_are_answered_with_what_to_do() {
    let home = home();
    let mut server = Server::greeted(&home, &[], &[]);
    let mut said = |tool: &str, arguments: Value| text(&server.call(tool, &arguments)).to_owned();
    let foreground = said("bash", json!({ "command": "vim", "pty": true }));
    assert!(foreground.contains("`pty` needs mode \"background\""), "{foreground}");
    let both = said("bash", json!({ "command": "cat", "pty": true, "stdin": true, "mode": "background" }));
    assert!(both.contains("exclude each other"), "{both}");
    said("bash", json!({ "command": "cat", "stdin": true, "mode": "background" }));
    let keys = said("job", json!({ "action": "send", "ids": [1], "keys": ["Enter"] }));
    assert!(keys.contains("job 1 has no terminal"), "{keys}");
    let unknown = said("job", json!({ "action": "send", "ids": [1], "keys": ["Entr"] }));
    assert!(unknown.contains("did you mean Enter"), "{unknown}");
    let regex = said("job", json!({ "action": "wait", "ids": [1], "pattern": "(" }));
    assert!(regex.contains("the pattern is no regular expression"), "{regex}");
    let two = said("job", json!({ "action": "wait", "ids": [1], "pattern": "x", "until": "end" }));
    assert!(two.contains("not both"), "{two}");
    said("job", json!({ "action": "kill", "ids": [1] }));
    let long = "x".repeat(6000);
    said("bash", json!({ "command": "read -r line", "pty": true, "mode": "background" }));
    let refused = said("job", json!({ "action": "send", "ids": [2], "input": long }));
    assert!(refused.contains("6000 bytes") && refused.contains("nothing was sent"), "{refused}");
    said("job", json!({ "action": "kill", "ids": [2] }));
    ends_well(server, &home);
}

/// Runs a command in the session `work`, at its terminal.
fn in_session(server: &mut Server, command: &str) -> (Value, String) {
    let result = server.call("bash", &json!({ "command": command, "session": "work", "pty": true, "timeout": 50 }));
    let shown = text(&result).to_owned();
    (result, shown)
}

#[test]
fn a_session_with_a_terminal_keeps_its_shell_and_shows_exit_codes() {
    let home = home();
    let mut server = Server::greeted(&home, &[], &[]);
    let (first, shown) = in_session(&mut server, "tty; test -t 1 && echo yes; mkdir below; cd below; word=kept");
    let id = first["_meta"]["bashful/facts"]["jobs"][0]["id"].as_u64().unwrap_or_else(|| panic!("no job: {first}"));
    assert!(shown.contains("\n/dev/pts/") && shown.contains("\nyes\n"), "{shown}");
    let (_, shown) = in_session(&mut server, "echo \"$word in ${PWD##*/}\"\n(exit 7)");
    assert!(shown.contains("\nkept in below\n") && shown.contains("\nexit 7 "), "{shown}");
    let (_, shown) = in_session(&mut server, "python3 -q");
    assert!(shown.contains("\n>>>") && shown.contains("waits for input"), "{shown}");
    let (refused, shown) = in_session(&mut server, "echo not for python");
    assert!(refused["isError"] == json!(true) && shown.contains("busy with another program"), "{shown}");
    let typed =
        json!({ "action": "send", "ids": [id], "input": "exit(3)\n", "pattern": "^exit 3 ", "wait_seconds": 50 });
    let shown = text(&server.call("job", &typed)).to_owned();
    assert!(shown.contains("pattern found") && !shown.contains("not for python"), "{shown}");
    let (_, shown) = in_session(&mut server, "rm -rf /usr/../etc");
    assert!(shown.contains("nothing was sent"), "{shown}");
    let (elsewhere, shown) = {
        let given = json!({ "command": "pwd", "session": "work", "pty": true, "cwd": "/" });
        let result = server.call("bash", &given);
        (result["isError"].clone(), text(&result).to_owned())
    };
    assert!(elsewhere == json!(true) && shown.contains("`cwd`"), "{shown}");
    let (_, shown) = in_session(&mut server, "exit 5");
    assert!(shown.contains("exit code 5") || shown.contains("failed"), "{shown}");
    let (_, shown) = in_session(&mut server, "echo ${word-gone}");
    assert!(shown.contains("\ngone\n"), "{shown}");
    in_session(&mut server, "exit");
    ends_well(server, &home);
}

/// A command that leaves a process in a session of its own and goes on, and announces both by a file.
const STAYS: &str = "(setsid sleep 777 &); touch runs; sleep 778";

/// Types [`STAYS`] in the session `work`, and waits until it runs. The session has a process of an earlier command, too.
fn with_command_under_way(home: &Home) -> Server {
    let mut server = Server::greeted(home, &[], &[]);
    in_session(&mut server, "word=kept; sleep 776 &");
    server.begin("call", &json!({ "command": STAYS, "session": "work", "pty": true, "timeout": 300 }));
    home.wait_for("runs");
    server
}

#[test]
fn a_cancelled_command_of_a_session_with_a_terminal_ends_and_the_shell_stays() {
    let home = home();
    let mut server = with_command_under_way(&home);
    server.tell("notifications/cancelled", &json!({ "requestId": "call" }));
    let ended = || !home.survivors().iter().any(|process| process.contains("777") || process.contains("778"));
    assert!(eventually(ended), "{:?}", home.survivors());
    let (_, shown) = in_session(&mut server, "echo \"still $word\"; jobs");
    assert!(shown.contains("\nstill kept\n") && shown.contains("Running"), "an earlier command goes on: {shown}");
    in_session(&mut server, "kill %1; exit");
    ends_well(server, &home);
}

#[test]
fn a_session_with_a_terminal_ends_with_its_client_and_with_its_server() {
    let home = home();
    let mut server = with_command_under_way(&home);
    server.close();
    server.end();
    home.check_nothing_survives();
    for signal in [Signal::TERM, Signal::KILL] {
        std::fs::remove_file(home.path().join("runs")).expect("it was there");
        let mut server = with_command_under_way(&home);
        server.signal(signal);
        server.end();
        home.check_nothing_survives();
    }
}
