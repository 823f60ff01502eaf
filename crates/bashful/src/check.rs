//! `bashful check`: prints the guard's findings about a script. Nothing runs, and nobody is asked.

use std::error::Error;
use std::ffi::OsString;
use std::path::Path;

use bashful_dialect::{allow_line, how_to_allow};
use bashful_engine::{GivenCommand, Level, Redactor, Script, Verdict, working_directory};
use serde_json::{Value, json};

use crate::cli::CheckArgs;
use crate::exit::Exit;
use crate::request;
use crate::setup;
use crate::surroundings::Surroundings;
use crate::{derivation, guard, print};

/// Judges a script and prints the findings.
pub(crate) fn main(args: &CheckArgs, file: Option<&Path>) -> Result<Exit, Box<dyn Error>> {
    let around = Surroundings::read();
    let (settings, _) = around.settings(file)?;
    let guard = guard::guard(&settings, &around)?;
    let cwd = args.cwd.as_deref();
    let directory = working_directory(&setup::base_directory(&around, cwd)?, cwd)?;
    let bytes = request::script(args.script.as_ref().unwrap_or(&OsString::from("-")))?;
    let script = String::from_utf8_lossy(&bytes);
    let verdict = guard.judge(&script, &guard::prelude(Some(&directory), &around));
    let redactor = setup::redactor(&settings, &around)?;
    // A script that cannot be one is refused by nobody.
    let given = Script::new(bytes.as_slice()).ok().map(|script| GivenCommand::new(script, directory));
    // Without a guard every command runs, so there is nothing to allow.
    let given = given.filter(|_| settings.guard.enabled && verdict.refuses());
    if args.json {
        let mut facts = as_json(&verdict);
        if let Some(given) = &given {
            facts["allow"] = allow_line(given, &redactor).into();
        }
        print::json(facts, &redactor)?;
    } else {
        let mut text = as_text(&script, &verdict, &redactor);
        if args.explain && !verdict.findings.is_empty() {
            text = format!("{text}\n{}\n", derivation::trees(&script, &verdict, &redactor));
        }
        if let Some(given) = &given {
            text = format!("{text}{}\n", how_to_allow(given, &redactor));
        }
        print::text(&text)?;
    }
    Ok(Exit::Code(match (verdict.refuses(), verdict.incomplete) {
        (true, _) => 1,
        (false, true) => 2,
        (false, false) => 0,
    }))
}

fn as_text(script: &str, verdict: &Verdict, redactor: &Redactor) -> String {
    let mut text = guard::findings(script, verdict, redactor);
    if script.trim().is_empty() {
        text.push_str("the script is empty");
    } else if text.is_empty() {
        text.push_str("passes");
    }
    format!("{}\n", text.trim_start())
}

/// A verdict as JSON.
pub(crate) fn as_json(verdict: &Verdict) -> Value {
    let word = match verdict.level() {
        None => "pass",
        Some(Level::Warn) => "warn",
        Some(Level::Ask) => "ask",
        Some(Level::Deny) => "deny",
    };
    json!({ "verdict": word, "understood": !verdict.incomplete, "findings": verdict.findings })
}
