//! Runs commands on this machine.

use std::ffi::{CString, OsStr};
use std::io::{self, IsTerminal};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use bashful_keeper::LONGEST_ARGUMENT;
use bashful_keeper::protocol::{
    Begin, FailedStep, Input as WireInput, OUTPUT, Order, Report, Script as WireScript, Setup, ShellStart,
    Terminal as WireTerminal,
};
use bashful_sys::limits::Limit;
use bashful_sys::spawn::{Child, Step};
use bashful_sys::terminal::Terminal;
use bashful_sys::{Errno, pipe, socket};
use tokio::time::Instant;

use crate::backend::{After, Attached, Backend, BoxFuture, Outputs, StartError};
use crate::check::Checked;
use crate::connection::{Connection, Silence};
use crate::early::{self, EarlyKeeper};
use crate::fences::{Fences, MadeFence, SandboxOptions};
use crate::jobs::{JobKind, NewJob, STDERR};
use crate::keeper_link::{Keeper, KeeperHome, KeeperLink, KeeperProcess};
use crate::keepers::Keepers;
use crate::plan::{self, Plan, PlanError};
use crate::promises::Promises;
use crate::ready::{ReadyKeeper, ReadyKeepers};
use crate::request::{Input, Streams, TerminalRequest};
use crate::reserve::{Reserve, Standing};
use crate::sessions::{CallTurn, InSession, SessionStore};
use crate::{KeeperProgram, Options, Orphans};

/// A keeper that has not reported the start of the shell by then never will.
const STARTED_AT_LATEST: Duration = Duration::from_secs(20);

/// A keeper that has not reported the start of the shell by then may have been stopped by the script, and is woken.
const WAKE_AFTER: Duration = Duration::from_millis(100);

/// Limit on the environment, in bytes: Linux allows at most 6 MiB for arguments and environment together.
const LARGEST_ENVIRONMENT: usize = 6 << 20;

/// The backend whose commands are processes of this machine.
pub(crate) struct Local {
    program: Option<CString>,
    limits: Vec<Limit>,
    umask: Option<u32>,
    ready: Arc<ReadyKeepers>,
    reserve: Arc<Reserve>,
    keepers: Arc<Keepers>,
    fences: Arc<Fences>,
    sandbox: Option<Arc<SandboxOptions>>,
    orphans: Orphans,
    /// True if every keeper process has one thread.
    small_keepers: bool,
}

impl Local {
    pub(crate) fn new(options: &Options) -> io::Result<Self> {
        let us = rustix::process::getpid();
        let shown = std::fs::read_link("/proc/self").ok().and_then(|link| link.to_str()?.parse::<i32>().ok());
        if shown != Some(us.as_raw_nonzero().get()) {
            return Err(io::Error::other(
                "/proc is missing or does not show this process: no process tree can be watched",
            ));
        }
        let program = match &options.keeper {
            KeeperProgram::This => crate::keeper_entry_is_there().then(|| early::THIS_PROGRAM.to_owned()),
            KeeperProgram::At(path) => Some(c_string(path.as_os_str())?),
        };
        if options.orphans == Orphans::Adopt {
            bashful_sys::become_subreaper()?;
        }
        let ready = if program.is_some() { options.ready } else { 0 };
        let early = early::take().filter(|_| options.keeper == KeeperProgram::This);
        let keepers = Keepers::of_engine(options.orphans, early.as_ref().map(|early| early.pid));
        let early = early.map(|early| IdleKeeper::early(early, &keepers));
        Ok(Self {
            program,
            limits: options.limits.clone(),
            umask: options.umask,
            ready: Arc::new(ReadyKeepers::new(ready)),
            reserve: Arc::new(Reserve::new(ready, early)),
            keepers,
            fences: Arc::default(),
            sandbox: options.sandbox.clone().map(Arc::new),
            orphans: options.orphans,
            small_keepers: options.keeper != KeeperProgram::This || !crate::keeper_entry_is_late(),
        })
    }

