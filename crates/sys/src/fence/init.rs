//! The first process of a fenced command.
//!
//! It is the parent of every orphan inside, reaps them, and tells the keeper, which gets no signal for them. It also holds
//! descriptors for the shell: inside, `/proc` does not show the keeper. The kernel ends every process inside together with this
//! one, and this one together with its keeper.

#![expect(unsafe_code, reason = "`fork`, and the end of a process without its exit handlers")]

use std::io::{self, IoSlice};
use std::mem::MaybeUninit;
use std::os::fd::{AsRawFd, BorrowedFd, OwnedFd};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, poll};
use rustix::net::{
    AddressFamily, RecvFlags, SendAncillaryBuffer, SendAncillaryMessage, SendFlags, SocketFlags, SocketType, recv,
    send, sendmsg, socketpair, sockopt,
};
use rustix::process::{Pid, WaitOptions, wait};
use rustix::thread::UnshareFlags;

use super::{Confinement, Joined};
use crate::signal::{Signal, SignalReader};
use crate::spawn::Child;
use crate::{pidfd, socket, wake};

/// The first process inside, and the socket to it.
#[derive(Debug)]
pub struct Init {
    /// The process.
    pub child: Child,
    socket: OwnedFd,
}

/// Messages of the keeper.
const HOLD: u8 = b'h';
const FORGET: u8 = b'f';
/// Messages of the process: it is ready, or failed with an error number; a process has ended; a descriptor has this number.
const READY: u8 = b'y';
const FAILED: u8 = b'x';
const REAPED: u8 = b'r';
const HELD: u8 = b'n';

/// Longest time for an answer. A command may have stopped the process.
const ANSWERS_WITHIN: Duration = Duration::from_secs(10);

impl Init {
    /// Starts it in these namespaces, in a mount namespace and a `/proc` of its own. The caller has
    /// [joined](super::join_users_and_new_pids) their users, and gets `SIGCHLD` when a process inside ends.
    pub fn start(joined: Joined<'_>, confinement: &Confinement) -> io::Result<Self> {
        let (ours, theirs) = socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::CLOEXEC, None)?;
        // SAFETY: the process has one thread, so the child can do whatever it likes.
        let pid = unsafe { libc::fork() };
        if pid == 0 {
            drop(ours);
            let ended = serve(&theirs, joined, confinement);
            // SAFETY: ends the calling process and nothing else.
            unsafe { libc::_exit(i32::from(ended.is_err())) }
        }
        let pid = Pid::from_raw(pid).filter(|_| pid > 0).ok_or_else(io::Error::last_os_error)?;
        drop(theirs);
        sockopt::set_socket_timeout(&ours, sockopt::Timeout::Recv, Some(ANSWERS_WITHIN))?;
        let child = Child { pid, pidfd: pidfd::open(pid)? };
        let init = Self { child, socket: ours };
        match init.answer()? {
            (READY, _) => {}
            (_, errno) => return Err(io::Error::from_raw_os_error(errno)),
        }
        // From here on: nothing else tells this process of the end of an orphan inside.
        wake::on_news_with(&init.socket, libc::SIGCHLD)?;
        Ok(init)
    }

    /// Makes a descriptor of this process one that the shell can open. Returns its path inside.
    pub fn show(&self, descriptor: BorrowedFd<'_>) -> io::Result<String> {
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
        let mut control = SendAncillaryBuffer::new(&mut space);
        let descriptors = [descriptor];
        control.push(SendAncillaryMessage::ScmRights(&descriptors));
        sendmsg(&self.socket, &[IoSlice::new(&[HOLD])], &mut control, SendFlags::NOSIGNAL)?;
        match self.answer()? {
            (HELD, number) => Ok(format!("/proc/1/fd/{number}")),
            (_, errno) => Err(io::Error::from_raw_os_error(errno)),
        }
    }

    /// Closes the descriptors that were shown after the first `kept`.
    pub fn forget(&self, kept: u8) {
        let _ = send(&self.socket, &[FORGET, kept], SendFlags::NOSIGNAL | SendFlags::DONTWAIT);
    }

    /// Reads the news of ended processes, so that there is room for the next.
    pub fn read_news(&self) {
        let mut message = [0; 8];
        while recv(&self.socket, &mut message, RecvFlags::DONTWAIT).is_ok_and(|(count, _)| count > 0) {}
    }

    /// Returns the next answer; news of ended processes are skipped.
    fn answer(&self) -> io::Result<(u8, i32)> {
        loop {
            let mut message = [0; 8];
            let (count, _) = recv(&self.socket, &mut message, RecvFlags::empty())?;
            match message[..count] {
                [REAPED] => {}
                [kind, a, b, c, d] => return Ok((kind, i32::from_le_bytes([a, b, c, d]))),
                _ => return Err(io::Error::other("the first process of the sandbox has ended")),
            }
        }
    }
}

