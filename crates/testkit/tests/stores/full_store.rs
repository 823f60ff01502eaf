//! A full store costs a command nothing, and keeps to its limits all the same.

use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime};

use bashful_engine::{ArtifactLimits, ArtifactStore, ByteSize, Engine, JobLimits, JobStore, Stop};
use bashful_testkit::{Place, Starts, WIDE, eventually, finished, request};

use crate::PUPPET;

/// More than is shown: 229 kB.
const LONG: &str = "seq 40000";

fn artifacts(place: &mut Place, limits: ArtifactLimits) -> Arc<ArtifactStore> {
    let store = Arc::new(ArtifactStore::new(place.path().join("artifacts"), limits));
    place.options.artifacts = Some(Arc::clone(&store));
    store
}

/// Saves output, and returns the number of its artifact.
async fn save(engine: &Engine) -> u64 {
    let outcome = finished(engine.run(request(LONG)).await.expect("it runs"));
    outcome.output.artifact.expect("it is saved").id
}

fn written(store: &ArtifactStore) -> u64 {
    let mut writer = store.create().expect("it is made");
    writer.push(b"x").expect("it is written");
    writer.id()
}

/// A file that no sweep would leave where it is.
fn put_old(directory: &Path, name: &str) {
    let file = std::fs::File::create(directory.join(name)).expect("it is made");
    file.set_modified(SystemTime::now() - Duration::from_hours(24 * 30)).expect("its time is set");
}

/// As if the last sweep of a store had been long ago.
fn forget_last_sweep(directory: &Path) {
    let counter = directory.join("next");
    let text = std::fs::read_to_string(&counter).expect("it is there");
    let words: Vec<&str> = text.split_ascii_whitespace().collect();
    let [next, used, swept] = words.try_into().expect("three numbers");
    assert_ne!(swept, "0", "there was a sweep");
    std::fs::write(counter, format!("{next:>15}\n{used:>20} {:>20}\n", 1)).expect("it is written");
}

#[test]
fn the_number_to_come_is_read_and_not_searched_for() {
    let place = Place::new(PUPPET);
    let store = ArtifactStore::new(place.path().join("artifacts"), ArtifactLimits::default());
    assert_eq!(written(&store), 1);
    std::fs::write(store.directory().join("100"), "not counted").expect("it is written");
    assert_eq!(written(&store), 2, "nobody has looked at what is there");
    std::fs::write(store.directory().join("3"), "in the way").expect("it is written");
    assert_eq!(written(&store), 101, "a counter that is wrong is not believed");
    std::fs::write(store.directory().join("200"), "not counted").expect("it is written");
    store.sweep().expect("it is swept");
    assert_eq!(written(&store), 201, "a sweep sees every number, and sets the counter right");
}

#[tokio::test]
async fn output_is_saved_without_a_sweep_until_one_is_due() {
    let mut place = Place::new(PUPPET);
    let store = artifacts(&mut place, ArtifactLimits::default());
    // Before there is an engine: its sweep in the background could end later than it is waited for.
    written(&store);
    store.sweep().expect("it is swept");
    let engine = place.engine();
    put_old(store.directory(), "90");
    save(&engine).await;
    engine.sweep_if_due();
    assert!(store.directory().join("90").exists(), "a sweep was done that was not due");
    forget_last_sweep(store.directory());
    save(&engine).await;
    assert!(eventually(|| !store.directory().join("90").exists()), "no sweep was done though it was due");
}

#[tokio::test]
async fn artifacts_of_several_engines_stay_within_their_limit() {
    let mut place = Place::new(PUPPET);
    let limit = ByteSize::mib(2);
    let store = artifacts(&mut place, ArtifactLimits { store: limit, ..ArtifactLimits::default() });
    let engines = [place.engine(), place.engine()];
    let on_disk = || store.list().expect("a list").iter().map(|entry| entry.on_disk.0).sum::<u64>();
    let mut newest = 0;
    for round in 0..24 {
        newest = save(&engines[round % 2]).await;
        // Sweeps are done aside, so the newest artifact may be beyond the limit for a moment.
        assert!(eventually(|| on_disk() <= limit.0), "{} bytes after {round} commands", on_disk());
    }
    assert!(on_disk() > limit.0 / 2, "{} bytes: far more was removed than had to be", on_disk());
    assert_eq!(store.ids().last(), Some(&newest));
}

#[tokio::test]
async fn an_artifact_that_is_too_large_for_its_store_stays_for_those_who_were_told_of_it() {
    let mut place = Place::new(PUPPET);
    let store = artifacts(&mut place, ArtifactLimits { store: ByteSize(0), ..ArtifactLimits::default() });
    let engine = place.engine();
    for _ in 0..3 {
        let newest = save(&engine).await;
        engine.sweep_if_due();
        assert!(eventually(|| store.ids() == [newest]), "{:?}", store.ids());
    }
}

#[tokio::test]
async fn ended_jobs_stay_within_their_number_and_each_is_told_of_before_it_goes() {
    let mut place = Place::new(PUPPET);
    let removed = Arc::new(Mutex::new(Vec::new()));
    let told = Arc::clone(&removed);
    let limits = JobLimits { kept: 32, ..JobLimits::default() };
    let jobs = JobStore::new(place.path().join("jobs"), limits)
        .before_removal(move |job| told.lock().expect("nobody panicked").push((job.id, job.end().is_some())));
    let jobs = Arc::new(jobs);
    place.options.jobs = Some(Arc::clone(&jobs));
    let engine = place.engine();
    for _ in 0..48 {
        let job = engine.started_job(request("true")).await.expect("it starts");
        tokio::time::timeout(WIDE, jobs.wait_until_gone(job.id)).await.expect("it ends").expect("it is there");
        // A sixteenth more than is kept, and the one that has just been started.
        assert!(eventually(|| jobs.ids().len() <= 32 + 2 + 2), "{} jobs", jobs.ids().len());
    }
    let kept = jobs.ids();
    assert!(kept.len() >= 32, "{} jobs", kept.len());
    let expected: Vec<_> = (1..kept[0]).map(|id| (id, true)).collect();
    let mut removed = removed.lock().expect("nobody panicked").clone();
    removed.sort_unstable();
    assert_eq!(removed, expected);
}

#[tokio::test]
async fn live_jobs_are_found_among_those_that_have_ended() {
    let place = Place::new(PUPPET);
    let jobs = Arc::clone(place.options.jobs.as_ref().expect("a place has one"));
    let engine = place.engine();
    for _ in 0..3 {
        let job = engine.started_job(request("true")).await.expect("it starts");
        tokio::time::timeout(WIDE, jobs.wait_until_gone(job.id)).await.expect("it ends").expect("it is there");
    }
    let runs = engine.started_job(request("sleep 1000")).await.expect("it starts");
    // The mark of a keeper that was killed.
    std::fs::write(jobs.directory().join("live/2"), "").expect("it is written");
    let live = |jobs: &JobStore| jobs.list_live().expect("a list").iter().map(|job| job.id).collect::<Vec<_>>();
    assert_eq!(live(&jobs), [runs.id]);
    assert_eq!(jobs.list().expect("a list").len(), 4);
    jobs.stop(runs.id, Stop::Signal(9)).await.expect("its keeper is told");
    tokio::time::timeout(WIDE, jobs.wait_until_gone(runs.id)).await.expect("it ends").expect("it is there");
    assert_eq!(live(&jobs), [0_u64; 0]);
}
