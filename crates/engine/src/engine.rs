//! The engine: from a request to a reply.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use bashful_guard::{Guard, Verdict};
use bashful_sys::limits::Limit;
use thiserror::Error;
use tokio::sync::Semaphore;
use tokio::time::{Instant, timeout_at};

use crate::artifacts::ArtifactStore;
use crate::backend::{After, Attached, Backend, StartError};
use crate::capture::Cleaning;
use crate::check::{self, Approver, Checked, Judge, Refusal};
use crate::environment::{Environment, EnvironmentPolicy};
use crate::jobs::{CreateJobError, JobKind, JobRecord, JobStore, NewJobRecord, Room, StderrFile};
use crate::local::Local;
use crate::mask::{LastMask, Mask};
use crate::output_redactor::OutputRedactor;
use crate::plan::{Plan, PlanError};
use crate::promises::Promises;
use crate::redact::Redactor;
use crate::registry::Registry;
use crate::request::{Input, Request, Streams};
use crate::rewrite::{RewriteError, Rewriting};
use crate::running::{Handles, Run};
use crate::sessions::{SessionStore, SessionsInUse};
use crate::snapshot::{SnapshotOptions, Snapshots};
use crate::sweeping::sweep_aside_if_due;
use crate::units::{ByteSize, Grace, Lifetime};
use crate::window::Window;

/// How an engine works. It reads nothing by itself, neither files nor variables: all of it is in here.
#[derive(Debug, Clone)]
pub struct Options {
    /// Absolute path of bash; see [`find_bash`](crate::find_bash).
    pub shell: PathBuf,
    /// Where commands run that do not say where.
    pub directory: PathBuf,
    /// The variables of the host program; see [`inherit`](Self::inherit).
    pub host_environment: Vec<(OsString, OsString)>,
    /// Which of them commands get: by default, those that are no secrets.
    pub environment: EnvironmentPolicy,
    /// What [`Engine::rewrite`] does; nothing, unless it is asked to.
    pub rewriting: Rewriting,
    /// Who judges scripts before they run; without it, everything runs.
    pub judge: Option<Judge>,
    /// How long a command may run that does not say how long.
    pub lifetime: Lifetime,
    /// How long a command may take to stop.
    pub grace: Grace,
    /// How much of the output is shown.
    pub window: Window,
    /// What becomes of processes that outlive their shell.
    pub leftovers: LeftoverPolicy,
    /// How what is shown differs from what was written.
    pub cleaning: Cleaning,
    /// Where output goes that is too much to show, and what processes that were left behind write. Without it, both are
    /// dropped.
    pub artifacts: Option<Arc<ArtifactStore>>,
    /// Where commands are written down that outlive their call. Without it there are no jobs.
    pub jobs: Option<Arc<JobStore>>,
    /// Where sessions are. Without it there are none.
    pub sessions: Option<Arc<SessionStore>>,
    /// Where commands are registered that run in the foreground, for other programs of this user to see. Without it, nobody
    /// sees them.
    pub registry: Option<Arc<Registry>>,
    /// What commands get of the user's rc files, and where that is kept. Without it, nothing.
    pub snapshot: Option<SnapshotOptions>,
    /// How many keepers wait ready.
    pub ready: usize,
    /// How many commands run at once; others wait their turn.
    pub at_once: usize,
    /// What becomes a keeper.
    pub keeper: KeeperProgram,
    /// Whether this program's orphans are the engine's to end.
    pub orphans: Orphans,
    /// Resource limits that commands get instead of this program's own.
    ///
    /// ```
    /// # use bashful_engine::{Engine, Limit, LimitedResource, Options, Request, Script};
    /// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let mut options = Options::new("/bin/bash".into(), "/".into()).inherit();
    /// options.limits.push(Limit::at_most(LimitedResource::FileSize, 1024));
    /// let reply = Engine::new(options)?.run(Request::new(Script::new("ulimit -f")?)).await?;
    /// assert_eq!(reply.finished().ok_or("refused")?.output.text(), "1\n");
    /// # Ok(()) }
    /// ```
    pub limits: Vec<Limit>,
    /// File-creation mask that commands get instead of this program's own.
    pub umask: Option<u32>,
}

