//! One stream of a command: its pipe, and the times at which it is read.
//!
//! A pipe is watched by the event loop, or read by a timer. A program that writes small pieces without pause would
//! cause an event for every piece, and would contend with a reader that holds the pipe at the same moment. Left alone
//! for a moment, the program gets more done, and the engine reads everything at once.

use std::cell::RefCell;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::{Duration, Instant};

use bashful_sys::event::{self, Alarm};
use bashful_sys::pipe::{self, Sluice};
use rustix::io::Errno;
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;

use super::StreamName;
use crate::capture::{Capture, aside};

/// Reads of a pipe in one turn. A command that writes without pause must not keep the engine from noticing its end.
const READS_A_TURN: usize = 16;

/// Most bytes read after the end: all that the pipe could hold when the shell ended.
const DRAINED_AT_MOST: usize = 1024 * 1024;

/// A piece smaller than this, in bytes, did not fill even the smallest pipe: its writer is slower than the engine.
const SMALL: usize = 64 * 1024;

/// A writer of this many bytes at once gets a larger pipe.
const ENLARGE_FROM: usize = 16 * 1024;

/// Small pieces joined in one read, so that the capture gets one piece instead of many.
const SMALL_AT_ONCE: usize = 8;

/// After so many small reads in a row, each [`SOON`] after the last, a pipe is read by a timer.
const SMALL_READS_BEFORE_TIMER: u32 = 8;

/// Longest time between two reads that count as in a row.
const SOON: Duration = Duration::from_millis(1);

/// Pause between two reads by the timer. At 600 MB a second, an eighth of the pipe fills in that time.
const TIMER_PAUSE: Duration = Duration::from_micros(50);

/// Pause for a pipe that the event loop cannot watch.
const UNWATCHED_PAUSE: Duration = Duration::from_millis(10);

thread_local! {
    /// One for each thread: a thousand commands at once would otherwise need a thousand of them.
    static SCRATCH: RefCell<Scratch> = const { RefCell::new(Scratch { buffer: Vec::new(), sluice: None, can_sluice: true }) };
}

/// Buffers for the moment in which a pipe is read. They are empty in between.
struct Scratch {
    buffer: Vec<u8>,
    sluice: Option<Sluice>,
    /// False in sandboxes that refuse `splice`.
    can_sluice: bool,
}

/// Bytes read at once. An artifact is written in buffers of the same size.
const READ_AT_ONCE: usize = aside::BUFFER;

/// The descriptor behind a stream.
#[derive(Debug)]
pub(super) enum OutputSource {
    /// Reading end of a pipe.
    Pipe(OwnedFd),
    /// Outside end of a pseudo-terminal.
    Terminal(OwnedFd),
}

/// Rules for reading a descriptor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum SourceKind {
    /// A pipe ends with end of file. It can be enlarged and spliced.
    Pipe,
    /// A terminal ends with `EIO` once nobody has its inside end open. Its size is fixed. It is never spliced: some
    /// kernels refuse that, and one refusal turns splicing off for all other commands of the thread. It is never read by
    /// the timer: it holds 4 KiB, and its writer would wait for each of them.
    Terminal,
}

/// One stream of a command, with its capture.
pub(super) struct Stream {
    pub(super) name: StreamName,
    pub(super) capture: Capture,
    kind: SourceKind,
    pipe: Pipe,
    /// Timer for a pipe that is read by the clock.
    alarm: Option<Alarm>,
    /// Size of the pipe in bytes, once it was enlarged.
    enlarged: Option<usize>,
    /// Number of small reads in a row, and time of the last one.
    small_reads: (u32, Option<Instant>),
    /// True if the last read by the timer found much. Copying all of it would hold up a fast writer.
    found_much: bool,
}

enum Pipe {
    Watched(AsyncFd<OwnedFd>),
    ByTimer(OwnedFd),
    /// Nothing more will be read.
    Closed,
}

