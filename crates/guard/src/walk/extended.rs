//! Extended patterns: `@(a|b)`, `!(x)` and their relatives, matched against text that is known.

use crate::marks::{ONE, SET, STAR, is_mark};
use crate::syntax::ast::{ShellWord, WordPiece};
use crate::walk::ScriptWalk;

impl ScriptWalk<'_> {
    /// True if a text fits a word with extended patterns; none if that cannot be told.
    pub(super) fn fits_extended(&mut self, text: &str, word: &ShellWord) -> Option<bool> {
        if text.contains(is_mark) {
            return None;
        }
        if let [WordPiece::Extended { kind: '!', options }] = word.pieces.as_slice() {
            let expression = self.alternatives(options)?;
            return Some(!self.is_whole_match(&expression, text)?);
        }
        let expression = self.as_expression(&word.pieces)?;
        self.is_whole_match(&expression, text)
    }

    fn is_whole_match(&mut self, expression: &str, text: &str) -> Option<bool> {
        self.budget.spend(4 + text.len() / 64);
        let expression = regex::Regex::new(&format!("^(?s:{expression})$")).ok()?;
        Some(expression.is_match(text))
    }

    fn alternatives(&mut self, options: &[ShellWord]) -> Option<String> {
        let options: Option<Vec<String>> = options.iter().map(|option| self.as_expression(&option.pieces)).collect();
        Some(format!("(?:{})", options?.join("|")))
    }

    /// The pieces of a pattern as a regular expression.
    fn as_expression(&mut self, pieces: &[WordPiece]) -> Option<String> {
        let mut out = String::new();
        for piece in pieces {
            match piece {
                WordPiece::Extended { kind: '!', .. } => return None,
                WordPiece::Extended { kind, options } => {
                    out.push_str(&self.alternatives(options)?);
                    out.extend(Some(*kind).filter(|kind| matches!(kind, '?' | '*' | '+')));
                }
                other => {
                    let word = ShellWord { pieces: vec![other.clone()], ..ShellWord::default() };
                    push_pattern(&self.expand_pattern(&word), &mut out)?;
                }
            }
        }
        Some(out)
    }
}

/// Adds a pattern without extended parts.
fn push_pattern(pattern: &str, out: &mut String) -> Option<()> {
    let mut in_set = false;
    for letter in pattern.chars() {
        match letter {
            STAR => out.push_str(".*"),
            ONE => out.push('.'),
            SET => {
                out.push('[');
                in_set = true;
            }
            '!' if in_set && out.ends_with('[') => out.push('^'),
            ']' if in_set => {
                out.push(']');
                in_set = false;
            }
            other if is_mark(other) => return None,
            '-' | ':' if in_set => out.push(letter),
            other => out.push_str(&regex::escape(&other.to_string())),
        }
    }
    Some(())
}
