//! Pseudo-terminals, and the modes of terminals.
//!
//! A pseudo-terminal has two ends. Programs run at the inside end and take it for a terminal. The outside end carries what they
//! write, and feeds them what somebody would type.

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Write};
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::os::unix::ffi::OsStringExt;
use std::path::PathBuf;

use rustix::fs::{Mode, OFlags};
use rustix::process::Pid;
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{
    InputModes, LocalModes, OptionalActions, Termios, Winsize, tcgetattr, tcgetpgrp, tcgetwinsize, tcsetattr,
    tcsetwinsize,
};

/// The longest line that a terminal in canonical mode holds, in bytes, without its newline. The kernel drops the rest of a longer
/// line without a word.
pub const LONGEST_LINE: usize = 4095;

/// Puts a person's terminal back after a program that used all of it: leaves the alternate screen, shows the cursor, and turns off
/// colors, mouse reports, pasting marks, application keys, synchronized output and Kitty's keyboard protocol.
///
/// The alternate screen is entered once more before it is left. Leaving it moves the cursor to where it was when the screen was
/// entered, and without the first half that would be a place of long ago wherever no alternate screen is on.
pub const RESET: &[u8] = b"\x1b[?2026l\x1b[?1049h\x1b[?1049l\x1b[?1000l\x1b[?1002l\x1b[?1003l\x1b[?1004l\x1b[?1005l\x1b[?1006l\x1b[?1015l\x1b[?1016l\x1b[?2004l\x1b[?1l\x1b>\x1b[<u\x1b[?25h\x1b[0m";

/// Both ends of a pseudo-terminal.
#[derive(Debug)]
pub struct Terminal {
    /// The outside end. Reads and writes never block.
    pub outside: OwnedFd,
    /// The inside end. While nobody holds it open, reads of the outside end fail with `EIO`.
    pub inside: OwnedFd,
    /// The path by which programs open the inside end. The first one that a session without a terminal opens becomes its
    /// controlling terminal.
    pub path: PathBuf,
}

impl Terminal {
    /// A new terminal. Its size is 0 × 0 until [`set_size`] is called.
    pub fn new() -> io::Result<Self> {
        let outside = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC)?;
        grantpt(&outside)?;
        unlockpt(&outside)?;
        let path = inside_path(&outside)?;
        let flags = OFlags::RDWR | OFlags::NOCTTY | OFlags::CLOEXEC;
        let inside = rustix::fs::open(&path, flags, Mode::empty())?;
        crate::pipe::set_nonblocking(&outside)?;
        Ok(Self { outside, inside, path })
    }

    /// A new terminal for a command, of this size. `Ctrl-S` does not stop its output: nobody would know why nothing comes.
    pub fn for_command(columns: u16, rows: u16) -> io::Result<Self> {
        let terminal = Self::new()?;
        set_size(&terminal.outside, columns, rows)?;
        let mut modes = tcgetattr(&terminal.outside)?;
        modes.input_modes -= InputModes::IXON;
        // Erasing removes a whole character, and not one byte of it.
        modes.input_modes |= InputModes::IUTF8;
        tcsetattr(&terminal.outside, OptionalActions::Now, &modes)?;
        Ok(terminal)
    }
}

/// Sets the size of a terminal, by either end. Its foreground process group gets `SIGWINCH` if that is a change.
pub fn set_size(terminal: impl AsFd, columns: u16, rows: u16) -> io::Result<()> {
    Ok(tcsetwinsize(terminal, Winsize { ws_row: rows, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 })?)
}

/// The columns and rows of a terminal.
pub fn size(terminal: impl AsFd) -> io::Result<(u16, u16)> {
    let size = tcgetwinsize(terminal)?;
    Ok((size.ws_col, size.ws_row))
}

/// The input modes that the program at a terminal has set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LineModes {
    /// The program gets whole lines (`ICANON`), of at most [`LONGEST_LINE`] bytes.
    pub canonical: bool,
    /// Typed text appears on the screen (`ECHO`).
    pub echo: bool,
    /// `Ctrl-C`, `Ctrl-\\` and `Ctrl-Z` are signals (`ISIG`).
    pub signals: bool,
}

