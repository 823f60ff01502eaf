//! Standard input and output of this process.
//!
//! Pipes are read and written by the event loop. Anything else gets a thread that may block, which costs a hand-over for
//! each line.

use std::fs::File;
use std::io;
use std::os::unix::fs::{FileTypeExt, OpenOptionsExt};

use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::unix::pipe::{Receiver, Sender};

/// Opens standard input and output. Needs a tokio runtime with I/O.
pub fn stdio() -> (Box<dyn AsyncRead + Send + Unpin>, Box<dyn AsyncWrite + Send + Unpin>) {
    let input = pipe("/proc/self/fd/0", File::options().read(true)).and_then(Receiver::from_file);
    let output = pipe("/proc/self/fd/1", File::options().write(true)).and_then(Sender::from_file);
    (
        input.map_or_else(|_| Box::new(tokio::io::stdin()) as _, |input| Box::new(input) as _),
        output.map_or_else(|_| Box::new(tokio::io::stdout()) as _, |output| Box::new(output) as _),
    )
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
