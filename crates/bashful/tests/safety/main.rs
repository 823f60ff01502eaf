//! Accidents, secrets and the settings of agents: guard, hooks, redaction, install.

mod approve;
mod guard;
mod hooks;
mod install;
mod redaction;
mod sandbox;
mod withheld;

const BASHFUL: &str = env!("CARGO_BIN_EXE_bashful");
