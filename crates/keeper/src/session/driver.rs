//! A bash that stays, and how it is told what to do.
//!
//! Bash reads lines of ours from its standard input. For each command it reads the script from a file of ours into the variable
//! where `bash -c` has it too, sources a line that evaluates this variable, with the command's own output and with nothing to
//! read, and then says on a pipe of its own how that ended: nothing is ever looked for in what a command writes, and no byte of a
//! script is quoted. Evaluated, a script has messages that name no file of ours.
//!
//! It is an interactive bash (without a terminal, and without a prompt), for one reason: only such a shell can be made to
//! drop what it is doing and go on, whatever it is in, loops, functions and all. That is what [`Driver::interrupt`] does.
//! While it sources, bash behaves as one that is not interactive.

use std::fs::File;
use std::io::{self, Write};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;

use bashful_sys::signal::Signal;
use bashful_sys::spawn::{Child, Session, Tether};
use bashful_sys::{pipe, proc};

use super::shell_output::ShellOutput;
use crate::protocol::{Command, Input, Script, Setup};
use crate::shell::{self, NotStarted, not_prepared, place, quote};

/// Arguments of bash: no files of the user, no line editing, no history.
const ARGUMENTS: [&str; 7] = ["--norc", "--noprofile", "--noediting", "-i", "+H", "+o", "history"];

/// The first lines that bash reads.
///
/// The signal drops what is under way: only while a script is sourced, because between two commands there is nothing to
/// drop but our own lines; and with a signal to itself, because an error in the handler of a signal ends only the handler.
/// Then everything goes that interactive shells have and others have not. `\builtin`, because there may be functions and
/// aliases of any name.
const OPENING: &str = r"\builtin trap '[[ ${BASH_SOURCE[0]-} ]] && { \builtin trap - INT; \builtin kill -INT $$; }' PWR
\builtin unset PS1 PS2 MAILCHECK HISTFILE HISTSIZE HISTFILESIZE
\builtin shopt -u expand_aliases
";

/// Variables by which an interactive shell does things at a prompt that nobody sees, or ends for want of somebody who types.
const FOR_PERSONS: [&str; 3] = ["PROMPT_COMMAND=", "PS0=", "TMOUT="];

/// Bytes that a pipe holds on every machine; a user with many pipes gets smaller ones.
const PIPE_HOLDS: usize = 4096;

/// Bytes of a script that bash reads one by one from a pipe, as `mapfile` does, faster than from a file.
const BY_BYTES: usize = 256;

/// The variable that holds the text of a command, as in `bash -c`.
const TEXT: &str = "BASH_EXECUTION_STRING";

/// Which of the descriptors that a command needs is the line that evaluates it. A shell that has not read that has done nothing.
pub(super) const EVALUATION: usize = 3;

/// A shell and the ways to it.
pub(crate) struct Driver {
    pub(crate) child: Child,
    /// The pipe from which it reads its orders; none when there are to be no more.
    lines: Option<File>,
    /// The pipe on which it says how something ended, and our end of that.
    says: OwnedFd,
    hears: OwnedFd,
    heard: Vec<u8>,
    pub(super) output: ShellOutput,
    /// The last number that it was asked to say.
    number: u64,
}

/// A message of a shell.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Word {
    /// A script is done, with this status.
    Done(u8),
    /// It has come to the line that asks for this number.
    Number(u64),
}

