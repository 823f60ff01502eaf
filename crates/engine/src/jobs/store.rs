//! The directory of jobs: making, listing, removing, sweeping.

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

/// `job.json`.
const JOB: &str = "job.json";

/// How many jobs there may be, and how long they are remembered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct JobLimits {
    /// So many live at once. Processes that were left behind are counted, but never refused: they are there already.
    pub live: usize,
    /// So many are remembered after their end.
    pub kept: usize,
    /// They are remembered for so long after their end.
    pub age: Duration,
    /// Of the output of one, so much is kept. Beyond it, its first half and its newest part; at least 64 KiB.
    pub output: ByteSize,
}

impl Default for JobLimits {
    /// A hundred servers are more than anybody meant to start; nobody comes back to a job of last week.
    fn default() -> Self {
        Self { live: 100, kept: 500, age: Duration::from_hours(7 * 24), output: ByteSize::mib(1024) }
    }
}

/// Why a command did not become a job.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum CreateJobError {
    /// There are enough of them.
    #[error(transparent)]
    TooMany(#[from] TooManyJobs),
    /// It cannot be written down.
    #[error("cannot make the record of a job in {}", path.display())]
    Io {
        /// The directory.
        path: PathBuf,
        /// Why not.
        source: io::Error,
    },
}

/// There are as many jobs as there may be.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error(
    "Background job limit reached ({limit}). Wait for running jobs to finish or cancel one. Running: {}",
    describe(jobs)
)]
pub struct TooManyJobs {
    /// How many there may be.
    pub limit: usize,
    /// Those that live.
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

/// Why nobody can say which jobs there are.
#[derive(Debug, Error)]
#[error("cannot list the jobs in {}", path.display())]
pub struct ListJobsError {
    /// The directory.
    pub path: PathBuf,
    /// Why not.
    pub source: io::Error,
}

/// Why there is no such job.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum GetJobError {
    /// Its number has not been given out yet.
    #[error("there has never been a job {id}")]
    Never {
        /// The number.
        id: u64,
    },
    /// It was swept after its end, or removed by hand.
    #[error("job {id} has ended, and its record was removed")]
    Removed {
        /// The number.
        id: u64,
    },
    /// It is there, but cannot be looked at.
    #[error("cannot look at job {id} ({})", path.display())]
    Unreadable {
        /// The number.
        id: u64,
        /// Its directory.
        path: PathBuf,
        /// Why not.
        source: io::Error,
    },
}

/// Why a job was not removed.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum RemoveJobError {
    /// Something of it still runs.
    #[error("job {id} is still running; stop it first")]
    Live {
        /// The number.
        id: u64,
    },
    /// There is none.
    #[error(transparent)]
    Get(#[from] GetJobError),
    /// The system did not let us.
    #[error("cannot remove {}", path.display())]
    Io {
        /// Its directory.
        path: PathBuf,
        /// Why not.
        source: io::Error,
    },
}

/// A directory of jobs.
#[derive(Debug, Clone)]
pub struct JobStore {
    pub(super) numbers: IdCounter,
    pub(super) limits: JobLimits,
    before_removal: Option<BeforeRemoval>,
}

/// Is told of every job that is about to be removed.
#[derive(Clone)]
struct BeforeRemoval(Arc<dyn Fn(&JobRecord) + Send + Sync>);

impl std::fmt::Debug for BeforeRemoval {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.write_str("BeforeRemoval")
    }
}

/// What is written down when a command becomes a job.
pub(crate) struct NewJobRecord<'a> {
    pub(crate) kind: JobKind,
    pub(crate) script: Redacted,
    pub(crate) directory: Redacted,
    pub(crate) owner: Option<&'a str>,
    pub(crate) lifetime: Lifetime,
    /// Where its output is, if it is somewhere already.
    pub(crate) output: Option<PathBuf>,
    /// Where its standard error is, if that is taken apart.
    pub(crate) stderr: Option<StderrFile>,
    pub(crate) input: bool,
}

/// Whether a job is refused where there are enough.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Room {
    /// It is.
    Limited,
    /// It is there already.
    Taken,
}

/// A job that has been written down and not begun. Dropping it leaves a record that nobody watches over: lost.
#[derive(Debug)]
pub struct NewJob {
    pub(crate) id: u64,
    pub(crate) directory: PathBuf,
    /// Locked; as long as this or a copy of it is open, the job lives.
    pub(crate) alive: File,
    pub(crate) at_most: u64,
}

impl NewJob {
    /// What its keeper has to know.
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

    /// A file in its directory, open for appending.
    pub(crate) fn file(&self, name: &str) -> io::Result<File> {
        plain::open_with(File::options().read(true).append(true).create(true), &self.directory.join(name))
    }

