//! Switches of the terminal that a program has set.

use serde::{Deserialize, Serialize};

/// Modes that decide how keys, pastes and mouse events are encoded.
///
/// Read them at the moment of sending: vim, for one, switches [`Modes::application_cursor`] when it starts and ends.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[expect(clippy::struct_excessive_bools, reason = "each is a switch of its own in the terminal's protocol")]
pub struct Modes {
    /// Arrows, Home and End are sent as `ESC O A` instead of `ESC [ A` (`CSI ?1h`).
    pub application_cursor: bool,
    /// The keypad sends `ESC O p` instead of `0` (`ESC =`).
    pub application_keypad: bool,
    /// Pasted text is enclosed in `ESC [200~` and `ESC [201~` (`CSI ?2004h`).
    pub bracketed_paste: bool,
    /// The program wants `ESC [ I` and `ESC [ O` when the terminal gains and loses focus (`CSI ?1004h`).
    pub focus_events: bool,
    /// The mouse events that the program wants to get.
    pub mouse: Mouse,
    /// Mouse events are sent in the SGR form, `ESC [ < …` (`CSI ?1006h`).
    pub sgr_mouse: bool,
}

/// Mouse events that a program asks for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Mouse {
    /// None.
    #[default]
    Off,
    /// Presses and releases (`CSI ?1000h`).
    Clicks,
    /// Clicks, and motion while a button is held (`CSI ?1002h`).
    Drags,
    /// Clicks and every motion (`CSI ?1003h`).
    Motion,
}
