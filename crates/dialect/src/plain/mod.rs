//! The plain dialect: a command and nothing else; standard output, standard error and exit code.
//!
//! The text of an answer is its facts: `{"stdout", "stderr", "exitCode"}`, or `{"error"}` with what was written by then.

use bashful_engine::{ByteSize, Clip, End, Exit, Output, Request, Script, StopReason, Streams, Window};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::answer::Answer;
use crate::arguments::{ArgumentError, Call, Limits, Manner, RunCall, read};
use crate::dialect::Ended;
use crate::text;
use crate::tool::{Tool, Words};

/// Of each stream, so much is shown.
const SHOWN: ByteSize = ByteSize(1_000_000);

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct BashArgs {
    command: String,
}

pub(crate) fn tools(words: &Words) -> Vec<Tool> {
    vec![Tool::new(
        "bash",
        "Run a command",
        words.fill(include_str!("bash.md")),
        [include_str!("bash.input.json"), include_str!("bash.output.json")],
    )]
}

/// Reads the arguments of `bash`.
pub(crate) fn bash(arguments: Value, limits: &Limits) -> Result<Call, ArgumentError> {
    let args: BashArgs = read("bash", arguments)?;
    let mut request = Request::new(Script::new(args.command)?);
    request.lifetime = Some(limits.default);
    request.streams = Streams::Split;
    request.window = Some(Window::head(SHOWN));
    let call = RunCall { request, manner: Manner::ToItsEnd, clamped_from: None, notices: Vec::new() };
    Ok(Call::Run(Box::new(call)))
}

/// What it wrote on both streams, and its exit code.
pub(crate) fn ended(ended: &Ended<'_>) -> Answer {
    let outcome = ended.outcome;
    let mut facts = json!({
        "stdout": shown(&outcome.output),
        "stderr": outcome.stderr.as_ref().map(shown).unwrap_or_default(),
    });
    let error = match outcome.end {
        End::Own(Exit::Code(code)) => {
            facts["exitCode"] = code.into();
            None
        }
        // As shells say it.
        End::Own(Exit::Signal(number)) => {
            facts["exitCode"] = (128 + i64::from(number)).into();
            None
        }
        End::Stopped { why: StopReason::TimeUp, .. } => {
            Some(format!("Command timed out after {}", ended.call.lifetime))
        }
        End::Stopped { why, .. } => Some(format!("Command stopped: {why}")),
        End::Lost => Some(text::LOST.to_owned()),
    };
    if let Some(error) = error {
        facts["error"] = error.into();
    }
    let is_error = outcome.end != End::Own(Exit::Code(0));
    let notices: Vec<String> = [("stdout", Some(&outcome.output)), ("stderr", outcome.stderr.as_ref())]
        .into_iter()
        .filter_map(|(name, output)| output.map(|output| (name, output)))
        .flat_map(|(name, output)| notices(output).into_iter().map(move |notice| format!("{name}: {notice}")))
        .collect();
    if !notices.is_empty() {
        facts["notices"] = notices.into();
    }
    let outputs = [Some(&outcome.output), outcome.stderr.as_ref()].into_iter().flatten();
    Answer { is_error, ..Answer::new(facts.to_string(), facts) }.with_links(outputs)
}

/// A command that never ran.
pub(crate) fn failure(error: &str) -> Answer {
    let facts = json!({ "error": error });
    Answer { is_error: true, ..Answer::new(facts.to_string(), facts) }
}

/// Output is shown as it was written, so a notice is rare: bytes that are no text, and output that is kept nowhere.
fn notices(output: &Output) -> Vec<String> {
    let not_saved = output.not_saved.as_ref().filter(|_| matches!(output.clip, Clip::Cut { .. }));
    let lacking =
        output.artifact.as_ref().and_then(text::missing).map(|missing| format!("the artifact lacks {missing}"));
    let not_saved = lacking.or_else(|| not_saved.cloned()).map(|why| format!("{}: {why}", text::NOT_SAVED));
    text::changed(output).into_iter().chain(not_saved).collect()
}

fn shown(output: &Output) -> String {
    match &output.clip {
        Clip::Whole(bytes) => String::from_utf8_lossy(bytes).into_owned(),
        Clip::Cut { head, .. } => format!("{}... (truncated)", String::from_utf8_lossy(&head.bytes)),
    }
}
