//! The agent on standard input and output.

use std::io;
use std::sync::Arc;

use agent_client_protocol::v1::ConnectionTo;
use agent_client_protocol::v1::schema::{
    CancelNotification, CloseSessionRequest, InitializeRequest, NewSessionRequest, PromptRequest, SetSessionModeRequest,
};
use agent_client_protocol::{ByteStreams, Client, on_receive_notification, on_receive_request};
use bashful_dialect::Toolbox;
use tokio_util::compat::{TokioAsyncReadCompatExt, TokioAsyncWriteCompatExt};

use crate::agent::{AcpOptions, Agent};
use crate::terminals::error_text;

/// Serves until the input ends or `stop` resolves. Running commands are stopped then, and jobs go on.
pub async fn serve_stdio(toolbox: Toolbox, options: AcpOptions, stop: impl Future<Output = ()>) -> io::Result<()> {
    let agent = Arc::new(Agent::new(toolbox, options));
    let [initialize, new_session, set_mode, close, prompt, cancel] = std::array::from_fn(|_| Arc::clone(&agent));
    let transport = ByteStreams::new(tokio::io::stdout().compat_write(), tokio::io::stdin().compat());
    let serving = agent_client_protocol::Agent
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
            async move |request: CloseSessionRequest, responder, _connection| {
                responder.respond_with_result(close.close(&request))
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
        .connect_to(transport);
    tokio::select! {
        // The future is large, so it goes on the heap.
        served = Box::pin(serving) => served.map_err(|error| io::Error::other(error_text(&error))),
        () = stop => Ok(()),
    }
}
