//! Data goes to standard output, talk to standard error. A reader that has gone away is no reason to fail.

use std::error::Error;
use std::io::{self, Write};

/// Writes data. Whether it arrived is the reader's concern.
pub(crate) fn data(bytes: &[u8]) {
    let mut out = io::stdout().lock();
    let _ = out.write_all(bytes).and_then(|()| out.flush());
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

/// An error and its causes, in one line.
pub(crate) fn chain(error: &(dyn Error + 'static)) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        text = format!("{text}: {error}");
        cause = error.source();
    }
    text
}
