//! What the shell of a session itself writes, beside its commands: traces of our lines, what its traps say between two
//! commands and at its end.

use std::collections::VecDeque;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use bashful_sys::pipe;

/// So much of it is kept, the newest.
const KEPT: usize = 64 * 1024;

/// Reads of one turn.
const READS_A_TURN: usize = 16;

pub(super) struct Own {
    reads: OwnedFd,
    writes: OwnedFd,
    kept: VecDeque<u8>,
}

impl Own {
    pub(super) fn new() -> io::Result<Self> {
        let (reads, writes) = pipe::plain()?;
        pipe::set_nonblocking(&reads)?;
        Ok(Self { reads, writes, kept: VecDeque::new() })
    }

    /// Where the shell is to write.
    pub(super) fn writes(&self) -> &OwnedFd {
        &self.writes
    }

    /// Takes what is there, so that the shell never waits for somebody to read it.
    pub(super) fn take(&mut self) {
        let mut buffer = [0; 4096];
        for _ in 0..READS_A_TURN {
            match rustix::io::read(&self.reads, &mut buffer) {
                Ok(count) if count > 0 => self.kept.extend(&buffer[..count]),
                _ => break,
            }
        }
        self.kept.drain(..self.kept.len().saturating_sub(KEPT));
    }

    pub(super) fn forget(&mut self) {
        self.take();
        self.kept.clear();
    }

    /// All of it, without the lines in which this stands.
    pub(super) fn without(&mut self, ours: &str) -> Vec<u8> {
        self.take();
        let kept = Vec::from(std::mem::take(&mut self.kept));
        let is_ours = |line: &[u8]| line.windows(ours.len()).any(|part| part == ours.as_bytes());
        kept.split_inclusive(|byte| *byte == b'\n').filter(|line| !is_ours(line)).flatten().copied().collect()
    }
}

/// Has news when the shell has written something.
impl AsFd for Own {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.reads.as_fd()
    }
}
