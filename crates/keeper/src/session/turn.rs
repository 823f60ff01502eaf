//! One turn of a session's shell: from the script that it is handed to the report of the exit status.
//!
//! Pure: no clock, no process, no file. [`Turn::step`] decides, and `running.rs` carries out. An effect that is a
//! question is answered with the next event, at the same time.
//!
//! ```text
//!  Handed ──announced──▶ Running ──script over──▶ Ending ──script read──▶ Settling ──nothing left──▶ Over
//!     └────stop─────┬───────┘                        └───────stop───┬────────┘
//!                   ▼                                               ▼
//!              Interrupted ──────────script over──────────────▶ Clearing ──shell alone──▶ Probing ──▶ Answered ──▶ Over
//! ```
//!
//! Invariant: a turn only moves forward, ends once, and is refused only if its caller was never told that it has begun.

use std::time::{Duration, Instant};

use super::ShellMessage;
use crate::watch::SETTLE;
use crate::{Event, Exit};

/// Time before the caller learns that the command has begun. Most commands are over by then, and every report wakes a
/// process.
const ANNOUNCE_AFTER: Duration = Duration::from_millis(1);

/// Time in which a shell has to read its script before the caller learns that it has begun. A shell that is killed just
/// as the script comes has read nothing.
const READ_WITHIN: Duration = Duration::from_secs(1);

/// Pause before the first check of a shell that has not reported an exit status; each later pause is twice as long.
/// Most shells are busy with the script, but a script can close every descriptor that the report needs.
const FIRST_CHECK_AFTER: Duration = Duration::from_millis(20);
const LONGEST_PAUSE_BETWEEN_CHECKS: Duration = Duration::from_secs(1);

/// Pause between two interrupts of a shell that does not drop its script, and between two numbers that it is asked for.
const INTERRUPT_AGAIN: Duration = Duration::from_millis(100);

/// Time in which a shell has to answer when it has nothing left to wait for.
const COME_BACK_WITHIN: Duration = Duration::from_millis(500);

/// Exit status of an interrupted script in bash.
const INTERRUPTED: u8 = 130;

/// State of a command in a session's shell.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Turn {
    /// The shell was handed the script. The caller does not know yet that it has begun.
    Handed {
        since: Instant,
        announce_at: Instant,
        check: ShellCheck,
        /// True if the shell reads the script unless it has lost the ability to. False after `cd`, which may fail
        /// first.
        must_read: bool,
    },
    /// The caller knows that the command has begun.
    Running { check: ShellCheck, must_read: bool },
    /// The script has ended, but it is not known if the shell read it at all.
    Ending { exit: Exit, announced: bool },
    /// The script has ended, and the processes that it started may end by themselves for a moment.
    Settling { exit: Exit, announced: bool, until: Instant },
    /// The command is being stopped, and the shell has not dropped the script yet.
    Interrupted {
        round: u32,
        again_at: Instant,
        /// Last number that the shell was asked for.
        number: Option<u64>,
    },
    /// The shell has dropped the script. Processes of the command may be left. Nothing tells the end of those whose
    /// parent is the shell, so they are looked for.
    Clearing { exit: Exit, check: ShellCheck },
    /// The shell is alone, and is asked for a number: an interrupt that comes late must not hit the next command.
    Probing { exit: Exit, number: u64, again_at: Instant, give_up_at: Instant },
    /// The shell has reported the number.
    Answered { exit: Exit, check: ShellCheck },
    /// The caller knows the end of the command, or that none of it ran.
    Over,
}

/// Next check of a shell that may be unable to report an exit status, or of its processes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct ShellCheck {
    at: Instant,
    /// Time between the last check and this one.
    pause: Duration,
}

