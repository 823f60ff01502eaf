//! The screen model: `alacritty_terminal`, whose types stay in this file.
//!
//! Only text and a known set of sequences get here (see `dispatch.rs`), and sizes are within [`Size`]. So the model
//! needs no more than any other: `avt`, for one, could take its place.

use std::time::Duration;

use alacritty_terminal::event::VoidListener;
use alacritty_terminal::grid::Dimensions;
use alacritty_terminal::index::{Column, Line};
use alacritty_terminal::term::cell::{Cell as ModelCell, Flags};
use alacritty_terminal::term::{Config, Osc52, Term, TermMode};
use alacritty_terminal::vte::ansi::{Color as ModelColor, Processor, Timeout};

use crate::cell::{Attributes, Cell, Color, Style, Width};
use crate::modes::{Modes, Mouse};
use crate::{Cursor, Size};

/// Bytes of one cell in the model.
const CELL_BYTES: usize = size_of::<ModelCell>();

pub(crate) struct Model {
    term: Term<VoidListener>,
    processor: Processor<NoHold>,
}

impl Model {
    pub(crate) fn new(size: Size, scrollback: usize) -> Self {
        let config = Config {
            scrolling_history: scrollback,
            kitty_keyboard: false,
            osc52: Osc52::Disabled,
            ..Config::default()
        };
        Self { term: Term::new(config, &Dimension(size), VoidListener), processor: Processor::new() }
    }

    /// Passes on text or whole sequences.
    pub(crate) fn write(&mut self, bytes: &[u8]) {
        self.processor.advance(&mut self.term, bytes);
    }

    pub(crate) fn resize(&mut self, size: Size) {
        self.term.resize(Dimension(size));
    }

    pub(crate) fn cursor(&self) -> Cursor {
        let point = self.term.grid().cursor.point;
        Cursor {
            row: u16::try_from(point.line.0).unwrap_or(0),
            column: u16::try_from(point.column.0).unwrap_or(0),
            visible: self.has(TermMode::SHOW_CURSOR),
        }
    }

    pub(crate) fn is_alternate(&self) -> bool {
        self.has(TermMode::ALT_SCREEN)
    }

    /// True if text pushes the rest of its row to the right.
    pub(crate) fn inserts(&self) -> bool {
        self.has(TermMode::INSERT)
    }

    pub(crate) fn modes(&self) -> Modes {
        let mouse = if self.has(TermMode::MOUSE_MOTION) {
            Mouse::Motion
        } else if self.has(TermMode::MOUSE_DRAG) {
            Mouse::Drags
        } else if self.has(TermMode::MOUSE_REPORT_CLICK) {
            Mouse::Clicks
        } else {
            Mouse::Off
        };
        Modes {
            application_cursor: self.has(TermMode::APP_CURSOR),
            application_keypad: self.has(TermMode::APP_KEYPAD),
            bracketed_paste: self.has(TermMode::BRACKETED_PASTE),
            focus_events: self.has(TermMode::FOCUS_IN_OUT),
            mouse,
            sgr_mouse: self.has(TermMode::SGR_MOUSE),
        }
    }

    /// True if the private mode of this number is set; `None` if the model does not know it.
    pub(crate) fn private_mode(&self, number: u16) -> Option<bool> {
        let mode = match number {
            1 => TermMode::APP_CURSOR,
            6 => TermMode::ORIGIN,
            7 => TermMode::LINE_WRAP,
            25 => TermMode::SHOW_CURSOR,
            1000 => TermMode::MOUSE_REPORT_CLICK,
            1002 => TermMode::MOUSE_DRAG,
            1003 => TermMode::MOUSE_MOTION,
            1004 => TermMode::FOCUS_IN_OUT,
            1005 => TermMode::UTF8_MOUSE,
            1006 => TermMode::SGR_MOUSE,
            47 | 1047 | 1049 => TermMode::ALT_SCREEN,
            2004 => TermMode::BRACKETED_PASTE,
            _ => return None,
        };
        Some(self.has(mode))
    }

