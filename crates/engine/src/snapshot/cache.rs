//! Which snapshot commands get now, and when that is looked at again.

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

/// The snapshot of one engine: what there is, and when to look again.
pub(crate) struct Snapshots {
    options: SnapshotOptions,
    store: Store,
    state: Mutex<State>,
    /// Held by the one who captures; others wait for it.
    turn: tokio::sync::Mutex<()>,
}

/// What is known.
#[derive(Default)]
struct State {
    /// The files as they were when this was found out.
    looked: Option<Looked>,
    now: Now,
    /// What nobody has been told yet.
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

/// What commands get.
#[derive(Default)]
enum Now {
    /// Nobody knows yet, or there is nothing to capture.
    #[default]
    Nothing,
    /// This.
    Have(Arc<Current>),
    /// Nothing, and it is not tried again before this.
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

/// Whether what came of it before counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Memory {
    /// If all that is withheld of it is known, so that it can be masked.
    Used,
    /// Whatever is known of it: nothing will run.
    UsedInPart,
    Ignored,
}

/// What a look at the files has brought.
enum Recalled {
    Known(Looked, Now),
    Nothing(Box<ToCapture>),
}

/// What has to be captured.
struct ToCapture {
    sources: Sources,
    plan: Plan,
}

impl ToCapture {
    /// The same as the rc files have left it: some write to files that they read (`keychain`), and would be read again for
    /// every command. What somebody else has done to `~/.bashrc` meanwhile is still to be noticed.
    fn left_by_the_files(self) -> Self {
        match rc_files::look(&self.plan.shell, &self.plan.environment) {
            Ok(Some(now)) if now.stamp.first() == self.sources.stamp.first() => Self { sources: now, ..self },
            _ => self,
        }
    }
}

/// A snapshot, and the host's variables with it.
pub(crate) struct Current {
    pub(crate) snapshot: Arc<Snapshot>,
    pub(crate) host: Vec<(OsString, OsString)>,
    /// Those of them that commands do not get.
    pub(crate) withheld: Vec<Withheld>,
}

impl Snapshots {
    pub(crate) fn new(options: SnapshotOptions) -> Self {
        let store = Store::new(options.directory.clone());
        Self { options, store, state: Mutex::default(), turn: tokio::sync::Mutex::default() }
    }

    /// What commands get now. Nothing is looked at for it.
    pub(crate) fn current(&self) -> Option<Arc<Current>> {
        match &self.state().now {
            Now::Have(current) => Some(Arc::clone(current)),
            Now::Nothing | Now::Failed { .. } => None,
        }
    }

    /// Why there is none, if nobody has been told.
    pub(crate) fn untold(&self) -> Option<NoSnapshot> {
        self.state().untold.take()
    }

    /// Makes sure that the snapshot is that of the rc files as they are. Waits for the files to be read, if that has to
    /// be; a few looks at the file system otherwise. A dropped future leaves things as they were.
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

    /// Captures it anew, whatever came of it before.
    pub(crate) async fn renew(&self, engine: &Engine) {
        let turn = self.turn.lock().await;
        self.settle(engine, Memory::Ignored, turn).await;
    }

    async fn settle(&self, engine: &Engine, memory: Memory, _turn: tokio::sync::MutexGuard<'_, ()>) {
        // Rare and large, and every call of a tool would have to hold it.
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

    /// Whether what is known still holds.
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

    /// Finds out what can be told without running anything.
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

    /// Looks at the rc files and at what was captured of them before.
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

    /// What is known of what is withheld: what the host has, and what was captured before.
    fn secrets(&self, base: &Environment) -> Vec<Withheld> {
        let captured = self.current().map(|current| current.snapshot.withheld.clone());
        base.withheld.iter().cloned().chain(captured.into_iter().flatten()).collect()
    }

    /// Captures what the files define, and tries it.
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
        // What is known is replaced as a whole, so one who panicked has left it right.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// So often a snapshot is tried, with less in it each time.
const ROUNDS: usize = 8;

/// It did not work out.
struct Missed {
    looked: Looked,
    why: NoSnapshot,
    /// It is not tried again before this, unless the files change.
    until: SystemTime,
}

impl Missed {
    /// Only another file, or another engine, would change it.
    fn for_good(looked: Looked, why: NoSnapshot) -> Self {
        Self { looked, why, until: SystemTime::now() + USED_FOR }
    }
}

/// What stands in the way of any snapshot.
fn never(engine: &Engine) -> Option<NoSnapshot> {
    if engine.options().host_environment.iter().any(|(name, _)| name == "BASH_ENV") {
        return Some(NoSnapshot::BashEnv);
    }
    (!engine.promises().catches_daemons).then_some(NoSnapshot::NoKeeper)
}
