//! Programs that take lines apart into columns, or put columns together: `cut`, `paste`, `comm`, `column`.

use std::cmp::Ordering;
use std::fmt::Write as _;

use super::options::{Exact, Given, Inexact, OrUnknown, line_end, lines_of};
use crate::walk::ScriptWalk;

/// The ranges of `cut`: first and last place, counted from 1.
fn ranges(list: &str) -> Option<Vec<(usize, usize)>> {
    let mut ranges = Vec::new();
    for part in list.split([',', ' ', '\t']) {
        let range = match part.split_once('-') {
            Some(("", "")) => return None,
            Some(("", to)) => (1, to.parse().ok()?),
            Some((from, "")) => (from.parse().ok()?, usize::MAX),
            Some((from, to)) => (from.parse().ok()?, to.parse().ok()?),
            None => part.parse().ok().map(|only| (only, only))?,
        };
        if range.0 == 0 || range.0 > range.1 {
            return None;
        }
        ranges.push(range);
    }
    ranges.sort_unstable();
    // Ranges that overlap are one, and those that only touch are two.
    let mut merged: Vec<(usize, usize)> = Vec::new();
    for (first, last) in ranges {
        match merged.last_mut() {
            Some((_, end)) if first <= *end => *end = (*end).max(last),
            _ => merged.push((first, last)),
        }
    }
    Some(merged)
}

/// The places between ranges.
fn gaps(ranges: &[(usize, usize)]) -> Vec<(usize, usize)> {
    let mut gaps = Vec::new();
    let mut next = 1;
    for (first, last) in ranges {
        if *first > next {
            gaps.push((next, first - 1));
        }
        next = last.saturating_add(1);
    }
    if next < usize::MAX {
        gaps.push((next, usize::MAX));
    }
    gaps
}

pub(super) fn cut(walk: &mut ScriptWalk<'_>, _: &str, arguments: &[String]) -> Exact<String> {
    let long_names = [
        ("bytes", 'b'),
        ("characters", 'c'),
        ("fields", 'f'),
        ("delimiter", 'd'),
        ("only-delimited", 's'),
        ("complement", 'C'),
        ("output-delimiter", 'O'),
        ("zero-terminated", 'z'),
    ];
    let given = Given::read(arguments, "b:c:f:d:sCO:zn", &long_names)?;
    let text = walk.exact_input(&given.operands)?;
    let list = given.value('f').or(given.value('c')).or(given.value('b')).or_unknown()?;
    let ranges = ranges(list).or_unknown()?;
    let ranges = if given.has('C') { gaps(&ranges) } else { ranges };
    let chosen = |at: usize| {
        let before = ranges.partition_point(|(first, _)| *first <= at);
        before.checked_sub(1).and_then(|before| ranges.get(before)).is_some_and(|(_, last)| at <= *last)
    };
    let end = line_end(&given);
    let delimiter = given.value('d').unwrap_or("\t");
    let delimiter = if delimiter.is_empty() { "\0" } else { delimiter };
    let by_fields = given.has('f');
    // Letters are bytes to it.
    if by_fields && delimiter.len() > 1 || !by_fields && !text.is_ascii() {
        return Err(Inexact::Unknown);
    }
    walk.work(ranges.len() + text.len() / 64)?;
    if !by_fields {
        walk.work(ranges.len().saturating_mul(text.matches(end).count()) / 32)?;
    }
    let joint = given.value('O').unwrap_or(delimiter);
    let mut out = String::new();
    for line in lines_of(&text, end) {
        if !by_fields {
            let parts = ranges.iter().filter_map(|(first, last)| line.get(first - 1..(*last).min(line.len())));
            let parts: Vec<&str> = parts.filter(|part| !part.is_empty()).collect();
            out.push_str(&parts.join(given.value('O').unwrap_or("")));
        } else if line.contains(delimiter) {
            let fields = line.split(delimiter).enumerate().filter(|(at, _)| chosen(at + 1));
            out.push_str(&fields.map(|(_, field)| field).collect::<Vec<_>>().join(joint));
        } else if given.has('s') {
            continue;
        } else {
            out.push_str(line);
        }
        out.push(end);
    }
    Ok(out)
}

pub(super) fn paste(walk: &mut ScriptWalk<'_>, _: &str, arguments: &[String]) -> Exact<String> {
    let long_names = [("serial", 's'), ("delimiters", 'd'), ("zero-terminated", 'z')];
    let given = Given::read(arguments, "sd:z", &long_names)?;
    let end = line_end(&given);
    let delimiters = delimiters(given.value('d').unwrap_or("\t"));
    let paths = if given.operands.is_empty() { &["-"][..] } else { &given.operands };
    let mut texts = Vec::new();
    for path in paths {
        texts.push(walk.exact_text(path)?);
    }
    // Several `-` take lines of one input in turns.
    let inputs = paths.iter().filter(|path| **path == "-").count();
    let mut before = 0;
    let columns: Vec<Vec<&str>> = paths
        .iter()
        .zip(&texts)
        .map(|(path, text)| {
            let lines = lines_of(text, end).into_iter();
            if *path != "-" {
                return lines.collect();
            }
            before += 1;
            if given.has('s') {
                return if before == 1 { lines.collect() } else { Vec::new() };
            }
            lines.skip(before - 1).step_by(inputs).collect()
        })
        .collect();
    let joint = |at: usize| at.checked_rem(delimiters.len()).and_then(|at| delimiters.get(at)).copied().flatten();
    let mut out = String::new();
    if given.has('s') {
        for lines in columns {
            for (at, line) in lines.iter().enumerate() {
                out.push_str(line);
                if at + 1 < lines.len() {
                    out.extend(joint(at));
                }
            }
            out.push(end);
        }
        return Ok(out);
    }
    for row in 0..columns.iter().map(Vec::len).max().unwrap_or(0) {
        for (at, lines) in columns.iter().enumerate() {
            out.push_str(lines.get(row).unwrap_or(&""));
            if at + 1 < columns.len() {
                out.extend(joint(at));
            }
        }
        out.push(end);
    }
    Ok(out)
}

