//! What is wanted, before anything was decided.

use std::ffi::OsString;
use std::num::NonZeroU64;
use std::path::PathBuf;

use thiserror::Error;

use crate::sessions::SessionName;
use crate::terminal::TerminalSize;
use crate::units::{ByteSize, Lifetime};
use crate::window::Window;

/// The longest script that is taken. A model writes far less; this is room for a program that generates one.
pub const LONGEST_SCRIPT: ByteSize = ByteSize::mib(16);

/// A command as the caller gives it. Everything but the script may be left to the engine's options.
#[derive(Debug, Clone)]
pub struct Request {
    /// What bash is to do.
    pub script: Script,
    /// Where; a relative path counts from the engine's own directory. Without it, in a session where its shell is.
    pub workdir: Option<PathBuf>,
    /// Variables on top of all others. They are passed on whatever their names say.
    pub env: Vec<(String, OsString)>,
    /// How long it may run.
    pub lifetime: Option<Lifetime>,
    /// How its output is taken.
    pub streams: Streams,
    /// What it reads. Only a job can be given something to read.
    pub input: Input,
    /// How much of it is shown, if not what the engine's options say.
    pub window: Option<Window>,
    /// The session that it runs in; a shell of its own, if none.
    pub session: Option<SessionName>,
    /// In a session: in a copy of its shell, so that nothing of it stays.
    pub apart: bool,
    /// In a session: `env` holds for this command alone. The shell is then the one that a command without `env` gets.
    /// Otherwise a shell with these variables is started, or found by them.
    pub env_apart: bool,
    /// Which lines of it are shown, within that; of standard output, if the streams are taken apart.
    pub lines: Option<Lines>,
    /// After so many lines it need not go on: if it does, its output is closed soon, as with `head` behind it.
    pub enough: Option<NonZeroU64>,
    /// How it was given, if it has been rewritten since.
    pub given: Option<Given>,
}

/// A command as it was given, before it was rewritten. What the user allows and what is logged is this.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Given {
    /// The script.
    pub script: Script,
    /// Where it was to run, if it runs elsewhere now.
    pub directory: Option<PathBuf>,
}

/// Which lines of an output are shown. All of it is kept all the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lines {
    /// The first so many.
    First(NonZeroU64),
    /// The last so many.
    Last(NonZeroU64),
    /// The last so many of the first so many, as with `head` and then `tail`.
    LastOfFirst {
        /// Of so many.
        first: NonZeroU64,
        /// So many.
        last: NonZeroU64,
    },
}

impl Lines {
    /// The lines that both limits leave, the first one applied first; none if there is no limit.
    pub fn of(first: Option<NonZeroU64>, last: Option<NonZeroU64>) -> Option<Self> {
        match (first, last) {
            (Some(first), Some(last)) => Some(Self::LastOfFirst { first, last }),
            (Some(first), None) => Some(Self::First(first)),
            (None, Some(last)) => Some(Self::Last(last)),
            (None, None) => None,
        }
    }

    /// The limit on the first lines.
    pub fn first(self) -> Option<NonZeroU64> {
        match self {
            Self::First(first) | Self::LastOfFirst { first, .. } => Some(first),
            Self::Last(_) => None,
        }
    }

    /// The limit on the last lines.
    pub fn last(self) -> Option<NonZeroU64> {
        match self {
            Self::Last(last) | Self::LastOfFirst { last, .. } => Some(last),
            Self::First(_) => None,
        }
    }

    /// The same limits, with those of `other` where there is none.
    #[must_use]
    pub fn or(self, other: Self) -> Self {
        Self::of(self.first().or(other.first()), self.last().or(other.last())).unwrap_or(self)
    }
}

/// How standard output and error are taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Streams {
    /// As one, in their true order.
    #[default]
    Combined,
    /// Apart. Which came first is then unknown.
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

/// What a command reads on standard input.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Input {
    /// Nothing: it finds the end at once.
    #[default]
    Nothing,
    /// What [`JobStore::send`](crate::JobStore::send) gives it. For jobs.
    Open,
    /// The host's own standard input. A session has its own, and refuses this.
    ///
    /// With [`Streams::Terminal`], the host reads its own terminal, in raw mode, and types into the command's: see
    /// [`Caller::terminal`](crate::Caller::terminal). If the host is killed, the keeper puts the host's terminal back.
    Host,
}

impl Request {
    /// A request for this script, the rest as the engine does it.
    pub fn new(script: Script) -> Self {
        Self {
            script,
            workdir: None,
            env: Vec::new(),
            lifetime: None,
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

/// The text of a command: never blank, without NUL bytes, and otherwise any bytes at all.
///
/// ```
/// use bashful_engine::{Script, ScriptError};
///
/// assert!(Script::new("echo hi").is_ok());
/// assert_eq!(Script::new("  \n").unwrap_err(), ScriptError::Blank);
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Script(Vec<u8>);

/// Why a text cannot be a script.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum ScriptError {
    /// There is nothing to do.
    #[error("the command is empty")]
    Blank,
    /// Bash cannot take it.
    #[error("the command has a NUL byte at offset {offset}, which bash cannot take")]
    Nul {
        /// Where.
        offset: usize,
    },
    /// It is too long.
    #[error("the command is longer than the {LONGEST_SCRIPT} that are taken; write it to a file and run that")]
    TooLong {
        /// How long it is.
        size: ByteSize,
    },
}

impl Script {
    /// Takes the bytes as they are.
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

    /// The bytes.
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }
}
