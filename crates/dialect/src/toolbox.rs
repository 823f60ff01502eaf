//! A dialect with an engine behind it.

use std::collections::HashSet;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bashful_engine::{
    self as engine, Approver, Background, Cancellation, CommandLog, End, Engine, Exit, Finished, Interceptor, Live,
    Patience, Reply, ReplyLimit, RunError, SessionName, Waiting, error_chain,
};
use serde_json::Value;
use thiserror::Error;
use tokio::sync::watch;
use tokio::time::{Instant, MissedTickBehavior, interval_at};

use crate::answer::Answer;
use crate::approval::{NoApprover, refusal_text};
use crate::arguments::{Call, JobsCall, Limits, Manner, RunCall};
use crate::dialect::{CallFacts, Dialect, Ended};
use crate::job::mask;
use crate::job_calls;
use crate::owner::Owner;
use crate::resource::{self, ResourceError, ResourcePage};
use crate::shell_settings::{LatestEngine, ShellSettings};
use crate::text::NO_LIMIT;
use crate::tool::{Abilities, Tool};
use crate::visible::visible_lines;

/// How often a caller is told how far a command has come. Clients show it to people, who do not read faster.
const TOLD_EVERY: Duration = Duration::from_secs(1);

/// What is told of the newest line, at most.
const LINE_TOLD: usize = 200;

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
    /// Connections whose shared shell is in use, in a dialect that keeps one for each.
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
    /// Is told about once a second how far it has come.
    pub progress: Option<Box<dyn FnMut(Progress) + Send>>,
    /// Decides about a command that needs approval.
    pub approver: Option<Arc<dyn Approver>>,
    /// Tells when the caller cancels and still wants an answer. A caller that wants none drops the future.
    pub cancellation: Option<Cancellation>,
}

impl std::fmt::Debug for ToolCaller {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.debug_struct("ToolCaller").field("patience", &self.patience).finish_non_exhaustive()
    }
}

/// How far a call has come.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Progress {
    /// For how long it has been under way.
    pub elapsed: Duration,
    /// What the command has written.
    pub bytes: u64,
    /// The newest line of that, or its beginning.
    pub last_line: String,
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
        let mut watch = Watch::new(caller);
        let answer = match call {
            Err(error) => Err(Failure::failed(&error)),
            Ok(Call::Run(call)) => self.run(*call, &mut watch).await,
            Ok(Call::Jobs(call)) => self.jobs(call, &mut watch).await,
        };
        Ok(answer.unwrap_or_else(|Failure { status, text }| {
            // Other jobs may be named in it, with what is withheld from this one.
            let redactor = self.engine.redactor();
            self.dialect.0.failure(status, &visible_lines(&redactor.redact(text))).masked(&redactor)
        }))
    }

    async fn jobs(&self, call: JobsCall, watch: &mut Watch) -> Result<Answer, Failure> {
        let failed = |text| Failure { status: "failed", text };
        let store = self.engine.jobs().ok_or_else(|| failed(self.no_jobs()))?;
        let owner = self.owner(watch);
        let seen = job_calls::carry_out(&self.engine, store, call, &owner, watch).await.map_err(failed)?;
        Ok(self.dialect.0.jobs(&seen).masked(&self.engine.redactor()))
    }

    fn owner(&self, watch: &Watch) -> Owner {
        Owner::new(&self.id, watch.caller.connection.as_deref())
    }

    /// The shell that calls of this connection share, unless it is in use: then a call gets a shell of its own.
    fn shared_shell(&self, connection: Option<&str>) -> Option<(SessionName, InUse)> {
        let connection = connection?;
        let name = self.dialect.0.shared_session(connection)?;
        self.engine.sessions()?;
        let mut in_use = locked(&self.in_use);
        if !in_use.insert(connection.to_owned()) {
            return None;
        }
        Some((name, InUse { connection: connection.to_owned(), all: Arc::clone(&self.in_use) }))
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
        let connection = watch.caller.connection.as_deref().filter(|_| call.manner != Manner::InBackground);
        let shared = self.shared_shell(connection);
        let caller = self.engine_caller(call.manner, shared.as_ref().map(|(name, _)| name.clone()), watch);
        call.notices.extend(self.untold_no_state());
        let (engine, notice) = self.latest_engine.next(self.shell_settings.as_deref());
        call.notices.extend(notice);
        let request = call.request.clone();
        let reply = watch.while_waiting(Box::pin(engine.call(request, caller))).await;
        let reply = reply.map_err(|error| match error {
            RunError::NoJobs => Failure { status: "failed", text: self.no_jobs() },
            other => Failure::failed(&other),
        })?;
        let limit = watch.caller.limit;
        match reply {
            Reply::Finished(finished) => Ok(self.finished(finished, call, limit)),
            Reply::Background(background) => Ok(self.background(background, call)),
            Reply::Refused(refusal) => Err(Failure { status: "refused", text: refusal_text(&refusal) }),
            Reply::Intercepted(better) => Err(Failure { status: "refused", text: better.text.into_string() }),
            Reply::Cancelled => Err(Failure { status: "failed", text: CANCELLED.to_owned() }),
        }
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
        self.dialect.0.bounded(self.dialect.0.ended(&ended), &redactor, outcome.output.limit)
    }

    fn background(&self, background: Background, call: RunCall) -> Answer {
        let Background { mut job, shown, lifetime, notices, redactor } = background;
        // Before its label is cut.
        mask(&mut job, &redactor);
        let mut asked = CallFacts::new(call, lifetime, notices);
        let Some(shown) = shown else { return self.dialect.0.started(&job, &asked).masked(&redactor) };
        asked.notices.extend(shown.had_line_limit.then(|| NO_LIMIT.to_owned()));
        self.dialect.0.bounded(self.dialect.0.outlasted(&job, &shown, &asked), &redactor, shown.output.limit)
    }
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
    text: String,
}

impl Failure {
    fn failed(error: &(dyn std::error::Error + 'static)) -> Self {
        Self { status: "failed", text: error_chain(error) }
    }
}

/// A caller who waits.
pub(crate) struct Watch {
    caller: ToolCaller,
    began: Instant,
    tick: Option<tokio::time::Interval>,
    live: Option<watch::Receiver<Live>>,
}

impl Watch {
    fn new(caller: ToolCaller) -> Self {
        let tick = caller.progress.is_some().then(|| {
            let mut tick = interval_at(Instant::now() + TOLD_EVERY, TOLD_EVERY);
            tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
            tick
        });
        Self { caller, began: Instant::now(), tick, live: None }
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
        match &mut self.tick {
            Some(tick) => drop(tick.tick().await),
            None => std::future::pending().await,
        }
    }

    fn tell(&mut self) {
        let Some(progress) = &mut self.caller.progress else { return };
        let live = self.live.as_ref().map(|live| live.borrow().clone()).unwrap_or_default();
        let last_line = last_line(&live.newest);
        progress(Progress { elapsed: self.began.elapsed(), bytes: live.bytes, last_line });
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

/// The last line that is not blank, or its beginning.
fn last_line(text: &[u8]) -> String {
    let text = String::from_utf8_lossy(text);
    let line = text.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or_default();
    // Output that is shown as it was written may hold anything, and clients print this to terminals.
    line.chars().filter(|char| !char.is_control()).take(LINE_TOLD).collect()
}
