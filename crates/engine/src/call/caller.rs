//! The caller of a command: its patience, its approver, and the receivers of its output.

use std::fmt;
use std::sync::Arc;

use tokio::sync::{mpsc, oneshot, watch};
use tokio::time::Instant;

use crate::check::Approver;
use crate::client_terminal::ClientTerminal;
use crate::command_log::CommandLog;
use crate::reply_limit::ReplyLimit;
use crate::running::{Live, OutputListener};
use crate::sessions::{CallTurn, SessionName};
use crate::terminal::AttendedTerminal;
use crate::tool_advice::Interception;
use crate::units::Patience;

/// The caller of one command. The default waits for the end, and has no approver and no listeners.
#[derive(Default)]
pub struct Caller {
    /// Time that the call waits for the command.
    pub waiting: Waiting,
    /// True if a person typed the command, and means it as it stands: of all rewriting only the prefix applies.
    pub is_person: bool,
    /// Decides about a command that the guard refuses, if the engine's own approver has not.
    pub approver: Option<Arc<dyn Approver>>,
    /// Names a better tool for a command, before the guard judges it.
    pub interceptor: Option<Arc<dyn Interceptor>>,
    /// Gets one record of the command.
    pub log: Option<Arc<dyn CommandLog>>,
    /// Gets the newest output while the command runs, at most every 50 ms.
    pub progress: Option<watch::Sender<Live>>,
    /// Gets the output, live. If every byte counts, which it does unless the listener drops some when it is behind,
    /// rewriting leaves `| head` to bash.
    pub listener: Option<OutputListener>,
    /// Gets the terminal of a command that has one, when the command has started. The reply waits until the host drops it.
    pub terminal: Option<oneshot::Sender<AttendedTerminal>>,
    /// Terminals of the client, for commands in the foreground.
    ///
    /// A command runs there if it wants nothing that only this machine has: a background job, also one that it may
    /// become when the caller's patience is over, a terminal of its own, a named session, standard input, separate
    /// streams, a limit on lines, or a listener for every byte. The shared session is not used.
    pub client_terminal: Option<Arc<dyn ClientTerminal>>,
    /// Receives the caller's cancellation.
    pub cancellation: Option<Cancellation>,
    /// Receives the caller's orders to pause and to continue.
    pub pausing: Option<Pausing>,
    /// Limit on the reply that the caller shows to its reader.
    pub limit: ReplyLimit,
    /// Owner of the job that the command may become. Written into the job's record; the engine does not interpret it.
    pub owner: Option<String>,
    /// Session that commands of this caller share without asking for one. It keeps variables and functions. Every
    /// command runs in the directory that it names, or in the engine's.
    pub shared_session: Option<SessionName>,
    /// Turn of the call among those for the same session. Without one, the call takes it when it begins.
    pub turn: Option<CallTurn>,
}

/// Time that a call waits for its command.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Waiting {
    /// To the end of the command, however long that takes.
    #[default]
    ToEnd,
    /// Up to the caller's patience, counted from the call. A command that takes longer becomes a job. One that has not
    /// got its turn by then does not run.
    WithPatience(Patience),
    /// Up to the caller's patience, and at most to just before the end of the command's lifetime. The command becomes a
    /// job while it still runs.
    BeforeTimeout(Patience),
    /// Not at all: the command is started as a job.
    InBackground,
}

impl Waiting {
    /// Time at which the patience of a call that begins now is over; none if it has no end, or one beyond the range of
    /// the clock.
    pub(super) fn deadline(self) -> Option<Instant> {
        match self {
            Self::WithPatience(patience) | Self::BeforeTimeout(patience) => Instant::now().checked_add(patience.0),
            Self::ToEnd | Self::InBackground => None,
        }
    }
}

impl fmt::Debug for Caller {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Caller").field("waiting", &self.waiting).field("owner", &self.owner).finish_non_exhaustive()
    }
}

/// Knows better tools than some commands.
pub trait Interceptor: fmt::Debug + Send + Sync {
    /// Names the tool that does better what the script does; none without such a tool.
    fn intercept(&self, script: &[u8]) -> Option<Interception>;
}

/// Cancels a call. The first time, the command is stopped; the second time, it is killed.
#[derive(Debug, Clone)]
pub struct Canceller(mpsc::UnboundedSender<()>);

/// The receiving end of a [`Canceller`], for [`Caller::cancellation`].
#[derive(Debug)]
pub struct Cancellation(mpsc::UnboundedReceiver<()>);

impl Canceller {
    /// Makes a canceller and its receiving end.
    pub fn new() -> (Self, Cancellation) {
        let (send, receive) = mpsc::unbounded_channel();
        (Self(send), Cancellation(receive))
    }

    /// Cancels the call. Without effect once the call is over.
    pub fn cancel(&self) {
        let _ = self.0.send(());
    }
}

/// Pauses a command and continues it, as a shell does with a job.
#[derive(Debug, Clone)]
pub struct Pauser(mpsc::UnboundedSender<PauseOrder>);

/// The receiving end of a [`Pauser`], for [`Caller::pausing`].
#[derive(Debug)]
pub struct Pausing(mpsc::UnboundedReceiver<PauseOrder>);

/// An order about every process of a command.
#[derive(Debug)]
pub(super) enum PauseOrder {
    /// Stop them, and say so.
    Pause(oneshot::Sender<()>),
    Resume,
}

impl Pauser {
    /// Makes a pauser and its receiving end.
    pub fn new() -> (Self, Pausing) {
        let (send, receive) = mpsc::unbounded_channel();
        (Self(send), Pausing(receive))
    }

    /// Pauses every process of the command with `SIGSTOP`. Its lifetime goes on. Returns when the order is on its way, or
    /// the call is over. An order that comes before the command has started waits for that; so does a dropped future's.
    pub async fn pause(&self) {
        let (done, is_done) = oneshot::channel();
        if self.0.send(PauseOrder::Pause(done)).is_ok() {
            // It is dropped with the call.
            let _ = is_done.await;
        }
    }

    /// Continues a paused command. Without effect once the call is over.
    pub fn resume(&self) {
        let _ = self.0.send(PauseOrder::Resume);
    }
}

/// Waits for the next order; for ever if none can come.
pub(super) async fn pause_ordered(pausing: &mut Option<Pausing>) -> PauseOrder {
    if let Some(Pausing(orders)) = pausing {
        if let Some(order) = orders.recv().await {
            return order;
        }
        *pausing = None;
    }
    std::future::pending().await
}

/// Waits until the caller cancels; for ever if it cannot.
pub(super) async fn cancelled(cancellation: &mut Option<Cancellation>) {
    if let Some(Cancellation(asked)) = cancellation {
        if asked.recv().await.is_some() {
            return;
        }
        *cancellation = None;
    }
    std::future::pending::<()>().await;
}
