//! A dialect with an engine behind it.

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bashful_engine::{
    self as engine, Background, Clip, CommandAtPrompt, CommandLog, End, Engine, Exit, Finished, GetJobError,
    Interceptor, JobInputs, JobPart, JobRecord, JobStore, JobTerminal, JobTie, Network, Output, Redacted, Reply,
    ReplyLimit, Request, RewriteKind, RunError, SandboxMode, SessionName, StopReason, Streams, TerminalError, Waiting,
    error_chain, run_aside,
};
use bashful_render::visible_lines;
use serde_json::Value;
use thiserror::Error;

use crate::answer::{Answer, Conclusion, RawAnswer};
use crate::approval::{NoApprover, refusal_text};
use crate::arguments::{ArgumentError, Call, JobsCall, Limits, RunCall, WaitMode};
use crate::bang::BangShells;
use crate::bash_call::{BashCall, MissingArgument};
use crate::dialect::{CallFacts, Dialect, EndedCommand};
use crate::job;
use crate::job_calls;
use crate::owner::Owner;
use crate::resource::{self, ResourceError, ResourcePage, ResourceText};
use crate::shell_settings::{LatestEngine, ShellSettings};
use crate::terminal::{self, TerminalView};
use crate::terminal_calls::{self, AttendedTerminals, SETTLE_WAIT, ScreenView, TerminalOptions, TerminalUntil};
use crate::terminal_sessions::{self, TerminalSessionCall, TerminalSessions};
use crate::text::{LIMIT_ENDED, LIMIT_IGNORED};
use crate::tool::{Abilities, Tool};
use crate::tool_caller::{ToolCaller, WaitingCaller};
use crate::updates::FollowedJob;

/// The tools of one dialect, and the engine that runs their commands.
#[derive(Debug, Clone)]
pub struct Toolbox {
    engine: Engine,
    latest_engine: LatestEngine,
    dialect: Dialect,
    limits: Limits,
    tools: Vec<Tool>,
    /// Identifies this toolbox in the records of its jobs.
    id: String,
    terminals: Arc<AttendedTerminals>,
    terminal_sessions: Arc<TerminalSessions>,
    /// Connections whose shared shell runs a command. Empty unless calls may overlap.
    busy_connections: Arc<Mutex<HashSet<String>>>,
    pub(crate) bang_shells: BangShells,
    /// Working directory of commands that name none.
    pub(crate) directory: PathBuf,
    /// Reason why the host keeps no state, if the user should know it. The first reply to a command names it, and so does every
    /// reply to a call that needs a job.
    pub no_state: Option<String>,
    no_state_was_told: Arc<AtomicBool>,
    client_limits_were_told: Arc<AtomicBool>,
    /// Notices about arguments in the habit of other agents that a reply has had.
    told_habits: Arc<Mutex<HashSet<&'static str>>>,
    /// True once a limit on lines was explained.
    limit_was_told: Arc<AtomicBool>,
    /// Receives one record for each command.
    pub log: Option<Arc<dyn CommandLog>>,
    /// Redirects commands to better tools, before the guard judges them.
    pub interceptor: Option<Arc<dyn Interceptor>>,
    /// Settings of the host that may change between two commands.
    pub shell_settings: Option<Arc<dyn ShellSettings>>,
}

/// A call named a tool that the dialect does not have.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("there is no tool {name:?}")]
pub struct UnknownTool {
    /// The name in the call.
    pub name: String,
}

