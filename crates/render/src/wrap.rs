//! Folds a line of text into lines of a screen.

use unicode_segmentation::UnicodeSegmentation;

use crate::line::{self, Line};
use crate::look::PLAIN;
use crate::output::StyledText;

/// Columns from one tab stop to the next.
const TAB: usize = 8;

/// Characters of one cluster that are shown. Real clusters have a dozen at most; a letter with thousands of accents would
/// cover the lines around it.
const CLUSTER: usize = 16;

/// A part of a folded line. Offsets count from the start of the line.
enum Piece {
    /// Text that fits on the screen line, as it is in the line.
    Text { start: usize, end: usize },
    /// A tab, and the columns that it takes.
    Tab { start: usize, columns: usize },
    /// The next line of the screen begins.
    Break,
}

/// The number of screen lines that a line takes: one at least.
pub(crate) fn count(text: &str, width: usize) -> usize {
    let mut lines = 1;
    Fold::new(width, |piece| lines += usize::from(matches!(piece, Piece::Break))).run(text);
    lines
}

/// Appends the screen lines of the part `from..to` of a styled text, which is one line of it. Each gets an indentation,
/// which does not count into the width, unless it is empty.
pub(crate) fn wrap(styled: &StyledText, from: usize, to: usize, width: usize, indent: &str, lines: &mut Vec<Line>) {
    let mut line = Line::default();
    let push = |line: &mut Line, text: &str, style| {
        if line.spans.is_empty() {
            line.push(indent, PLAIN);
        }
        line.push(text, style);
    };
    let (mut style, mut until) = styled.style_at(from);
    let mut style_at = |offset| {
        if offset >= until {
            (style, until) = styled.style_at(offset);
        }
        (style, until)
    };
    let fold = Fold::new(width, |piece| match piece {
        Piece::Break => lines.push(std::mem::take(&mut line)),
        Piece::Tab { start, columns } => push(&mut line, &" ".repeat(columns), style_at(from + start).0),
        Piece::Text { start, end } => {
            let (mut at, end) = (from + start, from + end);
            while at < end {
                // A style never changes within a character.
                let (style, until) = style_at(at);
                push(&mut line, &styled.text[at..end.min(until)], style);
                at = end.min(until);
            }
        }
    });
    fold.run(&styled.text[from..to]);
    lines.push(line);
}

/// Appends the screen lines of a styled text that is one line, broken at spaces where it can be.
pub(crate) fn wrap_words(styled: &StyledText, width: usize, lines: &mut Vec<Line>) {
    let (mut start, mut end) = (0, 0);
    for word in styled.text.split_inclusive(' ') {
        let shown = end + word.trim_end().len();
        if end > start && line::width(&styled.text[start..shown]) > width {
            wrap(styled, start, start + styled.text[start..end].trim_end().len(), width, "", lines);
            start = end;
        }
        end += word.len();
    }
    wrap(styled, start, styled.text.trim_end().len().max(start), width, "", lines);
}

/// Passes on the pieces of a line in their order.
struct Fold<F> {
    width: usize,
    column: usize,
    sink: F,
}

impl<F: FnMut(Piece)> Fold<F> {
    fn new(width: usize, sink: F) -> Self {
        Self { width, column: 0, sink }
    }

    fn run(mut self, text: &str) {
        let mut at = 0;
        while let Some(&first) = text.as_bytes().get(at) {
            let rest = &text[at..];
            let plain = plain_length(rest);
            if plain > 0 {
                self.plain(at, at + plain);
                at += plain;
            } else if first == b'\t' {
                self.make_room(1);
                let columns = (TAB - self.column % TAB).min(self.width - self.column);
                (self.sink)(Piece::Tab { start: at, columns });
                self.column += columns;
                at += 1;
            } else if let Some((length, columns)) = lone_character(rest) {
                self.text(at, length, columns);
                at += length;
            } else {
                let cluster = rest.graphemes(true).next().unwrap_or(rest);
                self.cluster(cluster, at);
                at += cluster.len();
            }
        }
    }

