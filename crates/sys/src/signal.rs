//! Signals: their names, blocking them, and reading them from a descriptor.

#![expect(unsafe_code, reason = "signal masks and `signalfd` are not in rustix")]

use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, FromRawFd, IntoRawFd, OwnedFd};
use std::ptr;
use std::sync::atomic::{AtomicI32, Ordering};

pub use rustix::process::Signal;

/// Name of a signal, `SIGKILL` for 9; none for numbers without a name.
pub fn name(number: i32) -> Option<&'static str> {
    const NAMES: [&str; 31] = [
        "SIGHUP",
        "SIGINT",
        "SIGQUIT",
        "SIGILL",
        "SIGTRAP",
        "SIGABRT",
        "SIGBUS",
        "SIGFPE",
        "SIGKILL",
        "SIGUSR1",
        "SIGSEGV",
        "SIGUSR2",
        "SIGPIPE",
        "SIGALRM",
        "SIGTERM",
        "SIGSTKFLT",
        "SIGCHLD",
        "SIGCONT",
        "SIGSTOP",
        "SIGTSTP",
        "SIGTTIN",
        "SIGTTOU",
        "SIGURG",
        "SIGXCPU",
        "SIGXFSZ",
        "SIGVTALRM",
        "SIGPROF",
        "SIGWINCH",
        "SIGIO",
        "SIGPWR",
        "SIGSYS",
    ];
    let index = usize::try_from(number).ok()?.checked_sub(1)?;
    NAMES.get(index).copied()
}

/// Number of a signal given as `9`, `KILL` or `SIGKILL`, in upper or lower case.
pub fn number(text: &str) -> Option<u8> {
    let upper = text.to_ascii_uppercase();
    let wanted = if upper.starts_with("SIG") { upper } else { format!("SIG{upper}") };
    let given = text.parse::<u8>().ok().filter(|number| name(i32::from(*number)).is_some());
    given.or_else(|| (1..=64).find(|number| name(i32::from(*number)).is_some_and(|known| known == wanted)))
}

/// True if this process ignores a signal, as under `nohup` for `SIGHUP`.
pub fn is_ignored(signal: Signal) -> bool {
    let mut now = MaybeUninit::<libc::sigaction>::uninit();
    // SAFETY: changes nothing, and fills `now` if it succeeds.
    let is_known = unsafe { libc::sigaction(signal.as_raw(), std::ptr::null(), now.as_mut_ptr()) } == 0;
    // SAFETY: the call has succeeded, so it has filled `now`.
    is_known && unsafe { now.assume_init() }.sa_sigaction == libc::SIG_IGN
}

/// Makes this process ignore a signal from now on. Programs that it starts by [`spawn`](crate::spawn) do not ignore it.
pub fn ignore(signal: Signal) {
    // SAFETY: `SIG_IGN` is a valid disposition, and no handler is installed.
    unsafe { libc::signal(signal.as_raw(), libc::SIG_IGN) };
}

/// Gives a signal that this process ignores its usual effect again, also for programs that it starts.
pub fn stop_ignoring(signal: Signal) {
    if is_ignored(signal) {
        // SAFETY: `SIG_DFL` is a valid disposition, and no handler is installed.
        unsafe { libc::signal(signal.as_raw(), libc::SIG_DFL) };
    }
}

/// Stops the process group of this process, as `Ctrl-Z` at its terminal would, and returns when this process goes on. Where no
/// shell could continue the group, the system does not stop it.
pub fn stop_group() -> io::Result<()> {
    let number = Signal::TSTP.as_raw();
    let mut before = MaybeUninit::<libc::sigaction>::uninit();
    // SAFETY: changes nothing, and fills `before` if it succeeds.
    if unsafe { libc::sigaction(number, ptr::null(), before.as_mut_ptr()) } < 0 {
        return Err(io::Error::last_os_error());
    }
    // The others first: this thread has to be the one that stops this process, or it would run on for a moment.
    ignore(Signal::TSTP);
    // SAFETY: takes numbers only.
    unsafe { libc::kill(0, number) };
    // SAFETY: `SIG_DFL` is a valid disposition.
    unsafe { libc::signal(number, libc::SIG_DFL) };
    // SAFETY: takes a number only. The signal goes to this thread, and takes effect before the call returns.
    unsafe { libc::raise(number) };
    // SAFETY: the call above has succeeded, so it has filled `before`, which outlives this call.
    unsafe { libc::sigaction(number, before.as_ptr(), ptr::null_mut()) };
    Ok(())
}

/// Guard that blocks all signals for this thread while it lives.
pub(crate) struct BlockedSignals {
    before: libc::sigset_t,
}

impl BlockedSignals {
    pub(crate) fn all() -> io::Result<Self> {
        let mut all = MaybeUninit::<libc::sigset_t>::uninit();
        let mut before = MaybeUninit::<libc::sigset_t>::uninit();
        // SAFETY: writes the set that it is given.
        unsafe { libc::sigfillset(all.as_mut_ptr()) };
        // SAFETY: `all` was initialized above; `before` is written by the call.
        let code = unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, all.as_ptr(), before.as_mut_ptr()) };
        if code != 0 {
            return Err(io::Error::from_raw_os_error(code));
        }
        // SAFETY: the call succeeded, so it has written the set.
        Ok(Self { before: unsafe { before.assume_init() } })
    }
}

