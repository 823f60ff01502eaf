//! The size of a terminal, in cells.

use serde::{Deserialize, Serialize};

/// Columns and rows of a terminal: 20 to 400 columns, 5 to 200 rows.
///
/// Sizes outside of these bounds are clamped, also when they are deserialized: programs misbehave on a terminal
/// of 0×0, and a screen model may panic on one of 1×1. Set the kernel's size from this value, so that both agree.
///
/// ```
/// use bashful_screen::Size;
///
/// assert_eq!(Size::default(), Size::new(120, 40));
/// assert_eq!(Size::new(0, 0), Size::new(20, 5));
/// assert_eq!(Size::new(u16::MAX, u16::MAX), Size::new(400, 200));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(from = "Asked")]
pub struct Size {
    columns: u16,
    rows: u16,
}

impl Size {
    /// The smallest size: below it, programs with a screen show nothing of use.
    pub const SMALLEST: Self = Self { columns: 20, rows: 5 };
    /// The largest size: beyond it, one screen is more text than a model reads.
    pub const LARGEST: Self = Self { columns: 400, rows: 200 };

    /// Clamps `columns` and `rows` to [`Size::SMALLEST`] and [`Size::LARGEST`].
    pub fn new(columns: u16, rows: u16) -> Self {
        Self {
            columns: columns.clamp(Self::SMALLEST.columns, Self::LARGEST.columns),
            rows: rows.clamp(Self::SMALLEST.rows, Self::LARGEST.rows),
        }
    }

    /// Cells in one row.
    pub fn columns(self) -> u16 {
        self.columns
    }

    /// Rows on the screen.
    pub fn rows(self) -> u16 {
        self.rows
    }

    /// Cells on the screen.
    pub(crate) fn cells(self) -> u64 {
        u64::from(self.columns) * u64::from(self.rows)
    }
}

impl Default for Size {
    fn default() -> Self {
        Self { columns: 120, rows: 40 }
    }
}

/// A size before it is clamped.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Asked {
    columns: u16,
    rows: u16,
}

impl From<Asked> for Size {
    fn from(asked: Asked) -> Self {
        Self::new(asked.columns, asked.rows)
    }
}
