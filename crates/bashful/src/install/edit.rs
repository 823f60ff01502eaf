//! Puts one entry into a JSON text, or takes it out, and leaves everything else as it is.
//!
//! A text that has been changed is read again: it has to say what it said before, and the entry. If it does not, it is not used.

use std::ops::Range;

use serde_json::Value;
use thiserror::Error;

use super::jsonc::{self, Document, Member, Object, Wrong};

/// Why a text cannot be changed.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub(super) enum EditError {
    #[error("it is not JSON: {0}")]
    Json(#[from] Wrong),
    #[error("it is not TOML: {0}")]
    Toml(String),
    #[error("{0} is not where settings have it: it should be a group of names and values")]
    NotAGroup(String),
    #[error("{0:?} is there twice, and only one of them counts")]
    Twice(String),
    #[error("{0:?} is written in a way that cannot be changed without touching other things")]
    Entangled(String),
}

/// Where an entry belongs: the names of the groups around it, and its own.
#[derive(Debug, Clone, Copy)]
pub(super) struct Spot<'a> {
    pub(super) groups: &'a [&'a str],
    pub(super) name: &'a str,
}

/// What is put there, in this order.
#[derive(Debug, Clone)]
pub(super) struct Entry(pub(super) Vec<(&'static str, Value)>);

impl Entry {
    pub(super) fn value(&self) -> Value {
        self.0.iter().map(|(name, value)| ((*name).to_owned(), value.clone())).collect()
    }

    /// Whether what is there says all of this. What else somebody has added to it is theirs.
    fn is_said_by(&self, there: &Value) -> bool {
        self.0.iter().all(|(name, value)| there.get(name) == Some(value))
    }
}

/// Puts an entry where it belongs. None if it is there already.
pub(super) fn set(text: &str, spot: Spot<'_>, entry: &Entry) -> Result<Option<String>, EditError> {
    let (mark, body) = without_mark(text);
    let names = [spot.groups, &[spot.name]].concat();
    let Some(document) = jsonc::read(body)? else {
        let style = Style::of(body, None);
        let lead = if body.is_empty() || body.ends_with('\n') { "" } else { style.newline };
        let whole = style.lines(&names, entry, "");
        return Ok(Some(format!("{mark}{body}{lead}{whole}{}", style.newline)));
    };
    let root = object(document.object.as_ref(), "the whole")?;
    let style = Style::of(body, Some(root));
    let (mut within, mut missing) = (root, names.as_slice());
    let edits = loop {
        match (only(within, missing[0])?, &missing[1..]) {
            (None, _) => break insert(body, within, missing, entry, &style),
            (Some(member), []) => {
                if entry.is_said_by(value_of(&document, &names)) {
                    return Ok(None);
                }
                let with = style.lines(&[], entry, indent(body, member.start));
                break vec![Edit { range: member.value.clone(), with }];
            }
            (Some(member), rest) => {
                within = object(member.object.as_ref(), missing[0])?;
                missing = rest;
            }
        }
    };
    let mut expected = document.value.clone();
    *names.iter().fold(&mut expected, |group, name| &mut group[*name]) = entry.value();
    Ok(Some(format!("{mark}{}", applied(body, edits, &expected, spot)?)))
}

/// Takes an entry out. None if it is not there.
pub(super) fn remove(text: &str, spot: Spot<'_>) -> Result<Option<String>, EditError> {
    let (mark, body) = without_mark(text);
    let Some(document) = jsonc::read(body)? else { return Ok(None) };
    let mut within = object(document.object.as_ref(), "the whole")?;
    for group in spot.groups {
        let Some(member) = only(within, group)? else { return Ok(None) };
        within = object(member.object.as_ref(), group)?;
    }
    if only(within, spot.name)?.is_none() {
        return Ok(None);
    }
    let edits = cut(body, within, spot.name);
    let mut expected = document.value.clone();
    let mut group = &mut expected;
    for name in spot.groups {
        group = &mut group[*name];
    }
    group.as_object_mut().and_then(|group| group.remove(spot.name));
    Ok(Some(format!("{mark}{}", applied(body, edits, &expected, spot)?)))
}

/// Some editors put a mark in front that says how the text is encoded.
pub(super) fn without_mark(text: &str) -> (&str, &str) {
    text.split_at(if text.starts_with('\u{feff}') { '\u{feff}'.len_utf8() } else { 0 })
}

fn value_of<'a>(document: &'a Document, names: &[&str]) -> &'a Value {
    names.iter().fold(&document.value, |group, name| &group[*name])
}

