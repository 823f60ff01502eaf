//! Arithmetic on small expressions. The value of any other expression is unknown.

use crate::marks::SOME;
use crate::syntax::ast::{ShellWord, WordPiece};
use crate::walk::ScriptWalk;
use crate::walk::state::ShellValue;

/// The longest expression that is evaluated, in bytes.
const LONGEST: usize = 256;

impl ScriptWalk<'_> {
    /// The value of an expression as text.
    pub(crate) fn arithmetic(&mut self, pieces: &[WordPiece]) -> String {
        let expression = self.expand_text(&ShellWord { pieces: pieces.to_vec(), ..ShellWord::default() });
        self.number(&expression).map_or_else(|| SOME.to_string(), |number| number.to_string())
    }

    /// The value of an expression, if it can be worked out.
    pub(crate) fn number(&mut self, expression: &str) -> Option<i64> {
        if expression.len() > LONGEST {
            self.world.certainty.lose();
            return None;
        }
        let expression = expression.trim();
        // `x=1` and `x+=1`, but neither `x==1` nor `x<=1`.
        if let Some((name, value)) = expression.split_once('=')
            && !value.starts_with('=')
        {
            let name = name.trim_end();
            let (name, adds) = name.strip_suffix('+').map_or((name, false), |name| (name.trim_end(), true));
            if is_name(name) {
                let mut result = self.number(value);
                if adds {
                    result = result.zip(self.number(name)).and_then(|(more, before)| before.checked_add(more));
                }
                let text = result.map_or_else(|| SOME.to_string(), |number| number.to_string());
                self.assign(name, ShellValue::Scalar(text), None);
                return result;
            }
        }
        for (sign, by) in [("++", 1), ("--", -1)] {
            if let Some(name) = expression.strip_prefix(sign).filter(|name| is_name(name)) {
                let after = self.number(name)?.checked_add(by)?;
                self.assign(name, ShellValue::Scalar(after.to_string()), None);
                return Some(after);
            }
        }
        for (suffix, by) in [("++", 1), ("--", -1)] {
            if let Some(name) = expression.strip_suffix(suffix).filter(|name| is_name(name)) {
                let before = self.number(name)?;
                self.assign(name, ShellValue::Scalar(before.checked_add(by)?.to_string()), None);
                return Some(before);
            }
        }
        let mut reader = ArithReader { rest: expression, depth: 0 };
        let value = reader.choice(self).filter(|_| reader.rest.trim_start().is_empty());
        // An assignment may be in it.
        if value.is_none() {
            self.world.certainty.lose();
        }
        value
    }
}

fn is_name(text: &str) -> bool {
    !text.is_empty()
        && !text.starts_with(|letter: char| letter.is_ascii_digit())
        && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}

struct ArithReader<'t> {
    rest: &'t str,
    depth: usize,
}

impl ArithReader<'_> {
    fn take(&mut self, operators: &[char]) -> Option<char> {
        self.rest = self.rest.trim_start();
        let letter = self.rest.chars().next().filter(|letter| operators.contains(letter))?;
        // `**`, `<<` and the like are beyond this.
        if self.rest.get(1..2).is_some_and(|next| next == "*") {
            return None;
        }
        self.rest = self.rest.get(1..)?;
        Some(letter)
    }

    /// `a < b ? c : d`
    fn choice(&mut self, walk: &mut ScriptWalk<'_>) -> Option<i64> {
        let left = self.sum(walk)?;
        self.rest = self.rest.trim_start();
        let operator = ["<=", ">=", "==", "!=", "<", ">"].into_iter().find(|sign| self.rest.starts_with(sign));
        let value = match operator {
            Some(operator) => {
                self.rest = self.rest.get(operator.len()..)?;
                let right = self.sum(walk)?;
                i64::from(match operator {
                    "<=" => left <= right,
                    ">=" => left >= right,
                    "==" => left == right,
                    "!=" => left != right,
                    "<" => left < right,
                    _ => left > right,
                })
            }
            None => left,
        };
        if self.take(&['?']).is_none() {
            return Some(value);
        }
        let first = self.sum(walk)?;
        self.take(&[':'])?;
        let second = self.sum(walk)?;
        Some(if value == 0 { second } else { first })
    }

    fn sum(&mut self, walk: &mut ScriptWalk<'_>) -> Option<i64> {
        let mut left = self.product(walk)?;
        while let Some(operator) = self.take(&['+', '-']) {
            let right = self.product(walk)?;
            left = if operator == '+' { left.checked_add(right)? } else { left.checked_sub(right)? };
        }
        Some(left)
    }

    fn product(&mut self, walk: &mut ScriptWalk<'_>) -> Option<i64> {
        let mut left = self.atom(walk)?;
        while let Some(operator) = self.take(&['*', '/', '%']) {
            let right = self.atom(walk)?;
            left = match operator {
                '*' => left.checked_mul(right)?,
                '/' => left.checked_div(right)?,
                _ => left.checked_rem(right)?,
            };
        }
        Some(left)
    }

    fn atom(&mut self, walk: &mut ScriptWalk<'_>) -> Option<i64> {
        self.depth += 1;
        if self.depth > 64 {
            return None;
        }
        if let Some(sign) = self.take(&['-', '+']) {
            let value = self.atom(walk)?;
            return if sign == '-' { value.checked_neg() } else { Some(value) };
        }
        if self.take(&['(']).is_some() {
            let value = self.sum(walk)?;
            self.take(&[')'])?;
            return Some(value);
        }
        let length = self.rest.bytes().take_while(|byte| byte.is_ascii_alphanumeric() || *byte == b'_').count();
        let (word, rest) = self.rest.split_at(length);
        self.rest = rest;
        if is_name(word) {
            return match walk.scalar(word) {
                Some(text) if text.is_empty() => Some(0),
                Some(text) => {
                    walk.run_hidden(&text);
                    text.trim().parse().ok()
                }
                None => None,
            };
        }
        word.parse().ok()
    }
}
