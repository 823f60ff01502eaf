//! The registry of running foreground commands: a small file for each, which other programs of this user can read.
//!
//! A job has a record, but a foreground command belongs to the call that waits for it, and other programs would not see
//! it. The engine registers a command once it has run for [`REGISTERED_AFTER`], so that short commands cost nothing.
//! The file is locked while the command runs, and removed at its end. A program that dies leaves an unlocked file,
//! which the next reader removes.
//!
//! Invariant: a file holds redacted text only.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime};

use bashful_keeper::is_keeper;
use bashful_sys::proc::Process;
use bashful_sys::signal::Signal;
use bashful_sys::{pidfd, plain};
use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;
use rustix::process::Pid;
use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::redact::Redacted;
use crate::trust::make_directory;
use crate::units::ByteSize;
use crate::versioned::Versioned;

/// Time after which a command is registered. Shorter commands are not.
pub(crate) const REGISTERED_AFTER: Duration = Duration::from_millis(100);

/// Pause between two updates of the same command.
pub(crate) const UPDATED_EVERY: Duration = Duration::from_secs(1);

/// Longest script in a file.
const LONGEST_SCRIPT: ByteSize = ByteSize::kib(2);

/// Longest last line in a file.
const LONGEST_LINE: ByteSize = ByteSize(200);

/// Version of a file. A reader leaves files of a higher one alone.
const VERSION: u32 = 1;

/// Extension of every file.
const EXTENSION: &str = "json";

/// The registry of one user, as one program sees it.
#[derive(Debug)]
pub struct Registry {
    directory: PathBuf,
    surface: String,
    count: AtomicU64,
}

/// A running foreground command, as [`Registry::list`] finds it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RegisteredCommand {
    /// Surface that runs it: `run`, `mcp`, or the name that a library host has given.
    pub surface: String,
    /// Process id of the program that waits for it.
    pub host_pid: u32,
    /// Process id of its shell; none if the keeper was gone before it reported one.
    pub pid: Option<i32>,
    /// Script, or its beginning. Redacted.
    pub script: String,
    /// Working directory. Redacted.
    pub directory: String,
    /// Session that it runs in. Redacted.
    pub session: Option<String>,
    /// Start by the wall clock.
    pub began: SystemTime,
    /// Time after which it is stopped.
    pub lifetime: Duration,
    /// Bytes written so far. Up to a second old.
    pub output_bytes: u64,
    /// Lines written so far. Up to a second old.
    pub output_lines: u64,
    /// Newest line that is not blank, or its beginning. Redacted.
    pub last_line: String,
}

/// Error: a registry that cannot be read.
#[derive(Debug, Error)]
#[error("cannot list the running commands in {}", path.display())]
pub struct ListRegistryError {
    /// Directory of the registry.
    pub path: PathBuf,
    /// Error of the system.
    pub source: io::Error,
}

/// Error: a command of another program that could not be stopped.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum StopRegisteredError {
    /// The command runs no more.
    #[error("the command has ended")]
    Ended,
    /// The registry does not know the keeper: the program has a thread as keeper, or no keeper reported the shell.
    #[error("nothing supervises the command from outside of process {host_pid}; stop it there")]
    NoKeeper {
        /// Process id of the program that waits for the command.
        host_pid: u32,
    },
    /// The registry cannot be read.
    #[error(transparent)]
    List(#[from] ListRegistryError),
    /// The system refused the signal.
    #[error("cannot signal the keeper of the command")]
    Signal(#[source] io::Error),
}

/// A command to register.
pub(crate) struct NewEntry {
    pub(crate) pid: Option<i32>,
    pub(crate) script: Redacted,
    pub(crate) directory: Redacted,
    pub(crate) session: Option<Redacted>,
    pub(crate) began: SystemTime,
    pub(crate) lifetime: Duration,
}

/// Output of a command so far.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct OutputSoFar {
    pub(crate) bytes: u64,
    pub(crate) lines: u64,
    pub(crate) last_line: Redacted,
}

/// Contents of a file.
#[derive(Debug, Serialize, Deserialize)]
struct EntryFile {
    version: u32,
    surface: String,
    host_pid: u32,
    pid: Option<i32>,
    script: String,
    cwd: String,
    session: Option<String>,
    began_unix_ms: u64,
    lifetime_ms: u64,
    output_bytes: u64,
    output_lines: u64,
    last_line: String,
}

impl Registry {
    /// Opens the registry in this directory, for commands of this surface. The directory is created when it is needed.
    pub fn new(directory: PathBuf, surface: &str) -> Self {
        Self { directory, surface: surface.to_owned(), count: AtomicU64::new(0) }
    }

