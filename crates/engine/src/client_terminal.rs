//! Commands in a terminal of the client: the editor or the host program that the user looks at.
//!
//! A host implements [`ClientTerminal`] and passes it as [`Caller::client_terminal`](crate::Caller::client_terminal).
//! The engine creates a terminal for each command, polls its text, and releases it. [`ClientBackend`] is the same for
//! all commands of an engine, through [`Engine::with_backend`](crate::Engine::with_backend).
//!
//! The client starts the process and stops it. Three promises do not hold there, and
//! [`ClientBackend::promises`](crate::Backend::promises) says so: a stop may miss processes that the command has started, the
//! command has the client's variables, and the client keeps only the end of a long output.
//!
//! Invariant: a terminal that the client has created is released, however its command ends and whoever cancels. One
//! that is created after a cancel is killed first.

mod backend;
mod supervise;

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use thiserror::Error;
use tokio::sync::watch;

pub use backend::ClientBackend;

use crate::backend::BoxFuture;

/// Most bytes of text that a client keeps of a command's output. The client cuts from the beginning.
pub const CLIENT_OUTPUT_LIMIT: usize = 51_200;

/// Terminals of the client. All methods are requests to another program, which may answer late or never.
///
/// The engine bounds every wait except for the one on [`wait_for_exit`](Self::wait_for_exit), which the command's
/// lifetime bounds. It drops a future that takes too long. The implementation should then withdraw the request.
pub trait ClientTerminal: fmt::Debug + Send + Sync {
    /// Creates a terminal, and starts the command in it. Returns the client's name for the terminal.
    ///
    /// The engine never drops this future: a terminal that is created after a cancel has to be killed. A client that is
    /// gone should make it fail.
    fn create(&self, command: TerminalCommand) -> BoxFuture<'_, Result<String, ClientTerminalError>>;

    /// Returns the text of a terminal, and the exit status of its command once that has ended.
    fn output<'a>(&'a self, terminal_id: &'a str) -> BoxFuture<'a, Result<TerminalText, ClientTerminalError>>;

    /// Waits until the command of a terminal has ended.
    fn wait_for_exit<'a>(&'a self, terminal_id: &'a str) -> BoxFuture<'a, Result<TerminalExit, ClientTerminalError>>;

    /// Kills the command of a terminal. The terminal stays.
    fn kill<'a>(&'a self, terminal_id: &'a str) -> BoxFuture<'a, Result<(), ClientTerminalError>>;

    /// Frees a terminal. The client may go on showing its text. No other request for the terminal follows.
    fn release<'a>(&'a self, terminal_id: &'a str) -> BoxFuture<'a, Result<(), ClientTerminalError>>;
}

/// A command for a terminal of the client.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TerminalCommand {
    /// Program to start: the shell.
    pub program: PathBuf,
    /// Arguments of the program.
    pub args: Vec<String>,
    /// Variables on top of the client's own.
    pub env: Vec<(String, String)>,
    /// Absolute path of the working directory.
    pub cwd: PathBuf,
    /// Most bytes of text that the client has to keep.
    pub output_byte_limit: usize,
}

/// The text of a terminal, as the client sees it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct TerminalText {
    /// The text, or its end.
    pub text: String,
    /// True if the client has dropped the beginning.
    pub is_cut: bool,
    /// Exit status; none while the command runs.
    pub exit: Option<TerminalExit>,
}

/// The exit status of a command, as the client reports it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct TerminalExit {
    /// Exit code; none if a signal ended the command.
    pub code: Option<u32>,
    /// Name of the signal that ended the command, as in `SIGKILL`.
    pub signal: Option<String>,
}

/// Error: a request that the client did not carry out. The text is the client's own.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{0}")]
pub struct ClientTerminalError(pub String);

/// The engine's view of a command in a terminal of the client.
#[derive(Debug)]
pub(crate) struct ClientView {
    pub(crate) terminal_id: Arc<str>,
    /// The newest text.
    pub(crate) text: watch::Receiver<TerminalText>,
}