/// Event that may change the state of a turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TurnEvent {
    /// Time has passed, or something happened that may have changed the process tree.
    Tick,
    /// The shell has sent a message.
    Message(ShellMessage),
    /// The shell itself has ended.
    ShellEnded(Exit),
    /// A stop has begun: the shell was interrupted, and the processes of the command got `SIGTERM`.
    StopBegun,
    /// The processes of the command got another `SIGKILL`, this long after the first.
    KillPass {
        lasts: Duration,
    },
    /// Answers to [`TurnEffect::CheckScript`]. `ScriptUnread` comes only if that is certain.
    ScriptRead,
    ScriptUnread,
    /// Answers to [`TurnEffect::CheckShell`], beside a message that has just come. An idle shell waits for the next
    /// line, and has not reported an exit status.
    ShellBusy,
    ShellIdle,
    /// Answers to [`TurnEffect::AskNumber`] and [`TurnEffect::InterruptAndAskNumber`].
    NumberAsked(u64),
    NumberNotAsked,
    /// Answers to [`TurnEffect::CheckProcesses`]. Stuck processes have survived every `SIGKILL`.
    ProcessesLeft,
    ProcessesStuck,
    OnlyShellLeft,
    NothingLeft,
}

/// Action that a turn calls for, or a question that it has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TurnEffect {
    /// Has the shell read the script?
    CheckScript,
    /// Does the shell wait for the next line?
    CheckShell,
    /// Which processes of the command are left?
    CheckProcesses,
    /// Tell the caller that the command has begun.
    Announce,
    /// Interrupt the shell again, also while it expands words, and send `SIGTERM` to programs that it has started
    /// since.
    Interrupt,
    /// Interrupt the shell again, and ask it for a number: an interrupt may have hit the line that reports the exit
    /// status.
    InterruptAndAskNumber,
    /// Ask the shell for a number.
    AskNumber,
    /// Stop the command because its shell cannot report an exit status, and kill the shell.
    StopMute,
    /// Kill the shell and everything in the session.
    KillShell,
    /// Tell the caller that none of the command ran.
    Refuse,
    /// Report the end of the command; first its beginning, unless that was announced.
    Finish { event: Event, announced: bool },
    /// Kill the shell, which does not answer any more, and report this exit status of the command.
    Abandon(Exit),
}

impl ShellCheck {
    fn first(now: Instant) -> Self {
        Self { at: now + FIRST_CHECK_AFTER, pause: FIRST_CHECK_AFTER }
    }

    fn next(self, now: Instant) -> Self {
        let pause = (self.pause * 2).min(LONGEST_PAUSE_BETWEEN_CHECKS);
        Self { at: now + pause, pause }
    }
}

impl Turn {
    /// A turn whose script was handed over now.
    pub(super) fn new(now: Instant, must_read: bool) -> Self {
        Self::Handed { since: now, announce_at: now + ANNOUNCE_AFTER, check: ShellCheck::first(now), must_read }
    }

    /// True if the script has not ended yet.
    pub(super) fn is_under_way(self) -> bool {
        matches!(self, Self::Handed { .. } | Self::Running { .. } | Self::Interrupted { .. })
    }

    /// Time of the next [`TurnEvent::Tick`] that matters even if nothing happens.
    pub(super) fn alarm(self) -> Option<Instant> {
        match self {
            Self::Handed { announce_at, check, .. } => Some(announce_at.min(check.at)),
            Self::Running { check, .. } | Self::Clearing { check, .. } | Self::Answered { check, .. } => Some(check.at),
            Self::Settling { until, .. } => Some(until),
            Self::Interrupted { again_at, .. } | Self::Probing { again_at, .. } => Some(again_at),
            Self::Ending { .. } | Self::Over => None,
        }
    }

    /// Decides the next state, and the effect that it calls for.
    #[must_use]
    pub(super) fn step(self, event: TurnEvent, now: Instant) -> (Self, Option<TurnEffect>) {
        match self {
            Self::Handed { .. } | Self::Running { .. } => self.step_under_way(event, now),
            Self::Ending { .. } | Self::Settling { .. } => self.step_ending(event, now),
            Self::Interrupted { .. } => self.step_interrupted(event, now),
            Self::Clearing { .. } | Self::Probing { .. } | Self::Answered { .. } => self.step_stopped(event, now),
            Self::Over => (Self::Over, None),
        }
    }

