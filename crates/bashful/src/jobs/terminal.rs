//! `bashful jobs screen` and `resize`.

use std::error::Error;
use std::sync::Arc;

use bashful_dialect::terminal_calls::{self, TerminalUntil};
use bashful_engine::{JobStore, WaitOver};
use serde_json::json;

use super::JobsError;
use super::args::{ResizeArgs, ScreenArgs};
use crate::exit::Exit;
use crate::print;

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
