//! The terminal of a command: its size, typing into it, and whether a program waits for input.
//!
//! A handle works by the outside end of the terminal alone. It never reads: the loop of the command, or the keeper of a job, does
//! that, and keeps every byte.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use bashful_keeper::StopReason;
pub use bashful_screen::Size as TerminalSize;
use bashful_sys::signal::Signal;
use bashful_sys::terminal::{self, LONGEST_LINE, LineModes};
pub use bashful_sys::terminal_reader::ProgramAt;
use bashful_sys::terminal_reader::{self, Reading};
use bashful_sys::{Errno, event};
use thiserror::Error;
use tokio::sync::{mpsc, oneshot, watch};
use tokio::time::{Instant, timeout_at};

use crate::running::RunRequest;

/// The terminal of a command that runs.
#[derive(Debug, Clone)]
pub struct CommandTerminal {
    outside: Arc<OwnedFd>,
    /// Bytes of the line that was begun, and not ended, in canonical mode.
    open_line: Arc<AtomicUsize>,
}

/// The answer to whether a program waits for input from its terminal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum InputWait {
    /// No.
    Busy,
    /// The system does not tell.
    Unknown,
    /// A program waits for one of several events in raw mode, as editors do. Keys are likely to be one of them if the screen is
    /// quiet as well.
    Perhaps,
    /// A program reads a line or a key.
    Waiting {
        /// True if typed text is hidden: whole lines are read, and nothing appears on the screen.
        password: bool,
    },
}

/// The reason why text could not be typed.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum TypeError {
    /// A line is longer than the kernel holds; it would drop the rest.
    #[error(
        "one line has {bytes} bytes, and the terminal holds {LONGEST_LINE}; nothing was sent: write the text to a file instead, or send it in shorter lines (key C-u erases what was typed of it before)"
    )]
    LineTooLong {
        /// The length of the line.
        bytes: usize,
    },
    /// No program reads.
    #[error(
        "no program reads from the terminal: {taken} of {bytes} bytes were taken; stop the job, or wait until it reads"
    )]
    NotRead {
        /// The length of the input.
        bytes: usize,
        /// The part that the terminal has taken.
        taken: usize,
    },
    /// The terminal is gone.
    #[error("cannot write to the terminal")]
    Io(#[from] io::Error),
}

impl CommandTerminal {
    /// A handle on the outside end of a terminal.
    pub(crate) fn new(outside: OwnedFd) -> Self {
        Self { outside: Arc::new(outside), open_line: Arc::default() }
    }

    /// Types these bytes. In canonical mode a line of more than 4,095 bytes is refused before anything is sent, because the kernel
    /// would drop its end. Gives up after this time. Dropped halfway, some of the bytes have been typed.
    pub async fn type_bytes(&self, bytes: &[u8], at_most: Duration) -> Result<(), TypeError> {
        let give_up = Instant::now().checked_add(at_most);
        let is_canonical = self.line_modes().is_ok_and(|modes| modes.canonical);
        let begun = if is_canonical { self.open_line.load(Ordering::Relaxed) } else { 0 };
        let longest = longest_line(begun, bytes);
        if is_canonical && longest > LONGEST_LINE {
            return Err(TypeError::LineTooLong { bytes: longest });
        }
        // A program in raw mode gets each byte at once.
        let open = if is_canonical { length_of_open_line(begun, bytes) } else { 0 };
        self.open_line.store(open, Ordering::Relaxed);
        let mut taken = 0;
        while taken < bytes.len() {
            match rustix::io::write(&self.outside, &bytes[taken..]) {
                Ok(count) => taken += count,
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => {
                    let room = event::writable(self.outside.try_clone()?)?;
                    let writable = async { room.writable().await.map(drop) };
                    if within(give_up, writable).await.is_none() {
                        return Err(TypeError::NotRead { bytes: bytes.len(), taken });
                    }
                }
                Err(error) => return Err(TypeError::Io(error.into())),
            }
        }
        Ok(())
    }

    /// Types as many of these bytes as the terminal takes at once, and returns their number.
    pub fn type_now(&self, bytes: &[u8]) -> io::Result<usize> {
        match rustix::io::write(&self.outside, bytes) {
            Err(Errno::AGAIN | Errno::INTR) => Ok(0),
            written => Ok(written?),
        }
    }

    /// Changes the size. Programs are told by `SIGWINCH`.
    ///
    /// The terminal of a job is resized by [`JobTerminal::resize`](crate::JobTerminal::resize), which writes it down.
    pub fn resize(&self, size: TerminalSize) -> io::Result<()> {
        terminal::set_size(&self.outside, size.columns(), size.rows())
    }

    /// The size that programs see.
    pub fn size(&self) -> io::Result<TerminalSize> {
        terminal::size(&self.outside).map(|(columns, rows)| TerminalSize::new(columns, rows))
    }