impl Toolbox {
    /// Makes the tools of a dialect. Commands run in `directory` unless a call names another one. The options of the engine
    /// should have passed [`Dialect::adjust`].
    pub fn new(engine: Engine, dialect: Dialect, limits: Limits, directory: &Path) -> Self {
        let shown = engine.redactor().redact(directory.to_string_lossy());
        let mut tools = dialect.tools(&limits, Path::new(shown.as_str()), Abilities::of(&engine));
        if let (Some(sandbox), Some(bash)) = (about_sandbox(&engine), tools.first_mut()) {
            bash.description.push_str(&sandbox);
        }
        Self {
            latest_engine: LatestEngine::new(engine.clone()),
            engine,
            dialect,
            limits,
            tools,
            id: Owner::new_toolbox_id(),
            terminals: Arc::default(),
            terminal_sessions: Arc::default(),
            busy_connections: Arc::default(),
            bang_shells: BangShells::default(),
            directory: directory.to_path_buf(),
            no_state: None,
            no_state_was_told: Arc::default(),
            client_limits_were_told: Arc::default(),
            told_habits: Arc::default(),
            limit_was_told: Arc::default(),
            log: None,
            interceptor: None,
            shell_settings: None,
        }
    }

    /// Definitions of the tools, always in the same order.
    pub fn tools(&self) -> &[Tool] {
        &self.tools
    }

    /// The engine that runs the commands.
    pub fn engine(&self) -> &Engine {
        &self.engine
    }

    /// True if the dialect sends updates of a job until the job is over.
    pub fn pushes(&self) -> bool {
        self.dialect.0.pushes()
    }

    /// The dialect of the tools.
    pub fn dialect(&self) -> Dialect {
        self.dialect
    }

    /// The terminal of a job. The toolbox attends to it from now on, so that its screen is up to date and its program gets
    /// answers, until 16 other terminals were asked for.
    pub async fn terminal(&self, store: &Arc<JobStore>, id: u64) -> Result<Arc<JobTerminal>, TerminalError> {
        self.terminals.attend(store, id).await
    }

    /// The way of input to jobs: judged by the guard of the engine, and written to the log of the toolbox. None without jobs.
    pub fn job_inputs(&self) -> Option<JobInputs> {
        Some(JobInputs { log: self.log.clone(), ..self.engine.job_inputs()? })
    }

    /// Up to `count` resources from position `first` on, the newest first.
    pub fn resources(&self, first: usize, count: usize) -> ResourcePage {
        resource::page(&self.engine, first, count)
    }

    /// Reads a resource, or a part of one, as text for a model: with a line about the rest, if there is one.
    pub async fn read(&self, uri: &str) -> Result<String, ResourceError> {
        Ok(self.read_part(uri).await?.with_notice())
    }

    /// Reads a resource, or a part of one.
    pub async fn read_part(&self, uri: &str) -> Result<ResourceText, ResourceError> {
        let (engine, asked) = (self.engine.clone(), uri.to_owned());
        // Finding a line may scan a gigabyte, so reading gets a thread that may block.
        let read = run_aside("bashful-read", move || resource::read(&engine, &asked)).await;
        let failed = || ResourceError::Unreadable { uri: uri.to_owned(), why: "reading it has failed".to_owned() };
        read.unwrap_or_else(|| Err(failed()))
    }

    /// Calls a tool. A call that fails has an answer too. Dropping the future stops the command, unless it has become a job.
    pub async fn call(&self, tool: &str, arguments: Value, caller: ToolCaller) -> Result<Answer, UnknownTool> {
        let (arguments, habits) = self.dialect.0.translate(tool, arguments);
        let parsed = self.dialect.0.parse(tool, arguments, &self.limits);
        let mut call = parsed.ok_or_else(|| UnknownTool { name: tool.to_owned() })?;
        let notices = match &mut call {
            Ok(Call::Run(run)) => Some(&mut run.notices),
            Ok(Call::TerminalSession(typed)) => Some(&mut typed.notices),
            _ => None,
        };
        if let Some(notices) = notices {
            // Once is enough for a model to learn.
            let untold = habits.into_iter().filter(|habit| locked(&self.told_habits).insert(*habit));
            notices.extend(untold.map(str::to_owned));
        }
        Ok(self.answer(call, caller).await)
    }

