//! Carries out calls about jobs: list, show, wait, send, stop. Each dialect words the reply.

use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

use bashful_engine::{
    ByteSize, ControlError, Engine, GetJobError, JobInput, JobInputs, JobPart, JobRecord, JobStore, JobTerminal,
    OutputRedactor, ReplyLimit, Stop, error_chain,
};
use tokio::task::JoinSet;
use tokio::time::timeout;

use crate::arguments::JobsCall;
use crate::job;
use crate::owner::Owner;
use crate::terminal_calls::{self, AttendedTerminals, SETTLE_WAIT, ScreenView, TerminalOptions, TerminalUntil};
use crate::tool_caller::WaitingCaller;

/// Default length of a poll.
const POLL_WAIT: Duration = Duration::from_secs(30);

/// Longest wait for a stopped job to end: the grace, and some more.
const STOP_WAIT: Duration = Duration::from_secs(20);

/// Last lines of output that a reply shows by default.
pub(crate) const DEFAULT_LINES: u64 = 20;

/// The result of a call about jobs.
#[derive(Debug)]
pub(crate) struct JobsReply {
    pub(crate) call: JobsCall,
    pub(crate) views: Vec<JobView>,
    pub(crate) problems: Vec<JobProblem>,
}

/// One job as a reply shows it.
#[derive(Debug)]
pub(crate) struct JobView {
    pub(crate) job: JobRecord,
    pub(crate) output: Option<JobOutput>,
    pub(crate) screen: Option<ScreenView>,
    /// This call stopped the job.
    pub(crate) cancelled: bool,
    /// This toolbox started the job, over any connection.
    pub(crate) is_own: bool,
}

/// A part of a job's output, cleaned and redacted.
#[derive(Debug)]
pub struct JobOutput {
    /// The part as text, or a line about output that is gone.
    pub text: String,
    /// Raw bytes of the output file that the text shows.
    pub range: Range<u64>,
    /// Size of the output file, in bytes.
    pub total: u64,
}

/// A job that the call could not show or stop, and the reason.
#[derive(Debug)]
pub(crate) struct JobProblem {
    pub(crate) id: u64,
    pub(crate) kind: ProblemKind,
    pub(crate) text: String,
}

/// The kind of a [`JobProblem`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ProblemKind {
    /// There is no such job, or the caller may not see it.
    NotFound,
    /// The job has ended.
    Ended,
    /// Any other error.
    Other,
}

impl JobOutput {
    /// Reads a part of a job's output, at most `shown` bytes.
    pub fn read(job: &JobRecord, part: JobPart, shown: ByteSize, redactor: OutputRedactor) -> Self {
        match job.text(part, shown) {
            Ok(text) => {
                let shown = redactor.show_part(&text.before, &text.raw, &text.after);
                Self { text: String::from_utf8_lossy(&shown).into_owned(), range: text.range, total: text.total }
            }
            // The record still tells how the job ended, so a missing output is no error of the call.
            Err(error) => {
                let text = format!("[its output is gone: {}]", error_chain(&error));
                Self { text, range: 0..0, total: 0 }
            }
        }
    }
}

impl JobProblem {
    fn new(id: u64, error: &ControlError) -> Self {
        let kind = match error {
            ControlError::Get(GetJobError::Never { .. } | GetJobError::Removed { .. }) => ProblemKind::NotFound,
            ControlError::Ended { .. } => ProblemKind::Ended,
            _ => ProblemKind::Other,
        };
        Self { id, kind, text: error_chain(error) }
    }
}

