//! How fast output flows through the engine, beside a pipe to `cat`.

use std::error::Error;
use std::fs::File;
use std::io::Write;
use std::os::fd::AsFd;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use bashful_engine::{ArtifactLimits, ArtifactStore, ByteSize, End, Engine, Exit, Reply};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::runtime::Builder;

use super::figures::Times;
use super::host::{self, Host};

/// What writes, and what it is called. `WRITE` becomes a program that does nothing but write lines: one that had to read
/// them first would be what is measured. Its words are how many bytes, and how many of them at a time.
const WRITERS: [(&str, &str); 3] = [
    ("lines in 64 KiB writes", "WRITE 1073741824 65536"),
    ("seq", "seq 1 20000000"),
    ("100-byte writes", "WRITE 200000000 100"),
];

/// The part that plays the writer.
pub(super) const WRITE: &str = "write-lines";

/// How the writers are measured, and against what.
pub(crate) fn all(host: &Host, rounds: usize) -> Result<Value, Box<dyn Error>> {
    let runtime = Builder::new_current_thread().enable_all().build()?;
    // First of all: the peak of this process must not be that of something else.
    let memory = runtime.block_on(flood(host))?;
    let place = TempDir::with_prefix("bashful-bench-")?;
    let write = format!("{} {} {WRITE}", std::env::current_exe()?.display(), super::PART);
    let mut rows = Vec::new();
    for (name, script) in WRITERS {
        let script = script.replace("WRITE", &write);
        rows.extend(runtime.block_on(one(host, place.path(), name, &script, rounds))?);
    }
    Ok(json!({ "rows": rows, "flood_bytes": FLOOD, "flood_grew_kb": memory }))
}

/// Writes so many bytes of lines of 80, so many at a time.
pub(super) fn write_lines(bytes: &str, at_a_time: &str) -> Result<(), Box<dyn Error>> {
    let (mut left, at_a_time) = (bytes.parse::<usize>()?, at_a_time.parse::<usize>()?);
    let line = format!("{:079}\n", 7);
    let block = line.repeat(at_a_time.div_ceil(line.len()) + 1).into_bytes();
    let mut out = File::from(std::io::stdout().as_fd().try_clone_to_owned()?);
    let mut at = 0;
    while left > 0 {
        let count = at_a_time.min(left);
        out.write_all(&block[at..at + count])?;
        left -= count;
        at = (at + count) % line.len();
    }
    Ok(())
}

async fn one(host: &Host, place: &Path, name: &str, script: &str, rounds: usize) -> Result<Vec<Value>, Box<dyn Error>> {
    let limits = ArtifactLimits { one: ByteSize(8 << 30), store: ByteSize(0), ..ArtifactLimits::default() };
    let store = Arc::new(ArtifactStore::new(place.join("artifacts"), limits));
    let shown = host.engine(0)?;
    let saved = host.engine_with(0, Some(Arc::clone(&store)))?;
    let mut times: [Times; 4] = Default::default();
    for _ in 0..rounds {
        times[0].add(pipeline(host, &format!("{{ {script}; }} | cat >/dev/null"))?);
        times[1].add(through(&shown, script).await?);
        times[2].add(pipeline(host, &format!("{{ {script}; }} | cat >{}", place.join("copy").display()))?);
        // What waits to be written to the disk from one run must not slow down the next.
        std::fs::remove_file(place.join("copy"))?;
        times[3].add(through(&saved, script).await?);
        store.sweep()?;
    }
    let [null, shown, file, saved] = times.map(|times| times.median());
    let row = |way: &str, time: Duration, floor: Duration| {
        json!({ "writer": name, "way": way, "ms": time.as_millis(), "floor_ms": floor.as_millis(),
                "faster": floor.as_secs_f64() / time.as_secs_f64() })
    };
    Ok(vec![row("shown", shown, null), row("saved", saved, file)])
}

fn pipeline(host: &Host, script: &str) -> Result<Duration, Box<dyn Error>> {
    let began = Instant::now();
    let status = Command::new(&host.bash).args(["-c", script]).stdin(Stdio::null()).status()?;
    if status.success() { Ok(began.elapsed()) } else { Err(format!("{script} failed").into()) }
}

async fn through(engine: &Engine, script: &str) -> Result<Duration, Box<dyn Error>> {
    let mut request = host::request(script)?;
    request.lifetime = Some(bashful_engine::Lifetime(Duration::from_mins(10)));
    let began = Instant::now();
    let Reply::Finished(outcome) = engine.run(request).await? else { return Err("it did not finish".into()) };
    let time = began.elapsed();
    if outcome.end != End::Own(Exit::Code(0)) || outcome.output.bytes == 0 {
        return Err(format!("{script} went wrong: {:?}", outcome.end).into());
    }
    Ok(time)
}

/// So much flows through while memory is watched.
const FLOOD: u64 = 10_000_000_000;

/// How much this process grows while the flood goes through it, in KB.
async fn flood(host: &Host) -> Result<u64, Box<dyn Error>> {
    let engine = host.engine(0)?;
    through(&engine, "echo warm").await?;
    let before = peak()?;
    through(&engine, &format!("head -c {FLOOD} /dev/zero")).await?;
    Ok(peak()?.saturating_sub(before))
}

fn peak() -> Result<u64, Box<dyn Error>> {
    let status = std::fs::read_to_string("/proc/self/status")?;
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).ok_or("no VmHWM")?;
    Ok(peak.trim().trim_end_matches(" kB").parse()?)
}
