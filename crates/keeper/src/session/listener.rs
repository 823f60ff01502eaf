//! The listening socket of a session, its connected clients, and its directory on disk.
//!
//! The directory holds the socket `control` while the session lives. A session that ends leaves the file `lost` there,
//! with the reason for the next session of that name. A session that ends with its engine leaves nothing.

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
use crate::protocol::{self, FailedStep, Report, SessionCommand};

/// Most clients connected at once. More would use up the keeper's descriptors.
const MOST_CLIENTS: usize = 256;

pub(crate) struct SessionListener {
    /// None once it is closed.
    socket: Option<UnixListener>,
    path: PathBuf,
    /// Path through `handle`: it stays this directory, even if somebody moves it and makes another in its place.
    directory: PathBuf,
    handle: File,
    /// Readable when an entry of the directory is created or removed; none if the user has no watches left.
    watch: Option<OwnedFd>,
    /// True if somebody has removed the socket, so that no client can connect.
    pub(crate) is_removed: bool,
    pub(crate) clients: Vec<SessionClient>,
}

/// A connection whose command does not run now.
#[expect(clippy::struct_excessive_bools, reason = "each is something that a client may have said, beside the others")]
pub(crate) struct SessionClient {
    pub(crate) link: EngineLink,
    /// Variables for its next command.
    pub(crate) variables: Vec<Vec<u8>>,
    /// Command that waits for its turn.
    pub(crate) waiting_command: Option<SessionCommand>,
    /// True if the client withdraws its command unless it can run now.
    pub(crate) withdraws: bool,
    pub(crate) has_news: bool,
    /// True if the client has asked for the end of the session, and waits for it.
    pub(crate) waits_for_end: bool,
    /// True if this session cannot run the client's command any more.
    is_refused: bool,
}

impl SessionClient {
    fn new(link: EngineLink) -> Self {
        Self {
            link,
            variables: Vec::new(),
            waiting_command: None,
            withdraws: false,
            has_news: false,
            waits_for_end: false,
            is_refused: false,
        }
    }
}

impl SessionListener {
    pub(crate) fn open(directory: Vec<u8>) -> io::Result<Self> {
        let path = PathBuf::from(std::ffi::OsString::from_vec(directory));
        let handle = plain::open_directory(&path)?;
        // A handle also helps because a socket's path may have 107 bytes at most.
        let directory = PathBuf::from(format!("/proc/self/fd/{}", handle.as_raw_fd()));
        let socket = socket::listen(&directory.join(protocol::CONTROL))?;
        let _ = wake::on_news(&socket);
        let watch = notify::watch_directories(&[&directory]).ok();
        Ok(Self { socket: Some(socket), path, directory, handle, watch, is_removed: false, clients: Vec::new() })
    }

    /// Readable when a client connects.
    pub(crate) fn socket(&self) -> Option<BorrowedFd<'_>> {
        self.socket.as_ref().map(AsFd::as_fd)
    }

    /// Readable when the socket may have been removed.
    pub(crate) fn watch(&self) -> Option<BorrowedFd<'_>> {
        self.watch.as_ref().map(AsFd::as_fd)
    }

    /// Sets `is_removed` if the socket is gone.
    pub(crate) fn check_socket(&mut self) {
        if let Some(watch) = &self.watch {
            notify::drain(watch.as_fd());
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
                link.send(&Report::Busy);
                continue;
            }
            // A client connects to send something.
            self.clients.push(SessionClient { has_news: true, ..SessionClient::new(link) });
        }
    }

    /// Writes the process id of the shell into the directory.
    pub(crate) fn write_shell_pid(&self, pid: i32) {
        // If that fails, nobody learns the shell's working directory.
        let _ = plain::write(&self.directory.join(protocol::SHELL), pid.to_string().as_bytes());
    }

    /// Removes the first client that waits for its turn, and returns it with its command.
    pub(crate) fn next_command(&mut self) -> Option<(EngineLink, SessionCommand)> {
        let index = self.clients.iter().position(|client| client.waiting_command.is_some())?;
        let SessionClient { link, waiting_command, .. } = self.clients.remove(index);
        Some((link, waiting_command?))
    }

    /// Adds a client whose command has ended. It may still hand over pipes.
    pub(crate) fn readmit(&mut self, link: EngineLink) {
        self.clients.push(SessionClient::new(link));
    }

    /// Tells every client that has withdrawn its command that none of it will run.
    pub(crate) fn answer_withdrawals(&mut self) {
        for client in self.clients.iter_mut().filter(|client| client.withdraws) {
            client.withdraws = false;
            if client.waiting_command.take().is_some() {
                client.link.send(&Report::Busy);
            }
        }
    }

    /// Closes the socket and leaves the directory alone: somebody is removing it, and a new file would be in their way.
    /// Clients that wait for their turn learn that it will not come.
    pub(crate) fn abandon(&mut self) {
        self.socket = None;
        for client in self.clients.iter_mut().filter(|client| client.is_refused || client.waiting_command.is_some()) {
            // None of the command ran, so another session may run it.
            client.link.send(&Report::NotStarted { step: FailedStep::Handover, errno: 0 });
        }
        self.clients.retain(|client| client.waits_for_end);
    }

    /// Adds a client whose command did not run, because the session is over. It gets the answer when the socket is
    /// closed, so that it does not connect to this session again.
    pub(crate) fn refuse(&mut self, link: EngineLink) {
        self.clients.push(SessionClient { is_refused: true, ..SessionClient::new(link) });
    }

    /// Closes the socket, and writes the reason for the next session into the directory, if there is one. Clients that
    /// wait for their turn learn that it will not come.
    pub(crate) fn close(&mut self, why: Option<&str>) {
        // The reason comes first: a client that finds the socket closed looks for it.
        if let Some(why) = why {
            let draft = self.directory.join(protocol::LOST_DRAFT);
            let _ = plain::write(&draft, why.as_bytes())
                .and_then(|()| fs::rename(&draft, self.directory.join(protocol::LOST)));
        }
        // On a full disk there is no reason to read. Then only the removed socket shows that the keeper was not killed.
        for name in [protocol::CONTROL, protocol::SHELL] {
            let _ = fs::remove_file(self.directory.join(name));
        }
        self.abandon();
        if why.is_none() {
            let _ = fs::remove_file(self.directory.join(protocol::ABOUT));
            // Fails if there are other files, which stay.
            let _ = fs::remove_dir(&self.path);
        }
    }
}
