//! The messages between engine and keeper, as bytes.
//!
//! A message is a frame: its length (4 bytes), its kind (1 byte) and its fields. All numbers are little-endian.
//! Descriptors travel beside the first byte of the message that needs them, so the connection has to carry bytes in
//! order, and descriptors. Neither side trusts the other: a message that cannot be decoded is an error, never a panic.
//!
//! The two ends may speak different versions, because a job or a session may outlive the program that started it: see
//! [`Hello`]. `golden/protocol.txt` has the bytes of every message. A change there needs a new [`VERSION`], unless it
//! adds a message that only peers of its own version get.

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
pub use hello::{Hello, KNOWS_LIFETIMES, VERSION};

/// File with the output of a job, in the job's directory.
pub const OUTPUT: &str = "output";
/// File with the state of a job, written by its keeper alone.
pub const STATUS: &str = "status.json";
/// Socket of a keeper, in the directory of its job or session.
pub const CONTROL: &str = "control";
/// Named pipe for a job's standard input, if the job has one.
pub const INPUT: &str = "input";
/// Directory beside those of the jobs, with one locked file for each job whose keeper lives.
pub const LIVE: &str = "live";
/// File with the name and the owner of a session, in its directory.
pub const ABOUT: &str = "about.json";
/// File with the process id of a session's shell, in its directory.
pub const SHELL: &str = "shell";
/// File with the reason why a session has ended, in its directory.
pub const LOST: &str = "lost";
/// Draft of [`LOST`], while the keeper writes it.
pub const LOST_DRAFT: &str = "lost.new";
/// The sizes of a job's terminal, in its directory. Each line has an offset in the output, and the columns and rows from there on.
pub const SIZES: &str = "sizes";

/// A message from the engine to the keeper.
#[derive(Debug)]
pub enum Order {
    /// Start a shell with this setup. Comes first, once a command.
    Setup(Setup),
    /// Run this script in the shell. Comes second, once a command.
    Begin(Begin),
    /// Stop the process tree.
    Stop(StopReason),
    /// Send this signal to every process of the tree, and do nothing else.
    Signal(u8),
    /// Make the command a job with a record of its own, which outlives the engine.
    Record(RecordOrder),
    /// Take over these pipes. The engine may end after this.
    Release(Vec<PipeHandover>),
    /// Close the command's standard input: nobody will write to it again.
    CloseInput,
    /// Keep the shell for one command after another. Comes second, instead of a script.
    Session(SessionOrder),
    /// Variables of the next command of this connection, `NAME=value` each. Comes before the command.
    Variables(Vec<Vec<u8>>),
    /// Run this script in the shell of a session when its turn comes.
    Command(SessionCommand),
    /// Drop the command that this connection has sent, unless it has begun.
    Withdraw,
    /// Report the state of the session.
    QueryState,
    /// End the session and everything in it.
    EndSession {
        /// True if the session makes room for another one; false if somebody asked for its end.
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
        /// True if the client would answer the queries that programs send to their terminal. One client at a time may; when it
        /// hangs up, the next one gets [`Report::Terminal`] again.
        answers: bool,
    },
    /// Stop the job when this connection ends: its owner is gone then.
    EndWithClient,
    /// Change the size of the terminal, and write the change down if the command is a job.
    Resize {
        /// The number of columns.
        columns: u16,
        /// The number of rows.
        rows: u16,
    },
    /// Stop the command after this time, counted from now, instead of the time in [`Begin`]. None if it has no end. Only peers of
    /// [`KNOWS_LIFETIMES`] and later get it.
    Lifetime(Option<Duration>),
    /// Make a fence, report it, and end. Comes first, instead of a setup.
    MakeFence(FenceOrder),
    /// Go inside of this fence before the shell starts. Comes before the setup, once.
    EnterFence {
        /// True if the fence has the network of the host, and no namespace for it.
        has_host_network: bool,
        /// Handles on its namespaces, and the lock of its directories, which the keeper holds. They travel as descriptors.
        handles: Vec<OwnedFd>,
    },
}

/// Order to make a fence.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FenceOrder {
    /// True if commands use the network of the host.
    pub has_host_network: bool,
    /// Loopback ports inside on which the engine listens.
    pub ports: Vec<u16>,
    /// Mounts, in their order.
    pub layers: Vec<FenceLayer>,
}

/// A mount of a fence.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FenceLayer {
    /// Its effect.
    pub kind: LayerKind,
    /// Absolute path inside.
    pub at: Vec<u8>,
    /// Absolute path of the directory of the fence that is shown; empty if none is.
    pub from: Vec<u8>,
    /// Absolute paths below a hidden directory that can be read.
    pub shown: Vec<Vec<u8>>,
}

