//! The terminal of the person: taken at the start, given to a pager or a shell, and put back at the end.

use std::io::{self, IsTerminal, Stdout, Write};

use bashful_sys::terminal::SavedModes;
use bashful_sys::{raw_mode, terminal};
use ratatui_core::layout::{Rect, Size};
use ratatui_core::terminal::{Terminal, TerminalOptions, Viewport};

use super::cells::CellWriter;
use crate::model::Model;
use crate::view;

/// A terminal that does not know its size has the one of old.
const USUAL: (u16, u16) = (80, 24);

/// Larger screens are drawn in their upper left part.
const LARGEST: (u16, u16) = (500, 300);

/// The alternate screen, pasting marks, and keys that can be told apart where the terminal can do that.
const ENTER: &[u8] = b"\x1b[?1049h\x1b[?2004h\x1b[>1u\x1b[?25l\x1b[2J";

/// Puts back what a pager may have set: reports of the mouse and of the focus, pasting marks, application keys, colors, a
/// hidden cursor.
const AFTER_PAGER: &[u8] = b"\x1b[?1000l\x1b[?1002l\x1b[?1003l\x1b[?1004l\x1b[?1005l\x1b[?1006l\x1b[?1015l\x1b[?1016l\x1b[?2004l\x1b[?1l\x1b>\x1b[?25h\x1b[0m";

/// The person's screen and keyboard. Dropping it puts both back.
pub(super) struct PersonScreen {
    terminal: Terminal<CellWriter<Stdout>>,
    is_taken: bool,
    /// The modes to put back when a pager has ended.
    modes: Option<SavedModes>,
}

impl PersonScreen {
    /// True if standard input and output are terminals.
    pub(super) fn is_there() -> bool {
        io::stdin().is_terminal() && io::stdout().is_terminal()
    }

    pub(super) fn take(colors: bool, unicode: bool) -> io::Result<Self> {
        let (columns, rows) = size();
        let cells = CellWriter::new(io::stdout(), Size::new(columns, rows), colors, unicode);
        let viewport = Viewport::Fixed(Rect::new(0, 0, columns, rows));
        let terminal = Terminal::with_options(cells, TerminalOptions { viewport })?;
        let mut screen = Self { terminal, is_taken: false, modes: None };
        screen.take_again()?;
        Ok(screen)
    }

    /// Takes the terminal after it was given away, and draws everything anew at the next draw.
    pub(super) fn take_again(&mut self) -> io::Result<()> {
        if !self.is_taken {
            raw_mode::enter()?;
            self.is_taken = true;
            write(ENTER)?;
        }
        self.fit()
    }

    /// Gives the terminal back as it was.
    pub(super) fn give_back(&mut self) {
        if std::mem::replace(&mut self.is_taken, false) {
            // A terminal that is gone needs nothing.
            let _ = write(terminal::RESET);
            raw_mode::leave();
        }
    }

    /// Gives the terminal to a pager.
    pub(super) fn lend(&mut self) {
        self.give_back();
        self.modes = SavedModes::read(io::stdin()).ok();
    }

    /// Takes the modes of the terminal back from a pager that has ended, however it has.
    pub(super) fn end_lending(&mut self) {
        if let Some(modes) = self.modes.take() {
            // A terminal that is gone needs nothing.
            let _ = modes.restore(io::stdin());
            let _ = write(AFTER_PAGER);
        }
    }

    /// Adopts the size of the terminal, and draws everything anew at the next draw.
    pub(super) fn fit(&mut self) -> io::Result<()> {
        let (columns, rows) = size();
        self.terminal.backend_mut().size = Size::new(columns, rows);
        self.terminal.resize(Rect::new(0, 0, columns, rows))
    }

    pub(super) fn draw(&mut self, model: &mut Model) -> io::Result<()> {
        if self.is_taken {
            self.terminal.draw(|frame| {
                let cursor = view::draw(model, frame.buffer_mut());
                if let Some(cursor) = cursor {
                    frame.set_cursor_position(cursor);
                }
            })?;
        }
        Ok(())
    }
}

impl Drop for PersonScreen {
    fn drop(&mut self) {
        self.give_back();
    }
}

/// Columns and rows of the terminal.
pub(super) fn size() -> (u16, u16) {
    let size = terminal::size(io::stdout()).ok().filter(|(columns, rows)| *columns > 0 && *rows > 0);
    let (columns, rows) = size.unwrap_or(USUAL);
    (columns.min(LARGEST.0), rows.min(LARGEST.1))
}

/// Writes a sequence of the console's own.
pub(super) fn write(bytes: &[u8]) -> io::Result<()> {
    let mut out = io::stdout();
    out.write_all(bytes)?;
    out.flush()
}
