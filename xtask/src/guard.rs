//! The guard against labeled scripts: its misses, its false alarms, and its time.
//!
//! The data are files that the caller names; nothing of them is in the repository. `--cases` has one JSON object a line with
//! `command`, `expect` (`block` or `allow`), `category` and `id`; `--benign` has one command a line, of which those in
//! `--should` are to be refused and those in `--gray` count neither way. `--blind` is a directory of scripts, or one of the
//! files above: a dangerous line goes behind every script, and wherever bash would run that line (`bash -n` says so, and
//! runs nothing) the guard has to refuse it. `--mutate SECONDS` does the same with mutations of them, from `--seed`. Files
//! that end in `.gz` are unpacked.

use std::collections::{BTreeMap, HashSet};
use std::fmt::Write as _;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use bashful_guard::{Guard, Prelude};
use serde_json::Value;

use crate::{Done, oracle, print};

// The guard's own tests hold a small sample against the same property.
#[path = "../../crates/guard/tests/sight/mod.rs"]
mod sight;

/// Runs the guard over the files.
pub(crate) fn main(options: &[&str]) -> Done {
    match options.split_first() {
        Some((&"--oracle", rest)) => return oracle::main(rest),
        Some((&(oracle::STAGE | oracle::CELL), _)) => return oracle::part(options),
        _ => {}
    }
    let mut files: BTreeMap<&str, &str> = BTreeMap::new();
    let mut words = options.iter();
    while let Some(name) = words.next() {
        let known =
            ["--cases", "--benign", "--gray", "--should", "--blind", "--mutate", "--seed", "--time"].contains(name);
        let file = words.next().filter(|_| known).ok_or("usage: cargo xtask guard --cases FILE [--benign FILE] …")?;
        files.insert(name, file);
    }
    let guard = Guard::default();
    let mut times = Vec::new();
    let mut report = String::new();
    if let Some(file) = files.get("--cases") {
        cases(&guard, &read(file)?, &mut times, &mut report)?;
    }
    if let Some(file) = files.get("--benign") {
        let lines = |name: &str| -> Result<HashSet<String>, Box<dyn std::error::Error>> {
            let text = files.get(name).map_or(Ok(String::new()), |file| read(file))?;
            Ok(text.lines().filter(|line| !line.starts_with('#')).map(str::to_owned).collect())
        };
        let (gray, should) = (lines("--gray")?, lines("--should")?);
        benign(&guard, &read(file)?, &gray, &should, &mut times, &mut report)?;
    }
    if let Some(path) = files.get("--time") {
        slowest(&guard, &scripts_at(Path::new(path))?, &mut report)?;
    }
    if let Some(path) = files.get("--blind") {
        let number = |name: &str| files.get(name).map_or(Ok(0), |number| number.parse::<u64>());
        let mutate_for = Duration::from_secs(number("--mutate")?);
        let reports = sight::run(&guard, &scripts_at(Path::new(path))?, mutate_for, number("--seed")?)?;
        for (what, found) in ["scripts", "mutations"].into_iter().zip(reports) {
            for (name, script) in &found.blind {
                writeln!(report, "blind behind {name}: {script:?}")?;
            }
            let (seen, tried, blind) = (found.seen, found.tried, found.blind.len());
            writeln!(report, "{what}: {seen} of {tried} refused with a dangerous line behind them, blind at {blind}")?;
        }
    }
    times.sort();
    let at = |part: usize| times.get(times.len().saturating_sub(1) * part / 1000).copied().unwrap_or_default();
    writeln!(report, "time: p50 {:?}, p99 {:?}, slowest {:?}", at(500), at(990), at(1000))?;
    let long = "for f in src/*.rs; do cp \"$f\" \"/tmp/${f##*/}\" && echo \"$f\" | tr a-z A-Z; done\n".repeat(64 << 10);
    let long = long.get(..64 << 10).unwrap_or("");
    let (took, _) = timed(&guard, long);
    writeln!(report, "time: a script of 64 KiB {took:?}")?;
    print::data(&report);
    Ok(())
}

/// The scripts of a directory, one a file; or those of a file, one a line, as text or as `script` or `command` in JSON.
fn scripts_at(path: &Path) -> Result<Vec<(String, String)>, Box<dyn std::error::Error>> {
    let name = path.display().to_string();
    if path.is_dir() {
        let mut files: Vec<_> =
            std::fs::read_dir(path)?.map(|entry| entry.map(|entry| entry.path())).collect::<Result<_, _>>()?;
        files.sort();
        let mut scripts = Vec::new();
        for file in files {
            if file.is_dir() {
                scripts.extend(scripts_at(&file)?);
            } else {
                scripts
                    .push((file.display().to_string(), String::from_utf8_lossy(&std::fs::read(&file)?).into_owned()));
            }
        }
        return Ok(scripts);
    }
    let mut scripts = Vec::new();
    for (number, line) in (1..).zip(read(&name)?.lines()) {
        let script = if line.starts_with('{') && name.contains(".jsonl") {
            let case: Value = serde_json::from_str(line)?;
            case.get("script").or(case.get("command")).and_then(Value::as_str).unwrap_or("").to_owned()
        } else {
            line.to_owned()
        };
        scripts.push((format!("{name}:{number}"), script));
    }
    Ok(scripts)
}

