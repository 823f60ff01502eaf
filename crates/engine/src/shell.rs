//! Finds bash, and checks if a program is bash.

use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, Read};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use thiserror::Error;

/// Time for a shell to print its version.
const VERSION_PATIENCE: Duration = Duration::from_secs(5);

/// Bytes of a program that are searched. A static bash has three megabytes.
const SEARCHED_BYTES: u64 = 16 << 20;

/// Longest output of a shell that prints its version, in bytes.
const LONGEST_VERSION: u64 = 256;

/// Usual paths of bash. A search ends there when `PATH` has none.
const USUAL_PATHS: [&str; 2] = ["/bin/bash", "/usr/bin/bash"];

/// A name that every version of bash contains, and no other shell.
const BASH_NAME: &[u8] = b"BASH_EXECUTION_STRING";

/// Result of a search for bash.
#[derive(Debug)]
pub struct BashSearch {
    /// Absolute path of the first real bash.
    pub found: Option<PathBuf>,
    /// Programs before it that have the name of bash but are not bash.
    pub skipped: Vec<NotBash>,
}

/// Error: a program that cannot be the shell.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum NotBash {
    /// The path does not exist.
    #[error("the shell {} does not exist", path.display())]
    Missing {
        /// Path of the program.
        path: PathBuf,
    },
    /// The path is no file.
    #[error("the shell {} is not a file", path.display())]
    NotAFile {
        /// Path of the program.
        path: PathBuf,
    },
    /// The file is not executable.
    #[error("the shell {} is not executable", path.display())]
    NotExecutable {
        /// Path of the program.
        path: PathBuf,
    },
    /// The program cannot be run or read.
    #[error("the shell {} cannot be run", path.display())]
    Broken {
        /// Path of the program.
        path: PathBuf,
        /// Error of the system.
        source: io::Error,
    },
    /// The program is a script. Only running it would show what it is.
    #[error("the shell {} is a script, which is accepted only when the program starts", path.display())]
    Script {
        /// Path of the program.
        path: PathBuf,
    },
    /// The program runs, but has no `BASH_VERSION`.
    #[error("the shell {} is not bash: it has no BASH_VERSION", path.display())]
    Other {
        /// Path of the program.
        path: PathBuf,
    },
}

/// Returns the version of a bash, or why it is none. Runs the program for a moment, with an empty environment.
///
/// ```
/// assert!(bashful_engine::bash_version("/bin/bash".as_ref()).is_ok_and(|version| version.contains('.')));
/// assert!(bashful_engine::bash_version("/bin/cat".as_ref()).is_err());
/// ```
pub fn bash_version(shell: &Path) -> Result<String, NotBash> {
    check_file(shell)?;
    let path = shell.to_path_buf();
    let said = print_version(shell).map_err(|source| NotBash::Broken { path: path.clone(), source })?;
    let version = said.trim().strip_prefix("bash ").unwrap_or_default();
    if version.is_empty() { Err(NotBash::Other { path }) } else { Ok(version.to_owned()) }
}

/// Checks if a program is bash by its file alone. Runs nothing, so it is safe for a file that commands may have
/// written, without a keeper.
///
/// ```
/// assert!(bashful_engine::check_bash_file("/bin/bash".as_ref()).is_ok());
/// assert!(bashful_engine::check_bash_file("/bin/cat".as_ref()).is_err());
/// ```
pub fn check_bash_file(shell: &Path) -> Result<(), NotBash> {
    check_file(shell)?;
    let path = shell.to_path_buf();
    match read_kind(shell) {
        Ok(ProgramKind::Bash) => Ok(()),
        Ok(ProgramKind::Other) => Err(NotBash::Other { path }),
        Ok(ProgramKind::Script) => Err(NotBash::Script { path }),
        Err(source) => Err(NotBash::Broken { path, source }),
    }
}

/// Returns the first bash in the directories of a `PATH`, and then in `/bin` and `/usr/bin`. Checks files only.
pub fn find_bash_file(path: &OsStr) -> Option<PathBuf> {
    candidates(path).find(|candidate| check_bash_file(candidate).is_ok())
}

