//! The screen of a program: bytes in, rows and cursor out.

use std::fmt;
use std::time::{Duration, Instant};

use unicode_width::UnicodeWidthChar as _;

use crate::Size;
use crate::answers::Answers;
use crate::cell::{Cell, plain_text, styled_text};
use crate::model::Model;
use crate::modes::Modes;
use crate::skipped::SkippedModes;
use crate::snapshot::{Cursor, Snapshot};
use crate::text::Decoder;
use crate::title::Titles;
use crate::tokenizer::{Token, Tokenizer};

/// Lines that are kept after they have scrolled off the top. At 120 columns they take 6 MB, at 400 columns 19 MB.
const SCROLLBACK: usize = 2000;

/// The most lines that can be kept.
const MOST_SCROLLBACK: usize = 10_000;

/// Combining characters of one cell. No language stacks as many; without a bound one cell could fill the memory.
const MOST_MARKS: usize = 8;

/// Time in which a program has to finish a synchronized update. Other terminals wait as long.
const LONGEST_FRAME: Duration = Duration::from_millis(150);

/// A bound on the work of one [`Screen::feed`].
///
/// A unit is about one cell that is moved or erased: one to ten nanoseconds in a release build. Work is counted, not
/// timed, so the same bytes always cost the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Budget(pub u64);

impl Budget {
    /// The most work of one step: a character repeated over the whole of the largest screen. The budget is checked
    /// between steps.
    pub const LARGEST_STEP: u64 = 500_000;

    /// Work that no caller runs out of. For tests and recordings, never for the output of a live program.
    pub const UNLIMITED: Self = Self(u64::MAX);
}

impl Default for Budget {
    /// At most some 20 milliseconds: about 250 KB of ordinary lines.
    fn default() -> Self {
        Self(2_000_000)
    }
}

/// The part of the bytes that one [`Screen::feed`] has used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use = "bytes that were not consumed have to be fed again or skipped"]
pub struct Fed {
    /// Bytes used. Fewer than were given if the budget was used up: feed the rest later, or [`Screen::skip`] it.
    pub consumed: usize,
    /// Work done, in units of [`Budget`]; beyond the budget by less than [`Budget::LARGEST_STEP`].
    pub work: u64,
}

/// The screen of a program, made from the bytes that the program writes to its terminal.
///
/// Nothing that a program writes makes it panic, take long or grow: see [`Screen::feed`] and [`Screen::memory`].
/// Strings that change no text on the screen (images, clipboard, hyperlinks, palettes) are read past.
pub struct Screen {
    pub(crate) model: Model,
    pub(crate) size: Size,
    pub(crate) titles: Titles,
    pub(crate) answers: Answers,
    pub(crate) frame: Option<Frame>,
    pub(crate) last_character: Option<char>,
    pub(crate) generation: u64,
    tokenizer: Tokenizer,
    decoder: Decoder,
    skipped_bytes: u64,
}

/// A synchronized update under way.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Frame {
    /// The time at which a caller first met it; feeding has no clock.
    seen: Option<Instant>,
}

impl Screen {
    /// A blank screen that keeps 2,000 lines of scrollback.
    pub fn new(size: Size) -> Self {
        Self::with_scrollback(size, SCROLLBACK)
    }

    /// A blank screen that keeps up to `lines` of scrollback, at most 10,000.
    pub fn with_scrollback(size: Size, lines: usize) -> Self {
        Self {
            model: Model::new(size, lines.min(MOST_SCROLLBACK)),
            size,
            titles: Titles::default(),
            answers: Answers::default(),
            frame: None,
            last_character: None,
            generation: 0,
            tokenizer: Tokenizer::default(),
            decoder: Decoder::default(),
            skipped_bytes: 0,
        }
    }

    /// Applies a program's output, until the budget is used up.
    ///
    /// Output may be cut anywhere, also inside of a character or a sequence. A budget above 0 always makes progress.
    pub fn feed(&mut self, bytes: &[u8], budget: Budget) -> Fed {
        let mut fed = Fed { consumed: 0, work: 0 };
        // The tokenizer lends its tokens, and carrying them out needs the rest of the screen.
        let mut tokenizer = std::mem::take(&mut self.tokenizer);
        while fed.consumed < bytes.len() && fed.work < budget.0 {
            let (used, token) = tokenizer.next(&bytes[fed.consumed..]);
            fed.consumed += used;
            fed.work += 1 + self.carry_out(token, used);
        }
        self.tokenizer = tokenizer;
        fed
    }

