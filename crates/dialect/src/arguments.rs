//! What the arguments of all dialects have in common.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::num::NonZeroU64;
use std::time::Duration;

use bashful_engine::{ByteSize, Grace, Lifetime, Patience, Request, ScriptError, Stop};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use thiserror::Error;

/// The longest that a caller may ask for, in seconds.
pub const MOST_SECONDS: f64 = 3600.0;

/// The same in the background: 30 days.
pub const MOST_IN_BACKGROUND: f64 = 30.0 * 86_400.0;

/// How long commands may run that do not say how long, and what becomes of long ones.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Usually.
    pub default: Lifetime,
    /// If they are said to be slow.
    pub slow: Lifetime,
    /// In the background.
    pub background: Lifetime,
    /// Output that is shown whole, as the definitions tell a model. The engine's window decides; a client may be shown less.
    pub shown: ByteSize,
    /// After how long a command becomes a job by itself, however long its caller would wait; none if it never does.
    pub auto_after: Option<Patience>,
    /// Whether pi may start commands in the background.
    pub async_enabled: bool,
    /// How long a command of pi may take to stop. Its tool promises 5 s.
    pub pi_grace: Grace,
    /// True if a call of pi that finds the shared shell busy runs at once, in a shell of its own. Otherwise it waits its turn.
    pub overlap: bool,
    /// Whether a command of pi may have a terminal. It also takes a [`TerminalView`](crate::TerminalView), and a host without
    /// `BASHFUL_NO_PTY=1` or `PI_NO_PTY=1` among its variables.
    pub virtual_terminal: bool,
}

impl Default for Limits {
    /// Nobody waits half a minute for a listing; a build takes minutes; a server runs until the next day.
    fn default() -> Self {
        Self {
            default: Lifetime(Duration::from_secs(30)),
            slow: Lifetime(Duration::from_mins(15)),
            background: Lifetime(Duration::from_hours(24)),
            shown: ByteSize::kib(128),
            auto_after: None,
            async_enabled: true,
            pi_grace: Grace(Duration::from_secs(5)),
            overlap: false,
            virtual_terminal: true,
        }
    }
}

/// Why arguments cannot be used.
#[derive(Debug, Error)]
pub(crate) enum ArgumentError {
    /// They are not what the schema says.
    #[error("{tool}: {message}")]
    Shape { tool: &'static str, message: String },
    /// The command cannot be one.
    #[error(transparent)]
    Script(#[from] ScriptError),
    /// One of them makes no sense here.
    #[error("{0}")]
    Senseless(String),
}

/// What a model asks for.
#[derive(Debug)]
pub(crate) enum Call {
    /// A command.
    Run(Box<RunCall>),
    /// Something about jobs.
    Jobs(JobsCall),
}

/// A command, as a model asks for it.
#[derive(Debug)]
pub(crate) struct RunCall {
    pub(crate) request: Request,
    pub(crate) manner: Manner,
    /// How many seconds it was to run, if that was too few or too many.
    pub(crate) clamped_from: Option<f64>,
    pub(crate) notices: Vec<String>,
}

/// How a command is waited for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Manner {
    /// To its end, whatever that takes.
    ToItsEnd,
    /// As long as the caller has patience.
    WithPatience,
    /// Not at all.
    InBackground,
}

/// What a model wants of jobs.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum JobsCall {
    /// Which there are: those of this caller, or all of this user's.
    List { all: bool },
    /// The end of their output, or what comes behind an offset.
    Show { ids: Vec<u64>, part: bashful_engine::JobPart },
    /// The end of the first of them; of any that runs, if none is named.
    Wait { ids: Vec<u64>, at_most: Option<Duration>, part: bashful_engine::JobPart },
    /// Something to read.
    Send { id: u64, text: String },
    /// Their end.
    Kill { ids: Vec<u64>, how: Stop },
    /// The end of some, and then waiting for others. Jobs of other callers are only there with `all`.
    CancelAndPoll { cancel: Vec<u64>, poll: Vec<u64>, all: bool },
}

/// The jobs that were named, each once: to stop one twice would mean to kill it.
pub(crate) fn numbers(given: Option<Vec<JobNumber>>) -> Vec<u64> {
    unique(given.into_iter().flatten().map(|id| id.0))
}

/// Each once, as they came.
pub fn unique(ids: impl IntoIterator<Item = u64>) -> Vec<u64> {
    let mut unique = Vec::new();
    for id in ids {
        if !unique.contains(&id) {
            unique.push(id);
        }
    }
    unique
}

/// The number of a job: `7`, or a text that [`bashful_engine::job_id`] reads.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(try_from = "Value")]
pub(crate) struct JobNumber(pub(crate) u64);

impl TryFrom<Value> for JobNumber {
    type Error = String;

    fn try_from(given: Value) -> Result<Self, String> {
        let number = match &given {
            Value::Number(number) => number.as_u64().filter(|number| *number > 0),
            Value::String(text) => bashful_engine::job_id(text).ok(),
            _ => None,
        };
        number.map(Self).ok_or_else(|| format!("{given} is not the id of a job"))
    }
}

/// A number of lines: at least one. A number with nothing behind its point is whole, and one too large to count means all.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(try_from = "Value")]
pub(crate) struct LineCount(pub(crate) NonZeroU64);

impl TryFrom<Value> for LineCount {
    type Error = String;

