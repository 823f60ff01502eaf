//! The way of a call, step by step, and what it does beside answering.

use std::os::unix::fs::PermissionsExt;

use bashful_testkit::{Home, eventually};
use serde_json::{Value, json};

use super::{INTERCEPTOR, Pi};
use crate::BASHFUL;
use crate::server::{self, Server};

/// Arguments in which everything is wrong that one step after the other would find.
fn all_wrong() -> Value {
    json!({ "command": "cat agent://x; touch ran", "env": { "1A": "x" }, "async": true, "cwd": "missing" })
}

#[test]
fn the_steps_come_in_the_documents_order() {
    let mut pi = Pi::with(&[&INTERCEPTOR[..], &[("BASHFUL_ASYNC_ENABLED", "false")]].concat());
    let mut arguments = all_wrong();
    // The environment is normalized first.
    assert_eq!(pi.refused(&arguments), "Invalid bash env name: 1A");
    arguments["env"] = json!({});
    // Then comes the background, before any execution.
    let disabled = "Async bash execution is disabled. Enable async.enabled to use async mode.";
    assert_eq!(pi.refused(&arguments), disabled);
    arguments["async"] = json!(false);
    // The interceptor speaks before URLs are expanded.
    assert!(pi.refused(&arguments).starts_with("Blocked: Use the `read` tool"));
    arguments["command"] = json!("wc agent://x; touch ran");
    // URLs are expanded before the directory is looked at.
    assert_eq!(pi.refused(&arguments), "Unsupported internal URL in bash command: agent://x");
    arguments["command"] = json!("touch ran");
    assert_eq!(pi.refused(&arguments), format!("Working directory does not exist: {}", pi.path("missing")));
    assert!(!pi.exists("ran"));
    pi.end();
}

#[test]
fn a_leading_cd_is_stripped_from_the_command() {
    let mut pi = Pi::new();
    pi.write("d/file", "");
    let result = pi.bash(&json!({ "command": "cd d && nonsense-here" }));
    assert!(result.output().contains("nonsense-here: command not found"), "{}", result.text);
    let started = pi.bash(&json!({ "command": "cd d && pwd", "async": true }));
    assert!(started.text.contains("Background job bg_1 started: pwd\n"), "{}", started.text);
    assert!(pi.job(&json!({ "poll": ["bg_1"] })).text.contains(&pi.path("d")));
    pi.end();
}

#[test]
fn the_interceptor_sees_the_command_as_given_and_without_its_cd() {
    let rules = r#"[{ pattern = "^cd .* && make$", tool = "read", message = "As given." }, { pattern = "^ls && pwd$", tool = "read", message = "Stripped." }]"#;
    let mut pi = Pi::with(&[&INTERCEPTOR[..], &[("BASHFUL_INTERCEPTOR_RULES", rules)]].concat());
    assert_eq!(
        pi.refused(&json!({ "command": "cd / && make" })),
        "Blocked: As given.\n\nOriginal command: cd / && make"
    );
    let refused = pi.refused(&json!({ "command": "cd / && ls && pwd" }));
    assert_eq!(refused, "Blocked: Stripped.\n\nOriginal command: cd / && ls && pwd");
    // Nothing is looked up for it.
    let refused = pi.refused(&json!({ "command": "cd /missing && ls && pwd" }));
    assert_eq!(refused, "Blocked: Stripped.\n\nOriginal command: cd /missing && ls && pwd");
    pi.end();
}

#[test]
fn urls_in_a_command_become_quoted_paths() {
    let home = Home::new(BASHFUL);
    let skills = home.path().join("it's skills");
    std::fs::create_dir_all(skills.join("deploy")).expect("a directory");
    std::fs::write(skills.join("deploy/a b.txt"), "found\n").expect("written");
    let setting = json!([skills]).to_string();
    let mut pi = Pi::at(home, &[("BASHFUL_REWRITE_SKILLS", &setting)]);
    for command in [
        "cat skill://deploy/a%20b.txt",
        "cat \"skill://deploy/a b.txt\"",
        "cat 'skill://deploy/a b.txt'",
        "cat --  skill://deploy/*.txt",
        "cat < skill://deploy/a%20b.txt",
    ] {
        assert_eq!(pi.output(&json!({ "command": command })), "found", "{command}");
    }
    // Written for the first time, with blanks in its name.
    assert_eq!(
        pi.output(&json!({ "command": "echo new > \"local://my notes.md\"; cat 'local://my notes.md'" })),
        "new"
    );
    pi.end();
}

