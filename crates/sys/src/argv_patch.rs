//! Puts a text in the place of a child's argument.
//!
//! A shell started as `bash -c PLACEHOLDER` looks at the placeholder only when it is done with its start-up. Whoever
//! keeps it waiting there can still decide what it will find, and to the shell that *is* its argument.
//!
//! Needs the right to trace the child, which a parent has unless the system forbids tracing altogether.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::FileExt;
use std::thread::sleep;
use std::time::{Duration, Instant};

use rustix::process::Pid;

/// The system takes microseconds for it, or as long as the child does not get a processor.
const TOLD_WITHIN: Duration = Duration::from_secs(5);
const LOOK_AGAIN: Duration = Duration::from_micros(50);

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
        let offset: usize = before.iter().map(|argument| argument.len() + 1).sum();
        let place = arguments_begin(pid, (offset + last.len() + 1) as u64)? + offset as u64;
        // Not before: until then the child may still have had our memory, and what is opened stays that.
        let memory = OpenOptions::new().read(true).write(true).open(format!("/proc/{}/mem", pid.as_raw_nonzero()))?;
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

/// Where the arguments of a process are in its memory.
///
/// A child is let go on, and its parent too, before the system is done with them: it still looks for the end of each, to
/// find where the environment begins. Whoever shortened one meanwhile would leave the child without any variable. So this
/// waits until all of them are told to be there.
fn arguments_begin(pid: Pid, length: u64) -> io::Result<u64> {
    /// Place of `arg_start` behind the name: it is field 48, and the first of them is field 3. `arg_end` follows it.
    const ARG_START: usize = 48 - 3;
    let give_up = Instant::now() + TOLD_WITHIN;
    loop {
        let fields = crate::proc::stat_fields(pid)?;
        let mut fields = fields.split_ascii_whitespace().skip(ARG_START).map(str::parse::<u64>);
        let (Some(Ok(begin)), Some(Ok(end))) = (fields.next(), fields.next()) else {
            return Err(io::Error::other("the system does not tell where the child's arguments are"));
        };
        if begin != 0 && end == begin + length {
            return Ok(begin);
        }
        if Instant::now() > give_up {
            return Err(io::Error::other("the system does not tell where the child's arguments are"));
        }
        sleep(LOOK_AGAIN);
    }
}
