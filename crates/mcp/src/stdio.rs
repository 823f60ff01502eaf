//! The server on standard input and output.

use std::io;
use std::time::Duration;

use bashful_dialect::Toolbox;
use rmcp::service::{ServerInitializeError, ServiceExt};
use rmcp::transport::io::stdio_pipes;
use tokio::sync::oneshot;
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;

use crate::client::Clients;
use crate::handler::Handler;
use crate::lines::Lines;
use crate::longest_message;

/// When the input has ended, calls that are just about to answer may still do so. All others end.
const LAST_WORDS: Duration = Duration::from_millis(100);

/// Serves until the input ends or `stop` does. Commands that are under way are stopped then; jobs go on. A reply that was begun
/// is written to its end, however late the client reads it, unless `stop` comes.
pub async fn serve_stdio(toolbox: Toolbox, clients: Clients, stop: impl Future<Output = ()>) -> io::Result<()> {
    let (input, output) = stdio_pipes();
    let (tell, ended) = oneshot::channel();
    let (lines, mut writing) = Lines::new(input, output, longest_message(), tell);
    let over = CancellationToken::new();
    let serving = async {
        // Large, and there is one of it.
        match Box::pin(Handler::new(toolbox, clients).serve_with_ct(lines, over.clone())).await {
            Ok(service) => service.waiting().await.map(drop).map_err(io::Error::other),
            // It went away before it had said what it wants.
            Err(ServerInitializeError::ConnectionClosed(_)) => Ok(()),
            Err(error) => Err(io::Error::other(error)),
        }
    };
    let late = async {
        // The sender is only dropped when the serving has ended anyway.
        let _ = ended.await;
        sleep(LAST_WORDS).await;
    };
    tokio::pin!(stop);
    let served = tokio::select! {
        served = serving => served,
        () = late => Ok(()),
        () = &mut stop => return Ok(()),
    };
    // Calls that are under way see this and drop their commands.
    over.cancel();
    tokio::select! {
        // It cannot fail but by a panic, which has been told of.
        _ = &mut writing => {}
        () = stop => {}
    }
    served
}
