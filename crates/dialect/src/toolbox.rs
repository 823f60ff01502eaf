//! A dialect with an engine behind it.

use std::collections::HashSet;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bashful_engine::{
    self as engine, Approver, Background, Cancellation, CommandLog, End, Engine, Exit, Finished, Interceptor, Live,
    Patience, Redactor, Reply, ReplyLimit, RunError, SessionName, StopReason, Streams, Waiting, error_chain,
};
use serde_json::{Value, json};
use thiserror::Error;
use tokio::sync::{mpsc, watch};
use tokio::time::{Instant, MissedTickBehavior, interval_at};

use crate::answer::{Answer, Conclusion, RawAnswer};
use crate::approval::{NoApprover, refusal_text};
use crate::arguments::{Call, JobsCall, Limits, Manner, RunCall};
use crate::dialect::{CallFacts, Dialect, Ended};
use crate::job::mask;
use crate::job_calls;
use crate::owner::Owner;
use crate::resource::{self, ResourceError, ResourcePage};
use crate::shell_settings::{LatestEngine, ShellSettings};
use crate::terminal::{self, TerminalView};
use crate::text::{NO_LIMIT, NO_LIMIT_ANY_MORE};
use crate::tool::{Abilities, Tool};
use crate::updates::{FollowedJob, Update, UpdateState};
use crate::visible::visible_lines;

/// A caller hears of a command this often at least, also of one that writes nothing.
const TOLD_EVERY: Duration = Duration::from_secs(1);

/// Tools that a model can call.
#[derive(Debug, Clone)]
pub struct Toolbox {
    engine: Engine,
    latest_engine: LatestEngine,
    dialect: Dialect,
    limits: Limits,
    tools: Vec<Tool>,
    /// Names this toolbox in the records of its jobs.
    id: String,
    /// Connections whose shared shell is in use, where calls may overlap.
    in_use: Arc<Mutex<HashSet<String>>>,
    /// Why the host keeps no state, if that is for a reason that somebody should know. The first reply to a command tells it,
    /// and so does every reply to somebody who wants a job.
    pub no_state: Option<String>,
    no_state_was_told: Arc<AtomicBool>,
    /// Gets a record of every command.
    pub log: Option<Arc<dyn CommandLog>>,
    /// Names better tools for commands, before the guard judges them.
    pub interceptor: Option<Arc<dyn Interceptor>>,
    /// Settings of the host that may change between two commands.
    pub shell_settings: Option<Arc<dyn ShellSettings>>,
}

/// There is no such tool.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("there is no tool {name:?}")]
pub struct UnknownTool {
    /// What was asked for.
    pub name: String,
}

/// The caller of a tool, and how long it waits.
#[derive(Default)]
pub struct ToolCaller {
    /// How long the call may take before a command becomes a job; without it, as long as the command.
    pub patience: Option<Patience>,
    /// How much of a reply reaches the model.
    pub limit: ReplyLimit,
    /// Names the connection that the call came by: calls of the same one share a shell, in a dialect that keeps one, and own
    /// their jobs together. Without it every call has a shell of its own.
    pub connection: Option<String>,
    /// Gets updates: while the call waits, whenever there is new output, at most every 50 ms and at least once a second. In a dialect
    /// that [pushes](Toolbox::pushes), updates go on after the answer if the command has become a job, and the last one has its final
    /// text. The channel closes after that.
    ///
    /// ```
    /// # use bashful_dialect::{ToolCaller, Dialect, Limits, Toolbox};
    /// # use bashful_engine::{Engine, Options};
    /// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
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
    /// Decides about a command that needs approval.
    pub approver: Option<Arc<dyn Approver>>,
    /// Tells when the caller cancels and still wants an answer. A caller that wants none drops the future.
    pub cancellation: Option<Cancellation>,
    /// Shows the terminal of a command that asks for one (`pty: true`) to a person. While it does, there are no updates, and the
    /// command does not become a job.
    pub terminal: Option<TerminalView>,
}

impl std::fmt::Debug for ToolCaller {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.debug_struct("ToolCaller").field("patience", &self.patience).finish_non_exhaustive()
    }
}

impl Toolbox {
    /// Tools of this dialect, for commands that run in this directory unless they say where. The engine should have been made
    /// with options as [`Dialect::adjust`] leaves them.
    pub fn new(engine: Engine, dialect: Dialect, limits: Limits, directory: &Path) -> Self {
        let directory = engine.redactor().redact(directory.to_string_lossy());
        let tools = dialect.tools(&limits, Path::new(directory.as_str()), Abilities::of(&engine));
        Self {
            latest_engine: LatestEngine::new(engine.clone()),
            engine,
            dialect,
            limits,
            tools,
            id: Owner::new_toolbox(),
            in_use: Arc::default(),
            no_state: None,
            no_state_was_told: Arc::default(),
            log: None,
            interceptor: None,
            shell_settings: None,
        }
    }

