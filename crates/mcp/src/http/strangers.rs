//! Limits on connections that have not shown the token.
//!
//! Anybody who reaches the port can connect and send nothing. Such connections must not use up the places of clients.
//! So strangers have a few places of their own, for a short time. When all are taken, the newest connection replaces
//! the oldest: a client sends its token at once, and moves to the clients' places.
//!
//! Invariant: at most [`STRANGERS`] such connections are open, plus the one that has just been accepted. Both rooms are smaller
//! where the process may have few descriptors.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::{Notify, OwnedSemaphorePermit, Semaphore};
use tokio::time::sleep;

/// Most connections without a token. A client with the token needs its place for the milliseconds until its head has
/// been read, so this is how many new connections can arrive in that time without pushing the client out.
const STRANGERS: usize = 64;

/// Connections of clients with the token. Every call that is under way takes one.
const CLIENTS: usize = 512;

/// Longest time that a connection may stay without showing the token, whatever it sends.
const STRANGER_AT_MOST: Duration = Duration::from_secs(10);

/// All connections of a server, in two rooms.
pub(crate) struct Rooms {
    strangers: Arc<Semaphore>,
    clients: Arc<Semaphore>,
    /// Strangers in order of arrival, each with its signal to leave.
    waiting: Mutex<WaitingStrangers>,
}

#[derive(Default)]
struct WaitingStrangers {
    next: u64,
    by_arrival: BTreeMap<u64, Arc<Notify>>,
}

impl Rooms {
    /// Places for a process with this limit on descriptors. A connection uses two. An eighth of all descriptors goes
    /// to strangers, half to clients, and the rest is for commands.
    pub(crate) fn new(descriptors: u64) -> Arc<Self> {
        let descriptors = usize::try_from(descriptors).unwrap_or(usize::MAX);
        Arc::new(Self {
            strangers: Arc::new(Semaphore::new((descriptors / 16).clamp(1, STRANGERS))),
            clients: Arc::new(Semaphore::new((descriptors / 4).clamp(1, CLIENTS))),
            waiting: Mutex::default(),
        })
    }

    fn waiting(&self) -> MutexGuard<'_, WaitingStrangers> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A place for a new connection. If none is free, the oldest stranger leaves first. Dropping the future takes no
    /// place.
    pub(crate) async fn enter(self: &Arc<Self>) -> Visitor {
        if self.strangers.available_permits() == 0 {
            self.turn_out_oldest();
        }
        // The semaphore is never closed.
        let place = Arc::clone(&self.strangers).acquire_owned().await.ok();
        let leave = Arc::new(Notify::new());
        let mut waiting = self.waiting();
        let arrival = waiting.next;
        waiting.next += 1;
        waiting.by_arrival.insert(arrival, Arc::clone(&leave));
        drop(waiting);
        Visitor { rooms: Arc::clone(self), arrival, leave, place: Mutex::new(place), is_client: AtomicBool::new(false) }
    }

    /// Tells the oldest stranger to leave, if there is one.
    pub(crate) fn turn_out_oldest(&self) {
        if let Some((_, oldest)) = self.waiting().by_arrival.pop_first() {
            oldest.notify_one();
        }
    }
}

/// One connection's place. Dropping it gives the place back.
pub(crate) struct Visitor {
    rooms: Arc<Rooms>,
    arrival: u64,
    leave: Arc<Notify>,
    place: Mutex<Option<OwnedSemaphorePermit>>,
    is_client: AtomicBool,
}

impl Visitor {
    /// Moves the connection of a client that has shown the token to the other room. False if that one is full.
    pub(crate) fn admit(&self) -> bool {
        if self.is_client.load(Ordering::Acquire) {
            return true;
        }
        let Ok(place) = Arc::clone(&self.rooms.clients).try_acquire_owned() else { return false };
        self.is_client.store(true, Ordering::Release);
        self.rooms.waiting().by_arrival.remove(&self.arrival);
        // This gives the place among strangers back.
        *self.place.lock().unwrap_or_else(PoisonError::into_inner) = Some(place);
        true
    }

    /// Resolves when a stranger has to go: its time is up, or others need its place. Never resolves for a client.
    pub(crate) async fn turned_out(&self) {
        tokio::select! {
            () = self.leave.notified() => {}
            () = sleep(STRANGER_AT_MOST) => {}
        }
        // A sign to leave may have come in the moment of the admission.
        if self.is_client.load(Ordering::Acquire) {
            std::future::pending::<()>().await;
        }
    }
}

impl Drop for Visitor {
    fn drop(&mut self) {
        self.rooms.waiting().by_arrival.remove(&self.arrival);
    }
}

#[cfg(test)]
mod tests {
    use tokio::time::{Instant, timeout};

    use super::*;

    #[tokio::test]
    async fn the_oldest_stranger_gives_way_and_a_client_never_does() {
        let rooms = Rooms::new(u64::MAX);
        let client = rooms.enter().await;
        assert!(client.admit() && client.admit(), "it is let in again and again");
        let mut strangers = Vec::new();
        for _ in 0..STRANGERS {
            strangers.push(rooms.enter().await);
        }
        let oldest = strangers.remove(0);
        let (next, ()) = tokio::join!(rooms.enter(), async {
            oldest.turned_out().await;
            drop(oldest);
        });
        strangers.push(next);
        assert!(timeout(Duration::from_millis(10), client.turned_out()).await.is_err());
        assert!(timeout(Duration::from_millis(10), strangers[0].turned_out()).await.is_err());
        // A request that is there when its connection is told to leave is still served.
        rooms.turn_out_oldest();
        assert!(strangers[0].admit());
        assert!(timeout(Duration::from_millis(10), strangers[0].turned_out()).await.is_err());
    }

    #[tokio::test]
    async fn clients_are_bounded_and_give_their_places_back() {
        let rooms = Rooms::new(u64::MAX);
        let mut clients = Vec::new();
        for _ in 0..CLIENTS {
            let client = rooms.enter().await;
            assert!(client.admit());
            clients.push(client);
        }
        let late = rooms.enter().await;
        assert!(!late.admit());
        clients.pop();
        assert!(late.admit());
    }

    // The paused clock advances when all tasks wait.
    #[tokio::test(flavor = "current_thread", start_paused = true)]
    async fn a_stranger_has_a_few_seconds() {
        let visitor = Rooms::new(u64::MAX).enter().await;
        let begun = Instant::now();
        visitor.turned_out().await;
        assert!(begun.elapsed() >= STRANGER_AT_MOST);
    }
}
