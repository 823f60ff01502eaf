//! Handles that mean one process, however often its id is used again.

use std::os::fd::{BorrowedFd, OwnedFd};

use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags, Signal};

/// Opens a handle to a process.
pub fn open(pid: Pid) -> Result<OwnedFd, Errno> {
    rustix::process::pidfd_open(pid, PidfdFlags::empty())
}

/// Sends a signal to exactly this process.
pub fn send(pidfd: BorrowedFd<'_>, signal: Signal) -> Result<(), Errno> {
    rustix::process::pidfd_send_signal(pidfd, signal)
}
