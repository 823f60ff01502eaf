//! The dialects, and what each of them does.

use std::fmt;
use std::path::Path;
use std::str::FromStr;

use bashful_engine::{
    Budget, ByteSize, JobRecord, Lifetime, Options, Outcome, Redacted, Redactor, RunError, SessionName, ShownSoFar,
};
use serde_json::Value;
use thiserror::Error;

use crate::answer::{Answer, RawAnswer};
use crate::arguments::{ArgumentError, Call, Limits, RunCall};
use crate::job_calls::{JobOutput, JobsReply};
use crate::tool::{Abilities, Tool, Words};
use crate::updates::UpdateState;
use crate::{native, pi, plain};

/// One dialect: its definitions, arguments and replies. Each dialect is one value of a type of its own.
pub(crate) trait Shape: fmt::Debug + Sync {
    /// The name by which people choose it.
    fn name(&self) -> &'static str;

    /// Makes an engine behave as the dialect promises.
    fn adjust(&self, _: &mut Options, _: &Limits) {}

    /// The session that calls of one connection share, if this dialect promises a persistent shell.
    fn shared_session(&self, _connection: &str) -> Option<SessionName> {
        None
    }

    /// The tools, always in the same order. Nothing in them changes while a server runs.
    fn tools(&self, words: &Words, limits: &Limits, abilities: Abilities) -> Vec<Tool>;

    /// Reads the arguments of a tool; none if there is no such tool.
    fn parse(&self, tool: &str, arguments: Value, limits: &Limits) -> Option<Result<Call, ArgumentError>>;

    /// The argument that gives a command more time; none if there is none.
    fn slow(&self) -> Option<(&'static str, Value)> {
        None
    }

    /// The argument that runs a command in the background; none if there is none.
    fn background(&self) -> Option<(&'static str, Value)> {
        None
    }

    /// The reply to a command that has ended.
    fn ended(&self, ended: &Ended<'_>) -> RawAnswer;

    /// The reply to a command that was started in the background.
    fn started(&self, job: &JobRecord, call: &CallFacts) -> RawAnswer;

    /// The reply to a command that took longer than its caller has patience.
    fn outlasted(&self, job: &JobRecord, so_far: &ShownSoFar, call: &CallFacts) -> RawAnswer;

    /// The reply to a call about jobs.
    fn jobs(&self, seen: &JobsReply) -> RawAnswer;

    /// Bytes of output that a reply about jobs shows of each of them, at most. There may be several, and all are one reply.
    fn job_shown(&self) -> ByteSize {
        ByteSize::kib(32)
    }

    /// True if callers hear of their jobs until these are over.
    fn pushes(&self) -> bool {
        false
    }

    /// How far a job has come, for the caller who started it: with its final text, if it is over. None in a dialect that does not
    /// push.
    fn update(&self, _: &JobRecord, _: &JobOutput, _: &CallFacts) -> Option<(UpdateState, RawAnswer)> {
        None
    }

    /// True if a command has a terminal only while a person looks at it; otherwise it runs without one.
    fn terminal_needs_view(&self) -> bool {
        false
    }

    /// The error of a command whose terminal could not be started.
    fn no_terminal(&self, why: String) -> String {
        why
    }

    /// The error of a host without a place for jobs.
    fn no_jobs(&self) -> String {
        RunError::NoJobs.to_string()
    }

    /// The reply to a call that came to nothing. The status is `refused` or `failed`.
    fn failure(&self, status: &str, text: &str) -> RawAnswer;

    /// The answer, redacted and within the limit on the output that it shows.
    fn bounded(&self, answer: RawAnswer, redactor: &Redactor, limit: ByteSize) -> Answer {
        answer.masked_within(redactor, limit)
    }
}

/// One shape of tool that models know.
#[derive(Clone, Copy)]
pub struct Dialect(pub(crate) &'static dyn Shape);

/// There is no such dialect.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("there is no dialect {given:?}; there are native, plain and pi")]
pub struct UnknownDialect {
    given: String,
}

impl Dialect {
    /// Tools `bash` and `job`: modes, environment, jobs, sessions.
    pub const NATIVE: Self = Self(&native::Native);
    /// Tool `bash` with a `command` and nothing else: standard output, standard error and exit code.
    pub const PLAIN: Self = Self(&plain::Plain);
    /// Tools `bash` and `job` as pi has them.
    pub const PI: Self = Self(&pi::Pi);

    /// All of them.
    pub const ALL: [Self; 3] = [Self::NATIVE, Self::PLAIN, Self::PI];

    /// The name by which people choose it.
    pub fn name(self) -> &'static str {
        self.0.name()
    }

    /// The tools, always in the same order. Nothing in them changes while a server runs.
    pub fn tools(self, limits: &Limits, directory: &Path, abilities: Abilities) -> Vec<Tool> {
        self.0.tools(&Words::new(limits, directory), limits, abilities)
    }

    /// Makes an engine behave as the dialect promises, within these limits.
    pub fn adjust(self, options: &mut Options, limits: &Limits) {
        self.0.adjust(options, limits);
    }

    /// The argument of `bash` that gives a command more time; none if there is none.
    pub fn slow(self) -> Option<(&'static str, Value)> {
        self.0.slow()
    }

    /// The argument of `bash` that runs a command in the background; none if there is none.
    pub fn background(self) -> Option<(&'static str, Value)> {
        self.0.background()
    }
}

impl Default for Dialect {
    fn default() -> Self {
        Self::NATIVE
    }
}

impl PartialEq for Dialect {
    fn eq(&self, other: &Self) -> bool {
        self.name() == other.name()
    }
}

impl Eq for Dialect {}

impl fmt::Debug for Dialect {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(out)
    }
}

/// What was asked for, once it has been decided.
#[derive(Debug)]
pub(crate) struct CallFacts {
    pub(crate) lifetime: Lifetime,
    pub(crate) clamped_from: Option<f64>,
    pub(crate) notices: Vec<String>,
    pub(crate) has_terminal: bool,
}

impl CallFacts {
    pub(crate) fn new(call: RunCall, lifetime: Lifetime, notices: Vec<Redacted>) -> Self {
        let has_terminal = call.request.streams.terminal().is_some();
        let notices = call.notices.into_iter().chain(notices.into_iter().map(Redacted::into_string));
        Self { lifetime, clamped_from: call.clamped_from, notices: notices.collect(), has_terminal }
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
    pub(crate) call: &'a CallFacts,
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
