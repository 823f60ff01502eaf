//! Text, frames and styles on a buffer of cells.

use bashful_render::{Attributes, Color, Line, Style};
use ratatui_core::buffer::Buffer;
use ratatui_core::layout::Rect;
use ratatui_core::style::{Color as CellColor, Modifier, Style as CellStyle};
use unicode_segmentation::UnicodeSegmentation as _;
use unicode_width::UnicodeWidthStr as _;

pub(super) const PLAIN: CellStyle = CellStyle::new();
pub(super) const DIM: CellStyle = CellStyle::new().add_modifier(Modifier::DIM);
pub(super) const BOLD: CellStyle = CellStyle::new().add_modifier(Modifier::BOLD);
pub(super) const REVERSED: CellStyle = CellStyle::new().add_modifier(Modifier::REVERSED);
pub(super) const WARNING: CellStyle = CellStyle::new().fg(CellColor::Yellow);
pub(super) const MARK: CellStyle = CellStyle::new().fg(CellColor::Cyan);

/// Characters of a frame: corners, and lines.
pub(super) struct FrameSigns {
    corners: [&'static str; 4],
    across: &'static str,
    down: &'static str,
}

pub(super) const UNICODE: FrameSigns = FrameSigns { corners: ["┌", "┐", "└", "┘"], across: "─", down: "│" };
pub(super) const ASCII: FrameSigns = FrameSigns { corners: ["+", "+", "+", "+"], across: "-", down: "|" };

/// Writes a text on one row, cut at the right edge of the area. Returns the columns that it took.
pub(super) fn text(buffer: &mut Buffer, area: Rect, row: u16, column: u16, text: &str, style: CellStyle) -> u16 {
    if row >= area.height || column >= area.width {
        return 0;
    }
    let start = area.x + column;
    let (end, _) = buffer.set_stringn(start, area.y + row, text, usize::from(area.width - column), style);
    end.saturating_sub(start)
}

/// Writes a text at the right edge of a row, unless it would take more than the columns from `column` on.
pub(super) fn text_right(buffer: &mut Buffer, area: Rect, row: u16, column: u16, shown: &str, style: CellStyle) {
    let width = u16::try_from(shown.width()).unwrap_or(u16::MAX);
    if column.saturating_add(width) <= area.width {
        text(buffer, area, row, area.width - width, shown, style);
    }
}

/// Writes a line of a card on one row.
pub(super) fn line(buffer: &mut Buffer, area: Rect, row: u16, shown: &Line) {
    let mut column = 0;
    for span in &shown.spans {
        column += text(buffer, area, row, column, &span.text, cell_style(span.style));
    }
}

/// Blanks an area and draws a frame at its edge.
pub(super) fn frame(buffer: &mut Buffer, area: Rect, signs: &FrameSigns, title: &str, style: CellStyle) {
    blank(buffer, area);
    if area.width < 2 || area.height < 2 {
        return;
    }
    let (right, bottom) = (area.width - 1, area.height - 1);
    for column in 1..right {
        text(buffer, area, 0, column, signs.across, style);
        text(buffer, area, bottom, column, signs.across, style);
    }
    for row in 1..bottom {
        text(buffer, area, row, 0, signs.down, style);
        text(buffer, area, row, right, signs.down, style);
    }
    for (corner, (column, row)) in signs.corners.iter().zip([(0, 0), (right, 0), (0, bottom), (right, bottom)]) {
        text(buffer, area, row, column, corner, style);
    }
    let title = format!(" {title} ");
    let within = Rect { width: area.width.saturating_sub(2), ..area };
    text(buffer, within, 0, 2, &title, style.add_modifier(Modifier::BOLD));
}

pub(super) fn blank(buffer: &mut Buffer, area: Rect) {
    for row in area.top()..area.bottom() {
        for column in area.left()..area.right() {
            if let Some(cell) = buffer.cell_mut((column, row)) {
                cell.reset();
            }
        }
    }
}

/// Cuts a text into rows of at most `width` columns.
pub(super) fn wrapped(text: &str, width: usize) -> Vec<String> {
    let mut rows = Vec::new();
    for line in text.split('\n') {
        let mut row = String::new();
        let mut columns = 0;
        for grapheme in line.graphemes(true) {
            let wide = grapheme.width();
            if columns + wide > width && columns > 0 {
                rows.push(std::mem::take(&mut row));
                columns = 0;
            }
            row.push_str(grapheme);
            columns += wide;
        }
        rows.push(row);
    }
    rows
}

/// Characters that would change more than their own cell.
pub(crate) fn is_unfit(character: char) -> bool {
    let is_invisible = matches!(character,
        '\u{200b}' | '\u{200c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}'
        | '\u{61c}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e0fff}');
    character.is_control() || is_invisible
}

pub(super) fn cell_style(style: Style) -> CellStyle {
    let mut cell = CellStyle::new();
    cell.fg = color(style.foreground);
    cell.bg = color(style.background);
    let modifiers = [
        (Attributes::BOLD, Modifier::BOLD),
        (Attributes::DIM, Modifier::DIM),
        (Attributes::ITALIC, Modifier::ITALIC),
        (Attributes::UNDERLINE, Modifier::UNDERLINED),
        (Attributes::REVERSE, Modifier::REVERSED),
        (Attributes::HIDDEN, Modifier::HIDDEN),
        (Attributes::STRIKEOUT, Modifier::CROSSED_OUT),
    ];
    for (attribute, modifier) in modifiers {
        if style.attributes.contains(attribute) {
            cell = cell.add_modifier(modifier);
        }
    }
    cell
}

fn color(color: Color) -> Option<CellColor> {
    match color {
        Color::Default => None,
        Color::Ansi(index) | Color::Indexed(index) => Some(CellColor::Indexed(index)),
        Color::Rgb(red, green, blue) => Some(CellColor::Rgb(red, green, blue)),
    }
}
