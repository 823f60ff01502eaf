//! The work on text that awk's functions do. Marks stay where they are: no function makes known text of them.

use std::rc::Rc;

use crate::marks::{UNKNOWN, has_mark, is_mark};

use super::ere::{Ere, Found};
use super::value::is_all_marks;

/// The most matches that are replaced in one text.
const MOST_MATCHES: usize = 2048;

/// The matches that a substitution replaces.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Which {
    All,
    /// Only this one, counted from one.
    Nth(usize),
}

/// A text after a substitution.
#[derive(Debug)]
pub(super) struct Substituted {
    pub(super) text: String,
    pub(super) count: usize,
    /// The matches that were looked at.
    pub(super) seen: usize,
    /// A mark may hide more matches.
    pub(super) is_open: bool,
}

/// `sub`, `gsub` and `gensub`. `groups` says that the replacement may name parts of the match.
pub(super) fn substituted(text: &str, ere: &Ere, by: &str, which: Which, groups: bool) -> Substituted {
    let mut out = Substituted { text: String::with_capacity(text.len()), count: 0, seen: 0, is_open: has_mark(text) };
    let (mut at, mut from, mut seen) = (0, 0, 0);
    let mut last_end = None;
    while let Some(found) = ere.find(text, from).filter(|_| seen < MOST_MATCHES) {
        let Found { start, end } = found;
        let is_empty = start == end;
        // An empty match right behind the last one is none.
        if !(is_empty && last_end == Some(start)) {
            let matched = text.get(start..end).unwrap_or("");
            let is_marks = !is_empty && is_all_marks(matched);
            seen += 1;
            if !is_marks && (which == Which::All || which == Which::Nth(seen)) {
                out.text.push_str(text.get(at..start).unwrap_or(""));
                let parts = if groups { ere.groups(text, start) } else { Vec::new() };
                replace(text, matched, &parts, by, &mut out.text);
                // The marks may have gone on behind the match.
                if matched.contains(is_mark) && !out.text.ends_with(is_mark) {
                    out.text.push(UNKNOWN);
                }
                out.count += 1;
                at = end;
            }
            if which == Which::Nth(seen) {
                break;
            }
            last_end = Some(end);
        }
        let next = text.get(end..).and_then(|rest| rest.chars().next());
        match next {
            _ if !is_empty => from = end,
            Some(letter) => from = end + letter.len_utf8(),
            None => break,
        }
    }
    out.text.push_str(text.get(at..).unwrap_or(""));
    out.seen = seen;
    out
}

/// Adds the replacement of one match.
fn replace(text: &str, matched: &str, groups: &[Option<Found>], by: &str, out: &mut String) {
    let mut letters = by.chars().peekable();
    while let Some(letter) = letters.next() {
        match (letter, letters.peek().copied()) {
            ('&', _) => out.push_str(matched),
            ('\\', Some('&')) => {
                letters.next();
                out.push('&');
            }
            ('\\', Some('\\')) => {
                letters.next();
                out.push('\\');
            }
            ('\\', Some(digit)) if !groups.is_empty() && digit.is_ascii_digit() => {
                letters.next();
                let at = digit.to_digit(10).and_then(|digit| usize::try_from(digit).ok()).unwrap_or(0);
                let group = groups.get(at).copied().flatten();
                out.push_str(group.and_then(|group| text.get(group.start..group.end)).unwrap_or(""));
            }
            _ => out.push(letter),
        }
    }
}

/// The letters of a text from a place, counted from one. What lies behind the first mark is not counted, so all of it is taken.
pub(super) fn part(text: &str, from: f64, length: Option<f64>) -> String {
    let from = from.round();
    let end = length.map_or(f64::INFINITY, |length| from + length.round());
    let mut out = String::new();
    let mut place = 0.0;
    for (at, letter) in text.char_indices() {
        place += 1.0;
        if is_mark(letter) && end > place {
            let rest = text.get(at..).unwrap_or("");
            let marks = rest.trim_end_matches(|letter| !is_mark(letter));
            let is_all = from <= place && length.is_none();
            out.push_str(if is_all { rest } else { marks });
            return out;
        }
        if place >= from && place < end {
            out.push(letter);
        }
        if place >= end {
            break;
        }
    }
    out
}

