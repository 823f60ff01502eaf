//! The directory: giving out ids, listing, removing, sweeping.
//!
//! Whoever writes an artifact holds a lock on its file; the kernel lets go of it when the last copy of the descriptor is
//! closed, in whatever process that is, and however that process ended. Whoever only looks takes a shared lock for an
//! instant, so that two of them never take each other for a writer. The counter's file is the lock of the store: it is held
//! for the instant in which an artifact is made or removed, so that a new one is not removed before its writer has locked it.
//!
//! A sweep looks at every artifact, so it is not done for every command: the counter's file says when one is due.

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

/// A sweep that is due by size frees this part of the limit beyond what it must. Otherwise every command in a full store
/// would cause a sweep.
const SPARE_PART: u64 = 16;

/// Why no artifact can be made.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum CreateError {
    /// There is no directory for it.
    #[error("cannot make the directory of artifacts {}", path.display())]
    Directory {
        /// The directory.
        path: PathBuf,
        /// Why not.
        source: io::Error,
    },
    /// No id can be had.
    #[error("cannot use the counter of artifacts {}", path.display())]
    Counter {
        /// The counter's file.
        path: PathBuf,
        /// Why not.
        source: io::Error,
    },
    /// Its file cannot be made.
    #[error("cannot make the artifact {}", path.display())]
    File {
        /// The artifact's file.
        path: PathBuf,
        /// Why not.
        source: io::Error,
    },
}

/// Why nobody can say which artifacts there are.
#[derive(Debug, Error)]
#[error("cannot list the artifacts in {}", path.display())]
pub struct ListError {
    /// The directory.
    pub path: PathBuf,
    /// Why not.
    pub source: io::Error,
}

/// Why there is no such artifact.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum GetError {
    /// Its id has not been given out yet.
    #[error("there has never been an artifact {id}")]
    Never {
        /// The id.
        id: u64,
    },
    /// It was swept, or removed by hand.
    #[error("artifact {id} was removed")]
    Removed {
        /// The id.
        id: u64,
    },
    /// It is there, but cannot be looked at.
    #[error("cannot look at artifact {id} ({})", path.display())]
    Unreadable {
        /// The id.
        id: u64,
        /// Its file.
        path: PathBuf,
        /// Why not.
        source: io::Error,
    },
}

/// Why an artifact was not removed.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum RemoveError {
    /// Somebody still writes to it.
    #[error("artifact {id} is still being written")]
    InUse {
        /// The id.
        id: u64,
    },
    /// There is none.
    #[error(transparent)]
    Get(#[from] GetError),
    /// The system did not let us.
    #[error("cannot remove {}", path.display())]
    Io {
        /// Its file.
        path: PathBuf,
        /// Why not.
        source: io::Error,
    },
}

