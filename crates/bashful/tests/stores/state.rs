//! The state directory: whom it has to belong to, and what becomes of things that were planted in it.

use std::fs::{self, Permissions};
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown, symlink};
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::process::{Output, Stdio};
use std::time::Instant;

use bashful_engine::make_directory;
use bashful_testkit::{Home, WIDE};
use serde_json::{Value, json};

use crate::BASHFUL;

/// Refused by the guard, and harmless.
const REFUSED: &str = "echo ran; [ -e / ] || git push -f";

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn chmod(path: &Path, mode: u32) {
    fs::set_permissions(path, Permissions::from_mode(mode)).expect("it is ours");
}

fn mode(path: &Path) -> u32 {
    path.symlink_metadata().expect("it is there").mode() & 0o7777
}

/// A home with a state directory, in which the user has allowed [`REFUSED`].
fn home_with_state() -> Home {
    let home = Home::new(BASHFUL);
    let allowed = home.state().join("allowed");
    make_directory(&allowed).expect("a directory");
    let note = json!({ "version": 1, "script": REFUSED, "directory": home.path(), "until": 4_000_000_000_u64 });
    fs::write(allowed.join("1.json"), note.to_string()).expect("written");
    chmod(&allowed.join("1.json"), 0o600);
    home
}

/// Every path below a directory, links not followed.
fn everything(directory: &Path) -> Vec<PathBuf> {
    let mut paths = Vec::new();
    for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
        paths.push(entry.path());
        if entry.file_type().expect("a kind").is_dir() {
            paths.extend(everything(&entry.path()));
        }
    }
    paths.sort();
    paths
}

/// Runs the program, and fails if it hangs.
#[track_caller]
fn ends(home: &Home, args: &[&str]) -> Output {
    let mut child = home.start(args);
    let began = Instant::now();
    // Little is written, so the pipes do not fill up.
    while child.try_wait().expect("it is ours").is_none() {
        if began.elapsed() > WIDE {
            child.kill().expect("it is ours");
            panic!("{args:?} hangs");
        }
        std::thread::sleep(std::time::Duration::from_millis(1));
    }
    child.wait_with_output().expect("it has ended")
}

/// A state directory that was tampered with is not used: not for what it holds, not for what would be written, and that is
/// said in one notice.
#[track_caller]
fn check_not_used(home: &Home, why: &str) {
    let before = everything(&home.state());
    let refused = home.run(&["run", REFUSED]);
    assert_eq!(refused.status.code(), Some(125), "nothing in it allows anything: {refused:?}");
    let ran = home.run(&["run", "echo hi"]);
    assert_eq!((text(&ran.stdout), ran.status.code()), ("hi\n".to_owned(), Some(0)));
    let said = text(&ran.stderr);
    assert_eq!(said.matches("the state directory is not used").count(), 1, "{said}");
    assert!(said.contains(why), "{why:?} is not in {said:?}");
    let facts: Value = serde_json::from_slice(&home.run(&["run", "--json", "true"]).stdout).expect("JSON");
    assert_eq!(facts["notices"].as_array().map(Vec::len), Some(1), "{facts}");
    for args in [
        &["run", "--mode", "background", "true"][..],
        &["run", "--session", "s", "true"],
        &["jobs", "list"],
        &["sessions", "list"],
        &["artifacts", "list"],
        &["log"],
        &["allow", "git push -f"],
    ] {
        let failed = home.run(args);
        assert_eq!(failed.status.code(), Some(125), "{args:?}: {failed:?}");
        let said = text(&failed.stderr);
        assert!(said.contains("need a state directory") && said.contains(why), "{args:?}: {said}");
    }
    let reply = text(&home.run(&["run", "--dialect", "native", "seq 100000"]).stdout);
    assert!(reply.contains("\n100000\n") && reply.contains(why) && !reply.contains("artifact://"), "{reply}");
    assert_eq!(everything(&home.state()), before, "nothing was made there");
}

