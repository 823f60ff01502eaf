//! The plain dialect: a command and nothing else; standard output, standard error and exit code.
//!
//! The text of an answer is JSON: `{"stdout", "stderr", "exitCode"}`, or `{"error"}` with the output up to then; and
//! `notice` with the artifact of a stream that was cut.

use bashful_engine::{
    ByteSize, Cleaning, Clip, End, EnvironmentPolicy, Exit, JobRecord, Options, Outcome, Output, Redactor, Request,
    Rewriting, Script, ShownSoFar, StopReason, Streams, Window,
};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::answer::{Answer, RawAnswer};
use crate::arguments::{ArgumentError, Call, Limits, Manner, RunCall, read};
use crate::dialect::{CallFacts, Ended, Shape};
use crate::facts::{self, structured};
use crate::job_calls::JobsReply;
use crate::native::Native;
use crate::text::{self, NOT_SAVED};
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

/// Tool `bash` with a `command` and nothing else: standard output, standard error and exit code.
#[derive(Debug)]
pub(crate) struct Plain;

impl Shape for Plain {
    fn name(&self) -> &'static str {
        "plain"
    }

    fn adjust(&self, options: &mut Options, _: &Limits) {
        // It promises the environment of its host, as it is.
        options.environment = EnvironmentPolicy::pass_everything();
        // And the output, as it was written.
        options.cleaning = Cleaning::None;
        // And the command, as it is.
        options.rewriting = Rewriting { prefix: std::mem::take(&mut options.rewriting.prefix), ..Rewriting::default() };
    }

    fn tools(&self, words: &Words, _: &Limits, _: Abilities) -> Vec<Tool> {
        let files = [include_str!("bash.input.json"), include_str!("../native/bash.facts.json")];
        let bash = Tool::new("bash", "Run a command", words.fill(include_str!("bash.md")), files);
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
        let excess = ended.at_most.map_or(0, |most| (fields.to_string().len() as u64).saturating_sub(most.0));
        if excess == 0 || !shorten_longest(&mut outcome, excess) {
            break fields;
        }
    };
    let facts = structured(facts::of_outcome(&outcome, ended.directory, &ended.call.notices));
    let is_error = outcome.end != End::Own(Exit::Code(0));
    let outputs = std::iter::once(&outcome.output).chain(&outcome.stderr);
    RawAnswer { is_error, ..RawAnswer::of_fields(fields, facts) }.with_links(outputs)
}

fn fields(outcome: &Outcome, call: &CallFacts) -> Value {
    let mut fields = json!({
        "stdout": shown(&outcome.output),
        "stderr": outcome.stderr.as_ref().map(shown).unwrap_or_default(),
    });
    let error = match outcome.end {
        End::Own(Exit::Code(code)) => {
            fields["exitCode"] = code.into();
            None
        }
        // As shells say it.
        End::Own(Exit::Signal(number)) => {
            fields["exitCode"] = (128 + i64::from(number)).into();
            None
        }
        End::Stopped { why: StopReason::TimeUp, .. } => Some(format!("Command timed out after {}", call.lifetime)),
        End::Stopped { why, .. } => Some(format!("Command stopped: {why}")),
        End::Lost => Some(text::LOST.to_owned()),
    };
    if let Some(error) = error {
        fields["error"] = error.into();
    }
    let outputs = std::iter::once(&outcome.output).chain(&outcome.stderr);
    let notices = outputs.zip(["stdout", "stderr"]).flat_map(|(output, name)| {
        // Output is shown as it was written, so the only change is one that JSON asks for.
        let changed = text::changed(output).map(|changed| format!("{name}: {changed}"));
        cut_notice(output, name).into_iter().chain(changed)
    });
    let notice = notices.collect::<Vec<_>>().join("; ");
    if !notice.is_empty() {
        fields["notice"] = notice.into();
    }
    fields
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
    RawAnswer { is_error: true, ..RawAnswer::of_fields(json!({ "error": error }), facts) }
}

fn shown(output: &Output) -> String {
    match &output.clip {
        Clip::Whole(bytes) => String::from_utf8_lossy(bytes).into_owned(),
        Clip::Cut { head, .. } => format!("{}... (truncated)", String::from_utf8_lossy(&head.bytes)),
    }
}