#[test]
fn urls_in_values_and_directories_become_paths_as_they_are() {
    let home = Home::new(BASHFUL);
    let skills = home.path().join("it's skills");
    std::fs::create_dir_all(skills.join("deploy")).expect("a directory");
    let setting = json!([skills]).to_string();
    let mut pi = Pi::at(home, &[("BASHFUL_REWRITE_SKILLS", &setting)]);
    let path = pi.path("it's skills/deploy");
    let arguments =
        json!({ "command": "echo \"$WHERE\"; pwd", "env": { "WHERE": "skill://deploy" }, "cwd": "skill://deploy" });
    assert_eq!(pi.output(&arguments), format!("{path}\n{path}"));
    pi.end();
}

#[test]
fn a_clamped_timeout_is_told_in_a_line_of_its_own() {
    let mut pi = Pi::new();
    let result = pi.bash(&json!({ "command": "true", "timeout": 0 }));
    assert!(result.text.contains("\nTimeout clamped to 1s (requested 0s; allowed range 1-3600s)."), "{}", result.text);
    pi.end();
}

#[test]
fn a_command_that_ends_within_the_wait_is_answered_as_in_the_foreground() {
    let mut pi = Pi::with(&[("BASHFUL_JOBS_AUTO", "true")]);
    assert_eq!(pi.output(&json!({ "command": "echo quick" })), "quick");
    assert_eq!(pi.job(&json!({ "list": true })).text, "No background jobs.");
    pi.end();
}

#[test]
fn shell_settings_are_loaded_at_each_call() {
    let mut pi = Pi::new();
    let script = "echo ${FROM_SETTINGS-unset}";
    assert_eq!(pi.output(&json!({ "command": script })), "unset");
    pi.write(".config/bashful/config.toml", "[environment.set]\nFROM_SETTINGS = \"first\"\n");
    assert_eq!(pi.output(&json!({ "command": script })), "first");
    pi.write(".config/bashful/config.toml", "[environment.set]\nFROM_SETTINGS = \"other\"\n");
    assert_eq!(pi.output(&json!({ "command": script })), "other", "a file of the same length");
    pi.write(".config/bashful/config.toml", "[shell]\nprefix = \"env PREFIXED=yes\"\n");
    let result = pi.bash(&json!({ "command": "sh -c 'echo $PREFIXED'" }));
    assert_eq!(result.output(), "yes");
    assert!(result.text.contains("run with the prefix `env PREFIXED=yes` of the settings"), "{}", result.text);
    let shell = pi.path("own-bash");
    std::fs::copy("/bin/bash", &shell).expect("a copy");
    pi.write(".config/bashful/config.toml", &format!("[shell]\npath = \"{shell}\"\n"));
    assert_eq!(pi.output(&json!({ "command": "readlink /proc/$$/exe" })), shell);
    pi.end();
}

#[test]
fn settings_that_cannot_be_used_leave_the_old_ones_in_force_and_are_told_once() {
    let mut pi = Pi::new();
    pi.write(".config/bashful/config.toml", "[environment.set]\nFROM_SETTINGS = \"good\"\n");
    let script = json!({ "command": "echo $FROM_SETTINGS" });
    assert_eq!(pi.output(&script), "good");
    for (broken, why) in [
        ("[environment\n", "config.toml, line 1: "),
        ("[shell]\npath = \"/bin/sh-that-is-not-there\"\n", "cannot use `[shell] path` of the settings"),
        ("[shell]\ncolour = 1\n", "unknown field `colour`"),
    ] {
        pi.write(".config/bashful/config.toml", broken);
        let result = pi.bash(&script);
        assert_eq!(result.output(), "good");
        let said = "the settings have changed and cannot be used, so those from before hold: ";
        assert!(result.notices().contains(said) && result.notices().contains(why), "{broken}: {}", result.text);
        assert!(!pi.bash(&script).text.contains(said));
    }
    std::fs::remove_file(pi.path(".config/bashful/config.toml")).expect("it is there");
    assert_eq!(pi.bash(&script).output(), "", "without the file the defaults hold");
    pi.end();
}

