//! The plain tool: a command, and JSON with its streams and its exit code.

use std::collections::BTreeMap;
use std::io::Read;
use std::net::TcpListener;
use std::time::Instant;

use bashful_testkit::{Home, WIDE, eventually};
use serde_json::{Value, json};

use super::{
    BASHFUL, definition, diverged_repository, git, home, job, path_with_recorder, plain, pushed, recorded, reply, text,
};
use crate::server::{Server, text as text_of};

/// Holds that a command is answered with exactly this text, key by key.
#[track_caller]
fn check(command: &str, expected: &str) {
    let (said, _) = reply(&home(), "plain", &[command], &[]);
    assert_eq!(said.trim_end_matches('\n'), expected);
}

#[test]
fn the_tool_is_called_bash_and_described() {
    let definition = definition(&home(), "plain");
    let description = definition["description"].as_str().expect("text");
    assert!(description.starts_with("Execute a bash command and return stdout/stderr"), "{description}");
}

#[test]
fn the_tool_takes_a_command_and_nothing_else() {
    let input = definition(&home(), "plain")["inputSchema"].clone();
    assert_eq!(input["required"], json!(["command"]));
    let command = json!({ "type": "string", "description": "The bash command to execute" });
    assert_eq!(input["properties"], json!({ "command": command }));
}

