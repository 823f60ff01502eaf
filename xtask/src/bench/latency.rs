//! How long one call takes, from the request to the outcome.
//!
//! All variants take turns, so that whatever else the machine does hits all of them alike.

use std::error::Error;
use std::time::{Duration, Instant};

use bashful_engine::{Checked, Engine};
use serde_json::{Value, json};
use tokio::runtime::{Builder, Runtime};

use super::figures::Times;
use super::floor::Bare;
use super::host::{self, Host, PAUSE, READY};

/// What a host holds in the second part. A program that starts others by `fork` copies the tables of all of it.
const MUCH: usize = 2 << 30;

/// A script, what it is called in the tables, and what it writes.
struct Sample {
    name: &'static str,
    script: &'static str,
    writes: &'static [u8],
}

const TRUE: Sample = Sample { name: "true", script: "true", writes: b"" };

const SAMPLES: [Sample; 3] = [
    TRUE,
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

fn measure(host: &Host, samples: &[Sample], rounds: usize) -> Result<Value, Box<dyn Error>> {
    let current = Builder::new_current_thread().enable_all().build()?;
    let multi = Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    let mut variants = Vec::new();
    for sample in samples {
        variants.push(bare(host, sample));
        for (way, runtime, ready) in
            [("ready", &current, READY), ("cold", &current, 0), ("ready, multi-threaded", &multi, READY)]
        {
            variants.push(engine(host, sample, way, runtime, ready)?);
        }
        if sample.name == TRUE.name {
            variants.push(program(host, sample));
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

/// The floor.
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

async fn call(engine: &Engine, checked: &Checked, sample: &Sample, ready: bool) -> Result<Duration, Box<dyn Error>> {
    if ready {
        host::until_ready(engine, checked).await?;
    }
    tokio::time::sleep(PAUSE).await;
    let (engine, request) = (engine.clone(), host::request(sample.script)?);
    // As a task, because that is how a host calls: the thread that blocks on a runtime is not one of its workers.
    let task = tokio::spawn(async move {
        let began = Instant::now();
        let reply = engine.run(request).await;
        (reply, began.elapsed())
    });
    let (reply, time) = task.await?;
    host::right(reply?, sample.writes)?;
    Ok(time)
}
