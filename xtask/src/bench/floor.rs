//! The least that a program can do to run a command and read what it writes.
//!
//! The standard library starts a program by `posix_spawn` as long as nothing is asked of it that this cannot do. The
//! directory is one of those things in a statically linked program, so the command runs in the host's own.

use std::ffi::{OsStr, OsString};
use std::io::{self, Read};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// A program, what it is called, its arguments, and its whole environment.
pub(crate) struct Bare<'a> {
    pub(crate) program: &'a Path,
    pub(crate) name: &'a str,
    pub(crate) arguments: &'a [&'a str],
    pub(crate) variables: &'a [(OsString, OsString)],
}

impl Bare<'_> {
    /// Runs it, reads one pipe for output and errors to its end, waits, and tells how long all of that took.
    pub(crate) fn time(&self, expected: &[u8]) -> io::Result<Duration> {
        let mut command = Command::new(self.program);
        command.arg0(self.name).args(self.arguments).env_clear();
        command.envs(self.variables.iter().map(|(name, value)| (name.as_os_str(), value.as_os_str())));
        let mut written = Vec::with_capacity(4096);
        let began = Instant::now();
        let (mut read, write) = io::pipe()?;
        command.stdin(Stdio::null()).stdout(write.try_clone()?).stderr(write);
        let mut child = command.spawn()?;
        // It holds the writing ends, and the end of the pipe never comes while somebody does.
        drop(command);
        read.read_to_end(&mut written)?;
        let status = child.wait()?;
        let time = began.elapsed();
        if status.success() && written == expected {
            return Ok(time);
        }
        let what = OsStr::new(self.program).display();
        Err(io::Error::other(format!("{what} went wrong: {status}, {:?}", String::from_utf8_lossy(&written))))
    }
}
