//! Inserts a member into a group of a JSON text, or cuts one out, with its commas and line breaks. A new member looks
//! like the text around it: line ends, indentation, one line or several.

use std::ops::Range;

use serde_json::Value;

use super::jsonc::{Document, Group};

/// Replacements of text ranges, none of which overlap.
pub(super) type Splices = Vec<(Range<usize>, String)>;

/// The text with all replacements made.
pub(super) fn spliced(text: &str, mut splices: Splices) -> String {
    splices.sort_by_key(|(range, _)| range.start);
    let mut changed = text.to_owned();
    for (range, with) in splices.into_iter().rev() {
        changed.replace_range(range, &with);
    }
    changed
}

/// Inserts a value after the last member. `names` are the objects to create around it; empty in a list.
pub(super) fn insert(document: &Document<'_>, group: &Group, names: &[&str], value: &Value) -> Splices {
    let (body, lines) = (document.body, Lines::of(document));
    let Some(last) = group.members.last() else { return vec![insert_first(body, group, names, value, &lines)] };
    let behind = last.comma.map_or(last.end, |comma| comma + 1);
    if !body[group.open..group.members[0].start].contains('\n') {
        let member = inline(names, value);
        let with = if last.comma.is_some() { format!(" {member},") } else { format!(", {member}") };
        return vec![(behind..behind, with)];
    }
    let indent = indent(body, last.start);
    let member = lines.member(names, value, indent);
    let comma = if last.comma.is_some() { "," } else { "" };
    // A comment on the line of the last member stays with it.
    let place = document.comments_end(behind);
    let mut splices = vec![(place..place, format!("{}{indent}{member}{comma}", lines.newline))];
    if last.comma.is_none() {
        splices.insert(0, (last.end..last.end, ",".to_owned()));
    }
    splices
}

/// Inserts a value into a group without members. The group may have comments.
fn insert_first(body: &str, group: &Group, names: &[&str], value: &Value, lines: &Lines<'_>) -> (Range<usize>, String) {
    let within = group.open + 1..group.close;
    let is_blank = body[within.clone()].trim().is_empty();
    if is_blank && names.is_empty() {
        return (within, one_line(value));
    }
    let outer = indent(body, group.open);
    let inner = format!("{outer}{}", lines.unit);
    let lead = format!("{}{inner}{}", lines.newline, lines.member(names, value, &inner));
    if is_blank {
        return (within, format!("{lead}{}{outer}", lines.newline));
    }
    (within.start..within.start, lead)
}

/// Decides whether a member is alone in its group, without even a comment beside it.
pub(super) fn is_alone(body: &str, group: &Group) -> bool {
    let [member] = group.members.as_slice() else { return false };
    let end = member.comma.map_or(member.end, |comma| comma + 1);
    [group.open + 1..member.start, end..group.close].into_iter().all(|part| body[part].trim().is_empty())
}

/// Cuts a member out, with its comma or the one before it.
pub(super) fn cut(document: &Document<'_>, group: &Group, index: usize) -> Splices {
    let body = document.body;
    let nothing = |range| (range, String::new());
    if is_alone(body, group) {
        return vec![nothing(group.open + 1..group.close)];
    }
    let member = &group.members[index];
    let mut splices = Vec::new();
    let mut end = member.end;
    match member.comma {
        Some(comma) if body[end..comma].trim().is_empty() => end = comma + 1,
        Some(comma) => splices.push(nothing(comma..comma + 1)),
        None => {
            let before = index.checked_sub(1).and_then(|before| group.members[before].comma);
            splices.extend(before.map(|comma| nothing(comma..comma + 1)));
        }
    }
    let lead = body[..member.start].trim_end_matches([' ', '\t']);
    let rest = body[document.comments_end(end)..].trim_start_matches([' ', '\t']);
    let line_before = lead.strip_suffix("\r\n").or_else(|| lead.strip_suffix('\n'));
    let start = match line_before {
        // The whole line is removed. With more on the line, the rest must not follow a comment on the line before.
        Some(before) if rest.starts_with(['\n', '\r']) => before.len(),
        None if member.comma.is_none() => lead.len(),
        _ => member.start,
    };
    if start == member.start {
        // The next member moves up.
        end += body[end..].len() - body[end..].trim_start_matches([' ', '\t']).len();
    }
    splices.push(nothing(start..end));
    splices
}

/// The formatting of values that take several lines.
pub(super) struct Lines<'a> {
    pub(super) newline: &'static str,
    /// One step of indentation.
    unit: &'a str,
}

impl<'a> Lines<'a> {
    pub(super) fn of(document: &Document<'a>) -> Self {
        let body = document.body;
        let first = document.root().ok().flatten().and_then(|root| root.properties.first());
        let lead = first.map_or("", |first| indent(body, first.range.start));
        // Only a member that begins its line shows the indentation.
        let is_shown = first.is_some_and(|first| body[..first.range.start].ends_with(&format!("\n{lead}")));
        Self { newline: newline(body), unit: if is_shown && !lead.is_empty() { lead } else { "  " } }
    }

    /// A value inside objects of these names, a line for each. In a list there are no names, and the value stands alone.
    fn member(&self, names: &[&str], value: &Value, indent: &str) -> String {
        match names {
            [name, rest @ ..] if !rest.is_empty() => {
                format!("{}: {}", Value::from(*name), self.object(rest, value, indent))
            }
            names => inline(names, value),
        }
    }

    /// The object that holds a value under these names, of which there is at least one.
    pub(super) fn object(&self, names: &[&str], value: &Value, indent: &str) -> String {
        let inner = format!("{indent}{}", self.unit);
        let member = self.member(names, value, &inner);
        format!("{{{newline}{inner}{member}{newline}{indent}}}", newline = self.newline)
    }
}

/// A value inside objects of these names, on one line.
fn inline(names: &[&str], value: &Value) -> String {
    match names {
        [] => one_line(value),
        [name] => format!("{}: {}", Value::from(*name), one_line(value)),
        [name, rest @ ..] => format!("{}: {{ {} }}", Value::from(*name), inline(rest, value)),
    }
}

/// A value on one line, with a space where people put one.
pub(super) fn one_line(value: &Value) -> String {
    match value {
        Value::Array(values) => format!("[{}]", values.iter().map(one_line).collect::<Vec<_>>().join(", ")),
        Value::Object(values) if !values.is_empty() => {
            let members = values.iter().map(|(name, value)| inline(&[name], value));
            format!("{{ {} }}", members.collect::<Vec<_>>().join(", "))
        }
        other => other.to_string(),
    }
}

/// The space that begins the line of a place.
fn indent(text: &str, place: usize) -> &str {
    let start = text[..place].rfind('\n').map_or(0, |at| at + 1);
    let line = &text[start..];
    &line[..line.len() - line.trim_start_matches([' ', '\t']).len()]
}

/// The line end of a text, by its first line.
pub(super) fn newline(text: &str) -> &'static str {
    let first = text.find('\n');
    if first.is_some_and(|at| text[..at].ends_with('\r')) { "\r\n" } else { "\n" }
}
