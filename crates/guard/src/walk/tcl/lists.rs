//! Lists of Tcl.

use crate::marks::{UNKNOWN, has_mark, is_vague, is_wild};
use crate::walk::tcl::words::unescaped;

/// The most elements of a list.
const MOST: usize = 1024;

/// The elements of a list.
pub(super) fn elements(list: &str) -> Vec<String> {
    let mut out = Vec::new();
    let mut rest = list.trim_start();
    while let Some(first) = rest.chars().next() {
        if out.len() >= MOST {
            break;
        }
        let (element, after) = match first {
            '{' => braced(rest),
            '"' => quoted(rest.get(1..).unwrap_or(""), |letter| letter == '"'),
            _ => quoted(rest, char::is_whitespace),
        };
        out.push(element);
        rest = after.trim_start();
    }
    out
}

fn braced(text: &str) -> (String, &str) {
    let mut open = 0_usize;
    let mut is_escaped = false;
    for (at, letter) in text.char_indices() {
        match letter {
            _ if is_escaped => is_escaped = false,
            '\\' => is_escaped = true,
            '{' => open += 1,
            '}' => {
                open -= 1;
                if open == 0 {
                    return (text.get(1..at).unwrap_or("").to_owned(), text.get(at + 1..).unwrap_or(""));
                }
            }
            _ => {}
        }
    }
    (text.get(1..).unwrap_or("").to_owned(), "")
}

fn quoted(text: &str, ends: impl Fn(char) -> bool) -> (String, &str) {
    let mut out = String::new();
    let mut rest = text;
    while let Some(letter) = rest.chars().next() {
        rest = rest.get(letter.len_utf8()..).unwrap_or("");
        if ends(letter) {
            break;
        }
        if letter == '\\' {
            let (meant, taken) = unescaped(rest);
            out.push_str(&meant);
            rest = rest.get(taken..).unwrap_or("");
        } else {
            out.push(letter);
        }
    }
    (out, rest)
}

/// A list of these elements.
pub(super) fn list(elements: &[String]) -> String {
    let quoted = |element: &String| {
        let special = |letter: char| letter.is_whitespace() || "{}\"[]$;\\".contains(letter);
        if !element.is_empty() && !element.contains(special) && !element.starts_with('#') {
            return element.clone();
        }
        let mut open = 0_i32;
        let is_balanced = element.chars().all(|letter| {
            open += match letter {
                '{' => 1,
                '}' => -1,
                _ => 0,
            };
            open >= 0
        }) && open == 0;
        if is_balanced && !element.ends_with('\\') {
            return format!("{{{element}}}");
        }
        element.chars().map(|letter| if special(letter) { format!("\\{letter}") } else { letter.to_string() }).collect()
    };
    elements.iter().map(quoted).collect::<Vec<_>>().join(" ")
}

/// The place that an index of Tcl means: `2`, `end`, `end-1`, `1+1`.
pub(super) fn place(index: &str, length: usize) -> Option<i64> {
    let length = i64::try_from(length).ok()?;
    let index = index.trim();
    if let Some(rest) = index.strip_prefix("end") {
        let rest = rest.trim();
        if rest.is_empty() {
            return Some(length - 1);
        }
        return rest.trim_start_matches('+').parse::<i64>().ok().map(|by| length - 1 + by);
    }
    if let Some((left, right)) =
        index.get(1..).and_then(|rest| rest.find(['+', '-'])).and_then(|at| index.split_at_checked(at + 1))
    {
        return Some(left.parse::<i64>().ok()? + right.trim_start_matches('+').parse::<i64>().ok()?);
    }
    index.parse().ok()
}

/// The elements from one index to another.
fn range(items: &[String], from: &str, to: &str) -> Option<Vec<String>> {
    let from = place(from, items.len())?.max(0);
    let to = place(to, items.len())?;
    let count = usize::try_from((to - from + 1).max(0)).ok()?;
    Some(items.iter().skip(usize::try_from(from).ok()?).take(count).cloned().collect())
}

