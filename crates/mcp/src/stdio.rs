//! The server on standard input and output.

use std::io;
use std::time::Duration;

use bashful_dialect::{Toolbox, longest_message};
use bashful_engine::stdio;
use rmcp::service::{ServerInitializeError, ServiceExt};
use tokio::sync::oneshot;
use tokio::time::{sleep, timeout};
use tokio_util::sync::CancellationToken;

use crate::client::Clients;
use crate::handler::Handler;
use crate::lines::LineTransport;

/// Time for calls that are about to answer when the input ends. All others are stopped.
const LAST_WORDS: Duration = Duration::from_millis(100);

/// Time for the client to read what has been answered when a signal ends the server.
const LAST_WRITES: Duration = Duration::from_secs(1);

/// Serves until the input ends or `stop` resolves. Running commands are stopped then, and jobs go on. What has been
/// answered is written to its end, however late the client reads it, but for a second at most after `stop`.
pub async fn serve_stdio(toolbox: Toolbox, clients: Clients, stop: impl Future<Output = ()>) -> io::Result<()> {
    let (input, output) = stdio();
    let (tell, ended) = oneshot::channel();
    let engine = toolbox.engine().clone();
    let take_turn = Box::new(move || engine.take_turn());
    let (lines, mut writing) = LineTransport::new(input, output, longest_message(), tell, take_turn);
    let over = CancellationToken::new();
    let serving = async {
        // The future is large, so it goes on the heap.
        match Box::pin(Handler::new(toolbox, clients).serve_with_ct(lines, over.clone())).await {
            Ok(service) => service.waiting().await.map(drop).map_err(io::Error::other),
            // The client disconnected before it initialized.
            Err(ServerInitializeError::ConnectionClosed(_)) => Ok(()),
            Err(error) => Err(io::Error::other(error)),
        }
    };
    let late = async {
        // The sender is dropped only after the service has ended.
        let _ = ended.await;
        sleep(LAST_WORDS).await;
    };
    tokio::pin!(stop);
    let (served, is_stopped) = tokio::select! {
        served = serving => (served, false),
        () = late => (Ok(()), false),
        () = &mut stop => (Ok(()), true),
    };
    // Running calls see this and drop their commands.
    over.cancel();
    if !is_stopped {
        tokio::select! {
            // The task fails only by a panic, which is reported already.
            _ = &mut writing => return served,
            () = stop => {}
        }
    }
    let _ = timeout(LAST_WRITES, writing).await;
    served
}
