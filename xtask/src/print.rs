//! Data goes to standard output, talk to standard error.

use std::io::{self, Write};

/// Writes data. Errors are ignored.
pub(crate) fn data(text: &str) {
    let mut out = io::stdout().lock();
    let _ = out.write_all(text.as_bytes()).and_then(|()| out.flush());
}

/// Writes a message line to standard error.
pub(crate) fn talk(text: &str) {
    let _ = io::stderr().lock().write_all(format!("{}\n", text.trim_end()).as_bytes());
}

/// Writes a line to standard output.
pub(crate) fn say(line: &str) {
    data(&format!("{line}\n"));
}
