//! Programs that choose, number or turn lines: `cat`, `head`, `tail`, `tac`, `rev`, `uniq`, `nl`.

use super::options::{Exact, Given, Inexact, OrUnknown, line_end, lines_of, text_of};
use crate::walk::ScriptWalk;
use std::fmt::Write as _;

pub(super) fn cat(walk: &mut ScriptWalk<'_>, _: &str, arguments: &[String]) -> Exact<String> {
    let long_names = [
        ("number", 'n'),
        ("number-nonblank", 'b'),
        ("squeeze-blank", 's'),
        ("show-all", 'A'),
        ("show-ends", 'E'),
        ("show-tabs", 'T'),
        ("show-nonprinting", 'v'),
    ];
    let given = Given::read(arguments, "nbsAETvetu", &long_names)?;
    // Without options nothing has to be known.
    if given.options().all(|(letter, _)| letter == 'u') {
        return Err(Inexact::Marked);
    }
    let text = walk.exact_input(&given.operands)?;
    let has = |letters: &str| letters.chars().any(|letter| given.has(letter));
    let (mut out, mut number, mut blanks) = (String::new(), 0, 0);
    for line in text.split_inclusive('\n') {
        let (inside, end) = line.strip_suffix('\n').map_or((line, ""), |inside| (inside, "\n"));
        let is_blank = line == "\n";
        blanks = if is_blank { blanks + 1 } else { 0 };
        if has("s") && blanks > 1 {
            continue;
        }
        if has("b") && !is_blank || has("n") && !has("b") {
            number += 1;
            let _ = write!(out, "{number:6}\t");
        }
        for letter in inside.chars() {
            push_visible(&mut out, letter, has("vAet"), has("TAt"))?;
        }
        if !end.is_empty() && has("EAe") {
            out.push('$');
        }
        out.push_str(end);
    }
    Ok(out)
}

/// One letter as `cat -v` shows it.
fn push_visible(out: &mut String, letter: char, shows: bool, shows_tabs: bool) -> Exact<()> {
    match letter {
        '\t' if shows_tabs => out.push_str("^I"),
        '\t' => out.push('\t'),
        '\0'..='\u{1f}' if shows => {
            out.push('^');
            out.extend(char::from_u32(u32::from(letter) + 64));
        }
        '\u{7f}' if shows => out.push_str("^?"),
        _ if shows && !letter.is_ascii() => return Err(Inexact::Unknown),
        _ => out.push(letter),
    }
    Ok(())
}

pub(super) fn rev(walk: &mut ScriptWalk<'_>, _: &str, arguments: &[String]) -> Exact<String> {
    let given = Given::read(arguments, "", &[])?;
    let text = walk.exact_input(&given.operands)?;
    let mut out = String::with_capacity(text.len());
    for line in text.split_inclusive('\n') {
        let inside = line.strip_suffix('\n').unwrap_or(line);
        out.extend(inside.chars().rev());
        out.push_str(line.get(inside.len()..).unwrap_or(""));
    }
    Ok(out)
}

pub(super) fn tac(walk: &mut ScriptWalk<'_>, _: &str, arguments: &[String]) -> Exact<String> {
    let given = Given::read(arguments, "s:b", &[("separator", 's'), ("before", 'b')])?;
    let separator = given.value('s').unwrap_or("\n");
    if separator.is_empty() {
        return Err(Inexact::Unknown);
    }
    let mut out = String::new();
    for path in if given.operands.is_empty() { &["-"][..] } else { &given.operands } {
        let text = walk.exact_text(path)?;
        let mut cuts: Vec<usize> = text.match_indices(separator).map(|(at, _)| at).collect();
        if !given.has('b') {
            for at in &mut cuts {
                *at += separator.len();
            }
        }
        let mut end = text.len();
        for cut in cuts.into_iter().rev().filter(|cut| *cut < text.len()) {
            out.push_str(text.get(cut..end).unwrap_or(""));
            end = cut;
        }
        out.push_str(text.get(..end).unwrap_or(""));
    }
    Ok(out)
}

