//! The end of a command: its outcome.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use bashful_keeper::protocol::Leftover;
use bashful_keeper::{End, Exit, StopReason};
use bashful_sys::{boot_time, proc};

use super::stream::Stream;
use super::{Run, client};
use crate::backend::After;
use crate::fences;
use crate::outcome::{LeftBehind, Outcome, Output};
use crate::sessions::{Entered, SessionOutcome};
use crate::{ByteSize, LeftoverPolicy, condensing, mentions, sweeping};

impl Run {
    /// True if the leftover processes have to be stopped before the reply.
    pub(super) fn must_stop_leftovers(&self, end: End, left: &[Leftover]) -> bool {
        !left.is_empty() && end != End::Lost && self.options.leftovers == LeftoverPolicy::Stop
    }

    pub(super) async fn finish(
        &mut self,
        end: End,
        left: Vec<Leftover>,
        shell_stays: bool,
        elapsed: Duration,
    ) -> Outcome {
        self.drain();
        self.link_is_free =
            left.is_empty() && matches!(end, End::Own(_)) && !self.stop_was_sent && self.screens.own.is_none();
        let (end, elapsed) = match (self.ending.shell.take(), end) {
            // The shell had ended by itself; the stop was for its leftover processes.
            (Some((own, elapsed)), End::Stopped { .. }) => (own, elapsed),
            (_, end) => (end, elapsed),
        };
        // The processes of a session that is over are being stopped.
        let is_over = self.session.is_some() && !shell_stays;
        let leftover = if left.is_empty() || is_over { None } else { self.hand_over_leftovers(left).await };
        tracing::debug!(pid = self.pid, ?end, ?elapsed, "ended");
        if self.session.is_none() && self.options.ready > 0 {
            self.backend.prepare(&self.checked, After::Command);
        }
        self.outcome(end, leftover, elapsed, shell_stays)
    }

    pub(super) async fn lost(&mut self) -> Outcome {
        let elapsed = self.elapsed_at(boot_time());
        tracing::error!(pid = self.pid, "the keeper is gone");
        self.backend.clean_up(self.link.supervisor()).await;
        self.drain();
        self.outcome(End::Lost, None, elapsed, false)
    }

    fn outcome(&mut self, end: End, leftover: Option<LeftBehind>, elapsed: Duration, shell_stays: bool) -> Outcome {
        self.end_live_output();
        // A filter would take a missing beginning for a quiet one.
        if !self.ending.gaps.lost_beginning {
            self.condense(end, leftover.as_ref());
        }
        let (mut output, stderr) = self.outputs();
        if self.ending.gaps.lost_beginning {
            (output.artifact, output.not_saved) = (None, Some(client::BEGINNING_LOST.to_owned()));
        }
        let saved =
            self.streams.iter().filter_map(|stream| stream.capture.saved_on_disk()).reduce(|one, two| one + two);
        if let (Some(store), Some(bytes)) = (&self.options.artifacts, saved) {
            store.add_used(bytes);
            sweeping::sweep_aside_if_due(&self.options);
        }
        let (end, cut_off) = self.line_limit.judge(end);
        let elapsed = match end {
            // The keeper counts from a moment before the engine does.
            End::Stopped { why: StopReason::TimeUp, .. } => elapsed.max(self.checked.plan().lifetime.0),
            _ => elapsed,
        };
        if self.session.is_some() {
            self.link_is_free = shell_stays;
        }
        let session = self.session.take().map(|Entered { name, is_new, lost_before, has_others, .. }| SessionOutcome {
            name,
            is_new,
            lost_before,
            shell_stays,
            has_others,
            directory: self.checked.plan().directory.clone(),
            now_in: self.pid.filter(|_| shell_stays).and_then(proc::directory_of).map(without_mark),
        });
        let has_failed = match end {
            End::Own(exit) => exit != Exit::Code(0),
            // The command may have waited for a variable that it lacked.
            End::Stopped { why, .. } => why == StopReason::TimeUp,
            End::Lost => false,
        };
        let fence = self.checked.plan().fence.clone();
        let mut notices = std::mem::take(&mut self.ending.notices);
        if let (Some(fence), true) = (&fence, has_failed) {
            let directory = &self.checked.plan().directory;
            let outputs = std::iter::once(&output).chain(&stderr);
            let refused = self.options.sandbox.iter().flat_map(|sandbox| sandbox.refused.since(self.began));
            notices.extend(refused);
            notices.extend(outputs.flat_map(|output| fences::denials_in(fence, &output.text(), directory)));
        }
        let missed = if has_failed { self.missing_variables(&output, stderr.as_ref()) } else { Vec::new() };
        Outcome {
            end,
            output,
            stderr,
            leftover,
            elapsed,
            pid: self.pid,
            cut_off,
            session,
            missed,
            client_terminal: self.screens.client.as_ref().map(|client| Arc::clone(&client.terminal_id)),
            lost_beginning: self.ending.gaps.lost_beginning,
            exit_is_unknown: self.ending.gaps.exit_is_unknown,
            notices,
            fence,
        }
    }