/// The letters between columns, in turns. `\0` is none.
fn delimiters(list: &str) -> Vec<Option<char>> {
    let mut out = Vec::new();
    let mut letters = list.chars();
    while let Some(letter) = letters.next() {
        out.push(match letter {
            '\\' => match letters.next() {
                Some('n') => Some('\n'),
                Some('t') => Some('\t'),
                Some('0') => None,
                other => other,
            },
            other => Some(other),
        });
    }
    if out.is_empty() { vec![None] } else { out }
}

pub(super) fn comm(walk: &mut ScriptWalk<'_>, _: &str, arguments: &[String]) -> Exact<String> {
    let long_names =
        [("output-delimiter", 'O'), ("zero-terminated", 'z'), ("check-order", 'n'), ("nocheck-order", 'N')];
    let given = Given::read(arguments, "123O:znN", &long_names)?;
    let [left, right] = given.operands.as_slice() else { return Err(Inexact::Unknown) };
    let (left, right) = (walk.exact_text(left)?, walk.exact_text(right)?);
    let end = line_end(&given);
    walk.work((left.len() + right.len()) / 64)?;
    let (lefts, rights) = (lines_of(&left, end), lines_of(&right, end));
    let (mut lefts, mut rights) = (lefts.into_iter().peekable(), rights.into_iter().peekable());
    let joint = given.value('O').unwrap_or("\t");
    let mut out = String::new();
    loop {
        let order = match (lefts.peek(), rights.peek()) {
            (Some(left), Some(right)) => left.cmp(right),
            (Some(_), None) => Ordering::Less,
            (None, Some(_)) => Ordering::Greater,
            (None, None) => return Ok(out),
        };
        let (line, column) = match order {
            Ordering::Less => (lefts.next(), '1'),
            Ordering::Greater => (rights.next(), '2'),
            Ordering::Equal => {
                lefts.next();
                (rights.next(), '3')
            }
        };
        if !given.has(column) {
            let before = ('1'..column).filter(|column| !given.has(*column)).count();
            out.push_str(&joint.repeat(before));
            out.push_str(line.unwrap_or(""));
            out.push(end);
        }
    }
}

/// `column -t`: columns of the same width. Without `-t` the width of a terminal decides.
pub(super) fn column(walk: &mut ScriptWalk<'_>, _: &str, arguments: &[String]) -> Exact<String> {
    let long_names = [("table", 't'), ("separator", 's'), ("output-separator", 'o')];
    let given = Given::read(arguments, "ts:o:", &long_names)?;
    let text = walk.exact_input(&given.operands)?;
    let lines: Vec<&str> = lines_of(&text, '\n').into_iter().filter(|line| !line.trim().is_empty()).collect();
    if !given.has('t') {
        return match lines.as_slice() {
            [] => Ok(String::new()),
            [only] => Ok(format!("{only}\n")),
            _ => Err(Inexact::Unknown),
        };
    }
    let rows: Vec<Vec<&str>> = lines
        .into_iter()
        .map(|line| match given.value('s') {
            Some(separators) => line.split(|letter| separators.contains(letter)).collect(),
            None => line.split([' ', '\t']).filter(|cell| !cell.is_empty()).collect(),
        })
        .collect();
    if !text.is_ascii() || given.value('s').is_some_and(|separators| separators.contains([' ', '\t'])) {
        return Err(Inexact::Unknown);
    }
    let most = rows.iter().map(Vec::len).max().unwrap_or(0);
    walk.work(rows.len().saturating_mul(most) / 16)?;
    let mut widths = vec![0; most];
    for row in &rows {
        for (width, cell) in widths.iter_mut().zip(row) {
            *width = (*width).max(cell.len());
        }
    }
    let size: usize = widths.iter().map(|width| width + 2).sum();
    if size.saturating_mul(rows.len()) > crate::walk::LONGEST_TEXT {
        return Err(Inexact::Unknown);
    }
    let joint = given.value('o').unwrap_or("  ");
    let mut out = String::new();
    for row in &rows {
        for (at, width) in widths.iter().enumerate() {
            let cell = row.get(at).copied().unwrap_or("");
            if at + 1 == most {
                out.push_str(cell);
            } else {
                let _ = write!(out, "{cell:<width$}{joint}");
            }
        }
        out.push('\n');
    }
    Ok(out)
}