    /// Passes over output that cannot be applied in time, and counts it in [`Screen::skipped_bytes`].
    ///
    /// The screen is cleared, because it would otherwise show a mixture of old and new. Modes and the title follow the
    /// skipped output, so that keys are still encoded as the program expects.
    pub fn skip(&mut self, bytes: &[u8]) {
        if bytes.is_empty() {
            return;
        }
        self.skipped_bytes += bytes.len() as u64;
        self.cut_character();
        let mut tokenizer = std::mem::take(&mut self.tokenizer);
        let mut modes = SkippedModes::default();
        let mut rest = bytes;
        while !rest.is_empty() {
            let (used, token) = tokenizer.next(rest);
            rest = &rest[used..];
            match token {
                Token::Osc(string) => self.osc(string),
                token => modes.note(&token),
            }
        }
        self.tokenizer = tokenizer;
        self.resync(&modes.sequences());
    }

    /// Changes the size. Lines are wrapped anew on the normal screen; the work is that of all lines and the scrollback.
    pub fn resize(&mut self, size: Size) {
        if size != self.size {
            self.size = size;
            self.model.resize(size);
            self.generation += 1;
        }
    }

    /// The answers to the program's questions that may be written to it now.
    ///
    /// At most 4 KB wait, and at most 16 KB a second are handed out. Further answers are dropped whole and counted
    /// in [`Screen::dropped_answers`]. A clipboard is never read.
    pub fn take_answers(&mut self, now: Instant) -> Vec<u8> {
        self.answers.take(now)
    }

    /// True if answers wait for [`Screen::take_answers`].
    pub fn has_answers(&self) -> bool {
        self.answers.are_pending()
    }

    /// Answers that were dropped because the program asked faster than it may be answered.
    pub fn dropped_answers(&self) -> u64 {
        self.answers.dropped()
    }

    /// False while the program is in the middle of a synchronized update, for 150 ms at most.
    ///
    /// The screen shows every byte that was fed, whether settled or not: a reader never waits in vain. A renderer that
    /// draws often can wait for a settled screen, so that it shows no half-drawn one.
    pub fn is_settled(&mut self, now: Instant) -> bool {
        let Some(frame) = &mut self.frame else {
            return true;
        };
        let seen = *frame.seen.get_or_insert(now);
        let is_late = now.saturating_duration_since(seen) >= LONGEST_FRAME;
        if is_late {
            self.frame = None;
        }
        is_late
    }

    /// The screen as plain data.
    pub fn snapshot(&self) -> Snapshot {
        Snapshot {
            size: self.size,
            rows: (0..self.size.rows()).map(|row| self.row_text(row)).collect(),
            cursor: self.cursor(),
            title: self.title().map(str::to_owned),
            alternate: self.is_alternate(),
            scrollback: self.scrollback(),
            skipped_bytes: self.skipped_bytes,
            generation: self.generation,
        }
    }

    /// The size of the terminal.
    pub fn size(&self) -> Size {
        self.size
    }

    /// The text of a row without trailing blanks, counted from 0 at the top; empty below the last row.
    pub fn row_text(&self, row: u16) -> String {
        plain_text(self.cells(row))
    }

    /// The text of a row with its colors.
    ///
    /// Styles are written as `ESC [ 0 ; … m`, which models and terminals know. These sequences are the screen's own; no
    /// byte of the program's sequences passes. The row begins and ends in the default style.
    pub fn row_styled(&self, row: u16) -> String {
        styled_text(self.cells(row))
    }

