//! `bashful hook`: the guard for the shell tools of other agents.
//!
//! An agent writes a tool call to standard input before it runs the tool, and reads the answer from standard output
//! (`docs/hooks.md`). Every agent takes no answer, or a failing hook, for permission. Therefore a shell call that
//! cannot be judged is denied, and the program never ends with an exit code that agents ignore.

mod call;
mod glance;
mod install;
mod places;
mod status;

use std::error::Error;
use std::io::{IsTerminal, Write};
use std::path::Path;
use std::time::SystemTime;

use bashful_dialect::{how_to_allow, visible_lines};
use bashful_engine::{GivenCommand, Level, Script, Verdict};
use clap::{Subcommand, ValueEnum};
use serde_json::{Value, json};

use crate::exit::Exit;
use crate::setup;
use crate::surroundings::Surroundings;
use crate::{guard, print};
use call::{Reading, ShellCall};

/// The exit code that every agent takes for a refusal, with the reason on standard error.
const BLOCKS: u8 = 2;

#[derive(Debug, Subcommand)]
pub(crate) enum HookCommand {
    /// Judge a tool call of Claude Code, read from standard input.
    Claude,
    /// Judge a tool call of Codex, read from standard input.
    Codex,
    /// Judge a tool call of Gemini CLI, read from standard input.
    Gemini,
    /// Judge a tool call of GitHub Copilot CLI, read from standard input.
    Copilot,
    /// Judge a tool call of Qwen Code, read from standard input.
    Qwen,
    /// Judge a tool call of opencode, read from standard input.
    Opencode,
    /// Add the hook to an agent's settings, or remove it.
    Install(install::InstallArgs),
    /// Show whether the hooks are in force.
    Status(status::StatusArgs),
}

/// An agent that asks a hook before it runs a tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Agent {
    /// Claude Code.
    Claude,
    /// Codex.
    Codex,
    /// Gemini CLI.
    Gemini,
    /// GitHub Copilot CLI.
    Copilot,
    /// Qwen Code.
    Qwen,
    /// opencode, which asks through a plugin of ours.
    Opencode,
}

impl Agent {
    const ALL: [Self; 6] = [Self::Claude, Self::Codex, Self::Gemini, Self::Copilot, Self::Qwen, Self::Opencode];

    /// Its name on the command line.
    fn word(self) -> &'static str {
        match self {
            Self::Claude => "claude",
            Self::Codex => "codex",
            Self::Gemini => "gemini",
            Self::Copilot => "copilot",
            Self::Qwen => "qwen",
            Self::Opencode => "opencode",
        }
    }

    fn title(self) -> &'static str {
        match self {
            Self::Claude => "Claude Code",
            Self::Codex => "Codex",
            Self::Gemini => "Gemini CLI",
            Self::Copilot => "GitHub Copilot CLI",
            Self::Qwen => "Qwen Code",
            Self::Opencode => "opencode",
        }
    }

    /// The event that comes before a tool runs.
    fn event(self) -> &'static str {
        if self == Self::Gemini { "BeforeTool" } else { "PreToolUse" }
    }

    /// The tools that run commands. Codex 0.166 names all of them `Bash`; the other names are older.
    fn shell_tools(self) -> &'static [&'static str] {
        match self {
            Self::Claude => &["Bash", "Monitor"],
            Self::Codex => &["Bash", "shell", "local_shell", "exec_command"],
            Self::Gemini => &["run_shell_command"],
            Self::Copilot => &["Bash", "bash"],
            Self::Qwen => &["run_shell_command", "monitor"],
            Self::Opencode => &["bash"],
        }
    }

    /// The tools of the versions in docs/hooks.md, which a hook must receive.
    fn current_tools(self) -> &'static [&'static str] {
        match self {
            Self::Codex | Self::Copilot => &["Bash"],
            _ => self.shell_tools(),
        }
    }

    /// The matcher that stands in the agent's settings.
    fn matcher(self) -> String {
        self.current_tools().join("|")
    }

    /// True if `ask` makes the agent ask its user. Codex takes it for an error of the hook, and then runs the command.
    fn can_ask(self) -> bool {
        matches!(self, Self::Claude | Self::Copilot | Self::Qwen)
    }

    /// The effect of a hook that cannot be started.
    fn without_hook(self) -> &'static str {
        match self {
            Self::Gemini | Self::Copilot | Self::Opencode => "refuses every command",
            Self::Claude | Self::Codex | Self::Qwen => "runs every command unjudged",
        }
    }
}

/// The decision about a call.
#[derive(Debug, PartialEq, Eq)]
struct HookReply {
    level: Level,
    text: String,
    /// Advice how the user can allow the command, for agents that cannot ask.
    how_to_allow: Option<String>,
}

impl HookReply {
    fn deny(text: String) -> Self {
        Self { level: Level::Deny, text, how_to_allow: None }
    }
}

