//! `sort`, `tsort` and `shuf`.

use std::borrow::Cow;
use std::cmp::Ordering;
use std::collections::{BTreeMap, VecDeque};

use super::options::{Exact, Given, Inexact, OrUnknown, line_end, lines_of};
use super::version;
use crate::walk::ScriptWalk;
use crate::walk::filters::joined;

/// The kinds of comparison, by the letter of their option; the first one that is given counts.
const KINDS: &str = "ngMhRV";

/// One key of `sort`. Fields and letters count from 0.
#[derive(Debug, Clone, Default)]
struct SortKey {
    start: (usize, usize),
    /// None: to the end of the line. A letter of 0 is the end of the field.
    end: Option<(usize, usize)>,
    flags: String,
    skips_start: bool,
    skips_end: bool,
}

/// The order that `sort` is asked for.
struct SortOrder {
    keys: Vec<SortKey>,
    /// The whole line decides in the end, from behind if so.
    last_resort: Option<bool>,
    separator: Option<u8>,
}

const LONG_NAMES: [(&str, char); 22] = [
    ("numeric-sort", 'n'),
    ("reverse", 'r'),
    ("unique", 'u'),
    ("key", 'k'),
    ("field-separator", 't'),
    ("ignore-case", 'f'),
    ("version-sort", 'V'),
    ("human-numeric-sort", 'h'),
    ("general-numeric-sort", 'g'),
    ("ignore-leading-blanks", 'b'),
    ("stable", 's'),
    ("output", 'o'),
    ("zero-terminated", 'z'),
    ("dictionary-order", 'd'),
    ("ignore-nonprinting", 'i'),
    ("month-sort", 'M'),
    ("random-sort", 'R'),
    ("sort", 'w'),
    ("parallel", 'p'),
    ("buffer-size", 'S'),
    ("temporary-directory", 'T'),
    ("check", 'c'),
];

pub(super) fn sort(walk: &mut ScriptWalk<'_>, _: &str, arguments: &[String]) -> Exact<String> {
    let given = Given::read(arguments, "nruk:t:fVhgbso:zdiMRw:p:S:T:c::Cm", &LONG_NAMES)?;
    let text = walk.exact_input(&given.operands)?;
    if given.has('c') || given.has('C') {
        return Ok(String::new());
    }
    let order = SortOrder::of(&given)?;
    // Such a call is an error, and prints nothing.
    if order.keys.iter().any(SortKey::is_contradictory) {
        return Ok(String::new());
    }
    let end = line_end(&given);
    let mut lines = lines_of(&text, end);
    walk.work(lines.len().saturating_mul(order.keys.len()) * 2)?;
    let is_random = order.keys.iter().any(|key| key.flags.contains('R'));
    if lines.len() > 1 && (is_random || given.has('m') && given.operands.len() > 1) {
        return Err(Inexact::Unknown);
    }
    // Merging one file leaves it as it is.
    if !given.has('m') {
        lines.sort_by(|left, right| order.compare(left, right));
    }
    if given.has('u') {
        lines.dedup_by(|right, left| order.compare_keys(left, right).is_eq());
    }
    let mut out = String::with_capacity(text.len() + 1);
    for line in lines {
        out.push_str(line);
        out.push(end);
    }
    match given.value('o') {
        Some(path) => {
            walk.write_file(path, &out, false);
            Ok(String::new())
        }
        None => Ok(out),
    }
}

