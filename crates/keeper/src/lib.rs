//! Watches over one process tree, and ends it, whoever else dies.
//!
//! Between the engine and every shell stands a keeper: a tiny process of its own, or, where the host program offers no
//! entry point for one, a thread. It starts the shell, reports how it ended, stops the whole tree when its time is up,
//! when the engine asks, or when the engine is gone, and stays until *no* descendant is left.
//!
//! ```text
//!  engine ──orders, descriptors──▶ keeper ──▶ bash ──▶ …
//!         ◀───────reports────────         ◀── orphans of the tree, whatever group or session they moved to
//! ```
//!
//! The two speak over one socket ([`protocol`]); its end of file means that the engine is gone, however it died. What happens
//! when is decided by a pure function ([`Phase::step`]); the loop around it ([`serve()`]) only carries it out.
//!
//! Synchronous and small on purpose: one runs beside every command.

mod ancestry;
mod awake;
mod duration_text;
pub mod gaps;
mod link;
mod output;
mod phase;
pub mod protocol;
mod pump;
mod record;
mod serve;
mod session;
mod shell;
mod start;
mod stopping;
mod tree;
mod watch;

use std::os::fd::OwnedFd;

pub use ancestry::{Ancestry, ancestry};
pub use bashful_sys::wait::Exit;
pub use duration_text::duration_text;
pub use phase::{Effect, End, Event, Phase, StopReason};
pub use record::STATUS_VERSION;
pub use serve::serve;
pub use shell::{LONGEST_ARGUMENT, LONGEST_WAITING, quote};
pub use tree::Scope;

/// What a keeper process is called; also how it knows itself.
pub const NAME: &std::ffi::CStr = c"bashful-keeper";

/// Where a keeper process finds its socket: on its standard input.
const SOCKET: i32 = 0;

/// Becomes a keeper and never returns, if this process was started as one.
///
/// To be called first thing in `main`, before anything reads arguments, starts a thread or opens a file.
pub fn main_if_asked() {
    let mut arguments = std::env::args_os();
    if arguments.next().is_none_or(|name| name.as_encoded_bytes() != NAME.to_bytes()) || arguments.next().is_some() {
        return;
    }
    // A person who links the program to this name by hand would otherwise wait for orders that never come.
    let Ok(socket) = socket() else { return };
    let code = match serve::as_process(socket) {
        Ok(()) => 0,
        // Nobody reads what a keeper would print; the engine sees the end of file and says that it lost the command.
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
