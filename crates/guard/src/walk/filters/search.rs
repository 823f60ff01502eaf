//! `grep`, exactly.

use std::fmt::Write as _;
use std::rc::Rc;

use super::options::{Exact, Given, Inexact, OrUnknown, line_end, lines_of};
use crate::walk::ScriptWalk;
use crate::walk::expression::{Expression, Extent, Flavor, Notation};

const LONG_NAMES: [(&str, char); 25] = [
    ("extended-regexp", 'E'),
    ("fixed-strings", 'F'),
    ("basic-regexp", 'G'),
    ("perl-regexp", 'P'),
    ("regexp", 'e'),
    ("file", 'f'),
    ("ignore-case", 'i'),
    ("word-regexp", 'w'),
    ("line-regexp", 'x'),
    ("null-data", 'z'),
    ("no-messages", 's'),
    ("invert-match", 'v'),
    ("max-count", 'm'),
    ("line-number", 'n'),
    ("with-filename", 'H'),
    ("no-filename", 'h'),
    ("only-matching", 'o'),
    ("quiet", 'q'),
    ("silent", 'q'),
    ("text", 'a'),
    ("files-without-match", 'L'),
    ("files-with-matches", 'l'),
    ("count", 'c'),
    ("color", 'k'),
    ("colour", 'k'),
];

/// `-5` is `-C5`, and the long names of the context have values.
fn with_context(arguments: &[String]) -> Vec<String> {
    let named = |word: &String| {
        for (long, letter) in [("--after-context=", 'A'), ("--before-context=", 'B'), ("--context=", 'C')] {
            if let Some(number) = word.strip_prefix(long) {
                return format!("-{letter}{number}");
            }
        }
        let is_number = word.strip_prefix('-').is_some_and(|digits| digits.parse::<usize>().is_ok());
        if is_number { format!("-C{}", word.trim_start_matches('-')) } else { word.clone() }
    };
    arguments.iter().map(named).collect()
}

/// What `grep` does with the lines of a file.
struct Search<'g> {
    given: &'g Given<'g>,
    expression: Rc<Expression>,
    end: char,
    most: usize,
    before: usize,
    after: usize,
}

pub(super) fn grep(walk: &mut ScriptWalk<'_>, name: &str, arguments: &[String]) -> Exact<String> {
    let words = with_context(arguments);
    let mut given = Given::read(&words, "EFGPe:f:iywxzsvm:nHhoqalLck::A:B:C:U", &LONG_NAMES).map_err(|inexact| {
        // Files below a directory are not known one by one.
        let is_deep = words.iter().any(|word| word.starts_with('-') && word.contains(['r', 'R']));
        if is_deep { Inexact::Marked } else { inexact }
    })?;
    let mut patterns: Vec<String> =
        given.options().filter(|(letter, _)| *letter == 'e').map(|(_, value)| value.to_owned()).collect();
    if let Some(path) = given.value('f') {
        let text = walk.exact_text(path)?;
        patterns.extend(lines_of(&text, '\n').into_iter().map(str::to_owned));
    }
    if !given.has('e') && !given.has('f') {
        if given.operands.is_empty() {
            return Err(Inexact::Unknown);
        }
        patterns.push(given.operands.remove(0).to_owned());
    }
    if patterns.iter().any(|pattern| crate::marks::has_mark(pattern)) {
        return Err(Inexact::Marked);
    }
    let last = given.options().map(|(letter, _)| letter).filter(|letter| "EFGP".contains(*letter)).last();
    let notation = match (name, last) {
        (_, Some('E')) | ("egrep", None) => Notation::Extended,
        (_, Some('F')) | ("fgrep", None) => Notation::Fixed,
        (_, Some('P')) => Notation::Perl,
        _ => Notation::Basic,
    };
    let flavor = Flavor {
        ignore_case: given.has('i') || given.has('y'),
        extent: match (given.has('x'), given.has('w')) {
            (true, _) => Extent::Line,
            (_, true) => Extent::Word,
            _ => Extent::Anything,
        },
        ..Flavor::of(notation)
    };
    if !can_be_joined(&patterns, notation) {
        return Err(Inexact::Unknown);
    }
    let expression = walk.expression_of(&patterns.join("\n"), flavor).or_unknown()?;
    let around = given.number('C')?.unwrap_or(0);
    let (before, after) = (given.number('B')?.unwrap_or(around), given.number('A')?.unwrap_or(around));
    let most = given.number('m')?.unwrap_or(usize::MAX);
    let search = Search { given: &given, expression, end: line_end(&given), most, before, after };
    let paths = if given.operands.is_empty() { &["-"][..] } else { &given.operands };
    let shows_names = given.has('H') || paths.len() > 1 && !given.has('h');
    let mut out = String::new();
    for path in paths {
        let text = walk.exact_text(path)?;
        let shown = if *path == "-" { "(standard input)" } else { path };
        let name = if shows_names { shown } else { "" };
        search.file(walk, &text, name, shown, &mut out)?;
    }
    Ok(if given.has('q') { String::new() } else { out })
}

