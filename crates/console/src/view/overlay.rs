//! The overlay: the screen of a program in a frame.

use bashful_screen::Width;
use ratatui_core::buffer::Buffer;
use ratatui_core::layout::{Position, Rect};

use super::{paint, plain_signs, question, signs};
use crate::model::{Escape, Model, Overlay};

/// Said over the program while a question waits.
const QUESTION_WAITS: &str = " the guard asks: Ctrl-] a ";

/// Draws the program's screen, and the question over it if the person wants to see that.
pub(super) fn draw(model: &mut Model, buffer: &mut Buffer) -> Option<Position> {
    let cursor = draw_program(model, buffer);
    let area = buffer.area;
    if model.overlay.as_ref().is_some_and(|overlay| overlay.shows_question) && !model.questions.is_empty() {
        question::draw(model, buffer, Rect { y: area.y + 1, height: area.height - 2, ..area });
        return None;
    }
    model.see_question(None);
    if !model.questions.is_empty() {
        let column = area.width.saturating_sub(u16::try_from(QUESTION_WAITS.len()).unwrap_or_default());
        paint::text(buffer, area, 0, column, QUESTION_WAITS, paint::WARNING);
    }
    cursor
}

fn draw_program(model: &Model, buffer: &mut Buffer) -> Option<Position> {
    let overlay = model.overlay.as_ref()?;
    let area = buffer.area;
    paint::blank(buffer, area);
    let command = bashful_render::visible(overlay.command.lines().next().unwrap_or_default());
    paint::text(buffer, area, 0, 1, &format!("$ {command}"), paint::BOLD);
    let frame = Rect { y: area.y + 1, height: area.height - 2, ..area };
    let title = overlay.screen.title().map_or_else(|| "Console".to_owned(), |title| format!("Console: {title}"));
    paint::frame(buffer, frame, signs(model), &bashful_render::visible(&title), paint::MARK);
    let used = paint::text(buffer, area, area.height - 1, 1, &plain_signs(model, &keys(overlay)), paint::DIM);
    if let Some(note) = &model.note {
        paint::text(buffer, area, area.height - 1, used + 3, &bashful_render::visible(note), paint::WARNING);
    }
    let inside = Rect { x: frame.x + 1, y: frame.y + 1, width: frame.width - 2, height: frame.height - 2 };
    draw_screen(overlay, buffer, inside);
    let cursor = overlay.screen.cursor();
    let is_inside = cursor.column < inside.width && cursor.row < inside.height;
    (cursor.visible && is_inside).then(|| Position { x: inside.x + cursor.column, y: inside.y + cursor.row })
}

fn keys(overlay: &Overlay) -> String {
    let keys = match (overlay.has_prefix, overlay.escape) {
        _ if overlay.is_ending => "stopping it; Esc again kills it at once",
        (true, _) => {
            "Ctrl-] was pressed: Esc passes Esc on · Ctrl-] passes Ctrl-] on · k kills · a the guard's question"
        }
        (false, Escape::Kill) => "Esc kills the program · Ctrl-] Esc passes Esc on",
        (false, Escape::Pass) => "keys go to the program · Ctrl-] k kills it",
    };
    let skipped = overlay.screen.skipped_bytes();
    let late = if skipped > 0 { format!(" · {skipped} bytes skipped: it writes too fast") } else { String::new() };
    format!("{keys}{late}")
}

fn draw_screen(overlay: &Overlay, buffer: &mut Buffer, area: Rect) {
    let mut symbol = String::new();
    for row in 0..area.height {
        for (column, cell) in (0..area.width).zip(overlay.screen.cells(row)) {
            if cell.width == Width::Continuation {
                continue;
            }
            // The right half of a wide character would stand on the frame.
            let is_cut = cell.width == Width::Wide && column + 1 >= area.width;
            symbol.clear();
            cell.push_to(&mut symbol);
            // A program may put a mark that turns the direction of text into a cell.
            symbol.retain(|character| !paint::is_unfit(character));
            if is_cut || symbol.is_empty() {
                " ".clone_into(&mut symbol);
            }
            if let Some(place) = buffer.cell_mut((area.x + column, area.y + row)) {
                place.set_symbol(&symbol).set_style(paint::cell_style(cell.style));
            }
        }
    }
}
