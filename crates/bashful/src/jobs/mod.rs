//! `bashful jobs`

mod args;
mod follow;
mod show;
mod wait;

use std::error::Error;
use std::io::Read;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use bashful_dialect::job::{self, state_text};
use bashful_dialect::unique;
use bashful_engine::{ControlError, GetJobError, JobStore, Judge, LONGEST_SCRIPT, Stop, reason};
use serde_json::{Value, json};
use thiserror::Error;
use tokio::time::{Instant, timeout_at};

pub(crate) use args::JobsCommand;
use args::{KillArgs, ListArgs, SendArgs};

use crate::exit::Exit;
use crate::setup::{self, Surroundings};
use crate::{guard, print};

/// How long it is waited for the end of a job that was killed, beyond its grace. A process that the kernel does not let go of
/// may take for ever.
const AFTER_GRACE: Duration = Duration::from_secs(10);

#[derive(Debug, Error)]
enum JobsError {
    #[error("that is more than the {LONGEST_SCRIPT} that are sent at once; nothing was sent, send it in pieces")]
    TooMuch,
    #[error("cannot read what to send from standard input")]
    Stdin(#[source] std::io::Error),
    #[error("nothing was sent to job {id}: {reason}")]
    Refused { id: u64, reason: String },
    #[error("job {id} was told to end, and is still there; see `bashful jobs show {id}`")]
    StillThere { id: u64 },
}

/// Lists, shows, waits for or stops jobs.
pub(crate) fn main(command: &JobsCommand, file: Option<&Path>) -> Result<Exit, Box<dyn Error>> {
    let around = Surroundings::read();
    let (settings, _) = around.settings(file)?;
    let store = Arc::new(setup::jobs(&settings, &around).ok_or_else(|| around.state().no_place("jobs"))?);
    let runtime = setup::runtime()?;
    let redactor = || Ok::<_, Box<dyn Error>>(setup::output_redactor(&settings, &around)?);
    runtime.block_on(async {
        match command {
            JobsCommand::List(args) => list(&store, args),
            JobsCommand::Show(args) => show::main(&store, args, settings.output.whole_bytes.size(), &redactor),
            JobsCommand::Logs(args) => follow::main(&store, args, &redactor).await,
            JobsCommand::Wait(args) => wait::main(&store, args, &redactor).await,
            JobsCommand::Send(args) => send(&store, args, guard::judge(&settings, &around)?.as_ref()).await,
            JobsCommand::Kill(args) => Ok(kill(&store, args, settings.stop.grace_seconds.duration()).await),
            JobsCommand::Rm { ids } => Ok(print::failures(ids.iter().map(|id| store.remove(*id)))),
            JobsCommand::Sweep { json } => sweep(&store, *json),
        }
    })
}

fn list(store: &JobStore, args: &ListArgs) -> Result<Exit, Box<dyn Error>> {
    let mut jobs = if args.running { store.list_live()? } else { store.list()? };
    for one in &mut jobs {
        job::mask(one, print::redactor());
    }
    if args.json {
        let jobs: Value = jobs.iter().map(job::facts).collect();
        print::pretty_json(jobs)?;
    } else if jobs.is_empty() {
        print::talk(&format!("[no jobs in {}]", store.directory().display()));
    } else {
        print::text(&job::table(&jobs))?;
    }
    Ok(Exit::Code(0))
}

async fn send(store: &JobStore, args: &SendArgs, judge: Option<&Judge>) -> Result<Exit, Box<dyn Error>> {
    let text = match args.text.as_deref() {
        Some("-") => {
            let mut text = Vec::new();
            std::io::stdin().lock().take(LONGEST_SCRIPT.0 + 1).read_to_end(&mut text).map_err(JobsError::Stdin)?;
            if text.len() as u64 > LONGEST_SCRIPT.0 {
                return Err(JobsError::TooMuch.into());
            }
            text
        }
        Some(text) => [text.as_bytes(), if args.raw { b"" } else { b"\n" }].concat(),
        None => Vec::new(),
    };
    // A shell that waits for commands runs what it is sent. A person at a terminal may send anything.
    if let (Some(judge), Ok(job)) = (judge, store.get(args.id))
        && guard::find_person().is_err()
    {
        let verdict = judge.verdict_on_input(&job, &String::from_utf8_lossy(&text));
        if verdict.refuses() {
            return Err(JobsError::Refused { id: args.id, reason: reason(&verdict) }.into());
        }
    }
    store.send(args.id, &text).await?;
    if args.eof {
        store.close_input(args.id).await?;
    }
    Ok(Exit::Code(0))
}

/// Stops as many as can be; one that cannot be reached does not spare the others.
async fn kill(store: &JobStore, args: &KillArgs, grace: Duration) -> Exit {
    let how = args.signal.map_or(Stop::Ask, Stop::Signal);
    let mut exit = Exit::Code(0);
    let mut told = Vec::new();
    for id in &unique(args.ids.iter().copied()) {
        match store.stop(*id, how).await {
            Ok(()) => told.push(*id),
            Err(error) => {
                print::error(&error);
                exit = Exit::Failed;
            }
        }
    }
    // A signal that may be caught is no reason to expect an end.
    let ends = matches!(args.signal, None | Some(9));
    if args.no_wait || !ends {
        return exit;
    }
    let give_up = Instant::now() + grace + AFTER_GRACE;
    for id in told {
        match timeout_at(give_up, store.wait_until_gone(id)).await {
            Ok(Ok(job)) => print::talk(&format!("[job {id}: {}]", state_text(&job))),
            Ok(Err(ControlError::Get(GetJobError::Removed { .. }))) => {
                print::talk(&format!("[job {id}: ended; its record was removed]"));
            }
            Ok(Err(error)) => {
                print::error(&error);
                exit = Exit::Failed;
            }
            Err(_) => {
                print::error(&JobsError::StillThere { id });
                exit = Exit::Failed;
            }
        }
    }
    exit
}

fn sweep(store: &JobStore, as_json: bool) -> Result<Exit, Box<dyn Error>> {
    let removed = store.sweep()?;
    if as_json {
        print::pretty_json(json!({ "removed": removed }))?;
    } else {
        let many = if removed.len() == 1 { "job" } else { "jobs" };
        print::text(&format!("{} {many} removed\n", removed.len()))?;
    }
    Ok(Exit::Code(0))
}
