//! The texts about a command: its output, its end, and notices. Dialects and the command-line program share them.

use std::time::Duration;

use bashful_engine::{
    ArtifactFacts, Budget, ByteSize, Changes, Clip, CutOff, End, Exit, JobRecord, LeftBehind, Lifetime, LimitHit,
    Outcome, Output, SessionName, SessionOutcome, ShownSoFar, StopReason,
};
use bashful_sys::signal;
use serde_json::Value;

use crate::job::state_text;
use bashful_render::visible;

/// The reader of a text. Decides which commands a notice can recommend.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reader {
    /// A person at a terminal, who can run `bashful`.
    Program,
    /// A model with the tools of the native dialect. It may not have the program.
    Tools,
    /// A model with the tools of pi.
    Pi,
}

/// The shown text of an output: all of it, or its beginning and end with a note of the omitted part. A condensed text ends
/// with the account of the missing lines.
pub fn output(output: &Output, whole: Budget, reader: Reader) -> Vec<u8> {
    let mut text = clipped(output, whole, reader);
    if let Some(lines) = output.condensed_lines() {
        if !text.is_empty() && !text.ends_with(b"\n") {
            text.push(b'\n');
        }
        text.extend(format!("{lines}\n").into_bytes());
    }
    text
}

fn clipped(output: &Output, whole: Budget, reader: Reader) -> Vec<u8> {
    if let Some(binary) = binary(output).filter(|_| reader == Reader::Tools) {
        return format!("[{binary}]\n").into_bytes();
    }
    let (head, omitted, tail) = match &output.clip {
        Clip::Whole(bytes) => return bytes.clone(),
        Clip::Cut { head, omitted, tail } => (head, omitted, tail),
    };
    if output.wanted.is_some() {
        // The caller asked for these lines, so no truncation warning stands before them.
        let mut text = [head.bytes.as_slice(), &tail.bytes].concat();
        if !text.ends_with(b"\n") {
            text.push(b'\n');
        }
        let shown = if reader == Reader::Tools { wanted_lines(output) } else { shown_ranges(output, reader) };
        text.extend(format!("[{shown}]\n").into_bytes());
        return text;
    }
    let (got, most) = match omitted.by {
        LimitHit::Lines => (format!("{} lines", output.text_lines()), format!("{}", whole.lines.unwrap_or_default())),
        // Redaction and U+FFFD take more room than the bytes that they stand for.
        LimitHit::Bytes if output.whole_text_bytes() <= whole.bytes.0 => {
            (format!("{} (more as text)", ByteSize(output.whole_text_bytes())), whole.bytes.to_string())
        }
        LimitHit::Bytes => sizes(ByteSize(output.whole_text_bytes()), whole.bytes),
    };
    let mut text = match (head.bytes.is_empty(), tail.bytes.is_empty()) {
        // Tools that show only the beginning mark the cut at its end.
        (_, true) => [head.bytes.as_slice(), b"... (truncated)"].concat(),
        (true, false) => [format!("[output truncated: got {got}, max is {most}]\n").as_bytes(), &tail.bytes].concat(),
        (false, false) => {
            let first = format!("[output truncated in middle: got {got}, max is {most}]\n");
            [first.as_bytes(), &head.bytes, b"\n\n[snip]\n\n", &tail.bytes].concat()
        }
    };
    if !text.ends_with(b"\n") {
        text.push(b'\n');
    }
    text.extend(format!("[{}]\n", shown_ranges(output, reader)).into_bytes());
    text
}

/// Texts of two sizes. Sizes that look the same when rounded are written to the byte.
fn sizes(one: ByteSize, other: ByteSize) -> (String, String) {
    let (short, other_short) = (one.to_string(), other.to_string());
    if short == other_short { (format!("{} bytes", one.0), format!("{} bytes", other.0)) } else { (short, other_short) }
}

/// Bytes of output that a model can look at even if they are no text.
const BINARY_SHOWN: u64 = 1024;

