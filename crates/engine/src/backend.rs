//! Where commands run.
//!
//! Another host, a container or a sandbox program is another [`Backend`]; a command that runs there is a [`Link`] and its
//! [`Outputs`]. [`Engine::with_backend`](crate::Engine::with_backend) takes one from outside of this crate.

use std::future::Future;
use std::io;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::sync::Arc;

use bashful_sys::pipe;
use thiserror::Error;
use tokio::time::Instant;

use crate::check::Checked;
use crate::jobs::NewJob;
use crate::link::Link;
use crate::plan::PlanError;
use crate::promises::Promises;
use crate::sessions::{Entered, InSession, SessionStore};

/// A place where commands can be started.
///
/// It takes nothing that was not checked:
///
/// ```compile_fail,E0308
/// # fn demo(backend: &dyn bashful_engine::Backend, plan: bashful_engine::Plan) {
/// backend.start(&plan); // a `Plan` is not a `Checked`
/// # }
/// ```
///
/// Only the first four methods are needed. The others are abilities that a backend may lack: callers then get an error
/// that says so.
pub trait Backend: Send + Sync {
    /// The absolute path of the directory in which a command runs that asks for `asked`, or for none, seen from `base`; an
    /// error if no command can run there. [`working_directory`](crate::working_directory) does that for this machine.
    ///
    /// Must not wait for a network: a backend that cannot look at once returns the path, and tells of a directory that is
    /// missing from [`start`](Self::start).
    fn working_directory(&self, base: &Path, asked: Option<&Path>) -> Result<PathBuf, PlanError>;

    /// True if this absolute path leads to a directory, whoever may enter it. A leading `cd` of a script is taken out of it only
    /// if it would succeed. False where nobody can tell: the script then keeps its `cd`.
    fn is_directory(&self, path: &Path) -> bool;

    /// Starts a command. Dropping the future stops what it had started.
    fn start<'a>(&'a self, checked: &'a Checked) -> BoxFuture<'a, Result<Attached, StartError>>;

    /// The promises that hold here.
    fn promises(&self) -> Promises;

    /// Starts a command as a job: it does not depend on us, and its supervisor writes the job's record. Dropping the future
    /// stops what it had started.
    fn start_job<'a>(&'a self, _checked: &'a Checked, _job: &'a NewJob) -> BoxFuture<'a, Result<(), StartError>> {
        Box::pin(std::future::ready(Err(StartError::JobsUnsupported)))
    }

    /// Hands a command to its session, which is started if it is not there. If its turn has not come when `turn_by` is over,
    /// nothing of it is done. Dropping the future, or what it gives, stops the command, and not the session.
    fn enter<'a>(
        &'a self,
        _checked: &'a Checked,
        _at: &'a InSession,
        _store: &'a Arc<SessionStore>,
        _turn_by: Option<Instant>,
    ) -> BoxFuture<'a, Result<Attached, StartError>> {
        Box::pin(std::future::ready(Err(StartError::SessionsUnsupported)))
    }

    /// Makes preparations for commands like this one, so that the next starts sooner. Never needed, never in the way.
    fn prepare(&self, _checked: &Checked, _after: After) {}

    /// How many of those preparations this very command could use now.
    fn ready_for(&self, _checked: &Checked) -> usize {
        0
    }

    /// Ends what this supervisor has left of its tree, once it has ended itself; returns when nothing is left.
    fn clean_up(&self, _supervisor: Option<i32>) -> BoxFuture<'_, ()> {
        Box::pin(std::future::ready(()))
    }
}

/// A future behind a trait.
pub type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// A command under way: its link, and its output.
///
/// Dropping it drops the link, which stops the command.
#[derive(Debug)]
pub struct Attached {
    pub(crate) link: Box<dyn Link>,
    pub(crate) outputs: Outputs,
    /// None if the supervisor was gone before it could tell.
    pub(crate) pid: Option<i32>,
    /// How it came into its session, if it runs in one.
    pub(crate) session: Option<Entered>,
}

impl Attached {
    /// A command that a backend has started. Reading its outputs never blocks from now on. The process id is the shell's,
    /// if it has one on this machine.
    pub fn new(link: Box<dyn Link>, outputs: Outputs, pid: Option<i32>) -> io::Result<Self> {
        match &outputs {
            Outputs::Combined(output) | Outputs::Terminal(output) => pipe::set_nonblocking(output)?,
            Outputs::Split { stdout, stderr } => {
                pipe::set_nonblocking(stdout)?;
                pipe::set_nonblocking(stderr)?;
            }
        }
        Ok(Self { link, outputs, pid, session: None })
    }

    /// The same command, in a session.
    #[must_use]
    pub fn in_session(self, entered: Entered) -> Self {
        Self { session: Some(entered), ..self }
    }
}

/// The ends from which the engine reads the output of a command.
#[derive(Debug)]
pub enum Outputs {
    /// One pipe for both streams, in their true order.
    Combined(OwnedFd),
    /// One pipe for each stream.
    Split {
        /// Standard output.
        stdout: OwnedFd,
        /// Standard error.
        stderr: OwnedFd,
    },
    /// The outside end of a terminal, which carries both streams in their true order. It ends when the last process has closed
    /// the inside end; the backend must not hold that.
    Terminal(OwnedFd),
}

