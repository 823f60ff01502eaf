//! The messages between engine and keeper, as bytes.
//!
//! A message is a frame: its length (4 bytes), its kind (1 byte) and its fields, all numbers little-endian. Descriptors travel
//! beside the first byte of the message that needs them. The connection has to carry bytes in order, and descriptors; nothing
//! that comes over it is trusted. A message that makes no sense is an error, never a panic.
//!
//! The two ends may be of different versions, because a job or a session may outlive the program that started it: see [`Hello`].
//! `golden/protocol.txt` has the bytes of every message. A change there needs a new [`VERSION`], except for a new kind of
//! message that is sent only to peers that speak its version.

mod code;
mod fields;
mod hello;

use std::ops::Range;
use std::os::fd::OwnedFd;
use std::time::Duration;

use bashful_sys::limits::Limit;
use bashful_sys::spawn::Step;

use crate::{End, StopReason};

pub use fields::{Garbled, Inbox};
pub use hello::{Hello, VERSION};

/// The output of a job, in its directory.
pub const OUTPUT: &str = "output";
/// The state of a job, written by its keeper alone.
pub const STATUS: &str = "status.json";
/// The socket of a keeper, in the directory of its job or session.
pub const CONTROL: &str = "control";
/// The pipe that is a job's standard input, if the job has one.
pub const INPUT: &str = "input";
/// The directory beside those of jobs, with one locked file for each job whose keeper lives.
pub const LIVE: &str = "live";
/// The name and the owner of a session, in its directory.
pub const ABOUT: &str = "about.json";
/// The process id of a session's shell, in its directory.
pub const SHELL: &str = "shell";
/// The reason why a session has ended, in its directory.
pub const LOST: &str = "lost";
/// The same while the keeper writes it.
pub const LOST_DRAFT: &str = "lost.new";
/// The sizes of a job's terminal, in its directory. Each line has an offset in the output, and the columns and rows from there on.
pub const SIZES: &str = "sizes";

/// A message from the engine to the keeper.
#[derive(Debug)]
pub enum Order {
    /// Start a shell like this. Comes first, and once a command.
    Setup(Setup),
    /// Let the shell run this script. Comes second, and once a command.
    Begin(Begin),
    /// Stop the process tree.
    Stop(StopReason),
    /// Send this signal to every process of the tree, and do nothing else.
    Signal(u8),
    /// Make the command a job with a record of its own, which outlives the engine.
    Record(Record),
    /// Take over these pipes. The engine need not stay.
    Release(Vec<Release>),
    /// Close the command's standard input: nobody will write to it any more.
    CloseInput,
    /// Keep the shell for one command after the other. Comes second, instead of a script.
    Session(Session),
    /// Variables of the next command of this connection, and of no other: `NAME=value` each. Comes before the command.
    Variables(Vec<Vec<u8>>),
    /// Let the shell of a session run this script when its turn comes.
    Command(Command),
    /// Drop the command that this connection has sent, unless its turn has come by now.
    Withdraw,
    /// Report the state of the session.
    Look,
    /// End the session.
    EndSession {
        /// True if it ends to make room for another session, and not because somebody wants it gone.
        makes_room: bool,
    },
    /// The output and the input of the setup are the inside end of this terminal. Comes before the script.
    Terminal(Terminal),
    /// Put the modes of this terminal of a person back, and leave its alternate screen, if the engine is gone before it says
    /// [`HostTerminalRestored`](Self::HostTerminalRestored). The modes are those that the terminal has now. Comes before the
    /// script. The terminal travels as a descriptor.
    GuardHostTerminal(Option<OwnedFd>),
    /// The engine has put the modes of the person's terminal back.
    HostTerminalRestored,
    /// Hand out the outside end of the job's terminal.
    AskTerminal {
        /// True if the client would answer the queries that programs send to their terminal. One client at a time may.
        answers: bool,
    },
    /// Change the size of the terminal, and write the change down if the command is a job.
    Resize {
        /// The number of columns.
        columns: u16,
        /// The number of rows.
        rows: u16,
    },
}

/// The terminal of a command. Its inside end is the command's standard input, output and error.
#[derive(Debug)]
pub struct Terminal {
    /// The outside end, which the keeper keeps open. It travels as a descriptor.
    pub outside: Option<OwnedFd>,
}

/// A persistent shell.
#[derive(Debug)]
pub struct Session {
    /// The absolute path of its directory.
    pub directory: Vec<u8>,
    /// The time after which an idle session ends; none if it never does.
    pub idle: Option<Duration>,
    /// True if the session stays when the engine that started it is gone.
    pub outlives: bool,
}

/// A command for the shell of a session.
#[derive(Debug)]
pub struct Command {
    /// The absolute path of the directory to go to first; empty if the shell stays where it is.
    pub directory: Vec<u8>,
    /// The lifetime; none if it has no end.
    pub lifetime: Option<Duration>,
    /// The directory in which the shell has to be if it goes nowhere; empty if any will do.
    pub expected: Vec<u8>,
    /// True if the script runs in a copy of the shell, so that nothing of it stays.
    pub apart: bool,
    /// True if the command waits for its turn; otherwise a busy session refuses it.
    pub waits: bool,
    /// True if standard output and standard error are two pipes.
    pub split: bool,
    /// Variables of this command alone, `NAME=value` each. They travel as an order of their own.
    pub variables: Vec<Vec<u8>>,
    /// Standard output and error. They travel as descriptors.
    pub output: Option<[OwnedFd; 2]>,
    /// The text to run.
    pub script: Script,
}

