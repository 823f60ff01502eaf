//! Keys that a user's terminal sends, as bytes, back to keys.
//!
//! Both forms are understood: the legacy one of xterm, and Kitty's `CSI … u`. The result is a [`Key`], which is then
//! encoded for the program in the modes that the program has set.

use std::time::{Duration, Instant};

use crate::keys::encode::{PASTE_END, PASTE_START};
use crate::keys::key::{Code, Key, Modifiers};

/// Time after which a lone ESC is the Escape key. A terminal sends the bytes of a sequence at once; a slow connection
/// may cut it in two. vim and tmux wait as long or longer.
const ESCAPE_WAIT: Duration = Duration::from_millis(50);

/// Bytes of a sequence. A longer one is no key.
const LONGEST_SEQUENCE: usize = 64;

/// Bytes of one [`Decoded::Paste`]. A longer paste is dropped as a whole: half of one may do what nobody wanted.
const LONGEST_PASTE: usize = 1024 * 1024;

/// Input from a user's terminal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Decoded {
    /// A key that was pressed or repeats.
    Key(Key),
    /// Pasted text, without its marks. Bytes, because a paste need not be UTF-8.
    Paste(Vec<u8>),
    /// A paste of more than 1 MiB, which was dropped.
    PasteTooLong {
        /// Its length in bytes.
        bytes: u64,
    },
    /// A whole sequence that is no key: a mouse event, a change of focus, an answer of the terminal.
    Other(Vec<u8>),
}

/// Decodes the input of a user's terminal.
///
/// ```
/// use std::time::{Duration, Instant};
/// use bashful_screen::{Decoded, KeyDecoder};
///
/// let key = |name: &str| Decoded::Key(name.parse().unwrap());
/// let mut decoder = KeyDecoder::default();
/// let now = Instant::now();
/// assert_eq!(decoder.feed(b"a\x1b[1;5C\x1b[99;5u\x1b", now), [key("a"), key("C-Right"), key("C-c")]);
///
/// // The last ESC may be a key, or the start of a sequence. Time tells.
/// assert_eq!(decoder.deadline(), Some(now + Duration::from_millis(50)));
/// assert_eq!(decoder.expire(now + Duration::from_millis(50)), [key("Escape")]);
/// ```
#[derive(Debug, Default)]
pub struct KeyDecoder {
    pending: Vec<u8>,
    /// The time of the last byte, if a sequence or character is incomplete.
    since: Option<Instant>,
    is_pasting: bool,
    /// Bytes of a paste that is too long.
    dropped: u64,
}

impl KeyDecoder {
    /// Takes bytes that were read at `now`, and returns the whole keys in them.
    pub fn feed(&mut self, bytes: &[u8], now: Instant) -> Vec<Decoded> {
        let mut decoded = self.expire(now);
        self.pending.extend_from_slice(bytes);
        self.drain(&mut decoded);
        if !bytes.is_empty() {
            self.since = (!self.pending.is_empty()).then_some(now);
        }
        decoded
    }

    /// The time at which [`KeyDecoder::expire`] has to be called, unless more bytes come before.
    pub fn deadline(&self) -> Option<Instant> {
        // The rest of a character may come late. Nothing is decided by waiting for it.
        let is_sequence = !self.is_pasting && self.pending.first() == Some(&0x1b);
        self.since.filter(|_| is_sequence).map(|since| since + ESCAPE_WAIT)
    }

    /// Decides about incomplete bytes whose time is up: a lone ESC is the Escape key.
    pub fn expire(&mut self, now: Instant) -> Vec<Decoded> {
        let mut decoded = Vec::new();
        if self.deadline().is_none_or(|deadline| now < deadline) {
            return decoded;
        }
        self.since = None;
        match *self.pending.as_slice() {
            [0x1b] => decoded.push(Key::from(Code::Escape).into()),
            // Two strokes of Escape, or Escape held down with Alt: the same to a program.
            [0x1b, 0x1b] => decoded.extend([Code::Escape; 2].map(|code| Key::from(code).into())),
            // The start of a sequence alone: Alt with that character.
            [0x1b, byte] => decoded.push(Key { code: Code::Char(char::from(byte)), modifiers: ALT }.into()),
            _ => decoded.push(Decoded::Other(self.pending.clone())),
        }
        self.pending.clear();
        decoded
    }

    fn drain(&mut self, decoded: &mut Vec<Decoded>) {
        let bytes = std::mem::take(&mut self.pending);
        let mut rest = bytes.as_slice();
        while !rest.is_empty() {
            let step = if self.is_pasting { paste_step(rest) } else { key_step(rest) };
            let Some((used, found)) = step else {
                break;
            };
            rest = &rest[used..];
            match found {
                Found::PasteStart => self.is_pasting = true,
                Found::PasteEnd(text) => {
                    self.is_pasting = false;
                    let bytes = std::mem::take(&mut self.dropped) + text.len() as u64;
                    let is_long = bytes > LONGEST_PASTE as u64;
                    decoded.push(if is_long { Decoded::PasteTooLong { bytes } } else { Decoded::Paste(text) });
                }
                Found::PasteDropped => self.dropped += used as u64,
                Found::Input(input) => decoded.push(input),
                Found::Nothing => {}
            }
        }
        self.pending = rest.to_vec();
    }
}