    fn starter(&self) -> Starter {
        Starter {
            program: self.program.clone(),
            limits: self.limits.clone(),
            umask: self.umask,
            keepers: Arc::clone(&self.keepers),
            fences: Arc::clone(&self.fences),
            sandbox: self.sandbox.clone(),
            reserve: Arc::clone(&self.reserve),
        }
    }

    async fn start(&self, checked: &Checked) -> Result<Attached, StartError> {
        let plan = checked.plan();
        // The standard input of a waiting shell is empty, and cannot be changed any more.
        let fits = plan.input == Input::Nothing;
        // A waiting shell that has died is noticed here, and the next one is tried.
        while let Some(ready) = fits.then(|| self.ready.take(plan)).flatten() {
            if let Some(attached) = ready.begin(plan, &self.reserve).await {
                return Ok(attached);
            }
        }
        self.starter().start_command(plan).await
    }
}

impl Backend for Local {
    fn working_directory(&self, base: &Path, asked: Option<&Path>) -> Result<PathBuf, PlanError> {
        plan::directory(base, asked)
    }

    fn is_directory(&self, path: &Path) -> bool {
        path.is_dir()
    }

    fn start<'a>(&'a self, checked: &'a Checked) -> BoxFuture<'a, Result<Attached, StartError>> {
        Box::pin(self.start(checked))
    }

    fn start_job<'a>(&'a self, checked: &'a Checked, job: &'a NewJob) -> BoxFuture<'a, Result<(), StartError>> {
        Box::pin(async move { self.starter().start_job(checked.plan(), job).await })
    }

    fn enter<'a>(
        &'a self,
        checked: &'a Checked,
        at: &'a InSession,
        store: &'a Arc<SessionStore>,
        turn: &'a CallTurn,
        turn_by: Option<Instant>,
    ) -> BoxFuture<'a, Result<Attached, StartError>> {
        Box::pin(async move { self.starter().enter(checked.plan(), at, store, turn, turn_by).await })
    }

    fn prepare(&self, checked: &Checked, after: After) {
        ReadyKeepers::refill(&self.ready, &self.starter(), checked.plan(), after);
    }

    fn ready_for(&self, checked: &Checked) -> usize {
        self.ready.ready_for(checked.plan())
    }

    fn leave(&self) -> BoxFuture<'_, ()> {
        Box::pin(self.keepers.end_held())
    }

    fn clean_up(&self, supervisor: Option<i32>) -> BoxFuture<'_, ()> {
        Box::pin(self.keepers.end_strays(supervisor))
    }

    fn promises(&self) -> Promises {
        Promises::of_processes(self.orphans == Orphans::Adopt, self.small_keepers)
    }
}

/// The error of a program that cannot become a keeper.
const NO_KEEPER_ENTRY: &str = "this program has no keepers: call `bashful_engine::keeper_main()` first in its `main`";

/// Everything needed to start keepers.
#[derive(Debug, Clone)]
pub(crate) struct Starter {
    program: Option<CString>,
    limits: Vec<Limit>,
    umask: Option<u32>,
    keepers: Arc<Keepers>,
    fences: Arc<Fences>,
    sandbox: Option<Arc<SandboxOptions>>,
    pub(crate) reserve: Arc<Reserve>,
}

/// An idle keeper, and the connection to it.
#[derive(Debug)]
pub(crate) struct IdleKeeper {
    pub(crate) socket: OwnedFd,
    pub(crate) keeper: Keeper,
}

impl IdleKeeper {
    fn early(EarlyKeeper { socket, pid, handle, standing }: EarlyKeeper, all: &Arc<Keepers>) -> Self {
        let keeper = KeeperProcess::new(pid, handle, Arc::clone(all), standing.map(Box::new));
        Self { socket, keeper: Keeper::Process(keeper) }
    }
}

