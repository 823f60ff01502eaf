//! Messages, one a line.
//!
//! The library has a transport like this, but it answers a request with wrong parameters without its id, and then the client
//! waits for ever; and it ends if anything but a request comes first.
//!
//! Invariants: whatever has an id is answered with it; a line is read within a limit; a line is written whole.

use std::io;
use std::sync::Arc;

use rmcp::RoleServer;
use rmcp::model::{ErrorCode, ErrorData, JsonRpcMessage, RequestId};
use rmcp::service::{RxJsonRpcMessage, TxJsonRpcMessage};
use rmcp::transport::Transport;
use serde_json::Value;
use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncWrite, AsyncWriteExt, BufReader};
use tokio::sync::{Mutex, oneshot};

use crate::wrong::wrong;

/// A pair of streams that carry messages.
pub(crate) struct Lines<R, W> {
    input: BufReader<R>,
    output: Arc<Mutex<Option<W>>>,
    /// What has come of the next line. Kept here, because reading is dropped and begun again at any time.
    line: Vec<u8>,
    longest: usize,
    /// The rest of a line that is too long is still to come.
    is_too_long: bool,
    /// A request has come.
    has_begun: bool,
    /// Who wants to know of the end of the input.
    tell: Option<oneshot::Sender<()>>,
}

impl<R: AsyncRead + Send + Unpin, W: AsyncWrite + Send + Unpin + 'static> Lines<R, W> {
    /// Takes lines of up to `longest` bytes, and tells of their end at once: the service would wait seconds for commands that
    /// are under way.
    pub(crate) fn new(input: R, output: W, longest: usize, tell: oneshot::Sender<()>) -> Self {
        Self {
            input: BufReader::new(input),
            output: Arc::new(Mutex::new(Some(output))),
            line: Vec::new(),
            longest,
            is_too_long: false,
            has_begun: false,
            tell: Some(tell),
        }
    }

    /// Takes what has come of a line; whether that is all of it. None at the end of the input, where the beginning of a line
    /// is no line.
    async fn read(&mut self) -> Option<bool> {
        let piece = self.input.fill_buf().await.ok().filter(|piece| !piece.is_empty())?;
        let end = piece.iter().position(|byte| *byte == b'\n');
        let taken = end.map_or(piece.len(), |end| end + 1);
        if self.line.len() + taken > self.longest {
            self.is_too_long = true;
            // What it took is given back.
            self.line = Vec::new();
        }
        if !self.is_too_long {
            self.line.extend_from_slice(&piece[..taken]);
        }
        self.input.consume(taken);
        Some(end.is_some())
    }

    /// What the line says, if it is a message.
    fn message(&mut self) -> Option<RxJsonRpcMessage<RoleServer>> {
        let line = std::mem::take(&mut self.line);
        if std::mem::take(&mut self.is_too_long) {
            let text = format!("a message has more than {} bytes", self.longest);
            self.refuse(None, ErrorData::new(ErrorCode::PARSE_ERROR, text, None));
            return None;
        }
        let Ok(message) = serde_json::from_slice(&line) else {
            self.answer_wrong(&line);
            return None;
        };
        if !self.has_begun && !matches!(message, JsonRpcMessage::Request(_)) {
            return None;
        }
        self.has_begun = true;
        Some(message)
    }

    /// Answers what is JSON, but no message. What is not even JSON is passed over, as other servers do: an answer might be
    /// taken for another such line by a client that is confused.
    fn answer_wrong(&mut self, line: &[u8]) {
        let Ok(said) = serde_json::from_slice::<Value>(line) else { return };
        if let Some((id, error)) = wrong(&said) {
            self.refuse(id, error);
        }
    }

    fn refuse(&mut self, id: Option<RequestId>, error: ErrorData) {
        // Aside, because this may be dropped while it waits, and a line has to be written whole.
        tokio::spawn(self.send(TxJsonRpcMessage::<RoleServer>::error(error, id)));
    }
}

impl<R: AsyncRead + Send + Unpin, W: AsyncWrite + Send + Unpin + 'static> Transport<RoleServer> for Lines<R, W> {
    type Error = io::Error;

    fn send(
        &mut self,
        message: TxJsonRpcMessage<RoleServer>,
    ) -> impl Future<Output = Result<(), io::Error>> + Send + 'static {
        let output = Arc::clone(&self.output);
        async move {
            let mut line = serde_json::to_vec(&message)?;
            line.push(b'\n');
            let mut output = output.lock().await;
            let output = output.as_mut().ok_or(io::ErrorKind::NotConnected)?;
            output.write_all(&line).await?;
            output.flush().await
        }
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleServer>> {
        loop {
            let Some(is_whole) = self.read().await else {
                // Whoever wanted to know may be gone.
                let _ = self.tell.take().map(|tell| tell.send(()));
                return None;
            };
            if is_whole && let Some(message) = self.message() {
                return Some(message);
            }
        }
    }

    async fn close(&mut self) -> Result<(), io::Error> {
        match self.output.lock().await.take() {
            Some(mut output) => output.shutdown().await,
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt, duplex};

    use super::*;

    /// Sends bytes; what is taken for messages, and what is answered by itself.
    async fn check(sent: &[u8], longest: usize) -> (usize, String) {
        let (client, server) = duplex(1 << 20);
        let (input, output) = tokio::io::split(server);
        let (mut answers, mut lines) = tokio::io::split(client);
        let (tell, told) = oneshot::channel();
        let mut transport = Lines::new(input, output, longest, tell);
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
