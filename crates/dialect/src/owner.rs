//! The owner of a job: the toolbox and the connection that started it.

use std::time::SystemTime;

use bashful_engine::JobRecord;

/// A caller: its toolbox and its connection.
///
/// The record of a job has its owner as `TOOLBOX/CONNECTION`. A restarted server has a new toolbox, and thus a new owner.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Owner {
    toolbox: String,
    connection: String,
}

impl Owner {
    /// A unique id for a new toolbox.
    pub(crate) fn new_toolbox_id() -> String {
        let now = SystemTime::UNIX_EPOCH.elapsed().unwrap_or_default();
        format!("{}-{:x}", std::process::id(), now.as_nanos())
    }

    pub(crate) fn new(toolbox: &str, connection: Option<&str>) -> Self {
        Self { toolbox: toolbox.to_owned(), connection: connection.unwrap_or("-").to_owned() }
    }

    pub(crate) fn id(&self) -> String {
        format!("{}/{}", self.toolbox, self.connection)
    }

    /// True for a job that this connection started.
    pub(crate) fn owns(&self, job: &JobRecord) -> bool {
        job.owner.as_deref() == Some(self.id().as_str())
    }

    /// True for a job that any connection of this toolbox started.
    pub(crate) fn owns_in_toolbox(&self, job: &JobRecord) -> bool {
        let toolbox = job.owner.as_deref().and_then(|owner| owner.split_once('/')).map(|(toolbox, _)| toolbox);
        toolbox == Some(self.toolbox.as_str())
    }
}
