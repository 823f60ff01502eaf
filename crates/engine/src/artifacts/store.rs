//! The directory of artifacts: ids, lists, removal and sweeps.
//!
//! A writer holds a lock on its artifact's file. The kernel releases it when the last copy of the descriptor is closed,
//! in whatever process, and however that process ended. A reader takes a shared lock for an instant, so that two
//! readers never mistake each other for a writer. The counter's file is the lock of the store. It is held for the
//! instant in which an artifact is created or removed, so that a new one is not removed before its writer has locked
//! it.
//!
//! A sweep checks every artifact, so it does not run for every command. The counter's file says when one is due.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use bashful_keeper::gaps;
use bashful_sys::plain;
use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;
use thiserror::Error;

use super::writer::ArtifactWriter;
use super::{ArtifactEntry, ArtifactLimits};
use crate::id_counter::{COUNTER, IdCounter, lock_soon, number};
use crate::units::ByteSize;

/// A sweep that is due by size frees this part of the limit beyond what it must. Otherwise every command in a full
/// store would cause a sweep.
const SPARE_PART: u64 = 16;

/// Error: an artifact that cannot be created.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum CreateError {
    /// The directory cannot be created.
    #[error("cannot create the directory of artifacts {}", path.display())]
    Directory {
        /// Directory of the store.
        path: PathBuf,
        /// Error of the system.
        source: io::Error,
    },
    /// The counter gives no id.
    #[error("cannot use the counter of artifacts {}", path.display())]
    Counter {
        /// Path of the counter's file.
        path: PathBuf,
        /// Error of the system.
        source: io::Error,
    },
    /// The file cannot be created.
    #[error("cannot create the artifact {}", path.display())]
    File {
        /// Path of the artifact's file.
        path: PathBuf,
        /// Error of the system.
        source: io::Error,
    },
}

/// Error: a directory of artifacts that cannot be listed.
#[derive(Debug, Error)]
#[error("cannot list the artifacts in {}", path.display())]
pub struct ListError {
    /// Directory of the store.
    pub path: PathBuf,
    /// Error of the system.
    pub source: io::Error,
}

/// Error: an artifact that cannot be read.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum GetError {
    /// The id has not been given out yet.
    #[error("there has never been an artifact {id}")]
    Never {
        /// Id that was asked for.
        id: u64,
    },
    /// A sweep or a caller removed it.
    #[error("artifact {id} was removed")]
    Removed {
        /// Id that was asked for.
        id: u64,
    },
    /// The file is there, but cannot be read.
    #[error("cannot read artifact {id} ({})", path.display())]
    Unreadable {
        /// Id that was asked for.
        id: u64,
        /// Path of the file.
        path: PathBuf,
        /// Error of the system.
        source: io::Error,
    },
}

/// Error: an artifact that was not removed.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum RemoveError {
    /// A process still writes to it.
    #[error("artifact {id} is still being written")]
    InUse {
        /// Id of the artifact.
        id: u64,
    },
    /// There is no such artifact.
    #[error(transparent)]
    Get(#[from] GetError),
    /// The system refused to remove the file.
    #[error("cannot remove {}", path.display())]
    Io {
        /// Path of the file.
        path: PathBuf,
        /// Error of the system.
        source: io::Error,
    },
}

/// Result of a sweep.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SweepReport {
    /// Ids of the removed artifacts, the oldest first.
    pub removed: Vec<u64>,
    /// Space that was freed on the disk.
    pub freed: ByteSize,
}

/// A directory of artifacts.
///
/// ```
/// use bashful_engine::{Artifact, ArtifactLimits, ArtifactStore};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let directory = tempfile::tempdir()?;
/// let store = ArtifactStore::new(directory.path().join("artifacts"), ArtifactLimits::default());
/// let mut writer = store.create()?;
/// writer.push(b"one\ntwo\nthree\n")?;
/// assert_eq!(writer.uri(), "artifact://1");
/// drop(writer);
///
/// let mut last = Vec::new();
/// Artifact::open(&store.get(1)?)?.tail(1, &mut last)?;
/// assert_eq!(last, b"three\n");
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone)]
pub struct ArtifactStore {
    numbers: IdCounter,
    limits: ArtifactLimits,
}

