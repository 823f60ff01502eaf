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
use bashful_dialect::terminal_calls::parse_keys;
use bashful_dialect::unique;
use bashful_engine::{
    CommandLog, ControlError, GetJobError, JobInput, JobInputs, JobStore, LONGEST_SCRIPT, Stop, error_chain,
};
use serde_json::{Value, json};
use thiserror::Error;
use tokio::time::{Instant, timeout_at};

pub(crate) use args::JobsCommand;
use args::{KillArgs, ListArgs, RmArgs, SendArgs};

use crate::exit::Exit;
use crate::log::Log;
use crate::setup;
use crate::stores;
use crate::surroundings::Surroundings;
use crate::{guard, print};

/// Wait beyond the grace for a stopped job to end. A process that is stuck in the kernel may never end.
const AFTER_GRACE: Duration = Duration::from_secs(10);

/// Longest time for a program to take what is typed.
const TYPING_PATIENCE: Duration = Duration::from_secs(10);

#[derive(Debug, Error)]
enum JobsError {
    #[error("input is limited to {LONGEST_SCRIPT} at once; nothing was sent, so send it in pieces")]
    TooMuch,
    #[error("cannot read standard input")]
    Stdin(#[source] std::io::Error),
    #[error("{0}")]
    Screen(String),
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
            JobsCommand::Send(args) => {
                // A person at a terminal may send anything.
                let judge = guard::judge(&settings, &around)?.filter(|_| guard::find_person().is_err());
                let log = Log::new(&settings, &around, "jobs").map(|log| Arc::new(log) as Arc<dyn CommandLog>);
                send(&JobInputs { store, judge, log, redactor: print::redactor().clone() }, args).await
            }
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

async fn send(inputs: &JobInputs, args: &SendArgs) -> Result<Exit, Box<dyn Error>> {
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
    let keys = parse_keys(&args.keys).map_err(JobsError::Screen)?;
    let (bytes, pressed) = (text.len(), keys.0.len());
    let has_terminal = inputs.store.get(args.id)?.has_terminal;
    inputs.send(args.id, JobInput { text, keys, end: args.eof }, TYPING_PATIENCE).await?;
    if args.json {
        print::pretty_json(json!({ "id": args.id, "sent_bytes": bytes, "keys": pressed, "closed": args.eof }))?;
    } else if has_terminal {
        let sent = format!("{} and {}", print::count(bytes, "byte"), print::count(pressed, "key"));
        print::talk(&format!("[typed {sent} at job {}; see: bashful jobs screen {}]", args.id, args.id));
    } else {
        let closed = if args.eof { ", and closed its input" } else { "" };
        print::talk(&format!("[sent {} to job {}{closed}]", print::count(bytes, "byte"), args.id));
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
