//! Sessions: persistent shells, which keep their state from one command to the next.
//!
//! A session is a shell under a keeper of its own, with a directory for the socket. The name of the session, and the
//! fields of the [`ShellKey`](crate::shell_key::ShellKey) that tell sessions apart, decide which shell a command gets.
//! Every program uses a session in the same way: connect, hand over the command, wait for its end.

mod about;
mod enter;
mod store;
mod turns;

use std::ffi::OsString;
use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use thiserror::Error;

use crate::environment::Environment;

pub use enter::Entered;
pub(crate) use store::SessionsInUse;
pub use store::{EndSessionError, ListSessionsError, NewerSession, SessionEntry, SessionStore};
pub use turns::CallTurn;

/// Longest name, in characters.
const LONGEST_NAME: usize = 100;

/// Begins the name of a session that is a person's own shell.
pub const PERSON_PREFIX: &str = "bang-";

/// Name of a session, as its users know it.
///
/// ```
/// use bashful_engine::SessionName;
///
/// assert!(SessionName::new("build 1").is_ok());
/// assert!(SessionName::new(" ").is_err());
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SessionName(String);

/// Error: a text that cannot be the name of a session.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{name:?} cannot be the name of a session: it takes 1 to {LONGEST_NAME} printable characters")]
pub struct BadSessionName {
    /// The text, or its beginning.
    pub name: String,
}

impl SessionName {
    /// Checks a name, and keeps it as it is.
    pub fn new(name: impl Into<String>) -> Result<Self, BadSessionName> {
        let name = name.into();
        let given = name.strip_prefix(PERSON_PREFIX).unwrap_or(&name);
        if given.trim().is_empty() || given.chars().count() > LONGEST_NAME || given.chars().any(char::is_control) {
            return Err(BadSessionName { name: name.chars().take(LONGEST_NAME).collect() });
        }
        Ok(Self(name))
    }

    /// The name of a person's own shell. Tools have to refuse [names of this kind](Self::is_of_person), so that no model
    /// shares a shell with a person.
    pub fn of_person(name: &str) -> Result<Self, BadSessionName> {
        let Self(name) = Self::new(name)?;
        Ok(Self(format!("{PERSON_PREFIX}{name}")))
    }

    /// True for the name of a person's own shell.
    pub fn is_of_person(&self) -> bool {
        self.0.starts_with(PERSON_PREFIX)
    }

    /// The name by which its user knows it: without the mark of a person's own shell.
    pub fn as_given(&self) -> &str {
        self.0.strip_prefix(PERSON_PREFIX).unwrap_or(&self.0)
    }

    /// The whole name.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for SessionName {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.0)
    }
}

impl std::str::FromStr for SessionName {
    type Err = BadSessionName;

    fn from_str(name: &str) -> Result<Self, BadSessionName> {
        Self::new(name)
    }
}

/// The session of a plan.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InSession {
    /// Name of the session.
    pub name: SessionName,
    /// Directory to change to first; none if the shell stays in its own.
    pub moves_to: Option<PathBuf>,
    /// True if the command runs in a subshell, so that it cannot change the shell.
    pub apart: bool,
    /// Variables for this command alone, on top of those of the shell.
    pub variables: Vec<(String, OsString)>,
    /// Variables of the shell, if the command has others.
    pub(crate) shell_environment: Option<Box<Environment>>,
    /// Directory of the session on disk.
    pub(crate) place: PathBuf,
}

/// Limits on sessions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionLimits {
    /// A session that has been idle for so long, without processes, is ended.
    pub idle: Duration,
    /// Most sessions. The one that has been idle for longest makes room.
    pub at_most: usize,
    /// Treatment of a command whose session is busy.
    pub when_busy: WhenBusy,
}

impl Default for SessionLimits {
    fn default() -> Self {
        Self { idle: Duration::from_mins(30), at_most: 16, when_busy: WhenBusy::Wait }
    }
}

/// Treatment of a command whose session is busy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WhenBusy {
    /// The command waits for its turn.
    Wait,
    /// The command is refused at once.
    Refuse,
}

/// Owner of sessions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SessionOwner {
    /// The engine: no other program finds them by name, and they end with the engine.
    Engine,
    /// The user: they stay, and every program with the same directory finds them.
    User,
}

/// State of the session after a command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionOutcome {
    /// Name of the session.
    pub name: SessionName,
    /// True if its shell was started for this command.
    pub is_new: bool,
    /// Reason why the earlier state of the session is gone.
    pub lost_before: Option<String>,
    /// True if its shell is still there.
    pub shell_stays: bool,
    /// True if there are other shells of this name, with other variables or rc files.
    pub has_others: bool,
    /// Directory in which the command began.
    pub directory: PathBuf,
    /// Directory of the shell after the command; none if the shell is gone, or in a directory that cannot be read.
    pub now_in: Option<PathBuf>,
}
