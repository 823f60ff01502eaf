//! The record of a job, written by its keeper.
//!
//! A job's directory holds `output`, `status.json` and, while its keeper lives, the socket `control`. The status is
//! replaced by renaming, so a reader finds either the old or the new one. The keeper holds the lock on `../live/ID` as
//! long as it lives. A job whose status says that it runs, but whose lock is free, has lost its keeper.

use std::fmt::Write as _;
use std::fs::{self, File};
use std::io::{self, Write};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStringExt;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::os::unix::net::UnixListener;
use std::path::PathBuf;
use std::time::{Duration, SystemTime};

use bashful_sys::proc::Process;
use bashful_sys::{boot_time, plain, signal, socket, wake};
use rustix::fs::OFlags;

use crate::output::OutputFile;
use crate::protocol::{self, Leftover, RecordKind};
use crate::{End, Exit, StopReason, duration_text};

/// Version of `status.json`. A reader does not read a higher one. Bashful 0.1 writes none, which counts as 0 and reads
/// the same.
pub const STATUS_VERSION: u32 = 1;

/// A job's directory, from the keeper's side.
pub(crate) struct Record {
    /// The path through `_handle`: it stays this directory, even if somebody moves it and makes another in its place.
    directory: PathBuf,
    _handle: File,
    /// Path of the file that is locked while the job lives.
    lock_path: PathBuf,
    /// File with room for the next status, so that a job that fills the disk can still report its end.
    reserve: Option<File>,
    kind: RecordKind,
    at_most: u64,
    stop_leftovers: bool,
    began: StartTime,
    pid: Option<i32>,
    control: Option<UnixListener>,
    /// Keeps the job's standard input open while nobody writes to it.
    input: Option<File>,
    /// True if the last line of the output has been written.
    last_line_written: bool,
    /// The output is that of a terminal, where a newline alone does not begin a line.
    pub(crate) has_terminal: bool,
    alive: OwnedFd,
}

/// Start of a command, by the wall clock and by the time since boot, and its lifetime.
#[derive(Debug, Clone, Copy)]
pub(crate) struct StartTime {
    unix: Duration,
    pub(crate) boot: Duration,
    lifetime: Option<Duration>,
}

impl StartTime {
    pub(crate) fn now(lifetime: Option<Duration>) -> Self {
        Self { unix: unix_time(), boot: boot_time(), lifetime }
    }
}

/// State of a job.
pub(crate) enum State<'a> {
    /// The shell runs.
    Running,
    /// The shell has ended; these processes still run.
    Left(End, &'a [Leftover]),
    /// No process of the job is left.
    Ended(End),
}

impl Record {
    pub(crate) fn open(order: protocol::RecordOrder, began: StartTime) -> io::Result<Self> {
        let named = PathBuf::from(std::ffi::OsString::from_vec(order.directory));
        let lock_path = named.parent().ok_or(io::ErrorKind::NotFound)?.join(protocol::LIVE).join(order.id.to_string());
        let alive = order.alive.ok_or(io::ErrorKind::NotFound)?;
        write_keeper_id(&alive);
        let handle = plain::open_directory(&named)?;
        // A handle also helps because a socket's path may have 107 bytes at most.
        let directory = PathBuf::from(format!("/proc/self/fd/{}", handle.as_raw_fd()));
        let control = socket::listen(&directory.join(protocol::CONTROL))?;
        let _ = wake::on_news(&control);
        // Opened for reading too: a pipe without a reader cannot be opened for writing.
        let no_link = OFlags::NOFOLLOW.bits().cast_signed();
        let input =
            File::options().read(true).write(true).custom_flags(no_link).open(directory.join(protocol::INPUT)).ok();
        Ok(Self {
            directory,
            _handle: handle,
            lock_path,
            reserve: None,
            kind: order.kind,
            at_most: order.at_most,
            stop_leftovers: order.stop_leftovers,
            began,
            pid: None,
            control: Some(control),
            input,
            last_line_written: false,
            has_terminal: false,
            alive,
        })
    }

    /// Adds the process id of the shell.
    pub(crate) fn set_shell_pid(&mut self, pid: i32) {
        self.pid = Some(pid);
    }

