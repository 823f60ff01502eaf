//! Wakes a stopped keeper when it has something to do.
//!
//! A command can stop its keeper (`kill -STOP $PPID`), and the program that would notice may be gone. The kernel then
//! continues the keeper: sockets do so by themselves ([`bashful_sys::wake::on_news`]), and the alarms here do so when a time is due.

use std::time::{Duration, Instant};

use bashful_sys::wake::AlarmClock;

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
#[derive(Debug, Default)]
pub(crate) struct WakeAlarms {
    /// One for each delay in [`WAKE`], made when the first is set. A keeper that cannot get timers is still woken by its
    /// sockets.
    clocks: Option<Vec<AlarmClock>>,
    set_to: Option<Instant>,
}

impl WakeAlarms {
    /// Sets the alarms to this time, so that the keeper is awake then. Keeps earlier alarms if there is none.
    pub(crate) fn wake_at(&mut self, due: Option<Instant>, now: Instant) {
        let Some(due) = due.filter(|due| self.set_to != Some(*due)) else { return };
        let make = || WAKE.iter().filter_map(|_| AlarmClock::new().ok()).collect();
        for (clock, later) in self.clocks.get_or_insert_with(make).iter().zip(WAKE) {
            clock.set(due.saturating_duration_since(now).saturating_add(later));
        }
        self.set_to = Some(due);
    }

    /// Sets the alarms to [`GO_ON_AFTER`], for a keeper that is about to signal processes that could stop it.
    pub(crate) fn wake_soon(&mut self) {
        let now = Instant::now();
        self.wake_at(Some(now + GO_ON_AFTER), now);
    }
}
