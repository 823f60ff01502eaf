//! Descriptors and timers on a tokio event loop.

#![expect(unsafe_code, reason = "the event loop wants a promise that its callers keep a descriptor open")]

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, poll};
use rustix::time::{
    Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec, timerfd_create, timerfd_settime,
};
use tokio::io::Interest;
use tokio::io::unix::{AsyncFd, AsyncFdRegisterError};

/// Registers a descriptor, to wait until it is readable.
pub fn readable(fd: OwnedFd) -> io::Result<AsyncFd<OwnedFd>> {
    readable_or_back(fd).map_err(io::Error::from)
}

/// Registers a descriptor, to wait until it is writable.
pub fn writable(fd: OwnedFd) -> io::Result<AsyncFd<OwnedFd>> {
    // SAFETY: as for `readable_or_back`.
    Ok(unsafe { AsyncFd::register_with_interest(fd, Interest::WRITABLE) }?)
}

/// True if a read returns at once: there is something, or there will never be anything. Never waits.
pub fn is_readable(fd: impl AsFd) -> bool {
    let mut wanted = [PollFd::new(&fd, PollFlags::IN)];
    poll(&mut wanted, Some(&Timespec { tv_sec: 0, tv_nsec: 0 })).is_ok_and(|ready| ready > 0)
}

/// Like [`readable`], but an error returns the descriptor.
pub fn readable_or_back(fd: OwnedFd) -> Result<AsyncFd<OwnedFd>, AsyncFdRegisterError<OwnedFd>> {
    // SAFETY: an `OwnedFd` stands for one open descriptor as long as it lives, and `AsyncFd` owns it.
    unsafe { AsyncFd::register_with_interest(fd, Interest::READABLE) }
}

/// A timer for times that are too short for tokio's own, which counts milliseconds.
pub struct Alarm(AsyncFd<OwnedFd>);

impl Alarm {
    /// Creates a timer that is not set.
    pub fn new() -> io::Result<Self> {
        let flags = TimerfdFlags::CLOEXEC | TimerfdFlags::NONBLOCK;
        Ok(Self(readable(timerfd_create(TimerfdClockId::Monotonic, flags)?)?))
    }

    /// Sets the timer to go off once, this long from now.
    pub fn set(&self, after: Duration) {
        let none = Timespec { tv_sec: 0, tv_nsec: 0 };
        let value = Timespec {
            tv_sec: i64::try_from(after.as_secs()).unwrap_or(i64::MAX),
            tv_nsec: i64::from(after.subsec_nanos()),
        };
        // The call fails only for values out of range, which a `Duration` cannot have.
        let _ =
            timerfd_settime(&self.0, TimerfdTimerFlags::empty(), &Itimerspec { it_interval: none, it_value: value });
    }

    /// Waits until the timer has gone off. Dropping the future leaves the timer set.
    pub async fn passed(&self) {
        if let Ok(mut ready) = self.0.readable().await {
            ready.clear_ready();
        }
    }
}
