//! Who is told when a resource changes, or when one comes or goes.
//!
//! Clients of the first era subscribe to one resource after the other, and are told of all that come and go. Those of the second
//! say in one request, which stays open, what they want to hear. Either way nothing is watched that nobody wants to hear of.

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

/// How many resources are watched for one client. The system has few watches to give, and others need some too.
const MOST: usize = 32;

/// Of one resource, a client is told at most this often: it reads the whole of what it wants each time.
const TOLD_EVERY: Duration = Duration::from_secs(1);

/// What one client wants to hear. It ends with its connection, which drops this.
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
        Self { room: Arc::new(Semaphore::new(MOST)), watched: Mutex::default() }
    }
}

/// Another connection has wishes of its own.
impl Clone for Subscriptions {
    fn clone(&self) -> Self {
        Self::default()
    }
}

impl Subscriptions {
    /// Tells a client of the first era of all that comes and goes.
    pub(crate) fn tell_of_all(&self, toolbox: &Toolbox, peer: Peer<RoleServer>) {
        let mut listing = toolbox.subscribe_listing();
        self.with(|watched| {
            watched.tasks.spawn(async move {
                loop {
                    listing.changed().await;
                    if peer.notify_resource_list_changed().await.is_err() {
                        return;
                    }
                    sleep(TOLD_EVERY).await;
                }
            })
        });
    }

    /// Tells a client of the first era of one resource.
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
                tell_of(changes, tell).await;
            });
            watched.by_uri.insert(uri, task);
        });
        Ok(())
    }

    /// Does not tell it of that any more.
    pub(crate) fn unsubscribe(&self, uri: &str) {
        if let Some(task) = self.with(|watched| watched.by_uri.remove(uri)) {
            task.abort();
        }
    }

    /// What a client of the second era can be told of all that it wants to hear.
    pub(crate) fn accept(toolbox: &Toolbox, wanted: &SubscriptionFilter) -> SubscriptionFilter {
        let mut accepted = SubscriptionFilter::new();
        accepted.resources_list_changed = wanted.resources_list_changed;
        accepted.resource_subscriptions = wanted.resource_subscriptions.as_ref().map(|uris| {
            // Each of them has to be looked for on disk.
            let uris: BTreeSet<_> = uris.iter().take(10 * MOST).collect();
            uris.into_iter().filter(|uri| toolbox.has_resource(uri)).take(MOST).cloned().collect()
        });
        accepted
    }

    /// Tells it, until it does not want to hear any more.
    pub(crate) async fn listen(&self, toolbox: &Toolbox, context: SubscriptionContext) -> Result<(), ErrorData> {
        let accepted = context.accepted();
        let uris: BTreeSet<String> = accepted.resource_subscriptions.iter().flatten().cloned().collect();
        let _room = self.room(uris.len())?;
        let mut tasks = JoinSet::new();
        for uri in uris {
            // It may just have been removed; then there is nothing to tell.
            let Ok(changes) = toolbox.subscribe(&uri) else { continue };
            let sink = context.sink().clone();
            tasks.spawn(async move { tell_of(changes, || sink.notify_resource_updated(uri.as_str())).await });
        }
        if accepted.resources_list_changed == Some(true) {
            let (mut listing, sink) = (toolbox.subscribe_listing(), context.sink().clone());
            tasks.spawn(async move {
                loop {
                    listing.changed().await;
                    if sink.notify_resource_list_changed().await.is_err() {
                        return;
                    }
                    sleep(TOLD_EVERY).await;
                }
            });
        }
        context.cancelled().await;
        Ok(())
    }

    fn room(&self, count: usize) -> Result<OwnedSemaphorePermit, ErrorData> {
        let many = u32::try_from(count).unwrap_or(u32::MAX);
        let room = Arc::clone(&self.room).try_acquire_many_owned(many);
        let full = |_| format!("no more than {MOST} resources are watched for one client; end a subscription first");
        room.map_err(full).map_err(|text| ErrorData::invalid_params(text, None))
    }

    /// Looks at what is watched, without what is over.
    fn with<T>(&self, look: impl FnOnce(&mut Watched) -> T) -> T {
        // Whoever panicked with it in hand has left nothing half done: each step stands alone.
        let mut watched = self.watched.lock().unwrap_or_else(PoisonError::into_inner);
        while watched.tasks.try_join_next().is_some() {}
        watched.by_uri.retain(|_, task| !task.is_finished());
        look(&mut watched)
    }
}

/// Tells of each change, until there are no more or nobody hears it.
async fn tell_of<E, F: Future<Output = Result<(), E>>>(mut changes: ResourceChanges, tell: impl Fn() -> F) {
    while changes.next().await.is_some() && tell().await.is_ok() {
        sleep(TOLD_EVERY).await;
    }
}
