//! Decides which variables a command gets, and which are withheld.
//!
//! Later layers win: the host's variables without those whose names or values look secret, then defaults for unattended
//! work, then the caller's own. Nothing is read from the process here; the caller passes the host's variables in.

mod names;

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::sync::Arc;

use thiserror::Error;

use crate::capture::Cleaning;
use crate::mask::Mask;
use crate::output_redactor::OutputRedactor;
use crate::redact::Redactor;
use crate::url_secrets;

/// Policy for the host's variables: which ones commands get, and which are set beside them.
///
/// A variable is also withheld, whatever its name, if its value has a URL with a password. Names on the list `allow`
/// are excepted, and so are paths of files. Proxies (`*PROXY`) are passed with their passwords, which `pip`, `npm` and
/// `git` need; there the password is redacted in output.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EnvironmentPolicy {
    /// Names that are withheld. `*` stands for anything; case does not matter.
    pub withhold: Vec<Pattern>,
    /// Names that are passed although they are on the list above.
    pub allow: Vec<Pattern>,
    /// Names that are withheld whatever the lists say.
    pub never: Vec<Pattern>,
    /// Variables that are set, whatever the host has; without a value they are removed.
    pub set: BTreeMap<String, Option<String>>,
    /// Variables that are set or removed on top of that for commands with a terminal, unless the caller gives them.
    pub terminal: BTreeMap<String, Option<String>>,
}

/// Withholds every variable whose name or value looks secret, and sets nothing.
///
/// ```
/// use bashful_engine::EnvironmentPolicy;
///
/// let host = [("PATH", "/bin"), ("OPENAI_API_KEY", "sk-1234"), ("DB", "postgres://me:hunter2@db/app")];
/// let host = host.map(|(name, value)| (name.into(), value.into()));
/// let environment = EnvironmentPolicy::default().resolve(&host, &[])?;
/// assert_eq!(environment.variables.keys().collect::<Vec<_>>(), ["PATH"]);
/// # Ok::<(), bashful_engine::EnvError>(())
/// ```
impl Default for EnvironmentPolicy {
    fn default() -> Self {
        let patterns = |names: &[&'static str]| names.iter().map(|name| Pattern::of(Cow::Borrowed(name))).collect();
        Self {
            withhold: patterns(Self::WITHHELD),
            allow: patterns(Self::ALLOWED),
            never: Vec::new(),
            set: BTreeMap::new(),
            terminal: Self::terminal_variables(),
        }
    }
}

/// A variable name, or a family of names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pattern {
    /// In upper case, as all comparisons are.
    text: Cow<'static, str>,
    /// Characters that every matching name contains.
    needed: ByteSet,
}

/// A set of bytes, folded into 64 bits. It may report more bytes than were added, but never fewer. Capitals, digits and
/// `_` have a bit each.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct ByteSet(u64);

impl ByteSet {
    fn of(bytes: impl IntoIterator<Item = u8>) -> Self {
        Self(bytes.into_iter().fold(0, |set, byte| set | 1 << (byte & 63)))
    }

    fn is_within(self, other: Self) -> bool {
        self.0 & !other.0 == 0
    }
}

/// A variable name, prepared for a comparison with many patterns.
struct UpperName {
    name: Vec<u8>,
    bytes: ByteSet,
}

impl UpperName {
    fn of(name: &OsStr) -> Self {
        let name = name.as_bytes().to_ascii_uppercase();
        Self { bytes: ByteSet::of(name.iter().copied()), name }
    }
}

impl Pattern {
    /// Makes a pattern. `*` stands for any number of characters; case does not matter.
    pub fn new(text: &str) -> Self {
        Self::of(Cow::Owned(text.to_owned()))
    }

    /// Makes a pattern without a copy of a static text, as the hundreds of the default policy are.
    pub fn of(mut text: Cow<'static, str>) -> Self {
        if text.bytes().any(|byte| byte.is_ascii_lowercase()) {
            text.to_mut().make_ascii_uppercase();
        }
        Self { needed: ByteSet::of(text.bytes().filter(|byte| *byte != b'*')), text }
    }

    /// True if the pattern matches a name.
    pub fn matches(&self, name: &OsStr) -> bool {
        self.matches_upper(&UpperName::of(name))
    }

    fn matches_upper(&self, UpperName { name, bytes }: &UpperName) -> bool {
        // Settles nearly all of the ten thousand checks that a program with seventy variables makes at its start.
        if !self.needed.is_within(*bytes) {
            return false;
        }
        let Some((first, behind)) = self.text.split_once('*') else { return self.text.as_bytes() == name };
        let Some(mut rest) = name.strip_prefix(first.as_bytes()) else { return false };
        let (between, last) = behind.rsplit_once('*').map_or((None, behind), |(between, last)| (Some(between), last));
        for piece in between.into_iter().flat_map(|between| between.split('*')) {
            let Some(at) = memchr::memmem::find(rest, piece.as_bytes()) else { return false };
            rest = &rest[at + piece.len()..];
        }
        rest.ends_with(last.as_bytes())
    }
}

