//! `bashful run`

use std::error::Error;
use std::path::{Path, PathBuf};
use std::time::Duration;

use bashful_engine::{
    Engine, InBackground, Input, Job, JobRecord, Lifetime, Outcome, Request, RunError, StopReason, Streams,
};
use bashful_sys::signal::{Signal, is_ignored};
use thiserror::Error;
use tokio::signal::unix::{SignalKind, signal};
use tokio::time::Instant;

use crate::cli::{Mode, RunArgs};
use crate::exit::Exit;
use crate::jobs::state_text;
use crate::live::LiveTail;
use crate::settings::{Seconds, Settings};
use crate::setup::{self, SetupError, Surroundings};
use crate::{facts, guard, print, text};

/// Runs one command, prints what it did, and ends as it did.
pub(crate) fn main(args: &RunArgs, file: Option<&Path>) -> Result<Exit, Box<dyn Error>> {
    let around = Surroundings::read();
    let (settings, _) = around.settings(file)?;
    let (mut request, mut notices) = setup::request(&args.command, &settings)?;
    if args.split {
        request.streams = Streams::Split;
    }
    if args.stdin {
        if args.command.mode != Mode::Background {
            return Err(SetupError::StdinInForeground.into());
        }
        request.input = Input::Open;
    }
    let runtime = setup::runtime()?;
    runtime.block_on(async {
        let engine = setup::engine(&settings, &around, args.command.cwd.as_deref())?;
        guard::intercept(&settings, request.script.as_bytes())?;
        let plan = engine.plan(request.clone()).map_err(RunError::from)?;
        notices.extend(guard::warnings(&engine.verdict(&plan)));
        if args.command.mode == Mode::Background {
            return background(args, &engine, request, &notices).await;
        }
        let lifetime = request.lifetime;
        let lifetime = lifetime.expect("every request of this program has one");
        let patience = patience(args, &settings, lifetime);
        match run(&engine, request, patience, &mut notices).await? {
            Ran::Ended { outcome, cwd, interrupted } => {
                report(args, &settings, &outcome, &cwd, notices, lifetime)?;
                Ok(exit(&outcome, interrupted))
            }
            Ran::InBackground(sent) => {
                report_background(args, &settings, &sent, &notices)?;
                Ok(Exit::Code(0))
            }
        }
    })
}

/// Starts it as a job, and says how to get at it.
async fn background(
    args: &RunArgs,
    engine: &Engine,
    request: Request,
    notices: &[String],
) -> Result<Exit, Box<dyn Error>> {
    let job = engine.start_job(request).await?;
    if args.json {
        print::data(format!("{}\n", facts::of_background(&job, notices)).as_bytes())?;
    } else {
        print::data(text::background(&job).as_bytes())?;
        for notice in notices {
            print::talk(&format!("[{notice}]"));
        }
    }
    if let Some(Err(error)) = engine.jobs().map(|jobs| jobs.sweep()) {
        print::talk(&format!("[{}]", print::chain(&error)));
    }
    Ok(Exit::Code(0))
}

/// What became of a command.
enum Ran {
    Ended {
        outcome: Outcome,
        cwd: PathBuf,
        /// The signal by which somebody asked us to end.
        interrupted: Option<u8>,
    },
    InBackground(InBackground),
}

/// How long it is waited for before it becomes a job; less than it may run at all.
fn patience(args: &RunArgs, settings: &Settings, lifetime: Lifetime) -> Option<Duration> {
    let asked = args.patience.map(Seconds::duration);
    let wanted = asked.or_else(|| settings.jobs.auto.then(|| settings.jobs.auto_after_seconds.duration()))?;
    Some(wanted.min(lifetime.0.saturating_sub(Duration::from_secs(1))))
}

/// Runs it to its end, or until somebody interrupts us, or until it has taken too long.
async fn run(
    engine: &Engine,
    request: Request,
    patience: Option<Duration>,
    notices: &mut Vec<String>,
) -> Result<Ran, Box<dyn Error>> {
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
    let mut give_up = patience.and_then(|patience| Instant::now().checked_add(patience));
    loop {
        tokio::select! {
            outcome = job.wait() => {
                live.clear();
                return Ok(Ran::Ended { outcome: outcome?, cwd: plan.directory, interrupted });
            }
            number = signals.next() => interrupted = Some(stop(&job, number)),
            () = live.next() => live.draw(),
            () = until(give_up) => match engine.send_to_background(job).await {
                Ok(sent) => {
                    live.clear();
                    return Ok(Ran::InBackground(sent));
                }
                Err(still) => {
                    job = still.job;
                    give_up = None;
                    notices.extend(still.why.map(|why| format!("it was waited for to its end: {}", print::chain(&why))));
                }
            },
        }
    }
}

async fn until(when: Option<Instant>) {
    match when {
        Some(when) => tokio::time::sleep_until(when).await,
        None => std::future::pending().await,
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
    lifetime: Lifetime,
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

/// How far a command has come that was waited for long enough. Its shell may have ended just then, and left something.
fn still_running(job: &JobRecord) -> String {
    if job.end().is_some() {
        return format!("now job {}: {}", job.id, state_text(job));
    }
    text::still_running(job)
}

/// Tells of a command that took longer than it was waited for.
fn report_background(
    args: &RunArgs,
    settings: &Settings,
    sent: &InBackground,
    notices: &[String],
) -> Result<(), print::PrintError> {
    let show = |output| text::output(output, setup::window(&settings.output).whole);
    let (output, stderr) = (show(&sent.output), sent.stderr.as_ref().map(show));
    if args.json {
        let mut facts = facts::of_background(&sent.job, &[notices, &[still_running(&sent.job)]].concat());
        facts["duration_ms"] = u64::try_from(sent.job.elapsed.as_millis()).unwrap_or(u64::MAX).into();
        facts["output_bytes"] = sent.output.bytes.into();
        facts["output_lines"] = sent.output.lines.into();
        match &stderr {
            Some(stderr) => {
                facts["stdout"] = String::from_utf8_lossy(&output).into();
                facts["stderr"] = String::from_utf8_lossy(stderr).into();
            }
            None => facts["output"] = String::from_utf8_lossy(&output).into(),
        }
        return print::data(format!("{facts}\n").as_bytes());
    }
    print::data(&output)?;
    print::data_to_stderr(stderr.as_deref().unwrap_or_default())?;
    for notice in notices {
        print::talk(&format!("[{notice}]"));
    }
    print::talk(&format!("[{}]", still_running(&sent.job)));
    print::talk(&text::background(&sent.job));
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
