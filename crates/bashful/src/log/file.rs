//! The log file: one line for each command, rotated when it is too long.

use std::fs::File;
use std::io::{self, Write};
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, SystemTime};

use bashful_dialect::facts;
use bashful_engine::{
    CommandLog, CommandRecord, CommandText, Fate, JobKind, JobRecord, JobStore, Redactor, Savings, make_directory,
};
use bashful_sys::plain;
use rustix::fs::{FlockOperation, flock};
use rustix::process::geteuid;
use serde_json::{Value, json};

use super::time;
use crate::settings::Settings;
use crate::surroundings::Surroundings;

/// Format version of a line.
pub(super) const VERSION: u64 = 1;

/// A writer of the log.
#[derive(Debug)]
pub(crate) struct Log {
    path: PathBuf,
    at_most: u64,
    /// The surface that runs the commands, such as `run` or `mcp`.
    surface: &'static str,
    /// The open file. Opening takes longer than writing a line, and a server writes many.
    last: Mutex<Option<OpenLogFile>>,
    /// The notice for the next reply.
    notice: Mutex<Option<String>>,
    /// True once a notice has said that nothing can be logged.
    was_refused: AtomicBool,
}

/// The open file of the log.
#[derive(Debug)]
struct OpenLogFile {
    file: File,
    /// Device and inode of the file.
    id: (u64, u64),
    /// Length of the file after the last line of this process. Another length means lines of other processes.
    length: u64,
}

impl Log {
    /// The log; none without a state directory, or if the settings turn it off.
    pub(crate) fn new(settings: &Settings, around: &Surroundings, surface: &'static str) -> Option<Self> {
        let path = path(around).filter(|_| settings.log.enabled)?;
        Some(Self::at(path, settings.log.bytes.size().0, surface))
    }

    fn at(path: PathBuf, at_most: u64, surface: &'static str) -> Self {
        Self { path, at_most, surface, last: Mutex::default(), notice: Mutex::default(), was_refused: false.into() }
    }

    fn append(&self, record: &CommandRecord) -> io::Result<()> {
        self.write(&entry(record, self.surface, SystemTime::now()))
    }

    fn write(&self, entry: &Value) -> io::Result<()> {
        // The file is taken out before each write, so a panic leaves no broken state.
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        let (mut opened, length) = match last.take().and_then(|opened| self.still_there(opened)) {
            Some(known) => known,
            None => self.open()?,
        };
        // A full disk may have cut the last line, so a newline comes first.
        let ends_in_newline = length == opened.length || ends_in_newline(&opened.file, length)?;
        let begin = if ends_in_newline { "" } else { "\n" };
        let line = format!("{begin}{entry}\n");
        // A single write, so that lines of several processes do not mix.
        opened.file.write_all(line.as_bytes())?;
        opened.length = length + line.len() as u64;
        if opened.length > self.at_most {
            return self.begin_anew(&opened.file);
        }
        *last = Some(opened);
        Ok(())
    }

    /// The file with its length, if the path still leads to it.
    fn still_there(&self, opened: OpenLogFile) -> Option<(OpenLogFile, u64)> {
        let there = self.path.symlink_metadata().ok()?;
        ((there.dev(), there.ino()) == opened.id).then_some((opened, there.len()))
    }

