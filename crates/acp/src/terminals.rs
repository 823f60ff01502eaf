//! The terminals of the client, for the engine.

use agent_client_protocol::v1::ConnectionTo;
use agent_client_protocol::v1::schema::{
    CreateTerminalRequest, EnvVariable, KillTerminalRequest, ReleaseTerminalRequest, SessionId, TerminalExitStatus,
    TerminalOutputRequest, WaitForTerminalExitRequest,
};
use agent_client_protocol::{Client, Error};
use bashful_engine::{BoxFuture, ClientTerminal, ClientTerminalError, TerminalCommand, TerminalExit, TerminalText};

/// The terminals of one session. A dropped future withdraws its request.
#[derive(Debug)]
pub(crate) struct SessionTerminals {
    pub(crate) connection: ConnectionTo<Client>,
    pub(crate) session_id: SessionId,
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
            let created = self.connection.send_request(request).block_task().await.map_err(failed)?;
            Ok(created.terminal_id.to_string())
        })
    }

    fn output<'a>(&'a self, terminal_id: &'a str) -> BoxFuture<'a, Result<TerminalText, ClientTerminalError>> {
        Box::pin(async move {
            let request = TerminalOutputRequest::new(self.session_id.clone(), terminal_id.to_owned());
            let shown = self.connection.send_request(request).block_task().await.map_err(failed)?;
            Ok(TerminalText { text: shown.output, is_cut: shown.truncated, exit: shown.exit_status.map(exit) })
        })
    }

    fn wait_for_exit<'a>(&'a self, terminal_id: &'a str) -> BoxFuture<'a, Result<TerminalExit, ClientTerminalError>> {
        Box::pin(async move {
            let request = WaitForTerminalExitRequest::new(self.session_id.clone(), terminal_id.to_owned());
            let ended = self.connection.send_request(request).block_task().await.map_err(failed)?;
            Ok(exit(ended.exit_status))
        })
    }

    fn kill<'a>(&'a self, terminal_id: &'a str) -> BoxFuture<'a, Result<(), ClientTerminalError>> {
        Box::pin(async move {
            let request = KillTerminalRequest::new(self.session_id.clone(), terminal_id.to_owned());
            self.connection.send_request(request).block_task().await.map(drop).map_err(failed)
        })
    }

    fn release<'a>(&'a self, terminal_id: &'a str) -> BoxFuture<'a, Result<(), ClientTerminalError>> {
        Box::pin(async move {
            let request = ReleaseTerminalRequest::new(self.session_id.clone(), terminal_id.to_owned());
            self.connection.send_request(request).block_task().await.map(drop).map_err(failed)
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
