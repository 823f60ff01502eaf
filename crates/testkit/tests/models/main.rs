//! What a model is told, and what it does at a terminal.

mod bang;
mod dialects;
mod terminals;
mod updates;

const PUPPET: &str = env!("CARGO_BIN_EXE_puppet");
