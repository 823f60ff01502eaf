//! How a command ended, as facts.

use std::path::PathBuf;
use std::time::Duration;

use bashful_keeper::End;

use crate::artifacts::ArtifactFacts;
use crate::check::Refusal;
use crate::job::Job;
use crate::window::Clip;

pub use bashful_keeper::wire::Leftover;

/// The answer to one call.
#[derive(Debug)]
#[expect(clippy::large_enum_variant, reason = "there is one for each command, and nobody keeps many")]
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
    /// What it wrote; what it wrote to standard output, if the streams were taken apart.
    pub output: Output,
    /// What it wrote to standard error, if the streams were taken apart.
    pub stderr: Option<Output>,
    /// What it left running.
    pub leftover: Option<LeftBehind>,
    /// How long it took.
    pub elapsed: Duration,
    /// The shell's process id, which was that of its group too. None if it was lost before anybody could tell.
    pub pid: Option<i32>,
}

/// What a command wrote on one stream.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Output {
    /// What is shown of it, without withheld values.
    pub clip: Clip,
    /// How many bytes it wrote.
    pub bytes: u64,
    /// How many lines it wrote; a last one without its newline counts.
    pub lines: u64,
    /// How many bytes of text that makes for the eyes. What is shown and what is left out make up this number.
    pub text_bytes: u64,
    /// Where the whole of it is, if it was too much to hold.
    pub artifact: Option<ArtifactFacts>,
    /// Why the whole of it is not there, or not complete.
    pub not_saved: Option<String>,
}

/// Processes that outlive their shell.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LeftBehind {
    /// Who they are.
    pub processes: Vec<Leftover>,
    /// The keeper that watches over them: `SIGTERM` to it stops all of them. None where a thread watches.
    pub keeper: Option<i32>,
    /// The job that they are now. None where it could not be written down.
    pub job: Option<u64>,
    /// The file that gets what they write from now on, behind what was written before, if there is one.
    pub output_file: Option<PathBuf>,
}