impl ArtifactStore {
    /// A store in this directory. Creates nothing before it is used.
    pub fn new(directory: PathBuf, limits: ArtifactLimits) -> Self {
        Self { numbers: IdCounter::new(directory), limits }
    }

    /// Directory of the store, which need not exist yet.
    pub fn directory(&self) -> &Path {
        self.numbers.directory()
    }

    /// Creates the directory of the store, if it is missing.
    pub(crate) fn make(&self) -> io::Result<&Path> {
        self.numbers.make().map(|()| self.directory())
    }

    /// Ids of all artifacts, in order; none if they cannot be listed. Reads no artifact.
    pub fn ids(&self) -> Vec<u64> {
        self.numbers.taken().unwrap_or_default()
    }

    /// Begins a new artifact. Creates the directory if needed.
    pub fn create(&self) -> Result<ArtifactWriter, CreateError> {
        let in_directory = |source| CreateError::Directory { path: self.directory().to_path_buf(), source };
        self.numbers.make().map_err(in_directory)?;
        let at_counter = |source| CreateError::Counter { path: self.directory().join(COUNTER), source };
        let lock = self.numbers.lock().map_err(at_counter)?;
        let id = self.numbers.give_out(&lock, 0).map_err(at_counter)?;
        let path = self.path(id);
        self.begin(&path, id).map_err(|source| CreateError::File { path, source })
    }

    /// Lists every artifact by id. A missing directory has none.
    pub fn list(&self) -> Result<Vec<ArtifactEntry>, ListError> {
        let ids = self.numbers.taken().map_err(|source| ListError { path: self.directory().to_path_buf(), source })?;
        // An artifact that was removed meanwhile, or belongs to another user, is not on the list.
        Ok(ids.into_iter().filter_map(|id| self.read_entry(id).ok()).collect())
    }

    /// Reads the facts of one artifact.
    pub fn get(&self, id: u64) -> Result<ArtifactEntry, GetError> {
        self.read_entry_or_reason(id)
    }

    /// Counts the bytes on disk that a command has saved.
    pub(crate) fn add_used(&self, bytes: u64) {
        if let Err(error) = self.numbers.add_used(bytes) {
            tracing::debug!(%error, "cannot count what was saved");
        }
    }

    /// True if artifacts may be too old or too large together. The cost does not depend on their number.
    pub(crate) fn is_sweep_due(&self) -> bool {
        self.numbers.is_sweep_due(self.limits.store.0, self.limits.age)
    }

    /// Sweeps down to 15/16 of the limit, if that is due. The newest artifact stays, because a reply has just named it.
    pub(crate) fn sweep_if_due(&self) -> Result<(), ListError> {
        if self.is_sweep_due() {
            self.sweep_down_to(self.after_sweep(), true)?;
        }
        Ok(())
    }

    /// Bytes that a sweep that is due by size may leave.
    fn after_sweep(&self) -> u64 {
        self.limits.store.0 - self.limits.store.0 / SPARE_PART
    }

    /// Removes an artifact, unless a process still writes to it.
    pub fn remove(&self, id: u64) -> Result<(), RemoveError> {
        let _lock = self.numbers.lock_if_there();
        let entry = self.read_entry_or_reason(id)?;
        if entry.in_use {
            return Err(RemoveError::InUse { id });
        }
        // The gap goes last: without its file it does no harm, while a file without its gap would show holes as NULs.
        fs::remove_file(&entry.path).map_err(|source| RemoveError::Io { path: entry.path.clone(), source })?;
        let _ = fs::remove_file(gaps::sidecar(&entry.path));
        Ok(())
    }

    /// Removes artifacts that are too old, and then the oldest until the rest is within the limit. Artifacts that are
    /// being written stay; those that cannot be removed are skipped.
    pub fn sweep(&self) -> Result<SweepReport, ListError> {
        self.sweep_down_to(self.limits.store.0, false)
    }