pub(super) fn uniq(walk: &mut ScriptWalk<'_>, _: &str, arguments: &[String]) -> Exact<String> {
    let long_names = [
        ("count", 'c'),
        ("repeated", 'd'),
        ("unique", 'u'),
        ("ignore-case", 'i'),
        ("skip-fields", 'f'),
        ("skip-chars", 's'),
        ("check-chars", 'w'),
        ("zero-terminated", 'z'),
    ];
    let given = Given::read(arguments, "cdDuif:s:w:z", &long_names)?;
    let text = walk.exact_text(given.operands.first().copied().unwrap_or("-"))?;
    let end = line_end(&given);
    let (fields, letters, width) = (given.number('f')?, given.number('s')?, given.number('w')?);
    let seen = |line: &str| {
        let mut rest = line;
        for _ in 0..fields.unwrap_or(0) {
            rest = rest.trim_start_matches([' ', '\t']);
            rest = rest.get(rest.find([' ', '\t']).unwrap_or(rest.len())..).unwrap_or("");
        }
        let seen: String = rest.chars().skip(letters.unwrap_or(0)).take(width.unwrap_or(usize::MAX)).collect();
        if given.has('i') { seen.to_ascii_lowercase() } else { seen }
    };
    let mut groups: Vec<(String, Vec<&str>)> = Vec::new();
    for line in lines_of(&text, end) {
        let key = seen(line);
        match groups.last_mut() {
            Some((last, lines)) if *last == key => lines.push(line),
            _ => groups.push((key, vec![line])),
        }
    }
    let mut out = String::new();
    for (_, lines) in groups {
        let count = lines.len();
        if (given.has('d') || given.has('D')) && count < 2 || given.has('u') && count > 1 {
            continue;
        }
        let shown = if given.has('D') { count } else { 1 };
        for line in lines.into_iter().take(shown) {
            if given.has('c') {
                let _ = write!(out, "{count:7} ");
            }
            out.push_str(line);
            out.push(end);
        }
    }
    match given.operands.get(1) {
        Some(path) => {
            walk.write_file(path, &out, false);
            Ok(String::new())
        }
        None => Ok(out),
    }
}

/// A number with a sign and a unit: `+5`, `-3`, `2K`.
pub(super) fn count_of(text: &str) -> Option<(Option<char>, usize)> {
    let sign = text.chars().next().filter(|letter| matches!(letter, '+' | '-'));
    let text = text.trim_start_matches(['+', '-']);
    let end = text.find(|letter: char| !letter.is_ascii_digit()).unwrap_or(text.len());
    let (digits, unit) = text.split_at(end);
    let factor: usize = match unit {
        "" => 1,
        "b" => 512,
        "kB" | "KB" => 1000,
        "k" | "K" | "KiB" => 1 << 10,
        "MB" => 1_000_000,
        "m" | "M" | "MiB" => 1 << 20,
        "G" | "GiB" => 1 << 30,
        _ => return None,
    };
    Some((sign, digits.parse::<usize>().ok()?.saturating_mul(factor)))
}

/// `-5`, `-5c` and `+5` as first words are options of old.
fn old_form(name: &str, arguments: &[String]) -> Option<Vec<String>> {
    let (first, rest) = arguments.split_first()?;
    let number = first.strip_prefix('-')?;
    let end = number.find(|letter: char| !letter.is_ascii_digit()).unwrap_or(number.len());
    let (digits, unit) = number.split_at(end);
    if digits.is_empty() || !matches!(unit, "" | "c" | "l" | "q" | "v" | "z" | "f") {
        return None;
    }
    let mut words = vec![format!("-{}{digits}", if unit == "c" { 'c' } else { 'n' })];
    if matches!(unit, "q" | "v" | "z") || unit == "f" && name == "tail" {
        words.push(format!("-{unit}"));
    }
    words.extend(rest.iter().cloned());
    Some(words)
}

