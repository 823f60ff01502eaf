//! `s///`: its right side is text, groups, and changes of case.

use super::is_vague;
use super::parse::Substitution;
use super::run::SedRun;
use crate::walk::expression::{Groups, sed_escape};
use crate::walk::filters::options::{Exact, Inexact};
use crate::walk::{LONGEST_TEXT, ScriptWalk};

/// One part of a replacement.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum ReplacementPart {
    Text(String),
    Group(usize),
    /// `\U`, `\L`, `\u`, `\l` or `\E`.
    Case(char),
}

/// Reads a replacement.
pub(super) fn parsed(text: &str) -> Option<Vec<ReplacementPart>> {
    let letters: Vec<char> = text.chars().collect();
    let mut parts = Vec::new();
    let mut plain = String::new();
    let mut at = 0;
    while let Some(letter) = letters.get(at).copied() {
        at += 1;
        let special = match letter {
            '&' => Some(ReplacementPart::Group(0)),
            '\\' => {
                let next = letters.get(at).copied()?;
                at += 1;
                match next {
                    '0'..='9' => {
                        next.to_digit(10).and_then(|digit| usize::try_from(digit).ok()).map(ReplacementPart::Group)
                    }
                    'U' | 'L' | 'u' | 'l' | 'E' => Some(ReplacementPart::Case(next)),
                    'n' | 't' | 'f' | 'v' | 'a' | 'r' | 'd' | 'o' | 'x' => {
                        let (decoded, taken) = sed_escape(letters.get(at - 1..)?)?;
                        at += taken - 1;
                        plain.push(decoded);
                        None
                    }
                    'c' => return None,
                    other => {
                        plain.push(other);
                        None
                    }
                }
            }
            other => {
                plain.push(other);
                None
            }
        };
        if let Some(special) = special {
            if !plain.is_empty() {
                parts.push(ReplacementPart::Text(std::mem::take(&mut plain)));
            }
            parts.push(special);
        }
    }
    if !plain.is_empty() {
        parts.push(ReplacementPart::Text(plain));
    }
    Some(parts)
}

/// Appends the replacement of a match.
fn push_replacement(out: &mut String, parts: &[ReplacementPart], text: &str, groups: &Groups) {
    let (mut lasting, mut once) = ('E', None);
    for part in parts {
        let piece = match part {
            ReplacementPart::Text(text) => text.as_str(),
            ReplacementPart::Group(number) => {
                groups.get(*number).cloned().flatten().and_then(|range| text.get(range)).unwrap_or("")
            }
            ReplacementPart::Case(kind @ ('u' | 'l')) => {
                once = Some(*kind);
                continue;
            }
            ReplacementPart::Case(kind) => {
                (lasting, once) = (*kind, None);
                continue;
            }
        };
        for letter in piece.chars() {
            match once.take().unwrap_or(lasting) {
                'U' | 'u' => out.extend(letter.to_uppercase()),
                'L' | 'l' => out.extend(letter.to_lowercase()),
                _ => out.push(letter),
            }
        }
    }
}

impl SedRun<'_> {
    /// Replaces matches in the pattern space.
    pub(super) fn substitute(&mut self, walk: &mut ScriptWalk<'_>, substitution: &Substitution) -> Exact<()> {
        let expression = self.expression(&substitution.wanted)?;
        let text = std::mem::take(&mut self.space.text);
        let mut out = String::with_capacity(text.len());
        let (mut copied, mut at, mut count) = (0, 0, 0);
        let mut last_end = None;
        let mut is_replaced = false;
        while at <= text.len() {
            let found = expression.find_at(&text, at, &mut walk.budget).map_err(|_| Inexact::Unknown)?;
            let Some(groups) = found else { break };
            let Some(Some(range)) = groups.first().cloned() else { break };
            let step = text.get(range.end..).and_then(|rest| rest.chars().next()).map_or(1, char::len_utf8);
            // An empty match right behind another one does not count.
            if range.is_empty() && last_end == Some(range.start) {
                at = range.end + step;
                continue;
            }
            count += 1;
            last_end = Some(range.end);
            at = if range.is_empty() { range.end + step } else { range.end };
            if count < substitution.number {
                continue;
            }
            out.push_str(text.get(copied..range.start).unwrap_or(""));
            push_replacement(&mut out, &substitution.by, &text, &groups);
            copied = range.end;
            is_replaced = true;
            if !substitution.is_global {
                break;
            }
            if out.len() > LONGEST_TEXT {
                return Err(Inexact::Unknown);
            }
        }
        out.push_str(text.get(copied..).unwrap_or(""));
        self.space.text = out;
        self.is_changed |= is_replaced;
        // Text that is not known may have a match.
        if is_replaced || is_vague(&self.space.text) {
            if substitution.executes {
                self.execute(walk);
            }
            if substitution.prints {
                let space = self.space.text.clone();
                self.print(&space);
            }
            if let Some(path) = &substitution.file {
                let space = self.space.text.clone();
                self.write(path, &space);
            }
        }
        Ok(())
    }
}
