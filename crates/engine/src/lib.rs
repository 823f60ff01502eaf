//! Runs shell commands for a model and always tells the truth about them.
//!
//! A command passes through a row of types. Each can only be made from the one before:
//!
//! ```text
//! Request ──plan──▶ Plan ──check──▶ Checked ──start──▶ Running ──▶ Outcome
//!  asked            decided         allowed            under way      facts
//! ```
//!
//! ```standalone_crate
//! use bashful_engine::{End, Engine, Exit, Options, Reply, Request, Script};
//!
//! fn main() -> Result<(), Box<dyn std::error::Error>> {
//!     // First thing in `main`: this process may have been started as a keeper.
//!     bashful_engine::keeper_main();
//!     let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
//!     runtime.block_on(async {
//!         let bash = bashful_engine::find_bash("/usr/bin:/bin".as_ref()).ok_or("no bash")?;
//!         // This program's variables, without those whose names or values say secret.
//!         let engine = Engine::new(Options::new(bash, std::env::current_dir()?).inherit())?;
//!         let reply = engine.run(Request::new(Script::new("echo out; echo err >&2")?)).await?;
//!         let Reply::Finished(finished) = reply else { return Err("the guard refused it".into()) };
//!         assert_eq!(finished.outcome.end, End::Own(Exit::Code(0)));
//!         assert_eq!(finished.outcome.output.text(), "out\nerr\n");
//!         Ok(())
//!     })
//! }
//! ```
//!
//! Every command has a keeper: a tiny process between this program and bash. It stops the whole process tree when the
//! lifetime is over, when the command is cancelled, and when this program dies. A program that does not call
//! [`keeper_main`] gets a thread instead, with weaker promises: see [`Engine::promises`].
//!
//! The crate prints nothing and reads no environment, home directory or settings by itself.

#![warn(clippy::disallowed_methods)]

mod artifacts;
mod aside;
mod backend;
mod call;
mod capture;
mod check;
mod clean;
mod client_terminal;
mod cluster;
mod command_log;
mod condensing;
mod connection;
mod early;
mod engine;
mod environment;
mod fences;
mod fixed_name;
mod id_counter;
mod job_input;
mod jobs;
mod judge_threads;
mod keeper_link;
mod keepers;
mod last_lines;
mod link;
mod local;
mod mask;
mod mentions;
mod outcome;
mod output_redactor;
mod plan;
mod promises;
mod questions;
mod ready;
mod redact;
mod registry;
mod reply_limit;
mod request;
mod reserve;
mod rewrite;
mod running;
mod sessions;
mod shell;
mod shell_key;
mod snapshot;
mod strays;
mod subscriptions;
mod sweeping;
mod terminal;
mod tool_advice;
mod trust;
mod units;
mod url_secrets;
mod versioned;
mod window;

use std::sync::atomic::{AtomicBool, Ordering};