/// Prints the refusals of real scripts, and the processor time that the slowest took.
fn slowest(guard: &Guard, scripts: &[(String, String)], report: &mut String) -> Done {
    let mut times = Vec::new();
    for (name, script) in scripts {
        let began = spent();
        let verdict = guard.judge(script, &Prelude::default());
        times.push((spent().saturating_sub(began), name, script.len()));
        for finding in verdict.refusals() {
            let line = 1 + script.get(..finding.span.start).unwrap_or("").matches('\n').count();
            writeln!(report, "{} in {name}, line {line}", finding.rule)?;
        }
    }
    times.sort();
    for (took, name, bytes) in times.iter().rev().take(5) {
        writeln!(report, "time: {took:?} for {name}, {bytes} bytes")?;
    }
    let at =
        |part: usize| times.get(times.len().saturating_sub(1) * part / 1000).map(|time| time.0).unwrap_or_default();
    writeln!(report, "time: {} scripts, p50 {:?}, p99 {:?}", times.len(), at(500), at(990))?;
    Ok(())
}

fn read(file: &str) -> Result<String, Box<dyn std::error::Error>> {
    if std::path::Path::new(file).extension().is_none_or(|ending| ending != "gz") {
        return Ok(std::fs::read_to_string(file)?);
    }
    let unpacked = Command::new("gzip").args(["-dc", file]).output()?;
    Ok(String::from_utf8_lossy(&unpacked.stdout).into_owned())
}

fn timed(guard: &Guard, script: &str) -> (Duration, bool) {
    let began = spent();
    let verdict = guard.judge(script, &Prelude::default());
    (spent().saturating_sub(began), verdict.refuses())
}

/// The processor time that this thread has used. The guard neither waits nor starts threads, so this is its time on a machine that
/// does nothing else.
fn spent() -> Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    let seconds = u64::try_from(time.tv_sec).unwrap_or(0);
    Duration::new(seconds, u32::try_from(time.tv_nsec).unwrap_or(0))
}

fn cases(guard: &Guard, text: &str, times: &mut Vec<Duration>, report: &mut String) -> Done {
    let mut right: BTreeMap<(bool, String), (usize, usize)> = BTreeMap::new();
    for line in text.lines() {
        let case: Value = serde_json::from_str(line)?;
        let field = |name: &str| case.get(name).and_then(Value::as_str).unwrap_or("").to_owned();
        let script = field("command");
        let blocks = field("expect") == "block";
        let (took, refuses) = timed(guard, &script);
        times.push(took);
        let count = right.entry((blocks, field("category"))).or_default();
        count.1 += 1;
        if refuses == blocks {
            count.0 += 1;
        } else {
            let what = if blocks { "missed" } else { "wrongly refused" };
            writeln!(report, "{what} {} ({}): {script:?}", field("id"), field("category"))?;
        }
    }
    for blocks in [true, false] {
        let all = right.iter().filter(|((kind, _), _)| *kind == blocks);
        let (good, total) = all.clone().fold((0, 0), |sum, (_, count)| (sum.0 + count.0, sum.1 + count.1));
        let what = if blocks { "refused rightly" } else { "let pass rightly" };
        writeln!(report, "{what}: {good} of {total}")?;
        for ((_, category), (good, total)) in all.filter(|(_, count)| count.0 < count.1) {
            writeln!(report, "  {category}: {good} of {total}")?;
        }
    }
    Ok(())
}

fn benign(
    guard: &Guard,
    text: &str,
    gray: &HashSet<String>,
    should: &HashSet<String>,
    times: &mut Vec<Duration>,
    report: &mut String,
) -> Done {
    let (mut wrong, mut hits, mut lines) = (0, 0, 0);
    for line in text.lines().filter(|line| !gray.contains(*line)) {
        lines += 1;
        let (took, refuses) = timed(guard, line);
        times.push(took);
        match (refuses, should.contains(line)) {
            (true, true) => hits += 1,
            (true, false) => {
                wrong += 1;
                writeln!(report, "wrongly refused: {line:?}")?;
            }
            (false, true) => writeln!(report, "missed: {line:?}")?,
            (false, false) => {}
        }
    }
    writeln!(report, "benign: {wrong} of {lines} wrongly refused, {hits} of {} rightly", should.len())?;
    Ok(())
}
