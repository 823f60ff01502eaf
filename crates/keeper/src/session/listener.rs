//! The session's listening socket, its connected clients, and its directory on disk.
//!
//! The directory holds the socket `control` while the session lives. A session that ends leaves the file `lost` there, which
//! tells the next session of that name why; a session that goes with its engine leaves nothing.

use std::fs::{self, File};
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStringExt;
use std::os::unix::net::UnixListener;
use std::path::PathBuf;

use bashful_sys::{notify, plain, socket, wake};
use rustix::fs::{AtFlags, statat};
use rustix::io::Errno;

use crate::link::EngineLink;
use crate::protocol::{self, Command, FailedStep, Report};

/// Clients connected at once. More would use up the keeper's descriptors.
const MOST_CLIENTS: usize = 256;

/// The socket, its clients and the directory of a session.
pub(crate) struct SessionListener {
    /// None when it is closed.
    socket: Option<UnixListener>,
    named: PathBuf,
    /// Through a handle: this stays our directory when somebody moves it and makes another in its place.
    directory: PathBuf,
    handle: File,
    /// Readable when a file of the directory is created or removed; none if the user has no watches left.
    watch: Option<OwnedFd>,
    /// Somebody has removed the socket, so that no client can connect any more.
    pub(crate) is_removed: bool,
    pub(crate) clients: Vec<SessionClient>,
}

/// A connection whose command does not run now.
#[expect(clippy::struct_excessive_bools, reason = "each is something that a client may have said, beside the others")]
pub(crate) struct SessionClient {
    pub(crate) link: EngineLink,
    /// Variables of the command that comes next.
    pub(crate) variables: Vec<Vec<u8>>,
    /// The command that waits for its turn.
    pub(crate) wants: Option<Command>,
    /// The client wants its command run only if its turn is now.
    pub(crate) withdraws: bool,
    pub(crate) has_news: bool,
    /// The client has asked for the end of the session, and waits for it.
    pub(crate) waits_for_end: bool,
    /// The command of this client cannot be run here any more.
    is_refused: bool,
}

impl SessionClient {
    fn new(link: EngineLink) -> Self {
        Self {
            link,
            variables: Vec::new(),
            wants: None,
            withdraws: false,
            has_news: false,
            waits_for_end: false,
            is_refused: false,
        }
    }
}

impl SessionListener {
    pub(crate) fn open(directory: Vec<u8>) -> io::Result<Self> {
        let named = PathBuf::from(std::ffi::OsString::from_vec(directory));
        let handle = plain::open_directory(&named)?;
        // Also because a socket's path may have 107 bytes only.
        let directory = PathBuf::from(format!("/proc/self/fd/{}", handle.as_raw_fd()));
        let socket = socket::listen(&directory.join(protocol::CONTROL))?;
        let _ = wake::on_news(&socket);
        let watch = notify::comings(&[&directory]).ok();
        Ok(Self { socket: Some(socket), named, directory, handle, watch, is_removed: false, clients: Vec::new() })
    }

    /// Readable when a client connects.
    pub(crate) fn socket(&self) -> Option<BorrowedFd<'_>> {
        self.socket.as_ref().map(AsFd::as_fd)
    }

    /// Readable when the socket may have been removed.
    pub(crate) fn watch(&self) -> Option<BorrowedFd<'_>> {
        self.watch.as_ref().map(AsFd::as_fd)
    }

    /// Notes it if the socket has been removed.
    pub(crate) fn check_socket(&mut self) {
        if let Some(watch) = &self.watch {
            notify::take(watch.as_fd());
        }
        let looked = statat(&self.handle, protocol::CONTROL, AtFlags::SYMLINK_NOFOLLOW);
        self.is_removed |= matches!(looked, Err(Errno::NOENT));
    }

    /// Accepts every client that has connected.
    pub(crate) fn accept(&mut self) {
        while let Some(Ok((stream, _))) = self.socket.as_ref().map(UnixListener::accept) {
            if stream.set_nonblocking(true).is_err() {
                continue;
            }
            let _ = wake::on_news(&stream);
            let mut link = EngineLink::new(OwnedFd::from(stream));
            if self.clients.len() >= MOST_CLIENTS {
                link.tell(&Report::Busy);
                continue;
            }
            // A client connects to send something.
            self.clients.push(SessionClient { has_news: true, ..SessionClient::new(link) });
        }
    }

    /// Writes the process id of the shell into the directory.
    pub(crate) fn write_shell_pid(&self, pid: i32) {
        // Without it, nobody learns in which directory the shell is.
        let _ = plain::write(&self.directory.join(protocol::SHELL), pid.to_string().as_bytes());
    }

    /// Removes the first client that waits for its turn, with its command.
    pub(crate) fn next_command(&mut self) -> Option<(EngineLink, Command)> {
        let index = self.clients.iter().position(|client| client.wants.is_some())?;
        let SessionClient { link, wants, .. } = self.clients.remove(index);
        Some((link, wants?))
    }

    /// Adds a client whose command is over. It may still hand pipes over.
    pub(crate) fn readmit(&mut self, link: EngineLink) {
        self.clients.push(SessionClient::new(link));
    }

    /// Tells every client that has withdrawn its command that nothing of it will be run.
    pub(crate) fn answer_withdrawals(&mut self) {
        for client in self.clients.iter_mut().filter(|client| client.withdraws) {
            client.withdraws = false;
            if client.wants.take().is_some() {
                client.link.tell(&Report::Busy);
            }
        }
    }

    /// Closes the socket for good, and touches nothing in the directory: somebody is removing it, and a new file there would be in
    /// their way. Clients that wait for their turn are told that it will not come.
    pub(crate) fn abandon(&mut self) {
        self.socket = None;
        for client in self.clients.iter_mut().filter(|client| client.is_refused || client.wants.is_some()) {
            // Nothing of it was done, so another session may run it.
            client.link.tell(&Report::NotStarted { step: FailedStep::Handover, errno: 0 });
        }
        self.clients.retain(|client| client.waits_for_end);
    }

    /// Adds a client whose command was not run at all, because the session is over. It is told so when the socket is closed, so
    /// that it does not connect to this session again.
    pub(crate) fn refuse(&mut self, link: EngineLink) {
        self.clients.push(SessionClient { is_refused: true, ..SessionClient::new(link) });
    }

    /// Closes the socket for good, and writes the reason into the directory if the next session is to tell it. Clients that wait
    /// for their turn are told that it will not come.
    pub(crate) fn close(&mut self, why: Option<&str>) {
        // The reason first: a client that finds the socket closed looks for it.
        if let Some(why) = why {
            let draft = self.directory.join(protocol::LOST_DRAFT);
            let _ = plain::write(&draft, why.as_bytes())
                .and_then(|()| fs::rename(&draft, self.directory.join(protocol::LOST)));
        }
        // On a full disk there is no reason to read, and only the removed socket tells that the keeper was not killed.
        for name in [protocol::CONTROL, protocol::SHELL] {
            let _ = fs::remove_file(self.directory.join(name));
        }
        self.abandon();
        if why.is_none() {
            let _ = fs::remove_file(self.directory.join(protocol::ABOUT));
            // Fails if there are other files, which stay.
            let _ = fs::remove_dir(&self.named);
        }
    }
}
