//! The engine: options, planning, checking and starting.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use bashful_guard::{Guard, Verdict};
use bashful_sys::limits::Limit;
use thiserror::Error;
use tokio::sync::Semaphore;
use tokio::time::{Instant, timeout_at};

use crate::artifacts::ArtifactStore;
use crate::backend::{After, Attached, Backend, StartError};
use crate::call::Caller;
use crate::capture::Cleaning;
use crate::check::{self, Approver, Checked, Judge, Refusal};
use crate::condensing::Condensing;
use crate::environment::{Environment, EnvironmentPolicy};
use bashful_fence::{Mode as SandboxMode, Network};

use crate::fences::SandboxOptions;
use crate::job_input::JobInputs;
use crate::jobs::{CreateJobError, JobKind, JobRecord, JobStore, LimitCheck, NewJobRecord, StderrFile};
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
use crate::sessions::{CallTurn, SessionStore, SessionsInUse};
use crate::snapshot::{SnapshotOptions, Snapshots};
use crate::sweeping::sweep_aside_if_due;
use crate::units::{ByteSize, Grace, Lifetime};
use crate::window::Window;

/// Options of an engine. It reads no file and no variable by itself: everything is in here.
#[derive(Debug, Clone)]
pub struct Options {
    /// Absolute path of bash; see [`find_bash`](crate::find_bash).
    pub shell: PathBuf,
    /// Working directory of commands that name none.
    pub directory: PathBuf,
    /// The variables of the host program; see [`inherit`](Self::inherit).
    pub host_environment: Vec<(OsString, OsString)>,
    /// Policy for the host's variables. By default, commands get all that are not secrets.
    pub environment: EnvironmentPolicy,
    /// Changes that [`Engine::rewrite`] makes to a command; none by default.
    pub rewriting: Rewriting,
    /// Judge of scripts before they run. Without it, everything runs.
    pub judge: Option<Judge>,
    /// Lifetime of commands that name none.
    pub lifetime: Lifetime,
    /// Time between `SIGTERM` and `SIGKILL` when a command is stopped.
    pub grace: Grace,
    /// Limit on the output that is shown.
    pub window: Window,
    /// Fate of processes that outlive their shell.
    pub leftovers: LeftoverPolicy,
    /// Removal of escape sequences and redrawn lines from the shown text.
    pub cleaning: Cleaning,
    /// Shorter texts for the output of known commands; off by default. Needs a store for artifacts.
    ///
    /// ```standalone_crate
    /// # use std::sync::Arc;
    /// # use bashful_engine::{ArtifactLimits, ArtifactStore, Engine, Options, Request, Script};
    /// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # bashful_engine::keeper_main();
    /// # let directory = tempfile::tempdir()?;
    /// # let store = ArtifactStore::new(directory.path().join("artifacts"), ArtifactLimits::default());
    /// # let makefile = "O = $(shell seq 30)\nall: $(O)\n$(O):; @echo '  CC      $@.o'\n";
    /// # std::fs::write(directory.path().join("makefile"), makefile)?;
    /// let mut options = Options::new("/bin/bash".into(), directory.path().into()).inherit();
    /// options.artifacts = Some(Arc::new(store));
    /// options.condensing.enabled = true;
    /// let reply = Engine::new(options)?.run(Request::new(Script::new("make; echo made")?)).await?;
    /// let text = reply.finished().ok_or("refused")?.output.text();
    /// let account = "[left out: compile steps (29 lines)]\n[raw output: artifact://1]\n";
    /// assert_eq!(text, format!("  CC      30.o\nmade\n{account}"));
    /// # Ok(()) }
    /// ```
    pub condensing: Condensing,
    /// Store for output that is too long to show, and for output of leftover processes. Without it, both are dropped.
    pub artifacts: Option<Arc<ArtifactStore>>,
    /// Store for commands that outlive their call. Without it there are no jobs.
    pub jobs: Option<Arc<JobStore>>,
    /// Store of persistent shells. Without it there are no sessions.
    pub sessions: Option<Arc<SessionStore>>,
    /// Registry of running foreground commands, for other programs of this user. Without it, they do not see them.
    pub registry: Option<Arc<Registry>>,
    /// Options for the snapshot of the user's rc files. Without it, commands get none of them.
    pub snapshot: Option<SnapshotOptions>,
    /// Number of keepers that wait with a started shell.
    pub ready: usize,
    /// Most commands that run at once; others wait for their turn.
    pub at_once: usize,
    /// Program that becomes a keeper.
    pub keeper: KeeperProgram,
    /// Decides if the engine ends orphans of this program.
    pub orphans: Orphans,
    /// The sandbox of commands. Without it, they can do everything that this program can do.
    pub sandbox: Option<SandboxOptions>,
    /// Resource limits of commands that differ from this program's own.
    ///
    /// ```standalone_crate
    /// # use bashful_engine::{Engine, Limit, LimitedResource, Options, Request, Script};
    /// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # bashful_engine::keeper_main();
    /// let mut options = Options::new("/bin/bash".into(), "/".into()).inherit();
    /// options.limits.push(Limit::at_most(LimitedResource::FileSize, 1024));
    /// let reply = Engine::new(options)?.run(Request::new(Script::new("ulimit -f")?)).await?;
    /// assert_eq!(reply.finished().ok_or("refused")?.output.text(), "1\n");
    /// # Ok(()) }
    /// ```
    pub limits: Vec<Limit>,
    /// File-creation mask of commands; this program's own if none.
    pub umask: Option<u32>,
}

