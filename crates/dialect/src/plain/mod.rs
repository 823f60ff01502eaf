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
use crate::arguments::{ArgumentError, Call, Limits, Manner, RunCall, read};
use crate::compose::fitting;
use crate::dialect::{CallFacts, Ended, Shape};
use crate::facts::{self, structured};
use crate::job_calls::JobsReply;
use crate::native::Native;
use crate::text::{self, NOT_SAVED, Reader};
use crate::tool::{Abilities, Tool, Words};

/// Of each stream, so much is shown.
const SHOWN: ByteSize = ByteSize(1_000_000);

/// Room for the notice of one cut stream, in bytes.
const CUT_NOTICE: u64 = 200;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct BashArgs {
    command: String,
}

/// An answer. A command that ran has both streams; one that did not has nothing but `error`.
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
    /// All that is neither output nor an error: artifacts, warnings, processes left running.
    #[serde(skip_serializing_if = "Option::is_none")]
    notice: Option<String>,
}

impl Fields {
    /// The text of the answer. Its keys stand in the order of the fields, which a [`Value`] would not keep.
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

    fn adjust(&self, options: &mut Options) {
        // It promises the environment of its host, as it is.
        options.environment = EnvironmentPolicy::pass_everything();
        // And the output, as it was written.
        options.cleaning = Cleaning::None;
        // And the command, as it is.
        options.rewriting = Rewriting { prefix: std::mem::take(&mut options.rewriting.prefix), ..Rewriting::default() };
    }

    fn tools(&self, words: &Words, _: &Limits, abilities: Abilities) -> Vec<Tool> {
        let files = [include_str!("bash.input.json"), include_str!("../native/bash.facts.json")];
        let guard = if abilities.guard { include_str!("guard.md").trim_end() } else { "" };
        let text = words.fill(&include_str!("bash.md").replace("{guard}", guard));
        let bash = Tool::new("bash", "Run a command", text, files);
        let output = serde_json::from_str(include_str!("bash.output.json")).expect("a test reads every schema");
        vec![Tool { output, ..bash }]
    }

    fn parse(&self, tool: &str, arguments: Value, limits: &Limits) -> Option<Result<Call, ArgumentError>> {
        (tool == "bash").then(|| bash(arguments, limits))
    }

    fn ended(&self, of: &Ended<'_>) -> RawAnswer {
        ended(of)
    }

    // It has no jobs; should it ever be given one, the native facts are the best there are.

    fn started(&self, job: &JobRecord, call: &CallFacts) -> RawAnswer {
        Native.started(job, call)
    }

    fn outlasted(&self, job: &JobRecord, so_far: &ShownSoFar, call: &CallFacts) -> RawAnswer {
        Native.outlasted(job, so_far, call)
    }

    fn jobs(&self, seen: &JobsReply) -> RawAnswer {
        Native.jobs(seen)
    }

    fn failure(&self, status: &str, text: &str) -> RawAnswer {
        failure(status, text)
    }

    fn bounded(&self, answer: RawAnswer, redactor: &Redactor, _: ByteSize) -> Answer {
        // JSON with a limit for each stream, which the engine keeps to: nothing can be cut off its end.
        answer.masked(redactor)
    }
}

/// Reads the arguments of `bash`.
fn bash(arguments: Value, limits: &Limits) -> Result<Call, ArgumentError> {
    let args: BashArgs = read("bash", arguments)?;
    let mut request = Request::new(Script::new(args.command)?);
    request.lifetime = Some(limits.default);
    request.streams = Streams::Split;
    request.window = Some(Window::head(SHOWN));
    let call = RunCall { request, manner: Manner::ToItsEnd, clamped_from: None, notices: Vec::new() };
    Ok(Call::Run(Box::new(call)))
}

/// What it wrote on both streams, and its exit code.
fn ended(ended: &Ended<'_>) -> RawAnswer {
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
        // As shells say it.
        End::Own(Exit::Signal(number)) => Some(128 + i64::from(number)),
        End::Stopped { .. } | End::Lost => None,
    };
    let error = match outcome.end {
        End::Own(Exit::Code(code)) => not_executed(code, &stderr),
        End::Own(Exit::Signal(_)) => None,
        End::Stopped { why: StopReason::TimeUp, .. } => Some(format!("Command timed out after {}", call.lifetime)),
        End::Stopped { why, .. } => Some(format!("Command stopped: {why}")),
        End::Lost => Some(text::LOST.to_owned()),
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

/// The error of a command that was not found or not executable: bash's own message, the last one on standard error. A script
/// may also end with such a code by itself.
fn not_executed(code: u8, stderr: &str) -> Option<String> {
    let meaning = match code {
        126 => "command not executable",
        127 => "command not found",
        _ => return None,
    };
    let said = stderr.lines().rev().find(|line| line.starts_with("bash: ")).map(str::to_owned);
    Some(said.unwrap_or_else(|| format!("exit code {code}, which stands for: {meaning}")))
}

/// All that is to be said beside output and error.
fn notices(outcome: &Outcome, call: &CallFacts) -> Vec<String> {
    let outputs = std::iter::once(&outcome.output).chain(&outcome.stderr);
    let of_outputs = outputs.zip(["stdout", "stderr"]).flat_map(|(output, name)| {
        // Output is shown as it was written, so the only change is one that JSON asks for.
        let changed = text::changed(output).map(|changed| format!("{name}: {changed}"));
        cut_notice(output, name).into_iter().chain(changed)
    });
    let leftover = outcome.leftover.as_ref().map(leftover_notice);
    fitting(&call.notices).into_iter().chain(of_outputs).chain(leftover).collect()
}

/// Names the processes left running. This dialect has no tool for jobs, so a shell has to stop them.
fn leftover_notice(left: &LeftBehind) -> String {
    let left = LeftBehind { job: left.job.filter(|_| left.keeper.is_none()), ..left.clone() };
    let text = text::leftover(&left, Reader::Program);
    text.strip_prefix('[').and_then(|text| text.strip_suffix(']')).unwrap_or(&text).to_owned()
}

/// Shows less of the stream that shows most; false if nothing is shown any more. Every byte takes at least one in the text.
fn shorten_longest(outcome: &mut Outcome, excess: u64) -> bool {
    let shown = |output: &Output| match &output.clip {
        Clip::Whole(bytes) => bytes.len(),
        Clip::Cut { head, .. } => head.bytes.len(),
    };
    let outputs = std::iter::once(&mut outcome.output).chain(&mut outcome.stderr);
    let Some(longest) = outputs.max_by_key(|output| shown(output)) else { return false };
    let length = shown(longest) as u64;
    // What is said of the cut has to fit as well.
    longest.shorten(Window::head(ByteSize(length.saturating_sub(excess + CUT_NOTICE))));
    length > 0
}

/// Where all of a stream is, if it was cut.
fn cut_notice(output: &Output, name: &str) -> Option<String> {
    let Clip::Cut { .. } = &output.clip else { return None };
    Some(match &output.artifact {
        Some(artifact) => {
            let (bytes, id, path) = (output.bytes, artifact.id, artifact.path.display());
            match text::missing(artifact) {
                None => format!("{name} was cut; all {bytes} bytes: artifact://{id}, {path}"),
                Some(missing) => format!("{name} was cut; {NOT_SAVED}: artifact://{id}, {path} lacks {missing}"),
            }
        }
        None => format!("{name} was cut; {NOT_SAVED}: {}", output.not_saved.as_deref().unwrap_or("unknown")),
    })
}

/// A command that never ran.
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
