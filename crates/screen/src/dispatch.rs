//! The list of sequences that reach the screen model, each with its cost.
//!
//! A sequence that is not listed here has no effect: nothing of a clipboard, of Kitty's keyboard protocol, of
//! hyperlinks, palettes or images gets to the model. Parameters are clamped to the screen before they do.

use crate::Screen;
use crate::tokenizer::{Csi, Parameter};

/// Work of a sequence that only moves the cursor or flips a switch. Writing and parsing it costs more than its effect.
const SMALL: u64 = 128;

/// Work of a sequence that never reaches the model.
const IGNORED: u64 = 16;

/// Private modes that are passed on by their own number.
const PASSED_MODES: [u16; 11] = [1, 6, 7, 25, 1000, 1002, 1003, 1004, 1005, 1006, 2004];

/// Private modes whose state outlasts output that was skipped. Origin mode does not: its margins are unknown then.
pub(crate) const TRACKED_MODES: [u16; 14] = [1, 7, 25, 47, 1000, 1002, 1003, 1004, 1005, 1006, 1047, 1049, 2004, 2026];

/// Turns insert and origin mode, application keys, attributes, character sets and margins back to their defaults.
/// The cursor stays where it is.
const SOFT_RESET: &[u8] = b"\x1b[?6l\x1b7\x1b[r\x1b8\x1b[4l\x1b[?7h\x1b[?1l\x1b[?25h\x1b>\x1b[m\x1b(B\x1b)B\x0f";

impl Screen {
    /// Carries out an escape sequence, and returns its work.
    pub(crate) fn escape(&mut self, intermediate: Option<u8>, last: u8) -> u64 {
        let cells = self.size.cells();
        match (intermediate, last) {
            (None, b'7' | b'8' | b'H' | b'=' | b'>') => self.pass(&[0x1b, last], SMALL),
            (None, b'D' | b'E' | b'M') => self.pass(&[0x1b, last], self.line_cost()),
            (None, b'c') => {
                self.frame = None;
                self.last_character = None;
                self.pass(b"\x1bc", 2 * cells)
            }
            (None, b'Z') => self.answer(b"\x1b[?62;22c".to_vec()),
            (Some(b'#'), b'8') => self.pass(b"\x1b#8", cells),
            // Line drawing, or letters: the national sets are not in use any more.
            (Some(set @ (b'(' | b')' | b'*' | b'+')), _) => {
                let charset = if last == b'0' { b'0' } else { b'B' };
                self.pass(&[0x1b, set, charset], SMALL)
            }
            _ => IGNORED,
        }
    }

    /// Carries out a control sequence, and returns its work.
    pub(crate) fn csi(&mut self, csi: &Csi) -> u64 {
        match (csi.marker, csi.intermediate) {
            (None, None) => self.plain_csi(csi),
            (Some(b'?'), None) => match csi.last {
                b'h' | b'l' => self.private_modes(csi),
                b'n' if csi.parameter(0, 0) == 6 => self.answer_cursor("?"),
                b'W' if csi.parameter(0, 0) == 5 => self.pass(b"\x1b[?5W", self.columns()),
                _ => IGNORED,
            },
            (Some(b'>'), None) if csi.last == b'c' && csi.parameter(0, 0) == 0 => {
                self.answer(b"\x1b[>0;10;1c".to_vec())
            }
            (Some(b'?'), Some(b'$')) if csi.last == b'p' => self.answer_mode(csi.parameter(0, 0)),
            (None, Some(b'!')) if csi.last == b'p' => self.pass(SOFT_RESET, 12 * SMALL),
            _ => IGNORED,
        }
    }

    fn plain_csi(&mut self, csi: &Csi) -> u64 {
        let (columns, rows) = (self.size.columns(), self.size.rows());
        let first = csi.parameter(0, 1);
        match csi.last {
            b'A'..=b'G' | b'`' | b'a' | b'd' | b'e' => self.rewrite(csi.last, &[first.min(columns.max(rows))], SMALL),
            b'H' | b'f' => self.rewrite(csi.last, &[first.min(rows), csi.parameter(1, 1).min(columns)], SMALL),
            b'@' | b'P' | b'X' => self.rewrite(csi.last, &[first.min(columns)], self.columns()),
            b'K' => self.rewrite(b'K', &[csi.parameter(0, 0)], self.columns()),
            b'J' => self.erase(csi.parameter(0, 0)),
            b'L' | b'M' | b'S' => self.scroll(csi.last, first),
            // With more parameters it is about the mouse.
            b'T' if csi.parameters.len() < 2 => self.scroll(b'T', first),
            b'I' | b'Z' => {
                let count = first.min(columns);
                self.rewrite(csi.last, &[count], u64::from(count) * self.columns())
            }
            b'b' => self.repeat(first),
            b'g' => self.rewrite(b'g', &[csi.parameter(0, 0)], self.columns()),
            b'h' | b'l' => self.public_modes(csi),
            b'm' => self.pass_parameters(csi),
            b'r' => self.margins(first, csi.parameter(1, rows).min(rows)),
            b's' | b'u' if csi.parameters.is_empty() => self.pass(&[0x1b, b'[', csi.last], SMALL),
            b'c' if csi.parameter(0, 0) == 0 => self.answer(b"\x1b[?62;22c".to_vec()),
            b'n' => match csi.parameter(0, 0) {
                5 => self.answer(b"\x1b[0n".to_vec()),
                6 => self.answer_cursor(""),
                _ => IGNORED,
            },
            b't' => self.window(csi),
            _ => IGNORED,
        }
    }

