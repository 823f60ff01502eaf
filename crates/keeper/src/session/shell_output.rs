//! The own output of a session's shell, beside that of its commands: traces of the keeper's lines, and output of traps
//! between two commands and at its end.

use std::collections::VecDeque;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use bashful_sys::pipe;

/// Bytes kept, the newest ones. A trap that floods its shell must not fill the keeper's memory.
const KEPT: usize = 64 * 1024;

/// Reads at one time: a shell that never pauses must not keep the keeper from its other duties.
const READS_AT_ONCE: usize = 16;

/// The pipe that the shell itself writes to, and the newest bytes of its output.
pub(super) struct ShellOutput {
    reads: OwnedFd,
    writes: OwnedFd,
    kept: VecDeque<u8>,
}

impl ShellOutput {
    pub(super) fn new() -> io::Result<Self> {
        let (reads, writes) = pipe::plain()?;
        pipe::set_nonblocking(&reads)?;
        Ok(Self { reads, writes, kept: VecDeque::new() })
    }

    /// Writing end, for the shell.
    pub(super) fn writing_end(&self) -> &OwnedFd {
        &self.writes
    }

    /// Empties the pipe, so that the shell never waits for a reader.
    pub(super) fn read(&mut self) {
        let mut buffer = [0; 4096];
        for _ in 0..READS_AT_ONCE {
            match rustix::io::read(&self.reads, &mut buffer) {
                Ok(count) if count > 0 => self.kept.extend(&buffer[..count]),
                _ => break,
            }
        }
        self.kept.drain(..self.kept.len().saturating_sub(KEPT));
    }

    /// Drops everything: output before a command does not belong to the command.
    pub(super) fn discard(&mut self) {
        self.read();
        self.kept.clear();
    }

    /// Removes everything, and returns the lines that do not contain `ours`.
    pub(super) fn take_without(&mut self, ours: &str) -> Vec<u8> {
        self.read();
        let kept = Vec::from(std::mem::take(&mut self.kept));
        let is_ours = |line: &[u8]| line.windows(ours.len()).any(|part| part == ours.as_bytes());
        kept.split_inclusive(|byte| *byte == b'\n').filter(|line| !is_ours(line)).flatten().copied().collect()
    }
}

/// Readable when the shell has written something.
impl AsFd for ShellOutput {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.reads.as_fd()
    }
}
