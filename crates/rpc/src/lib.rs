//! bashful for a host program in any language: JSON lines, one request a line in, responses and events out.
//!
//! A [`Service`] is a toolbox for one host. [`serve`] speaks with the host over any input and output; [`stdio()`] are those of
//! this process. [`wire`] has the messages, and [`schema()`] is their JSON schema.

#![warn(clippy::disallowed_methods)]

mod asking;
mod calls;
mod chunks;
mod jobs;
mod outbox;
mod resources;
mod run;
mod schema;
mod screens;
mod service;
mod sessions;
pub mod wire;

pub use bashful_engine::stdio;
pub use schema::schema;
pub use service::{Service, run_one, serve};
