//! What is known of a job.

use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use bashful_keeper::protocol::{INPUT, Leftover, OUTPUT, RecordKind};
use bashful_keeper::{End, Exit, STATUS_VERSION, StopReason};
use bashful_sys::boot_time;
use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::versioned::{Stamp, Versioned};

/// A job, as it was a moment ago.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JobRecord {
    /// Its number, never used for another.
    pub id: u64,
    /// What made it a job.
    pub kind: JobKind,
    /// What bash was to do; bytes that are not text are replaced.
    pub script: String,
    /// Where.
    pub directory: PathBuf,
    /// The caller that started it, if it gave itself a name: see [`Plan::owner`](crate::Plan::owner).
    pub owner: Option<String>,
    /// How far it has come.
    pub state: JobState,
    /// The shell's process id, which is that of its group too. None if nobody has written it down.
    pub pid: Option<i32>,
    /// Everything that it wrote, raw.
    pub output_file: PathBuf,
    /// What it wrote to standard error, if the streams are taken apart.
    pub stderr_file: Option<PathBuf>,
    /// Whether something can be sent to it.
    pub takes_input: bool,
    /// How long it may run.
    pub lifetime: Duration,
    /// When it began.
    pub began: SystemTime,
    /// How long it has been running, or did run. Nobody who sets the clock changes this.
    pub elapsed: Duration,
    /// When it ended, if it has.
    pub ended: Option<SystemTime>,
    /// The newest protocol version that its keeper speaks; 0 for a keeper of bashful 0.1.
    pub protocol: u32,
}

/// What made a command a job.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum JobKind {
    /// It was started as one.
    Background,
    /// It took longer than its caller wanted to wait.
    Outlasted,
    /// Its shell has ended and left processes running.
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

/// How far a job has come.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum JobState {
    /// Its shell runs.
    Running,
    /// Its shell has ended like this, and some of its processes still run.
    Left {
        /// How the shell ended.
        end: End,
        /// What still ran when that was last looked at, or the first few of it.
        processes: Vec<Leftover>,
        /// How many there were.
        count: usize,
    },
    /// Nothing of it runs any more.
    Ended(End),
    /// Nobody watches over it any more, and nobody has written down how it ended.
    Lost,
    /// Only a newer version of bashful can read how far it has come.
    Newer {
        /// The version of the record.
        version: u32,
        /// True if its keeper lives.
        lives: bool,
    },
}

impl JobRecord {
    /// How it ended, if it has.
    pub fn end(&self) -> Option<End> {
        match self.state {
            JobState::Running | JobState::Newer { .. } => None,
            JobState::Left { end, .. } | JobState::Ended(end) => Some(end),
            JobState::Lost => Some(End::Lost),
        }
    }

    /// Whether something of it still runs.
    pub fn is_live(&self) -> bool {
        matches!(self.state, JobState::Running | JobState::Left { .. } | JobState::Newer { lives: true, .. })
    }

    /// Whether that has come for which one waits: the end of its shell, or of what a shell that had ended has left.
    pub fn is_over(&self) -> bool {
        match self.state {
            JobState::Running => false,
            JobState::Left { .. } => self.kind != JobKind::Leftover,
            JobState::Ended(_) | JobState::Lost => true,
            JobState::Newer { lives, .. } => !lives,
        }
    }

    /// True if only a newer version of bashful can read how far it has come.
    pub fn is_newer(&self) -> bool {
        matches!(self.state, JobState::Newer { .. })
    }

    /// `job://7`.
    pub fn uri(&self) -> String {
        format!("job://{}", self.id)
    }
}

/// The text is not the name of a job.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{given:?} is not a job: give a number as in `7`, `bg_7` or `job://7`")]
pub struct NotAJob {
    given: String,
}

/// The id in `7`, `bg_7`, `job://7` or `job://bg_7`.
pub fn job_id(text: &str) -> Result<u64, NotAJob> {
    let name = text.strip_prefix("job://").unwrap_or(text);
    let number = name.strip_prefix("bg_").unwrap_or(name);
    crate::id_counter::number(number).ok_or_else(|| NotAJob { given: text.to_owned() })
}

/// The version of `job.json`.
pub(super) const JOB_VERSION: u32 = 1;

/// `job.json`. That of bashful 0.1 has no version, and reads the same.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct JobFile {
    #[serde(default)]
    pub(super) version: u32,
    pub(super) kind: JobKind,
    pub(super) script: String,
    pub(super) cwd: String,
    #[serde(default)]
    pub(super) owner: Option<String>,
    /// Where its output is, if not in its own directory.
    pub(super) output: Option<PathBuf>,
    pub(super) stderr: Option<StderrFile>,
    pub(super) input: bool,
    pub(super) lifetime_ms: u64,
    pub(super) created_unix_ms: u64,
}