impl SortOrder {
    fn of(given: &Given<'_>) -> Exact<Self> {
        let mut flags: String =
            given.options().map(|(letter, _)| letter).filter(|letter| "nrfVhgbdiMR".contains(*letter)).collect();
        match given.value('w') {
            Some("numeric") => flags.push('n'),
            Some("version") => flags.push('V'),
            Some("human-numeric") => flags.push('h'),
            Some("general-numeric") => flags.push('g'),
            Some("month") => flags.push('M'),
            Some("random") => flags.push('R'),
            Some(_) => return Err(Inexact::Unknown),
            None => {}
        }
        let separator = match given.value('t') {
            None => None,
            Some("\\0") => Some(0),
            Some(text) => match text.as_bytes() {
                [only] => Some(*only),
                _ => return Err(Inexact::Unknown),
            },
        };
        let mut keys = Vec::new();
        for (_, text) in given.options().filter(|(letter, _)| *letter == 'k') {
            let mut key = SortKey::parse(text).or_unknown()?;
            // A key without letters of its own has those of the whole call.
            if key.flags.is_empty() && !key.skips_start && !key.skips_end {
                key.flags.clone_from(&flags);
                key.skips_start = flags.contains('b');
                key.skips_end = key.skips_start;
            }
            keys.push(key);
        }
        if keys.is_empty() {
            keys.push(SortKey { skips_start: flags.contains('b'), flags: flags.clone(), ..SortKey::default() });
        }
        let is_last = !given.has('s') && !given.has('u');
        Ok(Self { keys, last_resort: is_last.then(|| flags.contains('r')), separator })
    }

    fn compare(&self, left: &str, right: &str) -> Ordering {
        self.compare_keys(left, right).then_with(|| match self.last_resort {
            Some(false) => left.cmp(right),
            Some(true) => right.cmp(left),
            None => Ordering::Equal,
        })
    }

    fn compare_keys(&self, left: &str, right: &str) -> Ordering {
        for key in &self.keys {
            let order = key.compare(self.cut(key, left), self.cut(key, right));
            if order.is_ne() {
                return order;
            }
        }
        Ordering::Equal
    }

    /// The part of a line that a key is about.
    fn cut<'l>(&self, key: &SortKey, line: &'l str) -> &'l [u8] {
        let bytes = line.as_bytes();
        let from = self.place(bytes, key.start.0, key.start.1, key.skips_start, false);
        let to = match key.end {
            None => bytes.len(),
            Some((field, 0)) => self.place(bytes, field + 1, 0, false, true),
            Some((field, letter)) => self.place(bytes, field, letter, key.skips_end, false),
        };
        bytes.get(from..to).unwrap_or(&[])
    }

    /// The place of a letter of a field. The end of the fields before it excludes the separator behind them.
    fn place(&self, line: &[u8], fields: usize, letters: usize, skips: bool, is_end: bool) -> usize {
        let mut at = 0;
        for field in 0..fields {
            if at >= line.len() {
                break;
            }
            if let Some(separator) = self.separator {
                at = run_end(line, at, |byte| byte != separator);
                if at < line.len() && !(is_end && field + 1 == fields) {
                    at += 1;
                }
            } else {
                at = run_end(line, at, is_blank);
                at = run_end(line, at, |byte| !is_blank(byte));
            }
        }
        if skips {
            at = run_end(line, at, is_blank);
        }
        at.saturating_add(letters).min(line.len())
    }
}

impl SortKey {
    /// `F[.C][OPTS][,F[.C][OPTS]]`
    fn parse(text: &str) -> Option<Self> {
        let (start, end) = text.split_once(',').map_or((text, None), |(start, end)| (start, Some(end)));
        let mut key = Self::default();
        let (field, letter, flags) = position(start)?;
        key.start = (field.checked_sub(1)?, letter.unwrap_or(1).checked_sub(1)?);
        key.skips_start = flags.contains('b');
        key.flags.push_str(flags);
        if let Some(end) = end {
            let (field, letter, flags) = position(end)?;
            key.end = Some((field.checked_sub(1)?, letter.unwrap_or(0)));
            key.skips_end = flags.contains('b');
            key.flags.push_str(flags);
        }
        key.flags.chars().all(|flag| "nrfVhgbdiMR".contains(flag)).then_some(key)
    }

    /// True if its options ask for several orders at once.
    fn is_contradictory(&self) -> bool {
        let has = |letters: &str| letters.chars().any(|letter| self.flags.contains(letter));
        ["n", "g", "h", "M", "VRdi"].into_iter().filter(|letters| has(letters)).count() > 1
    }