    /// Opens the file, and returns its length.
    fn open(&self) -> io::Result<(OpenLogFile, u64)> {
        let open = || plain::open_with(File::options().read(true).append(true).create(true), &self.path);
        let file = match open() {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                make_directory(self.directory())?;
                open()?
            }
            Err(_) if self.set_aside_if_linked()? => open()?,
            other => other?,
        };
        let facts = file.metadata()?;
        Ok((OpenLogFile { file, id: (facts.dev(), facts.ino()), length: 0 }, facts.len()))
    }

    fn directory(&self) -> &Path {
        self.path.parent().unwrap_or(Path::new("/"))
    }

    /// Rotates a log with a second name, to which nothing is written: it may be a file that somebody planted, or a backup
    /// has linked it. False if it has none.
    fn set_aside_if_linked(&self) -> io::Result<bool> {
        // Two processes must not rotate one after the other.
        let directory = plain::open_directory(self.directory())?;
        flock(&directory, FlockOperation::LockExclusive)?;
        let is_linked = has_second_name(&self.path);
        if is_linked {
            let before = before(&self.path);
            std::fs::rename(&self.path, &before)?;
            let (path, before) = (self.path.display(), before.display());
            let said = format!(
                "the command log {path} had a second name (a hard link); it is {before} now, and a new log was begun"
            );
            *self.notice.lock().unwrap_or_else(PoisonError::into_inner) = Some(said);
        }
        Ok(is_linked)
    }

    /// Rotates the log: the file replaces the previous old one.
    fn begin_anew(&self, file: &File) -> io::Result<()> {
        // The process that holds the lock rotates; the others continue.
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

impl Log {
    /// Logs the ends of jobs since the log was last read. Only the keeper sees a job end, and it does not write to
    /// the log.
    pub(crate) fn note_ended_jobs(&self, store: &JobStore, redactor: &Redactor) {
        for id in store.ids() {
            // Most ends are logged already, so their records are not read.
            if !mark(store.directory(), id).exists()
                && let Ok(job) = store.get(id)
            {
                self.note_end(store.directory(), &job, redactor);
            }
        }
    }

    /// Logs the end of a job, unless the job still runs or its end is logged.
    pub(crate) fn note_end(&self, jobs: &Path, job: &JobRecord, redactor: &Redactor) {
        // The log has the end of a command that left something running. Only the newer version that started a job
        // knows how it ended.
        if !job.is_over() || job.is_newer() || job.kind == JobKind::Leftover {
            return;
        }
        // The process that creates the mark writes the line.
        if plain::open_with(File::options().write(true).create_new(true), &mark(jobs, job.id)).is_ok() {
            // A full disk must not keep a job from being removed.
            let _ = self.write(&entry(&of_job(job, redactor), "job", job.ended.unwrap_or_else(SystemTime::now)));
        }
    }
}

/// The mark that the end of a job is logged.
fn mark(jobs: &Path, id: u64) -> PathBuf {
    jobs.join(id.to_string()).join("logged")
}

/// A job that has ended.
fn of_job(job: &JobRecord, redactor: &Redactor) -> CommandRecord {
    let size = |file: &Path| file.metadata().map_or(0, |metadata| metadata.len());
    CommandRecord {
        given: CommandText::new(redactor, job.script.as_bytes(), &job.directory),
        rewritten: None,
        fate: job.end().map_or(Fate::Lost, Fate::Ended),
        elapsed: job.elapsed,
        output_bytes: size(&job.output_file) + job.stderr_file.as_deref().map_or(0, size),
        job: Some(job.id),
        savings: None,
    }
}

fn ends_in_newline(file: &File, length: u64) -> io::Result<bool> {
    let Some(last) = length.checked_sub(1) else { return Ok(true) };
    let mut byte = [0];
    Ok(file.read_at(&mut byte, last)? == 0 || byte == *b"\n")
}

impl CommandLog for Log {
    fn record(&self, record: &CommandRecord) {
        // A full disk must not fail a command that has run.
        let _ = self.append(record);
    }

    fn notice(&self) -> Option<String> {
        let problem = problem(&self.path);
        if problem.is_some() && !self.set_aside_if_linked().unwrap_or(false) {
            return problem.filter(|_| !self.was_refused.swap(true, Ordering::Relaxed));
        }
        self.notice.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

fn has_second_name(path: &Path) -> bool {
    path.symlink_metadata().is_ok_and(|facts| facts.is_file() && facts.nlink() > 1)
}

/// The reason why nothing is logged to the file that is at this path; none if the file is fine, or not there.
fn problem(path: &Path) -> Option<String> {
    let facts = path.symlink_metadata().ok()?;
    if facts.is_file() && facts.nlink() == 1 && facts.uid() == geteuid().as_raw() {
        return None;
    }
    let why = plain::open_with(File::options().append(true), path).err()?;
    let is_linked = has_second_name(path);
    let path = path.display();
    Some(if is_linked {
        format!("nothing is written to the command log {path}: {why}; the next command begins a new log")
    } else {
        format!("commands are not logged to {path}: {why}; remove it")
    })
}

/// The reason why no command is logged now, for a diagnosis.
pub(crate) fn log_problem(settings: &Settings, around: &Surroundings) -> Option<String> {
    problem(&path(around).filter(|_| settings.log.enabled)?)
}

/// The path of the log file.
pub(super) fn path(around: &Surroundings) -> Option<PathBuf> {
    Some(around.state_part("log")?.join("commands.jsonl"))
}

/// The path of the rotated file.
pub(super) fn before(path: &Path) -> PathBuf {
    path.with_extension("jsonl.1")
}

fn entry(record: &CommandRecord, surface: &str, now: SystemTime) -> Value {
    let since = now.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    let mut exit = json!({});
    let status = match &record.fate {
        Fate::Cancelled => "cancelled".into(),
        Fate::Refused(_) if record.is_asked_later() => "asked".into(),
        Fate::Refused(_) | Fate::Intercepted => "refused".into(),
        Fate::NotStarted => "failed".into(),
        Fate::InBackground => "running".into(),
        Fate::Lost => "lost".into(),
        Fate::Sent => "sent".into(),
        Fate::Ended(end) => {
            facts::exit_facts(&mut exit, *end);
            json!(facts::status(*end))
        }
    };
    let mut entry = json!({
        "version": VERSION,
        "time": time::text(since),
        "unix_ms": milliseconds(since),
        "surface": surface,
        "cwd": record.given.directory.as_str(),
        "command": record.given.script.as_str(),
        "rewritten": record.rewritten.as_ref()
            .map(|text| json!({ "cwd": text.directory.as_str(), "command": text.script.as_str() })),
        "verdict": match record.is_allowed() {
            true => "allowed",
            false if record.is_asked_later() => "asked",
            false => "refused",
        },
        "status": status,
        "exit_code": exit["exit_code"],
        "signal": exit["signal"]["number"],
        "duration_ms": milliseconds(record.elapsed),
        "output_bytes": record.output_bytes,
        "job": record.job,
    });
    if let Some(Savings { filters, families, before, after }) = &record.savings {
        entry["condensed"] =
            json!({ "filters": filters, "families": families, "before_bytes": before, "after_bytes": after });
    }
    entry
}

fn milliseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn log(directory: &Path, at_most: u64) -> Log {
        Log::at(directory.join("commands.jsonl"), at_most, "test")
    }

    #[track_caller]
    fn write(log: &Log, number: u64) {
        log.write(&json!(number)).expect("it is written");
    }

    #[track_caller]
    fn check(path: &Path, expected: &str) {
        assert_eq!(std::fs::read_to_string(path).expect("it is there"), expected);
    }

    #[test]
    fn a_line_goes_to_the_file_that_is_at_the_path_now() {
        let place = tempfile::tempdir().expect("a directory");
        let log = log(place.path(), 1000);
        write(&log, 1);
        write(&log, 2);
        let moved = place.path().join("moved");
        std::fs::rename(&log.path, &moved).expect("it is moved");
        write(&log, 3);
        std::fs::remove_file(&log.path).expect("it is removed");
        write(&log, 4);
        check(&moved, "1\n2\n");
        check(&log.path, "4\n");
    }

    #[test]
    fn a_line_is_not_glued_to_one_that_another_program_has_torn() {
        let place = tempfile::tempdir().expect("a directory");
        let log = log(place.path(), 1000);
        write(&log, 1);
        let mut other = File::options().append(true).open(&log.path).expect("it is there");
        other.write_all(b"{torn").expect("it is written");
        write(&log, 2);
        other.write_all(b"3\n").expect("it is written");
        write(&log, 4);
        check(&log.path, "1\n{torn\n2\n3\n4\n");
    }

    #[test]
    fn a_file_that_is_too_long_is_begun_anew() {
        let place = tempfile::tempdir().expect("a directory");
        let log = log(place.path(), 3);
        for number in 1..=3 {
            write(&log, number);
        }
        check(&before(&log.path), "1\n2\n");
        check(&log.path, "3\n");
    }
}
