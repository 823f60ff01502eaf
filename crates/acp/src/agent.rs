//! The agent: its sessions, and the answers to requests that need no command.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use agent_client_protocol::schema::ProtocolVersion;
use agent_client_protocol::v1::schema::{
    AgentCapabilities, CancelNotification, CloseSessionRequest, CloseSessionResponse, Implementation,
    InitializeRequest, InitializeResponse, NewSessionRequest, NewSessionResponse, PromptRequest, PromptResponse,
    SessionCapabilities, SessionCloseCapabilities, SessionId, SetSessionModeRequest, SetSessionModeResponse,
};
use agent_client_protocol::v1::{ConnectionTo, Responder};
use agent_client_protocol::{Client, Error};
use bashful_dialect::{BangError, Toolbox};
use bashful_engine::{Canceller, working_directory};
use tokio::sync::watch;

use crate::mode::CommandMode;
use crate::prompt::PromptCommand;
use crate::turn::{Turn, TurnPlace};

/// The client of scripts. Its format `quiet` prints messages alone; an editor would show every output twice.
const SCRIPT_CLIENT: &str = "acpx";

/// Options of the agent.
#[derive(Debug, Clone, Copy)]
pub struct AcpOptions {
    /// Runs foreground commands in the client's terminals, if it has some.
    pub use_client_terminals: bool,
    /// The client's user may answer the guard's questions. False if a command could be the client.
    pub can_answer: bool,
}

/// The agent of one connection.
#[derive(Debug)]
pub(crate) struct Agent {
    pub(crate) toolbox: Toolbox,
    pub(crate) options: AcpOptions,
    /// How far the connection is. Every open terminal of the client listens.
    pub(crate) phase: watch::Sender<ConnectionPhase>,
    client_has_terminals: AtomicBool,
    client_reads_messages: AtomicBool,
    sessions: Mutex<HashMap<SessionId, Session>>,
    sessions_made: AtomicU64,
    calls_made: AtomicU64,
}

/// The phases of the connection with a client, in their order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub(crate) enum ConnectionPhase {
    #[default]
    Open,
    /// The agent ends: nothing begins any more.
    Ending,
    /// The client will not answer any more, but it may still read.
    Silent,
}

/// A conversation with the client.
#[derive(Debug)]
struct Session {
    /// Directory of its commands. A person's `cd` changes it.
    directory: PathBuf,
    mode: CommandMode,
    /// The running turn; there is at most one.
    turn: Option<RunningTurn>,
}

/// The part of a turn that a cancellation needs.
#[derive(Debug)]
struct RunningTurn {
    canceller: Canceller,
    is_cancelled: Arc<AtomicBool>,
}

impl Agent {
    pub(crate) fn new(toolbox: Toolbox, options: AcpOptions) -> Self {
        Self {
            toolbox,
            options,
            phase: watch::Sender::default(),
            client_has_terminals: AtomicBool::new(false),
            client_reads_messages: AtomicBool::new(false),
            sessions: Mutex::default(),
            sessions_made: AtomicU64::new(0),
            calls_made: AtomicU64::new(0),
        }
    }

    pub(crate) fn initialize(&self, request: &InitializeRequest) -> InitializeResponse {
        self.client_has_terminals.store(request.client_capabilities.terminal, Ordering::Relaxed);
        let is_for_scripts = request.client_info.as_ref().is_some_and(|client| client.name == SCRIPT_CLIENT);
        self.client_reads_messages.store(is_for_scripts, Ordering::Relaxed);
        let session = SessionCapabilities::new().close(SessionCloseCapabilities::new());
        InitializeResponse::new(ProtocolVersion::V1)
            .agent_capabilities(AgentCapabilities::new().session_capabilities(session))
            .agent_info(Implementation::new("bashful", env!("CARGO_PKG_VERSION")))
    }

    pub(crate) fn new_session(&self, request: &NewSessionRequest) -> Result<NewSessionResponse, Error> {
        let unusable = |error| self.wrong(&bashful_engine::error_chain(&error));
        if !request.cwd.is_absolute() {
            return Err(self.wrong("`cwd` has to be an absolute path"));
        }
        let directory = working_directory(&request.cwd, None).map_err(unusable)?;
        let number = self.sessions_made.fetch_add(1, Ordering::Relaxed) + 1;
        let id = SessionId::new(format!("bashful-{}-{number}", std::process::id()));
        let mode = CommandMode::default();
        self.sessions().insert(id.clone(), Session { directory, mode, turn: None });
        Ok(NewSessionResponse::new(id).modes(mode.state(self.has_jobs())))
    }

    pub(crate) fn set_mode(&self, request: &SetSessionModeRequest) -> Result<SetSessionModeResponse, Error> {
        let mode = CommandMode::of(&request.mode_id.0, self.has_jobs());
        let mode = mode.ok_or_else(|| self.wrong(&format!("there is no mode {}", request.mode_id)))?;
        let mut sessions = self.sessions();
        let session = sessions.get_mut(&request.session_id).ok_or_else(|| self.no_session(&request.session_id))?;
        session.mode = mode;
        Ok(SetSessionModeResponse::new())
    }

