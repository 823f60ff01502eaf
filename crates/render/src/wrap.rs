//! Folds a line of text into lines of a screen.

use unicode_segmentation::UnicodeSegmentation;

use crate::line::{self, Line};
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

/// The screen lines of the part `from..to` of a styled text, which is one line of it.
pub(crate) fn wrap(styled: &StyledText, from: usize, to: usize, width: usize) -> Vec<Line> {
    let mut lines = Vec::new();
    let mut line = Line::default();
    let (mut style, mut until) = styled.style_at(from);
    let mut style_at = |offset| {
        if offset >= until {
            (style, until) = styled.style_at(offset);
        }
        (style, until)
    };
    let fold = Fold::new(width, |piece| match piece {
        Piece::Break => lines.push(std::mem::take(&mut line)),
        Piece::Tab { start, columns } => line.push(&" ".repeat(columns), style_at(from + start).0),
        Piece::Text { start, end } => {
            let (mut at, end) = (from + start, from + end);
            while at < end {
                // A style never changes within a character.
                let (style, until) = style_at(at);
                line.push(&styled.text[at..end.min(until)], style);
                at = end.min(until);
            }
        }
    });
    fold.run(&styled.text[from..to]);
    lines.push(line);
    lines
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
            let plain = plain_length(&text[at..]);
            if plain > 0 {
                self.plain(at, at + plain);
                at += plain;
            } else if first == b'\t' {
                self.make_room(1);
                let columns = (TAB - self.column % TAB).min(self.width - self.column);
                (self.sink)(Piece::Tab { start: at, columns });
                self.column += columns;
                at += 1;
            } else {
                let cluster = text[at..].graphemes(true).next().unwrap_or(&text[at..]);
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
            self.text(start, shown, columns);
            return;
        }
        for (at, c) in shown.char_indices() {
            let part = &shown[at..at + c.len_utf8()];
            self.text(start + at, part, line::width(part));
        }
    }

    fn text(&mut self, start: usize, text: &str, columns: usize) {
        self.make_room(columns);
        (self.sink)(Piece::Text { start, end: start + text.len() });
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
    let bytes = text.as_bytes();
    let length = bytes.iter().position(|byte| !matches!(byte, 0x20..=0x7e)).unwrap_or(bytes.len());
    if bytes.get(length).is_some_and(|byte| !byte.is_ascii()) { length.saturating_sub(1) } else { length }
}
