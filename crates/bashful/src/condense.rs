//! Condensing by the settings: for commands that run, and for `bashful condense`, which only reads an output.

use std::error::Error;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use bashful_condense::{Condensed, Condenser, FilterError, Selection};
use bashful_engine::{ByteSize, Condensing, Distrust, trust_settings};
use bashful_guard::Sequence;
use thiserror::Error;

use crate::cli::CondenseArgs;
use crate::exit::Exit;
use crate::print;
use crate::settings::{Names, Settings, may_be_there, read};
use crate::surroundings::Surroundings;

/// Bytes that a token stands for, on average over English text and code.
const BYTES_PER_TOKEN: u64 = 4;

/// Outputs cannot be condensed.
#[derive(Debug, Error)]
pub(crate) enum CondenseError {
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
    #[error("`[condense] {key}` in the settings: there is no filter and no family {name:?}")]
    Unknown { key: &'static str, name: String },
}

/// Loads the filters of the settings and of the user, if outputs are condensed at all: filters that nobody uses must not
/// stop a command. To be called once the dialect has had its say.
pub(crate) fn load_filters(
    condensing: &mut Condensing,
    settings: &Settings,
    around: &Surroundings,
) -> Result<(), CondenseError> {
    if condensing.enabled {
        condensing.condenser = Arc::new(condenser(settings, around)?);
    }
    Ok(())
}

fn check_names(condenser: &Condenser, key: &'static str, names: &[String]) -> Result<(), CondenseError> {
    // Without names, the filters need not be read.
    let filters = if names.is_empty() { Vec::new() } else { condenser.filters() };
    let is_known = |name: &&String| filters.iter().any(|filter| filter.name == **name || filter.family == **name);
    match names.iter().find(|name| !is_known(name)) {
        Some(name) => Err(CondenseError::Unknown { key, name: name.clone() }),
        None => Ok(()),
    }
}

/// Condenses standard input, and prints the result.
pub(crate) fn main(args: &CondenseArgs, file: Option<&Path>) -> Result<Exit, Box<dyn Error>> {
    let around = Surroundings::read();
    let (settings, _) = around.settings(file)?;
    let condenser = condenser(&settings, &around)?;
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

/// The filters that the settings choose among those that come with the program and those of the user: `filters.toml`
/// beside the settings, if it is there.
pub(crate) fn condenser(settings: &Settings, around: &Surroundings) -> Result<Condenser, CondenseError> {
    let wanted = &settings.condense;
    let names = |names: &Names| names.0.iter().map(ToString::to_string).collect();
    let mut condenser = Condenser::new(Selection { only: names(&wanted.only), except: names(&wanted.except) });
    if let Some(path) = own_filters(around) {
        let distrusted = |why| CondenseError::Distrusted { path: path.clone(), why };
        trust_settings(&path, around.home().as_deref()).map_err(distrusted)?;
        let unreadable = |source| CondenseError::Unreadable { path: path.clone(), source };
        let text = read(&path).map_err(unreadable)?;
        condenser.add_filters(&text).map_err(|source| CondenseError::Filters { path, source })?;
    }
    check_names(&condenser, "only", &condenser.selection.only)?;
    check_names(&condenser, "except", &condenser.selection.except)?;
    Ok(condenser)
}

/// The file with filters of the user, if there is one.
pub(crate) fn own_filters(around: &Surroundings) -> Option<PathBuf> {
    around.settings_file().map(|file| file.with_file_name("filters.toml")).filter(|path| may_be_there(path))
}

/// The sizes before and after, note included.
fn figures(before: usize, after: usize) -> String {
    let [before, after] = [before, after].map(|bytes| u64::try_from(bytes).unwrap_or(u64::MAX));
    format!(
        "{} -> {}, about {} -> {} tokens: {} % saved",
        ByteSize(before),
        ByteSize(after),
        tokens(before),
        tokens(after),
        percent_saved(before, after),
    )
}

/// Tokens that a text of this size is likely to have.
pub(crate) fn tokens(bytes: u64) -> u64 {
    bytes.div_ceil(BYTES_PER_TOKEN)
}

/// Part of a text that is missing from a shorter one, in percent.
pub(crate) fn percent_saved(before: u64, after: u64) -> u64 {
    100_u64.saturating_sub((after * 100).checked_div(before).unwrap_or(100))
}