#[test]
fn a_state_directory_that_others_can_write_to_is_not_used() {
    for (tampered, mode) in [("", 0o777), ("", 0o720), ("allowed", 0o702), (".local/state", 0o777)] {
        let home = home_with_state();
        let path = if tampered.starts_with('.') { home.path().join(tampered) } else { home.state().join(tampered) };
        chmod(&path, mode);
        check_not_used(
            &home,
            &format!("others can write to {} (mode {mode:04o})", path.components().as_path().display()),
        );
    }
    let home = home_with_state();
    assert!(home.run(&["run", REFUSED]).status.success(), "it was allowed");
}

#[test]
fn a_part_of_the_state_directory_that_is_a_link_is_not_used() {
    let home = home_with_state();
    let elsewhere = home.path().join("elsewhere");
    fs::create_dir(&elsewhere).expect("a directory");
    symlink(&elsewhere, home.state().join("jobs")).expect("a link");
    check_not_used(&home, "jobs is not a directory");
    assert_eq!(everything(&elsewhere), [] as [PathBuf; 0]);
}

/// Only root can give a file away. For all others, the unit tests of the engine decide about owners that they make up.
#[test]
fn a_state_directory_of_another_user_is_not_used() {
    let home = home_with_state();
    let us = home.path().metadata().expect("facts").uid();
    let other = if us == 65534 { 65533 } else { 65534 };
    let can_give = us == 0;
    for part in ["", "allowed", "jobs", "jobs/live"] {
        let home = home_with_state();
        let path = home.state().join(part);
        make_directory(&path).expect("a directory");
        let given = chown(&path, Some(other), None);
        assert_eq!(given.is_ok(), can_give);
        if can_give {
            check_not_used(&home, &format!("belongs to uid {other}, and this process is uid {us}"));
        } else {
            assert!(home.run(&["run", REFUSED]).status.success(), "it is still ours");
        }
    }
    // The file alone is enough to tell.
    let given = chown(home.state().join("allowed/1.json"), Some(other), None).is_ok();
    assert_eq!(home.run(&["run", REFUSED]).status.code(), Some(if given { 125 } else { 0 }));
}

#[test]
fn an_allowance_that_others_can_write_to_allows_nothing() {
    let home = home_with_state();
    let file = home.state().join("allowed/1.json");
    chmod(&file, 0o606);
    assert_eq!(home.run(&["run", REFUSED]).status.code(), Some(125));
    chmod(&file, 0o600);
    fs::hard_link(&file, home.path().join("second")).expect("a second name");
    assert_eq!(home.run(&["run", REFUSED]).status.code(), Some(125));
}

#[test]
fn the_doctor_says_why_it_is_not_used() {
    let home = home_with_state();
    chmod(&home.state(), 0o777);
    let facts: Value = serde_json::from_slice(&home.run(&["doctor", "--json"]).stdout).expect("JSON");
    assert_eq!(facts["state_directory"], home.state().to_str().expect("text"));
    let problem = facts["state_problem"].as_str().expect("a problem");
    assert!(problem.contains("chmod go-w") && problem.contains("set XDG_STATE_HOME"), "{problem}");
}

#[test]
fn a_server_says_so_in_its_first_reply_alone() {
    let home = home_with_state();
    chmod(&home.state(), 0o777);
    let call = |id: u32| {
        let params = json!({ "name": "bash", "arguments": { "command": "echo hi" } });
        json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params })
    };
    let client = json!({ "name": "test", "version": "1" });
    let params = json!({ "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": client });
    let messages = [
        json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params }),
        json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }),
        call(2),
        call(3),
    ];
    let mut server = home.command(&["mcp"]);
    let mut server = server.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("it starts");
    let mut replies = std::io::BufRead::lines(std::io::BufReader::new(server.stdout.take().expect("a pipe")));
    let mut input = server.stdin.take().expect("a pipe");
    let mut told = Vec::new();
    for message in &messages {
        std::io::Write::write_all(&mut input, format!("{message}\n").as_bytes()).expect("it reads");
        if let Some(id) = message.get("id") {
            let reply = replies.by_ref().map(|line| line.expect("a line")).find(|line| {
                let reply: Value = serde_json::from_str(line).expect("JSON");
                reply["id"] == *id
            });
            told.push(reply.expect("a reply").contains("the state directory is not used"));
        }
    }
    drop(input);
    assert!(server.wait().expect("it ends").success());
    assert_eq!(told, [false, true, false]);
}

