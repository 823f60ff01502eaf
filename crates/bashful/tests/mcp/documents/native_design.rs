//! The native tool's design: schema, modes, texts, limits and the guard.

use std::process::Stdio;
use std::time::Instant;

use bashful_testkit::{WIDE, eventually};
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use serde_json::json;

use super::{
    BASHFUL, background, definition, diverged_repository, git, home, job, lifetime, native, output_of_ended,
    path_with_recorder, pushed, recorded, refuses, reply, tagged, text,
};
use crate::server::{Server, text as text_of};

const BLIND_ADD: &str = "permission denied: blind git add commands (git add -A, git add ., git add --all, git add *) are \
                         not allowed, specify files explicitly\n";
const FORCE_PUSH: &str = "permission denied: git push --force is not allowed. Use --force-with-lease for safer force \
                          pushes, or push without force\n";
const CRITICAL_RM: &str = "permission denied: this rm command could delete critical data (.git, home directory, or root). \
                           Specify the full path explicitly (no wildcards, ~, or $HOME)\n";

/// Output that is shown whole, and the part of each end that is shown of more.
const MAX_OUTPUT_LENGTH: usize = 128 * 1024;
const SNIP_SIZE: usize = 4 * 1024;

#[test]
fn the_schema_takes_a_command_and_a_mode_and_requires_the_command() {
    let input = definition(&home(), "native")["inputSchema"].clone();
    assert_eq!((&input["type"], &input["required"]), (&json!("object"), &json!(["command"])));
    let command = json!({ "type": "string", "description": "Shell command to execute via bash -c" });
    assert_eq!(input["properties"]["command"], command);
    assert_eq!(input["properties"]["mode"]["type"], "string");
    assert_eq!(input["properties"]["mode"]["enum"], json!(["default", "slow", "background"]));
}

#[test]
fn the_schema_describes_the_modes_with_their_timeouts() {
    let mode = definition(&home(), "native")["inputSchema"]["properties"]["mode"].clone();
    let expected = "Execution mode: default (30s timeout), slow (15m timeout), background (detached)";
    assert_eq!(mode["description"], expected);
}

#[test]
fn a_combination_of_modes_cannot_be_asked_for() {
    let home = home();
    let mut server = Server::greeted(&home, &[], &[]);
    for (wrong, said) in [
        (json!({ "mode": "fast" }), "unknown variant `fast`, expected one of `default`, `slow`, `background`"),
        (json!({ "mode": ["slow", "background"] }), "`mode`"),
        (json!({ "slow_ok": true }), "unknown field `slow_ok`"),
        (json!({ "background": true }), "unknown field `background`"),
    ] {
        let mut arguments = wrong;
        arguments["command"] = "touch ran".into();
        let result = server.call("bash", &arguments);
        assert_eq!(result["isError"], true);
        assert!(text_of(&result).contains(said), "{result}");
    }
    assert!(!home.path().join("ran").exists());
}

#[test]
fn the_default_mode_waits_for_the_end_for_up_to_30_seconds() {
    assert_eq!(lifetime(&[]), 30_000);
    assert_eq!(lifetime(&["--mode", "default"]), 30_000);
    assert_eq!(native(&home(), "sleep 0.3; echo done"), "done\n");
}

#[test]
fn the_slow_mode_waits_for_the_end_for_up_to_15_minutes() {
    assert_eq!(lifetime(&["--mode", "slow"]), 900_000);
    let home = home();
    let (said, _) = reply(&home, "native", &["--mode", "slow", "sleep 0.3; echo done"], &[]);
    assert_eq!(said, "done\n");
}

#[test]
fn the_background_mode_is_detached_for_24_hours_and_returns_at_once_with_a_process_id() {
    let home = home();
    let began = Instant::now();
    let said = background(&home, "sleep 1000");
    assert!(began.elapsed() < WIDE, "it waited");
    let pid = tagged(&said, "pid");
    assert!(std::path::Path::new("/proc").join(pid).exists(), "the program has ended, and process {pid} with it");
    assert_eq!(job(&home, "1")["lifetime_ms"], 86_400_000);
    assert!(home.run(&["jobs", "kill", "1"]).status.success());
    home.check_nothing_survives();
}

/// Holds that the description has all of these.
#[track_caller]
fn check_described(parts: &[&str]) {
    let description = definition(&home(), "native")["description"].as_str().expect("text").to_owned();
    for part in parts {
        assert!(description.contains(part), "{part:?} is missing: {description}");
    }
}

#[test]
fn the_description_says_that_bash_runs_it_and_that_the_output_is_combined() {
    check_described(&["bash -c", "stdout and stderr together"]);
    assert_eq!(native(&home(), "echo out; echo err >&2; echo out"), "out\nerr\nout\n");
}

