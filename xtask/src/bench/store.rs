//! The price of a full store: the same calls with an almost empty state directory and with one that holds much.
//!
//! Each call is timed on both in turn, so that other load hits both alike. The filled directory is made from real entries: one
//! of each kind that the program has written, copied.

use std::error::Error;
use std::fs::{self, File};
use std::io::{BufRead, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use bashful_engine::{ArtifactLimits, ArtifactStore, Checked, Clip, Engine, JobLimits, JobStore, Output};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::runtime::{Builder, Runtime};

use super::figures::Times;
use super::host::{self, Host, PAUSE, READY};
use super::mcp::Client;

/// Entries of a full store.
const FULL: Filling = Filling { artifacts: 5000, jobs: 2000, log_lines: 10_000 };

/// A quarter of its jobs, to see how listing grows.
const QUARTER: Filling = Filling { artifacts: 0, jobs: FULL.jobs / 4, log_lines: 0 };

/// Enough output for an artifact: 229 kB.
const LONG: &str = "seq 40000";

/// No limit is reached: sweeping 1,500 jobs is another matter.
const SETTINGS: &str = "[jobs]\nkept = 100000\n";

/// The number of entries of each kind.
#[derive(Clone, Copy)]
struct Filling {
    artifacts: usize,
    jobs: usize,
    log_lines: usize,
}

/// A call that is timed, and its name in the table.
type Call = (&'static str, fn(&mut Rig<'_>) -> Result<Duration, Box<dyn Error>>);

const CALLS: [Call; 10] = [
    ("truncated output, engine", |rig| rig.engine_long()),
    ("truncated output, MCP", |rig| rig.mcp_long()),
    ("truncated output, `bashful run`", |rig| rig.run_long()),
    ("job start, MCP", |rig| rig.mcp_job()),
    ("job start, `bashful run`", |rig| rig.run_job()),
    ("job poll, MCP", |rig| rig.mcp_poll()),
    ("wait for all running jobs (none), MCP", |rig| rig.mcp_wait()),
    ("`true`, MCP", |rig| rig.mcp_true()),
    ("`true`, `bashful run`", |rig| rig.run_true()),
    ("server start to first result", |rig| rig.server_start()),
];

/// Measures all of it.
pub(crate) fn all(host: &Host, rounds: usize) -> Result<Value, Box<dyn Error>> {
    let runtime = Builder::new_current_thread().enable_all().build()?;
    let mut empty = Rig::new(host, &runtime, None)?;
    let mut full = Rig::new(host, &runtime, Some(FULL))?;
    let mut times: Vec<[Times; 2]> = CALLS.iter().map(|_| Default::default()).collect();
    // The first rounds only warm up; the second command of an engine sweeps.
    for round in 0..rounds + 2 {
        for ((_, call), [in_empty, in_full]) in CALLS.iter().zip(&mut times) {
            for (rig, times) in [(&mut empty, in_empty), (&mut full, in_full)] {
                std::thread::sleep(PAUSE);
                let time = call(rig)?;
                if round >= 2 {
                    times.add(time);
                }
            }
        }
    }
    let rows: Value = CALLS
        .iter()
        .zip(&times)
        .map(|((name, _), [empty, full])| {
            json!({ "call": name, "empty": empty.as_json(), "full": full.as_json(), "ratio": ratio(full, empty) })
        })
        .collect();
    drop(empty);
    let mut quarter = Rig::new(host, &runtime, Some(QUARTER))?;
    let (mut few, mut many) = (Times::default(), Times::default());
    for _ in 0..rounds.min(20) {
        few.add(quarter.list()?);
        many.add(full.list()?);
    }
    let list = json!({ "quarter": few.as_json(), "full": many.as_json(), "ratio": ratio(&many, &few) });
    let filling = json!({ "artifacts": FULL.artifacts, "jobs": FULL.jobs, "log_lines": FULL.log_lines });
    Ok(json!({ "filling": filling, "rows": rows, "list": list }))
}

fn ratio(times: &Times, beside: &Times) -> f64 {
    times.median().as_secs_f64() / beside.median().as_secs_f64()
}

