//! Keys and pastes as bytes, the way xterm sends them.

use crate::Modes;
use crate::keys::key::{Code, Key, Modifiers};

/// Marks around a paste, in programs that ask for them.
pub(crate) const PASTE_START: &[u8] = b"\x1b[200~";
pub(crate) const PASTE_END: &[u8] = b"\x1b[201~";

impl Key {
    /// The bytes that xterm sends for the key in these modes.
    ///
    /// A modifier that the key has no bytes for is left out: Ctrl with Enter is Enter.
    pub fn encode(self, modes: Modes) -> Vec<u8> {
        let Modifiers { ctrl, alt, shift } = self.modifiers;
        let plain = match self.code {
            Code::Char(c) => {
                let control = if ctrl { control_character(c) } else { None };
                control.map_or_else(|| c.to_string().into_bytes(), |control| vec![control])
            }
            Code::Enter => b"\r".to_vec(),
            Code::Tab if shift => b"\x1b[Z".to_vec(),
            Code::Tab => b"\t".to_vec(),
            Code::Escape => b"\x1b".to_vec(),
            Code::Backspace => vec![if ctrl { 0x08 } else { 0x7f }],
            Code::Keypad(c) => keypad(c, modes),
            Code::Up => return self.letter('A', modes.application_cursor),
            Code::Down => return self.letter('B', modes.application_cursor),
            Code::Right => return self.letter('C', modes.application_cursor),
            Code::Left => return self.letter('D', modes.application_cursor),
            Code::Home => return self.letter('H', modes.application_cursor),
            Code::End => return self.letter('F', modes.application_cursor),
            Code::Insert => return self.tilde(2),
            Code::Delete => return self.tilde(3),
            Code::PageUp => return self.tilde(5),
            Code::PageDown => return self.tilde(6),
            Code::Function(number) => return self.function(number),
        };
        if alt { [b"\x1b", plain.as_slice()].concat() } else { plain }
    }

    /// Arrows and the like: `ESC O A` or `ESC [ A`, and `ESC [ 1 ; 5 A` with modifiers.
    fn letter(self, last: char, application: bool) -> Vec<u8> {
        match self.modifiers.number() {
            1 if application => format!("\x1bO{last}"),
            1 => format!("\x1b[{last}"),
            number => format!("\x1b[1;{number}{last}"),
        }
        .into_bytes()
    }

    fn tilde(self, key: u8) -> Vec<u8> {
        match self.modifiers.number() {
            1 => format!("\x1b[{key}~"),
            number => format!("\x1b[{key};{number}~"),
        }
        .into_bytes()
    }

    fn function(self, number: u8) -> Vec<u8> {
        // The numbers have gaps for historical reasons.
        match number {
            0..=1 => self.letter('P', true),
            2 => self.letter('Q', true),
            3 => self.letter('R', true),
            4 => self.letter('S', true),
            5 => self.tilde(15),
            6..=10 => self.tilde(number + 11),
            11 => self.tilde(23),
            12.. => self.tilde(24),
        }
    }
}

impl Modifiers {
    /// The modifiers as xterm counts them, from 1.
    fn number(self) -> u8 {
        1 + u8::from(self.shift) + 2 * u8::from(self.alt) + 4 * u8::from(self.ctrl)
    }

    /// The reverse of xterm's count. Super, Hyper and locks are left out.
    pub(crate) fn from_number(number: u16) -> Self {
        let bits = number.saturating_sub(1);
        Self { shift: bits & 1 != 0, alt: bits & 2 != 0, ctrl: bits & 4 != 0 }
    }
}

fn keypad(c: char, modes: Modes) -> Vec<u8> {
    let letter = match c {
        _ if !modes.application_keypad => None,
        '0'..='9' => char::from_u32(u32::from(c) - u32::from('0') + u32::from('p')),
        '*' => Some('j'),
        '+' => Some('k'),
        '-' => Some('m'),
        '.' => Some('n'),
        '/' => Some('o'),
        '=' => Some('X'),
        '\r' => Some('M'),
        _ => None,
    };
    letter.map_or_else(|| c.to_string(), |letter| format!("\x1bO{letter}")).into_bytes()
}

/// The control character that Ctrl makes of `c`; `None` if there is none.
pub(crate) fn control_character(c: char) -> Option<u8> {
    let byte = u8::try_from(c).ok()?;
    match byte {
        b'a'..=b'z' | b'A'..=b'Z' | b'@' | b'['..=b'_' => Some(byte & 0x1f),
        b' ' | b'2' => Some(0),
        b'3'..=b'7' => Some(byte - b'3' + 0x1b),
        b'/' => Some(0x1f),
        b'?' | b'8' => Some(0x7f),
        _ => None,
    }
}

/// The bytes of pasted text.
///
/// Text of several lines is enclosed in paste marks if the program asks for them, so that an editor does not indent it
/// line by line and a shell does not run it line by line. The end mark is taken out of the text: text after it would
/// otherwise count as typed. Line ends are sent as Enter, as terminals do; other control characters as they are.
///
/// ```
/// use bashful_screen::{Modes, paste};
///
/// let modes = Modes { bracketed_paste: true, ..Modes::default() };
/// assert_eq!(paste("one\u{3}", modes), b"one\x03");
/// assert_eq!(paste("one\ntwo\x1b[201~rm", modes), b"\x1b[200~one\rtworm\x1b[201~");
/// assert_eq!(paste("one\ntwo", Modes::default()), b"one\rtwo");
/// ```
pub fn paste(text: &str, modes: Modes) -> Vec<u8> {
    let text = text.replace("\r\n", "\r").replace('\n', "\r");
    if !modes.bracketed_paste || !text.contains('\r') {
        return text.into_bytes();
    }
    let mut bytes = PASTE_START.to_vec();
    for byte in text.bytes() {
        bytes.push(byte);
        // Checked after every byte, because taking out one mark may join the parts of another.
        if bytes.len() > PASTE_START.len() && bytes.ends_with(PASTE_END) {
            bytes.truncate(bytes.len() - PASTE_END.len());
        }
    }
    bytes.extend(PASTE_END);
    bytes
}
