//! The current snapshot of an engine, and the checks that decide when it is captured again.

use std::ffi::{OsStr, OsString};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime};

use crate::engine::Engine;
use crate::environment::{Environment, Withheld};
use crate::plan::Plan;

use super::capture::AnswerPipe;
use super::filter::KeptDefinitions;
use super::rc_files::{self, FilesStamp, SnapshotSources};
use super::store::{PastFailure, SnapshotDraft, SnapshotStore};
use super::{NoSnapshot, Snapshot, SnapshotOptions, USED_FOR, capture, file, filter, is_young};

/// The snapshot of one engine, and the state of its rc files.
pub(crate) struct Snapshots {
    options: SnapshotOptions,
    store: SnapshotStore,
    state: Mutex<CacheState>,
    /// Held while a task captures; others wait for it.
    turn: tokio::sync::Mutex<()>,
}

/// Result of the last check.
#[derive(Default)]
struct CacheState {
    /// The watched files, as they were at that check.
    watched: Option<WatchedFiles>,
    now: SnapshotState,
    /// A failure that no caller has been told of yet.
    unreported_failure: Option<NoSnapshot>,
}

struct WatchedFiles {
    files: Vec<PathBuf>,
    stamp: FilesStamp,
}

impl WatchedFiles {
    fn at(files: Vec<PathBuf>) -> Self {
        Self { stamp: FilesStamp::of(&files), files }
    }
}

/// The snapshot that commands get.
#[derive(Default)]
enum SnapshotState {
    /// Not checked yet, or there is nothing to capture.
    #[default]
    Nothing,
    /// The last capture, which still holds.
    Have(Arc<Current>),
    /// None, and no new attempt before this time.
    Failed { until: SystemTime },
}

impl SnapshotState {
    fn have(snapshot: Snapshot, engine: &Engine) -> Self {
        let options = engine.options();
        let host = snapshot.over(&options.host_environment);
        let withheld = options.environment.of_host(&host).withheld;
        Self::Have(Arc::new(Current { snapshot: Arc::new(snapshot), host, withheld }))
    }
}

/// Use of earlier results.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Reuse {
    /// Only if all withheld values are known, so that they can be redacted.
    IfComplete,
    /// Even if some are unknown: nothing will run.
    Always,
    Never,
}

/// Result of a check without running anything.
enum FileCheck {
    Known(WatchedFiles, SnapshotState),
    Nothing(Box<ToCapture>),
}

/// Rc files that have to be captured, and the plan for it.
struct ToCapture {
    sources: SnapshotSources,
    plan: Plan,
}

impl ToCapture {
    /// Reads the files again after the capture: some rc files write to files that they read (`keychain`), and would
    /// otherwise be captured for every command. A change that somebody else made to `~/.bashrc` meanwhile is still
    /// noticed.
    fn reread(self) -> Self {
        match rc_files::read_sources(&self.plan.shell, &self.plan.environment) {
            Ok(Some(now)) if now.stamp.first() == self.sources.stamp.first() => Self { sources: now, ..self },
            _ => self,
        }
    }
}

/// A snapshot, and the host's variables combined with it.
pub(crate) struct Current {
    pub(crate) snapshot: Arc<Snapshot>,
    pub(crate) host: Vec<(OsString, OsString)>,
    /// Variables of the host that commands do not get.
    pub(crate) withheld: Vec<Withheld>,
}

impl Snapshots {
    pub(crate) fn new(options: SnapshotOptions) -> Self {
        let store = SnapshotStore::new(options.directory.clone());
        Self { options, store, state: Mutex::default(), turn: tokio::sync::Mutex::default() }
    }

    /// The snapshot that commands get now. Checks nothing.
    pub(crate) fn current(&self) -> Option<Arc<Current>> {
        match &self.state().now {
            SnapshotState::Have(current) => Some(Arc::clone(current)),
            SnapshotState::Nothing | SnapshotState::Failed { .. } => None,
        }
    }

    /// The last failure, for the first caller that asks.
    pub(crate) fn unreported_failure(&self) -> Option<NoSnapshot> {
        self.state().unreported_failure.take()
    }

