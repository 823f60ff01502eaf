//! Shared by the tests of all crates: a directory to run commands in, a puppet that plays the badly behaved child,
//! and a search for surviving processes.
//!
//! Every command of a test carries a mark in its environment. A process with that mark at the end of the test has
//! survived, whatever its name.

pub mod agents;
mod client_terminal;
mod golden;
mod home;
mod official;
pub mod oracle;
mod relay;
mod terminal;

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use bashful_engine::{
    ArtifactLimits, ArtifactStore, Caller, Clip, Engine, JobLimits, JobRecord, JobStore, KeeperProgram, Listening,
    Options, Outcome, OutputListener, OutputStream, Patience, Reply, Request, RunError, Running, Script, SessionLimits,
    SessionOwner, SessionStore, SnapshotOptions, Waiting, find_bash,
};
use bashful_sys::signal::{Signal, stop_ignoring};
pub use client_terminal::ProcessTerminals;
pub use golden::check_golden;
pub use home::Home;
pub use official::{check_conformance, clients, node};
use tempfile::TempDir;
pub use terminal::Terminal;

/// A timeout that only a hang exceeds.
pub const WIDE: Duration = Duration::from_mins(1);

/// The variable that marks the processes of a test.
pub const MARK: &str = "TEST_MARK";

/// A temporary directory, and options for an engine whose commands carry a mark.
#[derive(Debug)]
pub struct Place {
    directory: TempDir,
    mark: String,
    /// Options of the engines of this place.
    pub options: Options,
}

impl Place {
    /// A place whose keepers are this puppet.
    ///
    /// # Panics
    ///
    /// Without bash or a temporary directory there is no test.
    pub fn new(puppet: &str) -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        restore_signals();
        let directory = TempDir::with_prefix("bashful-test-").expect("a temporary directory");
        let mark = format!("mark-{}-{}-end", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed));
        let path = std::env::var_os("PATH").expect("tests have a PATH");
        let mut options = Options::new(find_bash(&path).expect("bash on PATH"), directory.path().to_path_buf());
        options.keeper = KeeperProgram::At(PathBuf::from(puppet));
        options.host_environment = vec![
            ("PATH".into(), path),
            ("HOME".into(), directory.path().into()),
            ("LANG".into(), "C.UTF-8".into()),
            ("PUPPET".into(), puppet.into()),
            (MARK.into(), OsString::from(&mark)),
        ];
        // Only a test that is about time has a short one.
        options.lifetime = bashful_engine::Lifetime(20 * WIDE);
        let store = ArtifactStore::new(directory.path().join("artifacts"), ArtifactLimits::default());
        options.artifacts = Some(Arc::new(store));
        options.jobs = Some(Arc::new(JobStore::new(directory.path().join("jobs"), JobLimits::default())));
        let sessions = directory.path().join("sessions");
        options.sessions = Some(Arc::new(SessionStore::new(sessions, SessionLimits::default(), SessionOwner::Engine)));
        Self { directory, mark, options }
    }

    /// The path of the directory.
    pub fn path(&self) -> &Path {
        self.directory.path()
    }

    /// Turns the snapshot of this place's `.bashrc` on for the next engine.
    pub fn take_snapshots(&mut self) {
        let directory = self.path().join("snapshots");
        self.options.snapshot = Some(SnapshotOptions { directory, limit: WIDE, enabled: true });
    }

    /// An engine with the current options.
    ///
    /// # Panics
    ///
    /// If the engine cannot be made.
    pub fn engine(&self) -> Engine {
        Engine::new(self.options.clone()).expect("an engine")
    }

    /// The processes that carry the mark of this place.
    pub fn survivors(&self) -> Vec<String> {
        survivors(&self.mark)
    }

    /// Waits until no process with the mark is left.
    ///
    /// # Panics
    ///
    /// If a process survives.
    #[track_caller]
    pub fn check_nothing_survives(&self) {
        check_nothing_survives(&self.mark);
    }

    /// Waits until a command has created this file.
    ///
    /// # Panics
    ///
    /// If that never happens.
    #[track_caller]
    pub fn wait_for(&self, file: &str) -> String {
        let path = self.path().join(file);
        assert!(eventually(|| path.exists()), "{file} never came");
        std::fs::read_to_string(&path).expect("it is readable")
    }
}

/// Puts the dispositions of signals back. A shell that runs tests in the background ignores some, every child would too,
/// and bash cannot trap those that are ignored at its start.
pub fn restore_signals() {
    for signal in [Signal::INT, Signal::QUIT, Signal::HUP, Signal::TERM] {
        stop_ignoring(signal);
    }
}

/// Kills everything that the test started, also after a failure.
impl Drop for Place {
    fn drop(&mut self) {
        end(&self.survivors());
    }
}

