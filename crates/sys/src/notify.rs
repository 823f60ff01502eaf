//! Word of a file that grows, or of files that come and go, without looking again and again.

use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::Path;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::inotify::{self, CreateFlags, WatchFlags};
use rustix::io::Errno;

/// Has something to read when a file was written to.
///
/// There are only so many for each user (128, usually), so callers need another way when none can be had.
#[derive(Debug)]
pub struct Growth {
    queue: OwnedFd,
}

impl Growth {
    /// Watches this file from now on.
    pub fn of(file: &Path) -> io::Result<Self> {
        let queue = inotify::init(CreateFlags::CLOEXEC | CreateFlags::NONBLOCK)?;
        inotify::add_watch(&queue, file, WatchFlags::MODIFY)?;
        Ok(Self { queue })
    }

    /// Forgets what was told so far, and says whether there was anything.
    pub fn take(&self) -> bool {
        take(self.queue.as_fd())
    }

    /// The queue itself, for an event loop.
    pub fn into_queue(self) -> OwnedFd {
        self.queue
    }
}

/// A queue that has something to read when anything comes into one of these directories, or leaves it.
pub fn comings(directories: &[&Path]) -> io::Result<OwnedFd> {
    let queue = inotify::init(CreateFlags::CLOEXEC | CreateFlags::NONBLOCK)?;
    let flags = WatchFlags::CREATE | WatchFlags::DELETE | WatchFlags::MOVE | WatchFlags::ONLYDIR;
    for directory in directories {
        inotify::add_watch(&queue, *directory, flags)?;
    }
    Ok(queue)
}

/// Has something to tell when a file in a directory comes, goes or is written to.
#[derive(Debug)]
pub struct Happenings {
    queue: OwnedFd,
}

impl Happenings {
    /// Watches this directory from now on.
    pub fn within(directory: &Path) -> io::Result<Self> {
        let queue = inotify::init(CreateFlags::CLOEXEC | CreateFlags::NONBLOCK)?;
        let flags = WatchFlags::MODIFY | WatchFlags::CREATE | WatchFlags::MOVE | WatchFlags::ONLYDIR;
        inotify::add_watch(&queue, directory, flags)?;
        Ok(Self { queue })
    }

    /// Waits until something has happened; false if nobody reads from `out` any more.
    pub fn wait(&self, out: BorrowedFd<'_>) -> io::Result<bool> {
        // Of an output, only its end is told: nothing else was asked for.
        let mut either = [PollFd::new(&self.queue, PollFlags::IN), PollFd::from_borrowed_fd(out, PollFlags::empty())];
        loop {
            match poll(&mut either, None) {
                Err(Errno::INTR) => {}
                Err(error) => return Err(error.into()),
                Ok(_) => break,
            }
        }
        take(self.queue.as_fd());
        Ok(!either[1].revents().intersects(PollFlags::ERR | PollFlags::HUP | PollFlags::NVAL))
    }
}

/// Pauses for this long; false, and at once, if nobody reads from `out` any more.
pub fn pause_while_read(out: BorrowedFd<'_>, pause: Duration) -> bool {
    let end = Instant::now() + pause;
    let mut out = [PollFd::from_borrowed_fd(out, PollFlags::empty())];
    loop {
        let rest = end.saturating_duration_since(Instant::now());
        let rest = Timespec::try_from(rest).unwrap_or(Timespec { tv_sec: 1, tv_nsec: 0 });
        match poll(&mut out, Some(&rest)) {
            Err(Errno::INTR) => {}
            // Where the system cannot tell, it is as if somebody read.
            Err(_) | Ok(0) => return true,
            Ok(_) => return false,
        }
    }
}

/// Forgets what a queue holds, and says whether there was anything.
pub fn take(queue: BorrowedFd<'_>) -> bool {
    take_names(queue, |_| true)
}

/// Forgets what a queue holds, and says whether a name in it is wanted. An event without a name tells of the directory itself,
/// or of events that were lost.
pub fn take_names(queue: BorrowedFd<'_>, is_wanted: impl Fn(Option<&[u8]>) -> bool) -> bool {
    let mut buffer = [MaybeUninit::uninit(); 1024];
    let mut events = inotify::Reader::new(queue, &mut buffer);
    let mut any = false;
    while let Ok(event) = events.next() {
        any |= is_wanted(event.file_name().map(std::ffi::CStr::to_bytes));
    }
    any
}

impl AsFd for Growth {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.queue.as_fd()
    }
}
