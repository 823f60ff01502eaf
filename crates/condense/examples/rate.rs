//! How fast outputs are condensed.

use std::time::{Duration, Instant};

use bashful_condense::Condenser;
use bashful_guard::Sequence;

/// Commands with outputs of theirs, one for each kind of operation.
const OUTPUTS: [(&str, &str); 7] = [
    ("pytest -v", include_str!("../corpus/pytest/pass_verbose.out")),
    ("cargo test", include_str!("../corpus/cargo/fail_test.out")),
    ("npx jest --verbose", include_str!("../corpus/jest/fail_verbose_ci.out")),
    ("make -k", include_str!("../corpus/make/fail_keep_going.out")),
    ("find .", include_str!("../corpus/find/some_files.out")),
    ("dpkg -l", include_str!("../corpus/dpkg/list_head.out")),
    ("journalctl", include_str!("../corpus/git/log_20.out")),
];

/// The size that outputs are repeated to, in bytes.
const SIZE: usize = 100 << 10;

fn main() {
    let condenser = Condenser::default();
    for (command, output) in OUTPUTS {
        let commands = Sequence::of(command).expect("a plain command");
        let text = output.repeat(SIZE / output.len() + 1);
        let timed = || {
            let began = Instant::now();
            std::hint::black_box(condenser.condense(&commands, &text, Some(0)));
            began.elapsed()
        };
        let first = timed();
        let mut times: Vec<Duration> = (0..50).map(|_| timed()).collect();
        times.sort();
        let median = times[5].as_secs_f64();
        let mb = text.len() as f64 / 1e6;
        println!(
            "{command:24} {:.0} MB/s  {:.2} ms/100KB first {:.1} ms",
            mb / median,
            median * 1e3 * 0.1 / mb,
            first.as_secs_f64() * 1e3
        );
    }
}
