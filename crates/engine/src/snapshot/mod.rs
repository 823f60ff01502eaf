//! Snapshots of the user's rc files: the aliases, functions, options and exported variables that they define.
//!
//! An interactive shell in a terminal of its own reads the files once, because most of them return at once otherwise
//! ([`capture`]). The result is filtered ([`filter`]), tried, and written to a file that shells source ([`mod@file`],
//! [`store`]). Variables are not in that file: they join those of the host before anything else, so that the settings
//! and the caller win over them, and secrets are withheld.
//!
//! Best effort: after a failure, commands run without a snapshot, one caller is told, and there is no new attempt for a
//! while.
//!
//! Invariant: no command of the rc files runs with a command. The file has only definitions, which cost no process.

mod cache;
mod capture;
mod file;
mod filter;
mod mentions;
mod parse;
mod rc_files;
mod store;

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use thiserror::Error;

use crate::engine::Engine;
use crate::environment::{Environment, Withheld};

pub(crate) use cache::{Current, Snapshots};

use file::Header;
use mentions::Definitions;
use rc_files::FilesStamp;

/// Options for snapshots of the user's rc files.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SnapshotOptions {
    /// Directory of the snapshots. Created if needed; nobody else may write there.
    pub directory: PathBuf,
    /// Time limit for the rc files.
    pub limit: Duration,
    /// True if commands get a snapshot.
    pub enabled: bool,
}

/// A snapshot of the rc files.
#[derive(Debug)]
pub struct Snapshot {
    path: PathBuf,
    bytes: u64,
    header: Header,
    definitions: Definitions,
    /// The file's state, so that a later change is noticed.
    stamp: Option<FilesStamp>,
    /// Variables that the rc files set and that are withheld, as far as they are known. They are not in the file.
    withheld: Vec<Withheld>,
}

impl Snapshot {
    /// File that a shell sources once, before anything else. It defines functions and aliases and sets options; it runs
    /// nothing else, and prints nothing. The variables are in the plan's environment already.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Length of the file, in bytes.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Time of the capture.
    pub fn captured(&self) -> SystemTime {
        SystemTime::UNIX_EPOCH + Duration::from_secs(self.header.captured)
    }

    /// Time that the rc files took.
    pub fn took(&self) -> Duration {
        Duration::from_micros(self.header.took_us)
    }

    /// Names of the aliases.
    pub fn aliases(&self) -> &[String] {
        &self.header.aliases
    }

    /// Names of the functions.
    pub fn functions(&self) -> &[String] {
        &self.header.functions
    }

    /// Shell options that the snapshot turns on.
    pub fn options(&self) -> &[String] {
        &self.header.options
    }

    /// Names of the exported variables that the rc files set or remove.
    pub fn variables(&self) -> Vec<String> {
        self.header.set.keys().chain(&self.header.removed).cloned().collect()
    }

    /// Definitions of the rc files that commands do not get, each with its kind before it.
    pub fn left_out(&self) -> &[String] {
        &self.header.left_out
    }

    /// The definitions that a script may use, as lines before it; none if it mentions none.
    pub(crate) fn used_by(&self, script: &str) -> Option<String> {
        self.definitions.mentioned_in(script)
    }

    /// A snapshot that is only tried.
    fn draft(path: &Path) -> Self {
        Self {
            path: path.to_path_buf(),
            bytes: 0,
            header: Header::default(),
            definitions: Definitions::default(),
            stamp: None,
            withheld: Vec::new(),
        }
    }

    /// Adds the withheld variables that the rc files have set.
    fn with_withheld(self, withheld: Vec<Withheld>) -> Self {
        Self { withheld, ..self }
    }

    /// The host's variables as the rc files leave them, including withheld ones: both values of one, if they differ.
    fn over(&self, host: &[(OsString, OsString)]) -> Vec<(OsString, OsString)> {
        let set = self.header.variables();
        let is_kept = |name: &OsString| {
            !set.contains_key(name) && !self.header.removed.iter().any(|removed| name == removed.as_str())
        };
        let kept: Vec<_> = host.iter().filter(|(name, _)| is_kept(name)).cloned().collect();
        let is_new = |pair: &(OsString, OsString)| !host.contains(pair);
        let withheld = self.withheld.iter().map(|secret| (secret.name.clone(), secret.value().to_owned()));
        kept.into_iter().chain(set).chain(withheld.filter(is_new)).collect()
    }
}

/// Equal if file and content are the same, so that a waiting shell has sourced the right one.
impl PartialEq for Snapshot {
    fn eq(&self, other: &Self) -> bool {
        self.path == other.path && self.header == other.header
    }
}

