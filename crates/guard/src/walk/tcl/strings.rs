//! Texts of Tcl: `string`, `format`, `regexp` and their like.

use crate::marks::{UNKNOWN, has_mark};
use crate::walk::tcl::lists::{elements, list, matches, place};
use crate::walk::tcl::{LONGEST, Leaving, Outcome, Tcl};

/// Commands that make text. None if this is no such command.
pub(super) fn text_command(tcl: &mut Tcl<'_, '_>, name: &str, words: &[String]) -> Outcome<Option<String>> {
    Ok(Some(match (name, words) {
        ("string", [action, rest @ ..]) => string(tcl, action, rest),
        ("format", [format, with @ ..]) => crate::walk::perl::sprintf(format, with),
        ("scan", [text, format, names @ ..]) => return Ok(Some(scan(tcl, text, format, names))),
        ("regexp", words) => return regexp(tcl, words).map(Some),
        ("regsub", words) => return regsub(tcl, words).map(Some),
        ("binary", [action, kind, .., text]) if action == "decode" => {
            let plain = match kind.as_str() {
                "base64" => crate::walk::decode::base64(text),
                "hex" => crate::walk::decode::hexadecimal(text),
                _ => None,
            };
            plain.filter(|_| !has_mark(text)).unwrap_or_else(|| UNKNOWN.to_string())
        }
        ("binary", [action, kind, text]) if action == "format" && kind.starts_with('H') => {
            crate::walk::decode::hexadecimal(text).filter(|_| !has_mark(text)).unwrap_or_else(|| UNKNOWN.to_string())
        }
        ("encoding", [.., text]) => text.clone(),
        _ => return Ok(None),
    }))
}

fn string(tcl: &Tcl<'_, '_>, action: &str, words: &[String]) -> String {
    let unknown = || UNKNOWN.to_string();
    let flag = |holds: bool| if holds { "1".to_owned() } else { "0".to_owned() };
    let plain = |text: &String| tcl.plain(text);
    match (action, words) {
        ("reverse", [text]) => plain(text).map_or_else(unknown, |text| text.chars().rev().collect()),
        ("tolower", [text, ..]) => text.to_lowercase(),
        ("toupper", [text, ..]) => text.to_uppercase(),
        ("totitle", [text, ..]) => {
            let mut letters = text.chars();
            let first: String = letters.next().map(|letter| letter.to_uppercase().collect()).unwrap_or_default();
            format!("{first}{}", letters.as_str().to_lowercase())
        }
        ("trim" | "trimleft" | "trimright", [text, rest @ ..]) => {
            let letters = rest.first().map_or(" \t\n\r", String::as_str);
            let is_cut = |letter: char| letters.contains(letter);
            match action {
                "trim" => text.trim_matches(is_cut),
                "trimleft" => text.trim_start_matches(is_cut),
                _ => text.trim_end_matches(is_cut),
            }
            .to_owned()
        }
        ("cat", parts) => parts.concat(),
        ("repeat", [text, count]) => match count.parse::<usize>() {
            Ok(count) if text.len().saturating_mul(count) <= LONGEST => text.repeat(count),
            _ => unknown(),
        },
        ("length" | "bytelength", [text]) => plain(text).map_or_else(unknown, |text| text.chars().count().to_string()),
        ("index", [text, at]) => letters_of(plain(text).as_ref(), at, at).unwrap_or_else(unknown),
        ("range", [text, from, to]) => letters_of(plain(text).as_ref(), from, to).unwrap_or_else(unknown),
        ("replace", [text, from, to, rest @ ..]) => {
            let Some(text) = plain(text) else { return unknown() };
            let letters: Vec<char> = text.chars().collect();
            let (Some(from), Some(to)) = (place(from, letters.len()), place(to, letters.len())) else {
                return unknown();
            };
            let (from, to) = (usize::try_from(from).unwrap_or(0), usize::try_from(to + 1).unwrap_or(0));
            let head: String = letters.iter().take(from).collect();
            let tail: String = letters.iter().skip(to).collect();
            format!("{head}{}{tail}", rest.first().map_or("", String::as_str))
        }
        ("map", [.., pairs, text]) => {
            let pairs = elements(pairs);
            let mut out = String::new();
            let mut rest = text.as_str();
            while let Some(letter) = rest.chars().next() {
                let found = pairs
                    .chunks(2)
                    .find(|pair| pair.first().is_some_and(|from| !from.is_empty() && rest.starts_with(from.as_str())));
                if let Some([from, to]) = found {
                    out.push_str(to);
                    rest = rest.get(from.len()..).unwrap_or("");
                } else {
                    out.push(letter);
                    rest = rest.get(letter.len_utf8()..).unwrap_or("");
                }
            }
            out
        }
        ("equal" | "compare", [.., left, right]) => match (plain(left), plain(right)) {
            (Some(left), Some(right)) if action == "equal" => {
                flag(left == right || words.iter().any(|word| word == "-nocase") && left.eq_ignore_ascii_case(&right))
            }
            (Some(left), Some(right)) => (left.cmp(&right) as i8).to_string(),
            _ => unknown(),
        },
        ("match", [.., pattern, text]) => match plain(text) {
            Some(text) if !has_mark(pattern) => flag(matches(pattern, &text)),
            _ => unknown(),
        },
        ("first" | "last", [part, text, ..]) => match (plain(part), plain(text)) {
            (Some(part), Some(text)) => {
                let found = if action == "first" { text.find(&part) } else { text.rfind(&part) };
                found.map_or_else(|| "-1".to_owned(), |at| text.get(..at).unwrap_or("").chars().count().to_string())
            }
            _ => unknown(),
        },
        ("is", [kind, .., text]) => match (kind.as_str(), plain(text)) {
            ("integer" | "digit" | "wideinteger" | "entier", Some(text)) => flag(text.parse::<i64>().is_ok()),
            ("double", Some(text)) => flag(text.parse::<f64>().is_ok()),
            ("alpha", Some(text)) => flag(text.chars().all(char::is_alphabetic)),
            ("alnum", Some(text)) => flag(text.chars().all(char::is_alphanumeric)),
            ("space", Some(text)) => flag(text.chars().all(char::is_whitespace)),
            _ => unknown(),
        },
        _ => unknown(),
    }
}

