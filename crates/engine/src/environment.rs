//! Which variables a command gets, and which are kept from it.
//!
//! Later layers win: the host's variables without those whose names say secret, then defaults for unattended work, then
//! what the caller gives. Nothing is read from the process here; the host's variables are handed in.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::sync::Arc;

use thiserror::Error;

use crate::capture::Cleaning;
use crate::eyes::Eyes;
use crate::mask::Mask;

/// Which of the host's variables are passed on, and what is set beside them.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct EnvironmentPolicy {
    /// Names that are kept back. `*` stands for anything; case does not matter.
    pub withhold: Vec<Pattern>,
    /// Names that are passed on although they are on the list above.
    pub allow: Vec<Pattern>,
    /// Names that are kept back whatever the lists say.
    pub never: Vec<Pattern>,
    /// Variables that are set, whatever the host has; without a value they are removed.
    pub set: BTreeMap<String, Option<String>>,
}

/// A name, or a family of names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pattern(String);

impl Pattern {
    /// `*` stands for any number of characters; case does not matter.
    pub fn new(text: &str) -> Self {
        Self(text.to_ascii_uppercase())
    }

    /// Whether a name is meant.
    pub fn matches(&self, name: &OsStr) -> bool {
        let name = name.as_bytes().to_ascii_uppercase();
        let mut pieces = self.0.as_bytes().split(|byte| *byte == b'*');
        let first = pieces.next().unwrap_or_default();
        let Some(mut rest) = name.strip_prefix(first) else { return false };
        let mut pieces: Vec<_> = pieces.collect();
        let Some(last) = pieces.pop() else { return rest.is_empty() };
        for piece in pieces {
            let Some(at) = memchr::memmem::find(rest, piece) else { return false };
            rest = &rest[at + piece.len()..];
        }
        rest.ends_with(last)
    }
}

/// The variables of one command.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Environment {
    /// What the command gets, by name.
    pub variables: BTreeMap<OsString, OsString>,
    /// What it does not get. The values are only for masking them in output.
    pub withheld: Vec<Withheld>,
}

/// A variable that was kept back.
#[derive(Clone, PartialEq, Eq)]
pub struct Withheld {
    /// Its name.
    pub name: OsString,
    value: OsString,
}

impl Withheld {
    pub(crate) fn new(name: OsString, value: OsString) -> Self {
        Self { name, value }
    }

    pub(crate) fn value(&self) -> &OsStr {
        &self.value
    }
}

/// Without the value: this ends up in logs.
impl std::fmt::Debug for Withheld {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(out, "Withheld({})", self.name.display())
    }
}

/// A variable that cannot be.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum EnvError {
    /// Bash has no variables of such a name.
    #[error("Invalid bash env name: {name}")]
    Name {
        /// The name.
        name: String,
    },
    /// Values end at a NUL byte.
    #[error("the value of {name} has a NUL byte, which no variable can hold")]
    Nul {
        /// Whose value.
        name: String,
    },
}

/// Variables that tell of the host's own shell and would be wrong for another.
const ABOUT_THE_HOST: [&str; 2] = ["_", "OLDPWD"];

impl EnvironmentPolicy {
    /// Decides what a command gets of the host's variables, with the caller's own on top.
    pub fn resolve(
        &self,
        host: &[(OsString, OsString)],
        caller: &[(String, OsString)],
    ) -> Result<Environment, EnvError> {
        self.of_host(host).with(caller)
    }

    /// What every command gets of the host's variables.
    pub(crate) fn of_host(&self, host: &[(OsString, OsString)]) -> Environment {
        let mut environment = Environment::default();
        for (name, value) in host {
            if ABOUT_THE_HOST.iter().any(|own| name == own) {
                continue;
            }
            if self.withholds(name) {
                environment.withheld.push(Withheld::new(name.clone(), value.clone()));
            } else {
                environment.variables.insert(name.clone(), value.clone());
            }
        }
        for (name, value) in &self.set {
            match value {
                Some(value) => environment.variables.insert(name.into(), value.into()),
                None => environment.variables.remove(OsStr::new(name)),
            };
        }
        environment
    }

    /// Whether a variable of this name is kept back.
    pub(crate) fn withholds(&self, name: &OsStr) -> bool {
        let is_on = |list: &[Pattern]| list.iter().any(|pattern| pattern.matches(name));
        is_on(&self.never) || (is_on(&self.withhold) && !is_on(&self.allow))
    }
}

impl Environment {
    /// What keeps the withheld values out of texts.
    pub fn eyes(&self, cleaning: Cleaning) -> Eyes {
        Eyes::new(cleaning, Arc::new(Mask::new(&self.withheld)))
    }

    /// The same with the caller's variables on top.
    pub(crate) fn with(mut self, caller: &[(String, OsString)]) -> Result<Self, EnvError> {
        for (name, value) in caller {
            check(name, value)?;
            self.variables.insert(name.into(), value.clone());
            // Given on purpose, it is no secret from this command any more.
            self.withheld.retain(|withheld| withheld.name != **name);
        }
        Ok(self)
    }
}

