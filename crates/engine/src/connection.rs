//! The engine's end of a connection to a keeper.

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, OwnedFd};
use std::path::Path;
use std::time::Duration;

use bashful_keeper::protocol::{CONTROL, Garbled, Hello, Inbox, Order, Report};
use bashful_sys::proc::Process;
use bashful_sys::signal::Signal;
use bashful_sys::{event, pidfd, pipe, plain, socket};
use rustix::io::Errno;
use rustix::net::{RecvFlags, recv};
use rustix::process::Pid;
use tokio::io::unix::AsyncFd;
use tokio::time::timeout;

/// A keeper that has been silent for so long may have been stopped.
const SILENT_AT_MOST: Duration = Duration::from_secs(1);

/// A connection to a keeper. Closing it makes the keeper stop everything that was started over it.
///
/// The event loop watches it for reading only. There is always room to write, and a task that waits for room would wake
/// up each time the keeper reads.
#[derive(Debug)]
pub(crate) struct Connection {
    socket: AsyncFd<OwnedFd>,
    inbox: Inbox,
    /// True while our hello waits for the first order, so that it costs no message of its own.
    owes_hello: bool,
    /// Versions that the keeper speaks.
    keeper: Hello,
    /// Descriptors that have arrived. None if none is expected: then reading costs less.
    descriptors: Option<Vec<OwnedFd>>,
}

/// A message from the keeper.
enum KeeperMessage {
    Hello(Hello),
    Report(Report),
    /// A report of a version that this program does not speak.
    Foreign,
}

impl Connection {
    /// Wraps the socket of a keeper that this program has started.
    pub(crate) fn new(socket: OwnedFd) -> io::Result<Self> {
        pipe::set_nonblocking(&socket)?;
        Ok(Self {
            socket: event::readable(socket)?,
            inbox: Inbox::default(),
            owes_hello: true,
            keeper: Hello::UNSAID,
            descriptors: None,
        })
    }

    /// Connects to the keeper that listens in this directory. `protocol` comes from its record: a keeper of version 0
    /// closes the connection after a hello, and gets none.
    pub(crate) fn connect(directory: &Path, protocol: u32) -> io::Result<Self> {
        let connection = Self::new(connect_socket(directory)?)?;
        Ok(Self { owes_hello: protocol > 0, ..connection })
    }

    /// Sends the hello now. For callers that only listen; others send it with their first order.
    pub(crate) fn greet(&mut self) -> io::Result<()> {
        let hello = self.take_hello();
        // There is room for it: nothing was sent before.
        if hello.is_empty() { Ok(()) } else { socket::send(&self.socket, &hello, &[]).map(drop) }
    }

    /// Returns the bytes of the hello, if it has not been sent.
    fn take_hello(&mut self) -> Vec<u8> {
        let mut bytes = Vec::new();
        if std::mem::take(&mut self.owes_hello) {
            Hello::OURS.encode(&mut bytes);
        }
        bytes
    }

    /// True if both sides speak this version, or a later one. Known once the keeper has sent something.
    pub(crate) fn speaks(&self, version: u32) -> bool {
        Hello::OURS.common(self.keeper).is_some_and(|common| common >= version)
    }

    /// Newest version that the keeper speaks, if the two share none. Known once the keeper has sent something.
    pub(crate) fn foreign_version(&self) -> Option<u32> {
        if Hello::OURS.common(self.keeper).is_some() { None } else { Some(self.keeper.version) }
    }