    /// Runs a command by the dialect's `bash`, for a host that has no JSON. Apart from that it is [`call`](Self::call).
    ///
    /// ```standalone_crate
    /// # use bashful_dialect::{BashCall, BashMode, Dialect, Limits, ToolCaller, Toolbox};
    /// # use bashful_engine::{Engine, Options};
    /// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # bashful_engine::keeper_main();
    /// # let engine = Engine::new(Options::new("/bin/bash".into(), "/".into()).inherit())?;
    /// # let toolbox = Toolbox::new(engine, Dialect::NATIVE, Limits::default(), "/".as_ref());
    /// let call = BashCall { mode: BashMode::Slow, cwd: Some("/usr".into()), ..BashCall::new("pwd") };
    /// let answer = toolbox.run(call, ToolCaller::default()).await?;
    /// assert_eq!(answer.text, "/usr\n");
    /// # Ok(()) }
    /// ```
    pub async fn run(&self, call: BashCall, caller: ToolCaller) -> Result<Answer, MissingArgument> {
        call.check(self.dialect)?;
        Ok(self.answer(self.dialect.0.bash(call, &self.limits), caller).await)
    }

    /// Carries out a parsed call.
    async fn answer(&self, call: Result<Call, ArgumentError>, caller: ToolCaller) -> Answer {
        let mut waiting = WaitingCaller::new(caller, self.engine.redactor(), self.dialect);
        let answer = match call {
            Err(error) => Err(Failure::failed(&error)),
            Ok(Call::Run(call)) => self.run_command(*call, &mut waiting).await,
            Ok(Call::TerminalSession(call)) => {
                waiting.give_up_turn();
                self.type_in_session(*call, &mut waiting).await
            }
            Ok(Call::Jobs(call)) => {
                waiting.give_up_turn();
                self.call_jobs(call, &mut waiting).await
            }
        };
        answer.unwrap_or_else(|Failure { status, conclusion, text }| {
            // The error may quote another job, and with it a value that is withheld from this caller.
            let redactor = self.engine.redactor();
            let answer = self.dialect.0.failure(status, &visible_lines(&redactor.redact(text)));
            RawAnswer { conclusion, ..answer }.redact(&redactor)
        })
    }

    async fn call_jobs(&self, call: JobsCall, waiting: &mut WaitingCaller) -> Result<Answer, Failure> {
        Ok(self.jobs_answer(call, waiting).await?.redact(&self.engine.redactor()))
    }

    async fn jobs_answer(&self, call: JobsCall, waiting: &mut WaitingCaller) -> Result<RawAnswer, Failure> {
        let failed = |text| Failure::new("failed", text);
        let inputs = self.job_inputs().ok_or_else(|| failed(self.no_jobs()))?;
        let owner = self.owner(waiting);
        let shown = self.dialect.0.job_shown();
        let carried_out =
            job_calls::carry_out(&self.engine, &inputs, &self.terminals, call, &owner, shown, waiting).await;
        let reply = carried_out.map_err(failed)?;
        Ok(self.dialect.0.jobs(&reply))
    }

    /// Types a command at the prompt of a session with a terminal, which is started if there is none.
    async fn type_in_session(
        &self,
        mut call: TerminalSessionCall,
        waiting: &mut WaitingCaller,
    ) -> Result<Answer, Failure> {
        let failed = |text| Failure::new("failed", text);
        let store = self.engine.jobs().ok_or_else(|| failed(self.no_jobs()))?;
        let owner = self.owner(waiting).id();
        let id = match self.terminal_sessions.find(&owner, &call.name, store) {
            Some(_) if call.start.workdir.is_some() || !call.start.env.is_empty() => {
                let name = call.name.as_str();
                return Err(failed(format!("session {name:?} has its shell already: `cwd` and `env` do not apply")));
            }
            Some(id) => id,
            None => {
                let (engine, notices) = self.latest_engine();
                call.notices.extend(notices);
                let (id, tie) = self.start_terminal_session(&engine, call.start.clone(), store, waiting).await?;
                self.terminal_sessions.add(owner, call.name.clone(), id, tie);
                id
            }
        };
        let terminal = self.terminals.attend(store, id).await.map_err(|error| Failure::failed(&error))?;
        // A cancelled call drops this future, and with it the command.
        let command = CommandAtPrompt::new(terminal, self.engine.grace()).await;
        let command = command.ok_or_else(|| failed(terminal_sessions::busy(&call.name, id)))?;
        let answer = self.jobs_answer(call.typing(id), waiting).await;
        command.leave();
        let mut answer = answer?;
        for notice in &call.notices {
            answer.text = format!("[{notice}]\n{}", answer.text);
        }
        Ok(answer.redact(&self.engine.redactor()))
    }

