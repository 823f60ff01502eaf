//! Shell patterns over text that may have marks in it.
//!
//! A pattern is text in which the marks for `*`, `?` and `[` are alive; every other letter stands for itself.

use crate::marks::{NAME, ONE, SET, STAR, TREE, UNKNOWN};

/// The most steps of one match. A pattern that needs more counts as not matching.
const MOST_STEPS: usize = 1 << 16;

/// One unit of a pattern.
#[derive(Debug, Clone, PartialEq, Eq)]
enum PatternUnit {
    Letter(char),
    One,
    Many,
    Set { negated: bool, ranges: Vec<(char, char)> },
}

fn units(pattern: &str) -> Vec<PatternUnit> {
    let letters: Vec<char> = pattern.chars().collect();
    let mut units = Vec::with_capacity(letters.len());
    let mut at = 0;
    while let Some(letter) = letters.get(at).copied() {
        at += 1;
        units.push(match letter {
            STAR | TREE => PatternUnit::Many,
            ONE => PatternUnit::One,
            SET => match set(letters.get(at..).unwrap_or(&[])) {
                Some((taken, unit)) => {
                    at += taken;
                    unit
                }
                None => PatternUnit::Letter('['),
            },
            other => PatternUnit::Letter(other),
        });
    }
    units
}

/// A set after its bracket, and how many letters it takes.
fn set(letters: &[char]) -> Option<(usize, PatternUnit)> {
    let mut at = 0;
    let negated = matches!(letters.first(), Some('!' | '^'));
    if negated {
        at += 1;
    }
    let first = at;
    let mut ranges = Vec::new();
    loop {
        let letter = letters.get(at).copied()?;
        at += 1;
        match letter {
            ']' if at > first + 1 => return Some((at, PatternUnit::Set { negated, ranges })),
            '[' | SET if letters.get(at) == Some(&':') => {
                let end = letters.get(at + 1..)?.iter().position(|letter| *letter == ':')? + at + 1;
                let class: String = letters.get(at + 1..end)?.iter().collect();
                ranges.extend(class_ranges(&class));
                at = end + 2;
            }
            _ if letters.get(at) == Some(&'-') && letters.get(at + 1).is_some_and(|end| *end != ']') => {
                ranges.push((letter, letters.get(at + 1).copied()?));
                at += 2;
            }
            _ => ranges.push((letter, letter)),
        }
    }
}

fn class_ranges(class: &str) -> Vec<(char, char)> {
    match class {
        "alpha" => vec![('a', 'z'), ('A', 'Z')],
        "digit" => vec![('0', '9')],
        "alnum" => vec![('a', 'z'), ('A', 'Z'), ('0', '9')],
        "lower" => vec![('a', 'z')],
        "upper" => vec![('A', 'Z')],
        "space" | "blank" => vec![(' ', ' '), ('\t', '\r')],
        "punct" => vec![('!', '/'), (':', '@'), ('[', '`'), ('{', '~')],
        _ => vec![('!', '~')],
    }
}

impl PatternUnit {
    fn takes(&self, letter: char) -> bool {
        match self {
            Self::Letter(own) => *own == letter,
            Self::One => true,
            Self::Many => false,
            Self::Set { negated, ranges } => {
                ranges.iter().any(|(from, to)| (*from..=*to).contains(&letter)) != *negated
            }
        }
    }
}

/// True if the whole text fits the pattern. The leading dot of hidden names is the caller's concern.
pub(crate) fn matches(pattern: &str, text: &str) -> bool {
    let letters: Vec<char> = text.chars().collect();
    fits(&units(pattern), &letters)
}

fn fits(pattern: &[PatternUnit], text: &[char]) -> bool {
    // The last star can take one more letter whenever the rest does not fit.
    let (mut in_pattern, mut in_text) = (0, 0);
    let mut star: Option<(usize, usize)> = None;
    for _ in 0..MOST_STEPS {
        match (pattern.get(in_pattern), text.get(in_text)) {
            (None, None) => return true,
            (Some(PatternUnit::Many), _) => {
                star = Some((in_pattern, in_text));
                in_pattern += 1;
            }
            (Some(unit), Some(letter)) if unit.takes(*letter) => {
                in_pattern += 1;
                in_text += 1;
            }
            _ => match star {
                Some((star_at, from)) if from < text.len() => {
                    star = Some((star_at, from + 1));
                    in_pattern = star_at + 1;
                    in_text = from + 1;
                }
                _ => return false,
            },
        }
    }
    false
}

