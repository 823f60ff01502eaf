//! The guard itself: which rules there are, and judging by them.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use crate::finding::{Finding, Level, Verdict};
use crate::marks;
use crate::rules::{self, OwnRule, RuleError};
use crate::walk::ScriptWalk;

/// The longest script that is judged, in bytes: the length up to which the parser answers for its time. Longer scripts are
/// for a person to look at.
pub const LONGEST_SCRIPT: usize = bashful_bash::LONGEST_SCRIPT;

/// The setting of a rule.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Setting {
    /// It says nothing.
    Off,
    /// It finds at this level.
    At(Level),
}

/// The rules of a guard, and their levels.
#[derive(Debug, Clone, Default)]
pub struct Policy {
    /// Levels of rules that differ from their own, by name.
    pub levels: BTreeMap<String, Setting>,
    /// Rules of the user, in TOML; see [`Guard::new`].
    pub own_rules: String,
}

/// The shell before the first command of a script, as far as it is known.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Prelude {
    /// The working directory, absolute.
    pub directory: Option<String>,
    /// The working directory without symbolic links, if it is another path.
    pub real_directory: Option<String>,
    /// Variables that the caller sets for this script alone.
    pub variables: BTreeMap<String, String>,
    /// The names of all variables that the shell is started with, if the caller decides about every one of them. A variable
    /// that is not among them, and that nothing sets, is then empty: `rm -rf "$PREFIX"/etc` deletes `/etc`.
    pub environment: Option<BTreeSet<String>>,
    /// Text on standard input, if it is known. Without it, nothing is there to be read.
    pub input: Option<String>,
    /// The home directory, absolute.
    pub home: Option<String>,
    /// Shell text that the shell has run already, such as the functions and aliases of rc files.
    ///
    /// The guard judges the script without the text and again with it. A definition adds findings and takes none away,
    /// because the shell may turn out to lack it.
    pub definitions: String,
    /// True if the shell outlives the script, as a session's does. Later scripts are judged alone, so a function or an
    /// alias that the script leaves behind is judged as if it were called.
    pub persistent: bool,
}

/// Judges scripts.
#[derive(Debug, Clone, Default)]
pub struct Guard {
    levels: BTreeMap<String, Setting>,
    pub(crate) own: Vec<OwnRule>,
    /// Called with every script, in tests of what becomes of a guard that fails.
    probe: Option<fn(&str)>,
}

impl Guard {
    /// A guard with its own rules and the user's.
    ///
    /// The user's rules carry examples, which are tried out here: a rule that contradicts them is an error.
    ///
    /// ```
    /// use bashful_guard::{Guard, Prelude, Policy};
    ///
    /// let own_rules = r#"
    ///     [[rule]]
    ///     name = "hard-reset"
    ///     command = "git"
    ///     subcommand = "reset"
    ///     any_flag = ["--hard"]
    ///     level = "deny"
    ///     message = "work that is not committed would be lost"
    ///     try = "git stash"
    ///     refuses = ["git reset --hard", "sudo git -C x reset --hard HEAD~1"]
    ///     allows = ["git reset --soft HEAD~1", "echo git reset --hard"]
    /// "#;
    /// let guard = Guard::new(Policy { own_rules: own_rules.into(), ..Policy::default() })?;
    /// assert!(guard.judge("cd src && git reset --hard", &Prelude::default()).refuses());
    /// # Ok::<(), bashful_guard::RuleError>(())
    /// ```
    pub fn new(policy: Policy) -> Result<Self, RuleError> {
        let own = rules::own_rules(&policy.own_rules)?;
        for name in policy.levels.keys() {
            let known =
                rules::BUILT_IN.iter().any(|rule| rule.name == name) || own.iter().any(|rule| rule.name == *name);
            if !known {
                return Err(RuleError::NoSuchRule { rule: name.clone() });
            }
        }
        // The examples are held against the rules as they are, not as they are set.
        let guard = Self { levels: BTreeMap::new(), own, probe: None };
        rules::check_examples(&guard)?;
        Ok(Self { levels: policy.levels, ..guard })
    }

