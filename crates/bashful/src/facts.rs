//! An outcome as JSON.

use std::path::Path;

use bashful_engine::{Clip, End, Exit, Outcome, StopReason};
use bashful_sys::signal;
use serde::Serialize;
use serde_json::{Value, json};

use crate::text;

/// How a command ended, in one word.
#[derive(Debug, Clone, Copy, Serialize)]
#[serde(rename_all = "snake_case")]
enum Status {
    Exited,
    Signaled,
    TimedOut,
    Cancelled,
    Failed,
}

/// The facts about a command that ran.
pub(crate) fn of_outcome(outcome: &Outcome, cwd: &Path, shown: &[u8], notices: &[String]) -> Value {
    let (status, exit) = match outcome.end {
        End::Own(exit @ Exit::Code(_)) => (Status::Exited, Some(exit)),
        End::Own(exit @ Exit::Signal(_)) => (Status::Signaled, Some(exit)),
        End::Stopped { why: StopReason::TimeUp, exit } => (Status::TimedOut, Some(exit)),
        End::Stopped { exit, .. } => (Status::Cancelled, Some(exit)),
        End::Lost => (Status::Failed, None),
    };
    let mut facts = json!({
        "status": status,
        "exit_code": null,
        "signal": null,
        "duration_ms": u64::try_from(outcome.elapsed.as_millis()).unwrap_or(u64::MAX),
        "cwd": cwd.to_string_lossy(),
        "output_bytes": outcome.output.bytes,
        "output_lines": outcome.output.lines,
        "shown": ranges(outcome),
        "job": { "pid": outcome.pid },
        "leftover": outcome.leftover.as_ref().map(|left| json!({
            "processes": left.processes.iter()
                .map(|process| json!({ "pid": process.pid, "command": process.command })).collect::<Vec<_>>(),
            "keeper": left.keeper,
            "output_file": left.output_file,
        })),
        "notices": notices,
        "output": String::from_utf8_lossy(shown),
    });
    match exit {
        Some(Exit::Code(code)) => facts["exit_code"] = code.into(),
        Some(Exit::Signal(number)) => {
            facts["signal"] = json!({ "number": number, "name": signal::name(i32::from(number)) });
        }
        None => facts["error"] = text::LOST.into(),
    }
    facts
}

/// The facts about a command that did not run.
pub(crate) fn of_failure(status: &str, error: &str) -> Value {
    json!({ "status": status, "error": error })
}

/// Which parts of the output are shown: lines from 1, both ends included; bytes from 0, the end excluded.
fn ranges(outcome: &Outcome) -> Value {
    match &outcome.output.clip {
        Clip::Whole(_) if outcome.output.bytes == 0 => json!([]),
        Clip::Whole(_) => json!([{ "lines": [1, outcome.output.lines], "bytes": [0, outcome.output.bytes] }]),
        Clip::Cut { head, tail, .. } => [head, tail]
            .map(|part| json!({ "lines": [part.first_line, part.last_line], "bytes": [part.range.start, part.range.end] }))
            .into_iter()
            .collect(),
    }
}
