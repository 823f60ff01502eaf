//! Exit codes of the program.

use std::process::ExitCode;

use bashful_engine::{End, Exit as Ended, StopReason};

/// The exit code of the program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Exit {
    /// The exit code of the command.
    Code(u8),
    /// A signal killed the command: 128 and its number, as in shells.
    Signal(u8),
    /// The command timed out: 124, as with `timeout`.
    TimeUp,
    /// The command was refused, or bashful failed: 125.
    Failed,
}

impl Exit {
    /// The exit code for the end of a command, or for the signal that interrupted the program.
    pub(crate) fn of(end: End, interrupted: Option<u8>) -> Self {
        match end {
            End::Own(Ended::Code(code)) => Self::Code(code),
            End::Own(Ended::Signal(number)) => Self::Signal(number),
            End::Stopped { why: StopReason::TimeUp, .. } => Self::TimeUp,
            End::Stopped { why: StopReason::Mute, .. } | End::Lost => Self::Failed,
            End::Stopped { exit, .. } => match (interrupted, exit) {
                (Some(number), _) | (None, Ended::Signal(number)) => Self::Signal(number),
                (None, Ended::Code(code)) => Self::Code(code),
            },
        }
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(match exit {
            Exit::Code(code) => code,
            Exit::Signal(number) => 128_u8.saturating_add(number),
            Exit::TimeUp => 124,
            Exit::Failed => 125,
        })
    }
}