/// A home directory with its state, and all that makes calls in it.
struct Rig<'a> {
    host: &'a Host,
    runtime: &'a Runtime,
    engine: Engine,
    checked: Checked,
    client: Client,
    jobs: Arc<JobStore>,
    home: TempDir,
}

impl<'a> Rig<'a> {
    fn new(host: &'a Host, runtime: &'a Runtime, filling: Option<Filling>) -> Result<Self, Box<dyn Error>> {
        let home = TempDir::with_prefix("bashful-bench-")?;
        let state = state(home.path());
        fs::create_dir_all(home.path().join(".config/bashful"))?;
        fs::write(home.path().join(".config/bashful/config.toml"), SETTINGS)?;
        let jobs = Arc::new(JobStore::new(state.join("jobs"), JobLimits::default()));
        let artifacts = Arc::new(ArtifactStore::new(state.join("artifacts"), ArtifactLimits::default()));
        let (engine, checked) = runtime.block_on(async {
            let engine = host.engine_with(READY, Some(artifacts))?;
            let checked = host::checked(&engine, LONG).await?;
            engine.prepare(&checked);
            Ok::<_, Box<dyn Error>>((engine, checked))
        })?;
        let client = start(host, home.path())?;
        let mut rig = Self { host, runtime, engine, checked, client, jobs, home };
        rig.run_job()?;
        rig.run_long()?;
        if let Some(filling) = filling {
            fill(&state, filling)?;
        }
        Ok(rig)
    }

    fn engine_long(&mut self) -> Result<Duration, Box<dyn Error>> {
        let (engine, checked) = (&self.engine, &self.checked);
        let (reply, time) = self.runtime.block_on(async {
            host::until_ready(engine, checked).await?;
            let request = host::request(LONG)?;
            let began = Instant::now();
            let reply = engine.run(request).await?;
            Ok::<_, Box<dyn Error>>((reply, began.elapsed()))
        })?;
        let is_saved = |output: &Output| matches!(output.clip, Clip::Cut { .. }) && output.artifact.is_some();
        let outcome = reply.finished().filter(|outcome| is_saved(&outcome.output));
        outcome.map(|_| time).ok_or_else(|| "output was not truncated, or not saved".into())
    }

    fn mcp_long(&mut self) -> Result<Duration, Box<dyn Error>> {
        let (time, answer) = self.ask("bash", &json!({ "command": LONG }))?;
        if answer["artifact"]["id"].is_u64() { Ok(time) } else { Err(format!("no artifact: {answer}").into()) }
    }

    fn mcp_job(&mut self) -> Result<Duration, Box<dyn Error>> {
        let (time, answer) = self.ask("bash", &json!({ "command": "true", "mode": "background" }))?;
        self.until_gone(&answer)?;
        Ok(time)
    }

    fn mcp_poll(&mut self) -> Result<Duration, Box<dyn Error>> {
        let (time, answer) = self.ask("job", &json!({ "action": "show", "ids": [1] }))?;
        if answer["jobs"][0]["id"] == 1 { Ok(time) } else { Err(format!("no job: {answer}").into()) }
    }

    fn mcp_wait(&mut self) -> Result<Duration, Box<dyn Error>> {
        Ok(self.ask("job", &json!({ "action": "wait" }))?.0)
    }

    fn mcp_true(&mut self) -> Result<Duration, Box<dyn Error>> {
        let (time, answer) = self.ask("bash", &json!({ "command": "true" }))?;
        if answer["exit_code"] == 0 { Ok(time) } else { Err(format!("`true` failed: {answer}").into()) }
    }

    fn run_long(&mut self) -> Result<Duration, Box<dyn Error>> {
        let (time, answer) = self.run(&["run", "--json", LONG])?;
        if answer["artifact"]["id"].is_u64() { Ok(time) } else { Err(format!("no artifact: {answer}").into()) }
    }

    fn run_job(&mut self) -> Result<Duration, Box<dyn Error>> {
        let (time, answer) = self.run(&["run", "--json", "--mode", "background", "true"])?;
        self.until_gone(&answer)?;
        Ok(time)
    }

