//! Turns a process into a keeper, which serves one command after another, or one session.

use std::io;
use std::os::fd::OwnedFd;

use bashful_sys::inherited::Inherited;
use bashful_sys::signal::{Signal, SignalReader};
use bashful_sys::wake;

use crate::fence;
use crate::link::EngineLink;
use crate::start::{self, Assignment};
use crate::{session, watch};

/// Turns this process into a keeper and serves until its tree is gone.
pub(crate) fn as_process(socket: OwnedFd) -> io::Result<()> {
    bashful_sys::set_process_name(crate::NAME)?;
    // The host's working directory has to stay unmountable.
    std::env::set_current_dir("/")?;
    bashful_sys::become_subreaper()?;
    // From here on, a message or the end of the engine continues this process if somebody stopped it.
    let _ = wake::on_news(&socket);
    // A file that reached its size limit is an ordinary error, not a reason to abandon the tree.
    bashful_sys::signal::ignore(Signal::XFSZ);
    let awaited = [Signal::CHILD, Signal::TERM, Signal::INT, Signal::HUP];
    let signals = if bashful_sys::has_threads() {
        // The host started a runtime before it called the keeper's entry point.
        SignalReader::with_threads(&awaited)?
    } else {
        SignalReader::new(&awaited)?
    };
    run(socket, signals);
    Ok(())
}

/// Serves one command after another, as long as the engine sends one and the last command left nothing.
fn run(socket: OwnedFd, mut signals: SignalReader) {
    let before = Inherited::read().ok();
    let mut link = EngineLink::new(socket);
    loop {
        let started = match start::start(&mut link, &signals) {
            Some(Assignment::Command(started)) => started,
            Some(Assignment::Session(setup, order)) => return session::serve(link, setup, order, signals),
            None => return,
        };
        let Some(free) = watch::watch_over(started, link, signals) else { return };
        // Nobody leaves a fence. A command may have changed limits, niceness or processors of its keeper, which the next shell would inherit.
        if before.is_none() || before != Inherited::read().ok() || fence::inside().is_some() {
            return;
        }
        (link, signals) = free;
    }
}
