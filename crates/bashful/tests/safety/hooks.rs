//! `bashful hook`: calls on standard input and answers on standard output, the agents' settings, and whether a hook is in force.

use std::fs;
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::process::{Output, Stdio};

use bashful_testkit::{Home, Terminal};
use serde_json::{Value, json};

use crate::BASHFUL;

/// The agents, each with its event, its shell tool and the file of its hooks. The file of the last one is a plugin.
const AGENTS: [(&str, &str, &str, &str); 6] = [
    ("claude", "PreToolUse", "Bash", ".claude/settings.json"),
    ("codex", "PreToolUse", "Bash", ".codex/hooks.json"),
    ("gemini", "BeforeTool", "run_shell_command", ".gemini/settings.json"),
    ("copilot", "PreToolUse", "Bash", ".copilot/settings.json"),
    ("qwen", "PreToolUse", "run_shell_command", ".qwen/settings.json"),
    ("opencode", "PreToolUse", "bash", ".config/opencode/plugins/bashful.js"),
];

/// The agents that are installed by a change of their settings.
const WITH_SETTINGS: &[(&str, &str, &str, &str)] = AGENTS.split_at(5).0;

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn hook(home: &Home, agent: &str, input: &[u8], variables: &[(&str, &str)]) -> Output {
    let mut command = home.command(&["hook", agent]);
    command.envs(variables.iter().copied()).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().expect("it starts");
    child.stdin.take().expect("a pipe").write_all(input).expect("every byte is read");
    child.wait_with_output().expect("it ends")
}

fn call(event: &str, tool: &str, input: &Value) -> Vec<u8> {
    let call =
        json!({ "session_id": "s", "cwd": "/tmp", "hook_event_name": event, "tool_name": tool, "tool_input": input });
    call.to_string().into_bytes()
}

/// The decision and its reason; none if there is no answer.
#[track_caller]
fn decision(output: &Output) -> Option<(String, String)> {
    assert_eq!(output.status.code(), Some(0), "an agent would go on: {output:?}");
    if output.stdout.is_empty() {
        return None;
    }
    let answer: Value = serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}: {output:?}"));
    let own = &answer["hookSpecificOutput"];
    let decision = own["permissionDecision"].as_str().or(answer["decision"].as_str()).expect("a decision");
    let reason = own["permissionDecisionReason"].as_str().or(answer["reason"].as_str()).expect("a reason");
    Some((decision.to_owned(), reason.to_owned()))
}

#[track_caller]
fn denies(output: &Output, why: &str) {
    let (decision, reason) = decision(output).expect("an answer");
    assert!(decision == "deny" && reason.contains(why), "{decision}: {reason}");
}

#[test]
fn a_command_that_the_guard_refuses_is_denied_in_every_agent() {
    let home = Home::new(BASHFUL);
    for (agent, event, tool, _) in AGENTS {
        denies(&hook(&home, agent, &call(event, tool, &json!({ "command": "git add -A" })), &[]), "blind git add");
        assert_eq!(decision(&hook(&home, agent, &call(event, tool, &json!({ "command": "ls" })), &[])), None);
    }
    let monitor = call("PreToolUse", "Monitor", &json!({ "command": "git push -f", "description": "d" }));
    denies(&hook(&home, "claude", &monitor, &[]), "git push --force");
    let monitor = call("PreToolUse", "monitor", &json!({ "command": "git push -f" }));
    denies(&hook(&home, "qwen", &monitor, &[]), "git push --force");
}

