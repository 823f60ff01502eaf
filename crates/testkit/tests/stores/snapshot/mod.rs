//! Commands get the definitions of the user's rc files, and run whatever the rc files do.

mod faults;
mod kept;
mod stock;
mod store;

use std::path::PathBuf;
use std::time::Duration;

use bashful_engine::{Engine, NoSnapshot, SnapshotOptions};
use bashful_testkit::{Place, WIDE, output, run};

use crate::PUPPET;

/// A home with this `.bashrc`.
fn home(rc: impl AsRef<[u8]>) -> Place {
    let mut place = Place::new(PUPPET);
    place.take_snapshots();
    std::fs::write(place.path().join(".bashrc"), rc).expect("a file in a directory of our own");
    place
}

/// The same, with files that may not take long.
fn hasty_home(rc: impl AsRef<[u8]>) -> Place {
    let mut place = home(rc);
    options(&mut place).limit = Duration::from_millis(500);
    place
}

fn options(place: &mut Place) -> &mut SnapshotOptions {
    place.options.snapshot.as_mut().expect("snapshots are on")
}

/// The output of a script in this home, in a fresh shell.
async fn says(engine: &Engine, script: &str) -> String {
    output(&run(engine, script).await)
}

/// The output of a script in a waiting shell.
async fn says_waiting(place: &Place, script: &str) -> String {
    let mut options = place.options.clone();
    options.ready = 1;
    let engine = Engine::new(options).expect("an engine");
    engine.refresh_snapshot().await;
    let plan = engine.plan(bashful_testkit::request(script)).expect("a plan");
    let checked = engine.check(plan, None).await.expect("it is allowed");
    engine.prepare(&checked);
    let began = std::time::Instant::now();
    while engine.ready_for(&checked) == 0 {
        assert!(began.elapsed() < WIDE, "no shell ever waited");
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    says(&engine, script).await
}

/// An engine that has a snapshot.
async fn working(place: &Place) -> Engine {
    let engine = place.engine();
    engine.refresh_snapshot().await;
    assert!(engine.snapshot().is_some(), "{:?}", engine.why_no_snapshot());
    engine
}

/// The files of the snapshots in this home.
fn files(place: &Place) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(place.path().join("snapshots")).into_iter().flatten();
    let mut files: Vec<_> = entries.map(|entry| entry.expect("readable").path()).collect();
    files.sort();
    files
}

/// Why there is none, once a command has run.
async fn why_not(engine: &Engine) -> Option<NoSnapshot> {
    engine.refresh_snapshot().await;
    // Before a command runs: its reply would tell.
    let why = engine.why_no_snapshot();
    assert_eq!(says(engine, "echo it runs").await, "it runs\n");
    why
}
