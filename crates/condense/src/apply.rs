//! Filters at work: every line gets its fate, and the lines that stay are written.

use std::borrow::Cow;
use std::ops::Range;

use crate::alarm;
use crate::dropped::Dropped;
use crate::filter::Filter;
use crate::listed::ListedDirectories;
use crate::moments;
use crate::paths::{self, ListedPath};
use crate::repeat::{self, RepeatedBlock};
use crate::rewrite;
use crate::rule::{Neighbor, Operation, Rule, Stays};

/// The fate of a line.
#[derive(Debug, Clone, Copy)]
enum Fate<'f> {
    /// It stays as it is.
    Stays,
    /// The rule leaves it out.
    LeftOut(&'f Rule),
    /// It stays in the form that the rule gives it.
    Rewritten(&'f Rule),
}

impl Fate<'_> {
    fn is_left_out(self) -> bool {
        matches!(self, Self::LeftOut(_))
    }
}

/// Applies filters to a text, whose shape they know.
///
/// `is_alone` says that one command wrote all of it.
pub(crate) fn apply(filters: &[&Filter], text: &str, is_alone: bool) -> (String, Dropped) {
    let lines: Vec<&str> = text.strip_suffix('\n').unwrap_or(text).split('\n').collect();
    let fates = fates(&Working::new(filters, text, is_alone), &lines);
    let mut writer = Writer { out: String::with_capacity(text.len() / 2), dropped: Dropped::default() };
    writer.write_all(&lines, &fates);
    if text.is_empty() || !text.ends_with('\n') {
        writer.out.pop();
    }
    (writer.out, writer.dropped)
}

/// Filters, and the parts of a text on which they work.
struct Working<'a, 'f> {
    filters: &'a [&'f Filter],
    /// Where each filter ends its work.
    ends: Vec<usize>,
    /// Details of failures: nothing is left out of them.
    details: Vec<Range<usize>>,
    is_alone: bool,
}

impl<'a, 'f> Working<'a, 'f> {
    fn new(filters: &'a [&'f Filter], text: &str, is_alone: bool) -> Self {
        Self {
            filters,
            ends: filters.iter().map(|filter| filter.end_of_work(text)).collect(),
            details: filters.iter().flat_map(|filter| filter.details(text)).collect(),
            is_alone,
        }
    }

    /// The fate of the line that begins at this place of the text.
    fn fate(&self, start: usize, line: &str) -> Fate<'f> {
        let at_work = self.filters.iter().zip(&self.ends).filter(|(_, end)| start < **end);
        let Some(rule) = at_work.into_iter().find_map(|(filter, _)| filter.rule(line)) else { return Fate::Stays };
        let is_in_details = || self.details.iter().any(|part| part.contains(&start));
        if (rule.alone && !self.is_alone) || (rule.operation.leaves_out() && is_in_details()) {
            return Fate::Stays;
        }
        fate(rule, line)
    }
}

