//! Runs one command from request to reply: the only way through the engine.
//!
//! The steps come in this order, here and nowhere else: intercept, refresh the snapshot, rewrite, plan, judge, start,
//! wait, move to the background, log. Every surface parses its arguments, calls this, and formats the reply.
//!
//! Invariant: a call that was intercepted, or that reached a plan, writes one record to its log, whatever happens to
//! it.

mod caller;
mod reply;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use bashful_keeper::{End, Exit, StopReason};
use bashful_sys::signal::Signal;
use tokio::time::{Instant, sleep_until, timeout};

pub use caller::{Caller, Cancellation, Canceller, Interceptor, Pauser, Pausing, Waiting};
pub use reply::{Background, BetterTool, Finished, Reply, ShownSoFar};

use caller::{PauseOrder, cancelled, pause_ordered};

use crate::backend::Backend;
use crate::check::{Checked, Refusal, warnings};
use crate::client_terminal::ClientBackend;
use crate::command_log::{CommandText, LogEntry};
use crate::engine::{Engine, RunError};
use crate::outcome::Outcome;
use crate::redact::{Redacted, Redactor, error_chain};
use crate::reply_limit::ReplyLimit;
use crate::request::{Input, Request, Script, Streams};
use crate::rewrite::{RewriteFor, RewriteKind, Rewritten, without_leading_cd};
use crate::running::{Handles, InBackground, NotSent, Run, Running};
use crate::tool_advice::Interception;
use crate::units::Lifetime;
use crate::window::Window;

/// Time for a cancelled command to report its start. One that has not by then still waits for something.
const ALMOST_STARTED: Duration = Duration::from_millis(250);

/// Time before the end of the lifetime at which a command becomes a job, if its caller wants that.
const BEFORE_TIMEOUT: Duration = Duration::from_secs(1);

/// A command that was started, or the reply that says why not.
#[derive(Debug)]
#[expect(clippy::large_enum_variant, reason = "there is one for each command, and nobody keeps many")]
pub enum Started {
    /// The command runs.
    Running(Running),
    /// The command does not run; the reply has the reason.
    NotRun(Reply),
}

impl Started {
    /// The running command; none if it was not started.
    pub fn running(self) -> Option<Running> {
        match self {
            Self::Running(running) => Some(running),
            Self::NotRun(_) => None,
        }
    }
}

/// Shortest wait for a turn that the reply mentions.
const WAIT_MENTIONED: Duration = Duration::from_millis(100);

impl Engine {
    /// Runs a command for a caller. A dropped future stops the command, unless it has become a job. A caller that
    /// cancels instead gets the output so far.
    ///
    /// ```standalone_crate
    /// # use bashful_engine::{Caller, Canceller, End, Engine, Options, Reply, Request, Script, StopReason};
    /// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # bashful_engine::keeper_main();
    /// let engine = Engine::new(Options::new("/bin/bash".into(), "/".into()).inherit())?;
    /// let (canceller, cancellation) = Canceller::new();
    /// let (progress, mut live) = tokio::sync::watch::channel(bashful_engine::Live::default());
    /// let caller = Caller { cancellation: Some(cancellation), progress: Some(progress), ..Caller::default() };
    /// let call = engine.call(Request::new(Script::new("echo begun; sleep 1000")?), caller);
    /// let (reply, ()) = tokio::join!(call, async {
    ///     let _ = live.wait_for(|live| live.bytes > 0).await;
    ///     canceller.cancel();
    /// });
    /// let Reply::Finished(finished) = reply? else { panic!("it was started") };
    /// assert!(matches!(finished.outcome.end, End::Stopped { why: StopReason::Cancelled, .. }));
    /// assert_eq!(finished.outcome.output.text(), "begun\n");
    /// # Ok(()) }
    /// ```
    pub async fn call(&self, request: Request, mut caller: Caller) -> Result<Reply, RunError> {
        let deadline = caller.waiting.deadline();
        caller.turn = caller.turn.take().or_else(|| self.take_turn());
        let mut cancellation = caller.cancellation.take();
        let judged = tokio::select! {
            judged = Box::pin(self.judge(request, &caller)) => judged?,
            () = cancelled(&mut cancellation) => return Ok(Reply::Cancelled),
        };
        let judged = match judged {
            Ok(judged) if caller.waiting == Waiting::InBackground => return self.start_in_background(judged).await,
            Ok(judged) => judged,
            Err(reply) => return Ok(reply),
        };
        let mut is_cancelled = false;
        let started = {
            let mut starting = Box::pin(self.start_judged(judged, deadline, &mut caller));
            tokio::select! {
                started = &mut starting => started?,
                () = cancelled(&mut cancellation) => {
                    is_cancelled = true;
                    // Dropping the future stops the command, if it starts after all.
                    let started = timeout(ALMOST_STARTED, &mut starting).await;
                    started.unwrap_or(Ok(Err(Reply::Cancelled)))?
                }
            }
        };
        match started {
            Ok(mut running) => {
                if is_cancelled {
                    running.run.stop(StopReason::Cancelled).await;
                }
                Ok(Box::pin(running.until_reply(caller, deadline, cancellation)).await)
            }
            Err(reply) => Ok(reply),
        }
    }