    /// Printable ASCII: a column each.
    fn plain(&mut self, start: usize, end: usize) {
        let mut at = start;
        while at < end {
            self.make_room(1);
            let fits = (end - at).min(self.width - self.column);
            (self.sink)(Piece::Text { start: at, end: at + fits });
            self.column += fits;
            at += fits;
        }
    }

    /// One cluster, on one line if it fits on any.
    fn cluster(&mut self, cluster: &str, start: usize) {
        let shown = cluster.char_indices().nth(CLUSTER).map_or(cluster, |(end, _)| &cluster[..end]);
        let columns = line::width(shown);
        if columns <= self.width {
            self.text(start, shown.len(), columns);
            return;
        }
        for (at, c) in shown.char_indices() {
            let part = &shown[at..at + c.len_utf8()];
            self.text(start + at, part.len(), line::width(part));
        }
    }

    fn text(&mut self, start: usize, length: usize, columns: usize) {
        self.make_room(columns);
        (self.sink)(Piece::Text { start, end: start + length });
        self.column += columns;
    }

    /// Begins a screen line unless so many columns are left on this one.
    fn make_room(&mut self, columns: usize) {
        if self.column + columns > self.width {
            (self.sink)(Piece::Break);
            self.column = 0;
        }
    }
}

/// Length of the printable ASCII at the start. The last character is left out if the next one may combine with it.
fn plain_length(text: &str) -> usize {
    let length = printable_prefix(text.as_bytes());
    match text[length..].chars().next() {
        Some(next) if !next.is_ascii() && lone_width(next).is_none() => length.saturating_sub(1),
        _ => length,
    }
}

/// Length of the printable ASCII at the start.
pub(crate) fn printable_prefix(bytes: &[u8]) -> usize {
    const BLOCK: usize = 32;
    let is_printable = |byte: &u8| (0x20..0x7f).contains(byte);
    // Without a way out in the middle of a block, the compiler checks all of its bytes at once.
    let blocks =
        bytes.chunks_exact(BLOCK).take_while(|block| block.iter().fold(true, |all, byte| all & is_printable(byte)));
    let start = blocks.count() * BLOCK;
    start + bytes[start..].iter().take_while(|byte| is_printable(byte)).count()
}

/// Length and columns of the first character, if it surely is a cluster of its own. This is far quicker than to look for
/// the end of the cluster.
fn lone_character(text: &str) -> Option<(usize, usize)> {
    let mut chars = text.chars();
    let c = chars.next()?;
    let columns = lone_width(c)?;
    let is_alone = chars.next().is_none_or(|next| next == '\t' || lone_width(next).is_some());
    is_alone.then(|| (c.len_utf8(), columns))
}

/// Columns of characters that combine with none of each other: printable ASCII and the most common others.
fn lone_width(c: char) -> Option<usize> {
    match c {
        ' '..='~' | 'À'..='ɏ' | 'Ͱ'..='ͷ' | 'Α'..='Ρ' | 'Σ'..='Ͽ' | 'Ѐ'..='ҁ' | '─'..='╿' | '█' => {
            Some(1)
        }
        'ぁ'..='ゖ' | 'ァ'..='ヺ' | '、'..='。' | '一'..='鿿' | '가'..='힣' => Some(2),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lone_characters_are_clusters_of_the_width_that_is_said() {
        let mut lone = 0;
        for c in '\0'..='\u{ffff}' {
            let Some(columns) = lone_width(c) else { continue };
            lone += 1;
            assert_eq!(line::width(c.encode_utf8(&mut [0; 4])), columns, "{c:?}");
            for other in ['a', 'é', 'Я', 'か', '漢', '한', '가', '─', c] {
                for pair in [format!("{c}{other}"), format!("{other}{c}")] {
                    assert_eq!(pair.graphemes(true).count(), 2, "{pair:?}");
                }
            }
        }
        assert!(lone > 30_000, "{lone}");
    }

    #[test]
    fn printable_text_ends_anywhere() {
        for length in 0..100 {
            let mut text = vec![b'x'; length];
            assert_eq!(printable_prefix(&text), length);
            text.extend(b"\t and so on, for more than the length of one block of bytes");
            assert_eq!(printable_prefix(&text), length);
        }
    }
}
