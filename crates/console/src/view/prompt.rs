//! The status line and the input.

use ratatui_core::buffer::Buffer;
use ratatui_core::layout::{Position, Rect};
use unicode_segmentation::UnicodeSegmentation as _;
use unicode_width::UnicodeWidthStr as _;

use super::{paint, plain_signs};
use crate::model::{Focus, Model, Purpose, Sheet};

/// Rows of the input at most: a third of the screen.
const SHARE: u16 = 3;

/// The input as rows of the screen, and the place of the cursor in them.
pub(super) struct PromptRows {
    rows: Vec<String>,
    /// The first row that is shown.
    top: usize,
    shown: usize,
    cursor: (usize, usize),
}

impl PromptRows {
    pub(super) fn len(&self) -> usize {
        self.shown
    }
}

fn sign(model: &Model) -> String {
    match model.purpose {
        Purpose::Command => "> ".to_owned(),
        Purpose::Search => "search: ".to_owned(),
        Purpose::Send { job, is_hidden: false } => format!("to job {job}: "),
        Purpose::Send { job, is_hidden: true } => format!("to job {job} (hidden): "),
    }
}

pub(super) fn rows(model: &Model, area: Rect) -> PromptRows {
    let width = usize::from(area.width).saturating_sub(sign(model).width() + 1).max(1);
    let (text, cursor) = (model.input.text(), model.input.cursor());
    let is_hidden = matches!(model.purpose, Purpose::Send { is_hidden: true, .. });
    let wrapped = |text: &str| {
        let stars = || "*".repeat(text.graphemes(true).count());
        paint::wrapped(&if is_hidden { stars() } else { text.to_owned() }, width)
    };
    let rows = wrapped(text);
    let before = wrapped(&text[..cursor]);
    let last = before.last().map_or(0, |row| row.width());
    let cursor = (before.len() - 1, last);
    let shown = rows.len().clamp(1, usize::from(area.height / SHARE).max(1));
    let top = (cursor.0 + 1).saturating_sub(shown);
    PromptRows { rows, top, shown, cursor }
}

/// Draws the input, and returns the place of its cursor.
pub(super) fn draw(model: &Model, buffer: &mut Buffer, area: Rect, prompt: &PromptRows) -> Position {
    let sign = sign(model);
    let indent = u16::try_from(sign.width()).unwrap_or_default();
    let style = if model.focus == Focus::Input { paint::BOLD } else { paint::DIM };
    paint::text(buffer, area, 0, 0, &sign, style);
    for (row, text) in (0..).zip(prompt.rows.iter().skip(prompt.top).take(prompt.shown)) {
        paint::text(buffer, area, row, indent, text, paint::PLAIN);
    }
    let (row, column) = prompt.cursor;
    let row = u16::try_from(row - prompt.top).unwrap_or_default();
    let column = indent.saturating_add(u16::try_from(column).unwrap_or_default());
    Position {
        x: area.x + column.min(area.width.saturating_sub(1)),
        y: area.y + row.min(area.height.saturating_sub(1)),
    }
}

pub(super) fn draw_status(model: &Model, buffer: &mut Buffer, area: Rect) {
    let unseen = model.list.unseen().map(|lines| match lines {
        0 => "scrolled up; End follows".to_owned(),
        1 => "1 new line below; End follows".to_owned(),
        _ => format!("{lines} new lines below; End follows"),
    });
    let room = unseen.as_ref().map_or(0, |text| u16::try_from(text.width() + 2).unwrap_or_default());
    let left = Rect { width: area.width.saturating_sub(room), ..area };
    let used = match &model.note {
        Some(note) => paint::text(buffer, left, 0, 1, &bashful_render::visible(note), paint::WARNING),
        None => paint::text(buffer, left, 0, 1, &plain_signs(model, hint(model)), paint::DIM),
    };
    if let Some(unseen) = unseen {
        paint::text_right(buffer, area, 0, used + 1, &unseen, paint::WARNING);
    }
}

fn hint(model: &Model) -> &'static str {
    match (&model.sheet, model.focus, model.purpose) {
        (Some(Sheet::Help { .. }), ..) => "↑↓ scroll · any other key closes",
        (Some(Sheet::Sessions { .. }), ..) => "↑↓ select · s ends the session · any other key closes",
        (_, _, Purpose::Search) => "Enter searches · Esc leaves",
        (_, _, Purpose::Send { .. }) => "Enter sends the line · Esc leaves",
        (_, Focus::Input, _) => "Enter run · F2 terminal · F3 background · Tab complete · Esc cards · ? help",
        (_, Focus::Cards, _) => "↑↓ · Enter expand · / search · y copy · o pager · s stop · Esc type · ? help",
    }
}
