//! The store of jobs: a directory in which jobs are created, listed and removed.

use std::fs::{self, DirBuilder, File};
use std::io::{self, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use bashful_keeper::gaps;
use bashful_keeper::protocol;
use bashful_sys::plain;
use bashful_sys::proc::Process;
use rustix::fs::{FlockOperation, Mode, OFlags, flock};
use rustix::io::Errno;
use rustix::process::Pid;
use thiserror::Error;

use super::record::{self, JOB_VERSION, JobFile, JobRecord, StderrFile};
use super::{JobKind, JobState};
use crate::LeftoverPolicy;
use crate::id_counter::{IdCounter, lock_soon, numbers_in};
use crate::redact::Redacted;
use crate::units::{ByteSize, Lifetime};
use crate::versioned::Versioned;

/// Name of the file with the request.
const JOB: &str = "job.json";

/// Limits on the number, age and output of jobs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct JobLimits {
    /// Most jobs alive at once. Leftover processes count, but are never refused, because they run already.
    pub live: usize,
    /// Most records kept after the end.
    pub kept: usize,
    /// Longest time that a record is kept after the end.
    pub age: Duration,
    /// Limit on the output of one job. Beyond it, the first half and the newest part are kept; at least 64 KiB.
    pub output: ByteSize,
}

impl Default for JobLimits {
    /// A hundred servers are more than anybody meant to start, and nobody returns to a job of last week.
    fn default() -> Self {
        Self { live: 100, kept: 500, age: Duration::from_hours(7 * 24), output: ByteSize::mib(1024) }
    }
}

/// Error: a command that did not become a job.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum CreateJobError {
    /// The limit on live jobs is reached.
    #[error(transparent)]
    TooMany(#[from] TooManyJobs),
    /// The record cannot be written.
    #[error("cannot create the record of a job in {}", path.display())]
    Io {
        /// Directory of the store.
        path: PathBuf,
        /// Error of the system.
        source: io::Error,
    },
}

/// Error: the limit on live jobs is reached.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error(
    "Background job limit reached ({limit}). Wait for running jobs to finish or cancel one. Running: {}",
    describe(jobs)
)]
pub struct TooManyJobs {
    /// Limit on live jobs.
    pub limit: usize,
    /// The jobs that live.
    pub jobs: Vec<JobRecord>,
}

fn describe(jobs: &[JobRecord]) -> String {
    let line = |job: &JobRecord| {
        let script: String =
            job.script.chars().take(60).map(|char| if char.is_control() { ' ' } else { char }).collect();
        format!("{} ({script})", job.id)
    };
    jobs.iter().map(line).collect::<Vec<_>>().join(", ")
}

/// Error: a directory of jobs that cannot be listed.
#[derive(Debug, Error)]
#[error("cannot list the jobs in {}", path.display())]
pub struct ListJobsError {
    /// Directory of the store.
    pub path: PathBuf,
    /// Error of the system.
    pub source: io::Error,
}

/// Error: a job that cannot be read.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum GetJobError {
    /// The id has not been given out yet.
    #[error("there has never been a job {id}")]
    Never {
        /// Id that was asked for.
        id: u64,
    },
    /// A sweep or a caller removed the record.
    #[error("job {id} has ended, and its record was removed")]
    Removed {
        /// Id that was asked for.
        id: u64,
    },
    /// The record is there, but cannot be read.
    #[error("cannot read job {id} ({})", path.display())]
    Unreadable {
        /// Id that was asked for.
        id: u64,
        /// Directory of the job.
        path: PathBuf,
        /// Error of the system.
        source: io::Error,
    },
}

/// Error: a job that was not removed.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum RemoveJobError {
    /// Some process of the job still runs.
    #[error("job {id} is still running; stop it first")]
    Live {
        /// Id of the job.
        id: u64,
    },
    /// There is no such job.
    #[error(transparent)]
    Get(#[from] GetJobError),
    /// The system refused to remove the directory.
    #[error("cannot remove {}", path.display())]
    Io {
        /// Directory of the job.
        path: PathBuf,
        /// Error of the system.
        source: io::Error,
    },
}

/// A directory of jobs, shared by every program of the user.
#[derive(Debug, Clone)]
pub struct JobStore {
    pub(super) numbers: IdCounter,
    pub(super) limits: JobLimits,
    before_removal: Option<BeforeRemoval>,
}

/// Callback for every job that is about to be removed.
#[derive(Clone)]
struct BeforeRemoval(Arc<dyn Fn(&JobRecord) + Send + Sync>);

impl std::fmt::Debug for BeforeRemoval {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.write_str("BeforeRemoval")
    }
}

