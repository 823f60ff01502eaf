//! Where those come to a session who want something of it, and its place on disk.
//!
//! A session's directory holds the socket `control` while it lives. When it ends it leaves the file `lost` there, for the next
//! one to tell; only one that goes with its engine leaves nothing.

use std::fs::{self, File};
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStringExt;
use std::os::unix::net::UnixListener;
use std::path::PathBuf;

use bashful_sys::{notify, plain, socket, wake};
use rustix::fs::{AtFlags, statat};
use rustix::io::Errno;

use crate::link::Link;
use crate::protocol::{self, Command, FailedStep, Report};

/// So many may speak to a session at once. More would use up its descriptors.
const MOST_GUESTS: usize = 256;

/// The way in.
pub(crate) struct Door {
    /// None when it is closed.
    listener: Option<UnixListener>,
    named: PathBuf,
    /// By way of a handle: whatever becomes of the directory, and whatever is made in its place, this is ours.
    directory: PathBuf,
    handle: File,
    /// Has news when something comes into the directory or leaves it; none if there are no more such watches to be had.
    watch: Option<OwnedFd>,
    /// Somebody has removed the way in, so that nobody will come any more.
    pub(crate) is_removed: bool,
    pub(crate) guests: Vec<Guest>,
}

/// Somebody who has come.
#[expect(clippy::struct_excessive_bools, reason = "each is something that a guest may have said, beside the others")]
pub(crate) struct Guest {
    pub(crate) link: Link,
    /// What they want done, when it is their turn.
    pub(crate) wants: Option<Command>,
    /// They want it done only if it is their turn now.
    pub(crate) withdraws: bool,
    pub(crate) has_news: bool,
    /// They have asked for the end of the session, and wait for it.
    pub(crate) waits_for_end: bool,
    /// What they wanted cannot be done here any more.
    is_refused: bool,
}

impl Guest {
    fn new(link: Link) -> Self {
        Self { link, wants: None, withdraws: false, has_news: false, waits_for_end: false, is_refused: false }
    }
}

impl Door {
    pub(crate) fn open(directory: Vec<u8>) -> io::Result<Self> {
        let named = PathBuf::from(std::ffi::OsString::from_vec(directory));
        let handle = plain::open_directory(&named)?;
        // Also because a socket's path may have 107 bytes only.
        let directory = PathBuf::from(format!("/proc/self/fd/{}", handle.as_raw_fd()));
        let listener = socket::listen(&directory.join(protocol::CONTROL))?;
        let _ = wake::on_news(&listener);
        let watch = notify::comings(&[&directory]).ok();
        Ok(Self { listener: Some(listener), named, directory, handle, watch, is_removed: false, guests: Vec::new() })
    }

    /// Has news when somebody comes.
    pub(crate) fn listener(&self) -> Option<BorrowedFd<'_>> {
        self.listener.as_ref().map(AsFd::as_fd)
    }

    /// Has news when the way in may have been removed.
    pub(crate) fn watch(&self) -> Option<BorrowedFd<'_>> {
        self.watch.as_ref().map(AsFd::as_fd)
    }

    /// Looks whether the way in is still there.
    pub(crate) fn look(&mut self) {
        if let Some(watch) = &self.watch {
            notify::take(watch.as_fd());
        }
        let looked = statat(&self.handle, protocol::CONTROL, AtFlags::SYMLINK_NOFOLLOW);
        self.is_removed |= matches!(looked, Err(Errno::NOENT));
    }

    /// Lets in who has come.
    pub(crate) fn let_in(&mut self) {
        while let Some(Ok((stream, _))) = self.listener.as_ref().map(UnixListener::accept) {
            if stream.set_nonblocking(true).is_err() {
                continue;
            }
            let _ = wake::on_news(&stream);
            let mut link = Link::new(OwnedFd::from(stream));
            if self.guests.len() >= MOST_GUESTS {
                link.tell(&Report::Busy);
                continue;
            }
            // Who comes has something to say.
            self.guests.push(Guest { has_news: true, ..Guest::new(link) });
        }
    }

    /// Writes down which process the shell is.
    pub(crate) fn name_shell(&self, pid: i32) {
        // Where that cannot be done, those who want to know where the shell is do not learn it.
        let _ = plain::write(&self.directory.join(protocol::SHELL), pid.to_string().as_bytes());
    }

    /// The next one whose turn it is, with what they want.
    pub(crate) fn next(&mut self) -> Option<(Link, Command)> {
        let index = self.guests.iter().position(|guest| guest.wants.is_some())?;
        let Guest { link, wants, .. } = self.guests.remove(index);
        Some((link, wants?))
    }

    /// One whose command is over. They may still hand something over.
    pub(crate) fn keep(&mut self, link: Link) {
        self.guests.push(Guest::new(link));
    }

    /// Tells those who do not wait any longer that it is not their turn. Nothing of what they wanted will be done.
    pub(crate) fn dismiss(&mut self) {
        for guest in self.guests.iter_mut().filter(|guest| guest.withdraws) {
            guest.withdraws = false;
            if guest.wants.take().is_some() {
                guest.link.tell(&Report::Busy);
            }
        }
    }

    /// Closes it for good, and touches nothing in the directory: somebody is removing it, and a new file there would be in
    /// their way. Those who wait for their turn are told that it will not come.
    pub(crate) fn abandon(&mut self) {
        self.listener = None;
        for guest in self.guests.iter_mut().filter(|guest| guest.is_refused || guest.wants.is_some()) {
            // Nothing of it was done: they may ask somebody else.
            guest.link.tell(&Report::NotStarted { step: FailedStep::Handover, errno: 0 });
        }
        self.guests.retain(|guest| guest.waits_for_end);
    }

    /// One of whose command nothing was done, because the session is over. They are told so when the door is closed: who
    /// comes again is not to find it open.
    pub(crate) fn refuse(&mut self, link: Link) {
        self.guests.push(Guest { is_refused: true, ..Guest::new(link) });
    }

    /// Closes it for good, and leaves word why if there is somebody to leave it for. Those who wait for their turn are told
    /// that it will not come.
    pub(crate) fn close(&mut self, why: Option<&str>) {
        // The word first: who finds the door closed looks for it.
        if let Some(why) = why {
            let draft = self.directory.join(protocol::LOST_DRAFT);
            let _ = plain::write(&draft, why.as_bytes())
                .and_then(|()| fs::rename(&draft, self.directory.join(protocol::LOST)));
        }
        // On a full disk there is no word, and only that the socket is gone tells that the keeper was not killed.
        for name in [protocol::CONTROL, protocol::SHELL] {
            let _ = fs::remove_file(self.directory.join(name));
        }
        self.abandon();
        if why.is_none() {
            let _ = fs::remove_file(self.directory.join(protocol::ABOUT));
            // Only what is empty goes.
            let _ = fs::remove_dir(&self.named);
        }
    }
}
