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

/// The names of what is in a job's directory, and of the directory beside it that tells which jobs live.
pub const OUTPUT: &str = "output";
/// What became of the job, by its keeper.
pub const STATUS: &str = "status.json";
/// The socket by which the keeper is reached.
pub const CONTROL: &str = "control";
/// The pipe that is the job's standard input, if it has one.
pub const INPUT: &str = "input";
/// One locked file for each job that somebody watches over.
pub const LIVE: &str = "live";
/// What a session is, in its directory.
pub const ABOUT: &str = "about.json";
/// The process id of a session's shell, in its directory.
pub const SHELL: &str = "shell";
/// Why a session is not there any more, in its directory.
pub const LOST: &str = "lost";
/// The same while it is being written.
pub const LOST_DRAFT: &str = "lost.new";

/// What the engine tells the keeper.
#[derive(Debug)]
pub enum Order {
    /// How the shell is to be started. Comes first, and once.
    Setup(Setup),
    /// What the shell is to do. Comes second, and once.
    Begin(Begin),
    /// The tree is to be stopped.
    Stop(StopReason),
    /// This signal is to be sent to every process of the tree, and nothing else is to be done about it.
    Signal(u8),
    /// From now on the command is a job with a record of its own, which outlives the engine.
    Record(Record),
    /// The keeper takes over the pipes, and the engine need not stay.
    Release(Vec<Release>),
    /// Nobody will write to the command's standard input any more.
    CloseInput,
    /// The shell is to stay, and do one command after the other. Comes second, instead of what it is to do.
    Session(Session),
    /// What the shell of a session is to do next.
    Command(Command),
    /// A command is only to be done if its turn has come by now.
    Withdraw,
    /// How is the session?
    Look,
    /// The session is to end, because somebody wants it so or to make room for another.
    EndSession {
        /// The latter.
        makes_room: bool,
    },
}

/// A shell that stays.
#[derive(Debug)]
pub struct Session {
    /// Its directory, by its absolute path.
    pub directory: Vec<u8>,
    /// For how long it may have nothing to do.
    pub idle: Option<Duration>,
    /// Whether it stays when the engine is gone that started it.
    pub outlives: bool,
}

/// What the shell of a session is to do.
#[derive(Debug)]
pub struct Command {
    /// Where, by its absolute path; where the shell is, if it is empty.
    pub directory: Vec<u8>,
    /// How long it may take; none if it has no end.
    pub lifetime: Option<Duration>,
    /// Where the shell has to be, if it does not go anywhere; anywhere, if this is empty.
    pub expected: Vec<u8>,
    /// Whether it runs in a copy of the shell.
    pub apart: bool,
    /// Whether it waits for its turn.
    pub waits: bool,
    /// Whether the two go to different places.
    pub split: bool,
    /// Standard output and error. They travel as descriptors.
    pub output: Option<[OwnedFd; 2]>,
    /// The script.
    pub script: Script,
}

/// How a shell is to be started.
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
    /// How long the tree may take to end when it is asked to.
    pub grace: Duration,
    /// When to start it.
    pub when: When,
    /// Standard output and error. They travel as descriptors.
    pub output: Option<[OwnedFd; 2]>,
    /// Where standard input comes from.
    pub input: Input,
    /// The absolute path of a file to source before anything else; empty if there is none. It brings no functions called
    /// `.`, `:`, `builtin` or `unset`.
    pub source: Vec<u8>,
}

/// Where standard input comes from.
#[derive(Debug)]
pub enum Input {
    /// There is none.
    Nothing,
    /// From here. It travels as a descriptor.
    From(Option<OwnedFd>),
}

