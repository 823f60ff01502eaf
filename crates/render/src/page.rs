//! Puts the parts of a card below each other.

use bashful_screen::Style;

use crate::card::Card;
use crate::line::Line;
use crate::look::{Look, PLAIN, WARNING};
use crate::output::StyledText;
use crate::visible::visible;
use crate::{facts, header, preview, wrap};

/// The smallest width that is respected. A narrower screen gets lines of this width.
pub const NARROWEST: usize = 10;

/// The lines of a card: header, output, notices, a warning if output is missing, and the facts.
///
/// The work grows with the length of the output: some 0.1 ms for 50 KB. A caller that draws often keeps the lines until
/// the card or the width changes.
pub fn lines(card: &Card, width: usize, look: &Look) -> Vec<Line> {
    let mut page = Page { width: width.max(NARROWEST), lines: Vec::new() };
    header::add(&mut page, card, look);
    preview::add(&mut page, card, look);
    for notice in &card.notices {
        page.add_text("  ", notice, PLAIN);
    }
    if let Some(reason) = &card.truncated {
        page.add_text(look.warning(), &warning(reason, card.artifact.as_deref()), WARNING);
    }
    facts::add(&mut page, card, look);
    page.lines
}

fn warning(reason: &str, artifact: Option<&str>) -> String {
    match artifact {
        Some(artifact) => format!("truncated: {reason}; full output: artifact://{artifact}"),
        None => format!("truncated: {reason}"),
    }
}

/// The lines so far.
pub(crate) struct Page {
    pub(crate) width: usize,
    pub(crate) lines: Vec<Line>,
}

impl Page {
    /// Adds a line below an indentation.
    pub(crate) fn add_indented(&mut self, indent: &[(&str, Style)], line: Line) {
        let mut whole = Line::default();
        for (text, style) in indent {
            whole.push(text, *style);
        }
        // An empty line needs no indentation.
        if line.spans.is_empty() && indent.iter().all(|(text, _)| text.trim().is_empty()) {
            whole = Line::default();
        }
        for span in line.spans {
            whole.push(&span.text, span.style);
        }
        self.lines.push(whole);
    }

    /// Adds a text of ours after a sign of one column, wrapped; later lines are indented by two columns.
    fn add_text(&mut self, sign: &str, text: &str, style: Style) {
        let mut sign = sign.trim_end();
        for part in text.trim_end().split('\n') {
            let mut styled = StyledText::default();
            styled.push(&visible(part), style);
            for line in wrap::wrap(&styled, 0, styled.text.len(), self.width - 2) {
                let gap = if sign.is_empty() { "  " } else { " " };
                self.add_indented(&[(sign, style), (gap, PLAIN)], line);
                sign = "";
            }
        }
    }
}
