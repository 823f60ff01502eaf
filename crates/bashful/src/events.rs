//! `bashful run --events`: one command, with the events and the response of `bashful rpc`.

use std::error::Error;
use std::path::Path;
use std::sync::Arc;

use bashful_dialect::Toolbox;
use bashful_engine::{CommandLog, Engine};
use bashful_rpc::wire::{self, BashRequest, BehindChoice};
use bashful_rpc::{Service, run_one, stdio};
use tokio::sync::mpsc;

use crate::as_dialect::{LastRecord, NotText};
use crate::cli::{Mode, RunArgs};
use crate::condense;
use crate::exit::Exit;
use crate::guard;
use crate::log::Log;
use crate::request;
use crate::setup::{self, SetupError};
use crate::signals::Signals;
use crate::surroundings::Surroundings;

/// Runs the command, and prints its events. The exit code is the command's own.
pub(crate) fn main(args: &RunArgs, file: Option<&Path>) -> Result<Exit, Box<dyn Error>> {
    let around = Surroundings::read();
    let (mut settings, _) = around.settings(file)?;
    args.command.change(&mut settings);
    let dialect = args.dialect.unwrap_or_default();
    guard::set_dialect_levels(&mut settings, dialect);
    let request = request(args)?;
    let directory = setup::directory(&around, None)?;
    let runtime = setup::runtime()?;
    let ran = runtime.block_on(async {
        let mut signals = Signals::new()?;
        let mut options = setup::options(&settings, &around, Some(&directory))?;
        let limits = setup::limits(&settings);
        dialect.adjust(&mut options, &limits);
        condense::load_filters(&mut options.condensing, &settings, &around)?;
        options.directory.clone_from(&directory);
        if args.command.session.is_none() {
            // One command needs no shell that stays.
            options.sessions = None;
        }
        let last = Arc::new(LastRecord::new(Log::new(&settings, &around, "run")));
        let mut toolbox = Toolbox::new(Engine::new(options)?, dialect, limits, &directory);
        toolbox.no_state = around.state().notice();
        toolbox.log = Some(Arc::clone(&last) as Arc<dyn CommandLog>);
        toolbox.interceptor = guard::tool_advice(&settings);
        let service = Service { toolbox, directory: directory.clone(), limits, can_answer: false };
        let (aborts, aborted) = mpsc::unbounded_channel();
        let (_, output) = stdio();
        let mut run = Box::pin(run_one(service, request, output, aborted));
        let mut interrupted = None;
        let written = loop {
            tokio::select! {
                written = &mut run => break written,
                number = signals.next() => {
                    interrupted = Some(number);
                    // Without effect once the command has ended.
                    let _ = aborts.send(());
                }
            }
        };
        written.map_err(|error| format!("cannot write the output: {error}"))?;
        Ok(interrupted.map_or_else(|| last.exit(), Exit::Signal))
    });
    runtime.shutdown_background();
    ran
}

/// The request from the arguments.
fn request(args: &RunArgs) -> Result<BashRequest, Box<dyn Error>> {
    let not_text = |what| NotText { what };
    let script = String::from_utf8(request::script(&args.command.script)?).map_err(|_| not_text("the command"))?;
    let mut request = BashRequest::new(script);
    let mode = args.command.mode();
    let needs_tool = args.patience.is_some() || args.command.session.is_some() || mode == Mode::Background;
    let is_tool = args.dialect.is_some() || needs_tool;
    request.surface = Some(if is_tool { wire::Surface::Tool } else { wire::Surface::Bang });
    request.mode = Some(match mode {
        Mode::Default => wire::Mode::Default,
        Mode::Slow => wire::Mode::Slow,
        Mode::Background => wire::Mode::Background,
    });
    if let Some(timeout) = args.command.timeout.filter(|timeout| !timeout.is_finite()) {
        return Err(SetupError::Timeout(timeout).into());
    }
    request.timeout = args.command.timeout;
    if let Some(cwd) = &args.command.cwd {
        request.cwd = Some(cwd.to_str().ok_or_else(|| not_text("--cwd"))?.to_owned());
    }
    let variable = |given| -> Result<_, Box<dyn Error>> {
        let (name, value) = request::variable(given)?;
        Ok((name, value.into_string().map_err(|_| not_text("--env"))?))
    };
    request.env = Some(args.command.env.iter().map(variable).collect::<Result<_, _>>()?);
    request.session = args.command.session.as_ref().map(ToString::to_string);
    request.patience = args.patience.map(|patience| patience.as_secs_f64());
    request.stream = Some(true);
    // As for any reader of a pipe.
    request.when_behind = Some(BehindChoice::Wait);
    request.updates = Some(true);
    Ok(request)
}
