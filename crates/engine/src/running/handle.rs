//! The handle of a command that runs on a task of its own.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use bashful_keeper::StopReason;
use thiserror::Error;
use tokio::sync::{mpsc, oneshot, watch};

use super::{InBackground, NotSent};
use crate::outcome::Outcome;

/// Newest output of a running command, and its size so far.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Live {
    /// Newest part of the output, without withheld values.
    pub newest: Vec<u8>,
    /// Bytes written so far.
    pub bytes: u64,
    /// Lines written so far.
    pub lines: u64,
    /// Name of the client's terminal in which the command runs; none if it runs on its own. It is there from the first
    /// value on.
    pub client_terminal: Option<Arc<str>>,
}

/// A stream of a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StreamName {
    /// Standard output; also standard error if the two share a pipe.
    Output,
    /// Standard error.
    Stderr,
}

/// Error: the keeper is gone, and nobody knows how the command ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[error("the job was dropped before it ended")]
pub struct Dropped;

/// A request of a caller to a running command.
#[derive(Debug)]
pub(crate) enum RunRequest {
    Stop(StopReason),
    /// Publish the newest output now.
    Live,
    /// Send a signal to the whole process tree.
    Signal(u8),
    /// Make it a job.
    Background(oneshot::Sender<Result<InBackground, NotSent>>),
}

/// Counter of the bytes that a command writes. It stays valid after the handle was dropped.
#[derive(Debug, Clone, Default)]
pub struct Written(Arc<AtomicU64>);

impl Written {
    pub(super) fn set(&self, bytes: u64) {
        self.0.store(bytes, Ordering::Relaxed);
    }

    /// Bytes written so far, on both streams.
    pub fn bytes(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

impl PartialEq for Written {
    fn eq(&self, other: &Self) -> bool {
        self.bytes() == other.bytes()
    }
}

/// A command that runs on a task of its own. Dropping the handle stops it.
#[derive(Debug)]
pub struct Running {
    pub(super) pid: Option<i32>,
    pub(super) requests: mpsc::UnboundedSender<RunRequest>,
    pub(super) live: watch::Receiver<Live>,
    pub(super) written: Written,
    pub(super) outcome: oneshot::Receiver<Outcome>,
}

impl Running {
    /// Process id of the shell, which is also that of its process group. None if the keeper was lost before it reported
    /// one.
    pub fn pid(&self) -> Option<i32> {
        self.pid
    }

    /// Counter of the bytes that the command writes.
    pub fn written(&self) -> Written {
        self.written.clone()
    }

    /// Stops the command: `SIGTERM`, then `SIGKILL` after the grace. A second call kills it at once.
    pub fn stop(&self, why: StopReason) {
        // A command that has ended needs no stop.
        let _ = self.requests.send(RunRequest::Stop(why));
    }

    /// Makes the command a job, without a restart and without loss. After an error the command continues in the
    /// foreground. A dropped future leaves it unknown which of the two happened.
    ///
    /// ```standalone_crate
    /// use std::sync::Arc;
    /// use bashful_engine::{Caller, Engine, JobLimits, JobStore, Options, Request, Script, Stop};
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
    ///         let started = engine.start(Request::new(Script::new("sleep 1000")?), Caller::default()).await?;
    ///         let running = started.running().ok_or("refused")?;
    ///         let sent = running.send_to_background().await.map_err(|_| "it goes on in the foreground")?;
    ///         jobs.stop(sent.job.id, Stop::Ask).await?;
    ///         jobs.wait_until_gone(sent.job.id).await?;
    ///         Ok(())
    ///     })
    /// }
    /// ```
    pub async fn send_to_background(self) -> Result<InBackground, StillInForeground> {
        let (answer, answered) = oneshot::channel();
        let sent = match self.requests.send(RunRequest::Background(answer)) {
            Ok(()) => answered.await.unwrap_or(Err(NotSent::Ended)),
            Err(_) => Err(NotSent::Ended),
        };
        sent.map_err(|why| StillInForeground { running: self, why })
    }

    /// The newest output, now and after every change, at most every 50 ms. The last value has the final output, and
    /// then the channel closes. [`Caller::listener`](crate::Caller::listener) gets all of the output.
    pub fn live(&self) -> watch::Receiver<Live> {
        let live = self.live.clone();
        // After the end, the last value is already there.
        let _ = self.requests.send(RunRequest::Live);
        live
    }

    /// Waits for the end. A dropped future leaves the command running; call again to wait on.
    pub async fn wait(&mut self) -> Result<Outcome, Dropped> {
        (&mut self.outcome).await.map_err(|_| Dropped)
    }
}

/// A command that could not become a job. It continues.
#[derive(Debug)]
pub struct StillInForeground {
    /// The command, still in the foreground.
    pub running: Running,
    /// Reason why it is not a job.
    pub why: NotSent,
}