    /// Starts the shell of a session with a terminal, and waits for its prompt. Returns the id of its job, which ends with the tie.
    async fn start_terminal_session(
        &self,
        engine: &Engine,
        start: Request,
        store: &Arc<JobStore>,
        waiting: &mut WaitingCaller,
    ) -> Result<(u64, JobTie), Failure> {
        let caller = self.engine_caller(WaitMode::InBackground, None, waiting);
        let reply = Box::pin(engine.call(start, caller)).await.map_err(|error| Failure::failed(&error))?;
        let id = match reply {
            Reply::Background(background) => background.job.id,
            Reply::Refused(refusal) => return Err(Failure::new("refused", refusal_text(&refusal))),
            other => return Err(Failure::new("failed", format!("the shell did not become a job: {other:?}"))),
        };
        let tie = store.tie(id).await.map_err(|error| Failure::failed(&error))?;
        let terminal = self.terminals.attend(store, id).await.map_err(|error| Failure::failed(&error))?;
        let (prompt, redactor) = (TerminalUntil::Input, self.engine.redactor());
        let shown = terminal_calls::look(&terminal, Some(&prompt), SETTLE_WAIT, false, &redactor).await;
        shown.map(|_| (id, tie)).map_err(|text| Failure::new("failed", text))
    }

    /// A job for a client that asks for it again and again, and its result once it is over: an error unless its code is 0.
    pub async fn polled(&self, id: u64, caller: ToolCaller) -> Result<(JobRecord, Option<Answer>), GetJobError> {
        let job = self.engine.jobs().ok_or(GetJobError::Never { id })?.get(id)?;
        if !job.is_over() {
            return Ok((job, None));
        }
        let part = (!job.has_terminal).then_some(JobPart::LastLines(u64::MAX));
        let call = JobsCall::Show { ids: vec![id], part, terminal: TerminalOptions::default() };
        let mut answer = self.answer(Ok(Call::Jobs(call)), caller).await;
        answer.is_error |= job.end() != Some(End::Own(Exit::Code(0)));
        Ok((job, Some(answer)))
    }

    fn owner(&self, waiting: &WaitingCaller) -> Owner {
        Owner::new(&self.id, waiting.caller.connection.as_deref())
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
        if !locked(&self.busy_connections).insert(connection.to_owned()) {
            return SharedShell::Busy;
        }
        let in_use =
            BusyConnection { connection: connection.to_owned(), busy_connections: Arc::clone(&self.busy_connections) };
        SharedShell::Shared(name, Some(in_use))
    }

    /// The engine with the newest settings of the host, in the client's directory, and notices about both.
    pub(crate) fn latest_engine(&self) -> (Engine, Vec<String>) {
        self.latest_engine.next(self.shell_settings.as_deref(), &self.directory)
    }

    /// The reason why the host keeps no state, for the first call only.
    fn take_no_state_notice(&self) -> Option<String> {
        self.no_state.clone().filter(|_| !self.no_state_was_told.swap(true, Ordering::Relaxed))
    }

    /// The error of a call that needs a job on a host that keeps none.
    fn no_jobs(&self) -> String {
        let text = self.dialect.0.no_jobs();
        self.no_state.as_ref().map_or_else(|| text.clone(), |why| format!("{text}; {why}"))
    }