    /// Tells if a program waits for input.
    pub fn input_wait(&self) -> InputWait {
        let Ok(modes) = self.line_modes() else { return InputWait::Unknown };
        match terminal_reader::reading(self.outside.as_fd(), modes) {
            Reading::Yes => InputWait::Waiting { password: modes.canonical && !modes.echo },
            Reading::Perhaps => InputWait::Perhaps,
            Reading::Unknown => InputWait::Unknown,
            Reading::No => InputWait::Busy,
        }
    }

    /// True if the program reads whole lines, so that `Ctrl-D` is the end of its input.
    pub fn reads_lines(&self) -> bool {
        self.line_modes().is_ok_and(|modes| modes.canonical)
    }

    /// True if typed text does not appear on the screen although whole lines are read, as at a password prompt.
    pub fn hides_input(&self) -> bool {
        self.line_modes().is_ok_and(|modes| modes.canonical && !modes.echo)
    }

    /// The programs that run at the terminal, as far as they can be read.
    pub fn programs(&self) -> Vec<ProgramAt> {
        terminal_reader::programs_at(self.outside.as_fd())
    }

    /// True if programs have written something that nobody has read yet.
    #[cfg(feature = "screens")]
    pub(crate) fn has_unread_output(&self) -> bool {
        rustix::io::ioctl_fionread(&*self.outside).is_ok_and(|bytes| bytes > 0)
    }

    fn line_modes(&self) -> io::Result<LineModes> {
        terminal::line_modes(&self.outside)
    }
}

/// The terminal of a command, for the host that shows it to a person and types into it.
///
/// Dropping it says that the host is through with it, and has put its own terminal back. The reply to the call waits for
/// that, so that nothing is printed while the host's terminal is still in raw mode.
#[derive(Debug)]
pub struct AttendedTerminal {
    /// The terminal. Its output comes by [`Caller::listener`](crate::Caller::listener).
    pub terminal: CommandTerminal,
    /// Counts how often `Ctrl-Z`, or a signal like it, has stopped the command.
    pub suspensions: watch::Receiver<u64>,
    pub(crate) requests: mpsc::WeakUnboundedSender<RunRequest>,
    pub(crate) _restored: oneshot::Sender<()>,
}

impl AttendedTerminal {
    /// Asks every process of the command to pause, as `Ctrl-Z` does. `suspensions` counts when its shell has.
    pub fn suspend(&self) {
        self.signal(Signal::TSTP);
    }

    /// Continues a command that was stopped.
    pub fn resume(&self) {
        self.signal(Signal::CONT);
    }

    fn signal(&self, signal: Signal) {
        self.request(RunRequest::Signal(u8::try_from(signal.as_raw()).expect("a signal's number is small")));
    }

    /// Asks the command to stop; asked a second time, it is killed at once.
    pub fn stop(&self, why: StopReason) {
        self.request(RunRequest::Stop(why));
    }

    fn request(&self, request: RunRequest) {
        if let Some(requests) = self.requests.upgrade() {
            // A command that has ended needs nothing any more.
            let _ = requests.send(request);
        }
    }
}

/// Waits for a future until this moment; for ever if there is none.
async fn within<T>(give_up: Option<Instant>, future: impl Future<Output = T>) -> Option<T> {
    match give_up {
        Some(give_up) => timeout_at(give_up, future).await.ok(),
        None => Some(future.await),
    }
}

/// The length of the longest line, if so many bytes of the first one were typed before.
fn longest_line(begun: usize, bytes: &[u8]) -> usize {
    let mut lines = bytes.split(|byte| ends_line(*byte)).map(<[u8]>::len);
    let first = begun + lines.next().unwrap_or(0);
    lines.fold(first, usize::max)
}

/// The bytes of the line that is still open after this input, if so many were typed before.
fn length_of_open_line(begun: usize, bytes: &[u8]) -> usize {
    let end = bytes.iter().rposition(|byte| ends_line(*byte));
    end.map_or(begun + bytes.len(), |end| bytes.len() - end - 1)
}

/// True for keys after which the terminal begins a new line: a return, because terminals turn it into a newline, and the usual keys
/// for end of file, interrupt and erasing a line.
fn ends_line(byte: u8) -> bool {
    matches!(byte, b'\n' | b'\r' | 0x03 | 0x04 | 0x15)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_that_is_typed_in_two_parts_is_one_line() {
        assert_eq!(longest_line(0, b"12345"), 5);
        assert_eq!(longest_line(4000, b"12345\nab"), 4005);
        assert_eq!(longest_line(4000, b"\x1512\r345"), 4000);
        assert_eq!(length_of_open_line(4000, b"12"), 4002);
        assert_eq!(length_of_open_line(4000, b"12\n345"), 3);
        assert_eq!(length_of_open_line(4000, b"\x03"), 0);
    }
}
