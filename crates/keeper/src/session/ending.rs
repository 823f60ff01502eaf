//! Ends a session: stops everything in it, and leaves the reason for the next session of its name.

use std::os::fd::{AsFd, BorrowedFd};
use std::time::Instant;

use bashful_sys::{news, signal};

use super::Session;
use crate::pump::Pumped;
use crate::stopping::StopMachine;
use crate::tree::TreeState;
use crate::{Event, Exit, StopReason, duration_text};

impl Session {
    /// Closes the session to clients, and stops everything in it.
    pub(super) fn end(mut self) {
        // A shell that accepts no more lines may have ended.
        self.tree.reap();
        let exit = self.tree.exit();
        let why = self.ends_because.or(self.killed_for).unwrap_or(StopReason::LeftBehind);
        // The socket is closed first: a client that connects from now on starts another session, and need not wait for
        // the end of this one.
        if self.listener.is_removed {
            self.listener.abandon();
        } else {
            let reason = self.end_reason(exit);
            self.listener.close(reason.as_deref());
        }
        self.driver.close();
        self.tree.include_all();
        self.stop_everything(why);
    }

    /// Stops every process in the session. Returns when none is left, or when the rest cannot be killed.
    fn stop_everything(mut self, why: StopReason) {
        let mut stopping = StopMachine::new(None, self.grace);
        stopping.handle(Event::StopAsked(why), &mut self.tree, None);
        loop {
            let rest = stopping.reap(&mut self.tree);
            let now = Instant::now();
            if matches!(rest, TreeState::Gone(_)) || stopping.gives_up(now) {
                return;
            }
            let due = stopping.alarm();
            self.tree.alarms.wake_at(due, now);
            let pumps = self.pumps.iter().map(AsFd::as_fd);
            let watched: Vec<BorrowedFd<'_>> = [self.signals.as_fd()].into_iter().chain(pumps).collect();
            news::wait(&watched, due.map(|due| due.saturating_duration_since(now)));
            // Signals that ask the keeper to end come too late to matter.
            let _ = self.signals.read_pending();
            self.pumps.retain_mut(|pump| pump.run() != Pumped::Ended);
            if stopping.is_due(Instant::now()) {
                stopping.handle(Event::Tick, &mut self.tree, None);
            }
        }
    }

    /// The reason, for a notice of the next session of this name; none if nobody can ask for it any more.
    fn end_reason(&self, exit: Option<Exit>) -> Option<String> {
        let reason = match (self.killed_for, self.ends_because, exit) {
            (Some(StopReason::Mute), ..) => "its shell could no longer run commands".to_owned(),
            (Some(why), ..) => format!("its shell had to be killed: {why}"),
            (None, Some(StopReason::EngineGone), _) => return None,
            (None, Some(StopReason::TimeUp), _) => {
                let idle = duration_text(self.idle_at_most.unwrap_or_default());
                format!("it was ended because it had nothing to do for {idle}")
            }
            (None, Some(StopReason::Cancelled), _) if self.makes_room => "it made room for another session".to_owned(),
            (None, Some(StopReason::Cancelled), _) => "it was ended by request".to_owned(),
            (None, Some(why), _) => format!("it was ended: {why}"),
            (None, None, Some(Exit::Code(code))) => format!("its shell ended with exit code {code}"),
            (None, None, Some(Exit::Signal(number))) => match signal::name(number.into()) {
                Some(name) => format!("its shell was killed by signal {number} ({name})"),
                None => format!("its shell was killed by signal {number}"),
            },
            (None, None, None) => "its shell could no longer be told anything".to_owned(),
        };
        Some(reason)
    }
}
