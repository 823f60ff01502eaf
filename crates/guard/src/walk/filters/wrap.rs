//! Programs that change how text is laid out: `fold`, `fmt`, `expand`, `strings`, `iconv`.

use super::options::{Exact, Given, Inexact, OrUnknown, lines_of};
use crate::walk::ScriptWalk;
use std::fmt::Write as _;

/// `-5` as a word of its own is the width, as of old.
fn with_width(arguments: &[String]) -> Vec<String> {
    let is_number = |word: &str| word.strip_prefix('-').is_some_and(|digits| digits.parse::<usize>().is_ok());
    let width =
        |word: &String| if is_number(word) { format!("-w{}", word.trim_start_matches('-')) } else { word.clone() };
    arguments.iter().map(width).collect()
}

pub(super) fn fold(walk: &mut ScriptWalk<'_>, _: &str, arguments: &[String]) -> Exact<String> {
    let words = with_width(arguments);
    let given = Given::read(&words, "w:sb", &[("width", 'w'), ("spaces", 's'), ("bytes", 'b')])?;
    let text = walk.exact_input(&given.operands)?;
    let width = given.number('w')?.unwrap_or(80);
    if width == 0 || !text.is_ascii() {
        return Err(Inexact::Unknown);
    }
    let adjusted = |column: usize, letter: char| match letter {
        _ if given.has('b') => column + 1,
        '\u{8}' => column.saturating_sub(1),
        '\r' => 0,
        '\t' => column + 8 - column % 8,
        _ => column + 1,
    };
    let columns = |text: &str| text.chars().fold(0, adjusted);
    let mut out = String::new();
    for line in text.split_inclusive('\n') {
        let (inside, end) = line.strip_suffix('\n').map_or((line, ""), |inside| (inside, "\n"));
        let mut held = String::new();
        let mut column = 0;
        for letter in inside.chars() {
            while adjusted(column, letter) > width && !held.is_empty() {
                let blank = held.rfind([' ', '\t']).filter(|_| given.has('s'));
                let kept = held.split_off(blank.map_or(held.len(), |at| at + 1));
                out.push_str(&held);
                out.push('\n');
                walk.work(kept.len() / 64)?;
                column = columns(&kept);
                held = kept;
            }
            column = adjusted(column, letter);
            held.push(letter);
        }
        out.push_str(&held);
        out.push_str(end);
    }
    Ok(out)
}

/// `fmt`, for paragraphs that fit into one line, and for one word a line.
pub(super) fn fmt(walk: &mut ScriptWalk<'_>, _: &str, arguments: &[String]) -> Exact<String> {
    let words = with_width(arguments);
    let given = Given::read(&words, "w:u", &[("width", 'w'), ("uniform-spacing", 'u')])?;
    let text = walk.exact_input(&given.operands)?;
    let width = given.number('w')?.unwrap_or(75);
    let mut out = String::new();
    let mut paragraph: Option<(&str, String)> = None;
    let close = |paragraph: &mut Option<(&str, String)>, out: &mut String| match paragraph.take() {
        None => Ok(()),
        Some((indent, words)) if width == 1 => {
            out.extend(words.split(' ').filter(|word| !word.is_empty()).map(|word| format!("{indent}{word}\n")));
            Ok(())
        }
        Some((indent, words)) if indent.len() + words.len() <= width => {
            let _ = writeln!(out, "{indent}{words}");
            Ok(())
        }
        Some(_) => Err(Inexact::Unknown),
    };
    for line in lines_of(&text, '\n') {
        let inside = line.trim_start_matches(' ');
        let (indent, inside) = (line.get(..line.len() - inside.len()).unwrap_or(""), inside.trim_end_matches(' '));
        if inside.contains('\t') || inside.contains("  ") && width > 1 || !inside.is_ascii() {
            return Err(Inexact::Unknown);
        }
        if inside.is_empty() {
            close(&mut paragraph, &mut out)?;
            out.push('\n');
            continue;
        }
        match &mut paragraph {
            Some((own, words)) if *own == indent => {
                // Two blanks follow a sentence.
                let is_sentence = words.trim_end_matches(['"', '\'', ')', ']']).ends_with(['.', '?', '!']);
                words.push_str(if is_sentence && !given.has('u') { "  " } else { " " });
                words.push_str(inside);
                if is_sentence && given.has('u') {
                    return Err(Inexact::Unknown);
                }
            }
            _ => {
                close(&mut paragraph, &mut out)?;
                paragraph = Some((indent, inside.to_owned()));
            }
        }
    }
    close(&mut paragraph, &mut out)?;
    Ok(out)
}

