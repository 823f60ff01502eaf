//! Extended regular expressions as awk writes them, made into expressions of the crate `regex`, and their matches in text that may
//! have marks.

use regex::{Regex, RegexBuilder};

use crate::marks::{UNKNOWN, has_mark, is_mark};

use super::lexer::bracket_length;

/// The largest compiled expression, in bytes.
const LARGEST: usize = 1 << 18;

/// The longest expression that is compiled, in bytes.
const LONGEST: usize = 1024;

/// The most ends that are tried for the longest match.
const MOST_ENDS: usize = 128;

/// The longest rest of a text in which the longest match is looked for, in bytes.
const LONGEST_REST: usize = 256;

/// An expression that can be looked for.
#[derive(Debug, Clone)]
pub(in crate::walk) struct Ere {
    regex: Regex,
    /// The same for a whole text, if the expression has alternatives: the longest one counts, not the first.
    whole: Option<Regex>,
    /// The letters that a match begins with, at the beginning of the text.
    prefix: Option<String>,
    /// No letter or digit decides about a match.
    is_about_signs: bool,
}

/// A match in a text, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Found {
    pub(super) start: usize,
    pub(super) end: usize,
}

impl Ere {
    /// The expression that a text means; none if it has no meaning that is known.
    pub(super) fn new(text: &str) -> Option<Self> {
        if text.len() > LONGEST || has_mark(text) {
            return None;
        }
        let translated = translated(text)?;
        let build = |text: &str| {
            RegexBuilder::new(text).dot_matches_new_line(true).unicode(true).size_limit(LARGEST).build().ok()
        };
        let has_anchor = text.contains(['^', '$']);
        let whole = (text.contains('|') && !has_anchor).then(|| build(&format!("^(?:{translated})$")));
        Some(Self {
            regex: build(&translated)?,
            whole: whole.flatten(),
            prefix: literal_prefix(text),
            is_about_signs: !text.contains(|letter: char| letter.is_alphanumeric()),
        })
    }

    /// The first match at or behind a place.
    pub(super) fn find(&self, text: &str, from: usize) -> Option<Found> {
        let found = self.regex.find_at(text, from)?;
        let (start, first_end) = (found.start(), found.end());
        let Some(whole) = self.whole.as_ref().filter(|_| text.len() - first_end <= LONGEST_REST) else {
            return Some(Found { start, end: first_end });
        };
        let ends = (first_end + 1..=text.len()).rev().filter(|end| text.is_char_boundary(*end));
        let longer = ends.take(MOST_ENDS).find(|end| text.get(start..*end).is_some_and(|part| whole.is_match(part)));
        Some(Found { start, end: longer.unwrap_or(first_end) })
    }

    /// The parts of the first match at or behind a place that stand in parentheses; the first part is all of it.
    pub(super) fn groups(&self, text: &str, from: usize) -> Vec<Option<Found>> {
        let Some(groups) = self.regex.captures_at(text, from) else { return Vec::new() };
        groups.iter().map(|group| group.map(|group| Found { start: group.start(), end: group.end() })).collect()
    }

    /// True if the text has a match; none if a mark makes that uncertain.
    pub(super) fn matches(&self, text: &str) -> Option<bool> {
        if !has_mark(text) {
            return Some(self.regex.is_match(text));
        }
        let mut matches = self.regex.find_iter(text).take(MOST_ENDS);
        if matches.any(|found| !found.as_str().contains(is_mark)) {
            return Some(true);
        }
        // A name of a listing has letters, whichever they are.
        if self.is_about_signs && !text.contains(UNKNOWN) && self.regex.is_match(text) {
            return Some(true);
        }
        let known = text.split(is_mark).next().unwrap_or("");
        let contradicts = |prefix: &String| known.len() >= prefix.len() && !known.starts_with(prefix.as_str());
        self.prefix.as_ref().is_some_and(contradicts).then_some(false)
    }
}

