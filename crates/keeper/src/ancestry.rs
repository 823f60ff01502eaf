//! Tells whether this process was started by a command.
//!
//! A keeper adopts every orphan below it, so a command cannot get out from under its keeper by forking, and it cannot change
//! the command line of another process. An ancestor that is called like a keeper is therefore proof enough. A program that only
//! takes that name for itself gains nothing: whatever it starts counts as a command.
//!
//! The check does not see past the border of a process namespace, and not into processes that live elsewhere and do
//! what a command tells them (a tmux server or `systemd --user` of the same user).

use std::fs;

use bashful_sys::proc::Process;
use rustix::io::Errno;
use rustix::process::{Pid, getpid, test_kill_process};

use crate::NAME;

/// Longer chains of ancestors do not exist: ids end at four million, and a chain that changes is read again.
const MOST_ANCESTORS: usize = 100_000;

/// Looks at a chain that changes while it is read.
const LOOKS: usize = 10;

/// The ancestors of this process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ancestry {
    /// None of them is a keeper.
    Free,
    /// The keeper with this process id is one of them.
    BelowKeeper(i32),
    /// The ancestor with this process id belongs to this user and cannot be looked at, as `hidepid` hides a keeper.
    Hidden(i32),
}

/// Looks at all ancestors of this process.
pub fn ancestry() -> Ancestry {
    (0..LOOKS).find_map(|_| look()).unwrap_or(Ancestry::Hidden(getpid().as_raw_nonzero().get()))
}

/// None if somebody ended meanwhile, and the chain has become another one.
fn look() -> Option<Ancestry> {
    let mut process = Process::read(getpid())?;
    for _ in 0..MOST_ANCESTORS {
        let Some(parent) = Pid::from_raw(process.parent) else { return Some(Ancestry::Free) };
        let id = parent.as_raw_nonzero().get();
        if is_keeper(id) {
            return Some(Ancestry::BelowKeeper(id));
        }
        process = match (Process::read(parent), test_kill_process(parent)) {
            (Some(process), _) => process,
            (None, Ok(())) => return Some(Ancestry::Hidden(id)),
            (None, Err(Errno::SRCH)) => return None,
            // Of another user, on a system that does not show them. The keepers of commands are ours.
            (None, Err(_)) => return Some(Ancestry::Free),
        };
    }
    None
}

/// Readable for everybody, also of a process that forbids all other looks at it.
fn is_keeper(id: i32) -> bool {
    let line = fs::read(format!("/proc/{id}/cmdline")).unwrap_or_default();
    line.split(|byte| *byte == 0).next() == Some(NAME.to_bytes())
}
