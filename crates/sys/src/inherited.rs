//! Limits, niceness, scheduling and processors: a process passes them on to its children, and other processes of the
//! same user can change them.

#![expect(unsafe_code, reason = "scheduling policies are not in rustix")]

use std::io;

use rustix::thread::CpuSet;

use crate::limits::{self, Limit};

/// Settings of this process that children inherit, to find out later if anybody changed them (`prlimit`, `renice`,
/// `taskset`, `chrt`).
#[derive(Debug, PartialEq, Eq)]
pub struct Inherited {
    limits: Vec<Limit>,
    nice: i32,
    policy: i32,
    processors: CpuSet,
}

impl Inherited {
    /// Reads the settings of the calling thread.
    pub fn read() -> io::Result<Self> {
        // SAFETY: takes a number, and returns one.
        let policy = unsafe { libc::sched_getscheduler(0) };
        if policy < 0 {
            return Err(io::Error::last_os_error());
        }
        Ok(Self {
            limits: limits::all(),
            nice: rustix::process::getpriority_process(None)?,
            policy,
            processors: rustix::thread::sched_getaffinity(None)?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_standing_differs_only_when_something_has_changed() {
        let before = Inherited::read().expect("this is Linux");
        assert_eq!(before, Inherited::read().expect("this is Linux"));
        // On Linux, niceness belongs to a thread, so no other test sees this.
        let nicer = std::thread::spawn(|| {
            rustix::process::setpriority_process(None, 19).expect("anybody may be nicer");
            Inherited::read().expect("this is Linux")
        });
        assert_ne!(before, nicer.join().expect("it ends"));
    }
}