    /// Makes sure that the snapshot matches the rc files. Captures them if needed; otherwise costs a few checks of the
    /// file system. A dropped future leaves everything unchanged.
    pub(crate) async fn refresh(&self, engine: &Engine) {
        if self.is_current() {
            return;
        }
        let turn = self.turn.lock().await;
        if self.is_current() {
            return;
        }
        self.update(engine, Reuse::IfComplete, turn).await;
    }

    /// Captures the rc files again, whatever is known.
    pub(crate) async fn renew(&self, engine: &Engine) {
        let turn = self.turn.lock().await;
        self.update(engine, Reuse::Never, turn).await;
    }

    async fn update(&self, engine: &Engine, reuse: Reuse, _turn: tokio::sync::MutexGuard<'_, ()>) {
        // Rare and large: without the box, every call of a tool would have to hold it.
        let found = Box::pin(self.check_or_capture(engine, reuse)).await;
        let mut state = self.state();
        match found {
            Ok((watched, now)) => {
                state.watched = Some(watched);
                state.now = now;
            }
            Err(FailedCapture { watched, why, until }) => {
                tracing::warn!(%why, "no snapshot of the rc files");
                state.watched = Some(watched);
                state.now = SnapshotState::Failed { until };
                state.unreported_failure = Some(why);
            }
        }
    }

    /// True if the last check still holds.
    fn is_current(&self) -> bool {
        let state = self.state();
        let Some(watched) = &state.watched else { return false };
        if watched.stamp != FilesStamp::of(&watched.files) {
            return false;
        }
        let now = SystemTime::now();
        match &state.now {
            SnapshotState::Nothing => true,
            SnapshotState::Failed { until } => now < *until,
            SnapshotState::Have(current) => {
                let snapshot = &current.snapshot;
                is_young(snapshot.captured(), now)
                    && snapshot.stamp.as_ref() == Some(&FilesStamp::of(std::slice::from_ref(&snapshot.path)))
            }
        }
    }

    /// Updates the state as far as possible without running anything.
    pub(crate) fn recall(&self, engine: &Engine) {
        if self.is_current() {
            return;
        }
        if let Ok(FileCheck::Known(watched, now)) = self.check_files(engine, Reuse::Always) {
            let mut state = self.state();
            state.watched = Some(watched);
            state.now = now;
        }
    }

    async fn check_or_capture(
        &self,
        engine: &Engine,
        reuse: Reuse,
    ) -> Result<(WatchedFiles, SnapshotState), FailedCapture> {
        let to_capture = match self.check_files(engine, reuse)? {
            FileCheck::Known(watched, now) => return Ok((watched, now)),
            FileCheck::Nothing(to_capture) => *to_capture,
        };
        let captured = self.capture(engine, &to_capture.plan).await;
        let ToCapture { sources, .. } = to_capture.reread();
        let published = captured.and_then(|(draft, kept, took)| {
            draft.publish(&kept, &sources.key, took).map_err(|why| self.cannot_write(&why))
        });
        self.store.sweep();
        let SnapshotSources { files, stamp, files_key, .. } = sources;
        let watched = WatchedFiles { files, stamp };
        match published {
            Ok(snapshot) => {
                self.store.forget_failure(&files_key);
                Ok((watched, SnapshotState::have(snapshot, engine)))
            }
            Err(why) => {
                let until = self.store.note_failure(&files_key);
                Err(FailedCapture { watched, why, until })
            }
        }
    }

