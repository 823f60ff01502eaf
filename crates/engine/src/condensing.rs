//! Condensing: a shorter text for the output of a known command, in place of the raw one.
//!
//! It comes after the run and before every limit on the shown text. `bashful-condense` decides, and this module says to
//! which commands it applies. The crate is a dependency, as the guard is, and not a trait that hosts implement: it is
//! pure, and brings no dependency that the guard does not have.
//!
//! Invariants: the raw output is saved before a shorter text takes its place. Listeners and live output get the raw
//! output. Output that was cut, came from a terminal, goes on in a file, or is no text stays as it is.

use std::sync::Arc;

use bashful_condense::{Condensed, Condenser};
use bashful_guard::Sequence;
use bashful_keeper::{End, Exit};

use crate::outcome::LeftBehind;
use crate::request::Script;

/// Shorter output is not worth parsing the script: the gain would be too small for a note about it.
const SHORTEST: usize = 200;

/// Options for condensing.
#[derive(Debug, Clone, Default)]
pub struct Condensing {
    /// True if outputs are condensed. A dialect may change it.
    pub enabled: bool,
    /// The filters.
    pub condenser: Arc<Condenser>,
}

/// A shorter text, and the account of it.
#[derive(Debug, Clone)]
pub(crate) struct ShorterText {
    pub(crate) text: String,
    /// `left out: passing tests (40 lines)`.
    pub(crate) account: String,
    /// Names of the filters that know the commands.
    pub(crate) filters: Vec<String>,
    /// Families of these filters, each once.
    pub(crate) families: Vec<String>,
}

impl Condensing {
    /// A shorter text for the output of a script; none if the output is best shown as it is.
    pub(crate) fn shorten(&self, script: &Script, text: &str, exit_code: u8) -> Option<ShorterText> {
        if text.len() < SHORTEST {
            return None;
        }
        let commands = Sequence::of(str::from_utf8(script.as_bytes()).ok()?)?;
        let Condensed::Shorter { text, dropped } = self.condenser.condense(&commands, text, Some(exit_code.into()))
        else {
            return None;
        };
        let mut shorter = ShorterText { text, account: dropped.to_string(), filters: Vec::new(), families: Vec::new() };
        for filter in self.condenser.meant(&commands) {
            shorter.filters.push(filter.name);
            if !shorter.families.contains(&filter.family) {
                shorter.families.push(filter.family);
            }
        }
        Some(shorter)
    }
}

/// The exit code of a command whose whole output is there; none if it was stopped or killed, or if leftover processes
/// may write more.
pub(crate) fn exit_code(end: End, leftover: Option<&LeftBehind>) -> Option<u8> {
    match (end, leftover) {
        (End::Own(Exit::Code(code)), None) => Some(code),
        _ => None,
    }
}
