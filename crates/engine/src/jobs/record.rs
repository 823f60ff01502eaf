//! The record of a job, and its files on disk.

use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use bashful_keeper::protocol::{INPUT, Leftover, OUTPUT, RecordKind, SIZES};
use bashful_keeper::{End, Exit, STATUS_VERSION, StopReason};
use bashful_sys::boot_time;
use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::versioned::{Stamp, Versioned};

/// A job, as its record was a moment ago.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JobRecord {
    /// Id of the job, never used for another.
    pub id: u64,
    /// Reason why the command is a job.
    pub kind: JobKind,
    /// Script of the command; bytes that are not UTF-8 are replaced.
    pub script: String,
    /// Working directory, redacted.
    pub directory: PathBuf,
    /// Caller that started the job, if it gave an owner: see [`Plan::owner`](crate::Plan::owner).
    pub owner: Option<String>,
    /// Combined from the record and the lock of the keeper.
    pub state: JobState,
    /// Process id of the shell, which is also that of its process group. None if the record has none.
    pub pid: Option<i32>,
    /// File with the whole output, raw.
    pub output_file: PathBuf,
    /// File with stderr, if the streams are split.
    pub stderr_file: Option<PathBuf>,
    /// True if the job has an open standard input.
    pub takes_input: bool,
    /// True if it has a terminal: see [`JobStore::terminal`](crate::JobStore::terminal).
    pub has_terminal: bool,
    /// Time after which the job is stopped.
    pub lifetime: Duration,
    /// Start by the wall clock.
    pub began: SystemTime,
    /// Time that the job has run. Setting the clock does not change it.
    pub elapsed: Duration,
    /// End by the wall clock; none while it runs.
    pub ended: Option<SystemTime>,
    /// Newest protocol version that its keeper speaks; 0 for a keeper of bashful 0.1.
    pub protocol: u32,
}

/// Reason why a command is a job.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum JobKind {
    /// The command was started as a job.
    Background,
    /// The command took longer than its caller's patience.
    Outlasted,
    /// The shell has ended and left processes running.
    Leftover,
}

impl From<JobKind> for RecordKind {
    fn from(kind: JobKind) -> Self {
        match kind {
            JobKind::Background => Self::Background,
            JobKind::Outlasted => Self::Outlasted,
            JobKind::Leftover => Self::Leftover,
        }
    }
}

/// State of a job.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum JobState {
    /// The shell runs.
    Running,
    /// The shell has ended, and some processes of the job still run.
    Left {
        /// End of the shell.
        end: End,
        /// Processes that ran at the last update, or the first few of them.
        processes: Vec<Leftover>,
        /// Number of these processes.
        count: usize,
    },
    /// No process of the job is left.
    Ended(End),
    /// The keeper is gone, and nobody recorded the end.
    Lost,
    /// Only a newer version of bashful can read the state.
    Newer {
        /// Version of the record.
        version: u32,
        /// True if the keeper lives.
        lives: bool,
    },
}

impl JobRecord {
    /// The end; none while the shell runs.
    pub fn end(&self) -> Option<End> {
        match self.state {
            JobState::Running | JobState::Newer { .. } => None,
            JobState::Left { end, .. } | JobState::Ended(end) => Some(end),
            JobState::Lost => Some(End::Lost),
        }
    }

    /// True if some process of the job still runs.
    pub fn is_live(&self) -> bool {
        matches!(self.state, JobState::Running | JobState::Left { .. } | JobState::Newer { lives: true, .. })
    }

    /// True if the job has reached its end: that of its shell, or of the leftover processes that are the job.
    pub fn is_over(&self) -> bool {
        match self.state {
            JobState::Running => false,
            JobState::Left { .. } => self.kind != JobKind::Leftover,
            JobState::Ended(_) | JobState::Lost => true,
            JobState::Newer { lives, .. } => !lives,
        }
    }

    /// True if only a newer version of bashful can read the state.
    pub fn is_newer(&self) -> bool {
        matches!(self.state, JobState::Newer { .. })
    }

