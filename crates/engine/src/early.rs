//! Starts one keeper before there is an engine.
//!
//! A program that runs a single command first spends about a millisecond on arguments and settings. A keeper takes
//! about as long to start. Started early, it does so on another processor at the same time.
//!
//! Invariant: an early keeper has no order. It ends when its socket is closed, at the latest with this program.

use std::os::fd::{AsFd, OwnedFd};
use std::sync::{Mutex, PoisonError};

use bashful_sys::limits::Limit;
use bashful_sys::socket;
use bashful_sys::spawn::{Child, Session, Spawn, SpawnError, Tether};
use rustix::process::Pid;
use std::ffi::CStr;
use std::io;

use crate::reserve::Standing;

/// Path of this executable, even if its file was moved or replaced.
pub(crate) const THIS_PROGRAM: &CStr = c"/proc/self/exe";

static EARLY: Mutex<Option<EarlyKeeper>> = Mutex::new(None);

/// A keeper without an engine.
#[derive(Debug)]
pub(crate) struct EarlyKeeper {
    pub(crate) socket: OwnedFd,
    pub(crate) pid: Pid,
    pub(crate) handle: OwnedFd,
    /// None if the settings cannot be read; no engine uses the keeper then.
    pub(crate) standing: Option<Standing>,
}

/// Starts a keeper now, for the first command of the first engine of this program.
///
/// Call this after [`keeper_main`](crate::keeper_main) in a program that is about to run one command, while it still
/// has a single thread. The keeper gets the highest limit on open descriptors that this process may set. An engine uses
/// the keeper only if the other limits and the file-creation mask of this process are still the same, and only if its
/// keepers are [this program](crate::KeeperProgram::This). If no keeper can be started now, nothing happens: the engine
/// starts its own, and reports the error if that fails too.
///
/// ```standalone_crate
/// use bashful_engine::{Engine, Options, Reply, Request, Script};
///
/// fn main() -> Result<(), Box<dyn std::error::Error>> {
///     bashful_engine::keeper_main();
///     bashful_engine::start_keeper_early();
///     // Arguments and settings are read here.
///     let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
///     runtime.block_on(async {
///         let engine = Engine::new(Options::new("/bin/bash".into(), "/".into()))?;
///         let reply = engine.run(Request::new(Script::new("true")?)).await?;
///         assert!(matches!(reply, Reply::Finished(_)));
///         Ok(())
///     })
/// }
/// ```
pub fn start_keeper_early() {
    if crate::keeper_entry_is_there() {
        *early() = start().ok();
    }
}

/// Hands over the early keeper, once.
pub(crate) fn take() -> Option<EarlyKeeper> {
    early().take()
}

fn start() -> io::Result<EarlyKeeper> {
    let (ours, theirs) = socket::pair()?;
    let descriptors = Limit::descriptors().raised();
    let Child { pid, pidfd } = spawn(THIS_PROGRAM, &theirs, &[descriptors])?;
    Ok(EarlyKeeper { socket: ours, pid, handle: pidfd, standing: Standing::now().map(|now| now.with(descriptors)) })
}

/// Starts a keeper that gets its orders over this socket.
pub(crate) fn spawn(program: &CStr, socket: &OwnedFd, limits: &[Limit]) -> io::Result<Child> {
    let nothing = bashful_sys::null_file()?;
    // An empty environment: a keeper needs none, and every process that can read the keeper could read it.
    let spawn = Spawn {
        program,
        argv: &[bashful_keeper::NAME.to_owned()],
        env: &[],
        directory: None,
        stdio: [socket.as_fd(), nothing.as_fd(), nothing.as_fd()],
        limits,
        umask: None,
        tether: Tether::Loose,
        session: Session::Own,
        fence: None,
    };
    spawn.start().map_err(|SpawnError { source, .. }| source)
}

fn early() -> std::sync::MutexGuard<'static, Option<EarlyKeeper>> {
    EARLY.lock().unwrap_or_else(PoisonError::into_inner)
}
