//! Starts a program without copying the caller's memory.
//!
//! `fork` copies page tables, which takes 84 ms in a host that holds 2 GB. Here the child borrows the caller's memory
//! until it calls `exec` (`CLONE_VM | CLONE_VFORK`), so the cost is the same for every host. The child can still get
//! its own session, directory, limits and descriptors, which `posix_spawn` can only do in part.
//!
//! Invariant: between `clone` and `exec` the child neither allocates nor takes a lock. All signals are blocked until
//! every handler is back to its default, so none of the caller's handlers can run in the child.

#![expect(unsafe_code, reason = "a child that borrows our memory until `exec` cannot be had otherwise")]

use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};
use std::ptr;

use rustix::process::{Pid, Signal};

use crate::fence::Confinement;
use crate::limits::Limit;
use crate::signal::BlockedSignals;

/// A program to start, and its environment.
///
/// The child leads its own process group. It has default signal dispositions, an empty signal mask,
/// and no descriptor beyond the three of `stdio`.
#[derive(Debug)]
pub struct Spawn<'a> {
    /// Absolute path of the program.
    pub program: &'a CStr,
    /// Arguments, including the program's own name.
    pub argv: &'a [CString],
    /// The whole environment, `NAME=value` each.
    pub env: &'a [CString],
    /// Working directory; that of the caller if none.
    pub directory: Option<&'a CStr>,
    /// Stdin, stdout and stderr.
    pub stdio: [BorrowedFd<'a>; 3],
    /// Resource limits to set before the program begins.
    pub limits: &'a [Limit],
    /// File-creation mask; that of the caller if none.
    pub umask: Option<u32>,
    /// Fate of the child when the caller ends.
    pub tether: Tether,
    /// The session that it belongs to.
    pub session: Session,
    /// Everything that the child gives up before it begins; none if nothing.
    pub fence: Option<Fenced<'a>>,
}

/// The fence around a child.
#[derive(Debug, Clone, Copy)]
pub struct Fenced<'a> {
    /// Handle on the [first process](crate::fence::Init) inside, whose namespaces the child joins. The caller has joined their
    /// users already. None if the fence has no namespaces.
    pub inside: Option<BorrowedFd<'a>>,
    /// The rights that it gives up.
    pub confinement: &'a Confinement,
}

/// The session of a child.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Session {
    /// A session of its own, without a terminal.
    Own,
    /// The caller's session, whose terminal is the child's standard input. The child's process group becomes the foreground group.
    Callers,
}

/// Fate of a child when its parent ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tether {
    /// The child lives on.
    Loose,
    /// The kernel kills the child together with the *thread* that started it: only for a process with one thread.
    DiesWithParent,
}

/// A child process that was started.
#[derive(Debug)]
pub struct Child {
    /// Process id; also the id of its process group, and of its session if it leads one.
    pub pid: Pid,
    /// Handle that means this very process, even after its id is used again. It is readable once the process has ended.
    /// On a system without handles, it is a substitute that only becomes readable.
    pub pidfd: OwnedFd,
}

impl Child {
    /// Sends a signal to the child, unless it has been reaped.
    pub fn send(&self, signal: Signal) -> Result<(), rustix::io::Errno> {
        crate::pidfd::send_to_child(self.pid, self.pidfd.as_fd(), signal)
    }

    /// Sends `SIGCONT` if the child is stopped. A running child gets no signal, because it may have a trap for it.
    pub fn continue_if_stopped(&self) {
        if crate::wait::is_stopped(self.pid, self.pidfd.as_fd()) {
            let _ = self.send(Signal::CONT);
        }
    }
}

/// Step at which the start of a program failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Step {
    /// Creating the process.
    Clone = 1,
    /// Setting up its session, descriptors or signals.
    Prepare = 2,
    /// Changing to its directory.
    Directory = 3,
    /// Setting its limits.
    Limits = 4,
    /// Executing the program.
    Exec = 5,
    /// Going inside of its fence, or giving up its rights.
    Fence = 6,
}

impl Step {
    /// Decodes the number that the protocol uses; none if it is unknown.
    pub fn from_number(number: u8) -> Option<Self> {
        [Self::Clone, Self::Prepare, Self::Directory, Self::Limits, Self::Exec, Self::Fence]
            .into_iter()
            .find(|step| *step as u8 == number)
    }
}

/// Error: a program that could not be started.
#[derive(Debug)]
pub struct SpawnError {
    /// Last step that the child began.
    pub step: Step,
    /// Error of the system.
    pub source: io::Error,
}

