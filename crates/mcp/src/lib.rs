//! A toolbox as a server of the Model Context Protocol.
//!
//! One handler serves both eras of the protocol: clients that begin with `initialize` (up to 2025-11-25), and those that send
//! all that is needed with every request (2026-07-28). What the tools are and what they answer is the dialects' part; the types
//! of the protocol stay in here.

mod asking;
mod bad_message;
mod client;
mod convert;
mod handler;
mod http;
mod lines;
mod pushing;
mod stdio;
mod subscriptions;

use bashful_engine::LONGEST_SCRIPT;
pub use client::{ClientRow, Clients};
#[doc(hidden)]
pub use http::serve_handler;
pub use http::{Door, Token, TokenError, serve_http};

pub use stdio::serve_stdio;

/// The longest message: the longest script with every character escaped (`\u001b`), and all that is around it.
fn longest_message() -> usize {
    LONGEST_SCRIPT.in_memory() * 6 + 64 * 1024
}