fn object<'a>(object: Option<&'a Object>, name: &str) -> Result<&'a Object, EditError> {
    object.ok_or_else(|| EditError::NotAGroup(name.to_owned()))
}

/// The one member of this name.
fn only<'a>(object: &'a Object, name: &str) -> Result<Option<&'a Member>, EditError> {
    let mut named = object.members.iter().filter(|member| member.name == name);
    let first = named.next();
    if named.next().is_some() { Err(EditError::Twice(name.to_owned())) } else { Ok(first) }
}

/// Something to be put in the place of something else.
struct Edit {
    range: Range<usize>,
    with: String,
}

impl Edit {
    fn at(place: usize, with: String) -> Self {
        Self { range: place..place, with }
    }
}

/// The text with all edits, if it then says what it should.
fn applied(text: &str, mut edits: Vec<Edit>, expected: &Value, spot: Spot<'_>) -> Result<String, EditError> {
    edits.sort_by_key(|edit| edit.range.start);
    let mut changed = text.to_owned();
    for edit in edits.iter().rev() {
        changed.replace_range(edit.range.clone(), &edit.with);
    }
    match jsonc::read(&changed) {
        Ok(Some(document)) if document.value == *expected => Ok(changed),
        _ => Err(EditError::Entangled(spot.name.to_owned())),
    }
}

/// Puts an entry, in groups of these names, behind the last member.
fn insert(text: &str, object: &Object, names: &[&str], entry: &Entry, style: &Style) -> Vec<Edit> {
    let Some(last) = object.members.last() else { return vec![first(text, object, names, entry, style)] };
    let behind = last.comma.map_or(last.value.end, |comma| comma + 1);
    if !text[object.open..object.members[0].start].contains('\n') {
        let member = Style::inline(names, entry);
        let with = if last.comma.is_some() { format!(" {member},") } else { format!(", {member}") };
        return vec![Edit::at(behind, with)];
    }
    let indent = indent(text, last.start);
    let member = style.member(names, entry, indent);
    let comma = if last.comma.is_some() { "," } else { "" };
    // What is said about the last one on its line stays with it.
    let place = jsonc::same_line(text, behind);
    let mut edits = vec![Edit::at(place, format!("{}{indent}{member}{comma}", style.newline))];
    if last.comma.is_none() {
        edits.insert(0, Edit::at(last.value.end, ",".to_owned()));
    }
    edits
}

/// The first member of an object, which may have comments in it.
fn first(text: &str, object: &Object, names: &[&str], entry: &Entry, style: &Style) -> Edit {
    let outer = indent(text, object.open);
    let inner = format!("{outer}{}", style.unit);
    let lead = format!("{}{inner}{}", style.newline, style.member(names, entry, &inner));
    let within = object.open + 1..object.close;
    if text[within.clone()].trim().is_empty() {
        return Edit { range: within, with: format!("{lead}{}{outer}", style.newline) };
    }
    Edit::at(object.open + 1, lead)
}

/// Takes a member out, with its comma or the one before it.
fn cut(text: &str, object: &Object, name: &str) -> Vec<Edit> {
    let nothing = |range: Range<usize>| Edit { range, with: String::new() };
    let Some(index) = object.members.iter().position(|member| member.name == name) else { return Vec::new() };
    let member = &object.members[index];
    if object.members.len() == 1 {
        let end = member.comma.map_or(member.value.end, |comma| comma + 1);
        let around = [object.open + 1..member.start, end..object.close];
        if around.iter().all(|part| text[part.clone()].trim().is_empty()) {
            return vec![nothing(object.open + 1..object.close)];
        }
    }
    let mut edits = Vec::new();
    let mut end = member.value.end;
    match member.comma {
        Some(comma) if text[end..comma].trim().is_empty() => end = comma + 1,
        Some(comma) => edits.push(nothing(comma..comma + 1)),
        None => {
            let before = index.checked_sub(1).and_then(|before| object.members[before].comma);
            edits.extend(before.map(|comma| nothing(comma..comma + 1)));
        }
    }
    let lead = text[..member.start].trim_end_matches([' ', '\t']);
    let rest = text[jsonc::same_line(text, end)..].trim_start_matches([' ', '\t']);
    let line_before = lead.strip_suffix("\r\n").or_else(|| lead.strip_suffix('\n'));
    let start = match line_before {
        // Its line goes with it. If there is more on the line, that must not get behind a comment on the one before.
        Some(before) if rest.starts_with(['\n', '\r']) => before.len(),
        None if member.comma.is_none() => lead.len(),
        _ => member.start,
    };
    if start == member.start {
        // What comes next takes its place.
        end += text[end..].len() - text[end..].trim_start_matches([' ', '\t']).len();
    }
    edits.push(nothing(start..end));
    edits
}

