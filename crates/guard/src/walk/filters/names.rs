//! `dirname` and `basename`.

use super::marked::directory_of;
use super::options::{Exact, Given, Inexact, OrUnknown, line_end};
use crate::marks::{HOME, REPO, START, is_mark};
use crate::walk::ScriptWalk;
use crate::walk::files::base_name;

pub(super) fn dirname_or_basename(walk: &mut ScriptWalk<'_>, name: &str, arguments: &[String]) -> Exact<String> {
    let long_names = [("zero", 'z'), ("multiple", 'a'), ("suffix", 's')];
    let letters = if name == "dirname" { "z" } else { "zas:" };
    let given = Given::read(arguments, letters, &long_names)?;
    let end = line_end(&given);
    let is_listing = |letter: char| is_mark(letter) && !matches!(letter, HOME | START | REPO);
    if given.operands.iter().any(|path| path.contains(is_listing)) {
        return Err(Inexact::Marked);
    }
    let lines: Vec<String> = if name == "dirname" {
        given.operands.iter().map(|path| directory_of(path)).collect()
    } else {
        let (paths, suffix) = match given.operands.as_slice() {
            paths if given.has('a') || given.has('s') => (paths, given.value('s').unwrap_or("")),
            [path, suffix] => (std::slice::from_ref(path), *suffix),
            [_] => (given.operands.as_slice(), ""),
            _ => return Err(Inexact::Unknown),
        };
        let shortened = |path: &&str| {
            let path = walk.world.concrete(path);
            let name =
                if path.starts_with('/') && path.trim_end_matches('/').is_empty() { "/" } else { base_name(&path) };
            name.strip_suffix(suffix).filter(|rest| !rest.is_empty()).unwrap_or(name).to_owned()
        };
        paths.iter().map(shortened).collect()
    };
    (!lines.is_empty()).then_some(()).or_unknown()?;
    Ok(lines.into_iter().flat_map(|line| [line, end.to_string()]).collect())
}
