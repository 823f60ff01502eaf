//! The modes of a screen that programs have turned on, learned from what they write.
//!
//! A program that is killed or paused leaves them on, and whoever has the terminal next would have to live with them. Text is not
//! looked at. Memory is bounded.

/// Modes that programs with a screen change, and that a shell does not expect changed: application keys, the visible cursor, mouse
/// reports and their forms, the alternate screen, pasting marks, synchronized output.
const MODES: [u16; 15] = [1, CURSOR, 47, 1000, 1002, 1003, 1004, 1005, 1006, 1015, 1016, 1047, 1049, 2004, 2026];

/// The mode of the visible cursor, which is on by itself.
const CURSOR: u16 = 25;

/// No parameters of a sequence that counts here are longer.
const LONGEST: usize = 64;

const ESCAPE: u8 = 0x1b;
const BELL: u8 = 0x07;

/// The modes that the program has turned on.
#[derive(Debug, Default)]
pub(super) struct ScreenModes {
    state: State,
    /// Modes that are not as by themselves, in the order in which they were changed.
    changed: Vec<u16>,
    has_keypad: bool,
    is_colored: bool,
    /// The flags with which Kitty's keyboard protocol was turned on, each time.
    keyboards: Vec<String>,
    /// Text stands left of the cursor.
    is_mid_line: bool,
}

/// The place in an escape sequence.
#[derive(Debug, Default, PartialEq, Eq)]
enum State {
    #[default]
    Text,
    Escape,
    /// After `ESC [`.
    Control(Vec<u8>),
    /// In a text for the terminal, such as a title.
    String,
}

impl ScreenModes {
    /// Takes what was written.
    pub(super) fn push(&mut self, mut bytes: &[u8]) {
        while let Some((first, rest)) = bytes.split_first() {
            if self.state == State::Text {
                let text = bytes.iter().position(|byte| *byte == ESCAPE).unwrap_or(bytes.len());
                if let Some(last) = bytes[..text].last() {
                    self.is_mid_line = !matches!(last, b'\n' | b'\r');
                    bytes = &bytes[text..];
                    continue;
                }
            }
            self.step(*first);
            bytes = rest;
        }
    }

    fn step(&mut self, byte: u8) {
        if byte == ESCAPE {
            self.state = State::Escape;
            return;
        }
        match &mut self.state {
            State::Escape => self.escaped(byte),
            State::Control(parameters) => match byte {
                0x20..=0x3f if parameters.len() < LONGEST => parameters.push(byte),
                0x40..=0x7e => {
                    let parameters = String::from_utf8_lossy(parameters).into_owned();
                    self.state = State::Text;
                    self.control(&parameters, byte);
                }
                _ => {}
            },
            State::String if byte == BELL => self.state = State::Text,
            State::String | State::Text => {}
        }
    }

    fn escaped(&mut self, byte: u8) {
        self.state = match byte {
            b'[' => State::Control(Vec::new()),
            b']' | b'P' | b'_' | b'^' | b'X' => State::String,
            // The byte behind it names a character set.
            0x20..=0x2f => State::Escape,
            _ => State::Text,
        };
        match byte {
            b'=' => self.has_keypad = true,
            b'>' => self.has_keypad = false,
            // Everything is as after switching the terminal on.
            b'c' => *self = Self::default(),
            _ => {}
        }
    }

    fn control(&mut self, parameters: &str, last: u8) {
        match (parameters.as_bytes().first(), last) {
            (Some(b'?'), b'h' | b'l') => {
                for mode in parameters[1..].split(';').filter_map(|mode| mode.parse().ok()) {
                    self.switch(mode, last == b'h');
                }
            }
            // One that pushes without end is not followed.
            (Some(b'>'), b'u') if self.keyboards.len() < LONGEST => self.keyboards.push(parameters[1..].to_owned()),
            (Some(b'<'), b'u') => {
                let count = parameters[1..].parse().unwrap_or(1);
                self.keyboards.truncate(self.keyboards.len().saturating_sub(count));
            }
            (None | Some(b'0'..=b'9' | b';'), b'm') => {
                self.is_colored = parameters.split(';').any(|color| !matches!(color, "" | "0" | "39" | "49"));
            }
            _ => {}
        }
    }