pub use artifacts::{
    Artifact, ArtifactEntry, ArtifactFacts, ArtifactLimits, ArtifactStore, ArtifactWriter, CreateError, Gap, GetError,
    LinesRead, ListError, NotAnArtifact, ReadError, RemoveError, SweepReport, WriteError, artifact_id,
};
pub use aside::run_aside;
pub use backend::{After, Attached, Backend, BoxFuture, Outputs, StartError};
pub use bashful_condense::{Condenser, FilterError, FilterInfo, Selection};
pub use bashful_fence::{Caches, Fence, FenceError, FencePolicy, Layer, Mode as SandboxMode, Network};
pub use bashful_guard::{Finding, Guard, LONGEST_FOUND, Level, Policy, Prelude, RuleError, Setting, Verdict};
pub use bashful_keeper::protocol::VERSION as PROTOCOL_VERSION;
pub use bashful_keeper::{Ancestry, End, Exit, StopReason, ancestry, marked_ancestor};
pub use bashful_screen::{Cursor, Key, Keys, Snapshot as ScreenSnapshot, UnknownKey};
pub use bashful_sys::limits::{Limit, LimitedResource};
pub use bashful_sys::stdio::stdio;
pub use call::{
    Background, BetterTool, Caller, Cancellation, Canceller, Finished, Interceptor, Pauser, Pausing, Reply, ShownSoFar,
    Started, Waiting,
};
pub use capture::Cleaning;
pub use check::{Approval, Approver, Checked, Judge, Refusal, prelude_in, reason, warnings};
pub use clean::Changes;
pub use client_terminal::{
    CLIENT_OUTPUT_LIMIT, ClientBackend, ClientTerminal, ClientTerminalError, TerminalCommand, TerminalExit,
    TerminalText,
};
pub use command_log::{CommandLog, CommandRecord, CommandText, Fate, Savings};
pub use condensing::Condensing;
pub use early::start_keeper_early;
pub use engine::{Engine, KeeperProgram, LeftoverPolicy, Options, Orphans, RunError, ShellOptions};
pub use environment::{EnvError, Environment, EnvironmentPolicy, Pattern, Withheld};
pub use fences::{RefusedConnections, SandboxOptions};
pub use fixed_name::FixedName;
pub use job_input::{JobInput, JobInputError, JobInputs};
#[cfg(feature = "screens")]
pub use jobs::{CommandAtPrompt, JobTerminal, ScreenUntil, TerminalError, WaitOver, shell_at};
pub use jobs::{
    ControlError, CreateJobError, Follow, Followed, GetJobError, JobKind, JobLimits, JobRecord, JobState, JobStore,
    JobText, JobTie, ListJobsError, NewJob, NotAJob, Part as JobPart, RemoveJobError, SendError, Stop, TooManyJobs,
    Until, job_id,
};
pub use judge_threads::JUDGE_THREAD;
pub use link::{Ended, Handover, Link, OutputHandover};
pub use outcome::{CondensedOutput, CutOff, Direction, LeftBehind, Leftover, Outcome, Output, Truncation};
pub use output_redactor::{OutputRedactor, RedactingWriter};
pub use plan::{Plan, PlanError, directory as working_directory};
pub use promises::{KeeperForm, Promises};
pub use questions::{OpenQuestion, PersonPresence, Questions};
pub use redact::{Redacted, Redactor, error_chain};
pub use registry::{ListRegistryError, RegisteredCommand, Registry, StopRegisteredError};
pub use reply_limit::ReplyLimit;
pub use request::{
    Given, GivenCommand, Input, LONGEST_SCRIPT, Lines, Request, Script, ScriptError, Streams, TerminalRequest,
};
pub use rewrite::{
    ArtifactUrls, JobUrls, LocalUrls, RewriteError, RewriteFor, RewriteKind, Rewriting, Rewritten, Scheme, SkillUrls,
    UrlError, UrlFile,
};
pub use running::{
    Chunk, Dropped, Heard, InBackground, Listening, Live, NotSent, OutputForm, OutputListener, OutputStream, Running,
    StillInForeground, StreamName, TailUpdate, TailUpdates, WhenBehind, Written,
};
pub use sessions::{
    BadSessionName, CallTurn, EndSessionError, Entered, InSession, ListSessionsError, NewerSession, PERSON_PREFIX,
    SessionEntry, SessionLimits, SessionName, SessionOutcome, SessionOwner, SessionStore, WhenBusy,
};
pub use shell::{BashSearch, NotBash, bash_version, check_bash_file, find_bash, find_bash_file, search_bash};
pub use snapshot::{NoSnapshot, Snapshot, SnapshotOptions};
pub use subscriptions::ListingChanges;
pub use terminal::{AttendedTerminal, CommandTerminal, InputWait, ProgramAt, TerminalSize, TypeError};
pub use tool_advice::{ExpressionError, Interception, TextRule, ToolAdvice};
pub use trust::{Distrust, make_directory, owner_below_root, trust_directory, trust_settings};
pub use units::{ByteSize, Grace, Lifetime, Patience};
pub use window::{Budget, Clip, LimitHit, Omitted, Part, Sizes, Window};

static ENTRY_IS_THERE: AtomicBool = AtomicBool::new(false);
static ENTRY_IS_LATE: AtomicBool = AtomicBool::new(false);

/// Becomes a keeper and never returns, if this process was started as one.
///
/// Call this first in `main`, before anything reads arguments, starts a thread or opens a file. Inside of
/// `#[tokio::main]` it is late: every keeper then starts that runtime too, which makes it slower and larger, and
/// [`Promises::keepers_are_small`] is false.
pub fn keeper_main() {
    bashful_keeper::main_if_asked();
    ENTRY_IS_LATE.store(bashful_sys::has_threads(), Ordering::Relaxed);
    ENTRY_IS_THERE.store(true, Ordering::Relaxed);
}

/// Keeps commands from reading the memory and the environment of this process, including withheld variables.
///
/// A command runs as the same user as its host, so it could read `/proc/PID/environ` of the host. After this call the
/// kernel refuses that, and debuggers too. The host decides, because the call is for the whole process, for good, and
/// has a price. There are no core dumps. `gdb`, `strace` and `perf` can attach only as root. The files below
/// `/proc/self` belong to root, so this process cannot list `/proc/self/fd` or write its own `uid_map`. Children cannot
/// open `/proc/PID/fd/N` of it. Programs that this process executes are not affected. Keepers need no such call: their
/// environment is empty.
///
/// ```
/// # fn main() -> std::io::Result<()> {
/// bashful_engine::forbid_inspection()?;
/// # Ok(()) }
/// ```
pub fn forbid_inspection() -> std::io::Result<()> {
    bashful_sys::forbid_inspection()
}

fn keeper_entry_is_there() -> bool {
    ENTRY_IS_THERE.load(Ordering::Relaxed)
}

fn keeper_entry_is_late() -> bool {
    ENTRY_IS_LATE.load(Ordering::Relaxed)
}
