//! The engine's side of a command under way, whoever supervises it.
//!
//! A [`Link`] tells the engine's loop of the end of one command and takes the loop's orders. A backend makes one for each
//! command that it starts. `keeper_link.rs` has the one for commands under bashful's keeper.

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

/// The control of one command under way.
///
/// Dropping a link stops its command, unless the command has become a job. The lifetime and the grace of the plan are the
/// backend's to enforce: they hold even if nobody polls the link.
pub trait Link: Send + fmt::Debug {
    /// Waits for the end of the command. None: the backend has lost sight of it. The future may be dropped and asked for
    /// again, and nothing is lost. An end with leftovers is followed by another one if they are stopped, and by nothing
    /// otherwise.
    fn ended(&mut self) -> BoxFuture<'_, Option<Ended>>;

    /// Asks the command to stop, and kills it when the grace of its plan is over. A second call kills it at once. The end
    /// is told by [`ended`](Self::ended).
    fn stop(&mut self, why: StopReason) -> BoxFuture<'_, ()>;

    /// The last resort against a supervisor that has been silent long after the command had to be gone. False if there is
    /// nobody to kill: the command then counts as lost.
    fn kill(&mut self) -> bool {
        false
    }

    /// The process id of the supervisor, if it is a process of this machine.
    fn supervisor(&self) -> Option<i32> {
        None
    }

    /// Tells whether the command could become a job, before anything is written down for it.
    fn can_hand_over(&self) -> Result<(), NotSent> {
        Err(NotSent::Unsupported)
    }

    /// Makes a job of the command: the supervisor writes the record and reads the outputs from now on. After an error
    /// everything is as it was.
    fn hand_over<'a>(&'a mut self, _handover: Handover<'a>) -> BoxFuture<'a, Result<(), NotSent>> {
        Box::pin(std::future::ready(Err(NotSent::Unsupported)))
    }

    /// Lets the supervisor read the outputs of processes that were left behind. Without that they are closed, and whoever
    /// writes to them gets `SIGPIPE`.
    fn release<'a>(&'a mut self, _outputs: Vec<Carried<'a>>) -> BoxFuture<'a, ()> {
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

    /// Leaves the supervisor to the next command. Called after a command that ended by itself and left nothing, and after
    /// a command of a session whose shell stays.
    fn give_back(self: Box<Self>) {}
}

/// The end of a command, as its backend tells it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ended {
    /// The end of its shell.
    pub end: End,
    /// The processes of its tree that still run.
    pub left: Vec<Leftover>,
    /// True if the shell stays, as those of sessions do if they can.
    pub shell_stays: bool,
    /// The moment, as time since the start of the machine on which the engine runs.
    pub at: Duration,
}

impl Ended {
    /// An end just now of a command that left nothing.
    pub fn now(end: End) -> Self {
        Self { end, left: Vec::new(), shell_stays: false, at: bashful_sys::boot_time() }
    }
}

/// All that a supervisor needs to make a job of its command.
#[derive(Debug)]
pub struct Handover<'a> {
    /// The job.
    pub job: &'a NewJob,
    /// The reason why it is a job.
    pub kind: JobKind,
    /// The fate of processes that outlive the shell.
    pub leftovers: LeftoverPolicy,
    /// The outputs to read, standard error last.
    pub outputs: Vec<Carried<'a>>,
}

/// An output that the supervisor reads from now on.
#[derive(Debug)]
pub struct Carried<'a> {
    /// The end that the engine has read so far.
    pub from: BorrowedFd<'a>,
    /// The file to fill, or the null device.
    pub to: BorrowedFd<'a>,
    /// The absolute path of the file; none if the contents are not kept.
    pub path: Option<PathBuf>,
    /// The most bytes that the file may have.
    pub at_most: u64,
    /// The range of the output that the file lacks already.
    pub gap: Range<u64>,
}
