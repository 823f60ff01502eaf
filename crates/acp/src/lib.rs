//! An agent of the Agent Client Protocol for a toolbox: an editor drives it, and a prompt is a command.
//!
//! A prompt runs as a call of the tool `bash`, and its result streams as updates of a tool call. A prompt that begins with `!`
//! takes the road of commands that a person types ([`Toolbox::bang`](bashful_dialect::Toolbox::bang)), in a shell that
//! the session keeps. The guard's questions become permission requests. Where the client has terminals, commands run
//! there.
//!
//! The library behind it runs handlers inside of its dispatch loop: a handler that waits for an answer of the client
//! would wait for ever. So handlers only look something up, and every turn is a task of its own. No type of the
//! protocol leaves this crate.

#![warn(clippy::disallowed_methods)]

mod agent;
mod asking;
mod cards;
mod input;
mod mode;
mod prompt;
mod stdio;
mod terminals;
mod turn;

pub use agent::AcpOptions;
pub use stdio::serve_stdio;