    /// The job's listening socket; none once it is closed.
    pub(crate) fn control(&self) -> Option<BorrowedFd<'_>> {
        self.control.as_ref().map(AsFd::as_fd)
    }

    /// Accepts the next client that has connected.
    pub(crate) fn accept(&self) -> Option<OwnedFd> {
        let (stream, _) = self.control.as_ref()?.accept().ok()?;
        stream.set_nonblocking(true).ok()?;
        let _ = wake::on_news(&stream);
        Some(stream.into())
    }

    /// Closes the keeper's end of standard input: the job's processes read end of file after the bytes that are there.
    pub(crate) fn close_input(&mut self) {
        self.input = None;
    }

    /// The output file of a background job, whose processes write to it themselves.
    pub(crate) fn output(&self) -> Option<OutputFile> {
        if self.kind != RecordKind::Background {
            return None;
        }
        let path = self.directory.join(protocol::OUTPUT);
        let file = plain::open_with(File::options().read(true).append(true), &path).ok()?;
        Some(OutputFile::new(file, path, self.at_most, 0..0))
    }

    /// Writes down the size that the terminal has from this byte of the output on.
    pub(crate) fn note_size(&self, offset: u64, columns: u16, rows: u16) -> io::Result<()> {
        let path = self.directory.join(protocol::SIZES);
        let mut file = plain::open_with(File::options().append(true).create(true), &path)?;
        file.write_all(format!("{offset} {columns} {rows}\n").as_bytes())
    }

    /// True if the processes that a shell left behind have to be stopped. A signal that killed the shell was meant for
    /// them too.
    pub(crate) fn stops_leftovers(&self, exit: Exit) -> bool {
        self.stop_leftovers || matches!(exit, Exit::Signal(_))
    }

    /// True if the lifetime of the command also holds for its leftover processes. The lifetime of a foreground command
    /// says nothing about a server that it leaves running.
    pub(crate) fn bounds_leftovers(&self) -> bool {
        self.kind == RecordKind::Background
    }

    /// Writes the state into `status.json`, and the last line behind the output once the job has ended.
    pub(crate) fn write_status(&mut self, state: &State<'_>, output: Option<&File>) -> io::Result<()> {
        if let State::Left(end, _) | State::Ended(end) = state
            && !self.last_line_written
            && (self.kind != RecordKind::Leftover || matches!(state, State::Ended(_)))
        {
            // A process that cannot be killed may still end by itself. Its real end is then reported too.
            self.last_line_written = *end != End::Lost;
            // On a full disk there is no last line, but the status has room of its own.
            let _ = self.write_last_line(*end, output);
        }
        let draft = self.directory.join("status.json.new");
        let text = self.status(state);
        let file = match self.reserve.take() {
            Some(file) => file,
            None => plain::create(&draft)?,
        };
        file.write_all_at(text.as_bytes(), 0)?;
        fs::rename(&draft, self.directory.join(protocol::STATUS))?;
        self.reserve = reserve(&draft).ok();
        Ok(())
    }

    /// Removes the socket, the draft and the lock file: the keeper is about to end.
    pub(crate) fn close(&mut self) {
        self.control = None;
        let _ = fs::remove_file(self.directory.join(protocol::CONTROL));
        let _ = fs::remove_file(self.directory.join("status.json.new"));
        // Somebody may have removed the state directory and begun anew. Then the file at this path belongs to another
        // job.
        let ours = rustix::fs::fstat(&self.alive).map(|facts| (facts.st_dev, facts.st_ino));
        let there = rustix::fs::stat(&self.lock_path).map(|facts| (facts.st_dev, facts.st_ino));
        if ours.is_ok() && ours == there {
            let _ = fs::remove_file(&self.lock_path);
        }
    }

    fn write_last_line(&self, end: End, output: Option<&File>) -> io::Result<()> {
        let own;
        let mut file = if let Some(file) = output {
            file
        } else {
            own = plain::open_with(File::options().read(true).append(true), &self.directory.join(protocol::OUTPUT))?;
            &own
        };
        let length = file.metadata()?.len();
        let mut last = [b'\n'];
        if length > 0 {
            file.read_exact_at(&mut last, length - 1)?;
        }
        let line = match self.kind {
            RecordKind::Background | RecordKind::Outlasted => last_line(end, self.began.lifetime),
            RecordKind::Leftover => "[background processes ended]".to_owned(),
        };
        let newline = if self.has_terminal { "\r\n" } else { "\n" };
        let finish = if last == *b"\n" { "" } else { newline };
        file.write_all(format!("{finish}{newline}{line}{newline}").as_bytes())
    }

    fn status(&self, state: &State<'_>) -> String {
        let (word, end, left): (_, _, &[Leftover]) = match state {
            State::Running => ("running", None, &[]),
            State::Left(end, left) => ("left", Some(*end), left),
            State::Ended(end) => ("ended", Some(*end), &[]),
        };
        let (version, protocol) = (STATUS_VERSION, protocol::VERSION);
        let mut text = format!("{{\n  \"version\": {version},\n  \"protocol\": {protocol},\n  \"state\": \"{word}\"");
        let mut number = |name: &str, value: u128| {
            let _ = write!(text, ",\n  \"{name}\": {value}");
        };
        if let Some(pid) = self.pid.and_then(|pid| u128::try_from(pid).ok()) {
            number("pid", pid);
        }
        number("began_unix_ms", self.began.unix.as_millis());
        number("began_boot_ms", self.began.boot.as_millis());
        if let Some(end) = end {
            number("ended_unix_ms", unix_time().as_millis());
            // Not the difference of the two above: somebody may have set the clock.
            number("elapsed_ms", boot_time().saturating_sub(self.began.boot).as_millis());
            let (exit, why) = match end {
                End::Own(exit) => (Some(exit), None),
                End::Stopped { why, exit } => (Some(exit), Some(why)),
                End::Lost => (None, None),
            };
            match exit {
                Some(Exit::Code(code)) => number("exit_code", code.into()),
                Some(Exit::Signal(signal)) => number("signal", signal.into()),
                None => {}
            }
            if let Some(why) = why {
                number("stopped", (why as u8).into());
            }
        }
        if !left.is_empty() {
            number("left_count", left.len() as u128);
            let list: Vec<String> = left
                .iter()
                .take(LEFT_NAMED)
                .map(|left| format!("{{\"pid\": {}, \"command\": {}}}", left.pid, json_string(&left.command)))
                .collect();
            let _ = write!(text, ",\n  \"left\": [{}]", list.join(", "));
        }
        text.push_str("\n}\n");
        text
    }
}

