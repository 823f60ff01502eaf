//! Whether a program is bash.

use std::io::{self, Read};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use thiserror::Error;

/// A shell that has not said its version by then never will.
const AT_LATEST: Duration = Duration::from_secs(5);

/// No version is longer.
const LONGEST: u64 = 256;

/// Why a program cannot be the shell.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum NotBash {
    /// It is not there.
    #[error("the shell {} does not exist", path.display())]
    Missing {
        /// Its path.
        path: PathBuf,
    },
    /// It is something else.
    #[error("the shell {} is not a file", path.display())]
    NotAFile {
        /// Its path.
        path: PathBuf,
    },
    /// Nobody may run it.
    #[error("the shell {} is not executable", path.display())]
    NotExecutable {
        /// Its path.
        path: PathBuf,
    },
    /// It cannot be run or looked at.
    #[error("the shell {} cannot be run", path.display())]
    Broken {
        /// Its path.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// It runs, and does not know what only bash knows.
    #[error("the shell {} is not bash: it has no BASH_VERSION", path.display())]
    Other {
        /// Its path.
        path: PathBuf,
    },
}

/// The version of a bash, or why it is none. Runs it for a moment, with nothing of this program's environment.
///
/// ```
/// assert!(bashful_engine::bash_version("/bin/bash".as_ref()).is_ok_and(|version| version.contains('.')));
/// assert!(bashful_engine::bash_version("/bin/cat".as_ref()).is_err());
/// ```
pub fn bash_version(shell: &Path) -> Result<String, NotBash> {
    let path = shell.to_path_buf();
    let metadata = match shell.metadata() {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Err(NotBash::Missing { path }),
        Err(source) => return Err(NotBash::Broken { path, source }),
        Ok(metadata) => metadata,
    };
    if !metadata.is_file() {
        return Err(NotBash::NotAFile { path });
    }
    if metadata.permissions().mode() & 0o111 == 0 {
        return Err(NotBash::NotExecutable { path });
    }
    let said = ask(shell).map_err(|source| NotBash::Broken { path: path.clone(), source })?;
    let version = said.trim().strip_prefix("bash ").unwrap_or_default();
    if version.is_empty() { Err(NotBash::Other { path }) } else { Ok(version.to_owned()) }
}

/// What a shell says of itself; nothing if it does not come to an end.
fn ask(shell: &Path) -> io::Result<String> {
    let mut child = Command::new(shell)
        .args(["-c", "echo \"bash $BASH_VERSION\""])
        .env_clear()
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()?;
    let output = child.stdout.take();
    // It may be anything: one that writes without end is only listened to for a line.
    let reader = std::thread::spawn(move || {
        let mut said = Vec::new();
        let read = output.map(|output| output.take(LONGEST).read_to_end(&mut said));
        read.transpose().map(|_| String::from_utf8_lossy(&said).into_owned())
    });
    let give_up = Instant::now() + AT_LATEST;
    while !reader.is_finished() && Instant::now() < give_up {
        std::thread::sleep(Duration::from_micros(200));
    }
    // It has ended, or is to.
    let _ = child.kill();
    child.wait()?;
    // What it has started may still hold the pipe.
    if reader.is_finished() { reader.join().unwrap_or_else(|_| Ok(String::new())) } else { Ok(String::new()) }
}
