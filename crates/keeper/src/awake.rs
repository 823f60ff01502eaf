//! Has the kernel continue a stopped keeper when it has something to do.
//!
//! A command can stop its keeper (`kill -STOP $PPID`), and the program that would notice may be gone. Sockets wake the keeper
//! by themselves ([`wake::on_news`]); this wakes it when time is up.

use std::time::{Duration, Instant};

use bashful_sys::wake::AlarmClock;

/// While something is being stopped, a keeper that is stopped in the middle of it goes on after this.
const GO_ON_AFTER: Duration = Duration::from_millis(20);

/// The alarm of a keeper.
#[derive(Debug, Default)]
pub(crate) struct Awake {
    clock: Clock,
    set_to: Option<Instant>,
}

#[derive(Debug, Default)]
enum Clock {
    /// A thread of a host has none: waking the host is not its business. Nor has a keeper that cannot get one, which is
    /// still woken by its sockets.
    #[default]
    Never,
    NotYet,
    Ready(AlarmClock),
}

impl Awake {
    /// For a keeper that is a process of its own.
    pub(crate) fn for_process() -> Self {
        Self { clock: Clock::NotYet, set_to: None }
    }

    /// Makes sure that the keeper is awake at this time, if there is one.
    pub(crate) fn at(&mut self, due: Option<Instant>, now: Instant) {
        let Some(due) = due.filter(|due| self.set_to != Some(*due)) else { return };
        if matches!(self.clock, Clock::NotYet) {
            self.clock = AlarmClock::new().map_or(Clock::Never, Clock::Ready);
        }
        if let Clock::Ready(clock) = &self.clock {
            clock.set(due.saturating_duration_since(now));
            self.set_to = Some(due);
        }
    }

    /// Makes sure that the keeper goes on soon if somebody stops it while it is at work.
    pub(crate) fn soon(&mut self) {
        if !matches!(self.clock, Clock::Never) {
            let now = Instant::now();
            self.at(Some(now + GO_ON_AFTER), now);
        }
    }
}