impl From<Key> for Decoded {
    fn from(key: Key) -> Self {
        Self::Key(key)
    }
}

const ALT: Modifiers = Modifiers { ctrl: false, alt: true, shift: false };

enum Found {
    Input(Decoded),
    /// A key that was let go, or a modifier alone.
    Nothing,
    PasteStart,
    PasteEnd(Vec<u8>),
    /// A part of a paste that is too long.
    PasteDropped,
}

impl From<Code> for Found {
    fn from(code: Code) -> Self {
        Self::Input(Key::from(code).into())
    }
}

fn paste_step(bytes: &[u8]) -> Option<(usize, Found)> {
    if let Some(at) = memchr::memmem::find(bytes, PASTE_END) {
        return Some((at + PASTE_END.len(), Found::PasteEnd(bytes[..at].to_vec())));
    }
    // The end mark may be cut, so its length stays behind.
    (bytes.len() > LONGEST_PASTE + PASTE_END.len()).then(|| (bytes.len() - PASTE_END.len(), Found::PasteDropped))
}

/// The first key of `bytes` and its length; `None` if more bytes may belong to it.
fn key_step(bytes: &[u8]) -> Option<(usize, Found)> {
    match *bytes {
        [0x1b, b'[', ..] => csi_step(bytes),
        [0x1b, b'O', last @ 0x40..=0x7e, ..] => Some((3, ss3(last).map_or_else(|| other(&bytes[..3]), Found::from))),
        [0x1b] | [0x1b, b'O'] => None,
        [0x1b, b'O', ..] => Some((2, Found::Input(Key { code: Code::Char('O'), modifiers: ALT }.into()))),
        // Alt with a key is ESC before it. Of two escapes only the second one may begin a sequence.
        [0x1b, 0x1b, ..] if bytes.len() == 2 => None,
        [0x1b, 0x1b, ..] => Some((1, Code::Escape.into())),
        [0x1b, ..] => {
            let (used, found) = key_step(&bytes[1..])?;
            let found = match found {
                Found::Input(Decoded::Key(mut key)) => {
                    key.modifiers.alt = true;
                    Found::Input(key.into())
                }
                found => found,
            };
            Some((used + 1, found))
        }
        _ => character_step(bytes),
    }
}

fn character_step(bytes: &[u8]) -> Option<(usize, Found)> {
    let start = &bytes[..bytes.len().min(4)];
    let text = match std::str::from_utf8(start) {
        Ok(text) => text,
        Err(error) if error.valid_up_to() > 0 => {
            std::str::from_utf8(&start[..error.valid_up_to()]).expect("the bytes before the error are valid")
        }
        Err(error) => {
            let length = error.error_len()?;
            return Some((length, other(&start[..length])));
        }
    };
    let character = text.chars().next()?;
    Some((character.len_utf8(), Found::Input(legacy_key(character).into())))
}

/// The key of a character, control characters included.
pub(crate) fn legacy_key(character: char) -> Key {
    let ctrl = Modifiers { ctrl: true, ..Modifiers::default() };
    match character {
        '\r' => Code::Enter.into(),
        '\t' => Code::Tab.into(),
        '\u{1b}' => Code::Escape.into(),
        '\u{7f}' => Code::Backspace.into(),
        '\0' => Key { code: Code::Char(' '), modifiers: ctrl },
        '\u{1}'..='\u{1a}' => Key { code: Code::Char(char::from(character as u8 | 0x60)), modifiers: ctrl },
        '\u{1c}'..='\u{1f}' => Key { code: Code::Char(char::from(character as u8 | 0x40)), modifiers: ctrl },
        _ => Code::Char(character).into(),
    }
}

/// `ESC [`, parameters and a final byte.
fn csi_step(bytes: &[u8]) -> Option<(usize, Found)> {
    let body = &bytes[2..];
    let Some(end) = body.iter().position(|byte| !matches!(byte, 0x20..=0x3f)) else {
        // Too long for a key: it is passed on as it is.
        return (body.len() > LONGEST_SEQUENCE).then(|| (bytes.len(), other(bytes)));
    };
    if !matches!(body[end], 0x40..=0x7e) {
        return Some((2 + end, other(&bytes[..2 + end])));
    }
    let length = end + 3;
    let sequence = &bytes[..length];
    if sequence == PASTE_START {
        return Some((length, Found::PasteStart));
    }
    // The old form of a mouse event has three bytes behind it.
    if sequence == b"\x1b[M" {
        return (bytes.len() >= length + 3).then(|| (length + 3, other(&bytes[..length + 3])));
    }
    let numbers = std::str::from_utf8(&body[..end]).ok().and_then(Numbers::parse);
    let found = numbers.and_then(|numbers| csi_key(&numbers, body[end]));
    Some((length, found.unwrap_or_else(|| other(sequence))))
}