impl Starter {
    async fn start_command(&self, plan: &Plan) -> Result<Attached, StartError> {
        let Pipes { read, write } = Pipes::new(plan.streams).map_err(|error| explain(plan, error))?;
        let outside = if let Outputs::Terminal(outside) = &read { Some(outside.as_fd()) } else { None };
        let (link, pid) = self.start_without_waiting_shell(plan, &write, outside, None).await?;
        Ok(Attached { link: Box::new(link), outputs: read, pid, session: None, client: None })
    }

    /// Starts a job, whose processes write to its files themselves.
    async fn start_job(&self, plan: &Plan, job: &NewJob) -> Result<(), StartError> {
        let failed = |error| explain(plan, error);
        let started = if let Some(terminal) = plan.streams.terminal() {
            let size = terminal.size;
            let Terminal { outside, inside, .. } =
                Terminal::for_command(size.columns(), size.rows()).map_err(failed)?;
            self.start_without_waiting_shell(plan, &[inside], Some(outside.as_fd()), Some(job)).await
        } else {
            let write = job_files(job, plan.streams).map_err(failed)?;
            self.start_without_waiting_shell(plan, &write, None, Some(job)).await
        };
        // Dropping the link changes nothing: the keeper has written the job's record.
        started.map(drop)
    }

    /// Starts a command without a waiting shell: under a keeper of the reserve that still answers, or a new one.
    async fn start_without_waiting_shell(
        &self,
        plan: &Plan,
        write: &[OwnedFd],
        outside: Option<BorrowedFd<'_>>,
        job: Option<&NewJob>,
    ) -> Result<(KeeperLink, Option<i32>), StartError> {
        while let Some(connected) = self.reserve.take() {
            match self.start_under(connected, plan, write, outside, job).await {
                // The keeper has ended, and has not read its orders.
                Err(StartError::KeeperGone) => {}
                other => return other,
            }
        }
        let connected = self.connect().map_err(|error| explain(plan, error))?;
        self.start_under(connected, plan, write, outside, job).await
    }

    async fn start_under(
        &self,
        IdleKeeper { socket, keeper }: IdleKeeper,
        plan: &Plan,
        write: &[OwnedFd],
        outside: Option<BorrowedFd<'_>>,
        job: Option<&NewJob>,
    ) -> Result<(KeeperLink, Option<i32>), StartError> {
        let failed = |error| explain(plan, error);
        let bytes = env_size(plan);
        if bytes > LARGEST_ENVIRONMENT {
            return Err(StartError::TooLarge { bytes, source: Errno::TOOBIG.into() });
        }
        let files = StartFiles::open(plan, write, outside, job).map_err(failed)?;
        let mut link = Connection::new(socket).map_err(failed)?;
        let mut setup = self.setup(plan, ShellStart::WithScript);
        if files.input.is_some() {
            setup.input = WireInput::From(None);
        }
        // Each order, and the descriptors that belong to it.
        let fence = self.fence(plan).await?;
        let mut orders: Vec<Order> = fence.iter().map(|fence| fence.order()).collect();
        orders.push(Order::Setup(setup));
        let mut descriptors: Vec<BorrowedFd<'_>> = fence.iter().flat_map(|fence| fence.descriptors()).collect();
        descriptors.extend(stdout_and_stderr(write));
        descriptors.extend(files.input.as_ref().map(AsFd::as_fd));
        if let Some(outside) = outside {
            orders.push(Order::Terminal(WireTerminal { outside: None }));
            descriptors.push(outside);
        }
        if let Some(host_terminal) = &files.host_terminal {
            orders.push(Order::GuardHostTerminal(None));
            descriptors.push(host_terminal.as_fd());
        }
        if let Some(job) = job {
            let mut record = job.order(JobKind::Background, plan.leftovers);
            descriptors.push(job.alive.as_fd());
            if let (Some(outside), Some(output)) = (outside, &files.output) {
                record.pipes.push(job.release(OUTPUT));
                descriptors.extend([outside, output.as_fd()]);
            }
            orders.push(Order::Record(record));
        }
        orders.push(Order::Begin(begin(plan, files.long_script.is_some())));
        descriptors.extend(files.long_script.as_ref().map(AsFd::as_fd));
        let orders: Vec<&Order> = orders.iter().collect();
        link.send(&orders, &descriptors).await.map_err(|_| StartError::KeeperGone)?;
        attach(link, keeper, &self.reserve).await.map_err(|error| match (error, job) {
            (StartFailure::Failed { step: FailedStep::Record, errno }, Some(job)) => {
                StartError::Record { directory: job.directory.clone(), source: io::Error::from_raw_os_error(errno) }
            }
            (StartFailure::Failed { step, errno }, _) => explain_step(plan, step, errno),
            (StartFailure::Unheard, _) => StartError::KeeperGone,
            (StartFailure::OtherVersion { protocol }, _) => StartError::KeeperVersion { protocol },
        })
    }

