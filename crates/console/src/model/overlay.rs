//! The overlay: a program's screen, and the keys that are not for the program.

use std::time::Instant;

use bashful_screen::{Budget, Code, Key, Keys, Modifiers, Screen, Size, paste};

use super::card::CardId;

/// The setting about the Escape key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Escape {
    /// Escape kills the program; Ctrl-] and then Escape passes one on.
    #[default]
    Kill,
    /// Escape is for the program; Ctrl-] and then k kills it.
    Pass,
}

/// Output that waits to be drawn. A program that writes faster than the screen model draws has the older part skipped.
const MOST_WAITING: usize = 256 * 1024;

/// A program's terminal over everything else.
pub(crate) struct Overlay {
    pub(crate) card: CardId,
    pub(crate) command: String,
    pub(crate) screen: Screen,
    pub(crate) escape: Escape,
    /// Ctrl-] was pressed.
    pub(crate) has_prefix: bool,
    /// Somebody has asked to kill the program.
    pub(crate) is_ending: bool,
    /// The question of the guard is shown over the program.
    pub(crate) shows_question: bool,
    waiting: Vec<u8>,
}

/// The meaning of a key in the overlay.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum OverlayKey {
    Type(Vec<u8>),
    Kill,
    /// Show the question of the guard.
    Question,
    Nothing,
}

impl Overlay {
    pub(crate) fn new(card: CardId, command: &str, screen_size: (u16, u16), escape: Escape) -> Self {
        Self {
            card,
            command: command.to_owned(),
            screen: Screen::with_scrollback(Self::size(screen_size), 0),
            escape,
            has_prefix: false,
            is_ending: false,
            shows_question: false,
            waiting: Vec::new(),
        }
    }

    /// The size of the program's terminal on a screen of this size: a frame, a line above and a line below.
    pub(crate) fn size((columns, rows): (u16, u16)) -> Size {
        Size::new(columns.saturating_sub(2), rows.saturating_sub(4))
    }

    pub(crate) fn resize(&mut self, screen_size: (u16, u16)) -> Size {
        let size = Self::size(screen_size);
        self.screen.resize(size);
        size
    }

    /// Takes output. [`Overlay::draw_some`] draws it.
    pub(crate) fn push(&mut self, bytes: &[u8]) {
        self.waiting.extend_from_slice(bytes);
        if self.waiting.len() > MOST_WAITING {
            let late = self.waiting.len() - MOST_WAITING / 2;
            self.screen.skip(&self.waiting[..late]);
            self.waiting.drain(..late);
        }
    }

    /// Draws a bounded part of the output. True if more waits.
    pub(crate) fn draw_some(&mut self) -> bool {
        let fed = self.screen.feed(&self.waiting, Budget::default());
        self.waiting.drain(..fed.consumed);
        !self.waiting.is_empty()
    }

    /// Answers to the program's questions about its terminal.
    pub(crate) fn answers(&mut self, now: Instant) -> Vec<u8> {
        self.screen.take_answers(now)
    }

    pub(crate) fn key(&mut self, key: Key) -> OverlayKey {
        let prefix = Key { code: Code::Char(']'), modifiers: Modifiers { ctrl: true, ..Modifiers::default() } };
        if std::mem::take(&mut self.has_prefix) {
            return match key.code {
                Code::Escape => self.typed(key),
                _ if key == prefix => self.typed(key),
                Code::Char('k' | 'K') => self.kill(),
                Code::Char('a' | 'A') => OverlayKey::Question,
                _ => OverlayKey::Nothing,
            };
        }
        match key.code {
            _ if key == prefix => {
                self.has_prefix = true;
                OverlayKey::Nothing
            }
            Code::Escape if self.escape == Escape::Kill => self.kill(),
            _ => self.typed(key),
        }
    }

    pub(crate) fn paste(&mut self, text: &str) -> Vec<u8> {
        self.has_prefix = false;
        paste(text, self.screen.modes())
    }

    /// The rows of the screen with their colors, when nothing more will come.
    pub(crate) fn last_screen(mut self) -> String {
        while self.draw_some() {}
        let rows: Vec<String> = (0..self.screen.size().rows()).map(|row| self.screen.row_styled(row)).collect();
        let used = rows.iter().rposition(|row| !row.is_empty()).map_or(0, |last| last + 1);
        rows[..used].join("\n")
    }

    fn kill(&mut self) -> OverlayKey {
        self.is_ending = true;
        OverlayKey::Kill
    }

    fn typed(&self, key: Key) -> OverlayKey {
        OverlayKey::Type(Keys(vec![key]).encode(self.screen.modes()))
    }
}

impl std::fmt::Debug for Overlay {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.debug_struct("Overlay").field("card", &self.card).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn overlay(escape: Escape) -> Overlay {
        Overlay::new(CardId(1), "vim", (80, 24), escape)
    }

    #[track_caller]
    fn check(overlay: &mut Overlay, key: &str, meaning: &OverlayKey) {
        assert_eq!(&overlay.key(key.parse().expect("a key")), meaning, "{key}");
    }

    #[test]
    fn escape_kills_and_the_prefix_passes_one_on() {
        let mut kill = overlay(Escape::Kill);
        check(&mut kill, "C-]", &OverlayKey::Nothing);
        check(&mut kill, "Escape", &OverlayKey::Type(b"\x1b".to_vec()));
        check(&mut kill, "Escape", &OverlayKey::Kill);
        assert!(kill.is_ending);
    }

    #[test]
    fn escape_passes_where_the_setting_says_so() {
        let mut pass = overlay(Escape::Pass);
        check(&mut pass, "Escape", &OverlayKey::Type(b"\x1b".to_vec()));
        check(&mut pass, "C-]", &OverlayKey::Nothing);
        check(&mut pass, "x", &OverlayKey::Nothing);
        check(&mut pass, "C-]", &OverlayKey::Nothing);
        check(&mut pass, "C-]", &OverlayKey::Type(b"\x1d".to_vec()));
        check(&mut pass, "C-]", &OverlayKey::Nothing);
        check(&mut pass, "k", &OverlayKey::Kill);
    }

    #[test]
    fn keys_follow_the_modes_of_the_program() {
        let mut overlay = overlay(Escape::Kill);
        check(&mut overlay, "Up", &OverlayKey::Type(b"\x1b[A".to_vec()));
        overlay.push(b"\x1b[?1h\x1b[?2004h");
        assert!(!overlay.draw_some());
        check(&mut overlay, "Up", &OverlayKey::Type(b"\x1bOA".to_vec()));
        check(&mut overlay, "F5", &OverlayKey::Type(b"\x1b[15~".to_vec()));
        assert_eq!(overlay.paste("a\nb"), b"\x1b[200~a\rb\x1b[201~");
    }

    #[test]
    fn the_terminal_is_two_columns_and_four_rows_smaller() {
        assert_eq!(Overlay::size((80, 24)), Size::new(78, 20));
        assert_eq!(overlay(Escape::Kill).resize((300, 100)), Size::new(298, 96));
    }

    #[test]
    fn a_flood_is_skipped_and_not_kept() {
        let mut overlay = overlay(Escape::Kill);
        for _ in 0..100 {
            overlay.push(&b"line\r\n".repeat(4000));
        }
        assert!(overlay.waiting.len() <= MOST_WAITING);
        assert!(overlay.screen.skipped_bytes() > 0);
    }
}