impl JobFile {
    /// Stands in for a file that is damaged or gone, or that a newer version has written. The output is looked for in the job's
    /// own directory.
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
            lifetime_ms: 0,
            created_unix_ms: u64::try_from(created.as_millis()).unwrap_or(0),
        }
    }
}

/// Shown in place of a script that nobody can read any more.
pub(super) const DAMAGED: &str = "[the record of this job is damaged]";

/// Shown in place of a script that a newer version has written down.
pub(super) const NEWER: &str = "[written by a newer bashful]";

/// Where standard error is that is taken apart.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum StderrFile {
    /// In the job's own directory.
    Own,
    /// Here.
    At(PathBuf),
}

/// What standard error is called in the job's own directory.
pub(crate) const STDERR: &str = "stderr";

/// `status.json`, as a keeper writes it. That of bashful 0.1 has neither version nor protocol, and reads the same.
#[derive(Debug, Deserialize)]
pub(super) struct StatusFile {
    #[serde(default)]
    protocol: u32,
    state: Word,
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
    left: Vec<LeftFile>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Word {
    Running,
    Left,
    Ended,
}

#[derive(Debug, Deserialize)]
struct LeftFile {
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

/// Puts together what is written down.
pub(super) fn assemble(
    id: u64,
    path: &Path,
    job: JobFile,
    status: Option<&Versioned<StatusFile>>,
    lives: bool,
) -> JobRecord {
    let created = at(job.created_unix_ms);
    let (status, newer) = match status {
        Some(Versioned::Known(status)) => (Some(status), None),
        Some(Versioned::Newer(stamp)) => (None, Some(stamp)),
        None => (None, None),
    };
    let state = match status {
        _ if let Some(Stamp { version, .. }) = newer => JobState::Newer { version: *version, lives },
        Some(status) if status.state == Word::Ended => JobState::Ended(status.end()),
        Some(status) if lives && status.state == Word::Left => {
            let leftover = |left: &LeftFile| Leftover { pid: left.pid, command: left.command.clone() };
            JobState::Left {
                end: status.end(),
                processes: status.left.iter().map(leftover).collect(),
                count: status.left_count.unwrap_or(status.left.len()),
            }
        }
        Some(_) | None if lives => JobState::Running,
        Some(_) | None => JobState::Lost,
    };
    // What a command has left behind is still under way, though its shell has ended.
    let under_way = lives && (state == JobState::Running || job.kind == JobKind::Leftover);
    let elapsed = match status {
        None => Duration::ZERO,
        Some(status) => match status.elapsed_ms {
            Some(elapsed) if !under_way => Duration::from_millis(elapsed),
            _ if lives => boot_time().saturating_sub(Duration::from_millis(status.began_boot_ms)),
            // When it was lost, nobody looked at the clock.
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
        lifetime: Duration::from_millis(job.lifetime_ms),
        began: status.map_or(created, |status| at(status.began_unix_ms)),
        elapsed,
        ended: status.filter(|_| !under_way).and_then(|status| status.ended_unix_ms).map(at),
        protocol: newer.map(|stamp| stamp.protocol).or(status.map(|status| status.protocol)).unwrap_or(0),
    }
}

/// Reads `job.json`; none if it is not there, or not whole.
pub(super) fn read_job(path: &Path) -> Option<Versioned<JobFile>> {
    Versioned::read(&bashful_sys::plain::read(path).ok()?, JOB_VERSION)
}

/// Reads `status.json`; none if it is not there, or not whole.
pub(super) fn read_status(path: &Path) -> Option<Versioned<StatusFile>> {
    Versioned::read(&bashful_sys::plain::read(path).ok()?, STATUS_VERSION)
}

/// The newest protocol version that the keeper speaks who writes this `status.json`; 0 if that is not known.
pub(super) fn read_protocol(path: &Path) -> u32 {
    let read = || Versioned::<Stamp>::read(&bashful_sys::plain::read(path).ok()?, u32::MAX);
    match read() {
        Some(Versioned::Known(stamp) | Versioned::Newer(stamp)) => stamp.protocol,
        None => 0,
    }
}

/// True if a status says that nothing of the job runs any more.
pub(super) fn says_ended(status: Option<&Versioned<StatusFile>>) -> bool {
    matches!(status, Some(Versioned::Known(status)) if status.state == Word::Ended)
}

fn at(unix_ms: u64) -> SystemTime {
    SystemTime::UNIX_EPOCH.checked_add(Duration::from_millis(unix_ms)).unwrap_or(SystemTime::UNIX_EPOCH)
}
