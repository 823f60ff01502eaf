//! `split` and `csplit`: one text becomes several files, whose names and texts are known.

use super::lines::count_of;
use super::options::{Exact, Given, Inexact, OrUnknown, text_of};
use crate::walk::ScriptWalk;
use crate::walk::expression::{Flavor, Notation};
use std::fmt::Write as _;

/// The most files of one call.
const MOST_PIECES: usize = 256;

pub(super) fn split(walk: &mut ScriptWalk<'_>, _: &str, arguments: &[String]) -> Exact<String> {
    let long_names = [
        ("lines", 'l'),
        ("bytes", 'b'),
        ("line-bytes", 'C'),
        ("number", 'n'),
        ("suffix-length", 'a'),
        ("numeric-suffixes", 'D'),
        ("hex-suffixes", 'X'),
        ("additional-suffix", 's'),
        ("verbose", 'v'),
        ("elide-empty-files", 'e'),
    ];
    let given = Given::read(arguments, "l:b:C:n:a:dxs:veD::X::", &long_names)?;
    let text = walk.exact_text(given.operands.first().copied().unwrap_or("-"))?;
    let prefix = given.operands.get(1).copied().unwrap_or("x");
    let size = |letter: char| given.value(letter).and_then(count_of).map(|(_, count)| count).filter(|count| *count > 0);
    let pieces: Vec<Vec<u8>> = if given.has('b') {
        text.as_bytes().chunks(size('b').or_unknown()?).map(<[u8]>::to_vec).collect()
    } else if given.has('C') {
        line_groups(&text, size('C').or_unknown()?).or_unknown()?
    } else if let Some(count) = given.value('n') {
        chunks(&text, count).or_unknown()?
    } else {
        let lines: Vec<&str> = text.split_inclusive('\n').collect();
        let most = if given.has('l') { size('l').or_unknown()? } else { 1000 };
        lines.chunks(most).map(|lines| lines.concat().into_bytes()).collect()
    };
    let first = match given.value('D').or(given.value('X')).filter(|value| !value.is_empty()) {
        Some(value) => value.parse().map_err(|_| Inexact::Unknown)?,
        None => 0,
    };
    let digits: &[u8] = match (given.has('d') || given.has('D'), given.has('x') || given.has('X')) {
        (true, _) => b"0123456789",
        (_, true) => b"0123456789abcdef",
        _ => b"abcdefghijklmnopqrstuvwxyz",
    };
    let length = given.number('a')?.filter(|length| *length > 0);
    // Names get longer before they run out.
    let most = digits.len().saturating_pow(u32::try_from(length.unwrap_or(2)).unwrap_or(2)) - digits.len();
    if pieces.len() + first > most.min(MOST_PIECES) || given.has('v') {
        return Err(Inexact::Unknown);
    }
    for (at, piece) in pieces.into_iter().enumerate() {
        let suffix = suffix_of(first + at, digits, length.unwrap_or(2));
        let path = format!("{prefix}{suffix}{}", given.value('s').unwrap_or(""));
        let piece = text_of(piece)?;
        walk.write_file(&path, &piece, false);
    }
    Ok(String::new())
}

/// The end of a file's name: its number in letters.
fn suffix_of(number: usize, digits: &[u8], length: usize) -> String {
    let mut rest = number;
    let mut letters = Vec::new();
    for _ in 0..length.min(32) {
        let digit = rest.checked_rem(digits.len()).and_then(|at| digits.get(at)).copied().unwrap_or(b'a');
        letters.push(char::from(digit));
        rest = rest.checked_div(digits.len()).unwrap_or(0);
    }
    letters.iter().rev().collect()
}

/// Whole lines of at most so many bytes.
fn line_groups(text: &str, most: usize) -> Option<Vec<Vec<u8>>> {
    let mut groups: Vec<Vec<u8>> = Vec::new();
    for line in text.split_inclusive('\n') {
        if line.len() > most {
            return None;
        }
        match groups.last_mut() {
            Some(group) if group.len() + line.len() <= most => group.extend(line.bytes()),
            _ => groups.push(line.as_bytes().to_vec()),
        }
    }
    Some(groups)
}

/// So many pieces of the same size. The last one has the rest.
fn chunks(text: &str, count: &str) -> Option<Vec<Vec<u8>>> {
    let count = count.parse::<usize>().ok().filter(|count| (1..=MOST_PIECES).contains(count))?;
    let size = text.len() / count;
    let bytes = text.as_bytes();
    (0..count)
        .map(|at| {
            let end = if at + 1 == count { bytes.len() } else { (at + 1) * size };
            bytes.get(at * size..end).map(<[u8]>::to_vec)
        })
        .collect()
}

/// The names that `csplit` gives to its files.
struct PieceNames<'g> {
    prefix: &'g str,
    format: Option<&'g str>,
    digits: usize,
}

