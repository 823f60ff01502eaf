//! Backends: the places where commands run.
//!
//! Another host, a container or a sandbox program is another [`Backend`]. A command that runs there is a [`Link`] and
//! its [`Outputs`]. [`Engine::with_backend`](crate::Engine::with_backend) accepts a backend from outside of this crate.

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
use crate::client_terminal::{ClientTerminalError, ClientView};
use crate::jobs::NewJob;
use crate::link::Link;
use crate::plan::PlanError;
use crate::promises::Promises;
use crate::sessions::{CallTurn, Entered, InSession, SessionStore};

/// A place where commands can be started.
///
/// A backend accepts only checked commands:
///
/// ```compile_fail,E0308
/// # fn demo(backend: &dyn bashful_engine::Backend, plan: bashful_engine::Plan) {
/// backend.start(&plan); // a `Plan` is not a `Checked`
/// # }
/// ```
///
/// Only the first four methods are required. The others are abilities that a backend may lack; callers then get an
/// error that says so.
pub trait Backend: Send + Sync {
    /// Returns the absolute path of the working directory of a command that asks for `asked`, or for none, relative to
    /// `base`. Fails if no command can run there. [`working_directory`](crate::working_directory) does that for this
    /// machine.
    ///
    /// Must not wait for a network: a backend that cannot check at once returns the path, and reports a missing
    /// directory from [`start`](Self::start).
    fn working_directory(&self, base: &Path, asked: Option<&Path>) -> Result<PathBuf, PlanError>;

    /// True if this absolute path is a directory, whoever may enter it. The engine removes a leading `cd` from a script
    /// only if it would succeed. False if the backend cannot tell; the script then keeps its `cd`.
    fn is_directory(&self, path: &Path) -> bool;

    /// Starts a command. Dropping the future stops everything that it had started.
    fn start<'a>(&'a self, checked: &'a Checked) -> BoxFuture<'a, Result<Attached, StartError>>;

    /// The promises that hold here.
    fn promises(&self) -> Promises;

    /// Starts a command as a job: its supervisor writes the job's record, and needs neither this program nor the
    /// engine. Dropping the future stops everything that it had started.
    fn start_job<'a>(&'a self, _checked: &'a Checked, _job: &'a NewJob) -> BoxFuture<'a, Result<(), StartError>> {
        Box::pin(std::future::ready(Err(StartError::JobsUnsupported)))
    }

    /// Hands a command to its session, and starts the session if there is none. Commands of one session come in the order of
    /// their turns. One that does not get its turn by `turn_by` does not run. Dropping the future or its result stops the command, but not the session.
    fn enter<'a>(
        &'a self,
        _checked: &'a Checked,
        _at: &'a InSession,
        _store: &'a Arc<SessionStore>,
        _turn: &'a CallTurn,
        _turn_by: Option<Instant>,
    ) -> BoxFuture<'a, Result<Attached, StartError>> {
        Box::pin(std::future::ready(Err(StartError::SessionsUnsupported)))
    }

    /// Prepares for commands like this one, so that the next one starts sooner. Calling it is optional.
    fn prepare(&self, _checked: &Checked, _after: After) {}

    /// Number of preparations that this very command could use now.
    fn ready_for(&self, _checked: &Checked) -> usize {
        0
    }

    /// Kills the commands whose supervisors would not notice the end of this program.
    fn leave(&self) -> BoxFuture<'_, ()> {
        Box::pin(std::future::ready(()))
    }

    /// Kills the processes that a supervisor left when it ended. Returns when none is left.
    fn clean_up(&self, _supervisor: Option<i32>) -> BoxFuture<'_, ()> {
        Box::pin(std::future::ready(()))
    }
}

/// The place of a refused mount, in words.
fn place(at: &Path) -> String {
    if at.as_os_str().is_empty() { String::new() } else { format!(" ({} cannot be mounted)", at.display()) }
}

