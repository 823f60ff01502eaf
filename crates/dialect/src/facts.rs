//! An outcome as JSON: every fact once, and never the text of the output.

use std::error::Error;
use std::path::Path;

use bashful_engine::{
    Clip, Direction, End, Exit, Fence, JobRecord, Layer, LimitHit, Outcome, Output, Redactor, Refusal, ShownSoFar,
    StopReason, error_chain,
};
use bashful_sys::signal;
use serde::Serialize;
use serde_json::{Value, json};

use crate::approval::allow_line;
use crate::text;

/// The `status` in facts: how a command ended.
#[derive(Debug, Clone, Copy, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// The shell exited by itself, with any code.
    Exited,
    /// A signal that bashful did not send killed the shell.
    Signaled,
    /// The command reached its lifetime and was stopped.
    TimedOut,
    /// The caller or a user stopped the command.
    Cancelled,
    /// The end of the command is unknown.
    Failed,
}

/// The facts about a command that has ended.
pub fn of_outcome(outcome: &Outcome, cwd: &Path, notices: &[String]) -> Value {
    // Another command may have changed the directory of the session while this one waited for its turn.
    let cwd = outcome.session.as_ref().map_or(cwd, |session| &session.directory);
    let mut facts = json!({
        "status": status(outcome.end),
        "exit_code": null,
        "signal": null,
        "duration_ms": u64::try_from(outcome.elapsed.as_millis()).unwrap_or(u64::MAX),
        "cwd": cwd.to_string_lossy(),
        "output_bytes": outcome.output.bytes,
        "output_lines": outcome.output.lines,
        "text_bytes": outcome.output.text_bytes,
        "condensed": condensed(&outcome.output),
        "shown": shown_ranges(&outcome.output),
        "omitted": omitted(&outcome.output),
        "truncated": truncated(&outcome.output),
        "shortened_lines": outcome.output.shortened,
        "artifact": artifact(&outcome.output),
        "job": { "pid": outcome.pid },
        "leftover": outcome.leftover.as_ref().map(|left| json!({
            "processes": left.processes.iter().take(text::LEFT_NAMED)
                .map(|process| json!({ "pid": process.pid, "command": process.command })).collect::<Vec<_>>(),
            "count": left.processes.len(),
            "job": left.job,
            "keeper": left.keeper,
            "output_file": left.output_file.as_ref().map(|path| path.to_string_lossy()),
        })),
        "session": outcome.session.as_ref().map(|session| json!({
            "name": session.name.as_str(),
            "new": session.is_new,
            "lost_before": session.lost_before,
            "ended": !session.shell_stays,
        })),
        "notices": notices,
    });
    if let Some(stderr) = &outcome.stderr {
        facts["stderr_bytes"] = stderr.bytes.into();
        facts["stderr_lines"] = stderr.lines.into();
        facts["stderr_condensed"] = condensed(stderr);
        facts["stderr_shown"] = shown_ranges(stderr);
        facts["stderr_omitted"] = omitted(stderr);
        facts["stderr_truncated"] = truncated(stderr);
        facts["stderr_shortened_lines"] = stderr.shortened.into();
        facts["stderr_artifact"] = artifact(stderr);
    }
    if let Some(cut) = &outcome.cut_off {
        let mut facts_of_cut = json!({ "after_lines": cut.after_lines });
        exit_facts(&mut facts_of_cut, End::Own(cut.end));
        facts["cut_off"] = facts_of_cut;
    }
    if !outcome.exit_is_unknown {
        exit_facts(&mut facts, outcome.end);
    }
    if let Some(id) = &outcome.client_terminal {
        facts["client_terminal"] = (&**id).into();
        if outcome.end == End::Lost {
            facts["error"] = text::lost(outcome).into();
        }
    }
    if outcome.lost_beginning {
        facts["lost_beginning"] = true.into();
    }
    if let Some(fence) = &outcome.fence {
        facts["sandbox"] = of_fence(fence);
    }
    facts
}

