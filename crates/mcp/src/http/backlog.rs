//! What is sent in answer to one request of a session, kept for a client that loses its connection on the way.
//!
//! The library keeps it too, but only until the answer is there: a client that comes back later would wait for ever, and a
//! model would run the command again. It is also why a client that does not read holds up nobody else in its session.

use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use futures_core::Stream;
use rmcp::transport::streamable_http_server::session::ServerSseMessage;
use tokio::sync::{mpsc, watch};

/// So long an answer is kept. Clients come back within seconds.
const KEPT: Duration = Duration::from_mins(1);

/// All that was sent so far.
pub(crate) struct Backlog(watch::Sender<Sent>);

#[derive(Debug, Default)]
struct Sent {
    events: Vec<ServerSseMessage>,
    /// When the last of them was sent.
    ended: Option<Instant>,
}

impl Backlog {
    /// Keeps what a stream brings, under ids that end in this number. It goes on with nobody there to read it.
    pub(crate) fn of(stream: impl Stream<Item = ServerSseMessage> + Send + 'static, number: u64) -> Self {
        let sent = watch::Sender::new(Sent::default());
        tokio::spawn(keep(Box::pin(stream), sent.clone(), number));
        Self(sent)
    }

    /// What was and will be sent, without the first events.
    pub(crate) fn read(&self, without: usize) -> Events {
        let (to, events) = mpsc::channel(1);
        tokio::spawn(read(self.0.subscribe(), without, to));
        Events(events)
    }

    /// Whether nobody will ask for it any more.
    pub(crate) fn is_stale(&self) -> bool {
        self.0.borrow().ended.is_some_and(|ended| ended.elapsed() > KEPT)
    }

    /// Whether all of it is there.
    pub(crate) fn is_whole(&self) -> bool {
        self.0.borrow().ended.is_some()
    }
}

/// Events as they come.
pub(crate) struct Events(mpsc::Receiver<ServerSseMessage>);

impl Stream for Events {
    type Item = ServerSseMessage;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<ServerSseMessage>> {
        self.0.poll_recv(cx)
    }
}

/// The id of an event, and what it says: how many came up to it, and the number of the backlog.
pub(crate) fn event_id(count: usize, number: u64) -> String {
    format!("{count}/{number}")
}

pub(crate) fn parse(id: &str) -> Option<(usize, u64)> {
    let (count, number) = id.split_once('/')?;
    Some((count.parse().ok()?, number.parse().ok()?))
}

async fn keep(mut stream: Pin<Box<impl Stream<Item = ServerSseMessage>>>, sent: watch::Sender<Sent>, number: u64) {
    while let Some(mut event) = std::future::poll_fn(|cx| stream.as_mut().poll_next(cx)).await {
        sent.send_modify(|sent| {
            event.event_id = Some(event_id(sent.events.len() + 1, number));
            sent.events.push(event);
        });
    }
    sent.send_modify(|sent| sent.ended = Some(Instant::now()));
}

/// Passes events on until there are no more, or nobody wants them.
async fn read(mut sent: watch::Receiver<Sent>, mut next: usize, to: mpsc::Sender<ServerSseMessage>) {
    loop {
        let event = match sent.wait_for(|sent| sent.events.len() > next || sent.ended.is_some()).await {
            Ok(sent) => sent.events.get(next).cloned(),
            Err(_) => None,
        };
        let Some(event) = event else { return };
        if to.send(event).await.is_err() {
            return;
        }
        next += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(flavor = "current_thread")]
    async fn what_was_sent_can_be_had_again_from_any_place() {
        let (give, given) = mpsc::channel(8);
        let backlog = Backlog::of(Events(given), 7);
        let mut early = backlog.read(0);
        for _ in 0..3 {
            give.send(ServerSseMessage::default()).await.expect("it is taken");
        }
        let id = |event: Option<ServerSseMessage>| event.and_then(|event| event.event_id);
        assert_eq!(id(early.0.recv().await).as_deref(), Some("1/7"));
        // One that goes away in the middle holds up nobody.
        drop(early);
        drop(give);
        let mut late = backlog.read(2);
        assert_eq!(id(late.0.recv().await).as_deref(), Some("3/7"));
        assert!(late.0.recv().await.is_none() && backlog.is_whole() && !backlog.is_stale());
        assert!(backlog.read(99).0.recv().await.is_none());
    }

    #[test]
    fn ids_say_where_to_go_on() {
        assert_eq!(parse(&event_id(3, 7)), Some((3, 7)));
        for id in ["", "3", "/", "3/", "/7", "-1/7", "3/7/9", "x/7"] {
            assert_eq!(parse(id), None, "{id}");
        }
    }
}
