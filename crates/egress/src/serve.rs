//! Accepts connections, and carries bytes between two of them.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use rustix::process::{Resource, getrlimit};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};

use crate::dial::{CONNECT, dial};
use crate::observer::{Connection, Observer, Outcome};
use crate::request::{NoRequest, Request};
use crate::rules::{Rules, Verdict};

/// Time limit of a client for sending its request, and for reading a refusal.
const HEAD: Duration = Duration::from_secs(10);

/// Most simultaneous connections of one listener. A browser has some 50, a package manager as many.
const CONNECTIONS: u64 = 1024;

/// Most simultaneous lookups of one proxy. Each is a thread.
const LOOKUPS: usize = 32;

/// Bytes that are on their way in one direction.
const BUFFER: usize = 16 * 1024;

/// Pause after a failed `accept`: the usual cause, no free descriptor, is not over at once.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// Most bytes of a refused request that are read, so that its client can send it and then read the answer.
const REFUSED_BODY: u64 = 1024 * 1024;

/// Serves an outgoing proxy on `listener`: HTTP `CONNECT`, plain HTTP and SOCKS5.
///
/// Runs until it is dropped, which closes all connections; the observer hears of each. One listener has at most 1,024
/// connections, and at most a quarter of the descriptors of this process. More wait in its backlog.
///
/// The bytes in a tunnel are not looked at: neither the name in a TLS handshake nor a `Host` header in there.
pub async fn serve(listener: TcpListener, rules: Arc<Rules>, observer: Arc<dyn Observer>) {
    let lookups = Arc::new(Semaphore::new(LOOKUPS));
    let proxy = Arc::new(Proxy { rules, observer, lookups });
    accept(listener, |client| Arc::clone(&proxy).attend(client)).await;
}

/// Connects every client of `listener` with `target`: a port of this machine that a fenced command may use.
///
/// Runs until it is dropped, with the bounds of [`serve()`]. A client whose target does not answer is hung up.
pub async fn forward(listener: TcpListener, target: SocketAddr) {
    accept(listener, |mut client| async move {
        if let Ok(Ok(mut server)) = timeout(CONNECT, TcpStream::connect(target)).await {
            relay(&mut client, Vec::new(), &mut server, (&mut 0, &mut 0)).await;
        }
    })
    .await;
}

async fn accept<F>(listener: TcpListener, attend: impl Fn(TcpStream) -> F)
where
    F: Future<Output = ()> + Send + 'static,
{
    // Each connection has two descriptors. The rest of the program needs some, whatever a command does.
    let most = getrlimit(Resource::Nofile).current.map_or(CONNECTIONS, |files| (files / 8).clamp(1, CONNECTIONS));
    let mut clients = JoinSet::new();
    loop {
        tokio::select! {
            Some(_) = clients.join_next() => {}
            accepted = listener.accept(), if (clients.len() as u64) < most => match accepted {
                Ok((client, _)) => drop(clients.spawn(attend(client))),
                Err(_) => sleep(ACCEPT_PAUSE).await,
            },
        }
    }
}

struct Proxy {
    rules: Arc<Rules>,
    observer: Arc<dyn Observer>,
    lookups: Arc<Semaphore>,
}

impl Proxy {
    async fn attend(self: Arc<Self>, mut client: TcpStream) {
        let Request { host, port, protocol, early } = match timeout(HEAD, Request::read(&mut client)).await {
            Ok(Ok(request)) => request,
            Ok(Err(NoRequest::Malformed { why, answer })) => {
                self.observer.malformed(&why);
                return refuse(&mut client, &answer).await;
            }
            Ok(Err(NoRequest::Gone)) | Err(_) => return,
        };
        let outcome = Outcome::Unreachable("the proxy was stopped".to_owned());
        let connection = Connection { host, port, outcome, sent: 0, received: 0, duration: Duration::ZERO };
        let mut report = Report { connection, observer: &*self.observer, since: Instant::now() };
        let Connection { host, outcome, sent, received, .. } = &mut report.connection;
        match self.reach(host, port).await {
            Ok(mut server) => {
                *outcome = Outcome::Relayed;
                if client.write_all(protocol.granted()).await.is_ok() {
                    relay(&mut client, early, &mut server, (sent, received)).await;
                }
            }
            Err(why) => {
                *outcome = why;
                let answer = protocol.denied(&report.connection);
                drop(report);
                refuse(&mut client, &answer).await;
            }
        }
    }

    async fn reach(&self, host: &crate::Host, port: u16) -> Result<TcpStream, Outcome> {
        if self.rules.decide(host, port) == Verdict::NotListed && !self.observer.ask(host, port).await {
            return Err(Outcome::NotListed);
        }
        dial(&self.rules, &self.lookups, host, port).await
    }
}

/// Tells the observer of a connection when it is dropped: also if the proxy is stopped.
struct Report<'a> {
    connection: Connection,
    observer: &'a dyn Observer,
    since: Instant,
}

impl Drop for Report<'_> {
    fn drop(&mut self) {
        self.connection.duration = self.since.elapsed();
        self.observer.ended(&self.connection);
    }
}

/// Sends a last answer. Closing a socket with unread bytes would make the kernel throw the answer away, so they are read.
async fn refuse(client: &mut TcpStream, answer: &[u8]) {
    let farewell = async {
        client.write_all(answer).await?;
        client.shutdown().await?;
        tokio::io::copy(&mut client.take(REFUSED_BODY), &mut tokio::io::sink()).await
    };
    // A client that does not wait for its answer needs none.
    let _ = timeout(HEAD, farewell).await;
}

/// Copies until both sides have ended, and counts the bytes to and from the server.
///
/// Memory is bounded: a side that does not read stops the other one.
async fn relay(client: &mut TcpStream, early: Vec<u8>, server: &mut TcpStream, counts: (&mut u64, &mut u64)) {
    // Without it, small writes would wait for acknowledgments. A socket that does not take it works too.
    let _ = (client.set_nodelay(true), server.set_nodelay(true));
    let (sent, received) = counts;
    let (mut from_client, mut to_client) = client.split();
    let (mut from_server, mut to_server) = server.split();
    let to_server = async {
        to_server.write_all(&early).await?;
        *sent += early.len() as u64;
        copy(&mut from_client, &mut to_server, sent).await
    };
    // One that fails ends both.
    let copied = tokio::try_join!(to_server, copy(&mut from_server, &mut to_client, received));
    if copied.is_err() {
        // Otherwise a reset would look like a regular end to the other side, and what it got like the whole.
        let _ = (client.set_zero_linger(), server.set_zero_linger());
    }
}

/// Copies to the end, passes the end on, and counts what was taken.
async fn copy(
    from: &mut (impl AsyncRead + Unpin),
    to: &mut (impl AsyncWrite + Unpin),
    count: &mut u64,
) -> std::io::Result<()> {
    let mut buffer = vec![0; BUFFER];
    loop {
        match from.read(&mut buffer).await? {
            0 => return to.shutdown().await,
            length => {
                to.write_all(&buffer[..length]).await?;
                *count += length as u64;
            }
        }
    }
}
