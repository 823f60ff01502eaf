//! `bashful jobs`

mod args;
mod follow;
mod show;
mod wait;

use std::error::Error;
use std::io::Read;
use std::path::Path;
use std::sync::Arc;

use bashful_dialect::job::{self, state_text};
use bashful_engine::{Eyes, JobStore, LONGEST_SCRIPT, Stop};
use serde_json::{Value, json};
use thiserror::Error;

pub(crate) use args::JobsCommand;
use args::{KillArgs, ListArgs, SendArgs};

use crate::exit::Exit;
use crate::print;
use crate::setup::{self, Surroundings};

#[derive(Debug, Error)]
enum JobsError {
    #[error("there is no place for jobs: neither XDG_STATE_HOME nor HOME is set")]
    NoPlace,
    #[error("that is more than the {LONGEST_SCRIPT} that are sent at once; nothing was sent, send it in pieces")]
    TooMuch,
    #[error("cannot read what to send from standard input")]
    Stdin(#[source] std::io::Error),
}

/// Lists, shows, waits for or stops jobs.
pub(crate) fn main(command: &JobsCommand, file: Option<&Path>) -> Result<Exit, Box<dyn Error>> {
    let around = Surroundings::read();
    let (settings, _) = around.settings(file)?;
    let store = Arc::new(setup::jobs(&settings, &around).ok_or(JobsError::NoPlace)?);
    let runtime = setup::runtime()?;
    let eyes = || Ok::<_, Box<dyn Error>>(setup::engine(&settings, &around, Some(Path::new("/")))?.eyes());
    runtime.block_on(async {
        match command {
            JobsCommand::List(args) => list(&store, args, &eyes()?),
            JobsCommand::Show(args) => show::main(&store, args, settings.output.whole_bytes.size(), &eyes),
            JobsCommand::Logs(args) => follow::main(&store, args, &eyes).await,
            JobsCommand::Wait(args) => wait::main(&store, args, &eyes).await,
            JobsCommand::Send(args) => send(&store, args).await,
            JobsCommand::Kill(args) => Ok(kill(&store, args).await),
            JobsCommand::Rm { ids } => Ok(print::failures(ids.iter().map(|id| store.remove(*id)))),
            JobsCommand::Sweep { json } => sweep(&store, *json),
        }
    })
}

fn list(store: &JobStore, args: &ListArgs, eyes: &Eyes) -> Result<Exit, Box<dyn Error>> {
    let mut jobs = store.list()?;
    jobs.retain(|job| !args.running || job.is_live());
    for one in &mut jobs {
        job::mask(one, eyes);
    }
    if args.json {
        let jobs: Value = jobs.iter().map(job::facts).collect();
        print::data(format!("{jobs:#}\n").as_bytes())?;
    } else if jobs.is_empty() {
        print::talk(&format!("[no jobs in {}]", store.directory().display()));
    } else {
        print::data(job::table(&jobs).as_bytes())?;
    }
    Ok(Exit::Code(0))
}

async fn send(store: &JobStore, args: &SendArgs) -> Result<Exit, Box<dyn Error>> {
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
    store.send(args.id, &text).await?;
    if args.eof {
        store.close_input(args.id).await?;
    }
    Ok(Exit::Code(0))
}

/// Stops as many as can be; one that cannot be reached does not spare the others.
async fn kill(store: &JobStore, args: &KillArgs) -> Exit {
    let how = args.signal.map_or(Stop::Ask, Stop::Signal);
    let mut exit = Exit::Code(0);
    let mut told = Vec::new();
    for id in &unique(&args.ids) {
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
    for id in told {
        match store.wait_until_gone(id).await {
            Ok(job) => print::talk(&format!("[job {id}: {}]", state_text(&job))),
            Err(error) => {
                print::error(&error);
                exit = Exit::Failed;
            }
        }
    }
    exit
}

/// Each once, as they came.
fn unique(ids: &[u64]) -> Vec<u64> {
    let mut unique = Vec::new();
    for id in ids {
        if !unique.contains(id) {
            unique.push(*id);
        }
    }
    unique
}

fn sweep(store: &JobStore, as_json: bool) -> Result<Exit, Box<dyn Error>> {
    let removed = store.sweep()?;
    let text = if as_json {
        format!("{:#}\n", json!({ "removed": removed }))
    } else {
        let many = if removed.len() == 1 { "job" } else { "jobs" };
        format!("{} {many} removed\n", removed.len())
    };
    print::data(text.as_bytes())?;
    Ok(Exit::Code(0))
}
