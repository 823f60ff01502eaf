//! The file of the log: one line a command, appended at once, begun anew when it is too long.

use std::fs::{DirBuilder, File};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use bashful_dialect::{Ran, Witness};
use bashful_engine::{Engine, Request};
use rustix::fs::{FlockOperation, flock};
use serde_json::{Value, json};

use super::time;
use crate::settings::Settings;
use crate::setup::Surroundings;

/// The log, as somebody writes to it.
#[derive(Debug)]
pub(crate) struct Log {
    path: PathBuf,
    at_most: u64,
    /// By which way commands come.
    surface: &'static str,
}

impl Log {
    /// The log; none if there is no place for it, or the settings want none.
    pub(crate) fn new(settings: &Settings, around: &Surroundings, surface: &'static str) -> Option<Self> {
        let path = path(around).filter(|_| settings.log.enabled)?;
        Some(Self { path, at_most: settings.log.bytes.size().0, surface })
    }

    fn append(&self, ran: &Ran) -> io::Result<()> {
        let line = format!("{}\n", entry(ran, self.surface, SystemTime::now()));
        let open = || File::options().append(true).create(true).mode(0o600).open(&self.path);
        let mut file = match open() {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                let directory = self.path.parent().unwrap_or(Path::new("/"));
                DirBuilder::new().recursive(true).mode(0o700).create(directory)?;
                open()?
            }
            other => other?,
        };
        // In one write, so that lines of several programs do not mix.
        file.write_all(line.as_bytes())?;
        if file.metadata()?.len() > self.at_most { self.begin_anew(&file) } else { Ok(()) }
    }

    /// Keeps the file under another name, in place of the one before.
    fn begin_anew(&self, file: &File) -> io::Result<()> {
        // Whoever has the lock does it; for all others it is done.
        if flock(file, FlockOperation::NonBlockingLockExclusive).is_err() {
            return Ok(());
        }
        let (ours, there) = (file.metadata()?, self.path.metadata()?);
        if (ours.dev(), ours.ino()) == (there.dev(), there.ino()) {
            std::fs::rename(&self.path, before(&self.path))?;
        }
        Ok(())
    }
}

impl Witness for Log {
    fn saw(&self, ran: &Ran) {
        // A full disk is no reason to fail a command that has run.
        let _ = self.append(ran);
    }
}

/// A command of this program on its way into the log.
#[derive(Debug)]
pub(crate) struct LogEntry(Option<(Log, Ran)>);

impl LogEntry {
    /// Nothing, if there is no log, or nothing that could run.
    pub(crate) fn new(settings: &Settings, around: &Surroundings, engine: &Engine, request: &Request) -> Self {
        let log = Log::new(settings, around, "run");
        Self(log.and_then(|log| Some((log, Ran::new(engine, &engine.plan(request.clone()).ok()?)))))
    }

    /// Writes down what has become of it.
    pub(crate) fn note(&mut self, note: impl FnOnce(&mut Ran)) {
        if let Some((log, ran)) = &mut self.0 {
            note(ran);
            log.saw(ran);
        }
    }
}

/// Where it is.
pub(super) fn path(around: &Surroundings) -> Option<PathBuf> {
    Some(around.state_directory()?.join("log/commands.jsonl"))
}

/// Where the part before it is.
pub(super) fn before(path: &Path) -> PathBuf {
    path.with_extension("jsonl.1")
}

fn entry(ran: &Ran, surface: &str, now: SystemTime) -> Value {
    let since = now.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    json!({
        "time": time::text(since),
        "unix_ms": milliseconds(since),
        "surface": surface,
        "cwd": ran.given.directory,
        "command": ran.given.command,
        "rewritten": ran.rewritten.as_ref().map(|told| json!({ "cwd": told.directory, "command": told.command })),
        "verdict": match ran.allowed {
            true => "allowed",
            false if ran.status == "asked" => "asked",
            false => "refused",
        },
        "status": ran.status,
        "exit_code": ran.exit_code,
        "signal": ran.signal,
        "duration_ms": milliseconds(ran.elapsed),
        "output_bytes": ran.output_bytes,
        "job": ran.job,
    })
}

fn milliseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}
