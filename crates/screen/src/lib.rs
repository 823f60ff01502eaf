//! The screen of a terminal program as text, and keys as the bytes that the program expects.
//!
//! ```
//! use bashful_screen::{Budget, Keys, Screen, Size};
//!
//! let mut screen = Screen::new(Size::new(40, 10));
//! let output = b"\x1b[?1049h\x1b[?1h\x1b]0;menu\x07\x1b[2;3H\x1b[7mOpen\x1b[m\x1b[3;3HQuit\x1b[2;3H";
//! let fed = screen.feed(output, Budget::default());
//! assert_eq!(fed.consumed, output.len());
//!
//! let snapshot = screen.snapshot();
//! assert_eq!(snapshot.text(), "\n  Open\n  Quit");
//! assert_eq!(snapshot.title.as_deref(), Some("menu"));
//! assert_eq!((snapshot.cursor.row, snapshot.cursor.column), (1, 2));
//! assert_eq!(screen.row_styled(1), "  \x1b[0;7mOpen\x1b[0m");
//!
//! // The program has set application cursor mode, so Down is `ESC O B`.
//! let keys = Keys::parse(["Down", "Enter"])?;
//! assert_eq!(keys.encode(screen.modes()), b"\x1bOB\r");
//! # Ok::<(), bashful_screen::UnknownKey>(())
//! ```
//!
//! Pure: no file, no process, no thread and no clock; the time is passed in. Bounded: [`Screen::feed`] has a budget of
//! work, and no input makes a screen grow beyond its size. This matters because a panic or an endless loop here would
//! end every command of the engine.
//!
//! A program's output is split into text and whole sequences. Only sequences on a list reach the screen model, written
//! anew and with clamped parameters. The model's types appear in no interface, so another model can take its place.
//!
//! Absent on purpose: colors of the palette, hyperlinks, images, the clipboard and Kitty's keyboard protocol. A program
//! that asks for them gets no answer, as from a terminal that does not know them.

#![cfg_attr(not(feature = "model"), expect(dead_code, reason = "only the screen model reads cells"))]

#[cfg(feature = "model")]
mod answers;
mod cell;
#[cfg(feature = "model")]
mod dispatch;
mod keys;
#[cfg(feature = "model")]
mod model;
mod modes;
#[cfg(feature = "model")]
mod screen;
mod size;
#[cfg(feature = "model")]
mod skipped;
mod snapshot;
#[cfg(feature = "model")]
mod text;
#[cfg(feature = "model")]
mod title;
mod tokenizer;

pub use cell::{Attributes, Cell, Color, Style, Width};
pub use keys::{Code, Decoded, Key, KeyDecoder, Keys, Modifiers, UnknownKey, paste};
pub use modes::{Modes, Mouse};
#[cfg(feature = "model")]
pub use screen::{Budget, Fed, Screen};
pub use size::Size;
pub use snapshot::{Cursor, Snapshot};
pub use tokenizer::{Csi, Parameter, Token, Tokenizer};
