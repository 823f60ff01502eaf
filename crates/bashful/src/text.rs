//! What a person or a model reads of an outcome.

use bashful_engine::{ByteSize, Clip, End, Exit, LeftBehind, Lifetime, Outcome, StopReason};
use bashful_sys::signal;

/// The output as it is shown: all of it, or both ends with what is left out between them.
pub(crate) fn output(outcome: &Outcome, whole: ByteSize) -> Vec<u8> {
    match &outcome.output.clip {
        Clip::Whole(bytes) => bytes.clone(),
        Clip::Cut { head, omitted, tail } => {
            let got = ByteSize(outcome.output.bytes);
            let mut text = format!("[output truncated in middle: got {got}, max is {whole}]\n").into_bytes();
            text.extend(&head.bytes);
            text.extend(b"\n\n[snip]\n\n");
            text.extend(&tail.bytes);
            if !tail.bytes.ends_with(b"\n") {
                text.push(b'\n');
            }
            text.extend(
                format!(
                    "[showing lines {}-{} and {}-{} of {}; {} lines ({} bytes) left out]\n",
                    head.first_line,
                    head.last_line,
                    tail.first_line,
                    tail.last_line,
                    outcome.output.lines,
                    omitted.lines,
                    omitted.bytes,
                )
                .into_bytes(),
            );
            text
        }
    }
}

/// What is to be said about the end; none if all went well.
pub(crate) fn end(end: End, lifetime: Lifetime) -> Option<String> {
    match end {
        End::Own(Exit::Code(0)) => None,
        End::Own(Exit::Code(code)) => Some(format!("[command failed: exit code {code}]")),
        End::Own(Exit::Signal(number)) => Some(format!("[command killed by signal {}]", signal_text(number))),
        End::Stopped { why: StopReason::TimeUp, .. } => Some(format!("[command timed out after {lifetime}]")),
        End::Stopped { why: StopReason::Cancelled, .. } => Some("[command cancelled]".to_owned()),
        End::Stopped { why, .. } => Some(format!("[command stopped: {why}]")),
        End::Lost => Some(format!("[{LOST}]")),
    }
}

/// What is known when nobody can say how a command ended.
pub(crate) const LOST: &str =
    "command lost: its keeper was killed, or part of it cannot be killed; how it ended is unknown";

/// `9 (SIGKILL)`.
pub(crate) fn signal_text(number: u8) -> String {
    match signal::name(i32::from(number)) {
        Some(name) => format!("{number} ({name})"),
        None => number.to_string(),
    }
}

/// What is to be said about processes that were left behind.
pub(crate) fn leftover(left: &LeftBehind) -> String {
    let many = if left.processes.len() == 1 { "process is" } else { "processes are" };
    let mut lines = vec![format!("[{} {many} still running", left.processes.len())];
    lines.extend(left.processes.iter().map(|process| format!("  {} {}", process.pid, process.command)));
    lines.push(match &left.output_file {
        Some(file) => format!("  what they write goes to {}", file.display()),
        None => "  what they write is not kept".to_owned(),
    });
    lines.extend(left.keeper.map(|keeper| format!("  to stop all of them: kill {keeper}")));
    lines.join("\n") + "]"
}
