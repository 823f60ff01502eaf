//! One cell of the screen, and its look.

use std::fmt::Write as _;

/// A color as the program has asked for it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Color {
    /// The terminal's own foreground or background.
    #[default]
    Default,
    /// One of the 16 named colors: 0 to 7 normal, 8 to 15 bright. The terminal's theme decides what they look like.
    Ansi(u8),
    /// One of the fixed 256 colors, 16 and up.
    Indexed(u8),
    /// Red, green, blue.
    Rgb(u8, u8, u8),
}

/// Attributes of a cell, as a set.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Attributes(u8);

impl Attributes {
    /// Bold.
    pub const BOLD: Self = Self(1);
    /// Dim.
    pub const DIM: Self = Self(1 << 1);
    /// Italic.
    pub const ITALIC: Self = Self(1 << 2);
    /// Underlined, with whatever kind of line.
    pub const UNDERLINE: Self = Self(1 << 3);
    /// Foreground and background swapped. Programs mark the selected line of a menu with it.
    pub const REVERSE: Self = Self(1 << 4);
    /// Hidden text.
    pub const HIDDEN: Self = Self(1 << 5);
    /// Struck out.
    pub const STRIKEOUT: Self = Self(1 << 6);

    /// True if every attribute of `other` is set.
    pub fn contains(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    /// These attributes and those of `other`.
    #[must_use]
    pub const fn with(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// These attributes except those of `other`.
    #[must_use]
    pub const fn without(self, other: Self) -> Self {
        Self(self.0 & !other.0)
    }

    pub(crate) fn set(&mut self, other: Self, on: bool) {
        if on {
            self.0 |= other.0;
        }
    }
}

/// The look of a cell.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Style {
    /// Color of the text.
    pub foreground: Color,
    /// Color behind the text.
    pub background: Color,
    /// Bold, underlined, reversed and so on.
    pub attributes: Attributes,
}

impl Style {
    /// Appends the sequence that turns any style into this one: `ESC [ 0 ; … m`.
    pub fn push_sgr(self, text: &mut String) {
        push_sgr(text, self);
    }
}

/// The columns that a cell's character takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Width {
    /// One column.
    Narrow,
    /// Two columns; the next cell is [`Width::Continuation`].
    Wide,
    /// No character of its own: the right half of the wide one before it, or a column that a wide one did not fit in.
    Continuation,
}

/// One cell of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cell<'a> {
    /// The character; a space if the cell is blank.
    pub symbol: char,
    /// Combining characters on top of `symbol`, at most eight.
    pub marks: &'a [char],
    /// Columns that the character takes.
    pub width: Width,
    /// Colors and attributes.
    pub style: Style,
}

impl Cell<'_> {
    /// Appends the character and its marks; nothing for a [`Width::Continuation`].
    pub fn push_to(&self, text: &mut String) {
        if self.width != Width::Continuation {
            text.push(self.symbol);
            text.extend(self.marks);
        }
    }

    /// True if nothing would be seen of the cell, whatever its colors.
    fn is_blank(&self) -> bool {
        self.symbol == ' ' && self.marks.is_empty() && self.width != Width::Wide
    }

    /// True if the cell looks like one that was never written to.
    fn is_untouched(&self) -> bool {
        let seen = [Attributes::REVERSE, Attributes::UNDERLINE, Attributes::STRIKEOUT];
        let plain = !seen.iter().any(|&attribute| self.style.attributes.contains(attribute));
        self.is_blank() && plain && self.style.background == Color::Default
    }
}

/// The text of a row without its trailing blanks.
pub(crate) fn plain_text<'a>(cells: impl Iterator<Item = Cell<'a>>) -> String {
    let mut text = String::new();
    let mut end = 0;
    for cell in cells {
        cell.push_to(&mut text);
        if !cell.is_blank() {
            end = text.len();
        }
    }
    text.truncate(end);
    text
}

/// The text of a row with SGR sequences of our own: each change of style is one `ESC [ 0 ; … m`, and the row ends in
/// the default style. Trailing cells go if they look untouched.
pub(crate) fn styled_text<'a>(cells: impl Iterator<Item = Cell<'a>>) -> String {
    let mut text = String::new();
    let mut style = Style::default();
    let mut end = 0;
    for cell in cells {
        if cell.width == Width::Continuation {
            continue;
        }
        if cell.style != style {
            style = cell.style;
            push_sgr(&mut text, style);
        }
        cell.push_to(&mut text);
        if !cell.is_untouched() {
            end = text.len();
        }
    }
    text.truncate(end);
    if text.rfind('\u{1b}').is_some_and(|at| !text[at..].starts_with("\u{1b}[0m")) {
        text.push_str("\u{1b}[0m");
    }
    text
}

fn push_sgr(text: &mut String, style: Style) {
    text.push_str("\u{1b}[0");
    let numbers = [
        (Attributes::BOLD, 1),
        (Attributes::DIM, 2),
        (Attributes::ITALIC, 3),
        (Attributes::UNDERLINE, 4),
        (Attributes::REVERSE, 7),
        (Attributes::HIDDEN, 8),
        (Attributes::STRIKEOUT, 9),
    ];
    for (attribute, number) in numbers {
        if style.attributes.contains(attribute) {
            push_number(text, number);
        }
    }
    push_color(text, style.foreground, 30);
    push_color(text, style.background, 40);
    text.push('m');
}

/// Appends a color; `first` is 30 for the foreground and 40 for the background.
fn push_color(text: &mut String, color: Color, first: u16) {
    match color {
        Color::Default => {}
        Color::Ansi(index @ 0..=7) => push_number(text, first + u16::from(index)),
        Color::Ansi(index) => push_number(text, first + 60 + u16::from(index & 7)),
        Color::Indexed(index) => {
            for number in [first + 8, 5, u16::from(index)] {
                push_number(text, number);
            }
        }
        Color::Rgb(red, green, blue) => {
            for number in [first + 8, 2, red.into(), green.into(), blue.into()] {
                push_number(text, number);
            }
        }
    }
}

fn push_number(text: &mut String, number: u16) {
    write!(text, ";{number}").expect("a string takes every write");
}
