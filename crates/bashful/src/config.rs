//! `bashful config`: prints the settings in force, or the defaults.

use std::error::Error;
use std::path::Path;

use serde_json::json;

use crate::cli::ConfigArgs;
use crate::exit::Exit;
use crate::print;
use crate::settings::{defaults, may_be_there};
use crate::surroundings::Surroundings;

/// Prints the settings in force, or the defaults.
pub(crate) fn main(args: &ConfigArgs, file: Option<&Path>) -> Result<Exit, Box<dyn Error>> {
    if args.defaults {
        print::data(defaults().as_bytes())?;
        return Ok(Exit::Code(0));
    }
    let around = Surroundings::read();
    let (settings, used, problem) = around.settings_for_diagnosis(file);
    let exit = if problem.is_some() { Exit::Failed } else { Exit::Code(0) };
    if args.json {
        let problem = problem.map(|problem| bashful_engine::error_chain(problem.as_ref()));
        print::pretty_json(json!({ "settings": serde_json::to_value(&settings)?, "sources": used, "error": problem }))?;
        return Ok(exit);
    }
    if let Some(problem) = problem {
        print::error(problem.as_ref());
        print::talk("[commands will not run until this is mended; the settings without it are:]");
    }
    let mut from = vec!["# The defaults (`bashful config --defaults`)".to_owned()];
    from.extend(used.iter().map(|place| format!("then {place}")));
    if let Some(path) = around.settings_file().filter(|path| !may_be_there(path)) {
        from.push(format!("while {} is not there", path.display()));
    }
    let text = format!("{}.\n\n{}", from.join(", "), toml::to_string(&settings)?);
    print::text(&text)?;
    Ok(exit)
}
