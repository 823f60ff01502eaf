//! Waiting for several descriptors at once, with a deadline that holds for a process that is stopped meanwhile.
//!
//! `ppoll` forgets the time for which its caller was stopped: continued, it waits for the whole rest. `poll` keeps the deadline.

#![expect(unsafe_code, reason = "rustix has `ppoll` only")]

use std::os::fd::{AsRawFd, BorrowedFd};
use std::time::Duration;

/// Waits until one of these has something to read or has lost its peer, and says which.
///
/// Nobody has news after the timeout, which is rounded up to milliseconds, or after an interruption.
pub fn wait(watched: &[BorrowedFd<'_>], timeout: Option<Duration>) -> Vec<bool> {
    wait_or_room(watched, None, timeout).0
}

/// The same, or until there is room to write to `filled`; also whether there is.
pub fn wait_or_room(
    watched: &[BorrowedFd<'_>],
    filled: Option<BorrowedFd<'_>>,
    timeout: Option<Duration>,
) -> (Vec<bool>, bool) {
    let entry = |fd: &BorrowedFd<'_>, events| libc::pollfd { fd: fd.as_raw_fd(), events, revents: 0 };
    let mut entries: Vec<libc::pollfd> = watched.iter().map(|fd| entry(fd, libc::POLLIN)).collect();
    entries.extend(filled.map(|fd| entry(&fd, libc::POLLOUT)));
    let milliseconds = timeout.map_or(-1, |timeout| {
        libc::c_int::try_from(timeout.as_nanos().div_ceil(1_000_000)).unwrap_or(libc::c_int::MAX)
    });
    // SAFETY: the pointer and the count are those of a vector that outlives the call.
    unsafe { libc::poll(entries.as_mut_ptr(), entries.len() as libc::nfds_t, milliseconds) };
    // After an error the answers are as they were: none.
    let mut answers: Vec<bool> = entries.iter().map(|entry| entry.revents != 0).collect();
    let has_room = filled.is_some() && answers.pop().unwrap_or_default();
    (answers, has_room)
}