/// The facts about the fence of a command.
pub fn of_fence(fence: &Fence) -> Value {
    let hidden = fence.layers.iter().filter_map(|layer| match layer {
        Layer::Hidden { at, .. } => Some(at.to_string_lossy()),
        _ => None,
    });
    json!({
        "mode": fence.mode.word(),
        "rung": "namespaces",
        "writes": fence.writable.iter().map(|path| path.to_string_lossy()).collect::<Vec<_>>(),
        "hidden": hidden.collect::<Vec<_>>(),
        "network": fence.network.word(),
        "domains": fence.domains,
        "ports": fence.ports,
        "sockets": "hidden",
    })
}

/// The status for the end of a command.
pub fn status(end: End) -> Status {
    match end {
        End::Own(Exit::Code(_)) => Status::Exited,
        End::Own(Exit::Signal(_)) => Status::Signaled,
        End::Stopped { why: StopReason::TimeUp, .. } => Status::TimedOut,
        End::Stopped { why: StopReason::Mute, .. } | End::Lost => Status::Failed,
        End::Stopped { .. } => Status::Cancelled,
    }
}

/// Adds the exit code or the signal.
pub fn exit_facts(facts: &mut Value, end: End) {
    match end {
        End::Own(Exit::Code(code)) | End::Stopped { exit: Exit::Code(code), .. } => facts["exit_code"] = code.into(),
        End::Own(Exit::Signal(number)) | End::Stopped { exit: Exit::Signal(number), .. } => {
            facts["signal"] = json!({ "number": number, "name": signal::name(i32::from(number)) });
        }
        End::Lost => facts["error"] = text::LOST.into(),
    }
}

/// The facts about a command that is now a job.
pub fn of_background(job: &JobRecord, notices: &[String]) -> Value {
    let mut facts = json!({
        "status": "running",
        "cwd": job.directory.to_string_lossy(),
        "job": { "id": job.id, "uri": job.uri(), "pid": job.pid, "output_file": job.output_file.to_string_lossy() },
        "notices": notices,
    });
    // The shell may have ended at the moment when the command became a job.
    if let Some(end) = job.end() {
        facts["status"] = json!(status(end));
        exit_facts(&mut facts, end);
    }
    facts
}

/// The facts about a command that outlasted its call and became a job.
pub fn of_outlasted(job: &JobRecord, so_far: &ShownSoFar, notices: &[String]) -> Value {
    let mut facts = of_background(job, notices);
    facts["duration_ms"] = u64::try_from(job.elapsed.as_millis()).unwrap_or(u64::MAX).into();
    facts["output_bytes"] = so_far.output.bytes.into();
    facts["output_lines"] = so_far.output.lines.into();
    facts
}

