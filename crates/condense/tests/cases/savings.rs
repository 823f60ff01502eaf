//! The savings on real outputs, by the family of the filters and by tool.

use std::collections::BTreeMap;

use bashful_condense::{Condenser, FilterInfo};
use bashful_guard::Sequence;

use super::Case;

/// Outputs below this size are too short to say anything about a filter.
pub(crate) const SHORT: usize = 1000;

/// The families in the order in which a command that belongs to two of them is counted.
pub(crate) const FAMILIES: [&str; 8] =
    ["tests", "builds", "installs", "progress", "listings", "logs", "git", "diagnostics"];

/// The savings of some runs, in percent of the output of each.
#[derive(Debug, Default)]
pub(crate) struct Runs {
    pub(crate) passing: Vec<f64>,
    pub(crate) failing: Vec<f64>,
}

/// The savings of all runs that a filter knows, by family and tool.
#[derive(Debug, Default)]
pub(crate) struct Savings(BTreeMap<(usize, String), Runs>);

impl Savings {
    pub(crate) fn of(condenser: &Condenser, cases: &[Case]) -> Self {
        let mut savings = Self::default();
        // Texts in other languages are to stay as they are.
        let counted = |case: &&Case| case.output.len() >= SHORT && !case.family().starts_with("locale");
        for case in cases.iter().filter(counted) {
            let meant = Sequence::of(&case.command).map(|commands| condenser.meant(&commands)).unwrap_or_default();
            let Some(family) = family(&meant) else { continue };
            let runs = savings.0.entry((family, case.family().to_owned())).or_default();
            let runs = if case.status == 0 { &mut runs.passing } else { &mut runs.failing };
            runs.push(case.saved(condenser));
        }
        savings
    }

    /// The tools of a family.
    pub(crate) fn tools(&self, family: &str) -> impl Iterator<Item = (&str, &Runs)> {
        let is_own = move |at: usize| FAMILIES.get(at).is_some_and(|own| *own == family);
        self.0.iter().filter(move |((at, _), _)| is_own(*at)).map(|((_, tool), runs)| (tool.as_str(), runs))
    }

    /// The mean over the tools of some families: of passing runs, and of failing ones. None if there are no such runs.
    pub(crate) fn of_tools(&self, families: &[&str]) -> (Option<f64>, Option<f64>) {
        let runs = || families.iter().flat_map(|family| self.tools(family)).map(|(_, runs)| runs);
        let passing: Vec<f64> = runs().filter_map(|runs| mean(&runs.passing)).collect();
        let failing: Vec<f64> = runs().filter_map(|runs| mean(&runs.failing)).collect();
        (mean(&passing), mean(&failing))
    }
}

fn family(meant: &[FilterInfo]) -> Option<usize> {
    meant.iter().filter_map(|filter| FAMILIES.iter().position(|family| *family == filter.family)).min()
}

#[expect(clippy::cast_precision_loss, reason = "there are a few hundred cases")]
pub(crate) fn mean(values: &[f64]) -> Option<f64> {
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}
