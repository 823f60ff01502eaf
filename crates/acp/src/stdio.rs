//! The agent on standard input and output.

use std::io;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use agent_client_protocol::v1::ConnectionTo;
use agent_client_protocol::v1::schema::{
    CancelNotification, CloseSessionRequest, InitializeRequest, NewSessionRequest, PromptRequest, SetSessionModeRequest,
};
use agent_client_protocol::{
    ByteStreams, Client, Error, Handled, UntypedMessage, on_receive_notification, on_receive_request,
};
use bashful_dialect::{Toolbox, longest_message};
use bashful_engine::stdio;
use tokio::io::{AsyncWrite, DuplexStream};
use tokio::time::timeout;
use tokio_util::compat::{TokioAsyncReadCompatExt, TokioAsyncWriteCompatExt};

use crate::agent::{AcpOptions, Agent, ConnectionPhase};
use crate::input::{self, UNREADABLE};
use crate::terminals::error_text;

/// Room for input that the library has not read yet, in bytes.
const INPUT_ROOM: usize = 64 * 1024;

/// Longest time to the release of all terminals of the client: a second for the kill, one for the release, and the
/// pause between two looks.
const RELEASE_AT_MOST: Duration = Duration::from_secs(3);

/// Longest time for the last messages to be written.
const LAST_WRITE_AT_MOST: Duration = Duration::from_secs(1);

/// Serves until the input ends or `stop` resolves. Running commands are stopped then, and jobs go on. Commands in
/// terminals of the client are killed there, and the terminals are released.
pub async fn serve_stdio(toolbox: Toolbox, options: AcpOptions, stop: impl Future<Output = ()>) -> io::Result<()> {
    let agent = Arc::new(Agent::new(toolbox, options));
    let (input, output) = stdio();
    let (for_library, mut to_library) = tokio::io::duplex(INPUT_ROOM);
    // The future is large, so it goes on the heap.
    let mut serving = Box::pin(serve(&agent, for_library, output));
    {
        let reading = async {
            input::forward(input, &mut to_library, longest_message()).await;
            agent.enter(ConnectionPhase::Silent);
        };
        let mut reading = pin!(reading);
        let has_input = tokio::select! {
            served = &mut serving => return served.map_err(|error| io::Error::other(error_text(&error))),
            () = &mut reading => false,
            () = stop => true,
        };
        agent.enter(ConnectionPhase::Ending);
        let released = timeout(RELEASE_AT_MOST, agent.phase.closed());
        // The client still answers, unless its input has ended.
        let answered = async {
            if has_input {
                reading.await;
            }
            std::future::pending::<()>().await;
        };
        tokio::select! {
            // The client is gone, and its terminals with it.
            _ = &mut serving => return Ok(()),
            () = answered => {}
            _ = released => {}
        }
    }
    // Messages that wait are still written.
    drop(to_library);
    let _ = timeout(LAST_WRITE_AT_MOST, serving).await;
    Ok(())
}

/// Serves until the library's input ends.
async fn serve(
    agent: &Arc<Agent>,
    input: DuplexStream,
    output: Box<dyn AsyncWrite + Send + Unpin>,
) -> Result<(), Error> {
    let [initialize, new_session, set_mode, close, prompt, cancel] = std::array::from_fn(|_| Arc::clone(agent));
    let transport = ByteStreams::new(output.compat_write(), input.compat());
    agent_client_protocol::Agent
        .v1()
        .name("bashful")
        .on_receive_request(
            async move |request: InitializeRequest, responder, _connection| {
                responder.respond(initialize.initialize(&request))
            },
            on_receive_request!(),
        )
        .on_receive_request(
            async move |request: NewSessionRequest, responder, _connection| {
                responder.respond_with_result(new_session.new_session(&request))
            },
            on_receive_request!(),
        )
        .on_receive_request(
            async move |request: SetSessionModeRequest, responder, _connection| {
                responder.respond_with_result(set_mode.set_mode(&request))
            },
            on_receive_request!(),
        )
        .on_receive_request(
            async move |request: CloseSessionRequest, responder, connection: ConnectionTo<Client>| {
                close.close(&request, responder, &connection)
            },
            on_receive_request!(),
        )
        .on_receive_request(
            async move |request: PromptRequest, responder, connection: ConnectionTo<Client>| {
                prompt.prompt(request, responder, &connection)
            },
            on_receive_request!(),
        )
        .on_receive_notification(
            async move |request: CancelNotification, _connection| {
                cancel.cancel(&request);
                Ok(())
            },
            on_receive_notification!(),
        )
        .on_receive_request(
            async |request: UntypedMessage, responder, _connection| {
                if request.method != UNREADABLE {
                    return Ok(Handled::No { message: (request, responder), retry: false });
                }
                let error = serde_json::from_value(request.params).unwrap_or_else(|_| Error::parse_error());
                responder.respond_with_error(error).map(|()| Handled::Yes)
            },
            on_receive_request!(),
        )
        .connect_to(transport)
        .await
}