    /// Runs a command and waits for its end: [`call`](Self::call) for a default caller.
    ///
    /// ```standalone_crate
    /// # use bashful_engine::{Engine, Options, Reply, Request, Script, End, Exit};
    /// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # bashful_engine::keeper_main();
    /// let engine = Engine::new(Options::new("/bin/bash".into(), "/".into()).inherit())?;
    /// let reply = engine.run(Request::new(Script::new("echo hello; exit 3")?)).await?;
    /// let Reply::Finished(finished) = reply else { panic!("the guard lets it pass") };
    /// assert_eq!(finished.outcome.end, End::Own(Exit::Code(3)));
    /// assert_eq!(finished.outcome.output.text(), "hello\n");
    /// # Ok(()) }
    /// ```
    pub async fn run(&self, request: Request) -> Result<Reply, RunError> {
        // A command under way is large, and this future is part of many others.
        Box::pin(self.call(request, Caller::default())).await
    }

    /// Starts a command as a job, which continues even if this program ends: [`call`](Self::call) for a caller that
    /// does not wait. A dropped future has started nothing, or stops what it had started.
    ///
    /// ```standalone_crate
    /// use std::sync::Arc;
    /// use bashful_engine::{End, Engine, Exit, JobLimits, JobStore, Options, Request, Script};
    ///
    /// fn main() -> Result<(), Box<dyn std::error::Error>> {
    ///     bashful_engine::keeper_main();
    ///     let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    ///     runtime.block_on(async {
    ///         let directory = tempfile::tempdir()?;
    ///         let jobs = Arc::new(JobStore::new(directory.path().join("jobs"), JobLimits::default()));
    ///         let mut options = Options::new("/bin/bash".into(), "/".into()).inherit();
    ///         options.jobs = Some(Arc::clone(&jobs));
    ///         let engine = Engine::new(options)?;
    ///
    ///         let reply = engine.start_job(Request::new(Script::new("echo hi; exit 3")?)).await?;
    ///         let job = jobs.wait(reply.job().ok_or("refused")?.id).await?;
    ///         assert_eq!(job.end(), Some(End::Own(Exit::Code(3))));
    ///         let written = std::fs::read_to_string(&job.output_file)?;
    ///         assert_eq!(written, "hi\n\n[background process failed: exit status: 3]\n");
    ///         Ok(())
    ///     })
    /// }
    /// ```
    pub async fn start_job(&self, request: Request) -> Result<Reply, RunError> {
        Box::pin(self.call(request, Caller { waiting: Waiting::InBackground, ..Caller::default() })).await
    }

