//! The page of keys.

use ratatui_core::buffer::Buffer;
use ratatui_core::layout::Rect;

use super::{paint, plain_signs, signs};
use crate::model::{Model, Sheet};

const HELP: &str = include_str!("help.txt");

pub(super) fn draw(model: &mut Model, buffer: &mut Buffer, area: Rect) {
    let lines: Vec<&str> = HELP.lines().collect();
    let height = usize::from(area.height.saturating_sub(2));
    let frame_signs = signs(model);
    let Some(Sheet::Help { top }) = &mut model.sheet else { return };
    *top = (*top).min(lines.len().saturating_sub(height));
    let top = *top;
    paint::frame(buffer, area, frame_signs, "Help", paint::MARK);
    let within = Rect { x: area.x + 2, y: area.y + 1, width: area.width - 4, height: area.height - 2 };
    for (row, line) in (0..).zip(lines.iter().skip(top).take(height)) {
        let style = if line.starts_with(' ') || line.is_empty() { paint::PLAIN } else { paint::BOLD };
        paint::text(buffer, within, row, 0, &plain_signs(model, line), style);
    }
    let below = lines.len().saturating_sub(top + height);
    if below > 0 {
        let more = format!(" {below} more lines below ");
        paint::text_right(buffer, area, area.height - 1, 2, &more, paint::MARK);
    }
}
