//! Judges what a shell script would do, not how it is spelled.
mod expand;
mod finding;
mod guard;
mod intercept;
mod marks;
mod pattern;
mod rules;
mod run;
mod state;
mod syntax;

pub use finding::{Finding, Level, Verdict};
pub use guard::{Guard, LONGEST_SCRIPT, Place, Policy, Setting};
pub use intercept::{ExpressionError, Interception, Interceptor, TextRule};
pub use rules::{BUILT_IN, Rule, RuleError};
