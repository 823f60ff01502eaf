//! Where commands run.

use std::future::Future;
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::pin::Pin;

use thiserror::Error;
use tokio::time::Instant;

use crate::check::Checked;
use crate::connection::Connection;
use crate::jobs::NewJob;
use crate::promises::Promises;
use crate::sessions::{Entered, InSession, SessionStore};

/// A place where commands can be started: this machine, for now.
///
/// It takes nothing that was not checked:
///
/// ```compile_fail,E0308
/// # fn demo(backend: &dyn bashful_engine::Backend, plan: bashful_engine::Plan) {
/// backend.start(&plan); // a `Plan` is not a `Checked`
/// # }
/// ```
pub trait Backend: Send + Sync {
    /// Starts a command under a keeper. Dropping the future stops what it had started.
    fn start<'a>(&'a self, checked: &'a Checked) -> BoxFuture<'a, Result<Attached, StartError>>;

    /// Starts a command as a job: it is under a keeper, but does not depend on us. The connection tells of its end, and
    /// dropping it changes nothing; dropping the future stops what it had started.
    fn start_job<'a>(&'a self, checked: &'a Checked, job: &'a NewJob) -> BoxFuture<'a, Result<Attached, StartError>>;

    /// Hands a command to its session, which is started if it is not there. If its turn has not come when `turn_by` is over,
    /// nothing of it is done. Dropping the future, or what it gives, stops the command, and not the session.
    fn enter<'a>(
        &'a self,
        checked: &'a Checked,
        at: &'a InSession,
        store: &'a SessionStore,
        turn_by: Option<Instant>,
    ) -> BoxFuture<'a, Result<Attached, StartError>>;

    /// Makes preparations for commands like this one, so that the next starts sooner. Never needed, never in the way.
    fn prepare(&self, checked: &Checked, after: After);

    /// Takes back a keeper whose command has ended by itself and left nothing: it may do another.
    fn take_back(&self, free: FreeKeeper);

    /// How many of those preparations this very command could use now.
    fn ready_for(&self, checked: &Checked) -> usize;

    /// Ends what this keeper has left of its tree, once it has ended itself; returns when nothing is left.
    fn clean_up(&self, keeper: Option<i32>) -> BoxFuture<'_, ()>;

    /// What can be relied on here.
    fn promises(&self) -> Promises;
}

/// A future behind a trait.
pub type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// A command under way: the way to its keeper, and its output.
///
/// Dropping it closes the way to the keeper, which stops the command.
#[derive(Debug)]
pub struct Attached {
    pub(crate) link: Connection,
    /// One pipe, or two if the streams are taken apart.
    pub(crate) output: Vec<OwnedFd>,
    /// None if the keeper was gone before it could tell.
    pub(crate) pid: Option<i32>,
    pub(crate) keeper: Keeper,
    /// How it came into its session, if it runs in one.
    pub(crate) session: Option<Entered>,
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

/// A keeper that has nothing more to do.
#[derive(Debug)]
pub struct FreeKeeper {
    pub(crate) link: Connection,
    pub(crate) keeper: Keeper,
}

/// Who keeps a command.
#[derive(Debug)]
pub(crate) enum Keeper {
    /// A process of its own.
    Process(crate::local::KeeperProcess),
    /// A thread of this program.
    Thread,
    /// The keeper of a session, which has others to serve too.
    Session,
}

impl Keeper {
    /// Kills the keeper; whether there was one to kill.
    pub(crate) fn kill(&self) -> bool {
        match self {
            Self::Process(process) => process.kill(),
            Self::Thread | Self::Session => false,
        }
    }

    /// Continues the keeper if somebody has stopped it.
    pub(crate) fn wake(&self) {
        match self {
            Self::Process(process) => process.wake(),
            // A session's keeper is woken over its connection.
            Self::Thread | Self::Session => {}
        }
    }

    pub(crate) fn pid(&self) -> Option<i32> {
        match self {
            Self::Process(process) => Some(process.pid()),
            Self::Thread | Self::Session => None,
        }
    }
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
    /// A job needs a keeper that outlives this program.
    #[error("cannot start a job: this program has no keeper process, and a thread would end with it")]
    NoKeeper,
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