fn fates<'f>(working: &Working<'_, 'f>, lines: &[&str]) -> Vec<Fate<'f>> {
    let mut start = 0;
    let mut fates: Vec<Fate<'f>> = Vec::with_capacity(lines.len());
    for line in lines {
        fates.push(working.fate(start, line));
        start += line.len() + 1;
    }
    let named = fates.clone();
    let is_named_by =
        |at: usize, rule: &Rule| matches!(named.get(at), Some(Fate::LeftOut(own)) if std::ptr::eq(*own, rule));
    keep_ends(working.filters, &mut fates);
    let mut directories: Option<ListedDirectories<'_>> = None;
    // The fate of a line that goes with its neighbors is known when theirs is: from the end, if they come behind it.
    for at in (0..fates.len()).rev() {
        let Some(Fate::LeftOut(rule)) = fates.get(at).copied() else { continue };
        let goes = match rule.with {
            _ if rule.block.as_ref().is_some_and(|words| lines.get(at).is_some_and(|line| words.is_open(line))) => {
                fates.get(at + 1).is_some_and(|next| next.is_left_out())
            }
            None | Some(Neighbor::Previous) => true,
            // The last of several announcements is the one that the text behind them belongs to.
            Some(Neighbor::Next) => {
                fates.get(at + 1).is_some_and(|next| next.is_left_out()) || is_named_by(at + 1, rule)
            }
            Some(Neighbor::ListedAbove) => {
                directories.get_or_insert_with(|| ListedDirectories::of(lines)).has_twice(at)
            }
            Some(Neighbor::Deeper) => are_deeper_gone(lines, &fates, at) == Some(true),
            Some(Neighbor::DeeperOrNone) => are_deeper_gone(lines, &fates, at) != Some(false),
        };
        let is_alarming = || lines.get(at).is_some_and(|line| alarm::is_alarming(line));
        if !goes || (rule.with.is_some() && !rule.verdict && is_alarming()) {
            fates[at] = Fate::Stays;
        }
    }
    let mut is_previous_gone = false;
    for fate in &mut fates {
        let needs_previous = matches!(fate, Fate::LeftOut(rule) if rule.with == Some(Neighbor::Previous));
        if needs_previous && !is_previous_gone {
            *fate = Fate::Stays;
        }
        is_previous_gone = fate.is_left_out();
    }
    keep_blocks(lines, &named, &mut fates);
    fates
}

fn let_stay(fates: &mut [Fate<'_>], places: &[usize]) {
    for at in places {
        fates[*at] = Fate::Stays;
    }
}

/// Lets the first and the last line of a block stay, if a line between them stays: they say where that line belongs.
fn keep_blocks(lines: &[&str], named: &[Fate<'_>], fates: &mut [Fate<'_>]) {
    // The blocks around a line, each with its first line.
    let mut open: Vec<usize> = Vec::new();
    for (at, line) in lines.iter().enumerate() {
        let words =
            named.get(at).and_then(|fate| if let Fate::LeftOut(rule) = fate { rule.block.as_ref() } else { None });
        let Some(words) = words else {
            if fates.get(at).is_some_and(|fate| !fate.is_left_out()) {
                let_stay(fates, &open);
            }
            continue;
        };
        if words.is_open(line) {
            open.push(at);
            continue;
        }
        let begin = open.iter().rposition(|begin| lines.get(*begin).is_some_and(|open| words.closes(line, open)));
        match begin.and_then(|depth| open.get(depth..).map(|inner| (depth, inner))) {
            // Blocks without an end stay, and so does everything around them.
            Some((depth, inner)) if inner.len() == 1 => {
                fates[at] = inner.first().and_then(|begin| fates.get(*begin)).copied().unwrap_or(Fate::Stays);
                open.truncate(depth);
            }
            found => {
                let depth = found.map(|(depth, _)| depth);
                let_stay(fates, &open);
                fates[at] = Fate::Stays;
                open.truncate(depth.unwrap_or(open.len()));
            }
        }
    }
    let_stay(fates, &open);
}

/// True if all lines behind this one that are indented deeper are left out; none if there are no such lines.
fn are_deeper_gone(lines: &[&str], fates: &[Fate<'_>], at: usize) -> Option<bool> {
    let depth = |line: &str| line.len() - line.trim_start().len();
    let own = depth(lines.get(at)?);
    let is_deeper = |line: &str| !line.trim().is_empty() && depth(line) > own;
    let below = lines.iter().zip(fates).skip(at + 1);
    let mut deeper = below.take_while(|(line, _)| is_deeper(line)).map(|(_, fate)| fate.is_left_out()).peekable();
    deeper.peek()?;
    Some(deeper.all(|is_gone| is_gone))
}

fn fate<'f>(rule: &'f Rule, line: &str) -> Fate<'f> {
    match rule.operation {
        // Most lines that need a neighbor stay for the lack of it, so their words are looked at when that is known.
        Operation::Drop if rule.verdict || rule.with.is_some() || !alarm::is_alarming(line) => Fate::LeftOut(rule),
        Operation::Drop => Fate::Stays,
        Operation::Repeat if repeat::is_mark(line) => Fate::Stays,
        _ => Fate::Rewritten(rule),
    }
}

