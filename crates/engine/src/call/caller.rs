//! The caller of a command: how long it waits, whom the engine asks on its behalf, and who hears of the command.

use std::fmt;
use std::sync::Arc;

use bashful_guard::Interception;
use tokio::sync::{mpsc, oneshot, watch};
use tokio::time::Instant;

use crate::check::Approver;
use crate::command_log::CommandLog;
use crate::reply_limit::ReplyLimit;
use crate::running::{Live, OutputListener};
use crate::sessions::SessionName;
use crate::terminal::AttendedTerminal;
use crate::units::Patience;

/// The caller of one command. The default waits to the command's end and has nobody to ask or to tell.
#[derive(Default)]
pub struct Caller {
    /// How the call waits for the command.
    pub waiting: Waiting,
    /// Decides about a command that the guard refuses, if the engine's own approver has not.
    pub approver: Option<Arc<dyn Approver>>,
    /// Names a better tool for a command, before the guard judges it.
    pub interceptor: Option<Arc<dyn Interceptor>>,
    /// Gets a record of the command.
    pub log: Option<Arc<dyn CommandLog>>,
    /// Shows the newest output while the command runs, at most every 50 ms.
    pub progress: Option<watch::Sender<Live>>,
    /// Gets everything that the command writes, live. Rewriting then leaves `| head` to bash, because every byte counts.
    pub listener: Option<OutputListener>,
    /// Gets the terminal of a command that has one, when the command has started. The reply waits until the host drops it.
    pub terminal: Option<oneshot::Sender<AttendedTerminal>>,
    /// Tells when the caller cancels.
    pub cancellation: Option<Cancellation>,
    /// How much of the reply reaches the caller's reader.
    pub limit: ReplyLimit,
    /// The owner of the job that the command may become. Written into the job's record; the engine reads no meaning into it.
    pub owner: Option<String>,
    /// A session that commands of this caller share without asking for one. Variables and functions stay in it; every command
    /// runs where it says, or where they all begin.
    pub shared_session: Option<SessionName>,
}

/// How a call waits for its command.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Waiting {
    /// To its end, however long that takes.
    #[default]
    ToEnd,
    /// As long as the caller has patience, counted from the call. A command that takes longer becomes a job. One that has not
    /// come to its turn by then is not run at all.
    WithPatience(Patience),
    /// As long as this, and no longer than just before the end of the command's lifetime: the command becomes a job while it
    /// still runs.
    BeforeTimeout(Patience),
    /// Not at all: the command is started as a job.
    InBackground,
}

impl Waiting {
    /// The moment at which a call that begins now runs out of patience; none if that is never, or beyond what the clock can say.
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

/// Knows better tools than a command.
pub trait Interceptor: fmt::Debug + Send + Sync {
    /// Names the tool that does better what the script does; none if there is none.
    fn intercept(&self, script: &[u8]) -> Option<Interception>;
}

/// Cancels a call. Cancelled once, the command is asked to stop; cancelled again, it is killed.
#[derive(Debug, Clone)]
pub struct Canceller(mpsc::UnboundedSender<()>);

/// The other end of a [`Canceller`], for [`Caller::cancellation`].
#[derive(Debug)]
pub struct Cancellation(mpsc::UnboundedReceiver<()>);

impl Canceller {
    /// A canceller, and its end for the call.
    pub fn new() -> (Self, Cancellation) {
        let (send, receive) = mpsc::unbounded_channel();
        (Self(send), Cancellation(receive))
    }

    /// Cancels. Without effect once the call is over.
    pub fn cancel(&self) {
        let _ = self.0.send(());
    }
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
