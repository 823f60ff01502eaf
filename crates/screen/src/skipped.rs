//! The part of skipped output that must not be lost: modes.

use crate::dispatch::TRACKED_MODES;
use crate::tokenizer::Token;

/// Brings a screen of unknown content to a known state: blank, without margins and attributes. Modes stay as they
/// are. Clearing the normal screen moves its text to the scrollback.
const RESYNC: &[u8] = b"\x1b[?6l\x1b[r\x1b[4l\x1b[m\x1b(B\x1b)B\x0f\x1b[2J\x1b[H";

/// The modes that skipped output has set, each with its last value.
#[derive(Debug, Default)]
pub(crate) struct SkippedModes {
    was_reset: bool,
    keypad: Option<bool>,
    private: Vec<(u16, bool)>,
}

impl SkippedModes {
    /// Remembers the modes that a token sets. Memory is bounded by the number of modes that there are.
    pub(crate) fn note(&mut self, token: &Token<'_>) {
        match token {
            Token::Escape { intermediate: None, last: b'c' } => *self = Self { was_reset: true, ..Self::default() },
            Token::Escape { intermediate: None, last: last @ (b'=' | b'>') } => self.keypad = Some(*last == b'='),
            Token::Csi(csi) if csi.marker == Some(b'?') && csi.intermediate.is_none() => {
                if let b'h' | b'l' = csi.last {
                    for parameter in &csi.parameters {
                        self.set(parameter.value, csi.last == b'h');
                    }
                }
            }
            _ => {}
        }
    }

    fn set(&mut self, number: u16, on: bool) {
        if TRACKED_MODES.contains(&number) {
            self.private.retain(|&(other, _)| other != number);
            self.private.push((number, on));
        }
    }

    /// The sequences that bring the screen to the state after the skipped output, as far as it is known.
    pub(crate) fn sequences(&self) -> Vec<u8> {
        let mut sequences = RESYNC.to_vec();
        if self.was_reset {
            sequences.extend(b"\x1bc");
        }
        for (number, on) in &self.private {
            let last = if *on { 'h' } else { 'l' };
            sequences.extend(format!("\x1b[?{number}{last}").into_bytes());
        }
        match self.keypad {
            Some(true) => sequences.extend(b"\x1b="),
            Some(false) => sequences.extend(b"\x1b>"),
            None => {}
        }
        sequences
    }
}
