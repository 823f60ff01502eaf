//! Copies bytes from a pipe into a file, so that no process dies of `SIGPIPE`.
//!
//! Invariant: the pipe is read to its end, whatever happens to the file. Bytes that cannot be written are dropped.

use std::fs::File;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStringExt;
use std::path::PathBuf;

use rustix::io::Errno;

use crate::output::OutputFile;
use crate::protocol::PipeHandover;

/// A pipe, and the file that its bytes go to.
pub(crate) struct Pump {
    from: OwnedFd,
    /// None if the bytes are dropped.
    to: Option<OutputFile>,
    /// Bytes that may be written before the file's limit has to be checked.
    room: u64,
}

/// State of a pipe after one [`Pump::run`].
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Pumped {
    /// The pipe may hold more.
    Some,
    /// The pipe is empty for now.
    Nothing,
    /// Every writer is gone.
    Ended,
}

impl Pump {
    pub(crate) fn new(release: PipeHandover) -> Option<Self> {
        let [from, to] = release.from_to?;
        let path = PathBuf::from(std::ffi::OsString::from_vec(release.path));
        let to =
            (!path.as_os_str().is_empty()).then(|| OutputFile::new(File::from(to), path, release.at_most, release.gap));
        Some(Self { from, to, room: 0 })
    }

    /// The file; none if the bytes are dropped.
    pub(crate) fn file(&self) -> Option<&File> {
        self.to.as_ref().map(OutputFile::file)
    }

    /// Copies up to 256 KiB: a writer that never pauses must not keep the keeper from its other duties.
    pub(crate) fn run(&mut self) -> Pumped {
        let mut buffer = [0; 16 * 1024];
        for _ in 0..16 {
            match rustix::io::read(&self.from, &mut buffer) {
                Ok(count) if count > 0 => self.write(&buffer[..count]),
                Err(Errno::AGAIN) => return Pumped::Nothing,
                Err(Errno::INTR) => {}
                Ok(_) | Err(_) => return Pumped::Ended,
            }
        }
        Pumped::Some
    }

    fn write(&mut self, bytes: &[u8]) {
        let length = bytes.len() as u64;
        if self.room < length {
            // A file that cannot be shortened stays as it is, and later bytes are dropped.
            match self.to.as_mut().map(OutputFile::enforce_limit) {
                Some(Ok(room)) => self.room = room.max(length),
                Some(Err(_)) => self.to = None,
                None => {}
            }
        }
        let Some(to) = &self.to else { return };
        self.room -= length;
        let mut rest = bytes;
        while !rest.is_empty() {
            match rustix::io::write(to.file(), rest) {
                Ok(written) => rest = &rest[written..],
                Err(Errno::INTR) => {}
                // The disk is full. Writers are not to suffer for it.
                Err(_) => return,
            }
        }
    }
}

impl AsFd for Pump {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.from.as_fd()
    }
}