/// What a sweep did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SweepReport {
    /// These artifacts are gone, the oldest first.
    pub removed: Vec<u64>,
    /// So much of the disk is free again.
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
    /// A store in this directory. Nothing is touched before it is used.
    pub fn new(directory: PathBuf, limits: ArtifactLimits) -> Self {
        Self { numbers: IdCounter::new(directory), limits }
    }

    /// Its directory, which need not be there yet.
    pub fn directory(&self) -> &Path {
        self.numbers.directory()
    }

    /// Makes its directory, if it is not there.
    pub(crate) fn make(&self) -> io::Result<&Path> {
        self.numbers.make().map(|()| self.directory())
    }

    /// The numbers of all artifacts, in order; none if they cannot be listed. No artifact is looked at for it.
    pub fn ids(&self) -> Vec<u64> {
        self.numbers.taken().unwrap_or_default()
    }

    /// Begins a new artifact, in a directory that is made if need be.
    pub fn create(&self) -> Result<ArtifactWriter, CreateError> {
        let in_directory = |source| CreateError::Directory { path: self.directory().to_path_buf(), source };
        self.numbers.make().map_err(in_directory)?;
        let at_counter = |source| CreateError::Counter { path: self.directory().join(COUNTER), source };
        let lock = self.numbers.lock().map_err(at_counter)?;
        let id = self.numbers.give_out(&lock, 0).map_err(at_counter)?;
        let path = self.path(id);
        self.begin(&path, id).map_err(|source| CreateError::File { path, source })
    }

    /// Every artifact, by id. A directory that is not there holds none.
    pub fn list(&self) -> Result<Vec<ArtifactEntry>, ListError> {
        let ids = self.numbers.taken().map_err(|source| ListError { path: self.directory().to_path_buf(), source })?;
        // One that was removed meanwhile, or is not ours, is simply not on the list.
        Ok(ids.into_iter().filter_map(|id| self.look(id).ok()).collect())
    }

    /// One artifact.
    pub fn get(&self, id: u64) -> Result<ArtifactEntry, GetError> {
        self.look_or_say_why(id)
    }

    /// Counts what a command has written to its artifacts, in bytes on disk.
    pub(crate) fn add_used(&self, bytes: u64) {
        if let Err(error) = self.numbers.add_used(bytes) {
            tracing::debug!(%error, "cannot count what was saved");
        }
    }

    /// True if artifacts may be too old or too large together. Costs the same however many there are.
    pub(crate) fn is_sweep_due(&self) -> bool {
        self.numbers.is_sweep_due(self.limits.store.0, self.limits.age)
    }

    /// Sweeps if that is due, down to 15/16 of the limit. The newest artifact stays, because somebody has just been told of it.
    pub(crate) fn sweep_if_due(&self) -> Result<(), ListError> {
        if self.is_sweep_due() {
            self.sweep_down_to(self.after_sweep(), true)?;
        }
        Ok(())
    }

    /// How much may be left by a sweep that is due by size.
    fn after_sweep(&self) -> u64 {
        self.limits.store.0 - self.limits.store.0 / SPARE_PART
    }

    /// Removes one, unless somebody still writes to it.
    pub fn remove(&self, id: u64) -> Result<(), RemoveError> {
        let _lock = self.numbers.lock_if_there();
        let entry = self.look_or_say_why(id)?;
        if entry.in_use {
            return Err(RemoveError::InUse { id });
        }
        // The gap last: without its file it does no harm, while a file without its gap would show holes as NULs.
        fs::remove_file(&entry.path).map_err(|source| RemoveError::Io { path: entry.path.clone(), source })?;
        let _ = fs::remove_file(gaps::sidecar(&entry.path));
        Ok(())
    }

    /// Removes what is too old, and then the oldest until the rest is within the limit. What is being written stays, and
    /// what cannot be removed is passed over.
    pub fn sweep(&self) -> Result<SweepReport, ListError> {
        self.sweep_down_to(self.limits.store.0, false)
    }

    fn sweep_down_to(&self, at_most: u64, spares_newest: bool) -> Result<SweepReport, ListError> {
        let failed = |source| ListError { path: self.directory().to_path_buf(), source };
        // Artifacts that cannot be removed are no reason to try again before as much has come anew.
        let at_begin = self.after_sweep();
        self.numbers.begin_sweep(at_begin);
        let ids = self.numbers.taken().map_err(failed)?;
        let highest = ids.last().copied().unwrap_or_default();
        let mut entries: Vec<SweptEntry> = ids.into_iter().filter_map(|id| self.size_up(id)).collect();
        entries.sort_by_key(|entry| (entry.modified, entry.id));
        let spared = entries.last().filter(|_| spares_newest).map(|entry| entry.id);
        let now = SystemTime::now();
        let mut total: u64 = entries.iter().map(|entry| entry.on_disk).sum();
        let mut report = SweepReport { removed: Vec::new(), freed: ByteSize(0) };
        // Without too much of them, only the old ones go.
        let at_most = if total > self.limits.store.0 { at_most } else { self.limits.store.0 };
        for entry in entries {
            // A file from the future, after the clock was set back, is young.
            let too_old = now.duration_since(entry.modified).is_ok_and(|age| age > self.limits.age);
            if (too_old || total > at_most) && spared != Some(entry.id) && self.remove(entry.id).is_ok() {
                total -= entry.on_disk;
                report.removed.push(entry.id);
                report.freed.0 += entry.on_disk;
            }
        }
        self.remove_strays();
        self.numbers.end_sweep(at_begin, total.min(at_begin), highest);
        Ok(report)
    }

    /// The facts of an artifact that a sweep needs; none if it is gone, or not ours.
    fn size_up(&self, id: u64) -> Option<SweptEntry> {
        let facts = self.path(id).symlink_metadata().ok().filter(fs::Metadata::is_file)?;
        Some(SweptEntry { id, modified: facts.modified().ok()?, on_disk: facts.blocks() * 512 })
    }

    fn path(&self, id: u64) -> PathBuf {
        self.directory().join(id.to_string())
    }

    fn begin(&self, path: &Path, id: u64) -> io::Result<ArtifactWriter> {
        let file = plain::open_with(File::options().read(true).append(true).create_new(true), path)?;
        // Nobody writes to it, for it is new; at most somebody has a look at it.
        lock_soon(&file)?;
        Ok(ArtifactWriter::new(id, path.to_path_buf(), file, self.limits.one))
    }

    fn look_or_say_why(&self, id: u64) -> Result<ArtifactEntry, GetError> {
        let unreadable = |source| GetError::Unreadable { id, path: self.path(id), source };
        match self.look(id) {
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

    fn look(&self, id: u64) -> io::Result<ArtifactEntry> {
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

    /// Removes what says something about artifacts that are gone: somebody may have ended between two removals.
    fn remove_strays(&self) {
        let files = fs::read_dir(self.directory()).into_iter().flatten().flatten();
        for stray in files.filter(|file| self.is_stray(&file.file_name())) {
            // No lock is needed: the number of an artifact that is gone is never given out again.
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
    /// In bytes.
    on_disk: u64,
}