/// Options that may differ from one command of an engine to the next; see [`Engine::with_shell`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ShellOptions {
    /// Replaces [`Options::shell`].
    pub shell: PathBuf,
    /// Replaces [`Rewriting::prefix`].
    pub prefix: String,
    /// Replaces [`EnvironmentPolicy::set`].
    pub set: BTreeMap<String, Option<String>>,
}

/// Fate of processes that outlive their shell.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LeftoverPolicy {
    /// Leftover processes continue, the reply names them, and their output goes to a file.
    Keep,
    /// The keeper stops leftover processes before the reply.
    Stop,
}

/// Program that becomes a keeper.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum KeeperProgram {
    /// This very program. It has to call [`keeper_main`](crate::keeper_main) first in `main`; otherwise no command starts.
    This,
    /// Another program that does so. It has to share a protocol version with this one.
    At(PathBuf),
}

/// Owner of orphans that this program adopts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Orphans {
    /// Orphans may be children of somebody else, and are left alone.
    NotOurs,
    /// All children of this program belong to the engine. It adopts and kills what a killed keeper leaves.
    Adopt,
}

/// Descriptors of one command. While it runs: its output, its link and a handle on its keeper. While it starts: the
/// other end of its output, and a long script.
const DESCRIPTORS_A_COMMAND: u64 = 5;

/// Descriptors reserved for everything else.
const DESCRIPTORS_RESERVED: u64 = 64;

impl Options {
    /// Options for this shell and directory, with defaults for the rest.
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
            condensing: Condensing::default(),
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
            sandbox: None,
            limits: Vec::new(),
            umask: None,
        }
    }

    /// Uses the variables of this process as those of the host. [`environment`](Self::environment) withholds those
    /// whose names or values look secret. Without this call, commands have no variables at all, not even `PATH`.
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

/// Commands between two checks for a due sweep. Commands that save output, and jobs, check by themselves.
const SWEEP_EVERY: u64 = 256;

/// Attempts to judge a command whose session changes its directory every time before the turn comes.
const MOST_VERDICTS: usize = 20;

/// Runs commands. Cheap to clone; all clones share one engine.
#[derive(Clone)]
pub struct Engine {
    options: Arc<Options>,
    /// Variables of the host that every command gets, and those that are withheld.
    environment: Arc<Environment>,
    backend: Arc<dyn Backend>,
    permits: Arc<Semaphore>,
    _sessions: Option<Arc<SessionsInUse>>,
    mask: Arc<LastMask>,
    pub(crate) snapshots: Option<Arc<Snapshots>>,
    /// Number of commands that have begun.
    begun: Arc<AtomicU64>,
}

impl std::fmt::Debug for Engine {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.debug_struct("Engine").field("options", &self.options).finish_non_exhaustive()
    }
}

