//! The guard is never blind: it refuses a dangerous line wherever bash would run that line.
//!
//! bash only parses here (`bash -n`); nothing of a script is run.

mod sight;

use std::time::Duration;

use bashful_guard::{Guard, Level, Prelude};
use sight::{Mutator, Sight, sight};

/// Mutations that are tried. Each costs some 50 µs, and a process of bash where the guard lets the script pass.
const MUTATIONS: usize = 4_000;

fn scripts(text: &str) -> Vec<(String, String)> {
    let lines = text.lines().filter(|line| !line.starts_with("# ") && !line.is_empty());
    lines.map(|line| (line.to_owned(), line.replace('⏎', "\n"))).collect()
}

#[test]
fn a_line_behind_any_script_is_judged() {
    let mut samples = scripts(include_str!("blind.txt"));
    // A script with a function of that name decides what `rm` does.
    samples.extend(scripts(include_str!("allowed.txt")).into_iter().filter(|(_, script)| !script.contains("rm()")));
    let [report, _] = sight::run(&Guard::default(), &samples, Duration::ZERO, 0).expect("bash runs");
    assert!(report.blind.is_empty(), "{:#?}", report.blind);
    assert!(report.seen > samples.len() / 2);
}

#[test]
fn a_line_behind_any_mutation_is_judged() {
    let samples = scripts(include_str!("blind.txt"));
    let mut mutator = Mutator::new(1);
    for _ in 0..MUTATIONS {
        let script = mutator.mutate(&samples);
        assert_ne!(sight(&Guard::default(), &script).expect("bash runs"), Sight::Blind, "{script:?}");
    }
}

#[test]
fn bash_and_the_guard_both_parse_what_only_looks_wrong() {
    for (name, script) in scripts(include_str!("blind.txt")) {
        let verdict = Guard::default().judge(&script, &Prelude::default());
        assert!(!verdict.incomplete, "{name}");
    }
}

#[test]
fn a_place_that_is_not_understood_is_a_warning_that_says_where() {
    let verdict = Guard::default().judge("make\necho a )\nls", &Prelude::default());
    assert!(verdict.incomplete);
    assert_eq!(verdict.level(), Some(Level::Warn));
    let finding = &verdict.findings[0];
    assert_eq!(finding.rule, "guard/not-understood");
    assert!(finding.message.starts_with("line 2: unexpected `)`; "), "{}", finding.message);
    let open = Guard::default().judge("ls\necho 'open", &Prelude::default());
    assert!(
        open.findings[0].message.contains("line 2: a quote, a bracket or a keyword stays open"),
        "{}",
        open.findings[0].message
    );
}