    /// Combining characters in the cell that the next one would go to.
    pub(crate) fn marks_at_cursor(&self) -> usize {
        let grid = self.term.grid();
        let point = grid.cursor.point;
        let back = |column: usize| column.saturating_sub(1);
        let mut column = if grid.cursor.input_needs_wrap { point.column.0 } else { back(point.column.0) };
        let row = &grid[point.line];
        if row[Column(column)].flags.contains(Flags::WIDE_CHAR_SPACER) {
            column = back(column);
        }
        row[Column(column)].zerowidth().map_or(0, <[char]>::len)
    }

    /// Lines that have scrolled off the top.
    pub(crate) fn scrollback(&self) -> usize {
        self.term.history_size()
    }

    /// The cells of a row; negative rows are above the top of the screen.
    pub(crate) fn cells(&self, row: i32) -> impl Iterator<Item = Cell<'_>> {
        let row = &self.term.grid()[Line(row)];
        (0..self.term.columns()).map(move |column| cell(&row[Column(column)]))
    }

    /// Bytes that the cells of both screens and of the scrollback take.
    pub(crate) fn memory(&self) -> usize {
        (self.term.total_lines() + self.term.screen_lines()) * self.term.columns() * CELL_BYTES
    }

    fn has(&self, mode: TermMode) -> bool {
        self.term.mode().contains(mode)
    }
}

fn cell(cell: &ModelCell) -> Cell<'_> {
    let flags = cell.flags;
    let mut attributes = Attributes::default();
    let table = [
        (Attributes::BOLD, Flags::BOLD),
        (Attributes::DIM, Flags::DIM),
        (Attributes::ITALIC, Flags::ITALIC),
        (Attributes::UNDERLINE, Flags::ALL_UNDERLINES),
        (Attributes::REVERSE, Flags::INVERSE),
        (Attributes::HIDDEN, Flags::HIDDEN),
        (Attributes::STRIKEOUT, Flags::STRIKEOUT),
    ];
    for (attribute, flag) in table {
        attributes.set(attribute, flags.intersects(flag));
    }
    Cell {
        // The model keeps tabs in blank cells, for copying.
        symbol: if cell.c == '\t' { ' ' } else { cell.c },
        marks: cell.zerowidth().unwrap_or_default(),
        width: if flags.contains(Flags::WIDE_CHAR) {
            Width::Wide
        } else if flags.intersects(Flags::WIDE_CHAR_SPACER | Flags::LEADING_WIDE_CHAR_SPACER) {
            Width::Continuation
        } else {
            Width::Narrow
        },
        style: Style { foreground: color(cell.fg), background: color(cell.bg), attributes },
    }
}

fn color(color: ModelColor) -> Color {
    match color {
        // The 16 named colors are 0 to 15; the ones above are the terminal's own.
        ModelColor::Named(name) => u8::try_from(name as usize).map_or(Color::Default, Color::Ansi),
        ModelColor::Indexed(index @ 0..=15) => Color::Ansi(index),
        ModelColor::Indexed(index) => Color::Indexed(index),
        ModelColor::Spec(rgb) => Color::Rgb(rgb.r, rgb.g, rgb.b),
    }
}

/// A size in the model's terms.
struct Dimension(Size);

impl Dimensions for Dimension {
    fn total_lines(&self) -> usize {
        self.screen_lines()
    }

    fn screen_lines(&self) -> usize {
        self.0.rows().into()
    }

    fn columns(&self) -> usize {
        self.0.columns().into()
    }
}

/// The model's own synchronized updates, which are never used: they would hold text back and need a clock.
#[derive(Default)]
struct NoHold;

impl Timeout for NoHold {
    fn set_timeout(&mut self, _: Duration) {}

    fn clear_timeout(&mut self) {}

    fn pending_timeout(&self) -> bool {
        false
    }
}