/// Lets the first or the last line of a rule stay, if the rule says so.
fn keep_ends(filters: &[&Filter], fates: &mut [Fate<'_>]) {
    for rule in filters.iter().flat_map(|filter| filter.rules()) {
        let is_own = |fate: &Fate<'_>| matches!(fate, Fate::LeftOut(own) if std::ptr::eq(*own, rule));
        let at = match rule.stays {
            None => None,
            Some(Stays::LastOfRun) => {
                let last = |at: &usize| is_own(&fates[*at]) && !fates.get(at + 1).is_some_and(is_own);
                let last: Vec<usize> = (0..fates.len()).filter(last).collect();
                let_stay(fates, &last);
                None
            }
            Some(Stays::First) => fates.iter().position(is_own),
            Some(Stays::Last) => fates.iter().rposition(is_own),
        };
        if let Some(fate) = at.and_then(|at| fates.get_mut(at)) {
            *fate = Fate::Stays;
        }
    }
}

struct Writer {
    out: String,
    dropped: Dropped,
}

impl Writer {
    fn write_all(&mut self, lines: &[&str], fates: &[Fate<'_>]) {
        let mut at = 0;
        // The rule that has left out lines since the last line that was written.
        let mut gap: Option<&Rule> = None;
        let mut was_blank = true;
        while let (Some(line), Some(fate)) = (lines.get(at), fates.get(at)) {
            match fate {
                Fate::LeftOut(rule) => {
                    self.dropped.count_left_out(&rule.label, 1);
                    gap = Some(rule);
                    at += 1;
                    continue;
                }
                // Two blank lines where something stood between them are one.
                Fate::Stays if line.trim().is_empty() && was_blank && gap.is_some() => {
                    self.dropped.count_left_out(gap.map_or("", |rule| &rule.label), 1);
                    at += 1;
                    continue;
                }
                Fate::Stays => {
                    self.out.push_str(line);
                    self.out.push('\n');
                    at += 1;
                }
                Fate::Rewritten(rule) => at = self.rewrite_run(rule, lines, fates, at),
            }
            was_blank = matches!(fate, Fate::Stays) && line.trim().is_empty();
            gap = None;
        }
    }

    /// Rewrites the lines of a rule from here on, and returns the place behind them. Lines among them that are left out do
    /// not end the run: without them, the others follow each other.
    fn rewrite_run(&mut self, rule: &Rule, lines: &[&str], fates: &[Fate<'_>], start: usize) -> usize {
        let mut own = Vec::new();
        let mut end = start;
        for (at, (line, fate)) in lines.iter().zip(fates).enumerate().skip(start) {
            match fate {
                Fate::Rewritten(other) if std::ptr::eq(*other, rule) => {
                    own.push(*line);
                    end = at + 1;
                }
                Fate::LeftOut(_) => {}
                _ => break,
            }
        }
        for fate in fates.get(start..end).unwrap_or(&[]) {
            if let Fate::LeftOut(rule) = fate {
                self.dropped.count_left_out(&rule.label, 1);
            }
        }
        self.rewrite(rule, &own);
        end
    }

    fn rewrite(&mut self, rule: &Rule, lines: &[&str]) {
        match rule.operation {
            Operation::Group => self.group(rule, lines),
            Operation::Repeat => self.repeat(rule, lines),
            Operation::Squeeze => self.reform(rule, lines, rewrite::squeeze),
            Operation::Columns => self.columns(rule, lines),
            Operation::Outdent => self.reform(rule, lines, rewrite::outdent),
            Operation::Drop => {}
        }
    }

    fn reform(&mut self, rule: &Rule, lines: &[&str], reform: impl Fn(&str, &mut String)) {
        let mut changed = 0;
        for line in lines {
            let before = self.out.len();
            reform(line, &mut self.out);
            changed += usize::from(self.out.len() - before != line.len());
            self.out.push('\n');
        }
        self.dropped.count_rewritten(rule.operation.form(), changed);
    }

    fn group(&mut self, rule: &Rule, lines: &[&str]) {
        let paths: Vec<Option<ListedPath<'_>>> = lines.iter().map(|line| listed(rule, line)).collect();
        let mut at = 0;
        while let Some(line) = lines.get(at) {
            let taken = paths::write_group(paths.get(at..).unwrap_or(&[]), &mut self.out);
            if taken == 0 {
                self.out.push_str(line);
            }
            self.out.push('\n');
            if taken > 1 {
                self.dropped.count_rewritten(rule.operation.form(), taken);
            }
            at += taken.max(1);
        }
    }

    /// Alone, a line loses only padding between its columns.
    fn columns(&mut self, rule: &Rule, lines: &[&str]) {
        let mut rows = lines.iter().map(|line| Row::of(rule, line)).peekable();
        while let Some(row) = rows.next() {
            let goes_with = |next: &Row<'_>| !row.shared.is_empty() && next.shared == row.shared;
            rewrite::squeeze_columns(row.shared, &mut self.out);
            if !row.shared.is_empty() {
                self.out.push_str(if rows.peek().is_some_and(goes_with) { "\n " } else { " " });
            }
            row.write_rest(&mut self.out);
            while let Some(next) = rows.next_if(goes_with) {
                self.out.push(' ');
                next.write_rest(&mut self.out);
            }
        }
        self.dropped.count_rewritten(rule.operation.form(), lines.len());
    }

    fn repeat(&mut self, rule: &Rule, lines: &[&str]) {
        let keys: Vec<Cow<'_, str>> = lines.iter().map(|line| moments::without_moments(line)).collect();
        let mut at = 0;
        while let Some(line) = lines.get(at) {
            let (rest, rest_keys) = (lines.get(at..).unwrap_or(&[]), keys.get(at..).unwrap_or(&[]));
            // A warning counts each time that it comes.
            let is_quiet = |block: &RepeatedBlock| !rest.iter().take(block.lines).any(|line| alarm::is_alarming(line));
            if let Some(block) = repeat::at_start(rest, rest_keys).filter(is_quiet) {
                for line in rest.iter().take(block.lines) {
                    self.out.push_str(line);
                    self.out.push('\n');
                }
                self.out.push_str(&block.mark());
                self.dropped.count_left_out(&rule.label, block.saved());
                at += block.lines * block.times;
            } else {
                self.out.push_str(line);
                at += 1;
            }
            self.out.push('\n');
        }
    }
}

/// A line of a table.
struct Row<'t> {
    /// The columns at the beginning that other lines may have as well.
    shared: &'t str,
    columns: &'t str,
    rest: &'t str,
}

impl<'t> Row<'t> {
    fn of(rule: &Rule, line: &'t str) -> Self {
        let (columns, rest) = line.split_at(rewrite::end_of_columns(line, rule.columns));
        let (shared, columns) = columns.split_at(rewrite::end_of_columns(columns, rule.shared));
        Self { shared: shared.trim_end_matches(' '), columns, rest }
    }

    fn write_rest(&self, out: &mut String) {
        rewrite::squeeze_columns(self.columns, out);
        out.push_str(self.rest);
        out.push('\n');
    }
}

/// The path in a line, as the rule finds it.
fn listed<'t>(rule: &Rule, line: &'t str) -> Option<ListedPath<'t>> {
    let (before, path) = rule.path(line);
    ListedPath::of(before, path)
}
