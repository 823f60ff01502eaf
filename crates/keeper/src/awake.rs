//! Has the kernel continue a stopped keeper when it has something to do.
//!
//! A command can stop its keeper (`kill -STOP $PPID`), and the program that would notice may be gone. Sockets wake the keeper
//! by themselves ([`bashful_sys::wake::on_news`]); this wakes it when time is up.

use std::time::{Duration, Instant};

use bashful_sys::wake::AlarmClock;

use crate::tree::Scope;

/// While something is being stopped, a keeper that is stopped in the middle of it goes on after this.
const GO_ON_AFTER: Duration = Duration::from_millis(20);

/// How long after it is due a keeper is woken, in case it is stopped again before it has set its alarms anew. A timer that
/// repeats would not do: its signal is not sent again before the last one is taken, and a stop discards that. The last two
/// are for a keeper that was stopped by the very process that it was killing, after all others had gone off.
const WAKE: [Duration; 6] = [
    Duration::ZERO,
    Duration::from_millis(200),
    Duration::from_secs(1),
    Duration::from_secs(5),
    Duration::from_secs(20),
    Duration::from_mins(2),
];

/// The alarms of a keeper.
#[derive(Debug)]
pub(crate) struct Awake {
    clocks: Clocks,
    set_to: Option<Instant>,
}

#[derive(Debug)]
enum Clocks {
    /// A thread of a host has none: waking the host is not its business.
    Never,
    NotYet,
    /// One for each of [`WAKE`]. A keeper that cannot get them is still woken by its sockets.
    Ready(Vec<AlarmClock>),
}

impl Awake {
    /// For a keeper that watches over this much: only a process of its own watches over everything below it.
    pub(crate) fn new(scope: Scope) -> Self {
        let clocks = match scope {
            Scope::EverythingBelow => Clocks::NotYet,
            Scope::BelowShell => Clocks::Never,
        };
        Self { clocks, set_to: None }
    }

    /// Makes sure that the keeper is awake at this time, if there is one.
    pub(crate) fn at(&mut self, due: Option<Instant>, now: Instant) {
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

    /// Makes sure that the keeper goes on soon if somebody stops it while it is at work.
    pub(crate) fn soon(&mut self) {
        if !matches!(self.clocks, Clocks::Never) {
            let now = Instant::now();
            self.at(Some(now + GO_ON_AFTER), now);
        }
    }
}
