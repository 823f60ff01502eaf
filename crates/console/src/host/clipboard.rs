//! The clipboard of the person's terminal, by OSC 52.

/// Bytes of text that are copied at most. Terminals drop longer sequences; the smallest limit known is 100,000 bytes of base64.
pub(super) const MOST: usize = 72 * 1024;

/// The sequence that copies a text, and the bytes of the text that it has: the end of a longer one.
pub(super) fn copy_sequence(text: &str) -> (String, usize) {
    let mut start = text.len().saturating_sub(MOST);
    while !text.is_char_boundary(start) {
        start += 1;
    }
    let copied = &text[start..];
    (format!("\x1b]52;c;{}\x1b\\", base64(copied.as_bytes())), copied.len())
}

const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

fn base64(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for group in bytes.chunks(3) {
        let mut number = group.iter().fold(0, |number, byte| (number << 8) | u32::from(*byte));
        number <<= 8 * (3 - group.len());
        for digit in 0..4 {
            let index = (number >> (18 - 6 * digit)) & 63;
            text.push(if digit > group.len() { '=' } else { char::from(DIGITS[index as usize]) });
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_encoded_as_everywhere() {
        for (text, code) in [("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foob\u{e4}", "Zm9vYsOk")] {
            assert_eq!(base64(text.as_bytes()), code);
        }
    }

    #[test]
    fn the_end_of_a_long_text_is_copied() {
        assert_eq!(copy_sequence("red"), ("\x1b]52;c;cmVk\x1b\\".to_owned(), 3));
        let (sequence, copied) = copy_sequence(&"ä".repeat(MOST));
        assert!(copied <= MOST && copied > MOST - 4);
        assert!(sequence.len() < 100_000);
    }
}
