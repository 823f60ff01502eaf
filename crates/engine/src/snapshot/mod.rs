//! What the user's rc files would have made of a shell: aliases, functions, options and exported variables.
//!
//! The files are read once, by an interactive shell in a terminal of its own, because most of them return at once
//! otherwise ([`capture`]). What comes of it is looked through ([`filter`]), tried, and put into a file that shells source
//! ([`mod@file`], [`store`]). Variables are no part of that file: they join those of the host before anything else does, so
//! that the settings and the caller win over them, and secrets stay behind.
//!
//! Best effort: where it fails, commands run without it, somebody is told once, and it is not tried again for a while.
//!
//! Invariant: nothing of the rc files runs with a command. The file holds definitions, which cost no process.

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
use mentions::Words;
use rc_files::Stamp;

/// Where snapshots are kept, and whether they are used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SnapshotOptions {
    /// The directory of their files. Made if need be; nobody else may write there.
    pub directory: PathBuf,
    /// How long the rc files may take.
    pub limit: Duration,
    /// Whether commands get one.
    pub enabled: bool,
}

/// What was captured of the rc files.
#[derive(Debug)]
pub struct Snapshot {
    path: PathBuf,
    /// The path by which bashful 0.1 would have called it.
    old_path: PathBuf,
    bytes: u64,
    header: Header,
    words: Words,
    /// The file as it was, so that one that was changed since is noticed.
    stamp: Option<Stamp>,
    /// What the rc files have set under names that are withheld, as far as it is known: it is no part of the file.
    withheld: Vec<Withheld>,
}

impl Snapshot {
    /// A file to be sourced once by a shell, before anything else. It defines functions and aliases and sets options; it
    /// runs nothing else, and prints nothing. The variables are in the plan's environment already.
    pub fn path(&self) -> &Path {
        &self.path
    }

    pub(crate) fn old_path(&self) -> &Path {
        &self.old_path
    }

    /// How long the file is.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// When it was captured.
    pub fn captured(&self) -> SystemTime {
        SystemTime::UNIX_EPOCH + Duration::from_secs(self.header.captured)
    }

    /// How long the rc files took.
    pub fn took(&self) -> Duration {
        Duration::from_micros(self.header.took_us)
    }

    /// The names of the aliases.
    pub fn aliases(&self) -> &[String] {
        &self.header.aliases
    }

    /// The names of the functions.
    pub fn functions(&self) -> &[String] {
        &self.header.functions
    }

    /// The options that it turns on.
    pub fn options(&self) -> &[String] {
        &self.header.options
    }

    /// The names of the exported variables that the rc files set or remove.
    pub fn variables(&self) -> Vec<String> {
        self.header.set.keys().chain(&self.header.removed).cloned().collect()
    }

    /// What the rc files have too and commands do not get, each with its kind before it.
    pub fn left_out(&self) -> &[String] {
        &self.header.left_out
    }

    /// The definitions that a script may use, as lines before it; none if it mentions none.
    pub(crate) fn used_by(&self, script: &str) -> Option<String> {
        self.words.mentioned_in(script)
    }

    /// One that is only to be tried.
    fn draft(path: &Path) -> Self {
        Self {
            path: path.to_path_buf(),
            old_path: path.to_path_buf(),
            bytes: 0,
            header: Header::default(),
            words: Words::default(),
            stamp: None,
            withheld: Vec::new(),
        }
    }

    /// The same, once it is known what bashful 0.1 would have called it.
    fn with_old_key(self, key: &str) -> Self {
        Self { old_path: self.path.with_file_name(key).with_extension("sh"), ..self }
    }

    /// The same, once it is known what the rc files have set under names that are withheld.
    fn with_withheld(self, withheld: Vec<Withheld>) -> Self {
        Self { withheld, ..self }
    }

