//! Programs that print their words: `date`, `getopt`, `envsubst`, `yes`.

use super::options::{Exact, Given, Inexact, OrUnknown};
use crate::marks::{SOME, UNKNOWN, has_mark};
use crate::walk::ScriptWalk;
use crate::walk::filters::joined;
use std::fmt::Write as _;

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

/// The options of a call of `getopt`, ordered and quoted.
pub(super) fn getopt(_: &mut ScriptWalk<'_>, _: &str, arguments: &[String]) -> Exact<String> {
    if arguments.iter().any(|word| has_mark(word)) {
        return Err(Inexact::Marked);
    }
    let (mut letters, mut long_names, mut is_quoted) = (None, String::new(), true);
    let mut words = arguments.iter();
    loop {
        let word = words.next().or_unknown()?;
        match word.as_str() {
            "--" => break,
            "-o" | "--options" => letters = words.next().cloned(),
            "-l" | "--long" | "--longoptions" => {
                long_names.push_str(words.next().or_unknown()?);
                long_names.push(',');
            }
            "-n" | "--name" => drop(words.next()),
            "-u" => is_quoted = false,
            flag if flag.starts_with("-o") => letters = flag.get(2..).map(str::to_owned),
            flag if flag.starts_with("--options=") => letters = flag.split_once('=').map(|(_, value)| value.to_owned()),
            flag if flag.starts_with("--long") && flag.contains('=') => {
                long_names.push_str(flag.split_once('=').map_or("", |(_, value)| value));
                long_names.push(',');
            }
            flag if flag.starts_with('-') => return Err(Inexact::Unknown),
            // The old form has the letters first and quotes nothing.
            _ if letters.is_none() => {
                letters = Some(word.clone());
                is_quoted = false;
                break;
            }
            _ => return Err(Inexact::Unknown),
        }
    }
    let letters = letters.or_unknown()?;
    if letters.starts_with(['+', '-']) {
        return Err(Inexact::Unknown);
    }
    let quote = |word: &str| if is_quoted { format!("'{}'", word.replace('\'', "'\\''")) } else { word.to_owned() };
    let mut out = String::new();
    let mut operands = Vec::new();
    let mut rest = words.as_slice();
    if rest.first().is_some_and(|word| word == "--") && !is_quoted {
        rest = rest.get(1..).unwrap_or(&[]);
    }
    while let Some((word, after)) = rest.split_first() {
        rest = after;
        if word == "--" {
            operands.extend(rest.iter());
            break;
        }
        if let Some(long) = word.strip_prefix("--") {
            let (name, attached) = long.split_once('=').map_or((long, None), |(name, value)| (name, Some(value)));
            let known = long_names.split(',').find(|known| known.trim_end_matches(':') == name).or_unknown()?;
            let _ = write!(out, " --{name}");
            let value = match (known.len() - name.len(), attached) {
                (0, None) => continue,
                (0, Some(_)) => return Err(Inexact::Unknown),
                (_, Some(value)) => value,
                (1, None) => {
                    let (value, after) = rest.split_first().or_unknown()?;
                    rest = after;
                    value
                }
                _ => "",
            };
            let _ = write!(out, " {}", quote(value));
        } else if let Some(cluster) = word.strip_prefix('-').filter(|cluster| !cluster.is_empty()) {
            rest = push_cluster(&mut out, cluster, &letters, rest, &quote)?;
        } else {
            operands.push(word);
        }
    }
    out.push_str(" --");
    for word in operands {
        let _ = write!(out, " {}", quote(word));
    }
    Ok(format!("{out}\n"))
}

fn push_cluster<'w>(
    out: &mut String,
    cluster: &str,
    letters: &str,
    rest: &'w [String],
    quote: &dyn Fn(&str) -> String,
) -> Exact<&'w [String]> {
    for (at, letter) in cluster.char_indices() {
        let (_, behind) = letters.split_once(letter).filter(|_| letter != ':').or_unknown()?;
        let attached = cluster.get(at + letter.len_utf8()..).unwrap_or("");
        let _ = write!(out, " -{letter}");
        match behind.chars().take_while(|next| *next == ':').count() {
            0 => {}
            1 if attached.is_empty() => {
                let (value, after) = rest.split_first().or_unknown()?;
                let _ = write!(out, " {}", quote(value));
                return Ok(after);
            }
            _ => {
                let _ = write!(out, " {}", quote(attached));
                return Ok(rest);
            }
        }
    }
    Ok(rest)
}
