//! The transport on standard input and output: one message a line.
//!
//! The library's own transport answers a request with wrong parameters without its id, and then the client waits
//! forever. It also ends if the first message is no request.
//!
//! Invariants: every message with an id is answered with that id; a line has a length limit; an answer waits for no slow
//! client, and is written to its end by a task that outlives the service.

use std::collections::HashSet;
use std::io;
use std::sync::{Arc, Mutex, PoisonError};

use bashful_dialect::{MessageLine, MessageLines};
use bashful_engine::CallTurn;
use rmcp::RoleServer;
use rmcp::model::{ClientRequest, ErrorCode, ErrorData, JsonRpcMessage, RequestId};
use rmcp::service::{RxJsonRpcMessage, TxJsonRpcMessage};
use rmcp::transport::Transport;
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt};
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinHandle;

use crate::bad_message;

/// A line, and the channel that reports its writing, for a sender that waits. Senders of answers do not: the library keeps
/// what waits to be sent only for seconds when the input has ended.
type Outgoing = (Vec<u8>, Option<oneshot::Sender<io::Result<()>>>);

/// Ids of requests that have not been answered.
type Unanswered = Arc<Mutex<HashSet<RequestId>>>;

/// The transport: input and output of one client.
pub(crate) struct LineTransport<R> {
    input: MessageLines<R>,
    output: Option<mpsc::UnboundedSender<Outgoing>>,
    unanswered: Unanswered,
    longest: usize,
    /// A request has come.
    has_begun: bool,
    /// Receives the end of the input.
    tell: Option<oneshot::Sender<()>>,
    /// Gives every call of a tool its turn, in the order of the lines.
    take_turn: TakeTurn,
}

/// The source of turns; none in a server without sessions.
pub(crate) type TakeTurn = Box<dyn Fn() -> Option<CallTurn> + Send>;

impl<R: AsyncRead + Send + Unpin> LineTransport<R> {
    /// Reads lines of up to `longest` bytes, and reports the end of the input at once: the service itself would wait
    /// seconds for running commands. The writing task ends when all senders are dropped and all lines are written.
    pub(crate) fn new(
        input: R,
        output: impl AsyncWrite + Send + Unpin + 'static,
        longest: usize,
        tell: oneshot::Sender<()>,
        take_turn: TakeTurn,
    ) -> (Self, JoinHandle<()>) {
        let (send, lines) = mpsc::unbounded_channel();
        let writing = tokio::spawn(write(lines, output));
        let transport = Self {
            input: MessageLines::new(input, longest),
            output: Some(send),
            unanswered: Unanswered::default(),
            longest,
            has_begun: false,
            tell: Some(tell),
            take_turn,
        };
        (transport, writing)
    }

    /// The message of the line; none if the line is broken, which is answered here.
    fn message(&mut self, line: MessageLine) -> Option<RxJsonRpcMessage<RoleServer>> {
        let MessageLine::Whole(line) = line else {
            let text = format!("a message has more than {} bytes", self.longest);
            self.refuse(None, ErrorData::new(ErrorCode::PARSE_ERROR, text, None));
            return None;
        };
        let Ok(message) = serde_json::from_slice(&line) else {
            // A fragment of a message gets no answer, as with other servers: a confused client might take the answer
            // for another fragment.
            if let Some((id, error)) = bad_message::refusal(&line) {
                self.refuse(id, error);
            }
            return None;
        };
        if !self.has_begun && !matches!(message, JsonRpcMessage::Request(_)) {
            return None;
        }
        self.has_begun = true;
        self.admit(message)
    }

    /// Refuses a request whose id an unanswered request has. The library would forget the first one, and could answer
    /// the second with the end of a cancelled one.
    fn admit(&mut self, mut message: RxJsonRpcMessage<RoleServer>) -> Option<RxJsonRpcMessage<RoleServer>> {
        if let JsonRpcMessage::Request(request) = &mut message {
            if !unanswered(&self.unanswered).insert(request.id.clone()) {
                self.refuse(Some(request.id.clone()), bad_message::id_in_use(&request.id));
                return None;
            }
            // Every request is handled on a task of its own, and those of one shell run in this order.
            if let ClientRequest::CallToolRequest(call) = &mut request.request {
                (self.take_turn)().map(|turn| call.extensions.insert(turn));
            }
        }
        Some(message)
    }

    /// Sends an error for a broken line.
    fn refuse(&mut self, id: Option<RequestId>, error: ErrorData) {
        // A client that cannot be written to needs no answer.
        let _ = self.enqueue(&TxJsonRpcMessage::<RoleServer>::error(error, id), None);
    }

