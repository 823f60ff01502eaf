//! `bashful jobs wait`: waits for the end of jobs, for a line or for a port.

use std::error::Error;
use std::io::{self, IsTerminal};
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use bashful_dialect::job::{self, state_text};
use bashful_dialect::unique;
use bashful_engine::{ControlError, End, Exit as Ended, Followed, JobRecord, JobStore, OutputRedactor, Until};
use regex::bytes::Regex;
use serde_json::{Value, json};
use tokio::net::TcpStream;
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};

use super::args::WaitArgs;
use crate::exit::Exit;
use crate::print;

/// Longest unfinished line, in bytes, that is searched for a match.
const LONGEST_LINE: usize = 64 * 1024;

/// Most characters of the matching line that are printed.
const LINE_SHOWN: usize = 400;

/// Interval between two attempts to connect to a port.
const KNOCK_AGAIN: Duration = Duration::from_millis(100);

/// The result of waiting.
enum Waited {
    /// These jobs have ended.
    Ended(Vec<JobRecord>),
    /// The line or port was there before the jobs ended.
    Came(String),
}

/// Waits, and prints the result.
pub(super) async fn main(
    store: &Arc<JobStore>,
    args: &WaitArgs,
    redactor: &impl Fn() -> Result<OutputRedactor, Box<dyn Error>>,
) -> Result<Exit, Box<dyn Error>> {
    let ids = unique(args.ids.iter().copied());
    // An unknown id is an error at once, before any wait.
    for id in &ids {
        store.get(*id)?;
    }
    let patience = args.timeout.unwrap_or(Duration::MAX);
    announce(store, args, &ids);
    let waiting = async {
        if let Some(pattern) = &args.until {
            let redactor = ids.iter().map(|_| redactor()).collect::<Result<Vec<_>, _>>()?;
            return Ok::<_, Box<dyn Error>>(until_line(store, &ids, pattern, redactor).await?);
        }
        match args.until_port {
            Some(port) => Ok(until_port(store, &ids, port).await?),
            None => Ok(Waited::Ended(until_end(store, &ids, args.any).await?)),
        }
    };
    match timeout(patience, waiting).await {
        Err(_) => report(store, args, &ids, None),
        Ok(waited) => report(store, args, &ids, Some(&waited?)),
    }
}

/// Prints the wait to a terminal. A script gets only the result.
fn announce(store: &JobStore, args: &WaitArgs, ids: &[u64]) {
    let live: Vec<String> =
        ids.iter().filter(|id| store.get(**id).is_ok_and(|job| job.is_live())).map(|id| format!("job {id}")).collect();
    if args.json || live.is_empty() || !io::stderr().is_terminal() {
        return;
    }
    let jobs = live.join(if args.any { " or " } else { " and " });
    let what = match (&args.until, args.until_port) {
        (Some(pattern), _) => format!("a line like {pattern} of {jobs}"),
        (_, Some(port)) => format!("port {port} to open"),
        _ => format!("{jobs} to end"),
    };
    print::talk(&format!("[waiting for {what}; Ctrl-C stops waiting, not the job]"));
}

async fn until_end(store: &Arc<JobStore>, ids: &[u64], any: bool) -> Result<Vec<JobRecord>, ControlError> {
    let mut waits = JoinSet::new();
    for id in ids {
        let (store, id) = (Arc::clone(store), *id);
        waits.spawn(async move { store.wait(id).await });
    }
    let mut ended = Vec::new();
    while let Some(job) = waits.join_next().await {
        ended.push(job.expect("waiting neither panics nor is cancelled")?);
        if any {
            break;
        }
    }
    ended.sort_by_key(|job| job.id);
    Ok(ended)
}

/// Waits until one of the jobs writes a matching line.
async fn until_line(
    store: &Arc<JobStore>,
    ids: &[u64],
    pattern: &Regex,
    redactor: Vec<OutputRedactor>,
) -> Result<Waited, ControlError> {
    let mut looks = JoinSet::new();
    for (id, redactor) in ids.iter().zip(redactor) {
        looks.spawn(look_for(Arc::clone(store), *id, pattern.clone(), redactor));
    }
    let mut ended = Vec::new();
    while let Some(found) = looks.join_next().await {
        match found.expect("looking neither panics nor is cancelled")? {
            Waited::Ended(jobs) => ended.extend(jobs),
            came @ Waited::Came(_) => return Ok(came),
        }
    }
    Ok(Waited::Ended(ended))
}