/// The space that begins the line of a place.
fn indent(text: &str, place: usize) -> &str {
    let start = text[..place].rfind('\n').map_or(0, |at| at + 1);
    let line = &text[start..];
    &line[..line.len() - line.trim_start_matches([' ', '\t']).len()]
}

/// How a text is written.
struct Style {
    newline: &'static str,
    unit: String,
}

impl Style {
    fn of(text: &str, root: Option<&Object>) -> Self {
        let newline = newline(text);
        let first = root.and_then(|root| root.members.first());
        let unit = first.map_or("", |first| {
            let lead = indent(text, first.start);
            // Only if it is the first on its line.
            if text[..first.start].ends_with(&format!("\n{lead}")) { lead } else { "" }
        });
        Self { newline, unit: if unit.is_empty() { "  ".to_owned() } else { unit.to_owned() } }
    }

    /// The outermost group with all that is in it.
    fn member(&self, names: &[&str], entry: &Entry, indent: &str) -> String {
        format!("{}: {}", quoted(names[0]), self.lines(&names[1..], entry, indent))
    }

    /// With a line for each member.
    fn lines(&self, names: &[&str], entry: &Entry, indent: &str) -> String {
        let inner = format!("{indent}{}", self.unit);
        let members = if names.is_empty() {
            let lines = entry.0.iter().map(|(name, value)| format!("{inner}{}: {}", quoted(name), one_line(value)));
            lines.collect::<Vec<_>>().join(&format!(",{}", self.newline))
        } else {
            format!("{inner}{}", self.member(names, entry, &inner))
        };
        format!("{{{newline}{members}{newline}{indent}}}", newline = self.newline)
    }

    /// All on one line, as what is around it.
    fn inline(names: &[&str], entry: &Entry) -> String {
        let members: Vec<String> =
            entry.0.iter().map(|(name, value)| format!("{}: {}", quoted(name), one_line(value))).collect();
        let (name, groups) = names.split_last().unwrap_or((&"", &[]));
        let innermost = format!("{}: {{ {} }}", quoted(name), members.join(", "));
        groups.iter().rfold(innermost, |inner, group| format!("{}: {{ {inner} }}", quoted(group)))
    }
}

fn one_line(value: &Value) -> String {
    match value {
        Value::Array(values) => format!("[{}]", values.iter().map(one_line).collect::<Vec<_>>().join(", ")),
        other => other.to_string(),
    }
}

/// How the lines of a text end.
pub(super) fn newline(text: &str) -> &'static str {
    let first = text.find('\n');
    if first.is_some_and(|at| text[..at].ends_with('\r')) { "\r\n" } else { "\n" }
}