/// Waits until no process with this mark is left.
#[track_caller]
fn check_nothing_survives(mark: &str) {
    let mut left = Vec::new();
    let gone = eventually(|| {
        left = survivors(mark);
        left.is_empty()
    });
    assert!(gone, "survived: {left:?}");
}

/// Kills these processes, given as `PID COMMAND`.
fn end(survivors: &[String]) {
    for line in survivors {
        let pid = line.split(' ').next().and_then(|pid| pid.parse().ok()).and_then(rustix::process::Pid::from_raw);
        if let Some(pid) = pid {
            let _ = rustix::process::kill_process(pid, rustix::process::Signal::KILL);
        }
    }
}

/// The processes that carry this mark in their environment or on their command line, as `PID COMMAND`.
pub fn survivors(mark: &str) -> Vec<String> {
    let Ok(entries) = std::fs::read_dir("/proc") else { return Vec::new() };
    let holds = |path: PathBuf| {
        std::fs::read(path).is_ok_and(|bytes| bytes.windows(mark.len()).any(|window| window == mark.as_bytes()))
    };
    entries
        .flatten()
        .filter(|entry| holds(entry.path().join("environ")) || holds(entry.path().join("cmdline")))
        .filter(|entry| entry.file_name().to_str().is_some_and(|name| name.parse() != Ok(std::process::id())))
        .map(|entry| {
            let command = std::fs::read(entry.path().join("cmdline")).unwrap_or_default();
            format!("{} {}", entry.file_name().display(), String::from_utf8_lossy(&command).replace('\0', " "))
        })
        .collect()
}

/// Waits until a condition holds; false if it does not within [`WIDE`].
pub fn eventually(mut is_true: impl FnMut() -> bool) -> bool {
    let give_up = Instant::now() + WIDE;
    while Instant::now() < give_up {
        if is_true() {
            return true;
        }
        std::thread::sleep(Duration::from_millis(2));
    }
    false
}

/// A request for a script.
///
/// # Panics
///
/// If the script is invalid.
pub fn request(script: impl Into<Vec<u8>>) -> Request {
    Request::new(Script::new(script).expect("a script"))
}

/// Runs a script to its end.
///
/// # Panics
///
/// If the command fails to start or becomes a job.
pub async fn run(engine: &Engine, script: impl Into<Vec<u8>>) -> Outcome {
    finished(tokio::time::timeout(WIDE, engine.run(request(script))).await.expect("it comes back").expect("it starts"))
}

/// The outcome of a reply that has one.
///
/// # Panics
///
/// If the reply has no outcome.
#[track_caller]
pub fn finished(reply: Reply) -> Outcome {
    match reply {
        Reply::Finished(finished) => finished.outcome,
        other => panic!("not finished: {other:?}"),
    }
}

/// Starts commands without a guard in between.
#[expect(async_fn_in_trait, reason = "tests spawn none of these futures")]
pub trait Starts {
    /// Starts a command that runs on its own.
    async fn started(&self, request: Request) -> Result<Running, RunError>;

    /// Starts a command that runs on its own, and returns its live output.
    async fn started_listening(
        &self,
        request: Request,
        listening: Listening,
    ) -> Result<(Running, OutputStream), RunError>;

    /// Starts a job.
    async fn started_job(&self, request: Request) -> Result<JobRecord, RunError>;
}

impl Starts for Engine {
    async fn started(&self, request: Request) -> Result<Running, RunError> {
        Ok(self.start(request, Caller::default()).await?.running().expect("the guard lets it pass"))
    }

    async fn started_listening(
        &self,
        request: Request,
        listening: Listening,
    ) -> Result<(Running, OutputStream), RunError> {
        let (listener, stream) = OutputListener::new(listening);
        let caller = Caller { listener: Some(listener), ..Caller::default() };
        let running = self.start(request, caller).await?.running().expect("the guard lets it pass");
        Ok((running, stream))
    }

    async fn started_job(&self, request: Request) -> Result<JobRecord, RunError> {
        Ok(self.start_job(request).await?.job().expect("the guard lets it pass"))
    }
}

/// A caller that waits this long.
pub fn patient(patience: Duration) -> Caller {
    Caller { waiting: Waiting::WithPatience(Patience(patience)), ..Caller::default() }
}

/// The whole output of a command.
///
/// # Panics
///
/// If the output was cut.
#[track_caller]
pub fn output(outcome: &Outcome) -> String {
    match &outcome.output.clip {
        Clip::Whole(bytes) => String::from_utf8_lossy(bytes).into_owned(),
        Clip::Cut { omitted, .. } => panic!("{} bytes are not shown", omitted.bytes),
    }
}