/// The options that may differ from one command of an engine to the next; see [`Engine::with_shell`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ShellOptions {
    /// [`Options::shell`].
    pub shell: PathBuf,
    /// [`Rewriting::prefix`].
    pub prefix: String,
    /// [`EnvironmentPolicy::set`].
    pub set: BTreeMap<String, Option<String>>,
}

/// What becomes of processes that outlive their shell.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LeftoverPolicy {
    /// They go on, are reported, and write to a file.
    Keep,
    /// They are stopped before the reply.
    Stop,
}

/// What becomes a keeper.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum KeeperProgram {
    /// This very program, if it calls [`keeper_main`](crate::keeper_main) first thing in `main`; otherwise a thread.
    This,
    /// Another program that does. It has to speak a protocol version of this one. A keeper of bashful 0.1 does not: it hangs
    /// up on the hello, and its commands count as lost although nothing of them ran.
    At(PathBuf),
    /// A thread of this program, with weaker promises; see [`Promises`].
    Thread,
}

/// Whether orphans that come to this program are the engine's to end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Orphans {
    /// They may be somebody else's children: left alone.
    NotOurs,
    /// All children of this program are the engine's. It adopts what a killed keeper leaves, and ends it.
    Adopt,
}

/// Descriptors that a command takes: its output, its link and a handle on its keeper while it runs; the other end of its
/// output and a long script while it starts.
const DESCRIPTORS_A_COMMAND: u64 = 5;

/// Descriptors for everything else.
const DESCRIPTORS_RESERVED: u64 = 64;

impl Options {
    /// Options for this shell and directory; the rest is what suits a host that asks for nothing.
    pub fn new(shell: PathBuf, directory: PathBuf) -> Self {
        let descriptors = Limit::descriptors().soft.unwrap_or(1 << 20);
        let at_once = (descriptors.saturating_sub(DESCRIPTORS_RESERVED) / DESCRIPTORS_A_COMMAND).max(1);
        Self {
            shell,
            directory,
            host_environment: Vec::new(),
            environment: EnvironmentPolicy::default(),
            rewriting: Rewriting::default(),
            judge: Some(Judge::new(Guard::default())),
            lifetime: Lifetime(std::time::Duration::from_secs(30)),
            grace: Grace(std::time::Duration::from_secs(15)),
            window: Window::middle(ByteSize::kib(128), ByteSize::kib(4)),
            cleaning: Cleaning::ForEyes,
            leftovers: LeftoverPolicy::Keep,
            artifacts: None,
            jobs: None,
            sessions: None,
            registry: None,
            snapshot: None,
            ready: 0,
            at_once: usize::try_from(at_once).unwrap_or(usize::MAX).min(Semaphore::MAX_PERMITS),
            keeper: KeeperProgram::This,
            orphans: Orphans::NotOurs,
            limits: Vec::new(),
            umask: None,
        }
    }

    /// Takes the variables of this process as those of the host. [`environment`](Self::environment) decides which of them
    /// commands get: those whose names or values say secret are withheld. Without this call commands have no variables at
    /// all, not even `PATH`.
    ///
    /// ```
    /// # use bashful_engine::{Engine, Options, Request, Script};
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let engine = Engine::new(Options::new("/bin/bash".into(), "/".into()).inherit())?;
    /// let plan = engine.plan(Request::new(Script::new("make")?))?;
    /// assert!(plan.environment.variables.contains_key(std::ffi::OsStr::new("PATH")));
    /// # Ok(()) }
    /// ```
    #[must_use]
    pub fn inherit(mut self) -> Self {
        self.host_environment = std::env::vars_os().collect();
        self
    }
}

/// So many commands begin between two looks at whether a sweep is due. Commands that save output, and jobs, look by themselves.
const SWEEP_EVERY: u64 = 256;

/// A session whose shell is somewhere else each time that a command comes to its turn is given up on.
const JUDGED_ANEW: usize = 20;

/// Runs commands. Cheap to clone; all clones are one engine.
#[derive(Clone)]
pub struct Engine {
    options: Arc<Options>,
    /// What every command gets of the host's variables.
    environment: Arc<Environment>,
    backend: Arc<dyn Backend>,
    turns: Arc<Semaphore>,
    _sessions: Option<Arc<SessionsInUse>>,
    mask: Arc<LastMask>,
    pub(crate) snapshots: Option<Arc<Snapshots>>,
    /// How many commands have begun.
    begun: Arc<AtomicU64>,
}

