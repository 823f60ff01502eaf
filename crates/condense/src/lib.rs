//! Makes the output of known commands shorter, and loses nothing that matters.
//!
//! ```
//! use bashful_condense::{Condensed, Condenser};
//! use bashful_guard::Sequence;
//!
//! let output = format!(
//!     "running 40 tests\n{}test parse::rejects_letters ... FAILED\n\ntest result: FAILED. 39 passed; 1 failed\n",
//!     (0..39).map(|number| format!("test money::splits_{number} ... ok\n")).collect::<String>(),
//! );
//! let commands = Sequence::of("cd ledger && cargo test").expect("plain commands");
//! let Condensed::Shorter { text, dropped } = Condenser::default().condense(&commands, &output, Some(101)) else {
//!     panic!("it is mostly passing tests");
//! };
//! assert_eq!(text, "running 40 tests\ntest parse::rejects_letters ... FAILED\n\ntest result: FAILED. 39 passed; 1 failed\n");
//! assert_eq!(dropped.note(), "[left out: passing tests (39 lines)]");
//! ```
//!
//! A filter names the lines of one command that say that something went well, or that repeat: everything else stays, in
//! its order. The crate never says how a command ended. Its only own words are counts of lines that it left out.
//!
//! The output is returned as it is if the command is not known, the text does not have the shape that the filter expects
//! (another locale, another version, a run that was cut short), or the command failed and no error would be left to read.
//!
//! Pure: no file, no process, no clock. Filters are data: TOML with examples that are tried out ([`Condenser::new`]).
//!
//! Invariants, whatever the text: the result is never longer; lines that no filter names are in the result, in order;
//! condensing the result again changes nothing.

mod alarm;
mod apply;
mod built_in;
mod command;
mod condenser;
mod dropped;
mod filter;
mod listed;
mod moments;
mod paths;
mod probe;
#[cfg(test)]
mod properties;
mod redraw;
mod repeat;
mod rewrite;
mod rule;
mod select;

pub use condenser::{Condensed, Condenser, FilterInfo};
pub use dropped::{Dropped, LineKind};
pub use filter::FilterError;
pub use select::Selection;
