//! Starts a program without ever copying the caller's memory.
//!
//! `fork` copies page tables, which costs 84 ms from a host that holds 2 GB. Here the child borrows the caller's memory
//! until it calls `exec` (`CLONE_VM | CLONE_VFORK`), so the price is the same for every host, and the child can still
//! take a session, a directory, limits and descriptors of its own, which `posix_spawn` can only do in part.
//!
//! Invariant: between `clone` and `exec` the child neither allocates nor takes a lock, and all signals are blocked until
//! every handler is back to its default, so none of the caller's handlers can run in it.

#![expect(unsafe_code, reason = "a child that borrows our memory until `exec` cannot be had otherwise")]

use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};
use std::ptr;

use rustix::process::{Pid, Signal};

use crate::limits::Limit;
use crate::signal::BlockedSignals;

/// What to start, and how.
///
/// The child leads a process group of its own, has the default signal dispositions, an empty signal mask, and no descriptor
/// beyond the three of `stdio`.
#[derive(Debug)]
pub struct Spawn<'a> {
    /// Absolute path of the program.
    pub program: &'a CStr,
    /// Its arguments, its own name among them.
    pub argv: &'a [CString],
    /// Its whole environment.
    pub env: &'a [CString],
    /// Where it runs; the caller's own directory if none.
    pub directory: Option<&'a CStr>,
    /// Standard input, output and error.
    pub stdio: [BorrowedFd<'a>; 3],
    /// Resource limits to set before it begins.
    pub limits: &'a [Limit],
    /// Its file-creation mask; the caller's own if none.
    pub umask: Option<u32>,
    /// What becomes of it when the caller ends.
    pub tether: Tether,
    /// The session that it belongs to.
    pub session: Session,
}

/// The session of a child.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Session {
    /// A session of its own, without a terminal.
    Own,
    /// The caller's session, whose terminal is the child's standard input. The child's process group becomes the foreground group.
    Callers,
}

/// What becomes of a child when its parent ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tether {
    /// It lives on.
    Loose,
    /// It is killed together with the *thread* that started it: only for a process with a single thread.
    DiesWithParent,
}

/// A child that was started.
#[derive(Debug)]
pub struct Child {
    /// Its process id, which is also that of its process group, and of its session if it leads one.
    pub pid: Pid,
    /// A handle that means this very process, even after its id is used again, and is readable when the process has ended. Where
    /// the system has no such handles, it is a substitute that only becomes readable.
    pub pidfd: OwnedFd,
}

impl Child {
    /// Sends it a signal, unless it has been reaped.
    pub fn send(&self, signal: Signal) -> Result<(), rustix::io::Errno> {
        crate::pidfd::send_to_child(self.pid, self.pidfd.as_fd(), signal)
    }

    /// Continues it if somebody has stopped it. One that runs gets no signal: it may have a trap for it.
    pub fn continue_if_stopped(&self) {
        if crate::wait::is_stopped(self.pid, self.pidfd.as_fd()) {
            let _ = self.send(Signal::CONT);
        }
    }
}

/// What the child was about to do when it failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Step {
    /// To come into being.
    Clone = 1,
    /// To set up its session, its descriptors or its signals.
    Prepare = 2,
    /// To enter its directory.
    Directory = 3,
    /// To take on its limits.
    Limits = 4,
    /// To become the program.
    Exec = 5,
}

impl Step {
    /// The step with this number, if there is one.
    pub fn from_number(number: u8) -> Option<Self> {
        [Self::Clone, Self::Prepare, Self::Directory, Self::Limits, Self::Exec]
            .into_iter()
            .find(|step| *step as u8 == number)
    }
}

/// Why a program could not be started.
#[derive(Debug)]
pub struct SpawnError {
    /// The step that failed.
    pub step: Step,
    /// What the system said.
    pub source: io::Error,
}

/// Room for the child's few calls; what is not touched costs nothing.
const STACK: usize = 128 * 1024;

/// Everything the child needs, laid out beforehand, and the place where it leaves word of a failure.
struct Order<'a> {
    program: *const c_char,
    argv: *const *const c_char,
    env: *const *const c_char,
    directory: *const c_char,
    stdio: [RawFd; 3],
    limits: &'a [Limit],
    umask: Option<u32>,
    tether: Tether,
    session: Session,
    parent: libc::pid_t,
    failed: Option<(Step, c_int)>,
}

