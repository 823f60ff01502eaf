//! Answers to a program's questions, bounded in size and rate.
//!
//! An answer is input to the program. A flood of questions must therefore not become a flood of input, and an answer
//! is sent whole or not at all: half of one would be read as keys.

use std::collections::VecDeque;
use std::time::Instant;

/// Bytes of answers that wait. A program asks a handful of questions when it starts, of some 10 bytes each.
const MOST_PENDING: usize = 4 * 1024;

/// Bytes of answers a second, after a first burst of [`MOST_PENDING`].
const MOST_PER_SECOND: u128 = 16 * 1024;

/// Answers that wait to be written to the program.
#[derive(Debug)]
pub(crate) struct Answers {
    pending: VecDeque<Vec<u8>>,
    pending_bytes: usize,
    /// Bytes that may be sent now; grows with time.
    allowance: usize,
    refilled: Option<Instant>,
    dropped: u64,
}

impl Default for Answers {
    fn default() -> Self {
        Self { pending: VecDeque::new(), pending_bytes: 0, allowance: MOST_PENDING, refilled: None, dropped: 0 }
    }
}

impl Answers {
    /// Queues one whole answer, or drops it if too many wait.
    pub(crate) fn push(&mut self, answer: Vec<u8>) {
        if self.pending_bytes + answer.len() > MOST_PENDING {
            self.dropped += 1;
            return;
        }
        self.pending_bytes += answer.len();
        self.pending.push_back(answer);
    }

    /// The whole answers that may be written now. The rest waits for a later call.
    pub(crate) fn take(&mut self, now: Instant) -> Vec<u8> {
        self.refill(now);
        let mut bytes = Vec::new();
        while let Some(answer) = self.pending.pop_front_if(|answer| answer.len() <= self.allowance) {
            self.allowance -= answer.len();
            self.pending_bytes -= answer.len();
            bytes.extend(answer);
        }
        bytes
    }

    pub(crate) fn are_pending(&self) -> bool {
        !self.pending.is_empty()
    }

    pub(crate) fn dropped(&self) -> u64 {
        self.dropped
    }

    fn refill(&mut self, now: Instant) {
        let Some(before) = self.refilled else {
            self.refilled = Some(now);
            return;
        };
        let gained = now.saturating_duration_since(before).as_micros() * MOST_PER_SECOND / 1_000_000;
        // Time that is too short for a byte keeps adding up, however often a caller asks.
        if gained > 0 {
            let missing = MOST_PENDING - self.allowance;
            self.allowance += usize::try_from(gained).unwrap_or(missing).min(missing);
            self.refilled = Some(now);
        }
    }
}
