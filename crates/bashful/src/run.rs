//! `bashful run`: arguments become a request, the engine's reply is printed, and the program ends as the command did.

use std::error::Error;
use std::os::fd::AsFd;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use bashful_engine::{
    Caller, Canceller, CommandLog, Engine, Input, Live, OutputListener, Patience, Reply, Request, Streams, Waiting,
};
use tokio::sync::watch;
use tokio::time::{Instant, sleep_until};

use crate::attend::{Attendance, Happened};
use crate::cli::{Mode, RunArgs};
use crate::colored::ColoredOutput;
use crate::direct::{self, Direct, Writing};
use crate::exit::Exit;
use crate::guard::{Intercepted, tool_advice};
use crate::live::LiveTail;
use crate::log::Log;
use crate::report::Report;
use crate::request;
use crate::settings::Settings;
use crate::setup;
use crate::signals::Signals;
use crate::state::NoPlace;
use crate::surroundings::Surroundings;
use crate::suspend::Suspension;
use crate::{as_dialect, attend, color, condense, events, guard, print};

/// The number of the signal that Ctrl-C sends.
const INTERRUPT: u8 = 2;

/// Time for a reader of the output after a signal has ended the command.
const LAST_WRITES: Duration = Duration::from_secs(1);

/// Runs one command, prints its reply, and returns its exit code.
pub(crate) fn main(args: &RunArgs, file: Option<&Path>) -> Result<Exit, Box<dyn Error>> {
    if args.events {
        return events::main(args, file);
    }
    if let Some(dialect) = args.dialect {
        return as_dialect::main(args, dialect, file);
    }
    let around = Surroundings::read();
    let (mut settings, _) = around.settings(file)?;
    args.command.change(&mut settings);
    run(args, &settings, &around).map_err(|error| {
        let error = around.state().explain(error);
        if let Some(notice) = around.state().notice().filter(|_| !args.json && !error.is::<NoPlace>()) {
            print::talk(&format!("[{notice}]"));
        }
        error
    })
}

