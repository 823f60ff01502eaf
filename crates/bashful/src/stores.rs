//! The stores in the state directory, with the limits of the settings.

use bashful_engine::{
    ArtifactLimits, ArtifactStore, JobLimits, JobStore, Registry, SessionLimits, SessionOwner, SessionStore, WhenBusy,
};

use crate::log::Log;
use crate::print;
use crate::settings::Settings;
use crate::surroundings::Surroundings;

/// The artifact store with these settings; none without a state directory.
pub(crate) fn artifacts(settings: &Settings, around: &Surroundings) -> Option<ArtifactStore> {
    let limits = ArtifactLimits {
        one: settings.artifacts.one_bytes.size(),
        store: settings.artifacts.store_bytes.size(),
        age: settings.artifacts.age_days.duration(),
    };
    Some(ArtifactStore::new(around.state_part("artifacts")?, limits))
}

/// The job store with these settings; none without a state directory. The log keeps the end of each removed job.
pub(crate) fn jobs(settings: &Settings, around: &Surroundings) -> Option<JobStore> {
    let limits = JobLimits {
        live: settings.jobs.live.count(),
        kept: settings.jobs.kept.count(),
        age: settings.jobs.age_days.duration(),
        output: settings.artifacts.one_bytes.size(),
    };
    let store = JobStore::new(around.state_part("jobs")?, limits);
    let Some(log) = Log::new(settings, around, "job") else { return Some(store) };
    let directory = store.directory().to_path_buf();
    Some(store.before_removal(move |job| log.note_end(&directory, job, print::redactor())))
}

/// The session store with these settings; none without a state directory.
pub(crate) fn sessions(settings: &Settings, around: &Surroundings, owner: SessionOwner) -> Option<SessionStore> {
    let limits = SessionLimits {
        idle: settings.sessions.idle_seconds.duration(),
        at_most: settings.sessions.at_most.count(),
        when_busy: WhenBusy::Wait,
    };
    Some(SessionStore::new(around.state_part("sessions")?, limits, owner))
}

/// The registry of running commands; none without a state directory.
pub(crate) fn registry(around: &Surroundings, surface: &str) -> Option<Registry> {
    Some(Registry::new(around.state_part("running")?, surface))
}
