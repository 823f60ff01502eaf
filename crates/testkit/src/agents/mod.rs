//! Real agents against a scripted model.
//!
//! An [`Agent`] is a program from a registry at a pinned version. A case starts it headless on a stage (a network of its own with
//! nothing but loopback), where a scripted model calls tools and writes down every request. The case then asserts on those
//! requests: they are all that a model ever sees of a reply.
//!
//! `cargo xtask agents` runs every case for every agent; `crates/bashful/tests/agents/agents.rs` runs them for two.

mod agent;
mod cases;
mod model;
mod package;
mod play;
mod rig;
mod rows;
mod sdk;
mod stage;
mod texts;
mod wire;

pub use agent::{AGENTS, Agent, Source};
pub use cases::{CASES, Case, Held, Verdict};
pub use package::Package;
pub use rig::Rig;
pub use sdk::{SDKS, Sdk};
pub use stage::stage_main;
