//! How a command ended, as facts.

use std::path::PathBuf;
use std::time::Duration;

use bashful_keeper::End;

use crate::capture::Clip;
use crate::check::Refusal;
use crate::job::Job;

pub use bashful_keeper::wire::Leftover;

/// The answer to one call.
#[derive(Debug)]
pub enum Reply {
    /// It is over.
    Finished(Outcome),
    /// The call's patience is over; the command goes on.
    StillRunning(Job),
    /// It was not allowed to start.
    Refused(Refusal),
}

/// A command that is over.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Outcome {
    /// Who ended it, and what the system said.
    pub end: End,
    /// What it wrote.
    pub output: Output,
    /// What it left running.
    pub leftover: Option<LeftBehind>,
    /// How long it took.
    pub elapsed: Duration,
    /// The shell's process id, which was that of its group too. None if it was lost before anybody could tell.
    pub pid: Option<i32>,
}

/// What a command wrote.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Output {
    /// What is shown of it, without withheld values.
    pub clip: Clip,
    /// How many bytes it wrote.
    pub bytes: u64,
    /// How many lines it wrote; a last one without its newline counts.
    pub lines: u64,
}

/// Processes that outlive their shell.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LeftBehind {
    /// Who they are.
    pub processes: Vec<Leftover>,
    /// The keeper that watches over them: `SIGTERM` to it stops all of them. None where a thread watches.
    pub keeper: Option<i32>,
    /// The file that gets what they write from now on, if there is one.
    pub output_file: Option<PathBuf>,
}
