//! One request, from access control to the answer.

use bashful_dialect::longest_message;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use http_body_util::{BodyExt, Full};
use hyper::body::{Body, Bytes, Incoming};
use hyper::header::{CONTENT_TYPE, HeaderValue, X_CONTENT_TYPE_OPTIONS};
use hyper::http::request::Parts;
use hyper::{Method, Request, StatusCode};
use rmcp::ServerHandler;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};
use tokio::time::timeout;

use super::access::AccessRules;
use super::connection::{Departure, Inspection};
use super::refusal::{HttpAnswer, HttpRefusal, end_connection, no_message, refuse};
use super::sessions::Sessions;
use super::strangers::Visitor;
use crate::bad_message;

/// The header with the session id.
const SESSION: &str = "mcp-session-id";

/// Longest pause in the middle of a message.
const PAUSE_AT_MOST: Duration = Duration::from_secs(30);

/// The connection that a request came by.
pub(crate) struct ClientConnection {
    /// The server's own address.
    pub(crate) at: IpAddr,
    pub(crate) departure: Departure,
    pub(crate) visitor: Visitor,
    pub(crate) inspection: Arc<Inspection>,
}

impl ClientConnection {
    fn check_heads(&self) -> Result<(), HttpRefusal> {
        self.inspection.flaw().map_or(Ok(()), |flaw| Err(HttpRefusal::Malformed(flaw)))
    }
}

/// The service for all connections.
pub(crate) struct HttpService<H> {
    access_rules: AccessRules,
    sessions: Arc<Sessions>,
    library: StreamableHttpService<H, Sessions>,
}

impl<H: ServerHandler + Clone + Sync> HttpService<H> {
    pub(crate) fn new(handler: H, access_rules: AccessRules, sessions: Arc<Sessions>) -> Self {
        // This module has checked hosts and origins before the library sees a request. An answer is plain JSON unless
        // notifications come before it.
        let config = StreamableHttpServerConfig::default()
            .disable_allowed_hosts()
            .disable_allowed_origins()
            .with_json_response(true)
            .with_max_request_body_bytes(longest_message());
        let library = StreamableHttpService::new(move || Ok(handler.clone()), Arc::clone(&sessions), config);
        Self { access_rules, sessions, library }
    }

    /// Answers a request of this connection, unless its client disconnects first.
    pub(crate) async fn answer(&self, request: Request<Incoming>, connection: &ClientConnection) -> HttpAnswer {
        let (parts, body) = request.into_parts();
        let is_last = connection.inspection.is_last();
        let answer = match self.admit(&parts, connection) {
            Ok(()) => tokio::select! {
                answer = self.admitted(parts, body, connection) => answer,
                // The client is gone, so nobody receives this error.
                () = connection.departure.wait() => Err(HttpRefusal::CutOff),
            },
            Err(refusal) => Err(refusal),
        };
        let mut answer = answer.unwrap_or_else(HttpRefusal::answer);
        if is_last {
            end_connection(&mut answer);
        }
        answer.headers_mut().insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
        answer
    }

    /// Checks access. From now on the connection counts as a client's.
    fn admit(&self, parts: &Parts, connection: &ClientConnection) -> Result<(), HttpRefusal> {
        connection.check_heads()?;
        self.access_rules.admit(parts, connection.at)?;
        if connection.visitor.admit() { Ok(()) } else { Err(HttpRefusal::TooManyConnections) }
    }

    async fn admitted(
        &self,
        mut parts: Parts,
        body: Incoming,
        connection: &ClientConnection,
    ) -> Result<HttpAnswer, HttpRefusal> {
        let message = match parts.method {
            Method::POST => read(body, longest_message()).await?,
            Method::GET | Method::DELETE => Bytes::new(),
            _ => return Err(HttpRefusal::Method),
        };
        connection.check_heads()?;
        // The session is looked up after the body, which may have taken long to arrive.
        self.note_session(&mut parts)?;
        let in_use = bad_message::request_id(&message)
            .filter(|id| session_of(&parts).is_some_and(|session| self.sessions.is_unanswered(session, id)));
        if let Some(id) = in_use {
            return Ok(refuse(Some(id.clone()), bad_message::id_in_use(&id)));
        }
        let kind = parts.headers.get(CONTENT_TYPE);
        let is_json = kind.is_some_and(|kind| kind.as_bytes().starts_with(b"application/json"));
        let is_new = !parts.headers.contains_key(SESSION);
        let answer = self.library.handle(Request::from_parts(parts, Full::new(message.clone()))).await;
        match answer.status() {
            // The library's status for JSON that is no message.
            StatusCode::UNSUPPORTED_MEDIA_TYPE if is_json => Ok(no_message(&message)),
            StatusCode::INTERNAL_SERVER_ERROR if is_new && self.sessions.is_full() => Err(HttpRefusal::TooManySessions),
            _ => Ok(answer),
        }
    }

    /// Attaches the end of its session to a request.
    fn note_session(&self, parts: &mut Parts) -> Result<(), HttpRefusal> {
        let Some(id) = session_of(parts) else { return Ok(()) };
        if let Some(over) = self.sessions.over(id) {
            parts.extensions.insert(over);
        } else if parts.method == Method::DELETE {
            // The library would report success.
            return Err(HttpRefusal::NoSession);
        }
        Ok(())
    }
}

/// The session id in the headers of a request.
pub(crate) fn session_of(parts: &Parts) -> Option<&str> {
    parts.headers.get(SESSION)?.to_str().ok()
}

/// Reads a body of at most `longest` bytes.
async fn read(mut body: Incoming, longest: usize) -> Result<Bytes, HttpRefusal> {
    if body.size_hint().lower() > longest.try_into().unwrap_or(u64::MAX) {
        return Err(HttpRefusal::TooLong);
    }
    let mut message = Vec::new();
    loop {
        let frame = match timeout(PAUSE_AT_MOST, body.frame()).await {
            Ok(Some(Ok(frame))) => frame,
            Ok(Some(Err(_))) => return Err(HttpRefusal::CutOff),
            Ok(None) => return Ok(message.into()),
            Err(_) => return Err(HttpRefusal::TooSlow),
        };
        // Trailers are ignored.
        let piece = frame.into_data().unwrap_or_default();
        if message.len() + piece.len() > longest {
            return Err(HttpRefusal::TooLong);
        }
        message.extend_from_slice(&piece);
    }
}