/// What stands for output that is no text, if an artifact has it: its size and its place. Marks in place of bytes help nobody.
pub(crate) fn binary(output: &Output) -> Option<String> {
    let Changes { nuls, controls, .. } = output.changes;
    let artifact = output.artifact.as_ref().filter(|artifact| missing(artifact).is_none())?;
    // Text with NULs between its parts (`find -print0`) has no control characters, and colors come without NULs.
    let is_binary = output.bytes > BINARY_SHOWN && nuls > 0 && controls.saturating_mul(20) >= output.bytes;
    let size = ByteSize(output.bytes);
    is_binary.then(|| format!("binary output: {size}; all: artifact://{}, {}", artifact.id, artifact.path.display()))
}

/// Lines that the caller asked for, and the artifact with all of them.
fn wanted_lines(output: &Output) -> String {
    let shown = format!("{} of {}", line_ranges(output), total_lines(output));
    match &output.artifact {
        Some(artifact) if missing(artifact).is_none() => format!("{shown}; all: artifact://{}", artifact.id),
        _ => saved_text(output, |_| String::new()).map_or(shown.clone(), |saved| format!("{shown}; {saved}")),
    }
}

/// `lines 1-3 and 8-9`.
fn line_ranges(output: &Output) -> String {
    let Clip::Cut { head, tail, .. } = &output.clip else { return String::new() };
    let shown = [head, tail].into_iter().filter(|part| !part.bytes.is_empty());
    let parts: Vec<String> = shown.map(|part| format!("{}-{}", part.first_line, part.last_line)).collect();
    if parts.is_empty() { "no lines".to_owned() } else { format!("lines {}", parts.join(" and ")) }
}

/// The shown lines, the omitted bytes, and the artifact with all of it.
fn shown_ranges(output: &Output, reader: Reader) -> String {
    let Clip::Cut { omitted, .. } = &output.clip else { return String::new() };
    let shown = line_ranges(output);
    let mut text = format!("showing {shown} of {} ({} bytes omitted)", total_lines(output), omitted.bytes);
    let place = |artifact: &ArtifactFacts| match reader {
        Reader::Program => format!(", `bashful artifacts show {}`", artifact.id),
        Reader::Tools | Reader::Pi => format!(", {}", artifact.path.display()),
    };
    if let Some(saved) = saved_text(output, place) {
        text = format!("{text}; {saved}");
    }
    text
}

/// The number of lines that a shown range counts in: `12`, or `12 condensed lines`.
pub(crate) fn total_lines(output: &Output) -> String {
    let lines = output.text_lines();
    if output.condensed.is_some() { format!("{lines} condensed lines") } else { lines.to_string() }
}

/// The artifact with the raw output, and the bytes that it lacks. None if the engine saves no output.
fn saved_text(output: &Output, place: impl FnOnce(&ArtifactFacts) -> String) -> Option<String> {
    let Some(artifact) = &output.artifact else {
        return output.not_saved.as_ref().map(|why| format!("{NOT_SAVED}: {why}"));
    };
    let (id, place) = (artifact.id, place(artifact));
    Some(match missing(artifact) {
        None => format!("full output: artifact://{id}{place}"),
        Some(missing) => format!("{NOT_SAVED}: artifact://{id}{place} lacks {missing}"),
    })
}

/// Tells that the whole of a cut output is not on disk, and why. None if it is, or if the engine saves no output.
pub(crate) fn not_saved_notice(output: &Output) -> Option<String> {
    let is_cut = matches!(output.clip, Clip::Cut { .. });
    let is_saved = output.artifact.as_ref().is_some_and(|artifact| missing(artifact).is_none());
    saved_text(output, |_| String::new()).filter(|_| is_cut && !is_saved)
}

/// First words of every notice about output that an artifact lacks.
pub(crate) const NOT_SAVED: &str = "Full output was not saved completely";

/// The byte ranges that an artifact lacks, each with its reason. None if the artifact is complete.
pub(crate) fn missing(artifact: &ArtifactFacts) -> Option<String> {
    let missing = artifact.missing.iter();
    let parts: Vec<String> =
        missing.map(|part| format!("bytes {}-{} ({})", part.range.start, part.range.end, part.why)).collect();
    (!parts.is_empty()).then(|| parts.join(" and "))
}

