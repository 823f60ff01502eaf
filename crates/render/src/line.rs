//! One line of a screen: text in styles.

use bashful_screen::Style;
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// Text in one style. It has no control characters.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Span {
    /// The text.
    pub text: String,
    /// Colors and attributes.
    pub style: Style,
}

/// One line of a screen. Neighbors among its spans differ in style.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Line {
    /// The parts of the line, from left to right.
    pub spans: Vec<Span>,
}

impl Line {
    /// The text without styles.
    pub fn plain(&self) -> String {
        self.spans.iter().map(|span| span.text.as_str()).collect()
    }

    /// The text with SGR sequences. It begins and ends in the default style.
    pub fn ansi(&self) -> String {
        let mut text = String::new();
        let mut style = Style::default();
        for span in &self.spans {
            if span.style != style {
                style = span.style;
                push_change(&mut text, style);
            }
            text.push_str(&span.text);
        }
        if style != Style::default() {
            push_change(&mut text, Style::default());
        }
        text
    }

    /// Columns that the line takes at most.
    pub fn width(&self) -> usize {
        self.spans.iter().map(|span| width(&span.text)).sum()
    }

    pub(crate) fn push(&mut self, text: &str, style: Style) {
        match self.spans.last_mut() {
            _ if text.is_empty() => {}
            Some(last) if last.style == style => last.text.push_str(text),
            _ => self.spans.push(Span { text: text.to_owned(), style }),
        }
    }
}

fn push_change(text: &mut String, style: Style) {
    if style == Style::default() { text.push_str("\u{1b}[0m") } else { style.push_sgr(text) }
}

/// Columns that a text takes at most. Some terminals draw the parts of a cluster (a family of emoji) one by one, and some
/// draw it as one character that is wider than its parts (an emoji with a variation selector).
pub(crate) fn width(text: &str) -> usize {
    if text.is_ascii() {
        return text.len();
    }
    let apart = text.chars().map(|c| c.width().unwrap_or(0)).sum();
    text.width().max(apart)
}