    /// Which there are.
    pub fn tools(&self) -> &[Tool] {
        &self.tools
    }

    /// What runs the commands.
    pub fn engine(&self) -> &Engine {
        &self.engine
    }

    /// True if updates of a job go on until it is over.
    pub fn pushes(&self) -> bool {
        self.dialect.0.pushes()
    }

    /// Up to `count` resources, the newest first, from position `first` on.
    pub fn resources(&self, first: usize, count: usize) -> ResourcePage {
        resource::page(&self.engine, first, count)
    }

    /// Reads one of them, or a part of it; a text fit for a model.
    pub async fn read(&self, uri: &str) -> Result<String, ResourceError> {
        let (engine, asked) = (self.engine.clone(), uri.to_owned());
        // It may have to look through a gigabyte.
        let read = tokio::task::spawn_blocking(move || resource::read(&engine, &asked)).await;
        read.unwrap_or_else(|error| Err(ResourceError::Unreadable { uri: uri.to_owned(), why: error.to_string() }))
    }

    /// Calls a tool. What goes wrong with the call is part of the answer. A dropped future stops the command, unless it is a
    /// job already.
    pub async fn call(&self, tool: &str, arguments: Value, caller: ToolCaller) -> Result<Answer, UnknownTool> {
        let parsed = self.dialect.0.parse(tool, arguments, &self.limits);
        let call = parsed.ok_or_else(|| UnknownTool { name: tool.to_owned() })?;
        let mut watch = Watch::new(caller, self.engine.redactor());
        let answer = match call {
            Err(error) => Err(Failure::failed(&error)),
            Ok(Call::Run(call)) => self.run(*call, &mut watch).await,
            Ok(Call::Jobs(call)) => self.jobs(call, &mut watch).await,
        };
        Ok(answer.unwrap_or_else(|Failure { status, conclusion, text }| {
            // Other jobs may be named in it, with what is withheld from this one.
            let redactor = self.engine.redactor();
            let answer = self.dialect.0.failure(status, &visible_lines(&redactor.redact(text)));
            RawAnswer { conclusion, ..answer }.masked(&redactor)
        }))
    }

    async fn jobs(&self, call: JobsCall, watch: &mut Watch) -> Result<Answer, Failure> {
        let failed = |text| Failure::new("failed", text);
        let store = self.engine.jobs().ok_or_else(|| failed(self.no_jobs()))?;
        let owner = self.owner(watch);
        let shown = self.dialect.0.job_shown();
        let seen = job_calls::carry_out(&self.engine, store, call, &owner, shown, watch).await.map_err(failed)?;
        Ok(self.dialect.0.jobs(&seen).masked(&self.engine.redactor()))
    }

    fn owner(&self, watch: &Watch) -> Owner {
        Owner::new(&self.id, watch.caller.connection.as_deref())
    }

    /// The shell that calls of this connection share. A call that finds it busy waits its turn, or gets a shell of its own where
    /// calls may overlap.
    fn shared_shell(&self, connection: Option<&str>) -> SharedShell {
        let name = connection.and_then(|connection| self.dialect.0.shared_session(connection));
        let (Some(connection), Some(name), Some(_)) = (connection, name, self.engine.sessions()) else {
            return SharedShell::None;
        };
        if !self.limits.overlap {
            return SharedShell::Shared(name, None);
        }
        if !locked(&self.in_use).insert(connection.to_owned()) {
            return SharedShell::Busy;
        }
        let in_use = InUse { connection: connection.to_owned(), all: Arc::clone(&self.in_use) };
        SharedShell::Shared(name, Some(in_use))
    }

    /// Why the host keeps no state, the first time that somebody asks.
    fn untold_no_state(&self) -> Option<String> {
        self.no_state.clone().filter(|_| !self.no_state_was_told.swap(true, Ordering::Relaxed))
    }

    /// The answer to somebody who wants a job where there are none.
    fn no_jobs(&self) -> String {
        let text = self.dialect.0.no_jobs();
        self.no_state.as_ref().map_or_else(|| text.clone(), |why| format!("{text}; {why}"))
    }

