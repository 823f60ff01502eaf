//! Bytes to characters that have a place on a screen.

/// Decodes UTF-8 that may be cut anywhere.
#[derive(Debug, Default)]
pub(crate) struct Decoder {
    /// The start of a character whose rest has not come yet: at most three bytes.
    carry: Vec<u8>,
}

impl Decoder {
    /// Appends the characters of `bytes` that a screen shows or obeys. Invalid bytes become U+FFFD.
    pub(crate) fn decode(&mut self, bytes: &[u8], text: &mut String) {
        let joined;
        let mut rest = if self.carry.is_empty() {
            bytes
        } else {
            joined = [self.carry.as_slice(), bytes].concat();
            self.carry.clear();
            joined.as_slice()
        };
        loop {
            let (valid, invalid) = match std::str::from_utf8(rest) {
                Ok(valid) => (valid, None),
                Err(error) => {
                    let (valid, _) = rest.split_at(error.valid_up_to());
                    let valid = std::str::from_utf8(valid).expect("the bytes before the error are valid");
                    (valid, Some(error.error_len()))
                }
            };
            text.extend(valid.chars().filter(|&c| is_obeyed(c) || is_shown(c)));
            rest = &rest[valid.len()..];
            match invalid {
                None => return,
                Some(None) => {
                    self.carry.extend_from_slice(rest);
                    return;
                }
                Some(Some(length)) => {
                    text.push(char::REPLACEMENT_CHARACTER);
                    rest = &rest[length..];
                }
            }
        }
    }

    /// Ends an incomplete character; true if there was one.
    pub(crate) fn cut(&mut self) -> bool {
        let was_cut = !self.carry.is_empty();
        self.carry.clear();
        was_cut
    }
}

/// True for control characters that move the cursor or choose a character set.
fn is_obeyed(c: char) -> bool {
    matches!(c, '\u{8}'..='\u{f}')
}

/// True for characters that a reader sees.
///
/// Control characters, line separators, bidirectional controls and tags are invisible. They would let a program show
/// one text to a person and another to a model.
pub(crate) fn is_shown(c: char) -> bool {
    let is_hidden = matches!(
        c,
        '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{feff}'
            | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}'
    );
    !c.is_control() && !is_hidden
}
