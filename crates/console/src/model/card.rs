//! One card of the list: a command with what is known of it.

use std::time::{Duration, Instant};

use super::How;
use bashful_render::{Card, CardKind, CardState, Line, Look};

/// The number of a card, in the order in which cards came.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct CardId(pub(crate) u64);

/// The program that runs the command of a card.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum CardOwner {
    /// This console.
    Own,
    /// Another program of this user.
    Elsewhere(WatchedKey),
    /// Nobody waits for it: it is a job.
    Job(u64),
}

/// The name of another program's command, for as long as it runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct WatchedKey {
    /// Process id of the program that waits for it.
    pub(crate) host_pid: u32,
    /// Process id of its shell; none if that was never known.
    pub(crate) pid: Option<i32>,
    /// Start, in milliseconds by the wall clock. Process ids are used again.
    pub(crate) began_ms: u64,
}

/// A card of the list, with its lines for the present width.
#[derive(Debug)]
pub(crate) struct ListedCard {
    pub(crate) id: CardId,
    pub(crate) owner: CardOwner,
    pub(crate) card: Card,
    /// The start by the clock of this program; none once the command has ended.
    pub(crate) began: Option<Instant>,
    /// Lines that the command has written, as far as that is known.
    pub(crate) written: u64,
    /// True if text can be sent to it.
    pub(crate) takes_input: bool,
    /// Its terminal does not show what is typed, as at a password prompt.
    pub(crate) hides_input: bool,
    /// The way of an own command.
    pub(crate) how: Option<How>,
    /// Lines of `card.output`.
    shown: u64,
    drawn: Option<(usize, Vec<Line>)>,
}

impl ListedCard {
    pub(crate) fn new(id: CardId, owner: CardOwner, kind: CardKind, command: &str) -> Self {
        let card = Card::new(kind, command);
        Self {
            id,
            owner,
            card,
            began: None,
            written: 0,
            takes_input: false,
            hides_input: false,
            how: None,
            shown: 0,
            drawn: None,
        }
    }

    /// Changes the card, and forgets its lines.
    pub(crate) fn change(&mut self, change: impl FnOnce(&mut Card)) {
        change(&mut self.card);
        self.shown = self.card.output.lines().count() as u64;
        self.drawn = None;
    }

    /// Sets the time that the command has run.
    pub(crate) fn tick(&mut self, now: Instant) {
        let Some(began) = self.began else { return };
        let elapsed = Duration::from_secs(now.saturating_duration_since(began).as_secs());
        if self.card.elapsed != Some(elapsed) {
            self.change(|card| card.elapsed = Some(elapsed));
        }
    }

    pub(crate) fn is_under_way(&self) -> bool {
        self.card.state.is_under_way() || (self.card.state == CardState::Backgrounded && self.began.is_some())
    }

    /// The lines at this width.
    pub(crate) fn lines(&mut self, width: usize, look: &Look) -> &[Line] {
        if self.drawn.as_ref().is_none_or(|(drawn_for, _)| *drawn_for != width) {
            self.drawn = Some((width, bashful_render::lines(&self.card, width, look)));
        }
        self.drawn.as_ref().map(|(_, lines)| lines.as_slice()).unwrap_or_default()
    }

    /// The lines as they were drawn last.
    pub(crate) fn drawn(&self) -> &[Line] {
        self.drawn.as_ref().map(|(_, lines)| lines.as_slice()).unwrap_or_default()
    }

    /// Lines that came so far: the command, and its output whether it is shown or not. How they are wrapped does not matter.
    pub(crate) fn count(&self) -> u64 {
        1 + self.written.max(self.shown)
    }
}