    /// Runs a command: the engine's one road, and the dialect's words for what came of it.
    async fn run(&self, mut call: RunCall, watch: &mut Watch) -> Result<Answer, Failure> {
        let view = self.terminal_view(&mut call, watch);
        let has_view = view.is_some();
        let shares_shell = call.manner != Manner::InBackground && !has_view;
        let connection = watch.caller.connection.as_deref().filter(|_| shares_shell);
        let (shared, _in_use) = match self.shared_shell(connection) {
            SharedShell::None => (None, None),
            SharedShell::Shared(name, in_use) => (Some(name), in_use),
            SharedShell::Busy => {
                call.notices.push(OWN_SHELL.to_owned());
                (None, None)
            }
        };
        let mut caller = self.engine_caller(call.manner, shared, watch);
        if let Some(TerminalView { host, listener, .. }) = view {
            (caller.terminal, caller.listener) = (Some(host), Some(listener));
        }
        call.notices.extend(self.untold_no_state());
        let (engine, notice) = self.latest_engine.next(self.shell_settings.as_deref());
        call.notices.extend(notice);
        let request = call.request.clone();
        let reply = watch.while_waiting(Box::pin(engine.call(request, caller))).await;
        let reply = reply.map_err(|error| match error {
            RunError::NoJobs => Failure::new("failed", self.no_jobs()),
            RunError::Start(error) if has_view => {
                Failure::new("failed", self.dialect.0.no_terminal(error_chain(&error)))
            }
            other => Failure::failed(&other),
        })?;
        let limit = watch.caller.limit;
        match reply {
            Reply::Finished(finished) => Ok(self.finished(finished, call, limit)),
            Reply::Background(background) => Ok(self.background(background, call, watch)),
            Reply::Refused(refusal) => Err(Failure::new("refused", refusal_text(&refusal))),
            Reply::Intercepted(better) => Err(Failure::new("refused", better.text.into_string())),
            Reply::Cancelled => {
                Err(Failure { conclusion: Conclusion::Abort, ..Failure::new("failed", CANCELLED.to_owned()) })
            }
        }
    }

    /// The view of the terminal that a command gets. In a dialect that wants one, a command without runs without a terminal.
    fn terminal_view(&self, call: &mut RunCall, watch: &mut Watch) -> Option<TerminalView> {
        if !self.dialect.0.terminal_needs_view() || call.request.streams.terminal().is_none() {
            return None;
        }
        let is_on = self.limits.virtual_terminal && terminal::are_allowed(&self.engine);
        let Some(view) = watch.caller.terminal.take().filter(|_| is_on) else {
            call.request.streams = Streams::Combined;
            return None;
        };
        view.fit(&mut call.request);
        call.manner = Manner::ToItsEnd;
        // The person sees it.
        watch.tick = None;
        Some(view)
    }

    /// The caller as the engine knows it.
    fn engine_caller(&self, manner: Manner, shared: Option<SessionName>, watch: &mut Watch) -> engine::Caller {
        let caller = &mut watch.caller;
        let waiting = match (manner, caller.patience, self.limits.auto_after) {
            (Manner::InBackground, ..) => Waiting::InBackground,
            (Manner::ToItsEnd, ..) | (Manner::WithPatience, None, None) => Waiting::ToEnd,
            (Manner::WithPatience, Some(patience), None) => Waiting::WithPatience(patience),
            (Manner::WithPatience, patience, Some(auto)) => {
                Waiting::BeforeTimeout(patience.map_or(auto, |patience| patience.min(auto)))
            }
        };
        engine::Caller {
            terminal: None,
            waiting,
            approver: Some(caller.approver.clone().unwrap_or_else(|| Arc::new(NoApprover))),
            interceptor: self.interceptor.clone(),
            log: self.log.clone(),
            cancellation: caller.cancellation.take(),
            limit: caller.limit,
            owner: Some(self.owner(watch).id()),
            shared_session: shared,
            progress: watch.show_progress(),
            listener: None,
        }
    }

    fn finished(&self, finished: Finished, call: RunCall, limit: ReplyLimit) -> Answer {
        let Finished { outcome, directory, lifetime, window, notices, redactor } = finished;
        let has_failed = outcome.end != End::Own(Exit::Code(0));
        let at_most = if has_failed { limit.failed_bytes.or(limit.bytes) } else { limit.bytes };
        let asked = CallFacts::new(call, lifetime, notices);
        let ended = Ended { outcome: &outcome, directory: &directory, whole: window.whole, at_most, call: &asked };
        let conclusion = match outcome.end {
            End::Own(_) => Conclusion::Result,
            End::Stopped { why: StopReason::Cancelled, .. } => Conclusion::Abort,
            End::Stopped { .. } | End::Lost => Conclusion::Error,
        };
        let answer = RawAnswer { conclusion, ..self.dialect.0.ended(&ended) };
        self.dialect.0.bounded(answer, &redactor, outcome.output.limit)
    }

