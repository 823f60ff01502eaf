//! An outcome as JSON.

use std::error::Error;
use std::path::Path;

use bashful_engine::{Clip, Direction, End, Exit, JobRecord, LimitHit, Outcome, Output, RunError, StopReason};
use bashful_sys::signal;
use serde::Serialize;
use serde_json::{Value, json};

use crate::guard::Intercepted;
use crate::print;
use crate::run::Shown;
use crate::text;

/// How a command ended, in one word.
#[derive(Debug, Clone, Copy, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Status {
    Exited,
    Signaled,
    TimedOut,
    Cancelled,
    Failed,
}

/// The facts about a command that ran.
pub(crate) fn of_outcome(outcome: &Outcome, cwd: &Path, shown: &Shown, notices: &[String]) -> Value {
    let mut facts = json!({
        "status": status(outcome.end),
        "exit_code": null,
        "signal": null,
        "duration_ms": u64::try_from(outcome.elapsed.as_millis()).unwrap_or(u64::MAX),
        "cwd": cwd.to_string_lossy(),
        "output_bytes": outcome.output.bytes,
        "output_lines": outcome.output.lines,
        "text_bytes": outcome.output.text_bytes,
        "shown": ranges(&outcome.output),
        "omitted": omitted(&outcome.output),
        "truncated": truncated(&outcome.output),
        "shortened_lines": outcome.output.shortened,
        "artifact": artifact(&outcome.output),
        "job": { "pid": outcome.pid },
        "leftover": outcome.leftover.as_ref().map(|left| json!({
            "processes": left.processes.iter()
                .map(|process| json!({ "pid": process.pid, "command": process.command })).collect::<Vec<_>>(),
            "job": left.job,
            "keeper": left.keeper,
            "output_file": left.output_file.as_ref().map(|path| path.to_string_lossy()),
        })),
        "notices": notices,
    });
    match (&outcome.stderr, &shown.stderr) {
        (Some(stderr), Some(text)) => {
            facts["stdout"] = String::from_utf8_lossy(&shown.output).into();
            facts["stderr"] = String::from_utf8_lossy(text).into();
            facts["stderr_bytes"] = stderr.bytes.into();
            facts["stderr_lines"] = stderr.lines.into();
            facts["stderr_shown"] = ranges(stderr);
            facts["stderr_omitted"] = omitted(stderr);
            facts["stderr_truncated"] = truncated(stderr);
            facts["stderr_shortened_lines"] = stderr.shortened.into();
            facts["stderr_artifact"] = artifact(stderr);
        }
        _ => facts["output"] = String::from_utf8_lossy(&shown.output).into(),
    }
    exit_facts(&mut facts, outcome.end);
    facts
}

/// How a command ended, in one word.
pub(crate) fn status(end: End) -> Status {
    match end {
        End::Own(Exit::Code(_)) => Status::Exited,
        End::Own(Exit::Signal(_)) => Status::Signaled,
        End::Stopped { why: StopReason::TimeUp, .. } => Status::TimedOut,
        End::Stopped { .. } => Status::Cancelled,
        End::Lost => Status::Failed,
    }
}

/// Adds what the system said of an end.
pub(crate) fn exit_facts(facts: &mut Value, end: End) {
    match end {
        End::Own(Exit::Code(code)) | End::Stopped { exit: Exit::Code(code), .. } => facts["exit_code"] = code.into(),
        End::Own(Exit::Signal(number)) | End::Stopped { exit: Exit::Signal(number), .. } => {
            facts["signal"] = json!({ "number": number, "name": signal::name(i32::from(number)) });
        }
        End::Lost => facts["error"] = text::LOST.into(),
    }
}

/// The facts about a command that is now a job.
pub(crate) fn of_background(job: &JobRecord, notices: &[String]) -> Value {
    let mut facts = json!({
        "status": "running",
        "cwd": job.directory.to_string_lossy(),
        "job": { "id": job.id, "uri": job.uri(), "pid": job.pid, "output_file": job.output_file.to_string_lossy() },
        "notices": notices,
    });
    // Its shell may have ended just as it became a job.
    if let Some(end) = job.end() {
        facts["status"] = json!(status(end));
        exit_facts(&mut facts, end);
    }
    facts
}

/// The facts about what did not even begin.
pub(crate) fn of_error(error: &(dyn Error + 'static)) -> Value {
    let mut facts = json!({ "status": "failed", "error": print::chain(error) });
    if let Some(RunError::Refused(refusal)) = error.downcast_ref() {
        facts["status"] = "refused".into();
        facts["findings"] = json!(refusal.verdict.findings);
    } else if let Some(Intercepted(found)) = error.downcast_ref() {
        facts["status"] = "refused".into();
        facts["suggested_tool"] = found.suggested_tool.as_str().into();
    }
    facts
}

/// Which parts of the text are shown: lines from 1, both ends included; bytes from 0, the end excluded.
fn ranges(output: &Output) -> Value {
    match &output.clip {
        Clip::Whole(_) if output.text_bytes == 0 => json!([]),
        Clip::Whole(_) => json!([{ "lines": [1, output.lines], "bytes": [0, output.text_bytes] }]),
        Clip::Cut { head, tail, .. } => [head, tail]
            .into_iter()
            .filter(|part| !part.bytes.is_empty())
            .map(|part| json!({ "lines": [part.first_line, part.last_line], "bytes": [part.range.start, part.range.end] }))
            .collect(),
    }
}

/// What is not shown.
fn omitted(output: &Output) -> Value {
    match &output.clip {
        Clip::Whole(_) => Value::Null,
        Clip::Cut { omitted, .. } => json!({ "lines": omitted.lines, "bytes": omitted.bytes }),
    }
}

/// What falls short of the whole, in one place.
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

/// Where the whole is, as it was written.
fn artifact(output: &Output) -> Value {
    match &output.artifact {
        None => Value::Null,
        Some(artifact) => json!({
            "id": artifact.id,
            "uri": format!("artifact://{}", artifact.id),
            "path": artifact.path.to_string_lossy(),
            "bytes": artifact.bytes,
            "missing": artifact.missing.iter()
                .map(|missing| json!({ "bytes": [missing.range.start, missing.range.end], "why": missing.why }))
                .collect::<Vec<_>>(),
        }),
    }
}
