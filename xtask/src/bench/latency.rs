//! Latency of one call, from the request to the outcome.
//!
//! All variants alternate, so that other load affects all of them alike.

use std::error::Error;
use std::sync::Arc;
use std::time::{Duration, Instant};

use bashful_engine::{Checked, Engine, Request, SessionLimits, SessionName, SessionOwner, SessionStore};
use serde_json::{Value, json};
use tokio::runtime::{Builder, Runtime};

use super::figures::Times;
use super::floor::Bare;
use super::host::{self, Host, PAUSE, READY};

/// Memory of the host in the second part. `fork` would copy its page tables.
const MUCH: usize = 2 << 30;

/// Calls in a row that only use up what was ready before, and those that are counted.
const UNCOUNTED: u32 = 10;
const COUNTED: u32 = 30;

/// Names of a row of calls and of its floor in the tables.
pub(crate) const IN_A_ROW: &str = "in a row";
pub(crate) const FLOOR_IN_A_ROW: &str = "floor, in a row";

/// A script, its name in the tables, and its output.
struct Sample {
    name: &'static str,
    script: &'static str,
    writes: &'static [u8],
}

const TRUE: Sample = Sample { name: "true", script: "true", writes: b"" };

const SAMPLES: [Sample; 4] = [
    TRUE,
    Sample { name: "/bin/true", script: "/bin/true", writes: b"" },
    Sample { name: "echo a | cat", script: "echo a | cat", writes: b"a\n" },
    Sample { name: "5 programs", script: "/bin/true; /bin/true; /bin/true; /bin/true; /bin/true", writes: b"" },
];

/// A way to run a script, with its script and its times.
struct Variant<'a> {
    sample: &'a Sample,
    way: &'static str,
    run: Box<dyn FnMut() -> Result<Duration, Box<dyn Error>> + 'a>,
    times: Times,
}

/// All scripts, all ways.
pub(crate) fn all(host: &Host, rounds: usize) -> Result<Value, Box<dyn Error>> {
    measure(host, &SAMPLES, rounds)
}

/// The shortest script, all ways, from a host that holds much memory.
pub(crate) fn with_much_memory(host: &Host, rounds: usize) -> Result<Value, Box<dyn Error>> {
    // Touched everywhere, or the system would not have given it to us yet.
    let held = vec![1_u8; MUCH];
    let figures = measure(host, &[TRUE], rounds);
    std::hint::black_box(&held);
    figures
}

fn measure(host: &Host, samples: &'static [Sample], rounds: usize) -> Result<Value, Box<dyn Error>> {
    let current = Builder::new_current_thread().enable_all().build()?;
    let multi = Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    let directory = tempfile::tempdir()?;
    let limits = SessionLimits::default();
    let sessions = Arc::new(SessionStore::new(directory.path().to_path_buf(), limits, SessionOwner::Engine));
    let mut variants = Vec::new();
    for sample in samples {
        variants.push(bare(host, sample));
        for (way, runtime, ready) in
            [("ready", &current, READY), ("cold", &current, 0), ("ready, multi-threaded", &multi, READY)]
        {
            variants.push(engine(host, sample, way, runtime, ready)?);
        }
        variants.push(session(host, sample, &current, &sessions)?);
        if sample.name == TRUE.name {
            variants.push(program(host, sample));
            variants.push(bare_in_a_row(host, sample));
            variants.push(engine_in_a_row(host, sample, &current)?);
            variants.push(never_fits(host, sample, &current)?);
        }
    }
    // The first round only warms up.
    for round in 0..=rounds {
        for variant in &mut variants {
            let time = (variant.run)()?;
            if round > 0 {
                variant.times.add(time);
            }
        }
    }
    Ok(variants
        .iter()
        .map(|variant| json!({ "script": variant.sample.name, "way": variant.way, "time": variant.times.as_json() }))
        .collect())
}

/// Runs the script by the floor: `posix_spawn` and a pipe.
fn bare<'a>(host: &'a Host, sample: &'a Sample) -> Variant<'a> {
    let mut variables = host.variables.clone();
    variables.push(("PWD".into(), host.directory.clone().into()));
    let run = move || {
        std::thread::sleep(PAUSE);
        let arguments = ["-c", sample.script];
        let bash = Bare { program: &host.bash, name: "bash", arguments: &arguments, variables: &variables };
        Ok(bash.time(sample.writes)?)
    };
    Variant { sample, way: "floor", run: Box::new(run), times: Times::default() }
}

/// The mean time of the calls that count in a row.
pub(crate) fn mean_of_row(
    mut call: impl FnMut() -> Result<Duration, Box<dyn Error>>,
) -> Result<Duration, Box<dyn Error>> {
    let mut time = Duration::ZERO;
    for number in 0..UNCOUNTED + COUNTED {
        let took = call()?;
        time += if number < UNCOUNTED { Duration::ZERO } else { took };
    }
    Ok(time / COUNTED)
}