/// Facts for the record of a new job.
pub(crate) struct NewJobRecord<'a> {
    pub(crate) kind: JobKind,
    pub(crate) script: Redacted,
    pub(crate) directory: Redacted,
    pub(crate) owner: Option<&'a str>,
    pub(crate) lifetime: Lifetime,
    /// Path of the output, if it is in a file already.
    pub(crate) output: Option<PathBuf>,
    /// Path of stderr, if the streams are split.
    pub(crate) stderr: Option<StderrFile>,
    pub(crate) input: bool,
    /// True if the command has a terminal.
    pub(crate) terminal: bool,
}

/// Treatment of a new job when the limit is reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LimitCheck {
    /// Refuse the job.
    Apply,
    /// Accept it, because its processes run already.
    Skip,
}

/// A job whose record was written, and that has not begun. Dropping it leaves the record of a lost job.
#[derive(Debug)]
pub struct NewJob {
    pub(crate) id: u64,
    pub(crate) directory: PathBuf,
    /// Locked. The job lives as long as this file or a copy of the descriptor is open.
    pub(crate) alive: File,
    pub(crate) at_most: u64,
}

impl NewJob {
    /// The order that makes a keeper write this job's status.
    pub(crate) fn order(&self, kind: JobKind, leftovers: LeftoverPolicy) -> protocol::RecordOrder {
        protocol::RecordOrder {
            id: self.id,
            directory: self.directory.as_os_str().as_bytes().to_vec(),
            kind: kind.into(),
            at_most: self.at_most,
            stop_leftovers: leftovers == LeftoverPolicy::Stop,
            alive: None,
            pipes: Vec::new(),
        }
    }

    /// The order to carry an output to this file of its directory.
    pub(crate) fn release(&self, name: &str) -> protocol::PipeHandover {
        protocol::PipeHandover {
            path: self.directory.join(name).into_os_string().into_encoded_bytes(),
            at_most: self.at_most,
            gap: 0..0,
            from_to: None,
        }
    }

    /// Opens a file in the job's directory for appending.
    pub(crate) fn file(&self, name: &str) -> io::Result<File> {
        plain::open_with(File::options().read(true).append(true).create(true), &self.directory.join(name))
    }

    /// Opens the reading end of the job's standard input.
    pub(crate) fn input(&self) -> io::Result<File> {
        // Without this flag, `open` would wait for a writer.
        let flags = (OFlags::NONBLOCK | OFlags::NOFOLLOW).bits().cast_signed();
        let input = File::options().read(true).custom_flags(flags).open(self.directory.join(protocol::INPUT))?;
        // Reads of the job are to wait.
        rustix::fs::fcntl_setfl(&input, rustix::fs::fcntl_getfl(&input)? - OFlags::NONBLOCK)?;
        Ok(input)
    }
}

impl JobStore {
    /// A store in this directory. Creates nothing before it is used.
    pub fn new(directory: PathBuf, limits: JobLimits) -> Self {
        Self { numbers: IdCounter::new(directory), limits, before_removal: None }
    }

    /// Calls `tell` with each job right before this store removes it, by a sweep or by [`remove`](Self::remove): the
    /// last moment to note how it ended.
    #[must_use]
    pub fn before_removal(mut self, tell: impl Fn(&JobRecord) + Send + Sync + 'static) -> Self {
        self.before_removal = Some(BeforeRemoval(Arc::new(tell)));
        self
    }

    /// Directory of the store, which need not exist yet.
    pub fn directory(&self) -> &Path {
        self.numbers.directory()
    }

    /// Creates the directory of the store, if it is missing.
    pub(crate) fn make(&self) -> io::Result<&Path> {
        self.numbers.make().map(|()| self.directory())
    }

    /// Ids of all jobs, in order; none if they cannot be listed. Reads no record.
    pub fn ids(&self) -> Vec<u64> {
        self.ids_and_marks().unwrap_or_default()
    }

    /// Limits of this store.
    pub fn limits(&self) -> JobLimits {
        self.limits
    }

    /// Writes the record of a new job. Creates the store's directory if needed.
    pub(crate) fn create(&self, asked: NewJobRecord<'_>, limit: LimitCheck) -> Result<NewJob, CreateJobError> {
        let failed = |source| CreateJobError::Io { path: self.directory().to_path_buf(), source };
        self.numbers.make().map_err(failed)?;
        crate::make_directory(&self.live()).map_err(failed)?;
        let lock = self.numbers.lock().map_err(failed)?;
        if limit == LimitCheck::Apply {
            self.check_live_limit()?;
        }
        let id = self.numbers.give_out(&lock, 1).map_err(failed)?;
        self.write_record(id, asked).map_err(failed)
    }