/// Stack of the child until `exec`, in bytes. Untouched pages cost nothing.
const STACK: usize = 128 * 1024;

/// Everything that the child needs, laid out beforehand, and the place for its error.
struct ChildSetup<'a> {
    program: *const c_char,
    argv: *const *const c_char,
    env: *const *const c_char,
    directory: *const c_char,
    stdio: [RawFd; 3],
    limits: &'a [Limit],
    umask: Option<u32>,
    tether: Tether,
    session: Session,
    fence: Option<Fenced<'a>>,
    parent: libc::pid_t,
    failed: Option<(Step, c_int)>,
}

impl Spawn<'_> {
    /// Starts the program. Returns once it has begun, or has failed to.
    #[expect(clippy::missing_panics_doc, reason = "a child's id is never zero")]
    pub fn start(&self) -> Result<Child, SpawnError> {
        let at = |step| move |source: io::Error| SpawnError { step, source };
        // A descriptor below 3 would be overwritten while another one is set up.
        let stdio = self.stdio.map(above_stdio);
        let [a, b, c] = stdio;
        let stdio = [a, b, c].into_iter().collect::<io::Result<Vec<HighFd>>>().map_err(at(Step::Prepare))?;

        let argv = pointers(self.argv);
        let env = pointers(self.env);
        let mut setup = ChildSetup {
            program: self.program.as_ptr(),
            argv: argv.as_ptr(),
            env: env.as_ptr(),
            directory: self.directory.map_or(ptr::null(), CStr::as_ptr),
            stdio: [stdio[0].raw(), stdio[1].raw(), stdio[2].raw()],
            limits: self.limits,
            umask: self.umask,
            tether: self.tether,
            session: self.session,
            fence: self.fence,
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
            // SAFETY: `CLONE_VFORK` suspends this thread until the child has called `exec` or ended, so `setup`, the stack
            // and all they point to outlive the child's use of them, and nobody else touches them meanwhile.
            let pid = unsafe {
                libc::clone(
                    child,
                    top.cast(),
                    flags | libc::CLONE_VM | libc::CLONE_VFORK | libc::SIGCHLD,
                    (&raw mut setup).cast(),
                    &raw mut pidfd,
                )
            };
            if pid < 0 { Err(io::Error::last_os_error()) } else { Ok(pid) }
        };
        let cloned = clone(libc::CLONE_PIDFD).or_else(|error| match error.raw_os_error() {
            // The system does not know the flag, or a seccomp filter refuses it.
            Some(libc::EINVAL) => clone(0),
            _ => Err(error),
        });
        drop(blocked);
        let pid = Pid::from_raw(cloned.map_err(at(Step::Clone))?).expect("a child's id is never zero");
        // SAFETY: the kernel has just opened it for us, and nobody else knows of it.
        let pidfd = (pidfd >= 0).then(|| unsafe { OwnedFd::from_raw_fd(pidfd) });
        if let Some((step, errno)) = setup.failed {
            // The child has ended; it would stay as a zombie without this.
            let _ = rustix::process::waitpid(Some(pid), rustix::process::WaitOptions::empty());
            return Err(SpawnError { step, source: io::Error::from_raw_os_error(errno) });
        }
        // Linux before 5.2 ignores the flag, and before 5.3 it has no handles at all.
        let handle = pidfd.map_or_else(|| crate::pidfd::open(pid).or_else(|_| crate::wait::end_notifier(pid)), Ok);
        let pidfd = handle.map_err(|error| {
            let _ = rustix::process::kill_process(pid, Signal::KILL);
            let _ = rustix::process::waitpid(Some(pid), rustix::process::WaitOptions::empty());
            SpawnError { step: Step::Clone, source: error }
        })?;
        Ok(Child { pid, pidfd })
    }
}

