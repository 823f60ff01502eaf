//! `bashful check`: what the guard says about a script. Nothing runs, and nobody is asked.

use std::error::Error;
use std::ffi::OsString;
use std::path::Path;

use bashful_engine::{Level, Verdict};
use serde_json::{Value, json};

use crate::cli::CheckArgs;
use crate::exit::Exit;
use crate::setup::{self, Surroundings};
use crate::{guard, print};

/// Judges a script, and says what was found.
pub(crate) fn main(args: &CheckArgs, file: Option<&Path>) -> Result<Exit, Box<dyn Error>> {
    let around = Surroundings::read();
    let (settings, _) = around.settings(file)?;
    let guard = guard::guard(&settings, &around)?;
    let script = setup::script(args.script.as_ref().unwrap_or(&OsString::from("-")))?;
    let script = String::from_utf8_lossy(&script);
    let directory = match &args.cwd {
        Some(cwd) => std::path::absolute(cwd).ok(),
        None => std::env::current_dir().ok(),
    };
    let verdict = guard.judge(&script, &guard::place(directory.as_deref(), &around));
    if args.json {
        print::data(format!("{}\n", as_json(&verdict)).as_bytes())?;
    } else {
        print::data(as_text(&script, &verdict).as_bytes())?;
    }
    Ok(Exit::Code(match (verdict.refuses(), verdict.incomplete) {
        (true, _) => 1,
        (false, true) => 2,
        (false, false) => 0,
    }))
}

fn as_text(script: &str, verdict: &Verdict) -> String {
    let mut text = guard::findings(script, verdict);
    if verdict.incomplete {
        text.push_str("\nnot understood to its end; what stands before was judged");
    }
    if text.is_empty() {
        text.push_str("passes");
    }
    format!("{}\n", text.trim_start())
}

/// A verdict for programs.
pub(crate) fn as_json(verdict: &Verdict) -> Value {
    let word = match verdict.level() {
        None => "pass",
        Some(Level::Warn) => "warn",
        Some(Level::Ask) => "ask",
        Some(Level::Deny) => "deny",
    };
    json!({ "verdict": word, "understood": !verdict.incomplete, "findings": verdict.findings })
}
