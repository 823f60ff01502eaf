//! Data goes to standard output, talk to standard error. A reader that has gone away is no reason to fail.
//!
//! Text for people is redacted and made visible here, in one place: nothing in a path, a script or a label reaches a terminal as
//! more than text, and no withheld value reaches it at all. JSON is redacted here too. The output of commands, which the engine
//! has redacted, is written as it is.

use std::error::Error;
use std::io::{self, IsTerminal, Write};
use std::os::fd::AsFd;
use std::sync::OnceLock;

use bashful_dialect::table::Table;
use bashful_dialect::{facts, visible_lines};
use bashful_engine::{EnvironmentPolicy, Redacted, Redactor, error_chain};
use serde_json::{Value, json};
use thiserror::Error;

use crate::color::{self, Paint};
use crate::exit::Exit;
use crate::settings::Environment;

/// Data could not be written. A closed pipe is not an error.
#[derive(Debug, Error)]
#[error("cannot write the output")]
pub(crate) struct PrintError(#[from] io::Error);

/// Writes data to standard output.
pub(crate) fn data(bytes: &[u8]) -> Result<(), PrintError> {
    let mut out = io::stdout().lock();
    unless_unwanted(out.write_all(bytes).and_then(|()| out.flush()))
}

/// Writes JSON on one line.
pub(crate) fn json(value: Value, redactor: &Redactor) -> Result<(), PrintError> {
    data(format!("{}\n", facts::redact(value, redactor)).as_bytes())
}

/// Writes indented JSON.
pub(crate) fn pretty_json(value: Value) -> Result<(), PrintError> {
    data(format!("{:#}\n", facts::redact(value, redactor())).as_bytes())
}

/// Writes text for people to standard output, redacted and visible.
pub(crate) fn text(text: &str) -> Result<(), PrintError> {
    data(shown(&redactor().redact(text)).as_bytes())
}

/// Writes a table, cut to the width of a terminal. Pipes and files get all of it.
pub(crate) fn table<const N: usize>(table: &Table<N>) -> Result<(), PrintError> {
    match columns(io::stdout()) {
        Some(columns) => text(&table.fit(columns)),
        None => text(&table.to_string()),
    }
}

/// The width of a terminal; none for other streams.
pub(crate) fn columns(stream: impl IsTerminal + AsFd) -> Option<usize> {
    screen_size(stream).map(|(columns, _)| columns)
}

/// Columns and rows of a terminal; none for other streams. A terminal without a size counts as 80 columns wide and 24 rows
/// high.
pub(crate) fn screen_size(stream: impl IsTerminal + AsFd) -> Option<(usize, usize)> {
    let or = |size: u16, usual: usize| if size == 0 { usual } else { usize::from(size) };
    stream.is_terminal().then(|| {
        let size = rustix::termios::tcgetwinsize(stream).ok();
        size.map_or((80, 24), |size| (or(size.ws_col, 80).max(20), or(size.ws_row, 24)))
    })
}

/// Text with invisible characters escaped.
fn shown(text: &Redacted) -> String {
    visible_lines(text)
}

/// Redacts all messages of this program. Created at the first message, because most runs print none.
pub(crate) fn redactor() -> &'static Redactor {
    static REDACTOR: OnceLock<Redactor> = OnceLock::new();
    REDACTOR.get_or_init(|| {
        let policy = SETTINGS.get().map_or_else(EnvironmentPolicy::default, Environment::policy);
        let host: Vec<_> = std::env::vars_os().collect();
        let environment = policy.resolve(&host, &[]).or_else(|_| EnvironmentPolicy::default().resolve(&host, &[]));
        environment.unwrap_or_default().redactor()
    })
}

/// The variables whose values are redacted, once the settings are known. Before that, those of the default policy are.
static SETTINGS: OnceLock<Environment> = OnceLock::new();

/// Redacts by the settings from now on.
pub(crate) fn redact_by(settings: Environment) {
    // The first settings are those of this run. Unit tests load more.
    let _ = SETTINGS.set(settings);
}

/// Output with U+FFFD for bytes that are not UTF-8: a terminal might obey them.
pub(crate) fn lossy(bytes: Vec<u8>) -> Vec<u8> {
    String::from_utf8(bytes).unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned()).into_bytes()
}

/// [`lossy`] on a terminal. Elsewhere the bytes stay, because a piece of output may end within a character.
pub(crate) fn lossy_on_terminal(bytes: Vec<u8>) -> Vec<u8> {
    if io::stdout().is_terminal() { lossy(bytes) } else { bytes }
}

/// Writes data to standard error.
pub(crate) fn data_to_stderr(bytes: &[u8]) -> Result<(), PrintError> {
    unless_unwanted(io::stderr().lock().write_all(bytes))
}

pub(crate) fn unless_unwanted(written: io::Result<()>) -> Result<(), PrintError> {
    match written {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        other => Ok(other?),
    }
}

/// Ends a line on the terminal that is not ours, so that talk begins a new one.
pub(crate) fn line_end() {
    if io::stderr().is_terminal() {
        let _ = io::stderr().lock().write_all(b"\n");
    }
}

/// Writes a message line to standard error.
pub(crate) fn talk(text: &str) {
    let mut out = io::stderr().lock();
    let _ = out.write_all(format!("{}\n", shown(&redactor().redact(text.trim_end()))).as_bytes());
}

/// Writes an error and its causes to standard error.
pub(crate) fn error(error: &(dyn Error + 'static)) {
    let name = if color::on_stderr() { Paint::Failed.on("bashful:") } else { "bashful:".to_owned() };
    let text = shown(&redactor().redact(error_chain(error).trim_end()));
    // There is no other place to report an error.
    let _ = io::stderr().lock().write_all(format!("{name} {text}\n").as_bytes());
}

/// Prints the results of removing or ending several things. A failed one does not stop the others.
///
/// The verb is a participle; in JSON it is the key of those that went well.
pub(crate) fn changes<E: Error + 'static>(
    as_json: bool,
    verb: &str,
    results: impl Iterator<Item = (Value, String, Result<(), E>)>,
) -> Result<Exit, PrintError> {
    let (mut done, mut errors) = (Vec::new(), Vec::new());
    for (id, label, result) in results {
        match result {
            Ok(()) if as_json => done.push(id),
            Ok(()) => talk(&format!("[{label} {verb}]")),
            Err(failure) if as_json => errors.push(json!({ "id": id, "error": error_chain(&failure) })),
            Err(failure) => {
                error(&failure);
                errors.push(id);
            }
        }
    }
    let exit = if errors.is_empty() { Exit::Code(0) } else { Exit::Failed };
    if as_json {
        pretty_json(json!({ verb: done, "errors": errors }))?;
    }
    Ok(exit)
}

/// A number and its noun, in the plural if needed.
pub(crate) fn count(number: usize, one: &str) -> String {
    if number == 1 { format!("1 {one}") } else { format!("{number} {one}s") }
}
