//! Makes the kernel continue this process after somebody has stopped it.
//!
//! No process can block or ignore `SIGSTOP`, and a stopped process cannot act. But the kernel can act for it: a socket
//! can send `SIGCONT` to its owner when something arrives or the peer hangs up, and so can a timer. Generating
//! `SIGCONT` continues a stopped process. A running process ignores it, and is not even interrupted.

#![expect(unsafe_code, reason = "neither the owner of a socket nor timers that signal are in rustix")]

use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, AsRawFd};
use std::ptr;
use std::time::Duration;

/// Continues this process whenever bytes arrive on a socket, a client connects to it, or its peer hangs up.
///
/// Not for a process that its user may suspend on purpose (Ctrl-Z): the next message would resume it.
pub fn on_news(socket: impl AsFd) -> io::Result<()> {
    on_news_with(socket, libc::SIGCONT)
}

/// Sends this signal to this process whenever bytes arrive on a socket.
pub(crate) fn on_news_with(socket: impl AsFd, signal: libc::c_int) -> io::Result<()> {
    let fd = socket.as_fd().as_raw_fd();
    let us = rustix::process::getpid().as_raw_nonzero().get();
    fcntl(fd, libc::F_SETOWN, us)?;
    fcntl(fd, F_SETSIG, signal)?;
    let flags = fcntl(fd, libc::F_GETFL, 0)?;
    fcntl(fd, libc::F_SETFL, flags | libc::O_ASYNC)?;
    Ok(())
}

/// `fcntl` command that sets the signal of `O_ASYNC`. The number is the same on every architecture.
const F_SETSIG: libc::c_int = 10;

fn fcntl(fd: libc::c_int, command: libc::c_int, value: libc::c_int) -> io::Result<libc::c_int> {
    // SAFETY: takes numbers only, and the descriptor is open while its owner is borrowed.
    let result = unsafe { libc::fcntl(fd, command, value) };
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(result) }
}

/// A timer that continues this process at a given time, even if somebody has stopped it.
#[derive(Debug)]
pub struct AlarmClock(libc::timer_t);

impl AlarmClock {
    /// Creates a timer that is not set.
    pub fn new() -> io::Result<Self> {
        let mut event = MaybeUninit::<libc::sigevent>::zeroed();
        // SAFETY: all zeros is a valid `sigevent`.
        let event = unsafe { event.assume_init_mut() };
        event.sigev_notify = libc::SIGEV_SIGNAL;
        event.sigev_signo = libc::SIGCONT;
        let mut timer: libc::timer_t = ptr::null_mut();
        // SAFETY: reads the event and writes the timer, both of which outlive the call.
        if unsafe { libc::timer_create(libc::CLOCK_MONOTONIC, event, &raw mut timer) } < 0 {
            return Err(io::Error::last_os_error());
        }
        Ok(Self(timer))
    }

    /// Sets the timer to go off once, this long from now. Replaces an earlier setting.
    pub fn set(&self, after: Duration) {
        let never = libc::timespec { tv_sec: 0, tv_nsec: 0 };
        // Zero would unset the timer.
        let after = after.max(Duration::from_nanos(1));
        let value = libc::timespec {
            tv_sec: after.as_secs().try_into().unwrap_or(libc::time_t::MAX),
            tv_nsec: after.subsec_nanos().into(),
        };
        let setting = libc::itimerspec { it_interval: never, it_value: value };
        // SAFETY: the timer exists as long as `self`, the setting outlives the call, and the old one is not asked for.
        // The call fails only for values out of range.
        let _ = unsafe { libc::timer_settime(self.0, 0, &raw const setting, ptr::null_mut()) };
    }
}

impl Drop for AlarmClock {
    fn drop(&mut self) {
        // SAFETY: the timer was created by `new`, and nobody uses it after this.
        unsafe { libc::timer_delete(self.0) };
    }
}
