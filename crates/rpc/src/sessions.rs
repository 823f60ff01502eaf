//! Requests about persistent shells. A service sees those that its own commands use.

use bashful_engine::{EndSessionError, PERSON_PREFIX, SessionEntry, SessionStore, error_chain};

use crate::service::{Answered, Connection};
use crate::wire::{DoneData, ErrorCode, RpcError, SessionEndRequest, SessionInfo, SessionsData, Surface};

/// Name of the shell that all commands of a connection share, unless they name another.
pub(crate) const CONNECTION: &str = "connection";

impl Connection {
    fn session_store(&self) -> Result<&SessionStore, RpcError> {
        let none = || RpcError::new(ErrorCode::Unavailable, "this service keeps no sessions");
        self.service.toolbox.engine().sessions().map(AsRef::as_ref).ok_or_else(none)
    }

    async fn own_sessions(&self) -> Result<Vec<SessionEntry>, RpcError> {
        let entries = self.session_store()?.list_own().await;
        entries.map_err(|error| RpcError::new(ErrorCode::Failed, error_chain(&error)))
    }

    pub(crate) async fn sessions(&self) -> Result<Answered, RpcError> {
        let sessions = self.own_sessions().await?.into_iter().map(SessionInfo::from).collect();
        Ok(Answered::new(&SessionsData { sessions }))
    }

    /// Ends the sessions of this name on both surfaces.
    pub(crate) async fn session_end(&self, request: &SessionEndRequest) -> Result<Answered, RpcError> {
        let mut entries = self.own_sessions().await?;
        entries.retain(|entry| surface_and_name(&entry.name).1 == request.session);
        if entries.is_empty() {
            let none = EndSessionError::NoSession { name: request.session.clone() };
            return Err(RpcError::new(ErrorCode::NotFound, none.to_string()));
        }
        let store = self.session_store()?;
        for entry in entries {
            let ended = store.end_one(&entry).await;
            ended.map_err(|error| RpcError::new(ErrorCode::Failed, error_chain(&error)))?;
        }
        Ok(Answered::new(&DoneData {}))
    }
}

/// The surface that uses a session, and the name by which the host knows it.
fn surface_and_name(name: &str) -> (Surface, &str) {
    name.strip_prefix(PERSON_PREFIX).map_or((Surface::Tool, name), |key| (Surface::Bang, key))
}

impl From<SessionEntry> for SessionInfo {
    fn from(entry: SessionEntry) -> Self {
        let (surface, name) = surface_and_name(&entry.name);
        Self {
            name: name.to_owned(),
            surface,
            busy: entry.busy,
            since_ms: u64::try_from(entry.since.as_millis()).unwrap_or(u64::MAX),
            pid: entry.pid.into(),
            cwd: entry.cwd.as_ref().map(|cwd| cwd.to_string_lossy().into_owned()),
            commands: entry.commands,
        }
    }
}
