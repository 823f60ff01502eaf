//! Stops a process tree: SIGTERM, then SIGKILL in passes, and a report when killing has failed.
//!
//! [`Phase::step`] decides, and [`StopMachine`] carries out. A command, a command of a session, and the end of a
//! session each have one. The owner waits until [`StopMachine::alarm`] or until a process ends.
//!
//! Invariant: while a tree is being killed, the next pass is always due at a known time.

use std::time::{Duration, Instant};

use crate::session::Driver;
use crate::tree::{Tree, TreeState};
use crate::{Effect, Event, Phase};

/// Pause after the first kill pass. Each later pause is twice as long, up to [`LONGEST_PAUSE`].
const FIRST_PAUSE: Duration = Duration::from_millis(2);
const LONGEST_PAUSE: Duration = Duration::from_millis(500);

/// Processes that still live this long after the first kill pass are stuck in the kernel or belong to another user.
const STUCK_AFTER: Duration = Duration::from_secs(5);

/// The phase of one tree, and its kill passes.
pub(crate) struct StopMachine {
    phase: Phase,
    grace: Duration,
    passes: Option<KillPasses>,
}

impl StopMachine {
    /// Begins in [`Phase::Running`], with this end of the lifetime; none means no lifetime.
    pub(crate) fn new(until: Option<Instant>, grace: Duration) -> Self {
        Self { phase: Phase::Running { until }, grace, passes: None }
    }

    pub(crate) fn phase(&self) -> Phase {
        self.phase
    }

    /// True from the request to stop until the tree is gone.
    pub(crate) fn is_stopping(&self) -> bool {
        matches!(self.phase, Phase::Stopping { .. } | Phase::Killed { .. })
    }

    /// Decides what an event means and carries it out. Returns the effect for owners that have more to do about it.
    ///
    /// `session_shell` is the shell of a session whose command is stopped. That shell ignores `SIGTERM`, and would
    /// continue with the next line of the script as soon as a program ends. So it is interrupted before any program
    /// gets `SIGTERM`.
    pub(crate) fn handle(&mut self, event: Event, tree: &mut Tree, session_shell: Option<&Driver>) -> Option<Effect> {
        let now = Instant::now();
        let (next, effect) = self.phase.step(event, now, self.grace);
        self.phase = next;
        match effect {
            Some(Effect::Terminate) => {
                session_shell.into_iter().for_each(Driver::interrupt);
                tree.terminate();
            }
            Some(Effect::Kill) => {
                tree.kill();
                // The pause begins at the end of a pass: a pass over many processes takes a while.
                self.passes.get_or_insert_with(|| KillPasses::new(now)).count_pass(Instant::now());
            }
            None => {}
        }
        effect
    }

    /// Reaps every process that has ended. During the grace it also sends `SIGTERM` to processes that were being
    /// started when the others got theirs.
    pub(crate) fn reap(&self, tree: &mut Tree) -> TreeState {
        let rest = tree.reap();
        if matches!((rest, self.phase), (TreeState::ShellRuns | TreeState::OthersLeft(_), Phase::Stopping { .. })) {
            tree.terminate_orphans();
        }
        rest
    }

    /// Time of the next [`Event::Tick`]: the end of the lifetime or of the grace, or the next kill pass.
    pub(crate) fn alarm(&self) -> Option<Instant> {
        let again_at = self.passes.as_ref().map(|passes| passes.again_at);
        self.phase.alarm().into_iter().chain(again_at).min()
    }

    /// True if [`Self::alarm`] has come.
    pub(crate) fn is_due(&self, now: Instant) -> bool {
        self.alarm().is_some_and(|alarm| alarm <= now)
    }

    /// Time since the first kill pass; zero before it.
    pub(crate) fn time_killing(&self, now: Instant) -> Duration {
        self.passes.as_ref().map_or(Duration::ZERO, |passes| passes.elapsed(now))
    }

    /// True once, when killing has failed for [`STUCK_AFTER`]. The passes go on.
    pub(crate) fn gives_up(&mut self, now: Instant) -> bool {
        matches!(self.phase, Phase::Killed { .. }) && self.passes.as_mut().is_some_and(|passes| passes.give_up(now))
    }

    /// Changes the end of the lifetime of a command that nobody stops.
    pub(crate) fn set_lifetime(&mut self, until: Option<Instant>) {
        if matches!(self.phase, Phase::Running { .. }) {
            self.phase = Phase::Running { until };
        }
    }

    /// Returns to [`Phase::Running`] for the processes that a shell left behind, with this end of their lifetime.
    pub(crate) fn watch_leftovers(&mut self, until: Option<Instant>) {
        self.phase = Phase::Running { until };
    }
}

/// Kill passes of one tree. One pass can miss a process that was just being started.
struct KillPasses {
    since: Instant,
    again_at: Instant,
    pause: Duration,
    given_up: bool,
}

impl KillPasses {
    fn new(now: Instant) -> Self {
        Self { since: now, again_at: now, pause: FIRST_PAUSE, given_up: false }
    }

    /// Counts a pass that ended at this time.
    fn count_pass(&mut self, now: Instant) {
        self.again_at = now + self.pause;
        self.pause = (self.pause * 2).min(LONGEST_PAUSE);
    }

    fn elapsed(&self, now: Instant) -> Duration {
        now.saturating_duration_since(self.since)
    }

    fn give_up(&mut self, now: Instant) -> bool {
        let gives_up = !self.given_up && self.elapsed(now) >= STUCK_AFTER;
        self.given_up |= gives_up;
        gives_up
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn passes_of_killing_come_less_and_less_often_up_to_twice_a_second() {
        let start = Instant::now();
        let mut passes = KillPasses::new(start);
        let mut waits = Vec::new();
        for _ in 0..12 {
            let now = passes.again_at;
            passes.count_pass(now);
            waits.push(u64::try_from((passes.again_at - now).as_millis()).expect("small"));
        }
        assert_eq!(waits, [2, 4, 8, 16, 32, 64, 128, 256, 500, 500, 500, 500]);
    }

    #[test]
    fn killing_is_given_up_once_and_not_before_five_seconds() {
        let start = Instant::now();
        let mut passes = KillPasses::new(start);
        assert!(!passes.give_up(start + Duration::from_millis(4999)));
        assert!(passes.give_up(start + STUCK_AFTER));
        assert!(!passes.give_up(start + STUCK_AFTER * 2));
    }
}
