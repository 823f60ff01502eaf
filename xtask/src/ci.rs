//! All that has to hold before a change goes in. Every step runs, whatever became of the ones before it: one failure hides no other.

use std::io::{BufRead, BufReader};
use std::process::Stdio;
use std::time::{Duration, Instant};

use bashful_sys::signal::{Signal, stop_ignoring};

use crate::{Done, audit, cargo, licenses, notices, print, rust_version, workflows};

/// One call of cargo that has to succeed.
struct Step {
    name: &'static str,
    arguments: &'static [&'static str],
    variable: Option<(&'static str, &'static str)>,
}

const STEPS: [Step; 5] = [
    Step { name: "format", arguments: &["fmt", "--all", "--check"], variable: None },
    Step {
        name: "lints",
        arguments: &["clippy", "--workspace", "--all-targets", "--", "-D", "warnings"],
        variable: None,
    },
    Step { name: "tests", arguments: &["test", "--workspace", "--no-fail-fast"], variable: None },
    Step {
        name: "documentation",
        arguments: &["doc", "--workspace", "--no-deps"],
        variable: Some(("RUSTDOCFLAGS", "-D warnings")),
    },
    Step {
        name: "documentation of private items",
        arguments: &["doc", "--workspace", "--no-deps", "--document-private-items"],
        variable: Some(("RUSTDOCFLAGS", "-D warnings")),
    },
];

/// The results of all test binaries.
#[derive(Debug, Default)]
struct Tally {
    passed: usize,
    failed: usize,
}

/// Goes through all steps, and fails at the end if one of them has.
pub(crate) fn main() -> Done {
    // A shell that starts this in the background ignores them, and tests send them.
    for signal in [Signal::INT, Signal::QUIT, Signal::HUP] {
        stop_ignoring(signal);
    }
    let began = Instant::now();
    let mut tally = Tally::default();
    let mut failures = Vec::new();
    let mut times = Vec::new();
    let mut run = |name: &'static str, step: &mut dyn FnMut() -> Done| {
        let began = Instant::now();
        if let Err(error) = step() {
            print::talk(&format!("xtask ci: {name} failed: {error}"));
            failures.push(name);
        }
        times.push(format!("{name} {}", in_words(began.elapsed())));
    };
    run("workflows", &mut workflows::main);
    run("Rust version", &mut rust_version::main);
    for step in &STEPS {
        run(step.name, &mut || step.run(&mut tally));
    }
    run("licenses", &mut licenses::main);
    run("notices", &mut notices::check);
    run("audit", &mut audit::main);
    print::talk(&format!("xtask ci: {}", times.join(", ")));
    let tests = format!("{} passed, {} failed, in {}", tally.passed, tally.failed, in_words(began.elapsed()));
    if failures.is_empty() {
        print::talk(&format!("xtask ci: all is well: {tests}"));
        return Ok(());
    }
    Err(format!("xtask ci: failed: {}: {tests}", failures.join(", ")).into())
}

impl Step {
    fn run(&self, tally: &mut Tally) -> Done {
        print::talk(&format!("xtask ci: {}: {}", self.name, self.line()));
        let mut command = cargo::command(self.arguments);
        // Files for the next change of the same line would be most of what a run leaves on the disk.
        command.envs(self.variable).env("CARGO_INCREMENTAL", "0").stdout(Stdio::piped());
        let mut child = command.spawn()?;
        for line in BufReader::new(child.stdout.take().ok_or("no pipe")?).split(b'\n') {
            let line = String::from_utf8_lossy(&line?).into_owned();
            tally.add(&line);
            print::say(&line);
        }
        let status = child.wait()?;
        if !status.success() {
            return Err(format!("{status}: {}", self.line()).into());
        }
        Ok(())
    }

    /// The command line, as a person would type it.
    fn line(&self) -> String {
        let variable = self.variable.map_or_else(String::new, |(name, value)| format!("{name}=\"{value}\" "));
        format!("{variable}cargo {}", self.arguments.join(" "))
    }
}

impl Tally {
    /// Adds the closing line of a test binary: `test result: ok. 5 passed; 0 failed; …`.
    fn add(&mut self, line: &str) {
        let Some(result) = line.strip_prefix("test result: ") else { return };
        let mut numbers = result.split([' ', ';']).filter_map(|word| word.parse::<usize>().ok());
        self.passed += numbers.next().unwrap_or(0);
        self.failed += numbers.next().unwrap_or(0);
    }
}

fn in_words(time: Duration) -> String {
    let seconds = time.as_secs();
    if seconds < 60 { format!("{seconds} s") } else { format!("{} min {:02} s", seconds / 60, seconds % 60) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_results_of_all_binaries_are_added_up() {
        let mut tally = Tally::default();
        tally.add("test result: ok. 41 passed; 0 failed; 2 ignored; 0 measured; 0 filtered out; finished in 0.50s");
        tally.add("test result: FAILED. 1 passed; 3 failed; 0 ignored; 0 measured; 7 filtered out; finished in 9.00s");
        tally.add("test a_test ... ok");
        assert_eq!((tally.passed, tally.failed), (42, 3));
    }
}