impl Stream {
    pub(super) fn new(name: StreamName, source: OutputSource, capture: Capture) -> io::Result<Self> {
        let (kind, pipe) = match source {
            OutputSource::Pipe(pipe) => (SourceKind::Pipe, pipe),
            OutputSource::Terminal(outside) => (SourceKind::Terminal, outside),
        };
        Ok(Self {
            name,
            capture,
            kind,
            pipe: Pipe::Watched(event::readable(pipe)?),
            alarm: None,
            enlarged: None,
            small_reads: (0, None),
            found_much: false,
        })
    }

    /// The descriptor, while it is open.
    pub(super) fn pipe(&self) -> Option<BorrowedFd<'_>> {
        match &self.pipe {
            Pipe::Watched(pipe) => Some(pipe.get_ref().as_fd()),
            Pipe::ByTimer(pipe) => Some(pipe.as_fd()),
            Pipe::Closed => None,
        }
    }

    /// Stops reading. Writers get `SIGPIPE`, unless another process still reads.
    pub(super) fn close(&mut self) {
        self.pipe = Pipe::Closed;
    }

    /// Waits until it is time to read; for ever if nothing more can come. The future may be dropped without loss.
    pub(super) async fn readable(&self) {
        match (&self.pipe, &self.alarm) {
            // Reading shows the error.
            (Pipe::Watched(pipe), _) => drop(pipe.readable().await),
            (Pipe::ByTimer(_), Some(alarm)) => alarm.passed().await,
            (Pipe::ByTimer(_), None) | (Pipe::Closed, _) => std::future::pending().await,
        }
    }

    /// Reads output that has been written, or a good part of it.
    pub(super) fn read(&mut self, listener: &mut dyn FnMut(&[u8])) {
        let mut flood = false;
        for _ in 0..READS_A_TURN {
            let result = match &self.pipe {
                Pipe::Watched(pipe) => {
                    let mut result = ReadResult::default();
                    let how = if flood { ReadMode::Flood } else { ReadMode::Pieces(SMALL_AT_ONCE) };
                    // Updates the event loop's readiness; `result` has the answer.
                    let _ = pipe.try_io(Interest::READABLE, |pipe| {
                        result = read_pipe(pipe, self.kind, how, &mut self.capture, listener);
                        if result.is_all { Err(io::ErrorKind::WouldBlock.into()) } else { Ok(()) }
                    });
                    result
                }
                Pipe::ByTimer(pipe) => {
                    let how = if self.found_much { ReadMode::Moved } else { ReadMode::Pieces(1) };
                    let result = read_pipe(pipe, self.kind, how, &mut self.capture, listener);
                    self.found_much = result.bytes >= SMALL;
                    result
                }
                Pipe::Closed => return,
            };
            if result.has_ended {
                return self.close();
            }
            if result.bytes >= ENLARGE_FROM && self.enlarged.is_none() && self.kind == SourceKind::Pipe {
                self.enlarged = self.pipe().map(pipe::enlarge);
            }
            if result.bytes < self.reads_again_from() {
                return self.pause(&result);
            }
            self.small_reads.0 = 0;
            flood = true;
        }
        // There is more, in pieces that are no longer small.
        self.watch();
    }

    /// Number of bytes from which on another read is worth while. For a pipe read by the timer that is half of its
    /// size: after less, a second read would only contend with the writer.
    fn reads_again_from(&self) -> usize {
        match (&self.pipe, self.enlarged) {
            (Pipe::ByTimer(_), Some(size)) => SMALL.max(size / 2),
            _ => SMALL,
        }
    }

    /// Reads everything that the pipe holds now. Not to its end: a process may hold it open for hours.
    pub(super) fn drain(&mut self, listener: &mut dyn FnMut(&[u8])) {
        let mut drained = 0;
        while drained < DRAINED_AT_MOST {
            // Straight from the pipe: the event loop may not know yet of the last write.
            let result = match &self.pipe {
                Pipe::Watched(pipe) => read_pipe(pipe.get_ref(), self.kind, ReadMode::All, &mut self.capture, listener),
                Pipe::ByTimer(pipe) => read_pipe(pipe, self.kind, ReadMode::All, &mut self.capture, listener),
                Pipe::Closed => return,
            };
            drained += result.bytes;
            if result.has_ended {
                return self.close();
            }
            if result.is_all {
                return;
            }
        }
    }

    /// Chooses the next wake-up after a small read.
    fn pause(&mut self, result: &ReadResult) {
        match &self.pipe {
            Pipe::Watched(_) if self.kind == SourceKind::Terminal => {}
            Pipe::Watched(_) => {
                let now = Instant::now();
                let (looks, last) = self.small_reads;
                let is_soon = last.is_some_and(|last| now - last < SOON);
                self.small_reads = (if is_soon { looks + 1 } else { 0 }, Some(now));
                if self.small_reads.0 >= SMALL_READS_BEFORE_TIMER {
                    self.read_by_timer();
                }
            }
            Pipe::ByTimer(_) if result.bytes == 0 => self.watch(),
            Pipe::ByTimer(_) => self.sleep(TIMER_PAUSE),
            Pipe::Closed => {}
        }
    }

    /// Switches from the event loop to the timer, so that no event comes for each write.
    fn read_by_timer(&mut self) {
        self.small_reads.0 = 0;
        if self.alarm.is_none() {
            // Without a timer, the event loop goes on.
            self.alarm = Alarm::new().ok();
        }
        if self.alarm.is_some() {
            self.pipe = match std::mem::replace(&mut self.pipe, Pipe::Closed) {
                Pipe::Watched(pipe) => Pipe::ByTimer(pipe.into_inner()),
                other => other,
            };
            self.sleep(TIMER_PAUSE);
        }
    }

    /// Switches back to the event loop, which reports at once if there is something to read.
    fn watch(&mut self) {
        self.pipe = match std::mem::replace(&mut self.pipe, Pipe::Closed) {
            Pipe::ByTimer(pipe) => match event::readable_or_back(pipe) {
                Ok(pipe) => Pipe::Watched(pipe),
                Err(refused) => Pipe::ByTimer(refused.into_parts().0),
            },
            other => other,
        };
        if matches!(self.pipe, Pipe::ByTimer(_)) {
            self.sleep(UNWATCHED_PAUSE);
        }
    }

    fn sleep(&mut self, time: Duration) {
        if let Some(alarm) = &self.alarm {
            alarm.set(time);
        }
    }
}