    /// The reading end of its standard input.
    pub(crate) fn input(&self) -> io::Result<File> {
        // Otherwise this would wait for somebody who writes.
        let flags = (OFlags::NONBLOCK | OFlags::NOFOLLOW).bits().cast_signed();
        let input = File::options().read(true).custom_flags(flags).open(self.directory.join(protocol::INPUT))?;
        // But those who read are to wait.
        rustix::fs::fcntl_setfl(&input, rustix::fs::fcntl_getfl(&input)? - OFlags::NONBLOCK)?;
        Ok(input)
    }
}

impl JobStore {
    /// A store in this directory. Nothing is touched before it is used.
    pub fn new(directory: PathBuf, limits: JobLimits) -> Self {
        Self { numbers: IdCounter::new(directory), limits, before_removal: None }
    }

    /// Calls `tell` with each job right before this store removes it, by a sweep or by [`remove`](Self::remove): the last moment
    /// to note how it ended.
    #[must_use]
    pub fn before_removal(mut self, tell: impl Fn(&JobRecord) + Send + Sync + 'static) -> Self {
        self.before_removal = Some(BeforeRemoval(Arc::new(tell)));
        self
    }

    /// Its directory, which need not be there yet.
    pub fn directory(&self) -> &Path {
        self.numbers.directory()
    }

    /// Makes its directory, if it is not there.
    pub(crate) fn make(&self) -> io::Result<&Path> {
        self.numbers.make().map(|()| self.directory())
    }

    /// The numbers of all jobs, in order; none if they cannot be listed. No record is read for it.
    pub fn ids(&self) -> Vec<u64> {
        self.ids_and_marks().unwrap_or_default()
    }

    /// How many jobs there may be, and for how long.
    pub fn limits(&self) -> JobLimits {
        self.limits
    }

    /// Writes down a new job, in a directory that is made if need be.
    pub(crate) fn create(&self, asked: NewJobRecord<'_>, room: Room) -> Result<NewJob, CreateJobError> {
        let failed = |source| CreateJobError::Io { path: self.directory().to_path_buf(), source };
        self.numbers.make().map_err(failed)?;
        crate::make_directory(&self.live()).map_err(failed)?;
        let lock = self.numbers.lock().map_err(failed)?;
        if room == Room::Limited {
            self.make_sure_of_room()?;
        }
        let id = self.numbers.give_out(&lock, 1).map_err(failed)?;
        self.write_down(id, asked).map_err(failed)
    }

    fn make_sure_of_room(&self) -> Result<(), CreateJobError> {
        let marks = numbers_in(&self.live()).map_err(|source| CreateJobError::Io { path: self.live(), source })?;
        if marks.len() < self.limits.live {
            return Ok(());
        }
        // Some of them may be of keepers that were killed.
        // One whose record was removed is counted too.
        let live = marks.into_iter().filter(|id| self.lives(*id)).map(|id| self.look(id));
        let live: Vec<_> = live.filter(|job| job.as_ref().is_none_or(JobRecord::is_live)).collect();
        if live.len() < self.limits.live {
            return Ok(());
        }
        let jobs = live.into_iter().flatten().collect();
        Err(TooManyJobs { limit: self.limits.live, jobs }.into())
    }

    /// Under a name that nobody looks for, until it is whole.
    fn write_down(&self, id: u64, asked: NewJobRecord<'_>) -> io::Result<NewJob> {
        let directory = self.path(id);
        let draft = self.draft(id);
        DirBuilder::new().mode(0o700).create(&draft)?;
        // Whatever the umask.
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
            lifetime_ms: u64::try_from(asked.lifetime.0.as_millis()).unwrap_or(u64::MAX),
            created_unix_ms: unix_ms(),
        };
        let mut file = plain::create(&draft.join(JOB))?;
        // A path that is not text cannot be written as JSON.
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

    /// Takes back a job that came to nothing.
    pub(crate) fn discard(&self, job: NewJob) {
        // The mark first: a job that is marked as living and has no directory would be listed as damaged.
        let _ = fs::remove_file(self.mark(job.id));
        let _ = fs::remove_dir_all(&job.directory);
        drop(job);
    }

    /// Every job, by id, also one whose record was removed while its keeper lives. A directory that is not there holds none.
    pub fn list(&self) -> Result<Vec<JobRecord>, ListJobsError> {
        // One that was removed meanwhile, or is not ours, is simply not on the list.
        Ok(self.ids_and_marks()?.into_iter().filter_map(|id| self.look(id)).collect())
    }

    /// The numbers of all directories and marks, in order.
    pub(super) fn ids_and_marks(&self) -> Result<Vec<u64>, ListJobsError> {
        let failed = |source| ListJobsError { path: self.directory().to_path_buf(), source };
        let mut ids = self.numbers.taken().map_err(failed)?;
        ids.extend(numbers_in(&self.live()).map_err(failed)?);
        ids.sort_unstable();
        ids.dedup();
        Ok(ids)
    }

