//! `bashful run`

use std::error::Error;
use std::path::{Path, PathBuf};
use std::time::Duration;

use bashful_dialect::facts;
use bashful_dialect::text::{self, Reader};
use bashful_engine::{
    Checked, Engine, Eyes, InBackground, Input, Job, Lifetime, Outcome, Output, RewriteFor, RunError, StopReason,
    Streams,
};
use serde_json::Value;
use thiserror::Error;
use tokio::sync::oneshot;
use tokio::time::Instant;

use crate::cli::{Mode, RunArgs};
use crate::direct::{self, Direct};
use crate::exit::Exit;
use crate::live::LiveTail;
use crate::log::LogEntry;
use crate::settings::{Seconds, Settings};
use crate::setup::{self, SetupError, Surroundings};
use crate::signals::Signals;
use crate::state::NoPlace;
use crate::{as_dialect, guard, print};

/// Runs one command, prints what it did, and ends as it did.
pub(crate) fn main(args: &RunArgs, file: Option<&Path>) -> Result<Exit, Box<dyn Error>> {
    if let Some(dialect) = args.dialect {
        return as_dialect::main(args, dialect, file);
    }
    let around = Surroundings::read();
    let (settings, _) = around.settings(file)?;
    run_alone(args, &settings, &around).map_err(|error| {
        let error = around.state().explain(error);
        if let Some(notice) = around.state().notice().filter(|_| !args.json && !error.is::<NoPlace>()) {
            print::talk(&format!("[{notice}]"));
        }
        error
    })
}

fn run_alone(args: &RunArgs, settings: &Settings, around: &Surroundings) -> Result<Exit, Box<dyn Error>> {
    let (mut request, mut notices) = setup::request(&args.command, settings)?;
    notices.extend(around.state().notice());
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
        let engine = setup::engine(settings, around, args.command.cwd.as_deref())?;
        engine.refresh_snapshot().await;
        notices.extend(engine.why_no_snapshot().map(|why| why.notice()));
        let direct = Direct::new(args.json).filter(|_| args.command.mode != Mode::Background);
        // `head` and `tail` do their own work in a pipeline of which every byte counts.
        let purpose = if direct.is_some() { RewriteFor::Job } else { purpose(args.command.mode) };
        let rewritten = engine.rewrite(request.clone(), purpose)?;
        notices.extend_from_slice(&rewritten.notices);
        let given = std::mem::replace(&mut request, rewritten.request.clone());
        let mut entry = LogEntry::new(settings, around, &engine, &request);
        for script in [&given.script, &request.script] {
            guard::intercept(settings, script.as_bytes())?;
        }
        let plan = engine.plan(request).map_err(RunError::from)?;
        let eyes = engine.eyes_for(&plan);
        // Before signals are ours: who is asked at the terminal and would rather leave, leaves.
        let checked = engine.check(plan).await.map_err(RunError::from);
        let checked = checked.inspect_err(|error| entry.note(|entry| entry.failed(error)));
        let checked = checked.map_err(|error| told(error.into(), &eyes))?;
        notices.extend(guard::warnings(checked.verdict()).map(|warning| eyes.mask(warning)));
        rewritten.make_room().inspect_err(|_| entry.note(bashful_dialect::Ran::not_started))?;
        if args.command.mode == Mode::Background {
            return background(args, &engine, checked, &notices, &mut entry, &eyes).await;
        }
        let lifetime = checked.plan().lifetime;
        let ran = run(&engine, checked, patience(args, settings), direct, &mut notices).await;
        let ran = ran.inspect_err(|error| entry.note(|entry| note_error(entry, error.as_ref())));
        match ran.map_err(|error| told(error, &eyes))? {
            Ran::Ended { outcome, cwd, interrupted } => {
                entry.note(|entry| entry.ended(&outcome));
                let shown = Shown::new(args, direct, &outcome.output, outcome.stderr.as_ref(), settings);
                report(args, &shown, &eyes, &Ended { outcome: &outcome, cwd: &cwd, lifetime }, notices)?;
                sweep(&engine, &outcome);
                Ok(exit(&outcome, interrupted))
            }
            Ran::InBackground(sent) => {
                entry.note(|entry| entry.outlasted(&sent));
                notices.extend(rewritten.request.lines.map(|_| text::NO_LIMIT.to_owned()));
                let shown = Shown::new(args, direct, &sent.output, sent.stderr.as_ref(), settings);
                report_background(args, &shown, &eyes, &sent, notices)?;
                engine.sweep_if_due();
                Ok(Exit::Code(0))
            }
        }
    })
}

