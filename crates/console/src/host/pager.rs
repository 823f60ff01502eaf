//! The person's pager, which has the terminal until it ends.
//!
//! It gets lines that were made here: characters and colors. A pager such as `cat` would pass everything else on to the terminal.

use std::ffi::OsString;
use std::io::{self, Write};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use bashful_engine::{Artifact, ArtifactStore, OutputRedactor, error_chain};
use bashful_sys::proc;
use bashful_sys::signal::Signal;
use rustix::process::{Pid, WaitId, WaitIdOptions, kill_process, waitid};

/// Bytes of an artifact that are turned into lines at once. Colors do not last longer.
const AT_ONCE: usize = 64 * 1024;

/// Bytes of one line at most. The rest of a longer one is the next line.
const LONGEST_LINE: usize = 1024 * 1024;

/// Longest time in which a pager stops after `Ctrl-Z`.
const STOPPED_WITHIN: Duration = Duration::from_secs(1);

/// Pause between two looks at a pager that is about to stop.
const LOOK_AGAIN: Duration = Duration::from_millis(5);

/// The text of a card, or the artifact with all of it.
pub(super) struct Paged {
    pub(super) pager: OsString,
    /// Lines that were made here.
    pub(super) text: String,
    pub(super) artifact: Option<Artifact>,
    pub(super) redactor: OutputRedactor,
}

/// The process of a pager, while it runs.
#[derive(Debug, Clone, Default)]
pub(super) struct PagerProcess(Arc<Mutex<Option<Pid>>>);

impl PagerProcess {
    fn set(&self, pid: Option<Pid>) {
        // It is replaced as a whole.
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = pid;
    }

    /// Waits until the pager and everything that it has started is stopped: it puts the terminal back first. One that ignores
    /// `Ctrl-Z` is waited for in vain.
    pub(super) fn wait_until_stopped(&self) {
        let until = Instant::now() + STOPPED_WITHIN;
        while Instant::now() < until {
            let pid = *self.0.lock().unwrap_or_else(PoisonError::into_inner);
            let Some(pid) = pid else { return };
            if proc::is_stopped(pid) && proc::descendants(pid).iter().all(|process| proc::is_stopped(process.pid)) {
                return;
            }
            std::thread::sleep(LOOK_AGAIN);
        }
    }

    /// Sends a signal to the pager and to everything that it has started, and continues them if they are stopped.
    pub(super) fn signal(&self, signal: Signal) {
        // Nobody reaps the process while this is held, so its number is its own.
        let pid = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(pid) = *pid else { return };
        let below = proc::descendants(pid).into_iter().map(|process| process.pid);
        for pid in below.chain([pid]) {
            // One that has ended needs nothing.
            let _ = kill_process(pid, signal);
            let _ = kill_process(pid, Signal::CONT);
        }
    }
}

impl Paged {
    /// Shows it, and waits until the pager has ended. Returns a problem to tell.
    pub(super) fn show(self, process: &PagerProcess) -> Option<String> {
        let pager = self.pager.display();
        match self.run(process).map(|status| status.code()) {
            // As shells say it: not found, or no program.
            Ok(Some(126 | 127)) => Some(format!("cannot run the pager {pager}; PAGER names another")),
            Ok(_) => None,
            Err(error) => Some(format!("cannot run the pager {pager}: {error}")),
        }
    }

    fn run(&self, process: &PagerProcess) -> io::Result<ExitStatus> {
        let mut command = Command::new("/bin/sh");
        // The shell takes the words of the variable apart, as every program does with PAGER.
        command.args(["-c", "eval \"$BASHFUL_PAGER\""]).env("BASHFUL_PAGER", &self.pager).stdin(Stdio::piped());
        let mut child = command.spawn()?;
        process.set(Pid::from_raw(child.id().cast_signed()));
        if let Some(input) = child.stdin.take() {
            // A pager that is left early reads no more.
            let _ = self.write(input);
        }
        wait(&mut child, process)
    }

    fn write(&self, mut input: impl Write) -> io::Result<()> {
        let Some(artifact) = &self.artifact else { return input.write_all(self.text.as_bytes()) };
        let mut lines = LineWriter { to: input, waiting: Vec::new() };
        let mut redacted = self.redactor.writer(&mut lines, Vec::new());
        artifact.whole(&mut redacted).map_err(io::Error::other)?;
        redacted.finish(&[])?;
        lines.finish()
    }
}

/// Waits for the end of the child. Its number is forgotten before it is reaped.
fn wait(child: &mut Child, process: &PagerProcess) -> io::Result<ExitStatus> {
    if let Some(pid) = Pid::from_raw(child.id().cast_signed()) {
        let until_end = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
        while waitid(WaitId::Pid(pid), until_end).is_err_and(|error| error == rustix::io::Errno::INTR) {}
    }
    process.set(None);
    child.wait()
}

/// Turns raw output into lines of characters and colors.
struct LineWriter<W: Write> {
    to: W,
    waiting: Vec<u8>,
}

impl<W: Write> LineWriter<W> {
    /// Writes the last line.
    fn finish(mut self) -> io::Result<()> {
        let rest = self.waiting.len();
        self.write_lines(rest)?;
        self.to.flush()
    }

    /// Writes the lines in the first bytes.
    fn write_lines(&mut self, length: usize) -> io::Result<()> {
        for line in bashful_render::output_lines(&String::from_utf8_lossy(&self.waiting[..length])) {
            self.to.write_all(line.ansi().as_bytes())?;
            self.to.write_all(b"\n")?;
        }
        self.waiting.drain(..length);
        Ok(())
    }
}

impl<W: Write> Write for LineWriter<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.waiting.extend_from_slice(bytes);
        if self.waiting.len() >= AT_ONCE {
            let lines = self.waiting.iter().rposition(|byte| *byte == b'\n').map(|at| at + 1);
            let is_long = self.waiting.len() >= LONGEST_LINE;
            if let Some(length) = lines.or(is_long.then_some(self.waiting.len())) {
                self.write_lines(length)?;
            }
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.to.flush()
    }
}

/// The artifact of this id, or the reason why it cannot be read.
pub(super) fn open(store: Option<&ArtifactStore>, id: &str) -> Result<Artifact, String> {
    let store = store.ok_or("there are no artifacts")?;
    let id = bashful_engine::artifact_id(id).map_err(|error| error_chain(&error))?;
    let entry = store.get(id).map_err(|error| error_chain(&error))?;
    Artifact::open(&entry).map_err(|error| error_chain(&error))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_pager_gets_characters_and_colors_alone() {
        let raw = "\x1b]0;PWNED\x07\x1b[?1003h\x1b[31mred\x1b[0m\nrm -rf /\rls\nlast".as_bytes();
        for piece in [1, 7, raw.len()] {
            let mut out = Vec::new();
            let mut lines = LineWriter { to: &mut out, waiting: Vec::new() };
            raw.chunks(piece).for_each(|bytes| lines.write_all(bytes).expect("it is written"));
            lines.finish().expect("it is written");
            assert_eq!(String::from_utf8(out).expect("text"), "\x1b[0;31mred\x1b[0m\nls\nlast\n");
        }
    }

    #[test]
    fn a_line_without_end_takes_bounded_memory() {
        let mut lines = LineWriter { to: io::sink(), waiting: Vec::new() };
        for _ in 0..200 {
            lines.write_all(&[b'x'; 16_000]).expect("it is written");
            assert!(lines.waiting.len() < LONGEST_LINE);
        }
    }
}