    /// Every job of which something still runs, by id. Costs nothing for those that have ended, however many there are.
    pub fn list_live(&self) -> Result<Vec<JobRecord>, ListJobsError> {
        let marks = numbers_in(&self.live()).map_err(|source| ListJobsError { path: self.live(), source })?;
        Ok(marks.into_iter().filter_map(|id| self.look(id)).filter(JobRecord::is_live).collect())
    }

    /// One job.
    pub fn get(&self, id: u64) -> Result<JobRecord, GetJobError> {
        if let Some(job) = self.look(id) {
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
            Ok(_) => Err(unreadable(io::Error::other("its record makes no sense"))),
        }
    }

    /// Removes the record and the output of one, unless something of it still runs.
    pub fn remove(&self, id: u64) -> Result<(), RemoveJobError> {
        let path = self.path(id);
        match self.get(id) {
            // What makes no sense, and nobody watches over, is of no use.
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
        // Renamed first, so that nobody sees half of it.
        let removed = fs::rename(&path, &gone).and_then(|()| fs::remove_dir_all(gone));
        let _ = fs::remove_file(self.mark(id));
        removed.map_err(|source| match source.kind() {
            // Somebody else was quicker.
            io::ErrorKind::NotFound => GetJobError::Removed { id }.into(),
            _ => RemoveJobError::Io { path, source },
        })
    }

    pub(super) fn path(&self, id: u64) -> PathBuf {
        self.directory().join(id.to_string())
    }

    /// Where its directory is until it is whole.
    fn draft(&self, id: u64) -> PathBuf {
        self.directory().join(format!(".new-{id}"))
    }

    pub(super) fn live(&self) -> PathBuf {
        self.directory().join(protocol::LIVE)
    }

    pub(super) fn mark(&self, id: u64) -> PathBuf {
        self.live().join(id.to_string())
    }

    /// Whether somebody watches over it.
    pub(super) fn lives(&self, id: u64) -> bool {
        let Ok(mark) = plain::open(&self.mark(id)) else { return false };
        // Shared, so that two who look at once do not take each other for its keeper.
        flock(&mark, FlockOperation::NonBlockingLockShared) == Err(Errno::WOULDBLOCK)
    }

    /// The keeper of a job, by what it has written into its mark. None if it has ended.
    pub(super) fn keeper(&self, id: u64) -> Option<Process> {
        let mark = plain::read_to_string(&self.mark(id)).ok()?;
        let (pid, began) = mark.trim_end().split_once(' ')?;
        let keeper = Process::read(Pid::from_raw(pid.parse().ok()?)?)?;
        (began.parse() == Ok(keeper.began) && self.lives(id)).then_some(keeper)
    }

    pub(super) fn look(&self, id: u64) -> Option<JobRecord> {
        let path = self.path(id);
        let mut job = record::read_job(&path.join(JOB));
        if job.is_none() && !path.exists() {
            if self.draft(id).exists() {
                // It is being made.
                return None;
            }
            // Unless it has just been made, somebody has removed it.
            job = record::read_job(&path.join(JOB));
        }
        let status = || record::read_status(&path.join(protocol::STATUS));
        let mut now = status();
        let over = record::says_ended(now.as_ref());
        let lives = !over && self.lives(id);
        if job.is_none() && !lives && !over {
            return None;
        }
        // A keeper that lives, and one that has said how it ended, need no record to be believed.
        let mark = || self.mark(id).metadata().and_then(|facts| facts.modified()).ok();
        let job = match job {
            Some(Versioned::Known(job)) => job,
            Some(Versioned::Newer(_)) => JobFile::stand_in(&path, mark(), record::NEWER),
            None => JobFile::stand_in(&path, mark(), record::DAMAGED),
        };
        if !over && !lives {
            // It may have ended between the two looks: a keeper writes first and then lets go.
            now = status();
            if !record::says_ended(now.as_ref()) && !path.join(JOB).exists() {
                // Or it was removed, as a whole.
                return None;
            }
        }
        Some(record::assemble(id, &path, job, now.as_ref(), lives))
    }
}

/// What is missing of a job's output.
impl JobRecord {
    /// What is not in its output file any more, in order.
    pub fn missing(&self) -> Vec<gaps::Gap> {
        gaps::load(&self.output_file)
    }

    /// Whether it was lost: nobody knows how it ended.
    pub fn is_lost(&self) -> bool {
        self.state == JobState::Lost
    }
}

fn unix_ms() -> u64 {
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    u64::try_from(now.as_millis()).unwrap_or(u64::MAX)
}