/// Somebody plants this under a name.
type Plant = fn(&Path);

fn plant_pipe(path: &Path) {
    let mode = rustix::fs::Mode::from(0o600);
    rustix::fs::mknodat(rustix::fs::CWD, path, rustix::fs::FileType::Fifo, mode, 0).expect("a pipe");
}

fn plant_socket(path: &Path) {
    drop(UnixListener::bind(path).expect("a socket"));
}

const PLACES: [&str; 13] = [
    "artifacts/next",
    "artifacts/1",
    "jobs/next",
    "jobs/1",
    "jobs/1/job.json",
    "jobs/1/status.json",
    "jobs/live/1",
    "log/commands.jsonl",
    "allowed/x.json",
    "sessions/x",
    "jobs",
    "sessions",
    "scratch",
];

#[test]
fn nothing_waits_for_a_pipe_or_a_socket_in_the_place_of_a_file() {
    let plants: [Plant; 2] = [plant_pipe, plant_socket];
    for plant in plants {
        for place in PLACES {
            let home = Home::new(BASHFUL);
            let path = home.state().join(place);
            make_directory(path.parent().expect("a parent")).expect("a directory");
            plant(&path);
            for args in [
                &["run", "git push -f"][..],
                &["run", "--mode", "background", "true"],
                &["run", "--session", "s", "true"],
                &["jobs", "list"],
                &["jobs", "show", "1"],
                &["jobs", "rm", "1"],
                &["artifacts", "list"],
                &["artifacts", "show", "1"],
                &["sessions", "list"],
                &["sessions", "end", "--all"],
                &["log"],
            ] {
                ends(&home, args);
            }
            let ran = ends(&home, &["run", "echo hi"]);
            assert_eq!(text(&ran.stdout), "hi\n", "{place}: {ran:?}");
        }
    }
}

#[test]
fn no_link_in_the_state_directory_leads_a_write_elsewhere() {
    for place in ["artifacts/next", "jobs/next", "jobs/live/1", "log/commands.jsonl"] {
        for plant in [
            |victim: &Path, path: &Path| symlink(victim, path),
            |victim: &Path, path: &Path| fs::hard_link(victim, path),
        ] {
            let home = Home::new(BASHFUL);
            let (victim, path) = (home.path().join("victim"), home.state().join(place));
            fs::write(&victim, "precious").expect("written");
            make_directory(path.parent().expect("a parent")).expect("a directory");
            plant(&victim, &path).expect("planted");
            home.run(&["run", "--dialect", "native", "seq 100000"]);
            home.run(&["run", "--mode", "background", "true"]);
            home.run(&["jobs", "wait", "1"]);
            assert_eq!(fs::read(&victim).expect("it is there"), b"precious", "{place}");
            home.check_nothing_survives();
        }
    }
}