impl std::fmt::Debug for Engine {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.debug_struct("Engine").field("options", &self.options).finish_non_exhaustive()
    }
}

/// Why a request came to nothing. What the command itself did wrong is never in here.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum RunError {
    /// It cannot be planned.
    #[error(transparent)]
    Plan(#[from] PlanError),
    /// It cannot be rewritten.
    #[error(transparent)]
    Rewrite(#[from] RewriteError),
    /// It could not be started.
    #[error(transparent)]
    Start(#[from] StartError),
    /// It could not become a job.
    #[error(transparent)]
    Job(#[from] CreateJobError),
    /// There is no place for jobs.
    #[error("jobs need a state directory: set XDG_STATE_HOME or HOME")]
    NoJobs,
    /// A job outlives every call, and a session does one command after the other.
    #[error("a background job has a shell of its own; leave out the session, or run it in the foreground")]
    JobInSession,
}

impl Engine {
    /// Makes an engine for this machine.
    pub fn new(options: Options) -> std::io::Result<Self> {
        let backend = Arc::new(Local::new(&options)?);
        Ok(Self::with_backend(options, backend))
    }

    /// Makes an engine whose commands run elsewhere. Of the options, `keeper`, `orphans`, `limits`, `umask` and `ready` mean what
    /// the backend makes of them.
    pub fn with_backend(options: Options, backend: Arc<dyn Backend>) -> Self {
        let snapshot = options.snapshot.clone().filter(|snapshot| snapshot.enabled);
        Self {
            snapshots: snapshot.map(|options| Arc::new(Snapshots::new(options))),
            turns: Arc::new(Semaphore::new(options.at_once)),
            _sessions: options.sessions.as_ref().map(|store| Arc::new(SessionsInUse::new(store))),
            environment: Arc::new(options.environment.of_host(&options.host_environment)),
            options: Arc::new(options),
            backend,
            mask: Arc::default(),
            begun: Arc::default(),
        }
    }

    /// The same engine for commands with another shell, prefix or variables: it shares everything that runs, waits or is kept.
    /// The guard and the lists of what is withheld are the same. Rc files are read anew, because the shell and the variables
    /// are part of what comes of them.
    ///
    /// ```
    /// # use bashful_engine::{Engine, Options, Request, Script, ShellOptions};
    /// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let engine = Engine::new(Options::new("/bin/bash".into(), "/".into()).inherit())?;
    /// let set = [("GREETING".to_owned(), Some("hello".to_owned()))].into();
    /// let other = engine.with_shell(ShellOptions { shell: "/bin/bash".into(), prefix: String::new(), set });
    /// let reply = other.run(Request::new(Script::new("echo $GREETING")?)).await?;
    /// assert_eq!(reply.finished().ok_or("refused")?.output.text(), "hello\n");
    /// # Ok(()) }
    /// ```
    #[must_use]
    pub fn with_shell(&self, shell: ShellOptions) -> Self {
        let ShellOptions { shell, prefix, set } = shell;
        let mut options = Options { shell, ..Options::clone(&self.options) };
        options.rewriting.prefix = prefix;
        options.environment.set = set;
        let snapshot = options.snapshot.clone().filter(|snapshot| snapshot.enabled);
        Self {
            snapshots: snapshot.map(|options| Arc::new(Snapshots::new(options))),
            environment: Arc::new(options.environment.of_host(&options.host_environment)),
            options: Arc::new(options),
            mask: Arc::default(),
            ..self.clone()
        }
    }

    /// The options that [`with_shell`](Self::with_shell) changes.
    pub fn shell_options(&self) -> ShellOptions {
        ShellOptions {
            shell: self.options.shell.clone(),
            prefix: self.options.rewriting.prefix.clone(),
            set: self.options.environment.set.clone(),
        }
    }

    /// What can be relied on.
    pub fn promises(&self) -> Promises {
        self.backend.promises()
    }

    /// Decides what exactly would run. The rc files are not looked at for it: what is known of them is used, and that is
    /// nothing before the first [`refresh_snapshot`](Self::refresh_snapshot).
    pub fn plan(&self, request: Request) -> Result<Plan, PlanError> {
        let current = self.snapshots.as_ref().and_then(|snapshots| snapshots.current());
        Plan::resolve(request, &self.options, &*self.backend, &self.environment, current.as_deref())
    }

    /// A variable of the host, whether commands get it or not.
    pub fn host_variable(&self, name: &str) -> Option<&OsStr> {
        let mut all = self.options.host_environment.iter();
        all.find(|(variable, _)| variable == name).map(|(_, value)| value.as_os_str())
    }

    /// How it works.
    pub(crate) fn options(&self) -> &Options {
        &self.options
    }

    /// Where its commands run.
    pub(crate) fn backend(&self) -> &dyn Backend {
        &*self.backend
    }

    /// The same engine, working otherwise, for a command of its own.
    pub(crate) fn with_options(&self, options: Options) -> Self {
        Self { options: Arc::new(options), snapshots: None, ..self.clone() }
    }

    /// What the guard says about a plan. Nobody is asked, and nothing is decided.
    pub fn verdict(&self, plan: &Plan) -> Verdict {
        self.options.judge.as_ref().map(|judge| judge.verdict(plan)).unwrap_or_default()
    }

    /// True if the guard would refuse this script in an ordinary shell. Nothing runs, and nobody is asked.
    ///
    /// ```
    /// # use bashful_engine::{Engine, Options};
    /// let mut options = Options::new("/bin/bash".into(), "/".into());
    /// assert!(Engine::new(options.clone())?.refuses("rm -rf /"));
    /// options.judge = None;
    /// assert!(!Engine::new(options)?.refuses("rm -rf /"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn refuses(&self, script: &str) -> bool {
        self.options.judge.as_ref().is_some_and(|judge| judge.refuses(script))
    }

    /// The guard's verdict on text that is to be sent to a job.
    pub fn verdict_on_input(&self, job: &JobRecord, text: &str) -> Verdict {
        self.options.judge.as_ref().map(|judge| judge.verdict_on_input(job, text)).unwrap_or_default()
    }

    /// Judges whether a plan may run. The caller's approver decides if the engine's own has not.
    pub async fn check(&self, plan: Plan, approver: Option<&dyn Approver>) -> Result<Checked, Refusal> {
        check::check(plan, self.options.judge.as_ref(), approver).await
    }

    /// Makes preparations for a command like this one, in the background.
    pub fn prepare(&self, checked: &Checked) {
        self.backend.prepare(checked, After::Request);
    }

    /// How many shells wait that this very command could be given, as far as is known: one that has died is only found
    /// out when it is needed. Always zero for a command that could tell the difference and is started afresh.
    pub fn ready_for(&self, checked: &Checked) -> usize {
        self.backend.ready_for(checked)
    }

    /// Starts a job that has been checked.
    pub(crate) async fn start_job_checked(&self, checked: Checked) -> Result<JobRecord, RunError> {
        let store = self.options.jobs.as_ref().ok_or(RunError::NoJobs)?;
        if checked.plan().session.is_some() {
            return Err(RunError::JobInSession);
        }
        let plan = checked.plan();
        let redactor = self.redactor_for(plan);
        let asked = NewJobRecord {
            kind: JobKind::Background,
            script: redactor.redact(String::from_utf8_lossy(plan.script.as_bytes())),
            directory: redactor.redact(plan.directory.to_string_lossy()),
            owner: plan.owner.as_deref(),
            lifetime: plan.lifetime,
            output: None,
            stderr: (plan.streams == Streams::Split).then_some(StderrFile::Own),
            input: plan.input == Input::Open,
            terminal: plan.streams.terminal().is_some(),
        };
        let job = store.create(asked, Room::Limited)?;
        let id = job.id;
        match self.backend.start_job(&checked, &job).await {
            Ok(()) => {
                let record = store.get(id).map_err(|error| StartError::System(std::io::Error::other(error)))?;
                // From here on its keeper alone holds it.
                drop(job);
                if self.begun.fetch_add(1, Ordering::Relaxed) > 0 {
                    sweep_aside_if_due(&self.options);
                }
                tracing::debug!(id, pid = record.pid, "started a job");
                Ok(record)
            }
            Err(error) => {
                store.discard(job);
                Err(error.into())
            }
        }
    }

    /// What makes raw output fit to be shown, as this engine does it.
    pub fn output_redactor(&self) -> OutputRedactor {
        OutputRedactor::new(self.options.cleaning, self.mask())
    }

    /// What hides all that is withheld from a command that is given nothing of it.
    pub(crate) fn mask(&self) -> Arc<Mask> {
        let current = self.snapshots.as_ref().and_then(|snapshots| snapshots.current());
        let withheld = current.as_ref().map_or(&self.environment.withheld, |current| &current.withheld);
        self.mask.for_these(withheld)
    }

    /// Redacts what is said where nothing runs: error texts, names of tools, lists.
    pub fn redactor(&self) -> Redactor {
        Redactor::new(self.mask())
    }

    /// Redacts what is said about a command that was planned. Values that the command was given stay.
    pub fn redactor_for(&self, plan: &Plan) -> Redactor {
        Redactor::new(self.mask.for_these(&plan.environment.withheld))
    }

    /// The same for the text of a command that was planned.
    pub fn output_redactor_for(&self, plan: &Plan) -> OutputRedactor {
        OutputRedactor::new(self.options.cleaning, self.mask.for_these(&plan.environment.withheld))
    }

    /// What was kept on disk of long outputs, by this engine and by others that share its directory.
    pub fn artifacts(&self) -> Option<&Arc<ArtifactStore>> {
        self.options.artifacts.as_ref()
    }

    /// The jobs, this engine's and those of others that share its directory.
    pub fn jobs(&self) -> Option<&Arc<JobStore>> {
        self.options.jobs.as_ref()
    }

    /// The sessions, if there is a place for them.
    pub fn sessions(&self) -> Option<&Arc<SessionStore>> {
        self.options.sessions.as_ref()
    }

    /// Starts a command once it is its turn. The inner error refuses one whose session has moved since it was judged.
    pub(crate) async fn begin(
        &self,
        mut checked: Checked,
        turn_by: Option<Instant>,
        approver: Option<&dyn Approver>,
    ) -> Result<Result<(Run, Handles), Refusal>, RunError> {
        let turn = Arc::clone(&self.turns).acquire_owned();
        let permit = match turn_by {
            None => turn.await,
            Some(by) => {
                let too_many = |_| StartError::TooManyCommands { limit: self.options.at_once };
                timeout_at(by, turn).await.map_err(too_many)?
            }
        };
        let permit = permit.expect("the semaphore is never closed");
        let mut began = Instant::now();
        let attached = if checked.plan().session.is_some() {
            let store = self.options.sessions.as_ref().ok_or(PlanError::NoSessions)?;
            let attached = match Box::pin(self.enter(checked, store, turn_by, approver)).await? {
                Ok((attached, judged)) => {
                    checked = judged;
                    attached
                }
                Err(refusal) => return Ok(Err(refusal)),
            };
            // It may have had to wait for its turn.
            began = Instant::now();
            attached
        } else {
            self.backend.start(&checked).await?
        };
        // While the shell starts.
        let mask = self.mask.for_these(&checked.plan().environment.withheld);
        self.sweep_now_and_then();
        let run =
            Run::new(attached, checked, mask, began, Arc::clone(&self.backend), Arc::clone(&self.options), permit);
        Ok(Ok(run.map_err(StartError::from)?))
    }

    /// Hands a command to its session. If its shell is not where the command was judged, it is judged anew for where it is.
    async fn enter(
        &self,
        mut checked: Checked,
        store: &Arc<SessionStore>,
        turn_by: Option<Instant>,
        approver: Option<&dyn Approver>,
    ) -> Result<Result<(Attached, Checked), Refusal>, RunError> {
        for _ in 0..JUDGED_ANEW {
            let Some(at) = checked.plan().session.clone() else { break };
            match self.backend.enter(&checked, &at, store, turn_by).await {
                Err(StartError::SessionMoved) => {
                    let mut plan = checked.into_plan();
                    plan.directory = store.cwd_in(&at.place).unwrap_or(plan.directory);
                    checked = match self.check(plan, approver).await {
                        Ok(checked) => checked,
                        Err(refusal) => return Ok(Err(refusal)),
                    };
                }
                entered => return Ok(Ok((entered?, checked))),
            }
        }
        Err(StartError::SessionMoved.into())
    }

    /// Looks whether a sweep is due when the second command has begun, and now and then from there on. A program that runs just
    /// one has no time for it.
    fn sweep_now_and_then(&self) {
        if self.begun.fetch_add(1, Ordering::Relaxed) % SWEEP_EVERY == 1 {
            sweep_aside_if_due(&self.options);
        }
    }
}