/// The conditions under which a shell starts.
#[derive(Debug)]
pub struct Setup {
    /// Absolute path of bash.
    pub shell: Vec<u8>,
    /// Absolute path of the directory.
    pub directory: Vec<u8>,
    /// The whole environment, `NAME=value` each.
    pub env: Vec<Vec<u8>>,
    /// Resource limits that differ from the engine's own.
    pub limits: Vec<Limit>,
    /// A file-creation mask that differs from the engine's own.
    pub umask: Option<u32>,
    /// The time between the request to end and the kill.
    pub grace: Duration,
    /// The moment at which the shell starts.
    pub when: When,
    /// Standard output and error. They travel as descriptors.
    pub output: Option<[OwnedFd; 2]>,
    /// The source of standard input.
    pub input: Input,
    /// The absolute path of a file to source before anything else; empty if there is none. It brings no functions called
    /// `.`, `:`, `builtin` or `unset`.
    pub source: Vec<u8>,
}

/// The source of standard input.
#[derive(Debug)]
pub enum Input {
    /// `/dev/null`.
    Nothing,
    /// This file. It travels as a descriptor.
    From(Option<OwnedFd>),
}

/// The record that a command gets when it becomes a job.
#[derive(Debug)]
pub struct Record {
    /// The job's number.
    pub id: u64,
    /// The absolute path of the job's directory.
    pub directory: Vec<u8>,
    /// The reason why it is a job.
    pub kind: Kind,
    /// The most bytes of output that are kept.
    pub at_most: u64,
    /// True if processes that outlive the shell are stopped.
    pub stop_leftovers: bool,
    /// The file that is locked as long as the keeper lives. It travels as a descriptor.
    pub alive: Option<OwnedFd>,
    /// The pipes that the keeper takes over, in the same message: between two, somebody could end or be killed who has
    /// still something to write.
    pub pipes: Vec<Release>,
}

/// The reason why a command is a job.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Kind {
    /// It was started as one, and its processes write to its output file themselves.
    Background = 1,
    /// It took longer than its caller's patience.
    Outlasted = 2,
    /// Its shell has ended; the job is the processes that it left running.
    Leftover = 3,
}

impl Kind {
    fn from_number(number: u8) -> Option<Self> {
        [Self::Background, Self::Outlasted, Self::Leftover].into_iter().find(|kind| *kind as u8 == number)
    }
}

/// The moment at which a shell starts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum When {
    /// When its script is known.
    Asked,
    /// At once. The shell then waits for its script.
    Ahead,
}

/// A script for a shell that was set up.
#[derive(Debug)]
pub struct Begin {
    /// The text to run.
    pub script: Script,
    /// The lifetime; none if it has no end.
    pub lifetime: Option<Duration>,
}

/// The text of a script.
#[derive(Debug)]
pub enum Script {
    /// Short enough to be an argument.
    Text(Vec<u8>),
    /// Too long for that: a file. It travels as a descriptor.
    File(Option<OwnedFd>),
}

/// A pipe that the keeper takes over, and the file that its contents go to.
#[derive(Debug)]
pub struct Release {
    /// The absolute path of the file; empty if the contents are not kept.
    pub path: Vec<u8>,
    /// The most bytes that are kept.
    pub at_most: u64,
    /// The range in the middle that is missing already.
    pub gap: Range<u64>,
    /// The reading end of the pipe, and the file to fill. They travel as descriptors.
    pub from_to: Option<[OwnedFd; 2]>,
}

/// A message from the keeper to the engine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Report {
    /// The shell runs.
    Started {
        /// The shell's process id, which is that of its group and its session too.
        pid: i32,
    },
    /// The shell does not run, and nothing of the script was done.
    NotStarted {
        /// The step that failed.
        step: FailedStep,
        /// The system's error number.
        errno: i32,
    },
    /// The command is over.
    Ended {
        /// The end of its shell.
        end: End,
        /// The processes of its tree that still run.
        left: Vec<Leftover>,
        /// True if the shell stays, as those of sessions do if they can.
        shell_stays: bool,
        /// The time since the start of the machine. An engine that somebody has stopped reads this late.
        at: Duration,
    },
    /// The command is a job now, or could not become one.
    Recorded {
        /// Zero if all went well, or the system's error number.
        errno: i32,
    },
    /// The order that came over a job's or a session's socket was read.
    Heard,
    /// The session runs another command, and this one does not wait, or not any longer. Nothing of it was done.
    Busy,
    /// The session runs another command, and this one waits for its turn. Peers of version 0 are not told.
    Waiting,
    /// The shell of the session is not where it was expected, and nothing of the command was done.
    Moved,
    /// The state of a session.
    Session(SessionState),
    /// The two ends share no version, and the order was none of those that every version has. Nothing was done about it.
    NotUnderstood,
    /// The outside end of the job's terminal. It travels as a descriptor.
    Terminal {
        /// True if this client answers the queries of programs from now on, until it hangs up.
        answers: bool,
    },
    /// The command has no terminal, or its terminal is gone.
    NoTerminal,
    /// A signal has stopped the shell, as `Ctrl-Z` at its terminal does. Only commands with a terminal report this.
    Suspended,
}

/// The state of a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SessionState {
    /// The process id of its shell.
    pub pid: i32,
    /// True if a command runs.
    pub busy: bool,
    /// The time since the start of the machine at which it became busy or idle.
    pub since: Duration,
    /// The number of commands that it has run.
    pub commands: u64,
    /// The number of processes that run in it beside its shell and the present command.
    pub left: u64,
}

/// The step at which a shell could not be started.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FailedStep {
    /// Starting the program.
    Spawn(Step),
    /// Writing the record.
    Record,
    /// Handing the script to a shell that was waiting for it.
    Handover,
}

/// A process that outlives its shell.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Leftover {
    /// The process id.
    pub pid: i32,
    /// The command line, shortened.
    pub command: String,
}
