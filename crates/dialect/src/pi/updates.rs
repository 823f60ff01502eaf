//! Updates about a job: its newest output while it runs, and its final text, as the foreground would have told it.

use std::io::{self, Write};

use bashful_engine::{ByteSize, End, JobRecord, JobState, Lifetime, StopReason};
use memchr::memchr_iter;
use serde_json::{Value, json};

use super::jobs::status;
use super::replies::{CANCELLED, end_facts, end_text, in_background, showing, timeout_text, times};
use crate::answer::RawAnswer;
use crate::dialect::CallFacts;
use crate::job::state_text;
use crate::job_calls::JobOutput;
use crate::text::or_none;
use crate::updates::UpdateState;

/// Begins the line by which the keeper ends the output of a job.
const LAST_LINE: &str = "[background process";

pub(super) fn update(job: &JobRecord, output: &JobOutput, call: &CallFacts) -> (UpdateState, RawAnswer) {
    let mut facts = times(call);
    let Some(end) = job.end().filter(|_| job.is_over()) else {
        facts["async"] = in_background(job, "running");
        return (UpdateState::Running, RawAnswer::new(output.text.clone(), facts));
    };
    let (state, word) = match status(job) {
        "completed" => (UpdateState::Completed, "completed"),
        _ => (UpdateState::Failed, "failed"),
    };
    facts["async"] = in_background(job, word);
    end_facts(&mut facts, end, job.elapsed);
    let shown = without_last_line(&output.text);
    let cut = JobCut::of(job, output).map(|cut| cut.without_last_line(output.text.len() - shown.len()));
    if let Some(cut) = &cut {
        facts["meta"] = json!({ "truncation": cut.facts() });
    }
    let shown = or_none(shown);
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

/// The output of a job without the line that its keeper has put behind it.
fn without_last_line(text: &str) -> &str {
    let Some((output, line)) = text.trim_end_matches('\n').rsplit_once('\n') else {
        return if text.starts_with(LAST_LINE) { "" } else { text };
    };
    // An empty line stands before it.
    if line.starts_with(LAST_LINE) { output.strip_suffix('\n').unwrap_or(output) } else { text }
}

/// The part of a job's output that is not shown.
pub(super) struct JobCut {
    lines_before: u64,
    bytes_before: u64,
    lines: u64,
    bytes: u64,
}

impl JobCut {
    /// None if all of it is shown. Counts the lines of the whole file.
    pub(super) fn of(job: &JobRecord, output: &JobOutput) -> Option<Self> {
        let start = output.range.start;
        if start == 0 {
            return None;
        }
        let file = job.output().ok()?;
        let (mut before, mut all) = (LineCount::default(), LineCount::default());
        file.bytes(0..start, &mut before).ok()?;
        file.bytes(start..output.total, &mut all).ok()?;
        let lines = before.lines + all.lines + u64::from(all.has_open_line);
        Some(Self { lines_before: before.lines, bytes_before: start, lines, bytes: output.total })
    }

    /// The same for a text from which that line was removed, with the line end before it.
    fn without_last_line(mut self, removed: usize) -> Self {
        if removed > 0 {
            self.lines = self.lines.saturating_sub(2).max(self.lines_before);
            self.bytes = (self.bytes + 1).saturating_sub(removed as u64).max(self.bytes_before);
        }
        self
    }

    pub(super) fn text(&self, job: &JobRecord) -> String {
        let shown = (self.lines_before + 1, self.lines);
        let left_out = ByteSize(self.bytes_before);
        let showing = showing(shown, self.lines, self.lines_before, left_out);
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

/// Counts the lines of what is written to it.
#[derive(Default)]
struct LineCount {
    lines: u64,
    /// The last line has no end yet.
    has_open_line: bool,
}

impl Write for LineCount {
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
        let check = |text, output| assert_eq!(without_last_line(text), output);
        check("hi\n\n[background process completed]\n", "hi");
        check("\n[background process failed: exit status: 3]\n", "");
        check("[background process completed]\n", "");
        check("a\n\n\n[background process completed]\n", "a\n");
        check("[background process completed]\nmore\n", "[background process completed]\nmore\n");
        check("", "");
    }
}
