//! Drives the persistent bash of a session.
//!
//! Bash reads the keeper's lines from its standard input. For each command, it reads the script from a file of the
//! keeper into the variable in which `bash -c` has it too. Then it sources a line that evaluates this variable, with
//! the command's own output and an empty input. At the end, it writes the exit status to a pipe of its own. So the
//! keeper searches for nothing in the command's output and quotes no byte of a script. Messages of an evaluated script
//! name no file of the keeper.
//!
//! The bash is interactive, without a terminal and without a prompt, for one reason: only an interactive shell can be
//! made to drop a script and continue, even inside loops and functions. That is [`Driver::interrupt`]. While it sources
//! a file, bash behaves like one that is not interactive.

use std::fs::File;
use std::io::{self, Write};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;

use bashful_sys::signal::Signal;
use bashful_sys::spawn::{Child, Session};
use bashful_sys::{pipe, proc};

use super::shell_output::ShellOutput;
use crate::fence::OpenForShell;
use crate::protocol::{Input, Script, SessionCommand, Setup};
use crate::shell::{self, NotStarted, fd_path, not_prepared, quote};

/// Arguments of bash: no start-up files of the user, no line editing, no history.
const ARGUMENTS: [&str; 7] = ["--norc", "--noprofile", "--noediting", "-i", "+H", "+o", "history"];

/// First lines that bash reads.
///
/// The trap makes `SIGPWR` drop the running script. It acts only while a script is sourced, because between two
/// commands there is nothing to drop but the keeper's own lines. It sends a second signal, because an error in a signal
/// handler ends only the handler. The other lines remove what only interactive shells have. `\builtin` skips functions
/// and aliases of any name.
const OPENING: &str = r"\builtin trap '[[ ${BASH_SOURCE[0]-} ]] && { \builtin trap - INT; \builtin kill -INT $$; }' PWR
\builtin unset PS1 PS2 MAILCHECK HISTFILE HISTSIZE HISTFILESIZE
\builtin shopt -u expand_aliases
";

/// Variables that make an interactive shell act at a prompt that nobody sees, or end because nobody types.
const PROMPT_VARIABLES: [&str; 3] = ["PROMPT_COMMAND=", "PS0=", "TMOUT="];

/// Bytes that fit into a pipe on every machine; a user with many pipes gets smaller ones.
const SMALLEST_PIPE: usize = 4096;

/// Longest script that bash reads faster from a pipe than from a file, in bytes. `mapfile` reads a pipe byte by byte.
const LONGEST_SCRIPT_IN_PIPE: usize = 256;

/// Variable that holds the script, as in `bash -c`.
const SCRIPT_VARIABLE: &str = "BASH_EXECUTION_STRING";

/// Index, among the descriptors of a command, of the line that evaluates the script. While it is unread, none of the
/// script has run.
pub(super) const EVALUATION: usize = 3;

/// A persistent shell and the pipes to it.
pub(crate) struct Driver {
    pub(crate) child: Child,
    /// Pipe from which the shell reads its lines; none once there are to be no more.
    lines: Option<File>,
    /// Writing and reading end of the pipe for messages of the shell.
    message_writer: OwnedFd,
    message_reader: OwnedFd,
    unparsed: Vec<u8>,
    pub(super) output: ShellOutput,
    /// Last number that the shell was asked for.
    number: u64,
}

/// A message from the shell.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ShellMessage {
    /// A script ended with this exit status.
    Done(u8),
    /// The shell has run the line that asks for this number.
    Number(u64),
}

