//! The list of cards: selection, scrolling and following.
//!
//! The list is one column of lines, a blank one after each card. It follows the newest line until somebody scrolls up. Then the
//! line at the top stays where it is, whatever comes below.

use bashful_render::{Card, Line, Look};

use super::card::{CardId, CardOwner, ListedCard, WatchedKey};

/// Cards that are kept. Older ones that have ended go first.
const MOST_CARDS: usize = 500;

/// Bytes of output that are kept in all cards together.
const MOST_BYTES: usize = 8 << 20;

/// Lines in sight before a line that was searched for.
const CONTEXT: usize = 3;

/// All cards, and the part of them that is on the screen.
#[derive(Debug, Default)]
pub(crate) struct CardList {
    cards: Vec<ListedCard>,
    selected: Option<CardId>,
    scroll: Scroll,
    pub(crate) look: Look,
    width: usize,
    height: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum Scroll {
    /// The newest line is at the bottom.
    #[default]
    Following,
    /// This line of this card is at the top.
    At { card: CardId, line: usize, seen: u64 },
}

/// A line on the screen.
pub(crate) struct PlacedLine<'a> {
    pub(crate) card: CardId,
    /// None for the blank line after a card.
    pub(crate) line: Option<&'a Line>,
}

impl CardList {
    pub(crate) fn new(look: Look) -> Self {
        Self { look, ..Self::default() }
    }

    pub(crate) fn cards(&self) -> &[ListedCard] {
        &self.cards
    }

    pub(crate) fn add(&mut self, card: ListedCard) {
        self.cards.push(card);
        self.trim();
    }

    pub(crate) fn get_mut(&mut self, id: CardId) -> Option<&mut ListedCard> {
        self.cards.iter_mut().find(|card| card.id == id)
    }

    pub(crate) fn iter_mut(&mut self) -> impl Iterator<Item = &mut ListedCard> {
        self.cards.iter_mut()
    }

    /// The card of a job: its own, or that of the command that became the job.
    pub(crate) fn job_mut(&mut self, job: u64) -> Option<&mut ListedCard> {
        let name = job.to_string();
        self.cards.iter_mut().rev().find(|card| {
            card.owner == CardOwner::Job(job) || (card.owner == CardOwner::Own && card.card.job.as_ref() == Some(&name))
        })
    }

    /// Removes cards of other programs' commands, and returns the last of them.
    pub(crate) fn remove_watched(&mut self, is_gone: impl Fn(&WatchedKey) -> bool) -> Option<Card> {
        let gone = self.cards.extract_if(.., |card| matches!(&card.owner, CardOwner::Elsewhere(key) if is_gone(key)));
        gone.last().map(|card| card.card)
    }

    /// Removes every card whose command has ended.
    pub(crate) fn clear(&mut self) {
        self.cards.retain(ListedCard::is_under_way);
        (self.scroll, self.selected) = (Scroll::Following, None);
    }

    /// The selected card, or the newest one.
    pub(crate) fn selected(&self) -> Option<&ListedCard> {
        self.selected_index().map(|at| &self.cards[at])
    }

    pub(crate) fn is_selected(&self, card: CardId) -> bool {
        self.selected().is_some_and(|selected| selected.id == card)
    }

    /// Selects the newest card again, whichever that will be.
    pub(crate) fn select_newest(&mut self) {
        self.selected = None;
    }

    fn selected_index(&self) -> Option<usize> {
        let named = self.selected.and_then(|id| self.cards.iter().position(|card| card.id == id));
        named.or_else(|| self.cards.len().checked_sub(1))
    }

    /// Selects a card some places further, and shows its beginning.
    pub(crate) fn move_selection(&mut self, by: isize) {
        let Some(at) = self.selected_index() else { return };
        let to = at.saturating_add_signed(by).min(self.cards.len() - 1);
        self.selected = Some(self.cards[to].id);
        self.show(to, 0);
    }

    /// Selects a card, and shows one of its lines.
    pub(crate) fn select(&mut self, index: usize, line: usize) {
        if let Some(card) = self.cards.get(index) {
            self.selected = Some(card.id);
            self.show(index, line);
        }
    }

    /// Sets the size of the part that is shown, and draws what has changed.
    pub(crate) fn fit(&mut self, width: usize, height: usize) {
        (self.width, self.height) = (width, height);
        for card in &mut self.cards {
            card.lines(width, &self.look);
        }
    }

