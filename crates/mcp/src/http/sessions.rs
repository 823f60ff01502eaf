//! HTTP sessions of the first era: after `initialize` an id identifies the client.
//!
//! The library keeps the sessions. This module limits their number, ends idle ones, and stops the commands of an
//! ended one. A session is idle without open connections and requests: most clients leave without closing theirs.

use std::collections::{BTreeMap, HashMap};
use std::pin::Pin;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use futures_core::Stream;
use hyper::http::request::Parts;
use rmcp::model::{ClientJsonRpcMessage, Extensions, JsonRpcMessage, RequestId, ServerJsonRpcMessage};
use rmcp::transport::streamable_http_server::session::ServerSseMessage;
use rmcp::transport::streamable_http_server::session::local::{LocalSessionManager, LocalSessionManagerError};
use rmcp::transport::streamable_http_server::{SessionId, SessionManager};
use thiserror::Error;
use tokio::sync::watch;

use super::backlog::{self, Backlog};

/// Most complete answers that are kept for one session.
const ANSWERS: usize = 64;

/// All sessions of a server.
pub(crate) struct Sessions {
    library: LocalSessionManager,
    open: Mutex<HashMap<SessionId, HttpSession>>,
    /// Most sessions at the same time.
    most: usize,
    /// Time after which an idle session ends.
    idle: Duration,
    /// Number of requests so far, which numbers backlogs.
    requests: AtomicU64,
}

/// One HTTP session: its backlogs and the presence of its client.
struct HttpSession {
    presence: Arc<Mutex<Presence>>,
    /// Backlogs of its requests, by number.
    answers: BTreeMap<u64, Backlog>,
    /// The ids that clients gave to the requests of these answers.
    requests: BTreeMap<u64, RequestId>,
    /// Dropped with the session, which wakes all that wait for its end.
    end: watch::Sender<()>,
}

/// Open streams and last activity of a client.
#[derive(Debug)]
struct Presence {
    /// Open answers and open notification streams.
    streams: usize,
    /// Time of the last activity.
    seen: Instant,
}

#[derive(Debug, Error)]
pub(crate) enum SessionsError {
    #[error("all {0} sessions are in use")]
    Full(usize),
    #[error("the answer is not kept any more")]
    Forgotten,
    #[error(transparent)]
    Library(#[from] LocalSessionManagerError),
}

/// The end of a session. Requests that belong to one carry it, and their commands end with it.
#[derive(Debug, Clone)]
pub(crate) struct Over(watch::Receiver<()>);

impl Over {
    /// Resolves when the session of a request ends; never for a request without one.
    pub(crate) async fn of(request: &Extensions) {
        match request.get::<Parts>().and_then(|parts| parts.extensions.get::<Self>()).cloned() {
            // The sender sends nothing. Dropping it is the signal.
            Some(Self(mut end)) => while end.changed().await.is_ok() {},
            None => std::future::pending().await,
        }
    }
}

impl Sessions {
    pub(crate) fn new(most: usize, idle: Duration) -> Self {
        let mut library = LocalSessionManager::default();
        // The library counts messages only, and would end a session during a long command.
        library.session_config.keep_alive = None;
        Self { library, open: Mutex::default(), most, idle, requests: AtomicU64::new(0) }
    }

    /// A handle to the end of a session; none if there is no such session.
    pub(crate) fn over(&self, id: &str) -> Option<Over> {
        self.open().get(id).map(|session| Over(session.end.subscribe()))
    }

    /// True while a request with this id is unanswered. The library would never answer the first of two.
    pub(crate) fn is_unanswered(&self, session: &str, id: &RequestId) -> bool {
        let open = self.open();
        let Some(session) = open.get(session) else { return false };
        let mut same = session.requests.iter().filter(|(_, request)| *request == id).map(|(number, _)| number);
        same.any(|number| session.answers.get(number).is_some_and(|answer| !answer.is_whole()))
    }

    /// True if no further session is possible.
    pub(crate) fn is_full(&self) -> bool {
        let open = self.open();
        open.len() >= self.most && longest_away(&open).is_none()
    }

    /// Ends sessions that have been idle for too long.
    pub(crate) async fn sweep(&self) {
        let is_idle = |session: &HttpSession| away(session).is_some_and(|away| away >= self.idle);
        let idle: Vec<_> = self.open().iter().filter(|(_, it)| is_idle(it)).map(|(id, _)| id.clone()).collect();
        for id in idle {
            // The client may just have ended the session.
            let _ = self.close_session(&id).await;
        }
    }

    /// Ends all sessions without waiting.
    pub(crate) fn end_all(&self) {
        self.open().clear();
        // A holder of the lock is ending sessions too.
        if let Ok(mut sessions) = self.library.sessions.try_write() {
            sessions.clear();
        }
    }

