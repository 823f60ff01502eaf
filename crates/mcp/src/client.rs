//! Settings that differ between clients.

use std::time::Duration;

use bashful_dialect::ReplyForm;
use bashful_engine::{Patience, Pattern, ReplyLimit};

/// Rows of settings, by client name.
#[derive(Debug, Clone, Default)]
pub struct Clients {
    /// Row for clients that no pattern matches.
    pub usual: ClientRow,
    /// Patterns for client names with their rows. The first match wins.
    pub rows: Vec<(Pattern, ClientRow)>,
    /// True if a person may use the client, so that its answers count as approval.
    pub can_answer: bool,
}

/// Settings for one client.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ClientRow {
    /// Longest time that a call waits before its command becomes a job.
    pub patience: Patience,
    /// Largest reply that reaches the model.
    pub limit: ReplyLimit,
    /// Parts of a result.
    pub form: ReplyForm,
}

impl Default for ClientRow {
    /// 50 s or less fits clients that give up after a minute.
    fn default() -> Self {
        let patience = Patience(Duration::from_secs(50));
        Self { patience, limit: ReplyLimit::default(), form: ReplyForm::default() }
    }
}

impl Clients {
    /// The row for a client of this name.
    pub fn row(&self, name: Option<&str>) -> ClientRow {
        let named = name.and_then(|name| self.rows.iter().find(|(pattern, _)| pattern.matches(name.as_ref())));
        named.map_or(self.usual, |(_, row)| *row)
    }
}