#[test]
fn a_shell_call_that_cannot_be_read_is_denied() {
    let home = Home::new(BASHFUL);
    for (agent, event, tool, _) in AGENTS {
        let long = json!({ "command": format!("echo {}", "x".repeat(5 << 20)) });
        denies(&hook(&home, agent, &call(event, tool, &long), &[]), "it is longer than 4 MiB");
        denies(&hook(&home, agent, &call(event, tool, &json!({ "description": "x" })), &[]), "it has no command");
        let deep = format!(r#"{{"tool_name":"{tool}","tool_input":{{"command":"ls","x":{}}}}}"#, "[".repeat(10_000));
        denies(&hook(&home, agent, deep.as_bytes(), &[]), "recursion limit");
        let mut bad = call(event, tool, &json!({ "command": "ls ?" }));
        let at = bad.iter().position(|byte| *byte == b'?').expect("a mark");
        bad[at] = 0xff;
        denies(&hook(&home, agent, &bad, &[]), "not JSON that can be read");
        denies(&hook(&home, agent, b"not JSON", &[]), "does not name its tool");
        denies(&hook(&home, agent, b"", &[]), "does not name its tool");
        let halves = format!(r#"{{"tool_name":"{tool}","tool_input":{{"command":"git push -f # \ud800"}}}}"#);
        denies(&hook(&home, agent, halves.as_bytes(), &[]), "git push --force");
    }
}

#[test]
fn other_tools_and_events_get_no_answer() {
    let home = Home::new(BASHFUL);
    for (agent, event, tool, _) in AGENTS {
        let long = json!({ "content": "x".repeat(5 << 20) });
        for input in [
            call(event, "write_file", &long),
            call(event, "apply_patch", &json!({ "command": "rm -rf /" })),
            call("PostToolUse", tool, &json!({ "command": "rm -rf /" })),
            call("AfterTool", tool, &json!({})),
        ] {
            assert_eq!(decision(&hook(&home, agent, &input, &[])), None);
        }
    }
}

#[test]
fn without_settings_that_can_be_read_every_shell_call_is_denied() {
    let home = Home::new(BASHFUL);
    for (agent, event, tool, _) in AGENTS {
        let ls = call(event, tool, &json!({ "command": "ls" }));
        denies(&hook(&home, agent, &ls, &[("BASHFUL_GUARD_LEVELS", "{x=1}")]), "bashful cannot judge this");
    }
}

#[test]
fn an_answer_that_cannot_be_written_blocks_all_the_same() {
    let home = Home::new(BASHFUL);
    let script = format!("printf '%s' \"$1\" | {BASHFUL} hook codex >/dev/full; exit $?");
    let input = text(&call("PreToolUse", "Bash", &json!({ "command": "git push -f" })));
    let output = home.wrapped("bash", &["-c", &script, "x", &input]).output().expect("it runs");
    assert_eq!(output.status.code(), Some(2), "{output:?}");
    assert!(text(&output.stderr).contains("git push --force"), "{output:?}");
}

#[test]
fn agents_that_cannot_ask_say_how_to_allow_it() {
    let home = Home::new(BASHFUL);
    let ask = [("BASHFUL_GUARD_LEVELS", r#"{"git/force-push"="ask"}"#)];
    for (agent, event, tool, _) in AGENTS {
        let push = call(event, tool, &json!({ "command": "git push -f" }));
        let (decision, reason) = decision(&hook(&home, agent, &push, &ask)).expect("an answer");
        let asks = ["claude", "copilot", "qwen"].contains(&agent);
        assert_eq!(decision, if asks { "ask" } else { "deny" });
        assert_eq!(reason.contains("it needs approval; ") && reason.ends_with("'git push -f'"), !asks, "{reason}");
    }
}

#[test]
fn codex_is_asked_about_shells_that_wait_for_more() {
    let home = Home::new(BASHFUL);
    let shell = |command: &str| call("PreToolUse", "Bash", &json!({ "command": command }));
    for command in ["bash", "sh -i", "python3", "cd src && exec bash"] {
        denies(&hook(&home, "codex", &shell(command), &[]), "typed into an interactive shell");
        assert_eq!(decision(&hook(&home, "claude", &shell(command), &[])), None, "it closes standard input");
    }
    assert_eq!(decision(&hook(&home, "codex", &shell("bash -c ls"), &[])), None);
    let off = [("BASHFUL_GUARD_LEVELS", r#"{"shell/interactive"="off"}"#)];
    assert_eq!(decision(&hook(&home, "codex", &shell("bash"), &off)), None);
    // The user can allow it once.
    let terminal = Terminal::run(&home, &format!("{BASHFUL} allow --cwd /tmp bash; echo \"ended $?\"; sleep 1000"));
    terminal.shows("allow it once");
    terminal.types(&["y", "Enter"]);
    terminal.shows("ended 0");
    assert_eq!(decision(&hook(&home, "codex", &shell("bash"), &[])), None);
    denies(&hook(&home, "codex", &shell("bash"), &[]), "typed into an interactive shell");
}

/// A command of this shell, whose terminal is its own, cannot allow anything.
#[track_caller]
fn allows_nothing(shell: &str) {
    let home = Home::new(BASHFUL);
    std::os::unix::fs::symlink("/bin/bash", home.path().join("claude")).expect("made");
    write(&home, "helper", &format!("{BASHFUL} allow --cwd /tmp 'git push -f'; echo \"ended $?\"\n"));
    let terminal = Terminal::run(&home, &format!("cd ~; {shell}; sleep 1000"));
    terminal.shows("an agent has started this program");
    terminal.shows("ended 125");
}

#[test]
fn a_command_of_an_agent_allows_nothing_at_a_terminal_of_its_own() {
    // The shell was started with the variable, and has removed it.
    allows_nothing("CODEX_THREAD_ID=x bash -c 'unset CODEX_THREAD_ID; . ./helper'");
    allows_nothing("QWEN_CODE=1 setsid -w bash helper");
    allows_nothing("./claude helper");
}

#[test]
fn a_command_of_an_agent_does_not_remove_its_hook() {
    let home = Home::new(BASHFUL);
    succeeds(&home, &["hook", "install", "claude", "--yes"]);
    let remove = ["hook", "install", "claude", "--remove", "--yes"];
    let output = home.command(&remove).env("CLAUDECODE", "1").output().expect("it runs");
    assert!(text(&output.stderr).contains("only a person can remove the hook"), "{output:?}");
    assert_eq!(status(&home, &["claude"]).1, Some(0));
}

#[track_caller]
fn succeeds(home: &Home, args: &[&str]) -> (String, String) {
    let output = home.run(args);
    assert!(output.status.success(), "{output:?}");
    (text(&output.stdout), text(&output.stderr))
}

fn read(home: &Home, file: &str) -> String {
    fs::read_to_string(home.path().join(file)).expect(file)
}

fn write(home: &Home, file: &str, text: &str) {
    let path = home.path().join(file);
    fs::create_dir_all(path.parent().expect("a parent")).expect("made");
    fs::write(&path, text).expect("written");
}

#[test]
fn a_hook_goes_into_the_settings_and_comes_out() {
    for &(agent, event, _, file) in WITH_SETTINGS {
        let home = Home::new(BASHFUL);
        let before =
            format!("{{\n  // mine\n  \"hooks\": {{\n    \"{event}\": [\n      {{ \"hooks\": [] }}\n    ]\n  }}\n}}\n");
        write(&home, file, &before);
        let (shown, said) = succeeds(&home, &["hook", "install", agent, "--yes"]);
        let command = format!("{BASHFUL} hook {agent}");
        assert!(shown.contains(&command) && said.contains("[written]"), "{shown}{said}");
        let refuses = ["gemini", "copilot"].contains(&agent);
        assert!(said.contains(if refuses { "refuses every command" } else { "runs every command unjudged" }), "{said}");
        assert_eq!(said.contains("Hooks need review"), agent == "codex", "{said}");
        let written = read(&home, file);
        assert!(written.contains("// mine"), "{written}");
        let (_, said) = succeeds(&home, &["hook", "install", agent, "--yes"]);
        assert!(said.contains("has the hook already"), "{said}");
        assert_eq!(read(&home, file), written);
        succeeds(&home, &["hook", "install", agent, "--remove", "--yes"]);
        assert_eq!(read(&home, file), before);
        let (_, said) = succeeds(&home, &["hook", "install", agent, "--remove", "--yes"]);
        assert!(said.contains("has no hook of ours"), "{said}");
        let directory = home.path().join(file).parent().expect("a parent").to_path_buf();
        fs::remove_dir_all(&directory).expect("removed");
        succeeds(&home, &["hook", "install", agent, "--yes"]);
        succeeds(&home, &["hook", "install", agent, "--remove", "--yes"]);
        assert!(!directory.exists(), "what was made for it goes with it");
    }
}

#[test]
fn the_installed_command_is_the_hook() {
    for &(agent, event, tool, file) in WITH_SETTINGS {
        let home = Home::new(BASHFUL);
        succeeds(&home, &["hook", "install", agent, "--yes"]);
        let settings: Value = serde_json::from_str(&read(&home, file)).expect("JSON");
        let group = &settings["hooks"][event][0];
        let matcher = match agent {
            "claude" => "Bash|Monitor",
            "qwen" => "run_shell_command|monitor",
            _ => tool,
        };
        assert_eq!(group["matcher"], matcher);
        let command = group["hooks"][0]["command"].as_str().expect("a command");
        let script = format!("printf '%s' \"$1\" | {command}");
        let input = text(&call(event, tool, &json!({ "command": "git push -f" })));
        denies(&home.wrapped("bash", &["-c", &script, "x", &input]).output().expect("it runs"), "git push --force");
    }
}

/// Runs opencode's plugin on one call of a tool, as opencode would, and returns what it says.
fn plugged(home: &Home, tool: &str, command: &str) -> String {
    let plugin = home.path().join(".config/opencode/plugins/bashful.mjs");
    // Node takes a module by its name; opencode needs none.
    fs::copy(plugin.with_extension("js"), &plugin).expect("a plugin");
    let script = "const [plugin, directory, tool, command] = process.argv.slice(1);\
        const client = { tui: { showToast: async ({ body }) => console.log('toast:', body.message) } };\
        const { BashfulGuard } = await import(plugin);\
        const before = (await BashfulGuard({ client, directory }))['tool.execute.before'];\
        await before({ tool }, { args: { command } }).then(() => console.log('runs'), (error) => console.log('refused:', error.message));";
    let node = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/clients/node/node");
    let directory = home.path().to_string_lossy();
    let arguments = ["--input-type=module", "-e", script, &plugin.to_string_lossy(), &directory, tool, command];
    let output = home.wrapped(node, &arguments).output().expect("it runs");
    assert!(output.status.success(), "{output:?}");
    text(&output.stdout)
}

#[test]
fn the_plugin_of_opencode_judges_every_command_of_its_shell() {
    let home = Home::new(BASHFUL);
    let file = ".config/opencode/plugins/bashful.js";
    assert_eq!(status(&home, &["opencode"]), ("opencode: not installed\n".into(), Some(1)));
    succeeds(&home, &["hook", "install", "opencode", "--yes"]);
    let (line, code) = status(&home, &["opencode"]);
    assert!(line.starts_with("opencode: in force (") && code == Some(0), "{line}");
    let (_, said) = succeeds(&home, &["hook", "install", "opencode", "--yes"]);
    assert!(said.contains("has the hook already") && said.contains("refuses every command"), "{said}");

    assert_eq!(plugged(&home, "bash", "echo"), "runs\n");
    assert_eq!(plugged(&home, "read", "git push -f"), "runs\n");
    let refused = plugged(&home, "bash", "git push -f");
    assert!(refused.starts_with("refused: ") && refused.contains("git push --force"), "{refused}");
    let warned = plugged(&home, "bash", "git push --delete origin x");
    assert!(warned.starts_with("toast: ") && warned.contains("runs\n"), "{warned}");

    // Without the program nothing runs.
    let whole = read(&home, file);
    write(&home, file, &whole.replace(BASHFUL, "/nowhere/bashful"));
    let refused = plugged(&home, "bash", "echo");
    assert!(refused.starts_with("refused: bashful cannot judge this command"), "{refused}");
    not_in_force(&home, "opencode", "/nowhere/bashful cannot be run, and opencode then refuses every command");
    write(&home, file, &whole);
    succeeds(&home, &["hook", "install", "opencode", "--remove", "--yes"]);
    assert!(!home.path().join(file).exists());
}

/// The lines of `hook status`, and its exit code.
fn status(home: &Home, args: &[&str]) -> (String, Option<i32>) {
    let output = home.run(&[&["hook", "status"], args].concat());
    (text(&output.stdout), output.status.code())
}

#[test]
fn status_tells_whether_a_hook_is_in_force() {
    let home = Home::new(BASHFUL);
    assert_eq!(
        status(&home, &[]),
        (
            ["Claude Code", "Codex", "Gemini CLI", "GitHub Copilot CLI", "Qwen Code", "opencode"]
                .map(|title| format!("{title}: not installed\n"))
                .concat(),
            Some(0)
        )
    );
    assert_eq!(status(&home, &["claude"]).1, Some(1));
    for (agent, title) in
        [("claude", "Claude Code"), ("gemini", "Gemini CLI"), ("copilot", "GitHub Copilot CLI"), ("qwen", "Qwen Code")]
    {
        succeeds(&home, &["hook", "install", agent, "--yes"]);
        let (line, code) = status(&home, &[agent]);
        assert!(line.starts_with(&format!("{title}: in force (")) && code == Some(0), "{line}");
    }
    let facts = text(&home.run(&["hook", "status", "--json"]).stdout);
    let facts: Value = serde_json::from_str(&facts).expect("JSON");
    assert_eq!(
        (&facts[0]["in_force"], &facts[1]["in_force"], &facts[1]["file"]),
        (&json!(true), &json!(false), &Value::Null)
    );
}

#[track_caller]
fn not_in_force(home: &Home, agent: &str, why: &str) {
    let (line, code) = status(home, &[agent]);
    assert!(line.contains("NOT in force") && line.contains(why) && code == Some(1), "{line}");
}

#[test]
fn status_tells_what_keeps_a_hook_from_working() {
    let home = Home::new(BASHFUL);
    let settings = |matcher: &str, command: &str, more: &str| {
        let hook = json!({ "matcher": matcher, "hooks": [{ "type": "command", "command": command }] });
        format!("{{ \"hooks\": {{ \"PreToolUse\": [{hook}] }}{more} }}")
    };
    let own = format!("{BASHFUL} hook claude");
    write(&home, ".claude/settings.json", &settings("Bash", &own, ""));
    not_in_force(&home, "claude", "its matcher \"Bash\" leaves out Monitor");
    write(&home, ".claude/settings.json", &settings("*", "/nowhere/bashful hook claude", ""));
    not_in_force(&home, "claude", "/nowhere/bashful cannot be run, and Claude Code then runs every command unjudged");
    write(&home, ".claude/settings.json", &settings("*", &own, ", \"disableAllHooks\": true"));
    not_in_force(&home, "claude", "disableAllHooks");
    write(&home, ".qwen/settings.json", &settings("*", &own.replace("claude", "qwen"), ", \"disableAllHooks\": true"));
    not_in_force(&home, "qwen", "disableAllHooks");
    write(&home, ".claude/settings.json", &settings("*", "/usr/bin/other hook claude", ""));
    assert_eq!(status(&home, &["claude"]).0, "Claude Code: not installed\n");
    write(&home, ".claude/settings.json", "{");
    assert!(status(&home, &["claude"]).0.contains("not known: "));
    let gemini = json!({ "hooks": { "BeforeTool": [{ "hooks": [{ "type": "command", "command": format!("{BASHFUL} hook gemini") }] }] },
        "hooksConfig": { "enabled": false } });
    write(&home, ".gemini/settings.json", &gemini.to_string());
    not_in_force(&home, "gemini", "hooksConfig.enabled");
    let gone = home.path().join("bashful");
    fs::write(&gone, "").expect("written");
    fs::set_permissions(&gone, fs::Permissions::from_mode(0o644)).expect("allowed");
    let own = format!("{} hook gemini", gone.display());
    write(&home, ".gemini/settings.json", &settings("*", &own, "").replace("PreToolUse", "BeforeTool"));
    not_in_force(&home, "gemini", "cannot be run, and Gemini CLI then refuses every command");
}

#[test]
fn codex_hooks_are_in_force_once_their_hash_is_trusted() {
    let home = Home::new(BASHFUL);
    succeeds(&home, &["hook", "install", "codex", "--yes"]);
    not_in_force(&home, "codex", "you have not trusted it in Codex");
    let file = home.path().join(".codex/hooks.json");
    // The form that Codex 0.166.0 hashes, with the hash by another program.
    let identity = format!(
        "{{\"event_name\":\"pre_tool_use\",\"hooks\":[{{\"async\":false,\"command\":\"{BASHFUL} hook codex\",\"timeout\":600,\
         \"type\":\"command\"}}],\"matcher\":\"Bash\"}}"
    );
    let sum =
        home.wrapped("bash", &["-c", "printf '%s' \"$1\" | sha256sum", "x", &identity]).output().expect("it runs");
    let sum = text(&sum.stdout).split(' ').next().expect("a hash").to_owned();
    let trusted = |place: &str, hash: &str, more: &str| {
        let key = format!("{}:pre_tool_use:{place}", file.display());
        write(
            &home,
            ".codex/config.toml",
            &format!("[hooks.state.\"{key}\"]\ntrusted_hash = \"sha256:{hash}\"\n{more}"),
        );
    };
    trusted("0:0", &sum, "");
    let (line, code) = status(&home, &["codex"]);
    assert!(line.starts_with("Codex: in force (") && code == Some(0), "{line}");
    trusted("0:0", &"0".repeat(64), "");
    not_in_force(&home, "codex", "it has changed since you trusted it");
    trusted("1:0", &sum, "");
    not_in_force(&home, "codex", "you have not trusted it");
    trusted("0:0", &sum, "enabled = false\n");
    not_in_force(&home, "codex", "turned off in Codex");
    trusted("0:0", &sum, "\n[features]\nhooks = false\n");
    not_in_force(&home, "codex", "features.hooks");
}