fn letters_of(text: Option<&String>, from: &str, to: &str) -> Option<String> {
    let letters: Vec<char> = text?.chars().collect();
    let from = usize::try_from(place(from, letters.len())?.max(0)).ok()?;
    let to = place(to, letters.len())?;
    let count = usize::try_from(to + 1).unwrap_or(0).saturating_sub(from);
    Some(letters.iter().skip(from).take(count).collect())
}

/// `scan text format names`: numbers and words.
fn scan(tcl: &mut Tcl<'_, '_>, text: &str, format: &str, names: &[String]) -> String {
    let Some(text) = tcl.plain(text) else { return UNKNOWN.to_string() };
    let mut rest = text.as_str();
    let mut found = Vec::new();
    let mut letters = format.chars();
    while let Some(letter) = letters.next() {
        if letter != '%' {
            rest = if letter.is_whitespace() { rest.trim_start() } else { rest.strip_prefix(letter).unwrap_or(rest) };
            continue;
        }
        let kind = letters.next().unwrap_or('s');
        let taken = match kind {
            'd' | 'i' => {
                rest = rest.trim_start();
                rest.find(|letter: char| !letter.is_ascii_digit() && letter != '-').unwrap_or(rest.len())
            }
            'x' => rest.find(|letter: char| !letter.is_ascii_hexdigit()).unwrap_or(rest.len()),
            'c' => rest.chars().next().map_or(0, char::len_utf8),
            's' => {
                rest = rest.trim_start();
                rest.find(char::is_whitespace).unwrap_or(rest.len())
            }
            _ => return UNKNOWN.to_string(),
        };
        let part = rest.get(..taken).unwrap_or("");
        rest = rest.get(taken..).unwrap_or("");
        found.push(match kind {
            'c' => part.chars().next().map_or(0, u32::from).to_string(),
            'x' => u32::from_str_radix(part, 16).unwrap_or(0).to_string(),
            _ => part.to_owned(),
        });
    }
    for (name, value) in names.iter().zip(&found) {
        tcl.set(name, value.clone());
    }
    if names.is_empty() { list(&found) } else { found.len().to_string() }
}

