//! Any bytes have a verdict, the same each time, and its spans lie in the script.
#![no_main]

use bashful_guard::{Guard, Prelude};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let script = String::from_utf8_lossy(bytes);
    let guard = Guard::default();
    let verdict = guard.judge(&script, &Prelude::default());
    assert_eq!(verdict, guard.judge(&script, &Prelude::default()));
    for finding in &verdict.findings {
        assert!(script.get(finding.span.clone()).is_some());
    }
});
