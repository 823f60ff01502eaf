//! Carries what processes write from their pipe into a file, so that none of them dies of a closed pipe.
//!
//! Invariant: the pipe is read to its end, whatever becomes of the file. What cannot be written is dropped.

use std::fs::File;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStringExt;
use std::path::PathBuf;

use rustix::io::Errno;

use crate::output::OutputFile;
use crate::protocol::Release;

/// A pipe being emptied into a file.
pub(crate) struct Pump {
    from: OwnedFd,
    /// None if what is written is not kept.
    to: Option<OutputFile>,
    /// So much may be written before the file has to be looked at.
    room: u64,
}

/// What came of one turn.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Pumped {
    /// There may be more.
    Some,
    /// There is nothing more for now.
    Nothing,
    /// There will never be more.
    Ended,
}

impl Pump {
    pub(crate) fn new(release: Release) -> Option<Self> {
        let [from, to] = release.from_to?;
        let path = PathBuf::from(std::ffi::OsString::from_vec(release.path));
        let to =
            (!path.as_os_str().is_empty()).then(|| OutputFile::new(File::from(to), path, release.at_most, release.gap));
        Some(Self { from, to, room: 0 })
    }

    /// The file, if there is one.
    pub(crate) fn file(&self) -> Option<&File> {
        self.to.as_ref().map(OutputFile::file)
    }

    /// Carries over what is there, or a good part of it: a writer that never pauses must not keep the keeper from its
    /// other duties.
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
            // Where no room can be made the file stays as it is, and what comes is dropped.
            match self.to.as_mut().map(OutputFile::hold) {
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
                // A full disk: those who write are not to suffer for it.
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
