//! Pipes for the output of a command.

use std::io;
use std::os::fd::{AsFd, OwnedFd};

use rustix::fs::{FileType, OFlags};
use rustix::io::Errno;
use rustix::pipe::{PipeFlags, SpliceFlags, fcntl_setpipe_size, pipe_with, splice};

/// Size of an enlarged pipe, in bytes. 256 KiB reads three times as fast as the usual 64 KiB; 1 MiB is no faster.
const SIZE: usize = 256 * 1024;

/// Makes a pipe whose reading end never blocks. Its writing end blocks.
pub fn for_output() -> io::Result<(OwnedFd, OwnedFd)> {
    let (read, write) = pipe_with(PipeFlags::CLOEXEC)?;
    set_nonblocking(&read)?;
    Ok((read, write))
}

/// Size of a new pipe, in bytes.
pub const USUAL_SIZE: usize = 64 * 1024;

/// Enlarges a pipe whose writer writes much. Returns its size in bytes.
pub fn enlarge(pipe: impl AsFd) -> usize {
    // Users have a budget of pipe memory. Past it, the pipe keeps its size.
    fcntl_setpipe_size(pipe, SIZE).unwrap_or(USUAL_SIZE)
}

/// Makes a pipe that programs started later do not inherit. Both ends block.
pub fn plain() -> io::Result<(OwnedFd, OwnedFd)> {
    Ok(pipe_with(PipeFlags::CLOEXEC)?)
}

/// Makes reads and writes return at once instead of waiting.
pub fn set_nonblocking(fd: impl AsFd) -> io::Result<()> {
    let flags = rustix::fs::fcntl_getfl(&fd)?;
    rustix::fs::fcntl_setfl(&fd, flags | OFlags::NONBLOCK)?;
    Ok(())
}

/// True if a pipe, socket or file holds unread bytes. Reads nothing, and never waits.
pub fn has_input(fd: impl AsFd) -> bool {
    let Ok(facts) = rustix::fs::fstat(&fd) else { return false };
    match FileType::from_raw_mode(facts.st_mode) {
        FileType::Fifo | FileType::Socket => rustix::io::ioctl_fionread(&fd).is_ok_and(|bytes| bytes > 0),
        FileType::RegularFile => {
            rustix::fs::tell(&fd).is_ok_and(|at| u64::try_from(facts.st_size).is_ok_and(|size| at < size))
        }
        _ => false,
    }
}

/// A private pipe through which another pipe is read.
///
/// A pipe is locked while anybody copies into or out of it. `splice` moves its pages here without a copy, so the writer
/// continues while we copy from here. A flood is read a fifth faster that way.
#[derive(Debug)]
pub struct Sluice {
    read: OwnedFd,
    write: OwnedFd,
}

impl Sluice {
    /// Makes an empty private pipe.
    pub fn new() -> io::Result<Self> {
        let (read, write) = plain()?;
        enlarge(&write);
        Ok(Self { read, write })
    }

    /// Reads from another pipe without waiting, as `read` does. After an error other than `AGAIN` and `INTR` the sluice
    /// must not be used again: it may still hold bytes.
    pub fn read(&mut self, from: impl AsFd, buffer: &mut [u8]) -> Result<usize, Errno> {
        let moved = splice(from, None, &self.write, None, buffer.len(), SpliceFlags::NONBLOCK | SpliceFlags::MOVE)?;
        let mut read = 0;
        while read < moved {
            match rustix::io::read(&self.read, &mut buffer[read..moved]) {
                Ok(0) => return Err(Errno::PIPE),
                Ok(count) => read += count,
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => return Err(Errno::IO),
                Err(error) => return Err(error),
            }
        }
        Ok(moved)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_goes_through_a_sluice_is_what_was_written() {
        let (read, write) = for_output().expect("a pipe");
        enlarge(&read);
        let mut sluice = Sluice::new().expect("a sluice");
        let mut buffer = vec![0; SIZE];
        assert_eq!(sluice.read(&read, &mut buffer), Err(Errno::AGAIN));
        for length in [1, 100, 4096, 5000, 65536] {
            let bytes: Vec<u8> = (0..length).map(|at: u32| at.to_le_bytes()[0]).collect();
            rustix::io::write(&write, &bytes).expect("it fits");
            rustix::io::write(&write, b"and more").expect("it fits");
            let mut got = Vec::new();
            while got.len() < bytes.len() + 8 {
                let count = sluice.read(&read, &mut buffer).expect("there is something");
                got.extend_from_slice(&buffer[..count]);
            }
            assert_eq!(got, [bytes.as_slice(), b"and more"].concat());
        }
        drop(write);
        assert_eq!(sluice.read(&read, &mut buffer), Ok(0));
    }
}
