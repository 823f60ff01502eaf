//! Data goes to standard output, talk to standard error. A reader that has gone away is no reason to fail.

use std::error::Error;
use std::io::{self, Write};

use thiserror::Error;

pub(crate) use bashful_dialect::text::chain;

use crate::exit::Exit;

/// Data that could not be written, for another reason than that nobody wants it any more.
#[derive(Debug, Error)]
#[error("cannot write the output")]
pub(crate) struct PrintError(#[from] io::Error);

/// Writes data.
pub(crate) fn data(bytes: &[u8]) -> Result<(), PrintError> {
    let mut out = io::stdout().lock();
    unless_unwanted(out.write_all(bytes).and_then(|()| out.flush()))
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
    let _ = out.write_all(format!("{}\n", text.trim_end()).as_bytes());
}

/// Says what went wrong, and why.
pub(crate) fn error(error: &(dyn Error + 'static)) {
    talk(&format!("bashful: {}", chain(error)));
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