    /// Runs a command with [`Engine::call`] and answers in the dialect's words.
    async fn run_command(&self, mut call: RunCall, waiting: &mut WaitingCaller) -> Result<Answer, Failure> {
        let view = self.terminal_view(&mut call, waiting);
        let has_view = view.is_some();
        let shares_shell = call.wait_mode != WaitMode::InBackground && !has_view;
        let connection = waiting.caller.connection.as_deref().filter(|_| shares_shell);
        let (shared, _in_use) = match self.shared_shell(connection) {
            SharedShell::None => (None, None),
            SharedShell::Shared(name, in_use) => (Some(name), in_use),
            SharedShell::Busy => {
                call.notices.push(OWN_SHELL.to_owned());
                (None, None)
            }
        };
        let mut caller = self.engine_caller(call.wait_mode, shared, waiting);
        if let Some(TerminalView { host, listener, .. }) = view {
            (caller.terminal, caller.listener) = (Some(host), Some(listener));
        }
        call.notices.extend(self.take_no_state_notice());
        let (engine, notices) = self.latest_engine();
        call.notices.extend(notices);
        let mut request = call.request.clone();
        request.dialect = Some(self.dialect).filter(|dialect| *dialect != Dialect::NATIVE).map(Dialect::name);
        let reply = waiting.while_waiting(Box::pin(engine.call(request, caller))).await;
        let reply = reply.map_err(|error| match error {
            RunError::NoJobs => Failure::new("failed", self.no_jobs()),
            RunError::Start(error) if has_view => {
                Failure::new("failed", self.dialect.0.no_terminal(error_chain(&error)))
            }
            other => Failure::failed(&other),
        })?;
        let limit = waiting.caller.limit;
        match reply {
            Reply::Finished(finished) => Ok(self.finished(finished, call, limit)),
            Reply::Background(background) => {
                let screen = self.first_screen(&background.job).await;
                Ok(self.background(background, call, screen.as_ref(), waiting))
            }
            Reply::Refused(refusal) => Err(Failure::new("refused", refusal_text(&refusal))),
            Reply::Intercepted(better) => Err(Failure::new("refused", better.text.into_string())),
            Reply::Cancelled => {
                Err(Failure { conclusion: Conclusion::Abort, ..Failure::new("failed", CANCELLED.to_owned()) })
            }
        }
    }

    /// The view of the terminal that a command gets. In a dialect that wants one, a command without runs without a terminal. In
    /// others it becomes a job.
    fn terminal_view(&self, call: &mut RunCall, waiting: &mut WaitingCaller) -> Option<TerminalView> {
        let needs_view = self.dialect.0.terminal_needs_view();
        let has_view = waiting.caller.terminal.is_some();
        if call.request.streams.terminal().is_none() || !(needs_view || has_view) {
            return None;
        }
        let is_on = (self.limits.virtual_terminal || !needs_view) && terminal::are_allowed(&self.engine);
        let Some(view) = waiting.caller.terminal.take().filter(|_| is_on) else {
            call.request.streams = Streams::Combined;
            return None;
        };
        view.fit(&mut call.request);
        call.wait_mode = WaitMode::ToEnd;
        // The person sees it.
        waiting.tick = None;
        Some(view)
    }

