//! Inserts a member into a group of a JSON text, or cuts one out, with its commas and line breaks.

use std::ops::Range;

use serde_json::Value;

use super::jsonc::{self, Group, Kind};
use super::style::{self, Style, indent};

/// A replacement of a text range.
pub(super) struct Splice {
    range: Range<usize>,
    with: String,
}

impl Splice {
    pub(super) fn new(range: Range<usize>, with: String) -> Self {
        Self { range, with }
    }

    fn at(place: usize, with: String) -> Self {
        Self { range: place..place, with }
    }

    fn cut(range: Range<usize>) -> Self {
        Self { range, with: String::new() }
    }
}

/// The text with all splices made. No two of them may overlap.
pub(super) fn spliced(text: &str, mut splices: Vec<Splice>) -> String {
    splices.sort_by_key(|splice| splice.range.start);
    let mut changed = text.to_owned();
    for splice in splices.iter().rev() {
        changed.replace_range(splice.range.clone(), &splice.with);
    }
    changed
}

/// Inserts a value after the last member. `names` are the groups to create around it; empty in a list.
pub(super) fn insert(text: &str, group: &Group, names: &[&str], value: &Value, style: &Style) -> Vec<Splice> {
    let Some(last) = group.members.last() else { return vec![first(text, group, names, value, style)] };
    let behind = last.comma.map_or(last.value.end, |comma| comma + 1);
    if !text[group.open..group.members[0].start].contains('\n') {
        let member = style::inline(names, value);
        let with = if last.comma.is_some() { format!(" {member},") } else { format!(", {member}") };
        return vec![Splice::at(behind, with)];
    }
    let indent = indent(text, last.start);
    let member = style.member(names, value, indent);
    let comma = if last.comma.is_some() { "," } else { "" };
    // A comment on the line of the last member stays with it.
    let place = jsonc::same_line(text, behind);
    let mut splices = vec![Splice::at(place, format!("{}{indent}{member}{comma}", style.newline))];
    if last.comma.is_none() {
        splices.insert(0, Splice::at(last.value.end, ",".to_owned()));
    }
    splices
}

/// Inserts a value into a group without members. The group may have comments.
fn first(text: &str, group: &Group, names: &[&str], value: &Value, style: &Style) -> Splice {
    let within = group.open + 1..group.close;
    let is_blank = text[within.clone()].trim().is_empty();
    if is_blank && group.kind == Kind::List {
        return Splice::new(within, style::inline(names, value));
    }
    let outer = indent(text, group.open);
    let inner = format!("{outer}{}", style.unit);
    let lead = format!("{}{inner}{}", style.newline, style.member(names, value, &inner));
    if is_blank {
        return Splice::new(within, format!("{lead}{}{outer}", style.newline));
    }
    Splice::at(group.open + 1, lead)
}

/// Decides whether a member is alone in its group, without even a comment beside it.
pub(super) fn is_alone(text: &str, group: &Group) -> bool {
    let [member] = group.members.as_slice() else { return false };
    let end = member.comma.map_or(member.value.end, |comma| comma + 1);
    [group.open + 1..member.start, end..group.close].into_iter().all(|part| text[part].trim().is_empty())
}

/// Cuts a member out, with its comma or the one before it.
pub(super) fn cut(text: &str, group: &Group, index: usize) -> Vec<Splice> {
    if is_alone(text, group) {
        return vec![Splice::cut(group.open + 1..group.close)];
    }
    let member = &group.members[index];
    let mut splices = Vec::new();
    let mut end = member.value.end;
    match member.comma {
        Some(comma) if text[end..comma].trim().is_empty() => end = comma + 1,
        Some(comma) => splices.push(Splice::cut(comma..comma + 1)),
        None => {
            let before = index.checked_sub(1).and_then(|before| group.members[before].comma);
            splices.extend(before.map(|comma| Splice::cut(comma..comma + 1)));
        }
    }
    let lead = text[..member.start].trim_end_matches([' ', '\t']);
    let rest = text[jsonc::same_line(text, end)..].trim_start_matches([' ', '\t']);
    let line_before = lead.strip_suffix("\r\n").or_else(|| lead.strip_suffix('\n'));
    let start = match line_before {
        // The whole line is removed. With more on the line, the rest must not follow a comment on the line before.
        Some(before) if rest.starts_with(['\n', '\r']) => before.len(),
        None if member.comma.is_none() => lead.len(),
        _ => member.start,
    };
    if start == member.start {
        // The next member moves up.
        end += text[end..].len() - text[end..].trim_start_matches([' ', '\t']).len();
    }
    splices.push(Splice::cut(start..end));
    splices
}
