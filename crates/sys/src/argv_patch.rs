//! Overwrites the last argument of a child process in its memory.
//!
//! A shell started as `bash -c PLACEHOLDER` reads the placeholder only after its start-up. A parent that makes it wait
//! there can still replace the script. For the shell, the new text *is* its argument.
//!
//! The parent needs the right to trace the child, which it has unless the system forbids tracing altogether.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::FileExt;
use std::thread::sleep;
use std::time::{Duration, Instant};

use rustix::process::Pid;

/// Time limit for the kernel to publish the arguments. It takes microseconds, or longer while the child gets no
/// processor.
const PUBLISHED_WITHIN: Duration = Duration::from_secs(5);
const POLL_PAUSE: Duration = Duration::from_micros(50);

/// The last argument of a child, in the child's memory.
#[derive(Debug)]
pub struct LastArgument {
    memory: File,
    address: u64,
    length: usize,
}

impl LastArgument {
    /// Finds the argument. `argv` has to be the exact arguments that the child was started with.
    pub fn find(pid: Pid, argv: &[&[u8]]) -> io::Result<Self> {
        let Some((last, before)) = argv.split_last() else {
            return Err(io::Error::other("the child has no argument to replace"));
        };
        let offset: usize = before.iter().map(|argument| argument.len() + 1).sum();
        let address = find_arguments(pid, (offset + last.len() + 1) as u64)? + offset as u64;
        // Opened only now: before `exec`, the child shared our memory, and a descriptor opened then would stay on it.
        let memory = OpenOptions::new().read(true).write(true).open(format!("/proc/{}/mem", pid.as_raw_nonzero()))?;
        let mut found = vec![0; last.len() + 1];
        memory.read_exact_at(&mut found, address)?;
        if found.split_last() != Some((&0, last)) {
            return Err(io::Error::other("the child's arguments are not at the expected address"));
        }
        Ok(Self { memory, address, length: last.len() })
    }

    /// Overwrites the argument with `text`, padded with NUL bytes. Fails if `text` is longer than the argument.
    pub fn replace(&self, text: &[u8]) -> io::Result<()> {
        if text.len() > self.length {
            return Err(io::Error::other("the text is longer than the argument it replaces"));
        }
        let mut padded = text.to_vec();
        padded.resize(self.length, 0);
        self.memory.write_all_at(&padded, self.address)
    }
}

/// Returns the address of a process's arguments, once the kernel has published all of them.
///
/// Parent and child continue before the kernel is done with the arguments: it still scans for the end of each, to find
/// the environment. An argument shortened meanwhile would leave the child without any variable. So this waits until
/// `/proc` shows the expected length.
fn find_arguments(pid: Pid, length: u64) -> io::Result<u64> {
    /// Index of `arg_start` (field 48) among the fields after the name, which begin with field 3. `arg_end` follows it.
    const ARG_START: usize = 48 - 3;
    let give_up = Instant::now() + PUBLISHED_WITHIN;
    loop {
        let fields = crate::proc::stat_fields(pid)?;
        let mut fields = fields.split_ascii_whitespace().skip(ARG_START).map(str::parse::<u64>);
        let (Some(Ok(begin)), Some(Ok(end))) = (fields.next(), fields.next()) else {
            return Err(io::Error::other("the system does not show where the child's arguments are"));
        };
        if begin != 0 && end == begin + length {
            return Ok(begin);
        }
        if Instant::now() > give_up {
            return Err(io::Error::other("the system does not show where the child's arguments are"));
        }
        sleep(POLL_PAUSE);
    }
}
