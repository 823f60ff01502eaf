//! The lines that a command of `sed` is for: addresses and ranges.

use super::is_vague;
use super::parse::{Address, RangeEnd, SedCommand};
use super::run::{Lines, SedRun};
use crate::walk::ScriptWalk;
use crate::walk::filters::options::{Exact, Inexact};

/// Whether a command is for a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Choice {
    Yes,
    No,
    /// The line, or its number, is not known.
    Perhaps,
}

impl From<bool> for Choice {
    fn from(chosen: bool) -> Self {
        if chosen { Self::Yes } else { Self::No }
    }
}

/// The state of a range of lines.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RangeState {
    Closed,
    /// It began at a line by its number, and never begins again.
    Over,
    /// Open until its end matches.
    Open,
    /// Open up to this line.
    Until(usize),
}

impl SedRun<'_> {
    /// Whether a command is for the current line.
    pub(super) fn choice(
        &mut self,
        walk: &mut ScriptWalk<'_>,
        command: &SedCommand,
        at: usize,
        lines: &Lines<'_>,
    ) -> Exact<Choice> {
        let choice = match (&command.first, &command.second) {
            (None, _) => Choice::Yes,
            (Some(first), None) => self.is_at(walk, first, lines)?,
            (Some(first), Some(second)) => self.is_in_range(walk, first, second, at, lines)?,
        };
        Ok(match (choice, command.is_negated) {
            (Choice::Yes, true) => Choice::No,
            (Choice::No, true) => Choice::Yes,
            (choice, _) => choice,
        })
    }

    fn is_at(&mut self, walk: &mut ScriptWalk<'_>, address: &Address, lines: &Lines<'_>) -> Exact<Choice> {
        let is_chosen = match address {
            Address::Matching(expression) => {
                let expression = self.expression(expression)?;
                let is_match = expression.is_match(&self.space.text, &mut walk.budget).map_err(|_| Inexact::Unknown)?;
                if !is_match && is_vague(&self.space.text) {
                    return Ok(Choice::Perhaps);
                }
                is_match
            }
            _ if self.counter.is_uncounted => return Ok(Choice::Perhaps),
            Address::Line(number) => self.counter.line == *number,
            Address::Last => lines.rest.is_empty(),
            Address::Step(first, 0) => self.counter.line == *first,
            Address::Step(first, step) => {
                self.counter.line >= *first
                    && self.counter.line.checked_sub(*first).is_some_and(|more| more.is_multiple_of(*step))
            }
        };
        Ok(is_chosen.into())
    }

    fn is_in_range(
        &mut self,
        walk: &mut ScriptWalk<'_>,
        first: &Address,
        second: &RangeEnd,
        at: usize,
        lines: &Lines<'_>,
    ) -> Exact<Choice> {
        let state = self.ranges.get(at).copied().unwrap_or(RangeState::Closed);
        let (choice, state) = match state {
            RangeState::Over => (Choice::No, state),
            RangeState::Closed => match self.begins_range(walk, first, second, lines)? {
                Choice::Yes => (Choice::Yes, self.opened(second)),
                other => (other, RangeState::Closed),
            },
            RangeState::Until(last) => (
                // The first line behind a counted range still belongs to it, if another command has read its last one.
                Choice::from(self.counter.line <= last || !matches!(second, RangeEnd::At(_))),
                if self.counter.line >= last { RangeState::Closed } else { state },
            ),
            RangeState::Open => match second {
                RangeEnd::At(address) => match self.is_at(walk, address, lines)? {
                    Choice::Yes => (Choice::Yes, RangeState::Closed),
                    _ => (Choice::Yes, RangeState::Open),
                },
                _ => (Choice::Yes, RangeState::Closed),
            },
        };
        let was_open = choice == Choice::Yes || self.ranges.get(at) != Some(&RangeState::Closed);
        let is_over = was_open && state == RangeState::Closed && matches!(first, Address::Line(_));
        let state = if is_over { RangeState::Over } else { state };
        if let Some(place) = self.ranges.get_mut(at) {
            *place = state;
        }
        Ok(choice)
    }

    /// True if a range begins here. One that begins at a line by its number begins behind it if another command has read that line.
    fn begins_range(
        &mut self,
        walk: &mut ScriptWalk<'_>,
        first: &Address,
        second: &RangeEnd,
        lines: &Lines<'_>,
    ) -> Exact<Choice> {
        match (first, second) {
            (Address::Line(_), _) if self.counter.is_uncounted => Ok(Choice::Perhaps),
            (Address::Line(number), RangeEnd::At(Address::Line(last))) => {
                let line = self.counter.line;
                Ok((line == *number || line > *number && line <= *last).into())
            }
            (Address::Line(number), _) => Ok((self.counter.line >= *number).into()),
            _ => self.is_at(walk, first, lines),
        }
    }

    /// The state of a range that begins at this line.
    fn opened(&self, second: &RangeEnd) -> RangeState {
        let until = |last: usize| if last <= self.counter.line { RangeState::Closed } else { RangeState::Until(last) };
        match second {
            RangeEnd::At(Address::Line(last)) => until(*last),
            RangeEnd::More(count) => until(self.counter.line.saturating_add(*count)),
            RangeEnd::Multiple(0) => RangeState::Closed,
            RangeEnd::Multiple(number) => until(self.counter.line.div_ceil(*number).saturating_mul(*number)),
            RangeEnd::At(_) => RangeState::Open,
        }
    }
}
