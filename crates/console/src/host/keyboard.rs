//! Keys of the person, from standard input.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::time::Instant;

use bashful_screen::{Decoded, KeyDecoder};
use bashful_sys::event;
use tokio::io::unix::AsyncFd;
use tokio::time::sleep_until;

/// Bytes that are read at once.
const AT_ONCE: usize = 4096;

/// Standard input, read without changing how others read it.
pub(super) struct Keyboard {
    stdin: AsyncFd<OwnedFd>,
    decoder: KeyDecoder,
}

impl Keyboard {
    pub(super) fn new() -> io::Result<Self> {
        let stdin = event::readable(io::stdin().as_fd().try_clone_to_owned()?)?;
        Ok(Self { stdin, decoder: KeyDecoder::default() })
    }

    /// The next keys; none at the end of the input. A lone Escape comes when no more bytes of a sequence have. May be dropped:
    /// nothing is lost.
    pub(super) async fn next(&mut self) -> io::Result<Option<Vec<Decoded>>> {
        loop {
            let deadline = self.decoder.deadline();
            tokio::select! {
                ready = readable(&self.stdin) => ready?,
                () = due(deadline) => return Ok(Some(self.decoder.expire(Instant::now()))),
            }
            let mut buffer = [0; AT_ONCE];
            match rustix::io::read(self.stdin.get_ref(), &mut buffer) {
                Ok(0) => return Ok(None),
                Ok(count) => {
                    let keys = self.decoder.feed(&buffer[..count], Instant::now());
                    if !keys.is_empty() {
                        return Ok(Some(keys));
                    }
                }
                Err(rustix::io::Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
        }
    }
}

async fn readable(stdin: &AsyncFd<OwnedFd>) -> io::Result<()> {
    loop {
        let mut ready = stdin.readable().await?;
        // Somebody else may have read it, and a read would then wait.
        if event::is_readable(stdin) {
            return Ok(());
        }
        ready.clear_ready();
    }
}

async fn due(deadline: Option<Instant>) {
    match deadline {
        Some(deadline) => sleep_until(deadline.into()).await,
        None => std::future::pending().await,
    }
}