    /// Starts a command on a task of its own: [`call`](Self::call) up to the moment when the command runs. The caller's
    /// `waiting` only limits the wait for a turn, and `cancellation` is ignored. A dropped future has started nothing,
    /// or stops what it had started.
    ///
    /// ```standalone_crate
    /// # use bashful_engine::{Caller, End, Engine, Options, Request, Script, StopReason};
    /// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # bashful_engine::keeper_main();
    /// # let engine = Engine::new(Options::new("/bin/bash".into(), "/".into()).inherit())?;
    /// let started = engine.start(Request::new(Script::new("sleep 1000")?), Caller::default()).await?;
    /// let mut running = started.running().ok_or("refused")?;
    /// running.stop(StopReason::Cancelled);
    /// let outcome = running.wait().await?;
    /// assert!(matches!(outcome.end, End::Stopped { why: StopReason::Cancelled, .. }));
    /// # Ok(()) }
    /// ```
    pub async fn start(&self, request: Request, mut caller: Caller) -> Result<Started, RunError> {
        let deadline = caller.waiting.deadline();
        caller.turn = caller.turn.take().or_else(|| self.take_turn());
        let started = match self.judge(request, &caller).await? {
            Ok(judged) => Box::pin(self.start_judged(judged, deadline, &mut caller)).await?,
            Err(reply) => Err(reply),
        };
        Ok(match started {
            Ok(RunningCall { run, handles, context, .. }) => Started::Running(run.into_running(handles, context.entry)),
            Err(reply) => Started::NotRun(reply),
        })
    }

    /// Prepares and judges a command. The inner error is the reply to a command that does not run.
    async fn judge(&self, request: Request, caller: &Caller) -> Result<Result<JudgedCall, Reply>, RunError> {
        if let Some(better) = self.intercept(&request, caller) {
            return Ok(Err(Reply::Intercepted(better)));
        }
        self.refresh_snapshot().await;
        let mut notices: Vec<String> = self.why_no_snapshot().map(|why| why.notice()).into_iter().collect();
        let waits = caller.waiting != Waiting::InBackground;
        let has_terminal = request.streams.terminal().is_some();
        let in_client = self.client_backend(&request, caller);
        let hears_all = caller.listener.as_ref().is_some_and(|listener| !listener.may_drop());
        let is_cut = waits && !hears_all && !has_terminal && in_client.is_none();
        let purpose = match is_cut {
            _ if caller.is_person => RewriteFor::Person,
            true => RewriteFor::Reply,
            false => RewriteFor::Job,
        };
        let mut rewritten = self.rewrite(request, purpose)?;
        notices.append(&mut rewritten.notices);
        let explanations = std::mem::take(&mut rewritten.explanations);
        let mut request = rewritten.request.clone();
        let shares_shell = waits && !has_terminal && in_client.is_none();
        if let Some(name) = caller.shared_session.clone().filter(|_| shares_shell) {
            request.session = Some(name);
            request.env_apart = true;
            request.workdir.get_or_insert_with(|| ".".into());
        }
        let backend = in_client.unwrap_or_else(|| Arc::clone(self.backend()));
        let mut plan = self.plan_on(&*backend, request)?;
        if let Some(turn) = &caller.turn {
            match &plan.session {
                Some(at) => turn.is_for(&at.place),
                None => turn.give_up(),
            }
        }
        caller.limit.apply(&mut plan);
        plan.owner.clone_from(&caller.owner);
        let redactor = self.redactor_for(&plan);
        let entry = caller.log.as_ref().map(|log| LogEntry::new(log, &plan, &redactor));
        let mut context = CallContext { entry, explanations, notices, redactor, limit: caller.limit };
        let checked = match self.check(plan, caller.approver.as_deref()).await {
            Ok(checked) => checked,
            Err(refusal) => return Ok(Err(context.refused(refusal))),
        };
        context.notices.extend(warnings(checked.verdict()));
        context.notices.extend(caller.log.as_ref().and_then(|log| log.notice()));
        rewritten.make_room().inspect_err(|_| context.update_entry(LogEntry::not_started))?;
        Ok(Ok(JudgedCall { checked, backend, rewritten, context }))
    }

    /// The backend for a command that runs in the client's terminal; none for one that runs here. The order is that of
    /// [`Caller::client_terminal`].
    fn client_backend(&self, request: &Request, caller: &Caller) -> Option<Arc<dyn Backend>> {
        let is_plain = request.streams == Streams::Combined && request.input == Input::Nothing;
        let wants_lines = request.lines.is_some() || request.enough.is_some();
        let waits_there = caller.waiting == Waiting::ToEnd;
        let fits = waits_there && is_plain && request.session.is_none() && !wants_lines && caller.listener.is_none();
        let terminal = caller.client_terminal.clone().filter(|_| fits)?;
        Some(Arc::new(ClientBackend::new(terminal, self.options().host_environment.clone())))
    }