/// Invisible differences between the shown text and the written bytes, in one sentence. None if there are none.
pub(crate) fn cleaning_notice(output: &Output) -> Option<String> {
    let Changes { crlf_lines, nuls, controls } = output.changes;
    let count = |count: u64, one: &str, many: &str| format!("{count} {}", if count == 1 { one } else { many });
    let invalid = output.clip.invalid_sequences();
    let parts: Vec<String> = [
        (crlf_lines > 0).then(|| match crlf_lines {
            all if all == output.lines => "all lines end in CRLF, shown as LF".to_owned(),
            some => format!("{some} of {} lines end in CRLF, shown as LF", output.lines),
        }),
        (nuls > 0).then(|| count(nuls, "NUL is shown as ␀", "NULs are shown as ␀")),
        (controls > 0).then(|| count(controls, "control character is removed", "control characters are removed")),
        (invalid > 0)
            .then(|| count(invalid, "sequence is not UTF-8, shown as �", "sequences are not UTF-8, shown as �")),
    ]
    .into_iter()
    .flatten()
    .collect();
    (!parts.is_empty()).then(|| parts.join("; "))
}

/// Notices about an output: differences between text and bytes, and the artifact where [`output`] does not name it.
pub fn output_notices(output: &Output) -> Vec<String> {
    let is_cut = matches!(output.clip, Clip::Cut { .. });
    // A condensed text names its artifact itself.
    let saved = saved_text(output, |_| String::new()).filter(|_| !is_cut && output.condensed.is_none());
    let shortened = (output.shortened > 0).then(|| {
        let lines = if output.shortened == 1 { "line was" } else { "lines were" };
        let saved = saved.as_ref().map(|saved| format!("; {saved}")).unwrap_or_default();
        format!("{} {lines} shortened{saved}", output.shortened)
    });
    let is_changed = output.bytes != output.text_bytes;
    let raw = saved.filter(|_| is_changed && shortened.is_none());
    let raw = raw.map(|saved| format!("{} before cleaning; {saved}", ByteSize(output.bytes)));
    cleaning_notice(output).into_iter().chain(shortened).chain(raw).collect()
}

/// Notices about the session of a command: restarted, ended, or a second shell of the same name.
pub fn session_notices(outcome: &Outcome) -> Vec<String> {
    let Some(SessionOutcome { name, is_new, lost_before, has_others, shell_stays, .. }) = &outcome.session else {
        return Vec::new();
    };
    let name = name.as_given();
    let lost = lost_before.as_ref().map(|why| {
        format!("session {name:?} was restarted before this command ({why}); its variables, functions and directory are gone")
    });
    // The keeper of a lost command is gone, and with it the only witness of its shell.
    let over = (!shell_stays && outcome.end != End::Lost)
        .then(|| format!("the shell of session {name:?} has ended; the next command starts a new one"));
    let others = (*is_new && *has_others && lost.is_none()).then(|| {
        format!(
            "session {name:?} has another shell for other variables or rc files; this is a new shell without its state"
        )
    });
    lost.into_iter().chain(others).chain(over).collect()
}

/// Names the withheld variables that a failed command may have needed, and the setting that passes them.
pub fn withheld_notice(outcome: &Outcome) -> Option<String> {
    let (are, them) = if outcome.missed.len() == 1 { ("is", "it") } else { ("are", "them") };
    let (names, list) = (outcome.missed.join(", "), Value::from(outcome.missed.clone()));
    let notice =
        format!("{names} {are} withheld from commands; the user can pass {them}: [environment] allow = {list}");
    (!outcome.missed.is_empty()).then_some(notice)
}

/// The notice about a session whose shell went to the background with its command.
pub fn session_left(job: &JobRecord, so_far: &ShownSoFar) -> Option<String> {
    let name = so_far.session.as_ref()?.as_str();
    Some(format!("the shell of session {name:?} stays with job {}; the next command starts a new one", job.id))
}

