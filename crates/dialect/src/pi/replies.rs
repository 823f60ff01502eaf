//! What pi's `bash` answers.

use std::time::Duration;

use bashful_engine::{
    ByteSize, Clip, Direction, End, Exit, JobRecord, Lifetime, LimitHit, Outcome, Output, ShownSoFar, StopReason,
};
use serde_json::{Value, json};

use super::{id, label};
use crate::answer::RawAnswer;
use crate::compose::{Draft, fitting};
use crate::dialect::{CallFacts, Ended};
use crate::text::{self, NOT_SAVED, Reader, or_none};

/// What it wrote, how long it took, and how it ended if that was not well.
pub(crate) fn ended(ended: &Ended<'_>) -> RawAnswer {
    let outcome = ended.outcome;
    let draft = Draft { output: &outcome.output, stderr: outcome.stderr.as_ref() };
    let (text, output) = draft.fit_shown(|output, stderr| ended_text(ended, output, stderr));
    let outputs = [Some(&outcome.output), outcome.stderr.as_ref()].into_iter().flatten();
    let facts = details(outcome, &output, ended.call);
    RawAnswer { is_error: outcome.end != End::Own(Exit::Code(0)), ..RawAnswer::new(text, facts) }.with_links(outputs)
}

fn ended_text(ended: &Ended<'_>, output: &Output, stderr: Option<&Output>) -> String {
    let Ended { outcome, call, .. } = *ended;
    let outputs = [Some(output), stderr].into_iter().flatten();
    let output = shown(output, stderr);
    let is_time_up = matches!(outcome.end, End::Stopped { why: StopReason::TimeUp, .. });
    let mut text = match outcome.end {
        // Said at the end.
        _ if is_time_up && call.has_terminal => output,
        End::Stopped { why: StopReason::TimeUp, .. } => {
            format!("[Command timed out after {} seconds]\n{output}", seconds(call.lifetime))
        }
        End::Own(_) | End::Lost | End::Stopped { why: StopReason::Mute, .. } => output,
        End::Stopped { .. } => format!("{CANCELLED}\n{output}"),
    };
    let mut notices = vec![format!("Wall time: {:.2} seconds", outcome.elapsed.as_secs_f64())];
    notices.extend(call.notices.iter().cloned());
    notices.extend(
        text::session_notices(outcome).iter().chain(&text::missed(outcome)).map(|notice| format!("[{notice}]")),
    );
    notices.extend(outputs.clone().filter_map(truncated));
    let said = outputs.clone().flat_map(text::output_notices).chain(outcome.cut_off.as_ref().map(text::cut_off));
    notices.extend(said.map(|notice| format!("[{notice}]")));
    notices = fitting(&notices);
    notices.extend(outcome.leftover.as_ref().map(|left| text::leftover(left, Reader::Pi)));
    text = format!("{}\n\n{}", text.trim_end_matches('\n'), notices.join("\n"));
    let time_up = || format!("Command timed out after {} seconds", seconds(call.lifetime));
    let end = end_text(outcome.end).or_else(|| (is_time_up && call.has_terminal).then(time_up));
    text.extend(end.map(|end| format!("\n\n{end}")));
    text
}

/// The last line about a command whose exit status nobody knows.
pub(super) const NO_STATUS: &str = "Command failed: missing exit status";

/// The annotation of a command that somebody has cancelled.
pub(super) const CANCELLED: &str = "[Command cancelled]";

/// The last line about a command that did not end well by itself.
pub(super) fn end_text(end: End) -> Option<String> {
    match (end, code(end)) {
        (End::Own(_), Some(code)) if code != 0 => Some(format!("Command exited with code {code}")),
        (End::Lost | End::Stopped { why: StopReason::Mute, .. }, _) => Some(NO_STATUS.to_owned()),
        _ => None,
    }
}

/// What it is called, and how to wait for it.
pub(crate) fn started(job: &JobRecord, call: &CallFacts) -> RawAnswer {
    let mut lines = call.notices.clone();
    lines.push(start_text(job));
    RawAnswer::new(lines.join("\n"), background(job, call))
}

/// The end of what it had written by then, and the same.
pub(crate) fn outlasted(job: &JobRecord, so_far: &ShownSoFar, call: &CallFacts) -> RawAnswer {
    let draft = Draft { output: &so_far.output, stderr: so_far.stderr.as_ref() };
    let (text, output) = draft.fit_shown(|output, stderr| {
        let mut lines = Vec::new();
        if output.bytes + stderr.map_or(0, |stderr| stderr.bytes) > 0 {
            lines.extend([shown(output, stderr).trim_end_matches('\n').to_owned(), String::new()]);
        }
        lines.extend(fitting(&call.notices));
        lines.extend([Some(output), stderr].into_iter().flatten().filter_map(truncated));
        lines.extend(text::session_left(job, so_far));
        lines.push(start_text(job));
        lines.join("\n")
    });
    let mut facts = background(job, call);
    if let Some(truncation) = truncation(&output) {
        facts["meta"] = json!({ "truncation": truncation });
    }
    RawAnswer::new(text, facts).with_links([&so_far.output])
}