fn check(name: &str, value: &OsStr) -> Result<(), EnvError> {
    if !is_name(name) {
        return Err(EnvError::Name { name: name.to_owned() });
    }
    if value.as_bytes().contains(&0) {
        return Err(EnvError::Nul { name: name.to_owned() });
    }
    Ok(())
}

/// Whether bash can have a variable of this name.
pub(crate) fn is_name(name: &str) -> bool {
    let mut bytes = name.bytes();
    let first_is_right = bytes.next().is_some_and(|byte| byte.is_ascii_alphabetic() || byte == b'_');
    first_is_right && bytes.all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn policy() -> EnvironmentPolicy {
        EnvironmentPolicy {
            withhold: vec![Pattern::new("*TOKEN*"), Pattern::new("*_KEY")],
            allow: vec![Pattern::new("TOKENIZERS_*"), Pattern::new("OWN_*")],
            never: vec![Pattern::new("OWN_TOKEN")],
            set: BTreeMap::from([("PAGER".to_owned(), Some("cat".to_owned())), ("DISPLAY".to_owned(), None)]),
        }
    }

    fn resolve(host: &[(&str, &str)], caller: &[(&str, &str)]) -> Result<Environment, EnvError> {
        let host: Vec<_> = host.iter().map(|(name, value)| ((*name).into(), (*value).into())).collect();
        let caller: Vec<_> = caller.iter().map(|(name, value)| ((*name).to_owned(), (*value).into())).collect();
        policy().resolve(&host, &caller)
    }

    #[track_caller]
    fn check_pattern(pattern: &str, yes: &[&str], no: &[&str]) {
        let pattern = Pattern::new(pattern);
        for name in yes {
            assert!(pattern.matches(OsStr::new(name)), "{name} should match {pattern:?}");
        }
        for name in no {
            assert!(!pattern.matches(OsStr::new(name)), "{name} should not match {pattern:?}");
        }
    }

    #[test]
    fn patterns_mean_whole_names_in_any_case() {
        check_pattern("PATH", &["PATH", "path"], &["PATHS", "XPATH", ""]);
        check_pattern("*_KEY", &["API_KEY", "_key"], &["KEY", "MY_KEYS", "KEY_FILE"]);
        check_pattern("*TOKEN*", &["TOKEN", "GITHUB_TOKEN_2", "tokens"], &["TOKE", "T_OKEN"]);
        check_pattern("A*B*C", &["ABC", "AxxBxxC", "ABBC"], &["AB", "ACB", "ABCD"]);
        check_pattern("*", &["", "X"], &[]);
        check_pattern("AB*BA", &["ABBA", "ABxBA"], &["ABA"]);
    }

    #[test]
    fn secrets_stay_behind_and_what_is_allowed_does_not() {
        let host = [
            ("HOME", "/h"),
            ("GITHUB_TOKEN", "s3cr3t"),
            ("TOKENIZERS_PARALLELISM", "true"),
            ("OWN_TOKEN", "s3cr3t"),
            ("OWN_KEY", "known"),
        ];
        let environment = resolve(&host, &[]).expect("valid");
        let names: Vec<_> = environment.variables.keys().collect();
        assert_eq!(names, ["HOME", "OWN_KEY", "PAGER", "TOKENIZERS_PARALLELISM"]);
        let withheld: Vec<_> = environment.withheld.iter().map(|withheld| &withheld.name).collect();
        assert_eq!(withheld, ["GITHUB_TOKEN", "OWN_TOKEN"]);
        assert!(!format!("{environment:?}").contains("s3cr3t"));
    }

    #[test]
    fn the_callers_values_win() {
        let environment = resolve(
            &[("PAGER", "less"), ("DISPLAY", ":0"), ("A_TOKEN", "old")],
            &[("PAGER", "more"), ("A_TOKEN", "given on purpose")],
        )
        .expect("valid");
        let value = |name: &str| environment.variables.get(OsStr::new(name)).and_then(|value| value.to_str());
        assert_eq!(value("PAGER"), Some("more"));
        assert_eq!(value("DISPLAY"), None);
        assert_eq!(value("A_TOKEN"), Some("given on purpose"));
        assert!(environment.withheld.is_empty());
    }

    #[test]
    fn names_that_bash_does_not_have_are_refused() {
        for name in ["", "1A", "A-B", "A B", "É", "A=B"] {
            assert_eq!(resolve(&[], &[(name, "x")]), Err(EnvError::Name { name: name.to_owned() }));
        }
        assert!(resolve(&[], &[("_a1", "")]).is_ok());
        assert_eq!(resolve(&[], &[("A", "x\0y")]), Err(EnvError::Nul { name: "A".to_owned() }));
    }
}
