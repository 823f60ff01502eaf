//! `join`: lines of two files with the same field.

use std::cmp::Ordering;

use super::options::{Exact, Given, Inexact, OrUnknown, lines_of};
use crate::walk::{LONGEST_TEXT, ScriptWalk};

/// The options of a call.
struct JoinedBy<'g> {
    separator: Option<&'g str>,
    places: [usize; 2],
    /// The columns that are printed; none for the usual ones.
    format: Option<Vec<(usize, usize)>>,
    empty: &'g str,
    ignores_case: bool,
    /// Lines of the first or the second file without a partner are printed.
    shows_single: [bool; 2],
    shows_pairs: bool,
}

impl<'g> JoinedBy<'g> {
    fn of(given: &'g Given<'_>) -> Exact<Self> {
        let place = |letter: char| -> Exact<usize> {
            let number = given.number(letter)?.or(given.number('j')?).unwrap_or(1);
            number.checked_sub(1).or_unknown()
        };
        let format = match given.value('o') {
            None => None,
            Some("auto") => return Err(Inexact::Unknown),
            Some(list) => Some(list.split([',', ' ']).map(column_of).collect::<Option<Vec<_>>>().or_unknown()?),
        };
        let shows = |file: &str| given.options().any(|(own, value)| matches!(own, 'a' | 'v') && value == file);
        Ok(Self {
            separator: given.value('t').filter(|text| !text.is_empty()),
            places: [place('1')?, place('2')?],
            format,
            empty: given.value('e').unwrap_or(""),
            ignores_case: given.has('i'),
            shows_single: [shows("1"), shows("2")],
            shows_pairs: !given.has('v'),
        })
    }

    fn fields<'l>(&self, line: &'l str) -> Vec<&'l str> {
        match self.separator {
            Some(separator) => line.split(separator).collect(),
            None => line.split([' ', '\t']).filter(|field| !field.is_empty()).collect(),
        }
    }

    fn key(&self, fields: &[&str], place: usize) -> String {
        let key = fields.get(place).copied().unwrap_or("");
        if self.ignores_case { key.to_ascii_lowercase() } else { key.to_owned() }
    }

    /// The lines of a text in fields. Lines out of order are an error somewhere in the middle.
    fn sorted<'t>(&self, text: &'t str, place: usize) -> Exact<Vec<Vec<&'t str>>> {
        let lines: Vec<Vec<&str>> = lines_of(text, '\n').into_iter().map(|line| self.fields(line)).collect();
        if lines.is_sorted_by_key(|fields| self.key(fields, place)) { Ok(lines) } else { Err(Inexact::Unknown) }
    }

    fn line(&self, left: Option<&[&str]>, right: Option<&[&str]>) -> String {
        let [left_place, right_place] = self.places;
        let key = match (left, right) {
            (Some(left), _) => left.get(left_place),
            (None, Some(right)) => right.get(right_place),
            _ => None,
        };
        let get = |fields: Option<&[&str]>, at: usize| {
            let field = fields.and_then(|fields| fields.get(at)).copied().filter(|field| !field.is_empty());
            field.unwrap_or(self.empty).to_owned()
        };
        let key = key.map_or_else(String::new, |&key| key.to_owned());
        let mut parts = Vec::new();
        if let Some(format) = &self.format {
            parts.extend(format.iter().map(|(file, at)| match file {
                0 => key.clone(),
                1 => get(left, *at),
                _ => get(right, *at),
            }));
        } else {
            parts.push(key);
            for (fields, place) in [(left, left_place), (right, right_place)] {
                let others = fields.unwrap_or(&[]).iter().enumerate().filter(|(at, _)| *at != place);
                parts.extend(others.map(|(_, field)| (*field).to_owned()));
            }
        }
        format!("{}\n", parts.join(self.separator.unwrap_or(" ")))
    }
}

pub(super) fn join(walk: &mut ScriptWalk<'_>, _: &str, arguments: &[String]) -> Exact<String> {
    let given = Given::read(arguments, "1:2:j:t:a:v:o:e:i", &[("ignore-case", 'i')])?;
    let [left, right] = given.operands.as_slice() else { return Err(Inexact::Unknown) };
    let (left, right) = (walk.exact_text(left)?, walk.exact_text(right)?);
    let by = JoinedBy::of(&given)?;
    let [left_place, right_place] = by.places;
    let (lefts, rights) = (by.sorted(&left, left_place)?, by.sorted(&right, right_place)?);
    let (mut lefts, mut rights) = (lefts.as_slice(), rights.as_slice());
    let [shows_left, shows_right] = by.shows_single;
    let mut out = String::new();
    loop {
        walk.work(1)?;
        if out.len() > LONGEST_TEXT {
            return Err(Inexact::Unknown);
        }
        let order = match (lefts.first(), rights.first()) {
            (Some(left), Some(right)) => by.key(left, left_place).cmp(&by.key(right, right_place)),
            (Some(_), None) => Ordering::Less,
            (None, Some(_)) => Ordering::Greater,
            (None, None) => return Ok(out),
        };
        let run = |lines: &[Vec<&str>], place: usize| {
            let first = lines.first().map(|fields| by.key(fields, place));
            lines.iter().take_while(|fields| Some(by.key(fields, place)) == first).count()
        };
        let left_count = if order.is_gt() { 0 } else { run(lefts, left_place) };
        let right_count = if order.is_lt() { 0 } else { run(rights, right_place) };
        let (left_run, left_rest) = lefts.split_at(left_count);
        let (right_run, right_rest) = rights.split_at(right_count);
        match order {
            Ordering::Less if shows_left => out.extend(left_run.iter().map(|fields| by.line(Some(fields), None))),
            Ordering::Greater if shows_right => out.extend(right_run.iter().map(|fields| by.line(None, Some(fields)))),
            Ordering::Equal if by.shows_pairs => {
                walk.work(left_count.saturating_mul(right_count))?;
                for left in left_run {
                    out.extend(right_run.iter().map(|right| by.line(Some(left), Some(right))));
                }
            }
            _ => {}
        }
        (lefts, rights) = (left_rest, right_rest);
    }
}

/// `FILE.FIELD` of `join -o`; `0` is the field that is joined on.
fn column_of(text: &str) -> Option<(usize, usize)> {
    if text == "0" {
        return Some((0, 0));
    }
    let (file, field) = text.split_once('.')?;
    let file = file.parse().ok().filter(|file| matches!(file, 1 | 2))?;
    Some((file, field.parse::<usize>().ok()?.checked_sub(1)?))
}
