//! Learning how children ended.

use std::os::fd::BorrowedFd;

use rustix::io::Errno;
use rustix::process::{Pid, WaitId, WaitIdOptions, WaitIdStatus, WaitOptions, WaitStatus, wait, waitid};

/// How a process ended, as the system says it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Exit {
    /// It returned this code.
    Code(u8),
    /// This signal ended it.
    Signal(u8),
}

/// What one look at the children of this process brought.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reaped {
    /// This one had ended and is gone now.
    Child(Pid, Exit),
    /// All that are left still run.
    AllRunning,
    /// There is no child at all.
    NoChild,
}

/// Takes away one child that has ended, if there is one. Never waits.
pub fn reap_any() -> Result<Reaped, Errno> {
    loop {
        match wait(WaitOptions::NOHANG) {
            Ok(None) => return Ok(Reaped::AllRunning),
            Ok(Some((pid, status))) => {
                if let Some(exit) = exit_of(status) {
                    return Ok(Reaped::Child(pid, exit));
                }
            }
            Err(Errno::CHILD) => return Ok(Reaped::NoChild),
            Err(Errno::INTR) => {}
            Err(error) => return Err(error),
        }
    }
}

/// Takes away this one child if it has ended. Never waits.
pub fn reap(pidfd: BorrowedFd<'_>) -> Result<Option<Exit>, Errno> {
    Ok(waitid(WaitId::PidFd(pidfd), WaitIdOptions::EXITED | WaitIdOptions::NOHANG)?
        .and_then(|status| exit_of_id(&status)))
}

/// True if a child is stopped, by `SIGSTOP` or its relatives. Takes nothing away: the next call says the same.
pub fn is_stopped(pidfd: BorrowedFd<'_>) -> bool {
    let options = WaitIdOptions::STOPPED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
    matches!(waitid(WaitId::PidFd(pidfd), options), Ok(Some(_)))
}

fn exit_of(status: WaitStatus) -> Option<Exit> {
    let small = |number: i32| u8::try_from(number & 0xff).expect("masked to a byte");
    status
        .exit_status()
        .map(|code| Exit::Code(small(code)))
        .or_else(|| status.terminating_signal().map(|number| Exit::Signal(small(number))))
}

fn exit_of_id(status: &WaitIdStatus) -> Option<Exit> {
    let small = |number: i32| u8::try_from(number & 0xff).expect("masked to a byte");
    status
        .exit_status()
        .map(|code| Exit::Code(small(code)))
        .or_else(|| status.terminating_signal().map(|number| Exit::Signal(small(number))))
}
