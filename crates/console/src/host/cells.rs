//! Writes cells to a terminal: the only place from which anything reaches it while the console is open.

use std::io::{self, Write};

use ratatui_core::backend::{Backend, ClearType, WindowSize};
use ratatui_core::buffer::Cell;
use ratatui_core::layout::{Position, Size};
use ratatui_core::style::{Color, Modifier};

use crate::view::is_unfit;

/// Begins and ends a frame that terminals show as a whole.
const FRAME: (&[u8], &[u8]) = (b"\x1b[?2026h", b"\x1b[?2026l");

/// A terminal that gets cells, one write a frame.
#[derive(Debug)]
pub(super) struct CellWriter<W: Write> {
    out: W,
    frame: Vec<u8>,
    pub(super) size: Size,
    pub(super) colors: bool,
    /// Characters beyond ASCII are written.
    pub(super) unicode: bool,
    cursor_is_shown: bool,
}

impl<W: Write> CellWriter<W> {
    pub(super) fn new(out: W, size: Size, colors: bool, unicode: bool) -> Self {
        Self { out, frame: Vec::new(), size, colors, unicode, cursor_is_shown: false }
    }

    fn push(&mut self, text: &str) {
        self.frame.extend_from_slice(text.as_bytes());
    }

    /// Writes a symbol, if it is one: nothing in it may move the cursor or turn the direction of text.
    fn push_symbol(&mut self, symbol: &str) {
        let is_fit = !symbol.is_empty() && !symbol.chars().any(is_unfit) && (self.unicode || symbol.is_ascii());
        self.push(if is_fit { symbol } else { "?" });
    }

    fn push_style(&mut self, cell: &Cell) {
        let mut codes = vec!["0".to_owned()];
        let attributes = [
            (Modifier::BOLD, "1"),
            (Modifier::DIM, "2"),
            (Modifier::ITALIC, "3"),
            (Modifier::UNDERLINED, "4"),
            (Modifier::REVERSED, "7"),
            (Modifier::HIDDEN, "8"),
            (Modifier::CROSSED_OUT, "9"),
        ];
        codes.extend(
            attributes.iter().filter(|(one, _)| cell.modifier.contains(*one)).map(|(_, code)| (*code).to_owned()),
        );
        if self.colors {
            codes.extend(color_code(cell.fg, 30));
            codes.extend(color_code(cell.bg, 40));
        }
        self.push(&format!("\x1b[{}m", codes.join(";")));
    }
}

fn color_code(color: Color, base: u8) -> Option<String> {
    let index = match color {
        Color::Reset => return None,
        Color::Rgb(red, green, blue) => return Some(format!("{};2;{red};{green};{blue}", base + 8)),
        Color::Indexed(index) => index,
        Color::Black => 0,
        Color::Red => 1,
        Color::Green => 2,
        Color::Yellow => 3,
        Color::Blue => 4,
        Color::Magenta => 5,
        Color::Cyan => 6,
        Color::Gray => 7,
        Color::DarkGray => 8,
        Color::LightRed => 9,
        Color::LightGreen => 10,
        Color::LightYellow => 11,
        Color::LightBlue => 12,
        Color::LightMagenta => 13,
        Color::LightCyan => 14,
        Color::White => 15,
    };
    Some(match index {
        0..8 => (base + index).to_string(),
        8..16 => (base + 60 + index - 8).to_string(),
        _ => format!("{};5;{index}", base + 8),
    })
}

impl<W: Write> Backend for CellWriter<W> {
    type Error = io::Error;

