//! `bashful console`: runs commands, and watches those of agents, on one screen.
//!
//! Two halves. The model (`model`) takes events and returns effects; it knows no terminal, no clock and no process, and
//! `view` turns it into cells. The host (`host`) has the terminal, the keys and the engine, and carries the effects out.
//!
//! Invariants:
//! - Only cells that the view has made reach the terminal. No output of a command does.
//! - Nothing that goes wrong with a command ends the console: it is a line on its card.
//! - While nothing runs and nobody types, nothing is drawn and no timer runs.

#![warn(clippy::disallowed_methods)]

mod host;
mod model;
mod view;

pub use host::{Console, ConsoleError};
pub use model::Escape;