/// Carries out a call about jobs. Dropping the future stops no job; input that was being sent may have arrived in part.
pub(crate) async fn carry_out(
    engine: &Engine,
    inputs: &JobInputs,
    terminals: &AttendedTerminals,
    call: JobsCall,
    owner: &Owner,
    shown: ByteSize,
    waiting: &mut WaitingCaller,
) -> Result<JobsReply, String> {
    let (store, patience) = (&inputs.store, waiting.patience());
    let only_own = matches!(call, JobsCall::List { all: false } | JobsCall::CancelAndPoll { all: false, .. });
    let limit = waiting.limit();
    let (views, problems) = (Vec::new(), Vec::new());
    let mut run = JobCallRun { engine, store, inputs, terminals, owner, only_own, limit, shown, views, problems };
    match &call {
        JobsCall::List { .. } => {
            let redactor = engine.redactor();
            for mut job in run.visible_jobs()? {
                job::redact(&mut job, &redactor);
                run.views.push(run.view(job, None));
            }
        }
        JobsCall::Show { ids, part, terminal } => {
            let looked = run.add_views_or_screens(ids, *part, terminal);
            waiting.while_waiting(looked).await?;
        }
        JobsCall::Wait { ids, at_most, part, terminal } => {
            let ids = run.named_or_running(ids)?;
            let at_most = at_most.unwrap_or(patience).min(patience);
            let waited = run.wait(&ids, at_most, *part, terminal);
            waiting.while_waiting(waited).await?;
        }
        JobsCall::Send { id, text, at_most, terminal } => {
            let at_most = at_most.unwrap_or(SETTLE_WAIT).min(patience);
            let sent = run.send(*id, text, at_most, terminal);
            waiting.while_waiting(sent).await?;
        }
        JobsCall::Kill { ids, how } => {
            let signaled = run.stop(ids, *how).await;
            // A job may catch any other signal and go on, so the call does not wait then.
            if matches!(how, Stop::Ask | Stop::Signal(9)) {
                waiting.while_waiting(wait_until_all_gone(store, &signaled, STOP_WAIT.min(patience))).await;
            }
            run.add_views(&signaled, None);
        }
        JobsCall::CancelAndPoll { cancel, poll, .. } => {
            let signaled = run.stop(cancel, Stop::Ask).await;
            run.add_views(&signaled, None);
            run.views.iter_mut().for_each(|view| view.cancelled = true);
            if !poll.is_empty() || cancel.is_empty() {
                let ids = run.named_or_running(poll)?;
                // Do not wait if a job does not exist for this caller: the reply says so at once.
                if ids.iter().all(|id| run.get(*id).is_ok()) {
                    waiting.while_waiting(wait_for_first(store, &ids, POLL_WAIT.min(patience))).await;
                }
                run.add_views(&ids, Some(JobPart::LastLines(u64::MAX)));
            }
        }
    }
    let JobCallRun { views, problems, .. } = run;
    Ok(JobsReply { call, views, problems })
}

/// One call about jobs: what its caller may see, and the reply so far.
struct JobCallRun<'a> {
    engine: &'a Engine,
    store: &'a Arc<JobStore>,
    inputs: &'a JobInputs,
    terminals: &'a AttendedTerminals,
    owner: &'a Owner,
    /// Hides the jobs of other callers.
    only_own: bool,
    limit: ReplyLimit,
    /// Most bytes of output shown for each job.
    shown: ByteSize,
    views: Vec<JobView>,
    problems: Vec<JobProblem>,
}

