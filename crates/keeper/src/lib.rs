//! Supervises one process tree and ends it, whoever else dies.
//!
//! A keeper stands between the engine and every shell. It is a tiny process of its own. The keeper starts the shell and reports its exit status. It stops
//! the whole tree when the lifetime is over, when the engine asks for it, or when the engine is gone. It stays until
//! *no* descendant is left.
//!
//! ```text
//!  engine ──orders, descriptors──▶ keeper ──▶ bash ──▶ …
//!         ◀───────reports────────         ◀── orphans of the tree, whatever group or session they moved to
//! ```
//!
//! Engine and keeper speak over one socket ([`protocol`]). End of file on it means that the engine is gone, however it
//! died. A pure function ([`Phase::step`]) makes the decisions; the loop around it (`serve`) carries them out.
//!
//! The crate is synchronous and small on purpose: one keeper runs beside every command.

#![warn(clippy::disallowed_methods)]

mod ancestry;
mod awake;
mod duration_text;
mod fence;
pub mod gaps;
mod link;
pub mod output;
mod phase;
pub mod protocol;
mod pump;
mod record;
mod serve;
mod session;
mod shell;
mod start;
mod stopping;
mod terminal;
mod tree;
mod watch;

use std::os::fd::OwnedFd;

pub use ancestry::{Ancestry, ancestry, ancestry_of, is_keeper, marked_ancestor, marked_ancestor_of};
pub use bashful_sys::wait::Exit;
pub use duration_text::duration_text;
pub use phase::{Effect, End, Event, Phase, StopReason};
pub use record::STATUS_VERSION;
pub use shell::{LONGEST_ARGUMENT, LONGEST_WAITING, quote};

/// Name of a keeper process in `ps`. A process started under this name knows by it that it is a keeper.
pub const NAME: &std::ffi::CStr = c"bashful-keeper";

/// Descriptor of a keeper process's socket: its standard input.
const SOCKET: i32 = 0;

/// Becomes a keeper and never returns, if this process was started under the name of a keeper.
///
/// Call this first in `main`, before anything reads arguments, starts a thread or opens a file.
pub fn main_if_asked() {
    let mut arguments = std::env::args_os();
    if arguments.next().is_none_or(|name| name.as_encoded_bytes() != NAME.to_bytes()) || arguments.next().is_some() {
        return;
    }
    // A person may link the program to this name by hand, and would wait for orders that never come.
    let Ok(socket) = socket() else { return };
    let code = match serve::as_process(socket) {
        Ok(()) => 0,
        // Nobody reads the output of a keeper. The engine sees end of file and reports the command as lost.
        Err(_) => 1,
    };
    std::process::exit(code);
}

fn socket() -> std::io::Result<OwnedFd> {
    let stdin = std::io::stdin();
    let copy = rustix::io::fcntl_dupfd_cloexec(&stdin, SOCKET + 3)?;
    if rustix::fs::FileType::from_raw_mode(rustix::fs::fstat(&copy)?.st_mode) != rustix::fs::FileType::Socket {
        return Err(std::io::Error::other("standard input is not a socket"));
    }
    Ok(copy)
}
