//! `bashful jobs`: lists, shows, waits for and stops background jobs.

mod args;
mod follow;
mod show;
mod terminal;
mod wait;

use std::error::Error;
use std::io::Read;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use bashful_dialect::job::{self, state_text};
use bashful_dialect::unique;
use bashful_engine::{ControlError, GetJobError, JobStore, Judge, LONGEST_SCRIPT, Stop, error_chain, reason};
use serde_json::{Value, json};
use thiserror::Error;
use tokio::time::{Instant, timeout_at};

pub(crate) use args::JobsCommand;
use args::{KillArgs, ListArgs, RmArgs, SendArgs};

use crate::exit::Exit;
use crate::setup;
use crate::stores;
use crate::surroundings::Surroundings;
use crate::{guard, print};

/// Wait beyond the grace for a stopped job to end. A process that is stuck in the kernel may never end.
const AFTER_GRACE: Duration = Duration::from_secs(10);

#[derive(Debug, Error)]
enum JobsError {
    #[error("input is limited to {LONGEST_SCRIPT} at once; nothing was sent, so send it in pieces")]
    TooMuch,
    #[error("cannot read standard input")]
    Stdin(#[source] std::io::Error),
    #[error("job {id} has no terminal, so no key can be pressed; start it with: bashful run -b --pty")]
    NoTerminal { id: u64 },
    #[error("{0}")]
    Screen(String),
    #[error("nothing was sent to job {id}: {reason}")]
    Refused { id: u64, reason: String },
    #[error("job {id} was told to stop, and is still running; see: bashful jobs show {id}")]
    StillThere { id: u64 },
}

/// Lists, shows, waits for or stops jobs.
pub(crate) fn main(command: &JobsCommand, file: Option<&Path>) -> Result<Exit, Box<dyn Error>> {
    let around = Surroundings::read();
    let (settings, _) = around.settings(file)?;
    let store = Arc::new(stores::jobs(&settings, &around).ok_or_else(|| around.state().no_place("jobs"))?);
    let runtime = setup::runtime()?;
    let redactor = || Ok::<_, Box<dyn Error>>(setup::output_redactor(&settings, &around)?);
    runtime.block_on(async {
        match command {
            JobsCommand::List(args) => list(&store, args),
            JobsCommand::Show(args) => show::main(&store, args, settings.output.whole_bytes.size(), &redactor),
            JobsCommand::Logs(args) => follow::main(&store, args, &redactor).await,
            JobsCommand::Wait(args) => wait::main(&store, args, &redactor).await,
            JobsCommand::Send(args) => send(&store, args, guard::judge(&settings, &around)?.as_ref()).await,
            JobsCommand::Screen(args) => terminal::screen(&store, args).await,
            JobsCommand::Resize(args) => terminal::resize(&store, args).await,
            JobsCommand::Kill(args) => kill(&store, args, settings.stop.grace_seconds.duration()).await,
            JobsCommand::Rm(args) => remove(&store, args),
            JobsCommand::Sweep { json } => sweep(&store, *json),
        }
    })
}

fn list(store: &JobStore, args: &ListArgs) -> Result<Exit, Box<dyn Error>> {
    let mut jobs = if args.running { store.list_live()? } else { store.list()? };
    for one in &mut jobs {
        job::redact(one, print::redactor());
    }
    if args.json {
        let jobs: Value = jobs.iter().map(job::facts).collect();
        print::pretty_json(jobs)?;
    } else if jobs.is_empty() {
        print::talk(&format!("[no jobs in {}]", store.directory().display()));
    } else {
        print::table(&job::table(&jobs))?;
    }
    Ok(Exit::Code(0))
}

async fn send(store: &Arc<JobStore>, args: &SendArgs, judge: Option<&Judge>) -> Result<Exit, Box<dyn Error>> {
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
    // A job that is a shell runs its input, so the guard judges it. A person at a terminal may send anything.
    let judge = judge.filter(|_| guard::find_person().is_err());
    if store.get(args.id).is_ok_and(|job| job.has_terminal) {
        return terminal::send(store, args, &String::from_utf8_lossy(&text), judge).await;
    }
    if !args.keys.is_empty() {
        store.get(args.id)?;
        return Err(JobsError::NoTerminal { id: args.id }.into());
    }
    if let (Some(judge), Ok(job)) = (judge, store.get(args.id)) {
        let verdict = judge.verdict_on_input(&job, &String::from_utf8_lossy(&text));
        if verdict.refuses() {
            return Err(JobsError::Refused { id: args.id, reason: reason(&verdict) }.into());
        }
    }
    store.send(args.id, &text).await?;
    if args.eof {
        store.close_input(args.id).await?;
    }
    if args.json {
        print::pretty_json(json!({ "id": args.id, "sent_bytes": text.len(), "closed": args.eof }))?;
    } else {
        let closed = if args.eof { ", and closed its input" } else { "" };
        print::talk(&format!("[sent {} to job {}{closed}]", print::count(text.len(), "byte"), args.id));
    }
    Ok(Exit::Code(0))
}

fn remove(store: &JobStore, args: &RmArgs) -> Result<Exit, Box<dyn Error>> {
    let results = args.ids.iter().map(|id| (json!(id), format!("job {id}"), store.remove(*id)));
    Ok(print::changes(args.json, "removed", results)?)
}

/// Stops all these jobs. One that cannot be reached does not save the others.
async fn kill(store: &JobStore, args: &KillArgs, grace: Duration) -> Result<Exit, Box<dyn Error>> {
    let how = args.signal.map_or(Stop::Ask, Stop::Signal);
    let (mut killed, mut errors) = (Vec::new(), Vec::new());
    for id in unique(args.ids.iter().copied()) {
        match store.stop(id, how).await {
            Ok(()) => killed.push(id),
            Err(error) => errors.push((id, error.into())),
        }
    }
    // A job may catch any other signal and go on, so the command does not wait then.
    let ends = matches!(args.signal, None | Some(9)) && !args.no_wait;
    let give_up = Instant::now() + grace + AFTER_GRACE;
    let mut states = Vec::new();
    for id in killed {
        if !ends {
            let sent = args.signal.map_or("asked to stop".to_owned(), |number| format!("sent signal {number}"));
            states.push((id, sent));
            continue;
        }
        match timeout_at(give_up, store.wait_until_gone(id)).await {
            Ok(Ok(job)) => states.push((id, state_text(&job))),
            Ok(Err(ControlError::Get(GetJobError::Removed { .. }))) => {
                states.push((id, "ended; its record was removed".to_owned()));
            }
            Ok(Err(error)) => errors.push((id, error.into())),
            Err(_) => errors.push((id, JobsError::StillThere { id }.into())),
        }
    }
    report_killed(args, &states, &errors)
}

fn report_killed(
    args: &KillArgs,
    states: &[(u64, String)],
    errors: &[(u64, Box<dyn Error>)],
) -> Result<Exit, Box<dyn Error>> {
    let exit = if errors.is_empty() { Exit::Code(0) } else { Exit::Failed };
    if args.json {
        let jobs: Value = states.iter().map(|(id, state)| json!({ "id": id, "state": state })).collect();
        let failure = |(id, error): &(u64, Box<dyn Error>)| json!({ "id": id, "error": error_chain(error.as_ref()) });
        let errors: Value = errors.iter().map(failure).collect();
        print::pretty_json(json!({ "killed": jobs, "errors": errors }))?;
        return Ok(exit);
    }
    for (id, state) in states {
        print::talk(&format!("[job {id}: {state}]"));
    }
    for (_, error) in errors {
        print::error(error.as_ref());
    }
    Ok(exit)
}

fn sweep(store: &JobStore, as_json: bool) -> Result<Exit, Box<dyn Error>> {
    let removed = store.sweep()?;
    if as_json {
        print::pretty_json(json!({ "removed": removed }))?;
    } else {
        print::text(&format!("{} removed\n", print::count(removed.len(), "job")))?;
    }
    Ok(Exit::Code(0))
}