    fn switch(&mut self, mode: u16, on: bool) {
        if !MODES.contains(&mode) {
            return;
        }
        self.changed.retain(|other| *other != mode && !(is_alternate(mode) && is_alternate(*other)));
        if on != is_on_by_itself(mode) {
            self.changed.push(mode);
        }
        // Its lines are gone, and the cursor is where the program began.
        self.is_mid_line &= !is_alternate(mode);
    }

    /// True if anything is on that a shell does not expect.
    pub(super) fn is_in_use(&self) -> bool {
        !self.changed.is_empty() || self.has_keypad || self.is_colored || !self.keyboards.is_empty()
    }

    /// True if what is printed next would stand behind other text.
    pub(super) fn is_mid_line(&self) -> bool {
        self.is_mid_line
    }

    /// Turns on again what is on, after somebody else has had the terminal. Colors come with the next text.
    pub(super) fn again(&self) -> String {
        let switch = |mode: u16| if is_on_by_itself(mode) { 'l' } else { 'h' };
        let modes = self.changed.iter().map(|mode| format!("\x1b[?{mode}{}", switch(*mode)));
        let keyboards = self.keyboards.iter().map(|flags| format!("\x1b[>{flags}u"));
        let mut again: String = modes.chain(keyboards).collect();
        again.push_str(if self.has_keypad { "\x1b=" } else { "" });
        again
    }
}

fn is_on_by_itself(mode: u16) -> bool {
    mode == CURSOR
}

fn is_alternate(mode: u16) -> bool {
    matches!(mode, 47 | 1047 | 1049)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Pushed whole and byte by byte.
    #[track_caller]
    fn check(written: &str, again: &str, is_in_use: bool) {
        for size in [written.len().max(1), 1] {
            let mut screen = ScreenModes::default();
            written.as_bytes().chunks(size).for_each(|piece| screen.push(piece));
            assert_eq!((screen.again().as_str(), screen.is_in_use()), (again, is_in_use), "{written:?}");
        }
    }

    #[test]
    fn a_program_that_ended_well_leaves_nothing_on() {
        check("hello\r\n", "", false);
        check("\x1b[?1049h\x1b[?25l\x1b=\x1b[?1hhi\x1b[?25h\x1b>\x1b[?1l\x1b[?1049l", "", false);
        check("\x1b[31mred\x1b[0m and \x1b[1;32mgreen\x1b[m", "", false);
        check("\x1b[?1000;1006h\x1b[?1006;1000l", "", false);
        check("\x1b[>1u\x1b[<u", "", false);
        check("\x1b[?1049h\x1bc", "", false);
    }

    #[test]
    fn modes_that_stay_on_are_known() {
        check("\x1b[?1049h\x1b[?25lmenu", "\x1b[?1049h\x1b[?25l", true);
        check("\x1b[?1000;1006h", "\x1b[?1000h\x1b[?1006h", true);
        check("\x1b[?2004h\x1b=\x1b[>5u", "\x1b[?2004h\x1b[>5u\x1b=", true);
        check("\x1b[31mred", "", true);
    }

    #[test]
    fn sequences_in_titles_and_other_texts_do_not_count() {
        check("\x1b]0;[?1049h\x07", "", false);
        check("\x1bP[?1049h\x1b\\", "", false);
        check("[?1049h", "", false);
        check("\x1b[38;5;1", "", false);
        check(&format!("\x1b[?{}1049h", "1;".repeat(100)), "\x1b[?1h", true);
    }

    #[test]
    fn the_beginning_of_a_line_is_known() {
        let is_mid_line = |written: &str| {
            let mut screen = ScreenModes::default();
            screen.push(written.as_bytes());
            screen.is_mid_line()
        };
        assert!(is_mid_line("hi") && is_mid_line("a\r\nb\x1b[0m") && is_mid_line("^C"));
        assert!(!is_mid_line("") && !is_mid_line("hi\r\n\x1b(B\x1b[m") && !is_mid_line("\x1b[?1049hhi\x1b[?1049l"));
    }
}
