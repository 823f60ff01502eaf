//! Replies to calls.

use std::path::PathBuf;

use crate::check::Refusal;
use crate::jobs::JobRecord;
use crate::outcome::{Outcome, Output};
use crate::redact::{Redacted, Redactor};
use crate::rewrite::RewriteKind;
use crate::sessions::SessionName;
use crate::units::Lifetime;
use crate::window::Window;

/// The reply to one call.
#[derive(Debug)]
pub enum Reply {
    /// The command has ended.
    Finished(Finished),
    /// The command continues as a job.
    Background(Background),
    /// The guard refused the command, and nobody approved it.
    Refused(Refusal),
    /// Another tool does better what the command does.
    Intercepted(BetterTool),
    /// The caller cancelled before the command started. None of it runs.
    Cancelled,
}

/// A tool that does better what a command does.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BetterTool {
    /// Name of the tool, as the model knows it.
    pub name: Redacted,
    /// Advice to use the tool, for the model.
    pub text: Redacted,
}

/// A command that has ended.
#[derive(Debug)]
pub struct Finished {
    /// Exit status and output.
    pub outcome: Outcome,
    /// Directory in which the command ran.
    pub directory: PathBuf,
    /// Lifetime that the command had.
    pub lifetime: Lifetime,
    /// Limit on the output that is shown.
    pub window: Window,
    /// Explanations of rewritings, for readers who have not had them yet.
    pub explanations: Vec<(RewriteKind, Redacted)>,
    /// Notices to show with the reply.
    pub notices: Vec<Redacted>,
    /// Redactor for other texts about this command.
    pub redactor: Redactor,
}

/// A command that continues as a job.
#[derive(Debug)]
pub struct Background {
    /// Record of the job.
    pub job: JobRecord,
    /// Output so far; none if the command was started as a job.
    pub shown: Option<ShownSoFar>,
    /// Lifetime of the job.
    pub lifetime: Lifetime,
    /// Explanations of rewritings, for readers who have not had them yet.
    pub explanations: Vec<(RewriteKind, Redacted)>,
    /// Notices to show with the reply.
    pub notices: Vec<Redacted>,
    /// Redactor for other texts about this command.
    pub redactor: Redactor,
}

/// Output of a command up to the moment when its call stopped waiting.
#[derive(Debug)]
pub struct ShownSoFar {
    /// Output so far; stdout, if the streams are split.
    pub output: Output,
    /// Stderr so far, if the streams are split.
    pub stderr: Option<Output>,
    /// Session that the command has left, together with its shell.
    pub session: Option<SessionName>,
    /// Limit on the output that is shown.
    pub window: Window,
    /// True if only some lines were asked for: the job's file gets all of them.
    pub had_line_limit: bool,
}

impl Reply {
    /// Outcome of a command that has ended; none for other replies.
    pub fn finished(self) -> Option<Outcome> {
        match self {
            Self::Finished(finished) => Some(finished.outcome),
            _ => None,
        }
    }

    /// Record of a command that continues as a job; none for other replies.
    pub fn job(self) -> Option<JobRecord> {
        match self {
            Self::Background(background) => Some(background.job),
            _ => None,
        }
    }
}
