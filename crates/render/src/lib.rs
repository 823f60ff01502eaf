//! A command as lines of styled text: a card and a width give lines.
//!
//! ```
//! use bashful_render::{Card, CardExit, CardKind, CardState, Look, lines};
//!
//! let mut card = Card::new(CardKind::Tool, "cargo test");
//! card.state = CardState::Failed;
//! card.output = "running 1 test\ntest it ... \u{1b}[31mFAILED\u{1b}[m\u{7}\n".to_owned();
//! card.exit = Some(CardExit::Code(101));
//!
//! let shown: Vec<String> = lines(&card, 40, &Look::default()).iter().map(|line| line.plain()).collect();
//! assert_eq!(shown, ["✗ $ cargo test", "  running 1 test", "  test it ... FAILED␇", "✗ failed · exit 101"]);
//! ```
//!
//! Pure: no terminal, no clock, no files. The caller draws the lines, as cells of a screen ([`Line::spans`]), as bytes
//! for a terminal ([`Line::ansi`]) or as text ([`Line::plain`]).
//!
//! Invariants:
//! - A line is never wider than the width, if that is at least [`NARROWEST`]. Where terminals disagree about the width
//!   of a character, the widest one counts.
//! - The output of a command reaches a line as characters and colors alone. Its lines are indented, and every
//!   other part of a card begins with a sign in the first column, so no output looks like one.

mod card;
mod facts;
mod header;
mod line;
mod look;
mod output;
mod page;
mod partial;
mod preview;
mod raw_tail;
mod sgr;
mod visible;
mod wrap;

pub use bashful_screen::{Attributes, Color, Style};
pub use card::{Card, CardExit, CardKind, CardState};
pub use line::{Line, Span};
pub use look::{Look, Signs};
pub use page::{NARROWEST, body_lines, lines, output_lines};
pub use partial::PartialArguments;
pub use raw_tail::RawTail;
pub use visible::{visible, visible_lines};
