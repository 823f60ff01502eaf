//! The store of snapshots: files named by their keys, written whole or not at all.
//!
//! Any number of programs share it without a lock: a file is written aside and renamed, and two captures with the same
//! key are equally good. A shell never sources a file that somebody else could have written.

use std::fs;
use std::io::{self, Read};
use std::os::fd::OwnedFd;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, SystemTime};

use bashful_sys::plain;
use rustix::fs::{CWD, FileType, Mode, OFlags};

use super::file;
use super::filter::KeptDefinitions;
use super::rc_files::FilesStamp;
use super::{LARGEST, Snapshot, USED_FOR};
use crate::id_counter::longest_file;

/// Pause after the first failure. Each later pause is twice as long, up to [`LONGEST_PAUSE`].
const FIRST_PAUSE: Duration = Duration::from_mins(1);
const LONGEST_PAUSE: Duration = Duration::from_hours(1);

/// Time after their use ends at which snapshots are removed.
const SWEPT_AFTER: Duration = Duration::from_hours(24);

/// Age from which on a draft is abandoned.
const DRAFT_AT_MOST: Duration = Duration::from_hours(1);

/// Most files. Variables that are never the same twice would otherwise fill the disk.
const FILES_AT_MOST: usize = 64;

const SNAPSHOT: &str = "sh";
const FAILED: &str = "failed";
const DRAFT: &str = "new";

/// A directory of snapshots.
pub(super) struct SnapshotStore {
    directory: PathBuf,
}

/// An earlier failure, whose pause is not over.
pub(super) struct PastFailure {
    pub(super) until: SystemTime,
}

impl SnapshotStore {
    /// Creates nothing before it is used.
    pub(super) fn new(directory: PathBuf) -> Self {
        Self { directory }
    }

    /// Loads the snapshot of this key, if nobody else can have touched it.
    pub(super) fn load(&self, key: &str) -> Option<Snapshot> {
        self.is_private().ok()?;
        let path = self.path(key, SNAPSHOT);
        let bytes = read_private(&path)?;
        let (header, definitions) = file::read(&bytes, key)?;
        let stamp = Some(FilesStamp::of(std::slice::from_ref(&path)));
        Some(Snapshot { path, bytes: bytes.len() as u64, header, definitions, stamp, withheld: Vec::new() })
    }

    /// Begins a new snapshot.
    pub(super) fn draft(&self) -> io::Result<SnapshotDraft<'_>> {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        crate::make_directory(&self.directory)?;
        let name = format!("{}-{}", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed));
        let path = self.path(&name, DRAFT);
        // A killed program with the same process id may have left one.
        let _ = fs::remove_file(&path);
        Ok(SnapshotDraft { store: self, path })
    }

    /// The last failure for these files, if its pause is not over.
    pub(super) fn failure(&self, files_key: &str) -> Option<PastFailure> {
        self.is_private().ok()?;
        let path = self.path(files_key, FAILED);
        let times = failure_count(&path);
        let since = path.metadata().ok()?.modified().ok()?;
        let now = SystemTime::now();
        let until = since.checked_add(pause_after(times))?;
        // A failure in the future would count for ever.
        (times > 0 && since <= now && now < until).then_some(PastFailure { until })
    }

    /// Records one more failure, and returns the end of its pause. If it cannot be written, other programs make
    /// attempts of their own.
    pub(super) fn note_failure(&self, files_key: &str) -> SystemTime {
        let times = failure_count(&self.path(files_key, FAILED)).saturating_add(1);
        let noted = self.draft().and_then(|draft| {
            draft.write(format!("{times}\n").as_bytes())?;
            fs::rename(&draft.path, self.path(files_key, FAILED))
        });
        if let Err(error) = noted {
            tracing::debug!(%error, "a failure is not noted");
        }
        SystemTime::now() + pause_after(times)
    }

    pub(super) fn forget_failure(&self, files_key: &str) {
        let _ = fs::remove_file(self.path(files_key, FAILED));
    }

    /// Removes snapshots that nobody uses any more. Those that cannot be removed stay.
    pub(super) fn sweep(&self) {
        let entries = fs::read_dir(&self.directory).into_iter().flatten().flatten();
        let mut files: Vec<(SystemTime, PathBuf)> = entries
            .filter(|entry| is_ours(&entry.path()))
            .filter_map(|entry| Some((entry.metadata().ok()?.modified().ok()?, entry.path())))
            .collect();
        files.sort();
        let too_many = files.len().saturating_sub(FILES_AT_MOST);
        let now = SystemTime::now();
        for (index, (modified, path)) in files.iter().enumerate() {
            let is_draft = path.extension().is_some_and(|kind| kind == DRAFT);
            let at_most = if is_draft { DRAFT_AT_MOST } else { USED_FOR + SWEPT_AFTER };
            if index < too_many || now.duration_since(*modified).is_ok_and(|age| age > at_most) {
                let _ = fs::remove_file(path);
            }
        }
    }

    fn path(&self, name: &str, kind: &str) -> PathBuf {
        self.directory.join(format!("{name}.{kind}"))
    }

    /// Fails if somebody else could replace our files.
    fn is_private(&self) -> io::Result<()> {
        let facts = fs::symlink_metadata(&self.directory)?;
        if !facts.is_dir() || facts.uid() != own_id() || facts.mode() & 0o022 != 0 {
            return Err(io::Error::other("others may write there"));
        }
        Ok(())
    }
}