/// A boxed future, for methods of a trait object.
pub type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// A running command: its link and its output.
///
/// Dropping it drops the link, which stops the command.
#[derive(Debug)]
pub struct Attached {
    pub(crate) link: Box<dyn Link>,
    pub(crate) outputs: Outputs,
    /// None if the supervisor was gone before it could report the process id.
    pub(crate) pid: Option<i32>,
    /// Session of the command; none if it has a shell of its own.
    pub(crate) session: Option<Entered>,
    /// The client's terminal, if the command runs in one.
    pub(crate) client: Option<ClientView>,
}

impl Attached {
    /// A command that a backend has started. Makes its outputs non-blocking. `pid` is the process id of the shell, if
    /// it has one on this machine.
    pub fn new(link: Box<dyn Link>, outputs: Outputs, pid: Option<i32>) -> io::Result<Self> {
        match &outputs {
            Outputs::Combined(output) | Outputs::Terminal(output) => pipe::set_nonblocking(output)?,
            Outputs::Split { stdout, stderr } => {
                pipe::set_nonblocking(stdout)?;
                pipe::set_nonblocking(stderr)?;
            }
        }
        Ok(Self { link, outputs, pid, session: None, client: None })
    }

    /// Adds the session that the command runs in.
    #[must_use]
    pub fn in_session(self, entered: Entered) -> Self {
        Self { session: Some(entered), ..self }
    }

    /// Adds the client's terminal that the command runs in.
    pub(crate) fn in_client(self, view: ClientView) -> Self {
        Self { client: Some(view), ..self }
    }
}

/// The descriptors from which the engine reads the output of a command.
#[derive(Debug)]
pub enum Outputs {
    /// One pipe for both streams, which keeps their order.
    Combined(OwnedFd),
    /// One pipe for each stream.
    Split {
        /// Standard output.
        stdout: OwnedFd,
        /// Standard error.
        stderr: OwnedFd,
    },
    /// The outside end of a pseudo-terminal, which carries both streams in order. It ends when the last process has
    /// closed the inside end, so the backend must not hold that.
    Terminal(OwnedFd),
}

/// Reason to prepare for commands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum After {
    /// The host expects such commands. As many preparations as possible are made.
    Request,
    /// Such a command has just ended. As many as possible are made if the command before it was alike, and otherwise
    /// one, so that commands that alternate leave room for each other.
    Command,
}

