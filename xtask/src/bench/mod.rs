//! Speed and memory of the engine, beside a bare `bash -c`.
//!
//! The parts run in processes of their own, built with optimizations: what one of them holds must not weigh on another.
//! Each writes its figures as JSON; here they become tables. Figures never fail the task, because machines are noisy.

mod bars;
mod condense;
mod figures;
mod floor;
mod guard;
mod host;
mod jobs;
mod latency;
mod load;
mod many;
mod mcp;
mod memory;
mod output;
mod peers;
mod rpc;
mod store;
mod tables;
mod terminal;

use std::error::Error;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::{Map, Value, json};

use crate::{Done, cargo, print};

/// The task that runs one part. It is not on the list, because nobody but `bench` calls it.
pub(crate) const PART: &str = "bench-part";

/// The parts, each measured in its own process.
const PARTS: [&str; 12] =
    ["latency", "latency-2gb", "memory", "many", "output", "terminal", "jobs", "store", "guard", CONDENSE, "mcp", RPC];

/// The part that can be measured alone.
const CONDENSE: &str = "condense";

/// The part about host programs, which can be measured alone too.
const RPC: &str = "rpc";

/// The extent of the measurement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Effort {
    Full,
    Quick,
}

impl Effort {
    /// Repetitions of every variant.
    fn rounds(self) -> usize {
        match self {
            Self::Full => 300,
            Self::Quick => 30,
        }
    }

    /// Number of commands, in a row or at once.
    fn commands(self) -> usize {
        match self {
            Self::Full => 1000,
            Self::Quick => 100,
        }
    }

    /// Repetitions of every kind of output.
    fn floods(self) -> usize {
        match self {
            Self::Full => 5,
            Self::Quick => 2,
        }
    }

    fn word(self) -> &'static str {
        match self {
            Self::Full => "full",
            Self::Quick => "quick",
        }
    }
}

/// Builds, measures, and prints tables.
pub(crate) fn main(options: &[&str]) -> Done {
    if let Some((&peers::NAME, options)) = options.split_first() {
        return peers::main(options);
    }
    if let [CONDENSE, options @ ..] = options {
        return condense_alone(parse(options)?.0);
    }
    if let [RPC, options @ ..] = options {
        return rpc_alone(parse(options)?.0);
    }
    let (effort, file) = parse(options)?;
    // One after the other: built together, the program would get the features that only this task needs.
    let program = cargo::build_dist("bashful")?;
    let this = cargo::build_dist("xtask")?;
    // Pages of a file that has just been written count as private until they are on the disk.
    for file in [&program, &this] {
        std::fs::File::open(file)?.sync_all()?;
    }
    let mut all = Map::new();
    all.insert("load".to_owned(), load().into());
    for name in PARTS {
        print::talk(&format!("xtask bench: measuring {name}"));
        all.insert(name.to_owned(), measure(&this, name, &program, effort)?);
    }
    all.insert("effort".to_owned(), effort.word().into());
    let all = Value::Object(all);
    print::data(&tables::all(&all));
    let bars = bars::judge(&all);
    print::data(&bars::table(&bars));
    if let Some(file) = file {
        let report = json!({ "figures": all, "bars": bars::as_json(&bars) });
        std::fs::write(file, format!("{report:#}\n"))?;
    }
    Ok(())
}

/// Measures condensing, which needs no program, and prints its table.
fn condense_alone(effort: Effort) -> Done {
    let this = cargo::build_dist("xtask")?;
    print::data(&tables::condense(&measure(&this, CONDENSE, &this, effort)?));
    Ok(())
}

/// Measures RPC, and prints its table.
fn rpc_alone(effort: Effort) -> Done {
    let program = cargo::build_dist("bashful")?;
    let this = cargo::build_dist("xtask")?;
    print::data(&tables::rpc(&measure(&this, RPC, &program, effort)?));
    Ok(())
}

/// Measures one part, in this process.
pub(crate) fn part(arguments: &[&str]) -> Done {
    if let [output::WRITE, kind, bytes, at_a_time] = arguments {
        return output::write_text(kind, bytes, at_a_time);
    }
    let [name, program, effort] = arguments else { return Err("a part is started by `cargo xtask bench`".into()) };
    let effort = if *effort == Effort::Quick.word() { Effort::Quick } else { Effort::Full };
    let host = host::Host::new(PathBuf::from(program))?;
    let figures = match *name {
        "latency" => latency::all(&host, effort.rounds())?,
        "latency-2gb" => latency::with_much_memory(&host, effort.rounds())?,
        "memory" => memory::all(&host, effort.commands())?,
        "many" => many::all(&host, effort.commands())?,
        "output" => output::all(&host, effort.floods())?,
        "terminal" => terminal::all(&host, effort.rounds(), effort.floods())?,
        "jobs" => jobs::all(&host, effort.rounds(), effort.floods())?,
        "store" => store::all(&host, effort.rounds().min(100))?,
        "guard" => guard::all(effort.rounds()),
        peers::NAME => peers::all(&host, effort)?,
        CONDENSE => condense::all(effort.rounds()),
        "mcp" => mcp::all(&host, effort.rounds(), effort.commands())?,
        RPC => rpc::all(&host, effort.rounds())?,
        other => return Err(format!("there is no part {other}").into()),
    };
    print::data(&figures.to_string());
    Ok(())
}

fn parse(options: &[&str]) -> Result<(Effort, Option<PathBuf>), Box<dyn Error>> {
    let (mut effort, mut file) = (Effort::Full, None);
    let mut options = options.iter();
    while let Some(option) = options.next() {
        match *option {
            "--quick" => effort = Effort::Quick,
            "--json" => file = Some(PathBuf::from(options.next().ok_or("--json takes a file")?)),
            other => {
                return Err(format!(
                    "bench takes `peers`, `condense` or `rpc` first, --quick and --json FILE, not {other}"
                )
                .into());
            }
        }
    }
    Ok((effort, file))
}

/// The load of the machine by other processes. Medians tolerate some load, but cold starts suffer more than the floor
/// when every processor is busy.
fn load() -> String {
    let averages = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
    let processors = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    let minute = averages.split_ascii_whitespace().next().unwrap_or("unknown");
    format!("{minute} on {processors} processors in the minute before, our own build included")
}

fn measure(this: &Path, name: &str, program: &Path, effort: Effort) -> Result<Value, Box<dyn Error>> {
    let output = Command::new(this)
        .args([PART, name])
        .arg(program)
        .arg(effort.word())
        .current_dir(cargo::root())
        .stderr(Stdio::inherit())
        .output()?;
    if !output.status.success() {
        return Err(format!("{name} could not be measured ({})", output.status).into());
    }
    Ok(serde_json::from_slice(&output.stdout)?)
}
