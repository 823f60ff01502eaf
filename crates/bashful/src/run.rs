//! `bashful run`: arguments become a request, the engine's reply is printed, and the program ends as the command did.

use std::error::Error;
use std::os::fd::AsFd;
use std::path::Path;
use std::sync::Arc;

use bashful_engine::{
    Caller, Canceller, CommandLog, Engine, Input, Interceptor, Live, OutputListener, Patience, Reply, Request, Streams,
    Waiting,
};
use tokio::sync::watch;

use crate::cli::{Mode, RunArgs};
use crate::direct::{self, Direct, Writing};
use crate::exit::Exit;
use crate::guard::{Intercepted, ToolAdvice};
use crate::live::LiveTail;
use crate::log::Log;
use crate::report::Report;
use crate::settings::Settings;
use crate::setup::{self, Surroundings};
use crate::signals::Signals;
use crate::state::NoPlace;
use crate::{as_dialect, guard, print};

/// The number of the signal that Ctrl-C sends.
const INTERRUPT: u8 = 2;

/// Runs one command, prints its reply, and returns its exit code.
pub(crate) fn main(args: &RunArgs, file: Option<&Path>) -> Result<Exit, Box<dyn Error>> {
    if let Some(dialect) = args.dialect {
        return as_dialect::main(args, dialect, file);
    }
    let around = Surroundings::read();
    let (settings, _) = around.settings(file)?;
    run(args, &settings, &around).map_err(|error| {
        let error = around.state().explain(error);
        if let Some(notice) = around.state().notice().filter(|_| !args.json && !error.is::<NoPlace>()) {
            print::talk(&format!("[{notice}]"));
        }
        error
    })
}

fn run(args: &RunArgs, settings: &Settings, around: &Surroundings) -> Result<Exit, Box<dyn Error>> {
    let (request, mut notices) = request(args, settings)?;
    notices.extend(around.state().notice());
    let runtime = setup::runtime()?;
    let ran = runtime.block_on(async {
        let engine = setup::engine(settings, around, args.command.cwd.as_deref())?;
        let direct = Direct::new(args.json).filter(|_| args.command.mode() != Mode::Background);
        let mut caller = Caller {
            waiting: waiting(args, settings),
            interceptor: ToolAdvice::new(settings).map(|advice| Arc::new(advice) as Arc<dyn Interceptor>),
            log: Log::new(settings, around, "run").map(|log| Arc::new(log) as Arc<dyn CommandLog>),
            ..Caller::default()
        };
        let mut writing = None;
        if let Some(direct) = direct {
            let (listener, stream) = OutputListener::new(direct::LISTENING);
            caller.listener = Some(listener);
            writing = Some(direct.write(stream));
        }
        let (reply, interrupted) = call(&engine, request, caller, writing).await?;
        notices.extend(unread_input(args));
        let exit = match reply {
            Reply::Finished(finished) => Report { args, settings, direct, notices }.finished(finished, interrupted)?,
            Reply::Background(background) => Report { args, settings, direct, notices }.background(background)?,
            Reply::Refused(refusal) => return Err(guard::Refused::new(&refusal).into()),
            Reply::Intercepted(better) => return Err(Intercepted(better).into()),
            Reply::Cancelled => {
                Report { args, settings, direct, notices }.cancelled()?;
                Exit::Signal(interrupted.unwrap_or(INTERRUPT))
            }
        };
        engine.sweep_if_due();
        Ok(exit)
    });
    // Threads may still wait for an answer on the terminal or for a reader of the output.
    runtime.shutdown_background();
    ran
}

/// A notice about piped input that the command could not read.
fn unread_input(args: &RunArgs) -> Option<String> {
    let is_passed_on = args.stdin || args.command.script == "-";
    let is_unread = !is_passed_on && bashful_sys::pipe::has_input(std::io::stdin().as_fd());
    is_unread.then(|| "standard input was not read; add --stdin (-i) to pass it to the command".to_owned())
}

/// The request from the arguments, and notices about it.
fn request(args: &RunArgs, settings: &Settings) -> Result<(Request, Vec<String>), Box<dyn Error>> {
    let (mut request, notices) = setup::request(&args.command, settings)?;
    if args.split {
        request.streams = Streams::Split;
    }
    if args.stdin {
        request.input = if args.command.mode() == Mode::Background { Input::Open } else { Input::Host };
    }
    Ok((request, notices))
}

fn waiting(args: &RunArgs, settings: &Settings) -> Waiting {
    match (args.command.mode(), args.patience, settings.jobs.auto) {
        (Mode::Background, ..) => Waiting::InBackground,
        (_, Some(patience), _) => Waiting::WithPatience(Patience(patience)),
        (_, None, true) => Waiting::BeforeTimeout(Patience(settings.jobs.auto_after_seconds.duration())),
        (_, None, false) => Waiting::ToEnd,
    }
}

/// Runs the command, shows live output, and cancels at a signal. Returns after all direct output is written, with the
/// last signal.
async fn call(
    engine: &Engine,
    request: Request,
    mut caller: Caller,
    mut writing: Option<Writing>,
) -> Result<(Reply, Option<u8>), Box<dyn Error>> {
    let (canceller, cancellation) = Canceller::new();
    caller.cancellation = Some(cancellation);
    let (progress, newest) = watch::channel(Live::default());
    let mut live = LiveTail::new(newest);
    caller.progress = live.is_shown().then_some(progress);
    // Signals are caught before anything runs: an early one would otherwise kill the program without cleaning up.
    let mut signals = Signals::new()?;
    let mut interrupted = None;
    let mut reply = None;
    let mut call = Box::pin(engine.call(request, caller));
    loop {
        tokio::select! {
            done = &mut call, if reply.is_none() => reply = Some(done?),
            written = direct::written(&mut writing), if writing.is_some() => {
                writing = None;
                written?;
            }
            number = signals.next() => {
                interrupted = Some(number);
                canceller.cancel();
                if reply.is_some() {
                    // The command has ended, but the reader of its output does not read.
                    writing = None;
                }
            }
            () = live.next() => live.draw(),
        }
        if writing.is_none()
            && let Some(reply) = reply.take()
        {
            live.clear();
            return Ok((reply, interrupted));
        }
    }
}
