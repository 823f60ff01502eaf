//! A connection that no client can make hang or cut short.
//!
//! A client that does not read is disconnected after a while, because its session would wait forever. A client that
//! is refused while it still sends can read the reason: closing at once would reset the connection and lose it. Every
//! byte that comes in passes a check of request heads on its way to the HTTP library.

use std::io;
use std::os::fd::AsFd;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, Interest, ReadBuf};
use tokio::net::TcpStream;
use tokio::time::{Instant, Sleep, sleep};

use super::head::{Flaw, Heads};

/// Longest time that a client may leave data unread.
const UNREAD_AT_MOST: Duration = Duration::from_secs(30);

/// Time in which a refused client may still send.
const LISTEN_ON: Duration = Duration::from_secs(2);

/// One client's TCP connection, with its deadlines and the check of request heads.
pub(crate) struct ClientStream {
    stream: TcpStream,
    heads: Heads,
    inspection: Arc<Inspection>,
    /// Deadline of the current write.
    cut_off: Pin<Box<Sleep>>,
    is_unread: bool,
    /// Deadline of reading after the shutdown. Nothing is written from then on.
    deaf: Option<Pin<Box<Sleep>>>,
}

/// The findings about the bytes that one connection has sent.
///
/// The connection reads ahead, so a flaw of the next request may show while one is answered. That one is refused then, too.
#[derive(Debug, Default)]
pub(crate) struct Inspection {
    flaw: OnceLock<Flaw>,
    is_last: AtomicBool,
}

impl Inspection {
    /// The first malformed head on this connection.
    pub(crate) fn flaw(&self) -> Option<Flaw> {
        self.flaw.get().copied()
    }

    /// True if no request may follow the one that is under way, because nobody has checked where it ends.
    pub(crate) fn is_last(&self) -> bool {
        self.is_last.load(Ordering::Acquire)
    }

    fn note(&self, heads: &mut Heads, bytes: &[u8]) {
        if self.flaw.get().is_none()
            && let Err(flaw) = heads.feed(bytes)
        {
            let _ = self.flaw.set(flaw);
        }
        self.is_last.store(heads.is_last(), Ordering::Release);
    }
}

/// Detects that a client disconnects.
pub(crate) struct Departure(TcpStream);

impl Departure {
    /// Duplicates the socket, because each copy gets its own readiness events.
    pub(crate) fn of(stream: &TcpStream) -> io::Result<Self> {
        let again = std::net::TcpStream::from(stream.as_fd().try_clone_to_owned()?);
        TcpStream::from_std(again).map(Self)
    }

    /// Resolves when the client closes its side. The reader of the connection would not notice while unread requests
    /// wait before the end.
    pub(crate) async fn wait(&self) {
        // Without an event loop the server is over too.
        while self.0.ready(Interest::READABLE).await.is_ok_and(|ready| !ready.is_read_closed()) {
            // The client only sent data, which another task reads. This clears the readiness.
            let _ = self.0.try_io(Interest::READABLE, || Err::<(), _>(io::ErrorKind::WouldBlock.into()));
        }
    }
}

impl ClientStream {
    pub(crate) fn new(stream: TcpStream, inspection: Arc<Inspection>) -> Self {
        let heads = Heads::new();
        Self { stream, heads, inspection, cut_off: Box::pin(sleep(UNREAD_AT_MOST)), is_unread: false, deaf: None }
    }

    /// Fails a write that has waited longer than [`UNREAD_AT_MOST`].
    fn within_limit<T>(&mut self, cx: &mut Context<'_>, sent: Poll<io::Result<T>>) -> Poll<io::Result<T>> {
        if sent.is_ready() {
            self.is_unread = false;
            return sent;
        }
        if !std::mem::replace(&mut self.is_unread, true) {
            self.cut_off.as_mut().reset(Instant::now() + UNREAD_AT_MOST);
        }
        ready!(self.cut_off.as_mut().poll(cx));
        Poll::Ready(Err(io::ErrorKind::TimedOut.into()))
    }
}

impl AsyncRead for ClientStream {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, into: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let before = into.filled().len();
        ready!(Pin::new(&mut self.stream).poll_read(cx, into))?;
        let Self { heads, inspection, .. } = &mut *self;
        inspection.note(heads, &into.filled()[before..]);
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for ClientStream {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let sent = Pin::new(&mut self.stream).poll_write(cx, bytes);
        self.within_limit(cx, sent)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        pieces: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let sent = Pin::new(&mut self.stream).poll_write_vectored(cx, pieces);
        self.within_limit(cx, sent)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let sent = Pin::new(&mut self.stream).poll_flush(cx);
        self.within_limit(cx, sent)
    }

    /// Closes the sending side, and discards what the client still sends.
    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        if self.deaf.is_none() {
            ready!(Pin::new(&mut self.stream).poll_shutdown(cx))?;
            self.deaf = Some(Box::pin(sleep(LISTEN_ON)));
        }
        loop {
            if self.deaf.as_mut().is_some_and(|deaf| deaf.as_mut().poll(cx).is_ready()) {
                return Poll::Ready(Ok(()));
            }
            let mut unwanted = [0; 16 * 1024];
            let mut unwanted = ReadBuf::new(&mut unwanted);
            ready!(Pin::new(&mut self.stream).poll_read(cx, &mut unwanted))?;
            if unwanted.filled().is_empty() {
                return Poll::Ready(Ok(()));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::TcpListener;

    use super::*;

    /// Both ends of a connection.
    async fn pair() -> (ClientStream, TcpStream) {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let client = TcpStream::connect(listener.local_addr().expect("an address")).await.expect("it listens");
        (ClientStream::new(listener.accept().await.expect("a client").0, Arc::default()), client)
    }

    // The paused clock advances when all tasks wait.
    #[tokio::test(flavor = "current_thread", start_paused = true)]
    async fn a_client_that_does_not_read_is_cut_off() {
        let (mut wire, _client) = pair().await;
        let error = wire.write_all(&vec![0; 64 << 20]).await.expect_err("nobody reads it");
        assert_eq!(error.kind(), io::ErrorKind::TimedOut);
    }

    #[tokio::test(flavor = "current_thread", start_paused = true)]
    async fn a_client_that_never_stops_is_listened_to_for_a_while() {
        let (mut wire, mut client) = pair().await;
        wire.write_all(b"no").await.expect("it is taken");
        wire.shutdown().await.expect("its end is not waited for");
        client.write_all(b"and another thing").await.expect("it is still there");
        drop(wire);
        let mut said = Vec::new();
        // The connection may end in a reset, but the answer before it has arrived.
        let _ = client.read_to_end(&mut said).await;
        assert_eq!(said, b"no");
    }
}
