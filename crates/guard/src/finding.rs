//! The guard's answer.

use std::fmt::Write as _;
use std::ops::Range;

use serde::{Deserialize, Serialize};

use crate::rules::NOT_UNDERSTOOD;

/// The consequence of a finding for the script.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Level {
    /// The script runs, and the reply mentions the finding.
    Warn,
    /// Somebody has to agree; where nobody can be asked, the script does not run.
    Ask,
    /// The script does not run.
    Deny,
}

/// The words that messages of denied scripts begin with.
const DENIAL: &str = "permission denied: ";

/// One thing that a rule has found in a script.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// The rule's name.
    pub rule: String,
    /// The level of the rule, after settings.
    pub level: Level,
    /// The range of the command in the script, in bytes.
    pub span: Range<usize>,
    /// The forms that the command took, from the script's text to the words that would run.
    pub chain: Vec<String>,
    /// The message of the rule.
    pub message: String,
    /// A script that probably does what the author meant, and passes the guard.
    pub alternative: String,
}

impl Finding {
    /// The message without the words that say no, for a question that nobody has answered yet.
    pub fn concern(&self) -> &str {
        self.message.strip_prefix(DENIAL).unwrap_or(&self.message)
    }

    /// True if it is about a part of the script that could not be parsed.
    pub fn is_unread(&self) -> bool {
        self.rule == NOT_UNDERSTOOD.name
    }

    /// The whole text: the message, the resolved command, and the alternative.
    pub fn text(&self) -> String {
        let mut text = self.message.clone();
        if !self.chain.is_empty() {
            // Writing to a string does not fail.
            let _ = write!(text, "\nfound: {}", self.chain.join(" → "));
        }
        if !self.alternative.is_empty() {
            let _ = write!(text, "\ninstead: {}", self.alternative);
        }
        text
    }
}

/// Everything that was found in a script.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Verdict {
    /// The findings, in the order of the script.
    pub findings: Vec<Finding>,
    /// The script does not parse to its end. The lines before the error were judged all the same, because bash would run them.
    pub incomplete: bool,
}

impl Verdict {
    /// The most serious level of all findings.
    pub fn level(&self) -> Option<Level> {
        self.findings.iter().map(|finding| finding.level).max()
    }

    /// True if the script may not run without somebody's consent.
    pub fn refuses(&self) -> bool {
        self.level() >= Some(Level::Ask)
    }

    /// The findings that keep the script from running.
    pub fn refusals(&self) -> impl Iterator<Item = &Finding> {
        self.findings.iter().filter(|finding| finding.level >= Level::Ask)
    }
}
