//! Updates of a job: its newest output while it runs, then the final text, as a foreground reply would have it.

use std::io::{self, Write};

use bashful_engine::{ByteSize, End, JobRecord, JobState, Lifetime, StopReason};
use memchr::memchr_iter;
use serde_json::{Value, json};

use super::jobs::status;
use super::replies::{CANCELLED, async_facts, end_facts, end_text, showing, timeout_facts, timeout_text};
use crate::answer::RawAnswer;
use crate::dialect::CallFacts;
use crate::job::state_text;
use crate::job_calls::JobOutput;
use crate::text::or_no_output;
use crate::updates::UpdateState;

/// Beginning of the status line that the keeper appends to the output of a job.
const STATUS_LINE: &str = "[background process";

/// The update for the current state of a job.
pub(super) fn update(job: &JobRecord, output: &JobOutput, call: &CallFacts) -> (UpdateState, RawAnswer) {
    let mut facts = timeout_facts(call);
    let Some(end) = job.end().filter(|_| job.is_over()) else {
        facts["async"] = async_facts(job, "running");
        return (UpdateState::Running, RawAnswer::new(output.text.clone(), facts));
    };
    let (state, word) = match status(job) {
        "completed" => (UpdateState::Completed, "completed"),
        _ => (UpdateState::Failed, "failed"),
    };
    facts["async"] = async_facts(job, word);
    end_facts(&mut facts, end, job.elapsed);
    let shown = without_status_line(&output.text);
    let cut = JobCut::of(job, output).map(|cut| cut.without_status_line(output.text.len() - shown.len()));
    if let Some(cut) = &cut {
        facts["meta"] = json!({ "truncation": cut.facts() });
    }
    let shown = or_no_output(shown);
    let mut text = match end {
        End::Stopped { why: StopReason::TimeUp, .. } => {
            format!("{}\n{shown}", timeout_text(Lifetime(job.lifetime)))
        }
        End::Own(_) | End::Lost | End::Stopped { why: StopReason::Mute, .. } => shown,
        End::Stopped { .. } => format!("{CANCELLED}\n{shown}"),
    };
    let mut notices = vec![format!("Wall time: {:.2} seconds", job.elapsed.as_secs_f64())];
    notices.extend(cut.map(|cut| cut.text(job)));
    notices.extend(matches!(job.state, JobState::Left { .. }).then(|| format!("[{}]", state_text(job))));
    text = format!("{}\n\n{}", text.trim_end_matches('\n'), notices.join("\n"));
    text.extend(end_text(end).map(|end| format!("\n\n{end}")));
    (state, RawAnswer { is_error: state == UpdateState::Failed, ..RawAnswer::new(text, facts) })
}

/// The output of a job without the keeper's status line.
fn without_status_line(text: &str) -> &str {
    let Some((output, line)) = text.trim_end_matches('\n').rsplit_once('\n') else {
        return if text.starts_with(STATUS_LINE) { "" } else { text };
    };
    // The keeper writes a blank line before the status line.
    if line.starts_with(STATUS_LINE) { output.strip_suffix('\n').unwrap_or(output) } else { text }
}

/// The omitted beginning of a job's output, and the totals.
pub(super) struct JobCut {
    lines_before: u64,
    bytes_before: u64,
    lines: u64,
    bytes: u64,
}

impl JobCut {
    /// Counts the lines of the whole output file. None if all of it is shown.
    pub(super) fn of(job: &JobRecord, output: &JobOutput) -> Option<Self> {
        let start = output.range.start;
        if start == 0 {
            return None;
        }
        let file = job.output().ok()?;
        let (mut before, mut all) = (LineCounter::default(), LineCounter::default());
        file.bytes(0..start, &mut before).ok()?;
        file.bytes(start..output.total, &mut all).ok()?;
        let lines = before.lines + all.lines + u64::from(all.has_open_line);
        Some(Self { lines_before: before.lines, bytes_before: start, lines, bytes: output.total })
    }

    /// Adjusts the totals to a text without the status line, of which `removed` bytes were cut.
    fn without_status_line(mut self, removed: usize) -> Self {
        if removed > 0 {
            self.lines = self.lines.saturating_sub(2).max(self.lines_before);
            self.bytes = (self.bytes + 1).saturating_sub(removed as u64).max(self.bytes_before);
        }
        self
    }

    pub(super) fn text(&self, job: &JobRecord) -> String {
        let shown = (self.lines_before + 1, self.lines);
        let left_out = ByteSize(self.bytes_before);
        let showing = showing(shown, &self.lines.to_string(), self.lines_before, left_out);
        format!("[{showing} Full: {} ({})]", job.uri(), job.output_file.display())
    }

    fn facts(&self) -> Value {
        json!({
            "direction": "tail",
            "truncatedBy": "bytes",
            "totalLines": self.lines,
            "totalBytes": self.bytes,
            "outputLines": self.lines - self.lines_before,
            "outputBytes": self.bytes - self.bytes_before,
            "shownRange": { "start": self.lines_before + 1, "end": self.lines },
        })
    }
}

/// Counts the lines of the bytes written to it.
#[derive(Default)]
struct LineCounter {
    lines: u64,
    /// The last line has no newline yet.
    has_open_line: bool,
}

impl Write for LineCounter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.lines += memchr_iter(b'\n', bytes).count() as u64;
        self.has_open_line = bytes.last().map_or(self.has_open_line, |last| *last != b'\n');
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_behind_the_output_of_a_job_is_no_part_of_it() {
        let check = |text, output| assert_eq!(without_status_line(text), output);
        check("hi\n\n[background process completed]\n", "hi");
        check("\n[background process failed: exit status: 3]\n", "");
        check("[background process completed]\n", "");
        check("a\n\n\n[background process completed]\n", "a\n");
        check("[background process completed]\nmore\n", "[background process completed]\nmore\n");
        check("", "");
    }
}
