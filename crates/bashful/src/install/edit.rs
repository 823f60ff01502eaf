//! Sets or removes one key or list item in a JSON text, and leaves everything else as it is.
//!
//! A changed text is parsed again. Its value must equal the old value with the one change; otherwise the change is
//! refused.

use serde_json::{Map, Value};
use thiserror::Error;

use super::jsonc::{self, Document, Group, Kind, Member, Wrong};
use super::splice::{Splice, cut, insert, is_alone, spliced};
use super::style::{Style, one_line};

/// The reason why a text cannot be changed.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub(crate) enum EditError {
    #[error("it is not JSON: {0}")]
    Json(#[from] Wrong),
    #[error("it is not TOML: {0}")]
    Toml(String),
    #[error("{0} is not where settings have it: it should be a group of names and values")]
    NotAGroup(String),
    #[error("{0} should be a list")]
    NotAList(String),
    #[error("{0:?} is there twice, and only one of them counts")]
    Twice(String),
    #[error("somebody else has written into it")]
    NotOurs,
    #[error("{0:?} is written in a way that cannot be changed without touching other things")]
    Entangled(String),
}

/// Sets the key at the end of a path, and creates missing groups. None if the key has this value already.
pub(super) fn set(text: &str, path: &[&str], value: &Value) -> Result<Option<String>, EditError> {
    let (mark, body) = without_mark(text);
    let Some(document) = jsonc::read(body)? else {
        let style = Style::of(body, None);
        let lead = if body.is_empty() || body.ends_with('\n') { "" } else { style.newline };
        return Ok(Some(format!("{mark}{body}{lead}{}{}", style.object(path, value, ""), style.newline)));
    };
    let root = object(document.group.as_ref(), "the whole")?;
    let (within, missing) = descend(root, path)?;
    let splices = match missing {
        [name] if only(within, name)?.is_some() => {
            if value_at(&document.value, path) == Some(value) {
                return Ok(None);
            }
            let member = only(within, name)?.ok_or_else(|| entangled(path))?;
            vec![Splice::new(member.value.clone(), one_line(value))]
        }
        missing => insert(body, within, missing, value, &Style::of(body, Some(root))),
    };
    let mut expected = document.value.clone();
    *path.iter().fold(&mut expected, |group, name| &mut group[*name]) = value.clone();
    checked(mark, &spliced(body, splices), &expected, path).map(Some)
}

/// Adds an item to the list at a path, and creates a missing list. None if the list has the item already.
pub(super) fn add(text: &str, path: &[&str], item: &Value) -> Result<Option<String>, EditError> {
    let (mark, body) = without_mark(text);
    let Some(document) = read_member(body, path)? else {
        return set(text, path, &Value::from(vec![item.clone()]));
    };
    let list = list(&document, path)?;
    let items = items(&document, path);
    if items.contains(item) {
        return Ok(None);
    }
    let splices = insert(body, list, &[], item, &Style::of(body, document.group.as_ref()));
    let mut expected = document.value.clone();
    let added = items.iter().chain([item]).cloned().collect();
    *path.iter().fold(&mut expected, |group, name| &mut group[*name]) = added;
    checked(mark, &spliced(body, splices), &expected, path).map(Some)
}

/// Removes the key at the end of a path, and the groups that become empty. The first `found` names of the path stay.
/// None if the key is missing.
pub(super) fn unset(text: &str, path: &[&str], found: usize) -> Result<Option<String>, EditError> {
    let (mark, body) = without_mark(text);
    let Some(document) = read_member(body, path)? else { return Ok(None) };
    let root = object(document.group.as_ref(), "the whole")?;
    let mut length = path.len();
    while length > found + 1 && is_alone(body, descend(root, &path[..length])?.0) {
        length -= 1;
    }
    let path = &path[..length];
    let within = descend(root, path)?.0;
    let (name, groups) = path.split_last().ok_or_else(|| entangled(path))?;
    let index = within.members.iter().position(|member| member.name == *name).ok_or_else(|| entangled(path))?;
    let mut expected = document.value.clone();
    let group = groups.iter().fold(&mut expected, |group, name| &mut group[*name]);
    group.as_object_mut().and_then(|group| group.remove(*name));
    checked(mark, &spliced(body, cut(body, within, index)), &expected, path).map(Some)
}