/// Commands that make lists, or take them apart. None if this is no such command.
pub(super) fn list_command(name: &str, words: &[String]) -> Option<String> {
    let unknown = || UNKNOWN.to_string();
    Some(match (name, words) {
        ("list", words) => list(words),
        ("concat", words) => {
            words.iter().map(|word| word.trim()).filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" ")
        }
        ("llength", [items]) if is_vague(items) || items.contains(is_wild) => unknown(),
        ("llength", [items]) => elements(items).len().to_string(),
        ("lindex", [items]) => items.clone(),
        ("lindex", [items, indexes @ ..]) => {
            let mut value = items.clone();
            for index in indexes.iter().flat_map(|index| elements(index)) {
                if value.contains(UNKNOWN) && elements(&value).len() < 2 {
                    return Some(unknown());
                }
                let items = elements(&value);
                let Some(at) = place(&index, items.len()) else { return Some(unknown()) };
                value = usize::try_from(at).ok().and_then(|at| items.get(at).cloned()).unwrap_or_default();
            }
            value
        }
        ("lrange", [items, from, to]) => range(&elements(items), from, to).map_or_else(unknown, |items| list(&items)),
        ("lreplace", [items, from, to, with @ ..]) => {
            let items = elements(items);
            let (Some(from), Some(to)) = (place(from, items.len()), place(to, items.len())) else {
                return Some(unknown());
            };
            let (from, to) = (
                usize::try_from(from).unwrap_or(0).min(items.len()),
                usize::try_from(to + 1).unwrap_or(0).min(items.len()),
            );
            let tail = items.get(to.max(from)..).unwrap_or(&[]);
            list(&items.iter().take(from).chain(with).chain(tail).cloned().collect::<Vec<_>>())
        }
        ("linsert", [items, at, with @ ..]) => {
            let items = elements(items);
            let end = at.starts_with("end");
            let Some(at) = place(at, items.len()) else { return Some(unknown()) };
            let at = usize::try_from(if end { at + 1 } else { at }).unwrap_or(0).min(items.len());
            list(&items.iter().take(at).chain(with).chain(items.get(at..).unwrap_or(&[])).cloned().collect::<Vec<_>>())
        }
        ("lreverse", [items]) => list(&elements(items).into_iter().rev().collect::<Vec<_>>()),
        ("lrepeat", [count, items @ ..]) => {
            let count: usize = count.parse().unwrap_or(0);
            if count.saturating_mul(items.len()) > MOST {
                unknown()
            } else {
                list(&std::iter::repeat_n(items, count).flatten().cloned().collect::<Vec<_>>())
            }
        }
        ("join", [items, rest @ ..]) => elements(items).join(rest.first().map_or(" ", String::as_str)),
        ("split", [text, rest @ ..]) => {
            let separators = rest.first().map_or(" \n\t\r", String::as_str);
            if separators.is_empty() {
                return Some(list(&text.chars().map(String::from).collect::<Vec<_>>()));
            }
            if text.is_empty() {
                return Some(String::new());
            }
            list(&text.split(|letter| separators.contains(letter)).map(str::to_owned).collect::<Vec<_>>())
        }
        ("lsort", [.., items]) => sorted(words.get(..words.len() - 1).unwrap_or(&[]), items),
        ("lsearch", [.., items, wanted]) => search(words.get(..words.len() - 2).unwrap_or(&[]), items, wanted),
        _ => return None,
    })
}

fn sorted(options: &[String], items: &str) -> String {
    let has = |option: &str| options.iter().any(|word| word == option);
    let mut items = elements(items);
    if has("-integer") || has("-real") {
        items.sort_by(|a, b| a.parse().unwrap_or(0.0_f64).total_cmp(&b.parse().unwrap_or(0.0)));
    } else if has("-nocase") || has("-dictionary") {
        items.sort_by_key(|item| item.to_lowercase());
    } else {
        items.sort_unstable();
    }
    if has("-decreasing") {
        items.reverse();
    }
    if has("-unique") {
        items.dedup();
    }
    list(&items)
}

fn search(options: &[String], items: &str, wanted: &str) -> String {
    let has = |option: &str| options.iter().any(|word| word == option);
    let items = elements(items);
    if items.iter().any(|item| has_mark(item)) || has_mark(wanted) {
        return UNKNOWN.to_string();
    }
    if has("-regexp") {
        return UNKNOWN.to_string();
    }
    let fits = |item: &String| if has("-exact") { item == wanted } else { matches(wanted, item) };
    let fits = |item: &String| fits(item) != has("-not");
    if has("-all") {
        let found = items.iter().enumerate().filter(|(_, item)| fits(item));
        let found = found.map(|(at, item)| if has("-inline") { item.clone() } else { at.to_string() });
        return list(&found.collect::<Vec<_>>());
    }
    match items.iter().position(fits) {
        Some(at) if has("-inline") => items.get(at).cloned().unwrap_or_default(),
        Some(at) => at.to_string(),
        None if has("-inline") => String::new(),
        None => "-1".to_owned(),
    }
}

/// True if a pattern of the shell's kind matches a text.
pub(super) fn matches(pattern: &str, text: &str) -> bool {
    let pattern: Vec<char> = pattern.chars().collect();
    let text: Vec<char> = text.chars().collect();
    let (mut at, mut from) = (0, 0);
    let mut star: Option<(usize, usize)> = None;
    while from < text.len() {
        let letter = text.get(from);
        let step = match pattern.get(at) {
            Some('*') => {
                star = Some((at, from));
                at += 1;
                continue;
            }
            Some('?') => Some(1),
            Some('[') => class(pattern.get(at..).unwrap_or(&[]), letter),
            Some('\\') => (pattern.get(at + 1) == letter).then_some(2),
            other => (other == letter).then_some(1),
        };
        match (step, star) {
            (Some(step), _) => {
                at += step;
                from += 1;
            }
            (None, Some((place, start))) => {
                at = place + 1;
                from = start + 1;
                star = Some((place, start + 1));
            }
            (None, None) => return false,
        }
    }
    pattern.get(at..).unwrap_or(&[]).iter().all(|letter| *letter == '*')
}

/// The length of a set of letters that this letter is in.
fn class(pattern: &[char], letter: Option<&char>) -> Option<usize> {
    let end = pattern.iter().position(|letter| *letter == ']')?;
    let inside = pattern.get(1..end)?;
    let letter = letter?;
    let mut at = 0;
    while let Some(first) = inside.get(at) {
        if let (Some('-'), Some(last)) = (inside.get(at + 1), inside.get(at + 2)) {
            if (*first..=*last).contains(letter) {
                return Some(end + 1);
            }
            at += 3;
        } else {
            if first == letter {
                return Some(end + 1);
            }
            at += 1;
        }
    }
    None
}