    /// Puts a line in the queue.
    fn enqueue(
        &self,
        message: &TxJsonRpcMessage<RoleServer>,
        tell: Option<oneshot::Sender<io::Result<()>>>,
    ) -> io::Result<()> {
        let mut line = serde_json::to_vec(message)?;
        line.push(b'\n');
        let output = self.output.as_ref().ok_or(io::ErrorKind::NotConnected)?;
        output.send((line, tell)).map_err(|_| io::ErrorKind::NotConnected.into())
    }
}

/// Writes lines until all senders are dropped.
async fn write(mut lines: mpsc::UnboundedReceiver<Outgoing>, mut output: impl AsyncWrite + Unpin) {
    while let Some((line, written)) = lines.recv().await {
        let done = async {
            output.write_all(&line).await?;
            output.flush().await
        };
        let done = done.await;
        // The receiver may be gone.
        let _ = written.map(|written| written.send(done));
    }
    // The client may have closed its end first.
    let _ = output.shutdown().await;
}

fn unanswered(ids: &Unanswered) -> std::sync::MutexGuard<'_, HashSet<RequestId>> {
    // Each change is a single step, so a panic leaves consistent data.
    ids.lock().unwrap_or_else(PoisonError::into_inner)
}

impl<R: AsyncRead + Send + Unpin> Transport<RoleServer> for LineTransport<R> {
    type Error = io::Error;

    fn send(
        &mut self,
        message: TxJsonRpcMessage<RoleServer>,
    ) -> impl Future<Output = Result<(), io::Error>> + Send + 'static {
        let answered = match &message {
            JsonRpcMessage::Response(response) => Some(&response.id),
            JsonRpcMessage::Error(error) => error.id.as_ref(),
            JsonRpcMessage::Request(_) | JsonRpcMessage::Notification(_) => None,
        };
        if let Some(id) = answered {
            unanswered(&self.unanswered).remove(id);
        }
        let (tell, written) = oneshot::channel();
        let waits = answered.is_none();
        let queued = self.enqueue(&message, waits.then_some(tell));
        async move {
            queued?;
            if waits { written.await.map_err(|_| io::ErrorKind::NotConnected)? } else { Ok(()) }
        }
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleServer>> {
        loop {
            // An input that fails has ended.
            let Ok(Some(line)) = self.input.next().await else {
                // The receiver may be gone.
                let _ = self.tell.take().map(|tell| tell.send(()));
                return None;
            };
            if let Some(message) = self.message(line) {
                return Some(message);
            }
        }
    }

    async fn close(&mut self) -> Result<(), io::Error> {
        self.output = None;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::Value;
    use tokio::io::{AsyncReadExt, duplex};

    use super::*;

    /// Sends bytes; returns the number of messages, and the direct answers.
    async fn check(sent: &[u8], longest: usize) -> (usize, String) {
        let (client, server) = duplex(1 << 20);
        let (input, output) = tokio::io::split(server);
        let (mut answers, mut lines) = tokio::io::split(client);
        let (tell, told) = oneshot::channel();
        let (mut transport, writing) = LineTransport::new(input, output, longest, tell, Box::new(|| None));
        lines.write_all(sent).await.expect("there is room");
        lines.shutdown().await.expect("it can be closed");
        let mut messages = 0;
        while transport.receive().await.is_some() {
            messages += 1;
        }
        told.await.expect("the end is told");
        tokio::task::yield_now().await;
        transport.close().await.expect("it can be closed");
        drop(transport);
        writing.await.expect("all is written");
        let mut said = String::new();
        answers.read_to_string(&mut said).await.expect("text");
        (messages, said)
    }

    const PING: &str = "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}\n";

    #[tokio::test(flavor = "current_thread")]
    async fn whatever_has_an_id_is_answered_with_it() {
        let wrong = "{\"jsonrpc\":\"2.0\",\"id\":\"mine\",\"method\":\"tools/call\",\"params\":[]}\n";
        let (messages, said) = check(format!("{PING}{wrong}").as_bytes(), 1000).await;
        assert_eq!(messages, 1);
        let answer: Value = serde_json::from_str(&said).expect("one answer");
        assert_eq!((&answer["id"], &answer["error"]["code"]), (&"mine".into(), &(-32602).into()));
    }

    #[tokio::test(flavor = "current_thread")]
    async fn what_is_no_message_is_passed_over_or_told_to_nobody() {
        let (messages, said) = check(format!("\n{{\n\u{1}\n{PING}{{\"id\":").as_bytes(), 1000).await;
        assert_eq!((messages, said.as_str()), (1, ""));
        let (messages, said) = check(format!("[]\n{PING}").as_bytes(), 1000).await;
        assert!(messages == 1 && said.contains("-32600"), "{said}");
    }

    #[tokio::test(flavor = "current_thread")]
    async fn a_line_that_is_too_long_is_refused_and_the_next_one_read() {
        let (messages, said) = check(format!("{}\n{PING}", "x".repeat(100_000)).as_bytes(), 50_000).await;
        assert!(messages == 1 && said.contains("more than 50000 bytes"), "{said}");
    }
}