#[test]
fn the_description_says_that_state_does_not_persist_and_it_does_not() {
    check_described(&["State (directory, variables, aliases) does not persist between calls"]);
    let home = home();
    let mut server = Server::greeted(&home, &[], &[]);
    server.call("bash", &json!({ "command": "cd /; x=1; shopt -s expand_aliases; alias greet='echo hello'" }));
    let result = server.call("bash", &json!({ "command": "pwd; echo \"x is ${x-unset}\"; alias" }));
    assert_eq!(text_of(&result), format!("{}\nx is unset\n", home.path().display()));
}

#[test]
fn the_description_recommends_the_background_for_servers_and_names_the_file() {
    check_described(&["\"background\" for servers", "returns at once with a job id and an output file"]);
}

#[test]
fn the_description_recommends_the_slow_mode_for_builds_downloads_installs_and_tests() {
    check_described(&["mode \"slow\" for builds, tests, installs and downloads"]);
}

#[test]
fn the_description_asks_for_short_commands_and_says_how_short() {
    check_described(&["Keep commands short", "60k tokens", "write a long script to a file, then run it"]);
}

#[test]
fn the_description_says_how_much_output_is_shown() {
    check_described(&["Output beyond 128KB", "keeps its beginning and end", "file that has all of it"]);
    let home = home();
    let printed = home.command(&["schema"]).env("BASHFUL_OUTPUT_WHOLE_BYTES", "20480").output().expect("it runs");
    assert!(text(&printed.stdout).contains("Output beyond 20KB"));
}

#[test]
fn the_description_ends_with_the_working_directory() {
    let home = home();
    let description = definition(&home, "native")["description"].as_str().expect("text").to_owned();
    assert!(description.ends_with(&format!("\n\n<pwd>{}</pwd>", home.path().display())), "{description}");
}

#[test]
fn all_definitions_together_take_less_than_4_kilobytes() {
    let home = home();
    let mut server = Server::greeted(&home, &[], &[]);
    let listed = server.ask("tools/list", &json!({})).to_string();
    assert!(listed.len() < 4096, "{} bytes", listed.len());
}

#[test]
fn a_command_runs_in_the_working_directory_without_input() {
    let home = home();
    assert_eq!(native(&home, "pwd; cat; echo end"), format!("{}\nend\n", home.path().display()));
    let (said, _) = reply(&home, "native", &["--cwd", "/usr", "pwd"], &[]);
    assert_eq!(said, "/usr\n");
}

#[test]
fn a_command_that_takes_too_long_is_killed_and_its_time_is_told() {
    let home = home();
    let (said, code) = reply(&home, "native", &["--timeout", "1", "sleep 1000 | sleep 1000"], &[]);
    assert_eq!((said.lines().next(), code), (Some("[command timed out after 1s]"), Some(124)));
    home.check_nothing_survives();
}

#[test]
fn a_background_command_writes_both_streams_to_the_file_and_has_no_input() {
    let home = home();
    let said = background(&home, "cat; echo out; echo err >&2");
    assert!(output_of_ended(&home, "1").starts_with("out\nerr\n"));
    assert_eq!(tagged(&said, "output_file"), home.state().join("jobs/1/output").to_str().expect("text"));
}

#[test]
fn a_background_reply_begins_with_process_id_file_and_reminder() {
    let home = home();
    let said = background(&home, "true");
    let (pid, file) = (tagged(&said, "pid"), tagged(&said, "output_file"));
    let expected =
        format!("<pid>{pid}</pid>\n<output_file>{file}</output_file>\n<reminder>To stop: kill -9 -{pid}</reminder>\n");
    assert!(said.starts_with(&expected), "{said}");
}

#[test]
fn the_file_of_a_background_command_says_that_it_has_completed() {
    let home = home();
    background(&home, "printf written");
    assert_eq!(output_of_ended(&home, "1"), "written\n\n[background process completed]\n");
}

#[test]
fn the_file_of_a_background_command_says_how_it_has_failed() {
    let home = home();
    background(&home, "exit 3");
    background(&home, "kill -9 $$");
    assert!(output_of_ended(&home, "1").ends_with("\n[background process failed: exit status: 3]\n"));
    assert!(output_of_ended(&home, "2").ends_with("\n[background process failed: signal: 9 (SIGKILL)]\n"));
}