/// The options of `regexp` and `regsub`, and the words behind them.
fn options(words: &[String]) -> (Vec<&str>, &[String]) {
    let mut options = Vec::new();
    let mut rest = words;
    while let Some((word, after)) = rest.split_first() {
        if !word.starts_with('-') {
            break;
        }
        rest = after;
        if word == "--" {
            break;
        }
        options.push(word.as_str());
    }
    (options, rest)
}

fn expression(pattern: &str, options: &[&str]) -> Option<fancy_regex::Regex> {
    if has_mark(pattern) || pattern.len() > 512 {
        return None;
    }
    let pattern = if options.contains(&"-nocase") { format!("(?i){pattern}") } else { pattern.to_owned() };
    let pattern = pattern.replace("\\m", "\\b").replace("\\M", "\\b").replace("\\y", "\\b");
    fancy_regex::RegexBuilder::new(&pattern).backtrack_limit(20_000).delegate_size_limit(1 << 18).build().ok()
}

fn regexp(tcl: &mut Tcl<'_, '_>, words: &[String]) -> Outcome<String> {
    let (options, rest) = options(words);
    let [pattern, text, names @ ..] = rest else { return Err(Leaving::Error("wrong # args".to_owned())) };
    tcl.step(8 + text.len() / 64)?;
    let known = tcl.plain(text).zip(expression(pattern, &options));
    let Some((text, expression)) = known else {
        for name in names {
            tcl.set(name, UNKNOWN.to_string());
        }
        return Ok(UNKNOWN.to_string());
    };
    let mut all = Vec::new();
    for found in expression.captures_iter(text.as_str()).take(256) {
        let Ok(found) = found else { return Ok(UNKNOWN.to_string()) };
        let groups: Vec<String> =
            (0..found.len()).map(|at| found.get(at).map_or("", |group| group.as_str()).to_owned()).collect();
        all.push(groups);
        if !options.contains(&"-all") {
            break;
        }
    }
    if options.contains(&"-inline") {
        return Ok(list(&all.concat()));
    }
    if let Some(groups) = all.last() {
        for (at, name) in names.iter().enumerate() {
            tcl.set(name, groups.get(at).cloned().unwrap_or_default());
        }
    }
    Ok(if options.contains(&"-all") { all.len() } else { usize::from(!all.is_empty()) }.to_string())
}

fn regsub(tcl: &mut Tcl<'_, '_>, words: &[String]) -> Outcome<String> {
    let (options, rest) = options(words);
    let [pattern, text, with, names @ ..] = rest else { return Err(Leaving::Error("wrong # args".to_owned())) };
    tcl.step(8 + text.len() / 64)?;
    let known = tcl.plain(text).zip(expression(pattern, &options));
    let (changed, count) = match known {
        Some((text, expression)) => {
            let mut out = String::new();
            let (mut at, mut count) = (0, 0);
            for found in expression.captures_iter(text.as_str()).take(256) {
                let Ok(found) = found else { return Ok(UNKNOWN.to_string()) };
                let Some(whole) = found.get(0) else { break };
                out.push_str(text.get(at..whole.start()).unwrap_or(""));
                let mut letters = with.chars();
                while let Some(letter) = letters.next() {
                    match letter {
                        '&' => out.push_str(whole.as_str()),
                        '\\' => match letters.next() {
                            Some(digit @ '0'..='9') => {
                                let group =
                                    digit.to_digit(10).and_then(|group| usize::try_from(group).ok()).unwrap_or(0);
                                out.push_str(found.get(group).map_or("", |group| group.as_str()));
                            }
                            other => out.extend(other),
                        },
                        letter => out.push(letter),
                    }
                }
                at = whole.end();
                count += 1;
                if !options.contains(&"-all") || out.len() > LONGEST {
                    break;
                }
            }
            out.push_str(text.get(at..).unwrap_or(""));
            (out, count.to_string())
        }
        // A listing stays what it is.
        None if text.contains(crate::marks::is_wild) => (text.clone(), UNKNOWN.to_string()),
        None => (UNKNOWN.to_string(), UNKNOWN.to_string()),
    };
    match names.first() {
        Some(name) => {
            tcl.set(name, changed);
            Ok(count)
        }
        None => Ok(changed),
    }
}