impl PieceNames<'_> {
    fn name(&self, number: usize) -> Option<String> {
        let Some(format) = self.format else {
            return Some(format!("{}{number:0width$}", self.prefix, width = self.digits));
        };
        let (before, rest) = format.split_once('%')?;
        let end = rest.find(|letter: char| letter.is_ascii_alphabetic())?;
        let (width, rest) = rest.split_at(end);
        let shown = match (width, rest.get(..1)?) {
            ("", "d" | "u" | "i") => number.to_string(),
            (width, "d" | "u" | "i") => {
                let size = width.parse::<usize>().ok().filter(|size| *size < 32)?;
                if width.starts_with('0') { format!("{number:0size$}") } else { format!("{number:size$}") }
            }
            ("", "x") => format!("{number:x}"),
            _ => return None,
        };
        Some(format!("{}{before}{shown}{}", self.prefix, rest.get(1..)?))
    }
}

/// The work of `csplit`: lines, and the place up to which they are written.
struct LineSplit<'t> {
    lines: Vec<&'t str>,
    /// The first line that is not written.
    written: usize,
    /// The next search begins here.
    search: usize,
    pieces: Vec<String>,
}

impl LineSplit<'_> {
    /// Ends a piece before this line. Lines are dropped if they are skipped.
    fn cut(&mut self, end: usize, is_skipped: bool) -> Option<()> {
        let lines = self.lines.get(self.written..end)?;
        if !is_skipped {
            self.pieces.push(lines.concat());
        }
        self.written = end;
        (self.pieces.len() < MOST_PIECES).then_some(())
    }

    /// Follows a pattern for the n-th time; false if there is no such line.
    fn cut_once(&mut self, walk: &mut ScriptWalk<'_>, pattern: &str, round: usize) -> Exact<bool> {
        if pattern.starts_with(['/', '%']) {
            return self.cut_at_match(walk, pattern);
        }
        let line = pattern.parse::<usize>().ok().and_then(|line| line.checked_mul(round));
        let end = line.and_then(|line| line.checked_sub(1)).or_unknown()?;
        let is_there = end < self.lines.len() && end >= self.written;
        if is_there {
            self.cut(end, false).or_unknown()?;
            self.search = end + 1;
        }
        Ok(is_there)
    }

    /// `/expression/offset` or `%expression%offset`; false if no line matches.
    fn cut_at_match(&mut self, walk: &mut ScriptWalk<'_>, pattern: &str) -> Exact<bool> {
        let sign = pattern.chars().next().or_unknown()?;
        let (expression, offset) = pattern.get(1..).and_then(|rest| rest.rsplit_once(sign)).or_unknown()?;
        let offset = if offset.is_empty() { 0 } else { offset.parse::<isize>().map_err(|_| Inexact::Unknown)? };
        let expression = walk.expression_of(expression, Flavor::of(Notation::Basic)).or_unknown()?;
        for (at, line) in self.lines.iter().enumerate().skip(self.search) {
            let line = line.strip_suffix('\n').unwrap_or(line);
            if expression.is_match(line, &mut walk.budget).map_err(|_| Inexact::Unknown)? {
                let end = at.checked_add_signed(offset).filter(|end| *end <= self.lines.len()).or_unknown()?;
                self.cut(end, sign == '%').or_unknown()?;
                self.search = if offset > 0 { end + 1 } else { at + 1 };
                return Ok(true);
            }
        }
        Ok(false)
    }
}

pub(super) fn csplit(walk: &mut ScriptWalk<'_>, _: &str, arguments: &[String]) -> Exact<String> {
    let long_names = [
        ("prefix", 'f'),
        ("suffix-format", 'b'),
        ("digits", 'n'),
        ("silent", 's'),
        ("quiet", 'q'),
        ("elide-empty-files", 'z'),
        ("keep-files", 'k'),
    ];
    let given = Given::read(arguments, "f:b:n:sqzk", &long_names)?;
    let (path, patterns) = given.operands.split_first().or_unknown()?;
    let text = walk.exact_text(path)?;
    let names = PieceNames {
        prefix: given.value('f').unwrap_or("xx"),
        format: given.value('b'),
        digits: given.number('n')?.unwrap_or(2).min(32),
    };
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    let mut split = LineSplit { lines, written: 0, search: 0, pieces: Vec::new() };
    let mut words = patterns.iter().copied().peekable();
    while let Some(pattern) = words.next() {
        let repeats = words.peek().and_then(|word| word.strip_prefix('{')).and_then(|word| word.strip_suffix('}'));
        let (most, is_open) = match repeats {
            Some("*") => (MOST_PIECES, true),
            Some(number) => (number.parse::<usize>().map_err(|_| Inexact::Unknown)? + 1, false),
            None => (1, false),
        };
        if repeats.is_some() {
            words.next();
        }
        for round in 1..=most.min(MOST_PIECES) {
            let is_done = split.cut_once(walk, pattern, round)?;
            // Anything that is not found is an error, unless it is asked for as often as it is there.
            match (is_done, is_open) {
                (true, _) => {}
                (false, true) => break,
                (false, false) => return Err(Inexact::Unknown),
            }
        }
    }
    split.cut(split.lines.len(), false).or_unknown()?;
    let mut out = String::new();
    let pieces = split.pieces.into_iter().filter(|piece| !given.has('z') || !piece.is_empty());
    for (number, piece) in pieces.enumerate() {
        let path = names.name(number).or_unknown()?;
        if !given.has('s') && !given.has('q') {
            let _ = writeln!(out, "{}", piece.len());
        }
        walk.write_file(&path, &piece, false);
    }
    Ok(out)
}
