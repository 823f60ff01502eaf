//! The plain dialect: a command and nothing else; standard output, standard error and exit code.
//!
//! The text of an answer is JSON with the keys of [`Fields`], in that order.

use bashful_engine::{
    ByteSize, Cleaning, Clip, End, EnvironmentPolicy, Exit, JobRecord, LeftBehind, Options, Outcome, Output, Redactor,
    Request, Rewriting, Script, ShownSoFar, StopReason, Streams, Window,
};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::answer::{Answer, RawAnswer};
use crate::arguments::{ArgumentError, Call, Limits, RunCall, WaitMode, parse_arguments};
use crate::bash_call::{BashArgument, BashCall};
use crate::compose::fitting;
use crate::dialect::{CallFacts, EndedCommand, Shape};
use crate::facts::{self, structured};
use crate::job_calls::JobsReply;
use crate::native::Native;
use crate::terminal_calls::ScreenView;
use crate::text::{self, NOT_SAVED, Reader};
use crate::tool::{Abilities, CONDENSED, Placeholders, Tool};

/// Most bytes shown of each stream.
const SHOWN: ByteSize = ByteSize(1_000_000);

/// Bytes reserved for the notice about one cut stream.
const CUT_NOTICE: u64 = 200;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct BashArgs {
    command: String,
}

/// The JSON text of an answer. A command that ran has both streams; one that did not has only `error`.
#[derive(Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
struct Fields {
    #[serde(skip_serializing_if = "Option::is_none")]
    stdout: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    stderr: Option<String>,
    /// None if the command was stopped or lost.
    #[serde(skip_serializing_if = "Option::is_none")]
    exit_code: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
    /// Notices that are neither output nor error: artifacts, warnings, leftover processes.
    #[serde(skip_serializing_if = "Option::is_none")]
    notice: Option<String>,
}

impl Fields {
    /// The text of the answer, with keys in the order of the fields. A [`Value`] would sort them.
    fn to_json(&self) -> String {
        serde_json::to_string(self).expect("texts and a number are JSON")
    }
}

/// Tool `bash` with a `command` and nothing else: standard output, standard error and exit code.
#[derive(Debug)]
pub(crate) struct Plain;

impl Shape for Plain {
    fn name(&self) -> &'static str {
        "plain"
    }

    fn adjust(&self, options: &mut Options, _: &Limits) {
        // The dialect promises the unchanged environment of its host,
        options.environment = EnvironmentPolicy::pass_everything();
        // raw output,
        options.cleaning = Cleaning::None;
        // and commands that run as given.
        options.rewriting = Rewriting { prefix: std::mem::take(&mut options.rewriting.prefix), ..Rewriting::default() };
    }

    fn tools(&self, words: &Placeholders, _: &Limits, abilities: Abilities) -> Vec<Tool> {
        let files = [include_str!("bash.input.json"), include_str!("../native/bash.facts.json")];
        let guard = if abilities.guard { include_str!("guard.md").trim_end() } else { "" };
        let condensed = if abilities.condensing { CONDENSED } else { "" };
        let text = include_str!("bash.md").replace("{guard}", guard).replace("{condensed}", condensed);
        let text = words.fill(&text);
        let bash = Tool::new("bash", "Run a command", text, files);
        let output = serde_json::from_str(include_str!("bash.output.json")).expect("a test reads every schema");
        vec![Tool { output, ..bash }]
    }

    fn parse(&self, tool: &str, arguments: Value, limits: &Limits) -> Option<Result<Call, ArgumentError>> {
        let parse = || parse_arguments("bash", arguments).map(|BashArgs { command }| BashCall::new(command));
        (tool == "bash").then(|| parse().and_then(|call| self.bash(call, limits)))
    }

    fn lacks(&self) -> &'static [BashArgument] {
        use BashArgument::{Background, Cwd, Env, Lines, Pty, Sandbox, Session, Slow, Stdin, Timeout};

        &[Slow, Background, Timeout, Cwd, Env, Session, Stdin, Pty, Lines, Sandbox]
    }

    fn bash(&self, call: BashCall, limits: &Limits) -> Result<Call, ArgumentError> {
        let mut request = Request::new(Script::new(call.command)?);
        request.lifetime = Some(limits.default);
        request.streams = Streams::Split;
        request.window = Some(Window::head(SHOWN));
        let call = RunCall {
            request,
            wait_mode: WaitMode::ToEnd,
            clamped_from: None,
            has_usual_lifetime: true,
            notices: Vec::new(),
        };
        Ok(Call::Run(Box::new(call)))
    }

    fn ended(&self, of: &EndedCommand<'_>) -> RawAnswer {
        ended(of)
    }

    // The dialect has no jobs. Should an engine start one all the same, the native reply explains it.

    fn started(&self, job: &JobRecord, _: Option<&ScreenView>, call: &CallFacts) -> RawAnswer {
        Native.started(job, None, call)
    }

    fn outlasted(&self, job: &JobRecord, so_far: &ShownSoFar, call: &CallFacts) -> RawAnswer {
        Native.outlasted(job, so_far, call)
    }

    fn jobs(&self, reply: &JobsReply) -> RawAnswer {
        Native.jobs(reply)
    }

    fn failure(&self, status: &str, text: &str) -> RawAnswer {
        failure(status, text)
    }

    fn bounded(&self, answer: RawAnswer, redactor: &Redactor, _: ByteSize) -> Answer {
        // The engine keeps each stream within its limit. Cutting the end of the text would break the JSON.
        answer.redact(redactor)
    }
}

