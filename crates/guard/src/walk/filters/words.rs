//! Programs that print their words: `date`, `envsubst`, `yes`.

use super::options::{Exact, Given, Inexact};
use crate::marks::{SOME, UNKNOWN, has_mark};
use crate::walk::ScriptWalk;
use crate::walk::filters::joined;
/// The most lines of `yes` that are known.
const MOST_YES: usize = 64;

/// `date +format`: letters are known, the time is not.
pub(super) fn date(_: &mut ScriptWalk<'_>, _: &str, arguments: &[String]) -> Exact<String> {
    let format = arguments.iter().find_map(|word| word.strip_prefix('+')).ok_or(Inexact::Marked)?;
    let mut out = String::new();
    let mut letters = format.chars();
    while let Some(letter) = letters.next() {
        if letter != '%' {
            out.push(letter);
            continue;
        }
        match letters.find(|letter| !"-_0^#:EO".contains(*letter)) {
            Some('%') | None => out.push('%'),
            Some('n') => out.push('\n'),
            Some('t') => out.push('\t'),
            Some(_) => out.push(SOME),
        }
    }
    out.push('\n');
    Ok(out)
}

/// `yes`: lines without an end. The first ones are known.
pub(super) fn yes(_: &mut ScriptWalk<'_>, _: &str, arguments: &[String]) -> Exact<String> {
    if arguments.iter().any(|word| has_mark(word)) {
        return Err(Inexact::Marked);
    }
    let line = if arguments.is_empty() { "y".to_owned() } else { arguments.join(" ") };
    let count = MOST_YES.min(4096 / (line.len() + 1)).max(1);
    Ok(format!("{}{UNKNOWN}", format!("{line}\n").repeat(count)))
}

/// `envsubst`: variables are replaced, all of them or those that the operand names.
pub(super) fn envsubst(walk: &mut ScriptWalk<'_>, _: &str, arguments: &[String]) -> Exact<String> {
    let given = Given::read(arguments, "v", &[("variables", 'v')])?;
    let chosen: Option<Vec<String>> = given.operands.first().map(|format| {
        let mut names = Vec::new();
        replaced(format, |name| {
            names.push(name.to_owned());
            String::new()
        });
        names
    });
    if given.has('v') {
        return Ok(joined(chosen.unwrap_or_default().into_iter()));
    }
    let text = walk.exact_text("-")?;
    Ok(replaced(&text, |name| {
        if chosen.as_ref().is_some_and(|names| !names.iter().any(|own| own == name)) {
            return String::from("\0");
        }
        let is_unset = walk.world.shell.variable(name).is_none() && walk.world.shell.outside.lacks(name);
        if is_unset { String::new() } else { walk.scalar(name).unwrap_or_else(|| UNKNOWN.to_string()) }
    }))
}

/// A text with `$NAME` and `${NAME}` replaced. A value of NUL leaves the reference as it is.
fn replaced(text: &str, mut value: impl FnMut(&str) -> String) -> String {
    let is_inside = |letter: char| letter.is_ascii_alphanumeric() || letter == '_';
    let mut out = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('$') {
        out.push_str(before);
        let (name, behind) = match after.strip_prefix('{') {
            Some(inside) => inside.split_once('}').unwrap_or(("", after)),
            None => after.split_at(after.find(|letter| !is_inside(letter)).unwrap_or(after.len())),
        };
        let is_name = !name.is_empty()
            && name.chars().all(is_inside)
            && !name.starts_with(|letter: char| letter.is_ascii_digit());
        if !is_name {
            out.push('$');
            rest = after;
            continue;
        }
        let text = value(name);
        if text == "\0" {
            out.push('$');
            out.push_str(after.get(..after.len() - behind.len()).unwrap_or(""));
        } else {
            out.push_str(&text);
        }
        rest = behind;
        if out.len() > crate::walk::LONGEST_TEXT {
            out.push(UNKNOWN);
            break;
        }
    }
    out.push_str(rest);
    out
}
