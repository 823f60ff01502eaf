//! `bashful jobs screen`, `resize`, and typing at the terminal of a job.

use std::error::Error;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use bashful_dialect::terminal_calls::{self, TerminalUntil};
use bashful_engine::{JobStore, Judge, Verdict, WaitOver};
use serde_json::json;

use super::JobsError;
use super::args::{ResizeArgs, ScreenArgs, SendArgs};
use crate::exit::Exit;
use crate::print;

/// Longest time for a program to take what is typed.
const TYPING_PATIENCE: Duration = Duration::from_secs(10);

/// Prints the screen of a job. The exit code is 124 if the awaited text did not appear in time.
pub(super) async fn screen(store: &Arc<JobStore>, args: &ScreenArgs) -> Result<Exit, Box<dyn Error>> {
    let terminal = store.terminal(args.id).await?;
    let until = args.until.clone().map(TerminalUntil::Pattern);
    let view = terminal_calls::look(&terminal, until.as_ref(), args.timeout, args.colors, print::redactor()).await;
    let view = view.map_err(JobsError::Screen)?;
    let is_late = until.is_some() && view.over == WaitOver::TimeUp;
    if args.json {
        let mut facts = view.facts();
        facts["rows_text"] = json!(view.snapshot.rows);
        print::pretty_json(facts)?;
    } else if args.colors {
        print::data(format!("{}\n", print::redactor().redact(&view.text).into_string()).as_bytes())?;
        print::talk(&format!("[{}]", view.summary()));
    } else {
        print::text(&format!("{}\n", view.text))?;
        print::talk(&format!("[{}]", view.summary()));
    }
    Ok(if is_late { Exit::TimeUp } else { Exit::Code(0) })
}

/// Changes the size of a job's terminal.
pub(super) async fn resize(store: &Arc<JobStore>, args: &ResizeArgs) -> Result<Exit, Box<dyn Error>> {
    store.terminal(args.id).await?.resize(args.size).await?;
    print::talk(&format!("[terminal of job {}: {}x{}]", args.id, args.size.columns(), args.size.rows()));
    Ok(Exit::Code(0))
}

/// Types at the terminal of a job. The guard judges lines for a shell, unless a person types, who may type anything.
pub(super) async fn send(
    store: &Arc<JobStore>,
    args: &SendArgs,
    text: &str,
    judge: Option<&Judge>,
) -> Result<Exit, Box<dyn Error>> {
    let keys = terminal_calls::parse_keys(&args.keys).map_err(JobsError::Screen)?;
    let terminal = store.terminal(args.id).await?;
    let job = terminal.job()?;
    let verdict = |script: &str, shell: Option<&Path>| match (judge, shell) {
        (None, _) => Verdict::default(),
        (Some(judge), Some(directory)) => judge.verdict_on_lines(script, directory),
        (Some(judge), None) => judge.verdict_on_input(&job, script),
    };
    terminal_calls::type_at(&terminal, text, &keys, TYPING_PATIENCE, &verdict).await.map_err(JobsError::Screen)?;
    let sent = format!("{} and {}", print::count(text.len(), "byte"), print::count(keys.0.len(), "key"));
    if args.json {
        print::pretty_json(json!({ "id": args.id, "sent_bytes": text.len(), "keys": keys.0.len() }))?;
    } else {
        print::talk(&format!("[typed {sent} at job {}; see: bashful jobs screen {}]", args.id, args.id));
    }
    Ok(Exit::Code(0))
}
