//! `bashful run --dialect`: runs one command through a model's tool and prints its reply.

use std::error::Error;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use bashful_dialect::{Abilities, Dialect, Tool, ToolCaller, Toolbox, how_to_allow};
use bashful_engine::{Canceller, CommandLog, CommandRecord, Engine, Fate, Interceptor, Patience, error_chain};
use serde_json::{Map, Value, json};
use thiserror::Error;

use crate::cli::{Mode, RunArgs};
use crate::condense;
use crate::exit::Exit;
use crate::guard::{self, ToolAdvice};
use crate::log::Log;
use crate::print;
use crate::settings::Settings;
use crate::setup::{self, SetupError, Surroundings};
use crate::signals::Signals;

/// An option that the dialect's tool does not have.
#[derive(Debug, Error)]
pub(crate) enum AskError {
    #[error("{what} is not UTF-8, and tools are called with JSON")]
    NotText { what: &'static str },
    #[error("the {dialect} dialect has no tool `bash`")]
    NoBash { dialect: Dialect },
    #[error("the {dialect} dialect has no {option}")]
    NoSuchOption { dialect: Dialect, option: &'static str },
}

/// Calls the tool, and prints the text that a model would read, or the facts.
pub(crate) fn main(args: &RunArgs, dialect: Dialect, file: Option<&Path>) -> Result<Exit, Box<dyn Error>> {
    let around = Surroundings::read();
    let (mut settings, _) = around.settings(file)?;
    guard::set_dialect_levels(&mut settings, dialect);
    let tools = dialect.tools(&setup::limits(&settings), Path::new("/"), Abilities::ALL);
    let bash = tools.iter().find(|tool| tool.name == "bash").ok_or(AskError::NoBash { dialect })?;
    let arguments = arguments(args, dialect, bash)?;
    // A tool without the argument `cwd` runs in the server's directory.
    let cwd = args.command.cwd.as_deref().filter(|_| !takes(bash, "cwd"));
    let called = call(args, dialect, &settings, &around, (cwd, arguments));
    called.or_else(|error| {
        if dialect != Dialect::PLAIN {
            return Err(error);
        }
        // Callers of `plain` parse JSON, also when the command could not run.
        print::json(json!({ "error": error_chain(error.as_ref()) }), print::redactor())?;
        Ok(Exit::Failed)
    })
}

/// Calls the tool in `cwd`, or in the current directory.
fn call(
    args: &RunArgs,
    dialect: Dialect,
    settings: &Settings,
    around: &Surroundings,
    (cwd, arguments): (Option<&Path>, Value),
) -> Result<Exit, Box<dyn Error>> {
    let here = setup::directory(around, cwd)?;
    let runtime = setup::runtime()?;
    let ran = runtime.block_on(async {
        let mut signals = Signals::new()?;
        let mut options = setup::options(settings, around, Some(&here))?;
        let limits = setup::limits(settings);
        dialect.adjust(&mut options, &limits);
        condense::load_filters(&mut options.condensing, settings, around)?;
        options.directory.clone_from(&here);
        let last = Arc::new(LastRecord::new(Log::new(settings, around, "run")));
        let mut toolbox = Toolbox::new(Engine::new(options)?, dialect, limits, &here);
        toolbox.no_state = around.state().notice();
        toolbox.log = Some(Arc::clone(&last) as Arc<dyn CommandLog>);
        toolbox.interceptor = ToolAdvice::new(settings).map(|advice| Arc::new(advice) as Arc<dyn Interceptor>);
        let patience = args.patience.map(Patience);
        let (canceller, cancellation) = Canceller::new();
        let caller = ToolCaller { patience, cancellation: Some(cancellation), ..ToolCaller::default() };
        let mut call = Box::pin(toolbox.call("bash", arguments, caller));
        let mut interrupted = None;
        let answer = loop {
            tokio::select! {
                answer = &mut call => break answer?,
                number = signals.next() => {
                    interrupted = Some(number);
                    canceller.cancel();
                }
            }
        };
        drop(call);
        let shown = if args.json { answer.structured_text() } else { answer.text.into_string() };
        print::data(format!("{}\n", shown.trim_end_matches('\n')).as_bytes())?;
        // The reply for models may lack the advice for the person at the terminal.
        if let Some(how) = last.how_to_allow().filter(|how| !shown.contains(how.as_str())) {
            print::talk(&format!("[{how}]"));
        }
        toolbox.engine().sweep_if_due();
        Ok(interrupted.map_or_else(|| last.exit(), Exit::Signal))
    });
    // A thread may still wait for an answer on the terminal, so do not wait for it.
    runtime.shutdown_background();
    ran
}

/// The command-line options as arguments of the tool.
fn arguments(args: &RunArgs, dialect: Dialect, bash: &Tool) -> Result<Value, Box<dyn Error>> {
    let no = |option| AskError::NoSuchOption { dialect, option };
    let script = setup::script(&args.command.script)?;
    let script = String::from_utf8(script).map_err(|_| AskError::NotText { what: "the command" })?;
    let mut arguments = Map::from_iter([("command".to_owned(), Value::from(script))]);
    let mut give = |name: &str, value: Value| drop(arguments.insert(name.to_owned(), value));
    let mode = match args.command.mode() {
        Mode::Default => None,
        Mode::Slow => Some(dialect.slow().ok_or_else(|| no("--mode slow; --timeout says how long"))?),
        Mode::Background => Some(dialect.background().ok_or_else(|| no("--mode background"))?),
    };
    if let Some((name, value)) = mode {
        give(name, value);
    }
    if let Some(timeout) = args.command.timeout {
        // JSON cannot express it, and without the argument the tool would use its default.
        if !timeout.is_finite() {
            return Err(SetupError::Timeout(timeout).into());
        }
        give("timeout", timeout.into());
    }
    if let Some(cwd) = args.command.cwd.as_deref().filter(|_| takes(bash, "cwd")) {
        give("cwd", cwd.to_str().ok_or(AskError::NotText { what: "--cwd" })?.into());
    }
    if !args.command.env.is_empty() {
        let variable = |given| -> Result<_, Box<dyn Error>> {
            let (name, value) = setup::variable(given)?;
            let value = value.into_string().map_err(|_| AskError::NotText { what: "--env" })?;
            Ok((name, Value::from(value)))
        };
        let variables: Result<Map<String, Value>, _> = args.command.env.iter().map(variable).collect();
        give("env", variables?.into());
    }
    if let Some(session) = &args.command.session {
        if !takes(bash, "session") {
            return Err(no("--session").into());
        }
        give("session", session.as_str().into());
    }
    if args.stdin {
        if !takes(bash, "stdin") {
            return Err(no("--stdin").into());
        }
        give("stdin", true.into());
    }
    Ok(arguments.into())
}

/// True if the tool has an argument of this name.
fn takes(tool: &Tool, argument: &str) -> bool {
    tool.input.get("properties").is_some_and(|properties| properties.get(argument).is_some())
}

/// A command log that keeps the last record.
#[derive(Debug)]
pub(crate) struct LastRecord {
    log: Option<Log>,
    record: Mutex<Option<CommandRecord>>,
}

impl CommandLog for LastRecord {
    fn record(&self, record: &CommandRecord) {
        if let Some(log) = &self.log {
            log.record(record);
        }
        *self.record.lock().unwrap_or_else(PoisonError::into_inner) = Some(record.clone());
    }
}

impl LastRecord {
    pub(crate) fn new(log: Option<Log>) -> Self {
        Self { log, record: Mutex::default() }
    }

    fn fate(&self) -> Option<Fate> {
        self.record.lock().unwrap_or_else(PoisonError::into_inner).as_ref().map(|record| record.fate.clone())
    }

    /// Advice how to allow the command, if the guard refused it.
    fn how_to_allow(&self) -> Option<String> {
        match self.fate()? {
            Fate::Refused(refusal) => Some(how_to_allow(&(&*refusal).into(), &refusal.redactor)),
            _ => None,
        }
    }

    /// The exit code of the command. A command that never started has failed.
    pub(crate) fn exit(&self) -> Exit {
        match self.fate() {
            Some(Fate::InBackground) => Exit::Code(0),
            Some(Fate::Ended(end)) => Exit::of(end, None),
            _ => Exit::Failed,
        }
    }
}