/// A snapshot that is not published yet. Dropping it removes its file.
pub(super) struct SnapshotDraft<'a> {
    store: &'a SnapshotStore,
    path: PathBuf,
}

impl SnapshotDraft<'_> {
    /// Writes lines for a trial, in place of earlier ones.
    pub(super) fn try_lines(&self, lines: &[u8]) -> io::Result<&Path> {
        self.write(lines)?;
        Ok(&self.path)
    }

    /// Makes a named pipe in place of the file, and opens its reading end. Nothing that goes through it is written to a
    /// disk.
    pub(super) fn make_pipe(&self) -> io::Result<OwnedFd> {
        let _ = fs::remove_file(&self.path);
        let mode = Mode::RUSR | Mode::WUSR;
        rustix::fs::mknodat(CWD, &self.path, FileType::Fifo, mode, 0)?;
        // Permissions must not depend on the umask.
        fs::set_permissions(&self.path, fs::Permissions::from_mode(0o600))?;
        // Opened for both, so that it does not end while no writer has opened it.
        let flags = OFlags::RDWR | OFlags::NONBLOCK | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        Ok(rustix::fs::open(&self.path, flags, Mode::empty())?)
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Writes the snapshot, and renames it to its key.
    pub(super) fn publish(&self, kept: &KeptDefinitions, key: &str, took: Duration) -> io::Result<Snapshot> {
        self.write(&file::render(kept, key, took))?;
        fs::rename(&self.path, self.store.path(key, SNAPSHOT))?;
        let read = self.store.load(key).ok_or_else(|| io::Error::other("it does not read as it was written"))?;
        Ok(read.with_withheld(kept.withheld.clone()))
    }

    fn write(&self, bytes: &[u8]) -> io::Result<()> {
        if longest_file() < bytes.len() as u64 {
            // The kernel would kill this process for trying.
            return Err(io::ErrorKind::FileTooLarge.into());
        }
        plain::write(&self.path, bytes)
    }
}

impl Drop for SnapshotDraft<'_> {
    fn drop(&mut self) {
        // After a rename there is no file left.
        let _ = fs::remove_file(&self.path);
    }
}

/// Number of failures so far.
fn failure_count(path: &Path) -> u32 {
    let text = read_private(path).unwrap_or_default();
    String::from_utf8_lossy(&text).trim().parse().unwrap_or(0)
}

fn pause_after(times: u32) -> Duration {
    FIRST_PAUSE.saturating_mul(1 << times.saturating_sub(1).min(10)).min(LONGEST_PAUSE)
}

/// Reads a regular file of this user that nobody else may read or write.
fn read_private(path: &Path) -> Option<Vec<u8>> {
    let file = plain::open(path).ok()?;
    let facts = file.metadata().ok()?;
    if facts.mode() & 0o077 != 0 || facts.len() > 2 * LARGEST {
        return None;
    }
    let mut bytes = Vec::new();
    file.take(2 * LARGEST).read_to_end(&mut bytes).ok()?;
    Some(bytes)
}

fn is_ours(path: &Path) -> bool {
    path.extension().is_some_and(|kind| [SNAPSHOT, FAILED, DRAFT].iter().any(|ours| kind == *ours))
}

fn own_id() -> u32 {
    rustix::process::geteuid().as_raw()
}
