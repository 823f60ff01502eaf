//! The guard's question: why it asks comes first, and the script below may be scrolled.

use ratatui_core::buffer::Buffer;
use ratatui_core::layout::Rect;

use super::{paint, plain_signs, signs};
use crate::model::{Model, Question};

/// Rows of the frame, of the blank before the script, and of the line that says what is missing.
const FRAME: usize = 2;
const BLANK: usize = 1;
const MORE: usize = 1;

/// Draws the first question over the lower part of an area.
pub(super) fn draw(model: &mut Model, buffer: &mut Buffer, area: Rect) {
    let Some(question) = model.questions.front() else {
        model.see_question(None);
        return;
    };
    let title = title(question, model.questions.len() - 1);
    let rows = Rows::new(question, usize::from(area.width.saturating_sub(4)).max(1));
    let room = usize::from(area.height).saturating_sub(FRAME);
    let fits = rows.fit(room);
    let Some(seen) = model.see_question(Some(fits)) else { return };
    seen.top = seen.top.min(rows.most_top(room));
    let keys = match (fits, seen.is_ready) {
        (false, _) => " the window is too small to show why: enlarge it · Alt-N declines ",
        (true, false) => " read it first ",
        (true, true) => " Alt-Y approves · Alt-N declines ",
    };
    let shown = rows.shown(room, seen.top);
    let height = u16::try_from(shown.len() + FRAME).unwrap_or(u16::MAX).min(area.height);
    let place = Rect { y: area.bottom() - height, height, ..area };
    paint::frame(buffer, place, signs(model), &bashful_render::visible(&title), paint::WARNING);
    let within =
        Rect { x: place.x + 2, y: place.y + 1, width: place.width - 4, height: place.height.saturating_sub(2) };
    for (row, line) in (0..within.height).zip(&shown) {
        // The script stays as it is.
        let line = if line.starts_with('…') { plain_signs(model, line) } else { line.clone() };
        paint::text(buffer, within, row, 0, &line, paint::PLAIN);
    }
    let below = Rect { width: place.width.saturating_sub(1), ..place };
    paint::text(buffer, below, place.height - 1, 2, &plain_signs(model, keys), paint::WARNING);
}

fn title(question: &Question, more: usize) -> String {
    let from =
        question.origin.as_ref().map_or_else(|| "your command".to_owned(), |origin| format!("a command of {origin}"));
    let more = if more > 0 { format!(" ({more} more)") } else { String::new() };
    format!("The guard asks about {from}{more}")
}

/// A question as rows of the screen.
struct Rows {
    /// The question and its findings. An approval needs all of them.
    findings: Vec<String>,
    script: Vec<String>,
}

impl Rows {
    fn new(question: &Question, width: usize) -> Self {
        // Hidden characters are visible already in a text of this program's own. Another program may be another version.
        let rows = |text: &str| paint::wrapped(&bashful_render::visible_lines(text), width);
        let (findings, script) = question.parts();
        Self { findings: rows(&findings), script: if script.is_empty() { Vec::new() } else { rows(&script) } }
    }

    /// All rows, if nothing has to be left out.
    fn count(&self) -> usize {
        let script = if self.script.is_empty() { 0 } else { BLANK + self.script.len() };
        self.findings.len() + script
    }

    /// Rows for the script where not all of it has room.
    fn script_room(&self, room: usize) -> usize {
        room.saturating_sub(self.findings.len() + BLANK + MORE)
    }

    fn fit(&self, room: usize) -> bool {
        self.count() <= room || (!self.script.is_empty() && self.script_room(room) > 0)
    }

    fn most_top(&self, room: usize) -> usize {
        if self.count() <= room { 0 } else { self.script.len().saturating_sub(self.script_room(room)) }
    }

    /// The rows to show, with a mark where some are missing.
    fn shown(&self, room: usize, top: usize) -> Vec<String> {
        let mut shown = self.findings.clone();
        if self.count() <= room {
            if !self.script.is_empty() {
                shown.push(String::new());
                shown.extend_from_slice(&self.script);
            }
        } else if self.fit(room) {
            let script_room = self.script_room(room);
            shown.push(String::new());
            shown.extend(self.script.iter().skip(top).take(script_room).cloned());
            let below = self.script.len().saturating_sub(top + script_room);
            shown.push(format!("… {below} more lines, {top} above: Alt-Up, Alt-Down"));
        } else {
            let kept = room.saturating_sub(MORE);
            shown.truncate(kept);
            shown.push(format!("… {} more lines", self.count() - kept));
        }
        shown
    }
}
