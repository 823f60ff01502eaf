//! Memory of a keeper, of a waiting shell and of a host with an engine.

use std::error::Error;
use std::fs;
use std::time::Duration;

use bashful_engine::{Caller, StopReason};
use serde_json::{Value, json};

use super::host::{self, Host, READY};

/// Long enough for everything that was just started to come to rest.
const SETTLE: Duration = Duration::from_millis(200);

/// Measures one after the other, in one process that has a runtime of one thread.
pub(crate) fn all(host: &Host, calls: usize) -> Result<Value, Box<dyn Error>> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(measure(host, calls))
}

async fn measure(host: &Host, calls: usize) -> Result<Value, Box<dyn Error>> {
    let mut rows = Vec::new();
    let us = std::process::id();

    let cold = host.engine(0)?;
    rows.push(row("host with an idle engine", us)?);
    for _ in 0..calls {
        host::right(cold.run(host::request("true")?).await?, b"")?;
    }
    rows.push(row(&format!("host after {calls} calls"), us)?);

    let started = cold.start(host::request("sleep 1000")?, Caller::default()).await?;
    let mut job = started.running().ok_or("it was refused")?;
    tokio::time::sleep(SETTLE).await;
    let keeper = *children(us)?.first().ok_or("a running command has no keeper")?;
    rows.push(row("keeper of a running `sleep`", keeper)?);
    let sleep = *children(keeper)?.first().ok_or("the keeper has no command")?;
    rows.push(row("the `sleep` itself", sleep)?);
    job.stop(StopReason::Cancelled);
    job.wait().await?;
    tokio::time::sleep(SETTLE).await;

    let ready = host.engine(READY)?;
    let checked = host::checked(&ready, "true").await?;
    ready.prepare(&checked);
    host::until_ready(&ready, &checked).await?;
    tokio::time::sleep(SETTLE).await;
    let keeper = *children(us)?.first().ok_or("there is no ready keeper")?;
    let shell = *children(keeper)?.first().ok_or("the ready keeper has no shell")?;
    rows.push(row("ready keeper", keeper)?);
    rows.push(row("its waiting bash", shell)?);
    Ok(rows.into())
}

/// The children that a process with one thread has.
fn children(pid: u32) -> Result<Vec<u32>, Box<dyn Error>> {
    let list = fs::read_to_string(format!("/proc/{pid}/task/{pid}/children"))?;
    Ok(list.split_ascii_whitespace().map(str::parse).collect::<Result<_, _>>()?)
}

/// Private: what would be free if the process ended. Pss: with its share of what it has in common with others.
pub(crate) fn row(name: &str, pid: u32) -> Result<Value, Box<dyn Error>> {
    let rollup = fs::read_to_string(format!("/proc/{pid}/smaps_rollup"))?;
    let field = |name: &str| -> Option<u64> {
        let line = rollup.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))?;
        line.split_ascii_whitespace().next()?.parse().ok()
    };
    Ok(json!({ "process": name, "private_dirty_kb": field("Private_Dirty"), "pss_kb": field("Pss") }))
}