impl Eq for Snapshot {}

/// Reason why commands run without the definitions of the rc files.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum NoSnapshot {
    /// A file cannot be read.
    #[error("{} cannot be read ({why})", path.display())]
    Unreadable {
        /// Path of the file.
        path: PathBuf,
        /// Error of the system.
        why: String,
    },
    /// The rc files took too long.
    #[error("the rc files took longer than {} s; see `[shell] snapshot_seconds`", limit.as_secs_f64())]
    TooSlow {
        /// Time limit for them.
        limit: Duration,
    },
    /// The shell that read them ended too early.
    #[error("the shell that read the rc files ended too early: they call exit or exec")]
    Ended,
    /// The answer of the shell cannot be parsed.
    #[error("the shell that read the rc files gave no readable answer")]
    Garbled,
    /// The definitions are larger than any shell should source.
    #[error("the rc files define more than {LARGEST} bytes")]
    TooLarge,
    /// The captured definitions do not work in another shell.
    #[error("the rc files define something that cannot be captured: {what}")]
    NotFaithful {
        /// An example of such a definition.
        what: String,
    },
    /// Commands have a start-up file already.
    #[error("BASH_ENV is set, and that file is what commands start with")]
    BashEnv,
    /// Processes that the rc files start could escape.
    #[error("this backend has no keeper, which would stop processes that the rc files start")]
    NoKeeper,
    /// The shell could not be started, or the snapshot could not be written.
    #[error("{what} ({why})")]
    System {
        /// Step that failed.
        what: String,
        /// Error of the system.
        why: String,
    },
}

impl NoSnapshot {
    fn system(what: impl Into<String>, why: impl std::fmt::Display) -> Self {
        Self::System { what: what.into(), why: why.to_string() }
    }

    /// Notice for the reader of a reply.
    pub fn notice(&self) -> String {
        format!("your aliases and functions are not available: {self}")
    }
}

impl Engine {
    /// Makes sure that plans get the present rc files. [`start`](Self::start), [`run`](Self::run) and
    /// [`start_job`](Self::start_job) do so themselves.
    ///
    /// The first time, it waits for a shell to read the files, within the limit of the options; later only if they have
    /// changed. A dropped future stops that shell, and leaves everything unchanged.
    pub async fn refresh_snapshot(&self) {
        if let Some(snapshots) = &self.snapshots {
            snapshots.refresh(self).await;
        }
    }

    /// Reads the rc files again, whatever is known of them.
    pub async fn renew_snapshot(&self) {
        if let Some(snapshots) = &self.snapshots {
            snapshots.renew(self).await;
        }
    }

    /// Uses an earlier capture of the rc files, if it still holds. Runs nothing.
    pub fn recall_snapshot(&self) {
        if let Some(snapshots) = &self.snapshots {
            snapshots.recall(self);
        }
    }

    /// The reason why commands get no snapshot, for the first caller after a failure.
    pub fn why_no_snapshot(&self) -> Option<NoSnapshot> {
        self.snapshots.as_ref()?.unreported_failure()
    }

    /// The snapshot that commands get now.
    pub fn snapshot(&self) -> Option<Arc<Snapshot>> {
        Some(Arc::clone(&self.snapshots.as_ref()?.current()?.snapshot))
    }
}

/// Largest capture, in bytes. The largest sets of completions come to a tenth of it.
const LARGEST: u64 = 16 << 20;

/// Time for which a snapshot is used. Files that the rc files source may have changed unnoticed.
const USED_FOR: Duration = Duration::from_hours(24);

/// Grace of the shell that reads the rc files.
const GRACE: Duration = Duration::from_millis(100);

/// True if a snapshot is young enough. One from the future, after the clock was set back, is not.
fn is_young(captured: SystemTime, now: SystemTime) -> bool {
    now.duration_since(captured).is_ok_and(|age| age < USED_FOR)
}

/// Variables with which bash starts in its own way, or cannot source our file: such a command gets no snapshot.
const NOT_WITH: [&str; 8] = [
    "BASH_ENV",
    "POSIXLY_CORRECT",
    "SHELLOPTS",
    "BASHOPTS",
    "BASH_FUNC_.%%",
    "BASH_FUNC_:%%",
    "BASH_FUNC_builtin%%",
    "BASH_FUNC_unset%%",
];

/// True if a command with these variables can have a snapshot.
pub(crate) fn suits(environment: &Environment) -> bool {
    !NOT_WITH.iter().any(|name| environment.variables.contains_key(std::ffi::OsStr::new(name)))
}
