//! Time that the guard takes to judge a script.

use std::time::{Duration, Instant};

use bashful_guard::{Guard, Prelude};
use serde_json::{Value, json};

/// Scripts of all kinds, one a line: those of the guard's own tests.
const SCRIPTS: [&str; 2] =
    [include_str!("../../../crates/guard/tests/refused.txt"), include_str!("../../../crates/guard/tests/allowed.txt")];

/// A line of a long script.
const LINE: &str = "for f in src/*.rs; do cp \"$f\" \"/tmp/${f##*/}\" && echo \"$f\" | tr a-z A-Z; done\n";

/// Length of the long script, in bytes.
const LONG: usize = 64 << 10;

/// All scripts several times, and one that is long.
pub(crate) fn all(rounds: usize) -> Value {
    let guard = Guard::default();
    let mut times: Vec<Duration> = Vec::new();
    for _ in 0..rounds.min(10) {
        let scripts = SCRIPTS.iter().flat_map(|text| text.lines()).filter(|line| !line.starts_with("# "));
        times.extend(scripts.map(|line| timed(&guard, &line.replace('⏎', "\n"))));
    }
    times.sort();
    let at =
        |per_mille: usize| times.get((times.len().saturating_sub(1)) * per_mille / 1000).copied().unwrap_or_default();
    let long = LINE.repeat(LONG / LINE.len());
    let mut long: Vec<Duration> = (0..rounds.min(20)).map(|_| timed(&guard, &long)).collect();
    long.sort();
    let micros = |time: Duration| time.as_secs_f64() * 1e6;
    json!({
        "scripts": times.len(),
        "p50_us": micros(at(500)),
        "p99_us": micros(at(990)),
        "long_us": long.get(long.len() / 2).copied().map(micros),
    })
}

fn timed(guard: &Guard, script: &str) -> Duration {
    let began = Instant::now();
    std::hint::black_box(guard.judge(script, &Prelude::default()));
    began.elapsed()
}