/// The line about how a command ended; none for exit code 0.
pub fn end(end: End, lifetime: Lifetime) -> Option<String> {
    match end {
        End::Own(Exit::Code(0)) => None,
        End::Own(Exit::Code(code)) => Some(format!("[command failed: exit code {code}]")),
        End::Own(Exit::Signal(number)) => Some(format!("[command killed by signal {}]", signal_text(number))),
        End::Stopped { why: StopReason::TimeUp, .. } => Some(format!("[command timed out after {:?}]", lifetime.0)),
        End::Stopped { why: StopReason::Cancelled, .. } => Some("[command cancelled]".to_owned()),
        End::Stopped { why, .. } => Some(format!("[command stopped: {why}]")),
        End::Lost => Some(format!("[{LOST}]")),
    }
}

/// The text about a command whose exit code nobody knows.
pub const LOST: &str = "command lost: its keeper was killed, or part of it cannot be killed; exit code unknown";

/// The text about this command, whose exit code nobody knows.
pub fn lost(outcome: &Outcome) -> &'static str {
    match &outcome.client_terminal {
        Some(_) => "command lost: the client did not report how it ended; exit code unknown",
        None => LOST,
    }
}

/// Number and name of a signal: `9 (SIGKILL)`.
fn signal_text(number: u8) -> String {
    match signal::name(i32::from(number)) {
        Some(name) => format!("{number} ({name})"),
        None => number.to_string(),
    }
}

/// The reply to a background start: job id, process id, output file, and how to stop it.
pub fn background(job: &JobRecord, reader: Reader) -> String {
    let id = job.id;
    // The signal of the reminder reaches one process group; this command reaches the whole process tree.
    let better = match reader {
        Reader::Program => {
            return format!(
                "job {id}\n  follow it:  bashful jobs logs -f {id}\n  stop it:    bashful jobs kill {id}\n"
            );
        }
        Reader::Tools => format!("job tool, action \"kill\", ids [{id}]"),
        Reader::Pi => format!("job tool, cancel: [\"bg_{id}\"]"),
    };
    let pid = job.pid.map(|pid| pid.to_string()).unwrap_or_default();
    let stderr = job.stderr_file.as_ref().map(|file| format!("<stderr_file>{}</stderr_file>\n", file.display()));
    format!(
        "<pid>{pid}</pid>\n<output_file>{}</output_file>\n{}<reminder>To stop: kill -9 -{pid}</reminder>\n<job>{id}</job>\n[to stop all of it: {better}]\n",
        job.output_file.display(),
        stderr.unwrap_or_default(),
    )
}

/// The notice about a command that outlasted its call and became a job.
pub fn still_running(job: &JobRecord, reader: Reader) -> String {
    let id = job.id;
    if job.end().is_some() {
        // The shell ended at this moment and left processes behind.
        return format!("now job {id}: {}", state_text(job));
    }
    let how = match reader {
        Reader::Program => format!("bashful jobs wait {id}"),
        Reader::Tools => format!("job tool, action \"wait\", ids [{id}]"),
        Reader::Pi => format!("job tool, poll: [\"bg_{id}\"]"),
    };
    format!(
        "still running after {}, now job {id}; do not start it again; to wait: {how}",
        Lifetime(tenths(job.elapsed))
    )
}

/// The duration cut to tenths of a second.
fn tenths(duration: Duration) -> Duration {
    Duration::from_millis(u64::try_from(duration.as_millis() / 100 * 100).unwrap_or(u64::MAX))
}

/// Most leftover processes that a reply names. The job lists all of them.
pub(crate) const LEFT_NAMED: usize = 20;

/// Most bytes of leftover processes' command lines in a reply.
const LEFT_BYTES: usize = 1200;

