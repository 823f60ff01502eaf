//! Places that the parser did not understand, as findings.

use crate::rules::NOT_UNDERSTOOD;
use crate::walk::ScriptWalk;
use bashful_bash::ast::SourceExtent;
use bashful_bash::{ParseFault, Parser};

/// More places say nothing new: one fault makes others.
const MOST_FAULTS: usize = 3;

/// The longest word that a message repeats, in characters.
const LONGEST_WORD: usize = 24;

impl ScriptWalk<'_> {
    /// Notes a fault of the script, or of a text that the script runs.
    pub(super) fn note_fault(&mut self, parser: &Parser<'_>, fault: &ParseFault, is_script: bool) {
        self.trail.is_incomplete |= is_script;
        // A text that the script puts together may differ from the text that bash would see.
        if !is_script && !self.trail.is_spelled_out(parser.source()) {
            return;
        }
        let known = self.trail.findings.iter().filter(|finding| finding.rule == NOT_UNDERSTOOD.name).count();
        if known >= MOST_FAULTS {
            return;
        }
        let before = std::mem::replace(&mut self.trail.extent, fault_extent(parser, fault));
        // The name of the rule says that it was not understood.
        let message = format!("{}; the rest was judged", described(parser, fault, is_script));
        self.report(NOT_UNDERSTOOD.name, NOT_UNDERSTOOD.level, &message, NOT_UNDERSTOOD.alternative);
        self.trail.extent = before;
    }
}

/// The place of a fault, and why the parser went no further.
fn described(parser: &Parser<'_>, fault: &ParseFault, is_script: bool) -> String {
    let text = parser.source();
    let number = |at: usize| 1 + text.get(..at).unwrap_or("").matches('\n').count();
    let place = |at: usize| if is_script { format!("line {}", number(at)) } else { "a text that it runs".to_owned() };
    if fault.is_open {
        return format!("{}: a quote, a bracket or a keyword stays open", place(fault.start));
    }
    let rest = text.get(fault.at..).unwrap_or("");
    let word: String = rest.chars().take(LONGEST_WORD).take_while(|letter| !letter.is_whitespace()).collect();
    if word.is_empty() {
        return format!("{}: the line ends too early", place(fault.at));
    }
    format!("{}: unexpected `{word}`", place(fault.at))
}

/// The part of the script that a fault is about: one line at most.
fn fault_extent(parser: &Parser<'_>, fault: &ParseFault) -> SourceExtent {
    let line = parser.source().get(fault.start..).and_then(|rest| rest.lines().next()).unwrap_or("");
    parser.extent_of(fault.start, fault.start + line.len())
}
