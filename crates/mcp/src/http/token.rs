//! The secret token of HTTP clients.

use std::fmt;

use thiserror::Error;

/// A token of visible ASCII characters. `Debug` does not show it.
#[derive(Clone, PartialEq, Eq)]
pub struct Token(String);

/// A text that cannot be a token.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum TokenError {
    /// A shorter token could be guessed.
    #[error("a token has at least {SHORTEST} characters; `openssl rand -hex 32` makes a good one")]
    TooShort,
    /// A header could not carry the text.
    #[error("a token is one word of letters, digits and signs of ASCII")]
    NotPlain,
}

/// Fewest characters of a token: half as many as [`Token::of_random`] makes.
const SHORTEST: usize = 16;

const DIGITS: &[u8; 16] = b"0123456789abcdef";

impl Token {
    /// Makes a token from a text, without white space around it.
    pub fn new(text: &str) -> Result<Self, TokenError> {
        let text = text.trim();
        if !text.bytes().all(|byte| byte.is_ascii_graphic()) {
            return Err(TokenError::NotPlain);
        }
        if text.len() < SHORTEST {
            return Err(TokenError::TooShort);
        }
        Ok(Self(text.to_owned()))
    }

    /// Makes a token from random bytes.
    pub fn of_random(bytes: [u8; 32]) -> Self {
        Self(
            bytes
                .iter()
                .flat_map(|byte| [byte >> 4, byte & 15])
                .map(|digit| char::from(DIGITS[usize::from(digit)]))
                .collect(),
        )
    }

    /// The secret text.
    pub fn reveal(&self) -> &str {
        &self.0
    }

    /// Compares in constant time, so that timing reveals nothing.
    pub(crate) fn is(&self, shown: &[u8]) -> bool {
        let secret = self.0.as_bytes();
        let pairs = secret.iter().zip(shown);
        // Keeps the compiler from stopping at the first difference.
        let differences = pairs.fold(0, |sum, (left, right)| std::hint::black_box(sum | (left ^ right)));
        secret.len() == shown.len() && differences == 0
    }
}

impl fmt::Debug for Token {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("Token(…)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_very_same_token_is_taken() {
        let token = Token::new(" 0123456789abcdef\n").expect("it is one");
        assert!(token.is(b"0123456789abcdef"));
        for wrong in ["", "0123456789abcde", "0123456789abcdef0", "0123456789abcdeF", "1123456789abcdef"] {
            assert!(!token.is(wrong.as_bytes()), "{wrong}");
        }
        assert_eq!(format!("{token:?}"), "Token(…)");
    }

    #[test]
    fn what_can_be_guessed_or_cannot_be_sent_is_no_token() {
        assert_eq!(Token::new("secret"), Err(TokenError::TooShort));
        assert_eq!(Token::new(""), Err(TokenError::TooShort));
        for text in ["two words of a kind", "with\nlines in between", "ünverständlich-lang"] {
            assert_eq!(Token::new(text), Err(TokenError::NotPlain));
        }
        assert!(Token::new(Token::of_random([7; 32]).reveal()).is_ok());
    }
}
