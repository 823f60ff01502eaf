//! The answer to one call.

use std::path::PathBuf;

use crate::check::Refusal;
use crate::jobs::JobRecord;
use crate::outcome::{Outcome, Output};
use crate::redact::{Redacted, Redactor};
use crate::sessions::SessionName;
use crate::units::Lifetime;
use crate::window::Window;

/// The answer to one call.
#[derive(Debug)]
pub enum Reply {
    /// The command is over.
    Finished(Finished),
    /// The command goes on as a job.
    Background(Background),
    /// The guard refused the command, and nobody approved it.
    Refused(Refusal),
    /// There is a better tool for the command.
    Intercepted(BetterTool),
    /// The caller cancelled before the command had started. Nothing of it runs.
    Cancelled,
}

/// A tool that does better what a command does.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BetterTool {
    /// The tool's name.
    pub name: Redacted,
    /// Advice to use the tool, for the model.
    pub text: Redacted,
}

/// A command that is over.
#[derive(Debug)]
pub struct Finished {
    /// How it ended, and what it wrote.
    pub outcome: Outcome,
    /// Where it ran.
    pub directory: PathBuf,
    /// How long it was allowed to run.
    pub lifetime: Lifetime,
    /// How much of its output is shown.
    pub window: Window,
    /// Remarks about the call, to be told with the reply.
    pub notices: Vec<Redacted>,
    /// Redacts what else is said about this command.
    pub redactor: Redactor,
}

/// A command that goes on as a job.
#[derive(Debug)]
pub struct Background {
    /// The job.
    pub job: JobRecord,
    /// The output up to now; none if the command was started as a job.
    pub shown: Option<ShownSoFar>,
    /// How long it may run.
    pub lifetime: Lifetime,
    /// Remarks about the call, to be told with the reply.
    pub notices: Vec<Redacted>,
    /// Redacts what else is said about this command.
    pub redactor: Redactor,
}

/// The output of a command up to the moment when it became a job.
#[derive(Debug)]
pub struct ShownSoFar {
    /// Output; standard output, if the streams are taken apart.
    pub output: Output,
    /// Standard error, if the streams are taken apart.
    pub stderr: Option<Output>,
    /// The session that the command has left, with the shell.
    pub session: Option<SessionName>,
    /// How much of it is shown.
    pub window: Window,
    /// True if only some lines were asked for: the job's file gets all of them.
    pub had_line_limit: bool,
}

impl Reply {
    /// The end of a command that is over.
    pub fn finished(self) -> Option<Outcome> {
        match self {
            Self::Finished(finished) => Some(finished.outcome),
            _ => None,
        }
    }

    /// The job of a command that goes on as one.
    pub fn job(self) -> Option<JobRecord> {
        match self {
            Self::Background(background) => Some(background.job),
            _ => None,
        }
    }
}
