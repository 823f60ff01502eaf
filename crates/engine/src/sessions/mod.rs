//! Shells that stay: what one command leaves in them, the next one finds.
//!
//! A session is a shell under a keeper of its own, with a directory that holds the socket by which it is reached. Which shell
//! a command gets is decided by the session's name and by the fields of its [`ShellKey`](crate::shell_key::ShellKey) that tell
//! sessions apart. There is one way to all of them, whoever started them: connect, hand over the command, wait for its end.

mod about;
mod enter;
mod store;

use std::ffi::OsString;
use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use thiserror::Error;

use crate::environment::Environment;

pub use enter::Entered;
pub(crate) use store::SessionsInUse;
pub use store::{EndSessionError, ListSessionsError, NewerSession, SessionEntry, SessionStore};

/// The longest name.
const LONGEST_NAME: usize = 100;

/// What a session is called by those who use it.
///
/// ```
/// use bashful_engine::SessionName;
///
/// assert!(SessionName::new("build 1").is_ok());
/// assert!(SessionName::new(" ").is_err());
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SessionName(String);

/// Why a text cannot be the name of a session.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{name:?} cannot be the name of a session: it takes 1 to {LONGEST_NAME} printable characters")]
pub struct BadSessionName {
    /// The text, or its beginning.
    pub name: String,
}

impl SessionName {
    /// Takes the name as it is.
    pub fn new(name: impl Into<String>) -> Result<Self, BadSessionName> {
        let name = name.into();
        if name.trim().is_empty() || name.chars().count() > LONGEST_NAME || name.chars().any(char::is_control) {
            return Err(BadSessionName { name: name.chars().take(LONGEST_NAME).collect() });
        }
        Ok(Self(name))
    }

    /// The name.
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

/// A session, as a plan names it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InSession {
    /// Its name.
    pub name: SessionName,
    /// Where the shell goes first; none if it stays where it is.
    pub moves_to: Option<PathBuf>,
    /// Whether it runs in a copy of the shell, so that nothing of it stays.
    pub apart: bool,
    /// Variables that this command alone gets, on top of those of the shell.
    pub variables: Vec<(String, OsString)>,
    /// The variables of the shell, where the command gets others.
    pub(crate) shell_environment: Option<Box<Environment>>,
    /// Its directory.
    pub(crate) place: PathBuf,
}

/// What sessions may take.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionLimits {
    /// A session that has had nothing to do for so long, and in which nothing runs, is ended.
    pub idle: Duration,
    /// There are at most so many. The one that has been idle for longest makes room.
    pub at_most: usize,
    /// What becomes of a command whose session has something else to do.
    pub when_busy: WhenBusy,
}

impl Default for SessionLimits {
    fn default() -> Self {
        Self { idle: Duration::from_mins(30), at_most: 16, when_busy: WhenBusy::Wait }
    }
}

/// What becomes of a command whose session has something else to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WhenBusy {
    /// It waits for its turn.
    Wait,
    /// It is told so.
    Refuse,
}

/// Whose sessions they are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SessionOwner {
    /// The engine's: nobody else finds them by their names, and they end with it.
    Engine,
    /// The user's: they stay, and whoever uses the same directory finds them.
    User,
}

/// What became of the session of a command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionOutcome {
    /// Its name.
    pub name: SessionName,
    /// Whether its shell was started for this command.
    pub is_new: bool,
    /// Why nothing is left of what was in it before.
    pub lost_before: Option<String>,
    /// Whether its shell is still there.
    pub shell_stays: bool,
    /// Whether there are other shells of this name, for other variables or rc files.
    pub has_others: bool,
    /// Where the command began.
    pub directory: PathBuf,
}
