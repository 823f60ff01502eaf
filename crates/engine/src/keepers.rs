//! The keepers of this program, and the end of the processes that one of them loses.

use std::collections::HashSet;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use bashful_sys::proc::{self, Process};
use bashful_sys::signal::Signal;
use rustix::process::{Pid, getpid, kill_process};

use crate::{Orphans, strays};

/// The keepers that live. Other children of a program that adopts orphans have lost their keeper.
#[derive(Debug)]
pub(crate) struct Keepers {
    live: Mutex<HashSet<i32>>,
    orphans: Orphans,
    /// Children of this program from before the engine: `exec` keeps them, and the engine leaves them alone.
    strangers: Vec<Process>,
}

/// The keepers of all engines of this program that adopt orphans. To each of them, a keeper of another one would be a stray.
static ADOPTING: OnceLock<Arc<Keepers>> = OnceLock::new();

impl Keepers {
    /// The keepers of an engine. `early` was started before it.
    pub(crate) fn of_engine(orphans: Orphans, early: Option<Pid>) -> Arc<Self> {
        let early: HashSet<i32> = early.into_iter().map(raw).collect();
        let new = |strangers| Arc::new(Self { live: Mutex::default(), orphans, strangers });
        let keepers = match orphans {
            Orphans::Adopt => Arc::clone(ADOPTING.get_or_init(|| new(strangers(&early)))),
            Orphans::NotOurs => new(Vec::new()),
        };
        keepers.live().extend(early);
        keepers
    }

    /// The process ids. A keeper that is being started waits for this lock.
    pub(crate) fn live(&self) -> MutexGuard<'_, HashSet<i32>> {
        self.live.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Forgets a keeper that has ended.
    pub(crate) fn forget(&self, keeper: Pid) {
        self.live().remove(&raw(keeper));
    }

    /// True if this child was there before the engine.
    pub(crate) fn is_stranger(&self, child: Pid) -> bool {
        let known = self.strangers.iter().find(|stranger| stranger.pid == child);
        known.is_some_and(|known| Process::read(child).is_some_and(|now| now.began == known.began))
    }

    /// Kills the keepers that a command traces, with everything below them, if this program adopts their processes. Such a
    /// keeper cannot act, and does not notice the end of this program.
    pub(crate) async fn end_held(&self) {
        if self.orphans != Orphans::Adopt {
            return;
        }
        // Nobody else can have the id of a keeper that lives: it is forgotten when it is reaped.
        let live: Vec<Pid> = self.live().iter().copied().filter_map(Pid::from_raw).collect();
        for keeper in live.into_iter().filter(|keeper| proc::is_traced(*keeper)) {
            if kill_process(keeper, Signal::KILL).is_ok() {
                // Its end reaches this program only when the tracer has gone.
                self.end_strays(Some(raw(keeper))).await;
            }
        }
    }

    /// Kills every process that has lost its keeper, if this program adopts them. Waits for the end of `keeper` first.
    pub(crate) async fn end_strays(&self, keeper: Option<i32>) {
        if self.orphans == Orphans::Adopt {
            strays::end_all(self, keeper).await;
        }
    }
}

/// The processes below this program that came with it through `exec`: all but these keepers.
fn strangers(keepers: &HashSet<i32>) -> Vec<Process> {
    let is_keeper = |pid: &Pid| keepers.contains(&raw(*pid));
    match proc::children(getpid()) {
        // The usual case, and every start of the program waits for it.
        Some(children) if children.iter().all(is_keeper) => Vec::new(),
        _ => proc::descendants(getpid()).into_iter().filter(|process| !is_keeper(&process.pid)).collect(),
    }
}

fn raw(pid: Pid) -> i32 {
    pid.as_raw_nonzero().get()
}
