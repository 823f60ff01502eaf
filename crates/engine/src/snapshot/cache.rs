//! The current snapshot of an engine, and the checks that decide when it is captured again.

use std::ffi::{OsStr, OsString};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime};

use crate::engine::Engine;
use crate::environment::{Environment, Withheld};
use crate::plan::Plan;

use super::capture::Teller;
use super::filter::Kept;
use super::rc_files::{self, Sources, Stamp};
use super::store::{Draft, Failure, Store};
use super::{NoSnapshot, Snapshot, SnapshotOptions, USED_FOR, capture, file, filter, is_young};

/// The snapshot of one engine, and the state of its rc files.
pub(crate) struct Snapshots {
    options: SnapshotOptions,
    store: Store,
    state: Mutex<State>,
    /// Held while a task captures; others wait for it.
    turn: tokio::sync::Mutex<()>,
}

/// Result of the last check.
#[derive(Default)]
struct State {
    /// The watched files, as they were at that check.
    looked: Option<Looked>,
    now: Now,
    /// A failure that no caller has been told of yet.
    untold: Option<NoSnapshot>,
}

struct Looked {
    files: Vec<PathBuf>,
    stamp: Stamp,
}

impl Looked {
    fn at(files: Vec<PathBuf>) -> Self {
        Self { stamp: Stamp::of(&files), files }
    }
}

/// The snapshot that commands get.
#[derive(Default)]
enum Now {
    /// Not checked yet, or there is nothing to capture.
    #[default]
    Nothing,
    /// This snapshot.
    Have(Arc<Current>),
    /// None, and no new attempt before this time.
    Failed { until: SystemTime },
}

impl Now {
    fn have(snapshot: Snapshot, engine: &Engine) -> Self {
        let options = engine.options();
        let host = snapshot.over(&options.host_environment);
        let withheld = options.environment.of_host(&host).withheld;
        Self::Have(Arc::new(Current { snapshot: Arc::new(snapshot), host, withheld }))
    }
}

/// Use of earlier results.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Memory {
    /// Only if all withheld values are known, so that they can be redacted.
    Used,
    /// Even if some are unknown: nothing will run.
    UsedInPart,
    Ignored,
}

/// Result of a check without running anything.
enum Recalled {
    Known(Looked, Now),
    Nothing(Box<ToCapture>),
}

/// Rc files that have to be captured, and the plan for it.
struct ToCapture {
    sources: Sources,
    plan: Plan,
}