/// Kind of a mount.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum LayerKind {
    /// A part of the host that may be changed.
    Writable = 1,
    /// A directory of the fence.
    Private = 2,
    /// A directory of the host, whose changes go to `upper` in a directory of the fence.
    Overlay = 3,
    /// An empty directory in memory.
    Empty = 4,
    /// A directory that cannot be read.
    HiddenDirectory = 5,
    /// A file that cannot be read.
    HiddenFile = 6,
    /// A part of the host that may not be changed.
    ReadOnly = 7,
    /// A directory that is made if there is none.
    Made = 8,
}

impl LayerKind {
    fn from_number(number: u8) -> Option<Self> {
        use LayerKind::{Empty, HiddenDirectory, HiddenFile, Made, Overlay, Private, ReadOnly, Writable};
        [Writable, Private, Overlay, Empty, HiddenDirectory, HiddenFile, ReadOnly, Made]
            .into_iter()
            .find(|kind| *kind as u8 == number)
    }
}

/// Number of namespaces of a fence.
pub fn namespaces(has_host_network: bool) -> usize {
    bashful_sys::fence::NAMESPACES.len() - usize::from(has_host_network)
}

/// The terminal of a command. Its inside end is the command's standard input, output and error.
#[derive(Debug)]
pub struct Terminal {
    /// The outside end, which the keeper keeps open. It travels as a descriptor.
    pub outside: Option<OwnedFd>,
}

/// Order to keep a persistent shell.
#[derive(Debug)]
pub struct SessionOrder {
    /// Absolute path of the session's directory.
    pub directory: Vec<u8>,
    /// Time after which an idle session ends; none if it never does.
    pub idle: Option<Duration>,
    /// True if the session stays when the engine that started it is gone.
    pub outlives: bool,
}

/// A command for the shell of a session.
#[derive(Debug)]
pub struct SessionCommand {
    /// Absolute path of the directory to change to first; empty if the shell stays in its own.
    pub directory: Vec<u8>,
    /// Lifetime of the command; none if it has no end.
    pub lifetime: Option<Duration>,
    /// Directory that the shell has to be in if it does not change it; empty if any is right.
    pub expected: Vec<u8>,
    /// True if the script runs in a subshell, so that it cannot change the shell.
    pub apart: bool,
    /// True if the command waits for its turn; false if a busy session refuses it.
    pub waits: bool,
    /// True if stdout and stderr are two pipes; false if both go to the first.
    pub split: bool,
    /// Variables of this command alone, `NAME=value` each. They travel as an order of their own.
    pub variables: Vec<Vec<u8>>,
    /// Stdout and stderr. They travel as descriptors.
    pub output: Option<[OwnedFd; 2]>,
    /// Runs when the command has its turn.
    pub script: Script,
}

/// Conditions under which a shell starts.
#[derive(Debug)]
pub struct Setup {
    /// Absolute path of bash.
    pub shell: Vec<u8>,
    /// Absolute path of the working directory.
    pub directory: Vec<u8>,
    /// The whole environment, `NAME=value` each.
    pub env: Vec<Vec<u8>>,
    /// Resource limits that differ from the engine's own.
    pub limits: Vec<Limit>,
    /// A file-creation mask that differs from the engine's own.
    pub umask: Option<u32>,
    /// Grace: time between `SIGTERM` and `SIGKILL` when the tree is stopped.
    pub grace: Duration,
    /// Now, or when the script is known.
    pub when: ShellStart,
    /// Stdout and stderr. They travel as descriptors.
    pub output: Option<[OwnedFd; 2]>,
    /// `/dev/null`, or a descriptor.
    pub input: Input,
    /// Absolute path of a file to source before anything else; empty if there is none. The file must not define
    /// functions called `.`, `:`, `builtin` or `unset`.
    pub source: Vec<u8>,
}

/// Source of a shell's standard input.
#[derive(Debug)]
pub enum Input {
    /// `/dev/null`.
    Nothing,
    /// A file or pipe. It travels as a descriptor.
    From(Option<OwnedFd>),
}

/// Order to make a command a job.
#[derive(Debug)]
pub struct RecordOrder {
    /// Id of the job.
    pub id: u64,
    /// Absolute path of the job's directory.
    pub directory: Vec<u8>,
    /// Decides who writes the output file, and which line ends it.
    pub kind: RecordKind,
    /// Limit on the output file, in bytes.
    pub at_most: u64,
    /// True if the keeper stops processes that outlive the shell.
    pub stop_leftovers: bool,
    /// File that the keeper keeps locked as long as it lives. It travels as a descriptor.
    pub alive: Option<OwnedFd>,
    /// Pipes that the keeper takes over. They are in the same message: between two messages, the engine could be killed
    /// while processes still write.
    pub pipes: Vec<PipeHandover>,
}

