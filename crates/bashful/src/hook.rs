//! `bashful hook`: the guard for the shell tools of other agents.
//!
//! An agent gives a call of one of its tools on standard input before it runs, and reads the answer from standard output.
//! The forms are those of `docs/hooks.md`. What is not a call of a shell tool gets no answer, which every agent takes for
//! "go on". What is a call, but cannot be judged because the settings are wrong, is refused: whoever has set up a guard
//! does not want to be without one in silence.

use std::error::Error;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use bashful_dialect::{Allowable, how_to_allow};
use bashful_engine::{Level, Verdict};
use serde_json::{Value, json};
use thiserror::Error;

use crate::cli::Agent;
use crate::exit::Exit;
use crate::setup::{self, Surroundings};
use crate::{guard, print};

/// No call of a tool is longer, in bytes.
const LONGEST_CALL: u64 = 4 << 20;

/// Why a call is not understood.
#[derive(Debug, Error)]
#[error("the call on standard input is not JSON")]
struct NotACall(#[source] serde_json::Error);

/// A call of a shell tool.
#[derive(Debug, PartialEq, Eq)]
struct Call {
    script: String,
    directory: Option<PathBuf>,
}

/// What is to become of a call.
#[derive(Debug, PartialEq, Eq)]
struct Answer {
    level: Level,
    text: String,
    /// What the user can do where they are not asked.
    how_to_allow: Option<String>,
}

/// Answers one call.
pub(crate) fn main(agent: Agent, file: Option<&Path>) -> Result<Exit, Box<dyn Error>> {
    let mut text = Vec::new();
    std::io::stdin().lock().take(LONGEST_CALL).read_to_end(&mut text)?;
    let given: Value = match serde_json::from_slice(&text) {
        Ok(given) => given,
        Err(error) => {
            // All of them take 1 for a hook that failed, show this to the user, and go on.
            print::error(&NotACall(error));
            return Ok(Exit::Code(1));
        }
    };
    if let Some(call) = call(agent, &given)
        && let Some(answer) = judge(&call, file)
    {
        print::data(format!("{}\n", formed(agent, &answer)).as_bytes())?;
    }
    Ok(Exit::Code(0))
}

/// The script in a call, if it is one of a shell tool.
fn call(agent: Agent, given: &Value) -> Option<Call> {
    let word = |name: &str| given.get(name).and_then(Value::as_str);
    let (event, tools): (&str, &[&str]) = match agent {
        Agent::Claude => ("PreToolUse", &["Bash"]),
        Agent::Codex => ("PreToolUse", &["Bash", "shell", "local_shell", "exec_command"]),
        Agent::Gemini => ("BeforeTool", &["run_shell_command"]),
    };
    if word("hook_event_name")? != event || !tools.contains(&word("tool_name")?) {
        return None;
    }
    let input = given.get("tool_input")?;
    let script = match input.get("command").or_else(|| input.get("cmd"))? {
        Value::String(script) => script.clone(),
        // A program and its arguments: quoted, they are a script that means the same.
        Value::Array(words) => {
            let words: Vec<String> = words.iter().filter_map(Value::as_str).map(quoted).collect();
            words.join(" ")
        }
        _ => return None,
    };
    let inside = input.get("dir_path").or_else(|| input.get("directory")).or_else(|| input.get("workdir"));
    let base = word("cwd").map(PathBuf::from);
    let directory = match (base, inside.and_then(Value::as_str)) {
        (Some(base), Some(inside)) => Some(base.join(inside)),
        (base, inside) => base.or_else(|| inside.map(PathBuf::from)),
    };
    Some(Call { script, directory })
}

fn quoted(word: &str) -> String {
    format!("'{}'", word.replace('\'', "'\\''"))
}

fn judge(call: &Call, file: Option<&Path>) -> Option<Answer> {
    let around = Surroundings::read();
    let guard = around.settings(file).and_then(|(settings, _)| {
        let guard = if settings.guard.enabled { Some(guard::guard(&settings, &around)?) } else { None };
        Ok(guard.map(|guard| (guard, settings)))
    });
    let (guard, settings) = match guard {
        Ok(guard) => guard?,
        Err(error) => {
            let text = format!("bashful cannot judge this: {}", print::chain(error.as_ref()));
            return Some(Answer { level: Level::Deny, text, how_to_allow: None });
        }
    };
    let verdict = guard.judge(&call.script, &guard::place(call.directory.as_deref(), &around));
    let allowed = verdict.refuses()
        && guard::allowances(&around)
            .zip(call.directory.as_ref())
            .is_some_and(|(allowances, directory)| allowances.take(&call.script, directory, SystemTime::now()));
    if allowed {
        return None;
    }
    let how_to_allow = || {
        let refused = Allowable { script: call.script.as_bytes(), directory: call.directory.as_deref()? };
        Some(how_to_allow(&refused, &setup::eyes(&settings, &around).ok()?))
    };
    let answer = answer(&verdict)?;
    Some(Answer { how_to_allow: if answer.level == Level::Ask { how_to_allow() } else { None }, ..answer })
}

fn answer(verdict: &Verdict) -> Option<Answer> {
    let level = verdict.level()?;
    let texts: Vec<String> =
        verdict.findings.iter().filter(|finding| finding.level == level).map(bashful_engine::Finding::text).collect();
    Some(Answer { level, text: texts.join("\n\n"), how_to_allow: None })
}

/// The answer in the agent's form.
fn formed(agent: Agent, answer: &Answer) -> Value {
    if answer.level == Level::Warn {
        // It goes on, and the user sees why one might look twice.
        return json!({ "systemMessage": answer.text });
    }
    let refused = match &answer.how_to_allow {
        Some(how) => format!("{}\n\nit has to be allowed; {how}", answer.text),
        None => answer.text.clone(),
    };
    match agent {
        Agent::Gemini => json!({ "decision": "deny", "reason": refused }),
        Agent::Claude | Agent::Codex => {
            // Codex takes `ask` for an error of the hook, and then runs the command.
            let asks = agent == Agent::Claude && answer.level == Level::Ask;
            json!({ "hookSpecificOutput": {
                "hookEventName": "PreToolUse",
                "permissionDecision": if asks { "ask" } else { "deny" },
                "permissionDecisionReason": if asks { &answer.text } else { &refused },
            } })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(agent: Agent, text: &str) -> Option<Call> {
        call(agent, &serde_json::from_str(text).expect("JSON"))
    }

    #[test]
    fn calls_of_shell_tools_are_understood() {
        let claude = r#"{"session_id":"s","transcript_path":"/t.jsonl","cwd":"/work","permission_mode":"default",
            "hook_event_name":"PreToolUse","tool_name":"Bash","tool_input":{"command":"ls","description":"List"},"tool_use_id":"t"}"#;
        let expected = Some(Call { script: "ls".into(), directory: Some("/work".into()) });
        assert_eq!(parsed(Agent::Claude, claude), expected);
        assert_eq!(parsed(Agent::Codex, claude), expected);
        let words = r#"{"cwd":"/work","hook_event_name":"PreToolUse","tool_name":"shell","tool_input":{"command":["rm","-rf","a b"]}}"#;
        assert_eq!(parsed(Agent::Codex, words).map(|call| call.script), Some("'rm' '-rf' 'a b'".into()));
        let gemini = r#"{"session_id":"s","cwd":"/work","hook_event_name":"BeforeTool","timestamp":"2026-11-16T00:00:00Z",
            "tool_name":"run_shell_command","tool_input":{"command":"ls","dir_path":"sub"}}"#;
        let expected = Some(Call { script: "ls".into(), directory: Some("/work/sub".into()) });
        assert_eq!(parsed(Agent::Gemini, gemini), expected);
    }

    #[test]
    fn other_tools_and_events_get_no_answer() {
        for text in [
            "{}",
            "[]",
            r#"{"hook_event_name":"PostToolUse","tool_name":"Bash","tool_input":{"command":"ls"}}"#,
            r#"{"hook_event_name":"PreToolUse","tool_name":"Read","tool_input":{"file_path":"x"}}"#,
            r#"{"hook_event_name":"PreToolUse","tool_name":"Bash","tool_input":{"command":7}}"#,
        ] {
            for agent in [Agent::Claude, Agent::Codex, Agent::Gemini] {
                assert_eq!(parsed(agent, text), None, "{text}");
            }
        }
    }

    #[test]
    fn answers_have_the_form_of_their_agent() {
        let at = |level| Answer { level, text: "why".into(), how_to_allow: None };
        let decision = |agent, level| formed(agent, &at(level));
        let claude = json!({ "hookSpecificOutput": {
            "hookEventName": "PreToolUse", "permissionDecision": "deny", "permissionDecisionReason": "why" } });
        assert_eq!(decision(Agent::Claude, Level::Deny), claude);
        assert_eq!(decision(Agent::Codex, Level::Deny), claude);
        assert_eq!(decision(Agent::Codex, Level::Ask), claude, "it would take anything else for a failed hook");
        assert_eq!(decision(Agent::Claude, Level::Ask)["hookSpecificOutput"]["permissionDecision"], "ask");
        assert_eq!(decision(Agent::Gemini, Level::Ask), json!({ "decision": "deny", "reason": "why" }));
        assert_eq!(decision(Agent::Claude, Level::Warn), json!({ "systemMessage": "why" }));
    }
}
