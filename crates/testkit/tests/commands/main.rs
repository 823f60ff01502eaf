//! One command: its process tree, its limits, its rewriting, and the contract of every backend.

mod backends;
mod condense;
mod dependencies;
mod limits;
mod pausing;
mod rewrite;
mod trees;

const PUPPET: &str = env!("CARGO_BIN_EXE_puppet");
