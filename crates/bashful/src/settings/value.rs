//! Types of the values of settings.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

use bashful_dialect::{Dialect, UnknownDialect};
use bashful_engine::SandboxMode;
use serde::de::{self, Deserializer, Visitor};
use serde::{Deserialize, Serialize, Serializer};

/// Merging of a value with that of a later layer.
pub(crate) trait Merge {
    /// Takes over a later value.
    fn merge(&mut self, later: Self);
}

/// Most values are simply replaced.
macro_rules! replaced {
    ($($Type:ty),*) => { $(impl Merge for $Type { fn merge(&mut self, later: Self) { *self = later; } })* };
}

replaced!(
    String,
    bool,
    Count,
    Number,
    Seconds,
    Days,
    Bytes,
    LargeBytes,
    Names,
    Leftovers,
    SandboxModeName,
    SandboxCaches,
    SandboxNetwork,
    Ports,
    Snapshots,
    Intercepts,
    Secret,
    DialectName,
    EscapeKey
);

/// A duration in seconds, above 0 and at most ten years.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize, Serialize)]
#[serde(try_from = "f64", into = "f64")]
pub(crate) struct Seconds(pub(super) f64);

impl Seconds {
    pub(crate) fn duration(self) -> Duration {
        Duration::from_secs_f64(self.0)
    }
}

impl TryFrom<f64> for Seconds {
    type Error = String;

    fn try_from(seconds: f64) -> Result<Self, String> {
        const MOST: f64 = 10.0 * 366.0 * 86_400.0;
        if seconds > 0.0 && seconds <= MOST {
            return Ok(Self(seconds));
        }
        Err(format!("{seconds} is not a number of seconds above 0 and up to ten years"))
    }
}

impl From<Seconds> for f64 {
    fn from(seconds: Seconds) -> Self {
        seconds.0
    }
}

/// A duration in days, above 0 and at most ten years.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize, Serialize)]
#[serde(try_from = "f64", into = "f64")]
pub(crate) struct Days(pub(super) f64);

impl Days {
    pub(crate) fn duration(self) -> Duration {
        Duration::from_secs_f64(self.0 * 86_400.0)
    }
}

impl TryFrom<f64> for Days {
    type Error = String;

    fn try_from(days: f64) -> Result<Self, String> {
        const MOST: f64 = 10.0 * 366.0;
        if days > 0.0 && days <= MOST {
            return Ok(Self(days));
        }
        Err(format!("{days} is not a number of days above 0 and up to {MOST}"))
    }
}

impl From<Days> for f64 {
    fn from(days: Days) -> Self {
        days.0
    }
}

/// A count of at least 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize)]
#[serde(try_from = "i64", into = "i64")]
pub(crate) struct Count(pub(super) u32);

impl Count {
    pub(crate) fn count(self) -> usize {
        usize::try_from(self.0).unwrap_or(usize::MAX)
    }
}

impl TryFrom<i64> for Count {
    type Error = String;

    fn try_from(count: i64) -> Result<Self, String> {
        let fits = u32::try_from(count).ok().filter(|count| *count > 0);
        fits.map(Self).ok_or_else(|| format!("{count} is not a number from 1 to {}", u32::MAX))
    }
}

impl From<Count> for i64 {
    fn from(count: Count) -> Self {
        count.0.into()
    }
}

/// A small count that may be 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize)]
#[serde(try_from = "i64", into = "i64")]
pub(crate) struct Number(pub(super) u16);

impl Number {
    pub(crate) fn number(self) -> usize {
        self.0.into()
    }
}

impl TryFrom<i64> for Number {
    type Error = String;

    fn try_from(number: i64) -> Result<Self, String> {
        u16::try_from(number).map(Self).map_err(|_| format!("{number} is not a number from 0 to {}", u16::MAX))
    }
}

impl From<Number> for i64 {
    fn from(number: Number) -> Self {
        number.0.into()
    }
}

/// Defines a type of size with an upper limit.
macro_rules! size {
    ($(#[$about:meta])* $Type:ident, $most:expr) => {
        $(#[$about])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize)]
        #[serde(try_from = "i64", into = "i64")]
        pub(crate) struct $Type(pub(super) u64);

        impl $Type {
            pub(crate) fn size(self) -> bashful_engine::ByteSize {
                bashful_engine::ByteSize(self.0)
            }
        }

        impl TryFrom<i64> for $Type {
            type Error = String;

            fn try_from(bytes: i64) -> Result<Self, String> {
                const MOST: u64 = $most;
                u64::try_from(bytes)
                    .ok()
                    .filter(|bytes| *bytes <= MOST)
                    .map(Self)
                    .ok_or_else(|| format!("{bytes} is not a number of bytes from 0 to {MOST}"))
            }
        }

        impl From<$Type> for i64 {
            fn from(bytes: $Type) -> Self {
                i64::try_from(bytes.0).unwrap_or(i64::MAX)
            }
        }
    };
}

size! {
    /// A size: up to 64 MiB, because so much may be held in memory for each command.
    Bytes, 64 << 20
}

size! {
    /// A size on disk: up to a pebibyte, which is more than any disk and still a number that cannot overflow.
    LargeBytes, 1 << 50
}

/// The treatment of processes that outlive their shell.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Leftovers {
    Keep,
    Stop,
}

/// How much commands may change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize, clap::ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum SandboxModeName {
    Off,
    ReadOnly,
    Workspace,
}

impl SandboxModeName {
    pub(crate) fn mode(self) -> SandboxMode {
        match self {
            Self::Off => SandboxMode::Off,
            Self::ReadOnly => SandboxMode::ReadOnly,
            Self::Workspace => SandboxMode::Workspace,
        }
    }
}