#[test]
fn a_command_cannot_switch_off_what_keeps_it_in_bounds_by_writing_settings() {
    let mut pi = Pi::with(&[("MY_TOKEN", "withheld-12345")]);
    let settings = "[guard]\nenabled = false\n[environment]\nwithhold = []\n[environment.set]\nSEEN = \"yes\"\n";
    pi.write(".config/bashful/config.toml", settings);
    assert_eq!(pi.output(&json!({ "command": "echo $SEEN" })), "yes", "the file was read");
    assert!(
        pi.refused(&json!({ "command": "[ -e / ] || git push -f" })).starts_with("permission denied: git push --force")
    );
    assert_eq!(pi.output(&json!({ "command": "echo ${MY_TOKEN-withheld}" })), "withheld");
    assert!(!pi.bash(&json!({ "command": "echo withheld-12345" })).text.contains("withheld-12345"));
    pi.end();
}

#[test]
fn a_program_that_settings_name_is_never_run_outside_of_a_command() {
    let mut pi = Pi::new();
    // The program would run outside of any keeper, and could approve commands.
    pi.write("own-bash", "#!/bin/sh\ntouch ran\nexec /bin/bash \"$@\"\n");
    let shell = pi.path("own-bash");
    std::fs::set_permissions(&shell, std::fs::Permissions::from_mode(0o755)).expect("it is ours");
    pi.write(".config/bashful/config.toml", &format!("[shell]\npath = \"{shell}\"\n"));
    let result = pi.bash(&json!({ "command": "echo before" }));
    assert_eq!(result.output(), "before");
    let why = format!("the shell {shell} is a script, which is accepted only when the program starts");
    assert!(result.notices().contains(&why), "{}", result.text);
    assert!(!pi.exists("ran"));
    pi.end();
}

#[test]
fn the_shell_has_what_the_rc_files_define() {
    let home = Home::new(BASHFUL);
    let rc =
        "greet() { echo hello; }\nalias say='echo said'\nshopt -s globstar nullglob\nset -o nounset -o noclobber\n";
    std::fs::write(home.path().join(".bashrc"), rc).expect("written");
    std::fs::create_dir_all(home.path().join("d/e")).expect("a directory");
    std::fs::write(home.path().join("d/e/deep.txt"), "").expect("written");
    let mut pi = Pi::at(home, &[]);
    let script = "greet; say so; echo d/**/*.txt; echo none*; echo $unset; : > d/e/deep.txt";
    assert_eq!(pi.output(&json!({ "command": script })), "hello\nsaid so\nd/e/deep.txt");
    pi.end();
}

#[test]
fn calls_share_a_shell_whose_variables_stay_and_whose_directory_does_not() {
    let mut pi = Pi::new();
    pi.write("d/file", "");
    pi.output(&json!({ "command": "kept=yes; cd d; pwd" }));
    assert_eq!(pi.output(&json!({ "command": "echo $kept; ls -d d" })), "yes\nd");
    pi.end();
}

#[test]
fn a_timeout_is_an_error_with_what_was_captured() {
    let mut pi = Pi::new();
    let result = pi.bash(&json!({ "command": "echo captured; sleep 1000", "timeout": 1 }));
    assert!(
        result.is_error && result.text.starts_with("[Command timed out after 1 seconds]\ncaptured\n"),
        "{}",
        result.text
    );
    pi.end();
}

