//! The phases of a command, from running to ended, and the decisions that lead from one to the next.
//!
//! Pure: no clock, no process, no waiting. The caller passes in every event and its time.
//!
//! Invariant: a phase only moves forward, nothing is killed without a reason, and the first reason to stop stays.

use std::fmt;
use std::time::{Duration, Instant};

use crate::Exit;

/// Phase of a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Phase {
    /// The command runs.
    Running {
        /// End of the lifetime; none if it has no end.
        until: Option<Instant>,
    },
    /// The process tree got `SIGTERM`, and the grace runs.
    Stopping {
        /// First reason to stop.
        why: StopReason,
        /// End of the grace: time of the first `SIGKILL`.
        kill_at: Instant,
    },
    /// The process tree gets `SIGKILL` in passes until nothing is left.
    Killed {
        /// First reason to stop.
        why: StopReason,
    },
    /// The command is over.
    Ended(End),
}

/// The end of a command: by itself or stopped, and the exit status.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// The command ended by itself. A code other than zero is an answer, not an error.
    Own(Exit),
    /// The command was stopped. A program may catch the signal and still exit with 0.
    Stopped {
        /// First reason to stop.
        why: StopReason,
        /// Exit status of the shell.
        exit: Exit,
    },
    /// The keeper or the engine lost track of the command. Some of its processes may still run.
    Lost,
}

/// Reason to stop a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum StopReason {
    /// The lifetime was over.
    TimeUp = 1,
    /// The caller does not want the command any more.
    Cancelled = 2,
    /// The engine closed its connection, or died.
    EngineGone = 3,
    /// The keeper got `SIGTERM`, `SIGINT` or `SIGHUP`.
    KeeperSignaled = 4,
    /// The shell had ended and left processes behind that the settings do not allow.
    LeftBehind = 5,
    /// The shell of a session ended a script without reporting its exit status.
    Mute = 6,
}

impl StopReason {
    /// True if a second request means that the grace ends now. The same request twice does. So does a caller that
    /// cancels a stop for another reason. But a stop of a whole group of programs reaches the caller, the engine and
    /// the keeper, and is meant once.
    fn is_insisted_on_by(self, again: Self) -> bool {
        self == again || (again == Self::Cancelled && matches!(self, Self::TimeUp | Self::LeftBehind))
    }

    /// Decodes the number that protocol and records use; none if it is unknown.
    pub fn from_number(number: u8) -> Option<Self> {
        [Self::TimeUp, Self::Cancelled, Self::EngineGone, Self::KeeperSignaled, Self::LeftBehind, Self::Mute]
            .into_iter()
            .find(|reason| *reason as u8 == number)
    }
}

impl fmt::Display for StopReason {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(match self {
            Self::TimeUp => "its time was up",
            Self::Cancelled => "it was cancelled",
            Self::EngineGone => "the engine was gone",
            Self::KeeperSignaled => "its keeper was asked to stop it",
            Self::LeftBehind => "it was left behind",
            Self::Mute => "its shell could no longer report exit codes or run commands",
        })
    }
}

/// Event that may change the phase of a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Event {
    /// The shell has ended with this status. Other processes of its tree may be left.
    ShellEnded(Exit),
    /// Nothing of the tree is left. The shell had ended with this status.
    TreeGone(Exit),
    /// Somebody asked for a stop.
    StopAsked(StopReason),
    /// Time has passed.
    Tick,
    /// Processes are left that survive `SIGKILL`.
    Stuck,
}

/// Action that a change of phase calls for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Effect {
    /// Send `SIGTERM` to every process of the tree.
    Terminate,
    /// Send `SIGKILL` to every process of the tree.
    Kill,
}

impl Phase {
    /// Decides the next phase, and the action that it calls for.
    #[must_use]
    pub fn step(self, event: Event, now: Instant, grace: Duration) -> (Self, Option<Effect>) {
        let stopping = |why| (Self::Stopping { why, kill_at: now + grace }, Some(Effect::Terminate));
        match (self, event) {
            // The tree cannot be gone before the shell. If the two events swap places, the command still ended by
            // itself.
            (Self::Running { .. }, Event::ShellEnded(exit) | Event::TreeGone(exit)) => {
                (Self::Ended(End::Own(exit)), None)
            }
            (Self::Running { .. }, Event::StopAsked(why)) => stopping(why),
            (Self::Running { until: Some(until) }, Event::Tick) if now >= until => stopping(StopReason::TimeUp),
            (Self::Stopping { kill_at, .. }, Event::Tick) if now < kill_at => (self, None),
            // A second request means that the caller does not want to wait.
            (Self::Stopping { why, .. }, Event::StopAsked(again)) if why.is_insisted_on_by(again) => {
                (Self::Killed { why }, Some(Effect::Kill))
            }
            (Self::Stopping { why, .. }, Event::Tick) => (Self::Killed { why }, Some(Effect::Kill)),
            // One pass can miss a process that was just being started.
            (killed @ Self::Killed { .. }, Event::Tick) => (killed, Some(Effect::Kill)),
            (Self::Stopping { why, .. } | Self::Killed { why }, Event::TreeGone(exit)) => {
                (Self::Ended(End::Stopped { why, exit }), None)
            }
            (Self::Killed { .. }, Event::Stuck) => (Self::Ended(End::Lost), None),
            (same, _) => (same, None),
        }
    }

