//! Puts a text in the place of a child's argument.
//!
//! A shell started as `bash -c PLACEHOLDER` looks at the placeholder only when it is done with its start-up. Whoever
//! keeps it waiting there can still decide what it will find, and to the shell that *is* its argument.
//!
//! Needs the right to trace the child, which a parent has unless the system forbids tracing altogether.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::FileExt;

use rustix::process::Pid;

/// Overwrites the last argument of a child, from its beginning.
///
/// `argv` is what the child was started with. The rest of the argument becomes NUL bytes. Fails without changing
/// anything if the child's memory does not hold those arguments, or if `text` does not fit.
pub fn replace_last_argument(pid: Pid, argv: &[&[u8]], text: &[u8]) -> io::Result<()> {
    let Some((last, before)) = argv.split_last() else {
        return Err(io::Error::other("the child has no argument to replace"));
    };
    if text.len() > last.len() {
        return Err(io::Error::other("the text is longer than the argument it replaces"));
    }
    let memory = OpenOptions::new().read(true).write(true).open(format!("/proc/{}/mem", pid.as_raw_nonzero()))?;
    let begin = arguments_begin(pid)?;
    let offset: usize = before.iter().map(|argument| argument.len() + 1).sum();
    let place = begin + offset as u64;
    if !holds(&memory, place, last)? {
        return Err(io::Error::other("the child's arguments are not where they should be"));
    }
    let mut padded = text.to_vec();
    padded.resize(last.len(), 0);
    memory.write_all_at(&padded, place)
}

fn holds(memory: &File, place: u64, expected: &[u8]) -> io::Result<bool> {
    let mut found = vec![0; expected.len() + 1];
    memory.read_exact_at(&mut found, place)?;
    Ok(found.split_last() == Some((&0, expected)))
}

/// Where the arguments of a process begin in its memory.
fn arguments_begin(pid: Pid) -> io::Result<u64> {
    /// Place of `arg_start` behind the name: it is field 48, and the first of them is field 3.
    const ARG_START: usize = 48 - 3;
    let stat = std::fs::read_to_string(format!("/proc/{}/stat", pid.as_raw_nonzero()))?;
    stat.rsplit_once(')')
        .and_then(|(_, fields)| fields.split_ascii_whitespace().nth(ARG_START))
        .and_then(|field| field.parse().ok())
        .filter(|address| *address != 0)
        .ok_or_else(|| io::Error::other("the system does not tell where the child's arguments are"))
}
