//! What the program's own exit codes mean.

use std::process::ExitCode;

use bashful_engine::{End, Exit as Ended, StopReason};

/// How the program ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Exit {
    /// As the command did.
    Code(u8),
    /// The command was ended by this signal: 128 and its number, as shells do it.
    Signal(u8),
    /// The command's time was up: 124, as `timeout` does it.
    TimeUp,
    /// It was refused, or we failed: 125.
    Failed,
}

impl Exit {
    /// The end of a command, or the signal by which somebody asked this program to end.
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
