//! Rules of the user: written in TOML, with examples that are tried out when they are loaded.

use serde::Deserialize;
use thiserror::Error;

use super::BUILT_IN;
use crate::finding::Level;
use crate::guard::{Guard, Prelude};
use crate::marks::{alive, readable};
use crate::pattern;
use crate::walk::ScriptWalk;

/// A fault in the user's rules.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum RuleError {
    /// The text is no TOML, or has fields that a rule does not have.
    #[error("the rules cannot be read")]
    Syntax {
        /// The parser's message.
        source: Box<toml::de::Error>,
    },
    /// A rule has no name.
    #[error("rule number {number} has no name")]
    Nameless {
        /// Counted from one.
        number: usize,
    },
    /// Two rules have one name.
    #[error("there are two rules called `{rule}`")]
    Twice {
        /// The name.
        rule: String,
    },
    /// A rule has no example of a script that it refuses.
    #[error("rule `{rule}` needs at least one example in `refuses`")]
    NoExample {
        /// The rule's name.
        rule: String,
    },
    /// An example is not refused.
    #[error("rule `{rule}` does not refuse its example `{example}`")]
    DoesNotRefuse {
        /// The rule's name.
        rule: String,
        /// The example.
        example: String,
    },
    /// A near miss is refused.
    #[error("rule `{rule}` refuses `{example}`, which it should allow")]
    DoesNotAllow {
        /// The rule's name.
        rule: String,
        /// The example.
        example: String,
    },
    /// The alternative of a rule is refused itself.
    #[error("rule `{rule}` says to try `{example}`, which is refused by `{by}`")]
    AlternativeRefused {
        /// The rule's name.
        rule: String,
        /// The alternative.
        example: String,
        /// The rule that refuses that.
        by: String,
    },
    /// A level is set for a rule that does not exist.
    #[error("there is no rule called `{rule}`")]
    NoSuchRule {
        /// The name.
        rule: String,
    },
}

/// A rule of the user.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct OwnRule {
    #[serde(default)]
    pub(crate) name: String,
    /// The program's name.
    command: String,
    /// Its first word that is no option.
    subcommand: Option<String>,
    /// One of these options has to be there, if there are any.
    #[serde(default)]
    any_flag: Vec<String>,
    /// With one of these it does not count.
    #[serde(default)]
    unless_flag: Vec<String>,
    /// One of the other words has to match one of these patterns, if there are any.
    #[serde(default)]
    target: Vec<String>,
    level: Level,
    message: String,
    #[serde(default, rename = "try")]
    alternative: String,
    #[serde(default)]
    refuses: Vec<String>,
    #[serde(default)]
    allows: Vec<String>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct RuleFile {
    #[serde(default)]
    rule: Vec<OwnRule>,
}

/// Reads rules.
pub(crate) fn own_rules(text: &str) -> Result<Vec<OwnRule>, RuleError> {
    let file: RuleFile = toml::from_str(text).map_err(|source| RuleError::Syntax { source: Box::new(source) })?;
    for (at, rule) in file.rule.iter().enumerate() {
        if rule.name.is_empty() {
            return Err(RuleError::Nameless { number: at + 1 });
        }
        let twice = file.rule.iter().take(at).any(|other| other.name == rule.name);
        if twice || BUILT_IN.iter().any(|other| other.name == rule.name) {
            return Err(RuleError::Twice { rule: rule.name.clone() });
        }
    }
    Ok(file.rule)
}

/// Tries out the examples of all rules.
pub(crate) fn check_examples(guard: &Guard) -> Result<(), RuleError> {
    let finds = |name: &str, script: &str| {
        guard.judge(script, &Prelude::default()).findings.iter().any(|finding| finding.rule == name)
    };
    for rule in &guard.own {
        if rule.refuses.is_empty() {
            return Err(RuleError::NoExample { rule: rule.name.clone() });
        }
        if let Some(example) = rule.refuses.iter().find(|example| !finds(&rule.name, example)) {
            return Err(RuleError::DoesNotRefuse { rule: rule.name.clone(), example: example.clone() });
        }
        if let Some(example) = rule.allows.iter().find(|example| finds(&rule.name, example)) {
            return Err(RuleError::DoesNotAllow { rule: rule.name.clone(), example: example.clone() });
        }
        if let Some(by) = guard.judge(&rule.alternative, &Prelude::default()).refusals().next() {
            return Err(RuleError::AlternativeRefused {
                rule: rule.name.clone(),
                example: rule.alternative.clone(),
                by: by.rule.clone(),
            });
        }
    }
    Ok(())
}

/// Looks at a command.
pub(super) fn judge(walk: &mut ScriptWalk<'_>, name: &str, arguments: &[String]) {
    let guard = walk.guard;
    for rule in guard.own.iter().filter(|rule| rule.command == name && rule.matches(arguments)) {
        walk.report(&rule.name, rule.level, &rule.message, &rule.alternative);
    }
}

impl OwnRule {
    fn matches(&self, arguments: &[String]) -> bool {
        let end = arguments.iter().position(|word| word == "--").unwrap_or(arguments.len());
        let (before, after) = arguments.split_at(end);
        let flags: Vec<&String> = before.iter().filter(|word| word.len() > 1 && word.starts_with('-')).collect();
        let operands: Vec<&String> =
            before.iter().filter(|word| word.len() < 2 || !word.starts_with('-')).chain(after.iter().skip(1)).collect();
        let mut operands = operands.as_slice();
        if let Some(wanted) = &self.subcommand {
            let Some((first, rest)) = operands.split_first() else { return false };
            if *first != wanted {
                return false;
            }
            operands = rest;
        }
        let has = |wanted: &String| flags.iter().any(|word| is_flag(word, wanted));
        let fits = |word: &&String| {
            let written = readable(word);
            self.target.iter().any(|wanted| pattern::matches(&alive(wanted), &written))
        };
        (self.any_flag.is_empty() || self.any_flag.iter().any(has))
            && !self.unless_flag.iter().any(has)
            && (self.target.is_empty() || operands.iter().any(fits))
    }
}

/// True if a word is the option: itself, with a value, or among other letters.
fn is_flag(word: &str, wanted: &str) -> bool {
    if word == wanted || word.strip_prefix(wanted).is_some_and(|rest| wanted.starts_with("--") && rest.starts_with('='))
    {
        return true;
    }
    let letter = wanted.strip_prefix('-').filter(|letter| letter.len() == 1);
    letter.is_some_and(|letter| !word.starts_with("--") && word.contains(letter))
}
