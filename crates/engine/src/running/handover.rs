//! A command becomes a job: it is written down, and its keeper takes over its output.
//!
//! Invariant: at every moment one of the two reads the pipes, so that no byte is lost and nobody who writes is held up.

use std::fs::File;
use std::io;
use std::ops::Range;
use std::os::fd::AsFd;
use std::path::PathBuf;
use std::sync::Arc;

use bashful_keeper::protocol::{Leftover, OUTPUT};
use bashful_sys::boot_time;
use thiserror::Error;

use super::{Run, Stream};
use crate::capture::{Capture, HandedOver};
use crate::jobs::{CreateJobError, JobKind, JobRecord, JobState, NewJob, NewJobRecord, Room, STDERR, StderrFile};
use crate::link::{Carried, Handover};
use crate::outcome::{LeftBehind, Output};
use crate::redact::Redactor;
use crate::sessions::SessionName;

/// A command that has become a job.
#[derive(Debug)]
pub struct InBackground {
    /// The job.
    pub job: JobRecord,
    /// What it had written by then; to standard output, if the streams are taken apart.
    pub output: Output,
    /// What it had written to standard error, if the streams are taken apart.
    pub stderr: Option<Output>,
    /// The session that it has left, with the shell.
    pub session: Option<SessionName>,
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
    /// The backend cannot hand over a command that runs.
    #[error("this backend cannot make a job of a command that runs")]
    Unsupported,
    /// What is left behind in a session stays in it.
    #[error("what a command leaves behind in a session stays in it")]
    InSession,
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
    /// Lets what was left behind go on as a job; none if it has ended meanwhile.
    pub(super) async fn leave(&mut self, mut processes: Vec<Leftover>) -> Option<LeftBehind> {
        for process in &mut processes {
            if let Some(masked) = self.mask.sentence(&process.command) {
                process.command = masked;
            }
        }
        let job = match self.become_job(JobKind::Leftover, Room::Taken).await {
            Ok(job) => Some(job),
            Err(NotSent::Ended) => {
                self.drain();
                return None;
            }
            Err(error) => {
                tracing::debug!(%error, "what was left behind is not a job");
                self.release().await;
                None
            }
        };
        let artifact = || Some(self.streams.first()?.capture.file()?.path.to_path_buf());
        let output_file = job.as_ref().map(|job| job.output_file.clone()).or_else(artifact);
        let session = self.session.as_ref().map(|session| session.name.clone());
        // The keeper of a session keeps others too.
        let keeper = self.link.supervisor().filter(|_| session.is_none());
        Some(LeftBehind { processes, keeper, job: job.map(|job| job.id), output_file, session })
    }

    pub(crate) async fn send_to_background(&mut self) -> Result<InBackground, NotSent> {
        let job = self.become_job(JobKind::Outlasted, Room::Limited).await?;
        self.tell_the_end();
        let (output, stderr) = self.outputs();
        Ok(InBackground { job, output, stderr, session: self.session.take().map(|session| session.name) })
    }

    /// Writes the command down as a job and hands it and its pipes to its keeper, in one message. From then on nobody
    /// needs us. If that fails, everything is as it was.
    async fn become_job(&mut self, kind: JobKind, room: Room) -> Result<JobRecord, NotSent> {
        if self.session.is_some() && kind == JobKind::Leftover {
            return Err(NotSent::InSession);
        }
        let store = self.options.jobs.clone().ok_or(NotSent::NoJobs)?;
        self.link.can_hand_over()?;
        // Opens the artifact if the reply cuts the output: the job then goes on in the file that the reply names.
        self.outputs();
        let plan = self.checked.plan();
        let place = |stream: &Stream| stream.capture.file().map(|file| file.path.to_path_buf());
        let redactor = Redactor::new(Arc::clone(&self.mask));
        let asked = NewJobRecord {
            kind,
            script: redactor.redact(String::from_utf8_lossy(plan.script.as_bytes())),
            directory: redactor.redact(plan.directory.to_string_lossy()),
            owner: plan.owner.as_deref(),
            lifetime: plan.lifetime,
            output: self.streams.first().and_then(place),
            stderr: self.streams.get(1).map(|stream| place(stream).map_or(StderrFile::Own, StderrFile::At)),
            input: false,
            terminal: plan.streams.terminal().is_some(),
        };
        let job = store.create(asked, room)?;
        if let Err(why) = self.hand_over(&job, kind).await {
            store.discard(job);
            return Err(why);
        }
        for stream in &mut self.streams {
            stream.close();
        }
        let unreadable = |error| CreateJobError::Io { path: job.directory.clone(), source: io::Error::other(error) };
        let mut record = store.get(job.id).map_err(unreadable)?;
        if record.state == JobState::Running {
            record.elapsed = self.elapsed_at(boot_time());
        }
        record.pid = self.pid;
        Ok(record)
    }

    /// Hands the job and the pipes to the keeper, which writes the job down.
    async fn hand_over(&mut self, job: &NewJob, kind: JobKind) -> Result<(), NotSent> {
        let nowhere = nowhere().map_err(NotSent::Keeper)?;
        for stream in &mut self.streams {
            stream.capture.reserve_no_more();
        }
        let names = [OUTPUT, STDERR];
        let own: Vec<_> =
            self.streams.iter().zip(names).map(|(stream, name)| own_file(job, name, &stream.capture)).collect();
        let mut outputs = Vec::new();
        for (stream, own) in self.streams.iter().zip(&own) {
            let place = match own {
                Some((file, path)) => Some(HandedOver { file, path, at_most: job.at_most, gap: Range::default() }),
                None => stream.capture.file().map(|file| HandedOver { at_most: file.at_most.min(job.at_most), ..file }),
            };
            outputs.push(carry(stream, place, &nowhere));
        }
        let leftovers = self.checked.plan().leftovers;
        self.link.hand_over(Handover { job, kind, leftovers, outputs }).await
    }

    /// Hands the pipes to the keeper without a record, so that those who write neither block nor die.
    async fn release(&mut self) {
        let Ok(nowhere) = nowhere() else { return };
        for stream in &mut self.streams {
            stream.capture.save_now();
            stream.capture.reserve_no_more();
        }
        let outputs = self.streams.iter().map(|stream| carry(stream, stream.capture.file(), &nowhere)).collect();
        self.link.release(outputs).await;
        for stream in &mut self.streams {
            stream.close();
        }
    }
}

/// A stream, and the file that its contents go to. If nobody holds the stream any more there is nothing to carry, and if
/// there is no file, the contents go nowhere.
fn carry<'a>(stream: &'a Stream, place: Option<HandedOver<'a>>, nowhere: &'a File) -> Carried<'a> {
    let from = stream.pipe().unwrap_or(nowhere.as_fd());
    match place {
        Some(HandedOver { file, path, at_most, gap }) => {
            Carried { from, to: file.as_fd(), path: Some(path.to_path_buf()), at_most, gap }
        }
        None => Carried { from, to: nowhere.as_fd(), path: None, at_most: 0, gap: Range::default() },
    }
}

fn nowhere() -> io::Result<File> {
    bashful_sys::null_file()
}

/// A file in the job's own directory with all that was written so far; none if that is in a file already, or cannot be.
fn own_file(job: &NewJob, name: &str, capture: &Capture) -> Option<(File, PathBuf)> {
    if capture.file().is_some() {
        return None;
    }
    let mut file = job.file(name).ok()?;
    // What does not fit on the disk is lost, and what comes later may fit again.
    let _ = io::Write::write_all(&mut file, capture.held().unwrap_or_default());
    Some((file, job.directory.join(name)))
}
