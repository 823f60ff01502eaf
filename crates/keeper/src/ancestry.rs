//! Finds out if a bashful command, or an agent, started this process.
//!
//! A keeper adopts every orphan below it, so a command cannot escape its keeper by forking. Three marks tell a keeper: its
//! command line, which a command can overwrite in the keeper's memory; its name, which the kernel keeps elsewhere; and
//! the file of its program, where that is this one. Each is proof enough. A program that takes a mark for itself gains
//! nothing: everything it starts counts as part of a command.
//!
//! The check does not cross the border of a process namespace. It does not see processes elsewhere that obey a command,
//! such as a tmux server or `systemd --user` of the same user.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

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
            // Somebody else has the id of the parent by now.
            (Some(parent), _) if parent.began > process.began => return None,
            (Some(parent), _) => parent,
            (None, Ok(())) => return Some(Ancestry::Hidden(id)),
            (None, Err(Errno::SRCH)) => return None,
            // An ancestor of another user that the system hides. The keepers of commands belong to this user.
            (None, Err(_)) => return Some(Ancestry::Free),
        };
    }
    None
}

/// The nearest ancestor that is one of these programs, or the nearest process from this one upwards that was started with
/// one of these variables, by process id.
///
/// A variable that a process has removed is still seen in the environment that its parent was started with.
pub fn marked_ancestor(programs: &[&str], variables: &[&str]) -> Option<i32> {
    // A process that forbids inspection cannot read its own `environ` either.
    if variables.iter().any(|name| std::env::var_os(name).is_some()) {
        return Some(getpid().as_raw_nonzero().get());
    }
    marked_ancestor_of(getpid(), programs, variables)
}

/// The same for another process.
pub fn marked_ancestor_of(process: Pid, programs: &[&str], variables: &[&str]) -> Option<i32> {
    let id = process.as_raw_nonzero().get();
    if has_variable(id, variables) {
        return Some(id);
    }
    let mut process = Process::read(process)?;
    for _ in 0..MOST_ANCESTORS {
        let id = process.parent;
        if is_program(id, programs) || has_variable(id, variables) {
            return Some(id);
        }
        process = Process::read(Pid::from_raw(id)?)?;
    }
    None
}

/// True if the process is one of these programs, or an interpreter of JavaScript that runs one of them.
fn is_program(process: i32, programs: &[&str]) -> bool {
    let line = fs::read(format!("/proc/{process}/cmdline")).unwrap_or_default();
    let mut words = line.split(|byte| *byte == 0).map(OsStr::from_bytes).map(Path::new);
    let is_one = |word: &Path| word.file_stem().is_some_and(|name| programs.iter().any(|program| name == *program));
    let Some(first) = words.next() else { return false };
    let interprets = ["node", "bun", "deno"].iter().any(|name| first.ends_with(name));
    let script = words.find(|word| !word.as_os_str().as_bytes().starts_with(b"-")).filter(|_| interprets);
    is_one(first) || script.is_some_and(is_one)
}

/// True if the process was started with one of these variables. The environment of another user cannot be read.
fn has_variable(process: i32, variables: &[&str]) -> bool {
    let environment = fs::read(format!("/proc/{process}/environ")).unwrap_or_default();
    let mut names = environment.split(|byte| *byte == 0).filter_map(|pair| pair.split(|byte| *byte == b'=').next());
    names.any(|name| variables.iter().any(|variable| variable.as_bytes() == name))
}

/// True if the process is a keeper. Its command line and name are readable even if it forbids inspection.
pub fn is_keeper(process: Pid) -> bool {
    let read = |file: &str| fs::read(format!("/proc/{}/{file}", process.as_raw_nonzero())).unwrap_or_default();
    read("cmdline").split(|byte| *byte == 0).next() == Some(NAME.to_bytes())
        || read("comm").trim_ascii_end() == NAME.to_bytes()
        || runs_this_program(process)
}

/// True if the process runs the file that this process runs, wherever that file is by now.
fn runs_this_program(process: Pid) -> bool {
    let file = |id: &str| fs::metadata(format!("/proc/{id}/exe")).map(|file| (file.dev(), file.ino())).ok();
    let ours = file("self");
    ours.is_some() && ours == file(&process.to_string())
}
