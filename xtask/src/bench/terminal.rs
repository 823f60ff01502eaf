//! Commands at a terminal, beside the same commands with a pipe, and beside a loop that only reads a terminal.

use std::error::Error;
use std::io::Read;
use std::os::fd::OwnedFd;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use bashful_engine::{End, Engine, Exit, Reply, Request, Streams, TerminalRequest};
use bashful_sys::terminal::Terminal;
use serde_json::{Value, json};
use tokio::runtime::Builder;

use super::figures::Times;
use super::host::{self, Host, PAUSE};
use super::output;

/// Bytes that a flood writes. A terminal passes some 100 MB a second.
const FLOOD: u32 = 128 << 20;

/// Measures starts and floods, each way by turns.
pub(crate) fn all(host: &Host, rounds: usize, floods: usize) -> Result<Value, Box<dyn Error>> {
    let runtime = Builder::new_current_thread().enable_all().build()?;
    let engine = runtime.block_on(async { host.engine(0) })?;
    let (mut pipe, mut terminal) = (Times::default(), Times::default());
    for round in 0..=rounds {
        for (times, at_terminal) in [(&mut pipe, false), (&mut terminal, true)] {
            std::thread::sleep(PAUSE);
            let time = runtime.block_on(run(&engine, "true", at_terminal))?;
            if round > 0 {
                times.add(time);
            }
        }
    }
    let script = format!("{} lines {FLOOD} 65536", output::writer()?);
    let (mut bare, mut engines) = (Times::default(), Times::default());
    let before = peak_kb()?;
    for _ in 0..floods {
        bare.add(read_only(host, &script)?);
        engines.add(runtime.block_on(run(&engine, &script, true))?);
    }
    let rate = |times: &Times| f64::from(FLOOD) / times.median().as_secs_f64() / 1e6;
    Ok(json!({
        "pipe": pipe.as_json(),
        "terminal": terminal.as_json(),
        "cold_ratio": terminal.median().as_secs_f64() / pipe.median().as_secs_f64(),
        "read_only_mb_s": rate(&bare),
        "engine_mb_s": rate(&engines),
        "flood_ratio": rate(&engines) / rate(&bare),
        "flood_grew_kb": peak_kb()?.saturating_sub(before),
    }))
}

async fn run(engine: &Engine, script: &str, at_terminal: bool) -> Result<Duration, Box<dyn Error>> {
    let streams = if at_terminal { Streams::Terminal(TerminalRequest::default()) } else { Streams::Combined };
    let request = Request { streams, ..host::request(script)? };
    let began = Instant::now();
    match engine.run(request).await? {
        Reply::Finished(finished) if finished.outcome.end == End::Own(Exit::Code(0)) => Ok(began.elapsed()),
        other => Err(format!("{script} went wrong: {other:?}").into()),
    }
}

/// Runs the script at a terminal that a loop reads and drops, and returns the time.
fn read_only(host: &Host, script: &str) -> Result<Duration, Box<dyn Error>> {
    let began = Instant::now();
    let Terminal { outside, inside, .. } = Terminal::for_command(120, 40)?;
    let (output, error): (OwnedFd, OwnedFd) = (inside.try_clone()?, inside);
    let mut command = Command::new(&host.bash);
    command.args(["-c", script]).stdin(Stdio::null()).stdout(output).stderr(error);
    let mut child = command.spawn()?;
    drop(command);
    rustix::io::ioctl_fionbio(&outside, false)?;
    let mut outside = std::fs::File::from(outside);
    let mut buffer = vec![0; 256 * 1024];
    // The end of a terminal is an error: nobody has its inside end open any more.
    while outside.read(&mut buffer).is_ok_and(|count| count > 0) {}
    if !child.wait()?.success() {
        return Err(format!("{script} went wrong").into());
    }
    Ok(began.elapsed())
}

/// The most memory that this process has had, in KB.
fn peak_kb() -> Result<u64, Box<dyn Error>> {
    let status = std::fs::read_to_string("/proc/self/status")?;
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).ok_or("no peak is told")?;
    Ok(peak.trim().trim_end_matches(" kB").trim().parse()?)
}