impl Spawn<'_> {
    /// Starts the program and returns once it has begun, or failed to.
    #[expect(clippy::missing_panics_doc, reason = "a child's id is never zero")]
    pub fn start(&self) -> Result<Child, SpawnError> {
        let at = |step| move |source: io::Error| SpawnError { step, source };
        // Were one of them below 3, setting up another would overwrite it.
        let stdio = self.stdio.map(above_stdio);
        let [a, b, c] = stdio;
        let stdio = [a, b, c].into_iter().collect::<io::Result<Vec<Above>>>().map_err(at(Step::Prepare))?;

        let argv = pointers(self.argv);
        let env = pointers(self.env);
        let mut order = Order {
            program: self.program.as_ptr(),
            argv: argv.as_ptr(),
            env: env.as_ptr(),
            directory: self.directory.map_or(ptr::null(), CStr::as_ptr),
            stdio: [stdio[0].raw(), stdio[1].raw(), stdio[2].raw()],
            limits: self.limits,
            umask: self.umask,
            tether: self.tether,
            session: self.session,
            parent: rustix::process::getpid().as_raw_nonzero().get(),
            failed: None,
        };
        let mut stack: Vec<MaybeUninit<u8>> = Vec::with_capacity(STACK);
        let mut pidfd: c_int = -1;

        let blocked = BlockedSignals::all().map_err(at(Step::Prepare))?;
        // SAFETY: the result stays within (one past the end of) the allocation.
        let top = unsafe { stack.as_mut_ptr().add(STACK) };
        // The ABI wants a stack that begins on a multiple of 16.
        let top = top.map_addr(|address| address & !15);
        let mut clone = |flags| {
            // SAFETY: `CLONE_VFORK` suspends this thread until the child has called `exec` or ended, so `order`, the stack
            // and all they point to outlive the child's use of them, and nobody else touches them meanwhile.
            let pid = unsafe {
                libc::clone(
                    child,
                    top.cast(),
                    flags | libc::CLONE_VM | libc::CLONE_VFORK | libc::SIGCHLD,
                    (&raw mut order).cast(),
                    &raw mut pidfd,
                )
            };
            if pid < 0 { Err(io::Error::last_os_error()) } else { Ok(pid) }
        };
        let cloned = clone(libc::CLONE_PIDFD).or_else(|error| match error.raw_os_error() {
            // A system that does not know the flag, or a filter that does not like it.
            Some(libc::EINVAL) => clone(0),
            _ => Err(error),
        });
        drop(blocked);
        let pid = Pid::from_raw(cloned.map_err(at(Step::Clone))?).expect("a child's id is never zero");
        // SAFETY: the kernel has just opened it for us, and nobody else knows of it.
        let pidfd = (pidfd >= 0).then(|| unsafe { OwnedFd::from_raw_fd(pidfd) });
        if let Some((step, errno)) = order.failed {
            // It has ended already; without this it would stay as a zombie.
            let _ = rustix::process::waitpid(Some(pid), rustix::process::WaitOptions::empty());
            return Err(SpawnError { step, source: io::Error::from_raw_os_error(errno) });
        }
        // Linux before 5.2 ignores the flag, and before 5.3 it has no handles at all.
        let handle = pidfd.map_or_else(|| crate::pidfd::open(pid).or_else(|_| crate::wait::ending(pid)), Ok);
        let pidfd = handle.map_err(|error| {
            let _ = rustix::process::kill_process(pid, Signal::KILL);
            let _ = rustix::process::waitpid(Some(pid), rustix::process::WaitOptions::empty());
            SpawnError { step: Step::Clone, source: error }
        })?;
        Ok(Child { pid, pidfd })
    }
}