/// Reason why a command is a job.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum RecordKind {
    /// The command was started as a job. Its processes write to the output file themselves.
    Background = 1,
    /// The command took longer than its caller's patience.
    Outlasted = 2,
    /// The shell has ended. The job is the processes that it left running.
    Leftover = 3,
}

impl RecordKind {
    fn from_number(number: u8) -> Option<Self> {
        [Self::Background, Self::Outlasted, Self::Leftover].into_iter().find(|kind| *kind as u8 == number)
    }
}

/// Moment at which a shell starts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ShellStart {
    /// Together with its script.
    WithScript,
    /// Before its script is known. The shell waits for it.
    Ahead,
}

/// A script for the shell of the last setup.
#[derive(Debug)]
pub struct Begin {
    /// A file if it is longer than [`LONGEST_ARGUMENT`](crate::LONGEST_ARGUMENT).
    pub script: Script,
    /// Lifetime of the command; none if it has no end.
    pub lifetime: Option<Duration>,
}

/// The text of a script.
#[derive(Debug)]
pub enum Script {
    /// A script short enough to be an argument.
    Text(Vec<u8>),
    /// A longer script, in a file. It travels as a descriptor.
    File(Option<OwnedFd>),
}

/// A pipe that the keeper takes over, and the file for its bytes.
#[derive(Debug)]
pub struct PipeHandover {
    /// Absolute path of the file; empty if the bytes are dropped.
    pub path: Vec<u8>,
    /// Limit on the file, in bytes.
    pub at_most: u64,
    /// Byte range of the file that is already missing.
    pub gap: Range<u64>,
    /// Reading end of the pipe, and the file to fill. They travel as descriptors.
    pub from_to: Option<[OwnedFd; 2]>,
}

/// A message from the keeper to the engine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Report {
    /// The shell runs.
    Started {
        /// Process id of the shell; also the id of its process group and its session.
        pid: i32,
    },
    /// The shell could not be started. None of the script ran.
    NotStarted {
        /// Tells if the script, the record or the program was the problem.
        step: FailedStep,
        /// Error number of the system; 0 if there is none.
        errno: i32,
    },
    /// The command has ended.
    Ended {
        /// End of the command: its shell's exit status, and the reason if it was stopped.
        end: End,
        /// Processes of its tree that still run.
        left: Vec<Leftover>,
        /// True if the shell stays for the next command, as that of a session does.
        shell_stays: bool,
        /// Time of the end, since boot. An engine that was stopped meanwhile reads this report late.
        at: Duration,
    },
    /// The command has become a job, or could not.
    Recorded {
        /// 0 on success, or the error number of the system.
        errno: i32,
    },
    /// The keeper has read an order that came over the socket of a job or a session.
    Heard,
    /// The session runs another command, and this one does not wait, or has been withdrawn. None of it ran.
    Busy,
    /// The session runs another command, and this one waits for its turn. Peers of version 0 do not get this report.
    Waiting,
    /// The shell of the session is not in the expected directory. None of the command ran.
    Moved,
    /// Answer to [`Order::QueryState`].
    Session(SessionState),
    /// The two ends share no version, and the order is not part of the core. The keeper ignored it.
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
    /// The fence is made. Handles on its namespaces, and a listening socket for each port, travel as descriptors. If it is not, none do.
    FenceMade {
        /// 0 on success, or the error number of the system.
        errno: i32,
        /// Path of the layer that was the problem; empty if it was the namespaces.
        at: Vec<u8>,
    },
}

/// State of a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SessionState {
    /// Process id of its shell.
    pub pid: i32,
    /// True if a command runs.
    pub busy: bool,
    /// Time since boot at which the session became busy or idle.
    pub since: Duration,
    /// Number of commands that the session has run.
    pub commands: u64,
    /// Number of processes in the session, without its shell and the present command.
    pub left: u64,
}

/// Step at which the start of a shell failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FailedStep {
    /// The program could not be started.
    Spawn(Step),
    /// The record of the job, or the directory of the session, could not be opened.
    Record,
    /// The script could not be handed to a waiting shell.
    Handover,
}

/// A process that outlives the shell of its command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Leftover {
    /// Names the process only until it ends: the kernel may use the id again.
    pub pid: i32,
    /// Command line, shortened.
    pub command: String,
}
