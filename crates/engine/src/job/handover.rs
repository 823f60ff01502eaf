//! A command becomes a job: it is written down, and its keeper takes over its output.
//!
//! Invariant: at every moment one of the two reads the pipes, so that no byte is lost and nobody who writes is held up.

use std::io;
use std::ops::Range;
use std::os::fd::AsFd;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;
use std::time::Duration;

use bashful_keeper::wire::{Leftover, OUTPUT, Order, Release, Report};
use thiserror::Error;
use tokio::io::unix::AsyncFd;

use super::{Run, Stream};
use crate::capture::{Capture, HandedOver};
use crate::jobs::{Asked, CreateJobError, JobKind, JobRecord, NewJob, Room, STDERR, StderrFile};
use crate::mask::Edges;
use crate::outcome::{LeftBehind, Output};

/// A keeper that has not written a job down by then has been stopped.
const RECORDED_AT_LATEST: Duration = Duration::from_secs(5);

/// A command that has become a job.
#[derive(Debug)]
pub struct InBackground {
    /// The job.
    pub job: JobRecord,
    /// What it had written by then; to standard output, if the streams are taken apart.
    pub output: Output,
    /// What it had written to standard error, if the streams are taken apart.
    pub stderr: Option<Output>,
}

/// Why a command did not become a job.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum NotSent {
    /// There is no place for jobs.
    #[error("there is no place for jobs")]
    NoJobs,
    /// A job needs a keeper that outlives this program.
    #[error("it has no keeper process, and a thread would end with this program")]
    NoKeeper,
    /// It could not be written down.
    #[error(transparent)]
    Create(#[from] CreateJobError),
    /// Its keeper could not write it down.
    #[error("its keeper cannot use the job's directory")]
    Keeper(#[source] io::Error),
    /// It ended just then.
    #[error("it has just ended")]
    Ended,
}

impl Run {
    /// Lets what was left behind go on as a job.
    pub(super) async fn leave(&mut self, mut processes: Vec<Leftover>) -> LeftBehind {
        for process in &mut processes {
            if let Some(masked) = self.mask.apply(process.command.as_bytes(), Edges::End) {
                process.command = String::from_utf8_lossy(&masked).into_owned();
            }
        }
        let job = match self.become_job(JobKind::Leftover, Room::Taken).await {
            Ok(job) => Some(job),
            Err(error) => {
                tracing::debug!(%error, "what was left behind is not a job");
                self.release(None).await;
                None
            }
        };
        let artifact = || Some(self.streams.first()?.capture.file()?.path.to_path_buf());
        let output_file = job.as_ref().map(|job| job.output_file.clone()).or_else(artifact);
        LeftBehind { processes, keeper: self.keeper.pid(), job: job.map(|job| job.id), output_file }
    }

    pub(super) async fn send_to_background(&mut self) -> Result<InBackground, NotSent> {
        let job = self.become_job(JobKind::Outlasted, Room::Limited).await?;
        let mut outputs = self.streams.iter_mut().map(|stream| stream.capture.output(&self.mask));
        let output = outputs.next().expect("every command has one stream at least");
        Ok(InBackground { job, output, stderr: outputs.next() })
    }

    /// Writes the command down as a job and hands it to its keeper. From then on nobody needs us.
    async fn become_job(&mut self, kind: JobKind, room: Room) -> Result<JobRecord, NotSent> {
        let store = self.options.jobs.clone().ok_or(NotSent::NoJobs)?;
        if self.keeper.pid().is_none() {
            return Err(NotSent::NoKeeper);
        }
        let plan = self.checked.plan();
        let place = |stream: &Stream| stream.capture.file().map(|file| file.path.to_path_buf());
        let asked = Asked {
            kind,
            script: plan.script.as_bytes(),
            directory: &plan.directory,
            lifetime: plan.lifetime,
            output: self.streams.first().and_then(place),
            stderr: self.streams.get(1).map(|stream| place(stream).map_or(StderrFile::Own, StderrFile::At)),
            input: false,
        };
        let job = store.create(asked, room)?;
        let order = Order::Record(job.order(kind, plan.leftovers));
        // A keeper that cannot be reached is gone, and will not answer either.
        let _ = self.link.send(&[&order], &[job.alive.as_fd()]).await;
        if let Err(why) = self.recorded().await {
            store.discard(job);
            return Err(why);
        }
        self.release(Some(&job)).await;
        let unreadable = |error| CreateJobError::Io { path: job.directory.clone(), source: io::Error::other(error) };
        let mut record = store.get(job.id).map_err(unreadable)?;
        // Its keeper may not have written this down yet.
        record.pid = self.pid;
        record.elapsed = self.began.elapsed();
        Ok(record)
    }

    /// Waits for word that the keeper has written the job down.
    async fn recorded(&mut self) -> Result<(), NotSent> {
        match tokio::time::timeout(RECORDED_AT_LATEST, self.link.next()).await {
            Ok(Ok(Report::Recorded { errno: 0 })) => Ok(()),
            Ok(Ok(Report::Recorded { errno })) => Err(NotSent::Keeper(io::Error::from_raw_os_error(errno))),
            Ok(Ok(ended @ Report::Ended { .. })) => {
                self.early = Some(ended);
                Err(NotSent::Ended)
            }
            // The next look at the link will tell.
            Ok(Ok(Report::Started { .. } | Report::NotStarted { .. }) | Err(_)) => Err(NotSent::Ended),
            Err(_) => Err(NotSent::Keeper(io::ErrorKind::TimedOut.into())),
        }
    }

    /// Hands the pipes to the keeper, so that those who write neither block nor die.
    async fn release(&mut self, job: Option<&NewJob>) {
        let nowhere = std::fs::File::options().read(true).write(true).open("/dev/null").ok();
        for (stream, name) in self.streams.iter_mut().zip([OUTPUT, STDERR]) {
            // If nobody holds the pipe any more there is nothing to carry, but the keeper still has to be told to stay.
            let from = stream.pipe.take().map(AsyncFd::into_inner);
            let own = job.and_then(|job| own_file(job, name, &stream.capture));
            if job.is_none() {
                stream.capture.save_now();
            }
            let place = match (&own, job) {
                (Some((file, path)), Some(job)) => {
                    Some(HandedOver { file, path, at_most: job.at_most, gap: Range::default() })
                }
                _ => stream.capture.file(),
            };
            let release = Order::Release(Release {
                path: place.as_ref().map(|place| place.path.as_os_str().as_bytes().to_vec()).unwrap_or_default(),
                at_most: place.as_ref().map_or(0, |place| place.at_most),
                gap: place.as_ref().map(|place| place.gap.clone()).unwrap_or_default(),
                from_to: None,
            });
            let nowhere = nowhere.as_ref().map(AsFd::as_fd);
            let from = from.as_ref().map(AsFd::as_fd).or(nowhere);
            let to = place.map(|place| place.file.as_fd()).or(nowhere);
            if let (Some(from), Some(to)) = (from, to) {
                let _ = self.link.send(&[&release], &[from, to]).await;
            }
        }
    }
}

/// A file in the job's own directory with all that was written so far; none if that is in a file already, or cannot be.
fn own_file(job: &NewJob, name: &str, capture: &Capture) -> Option<(std::fs::File, PathBuf)> {
    if capture.file().is_some() {
        return None;
    }
    let mut file = job.file(name).ok()?;
    // What does not fit on the disk is lost, and what comes later may fit again.
    let _ = io::Write::write_all(&mut file, capture.held().unwrap_or_default());
    Some((file, job.directory.join(name)))
}