/// Error: a command that could not be started. None of it ran.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum StartError {
    /// This process has reached its limit on open descriptors.
    #[error(
        "cannot start the command: this program has no file descriptors left (limit {limit}); wait for others to end, or raise `ulimit -n`"
    )]
    Descriptors {
        /// Limit on open descriptors.
        limit: u64,
        /// Error of the system.
        source: std::io::Error,
    },
    /// The user has reached the limit on processes.
    #[error(
        "cannot start the command: no more processes can be made; end some, or raise `ulimit -u` or the container's pids limit"
    )]
    Processes {
        /// Error of the system.
        source: std::io::Error,
    },
    /// The shell cannot be executed.
    #[error("cannot start the command: {shell} cannot be run")]
    Shell {
        /// Path of the shell.
        shell: String,
        /// Error of the system.
        source: std::io::Error,
    },
    /// The working directory has been removed since the command was planned.
    #[error("Working directory does not exist: {directory}")]
    Directory {
        /// Path of the directory.
        directory: String,
        /// Error of the system.
        source: std::io::Error,
    },
    /// The user has no permission to enter the working directory.
    #[error("cannot enter the working directory {directory}")]
    NoEntry {
        /// Path of the directory.
        directory: String,
        /// Error of the system.
        source: std::io::Error,
    },
    /// Environment and script together exceed the system's limit on arguments.
    #[error("cannot start the command: its environment ({bytes} bytes) is larger than the system allows")]
    TooLarge {
        /// Size of the environment, in bytes.
        bytes: usize,
        /// Error of the system.
        source: std::io::Error,
    },
    /// The backend cannot run background jobs.
    #[error("cannot start a job: this backend runs no background jobs; run the command in the foreground")]
    JobsUnsupported,
    /// The backend has no sessions.
    #[error("cannot start a session: this backend has no sessions; leave out the session")]
    SessionsUnsupported,
    /// The sandbox could not be made or entered. Nothing ran.
    #[error("the sandbox cannot be made{}, so nothing was run; see `bashful doctor`", place(at))]
    Fence {
        /// Path of the mount that was refused; empty if it was no mount.
        at: PathBuf,
        /// Error of the system.
        source: std::io::Error,
    },
    /// The directory for the files of sandboxes cannot be used.
    #[error("a sandbox needs a state directory, so nothing was run")]
    FenceStore {
        /// Error of the system.
        source: std::io::Error,
    },
    /// The keeper could not write the job's record.
    #[error("cannot start a job: its keeper cannot use {}", directory.display())]
    Record {
        /// Directory of the job.
        directory: PathBuf,
        /// Error of the system.
        source: std::io::Error,
    },
    /// The directory of the session cannot be used.
    #[error("cannot start a session: {} cannot be used", place.display())]
    Session {
        /// Directory of the session.
        place: PathBuf,
        /// Error of the system.
        source: std::io::Error,
    },
    /// The limit on sessions is reached, and every session is in use.
    #[error("there are {limit} sessions already, and all of them are in use ({}); end one", names.join(", "))]
    TooManySessions {
        /// Limit on sessions.
        limit: usize,
        /// Names of the sessions.
        names: Vec<String>,
    },
    /// The session runs another command, and the settings say not to wait.
    #[error("the session is busy with another command; wait for it to end, or use another session")]
    SessionBusy,
    /// The session ran another command until the caller's patience was over.
    #[error(
        "the session was busy with another command for as long as this call could wait; the command did not run and is no longer queued: send it again later, or use another session"
    )]
    NoTurn,
    /// The limit on running commands was reached until the caller's patience was over.
    #[error(
        "{limit} commands, the most at once, were running for as long as this call could wait; the command did not run and is no longer queued: send it again later"
    )]
    TooManyCommands {
        /// Limit on running commands.
        limit: usize,
    },
    /// The shell of the session has changed its directory since the guard judged the command.
    #[error("the session changed its directory after the command was judged; the command did not run, send it again")]
    SessionMoved,
    /// The session belongs to another version of bashful, and the two share no protocol version.
    #[error(
        "session {name:?} belongs to a newer bashful (protocol version {protocol}, this one speaks up to {}); nothing was run: use the newer bashful or another session, or end this one with `bashful sessions end`",
        bashful_keeper::protocol::VERSION
    )]
    SessionVersion {
        /// Name of the session.
        name: String,
        /// Newest protocol version that the keeper speaks.
        protocol: u32,
    },
    /// The keeper program is another version of bashful, and the two share no protocol version.
    #[error(
        "cannot start the command: the keeper program speaks protocol version {protocol}, this program up to {}; use two of the same version",
        bashful_keeper::protocol::VERSION
    )]
    KeeperVersion {
        /// Newest protocol version that the keeper speaks.
        protocol: u32,
    },
    /// The keeper ended before it read its orders.
    #[error("cannot start the command: its keeper ended before it began")]
    KeeperGone,
    /// The client refused to create a terminal.
    #[error("cannot start the command: the client created no terminal for it")]
    ClientTerminal(#[source] ClientTerminalError),
    /// The client did not answer. A terminal that it creates later is killed at once.
    #[error("cannot start the command: the client created no terminal for it within {seconds} seconds")]
    ClientSilent {
        /// Lifetime of the command, in seconds.
        seconds: f64,
    },
    /// Another error of the system.
    #[error("cannot start the command")]
    System(#[from] std::io::Error),
}