/// True if several patterns can be alternatives of one. Numbers of groups would not be right behind the first.
fn can_be_joined(patterns: &[String], notation: Notation) -> bool {
    let has_reference =
        |pattern: &String| pattern.as_bytes().windows(2).any(|pair| matches!(pair, [b'\\', b'1'..=b'9']));
    match notation {
        _ if patterns.len() < 2 => true,
        Notation::Fixed => true,
        Notation::Perl => false,
        Notation::Basic | Notation::Extended => !patterns.iter().any(has_reference),
    }
}

impl Search<'_> {
    fn file(&self, walk: &mut ScriptWalk<'_>, text: &str, name: &str, shown: &str, out: &mut String) -> Exact<()> {
        let lines = lines_of(text, self.end);
        let mut found = Vec::new();
        for (at, line) in lines.iter().enumerate() {
            if found.len() >= self.most {
                break;
            }
            let is_match = self.expression.is_match(line, &mut walk.budget).map_err(|_| Inexact::Unknown)?;
            if is_match != self.given.has('v') {
                found.push(at);
            }
        }
        let prefix = if name.is_empty() { String::new() } else { format!("{name}:") };
        if self.given.has('l') || self.given.has('L') {
            if found.is_empty() == self.given.has('L') {
                let _ = writeln!(out, "{shown}");
            }
        } else if self.given.has('c') {
            let _ = writeln!(out, "{prefix}{}", found.len());
        } else if self.given.has('o') {
            if !self.given.has('v') {
                self.push_parts(walk, &lines, &found, &prefix, out)?;
            }
        } else {
            self.push_lines(&lines, &found, name, out);
        }
        Ok(())
    }

    /// `-o`: every part that matches, on a line of its own.
    fn push_parts(
        &self,
        walk: &mut ScriptWalk<'_>,
        lines: &[&str],
        found: &[usize],
        prefix: &str,
        out: &mut String,
    ) -> Exact<()> {
        for at in found {
            let line = lines.get(*at).copied().unwrap_or("");
            let mut from = 0;
            while from <= line.len() {
                let groups = self.expression.find_at(line, from, &mut walk.budget).map_err(|_| Inexact::Unknown)?;
                let Some(Some(range)) = groups.and_then(|groups| groups.into_iter().next()) else { break };
                if range.is_empty() {
                    let step = line.get(range.end..).and_then(|rest| rest.chars().next()).map_or(1, char::len_utf8);
                    from = range.end + step;
                    continue;
                }
                out.push_str(prefix);
                if self.given.has('n') {
                    let _ = write!(out, "{}:", at + 1);
                }
                out.push_str(line.get(range.clone()).unwrap_or(""));
                out.push(self.end);
                from = range.end;
            }
        }
        Ok(())
    }

    /// Lines with those around them.
    fn push_lines(&self, lines: &[&str], found: &[usize], name: &str, out: &mut String) {
        let mut next = 0;
        let mut is_first = true;
        let has_context = self.before > 0 || self.after > 0;
        for (place, at) in found.iter().enumerate() {
            let start = at.saturating_sub(self.before).max(next);
            // With a limit, lines behind the last match are shown up to the next match.
            let end = (at.saturating_add(self.after)).min(lines.len().saturating_sub(1));
            let end = found.get(place + 1).map_or(end, |other| end.min(other.saturating_sub(1)));
            if has_context && !is_first && start > next {
                out.push_str("--\n");
            }
            is_first = false;
            for line in start..=end {
                let sign = if line == *at { ':' } else { '-' };
                if !name.is_empty() {
                    out.push_str(name);
                    out.push(sign);
                }
                if self.given.has('n') {
                    let _ = write!(out, "{}{sign}", line + 1);
                }
                out.push_str(lines.get(line).copied().unwrap_or(""));
                out.push(self.end);
            }
            next = end + 1;
        }
    }
}