/// For whom a command is rewritten.
pub(crate) fn purpose(mode: Mode) -> RewriteFor {
    if mode == Mode::Background { RewriteFor::Job } else { RewriteFor::Reply }
}

/// Starts it as a job, and says how to get at it.
async fn background(
    args: &RunArgs,
    engine: &Engine,
    checked: Checked,
    notices: &[String],
    entry: &mut LogEntry,
    eyes: &Eyes,
) -> Result<Exit, Box<dyn Error>> {
    let started = engine.start_job_checked(checked).await;
    let job = started.inspect_err(|error| entry.note(|entry| entry.failed(error)))?;
    entry.note(|entry| entry.became(&job));
    if args.json {
        print::data(format!("{}\n", facts::masked(facts::of_background(&job, notices), eyes)).as_bytes())?;
    } else {
        print::text(&text::background(&job, Reader::Program))?;
        for notice in notices {
            print::talk(&format!("[{notice}]"));
        }
    }
    engine.sweep_if_due();
    Ok(Exit::Code(0))
}

/// Sweeps if that is due, after a command that has left something on disk.
fn sweep(engine: &Engine, outcome: &Outcome) {
    let outputs = [Some(&outcome.output), outcome.stderr.as_ref()];
    let saved = outputs.into_iter().flatten().any(|output| output.artifact.is_some());
    if saved || outcome.leftover.as_ref().is_some_and(|left| left.job.is_some()) {
        engine.sweep_if_due();
    }
}

/// An error as it is told. A refusal is told with what can be done about it.
fn told(error: Box<dyn Error>, eyes: &Eyes) -> Box<dyn Error> {
    match error.downcast_ref() {
        Some(RunError::Refused(refusal)) => guard::Refused::new(refusal, eyes).into(),
        _ => error,
    }
}