/// The variables of one command.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Environment {
    /// Variables that the command gets, by name.
    pub variables: BTreeMap<OsString, OsString>,
    /// Variables that the command does not get. Their values are only for redacting them in output.
    pub withheld: Vec<Withheld>,
}

/// A variable that was withheld.
#[derive(Clone, PartialEq, Eq)]
pub struct Withheld {
    /// Name of the variable, which may be shown.
    pub name: OsString,
    value: OsString,
    /// True if the command gets the variable, and only the passwords in its value are redacted.
    is_passed: bool,
}

impl Withheld {
    pub(crate) fn new(name: OsString, value: OsString) -> Self {
        Self { name, value, is_passed: false }
    }

    /// True if the command gets the variable all the same, because it needs its proxy. Then only the passwords in the
    /// value are redacted in output.
    pub fn is_passed(&self) -> bool {
        self.is_passed
    }

    pub(crate) fn value(&self) -> &OsStr {
        &self.value
    }
}

/// Without the value, because this ends up in logs.
impl std::fmt::Debug for Withheld {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(out, "Withheld({})", self.name.display())
    }
}

/// Error: a variable that bash cannot have.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum EnvError {
    /// The name is no valid bash name.
    #[error("Invalid bash env name: {name}")]
    Name {
        /// Name that was given.
        name: String,
    },
    /// The value has a NUL byte, at which values end.
    #[error("the value of {name} has a NUL byte, which no variable can hold")]
    Nul {
        /// Name of the variable.
        name: String,
    },
}

/// Variables that describe the host's own shell, and would be wrong for another.
const HOST_SHELL_VARIABLES: [&str; 2] = ["_", "OLDPWD"];

impl EnvironmentPolicy {
    /// Combines the host's variables, as far as the policy passes them, with the caller's own.
    pub fn resolve(
        &self,
        host: &[(OsString, OsString)],
        caller: &[(String, OsString)],
    ) -> Result<Environment, EnvError> {
        self.of_host(host).with(caller)
    }

    /// Policy that passes every variable on, secrets too.
    pub fn pass_everything() -> Self {
        Self {
            withhold: Vec::new(),
            allow: vec![Pattern::new("*")],
            never: Vec::new(),
            set: BTreeMap::new(),
            terminal: Self::terminal_variables(),
        }
    }

    /// The terminal type that [`Streams::Terminal`](crate::Streams::Terminal) offers.
    fn terminal_variables() -> BTreeMap<String, Option<String>> {
        BTreeMap::from([("TERM".to_owned(), Some("xterm-256color".to_owned()))])
    }

    /// Variables of the host that every command gets, and those that are withheld.
    pub(crate) fn of_host(&self, host: &[(OsString, OsString)]) -> Environment {
        let mut environment = Environment::default();
        for (name, value) in host {
            if HOST_SHELL_VARIABLES.iter().any(|own| name == own) {
                continue;
            }
            let fate = self.fate(name, value);
            if fate != VariableFate::Pass {
                let is_passed = fate == VariableFate::PassRedacted;
                environment.withheld.push(Withheld { is_passed, ..Withheld::new(name.clone(), value.clone()) });
            }
            if fate != VariableFate::Withhold {
                environment.variables.insert(name.clone(), value.clone());
            }
        }
        environment.apply(&self.set, &[]);
        environment
    }

    /// True if a variable is withheld.
    pub(crate) fn withholds(&self, name: &OsStr, value: &OsStr) -> bool {
        self.fate(name, value) == VariableFate::Withhold
    }

    fn fate(&self, name: &OsStr, value: &OsStr) -> VariableFate {
        let upper = UpperName::of(name);
        let is_on = |list: &[Pattern]| list.iter().any(|pattern| pattern.matches_upper(&upper));
        if is_on(&self.never) {
            return VariableFate::Withhold;
        }
        let has_password = !url_secrets::passwords(value.as_bytes()).is_empty();
        let is_secret = is_on(&self.withhold);
        if !(is_secret || has_password) || is_on(&self.allow) || names_a_file(&upper.name, value) {
            return VariableFate::Pass;
        }
        if !is_secret && upper.name.ends_with(PROXY) { VariableFate::PassRedacted } else { VariableFate::Withhold }
    }
}

