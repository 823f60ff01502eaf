//! Judges what a shell script would do, not how it is spelled.
//!
//! ```
//! use bashful_guard::{Guard, Prelude};
//!
//! let guard = Guard::default();
//! let prelude = Prelude::default();
//! for script in ["rm -rf /", "\"r\"m -r ~", "x=/; sudo -u bob rm -rf \"$x\"", "echo cm0gLXJmIC8= | base64 -d | sh"] {
//!     assert!(guard.judge(script, &prelude).refuses());
//! }
//! for script in ["rm -rf build", "echo 'rm -rf /'", "git commit -m 'no more git push --force'"] {
//!     assert!(!guard.judge(script, &prelude).refuses());
//! }
//! ```
//!
//! A script is parsed and walked through as bash would, without doing anything: words are expanded in bash's order, what
//! wraps other commands is taken off, text that is put together and then run is parsed again. Rules see the words that a
//! command would really be given. Text that is only printed, searched for, or written to a file is never looked at.
//!
//! It is a guard rail, not a wall: it keeps a model from an accident, and cannot keep somebody from harm who wants it. What
//! comes from the network, from files or from the environment is not known here.
//!
//! Pure: no file, no clock, no process, no thread. Bounded: size, depth and steps are limited before and while a script
//! is parsed and walked through, and whatever is beyond the limits is for a person to look at ([`Level::Ask`]).
//!
//! Absent on purpose: no list of dangerous texts to search for, because a text does not tell which commands run; no answer
//! from a file system, because it may have changed by the time the script runs.

mod expand;
mod finding;
mod guard;
mod marks;
mod pattern;
mod resolved;
mod rules;
mod sequence;
mod walk;

pub use finding::{Finding, LONGEST_FOUND, Level, Verdict};
pub use guard::{Guard, LONGEST_SCRIPT, Policy, Prelude, Setting};
pub use resolved::{ResolvedCommand, resolved_commands};
pub use rules::{BUILT_IN, Rule, RuleError};
pub use sequence::{Sequence, SequencedCommand};
