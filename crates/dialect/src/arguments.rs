//! Arguments that the dialects share: limits, job ids, line counts, and their errors.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::num::NonZeroU64;
use std::time::Duration;

use bashful_engine::{ByteSize, JobPart, Lifetime, Patience, Request, ScriptError, Stop};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use thiserror::Error;

use crate::terminal_calls::TerminalOptions;
use crate::terminal_sessions::TerminalSessionCall;

/// Longest timeout of a foreground command, in seconds.
pub const MOST_SECONDS: f64 = 3600.0;

/// Longest timeout of a background command, in seconds: 30 days.
pub const MOST_IN_BACKGROUND: f64 = 30.0 * 86_400.0;

/// Default timeouts of a dialect, and the rules for long commands.
#[expect(clippy::struct_excessive_bools, reason = "settings, each of which may be on without the others")]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Timeout of a command whose call names none.
    pub default: Lifetime,
    /// Timeout in mode `slow`.
    pub slow: Lifetime,
    /// Timeout of a background command.
    pub background: Lifetime,
    /// Largest output that is shown whole, as the definitions say. The engine's window enforces it; some clients get less.
    pub shown: ByteSize,
    /// Time after which a command becomes a job although its caller would wait longer; none if that never happens.
    pub auto_after: Option<Patience>,
    /// Enables `async` in pi.
    pub async_enabled: bool,
    /// Condenses outputs in pi.
    pub pi_condense: bool,
    /// Lets a call of pi that finds the shared shell busy run at once in its own shell. Otherwise the call waits its turn.
    pub overlap: bool,
    /// Lets a command of pi have a terminal. It also takes a [`TerminalView`](crate::TerminalView), and a host without
    /// `BASHFUL_NO_PTY=1` or `PI_NO_PTY=1` among its variables.
    pub virtual_terminal: bool,
}

impl Default for Limits {
    /// 30 s exceed any quick command, 15 minutes most builds, and 24 hours a day's work with a server.
    fn default() -> Self {
        Self {
            default: Lifetime(Duration::from_secs(30)),
            slow: Lifetime(Duration::from_mins(15)),
            background: Lifetime(Duration::from_hours(24)),
            shown: ByteSize::kib(128),
            auto_after: None,
            async_enabled: true,
            pi_condense: true,
            overlap: false,
            virtual_terminal: true,
        }
    }
}

/// An error in the arguments of a call.
#[derive(Debug, Error)]
pub(crate) enum ArgumentError {
    /// An argument does not fit the schema.
    #[error("{tool}: {message}")]
    Shape { tool: &'static str, message: String },
    /// The command is empty, too long or has a NUL byte.
    #[error(transparent)]
    Script(#[from] ScriptError),
    /// An argument fits the schema and makes no sense in this call.
    #[error("{0}")]
    Invalid(String),
}

/// A parsed call.
#[derive(Debug)]
pub(crate) enum Call {
    /// A call that runs a command.
    Run(Box<RunCall>),
    /// A call that types a command at the terminal of a session.
    TerminalSession(Box<TerminalSessionCall>),
    /// A call about jobs.
    Jobs(JobsCall),
}

/// A call that runs a command.
#[derive(Debug)]
pub(crate) struct RunCall {
    pub(crate) request: Request,
    pub(crate) wait_mode: WaitMode,
    /// The requested timeout in seconds, if it was out of range.
    pub(crate) clamped_from: Option<f64>,
    /// The call named no timeout.
    pub(crate) has_usual_lifetime: bool,
    pub(crate) notices: Vec<String>,
}

/// The end of a call: when the command ends, when patience runs out, or at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum WaitMode {
    /// Until the command ends.
    ToEnd,
    /// Until the command ends or the caller's patience runs out.
    WithPatience,
    /// The call returns at once with a job.
    InBackground,
}

/// A call about jobs.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum JobsCall {
    /// Lists the jobs of this caller, or with `all` every job of this user.
    List { all: bool },
    /// Shows the state of jobs and a part of their output.
    Show { ids: Vec<u64>, part: Option<JobPart>, terminal: TerminalOptions },
    /// Waits until one of the jobs is over. Without ids, any running job counts.
    Wait { ids: Vec<u64>, at_most: Option<Duration>, part: Option<JobPart>, terminal: TerminalOptions },
    /// Writes text to the input of a job, or types it and presses keys at its terminal, and waits for its screen.
    Send { id: u64, text: String, at_most: Option<Duration>, terminal: TerminalOptions },
    /// Stops jobs, or sends them a signal.
    Kill { ids: Vec<u64>, how: Stop },
    /// Stops some jobs, then waits for others. Without `all`, jobs of other callers do not exist.
    CancelAndPoll { cancel: Vec<u64>, poll: Vec<u64>, all: bool },
}

