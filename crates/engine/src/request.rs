//! Requests: commands as callers give them, before anything is decided.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fmt;
use std::num::NonZeroU64;
use std::path::PathBuf;

use bashful_fence::Mode;
use thiserror::Error;

use crate::sessions::SessionName;
use crate::terminal::TerminalSize;
use crate::units::{ByteSize, Lifetime};
use crate::window::Window;

/// Longest script. A model writes far less; the rest is room for programs that generate scripts.
pub const LONGEST_SCRIPT: ByteSize = ByteSize::mib(16);

/// A command as the caller gives it. The engine's options decide everything but the script, if it is left out.
#[derive(Debug, Clone)]
pub struct Request {
    /// Script for bash.
    pub script: Script,
    /// Working directory; a relative path counts from the engine's own. Without it, a command in a session runs where
    /// the shell is.
    pub workdir: Option<PathBuf>,
    /// Directory in which a new shell starts if `workdir` is none; the engine's own if both are. A session that has a
    /// shell already stays where it is.
    pub starts_in: Option<PathBuf>,
    /// Variables on top of all others. The command gets them even if their names look secret.
    pub env: Vec<(String, OsString)>,
    /// Time after which the command is stopped; the engine's own lifetime if none.
    pub lifetime: Option<Lifetime>,
    /// Lifetime of a command that becomes a job because its caller's patience is over; its own lifetime if none.
    pub job_lifetime: Option<Lifetime>,
    /// Name of the dialect in which a tool asks; none if a person does, or for the usual one. What a user allows in one dialect
    /// holds in no other.
    pub dialect: Option<&'static str>,
    /// How much the command may change; as the engine's sandbox says if none.
    pub sandbox: Option<Mode>,
    /// One pipe for both streams, or two.
    pub streams: Streams,
    /// Source of standard input. Only a job can have an open one.
    pub input: Input,
    /// Limit on the output that is shown; the engine's own window if none.
    pub window: Option<Window>,
    /// Session to run in; none for a shell of its own.
    pub session: Option<SessionName>,
    /// True to run in a subshell of the session, so that the script cannot change its shell.
    pub apart: bool,
    /// True if `env` holds for this command alone. The command then runs in the session that one without `env` gets.
    /// Otherwise the session is started, or found, by these variables.
    pub env_apart: bool,
    /// Limit on the lines that are shown, within the window. It counts stdout only, if the streams are split.
    pub lines: Option<Lines>,
    /// Number of lines after which the output may be closed, as with `| head`.
    pub enough: Option<NonZeroU64>,
    /// Script and directory as the caller gave them; none if nothing was rewritten.
    pub given: Option<Given>,
}

/// A command as it was given, before rewriting. Users approve this, and the log records it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Given {
    /// Script before rewriting.
    pub script: Script,
    /// Working directory before rewriting; none if it is the same.
    pub directory: Option<PathBuf>,
    /// Names of the variables that the call sets. Rewriting may set one more.
    pub variables: Vec<String>,
}

/// A command with everything that decides what its script does. An allowance of a user holds for exactly this.
#[derive(Clone, PartialEq, Eq)]
pub struct GivenCommand {
    /// Script before rewriting.
    pub script: Script,
    /// Working directory before rewriting.
    pub directory: PathBuf,
    /// Variables that the call sets.
    pub variables: BTreeMap<String, OsString>,
    /// The persistent shell that it runs in, with variables and functions of its own.
    pub session: Option<String>,
    /// [`Request::dialect`].
    pub dialect: Option<String>,
    /// The sandbox that it asks for, if that allows more than the settings do.
    pub sandbox: Option<Mode>,
}

impl GivenCommand {
    /// A command of a new shell, which sets no variable.
    pub fn new(script: Script, directory: PathBuf) -> Self {
        Self { script, directory, variables: BTreeMap::new(), session: None, dialect: None, sandbox: None }
    }
}

/// Without the values of variables, which may be secret.
impl fmt::Debug for GivenCommand {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { script, directory, variables, session, dialect, sandbox } = self;
        let names: Vec<_> = variables.keys().collect();
        out.debug_tuple("GivenCommand").field(&(script, directory, names, session, dialect, sandbox)).finish()
    }
}

/// Limit on the lines of an output that are shown. The artifact has all of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lines {
    /// Only the first lines.
    First(NonZeroU64),
    /// Only the last lines.
    Last(NonZeroU64),
    /// The last lines of the first lines, as with `head | tail`.
    LastOfFirst {
        /// Number of first lines.
        first: NonZeroU64,
        /// Number of last lines among them.
        last: NonZeroU64,
    },
}

