//! A pseudo-terminal that nobody sits at.

use std::ffi::OsString;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStringExt;
use std::path::PathBuf;

use rustix::fs::{Mode, OFlags};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};

/// Both ends of a pseudo-terminal.
#[derive(Debug)]
pub struct Terminal {
    /// The end of the user. Never blocks.
    pub outside: OwnedFd,
    /// The end of the programs, held open: while nobody has it open, `outside` reads as closed.
    pub inside: OwnedFd,
    /// Path that programs open. The first terminal that a session opens becomes its controlling one.
    pub path: PathBuf,
}

impl Terminal {
    /// Opens a new pseudo-terminal.
    pub fn new() -> io::Result<Self> {
        let outside = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC)?;
        grantpt(&outside)?;
        unlockpt(&outside)?;
        let name = ptsname(&outside, Vec::new())?;
        let flags = OFlags::RDWR | OFlags::NOCTTY | OFlags::CLOEXEC;
        let inside = rustix::fs::open(name.as_c_str(), flags, Mode::empty())?;
        crate::pipe::set_nonblocking(&outside)?;
        let path = PathBuf::from(OsString::from_vec(name.into_bytes()));
        Ok(Self { outside, inside, path })
    }
}