    /// Time at which the next [`Event::Tick`] matters; none if no time does.
    pub fn alarm(self) -> Option<Instant> {
        match self {
            Self::Running { until } => until,
            Self::Stopping { kill_at, .. } => Some(kill_at),
            Self::Killed { .. } | Self::Ended(_) => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const GRACE: Duration = Duration::from_secs(15);

    fn exit() -> impl Strategy<Value = Exit> {
        prop_oneof![any::<u8>().prop_map(Exit::Code), (1_u8..65).prop_map(Exit::Signal)]
    }

    fn event() -> impl Strategy<Value = Event> {
        prop_oneof![
            exit().prop_map(Event::ShellEnded),
            exit().prop_map(Event::TreeGone),
            (1_u8..=5).prop_map(|n| Event::StopAsked(StopReason::from_number(n).expect("1 to 5 are reasons"))),
            Just(Event::Tick),
            Just(Event::Stuck),
        ]
    }

    /// Position of a phase in their order.
    fn rank(phase: Phase) -> u8 {
        match phase {
            Phase::Running { .. } => 0,
            Phase::Stopping { .. } => 1,
            Phase::Killed { .. } => 2,
            Phase::Ended(_) => 3,
        }
    }

    fn reason(phase: Phase) -> Option<StopReason> {
        match phase {
            Phase::Stopping { why, .. } | Phase::Killed { why } | Phase::Ended(End::Stopped { why, .. }) => Some(why),
            Phase::Running { .. } | Phase::Ended(_) => None,
        }
    }

    proptest! {
        #[test]
        fn it_only_moves_forward_and_keeps_its_first_reason(
            lifetime in proptest::option::of(0_u64..40),
            events in proptest::collection::vec((event(), 0_u64..20), 0..40),
        ) {
            let start = Instant::now();
            let mut now = start;
            let mut phase = Phase::Running { until: lifetime.map(|s| start + Duration::from_secs(s)) };
            for (event, passed) in events {
                now += Duration::from_secs(passed);
                let (next, effect) = phase.step(event, now, GRACE);
                prop_assert!(rank(next) >= rank(phase), "{phase:?} went back to {next:?}");
                if let Some(why) = reason(phase) {
                    prop_assert!(reason(next) == Some(why) || next == Phase::Ended(End::Lost));
                }
                if matches!(phase, Phase::Ended(_)) {
                    prop_assert_eq!((next, effect), (phase, None));
                }
                match effect {
                    Some(Effect::Terminate) => prop_assert_eq!(rank(next), 1),
                    Some(Effect::Kill) => prop_assert_eq!(rank(next), 2),
                    None => prop_assert!(rank(next) == rank(phase) || matches!(next, Phase::Ended(_))),
                }
                phase = next;
            }
        }

        #[test]
        fn whatever_happened_before_it_is_over_once_its_time_and_its_grace_have_passed(
            lifetime in 0_u64..40,
            events in proptest::collection::vec((event(), 0_u64..20), 0..20),
        ) {
            let start = Instant::now();
            let mut now = start;
            let mut phase = Phase::Running { until: Some(start + Duration::from_secs(lifetime)) };
            for (event, passed) in events {
                now += Duration::from_secs(passed);
                phase = phase.step(event, now, GRACE).0;
            }
            for _ in 0..2 {
                now = now.max(start + Duration::from_secs(lifetime)) + GRACE;
                phase = phase.step(Event::Tick, now, GRACE).0;
            }
            prop_assert!(rank(phase) >= 2, "still {phase:?}");
        }
    }

    #[test]
    fn asked_twice_it_is_killed_at_once_and_the_first_reason_stays() {
        let now = Instant::now();
        let (phase, effect) = Phase::Running { until: None }.step(Event::StopAsked(StopReason::TimeUp), now, GRACE);
        assert_eq!(effect, Some(Effect::Terminate));
        let (phase, effect) = phase.step(Event::StopAsked(StopReason::Cancelled), now, GRACE);
        assert_eq!((phase, effect), (Phase::Killed { why: StopReason::TimeUp }, Some(Effect::Kill)));
    }

    #[test]
    fn one_stop_that_reaches_us_by_two_ways_leaves_the_grace() {
        let now = Instant::now();
        let ways = [StopReason::Cancelled, StopReason::KeeperSignaled, StopReason::EngineGone];
        for (first, second) in ways.iter().flat_map(|first| ways.iter().map(move |second| (*first, *second))) {
            let stopping = Phase::Stopping { why: first, kill_at: now + GRACE };
            let stays = stopping.step(Event::StopAsked(second), now, GRACE) == (stopping, None);
            assert_eq!(stays, first != second, "{first:?}, then {second:?}");
        }
    }

    #[test]
    fn a_stop_is_not_over_while_something_of_the_tree_is_left() {
        let now = Instant::now();
        let stopping = Phase::Stopping { why: StopReason::Cancelled, kill_at: now + GRACE };
        assert_eq!(stopping.step(Event::ShellEnded(Exit::Code(0)), now, GRACE), (stopping, None));
    }
}
