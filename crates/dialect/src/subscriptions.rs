//! Subscriptions to resources: new output of jobs, and changes of the resource list.

use bashful_engine::{Engine, Follow, Followed, JobRecord, ListingChanges, Until, artifact_id, job_id};

use crate::resource::ResourceError;
use crate::toolbox::Toolbox;
use bashful_engine::error_chain;

/// A subscription to one resource.
#[derive(Debug)]
pub struct ResourceChanges {
    /// None once the resource can no longer change.
    follow: Option<Follow>,
    /// The resource has content already. It may have come after the client learned that it is subscribed, and then a
    /// superfluous notification is better than a missing one.
    has_content: bool,
}

impl Toolbox {
    /// True if there is a resource with this address.
    pub fn has_resource(&self, uri: &str) -> bool {
        writer(self.engine(), uri).is_ok()
    }

    /// Subscribes to a resource. The first change comes at once if the resource has content.
    pub fn subscribe(&self, uri: &str) -> Result<ResourceChanges, ResourceError> {
        let not_found = |why| ResourceError::NotFound { uri: uri.to_owned(), why };
        let job = writer(self.engine(), uri).map_err(not_found)?.filter(JobRecord::is_live);
        let (Some(job), Some(store)) = (job, self.engine().jobs()) else {
            return Ok(ResourceChanges { follow: None, has_content: true });
        };
        let written = job.output_file.metadata().map_or(0, |metadata| metadata.len());
        let follow = store.follow(job.id, written).map_err(|error| not_found(error_chain(&error)))?;
        Ok(ResourceChanges { follow: Some(follow.until(Until::Gone)), has_content: written > 0 })
    }

    /// Subscribes to the list of resources.
    pub fn subscribe_listing(&self) -> ListingChanges {
        self.engine().listing()
    }
}

impl ResourceChanges {
    /// Waits until the resource changes; none if it never will again. Dropping the future loses no change.
    pub async fn next(&mut self) -> Option<()> {
        if std::mem::take(&mut self.has_content) {
            return Some(());
        }
        let follow = self.follow.as_mut()?;
        // A change carries no text, so the output itself is skipped.
        follow.skip_to_newest(1);
        if !matches!(follow.next().await, Ok(Followed::Output { .. } | Followed::Missing(_))) {
            // The end of the job, or of its record, is the last change.
            self.follow = None;
        }
        Some(())
    }
}

/// The job of a `job://` address, or the live job that writes to an artifact; none if the artifact is finished.
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
        // A foreground command that became a job continues its artifact.
        let jobs = engine.jobs().and_then(|store| store.list_live().ok()).unwrap_or_default();
        return Ok(jobs.into_iter().find(|job| job.output_file == artifact.path));
    }
    Err("only artifact:// and job:// are known".to_owned())
}