    fn background(&self, background: Background, call: RunCall, watch: &mut Watch) -> Answer {
        let Background { mut job, shown, lifetime, notices, redactor } = background;
        // Before its label is cut.
        mask(&mut job, &redactor);
        let has_limit = shown.as_ref().map_or(call.request.lines.is_some(), |shown| shown.had_line_limit);
        let mut asked = CallFacts::new(call, lifetime, notices);
        let no_limit = if shown.is_some() { NO_LIMIT_ANY_MORE } else { NO_LIMIT };
        asked.notices.extend(has_limit.then(|| no_limit.to_owned()));
        let answer = match &shown {
            None => self.dialect.0.started(&job, &asked).masked(&redactor),
            Some(shown) => {
                self.dialect.0.bounded(self.dialect.0.outlasted(&job, shown, &asked), &redactor, shown.output.limit)
            }
        };
        if let (true, Some(store), Some(updates)) = (self.pushes(), self.engine.jobs(), watch.caller.updates.take()) {
            FollowedJob {
                store: Arc::clone(store),
                id: job.id,
                dialect: self.dialect,
                call: asked,
                shown: watch.caller.limit.for_each_of(1, self.dialect.0.job_shown()),
                redactor,
                output_redactor: self.engine.output_redactor(),
                updates,
            }
            .follow();
        }
        answer
    }
}

/// The notice to a call that overlaps another one.
const OWN_SHELL: &str = "ran in a shell of its own: the shared shell was busy with another command";

/// The shell of a call, in a dialect whose calls share one.
enum SharedShell {
    /// Calls share none here.
    None,
    /// The shared one, marked as in use where calls may overlap.
    Shared(SessionName, Option<InUse>),
    /// One of its own, because another call is in the shared one.
    Busy,
}

/// The answer to a call that was cancelled before its command had started.
const CANCELLED: &str = "cancelled before the command had started; nothing of it was run";

/// Marks a connection's shared shell as in use, until it is dropped.
struct InUse {
    connection: String,
    all: Arc<Mutex<HashSet<String>>>,
}

impl Drop for InUse {
    fn drop(&mut self) {
        locked(&self.all).remove(&self.connection);
    }
}

fn locked(names: &Mutex<HashSet<String>>) -> MutexGuard<'_, HashSet<String>> {
    // Whoever panicked with it in hand has left nothing half done.
    names.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Why a call came to nothing.
struct Failure {
    status: &'static str,
    conclusion: Conclusion,
    text: String,
}

impl Failure {
    fn new(status: &'static str, text: String) -> Self {
        Self { status, conclusion: Conclusion::Error, text }
    }

    fn failed(error: &(dyn std::error::Error + 'static)) -> Self {
        Self::new("failed", error_chain(error))
    }
}

/// A caller who waits.
pub(crate) struct Watch {
    caller: ToolCaller,
    began: Instant,
    tick: Option<tokio::time::Interval>,
    live: Option<watch::Receiver<Live>>,
    redactor: Redactor,
}

impl Watch {
    fn new(caller: ToolCaller, redactor: Redactor) -> Self {
        let tick = caller.updates.is_some().then(|| {
            let mut tick = interval_at(Instant::now() + TOLD_EVERY, TOLD_EVERY);
            tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
            tick
        });
        Self { caller, began: Instant::now(), tick, live: None, redactor }
    }

    /// How much of the reply reaches the model.
    pub(crate) fn limit(&self) -> ReplyLimit {
        self.caller.limit
    }

    /// How long he waits at most.
    pub(crate) fn patience(&self) -> Duration {
        self.caller.patience.map_or(Duration::MAX, |patience| patience.0)
    }

    /// A channel for the newest output of a command; none for a caller that does not listen.
    fn show_progress(&mut self) -> Option<watch::Sender<Live>> {
        self.tick.as_ref()?;
        let (send, receive) = watch::channel(Live::default());
        self.live = Some(receive);
        Some(send)
    }

    async fn due(&mut self) {
        let Some(tick) = &mut self.tick else { return std::future::pending().await };
        tokio::select! {
            _ = tick.tick() => {}
            () = changed(&mut self.live) => {}
        }
    }

    fn tell(&mut self) {
        let Some(updates) = &self.caller.updates else { return };
        let live = self.live.as_mut().map(|live| live.borrow_and_update().clone()).unwrap_or_default();
        // Where there is no room, the next update does.
        let _ = updates.try_send(Update {
            state: UpdateState::Foreground,
            elapsed: self.began.elapsed(),
            bytes: live.bytes,
            text: self.redactor.redact(String::from_utf8_lossy(&live.newest)),
            facts: json!({}),
        });
    }

    /// Waits for something, and tells him that it goes on.
    pub(crate) async fn while_waiting<T>(&mut self, waiting: impl Future<Output = T>) -> T {
        tokio::pin!(waiting);
        loop {
            tokio::select! {
                done = &mut waiting => return done,
                () = self.due() => self.tell(),
            }
        }
    }
}

/// Waits until the command has written something; for ever if it has ended.
async fn changed(live: &mut Option<watch::Receiver<Live>>) {
    if let Some(live) = live
        && live.changed().await.is_ok()
    {
        return;
    }
    std::future::pending::<()>().await;
}
