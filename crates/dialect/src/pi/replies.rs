//! Replies of pi's `bash`.

use std::time::Duration;

use bashful_engine::{
    ByteSize, Clip, Direction, End, Exit, JobRecord, Lifetime, LimitHit, Outcome, Output, ShownSoFar, StopReason,
};
use serde_json::{Value, json};

use super::{id, label};
use crate::answer::RawAnswer;
use crate::compose::{Draft, fitting};
use crate::dialect::{CallFacts, EndedCommand};
use crate::facts;
use crate::text::{self, NOT_SAVED, Reader, or_no_output};

/// The reply to a command that has ended: output, wall time, notices, and a failure at the end.
pub(crate) fn ended(ended: &EndedCommand<'_>) -> RawAnswer {
    let outcome = ended.outcome;
    let draft = Draft { output: &outcome.output, stderr: outcome.stderr.as_ref() };
    let (text, output) = draft.fit_shown(|output, stderr| ended_text(ended, output, stderr));
    let outputs = [Some(&outcome.output), outcome.stderr.as_ref()].into_iter().flatten();
    let facts = ended_facts(outcome, &output, ended.call);
    RawAnswer { is_error: outcome.end != End::Own(Exit::Code(0)), ..RawAnswer::new(text, facts) }.with_links(outputs)
}

fn ended_text(ended: &EndedCommand<'_>, output: &Output, stderr: Option<&Output>) -> String {
    let EndedCommand { outcome, call, .. } = *ended;
    let outputs = [Some(output), stderr].into_iter().flatten();
    let output = shown(output, stderr);
    let is_time_up = matches!(outcome.end, End::Stopped { why: StopReason::TimeUp, .. });
    let is_in_terminal = call.has_terminal || outcome.client_terminal.is_some();
    let mut text = match outcome.end {
        // Said at the end.
        _ if is_time_up && is_in_terminal => output,
        End::Stopped { why: StopReason::TimeUp, .. } => {
            format!("{}\n{output}", timeout_text(call.lifetime))
        }
        End::Own(_) | End::Lost | End::Stopped { why: StopReason::Mute, .. } => output,
        End::Stopped { .. } => format!("{CANCELLED}\n{output}"),
    };
    let mut notices = vec![format!("Wall time: {:.2} seconds", outcome.elapsed.as_secs_f64())];
    notices.extend(call.notices.iter().cloned());
    notices.extend(
        text::session_notices(outcome)
            .iter()
            .chain(&text::withheld_notice(outcome))
            .map(|notice| format!("[{notice}]")),
    );
    notices.extend(outputs.clone().filter_map(truncation_notice));
    let output_notices =
        outputs.clone().flat_map(text::output_notices).chain(outcome.cut_off.as_ref().map(text::cut_off));
    notices.extend(output_notices.map(|notice| format!("[{notice}]")));
    notices = fitting(&notices);
    notices.extend(outcome.leftover.as_ref().map(|left| text::leftover(left, Reader::Pi)));
    text = format!("{}\n\n{}", text.trim_end_matches('\n'), notices.join("\n"));
    let time_up = || timed_out(call.lifetime);
    let end = end_text(seen_by_pi(outcome)).or_else(|| (is_time_up && is_in_terminal).then(time_up));
    text.extend(end.map(|end| format!("\n\n{end}")));
    text
}

/// The end of a command as pi tells it: every signal in a terminal of the client is exit code 137.
fn seen_by_pi(outcome: &Outcome) -> End {
    match outcome.end {
        End::Own(Exit::Signal(_)) if outcome.client_terminal.is_some() => End::Own(Exit::Code(137)),
        end => end,
    }
}

/// The last line about a command whose exit status nobody knows.
pub(super) const NO_STATUS: &str = "Command failed: missing exit status";

/// The first line about a cancelled command.
pub(crate) const CANCELLED: &str = "[Command cancelled]";

/// The last line about a command that failed by itself; none for exit code 0 and for a stopped command.
pub(super) fn end_text(end: End) -> Option<String> {
    match (end, exit_code(end)) {
        (End::Own(_), Some(code)) if code != 0 => Some(format!("Command exited with code {code}")),
        (End::Lost | End::Stopped { why: StopReason::Mute, .. }, _) => Some(NO_STATUS.to_owned()),
        _ => None,
    }
}

/// The reply to a background start.
pub(crate) fn started(job: &JobRecord, call: &CallFacts) -> RawAnswer {
    let mut lines = call.notices.clone();
    lines.push(start_text(job));
    RawAnswer::new(lines.join("\n"), background_facts(job, call))
}

/// The reply to a command that outlasted its call: the end of its output so far, and how to wait for it.
pub(crate) fn outlasted(job: &JobRecord, so_far: &ShownSoFar, call: &CallFacts) -> RawAnswer {
    let draft = Draft { output: &so_far.output, stderr: so_far.stderr.as_ref() };
    let (text, output) = draft.fit_shown(|output, stderr| {
        let mut lines = Vec::new();
        if output.bytes + stderr.map_or(0, |stderr| stderr.bytes) > 0 {
            lines.extend([shown(output, stderr).trim_end_matches('\n').to_owned(), String::new()]);
        }
        lines.extend(fitting(&call.notices));
        lines.extend([Some(output), stderr].into_iter().flatten().filter_map(truncation_notice));
        lines.extend(text::session_left(job, so_far));
        lines.push(start_text(job));
        lines.join("\n")
    });
    let mut facts = background_facts(job, call);
    if let Some(truncation) = truncation_facts(&output) {
        facts["meta"] = json!({ "truncation": truncation });
    }
    RawAnswer::new(text, facts).with_links([&so_far.output])
}