    fn check_live_limit(&self) -> Result<(), CreateJobError> {
        let marks = numbers_in(&self.live()).map_err(|source| CreateJobError::Io { path: self.live(), source })?;
        if marks.len() < self.limits.live {
            return Ok(());
        }
        // Some marks may be of keepers that were killed. A job whose record was removed counts too.
        let live = marks.into_iter().filter(|id| self.lives(*id)).map(|id| self.read(id));
        let live: Vec<_> = live.filter(|job| job.as_ref().is_none_or(JobRecord::is_live)).collect();
        if live.len() < self.limits.live {
            return Ok(());
        }
        let jobs = live.into_iter().flatten().collect();
        Err(TooManyJobs { limit: self.limits.live, jobs }.into())
    }

    /// Writes the directory of a job under a draft name, and renames it once it is complete.
    fn write_record(&self, id: u64, asked: NewJobRecord<'_>) -> io::Result<NewJob> {
        let directory = self.path(id);
        let draft = self.draft(id);
        DirBuilder::new().mode(0o700).create(&draft)?;
        // Permissions must not depend on the umask.
        fs::set_permissions(&draft, fs::Permissions::from_mode(0o700))?;
        let job = JobFile {
            version: JOB_VERSION,
            kind: asked.kind,
            script: asked.script.into_string(),
            cwd: asked.directory.into_string(),
            owner: asked.owner.map(str::to_owned),
            output: asked.output,
            stderr: asked.stderr,
            input: asked.input,
            terminal: asked.terminal,
            lifetime_ms: u64::try_from(asked.lifetime.0.as_millis()).unwrap_or(u64::MAX),
            created_unix_ms: unix_ms(),
        };
        let mut file = plain::create(&draft.join(JOB))?;
        // A path that is not UTF-8 cannot be written as JSON.
        file.write_all(&serde_json::to_vec_pretty(&job).map_err(io::Error::other)?)?;
        if asked.input {
            let (input, mode) = (draft.join(protocol::INPUT), Mode::RUSR | Mode::WUSR);
            rustix::fs::mknodat(rustix::fs::CWD, &input, rustix::fs::FileType::Fifo, mode, 0)?;
            rustix::fs::chmod(&input, mode)?;
        }
        let alive = plain::open_with(File::options().write(true).create(true).truncate(false), &self.mark(id))?;
        lock_soon(&alive)?;
        fs::rename(draft, &directory)?;
        Ok(NewJob { id, directory, alive, at_most: self.limits.output.0 })
    }

    /// Removes a job that could not be started.
    pub(crate) fn discard(&self, job: NewJob) {
        // The mark goes first: a live mark without a directory would be listed as a damaged job.
        let _ = fs::remove_file(self.mark(job.id));
        let _ = fs::remove_dir_all(&job.directory);
        drop(job);
    }

    /// Lists every job by id, including one whose record was removed while its keeper lives. A missing directory has
    /// none.
    pub fn list(&self) -> Result<Vec<JobRecord>, ListJobsError> {
        // A job that was removed meanwhile, or belongs to another user, is not on the list.
        Ok(self.ids_and_marks()?.into_iter().filter_map(|id| self.read(id)).collect())
    }

    /// Ids of all directories and marks, in order.
    pub(super) fn ids_and_marks(&self) -> Result<Vec<u64>, ListJobsError> {
        let failed = |source| ListJobsError { path: self.directory().to_path_buf(), source };
        let mut ids = self.numbers.taken().map_err(failed)?;
        ids.extend(numbers_in(&self.live()).map_err(failed)?);
        ids.sort_unstable();
        ids.dedup();
        Ok(ids)
    }

    /// Lists every job of which some process runs, by id. The cost does not depend on the number of ended jobs.
    pub fn list_live(&self) -> Result<Vec<JobRecord>, ListJobsError> {
        let marks = numbers_in(&self.live()).map_err(|source| ListJobsError { path: self.live(), source })?;
        Ok(marks.into_iter().filter_map(|id| self.read(id)).filter(JobRecord::is_live).collect())
    }