    /// The caller in the engine's form: how long it waits, who approves, where progress goes.
    fn engine_caller(
        &self,
        wait_mode: WaitMode,
        shared: Option<SessionName>,
        waiting: &mut WaitingCaller,
    ) -> engine::Caller {
        let caller = &mut waiting.caller;
        let caller_turn = caller.turn.take();
        let engine_waiting = match (wait_mode, caller.patience, self.limits.auto_after) {
            (WaitMode::InBackground, ..) => Waiting::InBackground,
            (WaitMode::ToEnd, ..) | (WaitMode::WithPatience, None, None) => Waiting::ToEnd,
            (WaitMode::WithPatience, Some(patience), None) => Waiting::WithPatience(patience),
            (WaitMode::WithPatience, patience, Some(auto)) => {
                Waiting::BeforeTimeout(patience.map_or(auto, |patience| patience.min(auto)))
            }
        };
        engine::Caller {
            terminal: None,
            client_terminal: caller.client_terminal.clone(),
            is_person: false,
            waiting: engine_waiting,
            approver: Some(caller.approver.clone().unwrap_or_else(|| Arc::new(NoApprover))),
            interceptor: self.interceptor.clone(),
            log: self.log.clone(),
            cancellation: caller.cancellation.take(),
            limit: caller.limit,
            owner: Some(self.owner(waiting).id()),
            shared_session: shared,
            progress: waiting.open_progress(),
            listener: waiting.caller.listener.take(),
            pausing: None,
            turn: caller_turn,
        }
    }

    fn finished(&self, finished: Finished, call: RunCall, limit: ReplyLimit) -> Answer {
        let Finished { outcome, directory, lifetime, window, explanations, notices, redactor } = finished;
        let has_failed = outcome.end != End::Own(Exit::Code(0));
        let at_most = if has_failed { limit.failed_bytes.or(limit.bytes) } else { limit.bytes };
        let outputs = [Some(&outcome.output), outcome.stderr.as_ref()].into_iter().flatten();
        let is_cut = outputs.clone().any(|output| matches!(output.clip, Clip::Cut { .. }));
        let explanations = self.needed(explanations, is_cut || has_failed);
        let mut asked = CallFacts::new(call, lifetime, explanations.into_iter().chain(notices));
        if outcome.client_terminal.is_some() {
            asked.notices.extend(self.take_client_notice());
        }
        let ended =
            EndedCommand { outcome: &outcome, directory: &directory, whole: window.whole, at_most, call: &asked };
        let conclusion = match outcome.end {
            End::Own(_) => Conclusion::Result,
            End::Stopped { why: StopReason::Cancelled, .. } => Conclusion::Abort,
            End::Stopped { .. } | End::Lost => Conclusion::Error,
        };
        let output = Some(outputs.map(Output::text).collect());
        let answer = RawAnswer { output, conclusion, ..self.dialect.0.ended(&ended) };
        self.dialect.0.bounded(answer, &redactor, outcome.output.limit)
    }

    /// The explanations that the model needs. A leading `cd` needs none, and a limit on lines only the first time that
    /// something comes of it.
    fn needed(&self, explanations: Vec<(RewriteKind, Redacted)>, limit_shows: bool) -> Vec<Redacted> {
        let is_news = |kind| {
            !self.dialect.0.explains_once()
                || (kind == RewriteKind::Lines && limit_shows && !self.limit_was_told.swap(true, Ordering::Relaxed))
        };
        explanations.into_iter().filter(|(kind, _)| is_news(*kind)).map(|(_, text)| text).collect()
    }

    /// The promises that do not hold in a terminal of the client, for the first answer about one.
    fn take_client_notice(&self) -> Option<String> {
        let was_told = self.client_limits_were_told.swap(true, Ordering::Relaxed);
        (!was_told).then(|| CLIENT_LIMITS.to_owned())
    }

    /// The screen of a job that was just started at a terminal, once it has settled.
    async fn first_screen(&self, job: &JobRecord) -> Option<ScreenView> {
        let store = self.engine.jobs().filter(|_| job.has_terminal)?;
        // The job runs; without its screen the reply still names it.
        let terminal = self.terminals.attend(store, job.id).await.ok()?;
        let until = TerminalUntil::default();
        terminal_calls::look(&terminal, Some(&until), SETTLE_WAIT, false, &self.engine.redactor()).await.ok()
    }

