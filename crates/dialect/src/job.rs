//! The record of a job as text, table row and JSON.

use std::time::{Duration, SystemTime};

use bashful_engine::{End, Exit, JobKind, JobRecord, JobState, Lifetime, PROTOCOL_VERSION, Redactor, StopReason};
use bashful_sys::signal;
use serde_json::{Value, json};

use crate::facts::{exit_facts, status};
use crate::table::Table;
use bashful_render::visible;

/// Most characters of a command in a table.
const COMMAND_SHOWN: usize = 60;

/// The facts about a job.
pub fn facts(job: &JobRecord) -> Value {
    let (left, word) = match &job.state {
        JobState::Running => (None, json!("running")),
        JobState::Left { processes, .. } if job.kind == JobKind::Leftover => (Some(processes), json!("running")),
        JobState::Left { end, processes, .. } => (Some(processes), json!(status(*end))),
        JobState::Ended(end) => (None, json!(status(*end))),
        JobState::Lost => (None, json!("lost")),
        JobState::Newer { .. } => (None, json!("unknown")),
    };
    let mut facts = json!({
        "id": job.id,
        "uri": job.uri(),
        "kind": job.kind,
        "status": word,
        "live": job.is_live(),
        "exit_code": null,
        "signal": null,
        "pid": job.pid,
        "command": job.script,
        "cwd": job.directory.to_string_lossy(),
        "output_file": job.output_file.to_string_lossy(),
        "output_bytes": job.output_file.metadata().map_or(0, |metadata| metadata.len()),
        "stderr_file": job.stderr_file.as_ref().map(|path| path.to_string_lossy()),
        "takes_input": job.takes_input,
        "lifetime_ms": milliseconds(job.lifetime),
        "duration_ms": milliseconds(job.elapsed),
        "began_unix_ms": unix_ms(job.began),
        "ended_unix_ms": job.ended.map(unix_ms),
        "leftover": left.map(|left| left.iter()
            .map(|process| json!({ "pid": process.pid, "command": process.command })).collect::<Vec<_>>()),
        "missing": job.missing().iter()
            .map(|missing| json!({
                // While the disk is full, the end is unknown.
                "bytes": [missing.range.start, Some(missing.range.end).filter(|end| *end < u64::MAX)],
                "why": missing.why,
            }))
            .collect::<Vec<_>>(),
    });
    if job.protocol != PROTOCOL_VERSION {
        // Only a keeper of another version is worth a field.
        facts["protocol"] = job.protocol.into();
    }
    if let Some(end) = job.end().filter(|_| job.is_over()) {
        exit_facts(&mut facts, end);
    }
    facts
}

/// Redacts the texts in the record of a job: script, directory and leftover processes.
pub fn redact(job: &mut JobRecord, redactor: &Redactor) {
    job.script = redactor.redact(std::mem::take(&mut job.script)).into_string();
    job.directory = redactor.redact(job.directory.to_string_lossy()).into_string().into();
    if let JobState::Left { processes, .. } = &mut job.state {
        for process in processes {
            process.command = redactor.redact(std::mem::take(&mut process.command)).into_string();
        }
    }
}

/// The state of a job: running, how it ended, or lost.
pub fn state_text(job: &JobRecord) -> String {
    let end = match &job.state {
        JobState::Running => return "running".to_owned(),
        JobState::Lost => return "lost: its keeper was killed; exit code unknown".to_owned(),
        JobState::Newer { lives: true, .. } => return "running, started by a newer bashful".to_owned(),
        JobState::Newer { lives: false, .. } => {
            return "ended; only the newer bashful that started it knows how".to_owned();
        }
        JobState::Left { end, .. } | JobState::Ended(end) => *end,
    };
    let ended = match end {
        End::Own(Exit::Code(0)) => "completed".to_owned(),
        End::Own(Exit::Code(code)) => format!("exit code {code}"),
        End::Own(Exit::Signal(number)) => match signal::name(i32::from(number)) {
            Some(name) => format!("killed by signal {number} ({name})"),
            None => format!("killed by signal {number}"),
        },
        End::Stopped { why: StopReason::TimeUp, .. } => format!("timed out after {}", Lifetime(job.lifetime)),
        End::Stopped { why: StopReason::Cancelled, .. } => "cancelled".to_owned(),
        End::Stopped { why, .. } => format!("stopped: {why}"),
        End::Lost => "part of it cannot be killed".to_owned(),
    };
    match &job.state {
        JobState::Left { count, .. } => {
            let many = if *count == 1 { "process" } else { "processes" };
            format!("{ended}, {count} {many} left running")
        }
        _ if job.kind == JobKind::Leftover => "left running, ended since".to_owned(),
        _ => ended,
    }
}

/// A note on a live job whose keeper belongs to another version of bashful: the commands that work with it.
pub fn version_note(job: &JobRecord) -> Option<String> {
    let ours = PROTOCOL_VERSION;
    match &job.state {
        JobState::Newer { lives: true, .. } => Some(format!(
            "job {} was started by a newer bashful (protocol version {}, this one speaks up to {ours}): you can read, follow, \
             wait for and stop it; for anything else, use the newer bashful",
            job.id, job.protocol
        )),
        _ if job.is_live() && job.protocol < ours => Some(format!(
            "job {} runs under an older bashful (protocol version {}); everything works, stopping it included",
            job.id, job.protocol
        )),
        _ => None,
    }
}

/// A table of jobs, one row each.
pub fn table(jobs: &[JobRecord]) -> Table<5> {
    let rows = jobs
        .iter()
        .map(|job| {
            let pid = job.pid.map_or_else(|| "-".to_owned(), |pid| pid.to_string());
            [job.id.to_string(), state_text(job), pid, whole_seconds(job.elapsed), one_line(&job.script)]
        })
        .collect();
    Table::new(["JOB", "STATE", "PID", "TIME", "COMMAND"], rows, &[2, 3])
}

/// A duration in whole seconds.
fn whole_seconds(elapsed: Duration) -> String {
    Lifetime(Duration::from_secs(elapsed.as_secs())).to_string()
}

/// The first 60 characters of a command on one line. Newlines become spaces.
pub fn one_line(script: &str) -> String {
    let flat = visible(&script.trim().replace(['\n', '\t'], " "));
    if flat.chars().count() <= COMMAND_SHOWN {
        return flat;
    }
    flat.chars().take(COMMAND_SHOWN - 1).chain(['…']).collect()
}

fn milliseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

fn unix_ms(time: SystemTime) -> u64 {
    milliseconds(time.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default())
}