/// The letters behind `^` that every match begins with.
fn literal_prefix(text: &str) -> Option<String> {
    let rest = text.strip_prefix('^').filter(|_| !text.contains('|'))?;
    let mut prefix = String::new();
    let mut letters = rest.chars();
    while let Some(letter) = letters.next() {
        match letter {
            '\\' => match letters.next() {
                Some(sign) if sign.is_ascii_punctuation() => prefix.push(sign),
                _ => break,
            },
            '*' | '?' | '{' => {
                prefix.pop();
                break;
            }
            '.' | '+' | '[' | '(' | ')' | '$' | '^' => break,
            plain => prefix.push(plain),
        }
    }
    (!prefix.is_empty()).then_some(prefix)
}

/// An expression while it is translated.
#[derive(Default)]
struct Translation {
    out: String,
    /// The beginning of the last unit that can be repeated.
    unit: Option<usize>,
    /// That unit is repeated already.
    is_repeated: bool,
    /// The beginnings of the groups that are open.
    groups: Vec<usize>,
}

/// The expression in the other spelling.
fn translated(text: &str) -> Option<String> {
    let mut made = Translation { out: String::with_capacity(text.len() + 8), ..Translation::default() };
    let mut rest = text;
    while let Some(letter) = rest.chars().next() {
        let taken = match letter {
            '*' | '+' | '?' | '{' => made.repeat(letter, rest),
            _ => made.unit(letter, rest)?,
        };
        rest = rest.get(taken..)?;
    }
    made.groups.is_empty().then_some(made.out)
}

impl Translation {
    /// A sign that repeats the unit before it, or stands for itself where there is none; returns the bytes that it takes.
    fn repeat(&mut self, letter: char, rest: &str) -> usize {
        let counted = if letter == '{' { repetition(rest) } else { Some((1, letter.to_string())) };
        let (Some(from), Some((taken, sign))) = (self.unit, counted) else {
            self.unit = Some(self.out.len());
            self.is_repeated = false;
            push_literal(letter, &mut self.out);
            return 1;
        };
        // A second sign would make the first one lazy.
        if self.is_repeated {
            self.out.insert_str(from, "(?:");
            self.out.push(')');
        }
        self.out.push_str(&sign);
        self.is_repeated = true;
        taken
    }

    /// Anything else; returns the bytes that it takes.
    fn unit(&mut self, letter: char, rest: &str) -> Option<usize> {
        let start = self.out.len();
        let mut taken = letter.len_utf8();
        self.unit = Some(start);
        self.is_repeated = false;
        match letter {
            '(' => {
                self.groups.push(start);
                self.out.push('(');
                self.unit = None;
            }
            ')' => {
                let from = self.groups.pop();
                self.out.push_str(if from.is_some() { ")" } else { "\\)" });
                self.unit = from.or(Some(start));
            }
            '|' | '^' | '$' => {
                self.out.push(letter);
                self.unit = None;
            }
            '[' => {
                taken = bracket_length(rest).unwrap_or(1);
                if taken > 1 {
                    bracket(rest.get(1..taken - 1)?, &mut self.out)?;
                } else {
                    self.out.push_str("\\[");
                }
            }
            '\\' => taken += escape(rest.get(1..)?, &mut self.out)?,
            '.' => self.out.push('.'),
            plain => push_literal(plain, &mut self.out),
        }
        Some(taken)
    }
}

fn push_literal(letter: char, out: &mut String) {
    out.push_str(&regex::escape(letter.encode_utf8(&mut [0; 4])));
}

/// `{2}`, `{2,}` or `{2,5}`, and its length. Other braces stand for themselves.
fn repetition(rest: &str) -> Option<(usize, String)> {
    let end = rest.find('}')?;
    let inside = rest.get(1..end)?;
    let (from, to) = inside.split_once(',').unwrap_or((inside, inside));
    let is_number = |text: &str| text.len() <= 3 && text.bytes().all(|byte| byte.is_ascii_digit());
    if !is_number(from) || !is_number(to) || inside.is_empty() || inside == "," {
        return None;
    }
    let from = if from.is_empty() { "0" } else { from };
    Some((end + 1, if inside.contains(',') { format!("{{{from},{to}}}") } else { format!("{{{from}}}") }))
}