/// The numbers of a key's sequence: `CODE[:SHIFTED[:BASE]] ; MODIFIERS[:EVENT] [; TEXT]`.
struct Numbers {
    code: u32,
    modifiers: u16,
    event: u16,
}

impl Numbers {
    fn parse(text: &str) -> Option<Self> {
        let mut fields = text.split(';');
        let number = |text: &str, default: u32| if text.is_empty() { Some(default) } else { text.parse().ok() };
        let code = number(fields.next()?.split(':').next()?, 1)?;
        let mut held = fields.next().unwrap_or_default().split(':');
        let modifiers = number(held.next()?, 1)?;
        let event = number(held.next().unwrap_or_default(), 1)?;
        Some(Self { code, modifiers: u16::try_from(modifiers).ok()?, event: u16::try_from(event).ok()? })
    }
}

fn csi_key(numbers: &Numbers, last: u8) -> Option<Found> {
    /// Kitty's number of the event that a key was let go.
    const RELEASE: u16 = 3;
    let modifiers = Modifiers::from_number(numbers.modifiers);
    let code = match last {
        b'Z' => {
            return Some(Found::Input(
                Key { code: Code::Tab, modifiers: Modifiers { shift: true, ..modifiers } }.into(),
            ));
        }
        b'~' => tilde(numbers.code)?,
        b'u' if is_modifier(numbers.code) => return Some(Found::Nothing),
        b'u' => kitty(numbers.code)?,
        b'A'..=b'H' | b'P'..=b'S' => ss3(last)?,
        _ => return None,
    };
    if numbers.event == RELEASE {
        return Some(Found::Nothing);
    }
    let mut key = Key { code, modifiers };
    // Kitty names the unshifted key: Shift with `a` is `A`. Other keys' shifted forms depend on the keyboard.
    if let Code::Char(c) = code
        && modifiers.shift
        && !modifiers.ctrl
        && c.is_ascii_lowercase()
    {
        key = Key { code: Code::Char(c.to_ascii_uppercase()), modifiers: Modifiers { shift: false, ..modifiers } };
    }
    Some(Found::Input(key.into()))
}

fn tilde(number: u32) -> Option<Code> {
    Some(match number {
        1 | 7 => Code::Home,
        2 => Code::Insert,
        3 => Code::Delete,
        4 | 8 => Code::End,
        5 => Code::PageUp,
        6 => Code::PageDown,
        11..=15 => Code::Function(u8::try_from(number - 10).ok()?),
        17..=21 => Code::Function(u8::try_from(number - 11).ok()?),
        23 | 24 => Code::Function(u8::try_from(number - 12).ok()?),
        _ => return None,
    })
}

/// The key of Kitty's number: a character, or one of its private use area.
fn kitty(number: u32) -> Option<Code> {
    Some(match number {
        13 => Code::Enter,
        9 => Code::Tab,
        27 => Code::Escape,
        127 => Code::Backspace,
        57_399..=57_408 => Code::Keypad(char::from_digit(number - 57_399, 10)?),
        57_409 => Code::Keypad('.'),
        57_410 => Code::Keypad('/'),
        57_411 => Code::Keypad('*'),
        57_412 => Code::Keypad('-'),
        57_413 => Code::Keypad('+'),
        57_414 => Code::Keypad('\r'),
        57_415 => Code::Keypad('='),
        57_417 => Code::Left,
        57_418 => Code::Right,
        57_419 => Code::Up,
        57_420 => Code::Down,
        57_421 => Code::PageUp,
        57_422 => Code::PageDown,
        57_423 => Code::Home,
        57_424 => Code::End,
        57_425 => Code::Insert,
        57_426 => Code::Delete,
        57_344..=63_743 => return None,
        _ => Code::Char(char::from_u32(number)?),
    })
}

/// Kitty's numbers of Shift, Ctrl and so on alone, of Caps Lock and its like.
fn is_modifier(number: u32) -> bool {
    matches!(number, 57_358..=57_360 | 57_441..=57_454)
}

/// The key of a final letter, in `ESC O A` and `ESC [ A` alike.
fn ss3(last: u8) -> Option<Code> {
    Some(match last {
        b'A' => Code::Up,
        b'B' => Code::Down,
        b'C' => Code::Right,
        b'D' => Code::Left,
        b'H' => Code::Home,
        b'F' => Code::End,
        b'P'..=b'S' => Code::Function(last - b'P' + 1),
        b'M' => Code::Keypad('\r'),
        b'X' => Code::Keypad('='),
        b'j' => Code::Keypad('*'),
        b'k' => Code::Keypad('+'),
        b'm' => Code::Keypad('-'),
        b'n' => Code::Keypad('.'),
        b'o' => Code::Keypad('/'),
        b'p'..=b'y' => Code::Keypad(char::from(last - b'p' + b'0')),
        _ => return None,
    })
}

fn other(bytes: &[u8]) -> Found {
    Found::Input(Decoded::Other(bytes.to_vec()))
}