    /// Sends orders, and descriptors with the first of them. If the future is dropped halfway, the keeper reads half an
    /// order and end of file, and stops its tree.
    pub(crate) async fn send(&mut self, orders: &[&Order], descriptors: &[BorrowedFd<'_>]) -> io::Result<()> {
        let mut bytes = self.take_hello();
        for order in orders {
            order.encode(&mut bytes);
        }
        let mut rest = bytes.as_slice();
        let mut descriptors = descriptors;
        while !rest.is_empty() {
            match socket::send(&self.socket, rest, descriptors) {
                Ok(sent) => {
                    rest = &rest[sent..];
                    descriptors = &[];
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    let room = event::writable(self.socket.get_ref().try_clone()?)?;
                    drop(room.writable().await?);
                }
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Receives descriptors from now on, which [`take_descriptor`](Self::take_descriptor) hands out.
    pub(crate) fn expect_descriptors(&mut self) {
        self.descriptors.get_or_insert_default();
    }

    /// The oldest descriptor that has arrived.
    pub(crate) fn take_descriptor(&mut self) -> Option<OwnedFd> {
        self.descriptors.as_mut().filter(|descriptors| !descriptors.is_empty()).map(|descriptors| descriptors.remove(0))
    }

    /// Sends `SIGCONT` to the process at the other end, if somebody has stopped it.
    pub(crate) fn wake_peer(&self) -> io::Result<()> {
        // A connection exists only while its keeper lives, so the process id is not a stranger's.
        let keeper = Process::read(self.peer()?).ok_or(Errno::SRCH)?;
        Ok(pidfd::send_to(&keeper, &[Signal::CONT])?)
    }

    /// Process id of the keeper at the other end of a connection made by [`connect`](Self::connect).
    pub(crate) fn peer(&self) -> io::Result<Pid> {
        Ok(rustix::net::sockopt::socket_peercred(&self.socket)?.pid)
    }

    /// Waits for the next report, however long it takes. Wakes a silent keeper, which somebody may have stopped. The
    /// future may be dropped and requested again without loss.
    pub(crate) async fn next_awake(&mut self) -> Result<Report, Silence> {
        loop {
            if let Ok(word) = timeout(SILENT_AT_MOST, self.next()).await {
                return word;
            }
            // A keeper that cannot be woken is gone, and the connection reports that.
            let _ = self.wake_peer();
        }
    }

    /// True if bytes have arrived, or the keeper is gone.
    pub(crate) fn has_news(&self) -> bool {
        socket::has_news(&self.socket)
    }

    /// Returns the socket; none if bytes have arrived that nobody has read.
    pub(crate) fn into_socket(self) -> Option<OwnedFd> {
        (self.inbox.is_empty() && !self.has_news()).then(|| self.socket.into_inner())
    }

    fn next_message(&mut self) -> Result<Option<KeeperMessage>, Garbled> {
        let shares_version = self.foreign_version().is_none();
        self.inbox.next(|body| match Hello::decode(body) {
            Some(hello) => hello.map(KeeperMessage::Hello),
            None if shares_version => Report::decode(body).map(KeeperMessage::Report),
            None => Ok(Report::decode_core(body).map_or(KeeperMessage::Foreign, KeeperMessage::Report)),
        })
    }

    /// Waits for the next report. The future may be dropped and requested again without loss.
    pub(crate) async fn next(&mut self) -> Result<Report, Silence> {
        loop {
            match self.next_message() {
                Ok(Some(KeeperMessage::Report(report))) => return Ok(report),
                Ok(Some(KeeperMessage::Hello(hello))) => {
                    self.keeper = hello;
                    continue;
                }
                // Nobody here can read it, and the end of the connection says enough.
                Ok(Some(KeeperMessage::Foreign)) => continue,
                // A keeper whose messages cannot be decoded counts as gone.
                Err(_) => return Err(Silence::Gone),
                Ok(None) => {}
            }
            let mut buffer = [0; 1024];
            let mut ready = self.socket.readable().await.map_err(|_| Silence::Gone)?;
            let received = match &mut self.descriptors {
                Some(descriptors) => socket::receive(&self.socket, &mut buffer, descriptors)
                    .map_err(|error| Errno::from_io_error(&error).unwrap_or(Errno::IO)),
                None => recv(&self.socket, &mut buffer[..], RecvFlags::empty()).map(|(count, _)| count),
            };
            match received {
                Ok(0) => return Err(Silence::Gone),
                Ok(count) => {
                    self.inbox.add(&buffer[..count]);
                    if count < buffer.len() {
                        // The buffer is not full, so nothing more has arrived.
                        ready.clear_ready();
                    }
                }
                Err(Errno::AGAIN) => ready.clear_ready(),
                Err(Errno::INTR) => {}
                // The system reports this when the peer closed its end with unread bytes.
                Err(Errno::CONNRESET) => return Err(Silence::Unheard),
                Err(_) => return Err(Silence::Gone),
            }
        }
    }
}

/// Connects a socket to the keeper that listens in this directory. Needs no runtime: an engine may be dropped outside
/// of one.
pub(crate) fn connect_socket(directory: &Path) -> io::Result<OwnedFd> {
    // A socket's path may have 107 bytes at most; through a handle on the directory it always fits.
    let handle = plain::open_directory(directory)?;
    let path = format!("/proc/self/fd/{}/{CONTROL}", handle.as_raw_fd());
    socket::connect(Path::new(&path))
}

/// Reason why no report will come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Silence {
    /// The keeper is gone.
    Gone,
    /// The keeper is gone, and has not read everything that it was sent.
    Unheard,
}
