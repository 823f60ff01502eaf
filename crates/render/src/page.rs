//! Puts the parts of a card below each other.

use std::ops::Range;

use bashful_screen::Style;

use crate::card::Card;
use crate::line::Line;
use crate::look::{Look, PLAIN, WARNING};
use crate::output::StyledText;
use crate::visible::visible;
use crate::{facts, header, preview, wrap};

/// The smallest width that is respected: every sign and word of a state fits. A narrower screen gets lines of this width.
pub const NARROWEST: usize = 16;

/// The lines of a card: header, output, notices, a warning if output is missing, and the facts.
///
/// The work grows with the length of the output. A collapsed card of 50 KB takes 0.05 ms if it is ASCII, and up to 1 ms if
/// it is all emoji or expanded. A caller that draws often keeps the lines until the card or the width changes.
pub fn lines(card: &Card, width: usize, look: &Look) -> Vec<Line> {
    let mut page = Page::new(width);
    header::add(&mut page, card, look);
    add_body(&mut page, card, look);
    page.lines
}

/// The lines of a card without its header, for a place that has the command anyway.
pub fn body_lines(card: &Card, width: usize, look: &Look) -> Vec<Line> {
    let mut page = Page::new(width);
    add_body(&mut page, card, look);
    page.lines
}

/// The lines of an output as the command wrote them: not wrapped, and with tabs, the only control character that stays.
pub fn output_lines(output: &str) -> Vec<Line> {
    let styled = StyledText::of_output(output);
    let line = |range: Range<usize>| {
        let mut line = Line::default();
        let mut at = range.start;
        while at < range.end {
            let (style, until) = styled.style_at(at);
            let end = until.min(range.end);
            line.push(&styled.text[at..end], style);
            at = end;
        }
        line
    };
    preview::logical_lines(&styled.text).into_iter().map(line).collect()
}

fn add_body(page: &mut Page, card: &Card, look: &Look) {
    preview::add(page, card, look);
    for notice in &card.notices {
        page.add_text(look.bullet(), notice, PLAIN);
    }
    if let Some(reason) = &card.truncated {
        page.add_text(look.warning(), &warning(reason, card.artifact.as_deref()), WARNING);
    }
    facts::add(page, card, look);
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
    fn new(width: usize) -> Self {
        Self { width: width.max(NARROWEST), lines: Vec::new() }
    }

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

    /// Adds a text of ours after a sign of one column. All of it is indented by two columns and wrapped.
    pub(crate) fn add_text(&mut self, sign: &str, text: &str, style: Style) {
        let mut sign = sign;
        for part in text.trim_end().split('\n') {
            let mut styled = StyledText::default();
            styled.push(&visible(part), style);
            let mut wrapped = Vec::new();
            wrap::wrap_words(&styled, self.width - 2, &mut wrapped);
            for line in wrapped {
                let gap = if sign.is_empty() { "  " } else { " " };
                self.add_indented(&[(sign, style), (gap, style)], line);
                sign = "";
            }
        }
    }
}
