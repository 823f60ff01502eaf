//! Word of resources that change: what jobs write, and which resources there are.

use bashful_engine::{Engine, Follow, Followed, JobRecord, ListingChanges, Until, artifact_id, job_id};

use crate::resource::ResourceError;
use crate::toolbox::Toolbox;
use bashful_engine::error_chain;

/// One resource that somebody wants to hear of.
#[derive(Debug)]
pub struct ResourceChanges {
    /// None, if nothing can change any more.
    follow: Option<Follow>,
    /// There is something to read already. It may have come after the client was told that its subscription holds, so one
    /// notice too many is better than one that never comes.
    has_content: bool,
}

impl Toolbox {
    /// Whether there is such a resource.
    pub fn has(&self, uri: &str) -> bool {
        writer(self.engine(), uri).is_ok()
    }

    /// Changes of a resource from now on. The first one is told at once if there is something to read.
    pub fn changes(&self, uri: &str) -> Result<ResourceChanges, ResourceError> {
        let not_found = |why| ResourceError::NotFound { uri: uri.to_owned(), why };
        let job = writer(self.engine(), uri).map_err(not_found)?.filter(JobRecord::is_live);
        let (Some(job), Some(store)) = (job, self.engine().jobs()) else {
            return Ok(ResourceChanges { follow: None, has_content: true });
        };
        let written = job.output_file.metadata().map_or(0, |metadata| metadata.len());
        let follow = store.follow(job.id, written).map_err(|error| not_found(error_chain(&error)))?;
        Ok(ResourceChanges { follow: Some(follow.until(Until::Gone)), has_content: written > 0 })
    }

    /// Which resources come and go from now on.
    pub fn listing(&self) -> ListingChanges {
        self.engine().listing()
    }
}

impl ResourceChanges {
    /// Waits until it has changed; none if it never will again. May be dropped and called again without missing anything.
    pub async fn next(&mut self) -> Option<()> {
        if std::mem::take(&mut self.has_content) {
            return Some(());
        }
        let follow = self.follow.as_mut()?;
        // Nobody is told what was written, only that something was.
        follow.skip_to_newest(1);
        if !matches!(follow.next().await, Ok(Followed::Output { .. } | Followed::Missing(_))) {
            // It has ended, or its record is gone: that is a change too, and the last one.
            self.follow = None;
        }
        Some(())
    }
}

/// The job that has written a resource, or the live one that writes to an artifact; none if an artifact is finished.
fn writer(engine: &Engine, uri: &str) -> Result<Option<JobRecord>, String> {
    let name = uri.split_once('?').map_or(uri, |(name, _)| name);
    if name.starts_with("job://") {
        let id = job_id(name).map_err(|error| error_chain(&error))?;
        let store = engine.jobs().ok_or("this server keeps no jobs")?;
        return store.get(id).map(Some).map_err(|error| error_chain(&error));
    }
    if name.starts_with("artifact://") {
        let id = artifact_id(name).map_err(|error| error_chain(&error))?;
        let store = engine.artifacts().ok_or("this server keeps no artifacts")?;
        let artifact = store.get(id).map_err(|error| error_chain(&error))?;
        // A command that was sent to the background goes on writing to what was begun for it.
        let jobs = engine.jobs().and_then(|store| store.list_live().ok()).unwrap_or_default();
        return Ok(jobs.into_iter().find(|job| job.output_file == artifact.path));
    }
    Err("only artifact:// and job:// are known".to_owned())
}
