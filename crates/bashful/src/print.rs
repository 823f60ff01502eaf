//! Data goes to standard output, talk to standard error. A reader that has gone away is no reason to fail.
//!
//! Text for people is redacted and made visible here, in one place: nothing in a path, a script or a label reaches a terminal as
//! more than text, and no withheld value reaches it at all. JSON is redacted here too. The output of commands, which the engine
//! has redacted, is written as it is.

use std::error::Error;
use std::io::{self, IsTerminal, Write};
use std::sync::OnceLock;

use bashful_dialect::{facts, visible_lines};
use bashful_engine::{EnvironmentPolicy, Redacted, Redactor, error_chain};
use serde_json::Value;
use thiserror::Error;

use crate::exit::Exit;
use crate::settings::Environment;

/// Data that could not be written, for another reason than that nobody wants it any more.
#[derive(Debug, Error)]
#[error("cannot write the output")]
pub(crate) struct PrintError(#[from] io::Error);

/// Writes data.
pub(crate) fn data(bytes: &[u8]) -> Result<(), PrintError> {
    let mut out = io::stdout().lock();
    unless_unwanted(out.write_all(bytes).and_then(|()| out.flush()))
}

/// Writes JSON, on one line.
pub(crate) fn json(value: Value, redactor: &Redactor) -> Result<(), PrintError> {
    data(format!("{}\n", facts::masked(value, redactor)).as_bytes())
}

/// Writes JSON that people read too, on many lines.
pub(crate) fn pretty_json(value: Value) -> Result<(), PrintError> {
    data(format!("{:#}\n", facts::masked(value, redactor())).as_bytes())
}

/// Writes text for people.
pub(crate) fn text(text: &str) -> Result<(), PrintError> {
    data(shown(&redactor().redact(text)).as_bytes())
}

/// Text for people as it is written.
fn shown(text: &Redacted) -> String {
    visible_lines(text)
}

/// Redacts all that this program says. Made when something is said for the first time: most runs say nothing.
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
    // The first settings are those of this run; tests of the settings themselves read more.
    let _ = SETTINGS.set(settings);
}

/// The output of a command as a model reads it, with U+FFFD for bytes that are not UTF-8. A terminal might obey them.
pub(crate) fn lossy(bytes: Vec<u8>) -> Vec<u8> {
    String::from_utf8(bytes).unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned()).into_bytes()
}

/// The same on a terminal. Anywhere else the bytes stay, because a piece of output may end within a character.
pub(crate) fn lossy_on_terminal(bytes: Vec<u8>) -> Vec<u8> {
    if io::stdout().is_terminal() { lossy(bytes) } else { bytes }
}

/// Writes data that belongs to standard error.
pub(crate) fn data_to_stderr(bytes: &[u8]) -> Result<(), PrintError> {
    unless_unwanted(io::stderr().lock().write_all(bytes))
}

pub(crate) fn unless_unwanted(written: io::Result<()>) -> Result<(), PrintError> {
    match written {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        other => Ok(other?),
    }
}

/// Says something, on a line of its own.
pub(crate) fn talk(text: &str) {
    let mut out = io::stderr().lock();
    let _ = out.write_all(format!("{}\n", shown(&redactor().redact(text.trim_end()))).as_bytes());
}

/// Says what went wrong, and why.
pub(crate) fn error(error: &(dyn Error + 'static)) {
    talk(&format!("bashful: {}", error_chain(error)));
}

/// Says what went wrong of several things; one that fails does not spare the others.
pub(crate) fn failures<E: Error + 'static>(done: impl Iterator<Item = Result<(), E>>) -> Exit {
    let mut exit = Exit::Code(0);
    for failure in done.filter_map(Result::err) {
        error(&failure);
        exit = Exit::Failed;
    }
    exit
}
