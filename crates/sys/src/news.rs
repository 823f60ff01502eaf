//! Waits for several descriptors, with a deadline that also holds for a process that is stopped meanwhile.
//!
//! `ppoll` forgets the time for which its caller was stopped, and waits for the whole rest once continued. `poll` keeps
//! the deadline.

#![expect(unsafe_code, reason = "rustix has `ppoll` only")]

use std::os::fd::{AsRawFd, BorrowedFd};
use std::time::Duration;

/// Waits until a descriptor is readable or has lost its peer. Returns one flag for each.
///
/// All flags are false after the timeout, which is rounded up to milliseconds, and after an interruption.
pub fn wait(watched: &[BorrowedFd<'_>], timeout: Option<Duration>) -> Vec<bool> {
    let entry = |fd: &BorrowedFd<'_>| libc::pollfd { fd: fd.as_raw_fd(), events: libc::POLLIN, revents: 0 };
    let mut entries: Vec<libc::pollfd> = watched.iter().map(entry).collect();
    let milliseconds = timeout.map_or(-1, |timeout| {
        libc::c_int::try_from(timeout.as_nanos().div_ceil(1_000_000)).unwrap_or(libc::c_int::MAX)
    });
    // SAFETY: the pointer and the count are those of a vector that outlives the call.
    unsafe { libc::poll(entries.as_mut_ptr(), entries.len() as libc::nfds_t, milliseconds) };
    // After an error, `revents` are unchanged: zero.
    entries.iter().map(|entry| entry.revents != 0).collect()
}