#[test]
fn success_is_both_streams_and_the_exit_code_in_this_order() {
    check("echo out; echo err >&2", r#"{"stdout":"out\n","stderr":"err\n","exitCode":0}"#);
    let home = home();
    let mut server = Server::greeted(&home, &["--dialect", "plain"], &[]);
    let result = server.call("bash", &json!({ "command": "echo out; echo err >&2" }));
    assert_eq!(text_of(&result), r#"{"stdout":"out\n","stderr":"err\n","exitCode":0}"#);
}

#[test]
fn an_error_is_an_object_with_a_message() {
    check("", r#"{"error":"the command is empty"}"#);
}

#[test]
fn a_command_runs_by_bash_and_by_bin_bash_if_path_has_none() {
    let home = home();
    let said = plain(&home, "echo $0 ${BASH_VERSION:+bash} $-; [[ a == a ]] && echo it is", &[]);
    let options = said["stdout"].as_str().expect("text");
    assert!(options.starts_with("bash bash ") && options.ends_with("c\nit is\n"), "{said}");
    let bin_bash = std::fs::canonicalize("/bin/bash").expect("a shell");
    for path in ["/no/where", ""] {
        let said = plain(&home, "/usr/bin/readlink /proc/$$/exe; :", &[("PATH", path)]);
        assert_eq!(said["stdout"], format!("{}\n", bin_bash.display()));
    }
}

#[test]
fn both_streams_are_captured_separately() {
    check("echo 1; echo 2 >&2; echo 3; echo 4 >&2", r#"{"stdout":"1\n3\n","stderr":"2\n4\n","exitCode":0}"#);
}

#[test]
fn the_reply_comes_when_the_command_has_ended() {
    check("sleep 0.5; echo done", r#"{"stdout":"done\n","stderr":"","exitCode":0}"#);
    // However little patience the client has.
    let home = home();
    let mut server = Server::greeted(&home, &["--dialect", "plain"], &[("BASHFUL_MCP_PATIENCE_SECONDS", "0.1")]);
    let result = server.call("bash", &json!({ "command": "sleep 0.5; echo done" }));
    assert_eq!(text_of(&result), r#"{"stdout":"done\n","stderr":"","exitCode":0}"#);
}

#[test]
fn the_exit_code_is_returned_with_the_output() {
    check("echo out; exit 42", r#"{"stdout":"out\n","stderr":"","exitCode":42}"#);
}

#[test]
fn the_default_timeout_is_30_seconds() {
    let home = home();
    let said = plain(&home, "sleep 1000 & echo started", &[]);
    assert_eq!(said["stdout"], "started\n");
    assert_eq!(job(&home, "1")["lifetime_ms"], 30_000);
    let description = definition(&home, "plain")["description"].as_str().expect("text").to_owned();
    assert!(description.contains("Timeout: 30s."), "{description}");
    assert!(home.run(&["jobs", "kill", "1"]).status.success());
}

/// Makes the default timeout short enough to wait for.
const ONE_SECOND: (&str, &str) = ("BASHFUL_LIFETIME_DEFAULT_SECONDS", "1");

#[test]
fn a_timeout_kills_the_process_and_returns_an_error() {
    let home = home();
    let began = Instant::now();
    let said = plain(&home, "echo begun; sleep 1000", &[ONE_SECOND]);
    assert!(began.elapsed() < WIDE);
    assert_eq!(said, json!({ "error": "Command timed out after 1s", "stdout": "begun\n", "stderr": "" }));
    home.check_nothing_survives();
}

#[test]
fn a_command_runs_in_the_working_directory_of_the_harness() {
    let home = home();
    assert_eq!(plain(&home, "pwd", &[])["stdout"], format!("{}\n", home.path().display()));
    let mut server = Server::greeted(&home, &["--dialect", "plain"], &[]);
    let result = server.call("bash", &json!({ "command": "pwd" }));
    assert!(text_of(&result).contains(&format!("\"stdout\":\"{}\\n\"", home.path().display())), "{result}");
}

#[test]
fn a_command_can_reach_every_directory() {
    let (inside, outside) = (home(), home());
    let command = format!("cd '{}' && echo was here > trace; cat /etc/passwd", outside.path().display());
    let said = plain(&inside, &command, &[]);
    assert_eq!(std::fs::read_to_string(outside.path().join("trace")).expect("a file"), "was here\n");
    assert_eq!(said["stdout"], std::fs::read_to_string("/etc/passwd").expect("a file"));
}

#[test]
fn a_command_inherits_the_environment_and_nothing_is_added() {
    let home = home();
    let given = [("MY_TOKEN", "not-withheld-here"), ("COLUMNS_OF_MINE", "a=b c")];
    let said = plain(&home, "env -0", &given);
    let variables: BTreeMap<&str, &str> =
        said["stdout"].as_str().expect("text").split_terminator('\0').filter_map(|line| line.split_once('=')).collect();
    let mut expected: Vec<&str> = vec!["HOME", "PATH", "PUPPET", "TEST_MARK", "MY_TOKEN", "COLUMNS_OF_MINE"];
    for (name, value) in given {
        assert_eq!(variables.get(name), Some(&value), "{said}");
    }
    // Every bash sets these by itself.
    expected.extend(["PWD", "OLDPWD", "SHLVL", "_"]);
    let added: Vec<_> = variables.keys().filter(|name| !expected.contains(name)).collect();
    assert!(added.is_empty(), "{added:?}");
}

#[test]
fn a_command_that_succeeds_has_the_exit_code_0() {
    check("true", r#"{"stdout":"","stderr":"","exitCode":0}"#);
}

#[test]
fn a_command_that_fails_has_its_streams_and_its_own_exit_code() {
    check("echo out; echo err >&2; exit 7", r#"{"stdout":"out\n","stderr":"err\n","exitCode":7}"#);
    // A signal counts as it does in a shell.
    check("kill -TERM $$", r#"{"stdout":"","stderr":"","exitCode":143}"#);
}

#[test]
fn a_command_that_is_not_found_has_an_error_with_the_message_of_bash() {
    let message = "bash: line 1: no-such-command: command not found";
    check(
        "echo out; no-such-command",
        &format!(r#"{{"stdout":"out\n","stderr":"{message}\n","exitCode":127,"error":"{message}"}}"#),
    );
    // A script that ends like this by itself has said nothing that could be repeated.
    let meaning = "exit code 127, which stands for: command not found";
    check("exit 127", &format!(r#"{{"stdout":"","stderr":"","exitCode":127,"error":"{meaning}"}}"#));
}

#[test]
fn a_command_that_may_not_be_executed_has_an_error_with_the_message_of_bash() {
    let message = "bash: line 1: ./data: Permission denied";
    check(
        "touch data; ./data",
        &format!(r#"{{"stdout":"","stderr":"{message}\n","exitCode":126,"error":"{message}"}}"#),
    );
}

/// A megabyte.
const LIMIT: usize = 1_000_000;

/// Writes so many letters to a stream.
fn letters(count: usize, stream: u8) -> String {
    format!("head -c {count} /dev/zero | tr '\\0' x >&{stream}")
}

#[test]
fn a_megabyte_of_each_stream_is_returned() {
    let said = plain(&home(), &format!("{}; {}", letters(LIMIT, 1), letters(LIMIT, 2)), &[]);
    assert!(said["stdout"] == "x".repeat(LIMIT) && said["stderr"] == "x".repeat(LIMIT), "something is missing");
    assert_eq!((&said["exitCode"], &said["notice"]), (&json!(0), &Value::Null));
}

#[test]
fn more_of_standard_output_is_cut_with_a_suffix() {
    let said = plain(&home(), &letters(LIMIT + 1, 1), &[]);
    assert!(said["stdout"] == format!("{}... (truncated)", "x".repeat(LIMIT)), "it is cut elsewhere");
    assert_eq!(said["stderr"], "");
}

#[test]
fn more_of_standard_error_is_cut_with_a_suffix() {
    let said = plain(&home(), &letters(LIMIT + 1, 2), &[]);
    assert!(said["stderr"] == format!("{}... (truncated)", "x".repeat(LIMIT)), "it is cut elsewhere");
    assert_eq!(said["stdout"], "");
}

#[test]
fn the_whole_of_a_stream_that_was_cut_is_kept_and_a_notice_names_it() {
    let home = home();
    let said = plain(&home, &letters(LIMIT + 1, 1), &[]);
    let path = home.state().join("artifacts/1");
    let expected = format!("stdout was cut; all {} bytes: artifact://1, {}", LIMIT + 1, path.display());
    assert_eq!(said["notice"], expected);
    assert_eq!(std::fs::read(path).expect("the artifact").len(), LIMIT + 1);
}

#[test]
fn streams_are_returned_as_they_were_written() {
    let command = r"printf 'a\e[31mred\e[0m\r\n50%%\r100%%\n\tb\0c\a\n\n'; printf '\e]0;title\a' >&2";
    let said = plain(&home(), command, &[]);
    assert_eq!(said["stdout"], "a\u{1b}[31mred\u{1b}[0m\r\n50%\r100%\n\tb\0c\u{7}\n\n");
    assert_eq!(said["stderr"], "\u{1b}]0;title\u{7}");
    assert_eq!(said["notice"], Value::Null);
}

#[test]
fn only_bytes_that_json_cannot_hold_are_replaced_and_a_notice_counts_them() {
    let said = plain(&home(), r"printf 'a\xff\xfeb\n'", &[]);
    assert_eq!(said["stdout"], "a\u{fffd}\u{fffd}b\n");
    assert_eq!(said["notice"], "stdout: 2 sequences are not UTF-8, shown as \u{fffd}");
}

#[test]
fn processes_left_running_are_told_in_a_notice_and_not_in_the_streams() {
    let home = home();
    let said = plain(&home, "sleep 1000 & echo started", &[]);
    assert_eq!((&said["stdout"], &said["stderr"], &said["exitCode"]), (&json!("started\n"), &json!(""), &json!(0)));
    let notice = said["notice"].as_str().expect("a notice").to_owned();
    assert!(notice.starts_with("1 process is still running\n") && notice.contains(" sleep 1000\n"), "{notice}");
    // The advice works in the next call.
    let (_, kill) = notice.rsplit_once(": ").expect("advice");
    assert!(kill.starts_with("kill "), "{notice}");
    assert_eq!(plain(&home, kill, &[])["exitCode"], 0);
    home.check_nothing_survives();
}

#[test]
fn a_command_can_read_and_write_files() {
    let home = home();
    assert_eq!(plain(&home, "echo text > file; cat file; rm file; ls file 2>/dev/null", &[])["stdout"], "text\n");
}

#[test]
fn a_command_can_execute_programs() {
    assert_eq!(plain(&home(), "uname -s; /bin/sh -c 'echo from a program'", &[])["stdout"], "Linux\nfrom a program\n");
}

#[test]
fn a_command_can_access_the_network() {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = listener.local_addr().expect("an address").port();
    let received = std::thread::spawn(move || {
        let mut text = String::new();
        listener.accept().and_then(|(mut stream, _)| stream.read_to_string(&mut text)).expect("a connection");
        text
    });
    assert_eq!(plain(&home(), &format!("echo hello > /dev/tcp/127.0.0.1/{port}"), &[])["exitCode"], 0);
    assert_eq!(received.join().expect("it reads"), "hello\n");
}

#[test]
fn a_command_can_modify_the_state_of_the_system() {
    let home = home();
    assert_eq!(
        plain(&home, "mkdir new; chmod 701 new; nohup sleep 1000 >/dev/null 2>&1 & echo $!", &[])["exitCode"],
        0
    );
    let mode = std::os::unix::fs::PermissionsExt::mode(&home.path().join("new").metadata().expect("it").permissions());
    assert_eq!(mode & 0o777, 0o701);
    assert!(eventually(|| home.survivors().iter().any(|line| line.contains("sleep 1000"))));
}

#[test]
fn every_git_command_is_allowed() {
    let home = home();
    let before = diverged_repository(&home);
    std::fs::write(home.path().join("another"), "").expect("a file");
    assert_eq!(plain(&home, "git add -A", &[])["exitCode"], 0);
    assert!(git(&home, &["ls-files"]).lines().any(|file| file == "another"));
    assert_eq!(plain(&home, "git push -q --force", &[])["exitCode"], 0);
    assert_ne!(pushed(&home), before);
    let said = plain(&home, "git push -q origin :main", &[]);
    assert!(said["error"].is_null() && said["notice"].is_null(), "{said}");
}

/// A repository that an `rm` of everything would ruin, and a `PATH` on which `rm` only takes notes.
fn precious(home: &Home) -> String {
    std::fs::create_dir(home.path().join(".git")).expect("a directory");
    path_with_recorder(home, "rm")
}

#[test]
fn a_deadly_rm_is_refused_and_the_description_says_so() {
    let home = home();
    let path = precious(&home);
    for command in ["rm -rf /", "rm -rf ~", "rm -rf .git"] {
        let said = plain(&home, command, &[("PATH", &path)]);
        let error = said["error"].as_str().unwrap_or_else(|| panic!("{said}"));
        assert!(error.starts_with("permission denied: this rm command could delete critical data"), "{error}");
    }
    assert_eq!(recorded(&home), "");
    let description = definition(&home, "plain")["description"].as_str().expect("text").to_owned();
    let expected = "rm -r of /, a system directory, ~ or below, .git or everything here is refused.";
    assert!(description.contains(expected), "{description}");
}

#[test]
fn a_setting_allows_the_rm_and_another_refuses_git() {
    let home = home();
    let path = precious(&home);
    let off = ("BASHFUL_GUARD_DIALECTS", r#"{ plain = { "rm/critical" = "off" } }"#);
    assert_eq!(plain(&home, "rm -rf .git", &[("PATH", &path), off])["exitCode"], 0);
    assert_eq!(recorded(&home), "rm -rf .git\n");
    let printed = home.command(&["schema", "--dialect", "plain"]).envs([off]).output().expect("it runs");
    assert!(!text(&printed.stdout).contains("refused"));
    // A level for one rule leaves the others as they are.
    let added = plain(&home, "git add -A", &[("PATH", &path), off]);
    assert_eq!((&added["exitCode"], &added["error"]), (&json!(128), &Value::Null), "git itself says no");
    // The native dialect has its own levels.
    let (said, code) = reply(&home, "native", &["rm -rf .git"], &[("PATH", &path), off]);
    assert_eq!((said.starts_with("permission denied: "), code), (true, Some(125)));
    for on in [
        ("BASHFUL_GUARD_DIALECTS", r#"{ plain = { "git/blind-add" = "deny" } }"#),
        ("BASHFUL_GUARD_LEVELS", r#"{ "git/blind-add" = "deny" }"#),
    ] {
        let said = plain(&home, "git add -A", &[on]);
        assert!(said["error"].as_str().is_some_and(|error| error.starts_with("permission denied: blind")), "{said}");
    }
}

#[test]
fn every_command_is_logged_with_its_exit_code_and_the_size_of_its_output() {
    let home = home();
    let mut server = Server::greeted(&home, &["--dialect", "plain"], &[]);
    server.call("bash", &json!({ "command": "echo some-$((40 + 2)); echo err >&2; exit 3" }));
    let logged = home.run(&["log", "--json"]).stdout;
    let line: Value = serde_json::from_slice(&logged).expect("one line");
    assert_eq!(line["command"], "echo some-$((40 + 2)); echo err >&2; exit 3");
    assert_eq!((&line["exit_code"], &line["output_bytes"]), (&json!(3), &json!(12)));
    assert!(!text(&logged).contains("some-42"), "{line}");
}

#[test]
fn an_empty_command_is_an_error() {
    for command in ["", " ", "\n\t"] {
        check(command, r#"{"error":"the command is empty"}"#);
    }
}

#[test]
fn a_timeout_is_an_error() {
    let (said, code) = reply(&home(), "plain", &["sleep 1000"], &[ONE_SECOND]);
    let expected = "{\"stdout\":\"\",\"stderr\":\"\",\"error\":\"Command timed out after 1s\"}\n";
    assert_eq!((said.as_str(), code), (expected, Some(124)));
}

#[test]
fn a_process_that_cannot_be_started_is_an_error() {
    let home = home();
    let shell = home.path().join("bash");
    std::fs::copy("/bin/bash", &shell).expect("a shell");
    let shell_path = [("BASHFUL_SHELL_PATH", shell.to_str().expect("text")), ("BASHFUL_MCP_READY", "0")];
    let mut server = Server::greeted(&home, &["--dialect", "plain"], &shell_path);
    let mut call = || -> Value {
        let result = server.call("bash", &json!({ "command": "echo hi" }));
        serde_json::from_str(text_of(&result)).expect("JSON")
    };
    assert_eq!(call()["stdout"], "hi\n");
    std::fs::remove_file(&shell).expect("it was there");
    let said = call();
    let error = said["error"].as_str().unwrap_or_else(|| panic!("{said}"));
    assert!(error.contains("bash"), "{error}");
    assert_eq!(said, json!({ "error": error }), "and nothing else");
    // The same where the program itself finds no shell.
    let said = plain(&home, "echo hi", &shell_path[..1]);
    assert!(said["error"].as_str().is_some_and(|error| error.contains("does not exist")), "{said}");
}

#[test]
fn a_lack_of_system_resources_is_an_error() {
    let home = home();
    let refuse = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/refuse_calls.py");
    let no_processes = "clone3:EAGAIN,clone_pidfd:EAGAIN";
    let args = [refuse, no_processes, BASHFUL, "run", "--dialect", "plain", "true"];
    let output = home.wrapped("python3", &args).output().expect("it runs");
    let said: Value = serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}: {output:?}"));
    let error = said["error"].as_str().expect("an error");
    assert!(error.starts_with("cannot start the command: no more processes can be made"), "{error}");
    let script = "ulimit -n 16; exec \"$0\" run --dialect plain true";
    let output = home.wrapped("/bin/bash", &["-c", script, BASHFUL]).output().expect("it runs");
    let said: Value = serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}: {output:?}"));
    assert!(said["error"].as_str().is_some_and(|error| error.contains("no file descriptors left")), "{said}");
}

#[test]
fn the_example_of_a_simple_command_works() {
    check("echo 'hello world'", r#"{"stdout":"hello world\n","stderr":"","exitCode":0}"#);
}

#[test]
fn the_example_of_a_command_with_an_error_works() {
    let said = plain(&home(), "ls /nonexistent", &[]);
    assert_eq!(said["stdout"], "");
    let stderr = said["stderr"].as_str().expect("text");
    // The words and the code are those of the system's own `ls`.
    assert!(stderr.starts_with("ls: ") && stderr.ends_with(": No such file or directory\n"), "{said}");
    assert!(said["exitCode"].as_u64().is_some_and(|code| code > 0) && said["error"].is_null(), "{said}");
}

#[test]
fn the_example_of_a_piped_command_works() {
    let home = home();
    let lines: String = (0..100).map(|n| if n < 42 { "a pattern\n" } else { "nothing\n" }).collect();
    std::fs::write(home.path().join("file.txt"), lines).expect("a file");
    let (said, _) = reply(&home, "plain", &["cat file.txt | grep pattern | wc -l"], &[]);
    assert_eq!(said, "{\"stdout\":\"42\\n\",\"stderr\":\"\",\"exitCode\":0}\n");
}