    fn compare(&self, left: &[u8], right: &[u8]) -> Ordering {
        let kind = KINDS.chars().find(|kind| self.flags.contains(*kind));
        let (left_text, right_text) = (String::from_utf8_lossy(left), String::from_utf8_lossy(right));
        let order = match kind {
            Some('n') => Decimal::of(&left_text).cmp(&Decimal::of(&right_text)),
            Some('h') => human(&left_text).cmp(&human(&right_text)),
            Some('g') => general(&left_text).partial_cmp(&general(&right_text)).unwrap_or(Ordering::Equal),
            Some('M') => month(&left_text).cmp(&month(&right_text)),
            Some('V') => version::compare(&self.seen(left), &self.seen(right)),
            _ => self.seen(left).cmp(&self.seen(right)),
        };
        if self.flags.contains('r') { order.reverse() } else { order }
    }

    /// The letters that count.
    fn seen<'b>(&self, bytes: &'b [u8]) -> Cow<'b, [u8]> {
        if !self.flags.contains(['d', 'i', 'f']) {
            return Cow::Borrowed(bytes);
        }
        let counts = |byte: &u8| {
            (!self.flags.contains('d') || byte.is_ascii_alphanumeric() || is_blank(*byte))
                && (!self.flags.contains('i') || (b' '..=b'~').contains(byte))
        };
        let folds = self.flags.contains('f');
        let letters = bytes.iter().copied().filter(counts);
        letters.map(|byte| if folds { byte.to_ascii_uppercase() } else { byte }).collect()
    }
}

/// A field, a letter and the options behind them.
fn position(text: &str) -> Option<(usize, Option<usize>, &str)> {
    let digits = |text: &str| text.find(|letter: char| !letter.is_ascii_digit()).unwrap_or(text.len());
    let (field, rest) = text.split_at(digits(text));
    let field = field.parse().ok()?;
    match rest.strip_prefix('.') {
        Some(rest) => {
            let (letter, flags) = rest.split_at(digits(rest));
            Some((field, Some(letter.parse().ok()?), flags))
        }
        None => Some((field, None, rest)),
    }
}

fn is_blank(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\n')
}

fn run_end(line: &[u8], from: usize, belongs: impl Fn(u8) -> bool) -> usize {
    let rest = line.get(from..).unwrap_or(&[]);
    from + rest.iter().position(|byte| !belongs(*byte)).unwrap_or(rest.len())
}

/// A decimal number of any length at the start of a text; zero if there is none.
#[derive(PartialEq, Eq)]
struct Decimal<'t> {
    is_negative: bool,
    whole: &'t str,
    fraction: &'t str,
    /// The letter behind it.
    unit: Option<char>,
}

impl<'t> Decimal<'t> {
    fn of(text: &'t str) -> Self {
        let text = text.trim_start_matches([' ', '\t', '\n']);
        let (is_negative, digits) = text.strip_prefix('-').map_or((false, text), |digits| (true, digits));
        let count = |text: &str| text.find(|letter: char| !letter.is_ascii_digit()).unwrap_or(text.len());
        let (whole, rest) = digits.split_at(count(digits));
        let (fraction, rest) = match rest.strip_prefix('.') {
            Some(fraction) => fraction.split_at(count(fraction)),
            None => ("", rest),
        };
        let (whole, fraction) = (whole.trim_start_matches('0'), fraction.trim_end_matches('0'));
        let is_negative = is_negative && !(whole.is_empty() && fraction.is_empty());
        Self { is_negative, whole, fraction, unit: rest.chars().next() }
    }

    fn is_zero(&self) -> bool {
        self.whole.is_empty() && self.fraction.is_empty()
    }
}

impl Ord for Decimal<'_> {
    fn cmp(&self, other: &Self) -> Ordering {
        let sizes = |number: &Self| (number.whole.len(), number.whole.to_owned(), number.fraction.to_owned());
        match (self.is_negative, other.is_negative) {
            (false, true) => Ordering::Greater,
            (true, false) => Ordering::Less,
            (false, false) => sizes(self).cmp(&sizes(other)),
            (true, true) => sizes(other).cmp(&sizes(self)),
        }
    }
}