/// Error: a request that could not be run. A failure of the command itself is never one.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum RunError {
    /// The request cannot be planned.
    #[error(transparent)]
    Plan(#[from] PlanError),
    /// The command cannot be rewritten.
    #[error(transparent)]
    Rewrite(#[from] RewriteError),
    /// The command could not be started.
    #[error(transparent)]
    Start(#[from] StartError),
    /// The command could not become a job.
    #[error(transparent)]
    Job(#[from] CreateJobError),
    /// The engine has no store for jobs.
    #[error("jobs need a state directory: set XDG_STATE_HOME or HOME")]
    NoJobs,
    /// A job outlives every call, and a session runs one command after another.
    #[error("a background job has a shell of its own; leave out the session, or run it in the foreground")]
    JobInSession,
}

impl Engine {
    /// Makes an engine for this machine.
    pub fn new(options: Options) -> std::io::Result<Self> {
        let backend = Arc::new(Local::new(&options)?);
        Ok(Self::with_backend(options, backend))
    }

    /// Makes an engine with another backend, which decides what the options `keeper`, `orphans`, `limits`, `umask` and
    /// `ready` mean.
    pub fn with_backend(options: Options, backend: Arc<dyn Backend>) -> Self {
        let snapshot = options.snapshot.clone().filter(|snapshot| snapshot.enabled);
        Self {
            snapshots: snapshot.map(|options| Arc::new(Snapshots::new(options))),
            permits: Arc::new(Semaphore::new(options.at_once)),
            _sessions: options.sessions.as_ref().map(|store| Arc::new(SessionsInUse::new(store))),
            environment: Arc::new(options.environment.of_host(&options.host_environment)),
            options: Arc::new(options),
            backend,
            mask: Arc::default(),
            begun: Arc::default(),
        }
    }

    /// The same engine for commands with another shell, prefix or variables. It shares running commands, waiting shells
    /// and stores. The guard and the lists of withheld variables stay. Rc files are read again, because shell and
    /// variables affect their result.
    ///
    /// ```standalone_crate
    /// # use bashful_engine::{Engine, Options, Request, Script, ShellOptions};
    /// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # bashful_engine::keeper_main();
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

    /// The same engine for commands that run in another directory unless they name one. It shares everything else.
    #[must_use]
    pub fn in_directory(&self, directory: &Path) -> Self {
        let options = Options { directory: directory.to_path_buf(), ..Options::clone(&self.options) };
        Self { options: Arc::new(options), ..self.clone() }
    }

    /// Returns the options that [`with_shell`](Self::with_shell) changes.
    pub fn shell_options(&self) -> ShellOptions {
        ShellOptions {
            shell: self.options.shell.clone(),
            prefix: self.options.rewriting.prefix.clone(),
            set: self.options.environment.set.clone(),
        }
    }

    /// Guarantees that hold on this machine.
    pub fn promises(&self) -> Promises {
        self.backend.promises()
    }

    /// Decides the exact command that would run. Uses the last snapshot of the rc files, without reading them again;
    /// there is none before the first [`refresh_snapshot`](Self::refresh_snapshot).
    pub fn plan(&self, request: Request) -> Result<Plan, PlanError> {
        self.plan_on(&*self.backend, request)
    }

    /// Decides the exact command that this backend would run.
    pub(crate) fn plan_on(&self, backend: &dyn Backend, request: Request) -> Result<Plan, PlanError> {
        let current = self.snapshots.as_ref().and_then(|snapshots| snapshots.current());
        Plan::resolve(request, &self.options, backend, &self.environment, current.as_deref())
    }

    /// A variable of the host, whether commands get it or not.
    pub fn host_variable(&self, name: &str) -> Option<&OsStr> {
        let mut all = self.options.host_environment.iter();
        all.find(|(variable, _)| variable == name).map(|(_, value)| value.as_os_str())
    }

    /// Time between `SIGTERM` and `SIGKILL` when a command is stopped.
    pub fn grace(&self) -> Grace {
        self.options.grace
    }

    pub(crate) fn options(&self) -> &Options {
        &self.options
    }

    pub(crate) fn backend(&self) -> &Arc<dyn Backend> {
        &self.backend
    }

    /// The same engine with other options, for one of the engine's own commands.
    pub(crate) fn with_options(&self, options: Options) -> Self {
        Self { options: Arc::new(options), snapshots: None, ..self.clone() }
    }

    /// Returns the guard's verdict on a plan. Asks nobody, and decides nothing.
    pub fn verdict(&self, plan: &Plan) -> Verdict {
        self.options.judge.as_ref().map(|judge| judge.verdict(plan)).unwrap_or_default()
    }

    /// True if the guard would refuse this script in an ordinary shell. Runs nothing, and asks nobody.
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

    /// The way of input to the engine's jobs, judged by its guard; none without a store for jobs. A host sets the log.
    pub fn job_inputs(&self) -> Option<JobInputs> {
        let store = Arc::clone(self.options.jobs.as_ref()?);
        Some(JobInputs { store, judge: self.options.judge.clone(), log: None, redactor: self.redactor() })
    }

    /// Judges if a plan may run. The caller's approver decides if the engine's own has not.
    pub async fn check(&self, plan: Plan, approver: Option<&dyn Approver>) -> Result<Checked, Refusal> {
        check::check(plan, self.options.judge.as_ref(), approver).await
    }

    /// Prepares for a command like this one, in the background.
    pub fn prepare(&self, checked: &Checked) {
        self.backend.prepare(checked, After::Request);
    }

    /// Number of waiting shells that this very command could use. A shell that has died is only noticed when it is
    /// needed. Always zero for a command that could tell the difference and gets a new shell.
    pub fn ready_for(&self, checked: &Checked) -> usize {
        self.backend.ready_for(checked)
    }

    /// Starts a checked command as a job.
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
        let job = store.create(asked, LimitCheck::Apply)?;
        let id = job.id;
        match self.backend.start_job(&checked, &job).await {
            Ok(()) => {
                let record = store.get(id).map_err(|error| StartError::System(std::io::Error::other(error)))?;
                // From here on, the keeper alone holds the lock.
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

    /// Kills the commands whose keeper cannot stop them, because they trace it as a debugger does. Call it when the program
    /// ends; all other commands are stopped when the engine is dropped.
    pub async fn leave(&self) {
        self.backend.leave().await;
    }

    /// Redactor for raw output, with this engine's cleaning.
    pub fn output_redactor(&self) -> OutputRedactor {
        OutputRedactor::new(self.options.cleaning, self.mask())
    }

    /// The mask for every withheld value, for texts about no particular command.
    pub(crate) fn mask(&self) -> Arc<Mask> {
        let current = self.snapshots.as_ref().and_then(|snapshots| snapshots.current());
        let withheld = current.as_ref().map_or(&self.environment.withheld, |current| &current.withheld);
        self.mask.for_these(withheld)
    }

    /// Redactor for texts without a command: errors, tool names, lists.
    pub fn redactor(&self) -> Redactor {
        Redactor::new(self.mask())
    }

    /// Redactor for texts about a planned command. Values that the command was given stay.
    pub fn redactor_for(&self, plan: &Plan) -> Redactor {
        Redactor::new(self.mask.for_these(&plan.environment.withheld))
    }

    /// Redactor for the output of a planned command.
    pub fn output_redactor_for(&self, plan: &Plan) -> OutputRedactor {
        OutputRedactor::new(self.options.cleaning, self.mask.for_these(&plan.environment.withheld))
    }

    /// Store of long outputs, which other engines of the user share.
    pub fn artifacts(&self) -> Option<&Arc<ArtifactStore>> {
        self.options.artifacts.as_ref()
    }

    /// How much commands may change that ask for no other sandbox.
    pub fn sandbox_mode(&self) -> SandboxMode {
        self.options.sandbox.as_ref().map_or(SandboxMode::Off, |sandbox| sandbox.policy.mode)
    }

    /// The network of commands in the sandbox, and the hosts of its list.
    pub fn sandbox_network(&self) -> (Network, &[String]) {
        let policy = self.options.sandbox.as_ref().map(|sandbox| &sandbox.policy);
        policy.map_or((Network::On, &[]), |policy| (policy.network, &policy.domains))
    }

    /// True if outputs of known commands are condensed.
    pub fn condenses(&self) -> bool {
        self.options.condensing.enabled && self.options.artifacts.is_some()
    }

    /// Store of jobs, which other engines of the user share.
    pub fn jobs(&self) -> Option<&Arc<JobStore>> {
        self.options.jobs.as_ref()
    }

    /// Store of sessions; none if the options name none.
    pub fn sessions(&self) -> Option<&Arc<SessionStore>> {
        self.options.sessions.as_ref()
    }

    /// Takes a turn for a call that will be made later: among commands of one session, it comes before all calls that
    /// take their turn after this one. None without sessions.
    pub fn take_turn(&self) -> Option<CallTurn> {
        self.sessions().map(|store| store.take_turn())
    }

    /// Starts a command once its turn has come. The inner error is a refusal: its session changed the directory after
    /// the first verdict.
    pub(crate) async fn begin(
        &self,
        mut checked: Checked,
        backend: Arc<dyn Backend>,
        turn_by: Option<Instant>,
        caller: &Caller,
    ) -> Result<Result<(Run, Handles), Refusal>, RunError> {
        if let (Some(at), Some(turn)) = (&checked.plan().session, &caller.turn) {
            // Before the permit: an earlier command of the session may need it.
            turn.reach(&at.place, turn_by).await?;
        }
        let permit = Arc::clone(&self.permits).acquire_owned();
        let permit = match turn_by {
            None => permit.await,
            Some(by) => {
                let too_many = |_| StartError::TooManyCommands { limit: self.options.at_once };
                timeout_at(by, permit).await.map_err(too_many)?
            }
        };
        let permit = permit.expect("the semaphore is never closed");
        let mut began = Instant::now();
        let attached = if checked.plan().session.is_some() {
            let store = self.options.sessions.as_ref().ok_or(PlanError::NoSessions)?;
            let attached = match Box::pin(self.enter(checked, store, turn_by, caller)).await? {
                Ok((attached, judged)) => {
                    checked = judged;
                    attached
                }
                Err(refusal) => return Ok(Err(refusal)),
            };
            // The command may have waited for its turn.
            began = attached.session.as_ref().map_or_else(Instant::now, |entered| entered.began);
            attached
        } else {
            backend.start(&checked).await?
        };
        // Done while the shell starts.
        let mask = self.mask.for_these(&checked.plan().environment.withheld);
        self.sweep_regularly();
        let run = Run::new(attached, checked, mask, began, backend, Arc::clone(&self.options), permit);
        Ok(Ok(run.map_err(StartError::from)?))
    }

    /// Hands a command to its session. If the shell has changed its directory since the verdict, the command is judged
    /// again there.
    async fn enter(
        &self,
        mut checked: Checked,
        store: &Arc<SessionStore>,
        turn_by: Option<Instant>,
        caller: &Caller,
    ) -> Result<Result<(Attached, Checked), Refusal>, RunError> {
        let turn = caller.turn.clone().unwrap_or_else(|| store.take_turn());
        for _ in 0..MOST_VERDICTS {
            let Some(at) = checked.plan().session.clone() else { break };
            match self.backend.enter(&checked, &at, store, &turn, turn_by).await {
                Err(StartError::SessionMoved) => {
                    let mut plan = checked.into_plan();
                    plan.directory = store.cwd_in(&at.place).unwrap_or(plan.directory);
                    checked = match self.check(plan, caller.approver.as_deref()).await {
                        Ok(checked) => checked,
                        Err(refusal) => return Ok(Err(refusal)),
                    };
                }
                entered => return Ok(Ok((entered?, checked))),
            }
        }
        Err(StartError::SessionMoved.into())
    }

    /// Checks for a due sweep when the second command has begun, and every [`SWEEP_EVERY`] commands from then on. A
    /// program that runs only one command has no time for it.
    fn sweep_regularly(&self) {
        if self.begun.fetch_add(1, Ordering::Relaxed) % SWEEP_EVERY == 1 {
            sweep_aside_if_due(&self.options);
        }
    }
}
