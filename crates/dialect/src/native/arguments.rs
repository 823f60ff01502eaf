//! Parses the arguments of `bash` and `job`.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use bashful_engine::{
    Input, JobPart, PERSON_PREFIX, Request, SandboxMode, Script, SessionName, Stop, Streams, TerminalRequest,
};
use bashful_sys::signal;
use serde::Deserialize;
use serde_json::Value;

use crate::arguments::{
    ArgumentError, Call, JobNumber, JobsCall, Limits, MOST_IN_BACKGROUND, MOST_SECONDS, RunCall, WaitMode,
    clamp_timeout, job_ids, parse_arguments, variables,
};
use crate::bash_call::{BashCall, BashMode, BashTerminal};
use crate::terminal_calls::{SETTLE_WAIT, TerminalOptions, TerminalUntil, compile, parse_keys};
use crate::terminal_sessions::TerminalSessionCall;

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
    pty: Option<bool>,
    #[serde(default)]
    session: Option<String>,
    #[serde(default)]
    sandbox: Option<SandboxWord>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum SandboxWord {
    Off,
    Workspace,
    ReadOnly,
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
    #[serde(default)]
    keys: Option<KeyNames>,
    #[serde(default)]
    until: Option<UntilWord>,
    #[serde(default)]
    pattern: Option<String>,
    #[serde(default)]
    colors: Option<bool>,
}

/// Names of keys: a list, or one name alone.
#[derive(Debug, Deserialize)]
#[serde(try_from = "Value")]
struct KeyNames(Vec<String>);

impl TryFrom<Value> for KeyNames {
    type Error = String;

