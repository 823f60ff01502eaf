//! Standard input and output of this process on a tokio event loop.
//!
//! Pipes and Unix sockets, which programs give to servers that they start, are read and written by the event loop.
//! Anything else gets a thread that may block, which costs a hand-over for each line.

use std::fs::File;
use std::io;
use std::os::fd::AsFd;
use std::os::unix::fs::{FileTypeExt, OpenOptionsExt};
use std::os::unix::net::UnixStream as StdUnixStream;

use rustix::net::{AddressFamily, getsockname};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::UnixStream;
use tokio::net::unix::pipe::{Receiver, Sender};

/// Opens standard input and output. Needs a tokio runtime with I/O.
///
/// A socket becomes non-blocking for every process that shares it. Its owner keeps the other end, and no command gets this
/// one.
pub fn stdio() -> (Box<dyn AsyncRead + Send + Unpin>, Box<dyn AsyncWrite + Send + Unpin>) {
    (input(), output())
}

fn input() -> Box<dyn AsyncRead + Send + Unpin> {
    if let Ok(pipe) = pipe("/proc/self/fd/0", File::options().read(true)).and_then(Receiver::from_file) {
        return Box::new(pipe);
    }
    match socket(io::stdin()) {
        Ok(socket) => Box::new(socket),
        Err(_) => Box::new(tokio::io::stdin()),
    }
}

fn output() -> Box<dyn AsyncWrite + Send + Unpin> {
    if let Ok(pipe) = pipe("/proc/self/fd/1", File::options().write(true)).and_then(Sender::from_file) {
        return Box::new(pipe);
    }
    match socket(io::stdout()) {
        Ok(socket) => Box::new(socket),
        Err(_) => Box::new(tokio::io::stdout()),
    }
}

/// Opens a pipe a second time, so that only we see it as non-blocking: the first opening may be shared with other processes.
fn pipe(path: &str, options: &mut std::fs::OpenOptions) -> io::Result<File> {
    let is_pipe = std::fs::metadata(path)?.file_type().is_fifo();
    if !is_pipe {
        return Err(io::ErrorKind::Unsupported.into());
    }
    let non_blocking = i32::try_from(rustix::fs::OFlags::NONBLOCK.bits()).map_err(io::Error::other)?;
    options.custom_flags(non_blocking).open(path)
}

/// A Unix socket, which cannot be opened a second time.
fn socket(stream: impl AsFd) -> io::Result<UnixStream> {
    if getsockname(&stream)?.address_family() != AddressFamily::UNIX {
        return Err(io::ErrorKind::Unsupported.into());
    }
    let socket = StdUnixStream::from(stream.as_fd().try_clone_to_owned()?);
    socket.set_nonblocking(true)?;
    UnixStream::from_std(socket)
}