/// Writes the keeper's process id and start time (clock ticks since boot) into the locked file. Programs that find the
/// job's directory damaged can still stop the job by it. No version may write anything else there.
fn write_keeper_id(alive: &OwnedFd) {
    if let Some(us) = Process::read(rustix::process::getpid()) {
        let text = format!("{} {}\n", us.pid.as_raw_nonzero(), us.began);
        // If that fails, the socket is the only way to the keeper.
        let _ = rustix::io::pwrite(alive, text.as_bytes(), 0);
    }
}

/// The line behind the output of a job that has ended.
fn last_line(end: End, lifetime: Option<Duration>) -> String {
    let why = match end {
        End::Own(Exit::Code(0)) => return "[background process completed]".to_owned(),
        End::Own(Exit::Code(code)) => format!("exit status: {code}"),
        End::Own(Exit::Signal(number)) => match signal::name(number.into()) {
            Some(name) => format!("signal: {number} ({name})"),
            None => format!("signal: {number}"),
        },
        End::Stopped { why: StopReason::TimeUp, .. } => {
            format!("timed out after {}", lifetime.map(duration_text).unwrap_or_default())
        }
        End::Stopped { why: StopReason::Cancelled, .. } => "cancelled".to_owned(),
        End::Stopped { why, .. } => format!("stopped: {why}"),
        // The system refuses signals (a seccomp filter, a process of another user), or a process is stuck in the
        // kernel.
        End::Lost => return "[background process error: part of it cannot be killed]".to_owned(),
    };
    format!("[background process failed: {why}]")
}

/// Number of leftover processes in a status: as many as fit the reserved room.
const LEFT_NAMED: usize = 10;

/// Bytes reserved for a status: one block.
const RESERVED: u64 = 4096;

/// Creates a file with room for a status, even if the disk fills up later.
fn reserve(path: &std::path::Path) -> io::Result<File> {
    let file = plain::create(path)?;
    // The length stays 0, so that a reader finds only the bytes of the status.
    rustix::fs::fallocate(&file, rustix::fs::FallocateFlags::KEEP_SIZE, 0, RESERVED)?;
    Ok(file)
}

/// Quotes a text as a JSON string.
fn json_string(text: &str) -> String {
    let mut out = String::from("\"");
    for char in text.chars() {
        match char {
            '"' | '\\' => out.extend(['\\', char]),
            char if char.is_control() => drop(write!(out, "\\u{:04x}", u32::from(char))),
            char => out.push(char),
        }
    }
    out + "\""
}

fn unix_time() -> Duration {
    SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_line_says_how_it_ended() {
        let day = Some(Duration::from_hours(24));
        let said = |end| last_line(end, day);
        assert_eq!(said(End::Own(Exit::Code(0))), "[background process completed]");
        assert_eq!(said(End::Own(Exit::Code(3))), "[background process failed: exit status: 3]");
        assert_eq!(said(End::Own(Exit::Signal(9))), "[background process failed: signal: 9 (SIGKILL)]");
        let stopped = |why| End::Stopped { why, exit: Exit::Signal(15) };
        assert_eq!(said(stopped(StopReason::TimeUp)), "[background process failed: timed out after 24h]");
        assert_eq!(said(stopped(StopReason::Cancelled)), "[background process failed: cancelled]");
        assert_eq!(said(End::Lost), "[background process error: part of it cannot be killed]");
    }

    #[test]
    fn a_text_is_quoted_whatever_is_in_it() {
        assert_eq!(json_string("a \"b\" \\ \n\u{7f}é"), r#""a \"b\" \\ \u000a\u007fé""#);
    }
}
