//! The cost of jobs: starting one, keeping an idle one, listing many, and writing to a file.

use std::error::Error;
use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use bashful_engine::{Engine, JobLimits, JobStore, Stop};
use serde_json::{Value, json};
use tempfile::TempDir;

use super::figures::Times;
use super::floor::Bare;
use super::host::{self, Host, PAUSE};
use super::memory;
use super::output::read_loop;

/// Number of listed jobs.
const LISTED: usize = 1000;

/// Time for which an idle keeper is watched.
const IDLE: Duration = Duration::from_secs(3);

/// A script that writes much.
const WRITER: &str = "for i in 1 2 3 4; do dd if=LINES bs=64k status=none; done";

/// Measures all of it, in one process that has a runtime of one thread.
pub(crate) fn all(host: &Host, rounds: usize, floods: usize) -> Result<Value, Box<dyn Error>> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let place = TempDir::with_prefix("bashful-bench-")?;
    let limits = JobLimits { live: LISTED * 2, kept: LISTED * 2, ..JobLimits::default() };
    let store = Arc::new(JobStore::new(place.path().join("jobs"), limits));
    runtime.block_on(async {
        let engine = host.engine_with_jobs(Arc::clone(&store))?;
        let idle = idle(&engine, &store).await?;
        let start = start(host, &engine, &store, rounds).await?;
        let list = list(&engine, &store).await?;
        let write = write(host, &engine, &store, place.path(), floods).await?;
        Ok(json!({ "start": start, "idle": idle, "list": list, "write": write }))
    })
}

/// Starting a job, beside all of a bare `bash -c true`.
async fn start(host: &Host, engine: &Engine, store: &JobStore, rounds: usize) -> Result<Value, Box<dyn Error>> {
    let (mut floor, mut job) = (Times::default(), Times::default());
    let bare = Bare { program: &host.bash, name: "bash", arguments: &["-c", "true"], variables: &host.variables };
    for _ in 0..rounds {
        tokio::time::sleep(PAUSE).await;
        floor.add(bare.time(b"")?);
        tokio::time::sleep(PAUSE).await;
        let request = host::request("true")?;
        let began = Instant::now();
        let record = engine.start_job(request).await?.job().ok_or("it was refused")?;
        job.add(began.elapsed());
        store.wait_until_gone(record.id).await?;
        store.remove(record.id)?;
    }
    let ratio = job.median().as_secs_f64() / floor.median().as_secs_f64();
    Ok(json!({ "floor": floor.as_json(), "job": job.as_json(), "ratio": ratio }))
}

/// The keeper of an idle job: its memory, and its activity.
async fn idle(engine: &Engine, store: &JobStore) -> Result<Value, Box<dyn Error>> {
    let job = engine.start_job(host::request("sleep 1000")?).await?.job().ok_or("it was refused")?;
    tokio::time::sleep(Duration::from_millis(200)).await;
    let shell = job.pid.ok_or("a job without a shell")?;
    let stat = fs::read_to_string(format!("/proc/{shell}/stat"))?;
    let keeper: u32 =
        stat.rsplit(") ").next().and_then(|rest| rest.split(' ').nth(1)?.parse().ok()).ok_or("no parent")?;
    let row = memory::row("keeper of an idle job", keeper)?;
    let before = wake_ups(keeper)?;
    tokio::time::sleep(IDLE).await;
    let woken = wake_ups(keeper)? - before;
    store.stop(job.id, Stop::Signal(9)).await?;
    store.wait_until_gone(job.id).await?;
    store.remove(job.id)?;
    Ok(json!({ "private_dirty_kb": row["private_dirty_kb"], "wake_ups": woken, "seconds": IDLE.as_secs() }))
}

/// Number of context switches of a process.
fn wake_ups(pid: u32) -> Result<u64, Box<dyn Error>> {
    let status = fs::read_to_string(format!("/proc/{pid}/status"))?;
    let counts = status.lines().filter_map(|line| line.split_once("ctxt_switches:")?.1.trim().parse::<u64>().ok());
    Ok(counts.sum())
}

/// Listing many, of which most have ended.
async fn list(engine: &Engine, store: &JobStore) -> Result<Value, Box<dyn Error>> {
    let mut last = 0;
    for _ in 0..LISTED {
        last = engine.start_job(host::request("true")?).await?.job().ok_or("it was refused")?.id;
    }
    for id in 1..=last {
        if store.get(id).is_ok() {
            store.wait_until_gone(id).await?;
        }
    }
    let mut times = Times::default();
    for _ in 0..20 {
        let began = Instant::now();
        let jobs = store.list()?;
        times.add(began.elapsed());
        if jobs.len() != LISTED {
            return Err(format!("{} jobs are listed", jobs.len()).into());
        }
    }
    for job in store.list()? {
        store.remove(job.id)?;
    }
    Ok(json!({ "jobs": LISTED, "time": times.as_json() }))
}

/// Writing much as a job, beside a read loop that writes to a file.
async fn write(
    host: &Host,
    engine: &Engine,
    store: &JobStore,
    place: &Path,
    floods: usize,
) -> Result<Value, Box<dyn Error>> {
    let lines = place.join("lines");
    let line = format!("{:079}\n", 7);
    fs::write(&lines, line.repeat((64 << 20) / line.len()))?;
    let script = WRITER.replace("LINES", &lines.display().to_string());
    let (mut bare, mut job) = (Times::default(), Times::default());
    for _ in 0..floods.max(3) {
        let file = place.join("copy");
        bare.add(read_loop(host, &script, Some(&file))?);
        fs::remove_file(file)?;
        let began = Instant::now();
        let id = engine.start_job(host::request(&script)?).await?.job().ok_or("it was refused")?.id;
        let record = store.wait_until_gone(id).await?;
        job.add(began.elapsed());
        if record.output_file.metadata()?.len() < 255 << 20 {
            return Err("a job did not write everything".into());
        }
        store.remove(id)?;
    }
    let ratio = bare.median().as_secs_f64() / job.median().as_secs_f64();
    Ok(json!({ "floor_ms": bare.median().as_millis(), "ms": job.median().as_millis(), "faster": ratio }))
}
