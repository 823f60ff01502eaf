//! When to kill again, and when to give up on it.

use std::time::{Duration, Instant};

/// Killing is repeated after this long, then after twice as long, up to [`AGAIN_AT_MOST`].
const AGAIN: Duration = Duration::from_millis(2);
const AGAIN_AT_MOST: Duration = Duration::from_millis(500);

/// What is not dead so long after it was killed is stuck in the kernel, or out of our reach.
const STUCK_AFTER: Duration = Duration::from_secs(5);

/// A tree that is being killed. One pass can miss a process that was just being born.
pub(crate) struct Killing {
    since: Instant,
    again_at: Instant,
    pause: Duration,
    given_up: bool,
}

impl Killing {
    pub(crate) fn new(now: Instant) -> Self {
        Self { since: now, again_at: now, pause: AGAIN, given_up: false }
    }

    /// One more pass is done.
    pub(crate) fn has_killed(&mut self) {
        self.again_at = Instant::now() + self.pause;
        self.pause = (self.pause * 2).min(AGAIN_AT_MOST);
    }

    /// When the next pass is due.
    pub(crate) fn again_at(&self) -> Instant {
        self.again_at
    }

    /// For how long it has been tried.
    pub(crate) fn lasts(&self, now: Instant) -> Duration {
        now.saturating_duration_since(self.since)
    }

    /// Whether it is time to say that something cannot be killed; only once.
    pub(crate) fn gives_up(&mut self, now: Instant) -> bool {
        let gives_up = !self.given_up && self.lasts(now) >= STUCK_AFTER;
        self.given_up |= gives_up;
        gives_up
    }
}
