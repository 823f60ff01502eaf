//! Throughput of output through the engine, beside a loop that only reads.
//!
//! The read loop is the least that any reader can do: `read(2)` of 256 KiB at a time, and nothing, or `write(2)` to a file. It is part
//! of this program, so it is the same machine code everywhere, while a `cat` differs from system to system.

use std::error::Error;
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::AsFd;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use bashful_engine::{ArtifactLimits, ArtifactStore, ByteSize, End, Engine, Exit};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::runtime::Builder;

use super::figures::Times;
use super::host::{self, Host};

/// Scripts that write, and their names. `WRITE` becomes a program that does nothing but write: one that had to read its output
/// first would be what is measured. Its words are a kind of text, how many bytes of it, and how many at a time.
const WRITERS: [(&str, &str); 7] = [
    ("lines in 64 KiB writes", "WRITE lines 1073741824 65536"),
    ("seq", "seq 1 20000000"),
    ("100-byte writes", "WRITE lines 200000000 100"),
    ("NULs", "head -c 2147483648 /dev/zero"),
    ("Latin-1, not UTF-8", "WRITE latin1 536870912 65536"),
    ("lines with CRLF", "WRITE crlf 536870912 65536"),
    ("lines with colors", "WRITE colors 536870912 65536"),
];

/// The part that plays the writer.
pub(super) const WRITE: &str = "write-text";

/// Bytes that the read loop reads at once.
const AT_ONCE: usize = 256 * 1024;

/// Measures all writers.
pub(crate) fn all(host: &Host, rounds: usize) -> Result<Value, Box<dyn Error>> {
    let runtime = Builder::new_current_thread().enable_all().build()?;
    // First of all: the peak of this process must not be that of something else.
    let memory = runtime.block_on(flood(host))?;
    let place = TempDir::with_prefix("bashful-bench-")?;
    let write = writer()?;
    let mut rows = Vec::new();
    for (name, script) in WRITERS {
        let script = script.replace("WRITE", &write);
        rows.extend(runtime.block_on(one(host, place.path(), name, &script, rounds))?);
    }
    Ok(json!({ "rows": rows, "flood_bytes": FLOOD, "flood_grew_kb": memory }))
}

/// The command that writes text of a kind.
pub(super) fn writer() -> io::Result<String> {
    Ok(format!("{} {} {WRITE}", std::env::current_exe()?.display(), super::PART))
}

/// Writes so many bytes of text of this kind, so many at a time.
pub(super) fn write_text(kind: &str, bytes: &str, at_a_time: &str) -> Result<(), Box<dyn Error>> {
    let (mut left, at_a_time) = (bytes.parse::<usize>()?, at_a_time.parse::<usize>()?);
    let line = match kind {
        "lines" => format!("{:079}\n", 7).into_bytes(),
        "latin1" => [&[0xE9; 79][..], b"\n"].concat(),
        "crlf" => format!("{:078}\r\n", 7).into_bytes(),
        // As a test runner writes them.
        "colors" => format!("\x1b[32mok\x1b[0m {:065}\n", 7).into_bytes(),
        other => return Err(format!("there is no text of the kind {other}").into()),
    };
    let block = line.repeat(at_a_time.div_ceil(line.len()) + 1);
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
        times[0].add(read_loop(host, script, None)?);
        times[1].add(through(&shown, script).await?);
        let copy = place.join("copy");
        times[2].add(read_loop(host, script, Some(&copy))?);
        // Unwritten pages of one run must not slow down the next.
        std::fs::remove_file(copy)?;
        times[3].add(through(&saved, script).await?);
        store.sweep()?;
    }
    let [dropped, shown, file, saved] = times.map(|times| times.median());
    let row = |way: &str, time: Duration, floor: Duration| {
        json!({ "writer": name, "way": way, "ms": time.as_millis(), "floor_ms": floor.as_millis(),
                "faster": floor.as_secs_f64() / time.as_secs_f64() })
    };
    Ok(vec![row("shown", shown, dropped), row("saved", saved, file)])
}

/// Reads what a script writes to its end, and drops it or writes it to a file. The standard library adds nothing to `read` of a
/// pipe and `write` of a file.
pub(super) fn read_loop(host: &Host, script: &str, copy: Option<&Path>) -> Result<Duration, Box<dyn Error>> {
    let mut buffer = vec![0; AT_ONCE];
    let began = Instant::now();
    let (mut read, write) = io::pipe()?;
    let mut command = Command::new(&host.bash);
    command.args(["-c", script]).stdin(Stdio::null()).stdout(write.try_clone()?).stderr(write);
    let mut child = command.spawn()?;
    // The command holds the writing ends, which would prevent the end of file.
    drop(command);
    let mut copy = copy.map(File::create).transpose()?;
    loop {
        let count = read.read(&mut buffer)?;
        if count == 0 {
            break;
        }
        if let Some(copy) = &mut copy {
            copy.write_all(&buffer[..count])?;
        }
    }
    let status = child.wait()?;
    if status.success() { Ok(began.elapsed()) } else { Err(format!("{script} failed").into()) }
}

async fn through(engine: &Engine, script: &str) -> Result<Duration, Box<dyn Error>> {
    let mut request = host::request(script)?;
    request.lifetime = Some(bashful_engine::Lifetime(Duration::from_mins(10)));
    let began = Instant::now();
    let outcome = engine.run(request).await?.finished().ok_or("it did not finish")?;
    let time = began.elapsed();
    if outcome.end != End::Own(Exit::Code(0)) || outcome.output.bytes == 0 {
        return Err(format!("{script} went wrong: {:?}", outcome.end).into());
    }
    Ok(time)
}

/// Bytes that pass while memory is watched.
const FLOOD: u64 = 10_000_000_000;

/// Growth of this process while the flood passes, in KB.
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