    fn try_from(given: Value) -> Result<Self, String> {
        let whole = given.as_u64().or_else(|| {
            let number = given.as_f64().filter(|number| *number >= 0.0 && number.fract() == 0.0)?;
            #[expect(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                reason = "a larger number means all lines"
            )]
            Some(number as u64)
        });
        let count = whole.ok_or_else(|| format!("{given} is not a number of lines; give a whole number from 1 on"))?;
        let nothing = || "0 lines would show nothing; give 1 or more, or leave it out to see all".to_owned();
        NonZeroU64::new(count).map(Self).ok_or_else(nothing)
    }
}

/// Reads arguments as what they should be, and names the one that is wrong.
pub(crate) fn read<T: DeserializeOwned>(tool: &'static str, arguments: Value) -> Result<T, ArgumentError> {
    // Some clients send nothing where there is nothing to send.
    let arguments = if arguments.is_null() { Value::Object(serde_json::Map::new()) } else { arguments };
    serde_path_to_error::deserialize(arguments).map_err(|error| {
        let path = error.path().to_string();
        let cause = error.into_inner();
        // A model knows no types of ours.
        let cause = cause
            .to_string()
            .replace("expected f64", "expected a number")
            .replace("expected u64", "expected a whole number")
            .replace("expected path string", "expected a string");
        // Some messages name the field themselves.
        let named = path == "." || cause.contains(&format!("`{path}`"));
        ArgumentError::Shape { tool, message: if named { cause } else { format!("`{path}`: {cause}") } }
    })
}

/// Takes an argument out that is not in the schema, because what it asks for cannot be had here.
pub(crate) fn take(arguments: &mut Value, name: &str) -> Option<Value> {
    arguments.as_object_mut()?.remove(name).filter(|value| !value.is_null())
}

/// Variables, as the engine takes them.
pub(crate) fn variables(env: Option<BTreeMap<String, String>>) -> Vec<(String, OsString)> {
    env.into_iter().flatten().map(|(name, value)| (name, value.into())).collect()
}

/// A time that was asked for, within what is allowed.
#[derive(Debug, Clone, PartialEq)]
pub struct Clamped {
    /// How long it will be.
    pub lifetime: Lifetime,
    /// What has to be said, if that is not what was asked for.
    pub notice: Option<String>,
}

/// A number from here on is written with an exponent.
const LONG_NUMBER: f64 = 1e15;

/// Brings a number of seconds within 1 and `most`. What is no number becomes 1.
pub fn clamp(asked: f64, most: f64) -> Clamped {
    let seconds = asked.max(1.0).min(most);
    let is_allowed = (1.0..=most).contains(&asked);
    // 1e308 has 309 digits, which nobody wants to read.
    let asked_text = if asked.abs() < LONG_NUMBER { asked.to_string() } else { format!("{asked:e}") };
    let notice = || format!("Timeout clamped to {seconds}s (requested {asked_text}s; allowed range 1-{most}s).");
    Clamped {
        lifetime: Lifetime(Duration::from_secs_f64(seconds)),
        notice: if is_allowed { None } else { Some(notice()) },
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_job_is_known_by_any_of_its_names() {
        for given in [json!(7), json!("7"), json!("job://7"), json!("bg_7"), json!("job://bg_7")] {
            assert_eq!(JobNumber::try_from(given).expect("a job").0, 7);
        }
        for given in [json!(0), json!(-1), json!(1.5), json!("seven"), json!(null), json!([7])] {
            assert!(JobNumber::try_from(given.clone()).is_err(), "{given}");
        }
    }

    #[test]
    fn a_job_that_is_named_twice_is_meant_once() {
        let given = [json!(7), json!("bg_3"), json!("job://7")].map(|id| JobNumber::try_from(id).expect("a job"));
        assert_eq!(numbers(Some(given.to_vec())), [7, 3]);
        assert_eq!(numbers(None), [0; 0]);
    }

    #[test]
    fn a_time_is_brought_within_its_limits_and_that_is_said() {
        let check = |asked, seconds, notice: Option<&str>| {
            let clamped = clamp(asked, MOST_SECONDS);
            assert_eq!(clamped.lifetime, Lifetime(Duration::from_secs_f64(seconds)));
            assert_eq!(clamped.notice.as_deref(), notice);
        };
        check(2.5, 2.5, None);
        check(3600.0, 3600.0, None);
        check(0.0, 1.0, Some("Timeout clamped to 1s (requested 0s; allowed range 1-3600s)."));
        check(9999.0, 3600.0, Some("Timeout clamped to 3600s (requested 9999s; allowed range 1-3600s)."));
        check(1e308, 3600.0, Some("Timeout clamped to 3600s (requested 1e308s; allowed range 1-3600s)."));
        check(-1e-7, 1.0, Some("Timeout clamped to 1s (requested -0.0000001s; allowed range 1-3600s)."));
        check(f64::NAN, 1.0, Some("Timeout clamped to 1s (requested NaNs; allowed range 1-3600s)."));
    }

    #[test]
    fn a_number_of_lines_is_at_least_one() {
        let lines = |given| LineCount::try_from(given).map(|count| count.0.get());
        assert_eq!(lines(json!(3)), Ok(3));
        assert_eq!(lines(json!(3.0)), Ok(3));
        assert_eq!(lines(json!(1e300)), Ok(u64::MAX));
        assert_eq!(
            lines(json!(0)),
            Err("0 lines would show nothing; give 1 or more, or leave it out to see all".to_owned())
        );
        for given in [json!(-1), json!(1.5), json!("3"), json!([3]), json!(-1e300)] {
            let expected = format!("{given} is not a number of lines; give a whole number from 1 on");
            assert_eq!(lines(given), Err(expected));
        }
    }
}