pub(super) fn expand(walk: &mut ScriptWalk<'_>, name: &str, arguments: &[String]) -> Exact<String> {
    let given = Given::read(arguments, "t:i", &[("tabs", 't'), ("initial", 'i')])?;
    let text = walk.exact_input(&given.operands)?;
    if name == "unexpand" {
        let is_plain = !text.split_inclusive('\n').any(|line| line.starts_with([' ', '\t']));
        return if is_plain && !given.has('t') { Ok(text) } else { Err(Inexact::Unknown) };
    }
    let width = given.number('t')?.unwrap_or(8);
    if !(1..=256).contains(&width) || !text.is_ascii() {
        return Err(Inexact::Unknown);
    }
    let mut out = String::new();
    let (mut column, mut is_start) = (0_usize, true);
    for letter in text.chars() {
        match letter {
            '\n' => (column, is_start) = (0, true),
            '\u{8}' => column = column.checked_sub(1).or_unknown()?,
            '\t' if is_start || !given.has('i') => {
                let blanks = width - column % width;
                column += blanks;
                out.push_str(&" ".repeat(blanks));
                if out.len() > crate::walk::LONGEST_TEXT {
                    return Err(Inexact::Unknown);
                }
                continue;
            }
            '\t' => column += width - column % width,
            _ => {
                column += 1;
                is_start &= letter == ' ';
            }
        }
        out.push(letter);
    }
    Ok(out)
}

/// `strings`: runs of letters that can be shown.
pub(super) fn strings(walk: &mut ScriptWalk<'_>, _: &str, arguments: &[String]) -> Exact<String> {
    let is_number = |word: &str| word.strip_prefix('-').is_some_and(|digits| digits.parse::<usize>().is_ok());
    let named = |word: &String| {
        if is_number(word) { format!("-n{}", word.trim_start_matches('-')) } else { word.clone() }
    };
    let words: Vec<String> = arguments.iter().map(named).collect();
    let given = Given::read(&words, "an:w", &[("all", 'a'), ("bytes", 'n')])?;
    let text = walk.exact_input(&given.operands)?;
    let least = given.number('n')?.unwrap_or(4);
    if given.has('w') {
        return Err(Inexact::Unknown);
    }
    let is_shown = |letter: char| letter == '\t' || (' '..='~').contains(&letter);
    let runs = text.split(|letter| !is_shown(letter)).filter(|run| run.len() >= least && !run.is_empty());
    Ok(runs.flat_map(|run| [run, "\n"]).collect())
}

/// `iconv`: text of ASCII is the same in all encodings that extend it.
pub(super) fn iconv(walk: &mut ScriptWalk<'_>, _: &str, arguments: &[String]) -> Exact<String> {
    let given = Given::read(arguments, "f:t:c", &[("from-code", 'f'), ("to-code", 't')])?;
    let text = walk.exact_input(&given.operands)?;
    let name = |letter: char| {
        let name = given.value(letter).unwrap_or("UTF-8").to_ascii_uppercase();
        name.split("//").next().unwrap_or("").replace(['-', '_'], "")
    };
    let extends = |name: &str| {
        matches!(name, "UTF8" | "ASCII" | "USASCII" | "LATIN1" | "WINDOWS1252" | "CP1252" | "KOI8R" | "GBK" | "SJIS")
            || name.starts_with("ISO8859")
    };
    let is_same = name('f') == name('t');
    if is_same || text.is_ascii() && extends(&name('f')) && extends(&name('t')) {
        Ok(text)
    } else {
        Err(Inexact::Unknown)
    }
}
