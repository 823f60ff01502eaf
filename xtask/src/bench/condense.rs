//! The speed of condensing.

use std::time::{Duration, Instant};

use bashful_condense::Condenser;
use bashful_guard::Sequence;
use serde_json::{Value, json};

/// Commands with outputs of theirs, one for each kind of operation.
const OUTPUTS: [(&str, &str); 7] = [
    ("pytest -v", include_str!("../../../crates/condense/corpus/pytest/pass_verbose.out")),
    ("cargo test", include_str!("../../../crates/condense/corpus/cargo/fail_test.out")),
    ("npx jest --verbose", include_str!("../../../crates/condense/corpus/jest/fail_verbose_ci.out")),
    ("make -k", include_str!("../../../crates/condense/corpus/make/fail_keep_going.out")),
    ("find .", include_str!("../../../crates/condense/corpus/find/some_files.out")),
    ("dpkg -l", include_str!("../../../crates/condense/corpus/dpkg/list_head.out")),
    ("journalctl", include_str!("../../../crates/condense/corpus/git/log_20.out")),
];

/// The size that outputs are repeated to, in bytes.
const SIZE: usize = 100 << 10;

/// Every output several times. The first time, which reads the filter, is a figure of its own.
pub(crate) fn all(rounds: usize) -> Value {
    let condenser = Condenser::default();
    let rows: Vec<Value> = OUTPUTS
        .iter()
        .map(|(command, output)| {
            let commands = Sequence::of(command).expect("a plain command");
            let text = output.repeat(SIZE / output.len() + 1);
            let measure = || {
                let began = Instant::now();
                std::hint::black_box(condenser.condense(&commands, &text, Some(0)));
                began.elapsed()
            };
            let first = measure();
            let mut times: Vec<Duration> = (0..rounds.max(3)).map(|_| measure()).collect();
            times.sort();
            let median = times.get(times.len() / 2).copied().unwrap_or_default().as_secs_f64();
            let megabytes = f64::from(u32::try_from(text.len()).unwrap_or(u32::MAX)) / 1e6;
            json!({
                "command": command,
                "mb_a_second": megabytes / median,
                "ms_for_100_kb": median * 1e3 * 0.1 / megabytes,
                "first_ms": first.as_secs_f64() * 1e3,
            })
        })
        .collect();
    json!({ "rows": rows })
}