pub(super) fn head_or_tail(walk: &mut ScriptWalk<'_>, name: &str, arguments: &[String]) -> Exact<String> {
    let long_names = [
        ("lines", 'n'),
        ("bytes", 'c'),
        ("quiet", 'q'),
        ("silent", 'q'),
        ("verbose", 'v'),
        ("zero-terminated", 'z'),
        ("follow", 'f'),
        ("retry", 'F'),
    ];
    let old = old_form(name, arguments);
    let letters = if name == "tail" { "n:c:qvzf::F" } else { "n:c:qvz" };
    let given = Given::read(old.as_deref().unwrap_or(arguments), letters, &long_names)?;
    let end = line_end(&given);
    let last = given.options().filter(|(letter, _)| matches!(letter, 'n' | 'c')).last().unwrap_or(('n', "10"));
    let (sign, number) = count_of(last.1).or_unknown()?;
    let paths = if given.operands.is_empty() { &["-"][..] } else { &given.operands };
    let shows_names = given.has('v') || paths.len() > 1 && !given.has('q');
    let mut out = Vec::new();
    for (at, path) in paths.iter().enumerate() {
        let text = walk.exact_text(path)?;
        if shows_names {
            let shown = if *path == "-" { "standard input" } else { path };
            let gap = if at > 0 { "\n" } else { "" };
            out.extend(format!("{gap}==> {shown} <==\n").bytes());
        }
        let ends: Vec<usize> = if last.0 == 'c' {
            (1..=text.len()).collect()
        } else {
            text.split_inclusive(end)
                .scan(0, |at, line| {
                    *at += line.len();
                    Some(*at)
                })
                .collect()
        };
        let place = |count: usize| {
            let at = count.checked_sub(1).and_then(|at| ends.get(at)).copied();
            at.unwrap_or(if count == 0 { 0 } else { text.len() })
        };
        let range = match (name, sign) {
            ("head", Some('-')) => 0..place(ends.len().saturating_sub(number)),
            ("head", _) => 0..place(number),
            (_, Some('+')) => place(number.saturating_sub(1))..text.len(),
            _ => place(ends.len().saturating_sub(number))..text.len(),
        };
        out.extend(text.as_bytes().get(range).unwrap_or(&[]));
    }
    text_of(out)
}

pub(super) fn nl(walk: &mut ScriptWalk<'_>, _: &str, arguments: &[String]) -> Exact<String> {
    let long_names = [
        ("body-numbering", 'b'),
        ("number-width", 'w'),
        ("number-separator", 's'),
        ("number-format", 'n'),
        ("starting-line-number", 'v'),
        ("line-increment", 'i'),
    ];
    let given = Given::read(arguments, "b:w:s:n:v:i:", &long_names)?;
    let text = walk.exact_input(&given.operands)?;
    let width = given.number('w')?.unwrap_or(6);
    let separator = given.value('s').unwrap_or("\t");
    let style = given.value('b').unwrap_or("t");
    let mut number = given.value('v').unwrap_or("1").parse::<i64>().map_err(|_| Inexact::Unknown)?;
    let step = given.value('i').unwrap_or("1").parse::<i64>().map_err(|_| Inexact::Unknown)?;
    if !matches!(style, "a" | "t" | "n") || width > 100 {
        return Err(Inexact::Unknown);
    }
    let mut out = String::new();
    for line in lines_of(&text, '\n') {
        // These lines begin another section.
        if matches!(line, "\\:" | "\\:\\:" | "\\:\\:\\:") {
            return Err(Inexact::Unknown);
        }
        if style == "a" || style == "t" && !line.is_empty() {
            let shown = match given.value('n').unwrap_or("rn") {
                "ln" => format!("{number:<width$}"),
                "rn" => format!("{number:width$}"),
                "rz" => format!("{number:0width$}"),
                _ => return Err(Inexact::Unknown),
            };
            out.push_str(&shown);
            out.push_str(separator);
            number = number.checked_add(step).or_unknown()?;
        } else {
            out.push_str(&" ".repeat(width + separator.len()));
        }
        out.push_str(line);
        out.push('\n');
    }
    Ok(out)
}
