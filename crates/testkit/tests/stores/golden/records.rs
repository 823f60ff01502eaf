//! Every record that engine and keepers write, by real jobs, sessions and artifacts.

use std::fmt::Write;
use std::path::Path;
use std::sync::Arc;

use bashful_engine::{
    ByteSize, Input, JobLimits, JobStore, Lifetime, Request, SessionLimits, SessionName, SessionOwner, SessionStore,
    Stop, Streams,
};
use bashful_testkit::{Place, Starts, WIDE, check_golden, eventually, request, run};
use regex::Regex;
use tokio::time::timeout;

use crate::PUPPET;

/// Records as they are on disk, without what differs from run to run.
struct Records {
    place: Place,
    text: String,
}

impl Records {
    fn new() -> Self {
        let mut place = Place::new(PUPPET);
        // As it is written down.
        place.options.lifetime = Lifetime(WIDE);
        // The smallest output that there can be, so that a part of it goes missing.
        let limits = JobLimits { output: ByteSize(65536), ..JobLimits::default() };
        place.options.jobs = Some(Arc::new(JobStore::new(place.path().join("jobs"), limits)));
        let sessions = place.path().join("sessions");
        let sessions = SessionStore::new(sessions, SessionLimits::default(), SessionOwner::User);
        place.options.sessions = Some(Arc::new(sessions));
        place.take_snapshots();
        Self { place, text: String::new() }
    }

    fn jobs(&self) -> Arc<JobStore> {
        self.place.options.jobs.clone().expect("a store")
    }

    /// Adds a file of the place, which has to be there.
    #[track_caller]
    fn add(&mut self, title: &str, file: &Path) {
        let record = std::fs::read(self.place.path().join(file)).expect("it is there");
        let text = self.settled(&String::from_utf8_lossy(&record));
        let _ = writeln!(self.text, "## {title}\n\n```text\n{}\n```\n", text.trim_end_matches('\n'));
    }

    fn settled(&self, text: &str) -> String {
        let text = text.replace(&self.place.path().display().to_string(), "/place");
        let changing = [
            (r#""(pid|created_unix_ms|\w+_boot_ms|began_unix_ms|ended_unix_ms|elapsed_ms)": \d+"#, r#""$1": 0"#),
            (r#""(captured|took_us)":\d+"#, r#""$1":0"#),
            (r#""(key|digest)":"[0-9a-f]{32}""#, r#""$1":"32 DIGITS""#),
            (r"(?m)^( *\d+\n *\d+) +\d{10}$", "$1 SECONDS"),
            (r"^\d+( \d+)?\n?$", "NUMBERS"),
        ];
        changing.iter().fold(text, |text, (pattern, put)| {
            Regex::new(pattern).expect("a pattern").replace_all(&text, *put).into_owned()
        })
    }
}

#[tokio::test]
async fn every_record_is_as_it_is_written_down() {
    let mut records = Records::new();
    std::fs::write(records.place.path().join(".bashrc"), "alias hi='echo hello'\nf() { :; }\n").expect("a file");
    add_jobs(&mut records).await;
    add_sessions(&mut records).await;
    let snapshots = std::fs::read_dir(records.place.path().join("snapshots")).expect("it is there");
    let snapshot =
        snapshots.flatten().map(|entry| entry.path()).find(|path| path.extension().is_some_and(|kind| kind == "sh"));
    records.add("snapshots/NAME.sh", &snapshot.expect("a snapshot"));
    check_golden(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../engine/golden/records.md"), &records.text);
    records.place.check_nothing_survives();
}

async fn add_jobs(records: &mut Records) {
    let (engine, jobs) = (records.place.engine(), records.jobs());
    let holds = Request { streams: Streams::Split, input: Input::Open, ..request(r#""$PUPPET" make ready hold"#) };
    let running = engine.started_job(holds).await.expect("it starts");
    records.place.wait_for("ready");
    records.add("jobs/1/job.json", Path::new("jobs/1/job.json"));
    records.add("jobs/1/status.json of a job that runs", Path::new("jobs/1/status.json"));
    records.add("jobs/live/1", Path::new("jobs/live/1"));
    jobs.stop(running.id, Stop::Ask).await.expect("its keeper is told");
    timeout(WIDE, jobs.wait_until_gone(running.id)).await.expect("it ends").expect("a record");
    records.add("jobs/1/status.json of a job that was stopped", Path::new("jobs/1/status.json"));
    // By a short name: a long path would be cut.
    let leaves = r#"ln -s "$PUPPET" puppet; head -c 300000 /dev/zero; (PATH=.:$PATH setsid puppet hold &); exit 4"#;
    let left = engine.started_job(request(leaves)).await.expect("it starts");
    timeout(WIDE, jobs.wait(left.id)).await.expect("it ends").expect("a record");
    assert!(eventually(|| records.place.path().join("jobs/2/output.gap").exists()));
    let status = records.place.path().join("jobs/2/status.json");
    let says_left = || std::fs::read_to_string(&status).is_ok_and(|text| text.contains("\"left_count\": 1"));
    assert!(eventually(says_left), "one is left");
    records.add("jobs/2/status.json of a job that has left something", Path::new("jobs/2/status.json"));
    jobs.stop(left.id, Stop::Ask).await.expect("its keeper is told");
    timeout(WIDE, jobs.wait_until_gone(left.id)).await.expect("it ends").expect("a record");
    records.add("jobs/2/status.json of a job that ended by itself", Path::new("jobs/2/status.json"));
    records.add("jobs/next", Path::new("jobs/next"));
    let gap = std::fs::read_to_string(records.place.path().join("jobs/2/output.gap")).expect("it is there");
    // The missing amount depends on when the keeper polled.
    let gap = Regex::new(r"(?m)^\d+ \d+ ").expect("a pattern").replace_all(&gap, "FROM TO ").into_owned();
    std::fs::write(records.place.path().join("gap"), gap).expect("a copy");
    records.add("jobs/2/output.gap", Path::new("gap"));
}

async fn add_sessions(records: &mut Records) {
    let engine = records.place.engine();
    let name = SessionName::new("build 1").expect("a name");
    let in_session = Request { session: Some(name.clone()), ..request("true") };
    timeout(WIDE, engine.run(in_session)).await.expect("it comes back").expect("it starts");
    run(&engine, "true").await;
    let place = std::fs::read_dir(records.place.path().join("sessions")).expect("it is there");
    let place = place.flatten().next().expect("one session").path();
    records.add("sessions/NAME/about.json", &place.join("about.json"));
    records.add("sessions/NAME/shell", &place.join("shell"));
    let sessions = records.place.options.sessions.clone().expect("a store");
    timeout(WIDE, sessions.end(&name)).await.expect("it ends").expect("it is there");
    records.add("sessions/NAME/lost", &place.join("lost"));
}
