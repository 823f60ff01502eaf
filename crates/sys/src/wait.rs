//! Reaps children and returns their exit status.

use std::io;
use std::os::fd::{BorrowedFd, OwnedFd};

use rustix::io::Errno;
use rustix::process::{Pid, WaitId, WaitIdOptions, WaitIdStatus, WaitOptions, WaitStatus, wait, waitid};

/// Exit status of a process.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Exit {
    /// The process returned this code.
    Code(u8),
    /// This signal ended the process.
    Signal(u8),
}

/// Result of [`reap_any`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reaped {
    /// This child had ended, and was reaped.
    Child(Pid, Exit),
    /// Children are left, and all of them run.
    AllRunning,
    /// This process has no children.
    NoChild,
}

/// Reaps one child that has ended, if there is one. Never waits.
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

/// Reaps this child if it has ended. Never waits. The handle is that of [`Child`](crate::spawn::Child).
pub fn reap(pid: Pid, handle: BorrowedFd<'_>) -> Result<Option<Exit>, Errno> {
    Ok(wait_for(pid, handle, WaitIdOptions::EXITED | WaitIdOptions::NOHANG)?.and_then(|status| exit_of_id(&status)))
}

/// True if a child is stopped, by `SIGSTOP` or a relative. Reaps nothing, so the next call returns the same.
pub fn is_stopped(pid: Pid, handle: BorrowedFd<'_>) -> bool {
    let options = WaitIdOptions::STOPPED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
    matches!(wait_for(pid, handle, options), Ok(Some(_)))
}

/// Waits by the handle, which always means the same process. Linux before 5.4 cannot do that, and the handle may be a
/// substitute. Then it waits by the id, which is never a stranger's, because a stranger is no child.
fn wait_for(pid: Pid, handle: BorrowedFd<'_>, options: WaitIdOptions) -> Result<Option<WaitIdStatus>, Errno> {
    match waitid(WaitId::PidFd(handle), options) {
        Err(Errno::INVAL | Errno::BADF | Errno::NOSYS | Errno::PERM) => waitid(WaitId::Pid(pid), options),
        other => other,
    }
}

/// Returns a descriptor that becomes readable when a child ends, where the system has no handles.
///
/// A thread waits for the child and then closes the other end of a pipe. The thread blocks all signals, so they arrive
/// at the same threads as before.
pub(crate) fn end_notifier(pid: Pid) -> io::Result<OwnedFd> {
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
