//! Where calls about jobs are attended to. How it is told is each dialect's part.

use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

use bashful_engine::{
    ByteSize, ControlError, Engine, GetJobError, JobPart, JobRecord, JobStore, OutputRedactor, ReplyLimit, Stop,
    error_chain, reason,
};
use tokio::task::JoinSet;
use tokio::time::timeout;

use crate::arguments::JobsCall;
use crate::job::mask;
use crate::owner::Owner;
use crate::toolbox::Watch;

/// How long a poll waits that does not say how long.
const POLLED: Duration = Duration::from_secs(30);

/// How long it is waited for the end of a job that was killed: its grace, and a moment.
const KILLED: Duration = Duration::from_secs(20);

/// Lines that are shown where nobody has asked for a number.
pub(crate) const LINES: u64 = 20;

/// What came of a call about jobs.
#[derive(Debug)]
pub(crate) struct JobsReply {
    pub(crate) call: JobsCall,
    pub(crate) looks: Vec<JobView>,
    pub(crate) problems: Vec<Problem>,
}

/// One job, as it was looked at.
#[derive(Debug)]
pub(crate) struct JobView {
    pub(crate) job: JobRecord,
    pub(crate) output: Option<JobOutput>,
    /// It has just been told to end.
    pub(crate) cancelled: bool,
    /// It was started by this toolbox.
    pub(crate) is_own: bool,
}

/// A part of a job's output, fit for the eyes.
#[derive(Debug)]
pub(crate) struct JobOutput {
    pub(crate) text: String,
    pub(crate) range: Range<u64>,
    pub(crate) total: u64,
}

/// A job about which nothing could be done.
#[derive(Debug)]
pub(crate) struct Problem {
    pub(crate) id: u64,
    pub(crate) kind: ProblemKind,
    pub(crate) text: String,
}

/// What is wrong with it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ProblemKind {
    /// It is not there.
    NotFound,
    /// It is over.
    Ended,
    /// Something else.
    Other,
}

impl JobOutput {
    /// Reads a part of a job's output, `shown` bytes of it at most.
    pub(crate) fn read(job: &JobRecord, part: JobPart, shown: ByteSize, redactor: OutputRedactor) -> Self {
        match job.text(part, shown) {
            Ok(text) => {
                let shown = redactor.show_part(&text.before, &text.raw, &text.after);
                Self { text: String::from_utf8_lossy(&shown).into_owned(), range: text.range, total: text.total }
            }
            // How it ended is known, whatever became of its output.
            Err(error) => {
                let text = format!("[its output is gone: {}]", error_chain(&error));
                Self { text, range: 0..0, total: 0 }
            }
        }
    }
}

impl Problem {
    fn new(id: u64, error: &ControlError) -> Self {
        let kind = match error {
            ControlError::Get(GetJobError::Never { .. } | GetJobError::Removed { .. }) => ProblemKind::NotFound,
            ControlError::Ended { .. } => ProblemKind::Ended,
            _ => ProblemKind::Other,
        };
        Self { id, kind, text: error_chain(error) }
    }
}

/// Does what is wanted of jobs. A dropped future stops no job; what was being sent may have been sent in part.
pub(crate) async fn carry_out(
    engine: &Engine,
    store: &Arc<JobStore>,
    call: JobsCall,
    owner: &Owner,
    shown: ByteSize,
    watch: &mut Watch,
) -> Result<JobsReply, String> {
    let patience = watch.patience();
    let only_own = matches!(call, JobsCall::List { all: false } | JobsCall::CancelAndPoll { all: false, .. });
    let limit = watch.limit();
    let mut desk = JobCaller { engine, store, owner, only_own, limit, shown, looks: Vec::new(), problems: Vec::new() };
    match &call {
        JobsCall::List { .. } => {
            let redactor = engine.redactor();
            for mut job in desk.jobs()? {
                mask(&mut job, &redactor);
                desk.looks.push(desk.seen(job, None));
            }
        }
        JobsCall::Show { ids, part } => desk.look_at(ids, Some(*part)),
        JobsCall::Wait { ids, at_most, part } => {
            let ids = desk.named_or_running(ids)?;
            let at_most = at_most.unwrap_or(patience).min(patience);
            watch.while_waiting(until_first(store, &ids, at_most)).await;
            desk.look_at(&ids, Some(*part));
        }
        JobsCall::Send { id, text } => match store.send(*id, desk.judged_input(*id, text)?.as_bytes()).await {
            Ok(()) => desk.look_at(&[*id], None),
            Err(error) => return Err(error_chain(&error)),
        },
        JobsCall::Kill { ids, how } => {
            let told = desk.stop(ids, *how).await;
            // A signal that may be caught is no reason to expect an end.
            if matches!(how, Stop::Ask | Stop::Signal(9)) {
                watch.while_waiting(until_gone(store, &told, KILLED.min(patience))).await;
            }
            desk.look_at(&told, None);
        }
        JobsCall::CancelAndPoll { cancel, poll, .. } => {
            let told = desk.stop(cancel, Stop::Ask).await;
            desk.look_at(&told, None);
            desk.looks.iter_mut().for_each(|look| look.cancelled = true);
            if !poll.is_empty() || cancel.is_empty() {
                let ids = desk.named_or_running(poll)?;
                // A job that is not there for this caller is no reason to wait.
                if ids.iter().all(|id| desk.get(*id).is_ok()) {
                    watch.while_waiting(until_first(store, &ids, POLLED.min(patience))).await;
                }
                desk.look_at(&ids, Some(JobPart::LastLines(u64::MAX)));
            }
        }
    }
    let JobCaller { looks, problems, .. } = desk;
    Ok(JobsReply { call, looks, problems })
}

