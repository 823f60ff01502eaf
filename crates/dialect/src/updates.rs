//! Updates of one call, pushed to its caller while the command runs, and until the job is over if the command becomes one.
//!
//! Every call has one channel, on every surface. A running update that finds the channel full is dropped: the next one shows the
//! same text and more. The last update waits for room, so a listening caller always gets it.
//!
//! [`FollowedJob`] holds no engine: a host that drops its toolbox ends its sessions, also while jobs are followed.

use std::sync::Arc;
use std::time::Duration;

use bashful_engine::{
    ByteSize, ControlError, End, Exit, Follow, Followed, JobPart, JobRecord, JobStore, OutputRedactor, Redacted,
    Redactor, error_chain, run_aside,
};
use serde_json::{Value, json};
use tokio::sync::mpsc;
use tokio::time::{Instant, sleep_until};

use crate::answer::RawAnswer;
use crate::dialect::{CallFacts, Dialect};
use crate::job;
use crate::job_calls::JobOutput;
use bashful_render::visible_lines;

/// Shortest time between two running updates of a job. Each one reads the end of the output file.
const RUNNING_INTERVAL: Duration = Duration::from_secs(1);

/// Most output in a running update of a job: one or two screens.
const RUNNING_SHOWN: ByteSize = ByteSize::kib(8);

/// Most characters that [`Update::last_line`] returns.
const LINE_SHOWN: usize = 200;

/// An update of a call.
#[derive(Debug, Clone, PartialEq)]
pub struct Update {
    /// State of the command.
    pub state: UpdateState,
    /// Time since the call began; for a job, since its command began.
    pub elapsed: Duration,
    /// Bytes that the command has written so far.
    pub bytes: u64,
    /// Lines that the command has written so far; none for a job, whose lines nobody counts.
    pub lines: Option<u64>,
    /// The end of the output so far. The last update of a job has the final text, as a reply would.
    pub text: Redacted,
    /// The facts in the dialect's form. In pi, `async.state` appears once the command is in the background.
    pub facts: Value,
}

/// The state of a command in an [`Update`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UpdateState {
    /// The command runs, and its call waits.
    Foreground,
    /// The command runs as a job.
    Running,
    /// The job ended with code 0.
    Completed,
    /// The job ended in any other way.
    Failed,
}

impl UpdateState {
    /// True for the last update of a job.
    pub fn is_last(self) -> bool {
        matches!(self, Self::Completed | Self::Failed)
    }
}

impl Update {
    /// The last line that is not blank, cut to 200 characters. Control characters are removed, because clients print the line to
    /// terminals.
    pub fn last_line(&self) -> String {
        let line = self.text.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or_default();
        line.chars().filter(|char| !char.is_control()).take(LINE_SHOWN).collect()
    }
}

/// A job whose call has been answered, and the channel of its caller.
pub(crate) struct FollowedJob {
    pub(crate) store: Arc<JobStore>,
    pub(crate) id: u64,
    pub(crate) dialect: Dialect,
    pub(crate) call: CallFacts,
    /// Most bytes of output in the last update.
    pub(crate) shown: ByteSize,
    pub(crate) redactor: Redactor,
    pub(crate) output_redactor: OutputRedactor,
    pub(crate) updates: mpsc::Sender<Update>,
}

impl FollowedJob {
    /// Pushes updates until the job is over or the caller drops its end of the channel.
    pub(crate) fn follow(self) {
        tokio::spawn(async move {
            let updates = self.updates.clone();
            let over = tokio::select! {
                over = self.until_over() => over,
                () = updates.closed() => return,
            };
            // The last update may count the lines of a gigabyte, so it gets a thread that may block.
            if let Some(last) = run_aside("bashful-update", move || self.last_update(over)).await {
                let _ = updates.send(last).await;
            }
        });
    }

    /// Pushes running updates until the job is over.
    async fn until_over(&self) -> Result<JobRecord, ControlError> {
        let mut follow = self.store.follow(self.id, 0).ok();
        let mut next_look = Instant::now();
        let over = self.store.wait(self.id);
        tokio::pin!(over);
        loop {
            let grown = async {
                sleep_until(next_look).await;
                new_job_output(follow.as_mut()).await;
            };
            tokio::select! {
                over = &mut over => return over,
                () = grown => {}
            }
            next_look = Instant::now() + RUNNING_INTERVAL;
            if let Ok(job) = self.store.get(self.id)
                && !job.is_over()
            {
                // A full channel loses this update. The next one shows the same text and more.
                let _ = self.updates.try_send(self.update(job, RUNNING_SHOWN));
            }
        }
    }

    fn last_update(&self, over: Result<JobRecord, ControlError>) -> Update {
        let lost = |error: &ControlError| {
            let text = visible_lines(&self.redactor.redact(error_chain(error)));
            self.redacted_update(UpdateState::Failed, Duration::ZERO, 0, self.dialect.0.failure("failed", &text))
        };
        match over {
            Ok(job) => self.update(job, self.shown),
            Err(error) => lost(&error),
        }
    }

    fn update(&self, mut job: JobRecord, shown: ByteSize) -> Update {
        job::redact(&mut job, &self.redactor);
        let output = JobOutput::read(&job, JobPart::LastLines(u64::MAX), shown, self.output_redactor.anew());
        let (state, answer) = self.dialect.0.update(&job, &output, &self.call);
        self.redacted_update(state, job.elapsed, output.total, answer)
    }

    fn redacted_update(&self, state: UpdateState, elapsed: Duration, bytes: u64, answer: RawAnswer) -> Update {
        let answer = answer.redact(&self.redactor);
        Update { state, elapsed, bytes, lines: None, text: answer.text, facts: answer.facts }
    }
}

/// An update in a dialect without a form of its own: the output, and at its end the line of the keeper about the end.
pub(crate) fn usual_update(job: &JobRecord, output: &JobOutput) -> (UpdateState, RawAnswer) {
    let (state, word) = match job.end() {
        _ if !job.is_over() => (UpdateState::Running, "running"),
        Some(End::Own(Exit::Code(0))) => (UpdateState::Completed, "completed"),
        _ => (UpdateState::Failed, "failed"),
    };
    let facts = json!({
        "async": { "state": word, "jobId": format!("bg_{}", job.id), "type": "bash" },
        "job": job::facts(job),
    });
    let answer = RawAnswer::new(output.text.clone(), facts);
    (state, RawAnswer { is_error: state == UpdateState::Failed, ..answer })
}

/// Waits for new output of a job. Never returns once none can come.
async fn new_job_output(follow: Option<&mut Follow>) {
    if let Some(follow) = follow {
        follow.skip_to_newest(1);
        if matches!(follow.next().await, Ok(Followed::Output { .. } | Followed::Missing(_))) {
            return;
        }
    }
    std::future::pending::<()>().await;
}
