//! Whose calls, and whose jobs, they are.

use std::time::SystemTime;

use bashful_engine::JobRecord;

/// One caller of a toolbox: the toolbox itself, and the connection that a call came by.
///
/// Jobs carry it in their records, as `TOOLBOX/CONNECTION`. A toolbox that is made anew, as after a restart of its server, is
/// another one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Owner {
    toolbox: String,
    connection: String,
}

impl Owner {
    /// The name of a new toolbox, which no other one has.
    pub(crate) fn new_toolbox() -> String {
        let now = SystemTime::UNIX_EPOCH.elapsed().unwrap_or_default();
        format!("{}-{:x}", std::process::id(), now.as_nanos())
    }

    pub(crate) fn new(toolbox: &str, connection: Option<&str>) -> Self {
        Self { toolbox: toolbox.to_owned(), connection: connection.unwrap_or("-").to_owned() }
    }

    pub(crate) fn id(&self) -> String {
        format!("{}/{}", self.toolbox, self.connection)
    }

    /// True for a job that was started over this very connection.
    pub(crate) fn has(&self, job: &JobRecord) -> bool {
        job.owner.as_deref() == Some(self.id().as_str())
    }

    /// True for a job that this toolbox started, over any connection.
    pub(crate) fn has_in_toolbox(&self, job: &JobRecord) -> bool {
        let toolbox = job.owner.as_deref().and_then(|owner| owner.split_once('/')).map(|(toolbox, _)| toolbox);
        toolbox == Some(self.toolbox.as_str())
    }
}
