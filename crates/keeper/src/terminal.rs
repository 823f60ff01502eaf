//! The terminal of a command, from the keeper's side, and a person's terminal that the keeper guards.
//!
//! The keeper leads the session of a command's terminal. If bash led it, the kernel would hang up on everything that bash leaves
//! running. The keeper holds both ends open: the outside end, so that the end of the engine is no hang-up, and the inside
//! end, so that a program may close its terminal and open it again. The end of the output is therefore the end of the process
//! tree, and no end of file.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use bashful_sys::terminal::{self, SavedModes};

/// Both ends of the terminal of a command.
pub(crate) struct TerminalEnds {
    outside: OwnedFd,
    _inside: OwnedFd,
}

impl TerminalEnds {
    /// Makes the terminal the controlling terminal of this process. `inside` is the standard output of a setup.
    pub(crate) fn take_control(outside: OwnedFd, inside: BorrowedFd<'_>) -> io::Result<Self> {
        terminal::take_control(inside)?;
        Ok(Self { outside, _inside: inside.try_clone_to_owned()? })
    }

    pub(crate) fn outside(&self) -> BorrowedFd<'_> {
        self.outside.as_fd()
    }

    /// Columns and rows.
    pub(crate) fn size(&self) -> Option<(u16, u16)> {
        terminal::size(&self.outside).ok()
    }

    pub(crate) fn resize(&self, columns: u16, rows: u16) -> io::Result<()> {
        terminal::set_size(&self.outside, columns, rows)
    }
}

/// A person's terminal that an engine has put into raw mode.
///
/// Dropping it puts the terminal back, because the engine that would have done it is gone.
pub(crate) struct HostTerminal {
    terminal: OwnedFd,
    /// None once the engine has put them back itself.
    modes: Option<SavedModes>,
}

impl HostTerminal {
    /// Guards a terminal whose modes are still as the person had them. None if it is not a terminal.
    pub(crate) fn guard(terminal: OwnedFd) -> Option<Self> {
        let modes = SavedModes::read(&terminal).ok()?;
        Some(Self { terminal, modes: Some(modes) })
    }

    /// True until the engine has put the terminal back.
    pub(crate) fn is_guarded(&self) -> bool {
        self.modes.is_some()
    }

    /// Leaves the terminal alone from now on.
    pub(crate) fn leave_alone(&mut self) {
        self.modes = None;
    }
}

impl Drop for HostTerminal {
    fn drop(&mut self) {
        let Some(modes) = self.modes.take() else { return };
        // Whatever fails here, nobody is left to be told. The terminal is not this session's, so no signal stops us.
        let _ = modes.restore(&self.terminal);
        let _ = terminal::write_now(&self.terminal, &[terminal::RESET, b"\r\n"].concat());
    }
}
