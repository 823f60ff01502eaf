//! Signals that reach exactly the intended process, however often its id is used again.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags, Signal, getpid, kill_process};

use crate::proc::Process;

/// Opens a handle to a process.
pub fn open(pid: Pid) -> Result<OwnedFd, Errno> {
    rustix::process::pidfd_open(pid, PidfdFlags::empty())
}

/// Sends signals to exactly the process that the caller has read.
///
/// The id may belong to a stranger by now. So this opens a handle, reads the process again, and sends through the
/// handle. Where the system refuses handles (a seccomp filter, an old kernel, no descriptor left), the signal goes to
/// the id right after the second read: a stranger would have to get the id within microseconds.
pub fn send_to(process: &Process, signals: &[Signal]) -> Result<(), Errno> {
    let handle = match open(process.pid) {
        Ok(handle) => Some(handle),
        Err(Errno::SRCH) => return Err(Errno::SRCH),
        Err(_) => None,
    };
    if !is_unchanged(process) {
        return Err(Errno::SRCH);
    }
    for signal in signals {
        match handle.as_ref().map_or(Err(Errno::NOSYS), |handle| send(handle.as_fd(), *signal)) {
            Ok(()) => {}
            Err(Errno::SRCH) => return Err(Errno::SRCH),
            Err(_) if is_unchanged(process) => kill_process(process.pid, *signal)?,
            Err(_) => return Err(Errno::SRCH),
        }
    }
    Ok(())
}

/// Sends a signal to a child of this process: through its handle, or by its id where handles cannot send.
pub fn send_to_child(pid: Pid, pidfd: BorrowedFd<'_>, signal: Signal) -> Result<(), Errno> {
    match send(pidfd, signal) {
        Ok(()) => Ok(()),
        Err(Errno::SRCH) => Err(Errno::SRCH),
        Err(_) => {
            // A child keeps its id until its parent reaps it.
            let us = getpid().as_raw_nonzero().get();
            match Process::read(pid) {
                Some(child) if child.parent == us && !child.has_ended() => kill_process(pid, signal),
                Some(_) | None => Err(Errno::SRCH),
            }
        }
    }
}

/// True if this system can open handles and send signals through them.
pub fn is_usable() -> bool {
    // `SIGCONT` does nothing to a running process.
    open(getpid()).and_then(|us| send(us.as_fd(), Signal::CONT)).is_ok()
}

fn send(pidfd: BorrowedFd<'_>, signal: Signal) -> Result<(), Errno> {
    rustix::process::pidfd_send_signal(pidfd, signal)
}

fn is_unchanged(process: &Process) -> bool {
    Process::read(process.pid).is_some_and(|now| now.began == process.began && !now.has_ended())
}
