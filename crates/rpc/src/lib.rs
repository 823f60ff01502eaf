//! bashful for a host program in any language: JSON lines, one request a line in, responses and events out.
#![doc = ""]

mod chunks;
mod lines;
mod outbox;
mod schema;
pub mod wire;

pub use schema::schema;