impl Driver {
    /// Starts a shell, which first sources the file that the setup names.
    pub(crate) fn start(mut setup: Setup) -> Result<Self, NotStarted> {
        let unprepared = |error: io::Error| not_prepared(&error);
        let (reads, lines) = pipe::plain().map_err(unprepared)?;
        let (message_reader, message_writer) = pipe::plain().map_err(unprepared)?;
        pipe::set_nonblocking(&message_reader).map_err(unprepared)?;
        pipe::set_nonblocking(&lines).map_err(unprepared)?;
        let output = ShellOutput::new().map_err(unprepared)?;
        setup.input = Input::From(Some(reads));
        // Bash would obey these variables before it reads the first line.
        setup.env.retain(|entry| !PROMPT_VARIABLES.iter().any(|name| entry.starts_with(name.as_bytes())));
        let arguments = ARGUMENTS.iter().map(|argument| argument.as_bytes().to_vec()).collect();
        let child = shell::spawn_with(&setup, arguments, None, Session::Own)?;
        // Only the shell itself may hold the writing end of its output.
        let Setup { source, .. } = setup;
        let lines = Some(File::from(lines));
        let mut driver = Self { child, lines, message_writer, message_reader, unparsed: Vec::new(), output, number: 0 };
        let mut opening = OPENING.as_bytes().to_vec();
        if !source.is_empty() {
            opening.extend(br"\builtin . ");
            quote(&mut opening, &source);
            opening.extend(format!(" >{0} 2>&1 <{0}\n", shell::null_path()).as_bytes());
        }
        // From here on, the shell's own output is kept. Before, bash greets a user who is not there. Not `builtin
        // exec`: redirections of `builtin` end with it.
        opening.extend(format!("\\exec >{} 2>&1\n", fd_path(driver.output.writing_end())).into_bytes());
        driver.write(&opening).map_err(unprepared)?;
        Ok(driver)
    }

    pub(crate) fn pid(&self) -> i32 {
        self.child.pid.as_raw_nonzero().get()
    }

    /// True if the shell's working directory is this one.
    pub(crate) fn is_in(&self, directory: &[u8]) -> bool {
        bashful_sys::proc::directory_of(self.pid()).is_some_and(|cwd| cwd.as_os_str().as_bytes() == directory)
    }

    /// Hands a command to the shell. Bash opens the returned descriptors through `/proc`, so they have to stay open
    /// until the command ends. After an error, none of the command runs.
    ///
    /// The command takes two lines. After an interrupt, the shell continues with the next line, so the second line
    /// reports the exit status of the first in any case.
    pub(crate) fn begin(&mut self, command: SessionCommand) -> io::Result<OpenForShell> {
        let script = match command.script {
            Script::File(file) => file.ok_or(io::ErrorKind::NotFound)?,
            Script::Text(text) => readable_text(&text, LONGEST_SCRIPT_IN_PIPE)?,
        };
        let [output, stderr] = command.output.ok_or(io::ErrorKind::NotFound)?;
        let stderr_own = fd_path(&stderr);
        let stderr_place = if command.split { fd_path(&stderr) } else { "&1".to_owned() };
        let mut lines = Vec::new();
        if !command.directory.is_empty() {
            lines.extend(br"\builtin cd -- ");
            quote(&mut lines, &command.directory);
            write!(lines, " >{} 2>{stderr_own} && ", shell::null_path())?;
        }
        let evaluation = readable_text(&evaluation_line(&command.variables), SMALLEST_PIPE)?;
        let (from, to) = (fd_path(&evaluation), fd_path(&output));
        let (open, close) = if command.apart { ("(", ")") } else { ("", "") };
        write!(lines, "\\builtin mapfile -d '' -t {SCRIPT_VARIABLE} <{} 2>{stderr_own} && ", fd_path(&script))?;
        writeln!(lines, "{open}\\builtin . {from} >{to} 2>{stderr_place} <{}{close}", shell::null_path())?;
        writeln!(lines, "\\builtin echo \"$?\" >{}", fd_path(&self.message_writer))?;
        self.write(&lines)?;
        // The output comes first: it gets the shell's own output if the command ends the shell.
        Ok(OpenForShell(vec![output, stderr, script, evaluation]))
    }

    /// True if the shell has run every line, and waits for the next one.
    pub(crate) fn is_idle(&self) -> bool {
        let Some(lines) = &self.lines else { return false };
        let is_ours = || {
            let reads = std::fs::metadata(format!("/proc/{}/fd/0", self.pid()))?;
            io::Result::Ok(reads.ino() == lines.metadata()?.ino())
        };
        proc::blocked_read(self.child.pid) == Some(0)
            && is_ours().unwrap_or_default()
            && rustix::io::ioctl_fionread(lines) == Ok(0)
    }

    /// Makes the shell drop its script as soon as the program that it waits for has ended.
    pub(crate) fn interrupt(&self) {
        let _ = self.child.send(Signal::POWER);
        // Somebody may have stopped the shell.
        let _ = self.child.send(Signal::CONT);
    }