impl Driver {
    /// Starts a shell, which sources first what the setup names.
    pub(crate) fn start(mut setup: Setup) -> Result<Self, NotStarted> {
        let unprepared = |error: io::Error| not_prepared(&error);
        let (reads, lines) = pipe::plain().map_err(unprepared)?;
        let (hears, says) = pipe::plain().map_err(unprepared)?;
        pipe::set_nonblocking(&hears).map_err(unprepared)?;
        pipe::set_nonblocking(&lines).map_err(unprepared)?;
        let output = ShellOutput::new().map_err(unprepared)?;
        setup.input = Input::From(Some(reads));
        // It would heed them before it reads our first line.
        setup.env.retain(|entry| !FOR_PERSONS.iter().any(|name| entry.starts_with(name.as_bytes())));
        let arguments = ARGUMENTS.iter().map(|argument| argument.as_bytes().to_vec()).collect();
        let child = shell::spawn_with(&setup, arguments, None, Tether::DiesWithParent, Session::Own)?;
        // Only the shell itself is to hold what it writes to.
        let Setup { source, .. } = setup;
        let lines = Some(File::from(lines));
        let mut driver = Self { child, lines, says, hears, heard: Vec::new(), output, number: 0 };
        let mut opening = OPENING.as_bytes().to_vec();
        if !source.is_empty() {
            opening.extend(br"\builtin . ");
            quote(&mut opening, &source);
            opening.extend(format!(" >{0} 2>&1 <{0}\n", shell::null_place()).as_bytes());
        }
        // From here on, what it writes is worth hearing: before, it greets a person who is not there.
        // Not by `builtin`: redirections of that are its own, and end with it.
        opening.extend(format!("\\exec >{} 2>&1\n", place(driver.output.writing_end())).into_bytes());
        driver.write(&opening).map_err(unprepared)?;
        Ok(driver)
    }

    pub(crate) fn pid(&self) -> i32 {
        self.child.pid.as_raw_nonzero().get()
    }

    /// True if it is in this directory.
    pub(crate) fn is_in(&self, directory: &[u8]) -> bool {
        let cwd = std::fs::read_link(format!("/proc/{}/cwd", self.pid()));
        cwd.is_ok_and(|cwd| cwd.as_os_str().as_bytes() == directory)
    }

    /// Tells it to do this. Bash opens what it needs for it through `/proc`, so that has to stay open here, and is handed
    /// back, the script last. If that fails, nothing of it is done.
    ///
    /// Two lines: after an interrupt the shell goes on with the next line, and the second one tells of the end of the first.
    pub(crate) fn begin(&mut self, command: Command) -> io::Result<Vec<OwnedFd>> {
        let script = match command.script {
            Script::File(file) => file.ok_or(io::ErrorKind::NotFound)?,
            Script::Text(text) => readable(&text, BY_BYTES)?,
        };
        let [output, stderr] = command.output.ok_or(io::ErrorKind::NotFound)?;
        let stderr_own = place(&stderr);
        let stderr_place = if command.split { place(&stderr) } else { "&1".to_owned() };
        let mut lines = Vec::new();
        if !command.directory.is_empty() {
            lines.extend(br"\builtin cd -- ");
            quote(&mut lines, &command.directory);
            write!(lines, " >{} 2>{stderr_own} && ", shell::null_place())?;
        }
        let evaluation = readable(&evaluation(&command.variables), PIPE_HOLDS)?;
        let (from, to) = (place(&evaluation), place(&output));
        let (open, close) = if command.apart { ("(", ")") } else { ("", "") };
        write!(lines, "\\builtin mapfile -d '' -t {TEXT} <{} 2>{stderr_own} && ", place(&script))?;
        writeln!(lines, "{open}\\builtin . {from} >{to} 2>{stderr_place} <{}{close}", shell::null_place())?;
        writeln!(lines, "\\builtin echo \"$?\" >{}", place(&self.says))?;
        self.write(&lines)?;
        // The output first: it is the one that is written to at the shell's end.
        Ok(vec![output, stderr, script, evaluation])
    }

    /// True if it has done all that it was told, and waits for our next line.
    pub(crate) fn waits(&self) -> bool {
        let Some(lines) = &self.lines else { return false };
        let is_ours = || {
            let reads = std::fs::metadata(format!("/proc/{}/fd/0", self.pid()))?;
            io::Result::Ok(reads.ino() == lines.metadata()?.ino())
        };
        proc::reads_from(self.child.pid) == Some(0)
            && is_ours().unwrap_or_default()
            && rustix::io::ioctl_fionread(lines) == Ok(0)
    }

    /// Makes it drop what it is doing, as soon as the program ends that it waits for.
    pub(crate) fn interrupt(&self) {
        let _ = self.child.send(Signal::POWER);
        // Somebody may have stopped it.
        let _ = self.child.send(Signal::CONT);
    }

    /// Makes it drop what it is doing without a program: a loop over a million words before its first round.
    pub(crate) fn interrupt_expansion(&self) {
        let _ = self.child.send(Signal::INT);
    }