/// Result of one read.
#[derive(Debug, Default)]
struct ReadResult {
    bytes: usize,
    /// True if the pipe is empty for now.
    is_all: bool,
    /// True if nothing more will come.
    has_ended: bool,
}

/// Ways to read a pipe.
#[derive(Clone, Copy, PartialEq, Eq)]
enum ReadMode {
    /// At most so many small pieces.
    Pieces(usize),
    /// Through `splice`, so that a writer faster than the engine does not wait.
    Flood,
    /// Through `splice`, once.
    Moved,
    /// Everything that is there.
    All,
}

/// Reads from a pipe, up to a full buffer, into the capture.
fn read_pipe(
    pipe: &OwnedFd,
    kind: SourceKind,
    how: ReadMode,
    capture: &mut Capture,
    listener: &mut dyn FnMut(&[u8]),
) -> ReadResult {
    SCRATCH.with_borrow_mut(|scratch| {
        if scratch.buffer.is_empty() {
            // Zeroed memory from the system costs nothing until it is touched; filling it here would touch all of it.
            scratch.buffer = vec![0; READ_AT_ONCE];
        }
        let is_moved = matches!(how, ReadMode::Flood | ReadMode::Moved) && kind == SourceKind::Pipe;
        if is_moved && scratch.can_sluice && scratch.sluice.is_none() {
            // Reading only gets slower without one.
            scratch.sluice = Sluice::new().ok();
        }
        let mut small = if let ReadMode::Pieces(pieces) = how { pieces } else { usize::MAX };
        let mut result = ReadResult::default();
        while result.bytes < READ_AT_ONCE && small > 0 && !result.is_all && !result.has_ended {
            let room = &mut scratch.buffer[result.bytes..];
            let count = match &mut scratch.sluice {
                Some(sluice) if is_moved => match sluice.read(pipe, room) {
                    Err(error) if !matches!(error, Errno::AGAIN | Errno::INTR) => {
                        // Nothing was moved, and an ordinary read follows.
                        (scratch.sluice, scratch.can_sluice) = (None, false);
                        continue;
                    }
                    read => read,
                },
                _ => rustix::io::read(pipe, room),
            };
            match count {
                Ok(count) if count > 0 => {
                    result.bytes += count;
                    small = if how == ReadMode::Moved { 0 } else { small - usize::from(count < SMALL) };
                }
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => result.is_all = true,
                // End of file of a pipe, or `EIO` of a terminal.
                Ok(_) | Err(_) => result.has_ended = true,
            }
        }
        capture.push_buffer(&mut scratch.buffer, result.bytes, listener);
        result
    })
}

