//! When the first lines of a command are all that is wanted.
//!
//! A command that ends soon after them is waited for: its exit status is its own, and all that it wrote is kept. One that goes
//! on finds its output closed, as it would with `head` behind it, and how it ends then says nothing about it.

use std::num::NonZeroU64;
use std::time::Duration;

use bashful_keeper::End;
use tokio::time::Instant;

use super::StreamName;
use crate::capture::Capture;
use crate::outcome::CutOff;

/// Most commands that end by themselves have ended by then, and nobody minds the wait.
const GRACE: Duration = Duration::from_millis(500);

/// A command that writes so much more is not about to end: `yes` fills a disk in the time that others need for a page.
const MORE: u64 = 16 << 20;

/// Whether all lines that are wanted have come.
#[derive(Debug)]
pub(super) struct LineLimit {
    wanted: Option<u64>,
    state: State,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    NotYet,
    /// They have; what comes until then is taken too.
    Since {
        due: Instant,
        bytes: u64,
    },
    Closed,
}

impl LineLimit {
    pub(super) fn new(wanted: Option<NonZeroU64>) -> Self {
        Self { wanted: wanted.map(NonZeroU64::get), state: State::NotYet }
    }

    /// Looks at what has come on a stream.
    pub(super) fn look(&mut self, stream: StreamName, capture: &Capture) {
        let Some(wanted) = self.wanted.filter(|_| stream == StreamName::Output) else { return };
        match &mut self.state {
            State::NotYet if capture.ended_lines() >= wanted => {
                self.state = State::Since { due: Instant::now() + GRACE, bytes: capture.bytes() };
            }
            State::Since { due, bytes } if capture.bytes() - *bytes > MORE => *due = Instant::now(),
            _ => {}
        }
    }

    /// When it is to be closed, if that is to be.
    pub(super) fn due(&self) -> Option<Instant> {
        match self.state {
            State::Since { due, .. } => Some(due),
            State::NotYet | State::Closed => None,
        }
    }

    /// Whether that time has come.
    pub(super) fn is_over(&self) -> bool {
        self.due().is_some_and(|due| due <= Instant::now())
    }

    /// Notes that it was closed.
    pub(super) fn close(&mut self) {
        self.state = State::Closed;
    }

    /// How the command ended, as a pipeline into `head` would have.
    pub(super) fn judge(&self, end: End) -> (End, Option<CutOff>) {
        match (self.state, self.wanted, end) {
            (State::Closed, Some(after_lines), End::Own(exit)) => {
                (End::Own(bashful_keeper::Exit::Code(0)), Some(CutOff { after_lines, end: exit }))
            }
            _ => (end, None),
        }
    }
}
