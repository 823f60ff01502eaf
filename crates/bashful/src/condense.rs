//! `bashful condense`: an output made shorter by the filters, as a model would read it. Nothing runs.

use std::error::Error;
use std::io::Read;
use std::path::PathBuf;

use bashful_condense::{Condensed, Condenser, FilterError};
use bashful_engine::{ByteSize, Distrust, trust_settings};
use bashful_guard::Sequence;
use thiserror::Error;

use crate::cli::CondenseArgs;
use crate::exit::Exit;
use crate::print;
use crate::settings::{may_be_there, read};
use crate::setup::Surroundings;

/// Bytes that a token stands for, on average over English text and code.
const BYTES_PER_TOKEN: usize = 4;

/// The output cannot be condensed.
#[derive(Debug, Error)]
enum CondenseError {
    #[error("cannot read standard input")]
    Stdin(#[source] std::io::Error),
    #[error("cannot read the filters in {}", path.display())]
    Unreadable { path: PathBuf, source: std::io::Error },
    #[error(
        "the filters in {} cannot be trusted: {}",
        path.display(),
        why.advise("remove the file")
    )]
    Distrusted { path: PathBuf, why: Distrust },
    #[error("{}", path.display())]
    Filters { path: PathBuf, source: FilterError },
}

/// Condenses standard input, and prints the result.
pub(crate) fn main(args: &CondenseArgs) -> Result<Exit, Box<dyn Error>> {
    let condenser = condenser(&Surroundings::read())?;
    let mut output = Vec::new();
    std::io::stdin().lock().read_to_end(&mut output).map_err(CondenseError::Stdin)?;
    // Bytes that are no text belong to no tool that a filter knows.
    let answer = match (Sequence::of(&args.command), str::from_utf8(&output)) {
        (Some(commands), Ok(text)) => condenser.condense(&commands, text, Some(args.status)),
        _ => Condensed::Unchanged,
    };
    let (text, account) = match answer {
        Condensed::Unchanged => (output.clone(), "unchanged".to_owned()),
        Condensed::Shorter { text, dropped } => {
            // Output that ends within a line would take the note into that line.
            let end = if text.is_empty() || text.ends_with('\n') { "" } else { "\n" };
            (format!("{text}{end}{}\n", dropped.note()).into_bytes(), dropped.to_string())
        }
    };
    print::data(&print::lossy_on_terminal(text.clone()))?;
    if args.verbose {
        print::talk(&figures(output.len(), text.len()));
        print::talk(&account);
    }
    Ok(Exit::Code(0))
}

/// The filters that come with the program, and those of the user: `filters.toml` beside the settings, if it is there.
fn condenser(around: &Surroundings) -> Result<Condenser, CondenseError> {
    let mut condenser = Condenser::default();
    let usual = around.settings_file().map(|file| file.with_file_name("filters.toml"));
    if let Some(path) = usual.filter(|path| may_be_there(path)) {
        let distrusted = |why| CondenseError::Distrusted { path: path.clone(), why };
        trust_settings(&path, around.home().as_deref()).map_err(distrusted)?;
        let unreadable = |source| CondenseError::Unreadable { path: path.clone(), source };
        let text = read(&path).map_err(unreadable)?;
        condenser.add_filters(&text).map_err(|source| CondenseError::Filters { path, source })?;
    }
    Ok(condenser)
}

/// The sizes before and after, note included.
fn figures(before: usize, after: usize) -> String {
    let saved = 100 - (after * 100).checked_div(before).unwrap_or(100);
    let size = |bytes: usize| ByteSize(u64::try_from(bytes).unwrap_or(u64::MAX));
    let tokens = |bytes: usize| bytes.div_ceil(BYTES_PER_TOKEN);
    format!(
        "{} -> {}, about {} -> {} tokens: {saved} % saved",
        size(before),
        size(after),
        tokens(before),
        tokens(after)
    )
}
