//! Condensing against real outputs: how much shorter they get, and what would be lost.
//!
//! A directory has one directory a family, and files `NAME.cmd`, `NAME.out`, `NAME.status`, `NAME.must` and `NAME.tty`.
//! Without one, the outputs in the repository are used.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::PathBuf;

use bashful_condense::{Condenser, FilterInfo};
use bashful_guard::Sequence;

use crate::{Done, cargo, print};
use cases::Case;

// The tests of the crate read the same files.
#[path = "../../crates/condense/tests/cases/mod.rs"]
mod cases;

/// Outputs below this size are too short to be condensed, and say nothing about a filter.
const SHORT: usize = 1000;

/// The families in the order in which a command that belongs to two of them is counted.
const FAMILIES: [&str; 8] = ["tests", "builds", "installs", "progress", "listings", "logs", "git", "diagnostics"];

/// The savings of some runs, in percent of the output of each.
#[derive(Default)]
struct Savings {
    passing: Vec<f64>,
    failing: Vec<f64>,
}

impl Savings {
    fn add(&mut self, case: &Case, saved: f64) {
        if case.status == 0 { &mut self.passing } else { &mut self.failing }.push(saved);
    }
}

/// Condenses all cases, and prints tables.
pub(crate) fn main(options: &[&str]) -> Done {
    let (flags, directories): (Vec<&str>, Vec<&str>) = options.iter().partition(|option| **option == "--verbose");
    let mut directories: Vec<PathBuf> = directories.iter().map(PathBuf::from).collect();
    if directories.is_empty() {
        directories.push(cargo::root().join("crates/condense/corpus"));
    }
    let condenser = Condenser::default();
    let mut savings: BTreeMap<(usize, String), Savings> = BTreeMap::new();
    let mut report = String::new();
    let (mut count, mut lost, mut longer) = (0, 0, 0);
    for case in directories.iter().map(|directory| cases::read(directory)).collect::<Result<Vec<_>, _>>()?.concat() {
        let (text, note) = match case.condense(&condenser, &case.output) {
            Some((text, dropped)) => (text, dropped.note()),
            None => (case.output.clone(), String::new()),
        };
        let mut missing = case.lost(&case.output, &text);
        for output in &case.terminal {
            let condensed = case.condense(&condenser, output);
            missing.extend(condensed.iter().flat_map(|(text, _)| case.lost(output, text)));
        }
        let saved = percent(case.output.len(), text.len() + note.len());
        (count, lost) = (count + 1, lost + missing.len());
        longer += usize::from(text.len() + note.len() > case.output.len());
        let meant = Sequence::of(&case.command).map(|commands| condenser.meant(&commands)).unwrap_or_default();
        let family = family(&meant).filter(|_| case.output.len() >= SHORT);
        if let Some(family) = family {
            savings.entry((family, case.family().to_owned())).or_default().add(&case, saved);
        }
        if !flags.is_empty() || !missing.is_empty() {
            writeln!(report, "{:32} {saved:5.1} % of {:7} {note} {missing:?}", case.name, case.output.len())?;
        }
    }
    write_tables(&savings, &mut report)?;
    writeln!(report, "{count} outputs; musts lost: {lost}; made longer: {longer}")?;
    print::data(&report);
    Ok(())
}

fn write_tables(savings: &BTreeMap<(usize, String), Savings>, report: &mut String) -> std::fmt::Result {
    writeln!(report, "saved of outputs with a filter and at least {SHORT} bytes, mean (runs)")?;
    for (at, family) in FAMILIES.iter().enumerate() {
        let mut means = Savings::default();
        for ((_, tool), Savings { passing, failing }) in savings.iter().filter(|((own, _), _)| *own == at) {
            writeln!(report, "  {tool:14} {:>12} {:>12}", shown(passing), shown(failing))?;
            means.passing.extend(mean(passing));
            means.failing.extend(mean(failing));
        }
        let Savings { passing, failing } = means;
        writeln!(report, "{family:16} {:>12} {:>12}", shown(&passing), shown(&failing))?;
    }
    let first: Vec<&Savings> =
        savings.iter().filter(|((family, _), _)| *family < 4).map(|(_, savings)| savings).collect();
    let passing: Vec<f64> = first.iter().filter_map(|savings| mean(&savings.passing)).collect();
    let failing: Vec<f64> = first.iter().filter_map(|savings| mean(&savings.failing)).collect();
    writeln!(
        report,
        "mean of the tools of the first four families: passing {}, failing {}",
        shown(&passing),
        shown(&failing)
    )
}

/// The place of a command's family on the list.
fn family(meant: &[FilterInfo]) -> Option<usize> {
    meant.iter().filter_map(|filter| FAMILIES.iter().position(|family| *family == filter.family)).min()
}

#[expect(clippy::cast_precision_loss, reason = "sizes of texts are far below the limit")]
fn percent(before: usize, after: usize) -> f64 {
    if before == 0 { 0.0 } else { 100.0 * (1.0 - after as f64 / before as f64) }
}

#[expect(clippy::cast_precision_loss, reason = "there are a few hundred cases")]
fn mean(values: &[f64]) -> Option<f64> {
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}

fn shown(values: &[f64]) -> String {
    mean(values).map_or_else(|| "-".to_owned(), |mean| format!("{mean:.0} % ({})", values.len()))
}
