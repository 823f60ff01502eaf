//! The server over HTTP, for clients of both eras.
//!
//! What is said is the library's part; who may say it, how much, and how long everything may take is decided here. Connections are plain:
//! whoever wants to be reached from elsewhere puts a proxy with TLS in front.
//!
//! Invariants: nothing of a request's body is read before the token was shown; a call whose client is gone is dropped, which
//! stops its command; connections, sessions and messages are bounded.

mod backlog;
mod door;
mod front;
mod refusal;
mod sessions;
mod token;
mod wire;

use std::io;
use std::sync::Arc;
use std::time::Duration;

use bashful_dialect::Toolbox;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use rmcp::ServerHandler;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::task::JoinSet;
use tokio::time::{MissedTickBehavior, interval, sleep};

pub use door::Door;
pub use token::{Token, TokenError};

use crate::client::Clients;
use crate::handler::Handler;
use front::Front;
pub(crate) use sessions::Over;
use sessions::Sessions;
use wire::{Departure, Wire};

/// Connections at once. Every call that is under way takes one.
const CONNECTIONS: usize = 512;

/// So long a client may take to say what it wants, and so long a connection is kept on which it wants nothing more.
const HEAD_AT_MOST: Duration = Duration::from_secs(10);

/// Serves until `stop` ends, to those whom the door lets in. Commands that are under way then, or when the future is dropped, are
/// stopped; jobs go on.
pub async fn serve_http(
    listener: std::net::TcpListener,
    toolbox: Toolbox,
    clients: Clients,
    door: Door,
    stop: impl Future<Output = ()>,
) -> io::Result<()> {
    serve_handler(listener, Handler::new(toolbox, clients), door, stop).await
}

/// The same for any other handler: those who check that the protocol is kept to have tools of their own.
pub async fn serve_handler<H: ServerHandler + Clone + Sync>(
    listener: std::net::TcpListener,
    handler: H,
    door: Door,
    stop: impl Future<Output = ()>,
) -> io::Result<()> {
    listener.set_nonblocking(true)?;
    let listener = TcpListener::from_std(listener)?;
    let sessions = Arc::new(Sessions::new(door.sessions, door.idle));
    let _ending = EndsAll(Arc::clone(&sessions));
    let mut look = interval((door.idle / 2).clamp(Duration::from_millis(100), Duration::from_secs(30)));
    look.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let front = Arc::new(Front::new(handler, door, Arc::clone(&sessions)));
    let room = Arc::new(Semaphore::new(CONNECTIONS));
    let mut connections = JoinSet::new();
    tokio::pin!(stop);
    loop {
        tokio::select! {
            () = &mut stop => return Ok(()),
            (place, stream) = accept(&listener, &room) => {
                connections.spawn(serve(stream, Arc::clone(&front), place));
            }
            Some(_) = connections.join_next() => {}
            _ = look.tick() => {
                let sessions = Arc::clone(&sessions);
                connections.spawn(async move { sessions.sweep().await });
            }
        }
    }
}

/// The next connection, as soon as there is room for one more.
async fn accept(listener: &TcpListener, room: &Arc<Semaphore>) -> (Option<OwnedSemaphorePermit>, TcpStream) {
    // It is never closed.
    let place = Arc::clone(room).acquire_owned().await.ok();
    loop {
        match listener.accept().await {
            Ok((stream, _)) => return (place, stream),
            // The client has gone again, or there are no descriptors left: others will be given back.
            Err(_) => sleep(Duration::from_millis(20)).await,
        }
    }
}

/// Serves one connection to its end. What goes wrong with it is the client's concern.
async fn serve<H: ServerHandler + Clone + Sync>(
    stream: TcpStream,
    front: Arc<Front<H>>,
    _place: Option<OwnedSemaphorePermit>,
) {
    // Answers are small and complete: waiting for more to send with them gains nothing.
    let _ = stream.set_nodelay(true);
    let Ok(at) = stream.local_addr().map(|at| at.ip()) else { return };
    let Ok(departure) = Departure::of(&stream).map(Arc::new) else { return };
    let answer = |request| {
        let (front, departure) = (Arc::clone(&front), Arc::clone(&departure));
        async move { Ok::<_, std::convert::Infallible>(front.answer(request, at, &departure).await) }
    };
    let mut http = http1::Builder::new();
    http.timer(TokioTimer::new()).header_read_timeout(HEAD_AT_MOST);
    let _ = http.serve_connection(TokioIo::new(Wire::new(stream)), service_fn(answer)).await;
}

/// Sessions have tasks of their own, which would outlive the server.
struct EndsAll(Arc<Sessions>);

impl Drop for EndsAll {
    fn drop(&mut self) {
        self.0.end_all();
    }
}