    fn step_under_way(self, event: TurnEvent, now: Instant) -> (Self, Option<TurnEffect>) {
        let (check, must_read, announced) = match self {
            Self::Handed { check, must_read, .. } => (check, must_read, false),
            Self::Running { check, must_read } => (check, must_read, true),
            _ => return (self, None),
        };
        match (self, event) {
            (Self::Handed { announce_at, .. }, TurnEvent::Tick) if announce_at <= now => {
                (self, Some(TurnEffect::CheckScript))
            }
            (Self::Handed { since, .. }, TurnEvent::ScriptUnread) if now < since + READ_WITHIN => {
                // The script has not begun. The next check comes after twice the time.
                let announce_at = now + now.duration_since(since).max(ANNOUNCE_AFTER);
                (Self::Handed { since, announce_at, check, must_read }, None)
            }
            (Self::Handed { .. }, TurnEvent::ScriptRead | TurnEvent::ScriptUnread) => {
                (Self::Running { check, must_read }, Some(TurnEffect::Announce))
            }
            (_, TurnEvent::Tick) if check.at <= now => (self.with_check(check.next(now)), Some(TurnEffect::CheckShell)),
            // Nobody will report the exit status, and such a shell is of no further use.
            (_, TurnEvent::ShellIdle) => (self, Some(TurnEffect::StopMute)),
            (_, TurnEvent::Message(ShellMessage::Done(code))) if must_read => {
                (Self::Ending { exit: Exit::Code(code), announced }, Some(TurnEffect::CheckScript))
            }
            (_, TurnEvent::Message(ShellMessage::Done(code))) => Self::settle(Exit::Code(code), announced, now),
            // The end of the shell is the end of its script.
            (Self::Handed { .. }, TurnEvent::ShellEnded(exit)) => {
                (Self::Ending { exit, announced }, Some(TurnEffect::CheckScript))
            }
            (_, TurnEvent::ShellEnded(exit)) => Self::settle(exit, announced, now),
            (_, TurnEvent::StopBegun) => {
                let interrupted = Self::Interrupted { round: 0, again_at: now + INTERRUPT_AGAIN, number: None };
                (interrupted, announce_unless(announced))
            }
            _ => (self, None),
        }
    }

    fn step_ending(self, event: TurnEvent, now: Instant) -> (Self, Option<TurnEffect>) {
        let (Self::Ending { exit, announced } | Self::Settling { exit, announced, .. }) = self else {
            return (self, None);
        };
        match (self, event) {
            (_, TurnEvent::StopBegun) => {
                (Self::Clearing { exit, check: ShellCheck::first(now) }, announce_unless(announced))
            }
            (Self::Ending { .. }, TurnEvent::Tick) => (self, Some(TurnEffect::CheckScript)),
            (Self::Ending { .. }, TurnEvent::ScriptRead) => Self::settle(exit, announced, now),
            // The shell is gone, or cannot read scripts any more. Another shell may run this one.
            (Self::Ending { announced: false, .. }, TurnEvent::ScriptUnread) => (Self::Over, Some(TurnEffect::Refuse)),
            (Self::Ending { .. }, TurnEvent::ScriptUnread) => (self, Some(TurnEffect::StopMute)),
            (Self::Settling { .. }, TurnEvent::Tick) => (self, Some(TurnEffect::CheckProcesses)),
            (Self::Settling { .. }, TurnEvent::OnlyShellLeft | TurnEvent::NothingLeft) => {
                finish(Event::TreeGone(exit), announced)
            }
            (Self::Settling { until, .. }, TurnEvent::ProcessesLeft) if until <= now => {
                finish(Event::ShellEnded(exit), announced)
            }
            _ => (self, None),
        }
    }

    fn step_interrupted(self, event: TurnEvent, now: Instant) -> (Self, Option<TurnEffect>) {
        let Self::Interrupted { round, again_at, number } = self else { return (self, None) };
        let check = ShellCheck::first(now);
        let drop_script = |exit| (Self::Clearing { exit, check }, Some(TurnEffect::CheckProcesses));
        match event {
            // The signal may have come between two commands of a loop, or the shell may not check for signals for long.
            TurnEvent::Tick if again_at <= now => {
                let round = round.saturating_add(1);
                let effect = if round % 2 == 1 { TurnEffect::Interrupt } else { TurnEffect::InterruptAndAskNumber };
                (Self::Interrupted { round, again_at: now + INTERRUPT_AGAIN, number }, Some(effect))
            }
            TurnEvent::NumberAsked(asked) => (Self::Interrupted { round, again_at, number: Some(asked) }, None),
            TurnEvent::Message(ShellMessage::Done(code)) => drop_script(Exit::Code(code)),
            // The shell is back without an exit status: an interrupt has hit the line that reports it.
            TurnEvent::Message(ShellMessage::Number(said)) if number == Some(said) => {
                drop_script(Exit::Code(INTERRUPTED))
            }
            TurnEvent::ShellEnded(exit) => drop_script(exit),
            TurnEvent::KillPass { lasts } if lasts > COME_BACK_WITHIN => (self, Some(TurnEffect::KillShell)),
            _ => (self, None),
        }
    }