    /// Starts a keeper with a shell that waits for its script. An error only means that the next command starts as
    /// usual.
    ///
    /// Uses a keeper of the reserve only if a command for this shell is sure to come: another command may need the
    /// keeper first.
    pub(crate) async fn start_ahead(&self, plan: &Plan, is_sure: bool) -> io::Result<ReadyKeeper> {
        let Pipes { read, write } = Pipes::new(plan.streams)?;
        let IdleKeeper { socket, keeper } = self.reserve.take_if(is_sure).map_or_else(|| self.connect(), Ok)?;
        let mut link = Connection::new(socket)?;
        let fence = self.fence(plan).await.map_err(io::Error::other)?;
        let mut orders: Vec<Order> = fence.iter().map(|fence| fence.order()).collect();
        orders.push(Order::Setup(self.setup(plan, ShellStart::Ahead)));
        let mut descriptors: Vec<BorrowedFd<'_>> = fence.iter().flat_map(|fence| fence.descriptors()).collect();
        descriptors.extend(stdout_and_stderr(&write));
        link.send(&orders.iter().collect::<Vec<_>>(), &descriptors).await?;
        Ok(ReadyKeeper { link, outputs: read, keeper })
    }

    /// The fence of a command; none if it has none.
    pub(crate) async fn fence(&self, plan: &Plan) -> Result<Option<Arc<MadeFence>>, StartError> {
        match (&plan.fence, &self.sandbox) {
            (None, _) => Ok(None),
            (Some(fence), Some(sandbox)) => self.fences.get(fence, sandbox, self).await.map(Some),
            // A plan of another engine.
            (Some(_), None) => Err(StartError::FenceStore { source: io::Error::other("this engine has no sandbox") }),
        }
    }

    pub(crate) fn setup(&self, plan: &Plan, when: ShellStart) -> Setup {
        Setup {
            shell: plan.shell.as_os_str().as_bytes().to_vec(),
            directory: plan.directory.as_os_str().as_bytes().to_vec(),
            env: plan.env_block(),
            limits: self.limits.clone(),
            umask: self.umask,
            grace: plan.grace.0,
            when,
            output: None,
            input: WireInput::Nothing,
            source: plan.snapshot.as_ref().map(|rc| rc.path().as_os_str().as_bytes().to_vec()).unwrap_or_default(),
        }
    }

    pub(crate) fn connect(&self) -> io::Result<IdleKeeper> {
        let program = self.program.as_ref().ok_or_else(|| io::Error::other(NO_KEEPER_ENTRY))?;
        let (ours, theirs) = socket::pair().map_err(|error| name_call("socketpair", error))?;
        let standing = if self.reserve.is_used() { Standing::now().map(Box::new) } else { None };
        let mut live = self.keepers.live();
        let Child { pid, pidfd } = early::spawn(program, &theirs, &[])?;
        live.insert(pid.as_raw_nonzero().get());
        drop(live);
        let keeper = KeeperProcess::new(pid, pidfd, Arc::clone(&self.keepers), standing);
        Ok(IdleKeeper { socket: ours, keeper: Keeper::Process(keeper) })
    }
}

