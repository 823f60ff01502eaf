//! The header of a card: sign, variables and script.

use crate::card::{Card, CardKind};
use crate::look::{self, BOLD, DIM, Look, PLAIN};
use crate::output::StyledText;
use crate::page::Page;
use crate::preview;
use crate::visible::visible;
use crate::wrap;

/// Columns of sign and prompt: `✓ $ `.
const INDENT: usize = 4;

pub(crate) fn add(page: &mut Page, card: &Card, look: &Look) {
    let mut text = StyledText::default();
    for (name, value) in &card.env {
        text.push(&format!("{}={} ", visible(name), quoted(value)), DIM);
    }
    let script = card.command.trim_matches('\n');
    for (number, line) in script.split('\n').enumerate() {
        if number > 0 {
            text.push("\n", BOLD);
        }
        text.push(&visible(line), BOLD);
    }
    let prompt = match card.kind {
        CardKind::Tool => "$ ",
        CardKind::Bang => "! ",
        CardKind::Watched => "@ ",
    };
    let mut from = 0;
    let mut wrapped = Vec::new();
    for line in text.text.split('\n') {
        wrap::wrap(&text, from, from + line.len(), page.width - INDENT, "", &mut wrapped);
        from += line.len() + 1;
    }
    let shown = if card.expanded { wrapped.len() } else { wrapped.len().min(look.command_lines.max(1)) };
    let hidden = wrapped.len() - shown;
    let sign = [(look.sign(card.state), look::style(card.state)), (" ", PLAIN), (prompt, DIM)];
    for (number, line) in wrapped.into_iter().take(shown).enumerate() {
        if number == 0 {
            page.add_indented(&sign, line);
        } else {
            page.add_indented(&[("    ", PLAIN)], line);
        }
    }
    preview::add_hidden(page, hidden as u64, ("more", " of the command"), Some("all"), look);
}

/// A value as the shell would read it. Quotes are added only where they are needed.
fn quoted(value: &str) -> String {
    let is_simple = |c: char| c.is_alphanumeric() || "_-+=./:,@%".contains(c);
    let value = visible(value);
    if !value.is_empty() && value.chars().all(is_simple) {
        value
    } else {
        format!("'{}'", value.replace('\'', "'\\''"))
    }
}
