//! The engine's side of a running command, whoever supervises it.
//!
//! A [`Link`] reports the end of one command to the engine's loop, and carries out the loop's orders. A backend makes
//! one for each command that it starts. `keeper_link.rs` has the link for commands under bashful's keeper.

use std::fmt;
use std::ops::Range;
use std::os::fd::BorrowedFd;
use std::path::PathBuf;
use std::time::Duration;

use bashful_keeper::{End, StopReason};
use tokio::sync::watch;

use crate::LeftoverPolicy;
use crate::backend::BoxFuture;
use crate::jobs::{JobKind, NewJob};
use crate::outcome::Leftover;
use crate::running::NotSent;
use crate::units::Lifetime;

/// Control of one running command.
///
/// Dropping a link stops its command, unless the command has become a job. The backend enforces the plan's lifetime and
/// grace, even if nobody polls the link.
pub trait Link: Send + fmt::Debug {
    /// Waits for the end of the command; none if the backend has lost track of it. The future may be dropped and
    /// requested again without loss. After an end with leftover processes, a second one follows if they are stopped,
    /// and otherwise none.
    fn ended(&mut self) -> BoxFuture<'_, Option<Ended>>;

    /// Stops the command: `SIGTERM`, then `SIGKILL` after the plan's grace. A second call kills it at once.
    /// [`ended`](Self::ended) reports the end.
    fn stop(&mut self, why: StopReason) -> BoxFuture<'_, ()>;

    /// Kills a supervisor that has been silent long after the command had to be gone. False if there is none to kill;
    /// the command then counts as lost.
    fn kill(&mut self) -> bool {
        false
    }

    /// Process id of the supervisor; none if it is no process of this machine.
    fn supervisor(&self) -> Option<i32> {
        None
    }

    /// Checks if the command can become a job, before any record is written.
    fn can_hand_over(&self) -> Result<(), NotSent> {
        Err(NotSent::Unsupported)
    }

    /// True if a hand-over can change the lifetime of the command.
    fn changes_lifetimes(&self) -> bool {
        false
    }

    /// Makes the command a job: the supervisor writes the record and reads the outputs from now on. After an error,
    /// everything is unchanged.
    fn hand_over<'a>(&'a mut self, _handover: Handover<'a>) -> BoxFuture<'a, Result<(), NotSent>> {
        Box::pin(std::future::ready(Err(NotSent::Unsupported)))
    }

    /// Makes the supervisor read the outputs of leftover processes. Without it the outputs are closed, and processes
    /// that write to them get `SIGPIPE`.
    fn release<'a>(&'a mut self, _outputs: Vec<OutputHandover<'a>>) -> BoxFuture<'a, ()> {
        Box::pin(std::future::ready(()))
    }

    /// Sends a signal to every process of the command, and does nothing else.
    fn signal(&mut self, _number: u8) -> BoxFuture<'_, ()> {
        Box::pin(std::future::ready(()))
    }

    /// Counts how often a signal has stopped the shell of a command with a terminal, as `Ctrl-Z` does.
    fn suspensions(&self) -> watch::Receiver<u64> {
        watch::channel(0).1
    }

    /// Tells the supervisor that the host has put its own terminal back.
    fn host_terminal_restored(&mut self) -> BoxFuture<'_, ()> {
        Box::pin(std::future::ready(()))
    }

    /// Returns the supervisor for the next command. Called after a command that ended by itself and left nothing, and
    /// after a command of a session whose shell stays.
    fn give_back(self: Box<Self>) {}
}

/// The end of a command, as its backend reports it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ended {
    /// End of its shell.
    pub end: End,
    /// Processes of its tree that still run.
    pub left: Vec<Leftover>,
    /// True if the shell stays for the next command, as that of a session does.
    pub shell_stays: bool,
    /// Time of the end, since boot of the machine on which the engine runs.
    pub at: Duration,
    /// True if the beginning of the output was lost before the engine could read it.
    pub lost_beginning: bool,
    /// True if nobody reported the exit status of a stopped command. The one in `end` only stands for it.
    pub exit_is_unknown: bool,
    /// Facts about the end that the reply has to name.
    pub notices: Vec<String>,
}

impl Ended {
    pub(crate) fn at(at: Duration, end: End, left: Vec<Leftover>, shell_stays: bool) -> Self {
        Self { end, left, shell_stays, at, lost_beginning: false, exit_is_unknown: false, notices: Vec::new() }
    }

    /// The end, now, of a command that left nothing.
    pub fn now(end: End) -> Self {
        Self::at(bashful_sys::boot_time(), end, Vec::new(), false)
    }
}

/// Everything that a supervisor needs to make its command a job.
#[derive(Debug)]
pub struct Handover<'a> {
    /// The job, whose record the engine has begun.
    pub job: &'a NewJob,
    /// Reason why the command becomes a job.
    pub kind: JobKind,
    /// Fate of processes that outlive the shell.
    pub leftovers: LeftoverPolicy,
    /// Outputs to read; standard error comes last.
    pub outputs: Vec<OutputHandover<'a>>,
    /// New lifetime of the command, from now on; none if it keeps its own. Only for a link that
    /// [changes lifetimes](Link::changes_lifetimes).
    pub lifetime: Option<Lifetime>,
}

/// An output that the supervisor reads from now on.
#[derive(Debug)]
pub struct OutputHandover<'a> {
    /// Descriptor that the engine has read until now.
    pub from: BorrowedFd<'a>,
    /// File to fill, or the null device.
    pub to: BorrowedFd<'a>,
    /// Absolute path of the file; none if the bytes are dropped.
    pub path: Option<PathBuf>,
    /// Limit on the file, in bytes.
    pub at_most: u64,
    /// Byte range of the output that the file already lacks.
    pub gap: Range<u64>,
}