#[test]
fn an_intercepted_command_starts_no_process() {
    let mut pi = Pi::with(&INTERCEPTOR);
    pi.write("file", "text");
    pi.refused(&json!({ "command": "touch ran; cat file" }));
    assert!(!pi.exists("ran"));
    let log = String::from_utf8_lossy(&pi.home.run(&["log", "--json"]).stdout).into_owned();
    assert!(log.contains("\"touch ran; cat file\"") && log.contains("\"refused\""), "{log}");
    pi.end();
}

#[test]
fn whoever_asked_for_progress_is_told_the_newest_line_while_a_command_runs() {
    let mut pi = Pi::new();
    let command = "echo first; echo newest; until [ -e go ]; do sleep 0.01; done";
    let call = json!({ "name": "bash", "arguments": { "command": command }, "_meta": { "progressToken": "mine" } });
    pi.server.request("call", "tools/call", &call);
    let told = pi.server.progress(&json!("mine"));
    assert!(told.ends_with(": newest"), "{told}");
    pi.write("go", "");
    assert!(server::text(&pi.server.answer("call")["result"]).starts_with("first\nnewest\n\nWall time"));
    pi.end();
}

#[test]
fn parents_of_local_paths_are_made_before_the_command_runs() {
    let mut pi = Pi::new();
    assert_eq!(pi.output(&json!({ "command": "echo deep > local://a/b/c.txt; cat local://a/b/c.txt" })), "deep");
    assert_eq!(
        pi.output(&json!({ "command": "echo too > $OUT; cat $OUT", "env": { "OUT": "local://d/e.txt" } })),
        "too"
    );
    pi.end();
}

#[test]
fn the_message_of_a_background_start_directs_to_the_job_tool() {
    let mut pi = Pi::new();
    let started = pi.bash(&json!({ "command": "until [ -e go ]; do sleep 0.01; done; echo went", "async": true })).text;
    for part in ["Job tool", "list: true", "poll: [\"bg_1\"]"] {
        assert!(started.contains(part), "{started}");
    }
    let listed = pi.job(&json!({ "list": true })).text;
    assert!(listed.starts_with("## Still Running (1)\n- `bg_1` [bash] — until"), "{listed}");
    pi.write("go", "");
    assert!(pi.job(&json!({ "poll": ["bg_1"] })).text.contains("went"));
    pi.end();
}

#[test]
fn jobs_continue_after_the_call_has_returned() {
    let mut pi = Pi::new();
    pi.bash(&json!({ "command": "until [ -e go ]; do sleep 0.01; done; touch went", "async": true }));
    pi.write("go", "");
    let path = pi.home.path().join("went");
    assert!(eventually(|| path.exists()));
    pi.end();
}

#[test]
fn sessions_do_not_share_a_shell() {
    let mut one = Pi::new();
    one.output(&json!({ "command": "mine=yes" }));
    let mut other = Server::greeted(&one.home, &["--dialect", "pi"], &[]);
    let said = other.call("bash", &json!({ "command": "echo ${mine-unset}" }));
    assert!(server::text(&said).starts_with("unset\n"), "{said}");
    other.close();
    assert!(other.end().success());
    one.end();
}

#[test]
fn sessions_do_not_share_jobs() {
    let mut one = Pi::new();
    one.bash(&json!({ "command": "sleep 1000", "async": true }));
    let mut other = Server::greeted(&one.home, &["--dialect", "pi"], &[]);
    let listed = other.call("job", &json!({ "list": true }));
    assert_eq!(server::text(&listed), "No background jobs.");
    other.close();
    assert!(other.end().success());
    assert!(one.job(&json!({ "cancel": ["bg_1"] })).text.starts_with("## Cancelled (1)"));
    one.end();
}

#[test]
fn cancellation_aborts_the_command() {
    let mut pi = Pi::new();
    pi.server.begin("call", &json!({ "command": "touch begun; sleep 1000; touch survived" }));
    pi.home.wait_for("begun");
    pi.server.tell("notifications/cancelled", &json!({ "requestId": "call" }));
    // The next command gets the shell only once that one is gone, or a shell of its own.
    assert_eq!(pi.output(&json!({ "command": "echo next" })), "next");
    assert!(!pi.exists("survived"));
    pi.end();
}
