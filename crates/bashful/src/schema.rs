//! `bashful schema`

use std::error::Error;
use std::path::Path;

use crate::cli::SchemaArgs;
use crate::exit::Exit;
use crate::print;
use crate::setup::{self, Surroundings};

/// Prints the definitions of tools.
pub(crate) fn main(args: &SchemaArgs, file: Option<&Path>) -> Result<Exit, Box<dyn Error>> {
    let around = Surroundings::read();
    let (settings, _) = around.settings(file)?;
    let directory = setup::directory(&around, args.cwd.as_deref())?;
    let tools = args.dialect.tools(&setup::limits(&settings), &directory);
    print::data(format!("{:#}\n", args.form.write(&tools)).as_bytes())?;
    Ok(Exit::Code(0))
}