#[cfg(test)]
mod tests {
    use bashful_sys::terminal::Terminal;

    use super::*;
    use crate::capture::Cleaning;
    use crate::window::Window;
    use crate::{ByteSize, OutputForm};

    #[test]
    fn what_cannot_be_sluiced_is_read() {
        // It can be read, but not spliced.
        let directory = tempfile::tempdir().expect("a directory");
        let comings = bashful_sys::notify::watch_directories(&[directory.path()]).expect("a watch");
        std::fs::write(directory.path().join("file"), "").expect("it is written");
        let mut capture = Capture::new(Window::tail(ByteSize(1000)), Cleaning::None, None);
        let result = read_pipe(&comings, SourceKind::Pipe, ReadMode::Flood, &mut capture, &mut |_| {});
        assert!(result.bytes > 0 && result.is_all && !result.has_ended, "{result:?}");
        SCRATCH.with_borrow(|scratch| assert!(!scratch.can_sluice && scratch.sluice.is_none()));
    }

    #[tokio::test]
    async fn a_terminal_is_read_to_its_end_and_never_spliced() {
        // Another test may have used this thread before.
        SCRATCH.with_borrow_mut(|scratch| (scratch.sluice, scratch.can_sluice) = (None, true));
        let Terminal { outside, inside, .. } = Terminal::new().expect("a terminal");
        let mut capture = Capture::new(Window::tail(ByteSize(1000)), Cleaning::None, None);
        capture.set_listener(OutputForm::Raw);
        let mut stream = Stream::new(StreamName::Output, OutputSource::Terminal(outside), capture).expect("a stream");
        let line = [b'x'; 99].as_slice();
        #[expect(clippy::disallowed_methods, reason = "a test may panic")]
        let writer = std::thread::spawn(move || {
            let mut inside = std::fs::File::from(inside);
            for _ in 0..2000 {
                std::io::Write::write_all(&mut inside, &[line, b"\n"].concat()).expect("somebody reads");
            }
        });
        let mut heard = Vec::new();
        while stream.pipe().is_some() {
            stream.readable().await;
            stream.read(&mut |bytes| heard.extend_from_slice(bytes));
            // Only a flood is spliced.
            if let Pipe::Watched(pipe) = &stream.pipe {
                let result =
                    read_pipe(pipe.get_ref(), stream.kind, ReadMode::Flood, &mut stream.capture, &mut |bytes| {
                        heard.extend_from_slice(bytes);
                    });
                if result.has_ended {
                    stream.close();
                }
            }
        }
        writer.join().expect("all of it was written");
        // The terminal adds a carriage return before each newline.
        assert!(heard == [line, b"\r\n"].concat().repeat(2000), "{} bytes", heard.len());
        SCRATCH.with_borrow(|scratch| assert!(scratch.can_sluice && scratch.sluice.is_none(), "it was spliced"));
    }
}
