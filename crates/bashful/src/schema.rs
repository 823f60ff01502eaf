//! `bashful schema`

use std::error::Error;
use std::path::Path;

use bashful_dialect::{Abilities, facts_schemas};

use crate::cli::SchemaArgs;
use crate::exit::Exit;
use crate::print;
use crate::setup::{self, Surroundings};

/// Prints the definitions of tools, or the schemas of their facts.
pub(crate) fn main(args: &SchemaArgs, file: Option<&Path>) -> Result<Exit, Box<dyn Error>> {
    let around = Surroundings::read();
    let (settings, _) = around.settings(file)?;
    let directory = setup::directory(&around, args.cwd.as_deref())?;
    let tools = args.dialect.tools(&setup::limits(&settings), &directory, Abilities::ALL);
    let form = settings.mcp.clients(args.structured).usual.form;
    let printed = if args.facts { facts_schemas(&tools) } else { args.form.write(&tools, form) };
    print::pretty_json(printed)?;
    Ok(Exit::Code(0))
}
