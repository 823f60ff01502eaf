//! Updates: news of one call, pushed to its caller while the command runs, and until the job is over if it becomes one.
//!
//! There is one channel for each call, whatever surface the caller uses. A running update that finds the channel full is left out:
//! the next one shows what it would have shown. The last update waits for room, so nobody who listens misses it.
//!
//! Following a job holds its record and its output file, and no engine: a host that drops its toolbox ends its sessions.

use std::sync::Arc;
use std::time::Duration;

use bashful_engine::{
    ByteSize, ControlError, Follow, Followed, JobPart, JobRecord, JobStore, OutputRedactor, Redacted, Redactor,
    error_chain,
};
use serde_json::Value;
use tokio::sync::mpsc;
use tokio::time::{Instant, sleep_until};

use crate::answer::RawAnswer;
use crate::dialect::{CallFacts, Dialect};
use crate::job::mask;
use crate::job_calls::JobOutput;
use crate::visible::visible_lines;

/// A job is looked at this often at most. Its output is a file, and every look reads the end of it.
const LOOKED_AT_EVERY: Duration = Duration::from_secs(1);

/// The output that a running update of a job shows: a screenful or two.
const RUNNING_SHOWN: ByteSize = ByteSize::kib(8);

/// The longest line that [`Update::last_line`] gives.
const LINE_SHOWN: usize = 200;

/// News of a call.
#[derive(Debug, Clone, PartialEq)]
pub struct Update {
    /// How far the command has come.
    pub state: UpdateState,
    /// How long the call has been under way; of a job, how long its command has run.
    pub elapsed: Duration,
    /// Bytes that the command has written.
    pub bytes: u64,
    /// The end of the output so far. With the last update of a job the final text, as a reply has it.
    pub text: Redacted,
    /// The facts, in the words of the dialect: in pi, `async.state` is there once the command is in the background.
    pub facts: Value,
}

/// How far a command has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UpdateState {
    /// It runs, and its call waits for it.
    Foreground,
    /// It runs as a job.
    Running,
    /// It was a job, and has ended with code 0.
    Completed,
    /// It was a job, and has ended otherwise.
    Failed,
}

impl UpdateState {
    /// True for the last update of a job.
    pub fn is_last(self) -> bool {
        matches!(self, Self::Completed | Self::Failed)
    }
}

impl Update {
    /// The last line that is not blank, or its beginning, without control characters: clients print it to terminals.
    pub fn last_line(&self) -> String {
        let line = self.text.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or_default();
        line.chars().filter(|char| !char.is_control()).take(LINE_SHOWN).collect()
    }
}

/// A job whose call has been answered, and the caller who wants to hear of it.
pub(crate) struct FollowedJob {
    pub(crate) store: Arc<JobStore>,
    pub(crate) id: u64,
    pub(crate) dialect: Dialect,
    pub(crate) call: CallFacts,
    /// Bytes of output that the last update shows.
    pub(crate) shown: ByteSize,
    pub(crate) redactor: Redactor,
    pub(crate) output_redactor: OutputRedactor,
    pub(crate) updates: mpsc::Sender<Update>,
}

impl FollowedJob {
    /// Pushes updates until the job is over or nobody listens any more.
    pub(crate) fn follow(self) {
        tokio::spawn(async move {
            let updates = self.updates.clone();
            let over = tokio::select! {
                over = self.until_over() => over,
                () = updates.closed() => return,
            };
            // It may have to count the lines of a gigabyte.
            if let Ok(last) = tokio::task::spawn_blocking(move || self.last(over)).await {
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
                grown(follow.as_mut()).await;
            };
            tokio::select! {
                over = &mut over => return over,
                () = grown => {}
            }
            next_look = Instant::now() + LOOKED_AT_EVERY;
            if let Ok(job) = self.store.get(self.id)
                && !job.is_over()
                && let Some(update) = self.update(job, RUNNING_SHOWN)
            {
                // Where there is no room, the next one does.
                let _ = self.updates.try_send(update);
            }
        }
    }

    fn last(&self, over: Result<JobRecord, ControlError>) -> Update {
        let lost = |error: &ControlError| {
            let text = visible_lines(&self.redactor.redact(error_chain(error)));
            self.masked(UpdateState::Failed, Duration::ZERO, 0, self.dialect.0.failure("failed", &text))
        };
        match over {
            Ok(job) => self.update(job, self.shown).unwrap_or_else(|| lost(&ControlError::Ended { id: self.id })),
            Err(error) => lost(&error),
        }
    }

    fn update(&self, mut job: JobRecord, shown: ByteSize) -> Option<Update> {
        mask(&mut job, &self.redactor);
        let output = JobOutput::read(&job, JobPart::LastLines(u64::MAX), shown, self.output_redactor.anew());
        let (state, answer) = self.dialect.0.update(&job, &output, &self.call)?;
        Some(self.masked(state, job.elapsed, output.total, answer))
    }

    fn masked(&self, state: UpdateState, elapsed: Duration, bytes: u64, answer: RawAnswer) -> Update {
        let answer = answer.masked(&self.redactor);
        Update { state, elapsed, bytes, text: answer.text, facts: answer.facts }
    }
}

/// Waits until there is new output; for ever if there is none to come.
async fn grown(follow: Option<&mut Follow>) {
    if let Some(follow) = follow {
        follow.skip_to_newest(1);
        if matches!(follow.next().await, Ok(Followed::Output { .. } | Followed::Missing(_))) {
            return;
        }
    }
    std::future::pending::<()>().await;
}