#[test]
fn what_is_made_there_is_the_users_alone_whatever_the_umask() {
    for mask in ["0", "0777"] {
        let home = Home::new(BASHFUL);
        let script = format!(
            "umask {mask}; \"$0\" run --dialect native 'seq 100000' >/dev/null; \
             \"$0\" run --mode background --stdin 'read x; echo got $x; sleep 1000'; \"$0\" jobs send 1 this; \
             \"$0\" jobs wait 1 --until got; \"$0\" run --session s 'true >local://notes/x || true'"
        );
        let output = home.wrapped("bash", &["-c", &script, BASHFUL]).output().expect("bash");
        assert!(text(&output.stderr).contains("job 1 wrote: got this"), "{mask}: {output:?}");
        let paths = everything(&home.path().join(".local"));
        for name in
            ["artifacts/1", "jobs/1/control", "jobs/1/input", "jobs/live/1", "log/commands.jsonl", "scratch/notes"]
        {
            assert!(paths.contains(&home.state().join(name)), "{name}: {paths:?}");
        }
        for path in &paths {
            let wanted = if path.symlink_metadata().expect("facts").is_dir() { 0o700 } else { 0o600 };
            // A file of a command is as the command's umask has it.
            if !path.ends_with("scratch/notes/x") {
                assert_eq!(mode(path), wanted, "{mask}: {}", path.display());
            }
        }
        home.run(&["jobs", "kill", "1"]);
        home.run(&["sessions", "end", "--all"]);
        home.check_nothing_survives();
    }
}

#[test]
fn a_link_of_the_users_own_to_the_state_is_followed() {
    let home = Home::new(BASHFUL);
    fs::create_dir(home.path().join("real")).expect("a directory");
    symlink("real", home.path().join("link")).expect("a link");
    let mut command = home.command(&["run", "--dialect", "native", "seq 100000"]);
    let output = command.env("XDG_STATE_HOME", home.path().join("link")).output().expect("it runs");
    assert!(text(&output.stdout).contains("artifact://1"), "{output:?}");
    assert!(home.path().join("real/bashful/artifacts/1").exists());
}

#[test]
fn settings_and_rules_that_others_can_write_to_are_refused_unless_they_are_named() {
    for file in ["config.toml", "rules.toml"] {
        let home = Home::new(BASHFUL);
        let path = home.path().join(".config/bashful").join(file);
        make_directory(path.parent().expect("a parent")).expect("a directory");
        fs::write(&path, "").expect("written");
        chmod(&path, 0o644);
        assert!(home.run(&["run", "true"]).status.success());
        for tampered in [path.as_path(), path.parent().expect("a parent")] {
            let before = mode(tampered);
            chmod(tampered, 0o777);
            let refused = home.run(&["run", "true"]);
            assert_eq!(refused.status.code(), Some(125), "{refused:?}");
            let why = format!("cannot be trusted: others can write to {} (mode 0777)", tampered.display());
            assert!(text(&refused.stderr).contains(&why), "{refused:?}");
            chmod(tampered, before);
        }
        fs::remove_file(&path).expect("removed");
        plant_pipe(&path);
        assert_eq!(ends(&home, &["run", "true"]).status.code(), Some(125));
    }
    let home = Home::new(BASHFUL);
    let path = home.path().join("named.toml");
    fs::write(&path, "").expect("written");
    chmod(&path, 0o666);
    assert!(home.run(&["--config", path.to_str().expect("text"), "run", "true"]).status.success());
}

#[test]
fn a_home_of_another_user_that_is_closed_keeps_no_command_from_running() {
    let place = tempfile::tempdir().expect("a directory");
    let program = place.path().join("bashful");
    std::fs::copy(BASHFUL, &program).expect("a copy");
    let mut command = std::process::Command::new(&program);
    let mut closed = PathBuf::from("/root");
    if rustix::process::geteuid().is_root() {
        chmod(place.path(), 0o755);
        closed = place.path().join("closed");
        std::fs::create_dir(&closed).expect("a directory");
        chmod(&closed, 0o700);
        command = std::process::Command::new("setpriv");
        command.args(["--reuid=65534", "--regid=65534", "--clear-groups"]).arg(&program);
    }
    command.args(["run", "echo hi"]).env_clear().env("PATH", std::env::var_os("PATH").expect("tests have a PATH"));
    let output = command.env("HOME", closed).current_dir("/").output().expect("it runs");
    assert_eq!((text(&output.stdout).as_str(), output.status.code()), ("hi\n", Some(0)), "{output:?}");
    assert!(text(&output.stderr).contains("the state directory is not used"), "{output:?}");
}
