//! The server on standard input and output.

use std::io;
use std::time::Duration;

use bashful_dialect::Toolbox;
use rmcp::service::{ServerInitializeError, ServiceExt};
use rmcp::transport::io::stdio_pipes;
use tokio::sync::oneshot;
use tokio::time::sleep;

use crate::client::Clients;
use crate::handler::Handler;
use crate::lines::Lines;
use crate::longest_message;

/// When the input has ended, calls that are just about to answer may still do so. All others end.
const LAST_WORDS: Duration = Duration::from_millis(100);

/// Serves until the input ends or `stop` does. Commands that are under way then are stopped by their keepers as soon as the
/// runtime is gone; jobs go on.
pub async fn serve_stdio(toolbox: Toolbox, clients: Clients, stop: impl Future<Output = ()>) -> io::Result<()> {
    let (input, output) = stdio_pipes();
    let (tell, ended) = oneshot::channel();
    let lines = Lines::new(input, output, longest_message(), tell);
    let serving = async {
        match Handler::new(toolbox, clients).serve(lines).await {
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
    tokio::select! {
        served = serving => served,
        () = late => Ok(()),
        () = stop => Ok(()),
    }
}
