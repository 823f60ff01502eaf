//! The process at the other end of a Unix socket.

use std::io;
use std::os::fd::{AsFd, AsRawFd, FromRawFd, OwnedFd, RawFd};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::process::{Pid, Uid};

/// The process that connected a socket, or, seen from the connected one, that listens. The kernel has noted it then;
/// what has become of the socket since does not matter.
#[derive(Debug)]
pub struct Peer {
    /// Id of the process. Another process may have it by now: see [`Peer::still_runs`].
    pub process: Pid,
    /// User of the process.
    pub user: Uid,
    /// None before Linux 6.5.
    handle: Option<OwnedFd>,
}

impl Peer {
    /// The process at the other end of a connected socket.
    pub fn of(socket: impl AsFd) -> io::Result<Self> {
        let credentials = rustix::net::sockopt::socket_peercred(&socket)?;
        let handle = match peer_handle(&socket) {
            Ok(handle) => Some(handle),
            Err(Errno::NOPROTOOPT) => None,
            // The process has ended, or no descriptor is left.
            Err(error) => return Err(error.into()),
        };
        Ok(Self { process: credentials.pid, user: credentials.uid, handle })
    }

    /// True if the process has not ended, so that everything read by its id until now was about this process. Always
    /// true before Linux 6.5.
    pub fn still_runs(&self) -> bool {
        let Some(handle) = &self.handle else { return true };
        let mut end = [PollFd::new(handle, PollFlags::IN)];
        poll(&mut end, Some(&Timespec::default())) == Ok(0)
    }
}

#[expect(unsafe_code, reason = "rustix does not have this option")]
fn peer_handle(socket: impl AsFd) -> Result<OwnedFd, Errno> {
    let mut handle: RawFd = -1;
    let mut length = libc::socklen_t::try_from(size_of::<RawFd>()).expect("a few bytes");
    let socket = socket.as_fd().as_raw_fd();
    let (level, option) = (libc::SOL_SOCKET, libc::SO_PEERPIDFD);
    // SAFETY: the kernel writes at most `length` bytes, which are those of `handle`.
    let done = unsafe { libc::getsockopt(socket, level, option, (&raw mut handle).cast(), &raw mut length) };
    if done != 0 {
        return Err(Errno::from_io_error(&io::Error::last_os_error()).unwrap_or(Errno::IO));
    }
    // SAFETY: the call has succeeded, so the descriptor is a new one, and nobody else has it.
    Ok(unsafe { OwnedFd::from_raw_fd(handle) })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::net::{UnixListener, UnixStream};
    use std::process::Command;

    #[test]
    fn both_ends_know_each_other_and_an_end_is_noticed() {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("socket");
        let listener = UnixListener::bind(&path).expect("a socket");
        let connected = UnixStream::connect(&path).expect("it listens");
        let accepted = listener.accept().expect("a connection").0;
        for socket in [&connected, &accepted] {
            let peer = Peer::of(socket).expect("a peer");
            assert_eq!((peer.process, peer.user), (rustix::process::getpid(), rustix::process::geteuid()));
            assert!(peer.still_runs());
        }
        let script = "import socket, sys; socket.socket(socket.AF_UNIX).connect(sys.argv[1])";
        let ended = Command::new("python3").args(["-c", script]).arg(&path).status();
        assert!(ended.expect("Python").success());
        let gone = Peer::of(listener.accept().expect("a connection").0);
        // Before Linux 6.5 nobody knows.
        assert!(gone.is_err() || gone.is_ok_and(|gone| gone.handle.is_none() || !gone.still_runs()));
    }
}