    /// URI of the job, such as `job://7`.
    pub fn uri(&self) -> String {
        format!("job://{}", self.id)
    }
}

/// Error: a text that names no job.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{given:?} is not a job: give a number as in `7`, `bg_7` or `job://7`")]
pub struct NotAJob {
    given: String,
}

/// Parses the id in `7`, `bg_7`, `job://7` or `job://bg_7`.
pub fn job_id(text: &str) -> Result<u64, NotAJob> {
    let name = text.strip_prefix("job://").unwrap_or(text);
    let number = name.strip_prefix("bg_").unwrap_or(name);
    crate::id_counter::number(number).ok_or_else(|| NotAJob { given: text.to_owned() })
}

/// Version of `job.json`.
pub(super) const JOB_VERSION: u32 = 1;

/// Contents of `job.json`. That of bashful 0.1 has no version, and reads the same.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct JobFile {
    #[serde(default)]
    pub(super) version: u32,
    pub(super) kind: JobKind,
    pub(super) script: String,
    pub(super) cwd: String,
    #[serde(default)]
    pub(super) owner: Option<String>,
    /// Path of the output; none if it is in the job's own directory.
    pub(super) output: Option<PathBuf>,
    pub(super) stderr: Option<StderrFile>,
    pub(super) input: bool,
    #[serde(default)]
    pub(super) terminal: bool,
    pub(super) lifetime_ms: u64,
    pub(super) created_unix_ms: u64,
}

impl JobFile {
    /// Replacement for a file that is damaged, missing, or of a newer version. The output is expected in the job's own
    /// directory.
    pub(super) fn stand_in(path: &Path, created: Option<SystemTime>, script: &str) -> Self {
        let created = created.and_then(|when| when.duration_since(SystemTime::UNIX_EPOCH).ok()).unwrap_or_default();
        Self {
            version: JOB_VERSION,
            kind: JobKind::Background,
            script: script.to_owned(),
            cwd: String::new(),
            owner: None,
            output: None,
            stderr: path.join(STDERR).exists().then_some(StderrFile::Own),
            input: path.join(INPUT).exists(),
            terminal: path.join(SIZES).exists(),
            lifetime_ms: 0,
            created_unix_ms: u64::try_from(created.as_millis()).unwrap_or(0),
        }
    }
}

/// Shown in place of a script that cannot be read any more.
pub(super) const DAMAGED: &str = "[the record of this job is damaged]";

/// Shown in place of a script from a newer version.
pub(super) const NEWER: &str = "[written by a newer bashful]";

/// Place of a separate stderr.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum StderrFile {
    /// In the job's own directory.
    Own,
    /// At this path.
    At(PathBuf),
}

/// File name of stderr in the job's own directory.
pub(crate) const STDERR: &str = "stderr";

