//! The dialects, and what each of them does.

use std::fmt;
use std::path::Path;
use std::str::FromStr;

use bashful_engine::{
    Budget, ByteSize, Cleaning, EnvironmentPolicy, JobRecord, Lifetime, Options, Outcome, Redacted, Redactor,
    Rewriting, RunError, SessionName, ShownSoFar,
};
use serde_json::Value;
use thiserror::Error;

use crate::answer::{Answer, RawAnswer};
use crate::arguments::{ArgumentError, Call, Limits, RunCall};
use crate::desk::Seen;
use crate::tool::{Tool, Words};
use crate::{native, pi, plain};

/// One shape of tool that models know.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Dialect {
    /// Tools `bash` and `job`: modes, environment, jobs.
    #[default]
    Native,
    /// Tool `bash` with a `command` and nothing else: standard output, standard error and exit code.
    Plain,
    /// Tools `bash` and `job` as pi has them.
    Pi,
}

/// There is no such dialect.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("there is no dialect {given:?}; there are native, plain and pi")]
pub struct UnknownDialect {
    given: String,
}

impl Dialect {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Native, Self::Plain, Self::Pi];

    /// What it is called.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Native => "native",
            Self::Plain => "plain",
            Self::Pi => "pi",
        }
    }

    /// The tools, always in the same order. Nothing in them changes while a server runs.
    pub fn tools(self, limits: &Limits, directory: &Path) -> Vec<Tool> {
        let words = Words::new(limits, directory);
        match self {
            Self::Native => native::tools(&words),
            Self::Plain => plain::tools(&words),
            Self::Pi => pi::tools(&words, limits),
        }
    }

    /// Makes an engine behave as the dialect says.
    pub fn adjust(self, options: &mut Options) {
        if self == Self::Plain {
            // It promises the environment of its host, as it is.
            options.environment = EnvironmentPolicy::pass_everything();
            // And the output, as it was written.
            options.cleaning = Cleaning::None;
            // And the command, as it is.
            options.rewriting =
                Rewriting { prefix: std::mem::take(&mut options.rewriting.prefix), ..Rewriting::default() };
        }
        if self == Self::Pi
            && let Some(snapshot) = &mut options.snapshot
        {
            snapshot.enabled = true;
        }
    }

    /// The session that calls of one connection share, if this dialect promises a shell that stays.
    pub(crate) fn shared_session(self, connection: &str) -> Option<SessionName> {
        if self != Self::Pi {
            return None;
        }
        let name = if connection.is_empty() { "pi".to_owned() } else { format!("pi-{connection}") };
        SessionName::new(name).ok()
    }

    pub(crate) fn parse(self, tool: &str, arguments: Value, limits: &Limits) -> Option<Result<Call, ArgumentError>> {
        Some(match (self, tool) {
            (Self::Native, "bash") => native::bash(arguments, limits),
            (Self::Native, "job") => native::job(arguments),
            (Self::Plain, "bash") => plain::bash(arguments, limits),
            (Self::Pi, "bash") => pi::bash(arguments, limits),
            (Self::Pi, "job") => pi::job(arguments),
            _ => return None,
        })
    }

    pub(crate) fn ended(self, ended: &Ended<'_>) -> RawAnswer {
        match self {
            Self::Native => native::ended(ended),
            Self::Plain => plain::ended(ended),
            Self::Pi => pi::ended(ended),
        }
    }

    /// A command that was started in the background.
    pub(crate) fn started(self, job: &JobRecord, call: &Asked) -> RawAnswer {
        match self {
            // The plain one has no jobs; should it ever be given one, these facts are the best there are.
            Self::Native | Self::Plain => native::started(job, call),
            Self::Pi => pi::started(job, call),
        }
    }

    /// A command that took longer than its caller has patience.
    pub(crate) fn outlasted(self, job: &JobRecord, so_far: &ShownSoFar, call: &Asked) -> RawAnswer {
        match self {
            Self::Native | Self::Plain => native::outlasted(job, so_far, call),
            Self::Pi => pi::outlasted(job, so_far, call),
        }
    }

    /// The answer, redacted and within the limit on the output that it shows. The plain one is JSON with a limit for each
    /// stream, which the engine keeps to, and nothing can be cut off its end.
    pub(crate) fn bounded(self, answer: RawAnswer, redactor: &Redactor, limit: ByteSize) -> Answer {
        if self == Self::Plain { answer.masked(redactor) } else { answer.masked_within(redactor, limit) }
    }

    /// Jobs as they were looked at.
    pub(crate) fn jobs(self, seen: &Seen) -> RawAnswer {
        match self {
            Self::Native | Self::Plain => native::jobs(seen),
            Self::Pi => pi::jobs(seen),
        }
    }

    /// What is said where there is no place for jobs.
    pub(crate) fn no_jobs(self) -> String {
        match self {
            Self::Native | Self::Plain => RunError::NoJobs.to_string(),
            Self::Pi => "Async job manager unavailable for this session.".to_owned(),
        }
    }

    /// A call that came to nothing. The status is `refused` or `failed`.
    pub(crate) fn failure(self, status: &str, text: &str) -> RawAnswer {
        match self {
            Self::Native => RawAnswer::failure(status, text),
            Self::Plain => plain::failure(status, text),
            Self::Pi => pi::failure(text),
        }
    }
}

/// What was asked for, once it has been decided.
#[derive(Debug)]
pub(crate) struct Asked {
    pub(crate) lifetime: Lifetime,
    pub(crate) clamped_from: Option<f64>,
    pub(crate) notices: Vec<String>,
}

impl Asked {
    pub(crate) fn new(call: RunCall, lifetime: Lifetime, notices: Vec<Redacted>) -> Self {
        let notices = call.notices.into_iter().chain(notices.into_iter().map(Redacted::into_string));
        Self { lifetime, clamped_from: call.clamped_from, notices: notices.collect() }
    }
}

/// A command that is over.
#[derive(Debug)]
pub(crate) struct Ended<'a> {
    pub(crate) outcome: &'a Outcome,
    pub(crate) directory: &'a Path,
    pub(crate) whole: Budget,
    /// The most that the client passes on, in bytes.
    pub(crate) at_most: Option<ByteSize>,
    pub(crate) call: &'a Asked,
}

impl fmt::Display for Dialect {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(self.name())
    }
}

impl FromStr for Dialect {
    type Err = UnknownDialect;

    fn from_str(given: &str) -> Result<Self, UnknownDialect> {
        let known = Self::ALL.into_iter().find(|dialect| dialect.name() == given);
        known.ok_or_else(|| UnknownDialect { given: given.to_owned() })
    }
}
