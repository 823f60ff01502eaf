//! The floor: the least that a program must do to run a command and read its output.
//!
//! The standard library starts a program by `posix_spawn` as long as nothing is asked of it that this cannot do. The
//! directory is one of those things in a statically linked program, so the command runs in the host's own.

use std::ffi::{OsStr, OsString};
use std::io::{self, Read};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// A program, its name, its arguments, and its whole environment.
pub(crate) struct Bare<'a> {
    pub(crate) program: &'a Path,
    pub(crate) name: &'a str,
    pub(crate) arguments: &'a [&'a str],
    pub(crate) variables: &'a [(OsString, OsString)],
}

impl Bare<'_> {
    /// Runs the program, reads both streams from one pipe to the end, waits, and returns the time for all of that.
    pub(crate) fn time(&self, expected: &[u8]) -> io::Result<Duration> {
        let mut command = Command::new(self.program);
        command.arg0(self.name).args(self.arguments).env_clear();
        command.envs(self.variables.iter().map(|(name, value)| (name.as_os_str(), value.as_os_str())));
        let mut written = Vec::with_capacity(4096);
        let began = Instant::now();
        let (mut read, write) = io::pipe()?;
        command.stdin(Stdio::null()).stdout(write.try_clone()?).stderr(write);
        let mut child = command.spawn()?;
        // The command holds the writing ends, which would prevent the end of file.
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
