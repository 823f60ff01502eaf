//! The guard's answer.

use std::borrow::Cow;
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

/// Longest text in bytes of the commands of one finding. A person who is asked reads less.
pub const LONGEST_FOUND: usize = 16 * 1024;

/// Longest step of a chain in bytes that a text repeats whole.
const LONGEST_STEP: usize = 160;

/// Further commands that a text repeats. The question to a person has all of them.
const MOST_ALSO: usize = 4;

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
    /// Further commands of the same place, such as the other rounds of a loop. All of them, or more bytes than
    /// [`LONGEST_FOUND`].
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub also: Vec<String>,
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

    /// The text for a model: the message, the resolved commands, and the alternative. Long lists are cut.
    pub fn text(&self) -> String {
        self.text_within(LONGEST_STEP, MOST_ALSO)
    }

    /// The text for a person who decides: nothing is cut, except that commands of more than [`LONGEST_FOUND`] bytes are
    /// said to be more.
    pub fn whole_text(&self) -> String {
        self.text_within(usize::MAX, usize::MAX)
    }

    fn text_within(&self, longest_step: usize, most_also: usize) -> String {
        let mut text = self.message.clone();
        // Writing to a string does not fail.
        if !self.chain.is_empty() {
            let steps: Vec<_> = self.chain.iter().map(|step| without_middle(step, longest_step)).collect();
            let _ = write!(text, "\nfound: {}", steps.join(" → "));
        }
        if !self.also.is_empty() {
            let also: Vec<_> =
                self.also.iter().take(most_also).map(|command| without_middle(command, longest_step)).collect();
            let _ = write!(text, "\nalso: {}", also.join("; "));
            let is_cut = self.also.iter().map(String::len).sum::<usize>() > LONGEST_FOUND;
            match self.also.len().saturating_sub(most_also) {
                _ if is_cut => text.push_str("; and more"),
                0 => {}
                more => {
                    let _ = write!(text, "; and {more} more");
                }
            }
        }
        if !self.alternative.is_empty() {
            let _ = write!(text, "\ninstead: {}", self.alternative);
        }
        text
    }
}

/// A text of at most about so many bytes. Both ends stay, because the last words of a command are often its targets.
pub(crate) fn without_middle(text: &str, longest: usize) -> Cow<'_, str> {
    if text.len() <= longest {
        return Cow::Borrowed(text);
    }
    let (begin, end) = (text.floor_char_boundary(longest / 2), text.ceil_char_boundary(text.len() - longest / 2));
    Cow::Owned(format!("{}…{}", &text[..begin], &text[end..]))
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_command_keeps_both_ends() {
        assert_eq!(without_middle("dd of=/dev/sda", 14), "dd of=/dev/sda");
        assert_eq!(without_middle("dd ä if=/dev/zero of=/dev/sda", 8), "dd …/sda");
    }
}