    /// Makes the shell drop an expansion, where no program runs: a loop over a million words before its first round.
    pub(crate) fn interrupt_expansion(&self) {
        let _ = self.child.send(Signal::INT);
    }

    /// Asks the shell to report the next number, which it does once it has nothing else to run.
    pub(crate) fn ask_number(&mut self) -> io::Result<u64> {
        self.number += 1;
        let line = format!("\\builtin echo n{} >{}\n", self.number, fd_path(&self.message_writer));
        self.write(line.as_bytes())?;
        Ok(self.number)
    }

    /// Returns the next message that has arrived.
    pub(crate) fn next_message(&mut self) -> Option<ShellMessage> {
        let mut buffer = [0; 256];
        while let Ok(count) = rustix::io::read(&self.message_reader, &mut buffer)
            && count > 0
        {
            self.unparsed.extend(&buffer[..count]);
        }
        while let Some(end) = self.unparsed.iter().position(|byte| *byte == b'\n') {
            let line: Vec<u8> = self.unparsed.drain(..=end).collect();
            let line = std::str::from_utf8(&line).unwrap_or_default().trim_end();
            let word = match line.strip_prefix('n') {
                Some(number) => number.parse().map(ShellMessage::Number),
                None => line.parse().map(ShellMessage::Done),
            };
            // Other lines do not come from our `echo`.
            if let Ok(word) = word {
                return Some(word);
            }
        }
        None
    }

    /// Reads the shell's own output, so that the shell never waits for a reader.
    pub(crate) fn read_shell_output(&mut self) {
        self.output.read();
    }

    /// Readable when the shell itself has written something.
    pub(crate) fn shell_output(&self) -> BorrowedFd<'_> {
        self.output.as_fd()
    }

    /// Copies the shell's own output to the command that ended the shell, for example the output of an `EXIT` trap.
    pub(crate) fn pass_on_shell_output(&mut self, output: &OwnedFd) {
        // A reader that was stopped must not block the keeper.
        let _ = pipe::set_nonblocking(output);
        // Traces (`set -x`) of the keeper's own lines are dropped.
        let own = self.output.take_without(&shell::fd_directory());
        let mut rest = own.as_slice();
        // The reader may be gone.
        while let Ok(count @ 1..) = rustix::io::write(output, rest) {
            rest = &rest[count..];
        }
    }

    /// True if the shell cannot be sent any more lines.
    pub(crate) fn is_closed(&self) -> bool {
        self.lines.is_none()
    }

    /// Sends no more lines: the shell ends after those that it has.
    pub(crate) fn close(&mut self) {
        self.lines = None;
    }

    fn write(&mut self, lines: &[u8]) -> io::Result<()> {
        let file = self.lines.as_mut().ok_or(io::ErrorKind::BrokenPipe)?;
        file.write_all(lines).inspect_err(|_| self.lines = None)
    }
}

/// Returns the line that evaluates the script, with variables for this command alone.
///
/// Bash applies assignments before a builtin to everything that the builtin runs, and reverts them at its end. In POSIX
/// mode it would keep those before `eval`, which is a special builtin; behind `command`, it is an ordinary one.
/// Functions called `eval` or `command` are skipped.
fn evaluation_line(variables: &[Vec<u8>]) -> Vec<u8> {
    let mut line = Vec::new();
    for variable in variables {
        let (name, value) = variable.split_at(variable.iter().position(|byte| *byte == b'=').unwrap_or(variable.len()));
        line.extend(name);
        line.extend(b"=$'");
        // On one line, because messages of bash count lines from here.
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
    line.extend(format!(" \"${SCRIPT_VARIABLE}\"\n").into_bytes());
    line
}

/// Returns a descriptor from which the text can be read: a pipe up to `longest_in_pipe` bytes, which takes a third of
/// the time of a file.
fn readable_text(text: &[u8], longest_in_pipe: usize) -> io::Result<OwnedFd> {
    if text.len() <= longest_in_pipe {
        let (read, write) = pipe::plain()?;
        File::from(write).write_all(text)?;
        return Ok(read);
    }
    let mut file = bashful_sys::anonymous_file("bashful-script")?;
    file.write_all(text)?;
    Ok(file.into())
}

/// Readable when the shell has sent a message.
impl AsFd for Driver {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.message_reader.as_fd()
    }
}
