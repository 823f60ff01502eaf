//! Parses the arguments of pi's `bash` and `job`.

use std::collections::BTreeMap;
use std::path::PathBuf;

use bashful_engine::{Lines, Request, Script, Streams, TerminalRequest};
use serde::Deserialize;
use serde_json::Value;

use super::WINDOW;
use crate::arguments::{
    ArgumentError, Call, JobNumber, JobsCall, Limits, LineCount, MOST_SECONDS, RunCall, WaitMode, clamp_timeout,
    job_ids, parse_arguments, variables,
};
use crate::bash_call::{BashCall, BashMode, BashTerminal};

/// Timeout in seconds of a call that names none.
const DEFAULT_SECONDS: f64 = 300.0;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct BashArgs {
    command: String,
    #[serde(default)]
    env: Option<BTreeMap<String, String>>,
    #[serde(default)]
    timeout: Option<f64>,
    #[serde(default)]
    cwd: Option<PathBuf>,
    #[serde(default)]
    head: Option<LineCount>,
    #[serde(default)]
    tail: Option<LineCount>,
    #[serde(default)]
    pty: Option<bool>,
    #[serde(default, rename = "async")]
    in_background: Option<bool>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct JobArgs {
    #[serde(default)]
    poll: Option<Vec<Value>>,
    #[serde(default)]
    cancel: Option<Vec<Value>>,
    #[serde(default)]
    list: Option<bool>,
    #[serde(default)]
    all: Option<bool>,
}

/// Parses the arguments of `bash`.
pub(crate) fn parse_bash(arguments: Value) -> Result<BashCall, ArgumentError> {
    let args: BashArgs = parse_arguments("bash", arguments)?;
    Ok(BashCall {
        command: args.command,
        mode: if args.in_background == Some(true) { BashMode::Background } else { BashMode::Default },
        timeout: args.timeout,
        cwd: args.cwd,
        env: variables(args.env),
        pty: if args.pty == Some(true) { BashTerminal::Requested } else { BashTerminal::None },
        lines: Lines::of(args.head.map(|head| head.0), args.tail.map(|tail| tail.0)),
        ..BashCall::default()
    })
}

/// Turns a call of `bash` into a command.
pub(crate) fn bash(args: BashCall, limits: &Limits) -> Result<Call, ArgumentError> {
    if let Some((name, _)) = args.env.iter().find(|(name, _)| !is_variable_name(name)) {
        return Err(ArgumentError::Invalid(format!("Invalid bash env name: {name}")));
    }
    let in_background = args.mode == BashMode::Background;
    if in_background && !limits.async_enabled {
        let text = "Async bash execution is disabled. Enable async.enabled to use async mode.";
        return Err(ArgumentError::Invalid(text.to_owned()));
    }
    let asked = args.timeout.unwrap_or(DEFAULT_SECONDS);
    let clamped = clamp_timeout(asked, MOST_SECONDS);
    let mut request = Request::new(Script::new(args.command)?);
    request.lifetime = Some(clamped.lifetime);
    request.workdir = args.cwd;
    request.env = args.env;
    request.window = Some(WINDOW);
    request.lines = args.lines;
    let clamped_from = clamped.notice.is_some().then_some(asked);
    let notices = clamped.notice.into_iter().collect();
    let wait_mode = if in_background { WaitMode::InBackground } else { WaitMode::WithPatience };
    if args.pty != BashTerminal::None && !in_background {
        request.streams = Streams::Terminal(TerminalRequest { unattended: true, ..TerminalRequest::default() });
    }
    Ok(Call::Run(Box::new(RunCall { request, wait_mode, clamped_from, has_usual_lifetime: false, notices })))
}

/// Parses the arguments of `job`.
pub(crate) fn job(arguments: Value) -> Result<Call, ArgumentError> {
    let args: JobArgs = parse_arguments("job", arguments)?;
    let all = args.all == Some(true);
    if args.list == Some(true) {
        if args.poll.is_some() || args.cancel.is_some() {
            let text = "`list` cannot be combined with `poll` or `cancel`.";
            return Err(ArgumentError::Invalid(text.to_owned()));
        }
        return Ok(Call::Jobs(JobsCall::List { all }));
    }
    Ok(Call::Jobs(JobsCall::CancelAndPoll { cancel: parse_ids(args.cancel)?, poll: parse_ids(args.poll)?, all }))
}

/// The ids of the named jobs. A text that is no job id gets the error of an unknown job.
fn parse_ids(given: Option<Vec<Value>>) -> Result<Vec<u64>, ArgumentError> {
    let number = |given: Value| {
        let name = given.as_str().map_or_else(|| given.to_string(), str::to_owned);
        let not_found = |_| ArgumentError::Invalid(format!("Background job not found: {name}"));
        JobNumber::try_from(given).map_err(not_found)
    };
    let numbers: Option<Vec<JobNumber>> =
        given.map(|given| given.into_iter().map(number).collect::<Result<_, _>>()).transpose()?;
    Ok(job_ids(numbers))
}

fn is_variable_name(name: &str) -> bool {
    let mut chars = name.chars();
    let first = chars.next().is_some_and(|char| char.is_ascii_alphabetic() || char == '_');
    first && chars.all(|char| char.is_ascii_alphanumeric() || char == '_')
}