/// The input modes of a terminal, by either end.
pub fn line_modes(terminal: impl AsFd) -> io::Result<LineModes> {
    let modes = tcgetattr(terminal)?.local_modes;
    Ok(LineModes {
        canonical: modes.contains(LocalModes::ICANON),
        echo: modes.contains(LocalModes::ECHO),
        signals: modes.contains(LocalModes::ISIG),
    })
}

/// The process group that reads from a terminal; none if it has none.
pub fn foreground_group(outside: impl AsFd) -> Option<Pid> {
    tcgetpgrp(outside).ok()
}

/// The path of the inside end, as programs that run there see it.
pub fn inside_path(outside: impl AsFd) -> io::Result<PathBuf> {
    Ok(PathBuf::from(OsString::from_vec(ptsname(outside, Vec::new())?.into_bytes())))
}

/// Makes the terminal behind this inside end the controlling terminal of the calling process, which leads a session and has none.
pub fn take_control(inside: impl AsFd) -> io::Result<()> {
    Ok(rustix::process::ioctl_tiocsctty(inside)?)
}

/// Writes this to a terminal unless it would have to wait: somebody may have stopped it with `Ctrl-S`.
///
/// The terminal is opened anew for that. Whoever shares the descriptor, such as the shell of a person, would otherwise find that
/// its own reads no longer wait.
pub fn write_now(terminal: impl AsFd, bytes: &[u8]) -> io::Result<()> {
    let path = format!("/proc/self/fd/{}", terminal.as_fd().as_raw_fd());
    let flags = OFlags::WRONLY | OFlags::NOCTTY | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let own = rustix::fs::open(path, flags, Mode::empty())?;
    File::from(own).write_all(bytes)
}

/// The modes of a person's terminal, to be put back later.
#[derive(Debug, Clone)]
pub struct SavedModes(Termios);

impl SavedModes {
    /// The modes that the terminal has now.
    pub fn read(terminal: impl AsFd) -> io::Result<Self> {
        Ok(Self(tcgetattr(terminal)?))
    }

    /// Passes every key on as it is pressed, and every byte of output as it is written.
    pub fn make_raw(&self, terminal: impl AsFd) -> io::Result<()> {
        let mut raw = self.0.clone();
        raw.make_raw();
        Ok(tcsetattr(terminal, OptionalActions::Now, &raw)?)
    }

    /// Puts these modes back. Keys that were pressed and not read are dropped: they were meant for the program that ended.
    pub fn restore(&self, terminal: impl AsFd) -> io::Result<()> {
        Ok(tcsetattr(terminal, OptionalActions::Flush, &self.0)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_terminal_for_a_command_has_its_size_and_no_flow_control() {
        let Terminal { outside, inside, .. } = Terminal::for_command(132, 43).expect("a terminal");
        assert_eq!((size(&outside).ok(), size(&inside).ok()), (Some((132, 43)), Some((132, 43))));
        let modes = tcgetattr(&inside).expect("modes");
        assert!(!modes.input_modes.contains(InputModes::IXON));
        assert_eq!(line_modes(&outside).ok(), Some(LineModes { canonical: true, echo: true, signals: true }));
    }

    #[test]
    fn a_write_that_does_not_wait_changes_nothing_for_others() {
        let Terminal { outside, inside, .. } = Terminal::new().expect("a terminal");
        write_now(&inside, b"hi").expect("it is written");
        let mut read = [0; 8];
        assert_eq!(rustix::io::read(&outside, &mut read), Ok(2));
        let flags = rustix::fs::fcntl_getfl(&inside).expect("flags");
        assert!(!flags.contains(OFlags::NONBLOCK), "{flags:?}");
    }

    #[test]
    fn modes_that_were_saved_are_put_back() {
        let Terminal { outside, inside, .. } = Terminal::new().expect("a terminal");
        let saved = SavedModes::read(&inside).expect("modes");
        saved.make_raw(&inside).expect("raw");
        assert_eq!(line_modes(&outside).ok(), Some(LineModes { canonical: false, echo: false, signals: false }));
        saved.restore(&inside).expect("restored");
        assert_eq!(line_modes(&outside).ok(), Some(LineModes { canonical: true, echo: true, signals: true }));
    }
}
