//! Carries the output of processes that were left behind into a file, so that none of them dies of a closed pipe.
//!
//! Invariant: the pipe is read to its end, whatever becomes of the file. What does not fit is dropped.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::io::Errno;

use crate::wire::Release;

/// A pipe being emptied into a file.
pub(crate) struct Pump {
    from: OwnedFd,
    to: OwnedFd,
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
        Some(Self { from, to, room: release.at_most })
    }

    /// Carries over what is there, or a good part of it: a writer that never pauses must not keep the keeper from its
    /// other duties.
    pub(crate) fn run(&mut self) -> Pumped {
        let mut buffer = [0; 16 * 1024];
        for _ in 0..16 {
            let count = match rustix::io::read(&self.from, &mut buffer) {
                Ok(count) if count > 0 => count,
                Err(Errno::AGAIN) => return Pumped::Nothing,
                Err(Errno::INTR) => continue,
                Ok(_) | Err(_) => return Pumped::Ended,
            };
            let fits = usize::try_from(self.room).unwrap_or(usize::MAX).min(count);
            self.room -= fits as u64;
            let mut rest = &buffer[..fits];
            while !rest.is_empty() {
                match rustix::io::write(&self.to, rest) {
                    Ok(written) => rest = &rest[written..],
                    Err(Errno::INTR) => {}
                    // A full disk: those who write are not to suffer for it.
                    Err(_) => {
                        self.room = 0;
                        break;
                    }
                }
            }
        }
        Pumped::Some
    }
}

impl AsFd for Pump {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.from.as_fd()
    }
}
