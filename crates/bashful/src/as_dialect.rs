//! `bashful run --dialect`: one command, asked for and answered as a model's tool would have it.

use std::error::Error;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use bashful_dialect::{Caller, Dialect, Gate, Ran, Toolbox, Witness};
use bashful_engine::{Engine, Patience};
use serde_json::{Map, Value};
use thiserror::Error;

use crate::cli::{Mode, RunArgs};
use crate::exit::Exit;
use crate::guard::Pointer;
use crate::log::Log;
use crate::print;
use crate::setup::{self, Surroundings};
use crate::signals::Signals;

/// Why a dialect cannot be asked for this.
#[derive(Debug, Error)]
enum AskError {
    #[error("{what} is not UTF-8, and tools are called with JSON")]
    NotText { what: &'static str },
    #[error("the {dialect} dialect has no {option}")]
    NoSuchOption { dialect: Dialect, option: &'static str },
}

/// Calls the tool, and prints what a model would read: the text, or the facts.
pub(crate) fn main(args: &RunArgs, dialect: Dialect, file: Option<&Path>) -> Result<Exit, Box<dyn Error>> {
    let around = Surroundings::read();
    let (settings, _) = around.settings(file)?;
    let arguments = arguments(args, dialect)?;
    let here = setup::directory(&around, args.command.cwd.as_deref().filter(|_| dialect == Dialect::Plain))?;
    let runtime = setup::runtime()?;
    runtime.block_on(async {
        let mut signals = Signals::new()?;
        let mut options = setup::options(&settings, &around, Some(&here))?;
        dialect.adjust(&mut options);
        options.directory.clone_from(&here);
        let seen = Arc::new(Seen { log: Log::new(&settings, &around, "run"), ran: Mutex::default() });
        let mut toolbox = Toolbox::new(Engine::new(options)?, dialect, setup::limits(&settings), &here);
        toolbox.no_state = around.state().notice();
        toolbox.witness = Some(Arc::clone(&seen) as Arc<dyn Witness>);
        toolbox.gate = Pointer::new(&settings)?.map(|pointer| Arc::new(pointer) as Arc<dyn Gate>);
        let patience = args.patience.map(|patience| Patience(patience.duration()));
        let call = toolbox.call("bash", arguments, Caller { patience, ..Caller::default() });
        let answer = tokio::select! {
            answer = call => answer?,
            // A call that is dropped stops its command.
            number = signals.next() => return Ok(Exit::Signal(number)),
        };
        let shown = if args.json { answer.structured().to_string() } else { answer.text };
        print::data(format!("{}\n", shown.trim_end_matches('\n')).as_bytes())?;
        // The model may have been told, too; here it is for whoever has typed this.
        if let Some(how) = seen.how_to_allow().filter(|how| !shown.contains(how.as_str())) {
            print::talk(&format!("[{how}]"));
        }
        toolbox.engine().sweep_if_due();
        Ok(seen.exit())
    })
}

/// What the tool is called with.
fn arguments(args: &RunArgs, dialect: Dialect) -> Result<Value, Box<dyn Error>> {
    let no = |option| AskError::NoSuchOption { dialect, option };
    let script = setup::script(&args.command.script)?;
    let script = String::from_utf8(script).map_err(|_| AskError::NotText { what: "the command" })?;
    let mut arguments = Map::from_iter([("command".to_owned(), Value::from(script))]);
    let mut give = |name: &str, value: Value| drop(arguments.insert(name.to_owned(), value));
    match (dialect, args.command.mode) {
        (_, Mode::Default) => {}
        (Dialect::Native, Mode::Slow) => give("mode", "slow".into()),
        (Dialect::Native, Mode::Background) => give("mode", "background".into()),
        (Dialect::Pi, Mode::Background) => give("async", true.into()),
        (_, Mode::Slow) => return Err(no("--mode slow; --timeout says how long").into()),
        (Dialect::Plain, Mode::Background) => return Err(no("--mode background").into()),
    }
    if let Some(timeout) = args.command.timeout {
        give("timeout", timeout.into());
    }
    if let Some(cwd) = args.command.cwd.as_deref().filter(|_| dialect != Dialect::Plain) {
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
        if dialect != Dialect::Native {
            return Err(no("--session").into());
        }
        give("session", session.as_str().into());
    }
    if args.stdin {
        give("stdin", true.into());
    }
    Ok(arguments.into())
}

/// Writes down what became of the command, and remembers it.
#[derive(Debug)]
struct Seen {
    log: Option<Log>,
    ran: Mutex<Option<Ran>>,
}

impl Witness for Seen {
    fn saw(&self, ran: &Ran) {
        if let Some(log) = &self.log {
            log.saw(ran);
        }
        *self.ran.lock().unwrap_or_else(PoisonError::into_inner) = Some(ran.clone());
    }
}

impl Seen {
    /// How to allow it, if the guard has refused it.
    fn how_to_allow(&self) -> Option<String> {
        self.ran.lock().unwrap_or_else(PoisonError::into_inner).as_ref()?.how_to_allow.clone()
    }

    /// As the command ended; what never began has failed.
    fn exit(&self) -> Exit {
        let ran = self.ran.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(ran) = ran.as_ref() else { return Exit::Failed };
        let byte = |number: Option<u64>| number.and_then(|number| u8::try_from(number).ok());
        match (ran.status.as_str(), byte(ran.exit_code), byte(ran.signal)) {
            (Some("timed_out"), ..) => Exit::TimeUp,
            (Some("running"), ..) => Exit::Code(0),
            (_, Some(code), _) => Exit::Code(code),
            (_, None, Some(signal)) => Exit::Signal(signal),
            _ => Exit::Failed,
        }
    }
}
