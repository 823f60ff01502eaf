//! The server over HTTP, for clients of both eras.
//!
//! What is said is the library's part; who may say it, how much, and how long everything may take is decided here. Connections are plain:
//! whoever wants to be reached from elsewhere puts a proxy with TLS in front.
//!
//! Invariants: nothing of a request's body is read before the token was shown; a call whose client is gone is dropped, which
//! stops its command; connections, sessions and messages are bounded; a connection without the token takes no place of a client.

mod access;
mod backlog;
mod connection;
mod head;
mod refusal;
mod request;
mod sessions;
mod strangers;
mod token;

use std::io;
use std::sync::Arc;
use std::time::Duration;

use bashful_dialect::Toolbox;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use rmcp::ServerHandler;
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;
use tokio::time::{MissedTickBehavior, interval, sleep};

pub use access::Door;
pub use token::{Token, TokenError};

use crate::client::Clients;
use crate::handler::Handler;
use connection::{Departure, Inspection, Wire};
pub(crate) use request::session_of;
use request::{ClientConnection, Front};
pub(crate) use sessions::Over;
use sessions::Sessions;
use strangers::{Rooms, Visitor};

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
    let rooms = Rooms::new(door.descriptors);
    let front = Arc::new(Front::new(handler, door, Arc::clone(&sessions)));
    let mut connections = JoinSet::new();
    let accepting = accept(&listener, &rooms);
    tokio::pin!(stop, accepting);
    loop {
        tokio::select! {
            () = &mut stop => return Ok(()),
            (visitor, stream) = &mut accepting => {
                accepting.set(accept(&listener, &rooms));
                connections.spawn(serve(stream, Arc::clone(&front), visitor));
            }
            Some(_) = connections.join_next() => {}
            _ = look.tick() => {
                let sessions = Arc::clone(&sessions);
                connections.spawn(async move { sessions.sweep().await });
            }
        }
    }
}

/// The next connection. The oldest connection without a token gives way to it where there is no room.
///
/// A dropped future may close a connection that was accepted and had to wait for its place.
async fn accept(listener: &TcpListener, rooms: &Arc<Rooms>) -> (Visitor, TcpStream) {
    loop {
        if let Ok((stream, _)) = listener.accept().await {
            return (rooms.enter().await, stream);
        }
        // The client has gone again, or there are no descriptors left: then one has to be given back.
        rooms.turn_out_oldest();
        sleep(Duration::from_millis(20)).await;
    }
}

/// Serves one connection to its end. What goes wrong with it is the client's concern.
async fn serve<H: ServerHandler + Clone + Sync>(stream: TcpStream, front: Arc<Front<H>>, visitor: Visitor) {
    // Answers are small and complete: waiting for more to send with them gains nothing.
    let _ = stream.set_nodelay(true);
    let Ok(at) = stream.local_addr().map(|at| at.ip()) else { return };
    let Ok(departure) = Departure::of(&stream) else { return };
    let inspection = Arc::<Inspection>::default();
    let wire = Wire::new(stream, Arc::clone(&inspection));
    let connection = Arc::new(ClientConnection { at, departure, visitor, inspection });
    let answer = |request| {
        let (front, connection) = (Arc::clone(&front), Arc::clone(&connection));
        async move { Ok::<_, std::convert::Infallible>(front.answer(request, &connection).await) }
    };
    let mut http = http1::Builder::new();
    http.timer(TokioTimer::new()).header_read_timeout(HEAD_AT_MOST).max_buf_size(head::LONGEST_LINE);
    tokio::select! {
        // A request that is already there is heard before its connection has to go.
        biased;
        _ = http.serve_connection(TokioIo::new(wire), service_fn(answer)) => {}
        () = connection.visitor.turned_out() => {}
    }
}

/// Sessions have tasks of their own, which would outlive the server.
struct EndsAll(Arc<Sessions>);

impl Drop for EndsAll {
    fn drop(&mut self) {
        self.0.end_all();
    }
}
