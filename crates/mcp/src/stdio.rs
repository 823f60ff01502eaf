//! The server on standard input and output.

use std::io;
use std::time::Duration;

use bashful_dialect::Toolbox;
use bashful_engine::LONGEST_SCRIPT;
use rmcp::service::{RxJsonRpcMessage, ServerInitializeError, ServiceExt, TxJsonRpcMessage};
use rmcp::transport::Transport;
use rmcp::transport::async_rw::AsyncRwTransport;
use rmcp::transport::io::{StdioReader, StdioWriter, stdio_pipes};
use rmcp::{RoleServer, model::JsonRpcMessage};
use tokio::sync::oneshot;
use tokio::time::sleep;

use crate::handler::Handler;
use crate::manners::Manners;

/// When the input has ended, calls that are just about to answer may still do so. All others end.
const LAST_WORDS: Duration = Duration::from_millis(100);

/// The longest message: the longest script with every character escaped (`\u001b`), and all that is around it.
fn longest_line() -> usize {
    LONGEST_SCRIPT.in_memory() * 6 + 64 * 1024
}

/// Serves until the input ends or `stop` does. Commands that are under way then are stopped by their keepers as soon as the
/// runtime is gone; jobs go on.
pub async fn serve_stdio(toolbox: Toolbox, manners: Manners, stop: impl Future<Output = ()>) -> io::Result<()> {
    let (reader, writer) = stdio_pipes();
    let (tell, ended) = oneshot::channel();
    let inner = AsyncRwTransport::new(reader, writer).with_max_line_length(longest_line());
    let lines = Lines { inner, has_begun: false, tell: Some(tell) };
    let serving = async {
        match Handler::new(toolbox, manners).serve(lines).await {
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

/// Messages, one a line.
struct Lines {
    inner: AsyncRwTransport<RoleServer, StdioReader, StdioWriter>,
    /// A request has come.
    has_begun: bool,
    /// Who wants to know of the end of the input. The service would wait seconds for commands that are under way.
    tell: Option<oneshot::Sender<()>>,
}

impl Transport<RoleServer> for Lines {
    type Error = io::Error;

    fn send(
        &mut self,
        message: TxJsonRpcMessage<RoleServer>,
    ) -> impl Future<Output = Result<(), io::Error>> + Send + 'static {
        self.inner.send(message)
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleServer>> {
        loop {
            match self.inner.receive().await {
                None => {
                    // Whoever wanted to know may be gone.
                    let _ = self.tell.take().map(|tell| tell.send(()));
                    return None;
                }
                // The service would end if it were told anything else first.
                Some(message) if !self.has_begun && !matches!(message, JsonRpcMessage::Request(_)) => {}
                Some(message) => {
                    self.has_begun = true;
                    return Some(message);
                }
            }
        }
    }

    async fn close(&mut self) -> Result<(), io::Error> {
        self.inner.close().await
    }
}
