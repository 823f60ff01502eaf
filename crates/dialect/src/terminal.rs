//! A command's terminal before the eyes of a person.

use bashful_engine::{AttendedTerminal, Engine, OutputListener, Request, Streams, TerminalRequest, TerminalSize};
use tokio::sync::oneshot;

/// Variables of the host that turn terminals off if they are `1`.
pub const NO_TERMINAL: [&str; 2] = ["BASHFUL_NO_PTY", "PI_NO_PTY"];

/// The part of a user interface that shows a command's terminal to a person and types what they type.
///
/// The dialect pi gives a command a terminal only if its caller has one of these. In other dialects a command with a terminal
/// becomes a job without one. The person's keys and sizes go to the
/// [`AttendedTerminal`], which comes when the command has started; the answer to the call waits until that is dropped. The end of the
/// stream behind the listener is the end of the command.
#[derive(Debug)]
pub struct TerminalView {
    /// The size of the view.
    pub size: TerminalSize,
    /// Gets the terminal.
    pub host: oneshot::Sender<AttendedTerminal>,
    /// Gets what the command writes; raw, for a view that understands escape sequences.
    pub listener: OutputListener,
}

impl TerminalView {
    /// Gives a command that asks for a terminal one of this size.
    pub(crate) fn fit(&self, request: &mut Request) {
        if let Streams::Terminal(TerminalRequest { size, .. }) = &mut request.streams {
            *size = self.size;
        }
    }
}

/// True if the host's variables allow terminals.
pub(crate) fn are_allowed(engine: &Engine) -> bool {
    !NO_TERMINAL.iter().any(|name| engine.host_variable(name).is_some_and(|value| value == "1"))
}
