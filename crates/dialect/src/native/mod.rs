//! The native dialect: `bash` with modes and sessions, and `job`.

mod arguments;
mod habits;
mod replies;

use bashful_engine::{JobRecord, SandboxMode, ShownSoFar};
use serde_json::Value;

use crate::answer::RawAnswer;
use crate::arguments::{ArgumentError, Call, Limits};
use crate::bash_call::{BashArgument, BashCall};
use crate::dialect::{CallFacts, EndedCommand, Shape};
use crate::job_calls::JobsReply;
use crate::terminal_calls::ScreenView;
use crate::tool::{Abilities, CONDENSED, Placeholders, Tool, remove_properties};

/// Tools `bash` and `job`: modes, environment, jobs, sessions.
#[derive(Debug)]
pub(crate) struct Native;

impl Shape for Native {
    fn name(&self) -> &'static str {
        "native"
    }

    fn tools(&self, words: &Placeholders, _: &Limits, abilities: Abilities) -> Vec<Tool> {
        let part = |is_there: bool, text: &'static str| if is_there { text.trim_end() } else { "" };
        let text = include_str!("bash.md")
            .replace("{session}", part(abilities.sessions, include_str!("session.md")))
            .replace("{unless}", part(abilities.terminals, ", unless pty"))
            .replace("{terminal}", part(abilities.terminals, include_str!("terminal.md")))
            .replace("{condensed}", part(abilities.condensing, CONDENSED))
            .replace("{jobs}", part(abilities.jobs, include_str!("jobs.md")))
            .replace("{artifacts}", part(abilities.artifacts, include_str!("artifacts.md")));
        let background = part(abilities.jobs, ", background (detached)");
        let input = words.fill(&include_str!("bash.input.json").replace("{detached}", background));
        let mut bash = Tool::new("bash", "Run a command", words.fill(&text), [&input, include_str!("bash.facts.json")]);
        if !abilities.sessions {
            remove_properties(&mut bash.input, &["session"]);
        }
        if !abilities.terminals {
            remove_properties(&mut bash.input, &["pty"]);
        }
        if abilities.sandbox == SandboxMode::Off {
            remove_properties(&mut bash.input, &["sandbox"]);
        }
        if !abilities.jobs {
            remove_properties(&mut bash.input, &["stdin"]);
            if let Some(Value::Array(modes)) = bash.input.get_mut("properties").map(|all| &mut all["mode"]["enum"]) {
                modes.retain(|mode| mode != "background");
            }
            return vec![bash];
        }
        let files = [include_str!("job.input.json"), include_str!("job.facts.json")];
        let text = include_str!("job.md").trim_end().to_owned();
        let text = text + part(abilities.terminals, include_str!("job.terminal.md")) + "\n";
        let mut job = Tool::new("job", "Manage jobs", words.fill(&text), files);
        if !abilities.terminals {
            remove_properties(&mut job.input, &["keys", "until", "pattern", "colors"]);
        }
        vec![bash, Tool { open_world: false, ..job }]
    }

    fn parse(&self, tool: &str, arguments: Value, limits: &Limits) -> Option<Result<Call, ArgumentError>> {
        match tool {
            "bash" => Some(arguments::parse_bash(arguments).and_then(|call| self.bash(call, limits))),
            "job" => Some(arguments::job(arguments)),
            _ => None,
        }
    }

    fn translate(&self, tool: &str, arguments: Value) -> (Value, Vec<&'static str>) {
        if tool == "bash" { habits::translate(arguments) } else { (arguments, Vec::new()) }
    }

    fn lacks(&self) -> &'static [BashArgument] {
        &[BashArgument::Lines]
    }

    fn bash(&self, call: BashCall, limits: &Limits) -> Result<Call, ArgumentError> {
        arguments::bash(call, limits)
    }

    fn ended(&self, ended: &EndedCommand<'_>) -> RawAnswer {
        replies::ended(ended)
    }

    fn started(&self, job: &JobRecord, screen: Option<&ScreenView>, call: &CallFacts) -> RawAnswer {
        replies::started(job, screen, call)
    }

    fn outlasted(&self, job: &JobRecord, so_far: &ShownSoFar, call: &CallFacts) -> RawAnswer {
        replies::outlasted(job, so_far, call)
    }

    fn jobs(&self, reply: &JobsReply) -> RawAnswer {
        replies::jobs(reply)
    }

    fn failure(&self, status: &str, text: &str) -> RawAnswer {
        RawAnswer::failure(status, text)
    }
}
