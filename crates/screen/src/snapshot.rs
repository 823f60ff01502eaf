//! A screen at one moment, to be sent elsewhere.

use serde::{Deserialize, Serialize};

use crate::Size;

/// The screen at one moment: plain data without any escape sequence.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Snapshot {
    /// The terminal's size when the snapshot was taken.
    pub size: Size,
    /// The text of every row from top to bottom, without trailing blanks.
    pub rows: Vec<String>,
    /// The cursor.
    pub cursor: Cursor,
    /// The window title that the program has set: one line without control characters.
    pub title: Option<String>,
    /// True if a full-screen program has switched to the alternate screen.
    pub alternate: bool,
    /// Lines that have scrolled off the top and can still be read.
    pub scrollback: usize,
    /// Bytes that the screen never saw because its feeder was behind. Above 0, the rows may be incomplete.
    pub skipped_bytes: u64,
    /// The screen's change counter: equal counters of one screen mean equal rows, cursor and title.
    pub generation: u64,
}

impl Snapshot {
    /// The rows as one text, without the blank rows at the end.
    pub fn text(&self) -> String {
        let used = self.rows.iter().rposition(|row| !row.is_empty()).map_or(0, |last| last + 1);
        self.rows[..used].join("\n")
    }
}

/// The place of the cursor, counted from 0 at the top left.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cursor {
    /// Rows from the top.
    pub row: u16,
    /// Columns from the left.
    pub column: u16,
    /// False if the program has hidden the cursor.
    pub visible: bool,
}
