//! Learning how children ended.

use std::io;
use std::os::fd::{BorrowedFd, OwnedFd};

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

/// Takes away this one child if it has ended. Never waits. The handle is that of [`Child`](crate::spawn::Child).
pub fn reap(pid: Pid, handle: BorrowedFd<'_>) -> Result<Option<Exit>, Errno> {
    Ok(wait_for(pid, handle, WaitIdOptions::EXITED | WaitIdOptions::NOHANG)?.and_then(|status| exit_of_id(&status)))
}

/// True if a child is stopped, by `SIGSTOP` or its relatives. Takes nothing away: the next call says the same.
pub fn is_stopped(pid: Pid, handle: BorrowedFd<'_>) -> bool {
    let options = WaitIdOptions::STOPPED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
    matches!(wait_for(pid, handle, options), Ok(Some(_)))
}

/// Waits by the handle, which means one process for ever. Linux before 5.4 cannot do that, and a handle may be a substitute: then
/// by the id, which at least is never a stranger's, because a stranger is no child.
fn wait_for(pid: Pid, handle: BorrowedFd<'_>, options: WaitIdOptions) -> Result<Option<WaitIdStatus>, Errno> {
    match waitid(WaitId::PidFd(handle), options) {
        Err(Errno::INVAL | Errno::BADF | Errno::NOSYS | Errno::PERM) => waitid(WaitId::Pid(pid), options),
        other => other,
    }
}

/// A descriptor that becomes readable when a child ends, where the system has no handles on processes.
///
/// A thread waits for the child and closes the other end of a pipe. It blocks all signals, so they arrive where they did before.
pub(crate) fn ending(pid: Pid) -> io::Result<OwnedFd> {
    let (ended, running) = crate::pipe::plain()?;
    let _blocked = crate::signal::BlockedSignals::all()?;
    std::thread::Builder::new().name("bashful-wait".to_owned()).stack_size(64 * 1024).spawn(move || {
        let options = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
        while matches!(waitid(WaitId::Pid(pid), options), Err(Errno::INTR)) {}
        drop(running);
    })?;
    Ok(ended)
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