/// Contents of `status.json`, as a keeper writes it. That of bashful 0.1 has neither version nor protocol, and reads
/// the same.
#[derive(Debug, Deserialize)]
pub(super) struct StatusFile {
    #[serde(default)]
    protocol: u32,
    state: StatusWord,
    pid: Option<i32>,
    began_unix_ms: u64,
    began_boot_ms: u64,
    ended_unix_ms: Option<u64>,
    elapsed_ms: Option<u64>,
    exit_code: Option<u8>,
    signal: Option<u8>,
    stopped: Option<u8>,
    left_count: Option<usize>,
    #[serde(default)]
    left: Vec<LeftoverFile>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
enum StatusWord {
    Running,
    Left,
    Ended,
}

#[derive(Debug, Deserialize)]
struct LeftoverFile {
    pid: i32,
    command: String,
}

impl StatusFile {
    fn end(&self) -> End {
        let exit = match (self.exit_code, self.signal) {
            (Some(code), _) => Exit::Code(code),
            (None, Some(number)) => Exit::Signal(number),
            (None, None) => return End::Lost,
        };
        match self.stopped.and_then(StopReason::from_number) {
            Some(why) => End::Stopped { why, exit },
            None => End::Own(exit),
        }
    }
}

/// Combines the files of a job into its record.
pub(super) fn combine(
    id: u64,
    path: &Path,
    job: JobFile,
    status: Option<&Versioned<StatusFile>>,
    lives: bool,
) -> JobRecord {
    let created = unix_time(job.created_unix_ms);
    let (status, newer) = match status {
        Some(Versioned::Known(status)) => (Some(status), None),
        Some(Versioned::Newer(stamp)) => (None, Some(stamp)),
        None => (None, None),
    };
    let state = match status {
        _ if let Some(Stamp { version, .. }) = newer => JobState::Newer { version: *version, lives },
        Some(status) if status.state == StatusWord::Ended => JobState::Ended(status.end()),
        Some(status) if lives && status.state == StatusWord::Left => {
            let leftover = |left: &LeftoverFile| Leftover { pid: left.pid, command: left.command.clone() };
            JobState::Left {
                end: status.end(),
                processes: status.left.iter().map(leftover).collect(),
                count: status.left_count.unwrap_or(status.left.len()),
            }
        }
        Some(_) | None if lives => JobState::Running,
        Some(_) | None => JobState::Lost,
    };
    // Leftover processes that are a job still run, though their shell has ended.
    let under_way = lives && (state == JobState::Running || job.kind == JobKind::Leftover);
    let elapsed = match status {
        None => Duration::ZERO,
        Some(status) => match status.elapsed_ms {
            Some(elapsed) if !under_way => Duration::from_millis(elapsed),
            _ if lives => boot_time().saturating_sub(Duration::from_millis(status.began_boot_ms)),
            // The time of a lost job is unknown.
            _ => Duration::ZERO,
        },
    };
    JobRecord {
        id,
        kind: job.kind,
        script: job.script,
        directory: job.cwd.into(),
        owner: job.owner,
        state,
        pid: status.and_then(|status| status.pid),
        output_file: job.output.unwrap_or_else(|| path.join(OUTPUT)),
        stderr_file: job.stderr.map(|stderr| match stderr {
            StderrFile::Own => path.join(STDERR),
            StderrFile::At(path) => path,
        }),
        takes_input: job.input,
        has_terminal: job.terminal,
        lifetime: Duration::from_millis(job.lifetime_ms),
        began: status.map_or(created, |status| unix_time(status.began_unix_ms)),
        elapsed,
        ended: status.filter(|_| !under_way).and_then(|status| status.ended_unix_ms).map(unix_time),
        protocol: newer.map(|stamp| stamp.protocol).or(status.map(|status| status.protocol)).unwrap_or(0),
    }
}

/// Reads `job.json`; none if it is missing or incomplete.
pub(super) fn read_job(path: &Path) -> Option<Versioned<JobFile>> {
    Versioned::read(&bashful_sys::plain::read(path).ok()?, JOB_VERSION)
}

/// Reads `status.json`; none if it is missing or incomplete.
pub(super) fn read_status(path: &Path) -> Option<Versioned<StatusFile>> {
    Versioned::read(&bashful_sys::plain::read(path).ok()?, STATUS_VERSION)
}

/// Reads the newest protocol version of the keeper that writes this `status.json`; 0 if it is unknown.
pub(super) fn read_protocol(path: &Path) -> u32 {
    let read = || Versioned::<Stamp>::read(&bashful_sys::plain::read(path).ok()?, u32::MAX);
    match read() {
        Some(Versioned::Known(stamp) | Versioned::Newer(stamp)) => stamp.protocol,
        None => 0,
    }
}

/// True if the status says that no process of the job is left.
pub(super) fn says_ended(status: Option<&Versioned<StatusFile>>) -> bool {
    matches!(status, Some(Versioned::Known(status)) if status.state == StatusWord::Ended)
}

fn unix_time(unix_ms: u64) -> SystemTime {
    SystemTime::UNIX_EPOCH.checked_add(Duration::from_millis(unix_ms)).unwrap_or(SystemTime::UNIX_EPOCH)
}
