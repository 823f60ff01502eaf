//! A toolbox as a server of the Model Context Protocol.
//!
//! One handler serves both eras of the protocol: clients that begin with `initialize` (up to 2025-11-25), and those that send
//! all that is needed with every request (2026-07-28). What the tools are and what they answer is the dialects' part; the types
//! of the protocol stay in here.

mod asking;
mod convert;
mod handler;
mod lines;
mod manners;
mod notices;
mod stdio;

pub use manners::Manners;
pub use stdio::serve_stdio;
