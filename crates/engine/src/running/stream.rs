//! One stream of a command: its pipe, and when that is read.
//!
//! A pipe is watched, or read by the clock. Whoever writes small pieces without pause would otherwise pay for every one of
//! them being told to us, and wait for a reader that is always in the pipe at the same moment. Left alone for a moment it
//! gets more done, and we read all of it at once.

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

/// Looks into a pipe in one turn. A command that writes without pause must not keep us from hearing of its end.
const LOOKS_A_TURN: usize = 16;

/// What is read after the end, at most: all that the pipe could hold when the shell ended.
const DRAINED_AT_MOST: usize = 1024 * 1024;

/// A piece that is smaller did not fill even the smallest pipe: its writer is slower than we are.
const SMALL: usize = 64 * 1024;

/// Whoever has written so much at once gets a larger pipe.
const MUCH: usize = 16 * 1024;

/// Small pieces that are read in one look, so that those behind get one piece out of many.
const SMALL_AT_ONCE: usize = 8;

/// So many small looks in a row, each soon after the last, and a pipe is read by the clock.
const RESTLESS_AFTER: u32 = 8;

/// Soon after the last.
const SOON: Duration = Duration::from_millis(1);

/// A pipe that is read by the clock is left alone for so long. At 600 MB a second, an eighth of it fills in that time.
const ALONE: Duration = Duration::from_micros(50);

/// The same for one that cannot be watched.
const ALONE_AND_UNWATCHED: Duration = Duration::from_millis(10);

thread_local! {
    /// One for each thread, because a thousand commands at once would need a thousand of them otherwise.
    static SCRATCH: RefCell<Scratch> = const { RefCell::new(Scratch { buffer: Vec::new(), sluice: None, can_sluice: true }) };
}

/// What is needed for the moment in which a pipe is read, and empty in between.
struct Scratch {
    buffer: Vec<u8>,
    sluice: Option<Sluice>,
    /// Some sandboxes have none.
    can_sluice: bool,
}

/// Bytes that are read at once. An artifact is written in buffers of the same size.
const AT_ONCE: usize = aside::BUFFER;

/// The descriptor behind a stream.
#[derive(Debug)]
pub(super) enum Source {
    /// A pipe.
    Pipe(OwnedFd),
    /// The outside end of a terminal.
    Terminal(OwnedFd),
}

/// The rules by which a descriptor is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// A pipe ends with the end of file. It can be made larger, and spliced.
    Pipe,
    /// A terminal ends with `EIO`, once nobody has its inside end open. Its size is fixed. It is never spliced: some kernels
    /// refuse that, and one refusal turns splicing off for the pipes of all other commands of the thread.
    Terminal,
}

/// One stream of a command.
pub(super) struct Stream {
    pub(super) name: StreamName,
    pub(super) capture: Capture,
    kind: Kind,
    pipe: Pipe,
    /// For a pipe that is read by the clock.
    alarm: Option<Alarm>,
    /// Bytes that its pipe holds, once it was made as large as can be.
    enlarged: Option<usize>,
    /// Small looks in a row, and when the last one was.
    restless: (u32, Option<Instant>),
    /// The last look by the clock found much. Copying it all would hold up a writer that is fast.
    found_much: bool,
}

enum Pipe {
    Watched(AsyncFd<OwnedFd>),
    ByTheClock(OwnedFd),
    /// There is nothing more to read.
    Closed,
}

impl Stream {
    pub(super) fn new(name: StreamName, source: Source, capture: Capture) -> io::Result<Self> {
        let (kind, pipe) = match source {
            Source::Pipe(pipe) => (Kind::Pipe, pipe),
            Source::Terminal(outside) => (Kind::Terminal, outside),
        };
        Ok(Self {
            name,
            capture,
            kind,
            pipe: Pipe::Watched(event::readable(pipe)?),
            alarm: None,
            enlarged: None,
            restless: (0, None),
            found_much: false,
        })
    }