/// Runs the command that the arguments name.
pub(crate) fn main(command: &HookCommand, file: Option<&Path>) -> Result<Exit, Box<dyn Error>> {
    match command {
        HookCommand::Claude => Ok(answer_one(Agent::Claude, file)),
        HookCommand::Codex => Ok(answer_one(Agent::Codex, file)),
        HookCommand::Gemini => Ok(answer_one(Agent::Gemini, file)),
        HookCommand::Copilot => Ok(answer_one(Agent::Copilot, file)),
        HookCommand::Qwen => Ok(answer_one(Agent::Qwen, file)),
        HookCommand::Opencode => Ok(answer_one(Agent::Opencode, file)),
        HookCommand::Install(args) => install::main(args, file),
        HookCommand::Status(args) => status::main(args),
    }
}

/// Answers one call.
fn answer_one(agent: Agent, file: Option<&Path>) -> Exit {
    // After any other exit code the agent would run the command.
    std::panic::set_hook(Box::new(|panic| {
        print::talk(&format!("bashful failed while it judged this command, which is therefore refused: {panic}"));
        std::process::exit(BLOCKS.into());
    }));
    if std::io::stdin().is_terminal() {
        let word = agent.word();
        print::talk(&format!(
            "[waiting for a tool call of {} on standard input; Ctrl-C ends this]\n\
             [agents start this program themselves: bashful hook install {word}]",
            agent.title()
        ));
    }
    let answer = match call::read(agent, std::io::stdin().lock()) {
        Reading::NotOurs => None,
        Reading::Shell(call) => judge(agent, &call, file),
        Reading::Unreadable(why) => Some(HookReply::deny(format!("bashful cannot judge this call, because {why}"))),
    };
    let Some(answer) = answer else { return Exit::Code(0) };
    let mut out = std::io::stdout().lock();
    let written = out.write_all(format!("{}\n", formed(agent, &answer)).as_bytes()).and_then(|()| out.flush());
    match written {
        // An unwritten answer would count as permission.
        Err(error) if answer.level != Level::Warn => {
            print::talk(&format!("{}\n{error}", answer.text));
            Exit::Code(BLOCKS)
        }
        _ => Exit::Code(0),
    }
}

fn judge(agent: Agent, call: &ShellCall, file: Option<&Path>) -> Option<HookReply> {
    let around = Surroundings::read();
    let guard = around.settings(file).and_then(|(mut settings, _)| {
        if agent == Agent::Codex {
            // Input that is sent to a running shell later passes no hook.
            guard::ask_about_interactive_shells(&mut settings);
        }
        let guard = if settings.guard.enabled { Some(guard::guard(&settings, &around)?) } else { None };
        Ok(guard.map(|guard| (guard, settings)))
    });
    let (guard, settings) = match guard {
        Ok(guard) => guard?,
        Err(error) => {
            return Some(HookReply::deny(format!(
                "bashful cannot judge this: {}",
                bashful_engine::error_chain(error.as_ref())
            )));
        }
    };
    let verdict = guard.judge(&call.script, &guard::prelude(call.directory.as_deref(), &around));
    let given = call.directory.clone().zip(Script::new(call.script.as_str()).ok());
    let given = given.map(|(directory, script)| GivenCommand::new(script, directory));
    let allowed = verdict.refuses()
        && guard::allowances(&around)
            .zip(given.as_ref())
            .is_some_and(|(allowances, given)| allowances.use_up(given, SystemTime::now()));
    if allowed {
        return None;
    }
    let how_to_allow = || Some(how_to_allow(given.as_ref()?, &setup::redactor(&settings, &around).ok()?));
    let answer = worst(&verdict)?;
    Some(HookReply { how_to_allow: if answer.level == Level::Ask { how_to_allow() } else { None }, ..answer })
}

/// The findings of the highest level.
fn worst(verdict: &Verdict) -> Option<HookReply> {
    let level = verdict.level()?;
    let texts: Vec<String> =
        verdict.findings.iter().filter(|finding| finding.level == level).map(bashful_engine::Finding::text).collect();
    // Agents show the text on terminals, so invisible characters are escaped.
    Some(HookReply { level, text: visible_lines(&texts.join("\n\n")), how_to_allow: None })
}

/// The answer in the agent's form.
fn formed(agent: Agent, answer: &HookReply) -> Value {
    if answer.level == Level::Warn {
        // A warning: the command runs, and the user sees the finding.
        return json!({ "systemMessage": answer.text });
    }
    let refused = match &answer.how_to_allow {
        Some(how) => format!("{}\n\nit needs approval; {how}", answer.text),
        None => answer.text.clone(),
    };
    if agent == Agent::Gemini {
        return json!({ "decision": "deny", "reason": refused });
    }
    let asks = agent.can_ask() && answer.level == Level::Ask;
    json!({ "hookSpecificOutput": {
        "hookEventName": agent.event(),
        "permissionDecision": if asks { "ask" } else { "deny" },
        "permissionDecisionReason": if asks { &answer.text } else { &refused },
    } })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_have_the_form_of_their_agent() {
        let at = |level| HookReply { level, text: "why".into(), how_to_allow: None };
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
