//! Signals that reach exactly the process they are meant for, however often its id is used again.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags, Signal, getpid, kill_process};

use crate::proc::Process;

/// Opens a handle to a process.
pub fn open(pid: Pid) -> Result<OwnedFd, Errno> {
    rustix::process::pidfd_open(pid, PidfdFlags::empty())
}

/// Sends signals to exactly the process that was seen.
///
/// Its id may belong to a stranger by now. So there is first a handle, then a second look, then the signal through the
/// handle. Where the system refuses handles (a seccomp filter, an old kernel, no descriptor left), the signal goes to the id
/// right after the second look: a stranger would have to take the id within microseconds.
pub fn send_to(process: &Process, signals: &[Signal]) -> Result<(), Errno> {
    let handle = match open(process.pid) {
        Ok(handle) => Some(handle),
        Err(Errno::SRCH) => return Err(Errno::SRCH),
        Err(_) => None,
    };
    if !is_still(process) {
        return Err(Errno::SRCH);
    }
    for signal in signals {
        match handle.as_ref().map_or(Err(Errno::NOSYS), |handle| send(handle.as_fd(), *signal)) {
            Ok(()) => {}
            Err(Errno::SRCH) => return Err(Errno::SRCH),
            Err(_) if is_still(process) => kill_process(process.pid, *signal)?,
            Err(_) => return Err(Errno::SRCH),
        }
    }
    Ok(())
}

/// Sends a signal to a child of this process, by its handle, or by its id where handles cannot send.
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

/// True if handles can be opened and can send signals.
pub fn is_usable() -> bool {
    // Continuing a process that runs changes nothing.
    open(getpid()).and_then(|us| send(us.as_fd(), Signal::CONT)).is_ok()
}

fn send(pidfd: BorrowedFd<'_>, signal: Signal) -> Result<(), Errno> {
    rustix::process::pidfd_send_signal(pidfd, signal)
}

fn is_still(process: &Process) -> bool {
    Process::read(process.pid).is_some_and(|now| now.began == process.began && !now.has_ended())
}