    /// Names a better tool for a command, as it was given or without its leading `cd`. Comes before everything else: a
    /// command for another tool needs neither its URLs nor its directory.
    fn intercept(&self, request: &Request, caller: &Caller) -> Option<BetterTool> {
        let interceptor = caller.interceptor.as_ref()?;
        let given = &request.script;
        let rest = without_leading_cd(given).filter(|_| request.workdir.is_none());
        let scripts = std::iter::once(given).chain(&rest);
        let found = scripts.map(Script::as_bytes).find_map(|script| interceptor.intercept(script))?;
        let redactor = self.redactor();
        if let Some(log) = &caller.log {
            let directory = request.workdir.as_ref().map(|workdir| self.options().directory.join(workdir));
            let directory = directory.as_deref().unwrap_or(&self.options().directory);
            LogEntry::unplanned(log, CommandText::new(&redactor, given.as_bytes(), directory)).intercepted();
        }
        let found = Interception { script: String::from_utf8_lossy(given.as_bytes()).into_owned(), ..found };
        let (text, name) = (found.text(), found.suggested_tool);
        Some(BetterTool { name: redactor.redact(name), text: redactor.redact(text) })
    }

    async fn start_in_background(&self, judged: JudgedCall) -> Result<Reply, RunError> {
        let JudgedCall { checked, mut context, .. } = judged;
        let lifetime = checked.plan().lifetime;
        let job = self.start_job_checked(checked).await.inspect_err(|_| context.update_entry(LogEntry::not_started))?;
        context.update_entry(|entry| entry.became_job(&job, None, None));
        Ok(Reply::Background(Background {
            job,
            shown: None,
            lifetime,
            explanations: context.redacted_explanations(),
            notices: context.redacted_notices(),
            redactor: context.redactor,
        }))
    }

    /// Starts a judged command. The inner error is the reply to one that was refused after its session changed the
    /// directory.
    async fn start_judged(
        &self,
        judged: JudgedCall,
        turn_by: Option<Instant>,
        caller: &mut Caller,
    ) -> Result<Result<RunningCall, Reply>, RunError> {
        let JudgedCall { checked, backend, rewritten, mut context } = judged;
        let plan = checked.plan();
        let facts = PlanFacts { directory: plan.directory.clone(), lifetime: plan.lifetime, window: plan.window };
        let begun = self.begin(checked, backend, turn_by, caller).await;
        let (mut run, mut handles) = match begun.inspect_err(|_| context.update_entry(LogEntry::not_started))? {
            Ok(begun) => begun,
            Err(refusal) => return Ok(Err(context.refused(refusal))),
        };
        context.update_entry(|entry| entry.started(run.written()));
        context.notices.extend(run.waited().filter(|waited| *waited >= WAIT_MENTIONED).map(|waited| {
            let seconds = waited.as_secs_f64();
            format!("waited {seconds:.1} s for its turn: the shell was busy with another command")
        }));
        if let Some(progress) = caller.progress.take() {
            run.show_progress(progress, &mut handles);
        }
        if let Some(host) = caller.terminal.take() {
            run.attend(host, &handles);
        }
        if let Some(listener) = caller.listener.take() {
            run.listen(listener);
        }
        let had_line_limit = rewritten.request.lines.is_some();
        Ok(Ok(RunningCall { run, handles, context, facts, had_line_limit }))
    }
}

/// A command that may run, and everything that its reply will need.
struct JudgedCall {
    checked: Checked,
    /// The place where it runs.
    backend: Arc<dyn Backend>,
    rewritten: Rewritten,
    context: CallContext,
}

/// Facts for the reply and the log, however the call ends.
struct CallContext {
    entry: Option<LogEntry>,
    explanations: Vec<(RewriteKind, String)>,
    notices: Vec<String>,
    redactor: Redactor,
    limit: ReplyLimit,
}

impl CallContext {
    fn update_entry(&mut self, note: impl FnOnce(&mut LogEntry)) {
        if let Some(entry) = &mut self.entry {
            note(entry);
        }
    }

    fn refused(&mut self, refusal: Refusal) -> Reply {
        self.update_entry(|entry| entry.refused(&refusal));
        Reply::Refused(refusal)
    }