    /// The pipe, while it is open.
    pub(super) fn pipe(&self) -> Option<BorrowedFd<'_>> {
        match &self.pipe {
            Pipe::Watched(pipe) => Some(pipe.get_ref().as_fd()),
            Pipe::ByTheClock(pipe) => Some(pipe.as_fd()),
            Pipe::Closed => None,
        }
    }

    /// Reads no more. Whoever writes learns of it, unless somebody else reads on.
    pub(super) fn close(&mut self) {
        self.pipe = Pipe::Closed;
    }

    /// Waits until it is time to read; for ever if there will never be anything. May be dropped: nothing is lost.
    pub(super) async fn readable(&self) {
        match (&self.pipe, &self.alarm) {
            // An error will show when reading.
            (Pipe::Watched(pipe), _) => drop(pipe.readable().await),
            (Pipe::ByTheClock(_), Some(alarm)) => alarm.passed().await,
            (Pipe::ByTheClock(_), None) | (Pipe::Closed, _) => std::future::pending().await,
        }
    }

    /// Takes what has been written, or a good part of it.
    pub(super) fn read(&mut self, listener: &mut dyn FnMut(&[u8])) {
        let mut flood = false;
        for _ in 0..LOOKS_A_TURN {
            let taken = match &self.pipe {
                Pipe::Watched(pipe) => {
                    let mut taken = Taken::default();
                    let how = if flood { How::Flood } else { How::Pieces(SMALL_AT_ONCE) };
                    // What the event loop believes is changed by that; the result is in what was taken.
                    let _ = pipe.try_io(Interest::READABLE, |pipe| {
                        taken = take(pipe, self.kind, how, &mut self.capture, listener);
                        if taken.is_all { Err(io::ErrorKind::WouldBlock.into()) } else { Ok(()) }
                    });
                    taken
                }
                Pipe::ByTheClock(pipe) => {
                    let how = if self.found_much { How::Moved } else { How::Pieces(1) };
                    let taken = take(pipe, self.kind, how, &mut self.capture, listener);
                    self.found_much = taken.bytes >= SMALL;
                    taken
                }
                Pipe::Closed => return,
            };
            if taken.has_ended {
                return self.close();
            }
            if taken.bytes >= MUCH && self.enlarged.is_none() && self.kind == Kind::Pipe {
                self.enlarged = self.pipe().map(pipe::enlarge);
            }
            if taken.bytes < self.looks_again_from() {
                return self.pause(&taken);
            }
            self.restless.0 = 0;
            flood = true;
        }
        // There is more, and in pieces that are no longer small.
        self.watch();
    }

    /// Bytes from which on there is likely to be more at once. By the clock that is half of a pipe: after less, a second look
    /// would only meet the writer in the pipe.
    fn looks_again_from(&self) -> usize {
        match (&self.pipe, self.enlarged) {
            (Pipe::ByTheClock(_), Some(size)) => SMALL.max(size / 2),
            _ => SMALL,
        }
    }

    /// Takes what is in the pipe now. Not until its end: somebody may hold it open for hours.
    pub(super) fn drain(&mut self, listener: &mut dyn FnMut(&[u8])) {
        let mut drained = 0;
        while drained < DRAINED_AT_MOST {
            // Straight from the pipe: the event loop may not have heard yet of what was written last.
            let taken = match &self.pipe {
                Pipe::Watched(pipe) => take(pipe.get_ref(), self.kind, How::All, &mut self.capture, listener),
                Pipe::ByTheClock(pipe) => take(pipe, self.kind, How::All, &mut self.capture, listener),
                Pipe::Closed => return,
            };
            drained += taken.bytes;
            if taken.has_ended {
                return self.close();
            }
            if taken.is_all {
                return;
            }
        }
    }

    /// After a small look, decides what is to wake us.
    fn pause(&mut self, taken: &Taken) {
        match &self.pipe {
            Pipe::Watched(_) => {
                let now = Instant::now();
                let (looks, last) = self.restless;
                let is_soon = last.is_some_and(|last| now - last < SOON);
                self.restless = (if is_soon { looks + 1 } else { 0 }, Some(now));
                if self.restless.0 >= RESTLESS_AFTER {
                    self.read_by_the_clock();
                }
            }
            Pipe::ByTheClock(_) if taken.bytes == 0 => self.watch(),
            Pipe::ByTheClock(_) => self.sleep(ALONE),
            Pipe::Closed => {}
        }
    }

    /// Leaves the pipe alone for a moment, and has nobody told of what is written.
    fn read_by_the_clock(&mut self) {
        self.restless.0 = 0;
        if self.alarm.is_none() {
            // If there is none to be had it goes on as it is.
            self.alarm = Alarm::new().ok();
        }
        if self.alarm.is_some() {
            self.pipe = match std::mem::replace(&mut self.pipe, Pipe::Closed) {
                Pipe::Watched(pipe) => Pipe::ByTheClock(pipe.into_inner()),
                other => other,
            };
            self.sleep(ALONE);
        }
    }

    /// Has the event loop tell when there is something, and at once if there is now.
    fn watch(&mut self) {
        self.pipe = match std::mem::replace(&mut self.pipe, Pipe::Closed) {
            Pipe::ByTheClock(pipe) => match event::readable_or_back(pipe) {
                Ok(pipe) => Pipe::Watched(pipe),
                Err(refused) => Pipe::ByTheClock(refused.into_parts().0),
            },
            other => other,
        };
        if matches!(self.pipe, Pipe::ByTheClock(_)) {
            self.sleep(ALONE_AND_UNWATCHED);
        }
    }

    fn sleep(&mut self, time: Duration) {
        if let Some(alarm) = &self.alarm {
            alarm.set(time);
        }
    }
}

