//! Everything that outlives a command: jobs, sessions, artifacts, the log, and processes that survive.

mod artifacts;
mod full_disk;
mod jobs;
mod log;
mod ps;
mod sessions;
mod snapshot;
mod state;
mod survivors;
mod versions;

const BASHFUL: &str = env!("CARGO_BIN_EXE_bashful");