/// The child's whole life before it becomes another program.
extern "C" fn child(order: *mut c_void) -> c_int {
    // SAFETY: the parent passed a pointer to its `Order` and is suspended until we are done with it.
    let order = unsafe { &mut *order.cast::<Order<'_>>() };
    let (step, errno) = become_program(order);
    order.failed = Some((step, errno));
    // Not `exit`: that would run the parent's exit handlers in the parent's memory.
    // SAFETY: ends the calling process and nothing else.
    unsafe { libc::_exit(127) }
}

/// Only returns if something went wrong.
fn become_program(order: &Order<'_>) -> (Step, c_int) {
    if let Err(errno) = enter_session(order) {
        return (Step::Prepare, errno);
    }
    if order.tether == Tether::DiesWithParent {
        // SAFETY: takes numbers only.
        if unsafe { libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL) } < 0 {
            return (Step::Prepare, errno());
        }
        // The parent may have gone just before that call, and then no signal will ever come.
        // SAFETY: no arguments, no memory.
        if unsafe { libc::getppid() } != order.parent {
            return (Step::Prepare, libc::ECHILD);
        }
    }
    if !order.directory.is_null() {
        // SAFETY: a NUL-terminated string that outlives the call.
        if unsafe { libc::chdir(order.directory) } < 0 {
            return (Step::Directory, errno());
        }
    }
    for limit in order.limits {
        if let Err(error) = limit.set() {
            return (Step::Limits, error.raw_os_error());
        }
    }
    if let Some(mask) = order.umask {
        // SAFETY: takes a number only, and cannot fail.
        unsafe { libc::umask(mask) };
    }
    for (to, from) in (0..).zip(order.stdio) {
        // SAFETY: numbers only; every `from` is above 2, so no copy can overwrite one that is still needed.
        if unsafe { libc::dup2(from, to) } < 0 {
            return (Step::Prepare, errno());
        }
    }
    // Descriptors that a careless host left open to its children. Old kernels cannot do this in one call; ours are all
    // marked to close anyway.
    let _ = close_on_exec_from(3);
    default_signals();
    // SAFETY: two arrays of NUL-terminated strings, each ended by a null pointer, that outlive the call.
    unsafe { libc::execve(order.program, order.argv, order.env) };
    (Step::Exec, errno())
}

/// Leads a session, or the foreground process group of the caller's session.
fn enter_session(order: &Order<'_>) -> Result<(), c_int> {
    let us = rustix::process::getpid().as_raw_nonzero().get();
    match order.session {
        // SAFETY: no arguments, no memory.
        Session::Own if unsafe { libc::setsid() } < 0 => Err(errno()),
        // SAFETY: takes numbers only.
        Session::Callers if unsafe { libc::setpgid(0, 0) } < 0 => Err(errno()),
        // All signals are blocked here. A process in the background would otherwise be stopped by `SIGTTOU` for this.
        // SAFETY: takes numbers only.
        Session::Callers if unsafe { libc::tcsetpgrp(order.stdio[0], us) } < 0 => Err(errno()),
        Session::Own | Session::Callers => Ok(()),
    }
}

/// Handlers vanish with `exec`, but ignored signals stay ignored: Rust programs ignore `SIGPIPE`, `nohup` ignores
/// `SIGHUP`, and a shell that inherits that cannot even trap them.
fn default_signals() {
    for number in 1..=64 {
        // The two that cannot be changed and the two that the C library keeps to itself fail, and that is right.
        // SAFETY: `SIG_DFL` is a valid disposition, and no handler is installed.
        unsafe { libc::signal(number, libc::SIG_DFL) };
    }
    let mut none = MaybeUninit::<libc::sigset_t>::uninit();
    // SAFETY: writes the set that it is given.
    unsafe { libc::sigemptyset(none.as_mut_ptr()) };
    // SAFETY: the set was initialized by the call above.
    unsafe { libc::sigprocmask(libc::SIG_SETMASK, none.as_ptr(), ptr::null_mut()) };
}

/// Marks every descriptor from `first` on to be closed by `exec`.
#[expect(clippy::cast_possible_wrap, reason = "the flag is a small number")]
pub(crate) fn close_on_exec_from(first: u32) -> io::Result<()> {
    // SAFETY: only marks them; nobody loses one that is in use.
    if unsafe { libc::close_range(first, u32::MAX, libc::CLOSE_RANGE_CLOEXEC as c_int) } < 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(())
}

fn errno() -> c_int {
    io::Error::last_os_error().raw_os_error().unwrap_or(0)
}

fn pointers(strings: &[CString]) -> Vec<*const c_char> {
    strings.iter().map(|string| string.as_ptr()).chain([ptr::null()]).collect()
}

/// A descriptor above 2: the caller's, or a copy of it.
enum Above<'a> {
    Borrowed(BorrowedFd<'a>),
    Copied(OwnedFd),
}

impl Above<'_> {
    fn raw(&self) -> RawFd {
        match self {
            Self::Borrowed(fd) => fd.as_raw_fd(),
            Self::Copied(fd) => fd.as_fd().as_raw_fd(),
        }
    }
}

fn above_stdio(fd: BorrowedFd<'_>) -> io::Result<Above<'_>> {
    if fd.as_raw_fd() > 2 {
        return Ok(Above::Borrowed(fd));
    }
    Ok(Above::Copied(rustix::io::fcntl_dupfd_cloexec(fd, 3)?))
}