/// Files that a keeper gets for the start of a command.
struct StartFiles {
    /// Standard input; none for `/dev/null`.
    input: Option<OwnedFd>,
    /// The terminal of the person at this program, if the command's own terminal takes it over.
    host_terminal: Option<OwnedFd>,
    /// The file to which the keeper carries the output of a job's terminal.
    output: Option<std::fs::File>,
    /// A script that is too long for an argument.
    long_script: Option<std::fs::File>,
}

impl StartFiles {
    fn open(plan: &Plan, write: &[OwnedFd], outside: Option<BorrowedFd<'_>>, job: Option<&NewJob>) -> io::Result<Self> {
        let stdin = io::stdin();
        let input = match (plan.input, job) {
            // The inside end of the terminal.
            _ if outside.is_some() => write.first().map(OwnedFd::try_clone).transpose()?,
            (Input::Open, Some(job)) => Some(job.input()?.into()),
            (Input::Host, _) => Some(stdin.as_fd().try_clone_to_owned()?),
            (Input::Nothing | Input::Open, _) => None,
        };
        let takes_host_terminal = outside.is_some() && plan.input == Input::Host && stdin.is_terminal();
        let host_terminal = takes_host_terminal.then(|| stdin.as_fd().try_clone_to_owned()).transpose()?;
        let output = job.filter(|_| outside.is_some()).map(|job| job.file(OUTPUT)).transpose()?;
        Ok(Self { input, host_terminal, output, long_script: long_script(plan)? })
    }
}

/// The pipes of a command's output: our reading ends, and the writing ends for its processes.
pub(crate) struct Pipes {
    pub(crate) read: Outputs,
    /// Writing ends of stdout and stderr, which may be one.
    pub(crate) write: Vec<OwnedFd>,
}

impl Pipes {
    pub(crate) fn new(streams: Streams) -> io::Result<Self> {
        let (stdout, write) = pipe::for_output()?;
        Ok(match streams {
            Streams::Combined => Self { read: Outputs::Combined(stdout), write: vec![write] },
            Streams::Split => {
                let (stderr, write_stderr) = pipe::for_output()?;
                Self { read: Outputs::Split { stdout, stderr }, write: vec![write, write_stderr] }
            }
            Streams::Terminal(TerminalRequest { size, .. }) => {
                let Terminal { outside, inside, .. } = Terminal::for_command(size.columns(), size.rows())?;
                Self { read: Outputs::Terminal(outside), write: vec![inside] }
            }
        })
    }
}

/// Opens the files that the processes of a job write to.
fn job_files(job: &NewJob, streams: Streams) -> io::Result<Vec<OwnedFd>> {
    let mut files = vec![OwnedFd::from(job.file(OUTPUT)?)];
    if streams == Streams::Split {
        files.push(job.file(STDERR)?.into());
    }
    Ok(files)
}

/// The descriptors of stdout and stderr, which may be the same.
pub(crate) fn stdout_and_stderr(write: &[OwnedFd]) -> Vec<BorrowedFd<'_>> {
    [write.first(), write.last()].into_iter().flatten().map(AsFd::as_fd).collect()
}

/// Reason why none of the script ran.
pub(crate) enum StartFailure {
    /// The keeper could not start the shell.
    Failed { step: FailedStep, errno: i32 },
    /// The keeper ended before it had read its orders.
    Unheard,
    /// The keeper's newest protocol version; the two share none.
    OtherVersion { protocol: u32 },
}

