//! The first line, and the list of cards.

use bashful_render::{Line, Signs};
use ratatui_core::buffer::Buffer;
use ratatui_core::layout::Rect;
use unicode_width::UnicodeWidthStr as _;

use super::{paint, plain_signs};
use crate::model::{CardId, Focus, Model, PlacedLine, matches};

/// Columns before the cards, for the mark of the selected one.
const MARGIN: u16 = 2;

pub(super) fn draw_title(model: &Model, buffer: &mut Buffer, area: Rect) {
    let mut column = paint::text(buffer, area, 0, 1, "bashful", paint::BOLD) + 3;
    column += paint::text(buffer, area, 0, column, &model.settings.title, paint::DIM);
    let [running, elsewhere, jobs] = model.counts();
    let some = |count: usize, word: &str| (count > 0).then(|| format!("{count} {word}"));
    let jobs = some(jobs, if jobs == 1 { "job" } else { "jobs" });
    let counts: Vec<String> =
        [some(running, "running"), some(elsewhere, "elsewhere"), jobs].into_iter().flatten().collect();
    let shown = if counts.is_empty() { "? help".to_owned() } else { counts.join(" · ") };
    paint::text_right(buffer, area, 0, column + 1, &plain_signs(model, &format!("{shown} ")), paint::DIM);
}

pub(super) fn draw(model: &mut Model, buffer: &mut Buffer, area: Rect) {
    model.list.fit(usize::from(area.width - MARGIN), usize::from(area.height));
    if model.list.cards().is_empty() {
        let hints = [
            "Type a command and press Enter: it takes the way of an agent's tool call.",
            "!command runs in a shell that stays. /pty vim runs at a terminal. ? shows all keys.",
        ];
        for (row, hint) in (1..).zip(hints) {
            paint::text(buffer, area, row, MARGIN, hint, paint::DIM);
        }
        return;
    }
    let bar = if model.list.look.signs == Signs::Unicode { "▌" } else { ">" };
    let style = if model.focus == Focus::Cards { paint::MARK } else { paint::DIM };
    let searched = model.search.as_ref().map(|search| search.text.as_str());
    let within = Rect { x: area.x + MARGIN, width: area.width - MARGIN, ..area };
    for (row, PlacedLine { card, line }) in (0..).zip(model.list.placed()) {
        let Some(line) = line else { continue };
        if is_marked(model, card) {
            paint::text(buffer, area, row, 0, bar, style);
        }
        paint::line(buffer, within, row, line);
        if let Some(text) = searched {
            highlight(buffer, within, row, line, text);
        }
    }
}

fn is_marked(model: &Model, card: CardId) -> bool {
    model.list.is_selected(card)
}

/// Marks every place of a searched text.
fn highlight(buffer: &mut Buffer, area: Rect, row: u16, line: &Line, text: &str) {
    let plain = line.plain();
    for found in matches(&plain, text) {
        let (Some(before), Some(found)) = (plain.get(..found.start), plain.get(found)) else { continue };
        let column = u16::try_from(before.width()).unwrap_or(u16::MAX);
        let width = u16::try_from(found.width()).unwrap_or(u16::MAX);
        let place = Rect { x: area.x.saturating_add(column), y: area.y + row, width, height: 1 };
        buffer.set_style(place.intersection(area), paint::REVERSED);
    }
}
