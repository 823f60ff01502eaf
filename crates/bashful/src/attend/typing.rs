//! Types standard input into the terminal of a command.

use std::io::{self, IsTerminal};
use std::os::fd::{AsFd, OwnedFd};
use std::time::Duration;

use bashful_engine::{CommandTerminal, TypeError};
use bashful_sys::event;
use bashful_sys::terminal::LONGEST_LINE;
use tokio::io::unix::AsyncFd;

/// Longest time for the program to take one piece of input.
const TYPING_PATIENCE: Duration = Duration::from_secs(10);

/// Bytes that are read at once. A person's line of this length is typed without a look at what the terminal holds.
const AT_ONCE: usize = 1024;

/// The key for the end of the input.
const END: &[u8] = b"\x04";

/// Types standard input until it ends, or for as long as this is not dropped.
///
/// The keys of a person go through as they come, as at any terminal. Input from a pipe or a file comes in whole lines, none of
/// which the terminal would cut; at its end, the key for that is typed if the program reads lines. Returns the reason why a part
/// could not be typed.
pub(super) async fn type_input(terminal: CommandTerminal) -> Option<String> {
    let input = HostInput::new();
    let typed = match input {
        Ok(input) if io::stdin().is_terminal() => type_keys(&terminal, &input).await,
        Ok(input) => type_lines(&terminal, &input).await,
        Err(error) => Err(error.into()),
    };
    match typed {
        Err(TypeError::LineTooLong { .. }) => Some(format!(
            "standard input has a line of more than {LONGEST_LINE} bytes, which a terminal would cut; the command was stopped. Pass it \
             on without --pty, by --stdin (-i)"
        )),
        // The terminal is gone when the command is.
        _ => None,
    }
}

async fn type_keys(terminal: &CommandTerminal, input: &HostInput) -> Result<(), TypeError> {
    loop {
        let keys = input.read().await?;
        if keys.is_empty() {
            return Ok(());
        }
        match terminal.type_bytes(&keys, TYPING_PATIENCE).await {
            // Every terminal drops keys that nobody reads.
            Err(TypeError::NotRead { .. }) => {}
            other => other?,
        }
    }
}

async fn type_lines(terminal: &CommandTerminal, input: &HostInput) -> Result<(), TypeError> {
    let mut rest = Vec::new();
    let mut last = b'\n';
    loop {
        let piece = input.read().await?;
        let has_ended = piece.is_empty();
        rest.extend(piece);
        let is_long = rest.len() > LONGEST_LINE;
        let whole = rest.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
        let upto = if has_ended || (whole == 0 && is_long) { rest.len() } else { whole };
        let now: Vec<u8> = rest.drain(..upto).collect();
        last = now.last().copied().unwrap_or(last);
        type_all(terminal, &now).await?;
        if has_ended {
            break;
        }
    }
    if terminal.reads_lines() {
        // The first one only ends an unfinished line.
        let ends = if last == b'\n' { END.to_vec() } else { END.repeat(2) };
        type_all(terminal, &ends).await?;
    }
    Ok(())
}

/// Types all of it, however long the program takes to read it.
async fn type_all(terminal: &CommandTerminal, mut bytes: &[u8]) -> Result<(), TypeError> {
    loop {
        match terminal.type_bytes(bytes, TYPING_PATIENCE).await {
            Err(TypeError::NotRead { taken, .. }) => bytes = &bytes[taken..],
            other => return other,
        }
    }
}

/// Standard input, read without changing how others read it: it may be shared with a shell.
enum HostInput {
    Watched(AsyncFd<OwnedFd>),
    /// A file, which can always be read.
    File(OwnedFd),
}

impl HostInput {
    fn new() -> io::Result<Self> {
        let copy = io::stdin().as_fd().try_clone_to_owned()?;
        Ok(match event::readable_or_back(copy) {
            Ok(watched) => Self::Watched(watched),
            Err(refused) => Self::File(refused.into_parts().0),
        })
    }

    /// The next bytes; none at the end. May be dropped: nothing is lost.
    async fn read(&self) -> io::Result<Vec<u8>> {
        let fd = match self {
            Self::Watched(watched) => {
                loop {
                    let mut ready = watched.readable().await?;
                    if event::is_readable(watched) {
                        break;
                    }
                    ready.clear_ready();
                }
                watched.get_ref()
            }
            Self::File(file) => file,
        };
        let mut buffer = vec![0; AT_ONCE];
        loop {
            match rustix::io::read(fd, &mut buffer) {
                Ok(count) => {
                    buffer.truncate(count);
                    return Ok(buffer);
                }
                Err(rustix::io::Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
        }
    }
}