    fn try_from(given: Value) -> Result<Self, String> {
        let name = |value: Value| if let Value::String(name) = value { Some(name) } else { None };
        let names = match given {
            Value::Array(names) => names.into_iter().map(name).collect(),
            one => name(one).map(|name| vec![name]),
        };
        names.map(Self).ok_or_else(|| "a list of key names is expected, like [\"Enter\"]".to_owned())
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum UntilWord {
    Input,
    Quiet,
    End,
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
pub(crate) fn parse_bash(arguments: Value) -> Result<BashCall, ArgumentError> {
    let args: BashArgs = parse_arguments("bash", arguments)?;
    Ok(BashCall {
        command: args.command,
        mode: match args.mode.unwrap_or_default() {
            Mode::Default => BashMode::Default,
            Mode::Slow => BashMode::Slow,
            Mode::Background => BashMode::Background,
        },
        timeout: args.timeout,
        cwd: args.cwd,
        env: variables(args.env),
        session: args.session,
        stdin: args.stdin == Some(true),
        pty: if args.pty == Some(true) { BashTerminal::Requested } else { BashTerminal::None },
        lines: None,
        sandbox: args.sandbox.map(|word| match word {
            SandboxWord::Off => SandboxMode::Off,
            SandboxWord::Workspace => SandboxMode::Workspace,
            SandboxWord::ReadOnly => SandboxMode::ReadOnly,
        }),
    })
}

/// Turns a call of `bash` into a command.
pub(crate) fn bash(args: BashCall, limits: &Limits) -> Result<Call, ArgumentError> {
    let mut notices = Vec::new();
    // A person's terminal lives as long as any job.
    let mode = if args.pty == BashTerminal::Attended { BashMode::Background } else { args.mode };
    let mut request = Request::new(Script::new(args.command.as_str())?);
    let (usual, most) = match mode {
        BashMode::Default => (limits.default, MOST_SECONDS),
        BashMode::Slow => (limits.slow, MOST_SECONDS),
        BashMode::Background => (limits.background, MOST_IN_BACKGROUND),
    };
    let has_usual_lifetime = args.timeout.is_none();
    let clamped = args.timeout.map(|asked| clamp_timeout(asked, most));
    request.lifetime = Some(clamped.as_ref().map_or(usual, |clamped| clamped.lifetime));
    request.job_lifetime = has_usual_lifetime.then(|| limits.background.max(usual));
    notices.extend(clamped.and_then(|clamped| clamped.notice));
    request.workdir = args.cwd;
    request.env = args.env;
    request.sandbox = args.sandbox;
    let session = args.session.map(SessionName::new).transpose();
    request.session = session.map_err(|error| ArgumentError::Invalid(format!("`session`: {error}")))?;
    if request.session.as_ref().is_some_and(SessionName::is_of_person) {
        let why = format!("`session`: names that begin with `{PERSON_PREFIX}` are for shells of people");
        return Err(ArgumentError::Invalid(why));
    }
    if args.stdin {
        if mode != BashMode::Background {
            return Err(ArgumentError::Invalid("`stdin` needs mode \"background\"".to_owned()));
        }
        request.input = Input::Open;
    }
    if args.pty != BashTerminal::None {
        if mode != BashMode::Background && request.session.is_none() {
            return Err(ArgumentError::Invalid(
                "`pty` needs mode \"background\" or a `session`: the reply then has a job, whose screen the job tool shows"
                    .to_owned(),
            ));
        }
        if request.input == Input::Open {
            return Err(ArgumentError::Invalid(
                "`pty` and `stdin` exclude each other: a terminal takes input".to_owned(),
            ));
        }
        request.streams = Streams::Terminal(TerminalRequest::default());
        if let Some(name) = request.session.clone().filter(|_| mode != BashMode::Background) {
            // The time is for this call. The shell lives as long as any job.
            let at_most = request.lifetime.replace(limits.background).map_or(SETTLE_WAIT, |lifetime| lifetime.0);
            let call = TerminalSessionCall::new(name, args.command, request, at_most, notices)?;
            return Ok(Call::TerminalSession(Box::new(call)));
        }
    }
    let wait_mode = if mode == BashMode::Background { WaitMode::InBackground } else { WaitMode::WithPatience };
    Ok(Call::Run(Box::new(RunCall { request, wait_mode, clamped_from: None, has_usual_lifetime, notices })))
}

/// Parses the arguments of `job`.
pub(crate) fn job(arguments: Value) -> Result<Call, ArgumentError> {
    let args: JobArgs = parse_arguments("job", arguments)?;
    let invalid = |text: &str| ArgumentError::Invalid(text.to_owned());
    let ids = job_ids(args.ids);
    let part = args.since.map(JobPart::Since).or(args.lines.map(JobPart::LastLines));
    let at_most = args.wait_seconds.map(seconds).transpose()?;
    let terminal = terminal_options(args.keys, args.until, args.pattern, args.colors)?;
    if !terminal.keys.is_empty() && args.action != Action::Send {
        return Err(invalid("job: `keys` are for action \"send\""));
    }
    if ids.is_empty() && matches!(args.action, Action::Show | Action::Send | Action::Kill) {
        return Err(invalid("job: this action needs `ids`"));
    }
    Ok(Call::Jobs(match args.action {
        Action::List => JobsCall::List { all: true },
        Action::Show => JobsCall::Show { ids, part, terminal },
        Action::Wait => JobsCall::Wait { ids, at_most, part, terminal },
        Action::Send => {
            let [id] = ids[..] else { return Err(invalid("job: `send` takes one id")) };
            if args.input.is_none() && terminal.keys.is_empty() {
                return Err(invalid("job: `send` needs `input`, or `keys` for a terminal"));
            }
            JobsCall::Send { id, text: args.input.unwrap_or_default(), at_most, terminal }
        }
        Action::Kill => {
            JobsCall::Kill { ids, how: args.signal.as_deref().map(stop_with).transpose()?.unwrap_or(Stop::Ask) }
        }
    }))
}

fn terminal_options(
    keys: Option<KeyNames>,
    until: Option<UntilWord>,
    pattern: Option<String>,
    colors: Option<bool>,
) -> Result<TerminalOptions, ArgumentError> {
    let keys = keys.map(|KeyNames(names)| names).unwrap_or_default();
    // Mistakes are told before anything is done.
    parse_keys(&keys).map_err(ArgumentError::Invalid)?;
    let until = match (until, pattern) {
        (Some(_), Some(_)) => {
            return Err(ArgumentError::Invalid("job: give `until` or `pattern`, not both".to_owned()));
        }
        (None, Some(pattern)) => {
            compile(&pattern).map_err(ArgumentError::Invalid)?;
            Some(TerminalUntil::Pattern(pattern))
        }
        (until, None) => until.map(|until| match until {
            UntilWord::Input => TerminalUntil::Input,
            UntilWord::Quiet => TerminalUntil::Quiet,
            UntilWord::End => TerminalUntil::End,
        }),
    };
    Ok(TerminalOptions { keys, until, colors: colors.unwrap_or(false) })
}

fn seconds(given: f64) -> Result<Duration, ArgumentError> {
    let wrong = |_| ArgumentError::Invalid(format!("job: `wait_seconds` cannot be {given}"));
    Duration::try_from_secs_f64(given).map_err(wrong)
}

fn stop_with(name: &str) -> Result<Stop, ArgumentError> {
    let number = signal::number(name);
    number.map(Stop::Signal).ok_or_else(|| ArgumentError::Invalid(format!("job: there is no signal {name:?}")))
}
