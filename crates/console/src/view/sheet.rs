//! The page of sessions.

use ratatui_core::buffer::Buffer;
use ratatui_core::layout::Rect;

use super::{paint, signs};
use crate::model::{Model, Sheet};

pub(super) fn draw_sessions(model: &Model, buffer: &mut Buffer, area: Rect) {
    let Some(Sheet::Sessions { rows, selected }) = &model.sheet else { return };
    paint::frame(buffer, area, signs(model), "Sessions", paint::MARK);
    let within = Rect { x: area.x + 2, y: area.y + 1, width: area.width - 4, height: area.height - 2 };
    if rows.is_empty() {
        paint::text(buffer, within, 0, 0, "no persistent shell is there", paint::DIM);
        return;
    }
    let head = format!("{:<20} {:<16} {:>8}  {}", "NAME", "STATE", "COMMANDS", "DIRECTORY");
    paint::text(buffer, within, 0, 0, &head, paint::BOLD);
    let top = (selected + 1).saturating_sub(usize::from(within.height.saturating_sub(1)));
    for (row, (index, session)) in (1..).zip(rows.iter().enumerate().skip(top)) {
        let visible = |text: &str| bashful_render::visible(text);
        let line = format!(
            "{:<20} {:<16} {:>8}  {}",
            visible(&session.name),
            session.state,
            session.commands,
            visible(&session.directory)
        );
        let style = if index == *selected { paint::REVERSED } else { paint::PLAIN };
        paint::text(buffer, within, row, 0, &line, style);
    }
}
