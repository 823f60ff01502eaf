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

/// The last argument of a child, in its memory.
#[derive(Debug)]
pub struct LastArgument {
    memory: File,
    place: u64,
    length: usize,
}

impl LastArgument {
    /// Finds it. `argv` is what the child was started with; its memory has to hold exactly that.
    pub fn find(pid: Pid, argv: &[&[u8]]) -> io::Result<Self> {
        let Some((last, before)) = argv.split_last() else {
            return Err(io::Error::other("the child has no argument to replace"));
        };
        let memory = OpenOptions::new().read(true).write(true).open(format!("/proc/{}/mem", pid.as_raw_nonzero()))?;
        let offset: usize = before.iter().map(|argument| argument.len() + 1).sum();
        let place = arguments_begin(pid)? + offset as u64;
        let mut found = vec![0; last.len() + 1];
        memory.read_exact_at(&mut found, place)?;
        if found.split_last() != Some((&0, last)) {
            return Err(io::Error::other("the child's arguments are not where they should be"));
        }
        Ok(Self { memory, place, length: last.len() })
    }

    /// Overwrites it, from its beginning. The rest of it becomes NUL bytes.
    pub fn replace(&self, text: &[u8]) -> io::Result<()> {
        if text.len() > self.length {
            return Err(io::Error::other("the text is longer than the argument it replaces"));
        }
        let mut padded = text.to_vec();
        padded.resize(self.length, 0);
        self.memory.write_all_at(&padded, self.place)
    }
}

/// Where the arguments of a process begin in its memory.
fn arguments_begin(pid: Pid) -> io::Result<u64> {
    /// Place of `arg_start` behind the name: it is field 48, and the first of them is field 3.
    const ARG_START: usize = 48 - 3;
    crate::proc::stat_fields(pid)?
        .split_ascii_whitespace()
        .nth(ARG_START)
        .and_then(|field| field.parse().ok())
        .filter(|address| *address != 0)
        .ok_or_else(|| io::Error::other("the system does not tell where the child's arguments are"))
}
