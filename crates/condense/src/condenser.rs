//! The one verb of the crate: from a command's words, output and status to a shorter text.

use std::borrow::Cow;

use bashful_guard::Sequence;

use crate::alarm;
use crate::apply;
use crate::built_in;
use crate::command::{self, Readings};
use crate::dropped::Dropped;
use crate::filter::{Example, Filter, FilterError};
use crate::redraw;
use crate::select::Selection;

/// A gain of fewer bytes is not worth a note and a second place to look.
const LEAST_GAIN: usize = 160;

/// A gain below this part of the output, in percent, is not worth it either.
const LEAST_PERCENT: usize = 10;

/// The answer about an output.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Condensed {
    /// The output is best shown as it is.
    Unchanged,
    /// There is a shorter text.
    Shorter {
        /// The lines that stay, in their order.
        text: String,
        /// The account of the others.
        dropped: Dropped,
    },
}

/// A filter, for lists of them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FilterInfo {
    /// Its name: `cargo-test`.
    pub name: String,
    /// Its family: `tests`.
    pub family: String,
}

impl FilterInfo {
    fn of(filter: &Filter) -> Self {
        Self { name: filter.name.clone(), family: filter.family.clone() }
    }
}

/// The filters for some commands.
#[derive(Debug)]
struct Meant<'f> {
    filters: Vec<&'f Filter>,
    /// One command wrote all of the output.
    is_alone: bool,
}

/// Condenses outputs by the filters that come with the crate, and by those of the user.
#[derive(Debug, Default)]
pub struct Condenser {
    /// The filters that are used.
    pub selection: Selection,
    own: Vec<Filter>,
}

impl Condenser {
    /// A condenser that uses only some of its filters.
    pub fn new(selection: Selection) -> Self {
        Self { selection, own: Vec::new() }
    }

    /// Adds filters of the user, from TOML. One with the name of another filter takes its place.
    ///
    /// The filters carry examples, which are tried out here: a filter that does not do what they say is an error.
    ///
    /// ```
    /// use bashful_condense::Condenser;
    ///
    /// let text = r#"
    ///     family = "own"
    ///     [[filter]]
    ///     name = "deploy"
    ///     commands = ["deploy push"]
    ///     shape = ['^deployed \d+ files$']
    ///     [[filter.rule]]
    ///     do = "drop"
    ///     label = "uploads"
    ///     lines = ['^uploaded \S+$']
    ///     [[filter.example]]
    ///     command = "deploy push"
    ///     input = "uploaded a\nuploaded b\ndeployed 2 files\n"
    ///     output = "deployed 2 files\n"
    /// "#;
    /// Condenser::default().add_filters(text)?;
    /// # Ok::<(), bashful_condense::FilterError>(())
    /// ```
    pub fn add_filters(&mut self, text: &str) -> Result<(), FilterError> {
        let filters = Filter::read(text)?;
        for filter in &filters {
            filter.check()?;
            check_examples(filter)?;
        }
        self.own.retain(|old| filters.iter().all(|new| new.name != old.name));
        self.own.extend(filters);
        Ok(())
    }

    /// All filters, used or not: those of the user first, and those that come with the crate unless one took their place.
    pub fn filters(&self) -> Vec<FilterInfo> {
        let mut filters: Vec<FilterInfo> = self.own.iter().map(FilterInfo::of).collect();
        let built_in = Self::built_in().into_iter().filter(|filter| self.own.iter().all(|own| own.name != filter.name));
        filters.extend(built_in);
        filters
    }

    /// The filters that come with the crate.
    pub fn built_in() -> Vec<FilterInfo> {
        built_in::all().map(FilterInfo::of).collect()
    }

    /// Condenses the output of commands that ended with this status; none if they were stopped.
    ///
    /// `output` is standard output and standard error in the order in which they were written.
    pub fn condense(&self, commands: &Sequence, output: &str, status: Option<i32>) -> Condensed {
        let Some(status) = status else { return Condensed::Unchanged };
        if is_data(output) {
            return Condensed::Unchanged;
        }
        let Some(Meant { filters, is_alone }) = self.meant_by(commands) else { return Condensed::Unchanged };
        match condense(&filters, output, status, is_alone) {
            Condensed::Shorter { text, dropped } if is_worth_it(output, &text, &dropped) => {
                Condensed::Shorter { text, dropped }
            }
            _ => Condensed::Unchanged,
        }
    }

    /// The filters that know the commands, whatever their output.
    pub fn meant(&self, commands: &Sequence) -> Vec<FilterInfo> {
        self.meant_by(commands).into_iter().flat_map(|meant| meant.filters).map(FilterInfo::of).collect()
    }

