//! Everything that outlives a command: jobs, sessions, snapshots, and records of other versions.

mod damaged_jobs;
mod full_store;
mod golden;
mod jobs;
mod late_entry;
mod session_faults;
mod sessions;
mod snapshot;
mod versions;

const PUPPET: &str = env!("CARGO_BIN_EXE_puppet");