    /// Checks the rc files, and searches for an earlier capture of them.
    fn check_files(&self, engine: &Engine, reuse: Reuse) -> Result<FileCheck, FailedCapture> {
        let Some(plan) = capture::plan(engine, self.options.limit) else {
            return Ok(FileCheck::Known(WatchedFiles::at(Vec::new()), SnapshotState::Nothing));
        };
        let always = || WatchedFiles::at(rc_files::always_watched(&plan.environment));
        let sources = match rc_files::read_sources(&plan.shell, &plan.environment) {
            Ok(Some(sources)) => sources,
            Ok(None) => return Ok(FileCheck::Known(always(), SnapshotState::Nothing)),
            Err(why) => return Err(FailedCapture::for_good(always(), why)),
        };
        let watched = || WatchedFiles { files: sources.files.clone(), stamp: sources.stamp.clone() };
        if let Some(why) = obstacle(engine) {
            return Err(FailedCapture::for_good(watched(), why));
        }
        if reuse == Reuse::Never {
            return Ok(FileCheck::Nothing(Box::new(ToCapture { sources, plan })));
        }
        let SnapshotSources { files_key, key, .. } = &sources;
        if let Some(snapshot) = self.store.load(key).filter(|found| is_young(found.captured(), SystemTime::now())) {
            let withheld = snapshot.header.withheld_among(&self.secrets(&plan.environment));
            if withheld.is_some() || reuse == Reuse::Always {
                let snapshot = snapshot.with_withheld(withheld.unwrap_or_default());
                return Ok(FileCheck::Known(watched(), SnapshotState::have(snapshot, engine)));
            }
        }
        if let Some(PastFailure { until }) = self.store.failure(files_key) {
            return Ok(FileCheck::Known(watched(), SnapshotState::Failed { until }));
        }
        Ok(FileCheck::Nothing(Box::new(ToCapture { sources, plan })))
    }

    /// Known withheld variables: those of the host, and those that were captured before.
    fn secrets(&self, base: &Environment) -> Vec<Withheld> {
        let captured = self.current().map(|current| current.snapshot.withheld.clone());
        base.withheld.iter().cloned().chain(captured.into_iter().flatten()).collect()
    }

    /// Captures the definitions of the files, and tries them.
    async fn capture(
        &self,
        engine: &Engine,
        plan: &Plan,
    ) -> Result<(SnapshotDraft<'_>, KeptDefinitions, Duration), NoSnapshot> {
        let environment = &plan.environment;
        let place = self.store.draft().map_err(|why| self.cannot_write(&why))?;
        let answer_pipe = || AnswerPipe::new(&place).map_err(|why| self.cannot_write(&why));
        let (captured, facts) = capture::interactive(engine, plan.clone(), answer_pipe()?, self.options.limit).await?;
        let mut kept = filter::select(captured, &facts, environment, &engine.options().environment);
        let draft = self.store.draft().map_err(|why| self.cannot_write(&why))?;
        // Each round leaves out what the last one has shown not to work.
        for _ in 0..ROUNDS {
            let (lines, commands) = file::trial(&kept);
            let path = draft.try_lines(&lines).map_err(|why| self.cannot_write(&why))?;
            let tried = capture::plain(engine, path, environment, answer_pipe()?, self.options.limit).await?;
            if filter::remove_failed(&mut kept, &tried) > 0 {
                continue;
            }
            if tried.variables.get(OsStr::new(file::COUNT_VARIABLE)) != Some(&OsString::from(commands.to_string())) {
                return Err(NoSnapshot::NotFaithful {
                    what: "a function runs commands when it is defined again".into(),
                });
            }
            return Ok((draft, kept, facts.took));
        }
        Err(NoSnapshot::NotFaithful { what: kept.left_out.last().cloned().unwrap_or_default() })
    }

    fn cannot_write(&self, why: &std::io::Error) -> NoSnapshot {
        NoSnapshot::system(format!("cannot write to {}", self.options.directory.display()), why)
    }

    fn state(&self) -> std::sync::MutexGuard<'_, CacheState> {
        // The state is replaced as a whole, so a panic has left a good one.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Rounds in which a snapshot is tried, with less in it each time.
const ROUNDS: usize = 8;

/// A capture that failed, and its reason.
struct FailedCapture {
    watched: WatchedFiles,
    why: NoSnapshot,
    /// No new attempt before this time, unless the files change.
    until: SystemTime,
}

impl FailedCapture {
    /// Only another file, or another engine, would change the result.
    fn for_good(watched: WatchedFiles, why: NoSnapshot) -> Self {
        Self { watched, why, until: SystemTime::now() + USED_FOR }
    }
}

/// Reason against any snapshot, whatever the rc files contain.
fn obstacle(engine: &Engine) -> Option<NoSnapshot> {
    if engine.options().host_environment.iter().any(|(name, _)| name == "BASH_ENV") {
        return Some(NoSnapshot::BashEnv);
    }
    (!engine.promises().catches_daemons).then_some(NoSnapshot::NoKeeper)
}