impl ToCapture {
    /// Reads the files again after the capture: some rc files write to files that they read (`keychain`), and would
    /// otherwise be captured for every command. A change that somebody else made to `~/.bashrc` meanwhile is still
    /// noticed.
    fn left_by_the_files(self) -> Self {
        match rc_files::look(&self.plan.shell, &self.plan.environment) {
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
        let store = Store::new(options.directory.clone());
        Self { options, store, state: Mutex::default(), turn: tokio::sync::Mutex::default() }
    }

    /// The snapshot that commands get now. Checks nothing.
    pub(crate) fn current(&self) -> Option<Arc<Current>> {
        match &self.state().now {
            Now::Have(current) => Some(Arc::clone(current)),
            Now::Nothing | Now::Failed { .. } => None,
        }
    }

    /// The last failure, for the first caller that asks.
    pub(crate) fn untold(&self) -> Option<NoSnapshot> {
        self.state().untold.take()
    }

    /// Makes sure that the snapshot matches the rc files. Captures them if needed; otherwise costs a few checks of the
    /// file system. A dropped future leaves everything unchanged.
    pub(crate) async fn refresh(&self, engine: &Engine) {
        if self.is_settled() {
            return;
        }
        let turn = self.turn.lock().await;
        if self.is_settled() {
            return;
        }
        self.settle(engine, Memory::Used, turn).await;
    }

    /// Captures the rc files again, whatever is known.
    pub(crate) async fn renew(&self, engine: &Engine) {
        let turn = self.turn.lock().await;
        self.settle(engine, Memory::Ignored, turn).await;
    }

    async fn settle(&self, engine: &Engine, memory: Memory, _turn: tokio::sync::MutexGuard<'_, ()>) {
        // Rare and large: without the box, every call of a tool would have to hold it.
        let found = Box::pin(self.find(engine, memory)).await;
        let mut state = self.state();
        match found {
            Ok((looked, now)) => {
                state.looked = Some(looked);
                state.now = now;
            }
            Err(Missed { looked, why, until }) => {
                tracing::warn!(%why, "no snapshot of the rc files");
                state.looked = Some(looked);
                state.now = Now::Failed { until };
                state.untold = Some(why);
            }
        }
    }

    /// True if the last check still holds.
    fn is_settled(&self) -> bool {
        let state = self.state();
        let Some(looked) = &state.looked else { return false };
        if looked.stamp != Stamp::of(&looked.files) {
            return false;
        }
        let now = SystemTime::now();
        match &state.now {
            Now::Nothing => true,
            Now::Failed { until } => now < *until,
            Now::Have(current) => {
                let snapshot = &current.snapshot;
                is_young(snapshot.captured(), now)
                    && snapshot.stamp.as_ref() == Some(&Stamp::of(std::slice::from_ref(&snapshot.path)))
            }
        }
    }

    /// Updates the state as far as possible without running anything.
    pub(crate) fn recall(&self, engine: &Engine) {
        if self.is_settled() {
            return;
        }
        if let Ok(Recalled::Known(looked, now)) = self.look(engine, Memory::UsedInPart) {
            let mut state = self.state();
            state.looked = Some(looked);
            state.now = now;
        }
    }

    async fn find(&self, engine: &Engine, memory: Memory) -> Result<(Looked, Now), Missed> {
        let to_capture = match self.look(engine, memory)? {
            Recalled::Known(looked, now) => return Ok((looked, now)),
            Recalled::Nothing(to_capture) => *to_capture,
        };
        let captured = self.capture(engine, &to_capture.plan).await;
        let ToCapture { sources, .. } = to_capture.left_by_the_files();
        let published = captured.and_then(|(draft, kept, took)| {
            let published = draft.publish(&kept, &sources.key, took).map_err(|why| self.cannot_write(&why))?;
            Ok(published.with_old_key(&sources.old_key))
        });
        self.store.sweep();
        let Sources { files, stamp, files_key, .. } = sources;
        let looked = Looked { files, stamp };
        match published {
            Ok(snapshot) => {
                self.store.forget_failure(&files_key);
                Ok((looked, Now::have(snapshot, engine)))
            }
            Err(why) => {
                let until = self.store.note_failure(&files_key);
                Err(Missed { looked, why, until })
            }
        }
    }

    /// Checks the rc files, and searches for an earlier capture of them.
    fn look(&self, engine: &Engine, memory: Memory) -> Result<Recalled, Missed> {
        let Some(plan) = capture::plan(engine, self.options.limit) else {
            return Ok(Recalled::Known(Looked::at(Vec::new()), Now::Nothing));
        };
        let always = || Looked::at(rc_files::always(&plan.environment));
        let sources = match rc_files::look(&plan.shell, &plan.environment) {
            Ok(Some(sources)) => sources,
            Ok(None) => return Ok(Recalled::Known(always(), Now::Nothing)),
            Err(why) => return Err(Missed::for_good(always(), why)),
        };
        let looked = || Looked { files: sources.files.clone(), stamp: sources.stamp.clone() };
        if let Some(why) = never(engine) {
            return Err(Missed::for_good(looked(), why));
        }
        if memory == Memory::Ignored {
            return Ok(Recalled::Nothing(Box::new(ToCapture { sources, plan })));
        }
        let Sources { files_key, key, old_key, .. } = &sources;
        if let Some(snapshot) = self.store.load(key).filter(|found| is_young(found.captured(), SystemTime::now())) {
            let withheld = snapshot.header.withheld_among(&self.secrets(&plan.environment));
            if withheld.is_some() || memory == Memory::UsedInPart {
                let snapshot = snapshot.with_old_key(old_key).with_withheld(withheld.unwrap_or_default());
                return Ok(Recalled::Known(looked(), Now::have(snapshot, engine)));
            }
        }
        if let Some(Failure { until }) = self.store.failure(files_key) {
            return Ok(Recalled::Known(looked(), Now::Failed { until }));
        }
        Ok(Recalled::Nothing(Box::new(ToCapture { sources, plan })))
    }

    /// Known withheld variables: those of the host, and those that were captured before.
    fn secrets(&self, base: &Environment) -> Vec<Withheld> {
        let captured = self.current().map(|current| current.snapshot.withheld.clone());
        base.withheld.iter().cloned().chain(captured.into_iter().flatten()).collect()
    }

    /// Captures the definitions of the files, and tries them.
    async fn capture(&self, engine: &Engine, plan: &Plan) -> Result<(Draft<'_>, Kept, Duration), NoSnapshot> {
        let environment = &plan.environment;
        let place = self.store.draft().map_err(|why| self.cannot_write(&why))?;
        let teller = || Teller::new(&place).map_err(|why| self.cannot_write(&why));
        let (captured, facts) = capture::interactive(engine, plan.clone(), teller()?, self.options.limit).await?;
        let mut kept = filter::sift(captured, &facts, environment, &engine.options().environment);
        let draft = self.store.draft().map_err(|why| self.cannot_write(&why))?;
        // Each round leaves out what the last one has shown not to work.
        for _ in 0..ROUNDS {
            let (lines, commands) = file::trial(&kept);
            let path = draft.try_lines(&lines).map_err(|why| self.cannot_write(&why))?;
            let tried = capture::plain(engine, path, environment, teller()?, self.options.limit).await?;
            if filter::leave_out_what_differs(&mut kept, &tried) > 0 {
                continue;
            }
            if tried.variables.get(OsStr::new(file::RAN)) != Some(&OsString::from(commands.to_string())) {
                return Err(NoSnapshot::NotFaithful {
                    what: "a function is more than one when it is read again".into(),
                });
            }
            return Ok((draft, kept, facts.took));
        }
        Err(NoSnapshot::NotFaithful { what: kept.left_out.last().cloned().unwrap_or_default() })
    }

    fn cannot_write(&self, why: &std::io::Error) -> NoSnapshot {
        NoSnapshot::system(format!("nothing can be kept in {}", self.options.directory.display()), why)
    }

    fn state(&self) -> std::sync::MutexGuard<'_, State> {
        // The state is replaced as a whole, so a panic has left a good one.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Rounds in which a snapshot is tried, with less in it each time.
const ROUNDS: usize = 8;

/// A failed capture.
struct Missed {
    looked: Looked,
    why: NoSnapshot,
    /// No new attempt before this time, unless the files change.
    until: SystemTime,
}

impl Missed {
    /// Only another file, or another engine, would change the result.
    fn for_good(looked: Looked, why: NoSnapshot) -> Self {
        Self { looked, why, until: SystemTime::now() + USED_FOR }
    }
}

/// Reason against any snapshot, whatever the rc files contain.
fn never(engine: &Engine) -> Option<NoSnapshot> {
    if engine.options().host_environment.iter().any(|(name, _)| name == "BASH_ENV") {
        return Some(NoSnapshot::BashEnv);
    }
    (!engine.promises().catches_daemons).then_some(NoSnapshot::NoKeeper)
}
