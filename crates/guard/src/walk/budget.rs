//! The budget of a walk: the steps, the depth and the text after which it gives up.
//!
//! Invariant: an exhausted budget stays exhausted, and the verdict then says so.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Simple commands, iterations and the like, for a short script. A loop over loops over loops has more.
const MOST_STEPS: usize = 30_000;

/// A long script gets one step more for every so many bytes: about two commands for a line.
const BYTES_A_STEP: usize = 16;

/// The deepest nesting of commands while they run, over all scripts in scripts.
const DEEPEST: usize = 96;

/// All text that the script puts together and then runs, in bytes.
const MOST_DERIVED: usize = 512 << 10;

/// Ways through a script multiply where loops, functions and doubtful variables meet, and a long script has many of those.
/// With every stage fewer of them are followed, those with values that stand out first (see [`super::interest`]).
const STAGES: [(usize, WalkDetail); 5] = [
    (1_000, WalkDetail { choices: 24, rounds: 64, calls: usize::MAX }),
    (2_000, WalkDetail { choices: 6, rounds: 12, calls: 64 }),
    (4_000, WalkDetail { choices: 3, rounds: 4, calls: 16 }),
    (7_000, WalkDetail { choices: 2, rounds: 2, calls: 4 }),
    (usize::MAX, WalkDetail { choices: 1, rounds: 1, calls: 1 }),
];

/// The number of ways that a walk follows.
#[derive(Debug, Clone, Copy)]
pub(super) struct WalkDetail {
    /// Combinations of doubtful variables that one command is followed with.
    pub(super) choices: usize,
    /// Rounds of a loop.
    pub(super) rounds: usize,
    /// Calls of one function whose arguments do not stand out.
    pub(super) calls: usize,
}

/// The work that a walk may still do.
#[derive(Debug)]
pub(crate) struct WalkBudget {
    steps_left: usize,
    steps_spent: usize,
    derived_left: usize,
    depth: usize,
    exhausted: Option<&'static str>,
    /// Set by somebody who does not wait any longer.
    pub(crate) gives_up: Arc<AtomicBool>,
}

impl WalkBudget {
    /// The budget for a text of so many bytes.
    pub(super) fn for_text(bytes: usize) -> Self {
        let steps_left = MOST_STEPS + bytes / BYTES_A_STEP;
        Self {
            steps_left,
            steps_spent: 0,
            derived_left: MOST_DERIVED,
            depth: 0,
            exhausted: None,
            gives_up: Arc::default(),
        }
    }

    /// Why the walk has given up, in words that follow "this script is too complex to be judged: ".
    pub(crate) fn exhausted(&self) -> Option<&'static str> {
        self.exhausted
    }

    /// True once the walk has given up.
    pub(crate) fn is_exhausted(&self) -> bool {
        self.exhausted.is_some()
    }

    /// Gives up. The first reason is kept.
    pub(crate) fn give_up(&mut self, why: &'static str) {
        self.exhausted.get_or_insert(why);
    }

    /// Uses up steps, and gives up after too many.
    pub(crate) fn spend(&mut self, steps: usize) {
        let is_enough = steps <= self.steps_left;
        self.steps_left = self.steps_left.saturating_sub(steps);
        self.steps_spent = self.steps_spent.saturating_add(steps);
        if !is_enough {
            self.give_up("it has too many steps to follow");
        }
        if self.gives_up.load(Ordering::Relaxed) {
            self.give_up("it takes too long to follow");
        }
    }

    /// The detail at this length of the walk.
    pub(super) fn detail(&self) -> WalkDetail {
        let [.., (_, last)] = STAGES;
        STAGES.iter().find(|(until, _)| self.steps_spent < *until).map_or(last, |(_, detail)| *detail)
    }

    /// True while the walk follows every way.
    pub(super) fn is_detailed(&self) -> bool {
        let [(until, _), ..] = STAGES;
        self.steps_spent < until
    }

    /// Uses up text that the script has put together to run; false if that is too much.
    pub(super) fn spend_derived(&mut self, bytes: usize) -> bool {
        let is_enough = bytes <= self.derived_left;
        self.derived_left = self.derived_left.saturating_sub(bytes);
        if !is_enough {
            self.give_up("it puts together too much text to run");
        }
        is_enough
    }

    /// Goes one level deeper; false if that is too deep, or the budget is exhausted. A true needs a [`Self::leave`].
    pub(crate) fn enter(&mut self) -> bool {
        if self.is_exhausted() {
            return false;
        }
        if self.depth >= DEEPEST {
            self.give_up("it is nested too deeply");
            return false;
        }
        self.depth += 1;
        true
    }

    /// The number of levels that were entered and not left.
    pub(super) fn depth(&self) -> usize {
        self.depth
    }

    /// Comes back from a level.
    pub(crate) fn leave(&mut self) {
        self.depth -= 1;
    }

    /// Takes back that the walk has given up, after work that the verdict does not depend on.
    pub(super) fn forgive(&mut self) {
        self.exhausted = None;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_reason_to_give_up_is_kept() {
        let mut budget = WalkBudget::for_text(0);
        budget.spend(MOST_STEPS);
        assert_eq!(budget.exhausted(), None);
        budget.spend(1);
        assert!(!budget.enter());
        budget.give_up("something else");
        assert_eq!(budget.exhausted(), Some("it has too many steps to follow"));
    }

    #[test]
    fn a_level_that_was_left_can_be_entered_again() {
        let mut budget = WalkBudget::for_text(0);
        for _ in 0..3 * DEEPEST {
            assert!(budget.enter());
            budget.leave();
        }
        assert!((0..DEEPEST).all(|_| budget.enter()));
        assert!(!budget.enter());
    }
}