fn run(args: &RunArgs, settings: &Settings, around: &Surroundings) -> Result<Exit, Box<dyn Error>> {
    let (request, mut notices) = request(args, settings, around)?;
    notices.extend(around.state().notice());
    let runtime = setup::runtime()?;
    let ran = runtime.block_on(async {
        let mut options = setup::options(settings, around, args.command.cwd.as_deref())?;
        // A person and a pipe get the output as it was written, and so does a program that wants the streams apart.
        options.condensing.enabled &= args.json && !args.split;
        condense::load_filters(&mut options.condensing, settings, around)?;
        let engine = Engine::new(options)?;
        let in_background = args.command.mode() == Mode::Background;
        let direct = Direct::new(args.json).filter(|_| !in_background);
        let mut caller = Caller {
            waiting: waiting(args, settings),
            interceptor: tool_advice(settings),
            log: Log::new(settings, around, "run").map(|log| Arc::new(log) as Arc<dyn CommandLog>),
            ..Caller::default()
        };
        let (listener, stream) = OutputListener::new(direct::LISTENING);
        let mut shown = ShownLive::default();
        if args.pty && !in_background {
            let (attendance, host) = Attendance::new()?;
            (caller.listener, caller.terminal) = (Some(listener), Some(host));
            shown = ShownLive { writing: Some(attendance.show(stream)), attendance: Some(attendance), colored: None };
        } else if let Some(direct) = direct {
            caller.listener = Some(listener);
            shown.writing = Some(direct.write(stream, |_| ()));
        } else if !in_background && !args.json && color::on_stdout() {
            let (colored, listener, arriving) = ColoredOutput::listen();
            caller.listener = Some(listener);
            shown = ShownLive { writing: Some(arriving), colored: Some(colored), attendance: None };
        }
        let timeout = args.command.timeout.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
        let (reply, interrupted) = match call(&engine, request, caller, &mut shown, timeout).await? {
            Called::Replied(reply, interrupted) => (*reply, interrupted),
            // A reply would wait for the same reader.
            Called::Unread(number) => return Ok(Exit::Signal(number)),
        };
        notices.extend(unread_input(args));
        let ShownLive { mut attendance, colored, .. } = shown;
        notices.extend(attendance.as_mut().and_then(|attendance| attendance.input_problem.take()));
        let direct = if attendance.is_some() { Some(Direct { stderr: true }) } else { direct };
        let report = Report { args, settings, direct, colored, notices, attendance };
        let exit = match reply {
            Reply::Finished(finished) => report.finished(finished, interrupted)?,
            Reply::Background(background) => report.background(background)?,
            Reply::Refused(refusal) => return Err(guard::Refused::new(&refusal).into()),
            Reply::Intercepted(better) => return Err(Intercepted(better).into()),
            Reply::Cancelled => {
                report.cancelled()?;
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
    let is_passed_on = args.stdin || args.pty || args.command.script == "-";
    let is_unread = !is_passed_on && bashful_sys::pipe::has_input(std::io::stdin().as_fd());
    is_unread.then(|| "standard input was not read; add --stdin (-i) to pass it to the command".to_owned())
}

/// The request from the arguments, and notices about it.
fn request(
    args: &RunArgs,
    settings: &Settings,
    around: &Surroundings,
) -> Result<(Request, Vec<String>), Box<dyn Error>> {
    let patient = args.pty && attend::is_attended();
    let (mut request, notices) = request::request(&args.command, settings, patient)?;
    if args.split {
        request.streams = Streams::Split;
    }
    if args.stdin {
        request.input = if args.command.mode() == Mode::Background { Input::Open } else { Input::Host };
    }
    if args.pty {
        // A job with a terminal can always be typed to.
        let in_background = args.command.mode() == Mode::Background;
        request.input = if in_background { Input::Nothing } else { Input::Host };
        attend::ask_for_terminal(&mut request, settings, around)?;
    }
    Ok((request, notices))
}

fn waiting(args: &RunArgs, settings: &Settings) -> Waiting {
    match (args.command.mode(), args.patience, settings.jobs.auto) {
        (Mode::Background, ..) => Waiting::InBackground,
        // A person sits before it.
        _ if args.pty => Waiting::ToEnd,
        (_, Some(patience), _) => Waiting::WithPatience(Patience(patience)),
        (_, None, true) => Waiting::BeforeTimeout(Patience(settings.jobs.auto_after_seconds.duration())),
        (_, None, false) => Waiting::ToEnd,
    }
}

/// The part of a command that is shown while it runs.
#[derive(Default)]
struct ShownLive {
    /// Output that is written directly, or kept for its colors.
    writing: Option<Writing>,
    /// The output with colors, on a terminal.
    colored: Option<ColoredOutput>,
    /// The person whose terminal the command has.
    attendance: Option<Attendance>,
}

/// The end of a call.
enum Called {
    /// All direct output is written. The number is that of the last signal.
    Replied(Box<Reply>, Option<u8>),
    /// This signal has ended the command, and nobody reads its output.
    Unread(u8),
}

/// Runs the command, shows live output, cancels and suspends at a signal. Returns after all direct output is written, or a
/// signal has come and nobody reads.
async fn call(
    engine: &Engine,
    request: Request,
    mut caller: Caller,
    shown: &mut ShownLive,
    timeout: Option<Duration>,
) -> Result<Called, Box<dyn Error>> {
    let ShownLive { writing, colored, attendance } = shown;
    let (canceller, cancellation) = Canceller::new();
    caller.cancellation = Some(cancellation);
    let (progress, newest) = watch::channel(Live::default());
    let (mut live, mut suspension) = (LiveTail::nothing(), None);
    if attendance.is_none() {
        live = LiveTail::new(newest, colored.clone(), timeout);
        caller.progress = live.is_shown().then_some(progress);
        let (own, orders) = Suspension::new()?;
        (suspension, caller.pausing) = (Some(own), Some(orders));
    }
    // Signals are caught before anything runs: an early one would otherwise kill the program without cleaning up.
    let mut signals = Signals::new()?;
    let mut interrupted = None;
    let mut reply = None;
    // The end of the time for a reader of the output that does not read.
    let mut given_up = None;
    let mut call = Box::pin(engine.call(request, caller));
    loop {
        tokio::select! {
            done = &mut call, if reply.is_none() => reply = Some(done?),
            written = direct::written(writing), if writing.is_some() => {
                *writing = None;
                // The output of a command ends with it. The reply waits until the terminal is back.
                attendance.iter_mut().for_each(Attendance::end);
                written?;
            }
            number = signals.next() => {
                canceller.cancel();
                if reply.is_some() && attendance.is_none() {
                    return Ok(Called::Unread(number));
                }
                if attendance.is_some() && (reply.is_some() || interrupted.is_some()) {
                    // It has ended, or was told to twice, and nobody reads what it wrote.
                    *writing = None;
                    attendance.iter_mut().for_each(Attendance::end);
                } else if attendance.is_none() && interrupted.is_none() && number == INTERRUPT {
                    live.say_stopping();
                }
                interrupted = Some(number);
            }
            number = unread(given_up) => return Ok(Called::Unread(number)),
            () = live.next() => live.draw(),
            own = paused(&mut suspension) => {
                live.leave_line();
                own.suspend()?;
            }
            happened = next(attendance) => attendance.as_mut().map_or(Ok(()), |host| host.react(happened))?,
        }
        if let (Some(_), Some(number), None) = (&reply, interrupted, &attendance) {
            given_up.get_or_insert_with(|| (Instant::now() + LAST_WRITES, number));
        }
        if writing.is_none()
            && let Some(reply) = reply.take()
        {
            live.clear();
            return Ok(Called::Replied(Box::new(reply), interrupted));
        }
    }
}

/// Waits until the time for a reader is over, and returns the signal; for ever before there is one.
async fn unread(given_up: Option<(Instant, u8)>) -> u8 {
    match given_up {
        Some((time, number)) => {
            sleep_until(time).await;
            number
        }
        None => std::future::pending().await,
    }
}

/// Waits until the command is paused and the program is to be; for ever if the command has a terminal, which sees to that.
async fn paused(suspension: &mut Option<Suspension>) -> &mut Suspension {
    match suspension {
        Some(suspension) => {
            suspension.paused().await;
            suspension
        }
        None => std::future::pending().await,
    }
}

/// Waits until there is something to do about the terminal; for ever without one.
async fn next(attendance: &mut Option<Attendance>) -> Happened {
    match attendance {
        Some(attendance) => attendance.next().await,
        None => std::future::pending().await,
    }
}