/// Where a job is written down, and how it ends.
#[derive(Debug)]
pub struct Record {
    /// Its number.
    pub id: u64,
    /// Its directory, by its absolute path.
    pub directory: Vec<u8>,
    /// What makes it a job.
    pub kind: Kind,
    /// At most so many bytes of its output are kept.
    pub at_most: u64,
    /// Whether what the shell leaves behind is stopped.
    pub stop_leftovers: bool,
    /// Locked as long as somebody watches over the job. It travels as a descriptor.
    pub alive: Option<OwnedFd>,
    /// The pipes that the keeper takes over, in the same message: between two, somebody could end or be killed who has
    /// still something to write.
    pub pipes: Vec<Release>,
}

/// What makes a command a job.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Kind {
    /// It was started as one, and its processes write to its output file themselves.
    Background = 1,
    /// It took longer than somebody wanted to wait.
    Outlasted = 2,
    /// Its shell has ended; these are the processes that it left running.
    Leftover = 3,
}

impl Kind {
    fn from_number(number: u8) -> Option<Self> {
        [Self::Background, Self::Outlasted, Self::Leftover].into_iter().find(|kind| *kind as u8 == number)
    }
}

/// When a shell is started.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum When {
    /// As soon as it is known what it is to do.
    Asked,
    /// At once; it then waits to be told what to do.
    Ahead,
}

/// What a shell is to do.
#[derive(Debug)]
pub struct Begin {
    /// The script.
    pub script: Script,
    /// How long it may take; none if it has no end.
    pub lifetime: Option<Duration>,
}

/// A script, on its way.
#[derive(Debug)]
pub enum Script {
    /// Short enough to be an argument.
    Text(Vec<u8>),
    /// Too long for that: a file. It travels as a descriptor.
    File(Option<OwnedFd>),
}

/// A pipe that the keeper takes over, and where its contents go.
#[derive(Debug)]
pub struct Release {
    /// The absolute path of the file; empty if what is written is not kept.
    pub path: Vec<u8>,
    /// At most so many bytes are kept.
    pub at_most: u64,
    /// What is already missing in its middle.
    pub gap: Range<u64>,
    /// The reading end of the pipe, and the file to fill. They travel as descriptors.
    pub from_to: Option<[OwnedFd; 2]>,
}

/// What the keeper tells the engine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Report {
    /// The shell runs.
    Started {
        /// Its id, which is that of its group and its session too.
        pid: i32,
    },
    /// The shell does not run, and nothing of the script was done.
    NotStarted {
        /// What failed.
        step: FailedStep,
        /// What the system said.
        errno: i32,
    },
    /// The command is over.
    Ended {
        /// How.
        end: End,
        /// What still runs of its tree.
        left: Vec<Leftover>,
        /// Whether its shell stays, as those of sessions do if they can.
        shell_stays: bool,
        /// When, by the clock that counts from the start of the machine. An engine that somebody has stopped reads this late.
        at: Duration,
    },
    /// The command is a job now, or not: then this is what the system said.
    Recorded {
        /// Zero if all went well.
        errno: i32,
    },
    /// Who came to a job's socket was heard.
    Heard,
    /// The session has something else to do, and the command does not wait, or not any longer. Nothing of it was done.
    Busy,
    /// The shell of the session is not where it was expected, and nothing of the command was done.
    Moved,
    /// How a session is.
    Session(SessionState),
    /// The two ends share no version, and the order was none of those that every version has. Nothing was done about it.
    NotUnderstood,
}

/// How a session is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SessionState {
    /// The process id of its shell.
    pub pid: i32,
    /// Whether a command runs.
    pub busy: bool,
    /// Since when it has been like that, by the clock that counts from the start of the machine.
    pub since: Duration,
    /// How many commands it has done.
    pub commands: u64,
    /// How many processes run in it beside its shell and what the shell does now.
    pub left: u64,
}

/// The step at which a shell could not be started.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FailedStep {
    /// Starting the program.
    Spawn(Step),
    /// Writing down that it runs.
    Record,
    /// Handing the script to a shell that was waiting for it.
    Handover,
}

/// A process that still runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Leftover {
    /// Its id.
    pub pid: i32,
    /// Its command line, shortened.
    pub command: String,
}
