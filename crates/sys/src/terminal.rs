//! A terminal that nobody sits at.

use std::ffi::OsString;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStringExt;
use std::path::PathBuf;

use rustix::fs::{Mode, OFlags};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};

/// Both ends of a terminal.
#[derive(Debug)]
pub struct Terminal {
    /// The end where somebody would sit. Never blocks.
    pub outside: OwnedFd,
    /// Holds the other end open: as long as nobody does, the outside reads as if all were over.
    pub inside: OwnedFd,
    /// What programs open. For a session that has no terminal yet, the first one to be opened becomes its own.
    pub path: PathBuf,
}

impl Terminal {
    /// Makes a terminal.
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