/// What did not begin, or was interrupted before it had.
fn note_error(entry: &mut bashful_dialect::Ran, error: &(dyn Error + 'static)) {
    if let Some(error) = error.downcast_ref() {
        entry.failed(error);
    }
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

/// A command may have started without our having heard of it yet. What has not after so long waits for something.
const ALMOST_STARTED: Duration = Duration::from_millis(250);

/// How long it is waited for before it becomes a job.
fn patience(args: &RunArgs, settings: &Settings) -> Option<Duration> {
    let asked = args.patience.map(Seconds::duration);
    asked.or_else(|| settings.jobs.auto.then(|| settings.jobs.auto_after_seconds.duration()))
}

/// Runs it to its end, or until somebody interrupts us, or until it has taken too long.
async fn run(
    engine: &Engine,
    checked: Checked,
    patience: Option<Duration>,
    direct: Option<Direct>,
    notices: &mut Vec<String>,
) -> Result<Ran, Box<dyn Error>> {
    let (cwd, lifetime) = (checked.plan().directory.clone(), checked.plan().lifetime);
    let patient_until = patience.and_then(|patience| Instant::now().checked_add(patience));
    // Before anything runs: a request to end that comes in between would otherwise end us without a word.
    let mut signals = Signals::new()?;
    let mut interrupted = None;
    let starting = start(engine, checked, patient_until, direct);
    tokio::pin!(starting);
    let (mut job, mut writing) = tokio::select! {
        job = &mut starting => job?,
        number = signals.next() => match tokio::time::timeout(ALMOST_STARTED, &mut starting).await {
            Ok(started) => {
                let (job, writing) = started?;
                interrupted = Some(stop(&job, number));
                (job, writing)
            }
            // Dropping it stops it, if it starts after all.
            Err(_) => return Err(Interrupted { number }.into()),
        },
    };
    let mut live = LiveTail::new(&job);
    let mut outcome = None;
    // While it still runs: it may not run for longer than somebody waits.
    let before_end = Instant::now().checked_add(lifetime.0.saturating_sub(Duration::from_secs(1)));
    let mut give_up = patient_until.map(|until| before_end.map_or(until, |end| end.min(until)));
    loop {
        tokio::select! {
            ended = job.wait(), if outcome.is_none() => outcome = Some(ended?),
            written = written(&mut writing), if writing.is_some() => {
                writing = None;
                written?;
            }
            number = signals.next() => {
                interrupted = Some(stop(&job, number));
                if outcome.is_some() {
                    // It has ended, but nobody reads what it wrote.
                    writing = None;
                }
            }
            () = live.next() => live.draw(),
            () = until(give_up), if outcome.is_none() => match engine.send_to_background(job).await {
                Ok(sent) => {
                    live.clear();
                    written(&mut writing).await?;
                    return Ok(Ran::InBackground(sent));
                }
                Err(still) => {
                    job = still.job;
                    give_up = None;
                    notices.extend(still.why.map(|why| format!("it was waited for to its end: {}", print::chain(&why))));
                }
            },
        }
        if writing.is_none()
            && let Some(outcome) = outcome.take()
        {
            live.clear();
            return Ok(Ran::Ended { outcome, cwd, interrupted });
        }
    }
}

/// Output that is being written directly.
type Writing = oneshot::Receiver<Result<(), print::PrintError>>;

async fn start(
    engine: &Engine,
    checked: Checked,
    turn_by: Option<Instant>,
    direct: Option<Direct>,
) -> Result<(Job, Option<Writing>), RunError> {
    let Some(direct) = direct else { return Ok((engine.start_checked(checked, turn_by).await?, None)) };
    let (job, stream) = engine.start_checked_listening(checked, turn_by, direct::LISTENING).await?;
    Ok((job, Some(direct.write(stream))))
}

/// Waits until everything is written that is written directly. May be dropped.
async fn written(writing: &mut Option<Writing>) -> Result<(), print::PrintError> {
    match writing {
        Some(writing) => direct::written(writing.await),
        None => Ok(()),
    }
}

async fn until(when: Option<Instant>) {
    match when {
        Some(when) => tokio::time::sleep_until(when).await,
        None => std::future::pending().await,
    }
}

/// Somebody asked this program to end before it knew that the command had begun.
#[derive(Debug, Error)]
#[error("ended by signal {number} while the command was being started; if it had begun, it was stopped")]
struct Interrupted {
    number: u8,
}

/// Asked once, it is stopped; asked again, it is killed.
fn stop(job: &Job, number: u8) -> u8 {
    job.stop(StopReason::Cancelled);
    number
}

/// The parts of both streams that are shown at the end.
struct Shown {
    output: Vec<u8>,
    stderr: Option<Vec<u8>>,
    notices: Vec<String>,
}

impl Shown {
    /// Apart, if that was asked for; standard error may also be apart because only the other has a limit. Output that was
    /// written directly is not shown again.
    fn new(
        args: &RunArgs,
        direct: Option<Direct>,
        output: &Output,
        stderr: Option<&Output>,
        settings: &Settings,
    ) -> Self {
        let whole = setup::window(&settings.output).whole;
        let show = |output: &Output| print::lossy(text::output(output, whole, Reader::Program));
        let notices = |outputs: &[Option<&Output>]| {
            outputs.iter().flatten().flat_map(|output| text::output_notices(output)).collect()
        };
        match direct {
            Some(Direct { stderr: true }) => Self { output: Vec::new(), stderr: None, notices: Vec::new() },
            Some(Direct { stderr: false }) => {
                Self { output: Vec::new(), stderr: stderr.map(show), notices: notices(&[stderr]) }
            }
            None if args.split => {
                Self { output: show(output), stderr: stderr.map(show), notices: notices(&[Some(output), stderr]) }
            }
            None => {
                let shown = print::lossy(text::outputs(output, stderr, whole, Reader::Program));
                Self { output: shown, stderr: None, notices: notices(&[Some(output), stderr]) }
            }
        }
    }

    /// The facts with what is shown, as one line.
    fn with(&self, mut facts: Value) -> String {
        let name = if self.stderr.is_some() { "stdout" } else { "output" };
        facts[name] = String::from_utf8_lossy(&self.output).into();
        if let Some(stderr) = &self.stderr {
            facts["stderr"] = String::from_utf8_lossy(stderr).into();
        }
        format!("{facts}\n")
    }
}

/// A command that is over.
struct Ended<'a> {
    outcome: &'a Outcome,
    cwd: &'a Path,
    lifetime: Lifetime,
}

fn report(
    args: &RunArgs,
    shown: &Shown,
    eyes: &Eyes,
    ended: &Ended<'_>,
    mut notices: Vec<String>,
) -> Result<(), print::PrintError> {
    let Ended { outcome, cwd, lifetime } = *ended;
    notices.extend(text::session_notices(outcome));
    notices.extend(text::missed(outcome));
    notices.extend_from_slice(&shown.notices);
    notices.extend(outcome.cut_off.as_ref().map(text::cut_off));
    if args.json {
        notices.extend(outcome.leftover.as_ref().map(|left| text::leftover(left, Reader::Program)));
        let facts = facts::masked(facts::of_outcome(outcome, cwd, &notices), eyes);
        return print::data(shown.with(facts).as_bytes());
    }
    print::data(&shown.output)?;
    print::data_to_stderr(shown.stderr.as_deref().unwrap_or_default())?;
    for notice in &notices {
        print::talk(&format!("[{notice}]"));
    }
    if let Some(left) = &outcome.leftover {
        print::talk(&text::leftover(left, Reader::Program));
    }
    if let Some(end) = text::end(outcome.end, lifetime) {
        print::talk(&end);
    }
    Ok(())
}

/// Tells of a command that took longer than it was waited for.
fn report_background(
    args: &RunArgs,
    shown: &Shown,
    eyes: &Eyes,
    sent: &InBackground,
    mut notices: Vec<String>,
) -> Result<(), print::PrintError> {
    let still_running = text::still_running(&sent.job, Reader::Program);
    notices.extend(text::session_left(sent));
    if args.json {
        notices.push(still_running);
        return print::data(shown.with(facts::masked(facts::of_outlasted(sent, &notices), eyes)).as_bytes());
    }
    print::data(&shown.output)?;
    print::data_to_stderr(shown.stderr.as_deref().unwrap_or_default())?;
    for notice in &notices {
        print::talk(&format!("[{notice}]"));
    }
    print::talk(&format!("[{still_running}]"));
    print::talk(&text::background(&sent.job, Reader::Program));
    Ok(())
}

fn exit(outcome: &Outcome, interrupted: Option<u8>) -> Exit {
    use bashful_engine::{End, Exit as Ended};
    match outcome.end {
        End::Own(Ended::Code(code)) => Exit::Code(code),
        End::Own(Ended::Signal(number)) => Exit::Signal(number),
        End::Stopped { why: StopReason::TimeUp, .. } => Exit::TimeUp,
        End::Stopped { why: StopReason::Mute, .. } | End::Lost => Exit::Failed,
        End::Stopped { exit, .. } => match (interrupted, exit) {
            (Some(number), _) | (None, Ended::Signal(number)) => Exit::Signal(number),
            (None, Ended::Code(code)) => Exit::Code(code),
        },
    }
}
