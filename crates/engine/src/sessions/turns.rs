//! The order in which commands reach their sessions: that of their calls.
//!
//! A surface may read a second call before the first one has come to its session: each runs on a task of its own, and a
//! task may wait for a snapshot, a verdict or a person. Therefore a call takes its turn where it is read, and its number
//! decides. A command waits only for earlier calls of the same session, and for those whose session is not known yet.
//!
//! Invariant: a shell is started, or tried again, only for the earliest of the commands that want it.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;
use tokio::time::{Instant, timeout_at};

use crate::backend::StartError;

/// The calls of this program that have not begun yet.
#[derive(Debug, Default)]
pub(super) struct CallTurns {
    waiting: Mutex<Waiting>,
    changed: Notify,
}

#[derive(Debug, Default)]
struct Waiting {
    next: u64,
    stages: BTreeMap<u64, Stage>,
}

/// The way that a call has come.
#[derive(Debug, PartialEq)]
enum Stage {
    /// Nobody knows yet which session it is for.
    Called,
    /// It is for the session at this place, whose keeper does not have it yet.
    Entering(PathBuf),
    /// The keeper of that session has it in its queue.
    Queued(PathBuf),
}

impl Stage {
    /// True if a later call for this place may not reach the keeper before this one.
    fn is_before(&self, place: &Path) -> bool {
        match self {
            Self::Called => true,
            Self::Entering(own) => own == place,
            Self::Queued(_) => false,
        }
    }

    /// True if a later call for this place may not start a shell before this one.
    fn may_want_shell(&self, place: &Path) -> bool {
        match self {
            Self::Called => true,
            Self::Entering(own) | Self::Queued(own) => own == place,
        }
    }
}

/// The turn of one call. Later calls for the same session wait for it until its command has begun, or it is given up;
/// dropping every copy does that, too.
///
/// A surface that reads calls one after the other, and runs each on a task of its own, takes the turn as it reads
/// ([`Engine::take_turn`](crate::Engine::take_turn)). Without one, the engine takes it when the call begins.
#[derive(Debug, Clone)]
pub struct CallTurn(Arc<TakenTurn>);

#[derive(Debug)]
struct TakenTurn {
    turns: Arc<CallTurns>,
    number: u64,
}

impl Drop for TakenTurn {
    fn drop(&mut self) {
        self.turns.change(|stages| drop(stages.remove(&self.number)));
    }
}

impl CallTurns {
    pub(super) fn take(self: &Arc<Self>) -> CallTurn {
        let mut waiting = self.waiting();
        let number = waiting.next;
        waiting.next += 1;
        waiting.stages.insert(number, Stage::Called);
        CallTurn(Arc::new(TakenTurn { turns: Arc::clone(self), number }))
    }

    fn waiting(&self) -> MutexGuard<'_, Waiting> {
        // Each change is a single step, so a panic leaves consistent data.
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn change(&self, change: impl FnOnce(&mut BTreeMap<u64, Stage>)) {
        change(&mut self.waiting().stages);
        self.changed.notify_waiters();
    }
}

impl CallTurn {
    /// Lets all later calls pass. A turn that was given up is not taken again.
    pub fn give_up(&self) {
        self.change(|_| None);
    }

    /// Says for which session the call is.
    pub(crate) fn is_for(&self, place: &Path) {
        self.change(|stage| stage.map(|_| Stage::Entering(place.to_path_buf())));
    }

    /// The command is in the queue of its keeper, in its order.
    pub(super) fn note_queued(&self) {
        self.change(|stage| match stage {
            Some(Stage::Entering(place)) => Some(Stage::Queued(place)),
            other => other,
        });
    }

    /// The queue is gone, and the command with it.
    pub(super) fn note_thrown_out(&self) {
        self.change(|stage| match stage {
            Some(Stage::Queued(place)) => Some(Stage::Entering(place)),
            other => other,
        });
    }

    /// Waits until no earlier call is on its way to the session at this place.
    pub(crate) async fn reach(&self, place: &Path, by: Option<Instant>) -> Result<(), StartError> {
        self.wait(by, |stage| stage.is_before(place)).await
    }

    /// Waits until no earlier call could start a shell at this place.
    pub(super) async fn be_first(&self, place: &Path, by: Option<Instant>) -> Result<(), StartError> {
        self.wait(by, |stage| stage.may_want_shell(place)).await
    }

    /// True if no earlier call is on its way to the session at this place.
    pub(super) fn is_next(&self, place: &Path) -> bool {
        self.is_free(|stage| stage.is_before(place))
    }

    async fn wait(&self, by: Option<Instant>, is_before: impl Fn(&Stage) -> bool) -> Result<(), StartError> {
        loop {
            let changed = self.0.turns.changed.notified();
            tokio::pin!(changed);
            // From here on no change is missed.
            changed.as_mut().enable();
            if self.is_free(&is_before) {
                return Ok(());
            }
            match by {
                Some(by) => timeout_at(by, changed).await.map_err(|_| StartError::NoTurn)?,
                None => changed.await,
            }
        }
    }

    fn is_free(&self, is_before: impl Fn(&Stage) -> bool) -> bool {
        !self.0.turns.waiting().stages.range(..self.0.number).any(|(_, stage)| is_before(stage))
    }

    fn change(&self, next: impl FnOnce(Option<Stage>) -> Option<Stage>) {
        self.0.turns.change(|stages| {
            if let Some(stage) = next(stages.remove(&self.0.number)) {
                stages.insert(self.0.number, stage);
            }
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Turns of three calls.
    fn three() -> [CallTurn; 3] {
        let turns = Arc::new(CallTurns::default());
        [turns.take(), turns.take(), turns.take()]
    }

    const HERE: &str = "/here";

    fn is_next(turn: &CallTurn) -> bool {
        turn.is_next(HERE.as_ref())
    }

    #[test]
    fn a_later_call_waits_while_the_session_of_an_earlier_one_is_unknown_or_its_own() {
        let [first, second, third] = three();
        second.is_for(HERE.as_ref());
        assert!(!is_next(&second), "the first may be for the same session");
        first.is_for("/elsewhere".as_ref());
        assert!(is_next(&second) && !is_next(&third));
        second.note_queued();
        assert!(is_next(&third), "the keeper has the order from here on");
    }

    #[test]
    fn a_call_for_no_session_and_one_that_is_gone_hold_nobody_up() {
        let [first, second, third] = three();
        first.give_up();
        first.is_for(HERE.as_ref());
        assert!(is_next(&second), "a turn that was given up stays so");
        drop(second);
        assert!(is_next(&third));
    }

    #[tokio::test(flavor = "current_thread")]
    async fn commands_of_a_lost_shell_start_another_one_in_their_order() {
        let [first, second, _] = three();
        for turn in [&first, &second] {
            turn.is_for(HERE.as_ref());
            turn.note_queued();
        }
        // The second hears of the lost shell before the first does.
        second.note_thrown_out();
        assert!(is_next(&second));
        let soon = Some(Instant::now());
        assert!(second.be_first(HERE.as_ref(), soon).await.is_err());
        let waiting = tokio::spawn(async move { second.be_first(HERE.as_ref(), None).await });
        first.note_thrown_out();
        first.be_first(HERE.as_ref(), soon).await.expect("it is first");
        drop(first);
        waiting.await.expect("it ends").expect("it is first now");
    }
}
