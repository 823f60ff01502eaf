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

/// A connection to a keeper. Closing it tells the keeper to stop what was started over it.
///
/// It is watched for what comes, and not for room to write: there is always room, and whoever waits for it is woken each
/// time the keeper reads.
#[derive(Debug)]
pub(crate) struct Connection {
    socket: AsyncFd<OwnedFd>,
    inbox: Inbox,
    /// Our hello goes with the next order, so that it costs no message of its own.
    owes_hello: bool,
    /// The versions that the keeper speaks, as it has said.
    keeper: Hello,
    /// Descriptors that have arrived. None if none is expected: then reading costs less.
    descriptors: Option<Vec<OwnedFd>>,
}

/// One message of the keeper.
enum Message {
    Hello(Hello),
    Report(Report),
    /// A report of a version that is not ours.
    Foreign,
}

impl Connection {
    /// A connection to a keeper that this program has started.
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

    /// Connects to the keeper that listens in this directory. Its record says which `protocol` it speaks: a keeper of version 0
    /// hangs up on a hello, and gets none.
    pub(crate) fn connect(directory: &Path, protocol: u32) -> io::Result<Self> {
        let connection = Self::new(reach(directory)?)?;
        Ok(Self { owes_hello: protocol > 0, ..connection })
    }

    /// Says hello now. For those who only listen: the others say it with their first order.
    pub(crate) fn greet(&mut self) -> io::Result<()> {
        let hello = self.take_hello();
        // There is room for it: nothing was sent before.
        if hello.is_empty() { Ok(()) } else { socket::send(&self.socket, &hello, &[]).map(drop) }
    }

    /// The bytes of the hello, if it is still to be said.
    fn take_hello(&mut self) -> Vec<u8> {
        let mut bytes = Vec::new();
        if std::mem::take(&mut self.owes_hello) {
            Hello::OURS.encode(&mut bytes);
        }
        bytes
    }

    /// The newest version that the keeper speaks, if it shares none with this program. Known when it has said something.
    pub(crate) fn foreign_version(&self) -> Option<u32> {
        if Hello::OURS.common(self.keeper).is_some() { None } else { Some(self.keeper.version) }
    }

    /// Sends orders, the first of them with descriptors. Dropped halfway, the keeper sees half an order and then the end,
    /// which it takes as a reason to stop.
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

    /// Lets the process at the other end go on, if somebody has stopped it.
    pub(crate) fn wake_peer(&self) -> io::Result<()> {
        // The keeper that listens on the socket still lives, or there would be no connection: so the id is not a stranger's.
        let keeper = Process::read(self.peer()?).ok_or(Errno::SRCH)?;
        Ok(pidfd::send_to(&keeper, &[Signal::CONT])?)
    }

    /// The keeper at the other end of a connection that was made by [`connect`](Self::connect).
    pub(crate) fn peer(&self) -> io::Result<Pid> {
        Ok(rustix::net::sockopt::socket_peercred(&self.socket)?.pid)
    }

    /// The next report, however long it takes to come. A keeper that is silent may have been stopped, by a command perhaps,
    /// and is woken. May be dropped and called again without losing anything.
    pub(crate) async fn next_awake(&mut self) -> Result<Report, Silence> {
        loop {
            if let Ok(word) = timeout(SILENT_AT_MOST, self.next()).await {
                return word;
            }
            // If it cannot be woken it is gone, and the connection says so.
            let _ = self.wake_peer();
        }
    }

    /// True if something has arrived, or the keeper is gone.
    pub(crate) fn has_news(&self) -> bool {
        socket::has_news(&self.socket)
    }

    /// Gives the socket back; none if something has arrived that nobody has taken.
    pub(crate) fn into_socket(self) -> Option<OwnedFd> {
        (self.inbox.is_empty() && !self.has_news()).then(|| self.socket.into_inner())
    }

    fn next_message(&mut self) -> Result<Option<Message>, Garbled> {
        let shares_version = self.foreign_version().is_none();
        self.inbox.next(|body| match Hello::decode(body) {
            Some(hello) => hello.map(Message::Hello),
            None if shares_version => Report::decode(body).map(Message::Report),
            None => Ok(Report::decode_core(body).map_or(Message::Foreign, Message::Report)),
        })
    }

    /// The next report. May be dropped and called again without losing anything.
    pub(crate) async fn next(&mut self) -> Result<Report, Silence> {
        loop {
            match self.next_message() {
                Ok(Some(Message::Report(report))) => return Ok(report),
                Ok(Some(Message::Hello(hello))) => {
                    self.keeper = hello;
                    continue;
                }
                // Nobody here can read it, and its end says enough.
                Ok(Some(Message::Foreign)) => continue,
                // A keeper that talks nonsense is as good as gone.
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
                        // That was all of it.
                        ready.clear_ready();
                    }
                }
                Err(Errno::AGAIN) => ready.clear_ready(),
                Err(Errno::INTR) => {}
                // The system says so when an end is closed on which something was still to be read.
                Err(Errno::CONNRESET) => return Err(Silence::Unheard),
                Err(_) => return Err(Silence::Gone),
            }
        }
    }
}

/// A socket to the keeper that listens in this directory. Needs no runtime: an engine may be dropped outside of one.
pub(crate) fn reach(directory: &Path) -> io::Result<OwnedFd> {
    // A socket's path may have 107 bytes only; through a handle on the directory it always fits.
    let handle = plain::open_directory(directory)?;
    let path = format!("/proc/self/fd/{}/{CONTROL}", handle.as_raw_fd());
    socket::connect(Path::new(&path))
}

/// Why no report will ever come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Silence {
    /// The keeper is gone.
    Gone,
    /// It is gone, and has not even read all that it was sent.
    Unheard,
}
