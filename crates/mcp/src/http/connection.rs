//! A connection that no client can make hang or cut short.
//!
//! A client that does not read what it is sent is cut off after a while: its session would wait for it for ever. And one that is
//! refused while it still sends gets to read why: closing at once would reset the connection, and throw that away.
//! Every byte that comes in passes a check of request heads on its way to the HTTP library.

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

/// So long a client may leave what it is sent unread.
const UNREAD_AT_MOST: Duration = Duration::from_secs(30);

/// So long a client is listened to that was told that this is the end.
const LISTEN_ON: Duration = Duration::from_secs(2);

/// One client's connection.
pub(crate) struct Wire {
    stream: TcpStream,
    heads: Heads,
    inspection: Arc<Inspection>,
    /// When it is cut off, if it is not read.
    cut_off: Pin<Box<Sleep>>,
    is_unread: bool,
    /// When nobody listens any more. From then on nothing is written.
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

/// Sees a client go.
pub(crate) struct Departure(TcpStream);

impl Departure {
    /// The same connection once more: that a client has gone is news to each of them.
    pub(crate) fn of(stream: &TcpStream) -> io::Result<Self> {
        let again = std::net::TcpStream::from(stream.as_fd().try_clone_to_owned()?);
        TcpStream::from_std(again).map(Self)
    }

    /// Resolves when the client has closed its side. Whoever reads the connection would not notice behind what the client has
    /// sent too early.
    pub(crate) async fn wait(&self) {
        // Without an event loop nobody is there either.
        while self.0.ready(Interest::READABLE).await.is_ok_and(|ready| !ready.is_read_closed()) {
            // It has only said something, which is another's to read. This waits for the next time.
            let _ = self.0.try_io(Interest::READABLE, || Err::<(), _>(io::ErrorKind::WouldBlock.into()));
        }
    }
}

impl Wire {
    pub(crate) fn new(stream: TcpStream, inspection: Arc<Inspection>) -> Self {
        let heads = Heads::new();
        Self { stream, heads, inspection, cut_off: Box::pin(sleep(UNREAD_AT_MOST)), is_unread: false, deaf: None }
    }

    /// Fails what has been waiting for too long.
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

impl AsyncRead for Wire {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, into: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let before = into.filled().len();
        ready!(Pin::new(&mut self.stream).poll_read(cx, into))?;
        let Self { heads, inspection, .. } = &mut *self;
        inspection.note(heads, &into.filled()[before..]);
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for Wire {
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

    /// Tells the client that nothing follows, and takes what is still on its way from it.
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
    async fn pair() -> (Wire, TcpStream) {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let client = TcpStream::connect(listener.local_addr().expect("an address")).await.expect("it listens");
        (Wire::new(listener.accept().await.expect("a client").0, Arc::default()), client)
    }

    // The clock goes on by itself when everybody waits.
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
        // The end may be a reset, but what was said before it has arrived.
        let _ = client.read_to_end(&mut said).await;
        assert_eq!(said, b"no");
    }
}
