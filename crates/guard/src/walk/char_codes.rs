//! Text that code in other languages puts together from the numbers of its characters.

use crate::walk::tokens::CodeToken;

/// The longest text that is put together, in characters.
const LONGEST: usize = 4096;

/// The text that the numbers behind this place stand for, up to the end of the call or statement, and where the code goes on.
/// None if a number is no printable character, or if there is none.
pub(super) fn text_of_codes(tokens: &[CodeToken], start: usize) -> Option<(String, usize)> {
    let mut text = String::new();
    let mut number = String::new();
    let mut open = 0_usize;
    let mut at = start;
    while let Some(token) = tokens.get(at) {
        if let CodeToken::Sign(digit) = token
            && digit.is_ascii_digit()
        {
            number.push(*digit);
            at += 1;
            continue;
        }
        push_letters(&std::mem::take(&mut number), &mut text)?;
        match token {
            CodeToken::Sign('(' | '[' | '{') => open += 1,
            CodeToken::Sign(')' | ']' | '}') => match open.checked_sub(1) {
                Some(left) => open = left,
                None => break,
            },
            CodeToken::Sign(';' | '\n') if open == 0 => break,
            // `"114 109".split()`
            CodeToken::Text(numbers) => push_letters(numbers, &mut text)?,
            _ => {}
        }
        at += 1;
    }
    push_letters(&number, &mut text)?;
    (!text.is_empty()).then_some((text, at))
}

/// Adds the letters whose numbers a text holds.
fn push_letters(numbers: &str, text: &mut String) -> Option<()> {
    for number in numbers.split(|letter: char| letter.is_whitespace() || letter == ',').filter(|part| !part.is_empty())
    {
        let letter = number.parse().ok().and_then(char::from_u32)?;
        let is_text = letter.is_ascii_graphic() || letter.is_ascii_whitespace();
        if !is_text || text.len() >= LONGEST {
            return None;
        }
        text.push(letter);
    }
    Some(())
}
