//! A settings file of another program, written whole or not at all.
//!
//! Root works as the user in whose home the file is: that user may have put a link there that leads elsewhere, at any
//! moment, and everything that is made there should be theirs.

use std::fs::{self, File, Metadata, Permissions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use bashful_engine::owner_below_root;
use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;
use rustix::process::{Gid, Uid};
use rustix::thread::{set_thread_groups, set_thread_res_gid, set_thread_res_uid};
use thiserror::Error;

/// Largest settings file, in bytes.
const LONGEST: u64 = 64 * 1024 * 1024;

/// The reason why a file is not changed.
#[derive(Debug, Error)]
pub(super) enum FileError {
    #[error("cannot read {}", path.display())]
    Read { path: PathBuf, source: io::Error },
    #[error("cannot write {}", path.display())]
    Write { path: PathBuf, source: io::Error },
    #[error("{} is not a file", path.display())]
    NotAFile { path: PathBuf },
    #[error("{} is a link to {}, which is not there", path.display(), target.display())]
    Dangling { path: PathBuf, target: PathBuf },
    #[error("{} is not UTF-8", path.display())]
    NotText { path: PathBuf },
    #[error("{} has more than 64 MiB", path.display())]
    TooLong { path: PathBuf },
    #[error("{} is marked as not to be written (mode {mode:03o})", path.display())]
    ReadOnly { path: PathBuf, mode: u32 },
    #[error("{} is in a place of uid {owner}, and this process cannot work as that user", path.display())]
    NotOwner { path: PathBuf, owner: u32, source: io::Error },
    #[error("{} was changed by somebody else meanwhile; try again", path.display())]
    Changed { path: PathBuf },
}

/// A settings file and its current text.
#[derive(Debug)]
pub(super) struct Settings {
    /// The requested path.
    path: PathBuf,
    /// The real path, after all symbolic links.
    real: PathBuf,
    /// The text; empty if the file is missing.
    pub(super) text: String,
    found: Option<Metadata>,
}

impl Settings {
    /// Reads the file. A missing file counts as empty.
    pub(super) fn read(path: &Path) -> Result<Self, FileError> {
        as_owner(path, || Self::read_here(path))
    }

    fn read_here(path: &Path) -> Result<Self, FileError> {
        let path = path.to_path_buf();
        let cannot = |source| FileError::Read { path: path.clone(), source };
        let real = match path.canonicalize() {
            Ok(real) => real,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                if let Ok(target) = fs::read_link(&path) {
                    return Err(FileError::Dangling { path, target });
                }
                return Ok(Self { real: path.clone(), path, text: String::new(), found: None });
            }
            Err(error) => return Err(cannot(error)),
        };
        let metadata = real.metadata().map_err(cannot)?;
        // Opening a pipe would wait for a writer.
        if !metadata.is_file() {
            return Err(FileError::NotAFile { path });
        }
        let mut bytes = Vec::new();
        File::open(&real).and_then(|file| file.take(LONGEST + 1).read_to_end(&mut bytes)).map_err(cannot)?;
        if bytes.len() as u64 > LONGEST {
            return Err(FileError::TooLong { path });
        }
        match String::from_utf8(bytes) {
            Ok(text) => Ok(Self { path, real, text, found: Some(metadata) }),
            Err(_) => Err(FileError::NotText { path }),
        }
    }

    /// The requested path.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// True if the file was missing.
    pub(super) fn is_new(&self) -> bool {
        self.found.is_none()
    }

    /// The missing directories above the file, the nearest first.
    pub(super) fn missing_directories(&self) -> impl Iterator<Item = &Path> {
        missing(self.real.parent())
    }

    /// True if the file's mode allows writing. The rule holds for root too.
    pub(super) fn check_writable(&self) -> Result<(), FileError> {
        let mode = self.found.as_ref().map_or(0o644, |metadata| metadata.permissions().mode() & 0o777);
        if mode & 0o222 == 0 { Err(FileError::ReadOnly { path: self.path.clone(), mode }) } else { Ok(()) }
    }

    /// Replaces the file's text atomically.
    pub(super) fn write(&self, text: &str) -> Result<(), FileError> {
        as_owner(&self.path, || self.write_here(text))
    }

    fn write_here(&self, text: &str) -> Result<(), FileError> {
        self.check_writable()?;
        let cannot = |source| FileError::Write { path: self.path.clone(), source };
        let parent = self.real.parent().unwrap_or(Path::new("/"));
        fs::create_dir_all(parent).map_err(cannot)?;
        let _ours = self.lock_unchanged(parent)?;
        let name = self.real.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let beside = parent.join(format!(".{name}.{}.bashful", std::process::id()));
        let written = self.write_to(&beside, text).and_then(|()| fs::rename(&beside, &self.real));
        written.map_err(|source| {
            // Remove the incomplete temporary file.
            let _ = fs::remove_file(&beside);
            cannot(source)
        })
    }

    /// Removes the file, and a symbolic link to it.
    pub(super) fn delete(&self) -> Result<(), FileError> {
        as_owner(&self.path, || self.delete_here())
    }

    /// Removes the directories above the file up to `topmost`, as far as they are empty.
    pub(super) fn remove_directories(&self, topmost: &Path) -> Result<(), FileError> {
        as_owner(&self.path, || {
            remove_empty(self.path.parent(), Some(topmost));
            Ok(())
        })
    }

    fn delete_here(&self) -> Result<(), FileError> {
        self.check_writable()?;
        let _ours = self.lock_unchanged(self.real.parent().unwrap_or(Path::new("/")))?;
        let cannot = |source| FileError::Write { path: self.path.clone(), source };
        fs::remove_file(&self.real).map_err(cannot)?;
        if self.real == self.path || !self.path.is_symlink() {
            Ok(())
        } else {
            fs::remove_file(&self.path).map_err(cannot)
        }
    }

    /// Locks the file against other bashful processes, and checks that it is unchanged since it was read. The client
    /// itself takes no lock.
    fn lock_unchanged(&self, parent: &Path) -> Result<File, FileError> {
        let cannot = |source| FileError::Write { path: self.path.clone(), source };
        let lock = File::open(parent).and_then(|directory| {
            flock(&directory, FlockOperation::LockExclusive)?;
            Ok(directory)
        });
        let lock = lock.map_err(cannot)?;
        let now = Self::read_here(&self.path)?;
        if now.text != self.text || now.real != self.real {
            return Err(FileError::Changed { path: self.path.clone() });
        }
        Ok(lock)
    }

    fn write_to(&self, path: &Path, text: &str) -> io::Result<()> {
        let mut file = File::create_new(path)?;
        if let Some(found) = &self.found {
            let made = file.metadata()?;
            if (made.uid(), made.gid()) != (found.uid(), found.gid()) {
                std::os::unix::fs::fchown(&file, Some(found.uid()), Some(found.gid()))?;
            }
            file.set_permissions(Permissions::from_mode(found.permissions().mode() & 0o7777))?;
        }
        file.write_all(text.as_bytes())?;
        file.sync_all()
    }
}