/// The network of commands in a sandbox.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize, clap::ValueEnum)]
#[serde(rename_all = "lowercase")]
pub(crate) enum SandboxNetwork {
    Off,
    List,
    On,
}

/// Ports of this machine.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize)]
#[serde(transparent)]
pub(crate) struct Ports(pub(crate) Vec<u16>);

/// The caches of package managers in a sandbox.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum SandboxCaches {
    Private,
    Shared,
}

/// The name of a dialect.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum DialectName {
    Native,
    Plain,
    Pi,
}

impl DialectName {
    pub(crate) fn dialect(self) -> Dialect {
        match self {
            Self::Native => Dialect::NATIVE,
            Self::Plain => Dialect::PLAIN,
            Self::Pi => Dialect::PI,
        }
    }
}

/// The effect of Escape in the console's overlay.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum EscapeKey {
    Kill,
    Pass,
}

/// The use of rc files.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Snapshots {
    /// In the dialects that promise it.
    Auto,
    On,
    Off,
}

/// Names of variables; `*` stands for anything.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize)]
#[serde(transparent)]
pub(crate) struct Names(pub(crate) Vec<Cow<'static, str>>);

/// Names that are added to those of earlier layers.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize)]
#[serde(transparent)]
pub(crate) struct MoreNames(pub(crate) Vec<Cow<'static, str>>);

impl Merge for MoreNames {
    fn merge(&mut self, later: Self) {
        self.0.extend(later.0);
    }
}

/// A secret text. `bashful config` does not show it either.
#[derive(Clone, PartialEq, Eq, Deserialize)]
#[serde(transparent)]
pub(crate) struct Secret(pub(super) String);

impl Secret {
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn reveal(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("Secret(…)")
    }
}

impl Serialize for Secret {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(if self.is_empty() { "" } else { "(not shown)" })
    }
}

/// Levels of rules by name. A later layer adds to an earlier one.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize)]
#[serde(transparent)]
pub(crate) struct Levels(pub(crate) BTreeMap<String, RuleLevel>);

impl Merge for Levels {
    fn merge(&mut self, later: Self) {
        self.0.extend(later.0);
    }
}

/// Levels of rules that differ in one dialect, by its name. A later layer adds to an earlier one, rule by rule.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize)]
#[serde(try_from = "BTreeMap<String, Levels>", into = "BTreeMap<String, Levels>")]
pub(crate) struct DialectLevels(pub(super) BTreeMap<String, Levels>);

impl DialectLevels {
    /// The levels of one dialect.
    pub(crate) fn of(&self, dialect: Dialect) -> impl Iterator<Item = (&String, RuleLevel)> {
        self.0.get(dialect.name()).into_iter().flat_map(|levels| levels.0.iter().map(|(rule, level)| (rule, *level)))
    }
}

impl TryFrom<BTreeMap<String, Levels>> for DialectLevels {
    type Error = UnknownDialect;

    fn try_from(levels: BTreeMap<String, Levels>) -> Result<Self, UnknownDialect> {
        for name in levels.keys() {
            name.parse::<Dialect>()?;
        }
        Ok(Self(levels))
    }
}

impl From<DialectLevels> for BTreeMap<String, Levels> {
    fn from(levels: DialectLevels) -> Self {
        levels.0
    }
}

impl Merge for DialectLevels {
    fn merge(&mut self, later: Self) {
        for (dialect, levels) in later.0 {
            self.0.entry(dialect).or_insert_with(|| Levels(BTreeMap::new())).merge(levels);
        }
    }
}

/// The level of a rule, or off.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum RuleLevel {
    Off,
    Warn,
    Ask,
    Deny,
}

impl RuleLevel {
    pub(crate) fn setting(self) -> bashful_engine::Setting {
        use bashful_engine::{Level, Setting};
        match self {
            Self::Off => Setting::Off,
            Self::Warn => Setting::At(Level::Warn),
            Self::Ask => Setting::At(Level::Ask),
            Self::Deny => Setting::At(Level::Deny),
        }
    }
}

/// Rules of the interceptor.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize)]
#[serde(transparent)]
pub(crate) struct Intercepts(pub(crate) Vec<Intercept>);

/// A rule of the interceptor: commands whose text matches are better done with another tool.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Intercept {
    pub(crate) pattern: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub(crate) flags: String,
    pub(crate) tool: String,
    pub(crate) message: String,
}

/// Variables and their values. A later layer adds to an earlier one, name by name.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize)]
#[serde(transparent)]
pub(crate) struct Variables(pub(crate) BTreeMap<Cow<'static, str>, Variable>);

impl Merge for Variables {
    fn merge(&mut self, later: Self) {
        self.0.extend(later.0);
    }
}

/// The value of a variable, or `false` to unset it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Variable(pub(crate) Option<Cow<'static, str>>);

impl<'de> Deserialize<'de> for Variable {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct TextOrFalse;
        impl Visitor<'_> for TextOrFalse {
            type Value = Variable;

            fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
                out.write_str("a text, or false to remove the variable")
            }

            fn visit_str<E: de::Error>(self, text: &str) -> Result<Variable, E> {
                if text.contains('\0') {
                    return Err(E::custom("a variable cannot hold a NUL character"));
                }
                Ok(Variable(Some(text.to_owned().into())))
            }

            fn visit_bool<E: de::Error>(self, there: bool) -> Result<Variable, E> {
                if there { Err(E::invalid_value(de::Unexpected::Bool(true), &self)) } else { Ok(Variable(None)) }
            }
        }
        from.deserialize_any(TextOrFalse)
    }
}

impl Serialize for Variable {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        match &self.0 {
            Some(text) => to.serialize_str(text),
            None => to.serialize_bool(false),
        }
    }
}