/// The reply to a refused or failed call.
pub(crate) fn failure(error: &str) -> RawAnswer {
    RawAnswer { is_error: true, ..RawAnswer::new(error.to_owned(), json!({ "error": error })) }
}

fn start_text(job: &JobRecord) -> String {
    let id = id(job.id);
    format!(
        "Background job {id} started: {}\nOutput: {}. Job tool: list: true for a snapshot, \
         poll: [\"{id}\"] to wait, cancel: [\"{id}\"] to stop.",
        label(job),
        job.output_file.display(),
    )
}

fn background_facts(job: &JobRecord, call: &CallFacts) -> Value {
    let mut facts = timeout_facts(call);
    facts["async"] = async_facts(job, "running");
    facts
}

/// The `async` object of the facts.
pub(super) fn async_facts(job: &JobRecord, state: &str) -> Value {
    json!({ "state": state, "jobId": id(job.id), "type": "bash" })
}

/// Facts about the timeout: the effective one, and the requested one if it was out of range.
pub(super) fn timeout_facts(call: &CallFacts) -> Value {
    let mut facts = json!({ "timeoutSeconds": call.lifetime.0.as_secs_f64() });
    if let Some(asked) = call.clamped_from {
        facts["requestedTimeoutSeconds"] = asked.into();
    }
    facts
}

fn ended_facts(outcome: &Outcome, output: &Output, call: &CallFacts) -> Value {
    let mut facts = timeout_facts(call);
    end_facts(&mut facts, seen_by_pi(outcome), outcome.elapsed);
    if let Some(id) = &outcome.client_terminal {
        facts["terminalId"] = (&**id).into();
    }
    let by_client = || outcome.lost_beginning.then(|| cut_by_client(output));
    if let Some(truncation) = truncation_facts(output).or_else(by_client) {
        facts["meta"]["truncation"] = truncation;
    }
    if let Some(condensed) = outcome.condensed_output().and_then(condensed_facts) {
        facts["meta"]["condensed"] = condensed;
    }
    facts
}

/// The `meta.condensed` object of the facts: the raw output, which the totals of `truncation` do not count. None if the text
/// is as it was written.
fn condensed_facts(output: &Output) -> Option<Value> {
    let (condensed, artifact) = output.condensed.as_ref().zip(output.artifact.as_ref())?;
    Some(json!({
        "rawLines": output.lines,
        "rawBytes": output.bytes,
        "lines": condensed.lines,
        "bytes": condensed.text_bytes,
        "account": condensed.account,
        "artifactId": artifact.id.to_string(),
        "artifactType": facts::RAW_OUTPUT,
    }))
}

/// Adds wall time, exit code, and whether the command was stopped.
pub(super) fn end_facts(facts: &mut Value, end: End, elapsed: Duration) {
    facts["wallTimeMs"] = milliseconds(elapsed).into();
    if let Some(code) = exit_code(end).filter(|code| *code != 0) {
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

/// The exit code as shells report it: a signal is 128 and its number. None for a stopped command.
fn exit_code(end: End) -> Option<i64> {
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
        if let Some(lines) = output.condensed_lines() {
            text::add_line(&mut text, &lines);
        }
    }
    or_no_output(&text)
}

/// The notice about cut output: shown lines, omitted bytes, artifact. None if all is shown.
fn truncation_notice(output: &Output) -> Option<String> {
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
    let shown = showing((first, last), &text::total_lines(output), omitted.lines, ByteSize(omitted.bytes));
    Some(format!("[{shown}{full}]"))
}

/// The sentence about shown lines and omitted bytes.
pub(super) fn showing((first, last): (u64, u64), total: &str, omitted_lines: u64, omitted: ByteSize) -> String {
    if omitted_lines == 0 {
        // A single line is longer than the limit.
        return format!("Showing the end of line {first} of {total} ({omitted} omitted).");
    }
    format!("Showing lines {first}-{last} of {total} ({omitted} omitted).")
}

/// The `meta.truncation` object of the facts; none if all is shown.
fn truncation_facts(output: &Output) -> Option<Value> {
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

/// The `meta.truncation` object for a text that the client has cut: all counts are those of its text.
fn cut_by_client(output: &Output) -> Value {
    json!({
        "direction": "tail",
        "truncatedBy": "bytes",
        "totalLines": output.lines,
        "totalBytes": output.text_bytes,
        "outputLines": output.lines,
        "outputBytes": output.text_bytes,
    })
}

/// The first line about a command that ran out of time. A fraction of a second is named only if there is one.
pub(crate) fn timeout_text(lifetime: Lifetime) -> String {
    format!("[{}]", timed_out(lifetime))
}

fn timed_out(lifetime: Lifetime) -> String {
    format!("Command timed out after {} seconds", lifetime.0.as_secs_f64())
}

pub(super) fn milliseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_timeout_is_told_as_exactly_as_it_was_asked_for() {
        let told = |seconds| timeout_text(Lifetime(Duration::from_secs_f64(seconds)));
        assert_eq!(told(1.5), "[Command timed out after 1.5 seconds]");
        assert_eq!(told(300.0), "[Command timed out after 300 seconds]");
    }
}
