//! Parses the tool call that an agent is about to make.
//!
//! Invariant: a call of a shell tool is either understood or unreadable, and whatever cannot be told apart is unreadable. Only calls
//! that are known to be none of the hook's business are passed over.

use std::io::{self, Read};
use std::path::PathBuf;

use serde_json::Value;

use super::Agent;
use super::glance::Glance;

/// Bytes of one call. Models write commands of a few kilobytes; the guard takes scripts up to 1 MiB.
const LONGEST_CALL: usize = 4 << 20;

/// The parsed call.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Reading {
    Shell(ShellCall),
    /// The call is of another tool or event.
    NotOurs,
    /// The call cannot be parsed, for this reason.
    Unreadable(String),
}

/// A command that is about to run.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct ShellCall {
    pub(super) script: String,
    pub(super) directory: Option<PathBuf>,
}

/// Reads one call to its end. If the pipe broke, the agent would take the hook for failed, and run the command.
pub(super) fn read(agent: Agent, mut input: impl Read) -> Reading {
    let (mut glance, mut text, mut length) = (Glance::default(), Vec::new(), 0_usize);
    let mut piece = vec![0; 1 << 16];
    loop {
        match input.read(&mut piece) {
            Ok(0) => break,
            Ok(count) => {
                glance.feed(&piece[..count]);
                length = length.saturating_add(count);
                if length <= LONGEST_CALL {
                    text.extend_from_slice(&piece[..count]);
                }
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Reading::Unreadable(format!("it cannot be read: {error}")),
        }
    }
    if glance.event.as_deref().is_some_and(|event| event != agent.event()) {
        return Reading::NotOurs;
    }
    match glance.tool.as_deref() {
        None => return Reading::Unreadable("it does not name its tool".to_owned()),
        Some(tool) if !agent.shell_tools().contains(&tool) => return Reading::NotOurs,
        Some(_) => {}
    }
    if length > LONGEST_CALL {
        return Reading::Unreadable(format!("it is longer than {} MiB", LONGEST_CALL >> 20));
    }
    match serde_json::from_slice(&without_lone_surrogates(text)) {
        Ok(call) => understood(&call),
        Err(error) => Reading::Unreadable(format!("it is not JSON that can be read: {error}")),
    }
}

/// The command of a shell tool's call.
fn understood(call: &Value) -> Reading {
    let input = &call["tool_input"];
    let command = input.get("command").or_else(|| input.get("cmd"));
    let script = match command {
        // Claude Code's `Monitor` may watch a socket instead.
        None if call["tool_name"] == "Monitor" && input.get("ws").is_some() => return Reading::NotOurs,
        Some(Value::String(script)) => Some(script.clone()),
        // A program and its arguments: quoted, they are a script that means the same.
        Some(Value::Array(words)) if !words.is_empty() => {
            let words: Option<Vec<String>> = words.iter().map(|word| word.as_str().map(quoted)).collect();
            words.map(|words| words.join(" "))
        }
        _ => None,
    };
    let Some(script) = script else { return Reading::Unreadable("it has no command".to_owned()) };
    let inside = input.get("dir_path").or_else(|| input.get("directory")).or_else(|| input.get("workdir"));
    let base = call["cwd"].as_str().map(PathBuf::from);
    let directory = match (base, inside.and_then(Value::as_str)) {
        (Some(base), Some(inside)) => Some(base.join(inside)),
        (base, inside) => base.or_else(|| inside.map(PathBuf::from)),
    };
    Reading::Shell(ShellCall { script, directory })
}

/// The word in quotes, so that a shell takes it for no keyword or alias.
fn quoted(word: &str) -> String {
    format!("'{}'", word.replace('\'', "'\\''"))
}

/// The text with U+FFFD for every half of a surrogate pair that stands alone.
///
/// Node's `JSON.stringify` writes such halves as escapes, which other parsers reject. The shell gets U+FFFD for them.
fn without_lone_surrogates(mut text: Vec<u8>) -> Vec<u8> {
    let escape = |text: &[u8], at: usize| -> Option<u16> {
        let digits = text.get(at..at + 6)?.strip_prefix(b"\\u")?;
        u16::from_str_radix(str::from_utf8(digits).ok()?, 16).ok()
    };
    let mut at = 0;
    while at < text.len() {
        at += match (text[at], escape(&text, at)) {
            (b'\\', Some(0xd800..=0xdbff)) if matches!(escape(&text, at + 6), Some(0xdc00..=0xdfff)) => 12,
            (b'\\', Some(0xd800..=0xdfff)) => {
                text[at + 2..at + 6].copy_from_slice(b"fffd");
                6
            }
            (b'\\', _) => 2,
            _ => 1,
        };
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &str, directory: &str) -> Reading {
        Reading::Shell(ShellCall { script: script.into(), directory: Some(directory.into()) })
    }

    /// Calls recorded from the versions in docs/hooks.md.
    #[test]
    fn calls_of_shell_tools_are_understood() {
        let claude = r#"{"session_id":"s","transcript_path":"/t.jsonl","cwd":"/work","prompt_id":"p","permission_mode":"default",
            "effort":{"level":"medium"},"hook_event_name":"PreToolUse","tool_name":"Bash","tool_input":{"command":"ls"},"tool_use_id":"t"}"#;
        assert_eq!(read(Agent::Claude, claude.as_bytes()), shell("ls", "/work"));
        let monitor = claude.replace("\"Bash\"", "\"Monitor\"");
        assert_eq!(read(Agent::Claude, monitor.as_bytes()), shell("ls", "/work"));
        let socket = monitor.replace(r#""command":"ls""#, r#""ws":{"url":"wss://x"}"#);
        assert_eq!(read(Agent::Claude, socket.as_bytes()), Reading::NotOurs);
        let codex = r#"{"session_id":"s","turn_id":"t","transcript_path":"/t.jsonl","cwd":"/work","hook_event_name":"PreToolUse",
            "model":"m","permission_mode":"bypassPermissions","tool_name":"Bash","tool_input":{"command":"ls"},"tool_use_id":"c"}"#;
        assert_eq!(read(Agent::Codex, codex.as_bytes()), shell("ls", "/work"));
        let words = codex.replace(r#""ls""#, r#"["rm","-rf","a b"]"#);
        assert_eq!(read(Agent::Codex, words.as_bytes()), shell("'rm' '-rf' 'a b'", "/work"));
        let gemini = r#"{"session_id":"s","cwd":"/work","hook_event_name":"BeforeTool","timestamp":"2026-11-16T00:00:00Z",
            "tool_name":"run_shell_command","tool_input":{"command":"ls","dir_path":"sub"}}"#;
        assert_eq!(read(Agent::Gemini, gemini.as_bytes()), shell("ls", "/work/sub"));
        let copilot = r#"{"hook_event_name":"PreToolUse","session_id":"s","timestamp":"2026-11-19T02:07:25.006Z","cwd":"/work",
            "tool_name":"Bash","tool_input":{"command":"ls","description":"d"}}"#;
        assert_eq!(read(Agent::Copilot, copilot.as_bytes()), shell("ls", "/work"));
        let qwen = r#"{"session_id":"s","transcript_path":"/t.jsonl","cwd":"/work","hook_event_name":"PreToolUse","permission_mode":"yolo",
            "tool_name":"run_shell_command","tool_input":{"command":"ls","is_background":false,"directory":"/work/sub"}}"#;
        assert_eq!(read(Agent::Qwen, qwen.as_bytes()), shell("ls", "/work/sub"));
        assert_eq!(
            read(Agent::Qwen, qwen.replace("run_shell_command", "monitor").as_bytes()),
            shell("ls", "/work/sub")
        );
    }

    #[test]
    fn other_tools_and_events_are_passed_over_even_if_they_cannot_be_read() {
        for agent in Agent::ALL {
            let event = agent.event();
            for text in [
                r#"{"hook_event_name":"PostToolUse","tool_name":"Bash","tool_input":{"command":"ls"}}"#.to_owned(),
                r#"{"hook_event_name":"SessionStart"}"#.to_owned(),
                format!(r#"{{"hook_event_name":"{event}","tool_name":"Read","tool_input":{{"file_path":"x"}}}}"#),
                format!(r#"{{"hook_event_name":"{event}","tool_name":"Write","tool_input":{}"#, "[".repeat(1000)),
                format!(
                    r#"{{"hook_event_name":"{event}","tool_name":"Write","tool_input":"{}"}}"#,
                    "x".repeat(5 << 20)
                ),
            ] {
                assert_eq!(read(agent, text.as_bytes()), Reading::NotOurs, "{text:.100}");
            }
        }
    }

    #[track_caller]
    fn unreadable(agent: Agent, text: &[u8], why: &str) {
        match read(agent, text) {
            Reading::Unreadable(reason) => assert!(reason.contains(why), "{reason}"),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_shell_call_that_cannot_be_read_is_not_passed_over() {
        for agent in Agent::ALL {
            let tool = agent.shell_tools()[0];
            let call = |input: &str| format!(r#"{{"cwd":"/","tool_name":"{tool}","tool_input":{input}}}"#).into_bytes();
            unreadable(agent, &call("{}"), "no command");
            unreadable(agent, &call(r#"{"command":7}"#), "no command");
            unreadable(agent, &call(r#"{"command":["ls",7]}"#), "no command");
            unreadable(agent, &call(r#"{"command":[]}"#), "no command");
            unreadable(agent, &call(r#""ls""#), "no command");
            let deep = format!(r#"{{"command":"ls","x":{}1{}}}"#, "[".repeat(200), "]".repeat(200));
            unreadable(agent, &call(&deep), "recursion limit");
            unreadable(agent, &call(&format!(r#"{{"command":"{}"}}"#, "x".repeat(4 << 20))), "longer than 4 MiB");
            let mut bad = call(r#"{"command":"ls ?"}"#);
            let at = bad.iter().position(|byte| *byte == b'?').expect("a mark");
            bad[at] = 0xff;
            unreadable(agent, &bad, "not JSON");
            let whole = call(r#"{"command":"ls"}"#);
            unreadable(agent, &whole[..whole.len() - 1], "not JSON");
            for text in ["", "{}", "[]", "null", "not JSON", r#"{"tool_input":{"command":"ls"}}"#] {
                unreadable(agent, text.as_bytes(), "does not name its tool");
            }
        }
    }

    #[test]
    fn halves_of_surrogate_pairs_are_read() {
        let script = |escaped: &str| {
            let text = format!(r#"{{"tool_name":"Bash","tool_input":{{"command":"{escaped}"}}}}"#);
            match read(Agent::Claude, text.as_bytes()) {
                Reading::Shell(call) => call.script,
                other => panic!("{other:?}"),
            }
        };
        assert_eq!(script(r"git push -f # \ud800"), "git push -f # \u{fffd}");
        assert_eq!(script(r"\uDC00\ud83d\ude00\ud83d"), "\u{fffd}\u{1f600}\u{fffd}");
        assert_eq!(script(r"\\ud800 \\\ud800\u0041"), "\\ud800 \\\u{fffd}A");
    }
}
