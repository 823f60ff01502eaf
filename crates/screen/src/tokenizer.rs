//! Splits a program's output into text and whole control sequences.
//!
//! Whoever reads a program's output tells its sequences apart here: the screen, and the engine's text for models. The screen
//! model gets nothing but text and sequences that are written anew from these tokens. So the model's own parser is at
//! rest between any two tokens, and no input can bring both out of step.
//!
//! Invariant: the tokenizer holds at most [`LONGEST_OSC`] bytes and [`MOST_PARAMETERS`] parameters, whatever comes in.

/// Bytes of text in one token. The budget is checked between tokens, so this bounds the work beyond it.
const LONGEST_TEXT: usize = 256;

/// Bytes kept of an OSC string. Only titles are of use, and they are far shorter. The rest is read past.
const LONGEST_OSC: usize = 4 * 1024;

/// Bytes of a string sequence that are read past in one token.
const LONGEST_STRING_STEP: usize = 64 * 1024;

/// Parameters of a sequence. Other terminals take 16 to 32; one with more is dropped.
const MOST_PARAMETERS: usize = 32;

/// A piece of output.
#[derive(Clone, Copy, Debug)]
pub enum Token<'a> {
    /// The bytes so far are no whole token, or one that has no effect.
    Nothing,
    /// Text and C0 control characters other than ESC.
    Text(&'a [u8]),
    /// An escape sequence began, so an incomplete character before it stays incomplete.
    Break,
    /// `ESC`, at most one intermediate byte, and a final one.
    Escape {
        /// The byte between, as `(` of `ESC ( B`.
        intermediate: Option<u8>,
        /// The final byte.
        last: u8,
    },
    /// `ESC [` and so on, up to its final byte.
    Csi(&'a Csi),
    /// The content of `ESC ] …`, at most 4 KiB.
    Osc(&'a [u8]),
}

/// A control sequence with its parameters.
#[derive(Debug, Default)]
pub struct Csi {
    /// `<`, `=`, `>` or `?` before the parameters.
    pub marker: Option<u8>,
    /// The numbers, at most 32.
    pub parameters: Vec<Parameter>,
    /// The byte before the final one, as the blank of `ESC [ 2 SP q`.
    pub intermediate: Option<u8>,
    /// The final byte, which names the sequence.
    pub last: u8,
    /// Too long, or not of the form that sequences have.
    is_malformed: bool,
}

/// One number of a sequence.
#[derive(Clone, Copy, Debug)]
pub struct Parameter {
    /// Zero if it was left out, and at most 65,535.
    pub value: u16,
    /// True if a colon joins the number to the one before it.
    pub joined: bool,
}

impl Csi {
    /// The parameter at `index`; `default` if it is missing or 0.
    pub fn parameter(&self, index: usize, default: u16) -> u16 {
        self.parameters.get(index).map(|parameter| parameter.value).filter(|&value| value != 0).unwrap_or(default)
    }

    fn clear(&mut self) {
        self.marker = None;
        self.parameters.clear();
        self.intermediate = None;
        self.is_malformed = false;
    }

    fn push(&mut self, byte: u8) {
        if self.intermediate.is_some() && !matches!(byte, 0x20..=0x2f) {
            self.is_malformed = true;
            return;
        }
        match byte {
            b'0'..=b'9' => self.push_digit(u16::from(byte - b'0')),
            b';' | b':' => self.push_parameter(byte == b':'),
            b'<'..=b'?' if self.marker.is_none() && self.parameters.is_empty() => self.marker = Some(byte),
            0x20..=0x2f if self.intermediate.is_none() => self.intermediate = Some(byte),
            _ => self.is_malformed = true,
        }
    }

    fn push_digit(&mut self, digit: u16) {
        if self.parameters.is_empty() {
            self.parameters.push(Parameter { value: 0, joined: false });
        }
        if let Some(parameter) = self.parameters.last_mut() {
            parameter.value = parameter.value.saturating_mul(10).saturating_add(digit);
        }
    }

    fn push_parameter(&mut self, joined: bool) {
        if self.parameters.is_empty() {
            self.parameters.push(Parameter { value: 0, joined: false });
        }
        if self.parameters.len() == MOST_PARAMETERS {
            self.is_malformed = true;
        } else {
            self.parameters.push(Parameter { value: 0, joined });
        }
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum State {
    #[default]
    Text,
    Escape {
        intermediate: Option<u8>,
        is_malformed: bool,
    },
    Csi,
    Osc,
    /// DCS, SOS, PM or APC: nothing that changes the text on a screen.
    OtherString,
}

const ESCAPE: State = State::Escape { intermediate: None, is_malformed: false };

const CAN: u8 = 0x18;
const SUB: u8 = 0x1a;
const ESC: u8 = 0x1b;
const BEL: u8 = 0x07;

/// Splits output into tokens. Output may come in any pieces.
#[derive(Debug, Default)]
pub struct Tokenizer {
    state: State,
    csi: Csi,
    osc: Vec<u8>,
}

impl Tokenizer {
    /// True between two sequences: the next byte is text, or begins one.
    pub fn is_in_text(&self) -> bool {
        self.state == State::Text
    }

    /// The next token and the number of bytes that it took: at least one. `bytes` must not be empty.
    pub fn next<'a>(&'a mut self, bytes: &'a [u8]) -> (usize, Token<'a>) {
        let byte = bytes[0];
        match self.state {
            State::Text if byte == ESC => {
                self.state = ESCAPE;
                (1, Token::Break)
            }
            State::Text => {
                let piece = &bytes[..bytes.len().min(LONGEST_TEXT)];
                let end = memchr::memchr(ESC, piece).unwrap_or(piece.len());
                (end, Token::Text(&piece[..end]))
            }
            State::Osc | State::OtherString => self.string(bytes),
            _ if matches!(byte, CAN | SUB) => {
                self.state = State::Text;
                (1, Token::Nothing)
            }
            _ if byte == ESC => {
                self.state = ESCAPE;
                (1, Token::Nothing)
            }
            // Control characters take effect inside of a sequence, too.
            _ if byte < 0x20 => (1, Token::Text(&bytes[..1])),
            _ if byte >= 0x7f => (1, Token::Nothing),
            State::Escape { intermediate, is_malformed } => (1, self.escape(byte, intermediate, is_malformed)),
            State::Csi => (1, self.csi(byte)),
        }
    }

    fn escape(&mut self, byte: u8, intermediate: Option<u8>, is_malformed: bool) -> Token<'_> {
        if matches!(byte, 0x20..=0x2f) {
            let is_malformed = is_malformed || intermediate.is_some();
            self.state = State::Escape { intermediate: Some(byte), is_malformed };
            return Token::Nothing;
        }
        self.state = match byte {
            _ if intermediate.is_some() => State::Text,
            b'[' => State::Csi,
            b']' => State::Osc,
            b'P' | b'X' | b'^' | b'_' => State::OtherString,
            _ => State::Text,
        };
        match self.state {
            State::Text if !is_malformed => return Token::Escape { intermediate, last: byte },
            State::Csi => self.csi.clear(),
            State::Osc => self.osc.clear(),
            _ => {}
        }
        Token::Nothing
    }

    fn csi(&mut self, byte: u8) -> Token<'_> {
        if !matches!(byte, 0x40..=0x7e) {
            self.csi.push(byte);
            return Token::Nothing;
        }
        self.state = State::Text;
        self.csi.last = byte;
        if self.csi.is_malformed { Token::Nothing } else { Token::Csi(&self.csi) }
    }

    /// Reads on in a string, up to its end.
    fn string(&mut self, bytes: &[u8]) -> (usize, Token<'_>) {
        let is_osc = self.state == State::Osc;
        let piece = &bytes[..bytes.len().min(LONGEST_STRING_STEP)];
        let is_end = |byte: u8| matches!(byte, ESC | CAN | SUB) || (is_osc && byte == BEL);
        let end = piece.iter().position(|&byte| is_end(byte));
        if is_osc {
            let content = &piece[..end.unwrap_or(piece.len())];
            let room = LONGEST_OSC - self.osc.len();
            self.osc.extend_from_slice(&content[..content.len().min(room)]);
        }
        let Some(end) = end else {
            return (piece.len(), Token::Nothing);
        };
        let last = piece[end];
        self.state = if last == ESC { ESCAPE } else { State::Text };
        // CAN and SUB call a string off.
        let token = if is_osc && matches!(last, ESC | BEL) { Token::Osc(&self.osc) } else { Token::Nothing };
        (end + 1, token)
    }
}