/// The reply to a command that has ended: both streams, and the exit code.
fn ended(ended: &EndedCommand<'_>) -> RawAnswer {
    let mut outcome = ended.outcome.clone();
    let fields = loop {
        let fields = fields(&outcome, ended.call);
        let excess = ended.at_most.map_or(0, |most| (fields.to_json().len() as u64).saturating_sub(most.0));
        if excess == 0 || !shorten_longest(&mut outcome, excess) {
            break fields;
        }
    };
    let facts = structured(facts::of_outcome(&outcome, ended.directory, &ended.call.notices));
    let is_error = outcome.end != End::Own(Exit::Code(0));
    let outputs = std::iter::once(&outcome.output).chain(&outcome.stderr);
    RawAnswer { is_error, ..answer(&fields, facts) }.with_links(outputs)
}

fn answer(fields: &Fields, facts: Value) -> RawAnswer {
    let as_value = serde_json::to_value(fields).expect("texts and a number are JSON");
    RawAnswer { fields: Some(as_value), ..RawAnswer::new(fields.to_json(), facts) }
}

fn fields(outcome: &Outcome, call: &CallFacts) -> Fields {
    let stderr = outcome.stderr.as_ref().map(shown).unwrap_or_default();
    let exit_code = match outcome.end {
        End::Own(Exit::Code(code)) => Some(i64::from(code)),
        // Shells report a signal as 128 and its number.
        End::Own(Exit::Signal(number)) => Some(128 + i64::from(number)),
        End::Stopped { .. } | End::Lost => None,
    };
    let error = match outcome.end {
        End::Own(Exit::Code(code)) => not_executed(code, &stderr),
        End::Own(Exit::Signal(_)) => None,
        End::Stopped { why: StopReason::TimeUp, .. } => Some(format!("Command timed out after {}", call.lifetime)),
        End::Stopped { why, .. } => Some(format!("Command stopped: {why}")),
        End::Lost => Some(text::lost(outcome).to_owned()),
    };
    let notices = notices(outcome, call);
    Fields {
        stdout: Some(shown(&outcome.output)),
        stderr: Some(stderr),
        exit_code,
        error,
        notice: (!notices.is_empty()).then(|| notices.join("; ")),
    }
}

/// The error for exit codes 126 and 127: bash's last message on standard error. A script may also exit with these codes by
/// itself, or redirect the message; then the text explains the code.
fn not_executed(code: u8, stderr: &str) -> Option<String> {
    let meaning = match code {
        126 => "command not executable",
        127 => "command not found",
        _ => return None,
    };
    let said = stderr.lines().rev().find(|line| line.starts_with("bash: ")).map(str::to_owned);
    Some(said.unwrap_or_else(|| format!("exit code {code}, which stands for: {meaning}")))
}

