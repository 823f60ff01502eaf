//! Copies bytes from a pipe into a file, so that no process dies of `SIGPIPE`.
//!
//! Invariant: the pipe is read to its end, whatever happens to the file. Bytes that cannot be written are listed as
//! missing.

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
        Some(Self { from, to })
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
        if let Some(to) = &mut self.to {
            to.append(bytes);
        }
    }

    /// Records what the file lacks at its end, because something else is written behind it.
    pub(crate) fn settle(&mut self) {
        self.to.iter_mut().for_each(OutputFile::settle);
    }
}

impl AsFd for Pump {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.from.as_fd()
    }
}