/// The length in bytes of the longest (or the shortest) match at the start (or the end) of the text.
pub(crate) fn trim(pattern: &str, text: &str, from_end: bool, longest: bool) -> Option<usize> {
    let units = units(pattern);
    let letters: Vec<char> = text.chars().collect();
    let count = letters.len();
    let try_length = |taken: usize| {
        let part = if from_end { letters.get(count - taken..) } else { letters.get(..taken) };
        part.filter(|part| fits(&units, part)).map(|part| part.iter().map(|letter| letter.len_utf8()).sum())
    };
    // Long texts are not worth quadratic time.
    if count > 4096 {
        return None;
    }
    if longest { (0..=count).rev().find_map(try_length) } else { (0..=count).find_map(try_length) }
}

/// True if the name, as a pattern, may be this very name.
pub(crate) fn may_be(name: &str, literal: &str) -> bool {
    if name == literal {
        return true;
    }
    let is_pattern = name.contains([STAR, ONE, SET]);
    // A star does not match a leading dot.
    let hidden_fits = !literal.starts_with('.') || name.starts_with('.');
    is_pattern && hidden_fits && matches(name, literal)
}

/// True if the name, as a pattern, fixes no letter, so that it matches nearly every name.
pub(crate) fn is_wide(name: &str) -> bool {
    let units = units(name);
    // `*.` is about names that end in a dot; `*.*` is about all.
    if matches!(units.last(), None | Some(PatternUnit::Letter(_))) {
        return false;
    }
    let mut wild = false;
    for unit in units {
        match unit {
            PatternUnit::Letter('.' | NAME | UNKNOWN) => {}
            PatternUnit::Letter(_) => return false,
            // A few letters by name are a choice, a range is not.
            PatternUnit::Set { negated: false, ranges } if ranges.iter().all(|(from, to)| from == to) => return false,
            PatternUnit::One | PatternUnit::Many | PatternUnit::Set { .. } => wild = true,
        }
    }
    wild
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Makes a pattern's letters live.
    fn live(text: &str) -> String {
        text.replace('*', &STAR.to_string()).replace('?', &ONE.to_string()).replace('[', &SET.to_string())
    }

    #[test]
    fn patterns_match_like_the_shells() {
        for (pattern, text, expected) in [
            ("*.rs", "main.rs", true),
            ("*.rs", "main.rb", false),
            ("[a-c]?", "bx", true),
            ("[!a-c]*", "bx", false),
            ("[[:digit:]]*", "7x", true),
            ("a*b*c", "aXXbYYc", true),
            ("**", "", true),
            ("[]]", "]", true),
        ] {
            assert_eq!(matches(&live(pattern), text), expected, "{pattern} on {text}");
        }
    }

    #[test]
    fn a_star_does_not_mean_hidden_names() {
        assert!(!may_be(&live("*"), ".git"));
        assert!(may_be(&live(".*"), ".git"));
        assert!(may_be(&live(".gi[t]"), ".git"));
        assert!(!may_be(&live(".*.swp"), ".git"));
    }

    #[test]
    fn only_patterns_without_a_fixed_letter_are_wide() {
        for pattern in ["*", "?*", "[!.]*", "**", "*.*", "[a-z]*", "???"] {
            assert!(is_wide(&live(pattern)), "{pattern}");
        }
        for pattern in ["*.o", "a*", "build", "[m]*", "*~", "*.", "*[+?]*"] {
            assert!(!is_wide(&live(pattern)), "{pattern}");
        }
    }

    #[test]
    fn many_stars_do_not_take_forever() {
        assert!(!matches(&live(&"*a".repeat(2_000)), &"a".repeat(1_500)));
    }
}
