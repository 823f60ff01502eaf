//! A dialect with an engine behind it.

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bashful_engine::{
    Dropped, End, Engine, Exit, Lifetime, Live, Patience, RewriteError, RewriteFor, Rewritten, RunError, Script,
    SessionName,
};
use serde_json::Value;
use thiserror::Error;
use tokio::sync::watch;
use tokio::time::{Instant, MissedTickBehavior, interval_at, sleep_until};

use crate::answer::Answer;
use crate::arguments::{Call, JobsCall, Limits, Manner, RunCall};
use crate::asking::{Asks, Question, Said, how_to_allow, refused};
use crate::desk;
use crate::dialect::{Asked, Dialect, Ended};
use crate::job::mask;
use crate::limit::ReplyLimit;
use crate::owner::Owner;
use crate::resource::{self, ResourceError, ResourcePage};
use crate::text::{NO_LIMIT, chain, warnings};
use crate::tool::Tool;
use crate::visible::visible_lines;
use crate::witness::{Ran, Telling, Witness};

/// How often a caller is told how far a command has come. Clients show it to people, who do not read faster.
const TOLD_EVERY: Duration = Duration::from_secs(1);

/// What is told of the newest line, at most.
const LINE_TOLD: usize = 200;

/// Tools that a model can call.
#[derive(Debug, Clone)]
pub struct Toolbox {
    engine: Engine,
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
    /// Is told of every command.
    pub witness: Option<Arc<dyn Witness>>,
    /// Is asked about every command before the guard is.
    pub gate: Option<Arc<dyn Gate>>,
}

/// Somebody who knows a better way than a command.
pub trait Gate: std::fmt::Debug + Send + Sync {
    /// Why it is not to be run, and what to do instead.
    fn refuses(&self, script: &[u8]) -> Option<String>;
}

/// There is no such tool.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("there is no tool {name:?}")]
pub struct UnknownTool {
    /// What was asked for.
    pub name: String,
}

/// Who calls, and how long he waits.
#[derive(Default)]
pub struct Caller {
    /// How long the call may take before a command becomes a job; without it, as long as the command.
    pub patience: Option<Patience>,
    /// How much of a reply reaches the model.
    pub limit: ReplyLimit,
    /// Names the connection that the call came by: calls of the same one share a shell, in a dialect that keeps one, and own
    /// their jobs together. Without it every call has a shell of its own.
    pub connection: Option<String>,
    /// Is told about once a second how far it has come.
    pub progress: Option<Box<dyn FnMut(Progress) + Send>>,
    /// Can be asked about a command that has to be allowed.
    pub asks: Option<Arc<dyn Asks>>,
}

