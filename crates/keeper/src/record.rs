//! What is written down of a job, by the one who knows: its keeper.
//!
//! A job's directory holds `output`, `status.json` and, while somebody watches over it, the socket `control`. The status
//! is replaced by renaming, so that a reader finds the old one or the new one. As long as the keeper lives it holds the
//! lock on `../live/ID`; a job whose status says that it runs and whose lock is free has lost its keeper.

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
use crate::protocol::{self, Kind, Leftover};
use crate::{End, Exit, StopReason, duration_text};

/// The version of `status.json`. A reader takes a higher one for a status that it cannot read. Bashful 0.1 writes none, which
/// counts as 0 and reads the same.
pub const STATUS_VERSION: u32 = 1;

/// A job's directory, from the keeper's side.
pub(crate) struct Record {
    /// By way of a handle: whatever becomes of the directory, and whatever is made in its place, this is ours.
    directory: PathBuf,
    _handle: File,
    /// The file that is locked while the job lives, by its name.
    mark: PathBuf,
    /// Room for the next status, so that a job that fills the disk can still say how it ended.
    reserve: Option<File>,
    kind: Kind,
    at_most: u64,
    stop_leftovers: bool,
    began: Began,
    pid: Option<i32>,
    control: Option<UnixListener>,
    /// Keeps the job's standard input open while nobody writes to it.
    input: Option<File>,
    /// The last line of the output has been written.
    end_is_said: bool,
    /// The output is that of a terminal, where a newline alone does not begin a line.
    pub(crate) has_terminal: bool,
    alive: OwnedFd,
}

/// When a command began, by all clocks.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Began {
    unix: Duration,
    pub(crate) boot: Duration,
    lifetime: Option<Duration>,
}

impl Began {
    pub(crate) fn now(lifetime: Option<Duration>) -> Self {
        Self { unix: unix_time(), boot: boot_time(), lifetime }
    }
}

/// How far a job has come.
pub(crate) enum State<'a> {
    /// Its shell runs.
    Running,
    /// Its shell has ended; these still run.
    Left(End, &'a [Leftover]),
    /// Nothing of it runs any more.
    Ended(End),
}

impl Record {
    pub(crate) fn open(order: protocol::Record, began: Began) -> io::Result<Self> {
        let named = PathBuf::from(std::ffi::OsString::from_vec(order.directory));
        let mark = named.parent().ok_or(io::ErrorKind::NotFound)?.join(protocol::LIVE).join(order.id.to_string());
        let alive = order.alive.ok_or(io::ErrorKind::NotFound)?;
        name_keeper(&alive);
        let handle = plain::open_directory(&named)?;
        // Also because a socket's path may have 107 bytes only.
        let directory = PathBuf::from(format!("/proc/self/fd/{}", handle.as_raw_fd()));
        let control = socket::listen(&directory.join(protocol::CONTROL))?;
        let _ = wake::on_news(&control);
        // For reading too, because a pipe without a reader cannot be opened for writing.
        let no_link = OFlags::NOFOLLOW.bits().cast_signed();
        let input =
            File::options().read(true).write(true).custom_flags(no_link).open(directory.join(protocol::INPUT)).ok();
        Ok(Self {
            directory,
            _handle: handle,
            mark,
            reserve: None,
            kind: order.kind,
            at_most: order.at_most,
            stop_leftovers: order.stop_leftovers,
            began,
            pid: None,
            control: Some(control),
            input,
            end_is_said: false,
            has_terminal: false,
            alive,
        })
    }

    /// Its shell runs.
    pub(crate) fn started(&mut self, pid: i32) {
        self.pid = Some(pid);
    }

