//! Limits, scheduling, processors, control group and the like: a process passes them on to its children, and other
//! processes of the same user can change them.

#![expect(unsafe_code, reason = "scheduling attributes and the priority of input and output are not in rustix")]

use std::io;

use rustix::thread::CpuSet;

use crate::limits::{self, Limit};

/// Files of `/proc/self` with settings that another process can write. The command line is no setting, but a process
/// whose command line was overwritten has had its memory written to.
const FILES: [&str; 6] = ["oom_score_adj", "timerslack_ns", "coredump_filter", "autogroup", "cgroup", "cmdline"];

/// Bytes of `struct sched_attr`, with the bounds of utilization.
const SCHEDULING: usize = 56;

/// `IOPRIO_WHO_PROCESS` of `ioprio_get`.
const THIS_PROCESS: libc::c_int = 1;

/// Settings of this process that children inherit, to find out later if anybody changed them (`prlimit`, `renice`,
/// `taskset`, `chrt`, `ionice`, `choom`).
#[derive(Debug, PartialEq, Eq)]
pub struct Inherited {
    limits: Vec<Limit>,
    /// Policy, niceness, priority and utilization; zeros where the system does not tell.
    scheduling: [u8; SCHEDULING],
    io_priority: libc::c_long,
    processors: CpuSet,
    /// None for a file that this system lacks.
    files: [Option<Vec<u8>>; FILES.len()],
}

impl Inherited {
    /// Reads the settings of the calling thread.
    pub fn read() -> io::Result<Self> {
        let mut scheduling = [0; SCHEDULING];
        // SAFETY: the kernel writes at most as many bytes as the buffer has.
        unsafe { libc::syscall(libc::SYS_sched_getattr, 0, scheduling.as_mut_ptr(), SCHEDULING, 0) };
        // SAFETY: takes numbers, and returns one.
        let io_priority = unsafe { libc::syscall(libc::SYS_ioprio_get, THIS_PROCESS, 0) };
        Ok(Self {
            limits: limits::all(),
            scheduling,
            io_priority,
            processors: rustix::thread::sched_getaffinity(None)?,
            files: FILES.map(|name| std::fs::read(format!("/proc/self/{name}")).ok()),
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
        #[expect(clippy::disallowed_methods, reason = "a test may panic")]
        let nicer = std::thread::spawn(|| {
            rustix::process::setpriority_process(None, 19).expect("anybody may be nicer");
            Inherited::read().expect("this is Linux")
        });
        assert_ne!(before, nicer.join().expect("it ends"));
    }
}
