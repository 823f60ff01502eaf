//! Condensing against real outputs: how much shorter they get, and what would be lost.
//!
//! A directory has one directory a tool, and files `NAME.cmd`, `NAME.out`, `NAME.status`, `NAME.must` and `NAME.tty`.
//! Without one, the outputs in the repository are used.

use std::fmt::Write as _;
use std::path::PathBuf;

use bashful_condense::Condenser;

use crate::{Done, cargo, print};
use cases::savings::{FAMILIES, Runs, SHORT, Savings, mean};

// The tests of the crate read the same files.
#[path = "../../crates/condense/tests/cases/mod.rs"]
mod cases;

/// Condenses all cases, and prints tables.
pub(crate) fn main(options: &[&str]) -> Done {
    let (flags, directories): (Vec<&str>, Vec<&str>) = options.iter().partition(|option| **option == "--verbose");
    let mut directories: Vec<PathBuf> = directories.iter().map(PathBuf::from).collect();
    if directories.is_empty() {
        directories.push(cargo::root().join("crates/condense/corpus"));
    }
    let condenser = Condenser::default();
    let cases = directories.iter().map(|directory| cases::read(directory)).collect::<Result<Vec<_>, _>>()?.concat();
    let mut report = String::new();
    let (mut lost, mut longer) = (0, 0);
    for case in &cases {
        let shorter = case.condense(&condenser, &case.output);
        let note = shorter.as_ref().map(|(_, dropped)| dropped.note()).unwrap_or_default();
        let mut missing = shorter.map(|(text, _)| case.lost(&case.output, &text)).unwrap_or_default();
        if let Some(output) = &case.terminal {
            let shorter = case.condense(&condenser, output);
            missing.extend(shorter.iter().flat_map(|(text, _)| case.lost(output, text)));
        }
        let saved = case.saved(&condenser);
        lost += missing.len();
        longer += usize::from(saved < 0.0);
        if !flags.is_empty() || !missing.is_empty() {
            writeln!(report, "{:32} {saved:5.1} % of {:7} {note} {missing:?}", case.name, case.output.len())?;
        }
    }
    write_tables(&Savings::of(&condenser, &cases), &mut report)?;
    writeln!(report, "{} outputs; musts lost: {lost}; made longer: {longer}", cases.len())?;
    print::data(&report);
    Ok(())
}

fn write_tables(savings: &Savings, report: &mut String) -> std::fmt::Result {
    writeln!(report, "saved of outputs with a filter and at least {SHORT} bytes, mean (runs)")?;
    for family in FAMILIES {
        for (tool, Runs { passing, failing }) in savings.tools(family) {
            writeln!(report, "  {tool:14} {:>12} {:>12}", shown(passing), shown(failing))?;
        }
        let (passing, failing) = savings.of_tools(&[family]);
        writeln!(report, "{family:16} {:>12} {:>12}", percent(passing), percent(failing))?;
    }
    let (passing, failing) = savings.of_tools(&FAMILIES[..4]);
    let (passing, failing) = (percent(passing), percent(failing));
    writeln!(report, "mean of the tools of the first four families: passing {passing}, failing {failing}")
}

fn percent(value: Option<f64>) -> String {
    value.map_or_else(|| "-".to_owned(), |value| format!("{value:.1} %"))
}

fn shown(values: &[f64]) -> String {
    mean(values).map_or_else(|| "-".to_owned(), |mean| format!("{mean:.0} % ({})", values.len()))
}