    /// Reads one job by its id.
    pub fn get(&self, id: u64) -> Result<JobRecord, GetJobError> {
        if let Some(job) = self.read(id) {
            return Ok(job);
        }
        let unreadable = |source| GetJobError::Unreadable { id, path: self.path(id), source };
        match plain::read(&self.path(id).join(JOB)) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                if self.numbers.was_given_out(id).map_err(unreadable)? {
                    Err(GetJobError::Removed { id })
                } else {
                    Err(GetJobError::Never { id })
                }
            }
            Err(error) => Err(unreadable(error)),
            Ok(_) => Err(unreadable(io::Error::other("its record cannot be parsed"))),
        }
    }

    /// Removes record and output of a job, unless some process of it still runs.
    pub fn remove(&self, id: u64) -> Result<(), RemoveJobError> {
        let path = self.path(id);
        match self.get(id) {
            // An unreadable record without a keeper is of no use.
            Err(GetJobError::Unreadable { .. }) if !self.lives(id) && path.exists() => {}
            Err(error) => return Err(error.into()),
            Ok(job) if job.is_live() => return Err(RemoveJobError::Live { id }),
            Ok(job) => {
                if let Some(BeforeRemoval(tell)) = &self.before_removal {
                    tell(&job);
                }
            }
        }
        let gone = self.directory().join(format!(".gone-{id}"));
        // Renamed first, so that nobody sees half of a job.
        let removed = fs::rename(&path, &gone).and_then(|()| fs::remove_dir_all(gone));
        let _ = fs::remove_file(self.mark(id));
        removed.map_err(|source| match source.kind() {
            // Another program was quicker.
            io::ErrorKind::NotFound => GetJobError::Removed { id }.into(),
            _ => RemoveJobError::Io { path, source },
        })
    }

    /// The file with the lines that were sent to a job which runs them.
    pub(crate) fn typed_file(&self, id: u64) -> PathBuf {
        self.path(id).join("typed")
    }

    pub(super) fn path(&self, id: u64) -> PathBuf {
        self.directory().join(id.to_string())
    }

    /// Path of a job's directory until it is complete.
    fn draft(&self, id: u64) -> PathBuf {
        self.directory().join(format!(".new-{id}"))
    }

    pub(super) fn live(&self) -> PathBuf {
        self.directory().join(protocol::LIVE)
    }

    pub(super) fn mark(&self, id: u64) -> PathBuf {
        self.live().join(id.to_string())
    }

    /// True if a keeper holds the lock of the job.
    pub(super) fn lives(&self, id: u64) -> bool {
        let Ok(mark) = plain::open(&self.mark(id)) else { return false };
        // A shared lock, so that two readers do not mistake each other for a keeper.
        flock(&mark, FlockOperation::NonBlockingLockShared) == Err(Errno::WOULDBLOCK)
    }

    /// The keeper of a job, by the process id in its mark; none if it has ended.
    pub(crate) fn keeper(&self, id: u64) -> Option<Process> {
        let mark = plain::read_to_string(&self.mark(id)).ok()?;
        let (pid, began) = mark.trim_end().split_once(' ')?;
        let keeper = Process::read(Pid::from_raw(pid.parse().ok()?)?)?;
        (began.parse() == Ok(keeper.began) && self.lives(id)).then_some(keeper)
    }

    pub(super) fn read(&self, id: u64) -> Option<JobRecord> {
        let path = self.path(id);
        let mut job = record::read_job(&path.join(JOB));
        if job.is_none() && !path.exists() {
            if self.draft(id).exists() {
                // Another program is creating it.
                return None;
            }
            // It may have been created just now; otherwise another program has removed it.
            job = record::read_job(&path.join(JOB));
        }
        let status = || record::read_status(&path.join(protocol::STATUS));
        let mut now = status();
        let over = record::says_ended(now.as_ref());
        let lives = !over && self.lives(id);
        if job.is_none() && !lives && !over {
            return None;
        }
        // A job with a live keeper, or with a recorded end, is listed even without `job.json`.
        let mark = || self.mark(id).metadata().and_then(|facts| facts.modified()).ok();
        let job = match job {
            Some(Versioned::Known(job)) => job,
            Some(Versioned::Newer(_)) => JobFile::stand_in(&path, mark(), record::NEWER),
            None => JobFile::stand_in(&path, mark(), record::DAMAGED),
        };
        if !over && !lives {
            // The job may have ended between the two checks: a keeper writes first, and then releases the lock.
            now = status();
            if !record::says_ended(now.as_ref()) && !path.join(JOB).exists() {
                // Or it was removed as a whole.
                return None;
            }
        }
        Some(record::combine(id, &path, job, now.as_ref(), lives))
    }
}

/// Gaps and loss of a job.
impl JobRecord {
    /// Byte ranges missing from the output file, in order.
    pub fn missing(&self) -> Vec<gaps::Gap> {
        gaps::load(&self.output_file)
    }

    /// True if the job was lost: nobody knows how it ended.
    pub fn is_lost(&self) -> bool {
        self.state == JobState::Lost
    }
}

fn unix_ms() -> u64 {
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    u64::try_from(now.as_millis()).unwrap_or(u64::MAX)
}