/// Removes an item from the list at a path, and a list and groups that become empty, as [`unset`] does. None if the
/// item is missing.
pub(super) fn discard(text: &str, path: &[&str], item: &Value, found: usize) -> Result<Option<String>, EditError> {
    let (mark, body) = without_mark(text);
    let Some(document) = read_member(body, path)? else { return Ok(None) };
    let list = list(&document, path)?;
    let items = items(&document, path);
    // The added item comes after those of the user.
    let Some(index) = items.iter().rposition(|there| there == item) else { return Ok(None) };
    if found < path.len() && is_alone(body, list) {
        return unset(text, path, found);
    }
    let mut expected = document.value.clone();
    let left = items.iter().enumerate().filter(|(at, _)| *at != index).map(|(_, item)| item.clone()).collect();
    *path.iter().fold(&mut expected, |group, name| &mut group[*name]) = left;
    checked(mark, &spliced(body, cut(body, list, index)), &expected, path).map(Some)
}

/// The value of a text; an empty object for an empty text.
pub(super) fn read(text: &str) -> Result<Value, EditError> {
    let document = jsonc::read(without_mark(text).1)?;
    Ok(document.map_or_else(|| Map::new().into(), |document| document.value))
}

/// The value at a path.
pub(super) fn value_at<'a>(value: &'a Value, path: &[&str]) -> Option<&'a Value> {
    path.iter().try_fold(value, |group, name| group.get(*name))
}

/// Some editors write a byte order mark first.
pub(super) fn without_mark(text: &str) -> (&str, &str) {
    text.split_at(if text.starts_with('\u{feff}') { '\u{feff}'.len_utf8() } else { 0 })
}

/// Parses a text; none if nothing is at the path.
fn read_member(body: &str, path: &[&str]) -> Result<Option<Document>, EditError> {
    let Some(document) = jsonc::read(body)? else { return Ok(None) };
    let root = object(document.group.as_ref(), "the whole")?;
    let (within, missing) = descend(root, path)?;
    let is_there = matches!(missing, [name] if only(within, name)?.is_some());
    Ok(is_there.then_some(document))
}

/// Follows a path as far as groups exist. Returns the innermost group and the remaining names, at least one.
fn descend<'a, 'b>(root: &'a Group, path: &'b [&'b str]) -> Result<(&'a Group, &'b [&'b str]), EditError> {
    let (mut within, mut missing) = (root, path);
    while let [name, rest @ ..] = missing
        && !rest.is_empty()
        && let Some(member) = only(within, name)?
    {
        within = object(member.group.as_ref(), name)?;
        missing = rest;
    }
    Ok((within, missing))
}

fn object<'a>(group: Option<&'a Group>, name: &str) -> Result<&'a Group, EditError> {
    group.filter(|group| group.kind == Kind::Object).ok_or_else(|| EditError::NotAGroup(name.to_owned()))
}

/// The list at the end of a path.
fn list<'a>(document: &'a Document, path: &[&str]) -> Result<&'a Group, EditError> {
    let not_a_list = || EditError::NotAList(path.join("."));
    let (within, missing) = descend(object(document.group.as_ref(), "the whole")?, path)?;
    let member = only(within, missing.first().ok_or_else(not_a_list)?)?;
    let group = member.and_then(|member| member.group.as_ref());
    group.filter(|group| group.kind == Kind::List).ok_or_else(not_a_list)
}

fn items<'a>(document: &'a Document, path: &[&str]) -> &'a [Value] {
    value_at(&document.value, path).and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