    /// The filters for the commands; none if the output may hold lines of a command that no filter knows.
    fn meant_by(&self, commands: &Sequence) -> Option<Meant<'_>> {
        if commands.assigned.iter().any(|name| command::WITH_OPTIONS.contains(&name.as_str())) {
            return None;
        }
        let mut filters: Vec<&Filter> = Vec::new();
        let mut echoes = Vec::new();
        let mut known = 0;
        for command in commands.commands.iter().filter(|command| !command::is_quiet(&command.words)) {
            if command.is_vague {
                return None;
            }
            if let Some(text) = command::echoed(&command.words) {
                echoes.push(text);
                continue;
            }
            let mut own = self.filters_for(&Readings::of(&command.words));
            if own.is_empty() {
                return None;
            }
            known += 1;
            own.retain(|filter| filters.iter().all(|known| !std::ptr::eq(*known, *filter)));
            filters.extend(own);
        }
        // Some rules name lines by so little that another command may have written them.
        let is_alone = known + echoes.len() == 1;
        if !is_alone && filters.iter().any(|filter| filter.needs_own_lines()) {
            return None;
        }
        let is_named = |line: &str| filters.iter().any(|filter| filter.rule(line).is_some());
        let is_mistakable = echoes.iter().flat_map(|text| text.split('\n')).any(is_named);
        (known > 0 && !is_mistakable).then_some(Meant { filters, is_alone })
    }

    fn filters_for(&self, readings: &Readings<'_>) -> Vec<&Filter> {
        let is_replaced = |filter: &Filter| self.own.iter().any(|own| own.name == filter.name);
        let mut filters: Vec<&Filter> = self.own.iter().collect();
        for program in readings.programs() {
            for filter in built_in::that_name(program).filter(|filter| !is_replaced(filter)) {
                if filters.iter().all(|known| !std::ptr::eq(*known, filter)) {
                    filters.push(filter);
                }
            }
        }
        filters.retain(|filter| self.selection.allows(&filter.name, &filter.family) && readings.are_for(filter));
        filters
    }
}

/// Condenses by these filters, however little that gains.
pub(crate) fn condense(filters: &[&Filter], output: &str, status: i32, is_alone: bool) -> Condensed {
    let settled = redraw::settled(output);
    let in_shape: Vec<&Filter> = filters.iter().copied().filter(|filter| filter.has_shape(&settled)).collect();
    if in_shape.is_empty() {
        return Condensed::Unchanged;
    }
    let (text, mut dropped) = apply::apply(&in_shape, &settled, is_alone);
    if matches!(settled, Cow::Owned(_)) {
        dropped.count_rewritten("redraws and colors", redraw::unsettled_lines(output));
    }
    // Without an account, only the ends of lines would be shorter.
    if dropped.is_empty() || text.len() >= output.len() || (status != 0 && !alarm::names_failure(&text)) {
        return Condensed::Unchanged;
    }
    Condensed::Shorter { text, dropped }
}

/// True if the text is for programs: JSON or markup.
fn is_data(output: &str) -> bool {
    let text = output.trim();
    // A bracket also begins the lines of some builds, `[ 12%]`, and `<s>` those of others.
    text.starts_with('{')
        || (text.starts_with('<') && text.ends_with('>'))
        || text.strip_prefix('[').is_some_and(|rest| rest.trim_start().starts_with(['{', '[', '"', ']']))
}

fn is_worth_it(output: &str, text: &str, dropped: &Dropped) -> bool {
    let gain = output.len().saturating_sub(text.len() + dropped.note().len());
    gain >= LEAST_GAIN && gain * 100 >= output.len() * LEAST_PERCENT
}

/// Tries out the examples of a filter.
pub(crate) fn check_examples(filter: &Filter) -> Result<(), FilterError> {
    for (at, example) in filter.examples.iter().enumerate() {
        let Example { line, command, status, input, output } = example;
        let words = Sequence::of(command).and_then(|sequence| sequence.commands.into_iter().last());
        let is_meant = words.is_some_and(|command| !command.is_vague && Readings::of(&command.words).are_for(filter));
        let got = match condense(&[filter], input, *status, true) {
            Condensed::Shorter { text, .. } if is_meant => text,
            _ => input.clone(),
        };
        let expected = output.as_ref().unwrap_or(input);
        if got != *expected {
            return Err(FilterError::Example {
                line: *line,
                filter: filter.name.clone(),
                example: at + 1,
                got,
                expected: expected.clone(),
            });
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_filter_does_what_its_examples_say() {
        let errors: Vec<String> = built_in::all()
            .filter_map(|filter| filter.check().and_then(|()| check_examples(filter)).err())
            .map(|error| error.to_string())
            .collect();
        assert!(errors.is_empty(), "{}", errors.join("\n"));
    }
}