    /// Asks it to say the next number, which it can when it has nothing else to do.
    pub(crate) fn ask_number(&mut self) -> io::Result<u64> {
        self.number += 1;
        let line = format!("\\builtin echo n{} >{}\n", self.number, place(&self.says));
        self.write(line.as_bytes())?;
        Ok(self.number)
    }

    /// The next message that has arrived, if any.
    pub(crate) fn word(&mut self) -> Option<Word> {
        let mut buffer = [0; 256];
        while let Ok(count) = rustix::io::read(&self.hears, &mut buffer)
            && count > 0
        {
            self.heard.extend(&buffer[..count]);
        }
        while let Some(end) = self.heard.iter().position(|byte| *byte == b'\n') {
            let line: Vec<u8> = self.heard.drain(..=end).collect();
            let line = std::str::from_utf8(&line).unwrap_or_default().trim_end();
            let word = match line.strip_prefix('n') {
                Some(number) => number.parse().map(Word::Number),
                None => line.parse().map(Word::Done),
            };
            // Anything else is not from us.
            if let Ok(word) = word {
                return Some(word);
            }
        }
        None
    }

    /// Reads the output of the shell itself, so that the shell never waits for a reader.
    pub(crate) fn read_shell_output(&mut self) {
        self.output.read();
    }

    /// Readable when the shell itself has written something.
    pub(crate) fn shell_output(&self) -> BorrowedFd<'_> {
        self.output.as_fd()
    }

    /// Passes on the output of the shell itself, at its end: the output of a command that ended its shell belongs to the command.
    pub(crate) fn pass_on_shell_output(&mut self, output: &OwnedFd) {
        // Whoever reads may have been stopped.
        let _ = pipe::set_nonblocking(output);
        // Traces of our own lines are nobody's business.
        let own = self.output.take_without(&format!("/proc/{}/fd/", std::process::id()));
        let mut rest = own.as_slice();
        // Nobody may be left who reads.
        while let Ok(count @ 1..) = rustix::io::write(output, rest) {
            rest = &rest[count..];
        }
    }

    /// True if it can no longer be told anything.
    pub(crate) fn is_deaf(&self) -> bool {
        self.lines.is_none()
    }

    /// There is nothing more to do for it: it ends when it has done what it was told.
    pub(crate) fn close(&mut self) {
        self.lines = None;
    }

    fn write(&mut self, lines: &[u8]) -> io::Result<()> {
        let file = self.lines.as_mut().ok_or(io::ErrorKind::BrokenPipe)?;
        file.write_all(lines).inspect_err(|_| self.lines = None)
    }
}

/// The line that evaluates the text of a command, with variables that hold for it alone.
///
/// Bash gives assignments in front of a builtin to all that it does, and takes them back at its end, whatever that is. In POSIX
/// mode it would keep those in front of `eval`; behind `command`, `eval` is a builtin like others. Functions called `eval` or
/// `command` are passed by.
fn evaluation(variables: &[Vec<u8>]) -> Vec<u8> {
    let mut line = Vec::new();
    for variable in variables {
        let (name, value) = variable.split_at(variable.iter().position(|byte| *byte == b'=').unwrap_or(variable.len()));
        line.extend(name);
        line.extend(b"=$'");
        // On one line, because messages count lines from here.
        for byte in value.iter().skip(1) {
            match byte {
                b'\n' => line.extend(br"\n"),
                b'\'' | b'\\' => line.extend([b'\\', *byte]),
                byte => line.push(*byte),
            }
        }
        line.extend(b"' ");
    }
    line.extend(if variables.is_empty() { &br"\builtin eval"[..] } else { br"\builtin command eval" });
    line.extend(format!(" \"${TEXT}\"\n").into_bytes());
    line
}

/// A text that can be read to its end. A pipe up to this length: that takes a third of the time of a file.
fn readable(text: &[u8], longest_in_pipe: usize) -> io::Result<OwnedFd> {
    if text.len() <= longest_in_pipe {
        let (read, write) = pipe::plain()?;
        File::from(write).write_all(text)?;
        return Ok(read);
    }
    let mut file = bashful_sys::anonymous_file("bashful-script")?;
    file.write_all(text)?;
    Ok(file.into())
}

/// Has news when it says something.
impl AsFd for Driver {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.hears.as_fd()
    }
}