    /// The host's variables as the rc files leave them, those included that are withheld: both values of one, if they differ.
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

/// One file with one content: what a shell has sourced is known by this.
impl PartialEq for Snapshot {
    fn eq(&self, other: &Self) -> bool {
        self.path == other.path && self.header == other.header
    }
}

impl Eq for Snapshot {}

/// Why commands run without what the rc files define.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum NoSnapshot {
    /// They cannot be read.
    #[error("{} cannot be read ({why})", path.display())]
    Unreadable {
        /// Which.
        path: PathBuf,
        /// What the system said.
        why: String,
    },
    /// They took too long.
    #[error("the rc files took longer than {} s; see `[shell] snapshot_seconds`", limit.as_secs_f64())]
    TooSlow {
        /// How long they may take.
        limit: Duration,
    },
    /// The shell that read them did not get to its end.
    #[error("the shell that read the rc files ended before its time: they exit, or run another program in its place")]
    Ended,
    /// What the shell said makes no sense.
    #[error("the shell that read the rc files could not tell what it had become")]
    Garbled,
    /// It is more than anybody would want to source.
    #[error("the rc files define more than {LARGEST} bytes")]
    TooLarge,
    /// What was captured does not work in another shell.
    #[error("what the rc files define cannot be written down: {what}")]
    NotFaithful {
        /// What, for example.
        what: String,
    },
    /// Commands have a start-up file already.
    #[error("BASH_ENV is set, and that file is what commands start with")]
    BashEnv,
    /// Processes that the rc files start could get away.
    #[error("this program has no keeper process, and what the rc files start could outlive them")]
    NoKeeper,
    /// It could not be started, or not be kept.
    #[error("{what} ({why})")]
    System {
        /// What could not be done.
        what: String,
        /// What the system said.
        why: String,
    },
}

impl NoSnapshot {
    fn system(what: impl Into<String>, why: impl std::fmt::Display) -> Self {
        Self::System { what: what.into(), why: why.to_string() }
    }

    /// All of it as a sentence for whoever reads a reply.
    pub fn notice(&self) -> String {
        format!("your aliases and functions are not available: {self}")
    }
}

impl Engine {
    /// Makes sure that what plans get of the rc files is what these say now. [`start`](Self::start), [`run`](Self::run) and
    /// [`start_job`](Self::start_job) do so themselves.
    ///
    /// The first time, it waits for a shell to read the files, within the limit of the options; from then on only when they
    /// have changed. A dropped future ends that shell and leaves things as they were.
    pub async fn refresh_snapshot(&self) {
        if let Some(snapshots) = &self.snapshots {
            snapshots.refresh(self).await;
        }
    }

    /// The same, but the files are read whatever is known of them.
    pub async fn renew_snapshot(&self) {
        if let Some(snapshots) = &self.snapshots {
            snapshots.renew(self).await;
        }
    }

    /// The same, as far as it can be known without running anything: what was captured before, if it still holds.
    pub fn recall_snapshot(&self) {
        if let Some(snapshots) = &self.snapshots {
            snapshots.recall(self);
        }
    }

    /// Why commands get nothing of the rc files, for the first who asks after that was found out.
    pub fn why_no_snapshot(&self) -> Option<NoSnapshot> {
        self.snapshots.as_ref()?.untold()
    }

    /// What commands get of the rc files, as far as is known.
    pub fn snapshot(&self) -> Option<Arc<Snapshot>> {
        Some(Arc::clone(&self.snapshots.as_ref()?.current()?.snapshot))
    }
}

/// More than this is not captured. The largest sets of completions come to a tenth of it.
const LARGEST: u64 = 16 << 20;

/// So long a snapshot is used. Files that the rc files read in turn may have changed without our noticing.
const USED_FOR: Duration = Duration::from_hours(24);

/// How long the tree of the shell that read the rc files may take to end.
const GRACE: Duration = Duration::from_millis(100);

/// Whether something was captured lately. What comes from the future, after the clock was set back, was not.
fn is_young(captured: SystemTime, now: SystemTime) -> bool {
    now.duration_since(captured).is_ok_and(|age| age < USED_FOR)
}

/// Variables with which bash starts in its own way, or cannot source a file in ours: such a command gets no snapshot.
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

/// Whether a command with these variables can have a snapshot.
pub(crate) fn suits(environment: &Environment) -> bool {
    !NOT_WITH.iter().any(|name| environment.variables.contains_key(std::ffi::OsStr::new(name)))
}
