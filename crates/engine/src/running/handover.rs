//! Makes a command a job: writes its record, and hands its output to its keeper.
//!
//! Invariant: at every moment either the engine or the keeper reads the pipes, so that no byte is lost and no writer
//! waits.

use std::fs::File;
use std::io;
use std::ops::Range;
use std::os::fd::AsFd;
use std::path::PathBuf;
use std::sync::Arc;

use bashful_keeper::output::OutputFile;
use bashful_keeper::protocol::{Leftover, OUTPUT};
use bashful_sys::boot_time;
use thiserror::Error;

use super::{Run, Stream};
use crate::capture::{Capture, ContinuedFile};
use crate::jobs::{CreateJobError, JobKind, JobRecord, JobState, LimitCheck, NewJob, NewJobRecord, STDERR, StderrFile};
use crate::link::{Handover, OutputHandover};
use crate::outcome::{LeftBehind, Output};
use crate::redact::Redactor;
use crate::sessions::SessionName;
use crate::units::Lifetime;

/// A command that has become a job.
#[derive(Debug)]
pub struct InBackground {
    /// Record of the job.
    pub job: JobRecord,
    /// Output so far; stdout, if the streams are split.
    pub output: Output,
    /// Stderr so far, if the streams are split.
    pub stderr: Option<Output>,
    /// Session that the command has left, together with its shell.
    pub session: Option<SessionName>,
}