    /// Where people and programs reach the keeper.
    pub(crate) fn control(&self) -> Option<BorrowedFd<'_>> {
        self.control.as_ref().map(AsFd::as_fd)
    }

    /// The next one who wants to speak to the keeper.
    pub(crate) fn accept(&self) -> Option<OwnedFd> {
        let (stream, _) = self.control.as_ref()?.accept().ok()?;
        stream.set_nonblocking(true).ok()?;
        let _ = wake::on_news(&stream);
        Some(stream.into())
    }

    /// Its processes find the end of their input when they have read what is there.
    pub(crate) fn close_input(&mut self) {
        self.input = None;
    }

    /// The file that its processes write to themselves, if they do.
    pub(crate) fn output(&self) -> Option<OutputFile> {
        if self.kind != Kind::Background {
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

    /// Whether what a shell has left that ended like this is to be stopped. Who kills a shell wants the rest gone too.
    pub(crate) fn wants_rest_stopped(&self, exit: Exit) -> bool {
        self.stop_leftovers || matches!(exit, Exit::Signal(_))
    }

    /// Whether its lifetime is that of everything it starts. A command that was meant to be short says nothing about the
    /// server that it leaves running.
    pub(crate) fn bounds_leftovers(&self) -> bool {
        self.kind == Kind::Background
    }

    /// Writes down how far it has come, and behind its output how it ended.
    pub(crate) fn note(&mut self, state: &State<'_>, output: Option<&File>) -> io::Result<()> {
        if let State::Left(end, _) | State::Ended(end) = state
            && !self.end_is_said
            && (self.kind != Kind::Leftover || matches!(state, State::Ended(_)))
        {
            // What cannot be killed may still end by itself, and then its real end is told as well.
            self.end_is_said = *end != End::Lost;
            // On a full disk there is no last line, but the status has room of its own.
            let _ = self.say_end(*end, output);
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

    /// Nobody watches over it any more.
    pub(crate) fn close(&mut self) {
        self.control = None;
        let _ = fs::remove_file(self.directory.join(protocol::CONTROL));
        let _ = fs::remove_file(self.directory.join("status.json.new"));
        // Somebody may have removed everything and begun anew, and then this is the mark of another job.
        let ours = rustix::fs::fstat(&self.alive).map(|facts| (facts.st_dev, facts.st_ino));
        let there = rustix::fs::stat(&self.mark).map(|facts| (facts.st_dev, facts.st_ino));
        if ours.is_ok() && ours == there {
            let _ = fs::remove_file(&self.mark);
        }
    }

    fn say_end(&self, end: End, output: Option<&File>) -> io::Result<()> {
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
            Kind::Background | Kind::Outlasted => last_line(end, self.began.lifetime),
            Kind::Leftover => "[background processes ended]".to_owned(),
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
                .map(|left| format!("{{\"pid\": {}, \"command\": {}}}", left.pid, quoted(&left.command)))
                .collect();
            let _ = write!(text, ",\n  \"left\": [{}]", list.join(", "));
        }
        text.push_str("\n}\n");
        text
    }
}

/// Writes into the locked file which process holds it: its id and when it began, in clock ticks. Whoever finds the job's
/// directory damaged can still stop it. No version may write anything else there.
fn name_keeper(alive: &OwnedFd) {
    if let Some(us) = Process::read(rustix::process::getpid()) {
        let text = format!("{} {}\n", us.pid.as_raw_nonzero(), us.began);
        // Where that cannot be done, its socket has to do.
        let _ = rustix::io::pwrite(alive, text.as_bytes(), 0);
    }
}

/// What stands behind a job's output when it is over.
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
        // A system that refuses signals (a seccomp filter, a process of another user), or a process stuck in the kernel.
        End::Lost => return "[background process error: part of it cannot be killed]".to_owned(),
    };
    format!("[background process failed: {why}]")
}

/// So many of those who are left are written down by name: so that it fits the room that is reserved.
const LEFT_NAMED: usize = 10;

/// What is reserved for a status: a block.
const RESERVED: u64 = 4096;

/// A file with room for a status, whatever becomes of the disk.
fn reserve(path: &std::path::Path) -> io::Result<File> {
    let file = plain::create(path)?;
    // Its length stays 0: what is written then is all that a reader finds.
    rustix::fs::fallocate(&file, rustix::fs::FallocateFlags::KEEP_SIZE, 0, RESERVED)?;
    Ok(file)
}

/// A text as JSON.
fn quoted(text: &str) -> String {
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
        assert_eq!(quoted("a \"b\" \\ \n\u{7f}é"), r#""a \"b\" \\ \u000a\u007fé""#);
    }
}
