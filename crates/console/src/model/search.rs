//! Search in the output of all cards.

use super::list::CardList;

/// A text that is searched for, and the last place where it was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Search {
    pub(crate) text: String,
    /// Index of the card, and of its line.
    last: Option<(usize, usize)>,
}

impl Search {
    pub(crate) fn new(text: &str) -> Self {
        Self { text: text.to_owned(), last: None }
    }

    /// Selects and shows the next line with the text: towards the beginning if `back`. A collapsed card is expanded for it. False if
    /// there is none.
    pub(crate) fn go(&mut self, list: &mut CardList, back: bool) -> bool {
        let count = list.cards().len();
        let Some(begin) = self.last.map(|(card, _)| card.min(count.saturating_sub(1))).or(count.checked_sub(1)) else {
            return false;
        };
        // The card of the last place comes again at the end, for the lines on the other side.
        for step in 0..=count {
            let index = if back { (begin + count - step % count) % count } else { (begin + step) % count };
            let lines = self.lines_of(list, index);
            let rest = match (self.last, step) {
                (Some((_, before)), 0) if back => lines.iter().rev().find(|line| **line < before),
                (Some((_, before)), 0) => lines.iter().find(|line| **line > before),
                _ if back => lines.last(),
                _ => lines.first(),
            };
            if let Some(line) = rest.copied() {
                self.last = Some((index, line));
                list.select(index, line);
                return true;
            }
        }
        false
    }

    /// The lines of a card with the text. Expands the card if it has any.
    fn lines_of(&self, list: &mut CardList, index: usize) -> Vec<usize> {
        let look = list.look.clone();
        let width = list.width();
        let Some(card) = list.iter_mut().nth(index) else { return Vec::new() };
        if matches(&card.card.output, &self.text).next().is_none()
            && matches(&card.card.command, &self.text).next().is_none()
        {
            return Vec::new();
        }
        card.change(|card| card.expanded = true);
        let lines = card.lines(width, &look);
        let place = |(at, line): (usize, &bashful_render::Line)| {
            matches(&line.plain(), &self.text).next().is_some().then_some(at)
        };
        let found: Vec<usize> = lines.iter().enumerate().filter_map(place).collect();
        // A text that is wrapped in its middle is in no line.
        if found.is_empty() { vec![0] } else { found }
    }
}

/// Byte ranges of a text in a line. Case matters if the text has a capital letter.
pub(crate) fn matches<'a>(line: &'a str, text: &'a str) -> impl Iterator<Item = std::ops::Range<usize>> + 'a {
    let has_case = text.chars().any(char::is_uppercase);
    let (line, text) = if has_case { (line.to_owned(), text.to_owned()) } else { (lowered(line), text.to_lowercase()) };
    let mut from = 0;
    std::iter::from_fn(move || {
        if text.is_empty() {
            return None;
        }
        let start = from + line.get(from..)?.find(&text)?;
        from = start + text.len();
        Some(start..from)
    })
}

/// The line in lower case, with every character at its old place.
fn lowered(line: &str) -> String {
    let lower = |character: char| {
        let mut lower = character.to_lowercase();
        lower.next().filter(|one| one.len_utf8() == character.len_utf8() && lower.next().is_none()).unwrap_or(character)
    };
    line.chars().map(lower).collect()
}

#[cfg(test)]
mod tests {
    use bashful_render::CardKind;

    use super::super::card::{CardId, CardOwner, ListedCard};
    use super::*;

    fn list(outputs: &[&str]) -> CardList {
        let mut list = CardList::default();
        for (id, output) in (0..).zip(outputs) {
            let mut card = ListedCard::new(CardId(id), CardOwner::Own, CardKind::Tool, "command");
            card.change(|card| (*output).clone_into(&mut card.output));
            list.add(card);
        }
        list.fit(40, 10);
        list
    }

    #[test]
    fn places_come_one_after_the_other_and_begin_again() {
        let mut list = list(&["one\nneedle a\n", "hay\n", "needle b\nneedle c\n"]);
        let mut search = Search::new("needle");
        let mut places = Vec::new();
        for _ in 0..4 {
            assert!(search.go(&mut list, true));
            places.push(search.last.expect("a place"));
        }
        assert_eq!(places, [(2, 2), (2, 1), (0, 2), (2, 2)]);
        assert!(search.go(&mut list, false));
        assert_eq!(search.last, Some((0, 2)));
        assert!(list.cards()[0].card.expanded && !list.cards()[1].card.expanded);
    }

    #[test]
    fn nothing_is_found_where_nothing_is() {
        assert!(!Search::new("x").go(&mut CardList::default(), true));
        assert!(!Search::new("needle").go(&mut list(&["hay"]), false));
    }

    #[test]
    fn case_matters_only_with_a_capital_letter() {
        assert_eq!(matches("Éa ERROR error", "error").collect::<Vec<_>>(), [4..9, 10..15]);
        assert_eq!(matches("ERROR error", "ERR").count(), 1);
        assert_eq!(matches("aaa", "").count(), 0);
    }
}
