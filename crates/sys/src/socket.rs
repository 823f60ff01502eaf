//! Connected sockets that can carry descriptors.

use std::io::{self, IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixListener;
use std::path::Path;

use rustix::io::Errno;
use rustix::net::{
    AddressFamily, RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer, SendAncillaryMessage,
    SendFlags, SocketAddrUnix, SocketFlags, SocketType, recv, recvmsg, sendmsg, socketpair,
};
use rustix::process::geteuid;

/// Most descriptors that one message carries.
const MOST_DESCRIPTORS: usize = 16;

/// Makes a connected pair.
pub fn pair() -> io::Result<(OwnedFd, OwnedFd)> {
    Ok(socketpair(AddressFamily::UNIX, SocketType::STREAM, SocketFlags::CLOEXEC, None)?)
}

/// Listens at a path, for this user alone, whatever the umask is. Accepting a connection never waits.
pub fn listen(path: &Path) -> io::Result<UnixListener> {
    let listener = UnixListener::bind(path)?;
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o600))?;
    listener.set_nonblocking(true)?;
    Ok(listener)
}

/// Connects to a process of this user that listens at a path. Never waits: a listener with a full backlog is
/// [`io::ErrorKind::TimedOut`].
pub fn connect(path: &Path) -> io::Result<OwnedFd> {
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let socket = rustix::net::socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None)?;
    match rustix::net::connect(&socket, &SocketAddrUnix::new(path)?) {
        Err(Errno::AGAIN) => return Err(io::Error::new(io::ErrorKind::TimedOut, "it accepts no connections")),
        connected => connected?,
    }
    let peer = rustix::net::sockopt::socket_peercred(&socket)?;
    if peer.uid != geteuid() {
        return Err(io::Error::new(io::ErrorKind::PermissionDenied, "another user listens there"));
    }
    Ok(socket)
}

/// Sends bytes, and descriptors with the first of them. Returns the number of bytes sent.
///
/// # Panics
///
/// Panics with more than sixteen descriptors.
pub fn send(socket: impl AsFd, bytes: &[u8], descriptors: &[BorrowedFd<'_>]) -> io::Result<usize> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MOST_DESCRIPTORS))];
    let mut control = SendAncillaryBuffer::new(&mut space);
    if !descriptors.is_empty() {
        assert!(control.push(SendAncillaryMessage::ScmRights(descriptors)), "too many descriptors for one message");
    }
    loop {
        // The loss of the peer is an error to handle, not a signal to die of.
        match sendmsg(&socket, &[IoSlice::new(bytes)], &mut control, SendFlags::NOSIGNAL) {
            Err(rustix::io::Errno::INTR) => {}
            other => return Ok(other?),
        }
    }
}

/// True if bytes have arrived, or the peer is gone.
pub fn has_news(socket: impl AsFd) -> bool {
    let mut probe = [0];
    recv(&socket, &mut probe, RecvFlags::PEEK | RecvFlags::DONTWAIT) != Err(rustix::io::Errno::AGAIN)
}

/// Receives bytes, and appends the descriptors that came with them. Returns 0 if the peer is gone.
pub fn receive(socket: impl AsFd, buffer: &mut [u8], descriptors: &mut Vec<OwnedFd>) -> io::Result<usize> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MOST_DESCRIPTORS))];
    let mut control = RecvAncillaryBuffer::new(&mut space);
    let count = loop {
        match recvmsg(&socket, &mut [IoSliceMut::new(buffer)], &mut control, RecvFlags::CMSG_CLOEXEC) {
            Err(rustix::io::Errno::INTR) => {}
            other => break other?.bytes,
        }
    };
    for message in control.drain() {
        if let RecvAncillaryMessage::ScmRights(received) = message {
            descriptors.extend(received);
        }
    }
    Ok(count)
}
