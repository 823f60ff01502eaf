//! Signs, colors and limits of cards.

use bashful_screen::{Attributes, Color, Style};

use crate::card::CardState;

/// The characters of signs and separators.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Signs {
    /// `✓ done · exit 0`.
    #[default]
    Unicode,
    /// `+ done | exit 0`, for terminals whose font has little else, as the console of Linux.
    Ascii,
}

/// The caller's part of how cards look.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Look {
    /// The characters of signs and separators.
    pub signs: Signs,
    /// The key that expands a card, named in the line about hidden lines. Without one, no key is named.
    pub expand_key: Option<String>,
    /// Most lines of output of a collapsed tool call, counted as the screen wraps them.
    pub tool_lines: usize,
    /// Most lines of output of a collapsed bang command, counted as the command wrote them.
    pub bang_lines: usize,
    /// Most lines of a collapsed command's script, counted as the screen wraps them.
    pub command_lines: usize,
}

impl Default for Look {
    fn default() -> Self {
        Self { signs: Signs::default(), expand_key: None, tool_lines: 10, bang_lines: 20, command_lines: 10 }
    }
}

pub(crate) const PLAIN: Style =
    Style { foreground: Color::Default, background: Color::Default, attributes: ATTRIBUTES_NONE };
pub(crate) const BOLD: Style = Style { attributes: Attributes::BOLD, ..PLAIN };
pub(crate) const DIM: Style = Style { attributes: Attributes::DIM, ..PLAIN };
pub(crate) const WARNING: Style = Style { foreground: Color::Ansi(3), ..PLAIN };

const ATTRIBUTES_NONE: Attributes = Attributes::BOLD.without(Attributes::BOLD);

impl Look {
    pub(crate) fn sign(&self, state: CardState) -> &'static str {
        let (unicode, ascii) = match state {
            CardState::Writing => ("…", "."),
            CardState::Running => ("●", "*"),
            CardState::Done => ("✓", "+"),
            CardState::Failed => ("✗", "x"),
            CardState::Cancelled => ("⊘", "-"),
            CardState::TimedOut => ("◷", "%"),
            CardState::Backgrounded => ("&", "&"),
            CardState::Refused => ("⊗", "#"),
            CardState::Intercepted => ("→", ">"),
        };
        self.pick(unicode, ascii)
    }

    pub(crate) fn separator(&self) -> &'static str {
        self.pick(" · ", " | ")
    }

    pub(crate) fn ellipsis(&self) -> &'static str {
        self.pick("…", "...")
    }

    /// The sign of a line that stands for others.
    pub(crate) fn omission(&self) -> &'static str {
        self.pick("…", "~")
    }

    /// The sign of a notice.
    pub(crate) fn bullet(&self) -> &'static str {
        self.pick("·", "-")
    }

    pub(crate) fn warning(&self) -> &'static str {
        self.pick("⚠", "!")
    }

    fn pick(&self, unicode: &'static str, ascii: &'static str) -> &'static str {
        match self.signs {
            Signs::Unicode => unicode,
            Signs::Ascii => ascii,
        }
    }
}

/// The style of a state's sign and word. All are among the 16 colors, which the user's theme makes readable on its
/// background.
pub(crate) fn style(state: CardState) -> Style {
    let color = |index| Style { foreground: Color::Ansi(index), ..PLAIN };
    let bold = |index| Style { foreground: Color::Ansi(index), ..BOLD };
    match state {
        CardState::Writing => DIM,
        CardState::Running => color(6),
        CardState::Done => color(2),
        CardState::Failed => color(1),
        CardState::Cancelled => color(3),
        CardState::TimedOut => bold(3),
        CardState::Backgrounded => color(4),
        CardState::Refused => bold(1),
        CardState::Intercepted => color(5),
    }
}