/// All notices: of the call, about each stream, about leftover processes.
fn notices(outcome: &Outcome, call: &CallFacts) -> Vec<String> {
    let outputs = std::iter::once(&outcome.output).chain(&outcome.stderr);
    let of_outputs = outputs.zip(["stdout", "stderr"]).flat_map(|(output, name)| {
        // Output is raw, so the only change is U+FFFD, which JSON requires.
        let cleaning = text::cleaning_notice(output).map(|notice| format!("{name}: {notice}"));
        cut_notice(output, name).into_iter().chain(condensed_notice(output, name)).chain(cleaning)
    });
    let leftover = outcome.leftover.as_ref().map(leftover_notice);
    fitting(&call.notices).into_iter().chain(of_outputs).chain(leftover).collect()
}

/// The notice about leftover processes. This dialect has no `job` tool, so a shell command has to stop them.
fn leftover_notice(left: &LeftBehind) -> String {
    let left = LeftBehind { job: left.job.filter(|_| left.keeper.is_none()), ..left.clone() };
    let text = text::leftover(&left, Reader::Program);
    text.strip_prefix('[').and_then(|text| text.strip_suffix(']')).unwrap_or(&text).to_owned()
}

/// Cuts the longest shown stream by `excess` bytes or more; false if nothing is left to cut. One byte of output takes at least
/// one byte of JSON, so the reply shrinks by `excess`.
fn shorten_longest(outcome: &mut Outcome, excess: u64) -> bool {
    let shown = |output: &Output| match &output.clip {
        Clip::Whole(bytes) => bytes.len(),
        Clip::Cut { head, .. } => head.bytes.len(),
    };
    let outputs = std::iter::once(&mut outcome.output).chain(&mut outcome.stderr);
    let Some(longest) = outputs.max_by_key(|output| shown(output)) else { return false };
    let length = shown(longest) as u64;
    // The notice about the cut has to fit as well.
    longest.shorten(Window::head(ByteSize(length.saturating_sub(excess + CUT_NOTICE))));
    length > 0
}

/// The notice about a cut stream, with its artifact.
fn cut_notice(output: &Output, name: &str) -> Option<String> {
    let Clip::Cut { .. } = &output.clip else { return None };
    Some(match &output.artifact {
        Some(artifact) => {
            let (bytes, id, path) = (output.bytes, artifact.id, artifact.path.display());
            match text::missing(artifact) {
                None if output.condensed.is_some() => format!("{name} was cut as well"),
                None => format!("{name} was cut; all {bytes} bytes: artifact://{id}, {path}"),
                Some(missing) => format!("{name} was cut; {NOT_SAVED}: artifact://{id}, {path} lacks {missing}"),
            }
        }
        None => format!("{name} was cut; {NOT_SAVED}: {}", output.not_saved.as_deref().unwrap_or("unknown")),
    })
}

/// The notice about a condensed stream, with the artifact of the raw one.
fn condensed_notice(output: &Output, name: &str) -> Option<String> {
    let (condensed, artifact) = output.condensed.as_ref().zip(output.artifact.as_ref())?;
    let (account, id, path) = (&condensed.account, artifact.id, artifact.path.display());
    Some(format!("{name} was condensed ({account}); raw output: artifact://{id}, {path}"))
}

/// The reply to a refused or failed call.
fn failure(status: &str, error: &str) -> RawAnswer {
    let facts = json!({ "status": status, "error": error });
    let fields = Fields { error: Some(error.to_owned()), ..Fields::default() };
    RawAnswer { is_error: true, ..answer(&fields, facts) }
}

fn shown(output: &Output) -> String {
    match &output.clip {
        Clip::Whole(bytes) => String::from_utf8_lossy(bytes).into_owned(),
        Clip::Cut { head, .. } => format!("{}... (truncated)", String::from_utf8_lossy(&head.bytes)),
    }
}
