//! Everything that bashful needs from the kernel: mechanism without policy.
//!
//! This is the only crate with `unsafe` code. Callers decide which programs to run, and which processes to stop and
//! when. Everything is synchronous. A child costs a thread only where the system has no handles on processes.

#![warn(clippy::disallowed_methods)]

pub mod argv_patch;
pub mod ascii;
#[cfg(feature = "tokio")]
pub mod event;
pub mod fence;
pub mod inherited;
pub mod limits;
mod local_time;
pub mod news;
pub mod notify;
pub mod peer;
pub mod pidfd;
pub mod pipe;
pub mod plain;
pub mod probe;
pub mod proc;
pub mod raw_mode;
pub mod signal;
pub mod socket;
pub mod spawn;
#[cfg(feature = "tokio")]
pub mod stdio;
pub mod terminal;
pub mod terminal_reader;
pub mod threads;
pub mod wait;
pub mod wake;

pub use local_time::utc_offset;
pub use rustix::io::Errno;

use std::io;
use std::time::Duration;

/// Makes this process the parent of every orphan below it.
pub fn become_subreaper() -> io::Result<()> {
    // Any value will do: the kernel only checks for zero.
    rustix::process::set_child_subreaper(Some(rustix::process::getpid()))?;
    Ok(())
}

/// Keeps other processes of the same user from reading this one's memory and environment, through `/proc` or as a
/// debugger. Holds until this process executes another program. The superuser may still read everything.
pub fn forbid_inspection() -> io::Result<()> {
    rustix::process::set_dumpable_behavior(rustix::process::DumpableBehavior::NotDumpable)?;
    Ok(())
}

/// True if this process has more than one thread.
pub fn has_threads() -> bool {
    threads().is_ok_and(|threads| threads > 1)
}

/// Number of threads of this process.
fn threads() -> io::Result<u64> {
    // The directory has two links of its own, and one for every thread, so one call is enough.
    Ok(rustix::fs::stat("/proc/self/task")?.st_nlink.saturating_sub(2))
}

/// Sets the name that `ps` and `top` show. The kernel keeps 15 bytes at most.
pub fn set_process_name(name: &std::ffi::CStr) -> io::Result<()> {
    rustix::thread::set_name(name)?;
    Ok(())
}

/// Time since the machine was started. Nobody can set this clock, and all processes share it.
pub fn boot_time() -> Duration {
    Duration::try_from(rustix::time::clock_gettime(rustix::time::ClockId::Boottime)).unwrap_or_default()
}

/// Creates a file without a name, which lives as long as a descriptor of it is open.
pub fn anonymous_file(name: &str) -> io::Result<std::fs::File> {
    let fd = rustix::fs::memfd_create(name, rustix::fs::MemfdFlags::CLOEXEC)?;
    Ok(std::fs::File::from(fd))
}

/// Opens a file that reads as empty and accepts every write: `/dev/null`, or an anonymous file where that cannot be
/// opened.
///
/// An anonymous file grows with each write, so it is for writers that write little.
pub fn null_file() -> io::Result<std::fs::File> {
    null_file_at("/dev/null")
}

fn null_file_at(path: &str) -> io::Result<std::fs::File> {
    let opened = std::fs::File::options().read(true).write(true).open(path);
    match opened {
        Err(error) if !matches!(Errno::from_io_error(&error), Some(Errno::MFILE | Errno::NFILE)) => {
            anonymous_file("bashful-null").map_err(|_| error)
        }
        other => other,
    }
}

/// Keeps every descriptor from `first` on from programs that this process starts later.
pub fn close_on_exec_from(first: u32) -> io::Result<()> {
    spawn::close_on_exec_from(first)
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};

    use super::*;

    #[test]
    fn a_missing_null_device_is_replaced() {
        for path in ["/dev/null", "/nowhere/null", "/"] {
            let mut file = null_file_at(path).expect("there is always one");
            let mut read = Vec::new();
            file.read_to_end(&mut read).expect("it is readable");
            assert_eq!(read, b"", "{path}");
            file.write_all(b"x").expect("it takes everything");
        }
    }
}
