//! `bashful run --dialect`: runs one command through a model's tool and prints its reply.

use std::error::Error;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use bashful_dialect::{BashArgument, BashCall, BashMode, Dialect, ToolCaller, Toolbox, how_to_allow};
use bashful_engine::{Canceller, CommandLog, CommandRecord, Engine, Fate, Patience, error_chain};
use serde_json::json;
use thiserror::Error;

use crate::cli::{Mode, RunArgs};
use crate::condense;
use crate::exit::Exit;
use crate::guard;
use crate::log::Log;
use crate::print;
use crate::request;
use crate::settings::Settings;
use crate::setup::{self, SetupError};
use crate::signals::Signals;
use crate::surroundings::Surroundings;

/// A part of the call is no text, as a model's or a program's would be.
#[derive(Debug, Error)]
#[error("{what} is not UTF-8")]
pub(crate) struct NotText {
    pub(crate) what: &'static str,
}

/// Calls the tool, and prints the text that a model would read, or the facts.
pub(crate) fn main(args: &RunArgs, dialect: Dialect, file: Option<&Path>) -> Result<Exit, Box<dyn Error>> {
    let around = Surroundings::read();
    let (mut settings, _) = around.settings(file)?;
    args.command.change(&mut settings);
    guard::set_dialect_levels(&mut settings, dialect);
    let mut asked = bash_call(args)?;
    // A tool without the argument `cwd` runs in the server's directory.
    let cwd = asked.cwd.take_if(|_| !dialect.has(BashArgument::Cwd));
    let called = call(args, dialect, &settings, &around, (cwd.as_deref(), asked));
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
    (cwd, asked): (Option<&Path>, BashCall),
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
        toolbox.interceptor = guard::tool_advice(settings);
        let patience = args.patience.map(Patience);
        let (canceller, cancellation) = Canceller::new();
        let caller = ToolCaller { patience, cancellation: Some(cancellation), ..ToolCaller::default() };
        let mut call = Box::pin(toolbox.run(asked, caller));
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

/// The command-line options as a call of the tool.
fn bash_call(args: &RunArgs) -> Result<BashCall, Box<dyn Error>> {
    let command =
        String::from_utf8(request::script(&args.command.script)?).map_err(|_| NotText { what: "the command" })?;
    // A number that is not finite would be clamped to another one.
    if let Some(timeout) = args.command.timeout.filter(|timeout| !timeout.is_finite()) {
        return Err(SetupError::Timeout(timeout).into());
    }
    Ok(BashCall {
        mode: match args.command.mode() {
            Mode::Default => BashMode::Default,
            Mode::Slow => BashMode::Slow,
            Mode::Background => BashMode::Background,
        },
        timeout: args.command.timeout,
        cwd: args.command.cwd.clone(),
        env: args.command.env.iter().map(request::variable).collect::<Result<_, _>>()?,
        session: args.command.session.as_ref().map(|name| name.as_str().to_owned()),
        stdin: args.stdin,
        ..BashCall::new(command)
    })
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

    fn notice(&self) -> Option<String> {
        self.log.as_ref()?.notice()
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
            Fate::Refused(refusal) => Some(how_to_allow(&refusal.given, &refusal.redactor)),
            _ => None,
        }
    }

    /// The exit code of the command. A command that never started has failed.
    pub(crate) fn exit(&self) -> Exit {
        match self.fate() {
            Some(Fate::InBackground | Fate::Sent) => Exit::Code(0),
            Some(Fate::Ended(end)) => Exit::of(end, None),
            _ => Exit::Failed,
        }
    }
}
