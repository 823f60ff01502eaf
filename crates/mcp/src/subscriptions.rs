//! Notifications about changed, new and removed resources.
//!
//! Clients of the first era subscribe to single resources, and get every change of the list. Those of the second era
//! name everything in one request, which stays open. Only subscribed resources are watched.

use std::collections::{BTreeSet, HashMap};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use bashful_dialect::{ResourceChanges, Toolbox};
use rmcp::RoleServer;
use rmcp::model::{ErrorData, ResourceUpdatedNotificationParam, SubscriptionFilter};
use rmcp::service::{Peer, SubscriptionContext};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::task::{AbortHandle, JoinSet};
use tokio::time::sleep;

/// Most watched resources of one client. The system's watches are scarce and shared.
const MOST_WATCHED: usize = 32;

/// Shortest time between two notifications about one resource. A client reads the resource again each time.
const NOTIFY_INTERVAL: Duration = Duration::from_secs(1);

/// The subscriptions of one client. They end when the connection drops this.
#[derive(Debug)]
pub(crate) struct Subscriptions {
    room: Arc<Semaphore>,
    watched: Mutex<Watched>,
}

#[derive(Debug, Default)]
struct Watched {
    tasks: JoinSet<()>,
    by_uri: HashMap<String, AbortHandle>,
}

impl Default for Subscriptions {
    fn default() -> Self {
        Self { room: Arc::new(Semaphore::new(MOST_WATCHED)), watched: Mutex::default() }
    }
}

/// A clone is for another connection, which starts with no settings of its own.
impl Clone for Subscriptions {
    fn clone(&self) -> Self {
        Self::default()
    }
}

impl Subscriptions {
    /// Notifies a client of the first era of every change of the list.
    pub(crate) fn notify_listing(&self, toolbox: &Toolbox, peer: Peer<RoleServer>) {
        let mut listing = toolbox.subscribe_listing();
        self.with(|watched| {
            watched.tasks.spawn(async move {
                loop {
                    listing.changed().await;
                    if peer.notify_resource_list_changed().await.is_err() {
                        return;
                    }
                    sleep(NOTIFY_INTERVAL).await;
                }
            })
        });
    }

    /// Subscribes a client of the first era to one resource.
    pub(crate) fn subscribe(&self, toolbox: &Toolbox, uri: String, peer: Peer<RoleServer>) -> Result<(), ErrorData> {
        if self.with(|watched| watched.by_uri.contains_key(&uri)) {
            return Ok(());
        }
        let room = self.room(1)?;
        let changes = toolbox.subscribe(&uri).map_err(|error| {
            ErrorData::resource_not_found(toolbox.engine().redactor().redact_error(&error).into_string(), None)
        })?;
        self.with(|watched| {
            let told = uri.clone();
            let task = watched.tasks.spawn(async move {
                let _room = room;
                let tell = || peer.notify_resource_updated(ResourceUpdatedNotificationParam::new(&*told));
                notify_changes(changes, tell).await;
            });
            watched.by_uri.insert(uri, task);
        });
        Ok(())
    }

    /// Ends a subscription.
    pub(crate) fn unsubscribe(&self, uri: &str) {
        if let Some(task) = self.with(|watched| watched.by_uri.remove(uri)) {
            task.abort();
        }
    }

    /// The part of a filter that the server can serve.
    pub(crate) fn accept(toolbox: &Toolbox, wanted: &SubscriptionFilter) -> SubscriptionFilter {
        let mut accepted = SubscriptionFilter::new();
        accepted.resources_list_changed = wanted.resources_list_changed;
        accepted.resource_subscriptions = wanted.resource_subscriptions.as_ref().map(|uris| {
            // Each address costs a look at the disk, so their number is limited.
            let uris: BTreeSet<_> = uris.iter().take(10 * MOST_WATCHED).collect();
            uris.into_iter().filter(|uri| toolbox.has_resource(uri)).take(MOST_WATCHED).cloned().collect()
        });
        accepted
    }

    /// Sends notifications until the client ends the request.
    pub(crate) async fn listen(&self, toolbox: &Toolbox, context: SubscriptionContext) -> Result<(), ErrorData> {
        let accepted = context.accepted();
        let uris: BTreeSet<String> = accepted.resource_subscriptions.iter().flatten().cloned().collect();
        let _room = self.room(uris.len())?;
        let mut tasks = JoinSet::new();
        for uri in uris {
            // The resource may just have been removed.
            let Ok(changes) = toolbox.subscribe(&uri) else { continue };
            let sink = context.sink().clone();
            tasks.spawn(async move { notify_changes(changes, || sink.notify_resource_updated(uri.as_str())).await });
        }
        if accepted.resources_list_changed == Some(true) {
            let (mut listing, sink) = (toolbox.subscribe_listing(), context.sink().clone());
            tasks.spawn(async move {
                loop {
                    listing.changed().await;
                    if sink.notify_resource_list_changed().await.is_err() {
                        return;
                    }
                    sleep(NOTIFY_INTERVAL).await;
                }
            });
        }
        context.cancelled().await;
        Ok(())
    }

    fn room(&self, count: usize) -> Result<OwnedSemaphorePermit, ErrorData> {
        let many = u32::try_from(count).unwrap_or(u32::MAX);
        let room = Arc::clone(&self.room).try_acquire_many_owned(many);
        let full =
            |_| format!("no more than {MOST_WATCHED} resources are watched for one client; end a subscription first");
        room.map_err(full).map_err(|text| ErrorData::invalid_params(text, None))
    }

    /// Gives access to the current watches, after removing finished ones.
    fn with<T>(&self, look: impl FnOnce(&mut Watched) -> T) -> T {
        // Each change is a single step, so a panic leaves consistent data.
        let mut watched = self.watched.lock().unwrap_or_else(PoisonError::into_inner);
        while watched.tasks.try_join_next().is_some() {}
        watched.by_uri.retain(|_, task| !task.is_finished());
        look(&mut watched)
    }
}

/// Notifies of each change, until the resource is final or the client is gone.
async fn notify_changes<E, F: Future<Output = Result<(), E>>>(mut changes: ResourceChanges, tell: impl Fn() -> F) {
    while changes.next().await.is_some() && tell().await.is_ok() {
        sleep(NOTIFY_INTERVAL).await;
    }
}