/// The floor without a pause between the calls: the mean of a row of them.
fn bare_in_a_row<'a>(host: &'a Host, sample: &'a Sample) -> Variant<'a> {
    let run = move || {
        std::thread::sleep(PAUSE);
        let arguments = ["-c", sample.script];
        let bash = Bare { program: &host.bash, name: "bash", arguments: &arguments, variables: &host.variables };
        mean_of_row(|| Ok(bash.time(sample.writes)?))
    };
    Variant { sample, way: FLOOR_IN_A_ROW, run: Box::new(run), times: Times::default() }
}

/// An engine that gets the next command as soon as it has answered the last.
fn engine_in_a_row<'a>(
    host: &Host,
    sample: &'static Sample,
    runtime: &'a Runtime,
) -> Result<Variant<'a>, Box<dyn Error>> {
    let engine = runtime.block_on(async { host.engine(READY) })?;
    let run = move || runtime.block_on(in_a_row(&engine, sample));
    Ok(Variant { sample, way: IN_A_ROW, run: Box::new(run), times: Times::default() })
}

/// An engine whose waiting shells never fit, because every command has another variable.
fn never_fits<'a>(host: &Host, sample: &'a Sample, runtime: &'a Runtime) -> Result<Variant<'a>, Box<dyn Error>> {
    let engine = runtime.block_on(async { host.engine(READY) })?;
    let mut count = 0_u64;
    let run = move || {
        count += 1;
        let mut request = host::request(sample.script)?;
        request.env.push(("CALL".to_owned(), count.to_string().into()));
        runtime.block_on(time(&engine, request, sample))
    };
    Ok(Variant { sample, way: "none fits", run: Box::new(run), times: Times::default() })
}

async fn in_a_row(engine: &Engine, sample: &'static Sample) -> Result<Duration, Box<dyn Error>> {
    tokio::time::sleep(PAUSE).await;
    let engine = engine.clone();
    let task = tokio::spawn(async move {
        let mut time = Duration::ZERO;
        for call in 0..UNCOUNTED + COUNTED {
            let request = host::request(sample.script).map_err(|error| error.to_string())?;
            let began = Instant::now();
            let reply = engine.run(request).await.map_err(|error| error.to_string())?;
            time += if call < UNCOUNTED { Duration::ZERO } else { began.elapsed() };
            host::right(reply, sample.writes).map_err(|error| error.to_string())?;
        }
        Ok::<_, String>(time / COUNTED)
    });
    Ok(task.await??)
}

/// The whole program, from its start to its end.
fn program<'a>(host: &'a Host, sample: &'a Sample) -> Variant<'a> {
    let run = move || {
        std::thread::sleep(PAUSE);
        let arguments = ["run", sample.script];
        let variables = &host.variables;
        let bashful = Bare { program: &host.program, name: "bashful", arguments: &arguments, variables };
        Ok(bashful.time(sample.writes)?)
    };
    Variant { sample, way: "program", run: Box::new(run), times: Times::default() }
}

/// An engine in this process.
fn engine<'a>(
    host: &Host,
    sample: &'a Sample,
    way: &'static str,
    runtime: &'a Runtime,
    ready: usize,
) -> Result<Variant<'a>, Box<dyn Error>> {
    let (engine, checked) = runtime.block_on(async {
        let engine = host.engine(ready)?;
        let checked = host::checked(&engine, sample.script).await?;
        engine.prepare(&checked);
        Ok::<_, Box<dyn Error>>((engine, checked))
    })?;
    let run = move || runtime.block_on(call(&engine, &checked, sample, ready > 0));
    Ok(Variant { sample, way, run: Box::new(run), times: Times::default() })
}

/// The same shell again and again.
fn session<'a>(
    host: &Host,
    sample: &'a Sample,
    runtime: &'a Runtime,
    sessions: &Arc<SessionStore>,
) -> Result<Variant<'a>, Box<dyn Error>> {
    let engine = runtime.block_on(async { host.engine_with_sessions(Arc::clone(sessions)) })?;
    let name = SessionName::new("bench")?;
    let run = move || {
        let mut request = host::request(sample.script)?;
        request.session = Some(name.clone());
        runtime.block_on(time(&engine, request, sample))
    };
    Ok(Variant { sample, way: "session", run: Box::new(run), times: Times::default() })
}

async fn call(engine: &Engine, checked: &Checked, sample: &Sample, ready: bool) -> Result<Duration, Box<dyn Error>> {
    if ready {
        host::until_ready(engine, checked).await?;
    }
    time(engine, host::request(sample.script)?, sample).await
}

async fn time(engine: &Engine, request: Request, sample: &Sample) -> Result<Duration, Box<dyn Error>> {
    tokio::time::sleep(PAUSE).await;
    let engine = engine.clone();
    // Hosts call from a task: the thread that blocks on a runtime is not one of its workers.
    let task = tokio::spawn(async move {
        let began = Instant::now();
        let reply = engine.run(request).await;
        (reply, began.elapsed())
    });
    let (reply, time) = task.await?;
    host::right(reply?, sample.writes)?;
    Ok(time)
}