    fn sweep_down_to(&self, at_most: u64, spares_newest: bool) -> Result<SweepReport, ListError> {
        let failed = |source| ListError { path: self.directory().to_path_buf(), source };
        // Artifacts that cannot be removed are no reason to try again before as many bytes have come.
        let at_begin = self.after_sweep();
        self.numbers.begin_sweep(at_begin);
        let ids = self.numbers.taken().map_err(failed)?;
        let highest = ids.last().copied().unwrap_or_default();
        let mut entries: Vec<SweptEntry> = ids.into_iter().filter_map(|id| self.sweep_entry(id)).collect();
        entries.sort_by_key(|entry| (entry.modified, entry.id));
        let spared = entries.last().filter(|_| spares_newest).map(|entry| entry.id);
        let now = SystemTime::now();
        let mut total: u64 = entries.iter().map(|entry| entry.on_disk).sum();
        let mut report = SweepReport { removed: Vec::new(), freed: ByteSize(0) };
        // Below the limit, only the old ones go.
        let at_most = if total > self.limits.store.0 { at_most } else { self.limits.store.0 };
        for entry in entries {
            // A file from the future, after the clock was set back, counts as new.
            let too_old = now.duration_since(entry.modified).is_ok_and(|age| age > self.limits.age);
            if (too_old || total > at_most) && spared != Some(entry.id) && self.remove(entry.id).is_ok() {
                total -= entry.on_disk;
                report.removed.push(entry.id);
                report.freed.0 += entry.on_disk;
            }
        }
        self.remove_orphaned_gaps();
        self.numbers.end_sweep(at_begin, total.min(at_begin), highest);
        Ok(report)
    }

    /// Facts of an artifact that a sweep needs; none if it is gone, or no regular file.
    fn sweep_entry(&self, id: u64) -> Option<SweptEntry> {
        let facts = self.path(id).symlink_metadata().ok().filter(fs::Metadata::is_file)?;
        Some(SweptEntry { id, modified: facts.modified().ok()?, on_disk: facts.blocks() * 512 })
    }

    fn path(&self, id: u64) -> PathBuf {
        self.directory().join(id.to_string())
    }

    fn begin(&self, path: &Path, id: u64) -> io::Result<ArtifactWriter> {
        let file = plain::open_with(File::options().read(true).append(true).create_new(true), path)?;
        // Nobody else writes to a new file; at most a reader has locked it for an instant.
        lock_soon(&file)?;
        Ok(ArtifactWriter::new(id, path.to_path_buf(), file, self.limits.one))
    }

    fn read_entry_or_reason(&self, id: u64) -> Result<ArtifactEntry, GetError> {
        let unreadable = |source| GetError::Unreadable { id, path: self.path(id), source };
        match self.read_entry(id) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                if self.numbers.was_given_out(id).map_err(unreadable)? {
                    Err(GetError::Removed { id })
                } else {
                    Err(GetError::Never { id })
                }
            }
            looked => looked.map_err(unreadable),
        }
    }

    fn read_entry(&self, id: u64) -> io::Result<ArtifactEntry> {
        let path = self.path(id);
        let file = plain::open(&path)?;
        let facts = file.metadata()?;
        let in_use = match flock(&file, FlockOperation::NonBlockingLockShared) {
            Ok(()) => false,
            Err(Errno::WOULDBLOCK) => true,
            Err(error) => return Err(error.into()),
        };
        Ok(ArtifactEntry {
            id,
            bytes: facts.len(),
            on_disk: ByteSize(facts.blocks() * 512),
            modified: facts.modified()?,
            in_use,
            missing: gaps::load(&path),
            path,
        })
    }

    /// Removes gap files without an artifact: a program may have ended between two removals.
    fn remove_orphaned_gaps(&self) {
        let files = fs::read_dir(self.directory()).into_iter().flatten().flatten();
        for stray in files.filter(|file| self.is_stray(&file.file_name())) {
            // No lock is needed: the id of a removed artifact is never given out again.
            let _ = fs::remove_file(stray.path());
        }
    }

    fn is_stray(&self, name: &OsStr) -> bool {
        let owner = || number(name.to_str()?.trim_end_matches(".new").strip_suffix(".gap")?);
        owner().is_some_and(|id| !self.path(id).exists())
    }
}

/// An artifact, as a sweep sees it.
struct SweptEntry {
    id: u64,
    modified: SystemTime,
    /// Space on the disk, in bytes.
    on_disk: u64,
}