/// When preparations are made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum After {
    /// The host knows that such commands will come: as many as can be.
    Request,
    /// Such a command has just ended: as many as can be if the one before was alike, and otherwise one, so that commands which
    /// take turns leave room for each other.
    Command,
}

/// Why a command could not be started. Nothing of it was done.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum StartError {
    /// This process has as many descriptors open as it may.
    #[error(
        "cannot start the command: this program has no file descriptors left (limit {limit}); wait for others to end, or raise `ulimit -n`"
    )]
    Descriptors {
        /// How many it may have.
        limit: u64,
        /// What the system said.
        source: std::io::Error,
    },
    /// The user has as many processes as they may.
    #[error(
        "cannot start the command: no more processes can be made; end some, or raise `ulimit -u` or the container's pids limit"
    )]
    Processes {
        /// What the system said.
        source: std::io::Error,
    },
    /// The shell is not there.
    #[error("cannot start the command: {shell} cannot be run")]
    Shell {
        /// Its path.
        shell: String,
        /// What the system said.
        source: std::io::Error,
    },
    /// The directory has gone since it was looked at.
    #[error("Working directory does not exist: {directory}")]
    Directory {
        /// Its path.
        directory: String,
        /// What the system said.
        source: std::io::Error,
    },
    /// The directory cannot be entered.
    #[error("cannot enter the working directory {directory}")]
    NoEntry {
        /// Its path.
        directory: String,
        /// What the system said.
        source: std::io::Error,
    },
    /// The environment and the script together are more than the system passes to a program.
    #[error("cannot start the command: its environment ({bytes} bytes) is larger than the system allows")]
    TooLarge {
        /// Size of the environment.
        bytes: usize,
        /// What the system said.
        source: std::io::Error,
    },
    /// The backend has no jobs.
    #[error("cannot start a job: this backend runs no background jobs; run the command in the foreground")]
    JobsUnsupported,
    /// The backend has no sessions.
    #[error("cannot start a session: this backend has no sessions; leave out the session")]
    SessionsUnsupported,
    /// A job needs a keeper that outlives this program.
    #[error("cannot start a job: this program has no keeper process, and a thread would end with it")]
    NoKeeper,
    /// The terminal of a command needs a keeper process that leads its session.
    #[error("cannot start the command with a terminal: this program has no keeper process; run it without a terminal")]
    NoKeeperForTerminal,
    /// A job's keeper could not write it down.
    #[error("cannot start a job: its keeper cannot use {}", directory.display())]
    Record {
        /// The job's directory.
        directory: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// A session needs a keeper that stays.
    #[error("cannot start a session: this program has no keeper process")]
    NoKeeperForSession,
    /// A session has no place on disk.
    #[error("cannot start a session: {} cannot be used", place.display())]
    Session {
        /// Its directory.
        place: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// There are as many sessions as there may be, and none can be ended.
    #[error("there are {limit} sessions already, and all of them are in use ({}); end one", names.join(", "))]
    TooManySessions {
        /// How many there may be.
        limit: usize,
        /// What they are called.
        names: Vec<String>,
    },
    /// Its session has something else to do, and the settings say not to wait.
    #[error("the session is busy with another command; wait for it to end, or use another session")]
    SessionBusy,
    /// Its session had something else to do for as long as the caller had patience.
    #[error(
        "the session was busy with another command for as long as this one could wait; nothing of it was run, and nothing will be: send it again later, or use another session"
    )]
    NoTurn,
    /// So many commands run at once that it did not come to its turn for as long as the caller had patience.
    #[error(
        "{limit} commands were running for as long as this one could wait, and there are no more at once; nothing of it was run, and nothing will be: send it again later"
    )]
    TooManyCommands {
        /// How many run at once.
        limit: usize,
    },
    /// The shell of its session is not where it was when the command was judged.
    #[error(
        "the session has gone to another directory since the command was judged; nothing of it was done, send it again"
    )]
    SessionMoved,
    /// Its session was started by another version of bashful, and none of the versions that its keeper speaks is ours.
    #[error(
        "session {name:?} belongs to a newer bashful (protocol version {protocol}, this one speaks up to {}); nothing was run: use the newer bashful or another session, or end this one with `bashful sessions end`",
        bashful_keeper::protocol::VERSION
    )]
    SessionVersion {
        /// The name of the session.
        name: String,
        /// The newest version that the keeper speaks.
        protocol: u32,
    },
    /// The program that is to be the keeper is of another version, and none of the versions that it speaks is ours.
    #[error(
        "cannot start the command: the keeper program speaks protocol version {protocol}, this program up to {}; use two of the same version",
        bashful_keeper::protocol::VERSION
    )]
    KeeperVersion {
        /// The newest version that the keeper speaks.
        protocol: u32,
    },
    /// The keeper could not be told what to do.
    #[error("cannot start the command: its keeper ended before it began")]
    KeeperGone,
    /// Anything else.
    #[error("cannot start the command")]
    System(#[from] std::io::Error),
}