    fn draw<'a, I>(&mut self, content: I) -> io::Result<()>
    where
        I: Iterator<Item = (u16, u16, &'a Cell)>,
    {
        let mut next: Option<(u16, u16)> = None;
        let mut style: Option<(Color, Color, Modifier)> = None;
        for (column, row, cell) in content {
            if next != Some((column, row)) {
                self.push(&format!("\x1b[{};{}H", row + 1, column + 1));
            }
            let wanted = (cell.fg, cell.bg, cell.modifier);
            if style != Some(wanted) {
                self.push_style(cell);
                style = Some(wanted);
            }
            self.push_symbol(cell.symbol());
            // Terminals disagree about the width of other characters, so the next cell names its place.
            next = cell.symbol().is_ascii().then_some((column + 1, row));
        }
        if style.is_some() {
            self.push("\x1b[0m");
        }
        Ok(())
    }

    fn hide_cursor(&mut self) -> io::Result<()> {
        if std::mem::replace(&mut self.cursor_is_shown, false) {
            self.push("\x1b[?25l");
        }
        Ok(())
    }

    fn show_cursor(&mut self) -> io::Result<()> {
        if !std::mem::replace(&mut self.cursor_is_shown, true) {
            self.push("\x1b[?25h");
        }
        Ok(())
    }

    fn get_cursor_position(&mut self) -> io::Result<Position> {
        Ok(Position::ORIGIN)
    }

    fn set_cursor_position<P: Into<Position>>(&mut self, position: P) -> io::Result<()> {
        let Position { x, y } = position.into();
        self.push(&format!("\x1b[{};{}H", y + 1, x + 1));
        Ok(())
    }

    fn clear(&mut self) -> io::Result<()> {
        self.cursor_is_shown = false;
        self.push("\x1b[?25l\x1b[0m\x1b[2J");
        Ok(())
    }

    fn clear_region(&mut self, _: ClearType) -> io::Result<()> {
        self.clear()
    }

    fn size(&self) -> io::Result<Size> {
        Ok(self.size)
    }

    fn window_size(&mut self) -> io::Result<WindowSize> {
        Ok(WindowSize { columns_rows: self.size, pixels: Size::ZERO })
    }

    fn flush(&mut self) -> io::Result<()> {
        if self.frame.is_empty() {
            return Ok(());
        }
        let frame = [FRAME.0, &std::mem::take(&mut self.frame), FRAME.1].concat();
        self.out.write_all(&frame)?;
        self.out.flush()
    }
}

#[cfg(test)]
mod tests {
    use ratatui_core::terminal::Terminal;

    use super::*;

    fn written(unicode: bool, colors: bool, draw: impl FnOnce(&mut ratatui_core::buffer::Buffer)) -> String {
        let mut out = Vec::new();
        let mut terminal =
            Terminal::new(CellWriter::new(&mut out, Size::new(10, 2), colors, unicode)).expect("a terminal");
        terminal.draw(|frame| draw(frame.buffer_mut())).expect("it draws");
        drop(terminal);
        String::from_utf8(out).expect("text")
    }

    #[test]
    fn a_symbol_that_is_no_character_does_not_pass() {
        for hostile in ["\u{1b}[2J", "\u{202e}", "\n", "a\u{9b}", "\u{200b}", ""] {
            let mut out = Vec::new();
            let mut cell = Cell::default();
            cell.set_symbol(hostile);
            let mut writer = CellWriter::new(&mut out, Size::new(10, 2), true, true);
            writer.draw([(3, 1, &cell)].into_iter()).and_then(|()| writer.flush()).expect("it is written");
            let text = String::from_utf8(out).expect("text");
            assert_eq!(text, "\u{1b}[?2026h\u{1b}[2;4H\u{1b}[0m?\u{1b}[0m\u{1b}[?2026l", "{hostile:?}");
        }
    }

    #[test]
    fn colors_and_foreign_characters_can_be_left_out() {
        let draw = |buffer: &mut ratatui_core::buffer::Buffer| {
            buffer[(0, 0)].set_symbol("✓").set_fg(Color::Green);
            buffer[(1, 0)].set_symbol("x").set_fg(Color::Indexed(9));
        };
        let text = written(true, true, draw);
        assert!(text.contains("\u{1b}[0;32m✓") && text.contains("\u{1b}[0;91mx"), "{text:?}");
        let text = written(false, false, draw);
        assert!(text.contains("\u{1b}[0m?\u{1b}[1;2H\u{1b}[0mx"), "{text:?}");
    }

    #[test]
    fn a_frame_without_a_change_writes_nothing_but_the_cursor() {
        let mut out = Vec::new();
        let mut terminal = Terminal::new(CellWriter::new(&mut out, Size::new(10, 2), true, true)).expect("a terminal");
        for _ in 0..2 {
            terminal
                .draw(|frame| frame.buffer_mut().set_string(0, 0, "same", ratatui_core::style::Style::new()))
                .expect("it draws");
        }
        drop(terminal);
        assert_eq!(String::from_utf8_lossy(&out).matches("same").count(), 1);
    }
}
