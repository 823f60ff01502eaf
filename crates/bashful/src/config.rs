//! `bashful config`

use std::error::Error;
use std::path::Path;

use crate::cli::ConfigArgs;
use crate::exit::Exit;
use crate::print;
use crate::settings::{defaults, may_be_there};
use crate::setup::Surroundings;

/// Prints the settings in force, or the defaults.
pub(crate) fn main(args: &ConfigArgs, file: Option<&Path>) -> Result<Exit, Box<dyn Error>> {
    if args.defaults {
        print::data(defaults().as_bytes())?;
        return Ok(Exit::Code(0));
    }
    let around = Surroundings::read();
    let (settings, used) = around.settings(file)?;
    let mut from = vec!["# The defaults (`bashful config --defaults`)".to_owned()];
    from.extend(used.iter().map(|place| format!("then {place}")));
    if let Some(path) = around.settings_file().filter(|path| !may_be_there(path)) {
        from.push(format!("while {} is not there", path.display()));
    }
    let text = format!("{}.\n\n{}", from.join(", "), toml::to_string(&settings)?);
    print::text(&text)?;
    Ok(Exit::Code(0))
}