    /// Judges the commands that bash would run for a script.
    ///
    /// Pure: it reads nothing and runs nothing, and the same script has always the same verdict.
    ///
    /// ```
    /// use bashful_guard::{Guard, Level, Prelude};
    ///
    /// let guard = Guard::default();
    /// let verdict = guard.judge("x=rm; $x -rf ~", &Prelude::default());
    /// assert_eq!(verdict.level(), Some(Level::Deny));
    /// assert_eq!(verdict.findings[0].chain, ["x=rm", "$x -rf ~", "rm -rf ~"]);
    ///
    /// // Text that is only printed is not run.
    /// assert!(guard.judge("echo 'rm -rf ~'", &Prelude::default()).findings.is_empty());
    /// ```
    pub fn judge(&self, script: &str, prelude: &Prelude) -> Verdict {
        self.judge_until(script, prelude, Arc::default())
    }

    /// Judges as [`judge`](Self::judge) does, until somebody sets the flag: then the script is too complex.
    pub fn judge_until(&self, script: &str, prelude: &Prelude, gives_up: Arc<AtomicBool>) -> Verdict {
        if let Some(probe) = self.probe {
            probe(script);
        }
        if script.len() > LONGEST_SCRIPT {
            return self.not_judged(script.len(), "it is longer than 1 MiB");
        }
        let script = marks::without_marks(script);
        let mut walk = ScriptWalk::new(self, (&script, 0), prelude);
        walk.budget.gives_up = Arc::clone(&gives_up);
        walk.walk_script();
        let incomplete = walk.trail.is_incomplete;
        let mut findings = std::mem::take(&mut walk.trail.findings);
        findings.extend(walk.budget.exhausted().and_then(|why| self.too_complex(script.len(), why)));
        if !prelude.definitions.is_empty() {
            let definitions = marks::without_marks(&prelude.definitions);
            let text = format!("{definitions}{script}");
            let mut walk = ScriptWalk::new(self, (&text, definitions.len()), prelude);
            walk.budget.gives_up = gives_up;
            walk.walk_script();
            // Definitions that are too much to follow are not the script's fault.
            for finding in walk.trail.findings {
                if !findings.iter().any(|known| known.rule == finding.rule && known.span == finding.span) {
                    findings.push(finding);
                }
            }
        }
        findings.sort_by_key(|finding| (finding.span.start, std::cmp::Reverse(finding.level)));
        Verdict { findings, incomplete }
    }

    /// The verdict on a script of this length that was not judged, with the reason behind "too complex to be judged: ".
    pub fn not_judged(&self, length: usize, why: &str) -> Verdict {
        Verdict { findings: self.too_complex(length, why).into_iter().collect(), incomplete: false }
    }

    /// Calls this with every script before it is judged.
    #[doc(hidden)]
    #[must_use]
    pub fn with_probe(self, probe: fn(&str)) -> Self {
        Self { probe: Some(probe), ..self }
    }

    fn too_complex(&self, length: usize, why: &str) -> Option<Finding> {
        let rule = &rules::TOO_COMPLEX;
        Some(Finding {
            rule: rule.name.to_owned(),
            level: self.level(rule.name, rule.level)?,
            span: 0..length,
            chain: Vec::new(),
            also: Vec::new(),
            message: format!("{}: {why}", rule.message),
            alternative: rule.alternative.to_owned(),
        })
    }

    /// The level of a rule, if it is on.
    pub(crate) fn level(&self, name: &str, own: Level) -> Option<Level> {
        match self.levels.get(name) {
            None => rules::BUILT_IN.iter().all(|rule| rule.is_on || rule.name != name).then_some(own),
            Some(Setting::At(level)) => Some(*level),
            Some(Setting::Off) => None,
        }
    }
}
