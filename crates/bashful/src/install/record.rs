//! Records what `install` wrote, so that `--remove` reverts exactly that.
//!
//! One file for each client, in `installed` of the state directory. It holds no settings of the user except single values that were
//! replaced. A change is recorded before it is made: one that was made is never forgotten.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use bashful_engine::make_directory;
use bashful_sys::plain;
use rustix::fs::{FlockOperation, flock};
use serde::{Deserialize, Serialize};
use thiserror::Error;

use super::change::AppliedChange;
use super::file::{missing, remove_empty};

/// An error of the record.
#[derive(Debug, Error)]
pub(crate) enum RecordError {
    #[error("cannot read {}, where bashful notes what it has written", path.display())]
    Read { path: PathBuf, source: io::Error },
    #[error("{} is damaged; remove it, and take out by hand what bashful has written", path.display())]
    Damaged { path: PathBuf, source: serde_json::Error },
    #[error("{} was written by a newer bashful; use that one to install or remove", path.display())]
    Newer { path: PathBuf },
    #[error("cannot write {}, where bashful notes what it has written", path.display())]
    Write { path: PathBuf, source: io::Error },
}

/// Identifies one installation of a client: the server's name, and the project for project settings.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Installation {
    pub(crate) name: String,
    pub(crate) project: Option<PathBuf>,
}

/// Format version of an entry.
const VERSION: u32 = 1;

/// The changes of one installation.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Entry {
    version: u32,
    of: Installation,
    done: Vec<AppliedChange>,
    /// The topmost directory that was made for the records, which goes with the last entry.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    made_directory: Option<PathBuf>,
}

/// The record of one client, locked while it is held.
#[derive(Debug)]
pub(crate) struct Record {
    path: PathBuf,
    entries: Vec<Entry>,
    /// The topmost directory that was made for the records, if this process or an entry knows it.
    made_directory: Option<PathBuf>,
    _lock: File,
}

impl Record {
    /// Locks and reads the record of a client; creates `directory` if it is missing.
    pub(crate) fn open(directory: &Path, client: &str) -> Result<Self, RecordError> {
        let path = directory.join(format!("{client}.json"));
        let made_directory = missing(Some(directory)).last().map(Path::to_path_buf);
        let made = make_directory(directory).and_then(|()| {
            let lock = plain::open_directory(directory)?;
            flock(&lock, FlockOperation::LockExclusive)?;
            // Whoever held the lock may have removed the directory.
            let is_there =
                directory.metadata().is_ok_and(|there| lock.metadata().is_ok_and(|ours| ours.ino() == there.ino()));
            Ok(is_there.then_some(lock))
        });
        let Some(lock) = made.map_err(|source| RecordError::Write { path: path.clone(), source })? else {
            return Self::open(directory, client);
        };
        let entries = read(&path)?;
        let made_directory = made_directory.or_else(|| entries.iter().find_map(|entry| entry.made_directory.clone()));
        Ok(Self { path, entries, made_directory, _lock: lock })
    }

    /// Appends a change. For a repeated change the state before the first one counts.
    pub(crate) fn push(&mut self, of: &Installation, done: &AppliedChange) -> Result<(), RecordError> {
        let done = done.clone();
        match self.entries.iter_mut().find(|entry| entry.of == *of) {
            None => {
                let made_directory = self.made_directory.clone();
                self.entries.push(Entry { version: VERSION, of: of.clone(), done: vec![done], made_directory });
            }
            Some(entry) => {
                entry.version = VERSION;
                match entry.done.iter_mut().find(|noted| noted.has_target_of(&done)) {
                    None => entry.done.push(done),
                    Some(noted) => noted.change = done.change,
                }
            }
        }
        self.save()
    }

    /// Removes a change from the record.
    pub(crate) fn forget(&mut self, of: &Installation, done: &AppliedChange) -> Result<(), RecordError> {
        for entry in self.entries.iter_mut().filter(|entry| entry.of == *of) {
            entry.done.retain(|noted| !noted.has_target_of(done));
        }
        self.entries.retain(|entry| !entry.done.is_empty());
        self.save()
    }

    /// The current state, for [`Self::restore`].
    pub(crate) fn entries(&self) -> Vec<Entry> {
        self.entries.clone()
    }

    /// Restores an earlier state.
    pub(crate) fn restore(&mut self, entries: Vec<Entry>) -> Result<(), RecordError> {
        self.entries = entries;
        self.save()
    }

    fn save(&self) -> Result<(), RecordError> {
        let cannot = |source| RecordError::Write { path: self.path.clone(), source };
        if self.entries.is_empty() {
            return match fs::remove_file(&self.path) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => Err(cannot(error)),
                _ => {
                    remove_empty(self.path.parent(), self.made_directory.as_deref());
                    Ok(())
                }
            };
        }
        let beside = self.path.with_extension("new");
        let text = serde_json::to_string_pretty(&self.entries).map_err(|error| cannot(error.into()))?;
        plain::write(&beside, text.as_bytes()).and_then(|()| fs::rename(&beside, &self.path)).map_err(|source| {
            // Remove the incomplete temporary file.
            let _ = fs::remove_file(&beside);
            cannot(source)
        })
    }
}

/// The changes of one installation, in the order in which they were made.
pub(crate) fn changes(directory: &Path, client: &str, of: &Installation) -> Result<Vec<AppliedChange>, RecordError> {
    let entries = read(&directory.join(format!("{client}.json")))?;
    Ok(entries.into_iter().find(|entry| entry.of == *of).map(|entry| entry.done).unwrap_or_default())
}

/// True if only a newer version can read the record.
fn has_newer_entry(text: &[u8]) -> bool {
    #[derive(Deserialize)]
    struct Stamp {
        #[serde(default)]
        version: u32,
    }
    let stamps: Vec<Stamp> = serde_json::from_slice(text).unwrap_or_default();
    stamps.iter().any(|stamp| stamp.version > VERSION)
}

fn read(path: &Path) -> Result<Vec<Entry>, RecordError> {
    let path = path.to_path_buf();
    match plain::read(&path) {
        Ok(text) if has_newer_entry(&text) => Err(RecordError::Newer { path }),
        Ok(text) => serde_json::from_slice(&text).map_err(|source| RecordError::Damaged { path, source }),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
        Err(source) => Err(RecordError::Read { path, source }),
    }
}
