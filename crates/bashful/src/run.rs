//! `bashful run`

use std::error::Error;
use std::path::{Path, PathBuf};

use bashful_engine::{Engine, Job, Outcome, Request, RunError, StopReason, Streams};
use bashful_sys::signal::{Signal, is_ignored};
use thiserror::Error;
use tokio::signal::unix::{SignalKind, signal};

use crate::cli::RunArgs;
use crate::exit::Exit;
use crate::live::LiveTail;
use crate::settings::Settings;
use crate::setup::{self, Surroundings};
use crate::{facts, print, text};

/// Runs one command, prints what it did, and ends as it did.
pub(crate) fn main(args: &RunArgs, file: Option<&Path>) -> Result<Exit, Box<dyn Error>> {
    let around = Surroundings::read();
    let (settings, _) = around.settings(file)?;
    let (mut request, notices) = setup::request(&args.command, &settings)?;
    if args.split {
        request.streams = Streams::Split;
    }
    let runtime = setup::runtime()?;
    runtime.block_on(async {
        let engine = setup::engine(&settings, &around, args.command.cwd.as_deref())?;
        let lifetime = request.lifetime;
        let (outcome, cwd, ended_by) = run(&engine, request).await?;
        let lifetime = lifetime.expect("every request of this program has one");
        report(args, &settings, &outcome, &cwd, notices, lifetime)?;
        Ok(exit(&outcome, ended_by))
    })
}

/// Runs it to its end, or until somebody interrupts us.
async fn run(engine: &Engine, request: Request) -> Result<(Outcome, PathBuf, Option<u8>), Box<dyn Error>> {
    let plan = engine.plan(request.clone()).map_err(RunError::from)?;
    // Before anything runs: a request to end that comes in between would otherwise end us without a word.
    let mut signals = Signals::new()?;
    let mut interrupted = None;
    let starting = engine.start(request);
    tokio::pin!(starting);
    let mut job = tokio::select! {
        job = &mut starting => job?,
        // Dropping what has just been started stops it.
        number = signals.next() => return Err(Interrupted { number }.into()),
    };
    let mut live = LiveTail::new(&job);
    loop {
        tokio::select! {
            outcome = job.wait() => {
                live.clear();
                return Ok((outcome?, plan.directory, interrupted));
            }
            number = signals.next() => interrupted = Some(stop(&job, number)),
            () = live.next() => live.draw(),
        }
    }
}

/// Somebody asked us to end before the command had begun.
#[derive(Debug, Error)]
#[error("ended by signal {number} before the command had started")]
struct Interrupted {
    number: u8,
}

/// Asked once, it is stopped; asked again, it is killed.
fn stop(job: &Job, number: u8) -> u8 {
    job.stop(StopReason::Cancelled);
    number
}

/// Signals by which people and programs ask us to end. Those that we were told to ignore (`nohup`) are not among them.
struct Signals {
    interrupt: Option<tokio::signal::unix::Signal>,
    terminate: Option<tokio::signal::unix::Signal>,
    hang_up: Option<tokio::signal::unix::Signal>,
}

impl Signals {
    fn new() -> std::io::Result<Self> {
        let listen = |which: Signal| {
            let listener = (!is_ignored(which)).then(|| signal(SignalKind::from_raw(which.as_raw())));
            listener.transpose()
        };
        Ok(Self { interrupt: listen(Signal::INT)?, terminate: listen(Signal::TERM)?, hang_up: listen(Signal::HUP)? })
    }

    async fn next(&mut self) -> u8 {
        tokio::select! {
            () = arrives(self.interrupt.as_mut()) => 2,
            () = arrives(self.terminate.as_mut()) => 15,
            () = arrives(self.hang_up.as_mut()) => 1,
        }
    }
}

async fn arrives(signal: Option<&mut tokio::signal::unix::Signal>) {
    match signal {
        Some(signal) => drop(signal.recv().await),
        None => std::future::pending().await,
    }
}

/// What is shown of both streams.
pub(crate) struct Shown {
    pub(crate) output: Vec<u8>,
    pub(crate) stderr: Option<Vec<u8>>,
}

fn report(
    args: &RunArgs,
    settings: &Settings,
    outcome: &Outcome,
    cwd: &Path,
    mut notices: Vec<String>,
    lifetime: bashful_engine::Lifetime,
) -> Result<(), print::PrintError> {
    let whole = setup::window(&settings.output).whole;
    let show = |output| text::output(output, whole);
    let shown = Shown { output: show(&outcome.output), stderr: outcome.stderr.as_ref().map(show) };
    notices.extend(
        [Some(&outcome.output), outcome.stderr.as_ref()].into_iter().flatten().flat_map(text::artifact_notices),
    );
    if args.json {
        notices.extend(outcome.leftover.as_ref().map(text::leftover));
        return print::data(format!("{}\n", facts::of_outcome(outcome, cwd, &shown, &notices)).as_bytes());
    }
    print::data(&shown.output)?;
    print::data_to_stderr(shown.stderr.as_deref().unwrap_or_default())?;
    for notice in &notices {
        print::talk(&format!("[{notice}]"));
    }
    if let Some(left) = &outcome.leftover {
        print::talk(&text::leftover(left));
    }
    if let Some(end) = text::end(outcome.end, lifetime) {
        print::talk(&end);
    }
    Ok(())
}

fn exit(outcome: &Outcome, interrupted: Option<u8>) -> Exit {
    use bashful_engine::{End, Exit as Ended};
    match outcome.end {
        End::Own(Ended::Code(code)) => Exit::Code(code),
        End::Own(Ended::Signal(number)) => Exit::Signal(number),
        End::Stopped { why: StopReason::TimeUp, .. } => Exit::TimeUp,
        End::Stopped { exit, .. } => match (interrupted, exit) {
            (Some(number), _) | (None, Ended::Signal(number)) => Exit::Signal(number),
            (None, Ended::Code(code)) => Exit::Code(code),
        },
        End::Lost => Exit::Failed,
    }
}
