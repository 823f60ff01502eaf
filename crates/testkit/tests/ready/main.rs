//! Keepers and shells that wait for the next command.

mod ready;
mod reserve;

const PUPPET: &str = env!("CARGO_BIN_EXE_puppet");
