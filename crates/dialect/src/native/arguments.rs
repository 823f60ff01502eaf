//! Parses the arguments of `bash` and `job`.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use bashful_engine::{Input, JobPart, Request, Script, SessionName, Stop};
use bashful_sys::signal;
use serde::Deserialize;
use serde_json::Value;

use crate::arguments::{
    ArgumentError, Call, JobNumber, JobsCall, Limits, MOST_IN_BACKGROUND, MOST_SECONDS, RunCall, WaitMode,
    clamp_timeout, job_ids, parse_arguments, remove_argument, variables,
};
use crate::job_calls::DEFAULT_LINES;
use crate::text;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct BashArgs {
    command: String,
    #[serde(default)]
    mode: Option<Mode>,
    #[serde(default)]
    timeout: Option<f64>,
    #[serde(default)]
    cwd: Option<PathBuf>,
    #[serde(default)]
    env: Option<BTreeMap<String, String>>,
    #[serde(default)]
    stdin: Option<bool>,
    #[serde(default)]
    session: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Mode {
    #[default]
    Default,
    Slow,
    Background,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct JobArgs {
    action: Action,
    #[serde(default)]
    ids: Option<Vec<JobNumber>>,
    #[serde(default)]
    wait_seconds: Option<f64>,
    #[serde(default)]
    since: Option<u64>,
    #[serde(default)]
    lines: Option<u64>,
    #[serde(default)]
    input: Option<String>,
    #[serde(default)]
    signal: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Action {
    List,
    Show,
    Wait,
    Send,
    Kill,
}

/// Parses the arguments of `bash`.
pub(crate) fn bash(mut arguments: Value, limits: &Limits) -> Result<Call, ArgumentError> {
    let mut notices = Vec::new();
    if remove_argument(&mut arguments, "pty") == Some(Value::Bool(true)) {
        notices.push(text::NO_TERMINAL.to_owned());
    }
    let args: BashArgs = parse_arguments("bash", arguments)?;
    let mode = args.mode.unwrap_or_default();
    let mut request = Request::new(Script::new(args.command)?);
    let (usual, most) = match mode {
        Mode::Default => (limits.default, MOST_SECONDS),
        Mode::Slow => (limits.slow, MOST_SECONDS),
        Mode::Background => (limits.background, MOST_IN_BACKGROUND),
    };
    let clamped = args.timeout.map(|asked| clamp_timeout(asked, most));
    request.lifetime = Some(clamped.as_ref().map_or(usual, |clamped| clamped.lifetime));
    notices.extend(clamped.and_then(|clamped| clamped.notice));
    request.workdir = args.cwd;
    request.env = variables(args.env);
    let session = args.session.map(SessionName::new).transpose();
    request.session = session.map_err(|error| ArgumentError::Invalid(format!("`session`: {error}")))?;
    if args.stdin == Some(true) {
        if mode != Mode::Background {
            return Err(ArgumentError::Invalid("`stdin` needs mode \"background\"".to_owned()));
        }
        request.input = Input::Open;
    }
    let wait_mode = if mode == Mode::Background { WaitMode::InBackground } else { WaitMode::WithPatience };
    Ok(Call::Run(Box::new(RunCall { request, wait_mode, clamped_from: None, notices })))
}

/// Parses the arguments of `job`.
pub(crate) fn job(arguments: Value) -> Result<Call, ArgumentError> {
    let args: JobArgs = parse_arguments("job", arguments)?;
    let invalid = |text: &str| ArgumentError::Invalid(text.to_owned());
    let ids = job_ids(args.ids);
    let part = args.since.map_or(JobPart::LastLines(args.lines.unwrap_or(DEFAULT_LINES)), JobPart::Since);
    if ids.is_empty() && matches!(args.action, Action::Show | Action::Send | Action::Kill) {
        return Err(invalid("job: this action needs `ids`"));
    }
    Ok(Call::Jobs(match args.action {
        Action::List => JobsCall::List { all: true },
        Action::Show => JobsCall::Show { ids, part },
        Action::Wait => JobsCall::Wait { ids, at_most: args.wait_seconds.map(seconds).transpose()?, part },
        Action::Send => {
            let [id] = ids[..] else { return Err(invalid("job: `send` takes one id")) };
            let mut text = args.input.ok_or_else(|| invalid("job: `send` needs `input`"))?;
            if !text.ends_with('\n') {
                text.push('\n');
            }
            JobsCall::Send { id, text }
        }
        Action::Kill => {
            JobsCall::Kill { ids, how: args.signal.as_deref().map(stop_with).transpose()?.unwrap_or(Stop::Ask) }
        }
    }))
}

fn seconds(given: f64) -> Result<Duration, ArgumentError> {
    let wrong = |_| ArgumentError::Invalid(format!("job: `wait_seconds` cannot be {given}"));
    Duration::try_from_secs_f64(given).map_err(wrong)
}

fn stop_with(name: &str) -> Result<Stop, ArgumentError> {
    let number = signal::number(name);
    number.map(Stop::Signal).ok_or_else(|| ArgumentError::Invalid(format!("job: there is no signal {name:?}")))
}
