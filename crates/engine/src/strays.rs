//! Kills the processes that a killed keeper leaves behind.
//!
//! A program that adopts orphans is the next parent of all of them. So each of its children that is no keeper is a
//! stray, with everything below. Strays may fork faster than anybody can list them: they are stopped before they are
//! killed, and the search continues until this program has no such child left, not even a zombie.
//!
//! Limit: [`ROUNDS`] rounds that each find a new stray. A chain of processes that outruns all of them survives.

use std::collections::HashSet;
use std::time::Duration;

use bashful_sys::pidfd;
use bashful_sys::proc::{self, Process};
use bashful_sys::signal::Signal;
use rustix::process::{Pid, WaitOptions, getpid, kill_process, waitpid};

use crate::keepers::Keepers;

/// Rounds that find new strays. Each takes some 100 microseconds, so a chain would have to win thousands of races in a
/// row.
const ROUNDS: usize = 5_000;

/// Rounds in a row without new strays, but with one that does not die, or a keeper that has not ended yet: 2 s in all.
const IDLE_ROUNDS: usize = 400;

/// Rounds in a row without any stray. More than one, because the list of children is not read in one instant.
const QUIET_ROUNDS: usize = 3;

/// Pause between two rounds without new strays.
const PAUSE: Duration = Duration::from_millis(5);

/// Result of one round.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum RoundResult {
    NoStray,
    /// Only strays that were killed before.
    OnlyDying,
    NewStray,
}

/// Kills every child of this program that is neither a keeper nor a stranger, with everything below it. Waits for the
/// end of `keeper` first, because its tree has another parent only then.
pub(crate) async fn end_all(keepers: &Keepers, keeper: Option<i32>) {
    let (mut rounds, mut idle, mut quiet) = (0, 0, 0);
    let mut known = HashSet::new();
    while rounds < ROUNDS && idle < IDLE_ROUNDS && quiet < QUIET_ROUNDS {
        let keeper_lives = keeper.and_then(Pid::from_raw).and_then(Process::read).is_some_and(|now| !now.has_ended());
        match kill_round(keepers, &mut known) {
            RoundResult::NewStray => {
                (rounds, idle, quiet) = (rounds + 1, 0, 0);
                // No pause: the strays can fork in every microsecond.
                tokio::task::yield_now().await;
                continue;
            }
            RoundResult::NoStray if !keeper_lives => quiet += 1,
            RoundResult::NoStray | RoundResult::OnlyDying => (idle, quiet) = (idle + 1, 0),
        }
        tokio::time::sleep(PAUSE).await;
    }
    if quiet < QUIET_ROUNDS {
        tracing::error!(rounds, "processes of a lost command are still there");
    }
}

/// Stops, kills and reaps all strays once.
fn kill_round(keepers: &Keepers, known: &mut HashSet<i32>) -> RoundResult {
    // Held throughout: a keeper that is being started must not count as a stray, and a child that another thread reaps
    // here would free its id.
    let live = keepers.live();
    let strays: Vec<Pid> = proc::children(getpid())
        .unwrap_or_else(|| {
            proc::descendants(getpid()).iter().filter(|below| is_child(below)).map(|below| below.pid).collect()
        })
        .into_iter()
        .filter(|child| !live.contains(&child.as_raw_nonzero().get()) && !keepers.is_stranger(*child))
        .collect();
    // By id, and before anything else: a child keeps its id until it is reaped below.
    for stray in &strays {
        let _ = kill_process(*stray, Signal::STOP);
    }
    let below: Vec<Process> = strays.iter().flat_map(|stray| proc::descendants(*stray)).collect();
    for process in &below {
        let _ = pidfd::send_to(process, &[Signal::STOP]);
    }
    for process in &below {
        let _ = pidfd::send_to(process, &[Signal::KILL]);
    }
    for stray in &strays {
        let _ = kill_process(*stray, Signal::KILL);
        let _ = waitpid(Some(*stray), WaitOptions::NOHANG);
    }
    drop(live);
    let mut is_new = false;
    for pid in strays.iter().copied().chain(below.iter().map(|process| process.pid)) {
        is_new |= known.insert(pid.as_raw_nonzero().get());
    }
    match (strays.is_empty(), is_new) {
        (true, _) => RoundResult::NoStray,
        (false, true) => RoundResult::NewStray,
        (false, false) => RoundResult::OnlyDying,
    }
}

fn is_child(process: &Process) -> bool {
    process.parent == getpid().as_raw_nonzero().get()
}