/// The facts about a command that never started.
pub fn of_error(error: &(dyn Error + 'static)) -> Value {
    json!({ "status": "failed", "error": error_chain(error) })
}

/// The facts about a refused command, with the `bashful allow` line for it.
pub fn of_refusal(refusal: &Refusal) -> Value {
    let facts = json!({
        "status": "refused",
        "error": refusal.reason,
        "findings": refusal.verdict.findings,
        "allow": allow_line(&refusal.given, &refusal.redactor),
    });
    redact(facts, &refusal.redactor)
}

/// Fields whose values bashful chooses. They can hold no secret, so redaction leaves them alone.
const FIXED_WORDS: [&str; 8] = ["status", "state", "kind", "type", "direction", "truncated_by", "truncatedBy", "uri"];

/// Replaces withheld values in all texts of the facts.
pub fn redact(facts: Value, redactor: &Redactor) -> Value {
    match facts {
        Value::String(text) => redactor.redact(text).into_string().into(),
        Value::Array(values) => values.into_iter().map(|value| redact(value, redactor)).collect(),
        Value::Object(fields) => {
            let of_field = |(name, value): (String, Value)| {
                let value = if FIXED_WORDS.contains(&name.as_str()) { value } else { redact(value, redactor) };
                (name, value)
            };
            Value::Object(fields.into_iter().map(of_field).collect())
        }
        other => other,
    }
}

/// The facts without fields that are null, empty or repeated. Some clients refuse schemas that allow null, and many show all
/// fields to the model.
pub(crate) fn structured(facts: Value) -> Value {
    match facts {
        Value::Object(fields) => {
            let informative = fields.into_iter().filter(|(name, value)| is_informative(name, value));
            Value::Object(informative.map(|(name, value)| (name, structured(value))).collect())
        }
        Value::Array(values) => values.into_iter().map(structured).collect(),
        other => other,
    }
}

fn is_informative(name: &str, value: &Value) -> bool {
    match name {
        "notices" | "missing" | "stderr_shown" => value.as_array().is_some_and(|values| !values.is_empty()),
        "shortened_lines" | "stderr_shortened_lines" | "stderr_bytes" | "stderr_lines" => *value != 0,
        // `shown` and `omitted` have the same numbers.
        "truncated" | "stderr_truncated" | "text_bytes" => false,
        _ => !value.is_null(),
    }
}

/// The size of the condensed text, and the account of the missing lines; null if the text is as it was written.
fn condensed(output: &Output) -> Value {
    output.condensed.as_ref().map_or(Value::Null, |condensed| {
        json!({
            "lines": condensed.lines,
            "bytes": condensed.text_bytes,
            "account": condensed.account,
            "filters": condensed.filters,
        })
    })
}

/// The shown parts of the text, counted in the condensed one if there is one. Lines count from 1, both ends included; bytes from 0, the end excluded.
fn shown_ranges(output: &Output) -> Value {
    match &output.clip {
        Clip::Whole(_) if output.whole_text_bytes() == 0 => json!([]),
        Clip::Whole(_) => json!([{ "lines": [1, output.text_lines()], "bytes": [0, output.whole_text_bytes()] }]),
        Clip::Cut { head, tail, .. } => [head, tail]
            .into_iter()
            .filter(|part| !part.bytes.is_empty())
            .map(|part| json!({ "lines": [part.first_line, part.last_line], "bytes": [part.range.start, part.range.end] }))
            .collect(),
    }
}

/// Lines and bytes that are not shown; null if all of them are.
fn omitted(output: &Output) -> Value {
    match &output.clip {
        Clip::Whole(_) => Value::Null,
        Clip::Cut { omitted, .. } => json!({ "lines": omitted.lines, "bytes": omitted.bytes }),
    }
}

/// The truncation as one object: direction, cause, totals, shown lines, artifact. Null if all is shown.
fn truncated(output: &Output) -> Value {
    let Some(truncation) = output.truncation() else { return Value::Null };
    json!({
        "direction": match truncation.direction {
            Direction::Head => "head",
            Direction::Tail => "tail",
            Direction::Middle => "middle",
        },
        "truncated_by": match truncation.by {
            LimitHit::Bytes => "bytes",
            LimitHit::Lines => "lines",
        },
        "total_lines": truncation.total_lines,
        "total_bytes": truncation.total_bytes,
        "output_lines": truncation.output_lines,
        "output_bytes": truncation.output_bytes,
        "shown_range": truncation.shown.iter().map(|(first, last)| json!([first, last])).collect::<Vec<_>>(),
        "artifact_id": truncation.artifact,
    })
}

/// The artifact with the raw bytes; null if there is none.
fn artifact(output: &Output) -> Value {
    let Some(artifact) = &output.artifact else { return Value::Null };
    let mut facts = json!({
        "id": artifact.id,
        "uri": format!("artifact://{}", artifact.id),
        "path": artifact.path.to_string_lossy(),
        "bytes": artifact.bytes,
        "missing": artifact.missing.iter()
            .map(|missing| json!({ "bytes": [missing.range.start, missing.range.end], "why": missing.why }))
            .collect::<Vec<_>>(),
    });
    if output.condensed.is_some() {
        facts["kind"] = RAW_OUTPUT.into();
    }
    facts
}

/// The kind of an artifact with the raw output of a command whose text is condensed.
pub(crate) const RAW_OUTPUT: &str = "bash-original";