    /// Cancels the turn of a session. A second cancellation kills the command.
    pub(crate) fn cancel(&self, request: &CancelNotification) {
        if let Some(turn) = self.sessions().get(&request.session_id).and_then(|session| session.turn.as_ref()) {
            turn.is_cancelled.store(true, Ordering::Relaxed);
            turn.canceller.cancel();
        }
    }

    /// Closes a session, and answers when its shell is gone. That is the work of a task of its own: it takes time.
    pub(crate) fn close(
        self: &Arc<Self>,
        request: &CloseSessionRequest,
        responder: Responder<CloseSessionResponse>,
        connection: &ConnectionTo<Client>,
    ) -> Result<(), Error> {
        if let Err(error) = self.forget(request) {
            return responder.respond_with_error(error);
        }
        let (agent, key) = (Arc::clone(self), request.session_id.to_string());
        connection.spawn(async move {
            let ended = agent.toolbox.end_bang(&key).await;
            let failed = |error: BangError| Error::internal_error().data(serde_json::Value::from(error.to_string()));
            responder.respond_with_result(ended.map(|()| CloseSessionResponse::new()).map_err(failed))
        })
    }

    /// Forgets a session. Its running command is stopped, and its jobs continue.
    fn forget(&self, request: &CloseSessionRequest) -> Result<(), Error> {
        let closed = self.sessions().remove(&request.session_id);
        let closed = closed.ok_or_else(|| self.no_session(&request.session_id))?;
        if let Some(turn) = closed.turn {
            turn.is_cancelled.store(true, Ordering::Relaxed);
            turn.canceller.cancel();
        }
        Ok(())
    }

    /// True until the session is closed.
    pub(crate) fn has_session(&self, id: &SessionId) -> bool {
        self.sessions().contains_key(id)
    }

    /// Begins a turn, on a task of its own.
    pub(crate) fn prompt(
        self: &Arc<Self>,
        request: PromptRequest,
        responder: Responder<PromptResponse>,
        connection: &ConnectionTo<Client>,
    ) -> Result<(), Error> {
        let turn = match self.begin(request, connection) {
            Ok(turn) => turn,
            Err(error) => return responder.respond_with_error(error),
        };
        connection.spawn(turn.run(responder))
    }

    fn begin(self: &Arc<Self>, request: PromptRequest, connection: &ConnectionTo<Client>) -> Result<Turn, Error> {
        let mut sessions = self.sessions();
        let session = sessions.get_mut(&request.session_id).ok_or_else(|| self.no_session(&request.session_id))?;
        if session.turn.is_some() {
            let text = "a command is running in this session; cancel it, or use another session";
            return Err(Error::invalid_request().data(serde_json::Value::from(text)));
        }
        let (canceller, cancellation) = Canceller::new();
        let is_cancelled = Arc::<AtomicBool>::default();
        session.turn = Some(RunningTurn { canceller: canceller.clone(), is_cancelled: Arc::clone(&is_cancelled) });
        let number = self.calls_made.fetch_add(1, Ordering::Relaxed) + 1;
        Ok(Turn {
            agent: Arc::clone(self),
            connection: connection.clone(),
            session_id: request.session_id,
            call_id: format!("call-{number}").into(),
            command: PromptCommand::new(&request.prompt),
            place: TurnPlace { directory: session.directory.clone(), mode: session.mode },
            canceller,
            cancellation: Some(cancellation),
            is_cancelled,
            waits: Arc::default(),
        })
    }

    /// Notes the end of a session's turn, and the directory to which a person went.
    pub(crate) fn turn_ended(&self, session_id: &SessionId) {
        if let Some(session) = self.sessions().get_mut(session_id) {
            session.turn = None;
        }
    }

    pub(crate) fn moved_to(&self, session_id: &SessionId, directory: PathBuf) {
        if let Some(session) = self.sessions().get_mut(session_id) {
            session.directory = directory;
        }
    }

    pub(crate) fn uses_client_terminals(&self) -> bool {
        self.options.use_client_terminals && self.client_has_terminals.load(Ordering::Relaxed)
    }

    pub(crate) fn client_reads_messages(&self) -> bool {
        self.client_reads_messages.load(Ordering::Relaxed)
    }

    /// Begins a later phase, and never goes back to an earlier one.
    pub(crate) fn enter(&self, phase: ConnectionPhase) {
        self.phase.send_modify(|now| *now = phase.max(*now));
    }

    fn has_jobs(&self) -> bool {
        self.toolbox.engine().jobs().is_some()
    }

    fn sessions(&self) -> MutexGuard<'_, HashMap<SessionId, Session>> {
        // Every change of the map is a single step, so a panic elsewhere leaves it whole.
        self.sessions.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// An error of the client's request. It may quote the request, and with it a withheld value.
    fn wrong(&self, text: &str) -> Error {
        let text = self.toolbox.engine().redactor().redact(text).into_string();
        Error::invalid_params().data(serde_json::Value::from(text))
    }

    fn no_session(&self, id: &SessionId) -> Error {
        self.wrong(&format!("there is no session {id}"))
    }
}