/// A directory and those above it that are missing.
pub(super) fn missing(directory: Option<&Path>) -> impl Iterator<Item = &Path> {
    directory.into_iter().flat_map(Path::ancestors).take_while(|directory| !directory.exists())
}

/// Removes a directory and those above it, up to `topmost` or the first one that holds something.
pub(super) fn remove_empty(directory: Option<&Path>, topmost: Option<&Path>) {
    let Some((directory, topmost)) = directory.zip(topmost) else { return };
    let mut made = directory.ancestors().take_while(|directory| directory.starts_with(topmost));
    let _ = made.try_for_each(fs::remove_dir);
}

/// Does something as the user in whose directory a path is, if that is neither root nor this process's own user.
fn as_owner<T: Send>(path: &Path, act: impl FnOnce() -> Result<T, FileError> + Send) -> Result<T, FileError> {
    let Some((user, group)) = owner_below_root(path) else { return act() };
    let act = || {
        become_user(user, group).map_err(|error| FileError::NotOwner {
            path: path.to_path_buf(),
            owner: user,
            source: error.into(),
        })?;
        act()
    };
    // The user of a thread is its own, so the thread's end gives up the other user.
    let ended = std::thread::scope(|scope| Ok(std::thread::Builder::new().spawn_scoped(scope, act)?.join()));
    let no_thread = |source| FileError::NotOwner { path: path.to_path_buf(), owner: user, source };
    ended.map_err(no_thread)?.unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}

/// Makes this thread work with files as another user. Its real user stays, so the other one cannot send it signals.
fn become_user(user: u32, group: u32) -> Result<(), Errno> {
    set_thread_groups(&[])?;
    set_thread_res_gid(None, Gid::from_raw(group), None)?;
    set_thread_res_uid(None, Uid::from_raw(user), None)
}
