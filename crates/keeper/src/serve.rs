//! Becomes a keeper, and serves one command after the other, or one session.

use std::io;
use std::os::fd::OwnedFd;

use bashful_sys::inherited::Inherited;
use bashful_sys::signal::{Signal, SignalReader};
use bashful_sys::wake;

use crate::link::EngineLink;
use crate::start::{self, Begun};
use crate::tree::Scope;
use crate::{session, watch};

/// Turns this process into a keeper and serves until its tree is gone.
pub(crate) fn as_process(socket: OwnedFd) -> io::Result<()> {
    bashful_sys::set_process_name(crate::NAME)?;
    // Whoever wants to unmount the host's directory is not to wait for us.
    std::env::set_current_dir("/")?;
    bashful_sys::become_subreaper()?;
    // From here on, whoever stops this process, it goes on when the engine says something or is gone.
    let _ = wake::on_news(&socket);
    // A file that may not grow any more is an error like any other, and not a reason to leave the tree alone.
    bashful_sys::signal::ignore(Signal::XFSZ);
    let awaited = [Signal::CHILD, Signal::TERM, Signal::INT, Signal::HUP];
    let signals = if bashful_sys::has_threads() {
        // The host has started a runtime before it called the keeper's entry point.
        SignalReader::with_threads(&awaited)?
    } else {
        SignalReader::new(&awaited)?
    };
    run(socket, Scope::EverythingBelow, Some(signals));
    Ok(())
}

/// Serves over this socket until the tree is gone, on the calling thread.
pub fn serve(socket: OwnedFd, scope: Scope) {
    run(socket, scope, None);
}

/// Serves one command after the other, as long as the engine has another one and the last one has left nothing.
fn run(socket: OwnedFd, scope: Scope, signals: Option<SignalReader>) {
    let before = Inherited::read().ok();
    let mut link = EngineLink::new(socket);
    let mut signals = signals;
    loop {
        let started = match start::start(&mut link, scope, signals.as_ref()) {
            Some(Begun::Command(started)) => started,
            Some(Begun::Session(setup, order)) => return session::serve(link, setup, order, signals),
            None => return,
        };
        let Some(free) = watch::watch_over(started, scope, link, signals) else { return };
        // The next shell would inherit what a command has changed about its keeper.
        if before.is_none() || before != Inherited::read().ok() {
            return;
        }
        (link, signals) = (free.0, Some(free.1));
    }
}
