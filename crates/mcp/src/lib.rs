//! A server of the Model Context Protocol for a toolbox.
//!
//! One handler serves both protocol generations: clients with `initialize` (up to 2025-11-25), called the first era,
//! and clients that send everything with each request (2026-07-28), the second era. Dialects define tools and
//! replies. No type of the protocol leaves this crate.

#![warn(clippy::disallowed_methods)]

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
mod tasks;

pub use client::{ClientRow, Clients};
#[doc(hidden)]
pub use http::serve_handler;
pub use http::{AccessRules, Token, TokenError, serve_http};

pub use stdio::serve_stdio;
