//! Finds out if a bashful command started this process.
//!
//! A keeper adopts every orphan below it, so a command cannot escape its keeper by forking, nor can it change the
//! command line of another process. An ancestor with the name of a keeper is therefore proof enough. A program that
//! takes the name for itself gains nothing: everything it starts counts as part of a command.
//!
//! The check does not cross the border of a process namespace. It does not see processes elsewhere that obey a command,
//! such as a tmux server or `systemd --user` of the same user.

use std::fs;

use bashful_sys::proc::Process;
use rustix::io::Errno;
use rustix::process::{Pid, getpid, test_kill_process};

use crate::NAME;

/// Limit on the chain of ancestors. Longer chains do not exist, and a chain that changes is read again.
const MOST_ANCESTORS: usize = 100_000;

/// Attempts to read a chain that changes while it is read.
const ATTEMPTS: usize = 10;

/// The result of [`ancestry`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ancestry {
    /// No ancestor is a keeper.
    Free,
    /// The nearest keeper among the ancestors, by process id.
    BelowKeeper(i32),
    /// An ancestor of the same user, by process id, that cannot be read: `hidepid` could hide a keeper there.
    Hidden(i32),
}

/// Searches the ancestors of this process for a keeper.
pub fn ancestry() -> Ancestry {
    ancestry_of(getpid())
}

/// Searches the ancestors of a process for a keeper. A process that has ended is hidden.
pub fn ancestry_of(process: Pid) -> Ancestry {
    (0..ATTEMPTS).find_map(|_| read_chain(process)).unwrap_or(Ancestry::Hidden(process.as_raw_nonzero().get()))
}

/// Reads the chain of ancestors once; none if a process in it ended meanwhile.
fn read_chain(process: Pid) -> Option<Ancestry> {
    let mut process = Process::read(process)?;
    for _ in 0..MOST_ANCESTORS {
        let Some(parent) = Pid::from_raw(process.parent) else { return Some(Ancestry::Free) };
        let id = parent.as_raw_nonzero().get();
        if is_keeper(parent) {
            return Some(Ancestry::BelowKeeper(id));
        }
        process = match (Process::read(parent), test_kill_process(parent)) {
            (Some(process), _) => process,
            (None, Ok(())) => return Some(Ancestry::Hidden(id)),
            (None, Err(Errno::SRCH)) => return None,
            // An ancestor of another user that the system hides. The keepers of commands belong to this user.
            (None, Err(_)) => return Some(Ancestry::Free),
        };
    }
    None
}

/// True if the process has the name of a keeper. `cmdline` is readable even of a process that forbids inspection.
pub fn is_keeper(process: Pid) -> bool {
    let line = fs::read(format!("/proc/{}/cmdline", process.as_raw_nonzero())).unwrap_or_default();
    line.split(|byte| *byte == 0).next() == Some(NAME.to_bytes())
}