/// An escape behind its backslash; returns the bytes that it takes.
fn escape(rest: &str, out: &mut String) -> Option<usize> {
    let Some(letter) = rest.chars().next() else {
        out.push_str("\\\\");
        return Some(0);
    };
    match letter {
        'y' => out.push_str("\\b"),
        '<' => out.push_str("\\b{start}"),
        '>' => out.push_str("\\b{end}"),
        '`' => out.push_str("\\A"),
        '\'' => out.push_str("\\z"),
        'B' | 'w' | 'W' | 's' | 'S' | 'n' | 't' | 'r' | 'f' | 'v' | 'a' => {
            out.push('\\');
            out.push(letter);
        }
        '0'..='7' => {
            let length = rest.find(|digit: char| !matches!(digit, '0'..='7')).unwrap_or(rest.len()).min(3);
            let code = u32::from_str_radix(rest.get(..length)?, 8).ok().and_then(char::from_u32)?;
            push_literal(code, out);
            return Some(length);
        }
        other => push_literal(other, out),
    }
    Some(letter.len_utf8())
}

/// The inside of a bracket expression.
fn bracket(inside: &str, out: &mut String) -> Option<()> {
    let (negated, inside) = inside.strip_prefix('^').map_or((false, inside), |inside| (true, inside));
    out.push_str(if negated { "[^" } else { "[" });
    let mut rest = inside;
    while let Some(letter) = rest.chars().next() {
        if rest.starts_with("[:")
            && let Some(end) = rest.find(":]")
        {
            out.push_str(rest.get(..end + 2)?);
            rest = rest.get(end + 2..)?;
            continue;
        }
        rest = rest.get(letter.len_utf8()..)?;
        let literal = match (letter, rest.chars().next()) {
            ('\\', Some(escaped)) => {
                rest = rest.get(escaped.len_utf8()..)?;
                match escaped {
                    'n' => '\n',
                    't' => '\t',
                    'r' => '\r',
                    'w' | 's' | 'S' | 'W' => {
                        out.push('\\');
                        out.push(escaped);
                        continue;
                    }
                    other => other,
                }
            }
            // A range, unless the sign stands at an end.
            ('-', Some(_)) if !out.ends_with(['[', '^']) => {
                out.push('-');
                continue;
            }
            _ => letter,
        };
        if literal.is_ascii_punctuation() {
            out.push('\\');
        }
        out.push(literal);
    }
    out.push(']');
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn expressions_match_as_in_awk() {
        for (expression, text, expected) in [
            ("^a+b?$", "aab", true),
            ("[[:digit:]]{2}", "x12", true),
            ("a{", "a{", true),
            ("*a", "x*a", true),
            ("(^| )b", "a b", true),
            ("[]x]", "]", true),
            ("[^]x]", "]", false),
            ("[a\\]b]", "]", true),
            ("\\.git$", ".git", true),
            ("a.c", "a\nc", true),
            ("\\<word\\>", "a word b", true),
            ("[0-9]+-[a-z-]", "12--", true),
            ("a|b|", "", true),
            ("[/]", "/", true),
            ("a**", "", true),
        ] {
            let ere = Ere::new(expression).expect(expression);
            assert_eq!(ere.matches(text), Some(expected), "{expression} in {text}");
        }
    }

    #[test]
    fn the_longest_alternative_counts() {
        let ere = Ere::new("a|ab|abc").expect("an expression");
        assert_eq!(ere.find("xabcd", 0), Some(Found { start: 1, end: 4 }));
    }

    #[test]
    fn a_mark_leaves_a_match_open_unless_the_known_letters_decide() {
        let check = |expression: &str, text: String| Ere::new(expression).and_then(|ere| ere.matches(&text));
        assert_eq!(check("^\\?\\?", format!("?? {UNKNOWN}")), Some(true));
        assert_eq!(check("^ M", format!("?? {UNKNOWN}")), Some(false));
        assert_eq!(check("x", format!("?? {UNKNOWN}")), None);
        assert_eq!(check("^$", UNKNOWN.to_string()), None);
    }
}
