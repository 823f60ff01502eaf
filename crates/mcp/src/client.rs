//! How replies differ from client to client.

use std::time::Duration;

use bashful_dialect::ReplyForm;
use bashful_engine::{Patience, Pattern, ReplyLimit};

/// Rows by the name that clients give themselves.
#[derive(Debug, Clone, Default)]
pub struct Clients {
    /// Holds for clients that no row names.
    pub usual: ClientRow,
    /// The first row whose pattern fits the client's name is the one that holds.
    pub rows: Vec<(Pattern, ClientRow)>,
    /// True if a person may stand behind a client, so that its answers to questions count.
    pub can_answer: bool,
}

/// How one client is answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ClientRow {
    /// A call that takes longer than this is answered with a job that is still running.
    pub patience: Patience,
    /// How much of a reply reaches the model.
    pub limit: ReplyLimit,
    /// How results are put into the protocol.
    pub form: ReplyForm,
}

impl Default for ClientRow {
    /// Many clients give up after a minute.
    fn default() -> Self {
        let patience = Patience(Duration::from_secs(50));
        Self { patience, limit: ReplyLimit::default(), form: ReplyForm::default() }
    }
}

impl Clients {
    /// How the client of this name is answered.
    pub fn row(&self, name: Option<&str>) -> ClientRow {
        let named = name.and_then(|name| self.rows.iter().find(|(pattern, _)| pattern.matches(name.as_ref())));
        named.map_or(self.usual, |(_, row)| *row)
    }
}
