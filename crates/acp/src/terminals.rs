//! The terminals of the client, for the engine.

use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use agent_client_protocol::v1::schema::{
    CreateTerminalRequest, EnvVariable, KillTerminalRequest, ReleaseTerminalRequest, SessionId, TerminalExitStatus,
    TerminalOutputRequest, WaitForTerminalExitRequest,
};
use agent_client_protocol::v1::{ConnectionTo, SentRequest};
use agent_client_protocol::{Client, Error, JsonRpcResponse};
use bashful_engine::{BoxFuture, ClientTerminal, ClientTerminalError, TerminalCommand, TerminalExit, TerminalText};
use tokio::sync::watch;

use crate::agent::{Agent, ConnectionPhase};
use crate::turn::WaitingForClient;

/// The terminals of one session. A dropped future withdraws its request.
#[derive(Debug)]
pub(crate) struct SessionTerminals {
    pub(crate) connection: ConnectionTo<Client>,
    pub(crate) session_id: SessionId,
    pub(crate) agent: Arc<Agent>,
    pub(crate) waits: Arc<AtomicBool>,
    /// Present from the creation of a terminal to its release: the agent waits for that before it ends.
    pub(crate) open: Mutex<Option<watch::Receiver<ConnectionPhase>>>,
}

impl SessionTerminals {
    /// Sends a request, and waits for its answer until the connection is in this phase. Sends nothing in that phase.
    async fn ask_until<T>(
        &self,
        last: ConnectionPhase,
        asking: impl Future<Output = Result<T, Error>>,
    ) -> Result<T, ClientTerminalError> {
        let mut phase = self.agent.phase.subscribe();
        tokio::select! {
            biased;
            _ = phase.wait_for(|phase| *phase >= last) => Err(ClientTerminalError("the agent ends".to_owned())),
            answer = asking => answer.map_err(failed),
        }
    }

    /// Waits for the answer to a request that also holds if nobody answers it.
    async fn confirmed<T: JsonRpcResponse>(&self, sent: SentRequest<T>) -> Result<(), ClientTerminalError> {
        if *self.agent.phase.borrow() == ConnectionPhase::Silent {
            // A dropped request would be withdrawn.
            sent.detach();
            return Err(ClientTerminalError("the client has closed its end".to_owned()));
        }
        sent.block_task().await.map(drop).map_err(failed)
    }

    fn locked(&self) -> MutexGuard<'_, Option<watch::Receiver<ConnectionPhase>>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl ClientTerminal for SessionTerminals {
    fn create(&self, command: TerminalCommand) -> BoxFuture<'_, Result<String, ClientTerminalError>> {
        let env = command.env.into_iter().map(|(name, value)| EnvVariable::new(name, value)).collect();
        let request = CreateTerminalRequest::new(self.session_id.clone(), command.program.to_string_lossy())
            .args(command.args)
            .env(env)
            .cwd(command.cwd)
            .output_byte_limit(command.output_byte_limit as u64);
        Box::pin(async move {
            let _waiting = WaitingForClient::new(&self.waits);
            let open = self.agent.phase.subscribe();
            if *open.borrow() != ConnectionPhase::Open {
                return Err(ClientTerminalError("the agent ends".to_owned()));
            }
            let asking = async { self.connection.send_request(request).block_task().await };
            let created = self.ask_until(ConnectionPhase::Silent, asking).await?;
            *self.locked() = Some(open);
            Ok(created.terminal_id.to_string())
        })
    }

    fn output<'a>(&'a self, terminal_id: &'a str) -> BoxFuture<'a, Result<TerminalText, ClientTerminalError>> {
        Box::pin(async move {
            let request = TerminalOutputRequest::new(self.session_id.clone(), terminal_id.to_owned());
            let asking = async { self.connection.send_request(request).block_task().await };
            let shown = self.ask_until(ConnectionPhase::Ending, asking).await?;
            Ok(TerminalText { text: shown.output, is_cut: shown.truncated, exit: shown.exit_status.map(exit) })
        })
    }

    fn wait_for_exit<'a>(&'a self, terminal_id: &'a str) -> BoxFuture<'a, Result<TerminalExit, ClientTerminalError>> {
        Box::pin(async move {
            let request = WaitForTerminalExitRequest::new(self.session_id.clone(), terminal_id.to_owned());
            let asking = async { self.connection.send_request(request).block_task().await };
            let ended = self.ask_until(ConnectionPhase::Ending, asking).await?;
            Ok(exit(ended.exit_status))
        })
    }

    fn kill<'a>(&'a self, terminal_id: &'a str) -> BoxFuture<'a, Result<(), ClientTerminalError>> {
        Box::pin(async move {
            let request = KillTerminalRequest::new(self.session_id.clone(), terminal_id.to_owned());
            self.confirmed(self.connection.send_request(request)).await
        })
    }

    fn release<'a>(&'a self, terminal_id: &'a str) -> BoxFuture<'a, Result<(), ClientTerminalError>> {
        Box::pin(async move {
            let _open = self.locked().take();
            let request = ReleaseTerminalRequest::new(self.session_id.clone(), terminal_id.to_owned());
            self.confirmed(self.connection.send_request(request)).await
        })
    }
}

fn exit(status: TerminalExitStatus) -> TerminalExit {
    TerminalExit { code: status.exit_code, signal: status.signal }
}

#[expect(clippy::needless_pass_by_value, reason = "it is passed to `map_err`")]
fn failed(error: Error) -> ClientTerminalError {
    ClientTerminalError(error_text(&error))
}

/// The message of an error, and the client's explanation.
pub(crate) fn error_text(error: &Error) -> String {
    match error.data.as_ref().map(|data| data.as_str().map_or_else(|| data.to_string(), str::to_owned)) {
        Some(data) => format!("{}: {data}", error.message),
        None => error.message.clone(),
    }
}
