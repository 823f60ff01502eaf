//! `bashful schema`: prints tool definitions and the schemas of facts.

use std::error::Error;
use std::path::Path;

use bashful_dialect::{Abilities, Dialect, Limits, facts_schemas};
use serde_json::{Value, json};

use crate::cli::SchemaArgs;
use crate::exit::Exit;
use crate::guard;
use crate::print;
use crate::setup;
use crate::surroundings::Surroundings;

/// Prints the definitions of tools, or the schemas of their facts.
pub(crate) fn main(args: &SchemaArgs, file: Option<&Path>) -> Result<Exit, Box<dyn Error>> {
    if args.rpc {
        print::pretty_json(bashful_rpc::schema())?;
        return Ok(Exit::Code(0));
    }
    let around = Surroundings::read();
    let (mut settings, _) = around.settings(file)?;
    guard::set_dialect_levels(&mut settings, args.dialect);
    let directory = setup::directory(&around, args.cwd.as_deref())?;
    let judge = guard::judge(&settings, &around)?;
    let is_condensed =
        if args.dialect == Dialect::PI { settings.condense.pi_enabled } else { settings.condense.enabled };
    let abilities = Abilities {
        guard: judge.is_some_and(|judge| judge.refuses("rm -rf /")),
        condensing: is_condensed,
        sandbox: settings.sandbox.mode.mode(),
        ..Abilities::ALL
    };
    let tools = args.dialect.tools(&setup::limits(&settings), &directory, abilities);
    let form = settings.mcp.clients(args.structured).usual.form;
    let printed = if args.facts { facts_schemas(&tools, &run_facts()) } else { args.form.write(&tools, form) };
    print::pretty_json(printed)?;
    Ok(Exit::Code(0))
}

/// The schema of `bashful run --json`: the facts of the native tool, and the output.
fn run_facts() -> Value {
    let tools = Dialect::NATIVE.tools(&Limits::default(), Path::new("/"), Abilities::ALL);
    let facts = tools.into_iter().find(|tool| tool.name == "bash").map(|bash| Value::from(bash.facts));
    let mut schema = facts.expect("the native dialect has the tool `bash`");
    for (name, of_type, meaning) in [
        ("output", "string", "Standard output and standard error, in their true order"),
        ("stdout", "string", "Standard output, with --split"),
        ("stderr", "string", "Standard error, with --split"),
        ("text_bytes", "integer", "Bytes of the output as text, without escape sequences and redraws"),
        ("truncated", "boolean", "Part of the output is left out"),
        ("stderr_truncated", "boolean", "Part of standard error is left out"),
        ("findings", "array", "Findings of the guard, if it refused the command"),
        ("allow", "string", "A line that approves the refused command for one run"),
    ] {
        schema["properties"][name] = json!({ "type": of_type, "description": meaning });
    }
    schema
}
