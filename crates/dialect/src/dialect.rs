//! The dialects, and the trait that each of them implements.

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
use crate::bash_call::{BashArgument, BashCall};
use crate::job_calls::{JobOutput, JobsReply};
use crate::terminal_calls::ScreenView;
use crate::tool::{Abilities, Placeholders, Tool};
use crate::updates::{self, UpdateState};
use crate::{native, pi, plain};

/// One dialect: its definitions, arguments and replies. Each dialect is a unit type that implements this.
pub(crate) trait Shape: fmt::Debug + Sync {
    /// The name in `--dialect` and in settings.
    fn name(&self) -> &'static str;

    /// Changes engine options to what the dialect promises.
    fn adjust(&self, _: &mut Options, _: &Limits) {}

    /// The session that calls of one connection share; none in a dialect without a persistent shell.
    fn shared_session(&self, _connection: &str) -> Option<SessionName> {
        None
    }

    /// The tools, always in the same order. Nothing in them changes while a server runs.
    fn tools(&self, words: &Placeholders, limits: &Limits, abilities: Abilities) -> Vec<Tool>;

    /// Parses the arguments of a tool; none if the dialect has no such tool.
    fn parse(&self, tool: &str, arguments: Value, limits: &Limits) -> Option<Result<Call, ArgumentError>>;

    /// The arguments by their names in this dialect, and notices about those that were taken from another one.
    fn translate(&self, _tool: &str, arguments: Value) -> (Value, Vec<&'static str>) {
        (arguments, Vec::new())
    }

    /// The arguments that its `bash` lacks.
    fn lacks(&self) -> &'static [BashArgument];

    /// Turns a call of `bash` into a command. It uses only arguments that the dialect has.
    fn bash(&self, call: BashCall, limits: &Limits) -> Result<Call, ArgumentError>;

    /// The reply to a command that has ended.
    fn ended(&self, ended: &EndedCommand<'_>) -> RawAnswer;

    /// The reply to a command that was started in the background.
    fn started(&self, job: &JobRecord, screen: Option<&ScreenView>, call: &CallFacts) -> RawAnswer;

    /// The reply to a command that outlasted its call and became a job.
    fn outlasted(&self, job: &JobRecord, so_far: &ShownSoFar, call: &CallFacts) -> RawAnswer;

    /// The name of the fact that names the client's terminal.
    fn client_terminal_field(&self) -> &'static str {
        "client_terminal"
    }

    /// The reply to a call about jobs.
    fn jobs(&self, reply: &JobsReply) -> RawAnswer;

    /// Most bytes of output that a reply shows for each job. Several jobs share one reply.
    fn job_shown(&self) -> ByteSize {
        ByteSize::kib(32)
    }

    /// True if callers get updates of their jobs until the jobs are over.
    fn pushes(&self) -> bool {
        false
    }

    /// An update of a job for the caller who started it, with the final text once the job is over.
    fn update(&self, job: &JobRecord, output: &JobOutput, _: &CallFacts) -> (UpdateState, RawAnswer) {
        updates::usual_update(job, output)
    }

    /// True if a rewriting is explained at most once to a client, and not with every command.
    fn explains_once(&self) -> bool {
        true
    }

    /// True if a command has a terminal only while a person looks at it; otherwise it runs without one.
    fn terminal_needs_view(&self) -> bool {
        false
    }

    /// The error of a command whose terminal could not be started.
    fn no_terminal(&self, why: String) -> String {
        why
    }

    /// The error of a call that needs a job on a host that keeps none.
    fn no_jobs(&self) -> String {
        RunError::NoJobs.to_string()
    }

    /// The reply to a refused or failed call. The status is `refused` or `failed`.
    fn failure(&self, status: &str, text: &str) -> RawAnswer;

    /// Redacts the answer and keeps it within the limit on its output.
    fn bounded(&self, answer: RawAnswer, redactor: &Redactor, limit: ByteSize) -> Answer {
        answer.redact_within(redactor, limit)
    }
}

/// One shape of tool that models know.
#[derive(Clone, Copy)]
pub struct Dialect(pub(crate) &'static dyn Shape);

/// The name is not that of a dialect.
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

    /// All dialects, the default one first.
    pub const ALL: [Self; 3] = [Self::NATIVE, Self::PLAIN, Self::PI];

    /// The name in `--dialect` and in settings.
    pub fn name(self) -> &'static str {
        self.0.name()
    }

    /// The tools, always in the same order. Nothing in them changes while a server runs.
    pub fn tools(self, limits: &Limits, directory: &Path, abilities: Abilities) -> Vec<Tool> {
        self.0.tools(&Placeholders::new(limits, directory), limits, abilities)
    }

    /// Changes engine options to what the dialect promises, within these limits. Call it before [`bashful_engine::Engine::new`].
    pub fn adjust(self, options: &mut Options, limits: &Limits) {
        self.0.adjust(options, limits);
    }

    /// True if the dialect's `bash` has this argument.
    pub fn has(self, argument: BashArgument) -> bool {
        !self.0.lacks().contains(&argument)
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

/// The settled facts of a call: its effective timeout, and the notices so far.
#[derive(Debug)]
pub(crate) struct CallFacts {
    pub(crate) lifetime: Lifetime,
    /// The requested timeout in seconds, if it was out of range.
    pub(crate) clamped_from: Option<f64>,
    /// The call named no timeout.
    pub(crate) has_usual_lifetime: bool,
    pub(crate) notices: Vec<String>,
    pub(crate) has_terminal: bool,
}

impl CallFacts {
    pub(crate) fn new(call: RunCall, lifetime: Lifetime, notices: impl IntoIterator<Item = Redacted>) -> Self {
        let has_terminal = call.request.streams.terminal().is_some();
        let notices = call.notices.into_iter().chain(notices.into_iter().map(Redacted::into_string));
        let RunCall { clamped_from, has_usual_lifetime, .. } = call;
        Self { lifetime, clamped_from, has_usual_lifetime, notices: notices.collect(), has_terminal }
    }
}

/// A command that has ended, with all that its reply needs.
#[derive(Debug)]
pub(crate) struct EndedCommand<'a> {
    pub(crate) outcome: &'a Outcome,
    pub(crate) directory: &'a Path,
    /// Output up to this size is shown whole.
    pub(crate) whole: Budget,
    /// Largest reply that the client passes on, in bytes.
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