/// The ids of the named jobs, each once: a second stop of the same job would kill it at once.
pub(crate) fn job_ids(given: Option<Vec<JobNumber>>) -> Vec<u64> {
    unique(given.into_iter().flatten().map(|id| id.0))
}

/// Removes duplicates and keeps the order.
pub fn unique(ids: impl IntoIterator<Item = u64>) -> Vec<u64> {
    let mut unique = Vec::new();
    for id in ids {
        if !unique.contains(&id) {
            unique.push(id);
        }
    }
    unique
}

/// A job id in an argument: `7`, or a text that [`bashful_engine::job_id`] parses.
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
        number.map(Self).ok_or_else(|| format!("{given} is not a job id"))
    }
}

/// A line count in an argument, at least 1. `3.0` counts as 3, and a number beyond `u64` as all lines.
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
        let count = whole.ok_or_else(|| format!("{given} is not a whole number of lines"))?;
        let nothing = || "give at least 1 line, or omit it to see all".to_owned();
        NonZeroU64::new(count).map(Self).ok_or_else(nothing)
    }
}

/// Deserializes arguments. The error names the wrong one.
pub(crate) fn parse_arguments<T: DeserializeOwned>(tool: &'static str, arguments: Value) -> Result<T, ArgumentError> {
    // Some clients send null instead of an empty object.
    let arguments = if arguments.is_null() { Value::Object(serde_json::Map::new()) } else { arguments };
    serde_path_to_error::deserialize(arguments).map_err(|error| {
        let path = error.path().to_string();
        let cause = error.into_inner();
        // A model does not know the names of Rust types.
        let cause = cause
            .to_string()
            .replace("expected f64", "expected a number")
            .replace("expected u64", "expected a whole number")
            .replace("expected path string", "expected a string");
        // Some messages of serde name the field already.
        let named = path == "." || cause.contains(&format!("`{path}`"));
        ArgumentError::Shape { tool, message: if named { cause } else { format!("`{path}`: {cause}") } }
    })
}

/// The `env` argument in the engine's form.
pub(crate) fn variables(env: Option<BTreeMap<String, String>>) -> Vec<(String, OsString)> {
    env.into_iter().flatten().map(|(name, value)| (name, value.into())).collect()
}

/// A requested timeout, brought into the allowed range.
#[derive(Debug, Clone, PartialEq)]
pub struct ClampedTimeout {
    /// The effective timeout.
    pub lifetime: Lifetime,
    /// The notice about a changed timeout; none if the requested one is allowed.
    pub notice: Option<String>,
}

/// Smallest number that a notice writes with an exponent.
const LONG_NUMBER: f64 = 1e15;

/// Brings a number of seconds into the range from 1 to `most`. NaN becomes 1.
pub fn clamp_timeout(asked: f64, most: f64) -> ClampedTimeout {
    let seconds = asked.max(1.0).min(most);
    let is_allowed = (1.0..=most).contains(&asked);
    // 1e308 has 309 digits.
    let asked_text = if asked.abs() < LONG_NUMBER { asked.to_string() } else { format!("{asked:e}") };
    let notice = || format!("Timeout clamped to {seconds}s (requested {asked_text}s; allowed range 1-{most}s).");
    ClampedTimeout {
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
        assert_eq!(job_ids(Some(given.to_vec())), [7, 3]);
        assert_eq!(job_ids(None), [0; 0]);
    }

    #[test]
    fn a_time_is_brought_within_its_limits_and_that_is_said() {
        let check = |asked, seconds, notice: Option<&str>| {
            let clamped = clamp_timeout(asked, MOST_SECONDS);
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
        assert_eq!(lines(json!(0)), Err("give at least 1 line, or omit it to see all".to_owned()));
        for given in [json!(-1), json!(1.5), json!("3"), json!([3]), json!(-1e300)] {
            let expected = format!("{given} is not a whole number of lines");
            assert_eq!(lines(given), Err(expected));
        }
    }
}
