//! Closes a command's output once the wanted first lines have come.
//!
//! A command that ends soon after these lines keeps its exit status and all of its output. One that continues finds its
//! output closed, as with `| head`, and its exit status then does not count.

use std::num::NonZeroU64;
use std::time::Duration;

use bashful_keeper::End;
use tokio::time::Instant;

use super::StreamName;
use crate::capture::Capture;
use crate::outcome::CutOff;

/// Time for a command to end by itself after the wanted lines. Most have ended by then, and nobody minds the wait.
const GRACE: Duration = Duration::from_millis(500);

/// Bytes after the wanted lines from which on a command is not about to end: `yes` fills a disk in the time that others
/// need for a page.
const MOST_MORE: u64 = 16 << 20;

/// The wanted number of lines, and if they have come.
#[derive(Debug)]
pub(super) struct LineLimit {
    wanted: Option<u64>,
    state: LimitState,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum LimitState {
    NotYet,
    /// The wanted lines have come. Output up to this time, or this size, is kept too.
    Reached {
        due: Instant,
        bytes: u64,
    },
    Closed,
}

impl LineLimit {
    pub(super) fn new(wanted: Option<NonZeroU64>) -> Self {
        Self { wanted: wanted.map(NonZeroU64::get), state: LimitState::NotYet }
    }

    /// Counts the lines that have come on a stream.
    pub(super) fn count_lines(&mut self, stream: StreamName, capture: &Capture) {
        let Some(wanted) = self.wanted.filter(|_| stream == StreamName::Output) else { return };
        match &mut self.state {
            LimitState::NotYet if capture.ended_lines() >= wanted => {
                self.state = LimitState::Reached { due: Instant::now() + GRACE, bytes: capture.bytes() };
            }
            LimitState::Reached { due, bytes } if capture.bytes() - *bytes > MOST_MORE => *due = Instant::now(),
            _ => {}
        }
    }

    /// Time at which the output is closed; none if it is not to be.
    pub(super) fn due(&self) -> Option<Instant> {
        match self.state {
            LimitState::Reached { due, .. } => Some(due),
            LimitState::NotYet | LimitState::Closed => None,
        }
    }

    /// True if that time has come.
    pub(super) fn is_over(&self) -> bool {
        self.due().is_some_and(|due| due <= Instant::now())
    }

    /// Notes that the output was closed.
    pub(super) fn close(&mut self) {
        self.state = LimitState::Closed;
    }

    /// Replaces the end of a command whose output was closed by success, as a pipeline into `head` would.
    pub(super) fn judge(&self, end: End) -> (End, Option<CutOff>) {
        match (self.state, self.wanted, end) {
            (LimitState::Closed, Some(after_lines), End::Own(exit)) => {
                (End::Own(bashful_keeper::Exit::Code(0)), Some(CutOff { after_lines, end: exit }))
            }
            _ => (end, None),
        }
    }
}
