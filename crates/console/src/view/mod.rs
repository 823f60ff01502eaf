//! Draws the model: cells, and the place of the cursor.

mod help;
mod list;
mod overlay;
mod paint;
mod prompt;
mod question;
mod sheet;
#[cfg(test)]
mod tests;

use bashful_render::Signs;
use ratatui_core::buffer::Buffer;
use ratatui_core::layout::{Position, Rect};

use crate::model::{Focus, Model, Sheet};
use paint::FrameSigns;
pub(crate) use paint::is_unfit;

/// Fewer columns or rows than this show only a request for more.
const SMALLEST: (u16, u16) = (20, 8);

/// Draws everything. Returns the place of the cursor, if it is to be seen.
pub(crate) fn draw(model: &mut Model, buffer: &mut Buffer) -> Option<Position> {
    let area = buffer.area;
    if area.width < SMALLEST.0 || area.height < SMALLEST.1 {
        model.see_question(None);
        paint::text(buffer, area, 0, 0, "too small", paint::PLAIN);
        return None;
    }
    if model.overlay.is_some() {
        return overlay::draw(model, buffer);
    }
    let rows = prompt::rows(model, area);
    let below = 1 + u16::try_from(rows.len()).unwrap_or(1);
    let list = Rect { y: area.y + 1, height: area.height - 1 - below, ..area };
    list::draw_title(model, buffer, area);
    list::draw(model, buffer, list);
    match &model.sheet {
        Some(Sheet::Help { .. }) => help::draw(model, buffer, list),
        Some(Sheet::Sessions { .. }) => sheet::draw_sessions(model, buffer, list),
        None => {}
    }
    question::draw(model, buffer, list);
    let bottom = Rect { y: list.bottom(), height: below, ..area };
    prompt::draw_status(model, buffer, bottom);
    let cursor = prompt::draw(model, buffer, Rect { y: bottom.y + 1, height: below - 1, ..area }, &rows);
    (model.focus == Focus::Input && model.sheet.is_none()).then_some(cursor)
}

fn signs(model: &Model) -> &'static FrameSigns {
    match model.list.look.signs {
        Signs::Unicode => &paint::UNICODE,
        Signs::Ascii => &paint::ASCII,
    }
}

/// Text with signs that every font has, where others may be missing.
fn plain_signs(model: &Model, text: &str) -> String {
    match model.list.look.signs {
        Signs::Unicode => text.to_owned(),
        Signs::Ascii => text.replace(" · ", " | ").replace("↑↓", "Up/Down").replace('…', "..."),
    }
}