impl Drop for BlockedSignals {
    fn drop(&mut self) {
        // SAFETY: the set came from the same call. It cannot fail with valid arguments.
        unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, &raw const self.before, ptr::null_mut()) };
    }
}

/// A descriptor from which signals are read, instead of interrupting the process.
#[derive(Debug)]
pub struct SignalReader {
    fd: OwnedFd,
    /// Size of one record, in bytes. It begins with the number of the signal.
    record: usize,
}

/// Descriptor to which [`note_signal`] writes. Set once in the life of the process.
static SIGNAL_PIPE: AtomicI32 = AtomicI32::new(-1);

/// Signal handler of a process with threads: writes the number of the signal to a pipe.
extern "C" fn note_signal(number: libc::c_int) {
    // SAFETY: takes no arguments, and returns the address of this thread's own `errno`.
    let errno_address = unsafe { libc::__errno_location() };
    // SAFETY: a thread's `errno` exists as long as the thread.
    let errno = unsafe { *errno_address };
    // SAFETY: `write` is async-signal-safe, and the number outlives the call. A full pipe holds enough to wake the
    // reader.
    unsafe { libc::write(SIGNAL_PIPE.load(Ordering::Relaxed), (&raw const number).cast(), size_of_val(&number)) };
    // SAFETY: as above. The interrupted code may be about to read `errno`.
    unsafe { *errno_address = errno };
}

impl SignalReader {
    /// Blocks these signals and reads them here. For a process with one thread.
    pub fn new(signals: &[Signal]) -> io::Result<Self> {
        let mut set = MaybeUninit::<libc::sigset_t>::uninit();
        // SAFETY: writes the set that it is given.
        unsafe { libc::sigemptyset(set.as_mut_ptr()) };
        for signal in signals {
            // SAFETY: the set was initialized above, and the number is that of a signal.
            unsafe { libc::sigaddset(set.as_mut_ptr(), signal.as_raw()) };
        }
        // SAFETY: the set was initialized above.
        let code = unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, set.as_ptr(), ptr::null_mut()) };
        if code != 0 {
            return Err(io::Error::from_raw_os_error(code));
        }
        // SAFETY: the set was initialized above.
        let fd = unsafe { libc::signalfd(-1, set.as_ptr(), libc::SFD_CLOEXEC | libc::SFD_NONBLOCK) };
        if fd < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: the kernel has just opened it for us.
        Ok(Self { fd: unsafe { OwnedFd::from_raw_fd(fd) }, record: size_of::<libc::signalfd_siginfo>() })
    }

    /// Reads these signals in a process that has started threads. A signal goes to any thread that does not block it,
    /// so a handler catches it, which all threads share. For one reader in the life of a process.
    pub fn with_threads(signals: &[Signal]) -> io::Result<Self> {
        let (read, write) = crate::pipe::plain()?;
        crate::pipe::set_nonblocking(&read)?;
        crate::pipe::set_nonblocking(&write)?;
        // Never closed: the handler may run at any time.
        SIGNAL_PIPE.store(write.into_raw_fd(), Ordering::Relaxed);
        for signal in signals {
            let mut action = MaybeUninit::<libc::sigaction>::zeroed();
            // SAFETY: all zeros is a valid `sigaction`: the default, with an empty mask.
            let action = unsafe { action.assume_init_mut() };
            action.sa_sigaction = note_signal as extern "C" fn(libc::c_int) as libc::sighandler_t;
            action.sa_flags = libc::SA_RESTART;
            // SAFETY: the handler only makes async-signal-safe calls, and the action outlives the call.
            if unsafe { libc::sigaction(signal.as_raw(), action, ptr::null_mut()) } < 0 {
                return Err(io::Error::last_os_error());
            }
        }
        Ok(Self { fd: read, record: size_of::<libc::c_int>() })
    }

    /// Numbers of all signals that have arrived since the last call.
    pub fn read_pending(&self) -> io::Result<Vec<i32>> {
        let mut numbers = Vec::new();
        let mut buffer = [0_u8; size_of::<libc::signalfd_siginfo>() * 4];
        loop {
            match rustix::io::read(&self.fd, &mut buffer) {
                Ok(0) | Err(rustix::io::Errno::AGAIN) => return Ok(numbers),
                Ok(count) => numbers.extend(
                    buffer[..count]
                        .chunks_exact(self.record)
                        .map(|record| i32::from_ne_bytes([record[0], record[1], record[2], record[3]])),
                ),
                Err(rustix::io::Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
        }
    }
}

impl AsFd for SignalReader {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn a_signal_is_known_by_its_name_and_its_number() {
        for text in ["9", "KILL", "SIGKILL", "kill", "sigkill"] {
            assert_eq!(super::number(text), Some(9), "{text}");
        }
        for text in ["", "0", "99", "KILLED", "-9"] {
            assert_eq!(super::number(text), None, "{text}");
        }
    }
}
