//! bashful beside other MCP servers that run shell commands: `cargo xtask bench peers`.
//!
//! All servers take turns in one run, so that whatever else the machine does hits all of them alike. They run in a network that
//! has nothing but loopback, and in a process namespace that ends with the run.

mod cases;
mod catalog;
mod client;
mod table;

use std::error::Error;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use self::cases::Ground;
use self::catalog::PEERS;
use super::figures::Times;
use super::floor::Bare;
use super::host::{Host, PAUSE};
use super::{Effort, PART, parse};
use crate::{Done, cargo, packages, print};

/// The name of the part, for the program and for people.
pub(crate) const NAME: &str = "peers";

/// Only a server that hangs takes as long for `true`.
const ANSWERS_WITHIN: Duration = Duration::from_mins(1);

/// Builds bashful, installs the peers, measures, and prints tables.
pub(crate) fn main(options: &[&str]) -> Done {
    let (effort, file) = parse(options)?;
    let bashful = cargo::build_dist("bashful")?;
    for peer in &PEERS {
        if let Some(package) = peer.package {
            packages::install(package, &peer.prefix(&directory()), peer.overrides)?;
        }
    }
    let load = super::load();
    let figures = measure(&bashful, effort)?;
    print::data(&table::all(&figures, &load));
    if let Some(file) = file {
        std::fs::write(file, format!("{:#}\n", json!({ "load": load, "peers": figures })))?;
    }
    Ok(())
}

/// The directory that peers are installed to.
fn directory() -> PathBuf {
    cargo::root().join("target/peers")
}

/// Measures in namespaces of its own, in a second process of this program.
fn measure(bashful: &Path, effort: Effort) -> Result<Value, Box<dyn Error>> {
    print::talk("xtask bench: measuring peers, for some minutes");
    let mut command = Command::new("unshare");
    if !rustix::process::geteuid().is_root() {
        command.arg("--map-root-user");
    }
    command.args(["--net", "--pid", "--fork", "--mount-proc", "--kill-child"]);
    command.args(["sh", "-c", "ip link set lo up && exec \"$0\" \"$@\""]).arg(std::env::current_exe()?);
    command.args([PART, NAME]).arg(bashful).arg(effort.word()).current_dir(cargo::root());
    let output = command.stderr(Stdio::inherit()).output()?;
    if !output.status.success() {
        return Err(format!("the peers could not be measured ({})", output.status).into());
    }
    Ok(serde_json::from_slice(&output.stdout)?)
}

/// Measures all servers, in this process.
pub(crate) fn all(host: &Host, effort: Effort) -> Result<Value, Box<dyn Error>> {
    let (starts, patience) = match effort {
        Effort::Full => (20, Duration::from_secs(10)),
        Effort::Quick => (5, Duration::from_secs(5)),
    };
    let peers = directory();
    let ground = Ground { bashful: &host.program, peers: &peers, patience };
    let (floor, calls) = calls(host, &ground, effort.rounds())?;
    let first = first_results(&ground, starts)?;
    let mut rows = Vec::new();
    for ((peer, call), first) in PEERS.iter().zip(&calls).zip(&first) {
        print::talk(&format!("xtask bench: measuring {}", peer.name));
        let package = peer.package.map_or(concat!("bashful ", env!("CARGO_PKG_VERSION")), |package| package.text());
        rows.push(json!({
            "name": peer.name, "package": package, "call": call.as_json(), "first": first.as_json(), "cases": ground.all(peer)?,
        }));
    }
    Ok(json!({ "floor": floor.as_json(), "patience_s": patience.as_secs(), "servers": rows }))
}

/// Calls of `true`, the servers and the floor in turn.
fn calls(host: &Host, ground: &Ground<'_>, rounds: usize) -> Result<(Times, Vec<Times>), Box<dyn Error>> {
    let homes = PEERS.iter().map(|_| tempfile::tempdir()).collect::<Result<Vec<_>, _>>()?;
    let mut clients = Vec::new();
    for (peer, home) in PEERS.iter().zip(&homes) {
        clients.push((ground.start(peer, home.path(), None)?, Times::default()));
    }
    let bash = Bare { program: &host.bash, name: "bash", arguments: &["-c", "true"], variables: &host.variables };
    let mut floor = Times::default();
    // The first round only warms up.
    for round in 0..=rounds {
        std::thread::sleep(PAUSE);
        let bare = bash.time(b"")?;
        if round > 0 {
            floor.add(bare);
        }
        for (client, times) in &mut clients {
            std::thread::sleep(PAUSE);
            let began = Instant::now();
            client.run_true(ANSWERS_WITHIN)?;
            if round > 0 {
                times.add(began.elapsed());
            }
        }
    }
    Ok((floor, clients.into_iter().map(|(_, times)| times).collect()))
}

/// Times from the start of a server to its first result, the servers in turn.
fn first_results(ground: &Ground<'_>, starts: usize) -> Result<Vec<Times>, Box<dyn Error>> {
    let mut rows = Vec::new();
    for _ in &PEERS {
        rows.push((tempfile::tempdir()?, Times::default()));
    }
    // The first round only warms up: some servers write their settings at their first start.
    for round in 0..=starts {
        for (peer, (home, times)) in PEERS.iter().zip(&mut rows) {
            std::thread::sleep(PAUSE);
            let began = Instant::now();
            ground.start(peer, home.path(), None)?.run_true(ANSWERS_WITHIN)?;
            if round > 0 {
                times.add(began.elapsed());
            }
        }
    }
    Ok(rows.into_iter().map(|(_, times)| times).collect())
}