    fn step_stopped(self, event: TurnEvent, now: Instant) -> (Self, Option<TurnEffect>) {
        let (Self::Clearing { exit, .. } | Self::Probing { exit, .. } | Self::Answered { exit, .. }) = self else {
            return (self, None);
        };
        match (self, event) {
            (_, TurnEvent::Tick) => (self, Some(TurnEffect::CheckProcesses)),
            (_, TurnEvent::NothingLeft) | (Self::Answered { .. }, TurnEvent::OnlyShellLeft) => {
                finish(Event::TreeGone(exit), true)
            }
            (_, TurnEvent::ProcessesStuck) => finish(Event::Stuck, true),
            (Self::Clearing { check, .. }, TurnEvent::ProcessesLeft) if check.at <= now => {
                (Self::Clearing { exit, check: check.next(now) }, None)
            }
            (Self::Answered { check, .. }, TurnEvent::ProcessesLeft) if check.at <= now => {
                (Self::Answered { exit, check: check.next(now) }, None)
            }
            (Self::Clearing { .. }, TurnEvent::OnlyShellLeft) => (self, Some(TurnEffect::AskNumber)),
            (Self::Clearing { .. }, TurnEvent::NumberAsked(number)) => {
                let give_up_at = now + COME_BACK_WITHIN;
                (Self::Probing { exit, number, again_at: now + INTERRUPT_AGAIN, give_up_at }, None)
            }
            (Self::Probing { give_up_at, .. }, TurnEvent::OnlyShellLeft) if give_up_at <= now => {
                (Self::Over, Some(TurnEffect::Abandon(exit)))
            }
            // A late interrupt may have hit the line that asks for the number.
            (Self::Probing { again_at, .. }, TurnEvent::OnlyShellLeft) if again_at <= now => {
                (self, Some(TurnEffect::AskNumber))
            }
            (Self::Probing { give_up_at, .. }, TurnEvent::NumberAsked(number)) => {
                (Self::Probing { exit, number, again_at: now + INTERRUPT_AGAIN, give_up_at }, None)
            }
            // A trap of the shell has started a process.
            (Self::Probing { number, again_at, give_up_at, .. }, TurnEvent::ProcessesLeft) if again_at <= now => {
                (Self::Probing { exit, number, again_at: now + INTERRUPT_AGAIN, give_up_at }, None)
            }
            (Self::Clearing { .. } | Self::Probing { .. }, TurnEvent::NumberNotAsked) => {
                (Self::Over, Some(TurnEffect::Abandon(exit)))
            }
            (Self::Probing { number, .. }, TurnEvent::Message(ShellMessage::Number(said))) if number == said => {
                (Self::Answered { exit, check: ShellCheck::first(now) }, Some(TurnEffect::CheckProcesses))
            }
            _ => (self, None),
        }
    }

    fn settle(exit: Exit, announced: bool, now: Instant) -> (Self, Option<TurnEffect>) {
        (Self::Settling { exit, announced, until: now + SETTLE }, Some(TurnEffect::CheckProcesses))
    }

    fn with_check(self, check: ShellCheck) -> Self {
        match self {
            Self::Handed { since, announce_at, must_read, .. } => Self::Handed { since, announce_at, check, must_read },
            Self::Running { must_read, .. } => Self::Running { check, must_read },
            other => other,
        }
    }
}

fn finish(event: Event, announced: bool) -> (Turn, Option<TurnEffect>) {
    (Turn::Over, Some(TurnEffect::Finish { event, announced }))
}

/// A stopped command is always reported as begun, so its caller may know at once.
fn announce_unless(announced: bool) -> Option<TurnEffect> {
    (!announced).then_some(TurnEffect::Announce)
}

#[cfg(test)]
mod tests;