impl PartialOrd for Decimal<'_> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// The unit comes before the number: `2K` is more than `1000`.
fn human(text: &str) -> (i8, Decimal<'_>) {
    let number = Decimal::of(text);
    let place = number.unit.and_then(|unit| "KMGTPEZY".find(if unit == 'k' { 'K' } else { unit }));
    let order = place.filter(|_| !number.is_zero()).and_then(|at| i8::try_from(at + 1).ok()).unwrap_or(0);
    (if number.is_negative { -order } else { order }, number)
}

/// The number at the start of a text, in floating point; text comes before every number.
fn general(text: &str) -> (bool, f64) {
    let text = text.trim_start();
    let ends = (1..=text.len().min(40)).rev().filter_map(|end| text.get(..end));
    let is_plain = |part: &&str| part.ends_with(|letter: char| letter.is_ascii_digit() || letter == '.');
    let number = ends.filter(is_plain).find_map(|part| part.parse::<f64>().ok());
    number.map_or((false, 0.0), |number| (true, number))
}

fn month(text: &str) -> usize {
    const MONTHS: [&str; 12] = ["JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC"];
    let name = text.trim_start().get(..3).unwrap_or("").to_ascii_uppercase();
    MONTHS.iter().position(|month| *month == name).map_or(0, |at| at + 1)
}

/// `tsort`: pairs of names, each before the other. The queue is that of Knuth's algorithm, as GNU has it.
pub(super) fn tsort(walk: &mut ScriptWalk<'_>, _: &str, arguments: &[String]) -> Exact<String> {
    let given = Given::read(arguments, "", &[])?;
    let text = walk.exact_input(&given.operands)?;
    let words: Vec<&str> = text.split_ascii_whitespace().collect();
    walk.work(words.len() / 2)?;
    let mut names: BTreeMap<&str, (usize, Vec<&str>)> = BTreeMap::new();
    for pair in words.chunks(2) {
        let [before, after] = pair else { return Err(Inexact::Unknown) };
        names.entry(before).or_default();
        names.entry(after).or_default();
        if before != after {
            if let Some((_, followers)) = names.get_mut(before) {
                followers.push(after);
            }
            if let Some((count, _)) = names.get_mut(after) {
                *count += 1;
            }
        }
    }
    let mut queue: VecDeque<&str> = names.iter().filter(|(_, (count, _))| *count == 0).map(|(name, _)| *name).collect();
    let mut sorted: Vec<String> = Vec::new();
    while let Some(name) = queue.pop_front() {
        sorted.push(name.to_owned());
        let followers = names.get(name).map(|(_, followers)| followers.clone()).unwrap_or_default();
        for follower in followers.into_iter().rev() {
            if let Some((count, _)) = names.get_mut(follower) {
                *count -= 1;
                if *count == 0 {
                    queue.push_back(follower);
                }
            }
        }
    }
    // Names that go round in a circle are printed in an order of their own.
    if sorted.len() < names.len() { Err(Inexact::Unknown) } else { Ok(joined(sorted.into_iter())) }
}

/// `shuf`: one line has only one order.
pub(super) fn shuf(walk: &mut ScriptWalk<'_>, _: &str, arguments: &[String]) -> Exact<String> {
    let long_names = [("echo", 'e'), ("head-count", 'n'), ("input-range", 'i'), ("zero-terminated", 'z')];
    let given = Given::read(arguments, "en:i:z", &long_names)?;
    let end = line_end(&given);
    if given.number('n')? == Some(0) {
        return Ok(String::new());
    }
    let lines: Vec<String> = if given.has('e') {
        given.operands.iter().map(|&word| word.to_owned()).collect()
    } else if let Some(range) = given.value('i') {
        let (from, to) = range.split_once('-').or_unknown()?;
        if from == to { vec![from.to_owned()] } else { return Err(Inexact::Unknown) }
    } else {
        lines_of(&walk.exact_input(&given.operands)?, end).into_iter().map(str::to_owned).collect()
    };
    match lines.as_slice() {
        [] => Ok(String::new()),
        [first, rest @ ..] if rest.iter().all(|line| line == first) => {
            let most = given.number('n')?.unwrap_or(usize::MAX);
            Ok(lines.iter().take(most).flat_map(|line| [line.clone(), end.to_string()]).collect())
        }
        _ => Err(Inexact::Unknown),
    }
}