/// What one look into a pipe brought.
#[derive(Debug, Default)]
struct Taken {
    bytes: usize,
    /// There is nothing more for now.
    is_all: bool,
    /// There will never be more.
    has_ended: bool,
}

/// How a pipe is read.
#[derive(Clone, Copy, PartialEq, Eq)]
enum How {
    /// At most so many pieces that are small.
    Pieces(usize),
    /// Without holding up whoever fills it faster than we can read.
    Flood,
    /// The same, once.
    Moved,
    /// Whatever is there.
    All,
}

/// Takes what is in a pipe, up to a buffer full, at once.
fn take(pipe: &OwnedFd, kind: Kind, how: How, capture: &mut Capture, listener: &mut dyn FnMut(&[u8])) -> Taken {
    SCRATCH.with_borrow_mut(|scratch| {
        if scratch.buffer.is_empty() {
            // The system gives zeros only for what is touched; filling it with zeros here would touch all of it.
            scratch.buffer = vec![0; AT_ONCE];
        }
        let is_moved = matches!(how, How::Flood | How::Moved) && kind == Kind::Pipe;
        if is_moved && scratch.can_sluice && scratch.sluice.is_none() {
            // Without one it is only slower.
            scratch.sluice = Sluice::new().ok();
        }
        let mut small = if let How::Pieces(pieces) = how { pieces } else { usize::MAX };
        let mut taken = Taken::default();
        while taken.bytes < AT_ONCE && small > 0 && !taken.is_all && !taken.has_ended {
            let room = &mut scratch.buffer[taken.bytes..];
            let count = match &mut scratch.sluice {
                Some(sluice) if is_moved => match sluice.read(pipe, room) {
                    Err(error) if !matches!(error, Errno::AGAIN | Errno::INTR) => {
                        // Nothing was moved, and there is the ordinary way.
                        (scratch.sluice, scratch.can_sluice) = (None, false);
                        continue;
                    }
                    read => read,
                },
                _ => rustix::io::read(pipe, room),
            };
            match count {
                Ok(count) if count > 0 => {
                    taken.bytes += count;
                    small = if how == How::Moved { 0 } else { small - usize::from(count < SMALL) };
                }
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => taken.is_all = true,
                // The end of file of a pipe, or the `EIO` of a terminal.
                Ok(_) | Err(_) => taken.has_ended = true,
            }
        }
        capture.push_buffer(&mut scratch.buffer, taken.bytes, listener);
        taken
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
        // It can be read, and not moved to a pipe.
        let directory = tempfile::tempdir().expect("a directory");
        let comings = bashful_sys::notify::watch_directories(&[directory.path()]).expect("a watch");
        std::fs::write(directory.path().join("file"), "").expect("it is written");
        let mut capture = Capture::new(Window::tail(ByteSize(1000)), Cleaning::None, None);
        let taken = take(&comings, Kind::Pipe, How::Flood, &mut capture, &mut |_| {});
        assert!(taken.bytes > 0 && taken.is_all && !taken.has_ended, "{taken:?}");
        SCRATCH.with_borrow(|scratch| assert!(!scratch.can_sluice && scratch.sluice.is_none()));
    }

    #[tokio::test]
    async fn a_terminal_is_read_to_its_end_and_never_spliced() {
        // Another test may have had this thread before.
        SCRATCH.with_borrow_mut(|scratch| (scratch.sluice, scratch.can_sluice) = (None, true));
        let Terminal { outside, inside, .. } = Terminal::new().expect("a terminal");
        let mut capture = Capture::new(Window::tail(ByteSize(1000)), Cleaning::None, None);
        capture.tell(OutputForm::Raw);
        let mut stream = Stream::new(StreamName::Output, Source::Terminal(outside), capture).expect("a stream");
        let line = [b'x'; 99].as_slice();
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
            // A flood is what is spliced.
            if let Pipe::Watched(pipe) = &stream.pipe {
                let taken = take(pipe.get_ref(), stream.kind, How::Flood, &mut stream.capture, &mut |bytes| {
                    heard.extend_from_slice(bytes);
                });
                if taken.has_ended {
                    stream.close();
                }
            }
        }
        writer.join().expect("all of it was written");
        // The terminal puts a return before each newline.
        assert!(heard == [line, b"\r\n"].concat().repeat(2000), "{} bytes", heard.len());
        SCRATCH.with_borrow(|scratch| assert!(scratch.can_sluice && scratch.sluice.is_none(), "it was spliced"));
    }
}
