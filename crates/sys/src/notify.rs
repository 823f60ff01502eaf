//! Notifications (inotify) of files that grow, come or go, without polling.

use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::Path;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::inotify::{self, CreateFlags, WatchFlags};
use rustix::io::Errno;

/// A queue that becomes readable when a file is written to.
///
/// A user has a limited number of queues (usually 128), so callers need another way without one.
#[derive(Debug)]
pub struct FileWatch {
    queue: OwnedFd,
}

impl FileWatch {
    /// Watches this file from now on.
    pub fn of(file: &Path) -> io::Result<Self> {
        let queue = inotify::init(CreateFlags::CLOEXEC | CreateFlags::NONBLOCK)?;
        inotify::add_watch(&queue, file, WatchFlags::MODIFY)?;
        Ok(Self { queue })
    }

    /// Empties the queue. True if the file was written to since the last call.
    pub fn drain(&self) -> bool {
        drain(self.queue.as_fd())
    }

    /// The queue, for an event loop.
    pub fn into_queue(self) -> OwnedFd {
        self.queue
    }
}

/// Returns a queue that becomes readable when an entry of these directories is created, removed or renamed.
pub fn watch_directories(directories: &[&Path]) -> io::Result<OwnedFd> {
    let queue = inotify::init(CreateFlags::CLOEXEC | CreateFlags::NONBLOCK)?;
    let flags = WatchFlags::CREATE | WatchFlags::DELETE | WatchFlags::MOVE | WatchFlags::ONLYDIR;
    for directory in directories {
        inotify::add_watch(&queue, *directory, flags)?;
    }
    Ok(queue)
}

/// A queue that becomes readable when one of several paths changes. Paths can be added while it is used.
#[derive(Debug)]
pub struct PathWatch {
    queue: OwnedFd,
}

impl PathWatch {
    /// Watches nothing yet.
    pub fn new() -> io::Result<Self> {
        Ok(Self { queue: inotify::init(CreateFlags::CLOEXEC | CreateFlags::NONBLOCK)? })
    }

    /// Watches a directory for entries that come, go or are written to. Adding one twice is no harm.
    pub fn add_directory(&self, directory: &Path) -> io::Result<()> {
        let flags =
            WatchFlags::CREATE | WatchFlags::DELETE | WatchFlags::MOVE | WatchFlags::MODIFY | WatchFlags::ONLYDIR;
        inotify::add_watch(&self.queue, directory, flags)?;
        Ok(())
    }

    /// Watches a file for writes, until it is removed. Adding one twice is no harm.
    pub fn add_file(&self, file: &Path) -> io::Result<()> {
        inotify::add_watch(&self.queue, file, WatchFlags::MODIFY)?;
        Ok(())
    }

    /// A copy of the queue, for an event loop.
    pub fn queue(&self) -> io::Result<OwnedFd> {
        self.queue.try_clone()
    }

    /// Empties the queue. True if anything has changed since the last call.
    pub fn drain(&self) -> bool {
        drain(self.queue.as_fd())
    }
}

/// A queue that becomes readable when a file in a directory is created, renamed or written to.
#[derive(Debug)]
pub struct DirectoryWatch {
    queue: OwnedFd,
}

impl DirectoryWatch {
    /// Watches this directory from now on.
    pub fn within(directory: &Path) -> io::Result<Self> {
        let queue = inotify::init(CreateFlags::CLOEXEC | CreateFlags::NONBLOCK)?;
        let flags = WatchFlags::MODIFY | WatchFlags::CREATE | WatchFlags::MOVE | WatchFlags::ONLYDIR;
        inotify::add_watch(&queue, directory, flags)?;
        Ok(Self { queue })
    }

    /// Waits for the next change in the directory; false if the reader of `out` is gone.
    pub fn wait(&self, out: BorrowedFd<'_>) -> io::Result<bool> {
        // `poll` always reports the loss of a reader, even if no event is asked for.
        let mut either = [PollFd::new(&self.queue, PollFlags::IN), PollFd::from_borrowed_fd(out, PollFlags::empty())];
        loop {
            match poll(&mut either, None) {
                Err(Errno::INTR) => {}
                Err(error) => return Err(error.into()),
                Ok(_) => break,
            }
        }
        drain(self.queue.as_fd());
        Ok(!either[1].revents().intersects(PollFlags::ERR | PollFlags::HUP | PollFlags::NVAL))
    }
}

/// Sleeps for `pause`. Returns false at once if the reader of `out` is gone.
pub fn pause_while_read(out: BorrowedFd<'_>, pause: Duration) -> bool {
    let end = Instant::now() + pause;
    let mut out = [PollFd::from_borrowed_fd(out, PollFlags::empty())];
    loop {
        let rest = end.saturating_duration_since(Instant::now());
        let rest = Timespec::try_from(rest).unwrap_or(Timespec { tv_sec: 1, tv_nsec: 0 });
        match poll(&mut out, Some(&rest)) {
            Err(Errno::INTR) => {}
            // After an error, the reader counts as present.
            Err(_) | Ok(0) => return true,
            Ok(_) => return false,
        }
    }
}

/// Empties a queue. True if it held any event.
pub fn drain(queue: BorrowedFd<'_>) -> bool {
    drain_names(queue, |_| true)
}

/// Empties a queue. True if it held an event whose name is wanted. An event without a name concerns the directory
/// itself, or events that were lost.
pub fn drain_names(queue: BorrowedFd<'_>, is_wanted: impl Fn(Option<&[u8]>) -> bool) -> bool {
    let mut buffer = [MaybeUninit::uninit(); 1024];
    let mut events = inotify::Reader::new(queue, &mut buffer);
    let mut any = false;
    while let Ok(event) = events.next() {
        any |= is_wanted(event.file_name().map(std::ffi::CStr::to_bytes));
    }
    any
}

impl AsFd for FileWatch {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.queue.as_fd()
    }
}
