//! Lines that a person has entered before, and the walk through them.

/// Entries that are kept. Bash keeps as many.
pub(crate) const MOST: usize = 500;

/// Entries, the oldest first.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct History {
    entries: Vec<String>,
    walk: Option<Walk>,
}

/// A walk through the entries that begin as the typed text does.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Walk {
    /// The text before the walk began.
    typed: String,
    at: usize,
}

impl History {
    pub(crate) fn new(mut entries: Vec<String>) -> Self {
        entries.drain(..entries.len().saturating_sub(MOST));
        Self { entries, walk: None }
    }

    /// Adds an entry. False if it is not to be kept: it begins with a blank, or repeats the last one.
    pub(crate) fn add(&mut self, entry: &str) -> bool {
        self.walk = None;
        if entry.trim().is_empty() || entry.starts_with(' ') || self.entries.last().is_some_and(|last| last == entry) {
            return false;
        }
        if self.entries.len() == MOST {
            self.entries.remove(0);
        }
        self.entries.push(entry.to_owned());
        true
    }

    /// The entry before the current one that begins with the typed text.
    pub(crate) fn older(&mut self, current: &str) -> Option<String> {
        let walk = self.walk.get_or_insert_with(|| Walk { typed: current.to_owned(), at: self.entries.len() });
        let found = self.entries[..walk.at].iter().rposition(|entry| entry.starts_with(&walk.typed))?;
        walk.at = found;
        Some(self.entries[found].clone())
    }

    /// The entry after the current one, or the text that was typed before the walk.
    pub(crate) fn newer(&mut self) -> Option<String> {
        let walk = self.walk.as_mut()?;
        let rest = self.entries.get(walk.at + 1..).unwrap_or_default();
        if let Some(found) = rest.iter().position(|entry| entry.starts_with(&walk.typed)) {
            walk.at += 1 + found;
            return Some(self.entries[walk.at].clone());
        }
        self.walk.take().map(|walk| walk.typed)
    }

    /// Ends the walk, because the text was changed.
    pub(crate) fn leave(&mut self) {
        self.walk = None;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_walk_keeps_to_entries_that_begin_as_typed() {
        let mut history = History::new(["make", "ls", "make test"].map(str::to_owned).into());
        assert_eq!(history.older("ma").as_deref(), Some("make test"));
        assert_eq!(history.older("make test").as_deref(), Some("make"));
        assert_eq!(history.older("make"), None);
        assert_eq!(history.newer().as_deref(), Some("make test"));
        assert_eq!(history.newer().as_deref(), Some("ma"));
        assert_eq!(history.newer(), None);
    }

    #[test]
    fn blank_hidden_and_repeated_lines_are_not_kept() {
        let mut history = History::default();
        assert!(history.add("ls"));
        assert!(!history.add("ls"));
        assert!(!history.add("  "));
        assert!(!history.add(" secret"));
        assert!(history.add("make"));
        assert_eq!(history.entries, ["ls", "make"]);
    }
}
