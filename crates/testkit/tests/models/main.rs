//! Texts for models, and models at a terminal.

mod bang;
mod dialects;
mod terminals;
mod updates;

const PUPPET: &str = env!("CARGO_BIN_EXE_puppet");
