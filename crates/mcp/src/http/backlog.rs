//! Keeps the events of one request for a client that loses its connection.
//!
//! The library keeps events only until the answer exists. A client that reconnects later would wait forever, and its
//! model would run the command again. The backlog also keeps a client that does not read from holding up others in
//! its session.

use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use futures_core::Stream;
use rmcp::transport::streamable_http_server::session::ServerSseMessage;
use tokio::sync::{mpsc, watch};

/// Time that a complete answer is kept. Clients reconnect within seconds.
const KEPT: Duration = Duration::from_mins(1);

/// The events so far.
pub(crate) struct Backlog(watch::Sender<Sent>);

#[derive(Debug, Default)]
struct Sent {
    events: Vec<ServerSseMessage>,
    /// Time of the last event; none while more may come.
    ended: Option<Instant>,
}

impl Backlog {
    /// Collects the events of a stream, with ids that end in `number`. It continues without a reader.
    pub(crate) fn of(stream: impl Stream<Item = ServerSseMessage> + Send + 'static, number: u64) -> Self {
        let sent = watch::Sender::new(Sent::default());
        tokio::spawn(keep(Box::pin(stream), sent.clone(), number));
        Self(sent)
    }

    /// All past and future events, except the first `without`.
    pub(crate) fn read(&self, without: usize) -> Events {
        let (to, events) = mpsc::channel(1);
        tokio::spawn(read(self.0.subscribe(), without, to));
        Events(events)
    }

    /// True if the backlog may be dropped.
    pub(crate) fn is_stale(&self) -> bool {
        self.0.borrow().ended.is_some_and(|ended| ended.elapsed() > KEPT)
    }

    /// True if the last event has come.
    pub(crate) fn is_whole(&self) -> bool {
        self.0.borrow().ended.is_some()
    }
}

/// Events of a backlog, as they come.
pub(crate) struct Events(mpsc::Receiver<ServerSseMessage>);

impl Stream for Events {
    type Item = ServerSseMessage;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<ServerSseMessage>> {
        self.0.poll_recv(cx)
    }
}

/// The id of an event: the count of events up to it, and the number of the backlog.
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

/// Passes events on until the last one, or until the receiver is dropped.
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
        // A reader that disconnects does not hold up the others.
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