async fn look_for(
    store: Arc<JobStore>,
    id: u64,
    pattern: Regex,
    mut redactor: OutputRedactor,
) -> Result<Waited, ControlError> {
    // A leftover process of the shell may write the line.
    let mut follow = store.follow(id, 0)?.until(Until::Gone);
    let mut begun = Vec::new();
    loop {
        match follow.next().await? {
            Followed::Output { bytes, .. } => begun.extend(redactor.push(&bytes)),
            Followed::Missing(_) => begun.clear(),
            Followed::Over(job) => return Ok(Waited::Ended(vec![*job])),
        }
        // A prompt has no newline, so unfinished lines count too.
        let text = [begun.as_slice(), &redactor.pending()].concat();
        if let Some(line) = text.split(|byte| *byte == b'\n').find(|line| pattern.is_match(line)) {
            let line: String = String::from_utf8_lossy(line).chars().take(LINE_SHOWN).collect();
            return Ok(Waited::Came(format!("job {id} wrote: {line}")));
        }
        let whole = begun.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
        begun.drain(..whole);
        begun.truncate(LONGEST_LINE);
    }
}

/// Waits until the port is open, or until no process of the jobs is left.
async fn until_port(store: &Arc<JobStore>, ids: &[u64], port: u16) -> Result<Waited, ControlError> {
    let listening = async {
        let places = [SocketAddr::from((Ipv4Addr::LOCALHOST, port)), SocketAddr::from((Ipv6Addr::LOCALHOST, port))];
        loop {
            for place in places {
                if TcpStream::connect(place).await.is_ok() {
                    return Waited::Came(format!("port {port} is open"));
                }
            }
            sleep(KNOCK_AGAIN).await;
        }
    };
    let gone = async {
        let mut jobs = Vec::new();
        for id in ids {
            // A leftover process of the shell may be the server.
            jobs.push(store.wait_until_gone(*id).await?);
        }
        Ok(Waited::Ended(jobs))
    };
    tokio::select! {
        came = listening => Ok(came),
        ended = gone => ended,
    }
}

fn report(store: &JobStore, args: &WaitArgs, ids: &[u64], waited: Option<&Waited>) -> Result<Exit, Box<dyn Error>> {
    let jobs = ids.iter().map(|id| store.get(*id)).collect::<Result<Vec<_>, _>>()?;
    let wanted_more = args.until.is_some() || args.until_port.is_some();
    let (exit, word) = match waited {
        None => (Exit::TimeUp, "timed_out"),
        Some(Waited::Came(_)) => (Exit::Code(0), "came"),
        Some(Waited::Ended(_)) if wanted_more => (Exit::Code(1), "ended"),
        Some(Waited::Ended(ended)) => {
            let failed = ended.iter().any(|job| job.end() != Some(End::Own(Ended::Code(0))));
            (Exit::Code(u8::from(failed)), "ended")
        }
    };
    if args.json {
        let came = match waited {
            Some(Waited::Came(what)) => Some(what),
            Some(Waited::Ended(_)) | None => None,
        };
        let jobs: Value = jobs.iter().map(job::facts).collect();
        print::pretty_json(json!({ "waited": word, "came": came, "jobs": jobs }))?;
        return Ok(exit);
    }
    match waited {
        None => print::talk("[timed out; the jobs were not stopped]"),
        Some(Waited::Came(what)) => print::talk(&format!("[{what}]")),
        Some(Waited::Ended(_)) if wanted_more => print::talk("[every job ended before that]"),
        Some(Waited::Ended(_)) => {}
    }
    for job in &jobs {
        print::text(&format!("job {}: {}\n", job.id, state_text(job)))?;
    }
    Ok(exit)
}