/// The child's code until `exec`.
extern "C" fn child(setup: *mut c_void) -> c_int {
    // SAFETY: the parent passed a pointer to its `ChildSetup` and is suspended until we are done with it.
    let setup = unsafe { &mut *setup.cast::<ChildSetup<'_>>() };
    let (step, errno) = become_program(setup);
    setup.failed = Some((step, errno));
    // Not `exit`: that would run the parent's exit handlers in the parent's memory.
    // SAFETY: ends the calling process and nothing else.
    unsafe { libc::_exit(127) }
}

/// Sets up the child and executes the program. Returns only after an error.
fn become_program(setup: &ChildSetup<'_>) -> (Step, c_int) {
    if let Err(errno) = enter_session(setup) {
        return (Step::Prepare, errno);
    }
    let inside = setup.fence.and_then(|fence| fence.inside);
    if let Some(inside) = inside {
        let namespaces = libc::CLONE_NEWNS | libc::CLONE_NEWIPC | libc::CLONE_NEWUTS | libc::CLONE_NEWNET;
        // SAFETY: takes numbers only.
        if unsafe { libc::setns(inside.as_raw_fd(), namespaces) } < 0 {
            return (Step::Fence, errno());
        }
    }
    if !setup.directory.is_null() {
        // SAFETY: a NUL-terminated string that outlives the call.
        if unsafe { libc::chdir(setup.directory) } < 0 {
            return (Step::Directory, errno());
        }
    }
    for limit in setup.limits {
        if let Err(error) = limit.set() {
            return (Step::Limits, error.raw_os_error());
        }
    }
    if let Some(mask) = setup.umask {
        // SAFETY: takes a number only, and cannot fail.
        unsafe { libc::umask(mask) };
    }
    for (to, from) in (0..).zip(setup.stdio) {
        // SAFETY: numbers only; every `from` is above 2, so no copy can overwrite one that is still needed.
        if unsafe { libc::dup2(from, to) } < 0 {
            return (Step::Prepare, errno());
        }
    }
    // Descriptors that a careless host left open to its children. Old kernels cannot do this in one call; ours are all
    // marked to close anyway.
    let _ = close_on_exec_from(3);
    default_signals();
    if let Some(Err(error)) = setup.fence.map(|fence| fence.confinement.apply()) {
        return (Step::Fence, error.raw_os_error().unwrap_or(0));
    }
    // Not earlier: giving up rights would undo it.
    if setup.tether == Tether::DiesWithParent {
        // SAFETY: takes numbers only.
        if unsafe { libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL) } < 0 {
            return (Step::Prepare, errno());
        }
        // The parent may have ended just before that call, and then no signal will ever come. A parent outside of the
        // fence has no id inside.
        // SAFETY: no arguments, no memory.
        if unsafe { libc::getppid() } != inside.map_or(setup.parent, |_| 0) {
            return (Step::Prepare, libc::ECHILD);
        }
    }
    // SAFETY: two arrays of NUL-terminated strings, each ended by a null pointer, that outlive the call.
    unsafe { libc::execve(setup.program, setup.argv, setup.env) };
    (Step::Exec, errno())
}

/// Leads a session, or the foreground process group of the caller's session.
fn enter_session(setup: &ChildSetup<'_>) -> Result<(), c_int> {
    let us = rustix::process::getpid().as_raw_nonzero().get();
    match setup.session {
        // SAFETY: no arguments, no memory.
        Session::Own if unsafe { libc::setsid() } < 0 => Err(errno()),
        // SAFETY: takes numbers only.
        Session::Callers if unsafe { libc::setpgid(0, 0) } < 0 => Err(errno()),
        // All signals are blocked here. A process in the background would otherwise be stopped by `SIGTTOU` for this.
        // SAFETY: takes numbers only.
        Session::Callers if unsafe { libc::tcsetpgrp(setup.stdio[0], us) } < 0 => Err(errno()),
        Session::Own | Session::Callers => Ok(()),
    }
}

/// Resets every signal. Handlers vanish with `exec`, but ignored signals stay ignored: Rust programs ignore `SIGPIPE`,
/// `nohup` ignores `SIGHUP`, and a shell that inherits that cannot even trap them.
fn default_signals() {
    for number in 1..=64 {
        // Four fail, and that is right: two cannot be changed, and two belong to the C library.
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
    // SAFETY: only marks descriptors; none in use is closed.
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

/// A descriptor above 2: the caller's own, or a copy.
enum HighFd<'a> {
    Borrowed(BorrowedFd<'a>),
    Copied(OwnedFd),
}

impl HighFd<'_> {
    fn raw(&self) -> RawFd {
        match self {
            Self::Borrowed(fd) => fd.as_raw_fd(),
            Self::Copied(fd) => fd.as_fd().as_raw_fd(),
        }
    }
}

fn above_stdio(fd: BorrowedFd<'_>) -> io::Result<HighFd<'_>> {
    if fd.as_raw_fd() > 2 {
        return Ok(HighFd::Borrowed(fd));
    }
    Ok(HighFd::Copied(rustix::io::fcntl_dupfd_cloexec(fd, 3)?))
}
