//! A job whose keeper lives can be listed and stopped, whatever became of its directory.

use std::path::Path;
use std::sync::Arc;

use bashful_engine::{ControlError, End, GetJobError, JobRecord, JobState, JobStore, Stop, StopReason};
use bashful_testkit::{Place, Starts, WIDE, request};
use tokio::time::timeout;

use crate::PUPPET;

/// Damages a live job, and checks that it is listed, stopped, and gone afterwards; what is known of it then.
async fn check_stopped(damage: impl FnOnce(&Path), how: Stop) -> Result<JobRecord, ControlError> {
    let place = Place::new(PUPPET);
    let jobs: Arc<JobStore> = place.options.jobs.clone().expect("a store");
    let script = r#"(setsid "$PUPPET" make ready hold &); "$PUPPET" hold"#;
    let job = place.engine().started_job(request(script)).await.expect("it starts");
    place.wait_for("ready");
    damage(&jobs.directory().join(job.id.to_string()));
    let listed: Vec<_> = jobs.list().expect("a list").into_iter().map(|job| (job.id, job.state)).collect();
    assert_eq!(listed, [(job.id, JobState::Running)]);
    jobs.stop(job.id, how).await.expect("its keeper is told");
    let last = timeout(WIDE, jobs.wait_until_gone(job.id)).await.expect("it ends");
    place.check_nothing_survives();
    last
}

#[tokio::test]
async fn a_job_whose_record_is_garbled_is_listed_and_stopped() {
    let garble = |path: &Path| std::fs::write(path.join("job.json"), "{\"half").expect("it is garbled");
    let job = check_stopped(garble, Stop::Ask).await.expect("a record");
    assert!(matches!(job.end(), Some(End::Stopped { why: StopReason::Cancelled, .. })), "{job:?}");
    assert_eq!(job.script, "[the record of this job is damaged]");
}

#[tokio::test]
async fn a_job_whose_record_is_removed_is_listed_and_stopped() {
    let remove = |path: &Path| std::fs::remove_file(path.join("job.json")).expect("it is removed");
    let job = check_stopped(remove, Stop::Signal(9)).await.expect("a record");
    assert!(job.end().is_some(), "{job:?}");
}

#[tokio::test]
async fn a_job_whose_socket_is_removed_is_stopped() {
    let remove = |path: &Path| std::fs::remove_file(path.join("control")).expect("it is removed");
    let job = check_stopped(remove, Stop::Ask).await.expect("a record");
    assert!(matches!(job.end(), Some(End::Stopped { why: StopReason::KeeperSignaled, .. })), "{job:?}");
}

#[tokio::test]
async fn a_job_whose_directory_is_removed_is_listed_and_stopped() {
    for how in [Stop::Ask, Stop::Signal(9)] {
        let remove = |path: &Path| std::fs::remove_dir_all(path).expect("it is removed");
        // No record has the end of the job.
        let gone = check_stopped(remove, how).await;
        assert!(matches!(gone, Err(ControlError::Get(GetJobError::Removed { .. }))), "{gone:?}");
    }
}