/// True if a value is the path of an existing file, or, in a variable that is for files, any path. Programs need it
/// (`GOOGLE_APPLICATION_CREDENTIALS`), and a command could read the file without it.
fn names_a_file(upper_name: &[u8], value: &OsStr) -> bool {
    let text = value.as_bytes();
    let is_for_files = names::OF_FILES.iter().any(|ending| upper_name.ends_with(ending.as_bytes()));
    let is_path = ["/", "./", "../", "~/"].iter().any(|begin| text.starts_with(begin.as_bytes()));
    (is_for_files && is_path && !text.contains(&b'\n'))
        || (text.starts_with(b"/") && std::path::Path::new(value).exists())
}

/// Ending of the names of proxies: `HTTPS_PROXY`, `npm_config_proxy`.
const PROXY: &[u8] = b"PROXY";

/// Treatment of a variable of the host.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum VariableFate {
    Pass,
    /// The command gets it, and the passwords in it are redacted in output.
    PassRedacted,
    Withhold,
}

impl Environment {
    /// Sets or removes these variables, except those that the caller gives.
    pub(crate) fn apply(&mut self, changes: &BTreeMap<String, Option<String>>, given: &[(String, OsString)]) {
        for (name, value) in changes.iter().filter(|(name, _)| !given.iter().any(|(own, _)| own == *name)) {
            match value {
                Some(value) => self.variables.insert(name.into(), value.into()),
                None => self.variables.remove(OsStr::new(name)),
            };
        }
    }

    /// Redactor for texts about a command with this environment.
    pub fn redactor(&self) -> Redactor {
        Redactor::new(Arc::new(Mask::new(&self.withheld)))
    }

    /// Redactor for the output of a command with this environment.
    pub fn output_redactor(&self, cleaning: Cleaning) -> OutputRedactor {
        OutputRedactor::new(cleaning, Arc::new(Mask::new(&self.withheld)))
    }

    /// Adds the caller's variables on top.
    pub(crate) fn with(mut self, caller: &[(String, OsString)]) -> Result<Self, EnvError> {
        for (name, value) in caller {
            check(name, value)?;
            self.variables.insert(name.into(), value.clone());
            // The caller gave it on purpose, so it is no secret from this command.
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

/// True if bash can have a variable of this name.
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
            terminal: BTreeMap::new(),
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
        check_pattern("A**B", &["AB", "AxB"], &["A"]);
        check_pattern("ÄÖ*1", &["ÄÖ1", "ÄÖx1"], &["ÄÖ", "ÖÄ1"]);
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
    fn urls_with_passwords_are_withheld_whatever_their_names() {
        let host = [
            ("POSTGRES_URL", "postgres://app:hunter2-hunter2@db/app"),
            ("JDBC_URL", "jdbc:postgresql://db/app?user=app&password=hunter2-hunter2"),
            ("DOCS", "https://example.com/a@b"),
            ("OWN_URL", "amqp://app:hunter2-hunter2@queue"),
        ];
        let environment = resolve(&host, &[]).expect("valid");
        assert_eq!(environment.variables.keys().collect::<Vec<_>>(), ["DOCS", "OWN_URL", "PAGER"]);
        let withheld: Vec<_> =
            environment.withheld.iter().map(|withheld| (&*withheld.name, withheld.is_passed())).collect();
        assert_eq!(withheld, [(OsStr::new("POSTGRES_URL"), false), (OsStr::new("JDBC_URL"), false)]);
    }

    #[test]
    fn a_proxy_is_passed_and_its_password_redacted() {
        let proxy = "http://me:geheim%2Bwort@proxy.example.com:3128";
        for name in ["HTTPS_PROXY", "http_proxy", "ALL_PROXY", "npm_config_proxy", "npm_config_https_proxy"] {
            let environment = resolve(&[(name, proxy)], &[]).expect("valid");
            assert_eq!(environment.variables[OsStr::new(name)], proxy);
            let text = format!("{proxy} geheim%2Bwort geheim+wort");
            let label = format!("[withheld: {name} password]");
            let expected = format!("http://me:{label}@proxy.example.com:3128 {label} {label}");
            assert_eq!(environment.output_redactor(Cleaning::None).mask(text), expected);
        }
    }

    #[test]
    fn everything_is_passed_by_the_policy_that_says_so() {
        let host = [("A_TOKEN", "s3cr3t-s3cr3t"), ("B", "postgres://a:s3cr3t-s3cr3t@b")];
        let host = host.map(|(name, value)| (name.into(), value.into()));
        let environment = EnvironmentPolicy::pass_everything().resolve(&host, &[]).expect("valid");
        assert_eq!((environment.variables.len(), environment.withheld.len()), (2, 0));
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
