//! Loops.

use crate::marks::{HOME, START, UNKNOWN, is_mark};
use crate::rules::TOO_COMPLEX;
use crate::walk::interest::interest;
use crate::walk::state::{ShellState, ShellValue};
use crate::walk::{Flow, ScriptWalk};
use bashful_bash::ast::{List, ShellWord, WordPiece};

/// The most values of a `for` loop that may repeat.
const MOST_ROUNDS: usize = 64;

/// The rounds of a loop whose condition is unknown. The second round sees the variables that the first has set.
const UNKNOWN_ROUNDS: usize = 3;

impl ScriptWalk<'_> {
    /// `for ((first; condition; step))`
    pub(super) fn for_arithmetic(&mut self, head: &[WordPiece], body: &List) -> Flow {
        let head = self.expand_text(&ShellWord { pieces: head.to_vec(), ..ShellWord::default() });
        let mut parts = head.split(';');
        let (first, condition, step) = (parts.next(), parts.next().unwrap_or(""), parts.next().unwrap_or(""));
        self.number(first.unwrap_or(""));
        let asked = self.trail.asked();
        let mut is_partial = true;
        for round in 0..self.budget.detail().rounds {
            let goes_on = if condition.trim().is_empty() { None } else { self.number(condition) };
            if self.budget.is_exhausted() || goes_on == Some(0) || goes_on.is_none() && round >= UNKNOWN_ROUNDS {
                is_partial = false;
                break;
            }
            self.budget.spend(1);
            self.run_list(body);
            self.number(step);
        }
        self.find_unnamed(is_partial, asked);
        Flow::Next
    }

    /// `while` and `until`. A condition that is certain at its first look may keep the body from running at all.
    pub(super) fn run_loop(&mut self, condition: &List, body: &List, is_until: bool) -> Flow {
        let before = self.world.shell.clone();
        let could_read = self.world.shell.input.len();
        self.world.shell.read_failed = false;
        let flow = self.run_condition(condition);
        if flow.is_end() || self.certain_status() == Some(is_until) {
            return flow;
        }
        let reads = self.world.shell.input.len() < could_read;
        self.run_inexactly(|walk| walk.run_rounds(condition, body, reads, before))
    }

    /// The rounds of a loop whose condition has run once. `reads` is true if it has read a line.
    fn run_rounds(&mut self, condition: &List, body: &List, mut reads: bool, before: ShellState) -> Flow {
        let (mut rounds, asked) = (0, self.trail.asked());
        while rounds < self.budget.detail().rounds && !self.budget.is_exhausted() {
            if rounds > 0 {
                let could_read = self.world.shell.input.len();
                self.world.shell.read_failed = false;
                self.run_list(condition);
                reads = self.world.shell.input.len() < could_read;
            }
            // The loop's last look at its input finds nothing more.
            if self.world.shell.read_failed && rounds > 0 {
                break;
            }
            rounds += 1;
            self.run_list(body);
            if !reads && rounds >= UNKNOWN_ROUNDS {
                break;
            }
        }
        self.find_unnamed(reads && rounds >= self.budget.detail().rounds, asked);
        self.world.shell.read_failed = false;
        let after = std::mem::replace(&mut self.world.shell, before);
        self.world.shell = after.join(&self.world.shell);
        Flow::Next
    }

    /// Says that a question does not name every command, if rounds were left out of a loop that somebody is asked about.
    pub(super) fn find_unnamed(&mut self, is_partial: bool, asked_before: usize) {
        if is_partial && self.trail.asked() > asked_before {
            let message = format!("{}: it does this more often than can be named", TOO_COMPLEX.message);
            self.report(TOO_COMPLEX.name, TOO_COMPLEX.level, &message, TOO_COMPLEX.alternative);
        }
    }

    pub(super) fn for_each(&mut self, name: &str, words: Option<&[ShellWord]>, body: &List) -> Flow {
        let mut values = Vec::new();
        match words {
            None => values = self.world.shell.arguments.to_vec(),
            Some(words) => {
                self.run_with_choices(&mut |walk| {
                    let fields = walk.expand_fields(words);
                    for field in fields {
                        if !values.contains(&field) || values.len() < MOST_ROUNDS {
                            values.push(field);
                        }
                    }
                    Flow::Next
                });
            }
        }
        // A pattern stands for any number of names, and of a long list not all values are taken.
        let is_exact = !values.is_empty()
            && values.len() <= self.budget.detail().rounds.min(MOST_ROUNDS)
            && !values.iter().any(|value| value.contains(|letter| is_mark(letter) && !matches!(letter, HOME | START)))
            && self.world.shell.doubtful == 0;
        if is_exact {
            self.world.loops += 1;
            let flow = self.run_each(name, values, body);
            self.world.loops = self.world.loops.saturating_sub(1);
            return flow;
        }
        self.run_inexactly(|walk| walk.run_each(name, values, body))
    }

    /// Runs the body of a loop with these values.
    fn run_each(&mut self, name: &str, values: Vec<String>, body: &List) -> Flow {
        let (total, asked) = (values.len(), self.trail.asked());
        let mut is_partial = false;
        for (round, value) in values.into_iter().enumerate() {
            if self.budget.is_exhausted() {
                break;
            }
            // Of long lists, the first ones, the last one, and those that stand out.
            if round >= self.budget.detail().rounds && round + 1 < total && interest(&value) < 2 {
                is_partial = true;
                continue;
            }
            self.budget.spend(1);
            self.assign(name, ShellValue::Scalar(value), None);
            let flow = self.run_list(body);
            if let Some(flow) = flow.out_of_loop() {
                return flow;
            }
        }
        self.find_unnamed(is_partial, asked);
        if total == 0 {
            // Nothing would run, unless the list comes from outside.
            self.assign(name, ShellValue::Scalar(UNKNOWN.to_string()), None);
            let before = self.world.shell.clone();
            self.run_list(body);
            self.world.shell = before;
        }
        Flow::Next
    }
}