/// Error: a command that did not become a job.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum NotSent {
    /// The engine has no store for jobs.
    #[error("jobs need a state directory: set XDG_STATE_HOME or HOME")]
    NoJobs,
    /// The backend cannot make a running command a job.
    #[error("this backend does not support that")]
    Unsupported,
    /// Leftover processes of a session stay in the session.
    #[error("leftover processes of a session stay in the session")]
    InSession,
    /// The record of the job could not be created.
    #[error(transparent)]
    Create(#[from] CreateJobError),
    /// The keeper could not write the record.
    #[error("its keeper cannot use the job's directory")]
    Keeper(#[source] io::Error),
    /// The command ended meanwhile.
    #[error("it has just ended")]
    Ended,
}

impl Run {
    /// Makes the leftover processes a job; none if they have ended meanwhile.
    pub(super) async fn hand_over_leftovers(&mut self, mut processes: Vec<Leftover>) -> Option<LeftBehind> {
        for process in &mut processes {
            if let Some(masked) = self.mask.sentence(&process.command) {
                process.command = masked;
            }
        }
        let job = match self.become_job(JobKind::Leftover, LimitCheck::Skip).await {
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
        // The keeper of a session supervises other commands too.
        let keeper = self.link.supervisor().filter(|_| session.is_none());
        Some(LeftBehind { processes, keeper, job: job.map(|job| job.id), output_file, session })
    }

    pub(crate) async fn send_to_background(&mut self) -> Result<InBackground, NotSent> {
        let job = self.become_job(JobKind::Outlasted, LimitCheck::Apply).await?;
        self.end_live_output();
        let (output, stderr) = self.outputs();
        Ok(InBackground { job, output, stderr, session: self.session.take().map(|session| session.name) })
    }

    /// Writes the record of a job, and hands command and pipes to the keeper in one message. The job then needs neither
    /// this program nor the engine. After an error, everything is unchanged.
    async fn become_job(&mut self, kind: JobKind, limit: LimitCheck) -> Result<JobRecord, NotSent> {
        if self.session.is_some() && kind == JobKind::Leftover {
            return Err(NotSent::InSession);
        }
        let store = self.options.jobs.clone().ok_or(NotSent::NoJobs)?;
        self.link.can_hand_over()?;
        // Opens the artifact if the reply cuts the output: the job then continues in the file that the reply names.
        self.outputs();
        for stream in &mut self.streams {
            stream.capture.make_way();
        }
        let plan = self.checked.plan();
        let place = |stream: &Stream| stream.capture.file().map(|file| file.path.to_path_buf());
        let redactor = Redactor::new(Arc::clone(&self.mask));
        let longer = plan.job_lifetime.filter(|_| kind == JobKind::Outlasted && self.link.changes_lifetimes());
        let asked = NewJobRecord {
            kind,
            script: redactor.redact(String::from_utf8_lossy(plan.script.as_bytes())),
            directory: redactor.redact(plan.directory.to_string_lossy()),
            owner: plan.owner.as_deref(),
            lifetime: longer.unwrap_or(plan.lifetime),
            output: self.streams.first().and_then(place),
            stderr: self.streams.get(1).map(|stream| place(stream).map_or(StderrFile::Own, StderrFile::At)),
            input: false,
            terminal: plan.streams.terminal().is_some(),
        };
        let job = store.create(asked, limit)?;
        if let Err(why) = self.hand_over(&job, kind, longer).await {
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

    /// Hands the job and the pipes to the keeper, which writes the job's status.
    async fn hand_over(&mut self, job: &NewJob, kind: JobKind, lifetime: Option<Lifetime>) -> Result<(), NotSent> {
        let null_file = null_file().map_err(NotSent::Keeper)?;
        let names = [OUTPUT, STDERR];
        let own: Vec<_> =
            self.streams.iter().zip(names).map(|(stream, name)| own_file(job, name, &stream.capture)).collect();
        let mut outputs = Vec::new();
        for (stream, own) in self.streams.iter().zip(&own) {
            let place = match own {
                Some((file, path)) => Some(ContinuedFile { file, path, at_most: job.at_most, gap: Range::default() }),
                None => {
                    stream.capture.file().map(|file| ContinuedFile { at_most: file.at_most.min(job.at_most), ..file })
                }
            };
            outputs.push(output_handover(stream, place, &null_file));
        }
        let leftovers = self.checked.plan().leftovers;
        self.link.hand_over(Handover { job, kind, leftovers, outputs, lifetime }).await
    }

    /// Hands the pipes to the keeper without a job, so that processes that write neither block nor get `SIGPIPE`.
    async fn release(&mut self) {
        let Ok(null_file) = null_file() else { return };
        for stream in &mut self.streams {
            stream.capture.save_now();
            stream.capture.make_way();
        }
        let outputs =
            self.streams.iter().map(|stream| output_handover(stream, stream.capture.file(), &null_file)).collect();
        self.link.release(outputs).await;
        for stream in &mut self.streams {
            stream.close();
        }
    }
}

/// Pairs a stream with the file for its bytes. A closed stream has nothing to carry; without a file, the bytes are
/// dropped.
fn output_handover<'a>(
    stream: &'a Stream,
    place: Option<ContinuedFile<'a>>,
    null_file: &'a File,
) -> OutputHandover<'a> {
    let from = stream.pipe().unwrap_or(null_file.as_fd());
    match place {
        Some(ContinuedFile { file, path, at_most, gap }) => {
            OutputHandover { from, to: file.as_fd(), path: Some(path.to_path_buf()), at_most, gap }
        }
        None => OutputHandover { from, to: null_file.as_fd(), path: None, at_most: 0, gap: Range::default() },
    }
}

fn null_file() -> io::Result<File> {
    bashful_sys::null_file()
}

/// Opens a file in the job's directory, with the output so far; none if an artifact has it already, or the file cannot
/// be opened.
fn own_file(job: &NewJob, name: &str, capture: &Capture) -> Option<(File, PathBuf)> {
    if capture.file().is_some() {
        return None;
    }
    let (file, path) = (job.file(name).ok()?, job.directory.join(name));
    let mut output = OutputFile::new(file.try_clone().ok()?, path.clone(), job.at_most, Range::default());
    match capture.bytes_in_memory() {
        Some(bytes) => output.append(bytes),
        None => output.lose(capture.bytes(), "they were written before it became a job, and could not be saved"),
    }
    Some((file, path))
}