#[test]
fn the_file_of_a_background_command_says_so_if_its_end_cannot_be_told() {
    let home = home();
    // A system that lets nobody send signals, as a strict filter does: then time is up, and nothing can be done about it.
    let refuse = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/refuse_calls.py");
    let command = "until [ -e go ]; do sleep 0.05; done; exit 3";
    let args = ["run", "--dialect", "native", "--mode", "background", "--timeout", "1", command];
    let mut program = home.wrapped("python3", &[&[refuse, "kill,pidfd_send_signal", BASHFUL], &args[..]].concat());
    let started = program.env("BASHFUL_STOP_GRACE_SECONDS", "0.1").stderr(Stdio::inherit()).output().expect("it runs");
    assert!(started.status.success(), "{started:?}");
    let output = || std::fs::read_to_string(home.state().join("jobs/1/output")).unwrap_or_default();
    let error = "\n[background process error: part of it cannot be killed]\n";
    assert!(eventually(|| output() == error), "{}", output());
    // Once it has ended all the same, its end is known.
    std::fs::write(home.path().join("go"), "").expect("it may go on");
    let expected = format!("{error}\n[background process failed: timed out after 1s]\n");
    assert_eq!(output_of_ended(&home, "1"), expected);
    home.check_nothing_survives();
}

/// Writes so many bytes, in lines of 16.
fn writes(bytes: usize) -> String {
    format!("yes 123456789abcdef 2>&- | head -c {bytes} | cat")
}

#[test]
fn output_up_to_the_limit_is_shown_whole() {
    let said = native(&home(), &writes(MAX_OUTPUT_LENGTH));
    assert_eq!(said.len(), MAX_OUTPUT_LENGTH);
    assert!(said.starts_with("123456789abcdef\n") && !said.contains("truncated"));
}

#[test]
fn longer_output_is_cut_in_the_middle_and_both_ends_are_kept() {
    let said = native(&home(), &writes(1024 * 1024));
    let begin = "[output truncated in middle: got 1MB, max is 128KB]\n123456789abcdef\n";
    assert!(said.starts_with(begin), "{}", &said[..200]);
    let (head, tail) = said.split_once("\n\n[snip]\n\n").expect("a mark");
    let (_, head) = head.split_once('\n').expect("a first line");
    // Both ends finish their lines, so they may be a little longer; the newline before the mark belongs to the last line.
    assert!((SNIP_SIZE..SNIP_SIZE + 16).contains(&(head.len() + 1)), "{} bytes", head.len());
    let (tail, _) = tail.split_once("[showing lines ").expect("exact ranges");
    assert!((SNIP_SIZE..SNIP_SIZE + 16).contains(&tail.len()), "{} bytes", tail.len());
}

#[test]
fn a_failure_is_told_with_its_exit_code_before_the_output() {
    let home = home();
    let (said, code) = reply(&home, "native", &["echo why; exit 3"], &[]);
    assert_eq!((said.as_str(), code), ("[command failed: exit code 3]\nwhy\n", Some(3)));
    let (said, _) = reply(&home, "native", &[&format!("{}; exit 3", writes(1024 * 1024))], &[]);
    assert!(said.starts_with("[command failed: exit code 3]\n[output truncated in middle: got 1MB, max is 128KB]\n"));
    let mut server = Server::greeted(&home, &[], &[]);
    assert_eq!(server.call("bash", &json!({ "command": "exit 3" }))["isError"], true);
    assert_eq!(server.call("bash", &json!({ "command": "true" }))["isError"], false);
}

#[test]
fn blind_git_add_commands_are_blocked_and_named_files_are_not() {
    let home = home();
    for blocked in ["git add -A", "git add .", "git add --all", "git add *"] {
        assert!(refuses(&home, blocked), "{blocked}");
    }
    assert!(!refuses(&home, "git add file.rs"));
}

#[test]
fn forced_pushes_are_blocked_and_those_with_a_lease_are_not() {
    let home = home();
    for blocked in ["git push --force", "git push -f"] {
        assert!(refuses(&home, blocked), "{blocked}");
    }
    assert!(!refuses(&home, "git push --force-with-lease"));
}

#[test]
fn dangerous_rm_commands_are_blocked_and_others_are_not() {
    let home = home();
    for blocked in ["rm -rf /", "rm -rf ~", "rm -rf .git", "rm -rf *"] {
        assert!(refuses(&home, blocked), "{blocked}");
    }
    assert!(!refuses(&home, "rm -rf node_modules"));
}

#[test]
fn a_sudo_in_front_changes_nothing() {
    let home = home();
    for blocked in ["sudo git add -A", "sudo git push --force", "sudo rm -rf /"] {
        assert!(refuses(&home, blocked), "{blocked}");
    }
    assert!(!refuses(&home, "sudo rm -rf node_modules"));
}