impl std::fmt::Debug for Caller {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.debug_struct("Caller").field("patience", &self.patience).finish_non_exhaustive()
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
        let directory = engine.eyes().mask(directory.to_string_lossy());
        let tools = dialect.tools(&limits, Path::new(&directory));
        Self {
            engine,
            dialect,
            limits,
            tools,
            id: Owner::new_toolbox(),
            in_use: Arc::default(),
            no_state: None,
            no_state_was_told: Arc::default(),
            witness: None,
            gate: None,
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
    pub async fn call(&self, tool: &str, arguments: Value, caller: Caller) -> Result<Answer, UnknownTool> {
        let parsed = self.dialect.parse(tool, arguments, &self.limits);
        let call = parsed.ok_or_else(|| UnknownTool { name: tool.to_owned() })?;
        let mut watch = Watch::new(caller);
        let answer = match call {
            Err(error) => Err(Failure::failed(&error)),
            Ok(Call::Run(call)) => self.run(*call, &mut watch).await,
            Ok(Call::Jobs(call)) => self.jobs(call, &mut watch).await,
        };
        // Other jobs may be named in it, with what is withheld from this one.
        let told = |text| visible_lines(&self.engine.eyes().mask(text));
        Ok(answer.unwrap_or_else(|failure| self.dialect.failure(failure.status, &told(failure.text))))
    }

    async fn jobs(&self, call: JobsCall, watch: &mut Watch) -> Result<Answer, Failure> {
        let failed = |text| Failure { status: "failed", text };
        let store = self.engine.jobs().ok_or_else(|| failed(self.no_jobs()))?;
        let owner = self.owner(watch);
        let seen = desk::attend(&self.engine, store, call, &owner, watch).await.map_err(failed)?;
        Ok(self.dialect.jobs(&seen).masked(&self.engine.eyes()))
    }

    fn owner(&self, watch: &Watch) -> Owner {
        Owner::new(&self.id, watch.caller.connection.as_deref())
    }

    /// The shell that calls of this connection share, unless it is in use: then a call gets a shell of its own.
    fn shared_shell(&self, connection: Option<&str>) -> Option<(SessionName, InUse)> {
        let connection = connection?;
        let name = self.dialect.shared_session(connection)?;
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
        let text = self.dialect.no_jobs();
        self.no_state.as_ref().map_or_else(|| text.clone(), |why| format!("{text}; {why}"))
    }

    /// What the command becomes before it is planned.
    fn rewrite(&self, call: &mut RunCall) -> Result<Rewritten, Failure> {
        let purpose = if call.manner == Manner::InBackground { RewriteFor::Job } else { RewriteFor::Reply };
        let rewritten = self.engine.rewrite(call.request.clone(), purpose)?;
        call.notices.extend_from_slice(&rewritten.notices);
        Ok(rewritten)
    }

    /// What is better than a command, as it was given or as it would run.
    fn better_way(&self, scripts: [&Script; 2]) -> Option<String> {
        let gate = self.gate.as_ref()?;
        scripts.into_iter().find_map(|script| gate.refuses(script.as_bytes()))
    }

    async fn run(&self, mut call: RunCall, watch: &mut Watch) -> Result<Answer, Failure> {
        self.engine.refresh_snapshot().await;
        call.notices.extend(self.engine.why_no_snapshot().map(|why| why.notice()));
        call.notices.extend(self.untold_no_state());
        let rewritten = self.rewrite(&mut call)?;
        let mut request = rewritten.request.clone();
        let connection = watch.caller.connection.as_deref().filter(|_| call.manner != Manner::InBackground);
        let _in_use = self.shared_shell(connection).map(|(name, in_use)| {
            request.session = Some(name);
            // Behind a pipe it would have had a shell of its own: what it does to that must not stay.
            request.apart = request.lines != call.request.lines;
            // Only variables and functions stay: every call says where it runs, or means where they all begin.
            request.workdir.get_or_insert_with(|| PathBuf::from("."));
            in_use
        });
        let mut plan = self.engine.plan(request).map_err(RunError::from)?;
        let limit = watch.caller.limit;
        limit.apply(&mut plan);
        plan.owner = Some(self.owner(watch).id());
        let (directory, window, lifetime) = (plan.directory.clone(), plan.window, plan.lifetime);
        let eyes = self.engine.eyes_for(&plan);
        let mut telling = self.witness.as_ref().map(|witness| Telling::new(witness, &self.engine, &plan));
        let mut note = |note: &dyn Fn(&mut Ran)| {
            if let Some(telling) = &mut telling {
                note(&mut telling.ran);
            }
        };
        if let Some(text) = self.better_way([&call.request.script, &plan.script]) {
            note(&Ran::refused);
            return Err(Failure { status: "refused", text });
        }
        let question = Question::new(watch.caller.asks.clone());
        let checked = watch.while_waiting(self.engine.check_asking(plan, &question)).await;
        let checked = checked.map_err(|refusal| {
            let (text, said) = question.refusal(&refusal, &eyes);
            note(&|ran| {
                if said == Some(Said::Later) {
                    ran.asked();
                } else {
                    ran.refused();
                }
                ran.how_to_allow = Some(how_to_allow(&(&refusal).into(), &eyes));
            });
            Failure { status: "refused", text }
        })?;
        call.notices.extend(warnings(checked.verdict()));
        rewritten.make_room().inspect_err(|_| note(&Ran::not_started))?;
        let manner = call.manner;
        if manner == Manner::InBackground {
            let started = self.engine.start_job_checked(checked).await;
            let no_jobs = |error| match error {
                RunError::NoJobs => Failure { status: "failed", text: self.no_jobs() },
                other => Failure::from(other),
            };
            let mut job = started.inspect_err(|error| note(&|ran| ran.failed(error))).map_err(no_jobs)?;
            note(&|ran| ran.became(&job));
            // Before its label is cut.
            mask(&mut job, &eyes);
            return Ok(self.dialect.started(&job, &Asked::new(call, lifetime)).masked(&eyes));
        }
        let mut asked = Asked::new(call, lifetime);
        let patient_until = if manner == Manner::WithPatience { watch.give_up(self.limits.auto_after) } else { None };
        let started = watch.while_waiting(Box::pin(self.engine.start_checked(checked, patient_until))).await;
        let started = started.inspect_err(|error| note(&|ran| ran.failed(error)));
        let mut job = started.map_err(|error| match error {
            // Its session's shell had gone elsewhere meanwhile, where nobody has been asked.
            RunError::Refused(refusal) => Failure { status: "refused", text: refused(&refusal, &eyes) },
            other => Failure::from(other),
        })?;
        note(&|ran| ran.written = Some(job.written()));
        watch.listen(|| job.live());
        // What becomes a job by itself does so while it still runs.
        let before_end = patient_until.and(self.limits.auto_after).and_then(|_| before_end(lifetime));
        let mut give_up = [patient_until, before_end].into_iter().flatten().min();
        loop {
            tokio::select! {
                outcome = job.wait() => {
                    let mut outcome = outcome?;
                    note(&|ran| ran.ended(&outcome));
                    let failed = outcome.end != End::Own(Exit::Code(0));
                    let whole = if failed { limit.shorten(&mut outcome, window) } else { window }.whole;
                    let at_most = if failed { limit.failed_bytes.or(limit.bytes) } else { limit.bytes };
                    let ended = Ended { outcome: &outcome, directory: &directory, whole, at_most, call: &asked };
                    return Ok(self.dialect.bounded(self.dialect.ended(&ended).masked(&eyes), outcome.output.limit));
                }
                () = watch.due() => watch.tell(),
                () = until(give_up) => match self.engine.send_to_background(job).await {
                    Ok(mut sent) => {
                        note(&|ran| ran.outlasted(&sent));
                        asked.notices.extend(rewritten.request.lines.map(|_| NO_LIMIT.to_owned()));
                        mask(&mut sent.job, &eyes);
                        let answer = self.dialect.outlasted(&sent, window.whole, &asked).masked(&eyes);
                        return Ok(self.dialect.bounded(answer, sent.output.limit));
                    }
                    Err(still) => {
                        job = still.job;
                        give_up = None;
                        asked.notices.extend(still.why.map(|why| format!("it was waited for to its end: {}", chain(&why))));
                    }
                },
            }
        }
    }
}

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

async fn until(when: Option<Instant>) {
    match when {
        Some(when) => sleep_until(when).await,
        None => std::future::pending().await,
    }
}

/// Shortly before the time of a command is up that has just begun; none if that is beyond all clocks.
fn before_end(lifetime: Lifetime) -> Option<Instant> {
    Instant::now().checked_add(lifetime.0.saturating_sub(Duration::from_secs(1)))
}

/// Why a call came to nothing.
struct Failure {
    status: &'static str,
    text: String,
}

impl Failure {
    fn failed(error: &(dyn std::error::Error + 'static)) -> Self {
        Self { status: "failed", text: chain(error) }
    }
}

impl From<RunError> for Failure {
    fn from(error: RunError) -> Self {
        Self::failed(&error)
    }
}

impl From<RewriteError> for Failure {
    fn from(error: RewriteError) -> Self {
        Self::failed(&error)
    }
}

impl From<Dropped> for Failure {
    fn from(error: Dropped) -> Self {
        Self::failed(&error)
    }
}

/// A caller who waits.
pub(crate) struct Watch {
    caller: Caller,
    began: Instant,
    tick: Option<tokio::time::Interval>,
    live: Option<watch::Receiver<Live>>,
}

impl Watch {
    fn new(caller: Caller) -> Self {
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

    /// When that is over, or sooner if a command becomes a job by itself.
    fn give_up(&self, auto_after: Option<Patience>) -> Option<Instant> {
        self.began.checked_add([self.caller.patience, auto_after].into_iter().flatten().min()?.0)
    }

    /// Tells him of this command. Nothing is prepared for those who do not listen.
    fn listen(&mut self, live: impl FnOnce() -> watch::Receiver<Live>) {
        self.live = self.tick.is_some().then(live);
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