    fn open(&self) -> MutexGuard<'_, HashMap<SessionId, HttpSession>> {
        // Every change is a single step, so a panic leaves consistent data.
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Marks the client as present until the visit is dropped.
    fn visit(&self, id: &str) -> Option<Visit> {
        self.open().get(id).map(|session| Visit::new(&session.presence))
    }
}

impl HttpSession {
    /// Stores a backlog, and drops old ones.
    fn keep(&mut self, number: u64, answer: Backlog) {
        self.answers.retain(|_, answer| !answer.is_stale());
        let whole = self.answers.iter().filter(|(_, answer)| answer.is_whole()).map(|(number, _)| *number);
        let whole: Vec<_> = whole.collect();
        for old in whole.iter().rev().skip(ANSWERS) {
            self.answers.remove(old);
        }
        self.answers.insert(number, answer);
        self.requests.retain(|number, _| self.answers.contains_key(number));
    }
}

/// The idle time of a session; none if its client is present.
fn away(session: &HttpSession) -> Option<Duration> {
    let presence = lock(&session.presence);
    (presence.streams == 0).then(|| presence.seen.elapsed())
}

fn longest_away(open: &HashMap<SessionId, HttpSession>) -> Option<SessionId> {
    open.iter().filter_map(|(id, it)| Some((away(it)?, id))).max().map(|(_, id)| id.clone())
}

fn lock(presence: &Mutex<Presence>) -> MutexGuard<'_, Presence> {
    presence.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The presence of a client, until dropped.
struct Visit(Arc<Mutex<Presence>>);

impl Visit {
    fn new(presence: &Arc<Mutex<Presence>>) -> Self {
        lock(presence).streams += 1;
        Self(Arc::clone(presence))
    }
}

impl Drop for Visit {
    fn drop(&mut self) {
        let mut presence = lock(&self.0);
        presence.streams -= 1;
        presence.seen = Instant::now();
    }
}

/// A stream of events that keeps its client present.
struct Visited {
    events: Pin<Box<dyn Stream<Item = ServerSseMessage> + Send + Sync>>,
    _visit: Option<Visit>,
}

impl Visited {
    fn new(events: impl Stream<Item = ServerSseMessage> + Send + Sync + 'static, visit: Option<Visit>) -> Self {
        Self { events: Box::pin(events), _visit: visit }
    }
}

impl Stream for Visited {
    type Item = ServerSseMessage;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<ServerSseMessage>> {
        self.events.as_mut().poll_next(cx)
    }
}

impl SessionManager for Sessions {
    type Error = SessionsError;
    type Transport = <LocalSessionManager as SessionManager>::Transport;

    /// Creates a session. If there are too many, the one idle for longest is ended.
    async fn create_session(&self) -> Result<(SessionId, Self::Transport), SessionsError> {
        if self.open().len() >= self.most {
            let longest = longest_away(&self.open()).ok_or(SessionsError::Full(self.most))?;
            self.close_session(&longest).await?;
        }
        let (id, transport) = self.library.create_session().await?;
        let presence = Arc::new(Mutex::new(Presence { streams: 0, seen: Instant::now() }));
        let session =
            HttpSession { presence, answers: BTreeMap::new(), requests: BTreeMap::new(), end: watch::Sender::new(()) };
        self.open().insert(id.clone(), session);
        Ok((id, transport))
    }

    async fn initialize_session(
        &self,
        id: &SessionId,
        message: ClientJsonRpcMessage,
    ) -> Result<ServerJsonRpcMessage, SessionsError> {
        let _visit = self.visit(id);
        Ok(self.library.initialize_session(id, message).await?)
    }

    async fn has_session(&self, id: &SessionId) -> Result<bool, SessionsError> {
        Ok(self.library.has_session(id).await?)
    }

    /// Ends a session and its commands at once. The library alone would wait seconds for them.
    async fn close_session(&self, id: &SessionId) -> Result<(), SessionsError> {
        drop(self.open().remove(id));
        Ok(self.library.close_session(id).await?)
    }

    async fn create_stream(
        &self,
        id: &SessionId,
        message: ClientJsonRpcMessage,
    ) -> Result<impl Stream<Item = ServerSseMessage> + Send + Sync + 'static, SessionsError> {
        let visit = self.visit(id);
        let number = self.requests.fetch_add(1, Ordering::Relaxed);
        let request = if let JsonRpcMessage::Request(request) = &message { Some(request.id.clone()) } else { None };
        let answer = Backlog::of(self.library.create_stream(id, message).await?, number);
        let events = answer.read(0);
        if let Some(session) = self.open().get_mut(id) {
            session.requests.extend(request.map(|request| (number, request)));
            session.keep(number, answer);
        }
        Ok(Visited::new(events, visit))
    }

    async fn accept_message(&self, id: &SessionId, message: ClientJsonRpcMessage) -> Result<(), SessionsError> {
        let _visit = self.visit(id);
        Ok(self.library.accept_message(id, message).await?)
    }

    async fn create_standalone_stream(
        &self,
        id: &SessionId,
    ) -> Result<impl Stream<Item = ServerSseMessage> + Send + Sync + 'static, SessionsError> {
        let visit = self.visit(id);
        Ok(Visited::new(self.library.create_standalone_stream(id).await?, visit))
    }

    /// Resumes after an event. This module keeps events of answers, the library all others.
    async fn resume(
        &self,
        id: &SessionId,
        last_event_id: String,
    ) -> Result<impl Stream<Item = ServerSseMessage> + Send + Sync + 'static, SessionsError> {
        let visit = self.visit(id);
        let Some((count, number)) = backlog::parse(&last_event_id) else {
            return Ok(Visited::new(self.library.resume(id, last_event_id).await?, visit));
        };
        let answer = self.open().get(id).and_then(|session| Some(session.answers.get(&number)?.read(count)));
        Ok(Visited::new(answer.ok_or(SessionsError::Forgotten)?, visit))
    }
}
