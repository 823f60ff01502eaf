//! The server over HTTP, for clients of both eras.
//!
//! The library implements the protocol. This module decides about access, sizes and times. Connections are not
//! encrypted: other machines need a proxy with TLS in service.
//!
//! Invariants: no byte of a body is read before the token is checked; a call whose client disconnects is dropped,
//! which stops its command; connections, sessions and messages are bounded; a connection without the token takes no
//! place of a client.

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

pub use access::AccessRules;
pub use token::{Token, TokenError};

use crate::client::Clients;
use crate::handler::Handler;
use connection::{ClientStream, Departure, Inspection};
pub(crate) use request::session_of;
use request::{ClientConnection, HttpService};
pub(crate) use sessions::Over;
use sessions::Sessions;
use strangers::{Rooms, Visitor};

/// Longest time for a request head, and for an idle connection.
const HEAD_AT_MOST: Duration = Duration::from_secs(10);

/// Serves clients that pass the access rules, until `stop` resolves. Running commands are stopped then, or when the
/// future is dropped. Jobs go on.
pub async fn serve_http(
    listener: std::net::TcpListener,
    toolbox: Toolbox,
    clients: Clients,
    access_rules: AccessRules,
    stop: impl Future<Output = ()>,
) -> io::Result<()> {
    serve_handler(listener, Handler::new(toolbox, clients), access_rules, stop).await
}

/// Serves any handler. The conformance suite brings its own tools.
pub async fn serve_handler<H: ServerHandler + Clone + Sync>(
    listener: std::net::TcpListener,
    handler: H,
    access_rules: AccessRules,
    stop: impl Future<Output = ()>,
) -> io::Result<()> {
    listener.set_nonblocking(true)?;
    let listener = TcpListener::from_std(listener)?;
    let sessions = Arc::new(Sessions::new(access_rules.sessions, access_rules.idle));
    let _ending = EndsAll(Arc::clone(&sessions));
    let mut look = interval((access_rules.idle / 2).clamp(Duration::from_millis(100), Duration::from_secs(30)));
    look.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let rooms = Rooms::new(access_rules.descriptors);
    let service = Arc::new(HttpService::new(handler, access_rules, Arc::clone(&sessions)));
    let mut connections = JoinSet::new();
    let accepting = accept(&listener, &rooms);
    tokio::pin!(stop, accepting);
    loop {
        tokio::select! {
            () = &mut stop => return Ok(()),
            (visitor, stream) = &mut accepting => {
                accepting.set(accept(&listener, &rooms));
                connections.spawn(serve(stream, Arc::clone(&service), visitor));
            }
            Some(_) = connections.join_next() => {}
            _ = look.tick() => {
                let sessions = Arc::clone(&sessions);
                connections.spawn(async move { sessions.sweep().await });
            }
        }
    }
}

/// Accepts the next connection. If there is no room, the oldest connection without a token is closed.
///
/// Dropping the future may close an accepted connection that waits for its place.
async fn accept(listener: &TcpListener, rooms: &Arc<Rooms>) -> (Visitor, TcpStream) {
    loop {
        if let Ok((stream, _)) = listener.accept().await {
            return (rooms.enter().await, stream);
        }
        // The client disconnected, or no descriptors are left. Closing a connection frees one.
        rooms.turn_out_oldest();
        sleep(Duration::from_millis(20)).await;
    }
}

/// Serves one connection to its end. Its errors are not reported.
async fn serve<H: ServerHandler + Clone + Sync>(stream: TcpStream, service: Arc<HttpService<H>>, visitor: Visitor) {
    // Answers are written whole, so Nagle's algorithm would only delay them.
    let _ = stream.set_nodelay(true);
    let Ok(at) = stream.local_addr().map(|at| at.ip()) else { return };
    let Ok(departure) = Departure::of(&stream) else { return };
    let inspection = Arc::<Inspection>::default();
    let wire = ClientStream::new(stream, Arc::clone(&inspection));
    let connection = Arc::new(ClientConnection { at, departure, visitor, inspection });
    let answer = |request| {
        let (service, connection) = (Arc::clone(&service), Arc::clone(&connection));
        async move { Ok::<_, std::convert::Infallible>(service.answer(request, &connection).await) }
    };
    let mut http = http1::Builder::new();
    http.timer(TokioTimer::new()).header_read_timeout(HEAD_AT_MOST).max_buf_size(head::LONGEST_LINE);
    tokio::select! {
        // A request that has arrived is served before its connection is closed.
        biased;
        _ = http.serve_connection(TokioIo::new(wire), service_fn(answer)) => {}
        () = connection.visitor.turned_out() => {}
    }
}

/// Ends all sessions when dropped. Their tasks would outlive the server.
struct EndsAll(Arc<Sessions>);

impl Drop for EndsAll {
    fn drop(&mut self) {
        self.0.end_all();
    }
}