/// The place of a text in another one, from one; zero if it is not there, none if that is not certain.
pub(super) fn place(text: &str, wanted: &str) -> Option<usize> {
    if has_mark(wanted) {
        return None;
    }
    let known = text.split(is_mark).next().unwrap_or("");
    match known.find(wanted) {
        Some(at) => Some(known.get(..at).unwrap_or("").chars().count() + 1),
        None if known.len() == text.len() => Some(0),
        None => None,
    }
}

/// The separator of fields or of elements.
pub(super) enum Separator {
    /// Blanks, and not at the ends.
    Blanks,
    /// One letter that stands for itself.
    Letter(char),
    /// Every letter by itself.
    Nothing,
    Expression(Ere),
}

/// The fields of a text.
pub(super) fn split(text: &str, separator: &Separator) -> Vec<Rc<str>> {
    if text.is_empty() {
        return Vec::new();
    }
    match separator {
        Separator::Blanks => text.split([' ', '\t', '\n']).filter(|field| !field.is_empty()).map(Rc::from).collect(),
        Separator::Letter(letter) => text.split(*letter).map(Rc::from).collect(),
        Separator::Nothing => text.chars().map(|letter| Rc::from(letter.to_string())).collect(),
        Separator::Expression(ere) => {
            let mut fields = Vec::new();
            let (mut at, mut from) = (0, 0);
            while let Some(found) = ere.find(text, from).filter(|_| fields.len() < MOST_MATCHES) {
                let matched = text.get(found.start..found.end).unwrap_or("");
                if matched.is_empty() || has_mark(matched) {
                    let step = text.get(found.end..).and_then(|rest| rest.chars().next());
                    let Some(step) = step else { break };
                    from = found.end + if matched.is_empty() { step.len_utf8() } else { 0 };
                    continue;
                }
                fields.push(Rc::from(text.get(at..found.start).unwrap_or("")));
                (at, from) = (found.end, found.end);
            }
            fields.push(Rc::from(text.get(at..).unwrap_or("")));
            fields
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::marks::{FRESH, STAR};

    fn all(text: &str, expression: &str, by: &str) -> String {
        substituted(text, &Ere::new(expression).expect("an expression"), by, Which::All, false).text
    }

    #[test]
    fn substitutions_are_those_of_awk() {
        assert_eq!(all("abc", "x*", "-"), "-a-b-c-");
        assert_eq!(all("hello", "l+", "[&]"), "he[ll]o");
        assert_eq!(all("hello", "l", "\\&"), "he&&o");
        assert_eq!(all("a.b.c", "\\.", "/"), "a/b/c");
        assert_eq!(all("abc", "b*", "X"), "XaXcX");
    }

    #[test]
    fn a_mark_outlasts_every_substitution() {
        assert_eq!(all(&STAR.to_string(), ".*", ""), STAR.to_string());
        assert_eq!(all(&format!("{UNKNOWN}: git"), "^.*: ", ""), format!("{UNKNOWN}git"));
        assert_eq!(all(&format!("a-{STAR}-b"), "-", ""), format!("a{STAR}b"));
    }

    #[test]
    fn a_part_is_counted_in_letters_up_to_the_first_mark() {
        assert_eq!(part("hello", 2.0, Some(3.0)), "ell");
        assert_eq!(part("hello", 0.0, Some(2.0)), "h");
        assert_eq!(part("hello", -1.0, None), "hello");
        assert_eq!(part("hello", 10.0, None), "");
        assert_eq!(part(&format!("?? {FRESH}"), 4.0, None), FRESH.to_string());
        assert_eq!(part(&format!("{STAR}x"), 3.0, Some(2.0)), STAR.to_string());
        assert_eq!(part(&format!("ab{STAR}"), 1.0, Some(2.0)), "ab");
    }
}
