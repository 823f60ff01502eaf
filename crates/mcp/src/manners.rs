//! How long clients wait, as far as is known.

use std::collections::BTreeMap;
use std::time::Duration;

use bashful_engine::Patience;

/// How clients are dealt with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Manners {
    /// A call that takes longer than this is answered with a job that is still running.
    pub patience: Patience,
    /// The same for clients of these names.
    pub patience_for: BTreeMap<String, Patience>,
}

impl Default for Manners {
    /// Many clients give up after a minute.
    fn default() -> Self {
        Self { patience: Patience(Duration::from_secs(50)), patience_for: BTreeMap::new() }
    }
}

impl Manners {
    /// How long this client waits.
    pub(crate) fn patience(&self, client: Option<&str>) -> Patience {
        client.and_then(|name| self.patience_for.get(name)).copied().unwrap_or(self.patience)
    }
}