struct JobCaller<'a> {
    engine: &'a Engine,
    store: &'a Arc<JobStore>,
    owner: &'a Owner,
    /// Jobs of other callers are as if they were not there.
    only_own: bool,
    limit: ReplyLimit,
    /// Bytes of output shown of each job, at most.
    shown: ByteSize,
    looks: Vec<JobView>,
    problems: Vec<Problem>,
}

impl JobCaller<'_> {
    /// The jobs of these numbers; all that run, if there are none.
    fn named_or_running(&self, ids: &[u64]) -> Result<Vec<u64>, String> {
        if !ids.is_empty() {
            return Ok(ids.to_vec());
        }
        let live = self.store.list_live().map_err(|error| error_chain(&error))?;
        Ok(live.iter().filter(|job| !job.is_over() && self.may_see(job)).map(|job| job.id).collect())
    }

    /// All jobs that this call may speak of.
    fn jobs(&self) -> Result<Vec<JobRecord>, String> {
        let mut jobs = self.store.list().map_err(|error| error_chain(&error))?;
        jobs.retain(|job| self.may_see(job));
        Ok(jobs)
    }

    fn may_see(&self, job: &JobRecord) -> bool {
        !self.only_own || self.owner.has(job)
    }

    fn seen(&self, job: JobRecord, output: Option<JobOutput>) -> JobView {
        JobView { is_own: self.owner.has_in_toolbox(&job), job, output, cancelled: false }
    }

    /// One job, if this call may speak of it.
    /// Text for a job, unless the job would run it and the guard refuses that. Nobody is asked: the job is not the command that
    /// somebody could allow.
    fn judged_input<'t>(&self, id: u64, text: &'t str) -> Result<&'t str, String> {
        // A job that is not there is the store's to report.
        let verdict = self.get(id).map(|job| self.engine.verdict_on_input(&job, text)).unwrap_or_default();
        if verdict.refuses() {
            return Err(format!("nothing was sent to job {id}: {}", reason(&verdict)));
        }
        Ok(text)
    }

    fn get(&self, id: u64) -> Result<JobRecord, Problem> {
        let job = self.store.get(id).map_err(|error| Problem::new(id, &error.into()))?;
        if self.may_see(&job) {
            return Ok(job);
        }
        Err(Problem { id, kind: ProblemKind::NotFound, text: format!("job {id} belongs to another session") })
    }

    fn look_at(&mut self, ids: &[u64], part: Option<JobPart>) {
        let shown = self.limit.for_each_of(ids.len(), self.shown);
        for id in ids {
            match self.look(*id, part, shown) {
                Ok(look) => self.looks.push(look),
                Err(problem) => self.problems.push(problem),
            }
        }
    }

    fn look(&self, id: u64, part: Option<JobPart>, shown: ByteSize) -> Result<JobView, Problem> {
        let mut job = self.get(id)?;
        mask(&mut job, &self.engine.redactor());
        let Some(part) = part else { return Ok(self.seen(job, None)) };
        let output = JobOutput::read(&job, part, shown, self.engine.output_redactor());
        Ok(self.seen(job, Some(output)))
    }

    /// Stops as many as can be; which were told.
    async fn stop(&mut self, ids: &[u64], how: Stop) -> Vec<u64> {
        let mut told = Vec::new();
        for id in ids {
            let stopped = match self.get(*id) {
                Ok(_) => self.store.stop(*id, how).await.map_err(|error| Problem::new(*id, &error)),
                Err(problem) => Err(problem),
            };
            match stopped {
                Ok(()) => told.push(*id),
                Err(problem) => self.problems.push(problem),
            }
        }
        told
    }
}

/// Waits for the first of them to be over.
async fn until_first(store: &Arc<JobStore>, ids: &[u64], at_most: Duration) {
    let mut waits = JoinSet::new();
    for id in ids {
        let (store, id) = (Arc::clone(store), *id);
        waits.spawn(async move { store.wait(id).await.is_ok() });
    }
    // One that is not there is told of afterwards, and is no reason to wait any longer either.
    let _ = timeout(at_most, waits.join_next()).await;
}

/// Waits for the end of all of them.
async fn until_gone(store: &Arc<JobStore>, ids: &[u64], at_most: Duration) {
    let all = async {
        for id in ids {
            // How it ended is looked at afterwards.
            let _ = store.wait_until_gone(*id).await;
        }
    };
    let _ = timeout(at_most, all).await;
}