/// The notice about processes that a command left running: their output file, and how to stop them.
pub fn leftover(left: &LeftBehind, reader: Reader) -> String {
    let many = if left.processes.len() == 1 { "process is" } else { "processes are" };
    let mut lines = vec![format!("[{} {many} still running", left.processes.len())];
    let mut room = LEFT_BYTES;
    let named = left
        .processes
        .iter()
        .take(LEFT_NAMED)
        .map(|process| format!("  {} {}", process.pid, visible(&process.command)));
    lines.extend(named.take_while(|line| {
        let fits = line.len() <= room;
        room = room.saturating_sub(line.len());
        fits
    }));
    let more = left.processes.len() - (lines.len() - 1);
    lines.extend((more > 0).then(|| format!("  and {more} more")));
    let (their, them) = if left.processes.len() == 1 { ("its", "it") } else { ("their", "them") };
    lines.push(match &left.output_file {
        Some(file) => format!("  {their} output continues in {}", file.display()),
        None => format!("  {their} output is not kept"),
    });
    lines.extend(match (left.job, left.keeper) {
        _ if left.session.is_some() => left.session.as_ref().map(SessionName::as_str).map(|name| match reader {
            Reader::Program => format!("  part of session {name:?}; end it with: bashful sessions end {name:?}"),
            Reader::Tools | Reader::Pi => {
                format!("  part of session {name:?}; stop {them} there with kill")
            }
        }),
        (Some(job), _) => Some(match reader {
            Reader::Program => format!("  now job {job}; stop {them} with: bashful jobs kill {job}"),
            Reader::Tools => format!("  now job {job}; to stop {them}: job tool, action \"kill\", ids [{job}]"),
            Reader::Pi => format!("  now job bg_{job}; to stop {them}: job tool, cancel: [\"bg_{job}\"]"),
        }),
        (None, keeper) => keeper.map(|keeper| format!("  stop {them} with: kill {keeper}")),
    });
    lines.join("\n") + "]"
}

/// The shown text of both streams, standard error first. The streams are apart only where a line limit holds for standard output.
pub fn outputs(of: &Output, stderr: Option<&Output>, whole: Budget, reader: Reader) -> Vec<u8> {
    let mut text = stderr.map(|stderr| output(stderr, whole, reader)).unwrap_or_default();
    let rest = output(of, whole, reader);
    if !text.is_empty() && !rest.is_empty() && !text.ends_with(b"\n") {
        text.push(b'\n');
    }
    text.extend(rest);
    text
}

/// The notice about a command whose output was closed after a line limit, as `head` would.
pub fn cut_off(cut: &CutOff) -> String {
    let lines = if cut.after_lines == 1 { "line" } else { "lines" };
    let how = match cut.end {
        Exit::Code(code) => format!("exit code {code}"),
        Exit::Signal(number) => format!("signal {}", signal_text(number)),
    };
    format!("stopped reading after {} {lines}, as `head` would; the resulting {how} is ignored", cut.after_lines)
}

/// The notice about a command with a line limit that became a job.
pub const LIMIT_ENDED: &str = "the line limit no longer applies: the job's file gets all output";

/// The notice about a background start with a line limit.
pub(crate) const LIMIT_IGNORED: &str =
    "head and tail do not apply to a background job; poll shows the end of its output";

/// Appends a text that begins on its own line.
pub(crate) fn add_line(text: &mut String, line: &str) {
    if !text.is_empty() && !text.ends_with('\n') {
        text.push('\n');
    }
    text.push_str(line);
}

/// The text, or `(no output)`: an empty reply would look as if the command never ran.
pub(crate) fn or_no_output(text: &str) -> String {
    if text.is_empty() { "(no output)".to_owned() } else { text.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_timeout_is_told_in_seconds_however_long_it_was() {
        let time_up = End::Stopped { why: StopReason::TimeUp, exit: Exit::Signal(15) };
        let said = |seconds| end(time_up, Lifetime(Duration::from_secs_f64(seconds)));
        assert_eq!(said(30.0).as_deref(), Some("[command timed out after 30s]"));
        assert_eq!(said(900.0).as_deref(), Some("[command timed out after 900s]"));
        assert_eq!(said(2.5).as_deref(), Some("[command timed out after 2.5s]"));
    }
}
