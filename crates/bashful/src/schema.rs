//! `bashful schema`

use std::error::Error;
use std::path::Path;

use bashful_dialect::{Abilities, facts_schemas};

use crate::cli::SchemaArgs;
use crate::exit::Exit;
use crate::guard;
use crate::print;
use crate::setup::{self, Surroundings};

/// Prints the definitions of tools, or the schemas of their facts.
pub(crate) fn main(args: &SchemaArgs, file: Option<&Path>) -> Result<Exit, Box<dyn Error>> {
    let around = Surroundings::read();
    let (mut settings, _) = around.settings(file)?;
    guard::set_dialect_levels(&mut settings, args.dialect);
    let directory = setup::directory(&around, args.cwd.as_deref())?;
    let judge = guard::judge(&settings, &around)?;
    let abilities = Abilities { guard: judge.is_some_and(|judge| judge.refuses("rm -rf /")), ..Abilities::ALL };
    let tools = args.dialect.tools(&setup::limits(&settings), &directory, abilities);
    let form = settings.mcp.clients(args.structured).usual.form;
    let printed = if args.facts { facts_schemas(&tools) } else { args.form.write(&tools, form) };
    print::pretty_json(printed)?;
    Ok(Exit::Code(0))
}
