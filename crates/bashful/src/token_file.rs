//! Reads the token of `bashful mcp --http` from a file.
//!
//! The token lets its holder run any command, so a file that another user can read or replace protects nothing. Such a file is
//! refused before the server listens.

use std::fs::{File, Metadata, OpenOptions};
use std::io::Read;
use std::os::unix::fs::{FileTypeExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use rustix::fs::OFlags;
use rustix::process::geteuid;
use thiserror::Error;

/// Bytes in a token file, at most. Headers of this size still pass every proxy.
const LONGEST: u64 = 4096;

/// Permission bits that let the group or everybody read the file or change it.
const OTHERS: u32 = 0o066;

/// The reason why a token file is refused.
#[derive(Debug, Error)]
pub(crate) enum TokenFileError {
    #[error("cannot read the token in {}", path.display())]
    Unreadable { path: PathBuf, source: std::io::Error },
    #[error("the token file {} is {kind}; it has to be a regular file", path.display())]
    NotAFile { path: PathBuf, kind: &'static str },
    #[error("the token file {path} has mode {mode:04o}, so other users can read or change it; run `chmod 600 {path}`", path = path.display())]
    OpenToOthers { path: PathBuf, mode: u32 },
    #[error(
        "the token file {path} belongs to user {owner}, but bashful runs as user {user}; run `chown {user} {path}`, or copy it",
        path = path.display()
    )]
    OfAnotherUser { path: PathBuf, owner: u32, user: u32 },
    #[error("the token file {} is empty; `openssl rand -hex 32` makes a token", path.display())]
    Empty { path: PathBuf },
    #[error("the token file {} has {size} bytes; a token has at most {LONGEST}", path.display())]
    TooLarge { path: PathBuf, size: u64 },
}

/// The text of a token file that nobody else can read or change.
pub(crate) fn read(path: &Path) -> Result<String, TokenFileError> {
    let unreadable = |source| TokenFileError::Unreadable { path: path.to_owned(), source };
    // Opening a named pipe would otherwise wait for its writer.
    let flags = (OFlags::NONBLOCK | OFlags::NOCTTY).bits().cast_signed();
    let file = OpenOptions::new().read(true).custom_flags(flags).open(path).map_err(unreadable)?;
    // Checks the open file, because the path may lead elsewhere by then.
    check(path, &file.metadata().map_err(unreadable)?)?;
    let text = read_text(file).map_err(unreadable)?;
    if text.trim().is_empty() {
        return Err(TokenFileError::Empty { path: path.to_owned() });
    }
    Ok(text)
}

fn check(path: &Path, found: &Metadata) -> Result<(), TokenFileError> {
    let path = path.to_owned();
    if !found.is_file() {
        return Err(TokenFileError::NotAFile { path, kind: kind(found) });
    }
    let (owner, user) = (found.uid(), geteuid().as_raw());
    if !is_trusted(owner, user) {
        return Err(TokenFileError::OfAnotherUser { path, owner, user });
    }
    let mode = found.mode() & 0o7777;
    if mode & OTHERS != 0 {
        return Err(TokenFileError::OpenToOthers { path, mode });
    }
    if found.len() > LONGEST {
        return Err(TokenFileError::TooLarge { path, size: found.len() });
    }
    Ok(())
}

/// True if a file of this owner can hold a secret of this user. Root reads and changes every file anyway.
fn is_trusted(owner: u32, user: u32) -> bool {
    owner == user || owner == 0
}

fn kind(found: &Metadata) -> &'static str {
    let kind = found.file_type();
    match () {
        () if kind.is_dir() => "a directory",
        () if kind.is_fifo() => "a pipe",
        () if kind.is_socket() => "a socket",
        () => "a device",
    }
}

fn read_text(file: File) -> std::io::Result<String> {
    let mut text = String::new();
    file.take(LONGEST).read_to_string(&mut text)?;
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_user_and_root_are_trusted() {
        assert!(is_trusted(1000, 1000) && is_trusted(0, 1000) && is_trusted(0, 0));
        assert!(!is_trusted(1001, 1000) && !is_trusted(1000, 0));
    }
}