    /// Directory of the registry, which need not exist yet.
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// Lists all running commands, the oldest first. Removes files of programs that have died.
    pub fn list(&self) -> Result<Vec<RegisteredCommand>, ListRegistryError> {
        let failed = |source| ListRegistryError { path: self.directory.clone(), source };
        let entries = match fs::read_dir(&self.directory) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            entries => entries.map_err(failed)?,
        };
        let mut commands = Vec::new();
        for entry in entries {
            let path = entry.map_err(failed)?.path();
            if path.extension().is_some_and(|extension| extension == EXTENSION) {
                commands.extend(read_entry(&path));
            } else if is_old(&path) {
                // The program that began to write it has died.
                let _ = fs::remove_file(&path);
            }
        }
        commands.sort_by_key(|command| command.began);
        Ok(commands)
    }

    /// Asks the keeper of a registered command to stop it: `SIGTERM`, then `SIGKILL` after the grace. Asked a second time, it
    /// kills at once. A session that runs the command ends with it.
    ///
    /// The command has to be on the list still, and the parent of its shell has to be a keeper: process ids are used again.
    pub fn stop(&self, command: &RegisteredCommand) -> Result<(), StopRegisteredError> {
        let is_same = |listed: &RegisteredCommand| {
            (listed.host_pid, listed.pid, listed.began) == (command.host_pid, command.pid, command.began)
        };
        if !self.list()?.iter().any(is_same) {
            return Err(StopRegisteredError::Ended);
        }
        let no_keeper = || StopRegisteredError::NoKeeper { host_pid: command.host_pid };
        let shell = command.pid.and_then(Pid::from_raw).ok_or_else(no_keeper)?;
        let parent = Process::read(shell).ok_or(StopRegisteredError::Ended)?.parent;
        let keeper =
            Pid::from_raw(parent).filter(|pid| is_keeper(*pid)).and_then(Process::read).ok_or_else(no_keeper)?;
        match pidfd::send_to(&keeper, &[Signal::TERM, Signal::CONT]) {
            Ok(()) => Ok(()),
            Err(Errno::SRCH) => Err(StopRegisteredError::Ended),
            Err(error) => Err(StopRegisteredError::Signal(error.into())),
        }
    }

    /// Registers a command. Dropping the registration removes it.
    pub(crate) fn register(&self, entry: NewEntry, output: &OutputSoFar) -> io::Result<Registration> {
        let number = self.count.fetch_add(1, Ordering::Relaxed);
        let path = self.directory.join(format!("{}-{number}.{EXTENSION}", std::process::id()));
        let draft = path.with_extension("new");
        let file = match plain::create(&draft) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                make_directory(&self.directory)?;
                plain::create(&draft)?
            }
            file => file?,
        };
        // Locked before others can find it: an unlocked file belongs to a program that has died.
        flock(&file, FlockOperation::NonBlockingLockExclusive)?;
        let record = EntryFile {
            version: VERSION,
            surface: self.surface.clone(),
            host_pid: std::process::id(),
            pid: entry.pid,
            script: entry.script.truncated(LONGEST_SCRIPT).into_string(),
            cwd: entry.directory.into_string(),
            session: entry.session.map(Redacted::into_string),
            began_unix_ms: unix_ms(entry.began),
            lifetime_ms: milliseconds(entry.lifetime),
            output_bytes: 0,
            output_lines: 0,
            last_line: String::new(),
        };
        let mut registration = Registration { file, path: draft, record, written: 0 };
        registration.update(output)?;
        fs::rename(&registration.path, &path)?;
        registration.path = path;
        Ok(registration)
    }
}

/// A registered command. Dropping it removes its file.
#[derive(Debug)]
pub(crate) struct Registration {
    /// Holds the lock while the command runs.
    file: File,
    path: PathBuf,
    record: EntryFile,
    /// Length of the file, in bytes.
    written: usize,
}

impl Registration {
    /// Writes the output so far into the file.
    pub(crate) fn update(&mut self, output: &OutputSoFar) -> io::Result<()> {
        self.record.output_bytes = output.bytes;
        self.record.output_lines = output.lines;
        self.record.last_line = output.last_line.clone().truncated(LONGEST_LINE).into_string();
        let mut text = serde_json::to_string(&self.record).map_err(io::Error::other)?;
        // One write that never shortens the file, so that a reader finds one whole record, and blanks after it.
        while text.len() < self.written {
            text.push(' ');
        }
        self.written = text.len();
        self.file.write_all_at(text.as_bytes(), 0)
    }
}

impl Drop for Registration {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.path);
    }
}

/// True if nobody has written to a file for a minute.
fn is_old(path: &Path) -> bool {
    let modified = path.symlink_metadata().and_then(|facts| facts.modified());
    modified.is_ok_and(|modified| modified.elapsed().is_ok_and(|age| age > Duration::from_mins(1)))
}

/// Reads the command of a file; none if it has ended, or the file cannot be parsed.
fn read_entry(path: &Path) -> Option<RegisteredCommand> {
    let file = plain::open(path).ok()?;
    match flock(&file, FlockOperation::NonBlockingLockShared) {
        Ok(()) => {
            // The program that registered it has died.
            let _ = fs::remove_file(path);
            return None;
        }
        Err(Errno::WOULDBLOCK) => {}
        Err(_) => return None,
    }
    let text = plain::read_to_string(path).ok()?;
    let Versioned::Known(record) = Versioned::<EntryFile>::read(text.as_bytes(), VERSION)? else { return None };
    Some(RegisteredCommand {
        surface: record.surface,
        host_pid: record.host_pid,
        pid: record.pid,
        script: record.script,
        directory: record.cwd,
        session: record.session,
        began: SystemTime::UNIX_EPOCH + Duration::from_millis(record.began_unix_ms),
        lifetime: Duration::from_millis(record.lifetime_ms),
        output_bytes: record.output_bytes,
        output_lines: record.output_lines,
        last_line: record.last_line,
    })
}

fn unix_ms(time: SystemTime) -> u64 {
    milliseconds(time.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default())
}

fn milliseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}
