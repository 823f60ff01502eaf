//! Programs of others: agents, clients of the Model Context Protocol, and editors.

mod acp;
mod agents;
mod clients;

const BASHFUL: &str = env!("CARGO_BIN_EXE_bashful");