impl JobCallRun<'_> {
    /// The given ids, or those of all running jobs if none are given.
    fn named_or_running(&self, ids: &[u64]) -> Result<Vec<u64>, String> {
        if !ids.is_empty() {
            return Ok(ids.to_vec());
        }
        let live = self.store.list_live().map_err(|error| error_chain(&error))?;
        Ok(live.iter().filter(|job| !job.is_over() && self.may_see(job)).map(|job| job.id).collect())
    }

    /// All jobs that the caller may see.
    fn visible_jobs(&self) -> Result<Vec<JobRecord>, String> {
        let mut jobs = self.store.list().map_err(|error| error_chain(&error))?;
        jobs.retain(|job| self.may_see(job));
        Ok(jobs)
    }

    fn may_see(&self, job: &JobRecord) -> bool {
        !self.only_own || self.owner.owns(job)
    }

    fn view(&self, job: JobRecord, output: Option<JobOutput>) -> JobView {
        JobView { is_own: self.owner.owns_in_toolbox(&job), job, output, screen: None, cancelled: false }
    }

    /// Adds views of these jobs: the screens of jobs with a terminal, unless the call names a part of the output.
    async fn add_views_or_screens(
        &mut self,
        ids: &[u64],
        part: Option<JobPart>,
        options: &TerminalOptions,
    ) -> Result<(), String> {
        for id in ids {
            if part.is_none() && self.get(*id).is_ok_and(|job| job.has_terminal) {
                self.add_screen(*id, options.until.as_ref(), SETTLE_WAIT, options.colors).await?;
            } else {
                let shown = self.limit.for_each_of(ids.len(), self.shown);
                self.add_view(*id, Some(part.unwrap_or(JobPart::LastLines(DEFAULT_LINES))), shown);
            }
        }
        Ok(())
    }

    /// Waits at the terminal of one job for an event on its screen, or for the end of one of several jobs.
    async fn wait(
        &mut self,
        ids: &[u64],
        at_most: Duration,
        part: Option<JobPart>,
        options: &TerminalOptions,
    ) -> Result<(), String> {
        if let Some(until) = &options.until {
            let [id] = ids else { return Err("job: `until` and `pattern` take one id".to_owned()) };
            return self.add_screen(*id, Some(until), at_most, options.colors).await;
        }
        wait_for_first(self.store, ids, at_most).await;
        self.add_views_or_screens(ids, part, &TerminalOptions { until: None, ..options.clone() }).await
    }

    async fn send(&mut self, id: u64, text: &str, at_most: Duration, options: &TerminalOptions) -> Result<(), String> {
        let has_terminal = self.get(id).is_ok_and(|job| job.has_terminal);
        if has_terminal {
            return self.type_and_look(id, text, at_most, options).await;
        }
        if !options.keys.is_empty() || options.until.is_some() {
            return Err(format!(
                "job {id} has no terminal, so `keys`, `until` and `pattern` do not apply; start it with `pty`, or send `input` alone"
            ));
        }
        let newline = if text.ends_with('\n') { "" } else { "\n" };
        let input = JobInput { text: format!("{text}{newline}").into_bytes(), ..JobInput::default() };
        self.inputs.send(id, input, at_most).await.map_err(|error| error_chain(&error))?;
        self.add_views(&[id], None);
        Ok(())
    }

    async fn type_and_look(
        &mut self,
        id: u64,
        text: &str,
        at_most: Duration,
        options: &TerminalOptions,
    ) -> Result<(), String> {
        let job = self.get(id).map_err(|problem| problem.text)?;
        let keys = terminal_calls::parse_keys(&options.keys)?;
        // Input for a job that has ended is no error: the reply tells its end.
        if job.is_live() {
            let terminal = self.attend(id).await?;
            let input = JobInput { text: text.as_bytes().to_vec(), keys, end: false };
            self.inputs.type_at(&terminal, input, at_most).await.map_err(|error| error_chain(&error))?;
        }
        let until = options.until.clone().unwrap_or_default();
        self.add_screen(id, Some(&until), at_most, options.colors).await
    }

    /// Adds the screen of a job, once the event has come or the time is over.
    async fn add_screen(
        &mut self,
        id: u64,
        until: Option<&TerminalUntil>,
        at_most: Duration,
        colors: bool,
    ) -> Result<(), String> {
        let terminal = self.attend(id).await?;
        let redactor = self.engine.redactor();
        let screen = terminal_calls::look(&terminal, until, at_most, colors, &redactor).await?;
        let mut job = self.get(id).map_err(|problem| problem.text)?;
        job::redact(&mut job, &redactor);
        let view = self.view(job, None);
        self.views.push(JobView { screen: Some(screen), ..view });
        Ok(())
    }

    async fn attend(&self, id: u64) -> Result<Arc<JobTerminal>, String> {
        self.get(id).map_err(|problem| problem.text)?;
        self.terminals.attend(self.store, id).await.map_err(|error| error_chain(&error))
    }

    /// The record of a job, if the caller may see it.
    fn get(&self, id: u64) -> Result<JobRecord, JobProblem> {
        let job = self.store.get(id).map_err(|error| JobProblem::new(id, &error.into()))?;
        if self.may_see(&job) {
            return Ok(job);
        }
        Err(JobProblem { id, kind: ProblemKind::NotFound, text: format!("job {id} belongs to another session") })
    }

    /// Adds views of these jobs to the reply, with a part of their output each.
    fn add_views(&mut self, ids: &[u64], part: Option<JobPart>) {
        let shown = self.limit.for_each_of(ids.len(), self.shown);
        for id in ids {
            self.add_view(*id, part, shown);
        }
    }

    fn add_view(&mut self, id: u64, part: Option<JobPart>, shown: ByteSize) {
        match self.read_view(id, part, shown) {
            Ok(view) => self.views.push(view),
            Err(problem) => self.problems.push(problem),
        }
    }

    fn read_view(&self, id: u64, part: Option<JobPart>, shown: ByteSize) -> Result<JobView, JobProblem> {
        let mut job = self.get(id)?;
        job::redact(&mut job, &self.engine.redactor());
        let Some(part) = part else { return Ok(self.view(job, None)) };
        let output = JobOutput::read(&job, part, shown, self.engine.output_redactor());
        Ok(self.view(job, Some(output)))
    }

    /// Stops these jobs, and returns the ids of those that got the signal.
    async fn stop(&mut self, ids: &[u64], how: Stop) -> Vec<u64> {
        let mut signaled = Vec::new();
        for id in ids {
            let stopped = match self.get(*id) {
                Ok(_) => self.store.stop(*id, how).await.map_err(|error| JobProblem::new(*id, &error)),
                Err(problem) => Err(problem),
            };
            match stopped {
                Ok(()) => signaled.push(*id),
                Err(problem) => self.problems.push(problem),
            }
        }
        signaled
    }
}

/// Waits until one of the jobs is over.
async fn wait_for_first(store: &Arc<JobStore>, ids: &[u64], at_most: Duration) {
    let mut waits = JoinSet::new();
    for id in ids {
        let (store, id) = (Arc::clone(store), *id);
        waits.spawn(async move { store.wait(id).await.is_ok() });
    }
    // A job that does not exist ends the wait too. The views report it.
    let _ = timeout(at_most, waits.join_next()).await;
}

/// Waits until all processes of all these jobs have ended.
async fn wait_until_all_gone(store: &Arc<JobStore>, ids: &[u64], at_most: Duration) {
    let all = async {
        for id in ids {
            // The views report how each job ended, and any error.
            let _ = store.wait_until_gone(*id).await;
        }
    };
    let _ = timeout(at_most, all).await;
}
