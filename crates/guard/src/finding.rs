//! What the guard answers.

use std::fmt::Write as _;
use std::ops::Range;

use serde::{Deserialize, Serialize};

/// What becomes of a script that a rule finds something in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Level {
    /// It runs, and the finding is said.
    Warn,
    /// Somebody has to agree; where nobody can be asked it does not walk.
    Ask,
    /// It does not walk.
    Deny,
}

/// The words that messages of denied scripts begin with.
const DENIAL: &str = "permission denied: ";

/// One thing that a rule has found in a script.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// The rule's name.
    pub rule: String,
    /// How serious it is.
    pub level: Level,
    /// Where in the script the command stands, in bytes.
    pub span: Range<usize>,
    /// How the words were resolved, from what is written to what would walk.
    pub chain: Vec<String>,
    /// What the rule says.
    pub message: String,
    /// Something that does what was probably meant and passes the guard.
    pub alternative: String,
}

impl Finding {
    /// The message without the words that say no, for a question that nobody has answered yet.
    pub fn concern(&self) -> &str {
        self.message.strip_prefix(DENIAL).unwrap_or(&self.message)
    }

    /// The whole text: what the rule says, what was found, and what to do instead.
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
    /// What was found, in the order of the script.
    pub findings: Vec<Finding>,
    /// The script does not parse to its end. What stands before was judged all the same, because bash would run it.
    pub incomplete: bool,
}

impl Verdict {
    /// The most serious level of all findings.
    pub fn level(&self) -> Option<Level> {
        self.findings.iter().map(|finding| finding.level).max()
    }

    /// Whether the script may not run just like that.
    pub fn refuses(&self) -> bool {
        self.level() >= Some(Level::Ask)
    }

    /// The findings that keep the script from running.
    pub fn refusals(&self) -> impl Iterator<Item = &Finding> {
        self.findings.iter().filter(|finding| finding.level >= Level::Ask)
    }
}
