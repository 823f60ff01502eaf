//! The output of a card: all of it, or its last lines.

use std::ops::Range;

use crate::card::{Card, CardKind};
use crate::line::Line;
use crate::look::{DIM, Look};
use crate::output::StyledText;
use crate::page::Page;
use crate::wrap;

/// Columns before the output. No output looks like the header or the footer of a card.
const INDENT: &str = "  ";

/// Characters of one line of a bang command that are shown.
const LONGEST_BANG_LINE: usize = 4000;

pub(crate) fn add(page: &mut Page, card: &Card, look: &Look) {
    let styled = StyledText::of_output(&card.output);
    let width = page.width - INDENT.len();
    let lines = logical_lines(&styled.text);
    match (card.kind, card.expanded) {
        (CardKind::Bang, is_expanded) => {
            let first = if is_expanded { 0 } else { lines.len().saturating_sub(look.bang_lines) };
            add_earlier(page, card, first, look);
            for line in &lines[first..] {
                add_bang_line(page, &styled, line.clone(), width, look);
            }
        }
        (CardKind::Tool | CardKind::Watched, true) => {
            add_earlier(page, card, 0, look);
            for line in lines {
                wrap::wrap(&styled, line.start, line.end, width, INDENT, &mut page.lines);
            }
        }
        (CardKind::Tool | CardKind::Watched, false) => {
            let (hidden, shown) = last_lines(&styled, &lines, width, look.tool_lines);
            add_earlier(page, card, hidden, look);
            page.lines.extend(shown.into_iter().rev().flatten());
        }
    }
}

/// The last screen lines, however few lines of the output they are: the newest line of the output first. Returns how many
/// screen lines come before them, too.
fn last_lines(styled: &StyledText, lines: &[Range<usize>], width: usize, most: usize) -> (usize, Vec<Vec<Line>>) {
    let mut shown: Vec<Vec<Line>> = Vec::new();
    let mut left = most;
    let mut hidden = 0;
    for line in lines.iter().rev() {
        if left == 0 {
            hidden += wrap::count(&styled.text[line.clone()], width);
            continue;
        }
        let mut wrapped = Vec::new();
        wrap::wrap(styled, line.start, line.end, width, INDENT, &mut wrapped);
        let over = wrapped.len().saturating_sub(left);
        hidden += over;
        let last = wrapped.split_off(over);
        left -= last.len();
        shown.push(last);
    }
    (hidden, shown)
}

/// One line of a bang command. The end of a very long one is left out, and the line says so.
fn add_bang_line(page: &mut Page, styled: &StyledText, line: Range<usize>, width: usize, look: &Look) {
    let text = &styled.text[line.clone()];
    let end = text.char_indices().nth(LONGEST_BANG_LINE).map_or(text.len(), |(end, _)| end);
    wrap::wrap(styled, line.start, line.start + end, width, INDENT, &mut page.lines);
    let left_out = text[end..].chars().count();
    if left_out > 0 {
        let characters = if left_out == 1 { "character" } else { "characters" };
        page.add_text(look.omission(), &format!("{left_out} more {characters} in this line"), DIM);
    }
}

/// Says how many lines come before those that are shown. Only lines that the card has can be shown by a key.
fn add_earlier(page: &mut Page, card: &Card, hidden: usize, look: &Look) {
    let lines = card.earlier_lines + hidden as u64;
    let shows = if card.earlier_lines > 0 { "more" } else { "all" };
    add_hidden(page, lines, ("earlier", ""), (hidden > 0).then_some(shows), look);
}

/// Says how many lines are not shown, if any; `around` has the words before and after `lines`. The key is named that
/// shows `all` or `more` of them.
pub(crate) fn add_hidden(page: &mut Page, hidden: u64, around: (&str, &str), shows: Option<&str>, look: &Look) {
    if hidden == 0 {
        return;
    }
    let (before, after) = around;
    let lines = if hidden == 1 { "line" } else { "lines" };
    let key = look.expand_key.as_ref().zip(shows).map(|(key, shows)| format!(" ({key} shows {shows})"));
    let key = key.unwrap_or_default();
    page.add_text(look.omission(), &format!("{hidden} {before} {lines}{after}{key}"), DIM);
}

/// The ranges of the lines of a text. A newline at its end begins no line.
pub(crate) fn logical_lines(text: &str) -> Vec<Range<usize>> {
    let mut from = 0;
    text.split_inclusive('\n')
        .map(|line| {
            let range = from..from + line.trim_end_matches('\n').len();
            from += line.len();
            range
        })
        .collect()
}