    /// Names of withheld variables that the command may have needed.
    fn missing_variables(&self, output: &Output, stderr: Option<&Output>) -> Vec<String> {
        let plan = self.checked.plan();
        let shown: Vec<_> = std::iter::once(&output.clip).chain(stderr.map(|stderr| &stderr.clip)).collect();
        mentions::mentioned(&plan.environment.withheld, plan.script.as_bytes(), &shown)
    }

    /// Condenses the output of a known command. Of split streams, one has to be empty: otherwise nobody knows the order
    /// of the lines. Streams that were split for a `| head` are left alone, as those of every pipe.
    fn condense(&mut self, end: End, leftover: Option<&LeftBehind>) {
        let Some(exit_code) = condensing::exit_code(end, leftover) else { return };
        let plan = self.checked.plan();
        if self.streams.len() > 1 && plan.lines.is_some() {
            return;
        }
        let mut written = self.streams.iter_mut().filter(|stream| stream.capture.bytes() > 0);
        if let (Some(stream), None) = (written.next(), written.next()) {
            let shorten = |text: &str| self.options.condensing.shorten(plan.given_script(), text, exit_code);
            stream.capture.condense(&self.mask, shorten);
        }
    }

    /// Sends listeners the unfinished last line, and then the end of the stream.
    pub(super) fn end_live_output(&mut self) {
        if self.is_watched() {
            self.publish_live();
        }
        let Some(mut feed) = self.feed.take() else { return };
        for Stream { name, capture, .. } in &self.streams {
            feed.push(*name, &capture.unfinished_line());
        }
    }

    /// Output written so far, and stderr if the streams are split.
    pub(super) fn outputs(&mut self) -> (Output, Option<Output>) {
        let limit = self.checked.plan().window.limit();
        let mut outputs: Vec<Output> = self.outputs_within(&[limit; 2]);
        // Streams that are split only because of a line limit are shown as one text, and share its limit.
        if let (Some(_), [output, stderr]) = (self.checked.plan().lines, outputs.as_slice()) {
            let sizes = [output.clip.text_bytes(), stderr.clip.text_bytes()];
            if sizes.iter().sum::<u64>() > limit.0 {
                let rest = |other: u64| ByteSize(limit.0 - other.min(limit.0 / 2));
                outputs = self.outputs_within(&[rest(sizes[1]), rest(sizes[0])]);
            }
        }
        let mut outputs = outputs.into_iter().map(|output| Output { limit, ..output });
        let mut output = outputs.next().expect("every command has one stream at least");
        if self.screens.own.is_some() {
            // Every terminal ends lines so.
            output.changes.crlf_lines = 0;
        }
        (Output { wanted: self.checked.plan().lines, ..output }, outputs.next())
    }

    /// The outputs, each with at most this much text.
    fn outputs_within(&mut self, limits: &[ByteSize; 2]) -> Vec<Output> {
        let with_limits = self.streams.iter_mut().zip(limits);
        with_limits.map(|(stream, limit)| stream.capture.output(&self.mask, *limit)).collect()
    }
}

/// The path of a directory that may have been removed: the kernel marks its name.
fn without_mark(path: PathBuf) -> PathBuf {
    match path.as_os_str().as_bytes().strip_suffix(b" (deleted)") {
        Some(removed) if !path.exists() => OsStr::from_bytes(removed).into(),
        _ => path,
    }
}
