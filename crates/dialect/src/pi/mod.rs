//! The pi dialect: `bash` with `timeout` and `async`, and `job` with `list`, `poll` and `cancel`.

mod arguments;
mod jobs;
mod replies;
mod updates;

pub(crate) use replies::{CANCELLED, timeout_text};

use std::time::Duration;

use bashful_engine::{ByteSize, Grace, JobRecord, Options, SessionName, ShownSoFar, Window};
use serde_json::Value;

use crate::answer::RawAnswer;
use crate::arguments::{ArgumentError, Call, Limits};
use crate::bash_call::{BashArgument, BashCall};
use crate::dialect::{CallFacts, EndedCommand, Shape};
use crate::job_calls::{JobOutput, JobsReply};
use crate::terminal_calls::ScreenView;
use crate::tool::{Abilities, CONDENSED, Placeholders, Tool, remove_properties};
use crate::updates::UpdateState;
use bashful_render::visible;

/// The shown part of the output: its last 50 KiB.
const WINDOW: Window = Window::tail(ByteSize::kib(50));

/// Most characters of a job's label, dots included.
const LABEL_CHARS: usize = 120;

const SHARED_SHELL: &str =
    "Calls share one shell, one at a time: variables and functions persist, env and directory do not. ";
const OVERLAPPING: &str =
    "Calls share a shell while it is free: variables and functions persist, env and directory do not. ";
const ARTIFACTS: &str = "; all of it is in the artifact:// that the reply names";

/// Time between SIGTERM and SIGKILL that the tool promises.
const GRACE: Grace = Grace(Duration::from_secs(5));

/// Tools `bash` and `job` as pi has them.
#[derive(Debug)]
pub(crate) struct Pi;

impl Shape for Pi {
    fn name(&self) -> &'static str {
        "pi"
    }

    fn adjust(&self, options: &mut Options, limits: &Limits) {
        options.grace = GRACE;
        options.condensing.enabled = limits.pi_condense;
        if let Some(snapshot) = &mut options.snapshot {
            snapshot.enabled = true;
        }
    }

    fn shared_session(&self, connection: &str) -> Option<SessionName> {
        let name = if connection.is_empty() { "pi".to_owned() } else { format!("pi-{connection}") };
        SessionName::new(name).ok()
    }

    fn tools(&self, words: &Placeholders, limits: &Limits, abilities: Abilities) -> Vec<Tool> {
        let jobs = match (abilities.jobs, limits.async_enabled) {
            (false, _) => String::new(),
            (true, true) => format!("\n{}", include_str!("async.md").trim_end()),
            (true, false) => format!("\n{}", include_str!("no-async.md").trim_end()),
        };
        let text = include_str!("bash.md")
            .replace(
                "{session}",
                match (abilities.sessions, limits.overlap) {
                    (false, _) => "",
                    (true, false) => SHARED_SHELL,
                    (true, true) => OVERLAPPING,
                },
            )
            .replace("{condensed}", if abilities.condensing { CONDENSED } else { "" })
            .replace("{artifacts}", if abilities.artifacts { ARTIFACTS } else { "" })
            .replace("{jobs}", &jobs);
        let files = [include_str!("bash.input.json"), include_str!("bash.facts.json")];
        let mut bash = Tool::new("bash", "Run a command", words.fill(&text), files);
        if !limits.async_enabled || !abilities.jobs {
            remove_properties(&mut bash.input, &["async"]);
        }
        if !abilities.jobs {
            return vec![bash];
        }
        let files = [include_str!("job.input.json"), include_str!("job.facts.json")];
        let job = Tool::new("job", "Manage jobs", words.fill(include_str!("job.md")), files);
        vec![bash, Tool { open_world: false, ..job }]
    }

    fn parse(&self, tool: &str, arguments: Value, limits: &Limits) -> Option<Result<Call, ArgumentError>> {
        match tool {
            "bash" => Some(arguments::parse_bash(arguments).and_then(|call| self.bash(call, limits))),
            "job" => Some(arguments::job(arguments)),
            _ => None,
        }
    }

    fn lacks(&self) -> &'static [BashArgument] {
        &[BashArgument::Slow, BashArgument::Session, BashArgument::Stdin, BashArgument::Sandbox]
    }

    fn bash(&self, call: BashCall, limits: &Limits) -> Result<Call, ArgumentError> {
        arguments::bash(call, limits)
    }

    fn ended(&self, ended: &EndedCommand<'_>) -> RawAnswer {
        replies::ended(ended)
    }

    fn started(&self, job: &JobRecord, _: Option<&ScreenView>, call: &CallFacts) -> RawAnswer {
        replies::started(job, call)
    }

    fn outlasted(&self, job: &JobRecord, so_far: &ShownSoFar, call: &CallFacts) -> RawAnswer {
        replies::outlasted(job, so_far, call)
    }

    fn client_terminal_field(&self) -> &'static str {
        "terminalId"
    }

    fn jobs(&self, reply: &JobsReply) -> RawAnswer {
        jobs::jobs(reply)
    }

    fn job_shown(&self) -> ByteSize {
        WINDOW.limit()
    }

    fn explains_once(&self) -> bool {
        false
    }

    fn pushes(&self) -> bool {
        true
    }

    fn update(&self, job: &JobRecord, output: &JobOutput, call: &CallFacts) -> (UpdateState, RawAnswer) {
        updates::update(job, output, call)
    }

    fn terminal_needs_view(&self) -> bool {
        true
    }

    fn no_terminal(&self, why: String) -> String {
        format!("PTY error: {why}\n\n{}", replies::NO_STATUS)
    }

    fn no_jobs(&self) -> String {
        "Async job manager unavailable for this session.".to_owned()
    }

    fn failure(&self, _: &str, text: &str) -> RawAnswer {
        replies::failure(text)
    }
}

/// The id of a job in pi: `bg_7`.
fn id(job: u64) -> String {
    format!("bg_{job}")
}

/// The command of a job on one line, cut after 120 characters.
fn label(job: &JobRecord) -> String {
    let flat = visible(&job.script.trim().replace(['\n', '\t'], " "));
    if flat.chars().count() <= LABEL_CHARS {
        return flat;
    }
    flat.chars().take(LABEL_CHARS - 3).chain("...".chars()).collect()
}