    fn erase(&mut self, part: u16) -> u64 {
        // The model forgets the first row when it erases everything up to the second one.
        if part == 1 && self.model.cursor().row == 1 {
            self.pass(b"\x1b[A\x1b[2K\x1b[B", self.columns());
        }
        self.rewrite(b'J', &[part], self.size.cells())
    }

    fn scroll(&mut self, last: u8, lines: u16) -> u64 {
        let lines = lines.min(self.size.rows());
        self.rewrite(last, &[lines], u64::from(self.size.rows()) + u64::from(lines) * self.columns())
    }

    /// Repeats the last character. The model's own repetition would repeat combining characters, too, without end.
    fn repeat(&mut self, times: u16) -> u64 {
        let Some(character) = self.last_character else {
            return IGNORED;
        };
        let most = if self.model.inserts() { self.columns() } else { self.size.cells() };
        let times = u64::from(times).min(most);
        // A wide character takes two columns.
        let cost = self.writing_cost(times, 2 * times / self.columns());
        let text: String = (0..times).map(|_| character).collect();
        self.pass(text.as_bytes(), cost)
    }

    /// Sets the scrolling region. The model takes margins that are below its screen, so those are dropped here.
    fn margins(&mut self, top: u16, bottom: u16) -> u64 {
        if top >= bottom {
            return IGNORED;
        }
        self.rewrite(b'r', &[top, bottom], SMALL)
    }

    fn public_modes(&mut self, csi: &Csi) -> u64 {
        for mode in [4, 20] {
            if csi.parameters.iter().any(|parameter| parameter.value == mode) {
                self.rewrite(csi.last, &[mode], SMALL);
            }
        }
        2 * SMALL
    }

    fn private_modes(&mut self, csi: &Csi) -> u64 {
        let mut work = IGNORED;
        // A mode that is named twice in one sequence is set once.
        for (index, &Parameter { value, .. }) in csi.parameters.iter().enumerate() {
            if !csi.parameters[..index].iter().any(|earlier| earlier.value == value) {
                work += self.private_mode(value, csi.last == b'h');
            }
        }
        work
    }

    fn private_mode(&mut self, number: u16, on: bool) -> u64 {
        let last = if on { 'h' } else { 'l' };
        match number {
            47 | 1047 | 1049 => self.pass(format!("\x1b[?1049{last}").as_bytes(), self.size.cells()),
            1048 => self.pass(if on { b"\x1b7" } else { b"\x1b8" }, SMALL),
            2026 => {
                self.frame = on.then_some(self.frame.unwrap_or_default());
                IGNORED
            }
            _ if PASSED_MODES.contains(&number) => self.pass(format!("\x1b[?{number}{last}").as_bytes(), SMALL),
            _ => 1,
        }
    }

    fn window(&mut self, csi: &Csi) -> u64 {
        match csi.parameter(0, 0) {
            18 => self.answer(format!("\x1b[8;{};{}t", self.size.rows(), self.size.columns()).into_bytes()),
            // The second parameter is 0 or 2 if the title is meant, and 1 for the icon's.
            22 if csi.parameter(1, 0) != 1 => {
                self.titles.push();
                2 * IGNORED
            }
            23 if csi.parameter(1, 0) != 1 => {
                self.generation += u64::from(self.titles.pop());
                2 * IGNORED
            }
            _ => IGNORED,
        }
    }

    /// Passes on colors and attributes as they are: numbers with semicolons and colons.
    fn pass_parameters(&mut self, csi: &Csi) -> u64 {
        let mut sequence = String::from("\x1b[");
        for (index, parameter) in csi.parameters.iter().enumerate() {
            match parameter.joined {
                true => sequence.push(':'),
                false if index > 0 => sequence.push(';'),
                false => {}
            }
            sequence.push_str(&parameter.value.to_string());
        }
        sequence.push('m');
        self.pass(sequence.as_bytes(), SMALL + csi.parameters.len() as u64)
    }

    /// Writes a sequence anew from its parameters.
    fn rewrite(&mut self, last: u8, parameters: &[u16], cost: u64) -> u64 {
        let numbers: Vec<String> = parameters.iter().map(u16::to_string).collect();
        self.pass(format!("\x1b[{}{}", numbers.join(";"), char::from(last)).as_bytes(), cost)
    }

    fn answer(&mut self, answer: Vec<u8>) -> u64 {
        self.answers.push(answer);
        2 * IGNORED
    }

    fn answer_cursor(&mut self, marker: &str) -> u64 {
        let cursor = self.model.cursor();
        self.answer(format!("\x1b[{marker}{};{}R", cursor.row + 1, cursor.column + 1).into_bytes())
    }

    fn answer_mode(&mut self, number: u16) -> u64 {
        let is_set = if number == 2026 { Some(self.frame.is_some()) } else { self.model.private_mode(number) };
        let state = match is_set {
            None => 0,
            Some(true) => 1,
            Some(false) => 2,
        };
        self.answer(format!("\x1b[?{number};{state}$y").into_bytes())
    }
}