    /// The lines on the screen, from top to bottom.
    pub(crate) fn placed(&self) -> impl Iterator<Item = PlacedLine<'_>> {
        let lines = self.cards.iter().flat_map(|card| {
            let blank = std::iter::once(None);
            card.drawn().iter().map(Some).chain(blank).map(|line| PlacedLine { card: card.id, line })
        });
        lines.skip(self.top()).take(self.height)
    }

    /// Lines that came since somebody scrolled up; none while the list follows.
    pub(crate) fn unseen(&self) -> Option<u64> {
        match self.scroll {
            Scroll::Following => None,
            Scroll::At { seen, .. } => Some(self.count().saturating_sub(seen)),
        }
    }

    pub(crate) fn follow(&mut self) {
        self.scroll = Scroll::Following;
    }

    /// Scrolls by so many lines. At the end, the list follows again.
    pub(crate) fn scroll(&mut self, by: isize) {
        let top = self.top().saturating_add_signed(by);
        self.scroll_to(top);
    }

    pub(crate) fn width(&self) -> usize {
        self.width
    }

    pub(crate) fn height(&self) -> usize {
        self.height
    }

    fn scroll_to(&mut self, top: usize) {
        if top >= self.most_top() {
            self.scroll = Scroll::Following;
            return;
        }
        let (count, below) = (self.count(), (self.most_top() - top) as u64);
        let seen = match self.scroll {
            // New lines are below the others. Those that came into sight are not new any more.
            Scroll::At { seen, .. } if top > self.top() => seen.max(count.saturating_sub(below)),
            Scroll::At { seen, .. } => seen,
            Scroll::Following => count,
        };
        let mut line = top;
        for card in &self.cards {
            let length = card.drawn().len() + 1;
            if line < length {
                self.scroll = Scroll::At { card: card.id, line, seen };
                return;
            }
            line -= length;
        }
    }

    /// Scrolls as little as is needed to show a line.
    fn show(&mut self, index: usize, line: usize) {
        let at = self.offset(index) + line;
        let top = self.top();
        if at < top {
            // A line in the middle of a card has some lines before it in sight.
            self.scroll_to(at.saturating_sub(line.min(CONTEXT)));
        } else if at >= top + self.height {
            // Some lines below it belong to it.
            self.scroll_to((at + 1).saturating_sub(self.height / 2));
        } else if self.scroll == Scroll::Following && index + 1 < self.cards.len() {
            self.scroll_to(top.min(self.most_top().saturating_sub(1)));
        }
    }

    /// Lines before a card.
    fn offset(&self, index: usize) -> usize {
        self.cards[..index].iter().map(|card| card.drawn().len() + 1).sum()
    }

    /// The line at the top, from the beginning of the list.
    fn top(&self) -> usize {
        let anchored = match self.scroll {
            Scroll::Following => None,
            Scroll::At { card, line, .. } => {
                self.cards.iter().position(|listed| listed.id == card).map(|at| (at, line))
            }
        };
        match anchored {
            None => self.most_top(),
            // A card that was collapsed meanwhile has fewer lines.
            Some((at, line)) => (self.offset(at) + line.min(self.cards[at].drawn().len())).min(self.most_top()),
        }
    }

    fn most_top(&self) -> usize {
        self.offset(self.cards.len()).saturating_sub(self.height)
    }

    fn count(&self) -> u64 {
        self.cards.iter().map(ListedCard::count).sum()
    }

    fn trim(&mut self) {
        let mut bytes: usize = self.cards.iter().map(|card| card.card.output.len()).sum();
        let mut count = self.cards.len();
        let newest = self.cards.last().map(|card| card.id);
        self.cards.retain(|card| {
            let is_needed =
                card.is_under_way() || Some(card.id) == newest || (count <= MOST_CARDS && bytes <= MOST_BYTES);
            if !is_needed {
                count -= 1;
                bytes -= card.card.output.len();
            }
            is_needed
        });
    }
}

#[cfg(test)]
mod tests {
    use bashful_render::{CardKind, CardState};

    use super::*;

    fn listed(id: u64, lines: usize) -> ListedCard {
        let mut card = ListedCard::new(CardId(id), CardOwner::Own, CardKind::Tool, &format!("command {id}"));
        card.change(|card| {
            card.state = CardState::Done;
            card.output = (0..lines).map(|line| format!("{id}.{line}")).collect::<Vec<_>>().join("\n");
            card.expanded = true;
        });
        card
    }

    fn list(cards: u64, lines: usize, height: usize) -> CardList {
        let mut list = CardList::default();
        (0..cards).for_each(|id| list.add(listed(id, lines)));
        list.fit(40, height);
        list
    }

    fn first(list: &CardList) -> String {
        list.placed().next().and_then(|placed| placed.line).map(Line::plain).unwrap_or_default()
    }

    #[test]
    fn the_line_at_the_top_stays_while_more_comes() {
        let mut list = list(3, 10, 8);
        assert_eq!(list.unseen(), None);
        list.scroll(-20);
        let top = first(&list);
        list.add(listed(9, 5));
        list.fit(40, 8);
        assert_eq!(first(&list), top);
        // The command, and five lines.
        assert_eq!(list.unseen(), Some(6));
        list.fit(10, 8);
        assert_eq!(list.unseen(), Some(6));
        list.scroll(1000);
        assert_eq!(list.unseen(), None);
    }

    #[test]
    fn new_lines_that_come_into_sight_are_new_no_more() {
        let mut list = list(3, 10, 8);
        list.scroll(-20);
        list.add(listed(9, 5));
        list.fit(40, 8);
        assert_eq!(list.unseen(), Some(6));
        list.scroll(20);
        assert_eq!(list.unseen(), Some(6));
        list.scroll(4);
        assert_eq!(list.unseen(), Some(4));
        // They have been seen.
        list.scroll(-10);
        assert_eq!(list.unseen(), Some(4));
    }

    #[test]
    fn output_that_a_collapsed_card_hides_counts_as_new() {
        let mut list = list(3, 10, 8);
        list.scroll(-5);
        let id = list.cards()[2].id;
        list.get_mut(id).expect("a card").written = 1000;
        assert_eq!(list.unseen(), Some(1000 - 10));
    }

    #[test]
    fn a_selected_card_is_shown() {
        let mut list = list(5, 10, 8);
        list.move_selection(-4);
        assert!(first(&list).contains("command 0"), "{}", first(&list));
        list.move_selection(1);
        assert!(list.placed().any(|placed| placed.line.is_some_and(|line| line.plain().contains("command 1"))));
        assert!(list.is_selected(CardId(1)));
    }

    #[test]
    fn old_cards_go_and_running_ones_stay() {
        let mut list = CardList::default();
        let mut running = listed(0, 1);
        running.change(|card| card.state = CardState::Running);
        list.add(running);
        (1..600).for_each(|id| list.add(listed(id, 1)));
        assert_eq!(list.cards().len(), MOST_CARDS);
        assert_eq!(list.cards()[0].id, CardId(0));
        assert_eq!(list.cards()[499].id, CardId(599));
    }
}