    fn background(
        &self,
        background: Background,
        call: RunCall,
        screen: Option<&ScreenView>,
        waiting: &mut WaitingCaller,
    ) -> Answer {
        let Background { mut job, shown, lifetime, explanations, notices, redactor } = background;
        // Redact before the label is cut: nobody would recognize half a secret.
        job::redact(&mut job, &redactor);
        let has_limit = shown.as_ref().map_or(call.request.lines.is_some(), |shown| shown.had_line_limit);
        let explanations = self.needed(explanations, true);
        let mut asked = CallFacts::new(call, lifetime, explanations.into_iter().chain(notices));
        let no_limit = if shown.is_some() { LIMIT_ENDED } else { LIMIT_IGNORED };
        asked.notices.extend(has_limit.then(|| no_limit.to_owned()));
        let mut answer = match &shown {
            None => self.dialect.0.started(&job, screen, &asked).redact(&redactor),
            Some(shown) => {
                let mut answer = self.dialect.0.outlasted(&job, shown, &asked);
                // It may have ended while it became a job.
                answer.is_error |= job.is_over() && job.end() != Some(End::Own(Exit::Code(0)));
                self.dialect.0.bounded(answer, &redactor, shown.output.limit)
            }
        };
        answer.job = Some(job.id);
        let follows = self.pushes() || waiting.caller.follows_jobs;
        if let (true, Some(store), Some(updates)) = (follows, self.engine.jobs(), waiting.caller.updates.take()) {
            FollowedJob {
                store: Arc::clone(store),
                id: job.id,
                dialect: self.dialect,
                call: asked,
                shown: waiting.caller.limit.for_each_of(1, self.dialect.0.job_shown()),
                redactor,
                output_redactor: self.engine.output_redactor(),
                updates,
            }
            .follow();
        }
        answer
    }
}

/// The sentence for the model about the sandbox that its commands run in; none without one.
fn about_sandbox(engine: &Engine) -> Option<String> {
    let changes = match engine.sandbox_mode() {
        SandboxMode::Off => return None,
        SandboxMode::Workspace => "change files below their workspace and in /tmp alone",
        SandboxMode::ReadOnly => "change files in /tmp alone",
    };
    let network = match engine.sandbox_network() {
        (Network::On, _) => String::new(),
        (Network::Off, _) => ", and have no network".to_owned(),
        (Network::List, hosts) => format!(", and reach these hosts alone: {}", hosts.join(", ")),
    };
    Some(format!("\n\nCommands run in a sandbox: they {changes}{network}."))
}

/// The notice with the first command that ran in a terminal of the client.
const CLIENT_LIMITS: &str = "ran in the client's terminal: there a stop may miss processes that a command started, \
     withheld variables of the client are visible, and only the last 51200 bytes of output are kept";

/// The notice to a call that overlaps another one.
pub(crate) const OWN_SHELL: &str = "ran in a new shell: the shared one was busy with another command";

/// The shell of a call, in a dialect whose calls share one.
enum SharedShell {
    /// The dialect shares no shell, or the call has no connection.
    None,
    /// The shell of the connection, marked as busy where calls may overlap.
    Shared(SessionName, Option<BusyConnection>),
    /// Another call uses the shared shell, so this one gets its own.
    Busy,
}

/// The answer to a call that was cancelled before its command had started.
const CANCELLED: &str = "cancelled before the command started";

/// Marks the shared shell of a connection as busy, until dropped.
struct BusyConnection {
    connection: String,
    busy_connections: Arc<Mutex<HashSet<String>>>,
}

impl Drop for BusyConnection {
    fn drop(&mut self) {
        locked(&self.busy_connections).remove(&self.connection);
    }
}

fn locked<T: Eq + std::hash::Hash>(names: &Mutex<HashSet<T>>) -> MutexGuard<'_, HashSet<T>> {
    // Every change of the set is a single call, so a panic elsewhere leaves it whole.
    names.lock().unwrap_or_else(PoisonError::into_inner)
}

/// An error that answers a call: the status in its facts, and the way a host should raise it.
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
