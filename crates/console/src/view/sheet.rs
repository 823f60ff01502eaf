//! Pages over the list: sessions and questions.

use ratatui_core::buffer::Buffer;
use ratatui_core::layout::Rect;

use super::{paint, plain_signs, signs};
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

/// Draws the first question over the lower part of the list.
pub(super) fn draw_question(model: &Model, buffer: &mut Buffer, area: Rect) {
    let Some(question) = model.questions.front() else { return };
    let width = usize::from(area.width.saturating_sub(4)).max(1);
    // Hidden characters are visible already; the text is bashful's own.
    let rows = paint::wrapped(&bashful_render::visible_lines(&question.about), width);
    let height = u16::try_from(rows.len() + 2).unwrap_or(u16::MAX).min(area.height);
    let place = Rect { y: area.bottom() - height, height, ..area };
    let from =
        question.origin.as_ref().map_or_else(|| "your command".to_owned(), |origin| format!("a command of {origin}"));
    let more = model.questions.len() - 1;
    let more = if more > 0 { format!(" ({more} more)") } else { String::new() };
    let title = format!("The guard asks about {from}{more}");
    paint::frame(buffer, place, signs(model), &bashful_render::visible(&title), paint::WARNING);
    let within = Rect { x: place.x + 2, y: place.y + 1, width: place.width - 4, height: place.height - 2 };
    for (row, line) in (0..within.height).zip(&rows) {
        paint::text(buffer, within, row, 0, line, paint::PLAIN);
    }
    let keys = plain_signs(model, " Alt-Y approves · Alt-N declines ");
    paint::text(buffer, place, place.height - 1, 2, &keys, paint::WARNING);
}
