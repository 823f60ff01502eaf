//! A call of `bash` as a Rust value: the form that every dialect turns its JSON into, and that hosts without JSON hand over.

use std::ffi::OsString;
use std::fmt;
use std::path::PathBuf;

use bashful_engine::{Lines, SandboxMode};
use thiserror::Error;

use crate::dialect::Dialect;

/// A command for the tool `bash`, whatever names a dialect gives to its arguments.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct BashCall {
    /// The script.
    pub command: String,
    /// Default timeout, and whether the call waits.
    pub mode: BashMode,
    /// Timeout in seconds; overrides the mode's. One out of range is clamped, and the reply says so.
    pub timeout: Option<f64>,
    /// Working directory; the toolbox's own if none.
    pub cwd: Option<PathBuf>,
    /// Variables for this command.
    pub env: Vec<(String, OsString)>,
    /// Name of the persistent shell that runs the command.
    pub session: Option<String>,
    /// Keeps the standard input of a background command open.
    pub stdin: bool,
    /// The terminal of the command.
    pub pty: BashTerminal,
    /// Lines of the output that the reply shows.
    pub lines: Option<Lines>,
    /// The sandbox; as the engine's policy says if none. One that allows more is a question to the user.
    pub sandbox: Option<SandboxMode>,
}

/// Default timeout of a command, and whether its call waits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum BashMode {
    /// A quick command.
    #[default]
    Default,
    /// A command with more time, such as a build.
    Slow,
    /// The call returns at once with a job.
    Background,
}

/// The terminal of a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum BashTerminal {
    /// The command has pipes.
    #[default]
    None,
    /// The screen belongs to a job or to a session, and the model looks at it.
    Requested,
    /// A person attends to it by the [`TerminalView`](crate::TerminalView) of the caller.
    Attended,
}

/// An argument of `bash` that not every dialect has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BashArgument {
    /// The mode with more time.
    Slow,
    /// The mode that starts a job.
    Background,
    /// The timeout.
    Timeout,
    /// The working directory.
    Cwd,
    /// The variables.
    Env,
    /// The persistent shell.
    Session,
    /// The open standard input.
    Stdin,
    /// The terminal.
    Pty,
    /// The limit on shown lines.
    Lines,
    /// The sandbox.
    Sandbox,
}

/// A call used an argument that the `bash` of the dialect lacks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[error("the {dialect} dialect has no {argument}")]
pub struct MissingArgument {
    /// The dialect.
    pub dialect: Dialect,
    /// The argument.
    pub argument: BashArgument,
}

impl BashCall {
    /// A call with this command and nothing else.
    pub fn new(command: impl Into<String>) -> Self {
        Self { command: command.into(), ..Self::default() }
    }

    /// The arguments in use, apart from the command.
    fn used(&self) -> impl Iterator<Item = BashArgument> {
        use BashArgument::{Background, Cwd, Env, Lines, Pty, Sandbox, Session, Slow, Stdin, Timeout};

        let uses = [
            (Slow, self.mode == BashMode::Slow),
            (Background, self.mode == BashMode::Background),
            (Timeout, self.timeout.is_some()),
            (Cwd, self.cwd.is_some()),
            (Env, !self.env.is_empty()),
            (Session, self.session.is_some()),
            (Stdin, self.stdin),
            (Pty, self.pty != BashTerminal::None),
            (Lines, self.lines.is_some()),
            (Sandbox, self.sandbox.is_some()),
        ];
        uses.into_iter().filter_map(|(argument, is_used)| is_used.then_some(argument))
    }

    /// Fails at the first argument that the dialect lacks.
    pub(crate) fn check(&self, dialect: Dialect) -> Result<(), MissingArgument> {
        let missing = self.used().find(|argument| !dialect.has(*argument));
        missing.map_or(Ok(()), |argument| Err(MissingArgument { dialect, argument }))
    }
}

impl BashArgument {
    /// The name of the field in [`BashCall`].
    pub fn field(self) -> &'static str {
        match self {
            Self::Slow | Self::Background => "mode",
            Self::Timeout => "timeout",
            Self::Cwd => "cwd",
            Self::Env => "env",
            Self::Session => "session",
            Self::Stdin => "stdin",
            Self::Pty => "pty",
            Self::Lines => "lines",
            Self::Sandbox => "sandbox",
        }
    }
}

impl fmt::Display for BashArgument {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Slow => out.write_str("mode \"slow\""),
            Self::Background => out.write_str("mode \"background\""),
            other => write!(out, "`{}`", other.field()),
        }
    }
}
