//! The guard against labelled scripts: what it misses, what it refuses for nothing, and how long it takes.
//!
//! The data are files that the caller names; nothing of them is in the repository. `--cases` has one JSON object a line with
//! `command`, `expect` (`block` or `allow`), `category` and `id`; `--benign` has one command a line, of which those in
//! `--should` are to be refused and those in `--gray` count neither way. Files that end in `.gz` are unpacked.

use std::collections::{BTreeMap, HashSet};
use std::fmt::Write as _;
use std::process::Command;
use std::time::{Duration, Instant};

use bashful_guard::{Guard, Prelude};
use serde_json::Value;

use crate::{Done, oracle, print};

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
        let known = ["--cases", "--benign", "--gray", "--should"].contains(name);
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

fn read(file: &str) -> Result<String, Box<dyn std::error::Error>> {
    if std::path::Path::new(file).extension().is_none_or(|ending| ending != "gz") {
        return Ok(std::fs::read_to_string(file)?);
    }
    let unpacked = Command::new("gzip").args(["-dc", file]).output()?;
    Ok(String::from_utf8_lossy(&unpacked.stdout).into_owned())
}

fn timed(guard: &Guard, script: &str) -> (Duration, bool) {
    let began = Instant::now();
    let verdict = guard.judge(script, &Prelude::default());
    (began.elapsed(), verdict.refuses())
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