#[test]
fn every_command_of_a_compound_one_is_checked() {
    let home = home();
    for around in ["true && {}", "false || {}", "true; {}", "true | {}", "( {} )", "if true; then {}; fi", "x=$({})"] {
        for blocked in ["git add -A", "git push -f", "rm -rf /"] {
            let script = around.replace("{}", blocked);
            assert!(refuses(&home, &script), "{script}");
        }
        let script = around.replace("{}", "git status");
        assert!(!refuses(&home, &script), "{script}");
    }
}

#[test]
fn a_command_is_checked_before_any_part_of_it_runs() {
    let home = home();
    assert!(native(&home, "touch ran; git add -A").starts_with("permission denied: "));
    assert!(!home.path().join("ran").exists());
}

#[test]
fn a_refusal_says_what_to_do_instead() {
    let home = home();
    let path = path_with_recorder(&home, "rm");
    for (blocked, message) in [("git add .", BLIND_ADD), ("git push -f", FORCE_PUSH), ("rm -rf ~", CRITICAL_RM)] {
        let (said, code) = reply(&home, "native", &[blocked], &[("PATH", &path)]);
        assert!(said.starts_with(message), "{said}");
        assert_eq!(code, Some(125));
    }
}

#[test]
fn comments_pass_and_an_empty_script_is_no_command() {
    let home = home();
    assert!(!refuses(&home, "# git add -A"));
    assert!(!refuses(&home, "true # rm -rf /"));
    let (said, code) = reply(&home, "native", &[" \n"], &[]);
    assert_eq!((said.as_str(), code), ("the command is empty\n", Some(125)));
}

#[test]
fn a_blocked_git_add_leaves_the_index_empty() {
    let home = home();
    git(&home, &["init", "-q", "."]);
    std::fs::write(home.path().join("file"), "").expect("a file");
    assert!(native(&home, "git add -A").starts_with(BLIND_ADD));
    assert_eq!(git(&home, &["ls-files"]), "");
    // The same repository takes what is allowed.
    assert_eq!(native(&home, "git add file"), "(no output)\n");
    assert_eq!(git(&home, &["ls-files"]), "file\n");
}

#[test]
fn a_blocked_rm_of_the_root_does_not_call_rm() {
    let home = home();
    // Nothing here runs the real one: the recorder comes first on PATH.
    let path = path_with_recorder(&home, "rm");
    let run = |command: &str| reply(&home, "native", &[command], &[("PATH", &path)]);
    assert_eq!(run("rm -rf node_modules").1, Some(0));
    assert_eq!(recorded(&home), "rm -rf node_modules\n", "the recorder takes the place of rm");
    let (said, code) = run("rm -rf /");
    assert!(said.starts_with(CRITICAL_RM), "{said}");
    assert_eq!((recorded(&home).as_str(), code), ("rm -rf node_modules\n", Some(125)));
}

#[test]
fn a_blocked_forced_push_leaves_the_remote_as_it_was() {
    let home = home();
    let before = diverged_repository(&home);
    assert!(native(&home, "git push --force").starts_with(FORCE_PUSH));
    assert_eq!(pushed(&home), before);
}

#[test]
fn an_allowed_command_runs() {
    assert_eq!(native(&home(), "echo hello"), "hello\n");
}

#[test]
fn output_never_exceeds_limit() {
    let home = home();
    let mut server = Server::greeted(&home, &[], &[]);
    let mut holds = |output: &[u8], end: &str| {
        std::fs::write(home.path().join("any"), output).expect("it is written");
        let result = server.call("bash", &json!({ "command": format!("cat any; {end}") }));
        let bytes = text_of(&result).len();
        assert!(bytes <= MAX_OUTPUT_LENGTH + 200, "{bytes} bytes of {} with {end:?}", output.len());
    };
    for size in [MAX_OUTPUT_LENGTH - 1, MAX_OUTPUT_LENGTH, MAX_OUTPUT_LENGTH + 1] {
        for byte in [b'x', b'\n', b'\0', 0xff] {
            holds(&vec![byte; size], "exit 3");
        }
    }
    let piece = prop_oneof![any::<Vec<u8>>(), ".*".prop_map(String::into_bytes), Just(b"a line\n".to_vec())];
    let output = (piece, 0_usize..200_000).prop_map(|(piece, bytes)| {
        piece.iter().copied().cycle().take(if piece.is_empty() { 0 } else { bytes }).collect::<Vec<u8>>()
    });
    let end = prop::sample::select(&["true", "exit 3", "kill -9 $$", "cat any >&2"][..]);
    let config = Config { cases: 32, failure_persistence: None, ..Config::default() };
    let holds = std::cell::RefCell::new(holds);
    TestRunner::new(config)
        .run(&(output, end), |(output, end)| {
            (holds.borrow_mut())(&output, end);
            Ok(())
        })
        .expect("it holds");
}
