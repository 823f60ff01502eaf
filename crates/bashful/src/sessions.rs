//! `bashful sessions`: lists and ends persistent shells.

use std::error::Error;
use std::path::Path;
use std::time::Duration;

use bashful_dialect::table::Table;
use bashful_dialect::visible;
use bashful_engine::{EndSessionError, Lifetime, NewerSession, SessionEntry, SessionName, SessionOwner, SessionStore};
use clap::{Args, Subcommand};
use serde_json::{Value, json};

use crate::exit::Exit;
use crate::print;
use crate::setup;
use crate::stores;
use crate::surroundings::Surroundings;

/// The subcommands of `bashful sessions`: lists and ends persistent shells..
#[derive(Debug, Subcommand)]
pub(crate) enum SessionsCommand {
    /// List sessions of `bashful run --session` and of servers.
    #[command(after_help = "Example: bashful sessions list --json")]
    List(ListArgs),
    /// End sessions and stop everything that runs in them.
    #[command(after_help = "Example: bashful sessions end build")]
    End(EndArgs),
}

#[derive(Debug, Args)]
pub(crate) struct ListArgs {
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct EndArgs {
    /// Names of the sessions to end.
    #[arg(value_name = "NAME", required_unless_present = "all")]
    names: Vec<SessionName>,
    /// End all sessions, those of servers included.
    #[arg(long, conflicts_with = "names")]
    all: bool,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

/// Lists or ends sessions.
pub(crate) fn main(command: &SessionsCommand, file: Option<&Path>) -> Result<Exit, Box<dyn Error>> {
    let around = Surroundings::read();
    let (settings, _) = around.settings(file)?;
    let store =
        stores::sessions(&settings, &around, SessionOwner::User).ok_or_else(|| around.state().no_place("sessions"))?;
    let runtime = setup::runtime()?;
    runtime.block_on(async {
        match command {
            SessionsCommand::List(args) => list(&store, args).await,
            SessionsCommand::End(args) => end(&store, args).await,
        }
    })
}

async fn list(store: &SessionStore, args: &ListArgs) -> Result<Exit, Box<dyn Error>> {
    let entries = store.list().await?;
    let newer = store.list_newer().await?;
    if args.json {
        let entries: Value = entries.iter().map(facts).chain(newer.iter().map(newer_facts)).collect();
        print::pretty_json(entries)?;
    } else if entries.is_empty() && newer.is_empty() {
        print::talk(&format!("[no sessions in {}]", store.directory().display()));
    } else if !entries.is_empty() {
        print::table(&table(&entries))?;
    }
    for session in newer.iter().filter(|_| !args.json) {
        print::talk(&format!(
            "[session {:?} belongs to a newer bashful (protocol version {}): this one can only end it, with `bashful sessions end`]",
            session.name, session.protocol
        ));
    }
    Ok(Exit::Code(0))
}

/// Ends all these sessions. One that cannot be reached does not stop the others.
async fn end(store: &SessionStore, args: &EndArgs) -> Result<Exit, Box<dyn Error>> {
    let mut results = Vec::new();
    if args.all {
        for entry in store.list().await? {
            results.push((entry.name.clone(), store.end_one(&entry).await));
        }
        for session in store.list_newer().await? {
            results.push((session.name.clone(), store.end_newer(&session).await));
        }
    }
    for name in &args.names {
        // Records have redacted names, unless an older version wrote them.
        let redacted = SessionName::new(print::redactor().redact(name.as_str()).into_string());
        let ended = match (store.end(name).await, redacted) {
            (Err(EndSessionError::NoSession { .. }), Ok(redacted)) if redacted != *name => store.end(&redacted).await,
            (ended, _) => ended,
        };
        results.push((name.as_str().to_owned(), ended.map(drop)));
    }
    if results.is_empty() && !args.json {
        print::talk("[no sessions to end]");
    }
    let results = results.into_iter().map(|(name, result)| (json!(name), format!("session {name:?}"), result));
    Ok(print::changes(args.json, "ended", results)?)
}

fn facts(entry: &SessionEntry) -> Value {
    json!({
        "name": entry.name,
        "owner": if entry.owner == SessionOwner::User { "user" } else { "server" },
        "state": if entry.busy { "busy" } else { "idle" },
        "since_ms": u64::try_from(entry.since.as_millis()).unwrap_or(u64::MAX),
        "pid": entry.pid,
        "cwd": entry.cwd.as_ref().map(|cwd| cwd.to_string_lossy()),
        "commands": entry.commands,
        "left": entry.left,
    })
}

fn newer_facts(session: &NewerSession) -> Value {
    json!({ "name": session.name, "state": "unknown", "protocol": session.protocol })
}

fn table(entries: &[SessionEntry]) -> Table<6> {
    let rows = entries
        .iter()
        .map(|entry| {
            let state = if entry.busy { "busy" } else { "idle" };
            let since = Lifetime(Duration::from_secs(entry.since.as_secs()));
            let owner = if entry.owner == SessionOwner::User { "user" } else { "server" };
            let cwd = entry.cwd.as_ref().map(|cwd| visible(&cwd.to_string_lossy())).unwrap_or_default();
            [
                entry.name.clone(),
                owner.to_owned(),
                format!("{state} for {since}"),
                entry.pid.to_string(),
                entry.left.to_string(),
                cwd,
            ]
        })
        .collect();
    Table::new(["SESSION", "OWNER", "STATE", "PID", "LEFT", "DIRECTORY"], rows, &[3, 4])
}
