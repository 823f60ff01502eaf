//! Watches the stores of jobs and artifacts for entries that come or go.

use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;
use std::time::Duration;

use bashful_sys::{event, notify};
use tokio::io::unix::AsyncFd;
use tokio::time::sleep;

use crate::artifacts::ArtifactStore;
use crate::engine::Engine;
use crate::id_counter::number;
use crate::jobs::JobStore;

/// Pause between two listings without an inotify watch.
const POLL_EVERY: Duration = Duration::from_secs(2);

/// Changes in the stores of an engine, whichever program made them.
#[derive(Debug)]
pub struct ListingChanges {
    jobs: Option<Arc<JobStore>>,
    artifacts: Option<Arc<ArtifactStore>>,
    queue: Option<AsyncFd<OwnedFd>>,
    /// Ids at the last listing, where there is no queue.
    known: Option<[Vec<u64>; 2]>,
}

impl Engine {
    /// Watches the stores from now on. Creates their directories if needed, because only existing ones can be watched.
    pub fn listing(&self) -> ListingChanges {
        let (jobs, artifacts) = (self.jobs().cloned(), self.artifacts().cloned());
        let directories = [jobs.as_ref().map(|jobs| jobs.make()), artifacts.as_ref().map(|artifacts| artifacts.make())];
        // A directory that cannot be created stays empty, and needs no watch.
        let directories: Vec<_> = directories.into_iter().flatten().flatten().collect();
        let queue = notify::watch_directories(&directories).and_then(event::readable).ok();
        let mut listing = ListingChanges { jobs, artifacts, queue, known: None };
        // With a queue, a starting server need not read a full directory.
        listing.known = listing.queue.is_none().then(|| listing.ids());
        listing
    }
}

impl ListingChanges {
    /// Waits until a job or an artifact has come or gone. The future may be dropped and requested again without loss.
    pub async fn changed(&mut self) {
        let Some(queue) = &self.queue else { return self.poll_ids().await };
        loop {
            let Ok(mut ready) = queue.readable().await else { return std::future::pending().await };
            // Drafts, counters and notes about artifacts come and go too.
            let is_entry =
                |name: Option<&[u8]>| name.is_none_or(|name| str::from_utf8(name).ok().and_then(number).is_some());
            let has_changed = notify::drain_names(queue.get_ref().as_fd(), is_entry);
            ready.clear_ready();
            if has_changed {
                return;
            }
        }
    }

    /// Waits for a change by polling.
    async fn poll_ids(&mut self) {
        loop {
            let now = Some(self.ids());
            if now != self.known {
                self.known = now;
                return;
            }
            sleep(POLL_EVERY).await;
        }
    }

    fn ids(&self) -> [Vec<u64>; 2] {
        let jobs = self.jobs.as_ref().map(|jobs| jobs.ids());
        [jobs.unwrap_or_default(), self.artifacts.as_ref().map(|artifacts| artifacts.ids()).unwrap_or_default()]
    }
}