    fn run_true(&mut self) -> Result<Duration, Box<dyn Error>> {
        Ok(self.run(&["run", "--json", "true"])?.0)
    }

    fn server_start(&mut self) -> Result<Duration, Box<dyn Error>> {
        let began = Instant::now();
        let first = start(self.host, self.home.path())?;
        let running = std::mem::replace(&mut self.client, first);
        self.mcp_true()?;
        let time = began.elapsed();
        self.client = running;
        Ok(time)
    }

    fn list(&mut self) -> Result<Duration, Box<dyn Error>> {
        Ok(self.run(&["jobs", "list", "--json"])?.0)
    }

    /// Runs the program, from its start to its end, and reads its JSON.
    fn run(&self, arguments: &[&str]) -> Result<(Duration, Value), Box<dyn Error>> {
        let mut command = Command::new(&self.host.program);
        command.args(arguments).env_clear().envs(self.host.variables.iter().cloned()).env("HOME", self.home.path());
        command.stdin(Stdio::null()).stderr(Stdio::inherit());
        let began = Instant::now();
        let output = command.output()?;
        let time = began.elapsed();
        if !output.status.success() {
            return Err(format!("{arguments:?} failed: {}", output.status).into());
        }
        Ok((time, serde_json::from_slice(&output.stdout)?))
    }

    /// Calls a tool of the server, and returns the facts of its answer.
    fn ask(&mut self, tool: &str, arguments: &Value) -> Result<(Duration, Value), Box<dyn Error>> {
        let params = json!({ "name": tool, "arguments": arguments });
        let line = json!({ "jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": params });
        let began = Instant::now();
        self.client.input.write_all(format!("{line}\n").as_bytes())?;
        loop {
            let mut answer = String::new();
            if self.client.output.read_line(&mut answer)? == 0 {
                return Err("the server has ended".into());
            }
            let time = began.elapsed();
            let answer: Value = serde_json::from_str(&answer)?;
            // Resources come and go, and the client is told of it.
            if answer["id"] == 2 {
                return Ok((time, answer["result"]["_meta"]["bashful/facts"].clone()));
            }
        }
    }

    /// Waits until nothing is left of the job in this answer: its end must not weigh on the next call.
    fn until_gone(&self, answer: &Value) -> Result<(), Box<dyn Error>> {
        let id = answer["job"]["id"].as_u64().ok_or_else(|| format!("no job: {answer}"))?;
        self.runtime.block_on(self.jobs.wait_until_gone(id))?;
        Ok(())
    }
}

/// Starts a server whose client wants to hear of resources that come and go.
fn start(host: &Host, home: &Path) -> Result<Client, Box<dyn Error>> {
    let mut client = Client::start(host, home, READY)?;
    client.input.write_all(b"{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}\n")?;
    Ok(client)
}

fn state(home: &Path) -> PathBuf {
    home.join(".local/state/bashful")
}

/// Copies what one command and one job have left, until the store is as full as this.
fn fill(state: &Path, filling: Filling) -> Result<(), Box<dyn Error>> {
    for id in 2..=filling.artifacts {
        fs::write(state.join("artifacts").join(id.to_string()), "an old output\n".repeat(20))?;
    }
    let job = state.join("jobs/1");
    for id in 2..=filling.jobs {
        let copy = state.join("jobs").join(id.to_string());
        fs::create_dir(&copy)?;
        for name in ["job.json", "status.json", "output"] {
            fs::copy(job.join(name), copy.join(name))?;
        }
        // The log has its end.
        File::create(copy.join("logged"))?;
    }
    let log = state.join("log/commands.jsonl");
    let lines = fs::read_to_string(&log)?;
    let line = lines.lines().next().ok_or("there is no log")?;
    fs::write(log, format!("{line}\n").repeat(filling.log_lines.max(1)))?;
    for kind in ["artifacts", "jobs"] {
        // The next to come finds out how far the numbers have come.
        fs::remove_file(state.join(kind).join("next"))?;
    }
    Ok(())
}