/// Paths that a search for bash tries, in order.
fn candidates(path: &OsStr) -> impl Iterator<Item = PathBuf> {
    let on_path = std::env::split_paths(path).filter(|directory| directory.is_absolute());
    on_path.map(|directory| directory.join("bash")).chain(USUAL_PATHS.map(PathBuf::from))
}

/// Checks that the path is an executable file.
fn check_file(shell: &Path) -> Result<(), NotBash> {
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
    Ok(())
}

/// Returns the first bash in the directories of a `PATH`, and then in `/bin` and `/usr/bin`.
///
/// ```
/// let bash = bashful_engine::find_bash("/usr/local/bin:/usr/bin:/bin".as_ref());
/// assert!(bash.is_some_and(|bash| bash.ends_with("bash")));
/// ```
pub fn find_bash(path: &OsStr) -> Option<PathBuf> {
    search_bash(path).found
}

/// Searches like [`find_bash`], and also returns the programs that only have the name.
///
/// A program of the system is accepted by its path, others if their file contains bash's own names. Only scripts are
/// run.
pub fn search_bash(path: &OsStr) -> BashSearch {
    let mut skipped = Vec::new();
    for candidate in candidates(path) {
        match check_cheaply(&candidate) {
            Ok(()) => return BashSearch { found: Some(candidate), skipped },
            Err(other @ NotBash::Other { .. }) => skipped.push(other),
            // No shell would find it there either.
            Err(_) => {}
        }
    }
    BashSearch { found: None, skipped }
}

fn check_cheaply(shell: &Path) -> Result<(), NotBash> {
    check_file(shell)?;
    match read_kind(shell) {
        Ok(ProgramKind::Bash) => Ok(()),
        Ok(ProgramKind::Other) => Err(NotBash::Other { path: shell.to_path_buf() }),
        // A wrapper script may lead to bash, and a program that cannot be read may still be run.
        Ok(ProgramKind::Script) | Err(_) => bash_version(shell).map(drop),
    }
}

/// Kind of a program, by its file alone.
enum ProgramKind {
    Bash,
    Script,
    Other,
}

fn read_kind(shell: &Path) -> io::Result<ProgramKind> {
    let mut file = File::open(shell)?;
    let mut start = [0; 2];
    file.read_exact(&mut start)?;
    if &start == b"#!" {
        return Ok(ProgramKind::Script);
    }
    if USUAL_PATHS.iter().any(|usual| shell == Path::new(usual)) {
        return Ok(ProgramKind::Bash);
    }
    let mut program = Vec::new();
    file.take(SEARCHED_BYTES).read_to_end(&mut program)?;
    Ok(if memchr::memmem::find(&program, BASH_NAME).is_some() { ProgramKind::Bash } else { ProgramKind::Other })
}

/// Runs a shell that prints its version; empty if it does not end in time.
fn print_version(shell: &Path) -> io::Result<String> {
    let mut child = Command::new(shell)
        .args(["-c", "echo \"bash $BASH_VERSION\""])
        .env_clear()
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .process_group(0)
        .spawn()?;
    let output = child.stdout.take();
    // The program may be anything. One that writes without end is read for one line.
    let reader = std::thread::Builder::new().name("bashful-shell".to_owned()).spawn(move || {
        let mut said = Vec::new();
        let read = output.map(|output| output.take(LONGEST_VERSION).read_to_end(&mut said));
        read.transpose().map(|_| String::from_utf8_lossy(&said).into_owned())
    });
    let reader = match reader {
        Ok(reader) => reader,
        Err(error) => {
            let _ = child.kill().and_then(|()| child.wait());
            return Err(error);
        }
    };
    let give_up = Instant::now() + VERSION_PATIENCE;
    while !reader.is_finished() && Instant::now() < give_up {
        std::thread::sleep(Duration::from_micros(200));
    }
    // The shell has ended, or is killed now, with everything that it started.
    let group = i32::try_from(child.id()).ok().and_then(rustix::process::Pid::from_raw);
    let _ = group.map(|group| rustix::process::kill_process_group(group, rustix::process::Signal::KILL));
    child.wait()?;
    // A process that it started may still hold the pipe.
    if reader.is_finished() { reader.join().unwrap_or_else(|_| Ok(String::new())) } else { Ok(String::new()) }
}