/// A command that never ran.
pub(crate) fn failure(error: &str) -> RawAnswer {
    RawAnswer { is_error: true, ..RawAnswer::new(error.to_owned(), json!({ "error": error })) }
}

fn start_text(job: &JobRecord) -> String {
    let id = id(job.id);
    format!(
        "Background job {id} started: {}\nIts output goes to {}. Use the job tool: list: true for a snapshot, \
         poll: [\"{id}\"] to wait, cancel: [\"{id}\"] to stop it.",
        label(job),
        job.output_file.display(),
    )
}

fn background(job: &JobRecord, call: &CallFacts) -> Value {
    let mut facts = times(call);
    facts["async"] = in_background(job, "running");
    facts
}

pub(super) fn in_background(job: &JobRecord, state: &str) -> Value {
    json!({ "state": state, "jobId": id(job.id), "type": "bash" })
}

pub(super) fn times(call: &CallFacts) -> Value {
    let mut facts = json!({ "timeoutSeconds": call.lifetime.0.as_secs_f64() });
    if let Some(asked) = call.clamped_from {
        facts["requestedTimeoutSeconds"] = asked.into();
    }
    facts
}

fn details(outcome: &Outcome, output: &Output, call: &CallFacts) -> Value {
    let mut facts = times(call);
    end_facts(&mut facts, outcome.end, outcome.elapsed);
    if let Some(truncation) = truncation(output) {
        facts["meta"] = json!({ "truncation": truncation });
    }
    facts
}

/// The end of a command, as data.
pub(super) fn end_facts(facts: &mut Value, end: End, elapsed: Duration) {
    facts["wallTimeMs"] = milliseconds(elapsed).into();
    if let Some(code) = code(end).filter(|code| *code != 0) {
        facts["exitCode"] = code.into();
    }
    if let End::Stopped { why, .. } = end
        && why != StopReason::Mute
    {
        facts["cancelled"] = true.into();
        if why == StopReason::TimeUp {
            facts["timedOut"] = true.into();
        }
    }
}

/// A signal counts as shells count it.
fn code(end: End) -> Option<i64> {
    match end {
        End::Own(Exit::Code(code)) => Some(code.into()),
        End::Own(Exit::Signal(number)) => Some(128 + i64::from(number)),
        End::Stopped { .. } | End::Lost => None,
    }
}

fn shown(output: &Output, stderr: Option<&Output>) -> String {
    let mut text = String::new();
    for output in stderr.into_iter().chain([output]) {
        let bytes = match &output.clip {
            Clip::Whole(bytes) => bytes.clone(),
            Clip::Cut { head, tail, .. } => [head.bytes.as_slice(), &tail.bytes].concat(),
        };
        text::add_line(&mut text, &String::from_utf8_lossy(&bytes));
    }
    or_none(&text)
}

/// What is missing, in words.
fn truncated(output: &Output) -> Option<String> {
    let truncation = output.truncation()?;
    let Clip::Cut { omitted, .. } = &output.clip else { return None };
    let (first, last) = truncation.shown.first().copied().unwrap_or_default();
    let full = match (&output.artifact, &output.not_saved) {
        (Some(artifact), _) => {
            let place = format!("artifact://{} ({})", artifact.id, artifact.path.display());
            text::missing(artifact)
                .map_or_else(|| format!(" Full: {place}"), |missing| format!(" {NOT_SAVED}: {place} lacks {missing}"))
        }
        (None, Some(why)) => format!(" {NOT_SAVED}: {why}"),
        (None, None) => String::new(),
    };
    let shown = showing((first, last), truncation.total_lines, omitted.lines, ByteSize(omitted.bytes));
    Some(format!("[{shown}{full}]"))
}

/// Which lines of how many are shown, and how much is left out.
pub(super) fn showing((first, last): (u64, u64), total: u64, lines: u64, left_out: ByteSize) -> String {
    if lines == 0 {
        // A line that is too long by itself.
        return format!("Showing the end of line {first} of {total}; {left_out} left out.");
    }
    format!("Showing lines {first}-{last} of {total}; {lines} lines ({left_out}) left out.")
}

/// What is missing, as data.
fn truncation(output: &Output) -> Option<Value> {
    let truncation = output.truncation()?;
    let mut facts = json!({
        "direction": match truncation.direction {
            Direction::Head => "head",
            Direction::Tail => "tail",
            Direction::Middle => "middle",
        },
        "truncatedBy": match truncation.by {
            LimitHit::Bytes => "bytes",
            LimitHit::Lines => "lines",
        },
        "totalLines": truncation.total_lines,
        "totalBytes": truncation.total_bytes,
        "outputLines": truncation.output_lines,
        "outputBytes": truncation.output_bytes,
    });
    if let Some((first, last)) = truncation.shown.first() {
        facts["shownRange"] = json!({ "start": first, "end": last });
    }
    if let Some(artifact) = truncation.artifact {
        facts["artifactId"] = artifact.to_string().into();
    }
    Some(facts)
}

/// Whole seconds, as they are said: a half counts as one.
pub(super) fn seconds(lifetime: Lifetime) -> u64 {
    lifetime.0.saturating_add(Duration::from_millis(500)).as_secs()
}

pub(super) fn milliseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}
