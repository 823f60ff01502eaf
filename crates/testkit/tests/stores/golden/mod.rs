//! Messages and records as bytes. A change of layout shows here first.
//!
//! The bytes are in `crates/keeper/golden` and `crates/engine/golden`. To take over a change, run this with `GOLDEN=write`, look at
//! the difference, and read in docs/gotchas.md whether it needs a new version.

mod protocol;
mod records;