fn quoted(name: &str) -> String {
    Value::from(name).to_string()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const SPOT: Spot<'_> = Spot { groups: &["servers"], name: "me" };

    fn entry() -> Entry {
        Entry(vec![("command", json!("/x")), ("args", json!(["mcp"]))])
    }

    /// What becomes of a text when the entry is put in, and that taking it out again gives what was there before.
    #[track_caller]
    fn check(text: &str, expected: &str) {
        let set = set(text, SPOT, &entry()).expect("possible").expect("a change");
        assert_eq!(set, expected);
        assert_eq!(super::set(&set, SPOT, &entry()).expect("possible"), None, "it is there already");
        let removed = remove(&set, SPOT).expect("possible").expect("a change");
        assert_eq!(remove(&removed, SPOT).expect("possible"), None, "it is gone already");
        if text.contains("servers") {
            assert_eq!(removed, text);
        }
    }

    #[test]
    fn a_text_without_anything_gets_all_of_it() {
        let all = "{\n  \"servers\": {\n    \"me\": {\n      \"command\": \"/x\",\n      \"args\": [\"mcp\"]\n    }\n  }\n}\n";
        check("", all);
        check("{}", all.trim_end());
        check("// mine\r\n", &format!("// mine\r\n{}", all.replace('\n', "\r\n")));
        check("\u{feff}{ }\n", &format!("\u{feff}{all}"));
    }

    #[test]
    fn an_entry_comes_behind_the_others_in_their_manner() {
        check(
            "{\r\n\t\"a\": 1, // one\r\n\t\"servers\": {\r\n\t\t\"b\": {} // two\r\n\t}\r\n}",
            "{\r\n\t\"a\": 1, // one\r\n\t\"servers\": {\r\n\t\t\"b\": {}, // two\r\n\t\t\"me\": {\r\n\t\t\t\"command\": \
             \"/x\",\r\n\t\t\t\"args\": [\"mcp\"]\r\n\t\t}\r\n\t}\r\n}",
        );
        check(
            "{\n    \"servers\": {\n        \"b\": {},\n        // \"c\": {},\n    },\n}\n",
            "{\n    \"servers\": {\n        \"b\": {},\n        \"me\": {\n            \"command\": \"/x\",\n            \"args\": \
             [\"mcp\"]\n        },\n        // \"c\": {},\n    },\n}\n",
        );
        check(
            "{\"servers\":{\"b\":{}}}",
            "{\"servers\":{\"b\":{}, \"me\": { \"command\": \"/x\", \"args\": [\"mcp\"] }}}",
        );
        check("{\"b\":{}}", "{\"b\":{}, \"servers\": { \"me\": { \"command\": \"/x\", \"args\": [\"mcp\"] } }}");
    }

    #[test]
    fn an_empty_group_may_have_comments_in_it() {
        check(
            "{\n  \"servers\": { // none yet\n  }\n}",
            "{\n  \"servers\": {\n    \"me\": {\n      \"command\": \"/x\",\n      \"args\": [\"mcp\"]\n    } // none yet\n  }\n}",
        );
    }

    #[test]
    fn an_entry_that_differs_is_replaced_and_one_that_says_more_is_left() {
        let text = "{ \"servers\": {\n  \"me\": { \"url\": \"x\" }, \"b\": 1 } }";
        let set = set(text, SPOT, &entry()).expect("possible").expect("a change");
        assert!(set.contains("\"me\": {\n    \"command\": \"/x\",") && set.ends_with("}, \"b\": 1 } }"), "{set}");
        let more = "{\"servers\":{\"me\":{\"command\":\"/x\",\"args\":[\"mcp\"],\"env\":{\"A\":\"b\"}}}}";
        assert_eq!(super::set(more, SPOT, &entry()).expect("possible"), None);
    }

    #[test]
    fn taking_out_spares_what_is_on_the_same_line() {
        for (text, expected) in [
            ("{\"servers\": { // c\n \"me\": 1, \"b\": 2 }}", "{\"servers\": { // c\n \"b\": 2 }}"),
            ("{\"servers\": {\n \"b\": 2, // c\n \"me\": 1 /* d */ }}", "{\"servers\": {\n \"b\": 2 // c\n /* d */ }}"),
            ("{\"servers\": {\"me\": 1 /* c */, \"b\": 2}}", "{\"servers\": {/* c */ \"b\": 2}}"),
            ("{\"servers\": {\"a\": 1, \"me\": 1, \"b\": 2}}", "{\"servers\": {\"a\": 1, \"b\": 2}}"),
            ("{\"servers\": {\"me\": 1,}}", "{\"servers\": {}}"),
            ("{\"servers\": {\n  \"me\": 1\n}}", "{\"servers\": {}}"),
            ("{\"servers\": {\n  // c\n  \"me\": 1\n}}", "{\"servers\": {\n  // c\n}}"),
        ] {
            assert_eq!(remove(text, SPOT).expect("possible").as_deref(), Some(expected));
        }
    }

    #[test]
    fn what_is_not_as_it_should_be_is_left_alone() {
        let refused = |text: &str| set(text, SPOT, &entry()).expect_err(text);
        assert_eq!(refused("[]"), EditError::NotAGroup("the whole".to_owned()));
        assert_eq!(refused("{\"servers\": null}"), EditError::NotAGroup("servers".to_owned()));
        assert_eq!(refused("{\"servers\": {}, \"servers\": {}}"), EditError::Twice("servers".to_owned()));
        assert_eq!(refused("{\"servers\": {\"me\": 1, \"me\": 2}}"), EditError::Twice("me".to_owned()));
        assert!(matches!(refused("{\"servers\": {"), EditError::Json(_)));
    }
}
