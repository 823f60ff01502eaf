//! The findings of a walk, and its way to the current command.

use std::ops::Range;
use std::rc::Rc;

use crate::finding::{Finding, LONGEST_FOUND, Level};
use crate::resolved::ResolvedCommand;
use bashful_bash::ast::SourceExtent;

/// More findings say nothing new.
const MOST_FINDINGS: usize = 64;

/// An assignment with more bytes is not shown in a chain.
const LONGEST_ORIGIN: usize = 120;

/// A chain shows at most so many assignments.
const MOST_ORIGINS: usize = 4;

/// The way to the current command, and the findings on it.
#[derive(Debug)]
pub(crate) struct Trail<'g> {
    /// The definitions and the script, one behind the other.
    text: &'g str,
    /// The script's first byte in the text.
    script_start: usize,
    /// The place of the current command in the text.
    pub(crate) extent: SourceExtent,
    /// The assignments that the words of the current command came from.
    pub(super) assignments: Vec<Rc<str>>,
    /// The words of the commands that the current one was unwrapped from, outermost first.
    pub(super) unwrapped: Vec<String>,
    pub(crate) findings: Vec<Finding>,
    /// Reports of level `ask`, repeated ones too.
    asked: usize,
    /// Commands for a caller that listens.
    pub(crate) watch: Option<CommandWatch>,
    /// The script does not parse to its end.
    pub(crate) is_incomplete: bool,
}

/// The commands that a script would run by itself.
#[derive(Debug, Default)]
pub(crate) struct CommandWatch {
    pub(crate) commands: Vec<ResolvedCommand>,
    /// The current command without its words, which are resolved last.
    pub(super) current: ResolvedCommand,
}

impl<'g> Trail<'g> {
    pub(super) fn new(text: &'g str, script_start: usize) -> Self {
        Self {
            text,
            script_start,
            extent: SourceExtent::default(),
            assignments: Vec::new(),
            unwrapped: Vec::new(),
            findings: Vec::new(),
            asked: 0,
            watch: None,
            is_incomplete: false,
        }
    }

    /// The definitions' part of the text, and the script's.
    pub(super) fn parts(&self) -> (&'g str, [Range<usize>; 2]) {
        (self.text, [0..self.script_start, self.script_start..self.text.len()])
    }

    /// An assignment as the script spells it; none if it is too long for a chain.
    pub(super) fn origin(&self, extent: SourceExtent) -> Option<Rc<str>> {
        let source = self.text.get(extent.start..extent.end).unwrap_or("");
        (source.len() <= LONGEST_ORIGIN).then(|| source.into())
    }

    /// The text of the script at a place.
    pub(super) fn source(&self, extent: SourceExtent) -> Option<&'g str> {
        self.text.get(extent.start..extent.end)
    }

    /// The script itself.
    pub(crate) fn script(&self) -> &'g str {
        self.text.get(self.script_start..).unwrap_or("")
    }

    /// True if a text stands in the script, word for word.
    pub(super) fn is_spelled_out(&self, text: &str) -> bool {
        self.text.contains(text)
    }

    /// Notes that words of the current command came from an assignment.
    pub(super) fn note_origin(&mut self, origin: &Rc<str>) {
        if self.assignments.len() < MOST_ORIGINS && !self.assignments.contains(origin) {
            self.assignments.push(Rc::clone(origin));
        }
    }

    /// Adds a finding about the current command, or the command to the finding that the rule has there already.
    pub(crate) fn report(&mut self, rule: &str, level: Level, message: &str, alternative: &str) {
        self.asked += usize::from(level == Level::Ask);
        let span = self.span();
        if let Some(at) = self.findings.iter().position(|finding| finding.rule == rule && finding.span == span) {
            return self.report_again(at);
        }
        if self.findings.len() >= MOST_FINDINGS {
            return;
        }
        self.findings.push(Finding {
            rule: rule.to_owned(),
            level,
            span,
            chain: self.chain(),
            also: Vec::new(),
            message: message.to_owned(),
            alternative: alternative.to_owned(),
        });
    }

    /// Adds the current command to a finding of the same place.
    fn report_again(&mut self, at: usize) {
        let Some(command) = self.unwrapped.last().cloned() else { return };
        let Some(finding) = self.findings.get_mut(at) else { return };
        let length: usize = finding.also.iter().map(String::len).sum();
        let mut known = finding.chain.iter().chain(&finding.also);
        if length <= LONGEST_FOUND && !known.any(|known| *known == command) {
            finding.also.push(command);
        }
    }

    /// Reports of level `ask` so far.
    pub(super) fn asked(&self) -> usize {
        self.asked
    }

    /// The current command's place in the script: all of it for a command that comes from definitions.
    fn span(&self) -> Range<usize> {
        let SourceExtent { start, end } = self.extent;
        match (start.checked_sub(self.script_start), end.checked_sub(self.script_start)) {
            (Some(start), Some(end)) if start < end => start..end,
            _ => 0..self.text.len() - self.script_start,
        }
    }

    /// From the assignments over the command as written to the words that would run.
    fn chain(&self) -> Vec<String> {
        let written = self.text.get(self.extent.start..self.extent.end).unwrap_or("").trim();
        let steps = self.assignments.iter().map(ToString::to_string).chain([written.to_owned()]);
        let mut chain: Vec<String> = Vec::new();
        for step in steps.chain(self.unwrapped.iter().cloned()) {
            if !step.is_empty() && chain.last() != Some(&step) {
                chain.push(step);
            }
        }
        chain
    }
}