/// The whole life of the process.
fn serve(socket: &OwnedFd, joined: Joined<'_>, confinement: &Confinement) -> io::Result<()> {
    let tell = |kind: u8, number: i32| {
        let [a, b, c, d] = number.to_le_bytes();
        send(socket, &[kind, a, b, c, d], SendFlags::NOSIGNAL)
    };
    let signals = match prepare(socket, joined, confinement) {
        Ok(signals) => signals,
        Err(error) => {
            tell(FAILED, error.raw_os_error().unwrap_or(libc::EIO))?;
            return Err(error);
        }
    };
    tell(READY, 0)?;
    let mut held: Vec<OwnedFd> = Vec::new();
    loop {
        let mut fds = [PollFd::new(socket, PollFlags::IN), PollFd::new(&signals, PollFlags::IN)];
        if poll(&mut fds, None).is_err() {
            continue;
        }
        let [message, signaled] = fds.map(|fd| !fd.revents().is_empty());
        if signaled {
            let _ = signals.read_pending();
            let mut is_news = false;
            while let Ok(Some(_)) = wait(WaitOptions::NOHANG) {
                is_news = true;
            }
            if is_news {
                let _ = send(socket, &[REAPED], SendFlags::NOSIGNAL | SendFlags::DONTWAIT);
            }
        }
        if message {
            let (mut order, mut descriptors) = ([0; 2], Vec::new());
            match (socket::receive(socket, &mut order, &mut descriptors)?, order[0]) {
                (0, _) => return Ok(()),
                (_, HOLD) => {
                    held.append(&mut descriptors);
                    tell(HELD, held.last().map_or(-1, AsRawFd::as_raw_fd))?;
                }
                (_, FORGET) => held.truncate(order[1].into()),
                _ => {}
            }
        }
    }
}

/// Goes inside, and gives up everything that it does not need.
fn prepare(socket: &OwnedFd, joined: Joined<'_>, confinement: &Confinement) -> io::Result<SignalReader> {
    rustix::process::set_parent_process_death_signal(Some(Signal::KILL))?;
    joined.join_all_but_users()?;
    // The other commands of the fence have a `/proc` of their own.
    // SAFETY: the process has one thread.
    unsafe { rustix::thread::unshare_unsafe(UnshareFlags::NEWNS) }?;
    super::mounts::mount_processes()?;
    std::env::set_current_dir("/")?;
    // Whatever the keeper has open is none of the business of commands, which can look at this process.
    close_all_but(socket.as_raw_fd().unsigned_abs())?;
    let signals = SignalReader::new(&[Signal::CHILD])?;
    crate::set_process_name(c"bashful-init")?;
    confinement.apply()?;
    Ok(signals)
}

fn close_all_but(kept: u32) -> io::Result<()> {
    let below = kept.checked_sub(1).map(|last| (0, last));
    for (first, last) in below.into_iter().chain([(kept + 1, u32::MAX)]) {
        // SAFETY: copies of the keeper's descriptors, which nobody uses here: this process never returns to its code.
        if unsafe { libc::close_range(first, last, 0) } < 0 {
            return Err(io::Error::last_os_error());
        }
    }
    Ok(())
}