/// Waits for the keeper's report that the shell runs, and returns the process id.
///
/// A keeper that ends without a report may have started the shell, and the script may have killed the keeper. So the
/// command counts as started, and the next read of the link reports it lost. A script must never run twice.
pub(crate) async fn attach(
    mut link: Connection,
    keeper: Keeper,
    reserve: &Arc<Reserve>,
) -> Result<(KeeperLink, Option<i32>), StartFailure> {
    let give_up = Instant::now() + STARTED_AT_LATEST;
    let word = loop {
        match tokio::time::timeout(WAKE_AFTER, link.next()).await {
            Ok(word) => break word,
            // The script may have stopped its keeper before the keeper could report the start.
            Err(_) if Instant::now() < give_up => keeper.wake(),
            Err(_) => {
                keeper.kill();
                break Err(Silence::Gone);
            }
        }
    };
    match word {
        Ok(Report::NotStarted { step, errno }) => Err(StartFailure::Failed { step, errno }),
        Ok(Report::NotUnderstood) => {
            Err(StartFailure::OtherVersion { protocol: link.foreign_version().unwrap_or_default() })
        }
        Err(Silence::Unheard) => Err(StartFailure::Unheard),
        word => {
            let pid = if let Ok(Report::Started { pid }) = word { Some(pid) } else { None };
            Ok((KeeperLink::new(link, keeper, KeeperHome::Reserve(Arc::clone(reserve))), pid))
        }
    }
}

/// The order to run the script. A long script travels as a file.
pub(crate) fn begin(plan: &Plan, in_file: bool) -> Begin {
    let script = if in_file { WireScript::File(None) } else { WireScript::Text(plan.script.as_bytes().to_vec()) };
    Begin { script, lifetime: Some(plan.lifetime.0) }
}

pub(crate) fn long_script(plan: &Plan) -> io::Result<Option<std::fs::File>> {
    if plan.script.as_bytes().len() <= LONGEST_ARGUMENT {
        return Ok(None);
    }
    let mut file = bashful_sys::anonymous_file("bashful-script")?;
    io::Write::write_all(&mut file, plan.script.as_bytes())?;
    Ok(Some(file))
}

/// Size of the environment as a program gets it, in bytes.
fn env_size(plan: &Plan) -> usize {
    plan.environment.variables.iter().map(|(name, value)| name.len() + value.len() + 2).sum()
}

pub(crate) fn explain(plan: &Plan, source: io::Error) -> StartError {
    match source.raw_os_error().map(Errno::from_raw_os_error) {
        Some(Errno::MFILE | Errno::NFILE) => {
            StartError::Descriptors { limit: Limit::descriptors().soft.unwrap_or(u64::MAX), source }
        }
        Some(Errno::AGAIN | Errno::NOMEM) => StartError::Processes { source },
        Some(Errno::TOOBIG) => StartError::TooLarge { bytes: env_size(plan), source },
        _ => StartError::System(source),
    }
}

pub(crate) fn explain_step(plan: &Plan, step: FailedStep, errno: i32) -> StartError {
    let source = io::Error::from_raw_os_error(errno);
    match step {
        FailedStep::Spawn(Step::Directory) if errno != Errno::NOENT.raw_os_error() => {
            StartError::NoEntry { directory: plan.directory.display().to_string(), source }
        }
        FailedStep::Spawn(Step::Directory) => {
            StartError::Directory { directory: plan.directory.display().to_string(), source }
        }
        FailedStep::Spawn(Step::Exec)
            if errno != Errno::TOOBIG.raw_os_error() && errno != Errno::NOMEM.raw_os_error() =>
        {
            StartError::Shell { shell: plan.shell.display().to_string(), source }
        }
        FailedStep::Spawn(Step::Fence) => StartError::Fence { at: PathBuf::new(), source },
        FailedStep::Spawn(_) | FailedStep::Record | FailedStep::Handover => explain(plan, source),
    }
}

/// Adds the name of the refused system call. Errors with a cause of their own, such as a limit, stay as they are.
fn name_call(call: &str, error: io::Error) -> io::Error {
    match error.raw_os_error().map(Errno::from_raw_os_error) {
        Some(Errno::PERM | Errno::ACCESS | Errno::NOSYS | Errno::INVAL) => {
            io::Error::new(error.kind(), format!("the system refuses `{call}`: {error}"))
        }
        _ => error,
    }
}

fn c_string(text: &OsStr) -> io::Result<CString> {
    CString::new(text.as_bytes()).map_err(|_| io::Error::other("a path with a NUL byte"))
}
