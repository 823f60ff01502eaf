//! The output of a card: all of it, or its last lines.

use std::ops::Range;

use crate::card::{Card, CardKind};
use crate::line::Line;
use crate::look::{DIM, Look, PLAIN};
use crate::output::StyledText;
use crate::page::Page;
use crate::wrap;

/// Columns before the output. No output looks like the header or the footer of a card.
const INDENT: usize = 2;

/// Characters of one line of a bang command that are shown.
const LONGEST_BANG_LINE: usize = 4000;

pub(crate) fn add(page: &mut Page, card: &Card, look: &Look) {
    let styled = StyledText::of_output(&card.output);
    let width = page.width - INDENT;
    let lines = logical_lines(&styled.text);
    match card.kind {
        CardKind::Bang => {
            let first = if card.expanded { 0 } else { lines.len().saturating_sub(look.bang_lines) };
            add_hidden(page, first, "earlier", look);
            for line in &lines[first..] {
                add_bang_line(page, &styled, line.clone(), width, look);
            }
        }
        CardKind::Tool | CardKind::Watched if card.expanded => {
            for line in lines {
                add_lines(page, wrap::wrap(&styled, line.start, line.end, width));
            }
        }
        CardKind::Tool | CardKind::Watched => add_last(page, &styled, &lines, width, look),
    }
}

/// The last screen lines, however few lines of the output they are.
fn add_last(page: &mut Page, styled: &StyledText, lines: &[Range<usize>], width: usize, look: &Look) {
    let mut shown: Vec<Vec<Line>> = Vec::new();
    let mut left = look.tool_lines;
    let mut hidden = 0;
    for line in lines.iter().rev() {
        if left == 0 {
            hidden += wrap::count(&styled.text[line.clone()], width);
            continue;
        }
        let mut wrapped = wrap::wrap(styled, line.start, line.end, width);
        let over = wrapped.len().saturating_sub(left);
        hidden += over;
        let last = wrapped.split_off(over);
        left -= last.len();
        shown.push(last);
    }
    add_hidden(page, hidden, "earlier", look);
    for lines in shown.into_iter().rev() {
        add_lines(page, lines);
    }
}

/// One line of a bang command. The end of a very long one is left out, and the line says so.
fn add_bang_line(page: &mut Page, styled: &StyledText, line: Range<usize>, width: usize, look: &Look) {
    let text = &styled.text[line.clone()];
    let end = text.char_indices().nth(LONGEST_BANG_LINE).map_or(text.len(), |(end, _)| end);
    add_lines(page, wrap::wrap(styled, line.start, line.start + end, width));
    let left_out = text[end..].chars().count();
    if left_out > 0 {
        let mut note = Line::default();
        note.push(&format!("{} {left_out} more characters in this line", look.ellipsis()), DIM);
        add_lines(page, vec![note]);
    }
}

fn add_lines(page: &mut Page, lines: Vec<Line>) {
    for line in lines {
        page.add_indented(&[("  ", PLAIN)], line);
    }
}

/// Says how many lines are not shown, if any, and which key shows them.
pub(crate) fn add_hidden(page: &mut Page, hidden: usize, which: &str, look: &Look) {
    if hidden == 0 {
        return;
    }
    let lines = if hidden == 1 { "line" } else { "lines" };
    let key = look.expand_key.as_ref().map(|key| format!(" ({key} shows all)")).unwrap_or_default();
    let mut line = Line::default();
    line.push(&format!("  {} {hidden} {which} {lines}{key}", look.ellipsis()), DIM);
    page.lines.push(line);
}

/// The ranges of the lines of a text. A newline at its end begins no line.
fn logical_lines(text: &str) -> Vec<Range<usize>> {
    let mut from = 0;
    text.split_inclusive('\n')
        .map(|line| {
            let range = from..from + line.trim_end_matches('\n').len();
            from += line.len();
            range
        })
        .collect()
}
