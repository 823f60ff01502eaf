//! Wakes a stopped keeper when it has something to do.
//!
//! A command can stop its keeper (`kill -STOP $PPID`), and the program that would notice may be gone. The kernel then
//! continues the keeper: sockets do so by themselves ([`wake::on_news`]), and the alarms here do so when a time is due.

use std::time::{Duration, Instant};

use bashful_sys::wake::AlarmClock;

use crate::tree::Scope;

/// A keeper that is stopped while it stops a tree continues after this time.
const GO_ON_AFTER: Duration = Duration::from_millis(20);

/// Delays after the due time at which the keeper is woken, in case it is stopped again before it has set new alarms. A
/// repeating timer would not do: its signal is not sent again before the last one is delivered, and a stop discards
/// that one. The last two are for a keeper that was stopped by a process it was killing, after the other alarms had
/// gone off.
const WAKE: [Duration; 6] = [
    Duration::ZERO,
    Duration::from_millis(200),
    Duration::from_secs(1),
    Duration::from_secs(5),
    Duration::from_secs(20),
    Duration::from_mins(2),
];

/// Alarms that continue a stopped keeper process.
#[derive(Debug)]
pub(crate) struct WakeAlarms {
    clocks: Clocks,
    set_to: Option<Instant>,
}

#[derive(Debug)]
enum Clocks {
    /// A thread of a host has none: it must not wake a host that its user has suspended.
    Never,
    NotYet,
    /// One for each delay in [`WAKE`]. A keeper that cannot get timers is still woken by its sockets.
    Ready(Vec<AlarmClock>),
}

impl WakeAlarms {
    /// Prepares alarms for a keeper process, and none for a thread of a host.
    pub(crate) fn new(scope: Scope) -> Self {
        let clocks = match scope {
            Scope::EverythingBelow => Clocks::NotYet,
            Scope::BelowShell => Clocks::Never,
        };
        Self { clocks, set_to: None }
    }

    /// Sets the alarms to this time, so that the keeper is awake then. Keeps earlier alarms if there is none.
    pub(crate) fn wake_at(&mut self, due: Option<Instant>, now: Instant) {
        let Some(due) = due.filter(|due| self.set_to != Some(*due)) else { return };
        if matches!(self.clocks, Clocks::NotYet) {
            self.clocks = Clocks::Ready(WAKE.iter().filter_map(|_| AlarmClock::new().ok()).collect());
        }
        if let Clocks::Ready(clocks) = &self.clocks {
            for (clock, later) in clocks.iter().zip(WAKE) {
                clock.set(due.saturating_duration_since(now).saturating_add(later));
            }
            self.set_to = Some(due);
        }
    }

    /// Sets the alarms to [`GO_ON_AFTER`], for a keeper that is about to signal processes that could stop it.
    pub(crate) fn wake_soon(&mut self) {
        if !matches!(self.clocks, Clocks::Never) {
            let now = Instant::now();
            self.wake_at(Some(now + GO_ON_AFTER), now);
        }
    }
}
