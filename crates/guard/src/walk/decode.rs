//! Encodings that scripts hide text in: base64, base32, hexadecimal, rot13.

/// Decodes base64. Letters outside of its alphabet are skipped, as `-i` does.
pub(crate) fn base64(text: &str) -> Option<String> {
    bits(text, 6, |letter| {
        Some(match letter {
            'A'..='Z' => u32::from(letter) - u32::from('A'),
            'a'..='z' => u32::from(letter) - u32::from('a') + 26,
            '0'..='9' => u32::from(letter) - u32::from('0') + 52,
            '+' | '-' => 62,
            '/' | '_' => 63,
            _ => return None,
        })
    })
}

/// Decodes base32.
pub(crate) fn base32(text: &str) -> Option<String> {
    bits(text, 5, |letter| {
        Some(match letter.to_ascii_uppercase() {
            letter @ 'A'..='Z' => u32::from(letter) - u32::from('A'),
            letter @ '2'..='7' => u32::from(letter) - u32::from('2') + 26,
            _ => return None,
        })
    })
}

/// Decodes hexadecimal digits.
pub(crate) fn hexadecimal(text: &str) -> Option<String> {
    bits(text, 4, |letter| letter.to_digit(16))
}

fn bits(text: &str, width: u32, value: impl Fn(char) -> Option<u32>) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut held = 0_u32;
    let mut count = 0;
    for digit in text.chars().filter_map(value) {
        held = (held << width) | digit;
        count += width;
        if count >= 8 {
            count -= 8;
            bytes.push(u8::try_from((held >> count) & 0xff).unwrap_or(0));
            held &= (1 << count) - 1;
        }
    }
    let text = String::from_utf8(bytes).ok()?;
    // Nobody gets a mark in this way either.
    Some(crate::marks::without_marks(&text).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_hidden_is_found() {
        assert_eq!(base64("aGVsbG8gd29ybGQ=\n").as_deref(), Some("hello world"));
        assert_eq!(base32("NBSWY3DP").as_deref(), Some("hello"));
        assert_eq!(hexadecimal("68 65 6c 6c 6f").as_deref(), Some("hello"));
        assert_eq!(base64("/w=="), None, "not text");
    }
}
