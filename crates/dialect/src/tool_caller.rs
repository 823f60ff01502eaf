//! The caller of a tool: how long it waits, and how it is told about the command meanwhile.

use std::sync::Arc;
use std::time::Duration;

use bashful_engine::{
    Approver, CallTurn, Cancellation, ClientTerminal, Live, OutputListener, Patience, Redactor, ReplyLimit,
};
use serde_json::json;
use tokio::sync::{mpsc, watch};
use tokio::time::{Instant, MissedTickBehavior, interval_at};

use crate::dialect::Dialect;
use crate::terminal::TerminalView;
use crate::updates::{Update, UpdateState};

/// Longest time between two updates of a waiting call. A silent command gets them too.
const UPDATE_INTERVAL: Duration = Duration::from_secs(1);

/// The caller of a tool, and how long it waits.
#[derive(Default)]
pub struct ToolCaller {
    /// Longest time that the call waits before its command becomes a job. Without it the call waits until the command ends.
    pub patience: Option<Patience>,
    /// Largest reply that reaches the model.
    pub limit: ReplyLimit,
    /// Name of the connection. Calls of one connection own their jobs together, and share a shell in a dialect that keeps one.
    /// Without a name every call has its own shell.
    pub connection: Option<String>,
    /// Receives updates while the call waits: at new output, at most every 50 ms and at least once a second. In a dialect that
    /// [pushes](crate::Toolbox::pushes), updates of a command that became a job continue after the answer. The last one has the final
    /// text, and then the channel closes.
    ///
    /// ```standalone_crate
    /// # use bashful_dialect::{ToolCaller, Dialect, Limits, Toolbox};
    /// # use bashful_engine::{Engine, Options};
    /// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # bashful_engine::keeper_main();
    /// # let engine = Engine::new(Options::new("/bin/bash".into(), "/".into()).inherit())?;
    /// # let toolbox = Toolbox::new(engine, Dialect::PI, Limits::default(), "/".as_ref());
    /// let (send, mut updates) = tokio::sync::mpsc::channel(16);
    /// let caller = ToolCaller { updates: Some(send), ..ToolCaller::default() };
    /// let arguments = serde_json::json!({ "command": "echo begun; sleep 0.3" });
    /// let (answer, newest) = tokio::join!(toolbox.call("bash", arguments, caller), async {
    ///     let mut newest = None;
    ///     while let Some(update) = updates.recv().await {
    ///         newest = Some(update);
    ///     }
    ///     newest
    /// });
    /// assert!(answer?.text.starts_with("begun\n\nWall time: "));
    /// assert_eq!(newest.ok_or("no update")?.text, "begun\n");
    /// # Ok(()) }
    /// ```
    pub updates: Option<mpsc::Sender<Update>>,
    /// Continues the updates of a command that became a job after the answer in every dialect, not only in one that
    /// [pushes](crate::Toolbox::pushes).
    pub follows_jobs: bool,
    /// Gets the whole output live, while the call waits. Then a trailing `| head` or `| tail` is left to bash.
    pub listener: Option<OutputListener>,
    /// Decides about a command that needs approval.
    pub approver: Option<Arc<dyn Approver>>,
    /// Signals that the caller cancels and still wants the answer. A caller that wants none drops the future.
    pub cancellation: Option<Cancellation>,
    /// Shows the terminal of a command that asks for one (`pty: true`) to a person. While it does, there are no updates, and the
    /// command does not become a job.
    pub terminal: Option<TerminalView>,
    /// Terminals of the client. Foreground commands run there, except for those that [`bashful_engine::Caller::client_terminal`]
    /// lists. The name of the terminal is in every update, beginning with one at once, and in the facts of the answer.
    pub client_terminal: Option<Arc<dyn ClientTerminal>>,
    /// Turn of the call among those for the same shell: taken where the call was read, if it runs on a task of its own.
    pub turn: Option<CallTurn>,
}

impl std::fmt::Debug for ToolCaller {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.debug_struct("ToolCaller").field("patience", &self.patience).finish_non_exhaustive()
    }
}

/// A caller whose call is under way. Sends its updates.
pub(crate) struct WaitingCaller {
    pub(crate) caller: ToolCaller,
    began: Instant,
    /// Makes updates due; none if the caller takes none.
    pub(crate) tick: Option<tokio::time::Interval>,
    live: Option<watch::Receiver<Live>>,
    redactor: Redactor,
    dialect: Dialect,
}

impl WaitingCaller {
    pub(crate) fn new(caller: ToolCaller, redactor: Redactor, dialect: Dialect) -> Self {
        let tick = caller.updates.is_some().then(|| {
            let mut tick = interval_at(Instant::now() + UPDATE_INTERVAL, UPDATE_INTERVAL);
            tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
            tick
        });
        Self { caller, began: Instant::now(), tick, live: None, redactor, dialect }
    }

    /// Lets later calls pass: this one waits for no shell.
    pub(crate) fn give_up_turn(&mut self) {
        if let Some(turn) = self.caller.turn.take() {
            turn.give_up();
        }
    }

    /// Largest reply that reaches the model.
    pub(crate) fn limit(&self) -> ReplyLimit {
        self.caller.limit
    }

    /// Longest time that the caller waits; `Duration::MAX` without a limit.
    pub(crate) fn patience(&self) -> Duration {
        self.caller.patience.map_or(Duration::MAX, |patience| patience.0)
    }

    /// Opens the channel for the newest output of a command; none if the caller takes no updates.
    pub(crate) fn open_progress(&mut self) -> Option<watch::Sender<Live>> {
        self.tick.as_ref()?;
        let (send, receive) = watch::channel(Live::default());
        self.live = Some(receive);
        Some(send)
    }

    /// Waits until an update is due: at new output, or after an interval. Never returns if the caller takes no updates.
    async fn update_due(&mut self) {
        let Some(tick) = &mut self.tick else { return std::future::pending().await };
        tokio::select! {
            _ = tick.tick() => {}
            () = new_output(&mut self.live) => {}
        }
    }

    fn send_update(&mut self) {
        let Some(updates) = &self.caller.updates else { return };
        let live = self.live.as_mut().map(|live| live.borrow_and_update().clone()).unwrap_or_default();
        let facts = match &live.client_terminal {
            Some(id) => json!({ self.dialect.0.client_terminal_field(): &**id }),
            None => json!({}),
        };
        // A full channel loses this update. The next one shows the same text and more.
        let _ = updates.try_send(Update {
            state: UpdateState::Foreground,
            elapsed: self.began.elapsed(),
            bytes: live.bytes,
            lines: Some(live.lines),
            text: self.redactor.redact(String::from_utf8_lossy(&live.newest)),
            facts,
        });
    }

    /// Awaits a future, and sends updates meanwhile.
    pub(crate) async fn while_waiting<T>(&mut self, future: impl Future<Output = T>) -> T {
        tokio::pin!(future);
        loop {
            tokio::select! {
                done = &mut future => return done,
                () = self.update_due() => self.send_update(),
            }
        }
    }
}

/// Waits for new output. Never returns once the command has ended.
async fn new_output(live: &mut Option<watch::Receiver<Live>>) {
    if let Some(live) = live
        && live.changed().await.is_ok()
    {
        return;
    }
    std::future::pending::<()>().await;
}