    /// The cells of a row, for drawing them elsewhere; none below the last row.
    pub fn cells(&self, row: u16) -> impl Iterator<Item = Cell<'_>> {
        let row = (row < self.size.rows()).then(|| i32::from(row));
        row.into_iter().flat_map(|row| self.model.cells(row))
    }

    /// Lines that have scrolled off the top and are kept.
    pub fn scrollback(&self) -> usize {
        self.model.scrollback()
    }

    /// The text of a line that has scrolled off the top, without trailing blanks. Line 0 is the oldest; beyond the
    /// newest the text is empty.
    pub fn scrollback_text(&self, line: usize) -> String {
        let above = self.scrollback().checked_sub(line).and_then(|above| i32::try_from(above).ok());
        above.filter(|&above| above > 0).map(|above| plain_text(self.model.cells(-above))).unwrap_or_default()
    }

    /// The place of the cursor.
    pub fn cursor(&self) -> Cursor {
        self.model.cursor()
    }

    /// The window title: one line, at most 256 characters, without control characters.
    pub fn title(&self) -> Option<&str> {
        self.titles.current()
    }

    /// True if a full-screen program has switched to the alternate screen.
    pub fn is_alternate(&self) -> bool {
        self.model.is_alternate()
    }

    /// The modes for encoding keys and pastes now.
    pub fn modes(&self) -> Modes {
        self.model.modes()
    }

    /// A counter that grows whenever rows, cursor, title, size or modes may have changed.
    pub fn generation(&self) -> u64 {
        self.generation
    }

    /// Bytes that were passed over by [`Screen::skip`].
    pub fn skipped_bytes(&self) -> u64 {
        self.skipped_bytes
    }

    /// Bytes that the cells take, about: 24 a cell, for both screens and the scrollback.
    pub fn memory(&self) -> usize {
        self.model.memory()
    }

    fn carry_out(&mut self, token: Token<'_>, used: usize) -> u64 {
        match token {
            // Strings are read past much faster than text is drawn.
            Token::Nothing => used as u64 / 8,
            Token::Text(bytes) => self.text(bytes),
            Token::Break => self.cut_character(),
            Token::Escape { intermediate, last } => self.escape(intermediate, last),
            Token::Csi(csi) => self.csi(csi),
            Token::Osc(string) => {
                self.osc(string);
                used as u64 / 8 + string.len() as u64
            }
        }
    }

    fn text(&mut self, bytes: &[u8]) -> u64 {
        let mut text = String::with_capacity(bytes.len());
        self.decoder.decode(bytes, &mut text);
        let cost = self.text_cost(bytes);
        let mut start = 0;
        for (at, character) in text.char_indices() {
            if character.is_ascii() || character.width() != Some(0) {
                if !character.is_control() {
                    self.last_character = Some(character);
                }
                continue;
            }
            // The mark goes on the character before it, so that has to be on the screen first.
            self.pass(&text.as_bytes()[start..at], 0);
            start = at;
            if self.model.marks_at_cursor() >= MOST_MARKS {
                start += character.len_utf8();
            }
        }
        self.pass(&text.as_bytes()[start..], cost)
    }

    /// Ends a character whose last bytes never came.
    fn cut_character(&mut self) -> u64 {
        if self.decoder.cut() {
            self.last_character = Some(char::REPLACEMENT_CHARACTER);
            return self.pass("\u{fffd}".as_bytes(), 1);
        }
        0
    }

    fn osc(&mut self, string: &[u8]) {
        if let Some(title) = string.strip_prefix(b"0;").or_else(|| string.strip_prefix(b"2;")) {
            self.generation += u64::from(self.titles.set(title));
        }
    }

    /// Carries out whole sequences of our own as if the program had written them.
    fn resync(&mut self, sequences: &[u8]) {
        let mut tokenizer = Tokenizer::default();
        let mut rest = sequences;
        while !rest.is_empty() {
            let (used, token) = tokenizer.next(rest);
            self.carry_out(token, used);
            rest = &rest[used..];
        }
        self.last_character = None;
    }

    /// Hands whole sequences or text to the model, and returns `cost`.
    pub(crate) fn pass(&mut self, bytes: &[u8], cost: u64) -> u64 {
        if !bytes.is_empty() {
            self.model.write(bytes);
            self.generation += 1;
        }
        cost
    }

    /// The work of text: each character, and each new line, whether asked for or by wrapping.
    fn text_cost(&self, text: &[u8]) -> u64 {
        let line_feeds = text.iter().filter(|byte| matches!(byte, b'\n'..=0x0c)).count() as u64;
        let length = text.len() as u64;
        self.writing_cost(length, line_feeds + length / self.columns())
    }

    /// The work of a number of characters and of new lines.
    pub(crate) fn writing_cost(&self, characters: u64, lines: u64) -> u64 {
        let each = if self.model.inserts() { self.columns() } else { 4 };
        characters * each + lines * self.line_cost()
    }

    /// The work of one new line at the bottom of the screen.
    pub(crate) fn line_cost(&self) -> u64 {
        u64::from(self.size.rows()) + self.columns()
    }

    pub(crate) fn columns(&self) -> u64 {
        self.size.columns().into()
    }
}

impl fmt::Debug for Screen {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Screen")
            .field("size", &self.size)
            .field("generation", &self.generation)
            .finish_non_exhaustive()
    }
}