    fn redacted_explanations(&self) -> Vec<(RewriteKind, Redacted)> {
        self.explanations.iter().map(|(kind, text)| (*kind, self.redactor.redact(text))).collect()
    }

    fn redacted_notices(&self) -> Vec<Redacted> {
        self.notices.iter().map(|notice| self.redactor.redact(notice)).collect()
    }
}

/// A running command and its call.
struct RunningCall {
    run: Run,
    /// Held so that the run knows that somebody waits for it.
    handles: Handles,
    context: CallContext,
    facts: PlanFacts,
    had_line_limit: bool,
}

/// The part of a plan that the reply needs.
struct PlanFacts {
    directory: PathBuf,
    lifetime: Lifetime,
    window: Window,
}

impl RunningCall {
    /// Waits for the end, or until the caller's patience is over and the command becomes a job.
    async fn until_reply(
        mut self,
        caller: Caller,
        deadline: Option<Instant>,
        mut cancellation: Option<Cancellation>,
    ) -> Reply {
        let mut pausing = caller.pausing;
        let mut give_up = match caller.waiting {
            Waiting::BeforeTimeout(_) => [deadline, before_timeout(self.facts.lifetime)].into_iter().flatten().min(),
            _ => deadline,
        };
        loop {
            tokio::select! {
                outcome = self.run.until_end() => {
                    return self.finished(outcome.expect("`handles` is still held, so somebody could have asked"));
                }
                () = cancelled(&mut cancellation) => self.run.stop(StopReason::Cancelled).await,
                order = pause_ordered(&mut pausing) => self.run.follow(order).await,
                () = until(give_up) => {
                    give_up = None;
                    match self.run.send_to_background().await {
                        Ok(sent) => return self.became_job(sent),
                        Err(why) => self.context.notices.extend(not_sent_notice(&why)),
                    }
                }
            }
        }
    }

    fn finished(self, mut outcome: Outcome) -> Reply {
        let Self { run, handles: _handles, mut context, facts, .. } = self;
        run.give_back();
        context.notices.append(&mut outcome.notices);
        let has_failed = outcome.end != End::Own(Exit::Code(0));
        let window = if has_failed { context.limit.shorten(&mut outcome, facts.window) } else { facts.window };
        // Behind the limit, so that the log has the bytes that are shown.
        context.update_entry(|entry| entry.ended(&outcome));
        Reply::Finished(Finished {
            outcome,
            directory: facts.directory,
            lifetime: facts.lifetime,
            window,
            explanations: context.redacted_explanations(),
            notices: context.redacted_notices(),
            redactor: context.redactor,
        })
    }

    fn became_job(self, sent: InBackground) -> Reply {
        let Self { mut context, facts, had_line_limit, .. } = self;
        let InBackground { job, output, stderr, session } = sent;
        context.update_entry(|entry| entry.became_job(&job, Some(&output), stderr.as_ref()));
        Reply::Background(Background {
            job,
            shown: Some(ShownSoFar { output, stderr, session, window: facts.window, had_line_limit }),
            lifetime: facts.lifetime,
            explanations: context.redacted_explanations(),
            notices: context.redacted_notices(),
            redactor: context.redactor,
        })
    }
}

impl Run {
    async fn follow(&mut self, order: PauseOrder) {
        match order {
            PauseOrder::Pause(done) => {
                self.signal(Signal::STOP).await;
                // A process that was just then being started was missed the first time. Its parent is stopped by now.
                self.signal(Signal::STOP).await;
                let _ = done.send(());
            }
            PauseOrder::Resume => self.signal(Signal::CONT).await,
        }
    }
}

/// Notice about a command that could not become a job; none if it has just ended.
fn not_sent_notice(why: &NotSent) -> Option<String> {
    let why = match why {
        NotSent::Ended => return None,
        other => error_chain(other),
    };
    Some(format!("could not move it to the background ({why}), so this call waited until it ended"))
}

/// Time shortly before the end of a lifetime that begins now; none if it is beyond the range of the clock.
fn before_timeout(lifetime: Lifetime) -> Option<Instant> {
    Instant::now().checked_add(lifetime.0.saturating_sub(BEFORE_TIMEOUT))
}

async fn until(when: Option<Instant>) {
    match when {
        Some(when) => sleep_until(when).await,
        None => std::future::pending().await,
    }
}
