//! Waiting for a descriptor on an event loop.

#![expect(unsafe_code, reason = "the event loop wants a promise that its callers keep a descriptor open")]

use std::io;
use std::os::fd::OwnedFd;

use tokio::io::Interest;
use tokio::io::unix::AsyncFd;

/// Lets an event loop tell when there is something to read.
pub fn readable(fd: OwnedFd) -> io::Result<AsyncFd<OwnedFd>> {
    // SAFETY: an `OwnedFd` stands for one open descriptor as long as it lives, and `AsyncFd` owns it.
    unsafe { AsyncFd::register_with_interest(fd, Interest::READABLE) }.map_err(io::Error::from)
}
