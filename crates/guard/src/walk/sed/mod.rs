//! `sed` as a whole: its script is parsed, and run over the lines of its input.
//!
//! For known text the output is exact, or unknown. A line with marks, such as a listing, stays: an address may or may not mean
//! it, so commands that print or change it are followed, and those that would drop it are not.

mod choose;
mod parse;
mod replace;
mod run;

use std::rc::Rc;

use crate::marks::{HOME, REPO, START, has_mark, is_mark};
use crate::walk::ScriptWalk;
use crate::walk::filters::options::{Exact, Given, Inexact, OrUnknown};

use parse::SedScript;
use run::SedRun;

/// True if a text has marks for something else than a directory.
fn is_vague(text: &str) -> bool {
    has_mark(text) && text.contains(|letter: char| is_mark(letter) && !matches!(letter, HOME | START | REPO))
}

const LONG_NAMES: [(&str, char); 13] = [
    ("quiet", 'n'),
    ("silent", 'n'),
    ("expression", 'e'),
    ("file", 'f'),
    ("regexp-extended", 'E'),
    ("in-place", 'i'),
    ("separate", 's'),
    ("null-data", 'z'),
    ("unbuffered", 'u'),
    ("line-length", 'l'),
    ("posix", 'p'),
    ("follow-symlinks", 'F'),
    ("sandbox", 'S'),
];

/// The options that say how a script is run.
#[derive(Debug, Clone, Copy)]
struct SedMode {
    quiet: bool,
    /// The end of a line: a NUL with `-z`.
    end: char,
}

pub(super) fn sed(walk: &mut ScriptWalk<'_>, _: &str, arguments: &[String]) -> Exact<String> {
    let mut given = Given::read_with_marks(arguments, "nErse:f:i::zul:pFS", &LONG_NAMES)?;
    let mut text = String::new();
    let parts: Vec<(char, String)> = given
        .options()
        .filter(|(letter, _)| matches!(letter, 'e' | 'f'))
        .map(|(letter, value)| (letter, value.to_owned()))
        .collect();
    for (letter, value) in &parts {
        if *letter == 'e' {
            text.push_str(value);
        } else {
            let file = if value == "-" { Rc::clone(&walk.world.shell.input) } else { walk.read_file(value) };
            text.push_str(file.strip_suffix('\n').unwrap_or(&file));
        }
        text.push('\n');
    }
    if parts.is_empty() {
        if given.operands.is_empty() {
            return Err(Inexact::Unknown);
        }
        given.operands.remove(0).clone_into(&mut text);
    } else {
        text.pop();
    }
    let is_extended = given.has('E') || given.has('r');
    let paths: Vec<String> = given.operands.iter().map(|&path| path.to_owned()).collect();
    walk.work(1 + text.len() / 16)?;
    let Some(script) = SedScript::parse(walk, &text, is_extended) else {
        // A script that is not known letter by letter leaves its text as it is.
        return if has_mark(&text) { Ok(input_of(walk, &paths)) } else { Err(Inexact::Unknown) };
    };
    let mode = SedMode {
        quiet: given.has('n') || text.starts_with("#n\n") || text == "#n",
        end: if given.has('z') { '\0' } else { '\n' },
    };
    let in_place = given.value('i').map(str::to_owned);
    let mut run = SedRun::new(&script, mode);
    if given.has('s') || in_place.is_some() {
        let input = ["-".to_owned()];
        let paths = if paths.is_empty() && in_place.is_none() { &input[..] } else { &paths };
        separately(walk, &mut run, paths, in_place.as_deref())?;
    } else {
        let mut lines = String::new();
        let input = ["-".to_owned()];
        for path in if paths.is_empty() { &input[..] } else { &paths } {
            // A line that has no end gets one where another file follows.
            if !lines.is_empty() && !lines.ends_with(mode.end) {
                lines.push(mode.end);
            }
            run.names.push((lines.matches(mode.end).count() + 1, path.clone()));
            lines.push_str(&input_of(walk, std::slice::from_ref(path)));
        }
        run.lines(walk, &lines)?;
    }
    Ok(run.finish(walk))
}

fn input_of(walk: &mut ScriptWalk<'_>, paths: &[String]) -> String {
    walk.input_of(paths.iter())
}

/// `-s` and `-i`: every file by itself. A file that the script has written is rewritten.
fn separately(walk: &mut ScriptWalk<'_>, run: &mut SedRun<'_>, paths: &[String], in_place: Option<&str>) -> Exact<()> {
    for path in paths {
        let known = walk.known_file(path);
        let text = input_of(walk, std::slice::from_ref(path));
        run.names = vec![(1, path.clone())];
        if in_place.is_none() {
            run.lines(walk, &text)?;
            continue;
        }
        let before = std::mem::take(&mut run.out);
        run.lacks_end = false;
        let outcome = run.lines(walk, &text);
        run.lacks_end = false;
        let written = std::mem::replace(&mut run.out, before);
        let Some(known) = known else { continue };
        if let Some(suffix) = in_place.filter(|suffix| !suffix.is_empty()) {
            let backup = if suffix.contains('*') { suffix.replace('*', path) } else { format!("{path}{suffix}") };
            walk.write_file(&backup, &known, false);
        }
        let written = match outcome {
            Ok(()) => written,
            Err(_) => walk.unknown_made_of(&known),
        };
        walk.write_file(path, &written, false);
        if run.is_over {
            break;
        }
    }
    (!paths.is_empty()).then_some(()).or_unknown()
}