/// The one member of this name.
fn only<'a>(object: &'a Group, name: &str) -> Result<Option<&'a Member>, EditError> {
    let mut named = object.members.iter().filter(|member| member.name == name);
    let first = named.next();
    if named.next().is_some() { Err(EditError::Twice(name.to_owned())) } else { Ok(first) }
}

fn entangled(path: &[&str]) -> EditError {
    EditError::Entangled(path.join("."))
}

/// The changed text, if its value is the expected one.
fn checked(mark: &str, changed: &str, expected: &Value, path: &[&str]) -> Result<String, EditError> {
    match jsonc::read(changed) {
        Ok(Some(document)) if document.value == *expected => Ok(format!("{mark}{changed}")),
        _ => Err(entangled(path)),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const PATH: [&str; 2] = ["servers", "me"];

    fn server() -> [(&'static str, Value); 2] {
        [("command", json!("/x")), ("args", json!(["mcp"]))]
    }

    /// Sets all keys of a server, one by one.
    fn set_server(text: &str) -> Result<String, EditError> {
        server().iter().try_fold(text.to_owned(), |text, (name, value)| {
            Ok(set(&text, &[PATH[0], PATH[1], name], value)?.unwrap_or(text))
        })
    }

    fn depth(text: &str) -> usize {
        let value = read(text).expect("JSON");
        (0..=2).rev().find(|length| value_at(&value, &PATH[..*length]).is_some()).unwrap_or_default()
    }

    /// Checks a text with a server put in, and that taking the server out again gives the text from before.
    #[track_caller]
    fn check(text: &str, expected: &str) {
        let set = set_server(text).expect("possible");
        assert_eq!(set, expected);
        for (name, value) in server() {
            assert_eq!(
                super::set(&set, &[PATH[0], PATH[1], name], &value).expect("possible"),
                None,
                "it is there already"
            );
        }
        let removed = unset(&set, &PATH, depth(text)).expect("possible").expect("a change");
        assert_eq!(unset(&removed, &PATH, 0).expect("possible"), None, "it is gone already");
        if text.contains('}') {
            assert_eq!(removed, text);
        }
    }

    #[test]
    fn a_text_without_anything_gets_all_of_it() {
        let all = "{\n  \"servers\": {\n    \"me\": {\n      \"command\": \"/x\",\n      \"args\": [\"mcp\"]\n    }\n  }\n}\n";
        check("", all);
        check("{}", all.trim_end());
        check("// mine\r\n", &format!("// mine\r\n{}", all.replace('\n', "\r\n")));
        check("\u{feff}{}\n", &format!("\u{feff}{all}"));
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
    fn a_key_that_differs_is_replaced_and_its_neighbors_are_left() {
        let text = "{ \"servers\": {\n  \"me\": { \"command\": \"/old\", \"env\": {\"A\": \"b\"} }, \"b\": 1 } }";
        let expected = text.replace("/old", "/x").replace("{\"A\": \"b\"} }", "{\"A\": \"b\"}, \"args\": [\"mcp\"] }");
        assert_eq!(set_server(text).expect("possible"), expected);
    }

    /// Checks a text with an item added to a list, and that taking it out again gives the text from before.
    #[track_caller]
    fn check_list(text: &str, expected: &str) {
        let path = ["permissions", "deny"];
        let value = read(text).expect("JSON");
        let found = (0..=2).rev().find(|length| value_at(&value, &path[..*length]).is_some()).unwrap_or_default();
        let added = add(text, &path, &json!("Bash")).expect("possible").expect("a change");
        assert_eq!(added, expected);
        assert_eq!(add(&added, &path, &json!("Bash")).expect("possible"), None, "it is there already");
        let removed = discard(&added, &path, &json!("Bash"), found).expect("possible").expect("a change");
        assert_eq!(removed, text);
        assert_eq!(discard(&removed, &path, &json!("Bash"), found).expect("possible"), None, "it is gone already");
    }

    #[test]
    fn an_item_comes_behind_the_others_of_a_list() {
        check_list("{\"permissions\":{\"deny\":[\"a\"]}}", "{\"permissions\":{\"deny\":[\"a\", \"Bash\"]}}");
        check_list("{\"permissions\": {\"deny\": []}}", "{\"permissions\": {\"deny\": [\"Bash\"]}}");
        check_list(
            "{\n  \"permissions\": {\n    \"deny\": [\n      \"a\" // why\n    ]\n  }\n}\n",
            "{\n  \"permissions\": {\n    \"deny\": [\n      \"a\", // why\n      \"Bash\"\n    ]\n  }\n}\n",
        );
        check_list(
            "{\n  \"permissions\": {\n    \"deny\": [ // none\n    ]\n  }\n}\n",
            "{\n  \"permissions\": {\n    \"deny\": [\n      \"Bash\" // none\n    ]\n  }\n}\n",
        );
        check_list(
            "{\n  \"permissions\": {\n    \"allow\": []\n  }\n}\n",
            "{\n  \"permissions\": {\n    \"allow\": [],\n    \"deny\": [\"Bash\"]\n  }\n}\n",
        );
        check_list("{\n  \"a\": 1\n}\n", "{\n  \"a\": 1,\n  \"permissions\": {\n    \"deny\": [\"Bash\"]\n  }\n}\n");
    }

    #[test]
    fn groups_that_were_there_before_stay_even_if_they_are_empty() {
        let text = "{\"permissions\": {\"deny\": [\"Bash\"]}}";
        let path = ["permissions", "deny"];
        let discarded = |found| discard(text, &path, &json!("Bash"), found).expect("possible").expect("a change");
        assert_eq!(discarded(2), "{\"permissions\": {\"deny\": []}}");
        assert_eq!(discarded(1), "{\"permissions\": {}}");
        assert_eq!(discarded(0), "{}");
    }

    #[test]
    fn taking_out_spares_the_rest_of_the_line() {
        for (text, expected) in [
            ("{\"servers\": { // c\n \"me\": 1, \"b\": 2 }}", "{\"servers\": { // c\n \"b\": 2 }}"),
            ("{\"servers\": {\n \"b\": 2, // c\n \"me\": 1 /* d */ }}", "{\"servers\": {\n \"b\": 2 // c\n /* d */ }}"),
            ("{\"servers\": {\"me\": 1 /* c */, \"b\": 2}}", "{\"servers\": {/* c */ \"b\": 2}}"),
            ("{\"servers\": {\"a\": 1, \"me\": 1, \"b\": 2}}", "{\"servers\": {\"a\": 1, \"b\": 2}}"),
            ("{\"servers\": {\"me\": 1,}}", "{\"servers\": {}}"),
            ("{\"servers\": {\n  \"me\": 1\n}}", "{\"servers\": {}}"),
            ("{\"servers\": {\n  // c\n  \"me\": 1\n}}", "{\"servers\": {\n  // c\n}}"),
        ] {
            assert_eq!(unset(text, &PATH, 1).expect("possible").as_deref(), Some(expected));
        }
    }

    #[test]
    fn a_text_of_another_shape_is_left_alone() {
        let refused = |text: &str| set_server(text).expect_err(text);
        assert_eq!(refused("[]"), EditError::NotAGroup("the whole".to_owned()));
        assert_eq!(refused("{\"servers\": null}"), EditError::NotAGroup("servers".to_owned()));
        assert_eq!(refused("{\"servers\": []}"), EditError::NotAGroup("servers".to_owned()));
        assert_eq!(refused("{\"servers\": {}, \"servers\": {}}"), EditError::Twice("servers".to_owned()));
        assert_eq!(refused("{\"servers\": {\"me\": {}, \"me\": {}}}"), EditError::Twice("me".to_owned()));
        assert!(matches!(refused("{\"servers\": {"), EditError::Json(_)));
        let list = add("{\"a\": {\"b\": \"c\"}}", &["a", "b"], &json!("x")).expect_err("no list");
        assert_eq!(list.to_string(), "a.b should be a list");
    }
}