impl Lines {
    /// Combines two limits, `first` before `last`; none if there is neither.
    pub fn of(first: Option<NonZeroU64>, last: Option<NonZeroU64>) -> Option<Self> {
        match (first, last) {
            (Some(first), Some(last)) => Some(Self::LastOfFirst { first, last }),
            (Some(first), None) => Some(Self::First(first)),
            (None, Some(last)) => Some(Self::Last(last)),
            (None, None) => None,
        }
    }

    /// Limit on the first lines.
    pub fn first(self) -> Option<NonZeroU64> {
        match self {
            Self::First(first) | Self::LastOfFirst { first, .. } => Some(first),
            Self::Last(_) => None,
        }
    }

    /// Limit on the last lines.
    pub fn last(self) -> Option<NonZeroU64> {
        match self {
            Self::Last(last) | Self::LastOfFirst { last, .. } => Some(last),
            Self::First(_) => None,
        }
    }

    /// Fills in missing limits from `other`.
    #[must_use]
    pub fn or(self, other: Self) -> Self {
        Self::of(self.first().or(other.first()), self.last().or(other.last())).unwrap_or(self)
    }
}

/// Number of pipes for stdout and stderr.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Streams {
    /// One pipe for both, which keeps their order.
    #[default]
    Combined,
    /// A pipe for each. The order between them is lost.
    Split,
    /// From a terminal of the command's own, which is its standard input too. Both streams come as one.
    Terminal(TerminalRequest),
}

impl Streams {
    /// The terminal that is asked for.
    pub fn terminal(self) -> Option<TerminalRequest> {
        match self {
            Self::Terminal(terminal) => Some(terminal),
            Self::Combined | Self::Split => None,
        }
    }
}

/// The terminal that a command gets.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct TerminalRequest {
    /// Its size when the command starts.
    pub size: TerminalSize,
    /// True if the command gets the variables for unattended work, as it would without a terminal; otherwise
    /// [`EnvironmentPolicy::terminal`](crate::EnvironmentPolicy::terminal) is applied.
    pub unattended: bool,
}

/// Source of a command's standard input.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Input {
    /// Empty: a read returns end of file at once.
    #[default]
    Nothing,
    /// A pipe that [`JobInputs::send`](crate::JobInputs::send) writes to. Only for jobs.
    Open,
    /// The host's own standard input. A session refuses this.
    ///
    /// With [`Streams::Terminal`], the host reads its own terminal, in raw mode, and types into the command's: see
    /// [`Caller::terminal`](crate::Caller::terminal). If the host is killed, the keeper puts the host's terminal back.
    Host,
}

impl Request {
    /// A request for this script, with the engine's options for everything else.
    pub fn new(script: Script) -> Self {
        Self {
            script,
            workdir: None,
            starts_in: None,
            env: Vec::new(),
            lifetime: None,
            job_lifetime: None,
            dialect: None,
            sandbox: None,
            streams: Streams::default(),
            input: Input::default(),
            window: None,
            session: None,
            apart: false,
            env_apart: false,
            lines: None,
            enough: None,
            given: None,
        }
    }
}

/// Text of a command: not blank, without NUL bytes, and otherwise any bytes.
///
/// ```
/// use bashful_engine::{Script, ScriptError};
///
/// assert!(Script::new("echo hi").is_ok());
/// assert_eq!(Script::new("  \n").unwrap_err(), ScriptError::Blank);
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Script(Vec<u8>);

/// Error: a text that cannot be a script.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum ScriptError {
    /// The text has nothing but white space.
    #[error("the command is empty")]
    Blank,
    /// Bash cannot read NUL bytes in a script.
    #[error("the command has a NUL byte at offset {offset}, which bash cannot read")]
    Nul {
        /// Offset of the first NUL byte.
        offset: usize,
    },
    /// The text is longer than [`LONGEST_SCRIPT`].
    #[error("the command is longer than {LONGEST_SCRIPT}; write it to a file and run the file")]
    TooLong {
        /// Size of the text.
        size: ByteSize,
    },
}

impl Script {
    /// Checks a text and keeps its bytes as they are.
    pub fn new(text: impl Into<Vec<u8>>) -> Result<Self, ScriptError> {
        let text = text.into();
        let size = ByteSize(text.len() as u64);
        if size > LONGEST_SCRIPT {
            return Err(ScriptError::TooLong { size });
        }
        if let Some(offset) = memchr::memchr(0, &text) {
            return Err(ScriptError::Nul { offset });
        }
        if text.trim_ascii().is_empty() {
            return Err(ScriptError::Blank);
        }
        Ok(Self(text))
    }

    /// The bytes of the script, which need not be UTF-8.
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }
}
