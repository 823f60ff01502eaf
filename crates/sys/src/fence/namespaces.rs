//! Namespaces of a fence: made by one process, joined by others.

#![expect(
    unsafe_code,
    reason = "the map of ids has to be written by a process outside, which only `fork` can make here"
)]

use std::fs::{self, File};
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::process::{WaitOptions, WaitStatus, getegid, geteuid, getpid, waitpid};
use rustix::thread::{LinkNameSpaceType, UnshareFlags, move_into_link_name_space};

/// Namespaces of a fence, in the order of their handles. The one of users comes first: it gives the right to join the others.
pub const NAMESPACES: [&str; 5] = ["user", "mnt", "ipc", "uts", "net"];

/// Handles on the namespaces of a fence, borrowed, in the order of [`NAMESPACES`]. The network may be that of the host; then
/// the last one is missing.
#[derive(Debug, Clone, Copy)]
pub struct Joined<'a> {
    /// The handles.
    pub handles: &'a [OwnedFd],
}

impl Joined<'_> {
    /// Joins all namespaces but the one of users. Calls the system only.
    pub(super) fn join_all_but_users(self) -> io::Result<()> {
        self.handles.iter().skip(1).try_for_each(|handle| Ok(move_into_link_name_space(handle.as_fd(), None)?))
    }
}

/// Leaves the namespaces of the caller for new ones, in which it has every capability. Users and groups keep their numbers:
/// all of them if the caller may map all, else its own.
///
/// For a process with one thread.
pub fn leave_for_own_namespaces(with_network: bool) -> io::Result<()> {
    let mut flags = UnshareFlags::NEWUSER | UnshareFlags::NEWNS | UnshareFlags::NEWIPC | UnshareFlags::NEWUTS;
    if with_network {
        flags |= UnshareFlags::NEWNET;
    }
    let mapper = IdMapper::start()?;
    // SAFETY: no flag shares memory or descriptors differently than before.
    unsafe { rustix::thread::unshare_unsafe(flags) }?;
    mapper.map()
}

/// Handles on the namespaces of this process, in the order of [`NAMESPACES`].
pub fn handles_of_this_process(with_network: bool) -> io::Result<Vec<OwnedFd>> {
    let names = NAMESPACES.iter().filter(|name| with_network || **name != "net");
    names.map(|name| Ok(File::open(format!("/proc/self/ns/{name}"))?.into())).collect()
}

/// Joins the namespace of users, and makes children start in a new namespace of process ids.
///
/// For a process with one thread, which can start no thread afterwards.
pub fn join_users_and_new_pids(users: BorrowedFd<'_>) -> io::Result<()> {
    move_into_link_name_space(users, Some(LinkNameSpaceType::User))?;
    // SAFETY: changes where the next child starts, and nothing of this process.
    unsafe { rustix::thread::unshare_unsafe(UnshareFlags::NEWPID) }?;
    Ok(())
}

/// A child that stays outside and maps the ids of its parent, once the parent has left.
struct IdMapper {
    child: rustix::process::Pid,
    go: OwnedFd,
}

impl IdMapper {
    fn start() -> io::Result<Self> {
        let (wait, go) = crate::pipe::plain()?;
        let parent = getpid();
        // SAFETY: the process has one thread, so the child can do whatever it likes.
        let child = unsafe { libc::fork() };
        match rustix::process::Pid::from_raw(child) {
            _ if child < 0 => Err(io::Error::last_os_error()),
            Some(child) => Ok(Self { child, go }),
            None => {
                drop(go);
                // The end of the pipe, too: the parent is gone then, and nothing can be mapped.
                let _ = rustix::io::read(&wait, &mut [0]);
                let mapped = map_ids(parent.as_raw_nonzero().get());
                let errno = mapped.err().and_then(|error| error.raw_os_error()).unwrap_or(0);
                // SAFETY: ends the calling process and nothing else.
                unsafe { libc::_exit(errno) }
            }
        }
    }

    fn map(self) -> io::Result<()> {
        rustix::io::write(&self.go, b"m")?;
        let ended = waitpid(Some(self.child), WaitOptions::empty())?;
        match ended.map(|(_, status)| WaitStatus::exit_status(status)) {
            Some(Some(0)) => Ok(()),
            Some(Some(errno)) => Err(io::Error::from_raw_os_error(errno)),
            _ => Err(io::Error::other("the process that maps ids was killed")),
        }
    }
}

/// Every id, mapped to itself.
const ALL: &str = "0 0 4294967295";

/// Maps every id to itself, as root may, or else that of the user alone.
fn map_ids(pid: i32) -> io::Result<()> {
    let (user, group) = (geteuid().as_raw(), getegid().as_raw());
    let write = |file: &str, text: &str| fs::write(format!("/proc/{pid}/{file}"), text);
    if write("uid_map", ALL).is_ok() {
        return write("gid_map", ALL);
    }
    write("uid_map", &format!("{user} {user} 1"))?;
    write("setgroups", "deny")?;
    write("gid_map", &format!("{group} {group} 1"))
}
