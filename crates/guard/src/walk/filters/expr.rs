//! `expr`: arithmetic and matching over words.

use super::options::{Exact, Inexact, OrUnknown};
use crate::walk::ScriptWalk;
use crate::walk::expression::{Extent, Flavor, Notation};

pub(super) fn expr(walk: &mut ScriptWalk<'_>, _: &str, arguments: &[String]) -> Exact<String> {
    if arguments.iter().any(|word| crate::marks::has_mark(word)) {
        return Err(Inexact::Marked);
    }
    let mut words = arguments.iter().map(String::as_str).collect::<Vec<_>>();
    if words.first() == Some(&"--") {
        words.remove(0);
    }
    let mut parser = ExprParser { walk, words: &words, at: 0, depth: 0 };
    let value = parser.either()?;
    if parser.at < words.len() || words.is_empty() {
        return Err(Inexact::Unknown);
    }
    Ok(format!("{value}\n"))
}

struct ExprParser<'p, 'g> {
    walk: &'p mut ScriptWalk<'g>,
    words: &'p [&'p str],
    at: usize,
    depth: usize,
}

fn is_false(value: &str) -> bool {
    value.is_empty() || value.parse::<i64>() == Ok(0)
}

impl<'p> ExprParser<'p, '_> {
    fn next_of(&mut self, signs: &[&str]) -> Option<&'p str> {
        let word = self.words.get(self.at).copied().filter(|word| signs.contains(word))?;
        self.at += 1;
        Some(word)
    }

    fn word(&mut self) -> Exact<String> {
        let word = self.words.get(self.at).copied().or_unknown()?;
        self.at += 1;
        Ok(word.to_owned())
    }

    fn either(&mut self) -> Exact<String> {
        let mut left = self.both()?;
        while self.next_of(&["|"]).is_some() {
            let right = self.both()?;
            if is_false(&left) {
                left = if right.is_empty() { "0".to_owned() } else { right };
            }
        }
        Ok(left)
    }

    fn both(&mut self) -> Exact<String> {
        let mut left = self.comparison()?;
        while self.next_of(&["&"]).is_some() {
            let right = self.comparison()?;
            if is_false(&left) || is_false(&right) {
                "0".clone_into(&mut left);
            }
        }
        Ok(left)
    }

    fn comparison(&mut self) -> Exact<String> {
        let mut left = self.sum()?;
        while let Some(sign) = self.next_of(&["<", "<=", "=", "==", "!=", ">=", ">"]) {
            let right = self.sum()?;
            let order = match (left.parse::<i64>(), right.parse::<i64>()) {
                (Ok(left), Ok(right)) => left.cmp(&right),
                _ => left.cmp(&right),
            };
            let holds = match sign {
                "<" => order.is_lt(),
                "<=" => order.is_le(),
                "=" | "==" => order.is_eq(),
                "!=" => order.is_ne(),
                ">=" => order.is_ge(),
                _ => order.is_gt(),
            };
            left = u8::from(holds).to_string();
        }
        Ok(left)
    }

    fn sum(&mut self) -> Exact<String> {
        let mut left = self.product()?;
        while let Some(sign) = self.next_of(&["+", "-"]) {
            let right = self.product()?;
            left = calculated(&left, sign, &right)?;
        }
        Ok(left)
    }

    fn product(&mut self) -> Exact<String> {
        let mut left = self.matching()?;
        while let Some(sign) = self.next_of(&["*", "/", "%"]) {
            let right = self.matching()?;
            left = calculated(&left, sign, &right)?;
        }
        Ok(left)
    }

    fn matching(&mut self) -> Exact<String> {
        let mut left = self.primary()?;
        while self.next_of(&[":"]).is_some() {
            let pattern = self.primary()?;
            left = self.matched(&left, &pattern)?;
        }
        Ok(left)
    }

    /// The first group, or the length of the match.
    fn matched(&mut self, text: &str, pattern: &str) -> Exact<String> {
        let flavor = Flavor { extent: Extent::Start, ..Flavor::of(Notation::Basic) };
        let expression = self.walk.expression_of(pattern, flavor).or_unknown()?;
        let groups = expression.find_at(text, 0, &mut self.walk.budget).map_err(|_| Inexact::Unknown)?;
        let has_group = pattern.contains("\\(");
        let part = |at: usize| {
            let range = groups.as_ref().and_then(|groups| groups.get(at)).cloned().flatten();
            range.and_then(|range| text.get(range)).map(str::to_owned)
        };
        Ok(if has_group {
            part(1).unwrap_or_default()
        } else {
            part(0).map_or(0, |part| part.chars().count()).to_string()
        })
    }

    fn primary(&mut self) -> Exact<String> {
        self.depth += 1;
        if self.depth > 32 {
            return Err(Inexact::Unknown);
        }
        let word = self.word()?;
        let value = match word.as_str() {
            "(" => {
                let value = self.either()?;
                self.next_of(&[")"]).or_unknown()?;
                value
            }
            "+" => self.word()?,
            // These are names only if enough words follow.
            "length" if self.at < self.words.len() => self.primary()?.chars().count().to_string(),
            "match" if self.at + 1 < self.words.len() => {
                let (text, pattern) = (self.primary()?, self.primary()?);
                self.matched(&text, &pattern)?
            }
            "index" if self.at + 1 < self.words.len() => {
                let (text, letters) = (self.primary()?, self.primary()?);
                text.chars().position(|letter| letters.contains(letter)).map_or(0, |at| at + 1).to_string()
            }
            "substr" if self.at + 2 < self.words.len() => {
                let (text, from, length) = (self.primary()?, self.primary()?, self.primary()?);
                let number = |text: &str| text.parse::<i64>().ok().and_then(|number| usize::try_from(number).ok());
                match (number(&from).and_then(|from| from.checked_sub(1)), number(&length)) {
                    (Some(from), Some(length)) => text.chars().skip(from).take(length).collect(),
                    _ => String::new(),
                }
            }
            _ => word,
        };
        self.depth -= 1;
        Ok(value)
    }
}

fn calculated(left: &str, sign: &str, right: &str) -> Exact<String> {
    let number = |text: &str| text.parse::<i128>().map_err(|_| Inexact::Unknown);
    let (left, right) = (number(left)?, number(right)?);
    let value = match sign {
        "+" => left.checked_add(right),
        "-" => left.checked_sub(right),
        "*" => left.checked_mul(right),
        "/" => left.checked_div(right),
        _ => left.checked_rem(right),
    };
    value.map(|value| value.to_string()).or_unknown()
}
